#include "channels/mailbox.h"

#include "net/url.h"

#include <string.h>

enum { HOST_MAX = 253, LABEL_MAX = 63 };

static bool is_alnum(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
}

static bool is_atom_char(unsigned char c)
{
    return is_alnum(c) || (c && strchr("!#$%&'*+-/=?^_`{|}~", c));
}

// is_dotted: parts of 1 to max such characters, with single dots between them.
static bool is_dotted(Str text, size_t max, bool (*is_fit)(unsigned char c))
{
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char) text.at[i];
        if (c == '.' ? len == 0 : !is_fit(c) || len == max)
            return false;
        len = c == '.' ? 0 : len + 1;
    }
    return len > 0;
}

static bool is_host_char(unsigned char c)
{
    return is_alnum(c) || c == '-';
}

static bool is_host(Str host)
{
    if (host.len > HOST_MAX || !is_dotted(host, LABEL_MAX, is_host_char))
        return false;
    for (Str rest = host; rest.at;) {
        Str label = str_cut(&rest, '.');
        if (label.at[0] == '-' || label.at[label.len - 1] == '-')
            return false;
    }
    return true;
}

Str mailbox_host(Str address)
{
    const char *at = address.len ? memrchr(address.at, '@', address.len) : NULL;
    return at ? str_skip(address, (size_t) (at - address.at) + 1) : STR_NONE;
}

static Str local_part(Str address)
{
    Str host = mailbox_host(address);
    return host.at ? (Str){ address.at, address.len - host.len - 1 } : STR_NONE;
}

const char *mailbox_address_problem(Str address)
{
    Str local = local_part(address);
    if (!address.len)
        return "there is no address";
    if (!local.at)
        return "the address has no @";
    if (address.len > MAILBOX_ADDRESS_MAX || local.len > MAILBOX_LOCAL_MAX)
        return "the address is too long";
    if (!str_is_utf8(address) || !str_is_printable(address) ||
        !is_dotted(local, MAILBOX_LOCAL_MAX, is_atom_char))
        return "what stands before the @ is no name of a mailbox";
    return is_host(mailbox_host(address)) ? NULL : "what stands behind the @ is no name of a host";
}

static bool is_all_ascii(Str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char) text.at[i] >= 0x80)
            return false;
    return true;
}

bool mailbox_is_ascii(Str address)
{
    return is_all_ascii(local_part(address));
}

Str mailbox_address(Arena *arena, Str address)
{
    Str host = mailbox_host(address);
    if (is_all_ascii(host))
        return address;
    Str ascii = url_ascii_host(arena, host);
    if (!ascii.at || !is_host(ascii))
        return STR_NONE;
    return str_format(arena, "%.*s@%.*s", STR_ARG(local_part(address)), STR_ARG(ascii));
}

// unquoted is a name without its quotes; false where they do not match.
static bool unquoted(Arena *arena, Str text, Str *ret)
{
    Buf name = buf_new(arena, text.len);
    if (text.len == 0 || text.at[0] != '"') {
        *ret = text.len ? text : STR_NONE;
        return !text.len || !memchr(text.at, '"', text.len);
    }
    for (size_t i = 1; i < text.len; i++) {
        if (text.at[i] == '"') {
            *ret = buf_str(&name);
            return i == text.len - 1;
        }
        if (text.at[i] == '\\' && ++i == text.len)
            return false;
        buf_add_char(&name, text.at[i]);
    }
    return false;
}

bool mailbox_parse(Arena *arena, Str text, Mailbox *ret)
{
    Mailbox mailbox = { .address = str_trim(text) };
    Str rest = mailbox.address;
    if (!str_is_utf8(text) || !str_is_printable(text))
        return false;
    if (str_ends(rest, S(">"))) {
        const char *open = memrchr(rest.at, '<', rest.len);
        if (!open)
            return false;
        size_t before = (size_t) (open - rest.at);
        mailbox.address = (Str){ open + 1, rest.len - before - 2 };
        if (!unquoted(arena, str_trim((Str){ rest.at, before }), &mailbox.name))
            return false;
    }
    if (mailbox_address_problem(mailbox.address))
        return false;
    *ret = mailbox;
    return true;
}
