#include "api/handlers.h"

#include "api/feed.h"

// A stream of what happens, as server-sent events. Where it begins is said by the client's
// Last-Event-ID, as every browser sends it when it comes back, or by the query, for tools.

enum { STREAM_KINDS, STREAM_LAST };
enum { KINDS_MAX = 100 };

// clang-format off
const Param stream_params[] = {
    [STREAM_KINDS] = { "kinds", PARAM_TEXT, .max = KINDS_MAX, .help = "What is told, with commas: event, delivery (both unless said), hook" },
    [STREAM_LAST]  = { "lastEventId", PARAM_INT, .min = 0, .max = INT64_MAX, .help = "Go on behind this number; the header Last-Event-ID says the same and goes before" },
    { 0 },
};
// clang-format on

// may_see_hooks: what was refused may tell of the configuration, which is theirs who write it.
static bool may_see_hooks(const Call *call)
{
    Role role = call->key->role;
    return role == ROLE_ADMIN || role == ROLE_OPERATOR || role == ROLE_AUTHOR;
}

static Err refuse_kinds(Error *error)
{
    error_add(error, S("/kinds"), "bad-value", "must be of event, delivery and hook, with commas");
    return error_close(error, ERR_INVALID);
}

static Err read_kinds(const Call *call, unsigned *ret, Error *error)
{
    Str text;
    *ret = FRAME_NUMBERED;
    if (!param_text(call, STREAM_KINDS, &text))
        return ERR_OK;
    if (!frame_kinds(text, ret))
        return refuse_kinds(error);
    if ((*ret & FRAME_SET(FRAME_HOOK)) && !may_see_hooks(call))
        return fail(error, ERR_FORBIDDEN, "a key with the role %s may not see hooks",
                    role_text(call->key->role));
    return ERR_OK;
}

static Err read_after(const Call *call, int64_t *ret, Error *error)
{
    Str header = exchange_header(call->exchange, S("Last-Event-ID"));
    *ret = FEED_NOW;
    (void) param_int(call, STREAM_LAST, ret);
    if (header.len == 0 || str_to_i64(header, 0, INT64_MAX, ret))
        return ERR_OK;
    return fail(error, ERR_MALFORMED, "Last-Event-ID is a number that a stream gave");
}

void stream_start(Call *call)
{
    Error error = { .arena = call->arena };
    unsigned kinds;
    int64_t after;
    Err err = read_kinds(call, &kinds, &error);
    if (err == ERR_OK)
        err = read_after(call, &after, &error);
    if (err == ERR_OK)
        feed_join(call->api->feed, call, kinds, after);
    else
        call_fail(call, err, &error);
}
