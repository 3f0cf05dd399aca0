#include "api/handlers.h"
#include "api/noun.h"
#include "domain/integration.h"
#include "net/url.h"
#include "store/integration.h"
#include "store/poll_group.h"
#include "store/secret.h"

// What integrations do beside being stored: their place is one of a kind and takes a right of its
// own, their row follows their definition, and what became of them is shown with it.

const char *const integration_told[] = { "connectionId", "installationId", NULL };

Err integration_find_shape(Arena *arena, const Json *body, const Shape **ret, Error *error)
{
    (void) arena;
    const Json *token = json_get(body, S("token"));
    TokenSource source = token_source(token);
    *ret = token_shape(source);
    if (!token || source != TOKEN_SOURCES)
        return ERR_OK;
    error_add(error, S("/token/source"), "bad-value",
              "must be one of static, oauth, nango, composio");
    return error_close(error, ERR_INVALID);
}

// Where a token is sent: the members that say it, of the integration and of its token.
static Str member_of(const Json *body, const char *object, const char *name)
{
    return json_str(json_get(object ? json_get(body, str_from(object)) : body, str_from(name)));
}

static const struct {
    const char *object, *name, *pointer;
} urls[] = {
    { NULL, "baseUrl", "/baseUrl" },
    { "token", "baseUrl", "/token/baseUrl" },
    { "token", "tokenUrl", "/token/tokenUrl" },
};

bool has_integration_moved(const Json *body, const Json *old)
{
    if (!str_eq(member_of(body, NULL, "provider"), member_of(old, NULL, "provider")) ||
        !str_eq(member_of(body, "token", "source"), member_of(old, "token", "source")))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        Str to = member_of(body, urls[i].object, urls[i].name);
        Str from = member_of(old, urls[i].object, urls[i].name);
        // Where neither says, both go to the provider's own.
        if ((to.at || from.at) && !url_same_origin(to, from))
            return true;
    }
    return false;
}

static Err check_urls(const Edit *edit, Error *error)
{
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        Str url = member_of(edit->body, urls[i].object, urls[i].name);
        const char *problem = url.at ? url_problem(url) : NULL;
        if (problem)
            error_add(error, str_from(urls[i].pointer), "bad-url", "%s", problem);
    }
    return error_close(error, ERR_INVALID);
}

// is_given: a place that neither the definition nor the integration itself had so far.
static bool is_given(Str place, Str said, Str bound)
{
    return place.at && !str_eq(place, said) && !str_eq(place, bound);
}

// check_right: whoever could name a place could have another's events.
static Err check_right(const Edit *edit, const IntegrationSave *to,
                       const IntegrationDefinition *from, Error *error)
{
    const Call *call = edit->call;
    IntegrationState state = { .id = to->id };
    TRY(integrations_look(edit->tx->db, call->arena, call->tenant, &state, 1, error));
    bool is_bound = is_given(to->connection_id, from->connection_id, state.connection_id) ||
                    is_given(to->installation_id, from->installation_id, state.installation_id);
    if (is_bound && !call->key->is_system)
        return fail(error, ERR_FORBIDDEN,
                    "connectionId and installationId are given with the system right");
    return ERR_OK;
}

// read_save finds what a save changes, but for the token: only what is stored tells that.
static Err read_save(const Edit *edit, IntegrationDefinition *ret_from, IntegrationSave *ret,
                     Error *error)
{
    Arena *arena = edit->call->arena;
    IntegrationDefinition to;
    *ret_from = (IntegrationDefinition){ 0 };
    TRY(integration_compile(arena, edit->body, &to, error));
    if (edit->old)
        TRY(integration_compile(arena, edit->old, ret_from, error));
    *ret = (IntegrationSave){ .tenant = edit->call->tenant,
                              .id = to.id,
                              .provider = (ProviderName) to.provider,
                              .is_enabled = to.enabled,
                              .has_place = !str_eq(to.connection_id, ret_from->connection_id) ||
                                           !str_eq(to.installation_id, ret_from->installation_id),
                              .connection_id = to.connection_id,
                              .installation_id = to.installation_id };
    return ERR_OK;
}

Err may_save_integration(const Edit *edit, Error *error)
{
    IntegrationDefinition from;
    IntegrationSave save;
    TRY(check_urls(edit, error));
    TRY(read_save(edit, &from, &save, error));
    TRY(check_right(edit, &save, &from, error));
    return integration_may_save(edit->tx, &save, error);
}

static bool has_same(const Json *a, const Json *b, Str member, Arena *arena)
{
    const Json *x = json_get(a, member), *y = json_get(b, member);
    return x && y ? str_eq(json_text(arena, x), json_text(arena, y)) : x == y;
}

// has_token_changed compares what is stored: the same secret given again is the same there.
static bool has_token_changed(Arena *arena, const Json *stored, const Json *old)
{
    return !old || !has_same(stored, old, S("token"), arena) ||
           !has_same(stored, old, S("baseUrl"), arena) ||
           !has_same(stored, old, S("provider"), arena);
}

