#include "api/handlers.h"

#include "api/noun.h"
#include "api/shapes.h"
#include "base/crypto.h"
#include "domain/source.h"
#include "intake/table.h"
#include "providers/provider.h"
#include "store/hook.h"

// Sources: what Peal makes for one that webhooks come to (its path and its secret), who may write
// which, and the rotation of the secret.

enum { MADE_PATH_BYTES = 20, MADE_SECRET_BYTES = 32, SECRET_BYTES_GOOD = 16 };
#define OVERLAP_USUAL SPAN_DAY

static Str member_of(const Json *body, const char *name)
{
    return json_str(json_get(body, str_from(name)));
}

static bool is_table(const Json *body)
{
    return str_eq(member_of(body, "provider"), S("table"));
}

Err find_source_config(Arena *arena, const Json *body, const Shape **ret, Error *error)
{
    static const Shape nothing = { "NoSourceConfig" };
    ProviderName name;
    (void) arena;
    (void) error;
    bool is_known = provider_name_parse(member_of(body, "provider"), &name);
    const Provider *provider = is_known ? provider_of(name) : NULL;
    *ret = provider && provider->config ? provider->config : &nothing;
    if (is_table(body))
        *ret = &source_table_shape;
    return ERR_OK;
}

// has_source_moved: of a table's password. What webhooks are verified with goes nowhere.
bool has_source_moved(const Json *body, const Json *old)
{
    Str store = S("store"), config = S("config");
    return !str_eq(json_str(json_get(json_get(body, config), store)),
                   json_str(json_get(json_get(old, config), store)));
}

static Str make_text(Call *call, Tx *tx, size_t len)
{
    char bytes[MADE_SECRET_BYTES];
    assert(len <= sizeof bytes);
    random_fill(tx->random, bytes, len);
    Str text = hex_text(call->arena, bytes, len);
    crypto_wipe(bytes, sizeof bytes);
    return text;
}

static Err put_text(Edit *edit, const char *member, Str text, Error *error)
{
    Str quoted = str_format(edit->call->arena, "\"%.*s\"", STR_ARG(text));
    return edit_put(edit, str_from(member), quoted, error);
}

// complete_path: one that was made stays, however often the definition is given without it.
static Err complete_path(Edit *edit, Error *error)
{
    Str given = member_of(edit->body, "path"), old = member_of(edit->old, "path");
    if (str_starts(given, SOURCE_MADE) && !str_eq(given, old)) {
        error_add(error, S("/path"), "bad-value",
                  "must not begin with t_, as those do that are made");
        return error_close(error, ERR_INVALID);
    }
    if (given.at)
        return ERR_OK;
    if (str_starts(old, SOURCE_MADE))
        return put_text(edit, "path", old, error);
    Str made = make_text(edit->call, edit->tx, MADE_PATH_BYTES);
    return put_text(edit, "path", str_format(edit->call->arena, "t_%.*s", STR_ARG(made)), error);
}

// complete_secret: one that is taken out (null) makes room for another. None would verify nothing.
static Err complete_secret(Edit *edit, Error *error)
{
    const Json *given = json_get(edit->body, S("secret"));
    bool is_kept = !given && json_get(edit->old, S("secret")) && !edit->is_patched;
    Str text = json_str(given);
    if (text.at && text.len < SECRET_BYTES_GOOD)
        edit_warn(edit, STR_NONE, S("the secret is short enough to be guessed; let Peal make one"));
    edit->secret = edit->old ? STR_NONE : text;
    if (given || is_kept)
        return ERR_OK;
    edit->secret = make_text(edit->call, edit->tx, MADE_SECRET_BYTES);
    return put_text(edit, "secret", edit->secret, error);
}

// complete_source gives a webhook source its path and its secret; none only where its config says
// that nothing is verified.
Err complete_source(Edit *edit, Error *error)
{
    if (is_table(edit->body))
        return ERR_OK;
    TRY(complete_path(edit, error));
    edit->drops_secret = source_is_unsigned(edit->body);
    if (!edit->drops_secret)
        return complete_secret(edit, error);
    if (!json_get(edit->body, S("secret")))
        return ERR_OK;
    error_add(error, S("/secret"), "bad-value", "is for what is verified; config says kind none");
    return error_close(error, ERR_INVALID);
}

// check_file refuses a file that lies elsewhere than the operator allows.
static Err check_file(const Edit *edit, Error *error)
{
    const Api *api = edit->call->api;
    SourceTable table = { .store = member_of(json_get(edit->body, S("config")), "store") };
    if (!source_is_file(&table) || api->is_private)
        return ERR_OK;
    const char *problem =
        table_file_problem(edit->call->arena, table.store, api->table_folder, api->store_url);
    if (!problem)
        return ERR_OK;
    error_add(error, S("/config/store"), "bad-value", "%s", problem);
    return error_close(error, ERR_INVALID);
}

