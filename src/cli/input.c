#include "cli/input.h"

#include "cli/command.h"
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static void close_fd(int *fd)
{
    if (*fd > STDERR_FILENO)
        close(*fd);
}

static int open_path(const char *path)
{
    return strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
}

static ssize_t read_some(int fd, char *to, size_t max)
{
    for (;;) {
        ssize_t got = read(fd, to, max);
        if (got >= 0 || errno != EINTR)
            return got;
    }
}

bool input_open(const char *path, InputFile *ret)
{
    struct stat status;
    InputFile file = { .fd = open_path(path), .bytes = -1 };
    if (file.fd < 0 || fstat(file.fd, &status) != 0) {
        input_close(&file);
        return false;
    }
    if (S_ISDIR(status.st_mode)) {
        input_close(&file);
        errno = EISDIR;
        return false;
    }
    if (S_ISREG(status.st_mode) && lseek(file.fd, 0, SEEK_CUR) == 0)
        file.bytes = status.st_size;
    *ret = file;
    return true;
}

ssize_t input_read(void *with, char *to, size_t max)
{
    return read_some(((const InputFile *) with)->fd, to, max);
}

void input_close(InputFile *file)
{
    close_fd(&file->fd);
}

bool input_file(Arena *arena, const char *path, Str *ret)
{
    DEFER(close_fd) int fd = open_path(path);
    Buf text = buf_new(arena, INPUT_BYTES_MAX);
    char chunk[16 * 1024];
    if (fd < 0)
        return false;
    for (;;) {
        ssize_t got = read_some(fd, chunk, sizeof chunk);
        if (got == 0)
            break;
        if (got < 0)
            return false;
        buf_add_bytes(&text, chunk, (size_t) got);
        if (text.overflowed) {
            errno = EFBIG;
            return false;
        }
    }
    *ret = text.len > 0 ? buf_str(&text) : S("");
    return true;
}

Str input_why(void)
{
    return errno == EFBIG ? S("it has more than 32 MiB") : str_from(strerror(errno));
}

// parse names the place (a file, --data) where the text came from when it is not JSON.
static int parse(Arena *arena, const char *place, Str text, Input *ret)
{
    Error error = { .arena = arena };
    const Json *json = NULL;
    if (json_parse(arena, text, &json, &error) != ERR_OK)
        return output_failure(&(Failure){
            .exit = EXIT_INVALID,
            .error = str_format(arena, "%s is not JSON", place),
            .why = str_from(error.detail),
        });
    *ret = (Input){ text, json };
    return EXIT_DONE;
}

int input_json_file(Arena *arena, const char *path, Input *ret)
{
    const char *place = strcmp(path, "-") == 0 ? "Standard input" : path;
    Str text = STR_NONE;
    if (!input_file(arena, path, &text))
        return output_failure(&(Failure){
            .exit = EXIT_INVALID,
            .error = str_format(arena, "%s could not be read", place),
            .why = input_why(),
        });
    return parse(arena, place, text, ret);
}

int input_json(Arena *arena, const char *given, Input *ret)
{
    if (strcmp(given, "-") == 0)
        return input_json_file(arena, given, ret);
    if (given[0] == '@')
        return input_json_file(arena, given + 1, ret);
    return parse(arena, "--data", str_from(given), ret);
}
