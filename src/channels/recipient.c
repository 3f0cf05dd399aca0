#include "channels/recipient.h"

#include "channels/mailbox.h"

enum { PHONE_DIGITS_MIN = 7, PHONE_DIGITS_MAX = 15 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static Str read_phone(Arena *arena, Str address)
{
    Buf number = buf_new(arena, PHONE_DIGITS_MAX + 1);
    for (size_t i = 0; i < address.len; i++)
        if (!strchr(" -()[]", address.at[i]) || !address.at[i])
            buf_add_char(&number, address.at[i]);
    Str read = buf_str(&number), digits = str_skip(read, 1);
    if (number.overflowed || !str_starts(read, S("+")) || digits.len < PHONE_DIGITS_MIN ||
        digits.at[0] == '0')
        return STR_NONE;
    for (size_t i = 0; i < digits.len; i++)
        if (!is_digit(digits.at[i]))
            return STR_NONE;
    return read;
}

static Str read_email(Str address)
{
    Str trimmed = str_trim(address);
    return trimmed.len && !mailbox_address_problem(trimmed) ? trimmed : STR_NONE;
}

Str recipient_read(Arena *arena, RecipientKind kind, Str address)
{
    switch (kind) {
    case RECIPIENT_NONE:
        return address;
    case RECIPIENT_PHONE:
        return address.len ? read_phone(arena, address) : STR_NONE;
    case RECIPIENT_EMAIL:
        return read_email(address);
    }
    assert(!"there is no other kind");
    return STR_NONE;
}