// check_right: a table is in another database, and what is shared is other tenants' too.
static Err check_right(const Call *call, const Json *body, Error *error)
{
    bool is_shared = json_bool(json_get(body, S("shared")));
    if (call->key->is_system || (!is_table(body) && !is_shared))
        return ERR_OK;
    return fail(error, ERR_FORBIDDEN, "a source that is %s takes the system right",
                is_shared ? "shared" : "a table");
}

Err may_save_source(const Edit *edit, Error *error)
{
    TRY(check_right(edit->call, edit->body, error));
    if (edit->old)
        TRY(check_right(edit->call, edit->old, error));
    if (edit->old && !str_eq(member_of(edit->body, "provider"), member_of(edit->old, "provider"))) {
        error_add(error, S("/provider"), "bad-value", "does not change; make another source");
        return error_close(error, ERR_INVALID);
    }
    if (is_table(edit->body))
        return check_file(edit, error);
    return hook_path_check(edit->tx, edit->call->tenant, member_of(edit->body, "id"),
                           member_of(edit->body, "path"), error);
}

Err touch_source(Edit *edit, Error *error)
{
    Str integration = member_of(edit->body, "integration");
    if (integration.at)
        TRY(edit_warn_of_missing(edit, &definition_integration, integration, error));
    if (!is_table(edit->body))
        hook_path_take(edit->tx, edit->call->tenant, member_of(edit->body, "id"),
                       member_of(edit->body, "path"));
    return ERR_OK;
}

void show_source(const Call *call, JsonOut *out, const Json *body)
{
    Str path = member_of(body, "path");
    if (!path.at)
        return;
    path = source_path(call->arena, call_tenant_id(call), path);
    json_put_str(out, S("url"), str_format(call->arena, "/hooks/%.*s", STR_ARG(path)));
}

Err may_delete_source(const Call *call, Tx *tx, Str id, Error *error)
{
    Definition row;
    const Json *body;
    TRY(definition_lock(tx, error));
    TRY(definition_get(tx->db, &tx->arena, call->tenant, S("source"), id, &row, error));
    TRY(json_parse(&tx->arena, row.body, &body, error));
    return check_right(call, body, error);
}

Err hide_source(Tx *tx, int64_t tenant, Str id, Error *error)
{
    (void) error;
    hook_path_drop(tx, tenant, id);
    return ERR_OK;
}

// ShownSecret is a secret that was rotated and is to be told.
typedef struct ShownSecret {
    Str id, secret;
    int64_t version;
    const Json *stored;
} ShownSecret;

static Err tell_secret(Call *call, Error *error)
{
    const ShownSecret *shown = call->with;
    JsonOut *out = call_json(call, 200);
    (void) error;
    call_secret(call);
    json_open(out, '{');
    json_put_str(out, S("id"), shown->id);
    json_put_str(out, S("secret"), shown->secret);
    json_put_i64(out, S("version"), shown->version);
    json_put_str(out, S("rotatedAt"), json_str(json_get(shown->stored, S("rotatedAt"))));
    json_put_str(out, S("previousUntil"),
                 json_str(json_get(json_get(shown->stored, S("previous")), S("until"))));
    json_close(out, '}');
    return ERR_OK;
}

static Err answer_secret(Call *call, const Definition *row, Str secret, Error *error)
{
    ShownSecret *shown = ARENA_NEW(call->arena, ShownSecret);
    const Json *stored;
    TRY(json_parse(call->arena, row->body, &stored, error));
    *shown = (ShownSecret){ .id = str_dup(call->arena, row->id),
                            .secret = secret,
                            .version = row->version,
                            .stored = json_get(stored, S("secret")) };
    call->with = shown;
    call_later(call, tell_secret);
    return ERR_OK;
}

// check_rotates: what has no secret gets none by this.
static Err check_rotates(const Edit *edit, Error *error)
{
    if (json_get(edit->old, S("secret")))
        return ERR_OK;
    return fail(error, ERR_CONFLICT, "the source has no secret");
}

// changes_of is the patch that gives the source a secret.
static Err changes_of(const Call *call, Str secret, const Json **ret, Error *error)
{
    Buf text = buf_new(call->arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_str(&out, S("secret"), secret);
    json_close(&out, '}');
    return json_parse(call->arena, buf_str(&text), ret, error);
}

Err source_rotate(Call *call, Tx *tx, Error *error)
{
    Edit edit = edit_of(call, tx);
    SourceRotateBody body = { .overlap = OVERLAP_USUAL };
    const Json *changes, *given;
    Definition row;
    TRY(call_body(call, error));
    TRY(fields_read(call->arena, call->body, S(""), &source_rotate_body_shape, &body, error));
    TRY(edit_find(&edit, error));
    TRY(check_rotates(&edit, error));
    if (!body.secret.at)
        body.secret = make_text(call, tx, MADE_SECRET_BYTES);
    edit.overlap = body.overlap;
    TRY(changes_of(call, body.secret, &changes, error));
    TRY(edit_patch(&edit, changes, &given, error));
    TRY(edit_save(&edit, given, false, true, &row, error));
    return answer_secret(call, &row, body.secret, error);
}
