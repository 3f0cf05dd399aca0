#include "api/served.h"

// begins_alike passes over the routes whose words before their first {name} are others: nearly all.
static bool begins_alike(const char *pattern, Str path)
{
    size_t at = 0;
    while (at < path.len && pattern[at] == path.at[at] && pattern[at] != '{')
        at++;
    return pattern[at] == '{' || (pattern[at] == '\0' && at == path.len);
}

// match tells whether the path fits the pattern, and what stands for each {name}.
static bool match(const char *pattern, Str path, Str params[CALL_PARAMS_MAX], size_t *ret_count)
{
    Str wanted = str_from(pattern);
    size_t count = 0;
    if (!begins_alike(pattern, path))
        return false;
    while (wanted.at && path.at) {
        Str want = str_cut(&wanted, '/'), have = str_cut(&path, '/');
        if (str_starts(want, S("{"))) {
            assert(count < CALL_PARAMS_MAX);
            if (have.len == 0)
                return false;
            params[count++] = have;
        } else if (!str_eq(want, have)) {
            return false;
        }
    }
    *ret_count = count;
    return !wanted.at && !path.at;
}

Err route_find(Served *served, Error *error)
{
    Call *call = &served->call;
    const Exchange *exchange = call->exchange;
    Str method = str_eq(exchange->method, S("HEAD")) ? S("GET") : exchange->method;
    Buf allow = buf_new(call->arena, 200);
    size_t fewest = CALL_PARAMS_MAX + 1;
    for (size_t i = 0; i < route_count; i++) {
        Str params[CALL_PARAMS_MAX] = { 0 };
        size_t count;
        if (routes[i].is_site && !call->api->site)
            continue;
        if (!match(routes[i].path, exchange->path, params, &count))
            continue;
        if (allow.len > 0)
            buf_add(&allow, S(", "));
        buf_add(&allow, str_from(routes[i].method));
        if (!str_eq(method, str_from(routes[i].method)) || count > fewest ||
            (count == fewest && !routes[i].is_site))
            continue;
        fewest = count;
        call->route = &routes[i];
        memcpy(call->params, params, sizeof params);
    }
    if (allow.len == 0)
        return fail(error, ERR_NOT_FOUND, "there is no such path; /openapi.json lists them");
    if (!call->route)
        served->allow = buf_str(&allow);
    return ERR_OK;
}
