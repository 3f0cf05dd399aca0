#include "base/log.h"

#include "base/clock.h"
#include "base/time.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

enum {
    LINE_MAX_BYTES = 4096, // a pipe takes this much in one piece
    QUOTE_MAX = 200,       // bytes of a quoted value
    QUOTE_RING = 8,
};

static const char *const level_names[] = {
    [LOG_DEBUG] = "debug", [LOG_INFO] = "info", [LOG_WARN] = "warn",
    [LOG_ERROR] = "error", [LOG_OFF] = "off",
};

static _Atomic LogLevel lowest_level = LOG_INFO;

// The zero Clock is the system's.
static const Clock system_clock;

void log_level(LogLevel lowest)
{
    atomic_store(&lowest_level, lowest);
}

bool log_level_parse(Str text, LogLevel *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(level_names); i++) {
        if (str_eq(text, str_from(level_names[i]))) {
            *ret = (LogLevel) i;
            return true;
        }
    }
    return false;
}

static size_t limit(int wanted, size_t room)
{
    assert(wanted >= 0);
    return (size_t) wanted < room ? (size_t) wanted : room - 1;
}

// write_line puts the whole line into one write(2), so that the lines of threads do not mix.
static void write_line(LogLevel level, const char *event, const char *format, va_list args)
    PRINTF(3, 0);
static void write_line(LogLevel level, const char *event, const char *format, va_list args)
{
    if (level < atomic_load(&lowest_level))
        return;
    int saved_errno = errno;
    char line[LINE_MAX_BYTES], now[TIME_TEXT_MAX];
    size_t room = sizeof line - 1; // without the newline
    time_text(clock_now(&system_clock), now);
    size_t len =
        limit(snprintf(line, room, "%s level=%s event=%s ", now, level_names[level], event), room);
    len += limit(vsnprintf(line + len, room - len, format, args), room - len);
    // A value that nobody quoted must not be able to begin a line of its own.
    for (size_t i = 0; i < len; i++)
        if ((unsigned char) line[i] < 0x20 || line[i] == 0x7f)
            line[i] = ' ';
    while (len > 0 && line[len - 1] == ' ')
        len--;
    line[len++] = '\n';
    // There is nobody to tell when standard error is gone.
    ssize_t written = write(STDERR_FILENO, line, len);
    (void) written;
    errno = saved_errno;
}

void log_debug(const char *event, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_line(LOG_DEBUG, event, format, args);
    va_end(args);
}

void log_info(const char *event, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_line(LOG_INFO, event, format, args);
    va_end(args);
}

void log_warn(const char *event, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_line(LOG_WARN, event, format, args);
    va_end(args);
}

void log_error(const char *event, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_line(LOG_ERROR, event, format, args);
    va_end(args);
}

// quote_char writes the character of len bytes, or the stray byte where len is 0.
static char *quote_char(char *to, const char *from, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char c = (unsigned char) from[0];
    if (c == '"' || c == '\\') {
        *to++ = '\\';
        *to++ = (char) c;
        return to;
    }
    // U+0080 to U+009F are control characters too, and terminals obey some of them.
    bool is_control = c < 0x20 || c == 0x7f || (len == 2 && c == 0xc2 && (uint8_t) from[1] < 0xa0);
    if (len > 0 && !is_control)
        return (char *) mempcpy(to, from, len);
    for (size_t i = 0; i < (len > 0 ? len : 1); i++) {
        *to++ = '\\';
        *to++ = 'x';
        *to++ = digits[(unsigned char) from[i] >> 4];
        *to++ = digits[(unsigned char) from[i] & 0x0f];
    }
    return to;
}

const char *log_quote(Str s)
{
    static const char ellipsis[] = "…";
    // Each byte becomes four at the most.
    static _Thread_local char ring[QUOTE_RING][4 * QUOTE_MAX + sizeof ellipsis + 2];
    static _Thread_local size_t turn;
    char *start = ring[turn++ % QUOTE_RING];
    char *to = start;
    *to++ = '"';
    size_t done = 0;
    while (done < s.len) {
        size_t len = str_utf8_len(str_skip(s, done));
        size_t step = len > 0 ? len : 1;
        if (done + step > QUOTE_MAX)
            break;
        to = quote_char(to, s.at + done, len);
        done += step;
    }
    if (done < s.len)
        to = (char *) mempcpy(to, ellipsis, sizeof ellipsis - 1);
    *to++ = '"';
    *to = '\0';
    return start;
}
