#include "api/handlers.h"

#include "api/noun.h"
#include "store/definition.h"
#include "store/secret.h"

// The verbs that all definitions share; a route names its kind. A body is kept as it was given, but
// for secrets (store/secret.h) and for names: what has two of them is kept under one.

static Err named(const Edit *edit, const Json *given, const Json **ret, Error *error);
static Err save(Edit *edit, const Json *given, bool is_new, bool is_patched, Error *error);
static Err read_body(Edit *edit, const Json *given, Error *error);
static Err text_of(const Edit *edit, Str *ret, Error *error);

// Shown is a definition that is to be told of.
typedef struct Shown {
    int status;
    Definition row;
    const EditWarning *warnings;
    size_t warning_count;
    Str secret;         // see Edit; none
    const void *looked; // see Noun.look_at; NULL
} Shown;

// Showing is how much of a body is shown.
typedef struct Showing {
    bool shows_all; // to who may edit
    Str except;     // this member is not; none
    Str secret;     // as it is shown this once; none: its mark
    bool tells;     // what the noun tells otherwise is left out
} Showing;
static Err answer_row(Call *call, Db *db, const Shown *of, Error *error);
static Err tell_row(Call *call, Error *error);
static Err put_row(Call *call, const Shown *shown, Error *error);
static void put_members(const Call *call, JsonOut *out, const Json *body, const Showing *how);

static const Noun *noun(const Call *call)
{
    assert(call->route->definition);
    return noun_of(call->route->definition);
}

static Str kind_text(const Call *call)
{
    return str_from(call->route->definition->kind);
}

// expected_version reads If-Match: "7" or 7. What names no version at all never matches.
static int64_t expected_version(const Call *call)
{
    Str given = exchange_header(call->exchange, S("If-Match"));
    int64_t version;
    if (!given.at || str_eq(given, S("*")))
        return DEFINITION_ANY_VERSION;
    if (given.len > 2 && given.at[0] == '"' && given.at[given.len - 1] == '"')
        given = (Str){ given.at + 1, given.len - 2 };
    return str_to_i64(given, 1, INT64_MAX, &version) ? version : 0;
}

Edit edit_of(Call *call, Tx *tx)
{
    assert(call->route->definition);
    return (Edit){ .call = call,
                   .tx = tx,
                   .kind = call->route->definition,
                   .id = call->params[0],
                   .expected = expected_version(call) };
}

Err definition_post(Call *call, Tx *tx, Error *error)
{
    Edit edit = edit_of(call, tx);
    TRY(call_body(call, error));
    return save(&edit, call->body, true, false, error);
}

Err definition_put(Call *call, Tx *tx, Error *error)
{
    Edit edit = edit_of(call, tx);
    const Json *given;
    TRY(call_body(call, error));
    TRY(named(&edit, call->body, &given, error));
    if (noun(call)->secrets)
        TRY(edit_find(&edit, error));
    return save(&edit, given, false, false, error);
}

Err definition_patch(Call *call, Tx *tx, Error *error)
{
    TRY(call_body(call, error));
    return definition_change(call, tx, call->body, error);
}

Err definition_change(Call *call, Tx *tx, const Json *changes, Error *error)
{
    Edit edit = edit_of(call, tx);
    const Json *given;
    TRY(edit_find(&edit, error));
    TRY(edit_patch(&edit, changes, &given, error));
    return save(&edit, given, false, true, error);
}

static Err parse_of(const Call *call, const DefinitionKind *kind, const Definition *row,
                    const Json **ret, Error *error)
{
    Error unreadable = { 0 };
    if (json_parse(call->arena, row->body, ret, &unreadable) == ERR_OK)
        return ERR_OK;
    return fail(error, ERR_CORRUPT, "%s %.*s: %s", kind->kind, STR_ARG(row->id), unreadable.detail);
}

