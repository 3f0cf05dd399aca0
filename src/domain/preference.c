#include "domain/preference.h"

#include "domain/event.h"
#include "domain/trigger.h"

static const Field channel_key = { NULL, FIELD_KEY, .max = CHANNEL_KEY_MAX };

// clang-format off
#define AT(member) .offset = offsetof(Preference, member)
static const Field fields[] = {
    { "address", FIELD_TEXT, FIELD_NEEDED, AT(address), .max = EVENT_ADDRESS_MAX },
    { "optOut",  FIELD_LIST, FIELD_RAW, AT(opt_out), .max = PREFERENCE_ROWS_MAX, .of = &channel_key,
      .help = "channels that nothing goes through: a key, or the part before its colon" },
    { "channel", FIELD_MAP, AT(channel), .max = PREFERENCE_ROWS_MAX, .of = &channel_key,
      .help = "from a channel's key to that of the one that stands in for it" },
    { "updatedAt", FIELD_TIME, FIELD_SHOWN | FIELD_NEEDED },
};
// clang-format on

// check reads the elements that a raw list leaves unread.
static void check(const Members *members, void *value)
{
    const Preference *preference = value;
    for (JsonIter it = json_each(preference->opt_out); json_next(&it);)
        if (!field_is_key(json_str(it.value)) || json_str(it.value).len > CHANNEL_KEY_MAX)
            members_note(members, S("optOut"), "bad-value",
                         "must be keys of channels, or what stands before their colon");
}

const Shape preference_shape = { "Preference", SHAPE_ROWS(fields), .size = sizeof(Preference),
                                 .check = check };

static bool is_dropped(char c, bool is_mail)
{
    return c == ' ' || c == '\t' || strchr("()[]{}", c) || (c == '-' && !is_mail);
}

Str preference_key(Arena *arena, Str address)
{
    bool is_mail = str_contains(address, S("@"));
    Buf key = buf_new(arena, address.len);
    for (size_t i = 0; i < address.len; i++)
        if (address.at[i] && !is_dropped(address.at[i], is_mail))
            buf_add_char(&key, str_lower_char(address.at[i]));
    return key.len > 0 ? buf_str(&key) : STR_NONE;
}

bool preference_opts_out(const Json *opt_out, Str channel)
{
    Str rest = channel;
    Str family = str_cut(&rest, ':');
    for (JsonIter it = json_each(opt_out); json_next(&it);)
        if (str_eq(json_str(it.value), channel) || str_eq(json_str(it.value), family))
            return true;
    return false;
}

Str preference_instead(const Json *channel, Str key)
{
    Str other = json_str(json_get(channel, key));
    return other.len ? other : STR_NONE;
}