// touch_integration has the row say what the definition does.
Err touch_integration(Edit *edit, Error *error)
{
    IntegrationDefinition from;
    IntegrationSave save;
    Definition row;
    const Json *stored;
    Arena *arena = edit->call->arena;
    if (!edit->is_changed)
        return ERR_OK;
    TRY(read_save(edit, &from, &save, error));
    TRY(definition_get(edit->tx->db, &edit->tx->arena, save.tenant, S("integration"), save.id, &row,
                       error));
    TRY(json_parse(arena, row.body, &stored, error));
    save.has_token = has_token_changed(arena, stored, edit->old);
    return integration_save(edit->tx, &save, error);
}

// Looked is what a page of them is shown with.
typedef struct Looked {
    IntegrationState *states;
    bool *are_sealed; // the token cannot be opened with the keys at hand
    size_t count;
} Looked;

// is_sealed tries whether a token can be opened, and overwrites what that brought to light.
static bool is_sealed(const Call *call, const Definition *row)
{
    DEFER(arena_wipe) Arena secrets = { 0 };
    SecretOwner owner = { S("integration"), call->tenant, row->id };
    const Json *body, *opened;
    Error unfit = { 0 };
    return json_parse(&secrets, row->body, &body, &unfit) == ERR_OK &&
           secret_open(&secrets, call->api->ring, &owner, json_get(body, S("token")), &opened,
                       &unfit) != ERR_OK;
}

Err integration_look(Call *call, Db *db, const Definition *rows, size_t count, const void **ret,
                     Error *error)
{
    Looked *looked = ARENA_NEW(call->arena, Looked);
    *looked = (Looked){ ARENA_ARRAY(call->arena, IntegrationState, count + 1),
                        ARENA_ARRAY(call->arena, bool, count + 1), count };
    for (size_t i = 0; i < count; i++) {
        // The rows may be gone when they are told of.
        looked->states[i].id = str_dup(call->arena, rows[i].id);
        looked->are_sealed[i] = is_sealed(call, &rows[i]);
    }
    *ret = looked;
    return integrations_look(db, call->arena, call->tenant, looked->states, count, error);
}

static size_t place_of(const Looked *looked, Str id)
{
    size_t i = 0;
    while (!str_eq(looked->states[i].id, id)) {
        i++;
        assert(i < looked->count); // only what was looked at is told of
    }
    return i;
}

void integration_tell(Call *call, const void *known, Str id)
{
    const Looked *looked = known;
    const IntegrationState *state = &looked->states[place_of(looked, id)];
    JsonOut *out = &call->json;
    if (state->connection_id.at)
        json_put_str(out, S("connectionId"), state->connection_id);
    if (state->installation_id.at)
        json_put_str(out, S("installationId"), state->installation_id);
    json_put_str(out, S("status"), str_from(integration_status_text(state->status)));
    json_put_str(out, S("statusReason"), state->reason);
    json_put_time(out, S("statusSince"), state->is_known ? state->since : INSTANT_NONE);
}

Str integration_warn(Call *call, Str id)
{
    const Looked *looked = call->known;
    return looked->are_sealed[place_of(looked, id)]
               ? S("its token cannot be opened with this master key: nothing is asked of the "
                   "provider")
               : STR_NONE;
}

// Alone is what one is shown with where it is shown alone.
typedef struct Alone {
    bool is_polled;
    PollGroup group;
} Alone;

Err integration_look_at(Call *call, Db *db, Str id, const void **ret, Error *error)
{
    Alone *alone = ARENA_NEW(call->arena, Alone);
    *alone = (Alone){ 0 };
    Err err = poll_group_of(db, call->arena, call->tenant, id, &alone->group, error);
    alone->is_polled = err == ERR_OK;
    *ret = alone;
    return err == ERR_NOT_FOUND ? ERR_OK : err;
}

// put_registration: what was had lasts until its time, whatever became of its renewal.
static void put_registration(const Call *call, JsonOut *out, const PollGroup *group)
{
    Instant until = group->registered_until;
    if (!group->registered.at) {
        json_add_null(out);
        return;
    }
    json_open(out, '{');
    json_put_str(out, S("status"),
                 until != INSTANT_NONE && until > clock_now(call->api->clock) ? S("active")
                                                                              : S("failed"));
    json_put_time(out, S("expiresAt"), until);
    json_put_str(out, S("error"), group->register_error);
    json_close(out, '}');
}

void integration_put(const Call *call, JsonOut *out, const void *looked)
{
    const Alone *alone = looked;
    json_key(out, S("pollGroup"));
    if (!alone->is_polled || !poll_group_put(call, out, &alone->group))
        json_add_null(out);
    json_key(out, S("registration"));
    put_registration(call, out, &alone->group);
}