static Err parse_row(const Call *call, const Definition *row, const Json **ret, Error *error)
{
    return parse_of(call, call->route->definition, row, ret, error);
}

Err edit_find(Edit *edit, Error *error)
{
    Definition old;
    TRY(definition_lock(edit->tx, error));
    TRY(definition_get(edit->tx->db, &edit->tx->arena, edit->call->tenant,
                       str_from(edit->kind->kind), edit->id, &old, error));
    edit->stored = old;
    edit->is_known = true;
    return parse_of(edit->call, edit->kind, &old, &edit->old, error);
}

// named returns a body with the id that the path says, which may be left out of it but not differ.
static Err named(const Edit *edit, const Json *given, const Json **ret, Error *error)
{
    const Call *call = edit->call;
    const DefinitionKind *kind = edit->kind;
    Str member = str_from(kind->id_member), id = edit->id;
    const Json *value = json_get(given, member);
    if (json_type(value) == JSON_STRING && !str_eq(json_str(value), id)) {
        Members members = members_open(given, S(""), error);
        members_note(&members, member, "bad-value",
                     "must be as in the path; a %s cannot be renamed", kind->kind);
        return members_close(&members, kind->shape->invalid);
    }
    *ret = given;
    if (value && json_type(value) != JSON_NULL)
        return ERR_OK;
    Buf text = buf_new(call->arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_str(&out, member, id);
    for (JsonIter it = json_each(given); json_next(&it);)
        if (!str_eq(it.key, member))
            json_put_raw(&out, it.key, json_text(call->arena, it.value));
    json_close(&out, '}');
    return json_parse(call->arena, buf_str(&text), ret, error);
}

// rewrite puts a body under the names of its rows.
static Err rewrite(Arena *arena, const Shape *shape, const Json *given, bool keeps_null,
                   const Json **ret, Error *error)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    fields_write(&out, arena, shape, given, keeps_null);
    return json_parse(arena, buf_str(&text), ret, error);
}

Err edit_patch(Edit *edit, const Json *changes, const Json **ret, Error *error)
{
    Call *call = edit->call;
    Buf shown = buf_new(call->arena, BUF_WHOLE);
    JsonOut out = json_out(&shown);
    const Json *patch, *merged;
    json_open(&out, '{');
    put_members(call, &out, edit->old, &(Showing){ .shows_all = true });
    json_close(&out, '}');
    TRY(rewrite(call->arena, edit->kind->shape, changes, true, &patch, error));
    TRY(call_merge(call, buf_str(&shown), patch, &merged, error));
    return named(edit, merged, ret, error);
}

Err edit_ready(Edit *edit, const Json *given, bool is_patched, Error *error)
{
    const Noun *of = noun_of(edit->kind);
    TRY(read_body(edit, given, error));
    edit->is_patched = is_patched;
    if (of->complete)
        TRY(of->complete(edit, error));
    TRY(text_of(edit, &edit->text, error));
    return of->may_save ? of->may_save(edit, error) : ERR_OK;
}

Err edit_write(Edit *edit, bool is_new, Definition *ret, Error *error)
{
    const Noun *of = noun_of(edit->kind);
    int64_t tenant = edit->call->tenant;
    Str kind = str_from(edit->kind->kind);
    Str id = json_str(json_get(edit->body, str_from(edit->kind->id_member)));
    if (is_new)
        TRY(definition_create(edit->tx, tenant, kind, id, edit->text, ret, error));
    else
        TRY(definition_replace(edit->tx, tenant, kind, id, edit->expected, edit->text, ret, error));
    // What stands there already makes no version, and is not what was given.
    edit->is_changed = ret->body.at == edit->text.at;
    return of->touch ? of->touch(edit, error) : ERR_OK;
}

Err edit_save(Edit *edit, const Json *given, bool is_new, bool is_patched, Definition *ret,
              Error *error)
{
    TRY(edit_ready(edit, given, is_patched, error));
    return edit_write(edit, is_new, ret, error);
}

