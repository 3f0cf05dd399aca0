#include "api/served.h"

#include "api/site.h"

// A call is let in three times: when its head is in, so that nobody sends a body in vain, when its
// body is, and inside its transaction or before its read, where another node may have changed
// definitions since.

void rights_read(Served *served)
{
    Str given = exchange_header(served->call.exchange, S("Authorization"));
    Str scheme = str_cut(&given, ' ');
    if (!given.at || !str_eq_nocase(scheme, S("Bearer")))
        return;
    served->has_key = true;
    served->hash = sha256(str_trim(given));
}

static bool may(const Route *route, const RegistryKey *key)
{
    if (route->roles == SYSTEM)
        return key->is_system && key->role == ROLE_ADMIN;
    return key->role == ROLE_ADMIN || (route->roles & 1u << key->role) != 0;
}

static const RegistryKey *find_key(const Served *served, const Registry *registry, Instant now)
{
    const Site *site = served->call.api->site;
    if (!served->has_key)
        return site && served->call.exchange->is_local ? &site->local : NULL;
    const RegistryKey *key = registry_key(registry, &served->hash);
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
        return fail(error, ERR_NO_KEY, "the key is not known, or has expired");
    if (!may(call->route, key))
        return fail(error, ERR_FORBIDDEN, "a key with the role %s may not %s %s",
                    role_text(key->role), call->route->method, call->route->path);
    call->key = key;
    call->tenant = key->tenant;
    return ERR_OK;
}

Err rights_readmit(Served *served, Registry *newest, Instant now, Error *error)
{
    Call *call = &served->call;
    if (newest->generation == call->registry->generation)
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
