#include "api/apply.h"

#include "api/noun.h"
#include "base/crypto.h"
#include "domain/difference.h"
#include "store/survey.h"
#include "store/tenant.h"

// A call passes through this file from top to bottom: its definitions are read and checked by the
// thinkers; in the transaction each is compared with what is stored and saved; then the plan, which
// is what was done, is told.

typedef struct ApplyBody {
    const Json *definitions;
    Str origin, plan; // plan: none
    bool prunes, prunes_all, is_dry;
} ApplyBody;

typedef enum ApplyAction { APPLY_NONE, APPLY_CREATE, APPLY_UPDATE, APPLY_DELETE } ApplyAction;
static const char *const actions[] = { "none", "create", "update", "delete", NULL };

// ApplyItem is a definition that was given, or one that is to be deleted.
typedef struct ApplyItem {
    size_t rank;  // of its kind, in the order of apply
    size_t index; // among those that were given
    Str id, file; // file: none
    const Json *body;
    ListSave *members;
    bool publishes; // of a survey: its draft is to be the version that counts

    // What became of it, in this try.
    ApplyAction action;
    int64_t version; // that is stored; 0 for a new one
    bool has_drifted;
    Difference difference;
    const EditWarning *warnings;
    size_t warning_count;
    Str secret; // that was made for it, and is shown this once; none
} ApplyItem;

typedef struct Apply {
    ApplyBody body;
    ApplyItem *items; // by rank and id
    size_t count;
    ApplyItem *gone; // to be deleted, in this try
    size_t gone_count;
    Str plan; // its name
} Apply;

// clang-format off
static const Field anything = { NULL, FIELD_OBJECT };

#define AT(member) .offset = offsetof(ApplyBody, member)
static const Field body_fields[] = {
    { "definitions", FIELD_LIST, FIELD_NEEDED | FIELD_RAW, AT(definitions), .max = APPLY_MAX, .of = &anything,
      .help = "each with its kind and, where it is from a file, the file's name as origin" },
    { "origin", FIELD_TEXT, AT(origin), .max = ORIGIN_SET_MAX, .help = "the name of the set that they are; api unless said" },
    { "prune",  FIELD_BOOL, AT(prunes), .help = "delete what was applied with this set before, and is not in it" },
    { "pruneAll", FIELD_BOOL, AT(prunes_all), .help = "delete whatever is not in it, whoever made it" },
    { "dryRun", FIELD_BOOL, AT(is_dry), .help = "only tell what would be done" },
    { "plan",   FIELD_TEXT, AT(plan), .max = 64, .help = "the plan that was agreed to: 409 where it is another by now" },
};
#undef AT
const Shape apply_body_shape = { "ApplyBody", SHAPE_ROWS(body_fields), .size = sizeof(ApplyBody) };

static const Field difference_fields[] = {
    { "path",   FIELD_TEXT, FIELD_SHOWN | FIELD_NEEDED, .help = "JSON Pointer of what differs" },
    { "secret", FIELD_BOOL, FIELD_SHOWN, .help = "it is a secret: its values are not told" },
    { "old",    FIELD_ANY,  FIELD_SHOWN, .help = "any JSON; absent where there is none" },
    { "new",    FIELD_ANY,  FIELD_SHOWN, .help = "any JSON; absent where there is none any more" },
};
static const Shape difference_shape = { "ApplyDifference", SHAPE_ROWS(difference_fields) };
static const Field difference = { NULL, FIELD_OBJECT, .inside = &difference_shape };
static const Field warning = { NULL, FIELD_TEXT };

static const Field change_fields[] = {
    { "action",  FIELD_WORD, FIELD_SHOWN | FIELD_NEEDED, .words = actions },
    { "kind",    FIELD_TEXT, FIELD_SHOWN | FIELD_NEEDED },
    { "id",      FIELD_TEXT, FIELD_SHOWN | FIELD_NEEDED },
    { "file",    FIELD_TEXT, FIELD_SHOWN },
    { "drifted", FIELD_BOOL, FIELD_SHOWN, .help = "it was changed otherwise since it was applied" },
    { "diff",    FIELD_LIST, FIELD_SHOWN | FIELD_NEEDED, .of = &difference },
    { "more",    FIELD_COUNT, FIELD_SHOWN, .help = "so many differences are left out" },
    { "secret",  FIELD_TEXT, FIELD_SHOWN, .help = "that was made for it; shown this once" },
    { "warnings", FIELD_LIST, FIELD_SHOWN, .of = &warning },
};
static const Shape change_shape = { "ApplyChange", SHAPE_ROWS(change_fields) };
static const Field change = { NULL, FIELD_OBJECT, .inside = &change_shape };