static Err look_beside(Call *call, Db *db, const Definition *rows, size_t count, Error *error)
{
    const Noun *of = noun(call);
    return of->look ? of->look(call, db, rows, count, &call->known, error) : ERR_OK;
}

// save makes the definition or its next version, and answers with it.
static Err save(Edit *edit, const Json *given, bool is_new, bool is_patched, Error *error)
{
    Definition row;
    TRY(edit_save(edit, given, is_new, is_patched, &row, error));
    TRY(look_beside(edit->call, edit->tx->db, &row, 1, error));
    Shown shown = { .status = is_new ? 201 : 200,
                    .row = row,
                    .warnings = edit->warnings,
                    .warning_count = edit->warning_count,
                    .secret = edit->secret };
    return answer_row(edit->call, edit->tx->db, &shown, error);
}

// switch_of is the member that says whether one is in use.
static Str switch_of(const Noun *of)
{
    return fields_find(of->kind->shape, S("active")) ? S("active") : S("enabled");
}

static bool is_on(const Noun *of, const Json *body)
{
    const Json *on = json_get(body, switch_of(of));
    return json_type(on) != JSON_BOOL || json_bool(on);
}

// without returns an object without one of its members.
static Err without(Arena *arena, const Json *object, Str member, const Json **ret, Error *error)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    for (JsonIter it = json_each(object); json_next(&it);)
        if (!str_eq(it.key, member))
            json_put_raw(&out, it.key, json_text(arena, it.value));
    json_close(&out, '}');
    return json_parse(arena, buf_str(&text), ret, error);
}

