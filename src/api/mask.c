#include "api/api.h"

static bool is_masked(const Call *call)
{
    return call->key && (call->key->role == ROLE_READ || call->key->role == ROLE_OPERATIONS ||
                         call->key->role == ROLE_SITE);
}

// end_of keeps what tells addresses apart without naming anybody: a domain, the last two digits.
static Str end_of(Str address)
{
    for (size_t i = address.len; i-- > 1;)
        if (address.at[i] == '@')
            return (Str){ address.at + i, address.len - i };
    bool is_long = address.len >= 8 && (unsigned char) address.at[address.len - 1] < 0x80 &&
                   (unsigned char) address.at[address.len - 2] < 0x80;
    return is_long ? (Str){ address.at + address.len - 2, 2 } : S("");
}

Str call_address(const Call *call, Str address)
{
    if (!is_masked(call) || !address.at)
        return address;
    return str_format(call->arena, "***%.*s", STR_ARG(end_of(address)));
}

Str call_recipient(const Call *call, Str recipient)
{
    const Json *read;
    Error ignored = { 0 };
    if (!is_masked(call) || !recipient.at)
        return recipient;
    if (json_parse(call->arena, recipient, &read, &ignored) != ERR_OK ||
        json_type(read) != JSON_OBJECT)
        return STR_NONE;
    Buf text = buf_new(call->arena, 6 * recipient.len + 64);
    JsonOut json = json_out(&text);
    json_open(&json, '{');
    for (JsonIter it = json_each(read); json_next(&it);) {
        Str shown = call_address(call, json_str(it.value));
        if (str_eq(it.key, S("address")))
            json_put_str(&json, it.key, shown);
        else
            json_put_raw(&json, it.key, json_text(call->arena, it.value));
    }
    json_close(&json, '}');
    return buf_str(&text);
}

Err call_may_search(const Call *call, Error *error)
{
    if (!is_masked(call))
        return ERR_OK;
    return fail(error, ERR_FORBIDDEN,
                "a key with the role %s sees addresses masked, and cannot"
                " search them with q",
                role_text(call->key->role));
}

bool call_sees_recipients(const Call *call)
{
    return !is_masked(call);
}
