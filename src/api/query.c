#include "api/query.h"

#include "base/time.h"
#include "domain/members.h"

static bool is_among(Str name, Str words)
{
    while (words.len > 0)
        if (str_eq(name, str_cut(&words, ' ')))
            return true;
    return false;
}

static Err refuse(const char *name, const char *what, Error *error)
{
    char path[40];
    snprintf(path, sizeof path, "/%s", name);
    error_add(error, str_from(path), "bad-value", "%s", what);
    return error_close(error, ERR_INVALID);
}

Err query_check(const Call *call, const char *known, Error *error)
{
    Header param;
    for (size_t i = 0; exchange_query_next(call->exchange, i, &param); i++)
        if (!is_among(param.name, str_from(known)) && !is_among(param.name, S("limit cursor")))
            return fail(error, ERR_INVALID, "\"%.*s\" is not a filter of this list; use %s",
                        STR_ARG(members_shown(param.name)), known);
    return ERR_OK;
}

Err query_text(const Call *call, const char *name, size_t max, Str *ret, Error *error)
{
    Str text = exchange_query(call->exchange, str_from(name));
    if (!text.len)
        return ERR_OK;
    if (text.len > max || !str_is_utf8(text))
        return refuse(name, "must be a shorter text", error);
    *ret = text;
    return ERR_OK;
}

Err query_time(const Call *call, const char *name, Instant *ret, Error *error)
{
    Str text = exchange_query(call->exchange, str_from(name));
    if (text.len && !time_parse(text, ret))
        return refuse(name, "must be a time such as 2026-05-14T05:12:34Z", error);
    return ERR_OK;
}

Err query_flag(const Call *call, const char *name, bool *ret, Error *error)
{
    Str text = exchange_query(call->exchange, str_from(name));
    if (!text.len)
        return ERR_OK;
    if (!str_eq(text, S("true")) && !str_eq(text, S("false")))
        return refuse(name, "must be true or false", error);
    *ret = str_eq(text, S("true"));
    return ERR_OK;
}

Err query_state(const Call *call, bool *ret_given, DeliveryState *ret, Error *error)
{
    Str text = exchange_query(call->exchange, S("state"));
    *ret_given = text.len > 0;
    if (text.len && !delivery_state_parse(text, ret))
        return refuse("state", "must be a state such as parked", error);
    return ERR_OK;
}

Err query_id(const Call *call, const char *name, bool *ret_given, Uuid *ret, Error *error)
{
    Str text = exchange_query(call->exchange, str_from(name));
    *ret_given = text.len > 0;
    if (text.len && !uuid_parse(text, ret))
        return refuse(name, "must be an id", error);
    return ERR_OK;
}

Err query_after(const Page *page, Uuid *room, const Uuid **ret, Error *error)
{
    *ret = NULL;
    if (!page->cursor.at)
        return ERR_OK;
    if (page->cursor.len != sizeof room->b)
        return fail(error, ERR_MALFORMED, "the cursor is none that was given");
    memcpy(room->b, page->cursor.at, sizeof room->b);
    *ret = room;
    return ERR_OK;
}