Err edit_keep_switch(const Edit *edit, const Json *given, const Json **ret, Error *error)
{
    const Noun *of = noun_of(edit->kind);
    Str on = switch_of(of), reason = str_from(of->off_reason);
    const Json *kept = json_get(edit->old, on), *why = json_get(edit->old, reason);
    *ret = given;
    if (!kept || json_get(given, on))
        return ERR_OK;
    Buf text = buf_new(edit->call->arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    for (JsonIter it = json_each(given); json_next(&it);)
        json_put_raw(&out, it.key, json_text(edit->call->arena, it.value));
    json_put_raw(&out, on, json_text(edit->call->arena, kept));
    if (reason.at && why && !json_get(given, reason))
        json_put_raw(&out, reason, json_text(edit->call->arena, why));
    json_close(&out, '}');
    return json_parse(edit->call->arena, buf_str(&text), ret, error);
}

// read_body checks what was given and puts it under the names of its rows.
static Err read_body(Edit *edit, const Json *given, Error *error)
{
    Arena *arena = edit->call->arena;
    const Noun *of = noun_of(edit->kind);
    TRY(of->kind->check(arena, given, error));
    TRY(rewrite(arena, of->kind->shape, given, false, &edit->body, error));
    Str reason = str_from(of->off_reason);
    if (reason.at && is_on(of, edit->body) && json_get(edit->body, reason))
        return without(arena, edit->body, reason, &edit->body, error);
    return ERR_OK;
}

// sealer_of is what seals an edit's secrets.
static Sealer sealer_of(const Edit *edit)
{
    Call *call = edit->call;
    return (Sealer){
        .arena = call->arena,
        .ring = call->api->ring,
        .random = edit->tx->random,
        .now = edit->tx->now,
        .owner = { str_from(edit->kind->kind), call->tenant,
                   json_str(json_get(edit->body, str_from(edit->kind->id_member))) },
        .is_foreign = call->api->is_key_foreign,
        .drops_unnamed = edit->is_patched,
        .overlap = edit->overlap,
    };
}

// seal returns the member with secrets as it is to be stored.
static Err seal(const Edit *edit, Str *ret, Error *error)
{
    Call *call = edit->call;
    const Noun *of = noun_of(edit->kind);
    const Shape *shape;
    Str member = str_from(of->secrets);
    TRY(of->find_shape(call->arena, edit->body, &shape, error));
    Sealer sealer = sealer_of(edit);
    sealer.old = json_get(edit->old, member);
    sealer.has_moved = edit->old && of->has_moved(edit->body, edit->old);
    Str pointer = str_format(call->arena, "/%.*s", STR_ARG(member));
    return secret_seal(&sealer, shape, json_get(edit->body, member), pointer, ret, error);
}

// alone returns an object with one member of another, or with none.
static Err alone(Arena *arena, const Json *object, Str member, const Json **ret, Error *error)
{
    const Json *value = json_get(object, member);
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    if (value)
        json_put_raw(&out, member, json_text(arena, value));
    json_close(&out, '}');
    return json_parse(arena, buf_str(&text), ret, error);
}

static Str secret_name(const Noun *of)
{
    return of->secret ? str_from(of->secret->fields[0].name) : STR_NONE;
}

// seal_alone returns the secret that stands in the body itself as it is to be stored; none.
static Err seal_alone(const Edit *edit, Str *ret, Error *error)
{
    Arena *arena = edit->call->arena;
    const Noun *of = noun_of(edit->kind);
    Str name = secret_name(of), text;
    const Json *given, *stored;
    Sealer sealer = sealer_of(edit);
    sealer.drops_unnamed |= edit->drops_secret;
    TRY(alone(arena, edit->body, name, &given, error));
    TRY(alone(arena, edit->old, name, &sealer.old, error));
    TRY(secret_seal(&sealer, of->secret, given, S(""), &text, error));
    TRY(json_parse(arena, text, &stored, error));
    const Json *value = json_get(stored, name);
    *ret = value ? json_text(arena, value) : STR_NONE;
    return ERR_OK;
}

// with_member returns the body's text with another value for one member, which may be new.
static Str with_member(const Edit *edit, Str member, Str value)
{
    Arena *arena = edit->call->arena;
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    for (JsonIter it = json_each(edit->body); json_next(&it);)
        json_put_raw(&out, it.key, str_eq(it.key, member) ? value : json_text(arena, it.value));
    if (!json_get(edit->body, member) && !str_eq(value, S("{}")))
        json_put_raw(&out, member, value);
    json_close(&out, '}');
    return buf_str(&text);
}

Err edit_put(Edit *edit, Str member, Str json, Error *error)
{
    return json_parse(edit->call->arena, with_member(edit, member, json), &edit->body, error);
}

// text_of returns what is to be stored.
static Err text_of(const Edit *edit, Str *ret, Error *error)
{
    const Noun *of = noun_of(edit->kind);
    Edit stored = *edit;
    Str sealed;
    if (of->secrets) {
        TRY(seal(edit, &sealed, error));
        TRY(edit_put(&stored, str_from(of->secrets), sealed, error));
    }
    if (of->secret) {
        TRY(seal_alone(edit, &sealed, error));
        if (sealed.at)
            TRY(edit_put(&stored, secret_name(of), sealed, error));
    }
    *ret = json_text(edit->call->arena, stored.body);
    return ERR_OK;
}

static Err answer_row(Call *call, Db *db, const Shown *of, Error *error)
{
    Shown *shown = arena_copy(call->arena, of, sizeof *of);
    const Definition *row = &of->row;
    if (noun(call)->look_at)
        TRY(noun(call)->look_at(call, db, row->id, &shown->looked, error));
    shown->row.id = str_dup(call->arena, row->id);
    shown->row.body = str_dup(call->arena, row->body);
    shown->row.origin = str_dup(call->arena, row->origin);
    call->with = shown;
    call_later(call, tell_row);
    return ERR_OK;
}

static Err tell_row(Call *call, Error *error)
{
    const Shown *shown = call->with;
    call_json(call, shown->status);
    if (shown->secret.at)
        call_secret(call);
    call_header(call, S("ETag"),
                str_format(call->arena, "\"%lld\"", (long long) shown->row.version));
    if (shown->status == 201)
        call_header(call, S("Location"),
                    str_format(call->arena, "/v1/%s/%.*s", call->route->definition->plural,
                               STR_ARG(shown->row.id)));
    return put_row(call, shown, error);
}

static bool is_secrets(const Noun *of, Str member)
{
    return of->secrets && str_eq(member, str_from(of->secrets));
}

static bool may_edit(const Call *call)
{
    return call->key && (call->key->role == ROLE_AUTHOR || call->key->role == ROLE_ADMIN);
}

// deactivate writes a version that is not active; false where it was not already.
static Err deactivate(const Call *call, Tx *tx, Str id, bool *ret, Error *error)
{
    Definition current;
    const Json *body;
    Str kind = kind_text(call);
    TRY(definition_lock(tx, error));
    TRY(definition_get(tx->db, &tx->arena, call->tenant, kind, id, &current, error));
    TRY(parse_row(call, &current, &body, error));
    *ret = is_on(noun(call), body);
    if (!*ret)
        return ERR_OK;
    Edit edit = { .call = (Call *) (uintptr_t) call, .body = body };
    return definition_replace(tx, call->tenant, kind, id, expected_version(call),
                              with_member(&edit, switch_of(noun(call)), S("false")), &current,
                              error);
}

// definition_delete hides one. What is active or not is deactivated first: it can still be seen.
Err definition_delete(Call *call, Tx *tx, Error *error)
{
    const Noun *of = noun(call);
    Str id = call->params[0];
    bool is_done = false;
    if (of->may_delete)
        TRY(of->may_delete(call, tx, id, error));
    if (str_eq(switch_of(of), S("active")))
        TRY(deactivate(call, tx, id, &is_done, error));
    if (!is_done)
        TRY(definition_hide(tx, call->tenant, kind_text(call), id, expected_version(call), error));
    if (of->hide)
        TRY(of->hide(tx, call->tenant, id, error));
    call->reply = (Reply){ .status = 204 };
    return ERR_OK;
}

static void put_warnings(const Call *call, JsonOut *out, const EditWarning *warnings, size_t count)
{
    json_key(out, S("warnings"));
    json_open(out, '[');
    for (size_t i = 0; i < count; i++) {
        if (!noun(call)->has_placeholders) {
            json_add_str(out, warnings[i].message);
            continue;
        }
        json_open(out, '{');
        json_put_str(out, S("placeholder"), warnings[i].placeholder);
        json_put_str(out, S("message"), warnings[i].message);
        json_close(out, '}');
    }
    json_close(out, ']');
}

// put_usual shows what holds where a body does not say it.
static void put_usual(const Call *call, JsonOut *out, const Json *body)
{
    const NounUsual *usual = noun(call)->usual;
    for (; usual && usual->name; usual++)
        if (!json_get(body, str_from(usual->name)))
            json_put_raw(out, str_from(usual->name), str_from(usual->json));
}

// put_row shows a definition: what was given, what was not but matters, and what Peal adds.
static Err put_row(Call *call, const Shown *shown, Error *error)
{
    const Definition *row = &shown->row;
    JsonOut *out = &call->json;
    Str on = switch_of(noun(call));
    const Json *body;
    TRY(parse_row(call, row, &body, error));
    json_open(out, '{');
    put_members(call, out, body, &(Showing){ may_edit(call), on, shown->secret, true });
    put_usual(call, out, body);
    if (noun(call)->show)
        noun(call)->show(call, out, body);
    if (shown->looked)
        noun(call)->put(call, out, shown->looked);
    if (fields_find(noun(call)->kind->shape, on))
        json_put_bool(out, on, is_on(noun(call), body));
    json_put_i64(out, S("version"), row->version);
    json_put_time(out, S("createdAt"), row->created_at);
    json_put_time(out, S("updatedAt"), row->updated_at);
    origin_put(out, call->arena, row->origin, row->version);
    if (call->known)
        noun(call)->tell(call, call->known, row->id);
    if (shown->warning_count > 0)
        put_warnings(call, out, shown->warnings, shown->warning_count);
    json_close(out, '}');
    return ERR_OK;
}

// put_secret shows a secret that stands in the body itself.
static void put_secret(JsonOut *out, const Json *stored, Str shown)
{
    if (shown.at)
        json_add_str(out, shown);
    else
        secret_mark(out, stored);
}

// put_config shows a member with secrets.
static void put_config(const Call *call, JsonOut *out, const Json *body, const Json *config,
                       bool shows_all)
{
    const Shape *shape = NULL;
    Error unknown = { 0 };
    if (noun(call)->find_shape(call->arena, body, &shape, &unknown) != ERR_OK)
        shape = NULL;
    secret_show(out, call->arena, shape, config, shows_all);
}

static bool is_told(const Noun *of, Str member)
{
    for (const char *const *told = of->told; told && *told; told++)
        if (str_eq(member, str_from(*told)))
            return true;
    return false;
}

// put_members writes a stored body with marks for its secrets.
static void put_members(const Call *call, JsonOut *out, const Json *body, const Showing *how)
{
    const Noun *of = noun(call);
    for (JsonIter it = json_each(body); json_next(&it);) {
        if (str_eq(it.key, how->except) || (how->tells && is_told(of, it.key)))
            continue;
        json_key(out, it.key);
        if (is_secrets(of, it.key))
            put_config(call, out, body, it.value, how->shows_all);
        else if (of->secret && str_eq(it.key, secret_name(of)))
            put_secret(out, it.value, how->secret);
        else
            json_add_raw(out, json_text(call->arena, it.value));
    }
}

// show_row puts one as a reader sees it.
static Err show_row(Call *call, const Definition *row, Error *error)
{
    const Noun *of = noun(call);
    EditWarning wait = { .message = of->warn ? of->warn(call, row->id) : STR_NONE };
    Shown shown = { .row = *row, .warnings = &wait, .warning_count = wait.message.at != NULL };
    return put_row(call, &shown, error);
}

// Picked is a page that is filled by what fits: a list looks at PICK_PAGES pages for it at most.
typedef struct Picked {
    Walk walk;
    int64_t left; // to be found
    Seen seen;
} Picked;

enum { PICK_PAGES = 10 };

// pick_page puts what fits of one page.
static Err pick_page(Call *call, Db *db, Picked *picked, Error *error)
{
    Definition *rows;
    Seen *seen = &picked->seen;
    TRY(definition_page(db, call->arena, call->tenant, kind_text(call), &picked->walk, &rows, seen,
                        error));
    for (size_t i = 0; i < seen->count; i++) {
        const Json *body;
        TRY(parse_row(call, &rows[i], &body, error));
        if (!noun(call)->fits(call, body))
            continue;
        TRY(show_row(call, &rows[i], error));
        if (--picked->left > 0 || (i + 1 == seen->count && !seen->has_more))
            continue;
        *seen = (Seen){ .has_more = true, .next = rows[i].id };
        break;
    }
    picked->walk.after = seen->next;
    return ERR_OK;
}

static Err list_picked(Call *call, Db *db, const Walk *walk, Error *error)
{
    Picked picked = { .walk = *walk, .left = walk->limit, .seen.has_more = true };
    page_open(call);
    for (int i = 0; i < PICK_PAGES && picked.left > 0 && picked.seen.has_more; i++)
        TRY(pick_page(call, db, &picked, error));
    picked.seen.is_cut = picked.seen.has_more && picked.left > 0;
    page_close(call, &picked.seen);
    return ERR_OK;
}

Err definitions_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    Definition *rows;
    TRY(call_walk(call, &walk, error));
    if (noun(call)->fits)
        return list_picked(call, db, &walk, error);
    TRY(definition_page(db, call->arena, call->tenant, kind_text(call), &walk, &rows, &seen,
                        error));
    TRY(look_beside(call, db, rows, seen.count, error));
    page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        TRY(show_row(call, &rows[i], error));
    page_close(call, &seen);
    return ERR_OK;
}

