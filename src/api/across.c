#include "api/served.h"

#include "base/log.h"
#include "store/tenant.h"

// A key with the role operations looks at another tenant by naming it. Each such look is told in
// the audit of the tenant that was looked at, in a transaction that the writer shares among all
// that wait, before the answer goes out: so nobody has seen what no row tells of. Where it cannot
// be written (a full disk, a store that others hold) the look is answered all the same, and logged.

enum { ACROSS_TENANT };

const Param across_params[] = {
    [ACROSS_TENANT] = { .name = "tenant",
                        .kind = PARAM_TEXT,
                        .max = TENANT_ID_MAX,
                        .help = "Of this tenant; for keys with the role operations, and audited" },
    { 0 },
};

static bool named(const Call *call, Str *ret)
{
    if (!route_is_across(call->route))
        return false;
    size_t before = param_count(call->route->params);
    before += call->route->is_paged ? param_count(page_params) : 0;
    return param_text(call, before + ACROSS_TENANT, ret);
}

Err across_enter(Served *served, Db *db, Error *error)
{
    Call *call = &served->call;
    Tenant tenant;
    Str id;
    if (!named(call, &id))
        return ERR_OK;
    if (call->key->role != ROLE_OPERATIONS)
        return fail(error, ERR_FORBIDDEN, "a key with the role %s may not name a tenant",
                    role_text(call->key->role));
    TRY(tenant_find(db, call->arena, id, &tenant, error));
    if (!registry_tenant(call->registry, tenant.tenant)) // made a moment ago, on another node
        return fail(error, ERR_NOT_FOUND, "there is no tenant %.*s", STR_ARG(id));
    served->is_across = tenant.tenant != call->key->tenant;
    call->tenant = tenant.tenant;
    return ERR_OK;
}

static Served *served_of_op(Op *op)
{
    return (Served *) ((char *) op - offsetof(Call, op));
}

// subject says what was asked for. What the query said is left out: it may name an address, and the
// chain cannot forget one.
static Str subject(const Call *call, Arena *arena)
{
    Uuid id;
    bool has_id = call->params[0].at && uuid_parse(call->params[0], &id);
    const RegistryTenant *home = registry_tenant(call->registry, call->key->tenant);
    return str_format(arena, "%s %s%s%.*s by a key of %.*s", call->route->method, call->route->path,
                      has_id ? " " : "", STR_ARG(has_id ? call->params[0] : S("")),
                      STR_ARG(home ? home->id : S("")));
}

static Err apply(Tx *tx, Op **ops, size_t count, Error *error)
{
    (void) error;
    for (size_t i = 0; i < count; i++) {
        const Call *call = &served_of_op(ops[i])->call;
        tx->actor = call->key->id;
        tx_fact(tx, FACT_LOOKED, call->tenant, subject(call, &tx->arena));
    }
    tx->actor = (Uuid){ { 0 } };
    return ERR_OK;
}

static void noted(Op *op, Err err, const Error *error)
{
    Served *served = served_of_op(op);
    if (err != ERR_OK)
        log_error("look.untold", "detail=%s", log_quote(str_from(error->detail)));
    reply_later(served, served->failed, &served->error);
}

void across_note(Served *served, Err err, const Error *error)
{
    static const OpKind look = { .name = "look", .apply = apply };
    served->failed = err;
    if (err != ERR_OK)
        served->error = *error;
    served->call.op = (Op){ .kind = &look, .done = noted };
    writer_submit(api_writer(served->call.api), &served->call.op);
}
