#include "api/served.h"

#include "api/site.h"
#include "net/cookie.h"

// A call is let in three times: when its head is in, so that nobody sends a body in vain, when its
// body is, and inside its transaction or before its read, where another node may have changed
// definitions since.

void rights_read(Served *served)
{
    Str given = exchange_header(served->call.exchange, S("Authorization"));
    Str scheme = str_cut(&given, ' ');
    bool is_key = given.at && str_eq_nocase(scheme, S("Bearer"));
    if (!is_key)
        given = cookie_find(exchange_header(served->call.exchange, S("Cookie")), SESSION_COOKIE);
    if (!given.at)
        return;
    served->has_key = true;
    served->has_session = !is_key;
    served->hash = sha256(str_trim(given));
}

// check_origin lets nobody but the console use a session: a browser sends its cookie wherever a
// page asks it to. Another site's page can add no header of its own without being asked first, and
// browsers say where a request comes from.
static Err check_origin(const Served *served, Error *error)
{
    const Exchange *exchange = served->call.exchange;
    bool is_look = str_eq(exchange->method, S("GET")) || str_eq(exchange->method, S("HEAD"));
    Str from = exchange_header(exchange, S("Sec-Fetch-Site"));
    if (from.at && !str_eq(from, S("same-origin")) && !(is_look && str_eq(from, S("none"))))
        return fail(error, ERR_CROSS_SITE, "a session is for the console's own pages");
    if (!is_look && !str_eq(exchange_header(exchange, S("Peal-Console")), S("1")))
        return fail(error, ERR_CONSOLE_HEADER,
                    "send Peal-Console: 1 with what a session is to change, or use a key");
    return ERR_OK;
}

bool rights_may(const Route *route, const RegistryKey *key)
{
    if (route->roles == SYSTEM)
        return key->is_system && key->role == ROLE_ADMIN;
    return key->role == ROLE_ADMIN || (route->roles & 1u << key->role) != 0;
}

// find_key: a session's secret is no key to name, nor is a key a cookie's to have.
static const RegistryKey *find_key(Served *served, const Registry *registry, Instant now)
{
    const Site *site = served->call.api->site;
    if (!served->has_key)
        return site && served->call.exchange->is_local ? &site->local : NULL;
    const RegistryKey *key = registry_key(registry, &served->hash);
    if (served->has_session)
        key = registry_session(registry, &served->hash, &served->session) ? &served->session : NULL;
    else if (key && key->is_session)
        key = NULL;
    return key && key->expires_at > now ? key : NULL;
}

Err rights_admit(Served *served, const Registry *registry, Instant now, Error *error)
{
    Call *call = &served->call;
    if (call->route->is_hook)
        return hook_admit(call, registry, error);
    if (call->route->roles == ANYONE)
        return ERR_OK;
    const RegistryKey *key = find_key(served, registry, now);
    if (!key && !served->has_key)
        return fail(error, ERR_NO_KEY, "send Authorization: Bearer and a key");
    if (!key)
        return fail(error, ERR_NO_KEY,
                    served->has_session ? "the session is not known, or is over: sign in again"
                                        : "the key is not known, or has expired");
    if (served->has_session)
        TRY(check_origin(served, error));
    if (!rights_may(call->route, key))
        return fail(error, ERR_FORBIDDEN, "a key with the role %s may not %s %s",
                    role_text(key->role), call->route->method, call->route->path);
    call->key = key;
    call->tenant = key->tenant;
    return ERR_OK;
}

Err rights_readmit(Served *served, Registry *newest, Instant now, Error *error)
{
    Call *call = &served->call;
    // Not the generation: a store that was away is read anew, at the same one, and what is decided
    // in the transaction refers to that snapshot.
    if (newest == call->registry)
        return ERR_OK;
    Registry *old = call->registry;
    call->registry = registry_hold(newest);
    call->key = NULL;
    registry_drop(old);
    return rights_admit(served, newest, now, error);
}

void call_identify(Call *call)
{
    Served *served = (Served *) call;
    assert(call->route->roles == ANYONE && call->registry);
    rights_read(served);
    call->key = find_key(served, call->registry, clock_now(call->api->clock));
    call->tenant = call->key ? call->key->tenant : 0;
}