Err definition_show(Call *call, Db *db, Error *error)
{
    Definition row;
    const Noun *of = noun(call);
    TRY(definition_get(db, call->arena, call->tenant, kind_text(call), call->params[0], &row,
                       error));
    TRY(look_beside(call, db, &row, 1, error));
    EditWarning *wait = ARENA_NEW(call->arena, EditWarning);
    wait->message = of->warn ? of->warn(call, row.id) : STR_NONE;
    Shown shown = {
        .status = 200, .row = row, .warnings = wait, .warning_count = wait->message.at != NULL
    };
    return answer_row(call, db, &shown, error);
}

// clang-format off
#define VERSION_ROWS                                                                                                    \
    { "version", FIELD_COUNT, FIELD_ALWAYS },                                                                           \
    { "at",      FIELD_TIME,  FIELD_ALWAYS },                                                                           \
    { "actor",   FIELD_ID,    FIELD_ALWAYS | FIELD_NULLABLE, .help = "The key of who saved it; null: Peal itself" },    \
    { "origin",  FIELD_OBJECT, 0, .inside = &origin_shape, .help = "The files that it was applied from" }
static const Field version_rows[] = { VERSION_ROWS };
const Shape definition_version_shape = { .name = "DefinitionVersion", SHAPE_ROWS(version_rows) };
static const Field version_whole_rows[] = {
    VERSION_ROWS,
    { "definition", FIELD_OBJECT, FIELD_ALWAYS, .help = "As it was, with marks for its secrets" },
};
const Shape definition_version_whole_shape = { .name = "DefinitionVersionWhole", SHAPE_ROWS(version_whole_rows) };
// clang-format on