static const Field plan_fields[] = {
    { "dryRun",    FIELD_BOOL,  FIELD_SHOWN | FIELD_NEEDED },
    { "plan",      FIELD_TEXT,  FIELD_SHOWN | FIELD_NEEDED, .help = "a name for what would be, or was, done" },
    { "created",   FIELD_COUNT, FIELD_SHOWN | FIELD_NEEDED },
    { "updated",   FIELD_COUNT, FIELD_SHOWN | FIELD_NEEDED },
    { "deleted",   FIELD_COUNT, FIELD_SHOWN | FIELD_NEEDED },
    { "unchanged", FIELD_COUNT, FIELD_SHOWN | FIELD_NEEDED },
    { "changes",   FIELD_LIST,  FIELD_SHOWN | FIELD_NEEDED, .of = &change },
};
const Shape apply_shape = { "Apply", SHAPE_ROWS(plan_fields) };
// clang-format on

static void read_item(const Call *call, const Json *given, ApplyItem *item, Error *error);
static Err sort_items(Apply *apply, Error *error);
static Err check_rights(const Call *call, const Apply *apply, Error *error);
static Err find_gone(Call *call, Tx *tx, Apply *apply, Error *error);
static Err delete_gone(Call *call, Tx *tx, const Apply *apply, Error *error);
static Err save_item(Call *call, Tx *tx, const Apply *apply, ApplyItem *item, Error *error);
static Err refuse(const Call *call, const ApplyItem *item, Err err, const Error *why, Error *error);
static Str name_plan(Call *call, const Apply *apply);
static Err tell_plan(Call *call, Error *error);

Err apply_read(Call *call, Error *error)
{
    Apply *apply = ARENA_NEW(call->arena, Apply);
    *apply = (Apply){ .body.origin = S("api") };
    TRY(call_body(call, error));
    TRY(fields_read(call->arena, call->body, S(""), &apply_body_shape, &apply->body, error));
    apply->items = ARENA_ARRAY(call->arena, ApplyItem, json_count(apply->body.definitions) + 1);
    for (JsonIter it = json_each(apply->body.definitions); json_next(&it);) {
        ApplyItem *item = &apply->items[apply->count++];
        *item = (ApplyItem){ .index = it.index - 1 };
        read_item(call, it.value, item, error);
    }
    TRY(error_close(error, ERR_INVALID));
    call->thought = apply;
    call->weight = apply->count;
    return sort_items(apply, error);
}

static const DefinitionKind *kind_of(const ApplyItem *item)
{
    return definition_kinds[item->rank];
}

static Str place_of(Arena *arena, const ApplyItem *item, Str inside)
{
    return str_format(arena, "/definitions/%zu%.*s", item->index, STR_ARG(inside));
}

static bool is_survey(const ApplyItem *item)
{
    return kind_of(item) == &definition_survey;
}

// is_about: a member that is not the definition's own, but says what it is, where it is from and
// what is to become of it.
static bool is_about(const ApplyItem *item, Str member)
{
    return str_eq(member, S("kind")) || str_eq(member, S("origin")) ||
           (is_survey(item) && str_eq(member, S("published")));
}

// bare is the definition alone.
static Err bare(Arena *arena, const ApplyItem *item, const Json *given, const Json **ret,
                Error *error)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    for (JsonIter it = json_each(given); json_next(&it);)
        if (!is_about(item, it.key))
            json_put_raw(&out, it.key, json_text(arena, it.value));
    json_close(&out, '}');
    return json_parse(arena, buf_str(&text), ret, error);
}

// read_kind notes a kind that there is not, with all that there are.
static bool read_kind(const Call *call, const Json *given, ApplyItem *item, Error *error)
{
    Str name = json_str(json_get(given, S("kind")));
    if (definition_rank(name, &item->rank))
        return true;
    Buf known = buf_new(call->arena, 300);
    for (size_t i = 0; definition_kinds[i]; i++)
        buf_add_format(&known, "%s%s", i ? ", " : "", definition_kinds[i]->kind);
    error_add(error, place_of(call->arena, item, S("/kind")), "unknown-kind", "must be one of %.*s",
              STR_ARG(buf_str(&known)));
    return false;
}