static void put_version(const Call *call, JsonOut *json, const DefinitionVersion *version)
{
    json_put_i64(json, S("version"), version->version);
    json_put_time(json, S("at"), version->at);
    if (uuid_is_none(version->actor))
        json_put_null(json, S("actor"));
    else
        json_put_id(json, S("actor"), version->actor);
    origin_put(json, call->arena, version->origin, version->version);
}

Err definition_version_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    DefinitionVersion *versions;
    Str id = call->params[0];
    TRY(call_walk(call, &walk, error));
    TRY(definition_version_page(db, call->arena, call->tenant, kind_text(call), id, &walk,
                                &versions, &seen, error));
    if (seen.count == 0 && !walk.after.at)
        return fail(error, ERR_NOT_FOUND, "there is no %s %.*s", call->route->definition->kind,
                    STR_ARG(id));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++) {
        json_open(json, '{');
        put_version(call, json, &versions[i]);
        json_close(json, '}');
    }
    page_close(call, &seen);
    return ERR_OK;
}

Err definition_version_show(Call *call, Db *db, Error *error)
{
    DefinitionVersion version;
    int64_t number;
    const Json *body;
    if (!str_to_i64(call->params[1], 1, INT64_MAX, &number))
        return fail(error, ERR_NOT_FOUND, "versions are numbers from 1");
    TRY(definition_version_get(db, call->arena, call->tenant, kind_text(call), call->params[0],
                               number, &version, error));
    TRY(parse_row(call, &(Definition){ .id = call->params[0], .body = version.body }, &body,
                  error));
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    put_version(call, json, &version);
    json_key(json, S("definition"));
    json_open(json, '{');
    put_members(call, json, body, &(Showing){ .shows_all = may_edit(call) });
    json_close(json, '}');
    json_close(json, '}');
    return ERR_OK;
}