static Err read_members(const Call *call, ApplyItem *item, Error *error)
{
    if (kind_of(item) == &definition_list)
        return list_take(call->arena, &item->body, &item->members, error);
    return ERR_OK;
}

// read_item notes all that is wrong with a definition by itself.
static void read_item(const Call *call, const Json *given, ApplyItem *item, Error *error)
{
    Arena *arena = call->arena;
    Error wrong = { .arena = arena };
    if (json_type(given) != JSON_OBJECT) {
        error_add(error, place_of(arena, item, S("")), "bad-type", "must be an object");
        return;
    }
    if (!read_kind(call, given, item, error))
        return;
    item->file = str_head(json_str(json_get(given, S("origin"))), ORIGIN_FILE_MAX);
    item->publishes = is_survey(item) && json_bool(json_get(given, S("published")));
    Err err = bare(arena, item, given, &item->body, &wrong);
    if (err == ERR_OK)
        err = read_members(call, item, &wrong);
    if (err == ERR_OK)
        err = kind_of(item)->check(arena, item->body, &wrong);
    if (err != ERR_OK)
        (void) refuse(call, item, err, &wrong, error);
    item->id = json_str(json_get(item->body, str_from(kind_of(item)->id_member)));
}

static int by_kind_and_id(const void *a, const void *b)
{
    const ApplyItem *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    int order = str_cmp(x->id, y->id);
    return order ? order : x->index < y->index ? -1 : x->index > y->index;
}

static Err sort_items(Apply *apply, Error *error)
{
    qsort(apply->items, apply->count, sizeof *apply->items, by_kind_and_id);
    for (size_t i = 1; i < apply->count; i++) {
        const ApplyItem *item = &apply->items[i], *last = item - 1;
        if (item->rank == last->rank && str_eq(item->id, last->id))
            error_add(error, place_of(error->arena, item, S("")), "twice",
                      "%s %.*s is defined already, as number %zu", kind_of(item)->kind,
                      STR_ARG(item->id), last->index + 1);
    }
    return error_close(error, ERR_INVALID);
}

Err apply_write(Call *call, Tx *tx, Error *error)
{
    Apply *apply = call->thought;
    TRY(definition_lock(tx, error));
    TRY(check_rights(call, apply, error));
    TRY(find_gone(call, tx, apply, error));
    // What goes first makes room: a path that another source takes over, say.
    TRY(delete_gone(call, tx, apply, error));
    for (size_t i = 0; i < apply->count; i++) {
        Error why = { .arena = call->arena };
        Err err = save_item(call, tx, apply, &apply->items[i], &why);
        if (err != ERR_OK)
            return refuse(call, &apply->items[i], err, &why, error);
    }
    apply->plan = name_plan(call, apply);
    if (apply->body.plan.at && !str_eq(apply->body.plan, apply->plan))
        return fail(error, ERR_CONFLICT,
                    "what is stored has changed since the plan was made; look at it again");
    if (apply->body.is_dry)
        call_undo(call);
    call->with = apply;
    call_later(call, tell_plan);
    return ERR_OK;
}

// A definition is applied by whoever may save it by its own route.
bool apply_may_write(const Call *call, const DefinitionKind *kind)
{
    for (size_t i = 0; i < route_count; i++)
        if (routes[i].definition == kind && strcmp(routes[i].method, "PUT") == 0)
            return call->key->role == ROLE_ADMIN || routes[i].roles & (1u << call->key->role);
    return false;
}

static Err check_rights(const Call *call, const Apply *apply, Error *error)
{
    for (size_t i = 0; i < apply->count; i++) {
        const ApplyItem *item = &apply->items[i];
        if (apply_may_write(call, kind_of(item)))
            continue;
        error_add(error, place_of(call->arena, item, S("/kind")), "forbidden",
                  "the key's role may not write a %s", kind_of(item)->kind);
        return error_close(error, ERR_FORBIDDEN);
    }
    return ERR_OK;
}

static bool is_given(const Apply *apply, size_t rank, Str id)
{
    ApplyItem key = { .rank = rank, .id = id };
    size_t from = 0, to = apply->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        const ApplyItem *item = &apply->items[middle];
        if (item->rank == rank && str_eq(item->id, id))
            return true;
        if (by_kind_and_id(item, &key) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return false;
}

// is_to_go: the set had it, or everything goes that is not in it.
static bool is_to_go(Call *call, const Apply *apply, size_t rank, const Definition *row,
                     bool *ret_drifted)
{
    DefinitionOrigin origin;
    bool has_origin = origin_parse(call->arena, row->origin, &origin);
    *ret_drifted = has_origin && origin_has_drifted(&origin, row->version);
    if (is_given(apply, rank, row->id) ||
        (definition_kinds[rank] == &definition_channel && str_eq(row->id, CHANNEL_ALWAYS)))
        return false;
    return apply->body.prunes_all || (has_origin && str_eq(origin.set, apply->body.origin));
}

// add_gone notes one; a survey's trigger goes with the survey, and with nothing else.
static Err add_gone(Call *call, Tx *tx, Apply *apply, const ApplyItem *item, Error *error)
{
    Str survey = STR_NONE;
    if (kind_of(item) == &definition_trigger)
        TRY(survey_owner(tx, call->tenant, item->id, &survey, error));
    if (survey.at)
        return ERR_OK;
    if (apply->gone_count == APPLY_MAX)
        return fail(error, ERR_TOO_LARGE, "more than %d would be deleted", APPLY_MAX);
    apply->gone[apply->gone_count] = *item;
    apply->gone[apply->gone_count++].id = str_dup(call->arena, item->id);
    return ERR_OK;
}

// find_gone_of finds what is to be deleted of a kind.
static Err find_gone_of(Call *call, Tx *tx, Apply *apply, size_t rank, Error *error)
{
    enum { PAGE = 500 };
    Definition *rows;
    size_t count = PAGE;
    Str after = S("");
    while (count == PAGE) {
        TRY(definition_heads(tx, call->tenant, str_from(definition_kinds[rank]->kind), after, PAGE,
                             &rows, &count, error));
        for (size_t i = 0; i < count; i++) {
            ApplyItem item = {
                .rank = rank, .id = rows[i].id, .action = APPLY_DELETE, .version = rows[i].version
            };
            after = rows[i].id;
            if (is_to_go(call, apply, rank, &rows[i], &item.has_drifted))
                TRY(add_gone(call, tx, apply, &item, error));
        }
    }
    return ERR_OK;
}

static Err find_gone(Call *call, Tx *tx, Apply *apply, Error *error)
{
    apply->gone_count = 0;
    if (!apply->body.prunes && !apply->body.prunes_all)
        return ERR_OK;
    apply->gone = ARENA_ARRAY(call->arena, ApplyItem, APPLY_MAX);
    for (size_t rank = 0; definition_kinds[rank]; rank++)
        if (apply_may_write(call, definition_kinds[rank]))
            TRY(find_gone_of(call, tx, apply, rank, error));
    return ERR_OK;
}

static Err delete_one(Call *call, Tx *tx, const ApplyItem *item, Error *error)
{
    const Noun *of = noun_of(kind_of(item));
    if (of->may_delete)
        TRY(of->may_delete(call, tx, item->id, error));
    TRY(definition_hide(tx, call->tenant, str_from(kind_of(item)->kind), item->id,
                        DEFINITION_ANY_VERSION, error));
    return of->hide ? of->hide(tx, call->tenant, item->id, error) : ERR_OK;
}

// delete_gone begins with what names others.
static Err delete_gone(Call *call, Tx *tx, const Apply *apply, Error *error)
{
    for (size_t i = apply->gone_count; i-- > 0;) {
        const ApplyItem *item = &apply->gone[i];
        Error why = { .arena = call->arena };
        Err err = delete_one(call, tx, item, &why);
        if (err != ERR_OK)
            return fail(error, err, "%s %.*s cannot be deleted: %s", kind_of(item)->kind,
                        STR_ARG(item->id), why.detail);
    }
    return ERR_OK;
}

// find_stored reads what is stored, if anything is. One that cannot be read is there, and says
// nothing: it is replaced by what is given, and keeps no others from being applied.
static Err find_stored(Edit *edit, Error *error)
{
    Error missing = { 0 };
    Err err = edit_find(edit, &missing);
    edit->is_known = true;
    if (err == ERR_NOT_FOUND || err == ERR_CORRUPT)
        return ERR_OK;
    return err == ERR_OK ? ERR_OK : fail(error, err, "%s", missing.detail);
}

static Err compare(Edit *edit, ApplyItem *item, Error *error)
{
    Arena *arena = edit->call->arena;
    const Json *text;
    ListDifference members;
    if (!edit->old) {
        item->action = APPLY_UPDATE;
        item->difference.arena = arena;
        difference_add(&item->difference, S(""), STR_NONE, S("\"what is stored cannot be read\""));
        return ERR_OK;
    }
    TRY(json_parse(arena, edit->text, &text, error));
    item->difference = difference_find(arena, edit->old, text);
    TRY(list_compare(edit, &members, error));
    if (members.added + members.removed + members.changed > 0)
        difference_add(&item->difference, S("/targets"), STR_NONE,
                       str_format(arena, "\"%zu added, %zu removed, %zu changed\"", members.added,
                                  members.removed, members.changed));
    item->action = item->difference.count > 0 ? APPLY_UPDATE : APPLY_NONE;
    return ERR_OK;
}

// mark says where it is from, unless that is known.
static void mark(Edit *edit, const Apply *apply, const ApplyItem *item, const Definition *row)
{
    DefinitionOrigin old, origin = { .set = apply->body.origin,
                                     .file = item->file,
                                     .by = edit->call->key->id,
                                     .at = edit->tx->now,
                                     .version = row->version };
    bool has_old = origin_parse(edit->call->arena, row->origin, &old);
    bool is_known = has_old && str_eq(old.set, origin.set) && str_eq(old.file, origin.file) &&
                    old.version == origin.version;
    if (has_old && !str_eq(old.set, origin.set))
        edit_warn(edit, STR_NONE,
                  str_format(edit->call->arena,
                             "it was applied with the set %.*s; this makes it %.*s's",
                             STR_ARG(old.set), STR_ARG(origin.set)));
    if (!is_known)
        definition_mark(edit->tx, edit->call->tenant, str_from(edit->kind->kind), item->id,
                        origin_text(edit->call->arena, &origin));
}

// publish makes the draft of a survey the version that counts, where it is not.
static Err publish(const Edit *edit, ApplyItem *item, Error *error)
{
    SurveyPublished published;
    Arena *arena = edit->call->arena;
    if (!item->publishes)
        return ERR_OK;
    TRY(survey_publish(edit->tx, edit->call->tenant, item->id, DEFINITION_ANY_VERSION, &published,
                       error));
    if (!published.is_new || item->action == APPLY_CREATE)
        return ERR_OK;
    item->action = APPLY_UPDATE;
    item->difference.arena = arena;
    difference_add(&item->difference, S("/published"), STR_NONE,
                   str_format(arena, "\"version %lld\"", (long long) published.version));
    return ERR_OK;
}

static void note_drift(Edit *edit, ApplyItem *item)
{
    DefinitionOrigin origin;
    item->has_drifted = origin_parse(edit->call->arena, edit->stored.origin, &origin) &&
                        origin_has_drifted(&origin, edit->stored.version);
}

// made_secret is what Peal made and nobody knows yet. One that was given stays with whoever gave
// it: what apply tells is in the log of a CI.
static Str made_secret(const Edit *edit, const Json *given)
{
    const Shape *of = noun_of(edit->kind)->secret;
    bool is_given = of && json_str(json_get(given, str_from(of->fields[0].name))).at;
    return is_given ? STR_NONE : edit->secret;
}

static Err save_item(Call *call, Tx *tx, const Apply *apply, ApplyItem *item, Error *error)
{
    Edit edit = { .call = call,
                  .tx = tx,
                  .kind = kind_of(item),
                  .id = item->id,
                  .expected = DEFINITION_ANY_VERSION,
                  .members = item->members };
    const Json *given = item->body;
    Definition row;
    TRY(find_stored(&edit, error));
    bool is_new = edit.stored.version == 0;
    item->version = edit.stored.version;
    TRY(edit_keep_switch(&edit, given, &given, error));
    TRY(edit_ready(&edit, given, false, error));
    item->action = APPLY_CREATE;
    item->difference = (Difference){ 0 };
    if (!is_new)
        TRY(compare(&edit, item, error));
    note_drift(&edit, item);
    row = edit.stored;
    if (item->action != APPLY_NONE)
        TRY(edit_write(&edit, is_new, &row, error));
    TRY(publish(&edit, item, error));
    mark(&edit, apply, item, &row);
    item->warnings = edit.warnings;
    item->warning_count = edit.warning_count;
    item->secret = made_secret(&edit, given);
    return ERR_OK;
}

// refuse tells what is wrong with a definition, by its place among those that were given.
static Err refuse(const Call *call, const ApplyItem *item, Err err, const Error *why, Error *error)
{
    if (err_http(err) >= 500)
        return fail(error, err, "%s", why->detail);
    for (size_t i = 0; i < why->count && i < ERROR_PROBLEMS_MAX; i++)
        error_add(error, place_of(call->arena, item, why->problems[i].path), why->problems[i].code,
                  "%.*s", STR_ARG(why->problems[i].message));
    if (why->count == 0)
        error_add(error, place_of(call->arena, item, S("")), err_code(err), "%s", why->detail);
    return error_close(error, err);
}

// Every pair of what follows is done for what goes, then for what was given.
static size_t item_count(const Apply *apply)
{
    return apply->gone_count + apply->count;
}

static const ApplyItem *item_at(const Apply *apply, size_t index)
{
    return index < apply->gone_count ? &apply->gone[index]
                                     : &apply->items[index - apply->gone_count];
}

// name_plan makes a name of what changes, and of the versions that were looked at: the differences
// tell but the beginning of what is long, and nothing of secrets.
static Str name_plan(Call *call, const Apply *apply)
{
    DEFER(arena_done) Arena scratch = { 0 };
    Buf text = buf_new(&scratch, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '[');
    for (size_t i = 0; i < item_count(apply); i++) {
        const ApplyItem *item = item_at(apply, i);
        if (item->action == APPLY_NONE)
            continue;
        json_add_str(&out, str_from(actions[item->action]));
        json_add_str(&out, str_from(kind_of(item)->kind));
        json_add_str(&out, item->id);
        json_add_i64(&out, item->version);
        difference_write(&out, &item->difference);
    }
    json_close(&out, ']');
    Sha256 hash = sha256(buf_str(&text));
    return hex_text(call->arena, (const char *) hash.b, 16);
}

static void put_warnings(JsonOut *out, Arena *arena, const ApplyItem *item)
{
    if (item->warning_count == 0)
        return;
    json_key(out, S("warnings"));
    json_open(out, '[');
    for (size_t i = 0; i < item->warning_count; i++) {
        Str name = item->warnings[i].placeholder, message = item->warnings[i].message;
        json_add_str(
            out, name.at ? str_format(arena, "{{%.*s}} is %.*s", STR_ARG(name), STR_ARG(message))
                         : message);
    }
    json_close(out, ']');
}

static void put_change(JsonOut *out, Arena *arena, const ApplyItem *item, bool is_dry)
{
    size_t count = item->difference.count;
    json_open(out, '{');
    json_put_str(out, S("action"), str_from(actions[item->action]));
    json_put_str(out, S("kind"), str_from(kind_of(item)->kind));
    json_put_str(out, S("id"), item->id);
    if (item->file.at)
        json_put_str(out, S("file"), item->file);
    if (item->has_drifted)
        json_put_bool(out, S("drifted"), true);
    json_key(out, S("diff"));
    difference_write(out, &item->difference);
    if (count > DIFFERENCE_ROWS_MAX)
        json_put_i64(out, S("more"), (int64_t) (count - DIFFERENCE_ROWS_MAX));
    if (item->secret.at && !is_dry)
        json_put_str(out, S("secret"), item->secret);
    put_warnings(out, arena, item);
    json_close(out, '}');
}

static int64_t count_of(const Apply *apply, ApplyAction action)
{
    int64_t count = 0;
    for (size_t i = 0; i < item_count(apply); i++)
        count += item_at(apply, i)->action == action;
    return count;
}

static Err tell_plan(Call *call, Error *error)
{
    const Apply *apply = call->with;
    JsonOut *out = call_json(call, 200);
    (void) error;
    json_open(out, '{');
    json_put_bool(out, S("dryRun"), apply->body.is_dry);
    json_put_str(out, S("plan"), apply->plan);
    json_put_i64(out, S("created"), count_of(apply, APPLY_CREATE));
    json_put_i64(out, S("updated"), count_of(apply, APPLY_UPDATE));
    json_put_i64(out, S("deleted"), count_of(apply, APPLY_DELETE));
    json_put_i64(out, S("unchanged"), count_of(apply, APPLY_NONE));
    json_key(out, S("changes"));
    json_open(out, '[');
    for (size_t i = 0; i < item_count(apply); i++) {
        const ApplyItem *item = item_at(apply, i);
        if (item->secret.at && !apply->body.is_dry)
            call_secret(call);
        put_change(out, call->arena, item, apply->body.is_dry);
    }
    json_close(out, ']');
    json_close(out, '}');
    return ERR_OK;
}
