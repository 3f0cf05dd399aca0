#include "api/handlers.h"

#include "api/noun.h"
#include "api/shapes.h"
#include "domain/list.h"
#include "store/definition.h"
#include "store/list.h"

// A list is saved like any definition, but for its members. The thinkers take them out of the body
// and check them. A thousand are written in the transaction that saves the list; more go ahead of
// it, a transaction for each thousand, so that nobody waits for a hundred thousand rows. They count
// when the list is saved, all at once (store/list.h). A save without "targets" leaves them as they
// are. What is applied with other definitions is written with these, however many it has.

struct ListSave {
    bool has_targets;
    bool is_whole; // all of it is written by the save itself
    ListMember *members;
    size_t count, written; // ahead of the save
    ListEdition edition;
    Err failed; // with this, ahead of the save; ERR_OK: not
    Str why;
};

static bool goes_ahead(const ListSave *save)
{
    return !save->is_whole && save->count > LIST_SLICE_MAX;
}

// without_targets is the body as it is stored.
static Err without_targets(Arena *arena, const Json *body, const Json **ret, Error *error)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    for (JsonIter it = json_each(body); json_next(&it);)
        if (!str_eq(it.key, S("targets")))
            json_put_raw(&out, it.key, json_text(arena, it.value));
    json_close(&out, '}');
    return json_parse(arena, buf_str(&text), ret, error);
}

static Err take_targets(Arena *arena, const Json **body, ListSave *save, Error *error)
{
    const Json *targets = json_get(*body, S("targets"));
    if (!targets)
        return ERR_OK;
    TRY(without_targets(arena, *body, body, error));
    save->has_targets = json_type(targets) != JSON_NULL;
    if (!save->has_targets)
        return ERR_OK;
    return list_members(arena, targets, S("/targets"), &save->members, &save->count, error);
}

Err list_read(Call *call, Error *error)
{
    ListSave *save = ARENA_NEW(call->arena, ListSave);
    *save = (ListSave){ 0 };
    call->thought = save;
    TRY(call_body(call, error));
    return take_targets(call->arena, &call->body, save, error);
}

Err list_take(Arena *arena, const Json **body, ListSave **ret, Error *error)
{
    ListSave *save = ARENA_NEW(arena, ListSave);
    *save = (ListSave){ .is_whole = true };
    TRY(take_targets(arena, body, save, error));
    *ret = save;
    return ERR_OK;
}

static Call *call_of(Op *op)
{
    return (Call *) ((char *) op - offsetof(Call, op));
}

// begin makes room, and turns away at once what could not be saved anyway.
static Err begin(Tx *tx, Call *call, Error *error)
{
    Definition there;
    ListSave *save = call->thought;
    bool is_new = !call->params[0].at;
    Str id = is_new ? json_str(json_get(call->body, S("id"))) : call->params[0];
    if (is_new)
        TRY(call->route->definition->check(call->arena, call->body, error));
    Error missing = { 0 };
    Err err =
        definition_get(tx->db, &tx->arena, call->tenant, DEFINITION_LIST, id, &there, &missing);
    if (is_new && err == ERR_OK)
        return fail(error, ERR_EXISTS, "there is a list %.*s already", STR_ARG(id));
    if (err != ERR_OK && !(is_new && err == ERR_NOT_FOUND))
        return fail(error, err, "%s", missing.detail);
    return list_begin(tx, call->tenant, id, save->count, &save->edition, error);
}

static size_t slice_of(const ListSave *save)
{
    size_t left = save->count - save->written;
    return left < LIST_SLICE_MAX ? left : LIST_SLICE_MAX;
}

static Err apply_slices(Tx *tx, Op **ops, size_t count, Error *error)
{
    for (size_t i = 0; i < count; i++) {
        Call *call = call_of(ops[i]);
        const ListSave *save = call->thought;
        if (save->written == 0)
            TRY(begin(tx, call, error));
        list_write(tx, &save->edition, save->written, save->members + save->written,
                   slice_of(save));
        TRY(tx_sync(tx, error));
    }
    return ERR_OK;
}

static void write_slice(Call *call);

static void slice_done(Op *op, Err err, const Error *error)
{
    Call *call = call_of(op);
    ListSave *save = call->thought;
    save->written += slice_of(save);
    if (err != ERR_OK) {
        save->failed = err;
        save->why = str_dup(call->arena, str_from(error->detail));
    }
    if (err == ERR_OK && save->written < save->count)
        write_slice(call);
    else
        call_write(call); // which tells why not, too: a pen writes no answers
}

static void write_slice(Call *call)
{
    static const OpKind slices = { .name = "list slice", .apply = apply_slices };
    call->op = (Op){ .kind = &slices,
                     .done = slice_done,
                     .weight = slice_of(call->thought),
                     .bytes = call->exchange->body.len };
    writer_submit(call->api->writer, &call->op);
}

void list_start(Call *call)
{
    if (goes_ahead(call->thought))
        write_slice(call);
    else
        call_write(call);
}

// save_by saves the list by the verb that all definitions share.
static Err save_by(Call *call, Tx *tx, Err (*verb)(Call *call, Tx *tx, Error *error), Error *error)
{
    const ListSave *save = call->thought;
    if (save->failed != ERR_OK)
        return fail(error, save->failed, "%.*s", STR_ARG(save->why));
    if (goes_ahead(save))
        TRY(list_check(tx, &save->edition, error));
    return verb(call, tx, error);
}

Err list_saved_post(Call *call, Tx *tx, Error *error)
{
    return save_by(call, tx, definition_post, error);
}

Err list_saved_put(Call *call, Tx *tx, Error *error)
{
    return save_by(call, tx, definition_put, error);
}

Err list_saved_patch(Call *call, Tx *tx, Error *error)
{
    return save_by(call, tx, definition_patch, error);
}

Err list_save(Edit *edit, Error *error)
{
    ListEdition edition;
    Tx *tx = edit->tx;
    const ListSave *save = edit->members ? edit->members : edit->call->thought;
    Str id = json_str(json_get(edit->body, S("id")));
    if (!save->has_targets)
        return ERR_OK;
    if (goes_ahead(save))
        return list_publish(tx, &save->edition, error);
    TRY(list_begin(tx, edit->call->tenant, id, save->count, &edition, error));
    for (size_t from = 0, left = save->count; left > 0;) {
        size_t slice = left < LIST_SLICE_MAX ? left : LIST_SLICE_MAX;
        list_write(tx, &edition, from, save->members + from, slice);
        from += slice;
        left -= slice;
    }
    return list_publish(tx, &edition, error);
}

static int by_address(const void *a, const void *b)
{
    const ListMember *x = a, *y = b;
    return str_cmp(x->address, y->address);
}

static bool is_same(const ListMember *a, const ListMember *b)
{
    return str_eq(a->address, b->address) && str_eq(a->name, b->name) &&
           str_eq(a->locale, b->locale);
}

// Their order does not matter: who is told is told.
static void compare(ListMember *from, size_t from_count, ListMember *to, size_t to_count,
                    ListDifference *ret)
{
    size_t i = 0, j = 0;
    qsort(from, from_count, sizeof *from, by_address);
    qsort(to, to_count, sizeof *to, by_address);
    while (i < from_count || j < to_count) {
        int order = i == from_count ? 1 : j == to_count ? -1 : by_address(&from[i], &to[j]);
        if (order == 0)
            ret->changed += !is_same(&from[i], &to[j]);
        else if (order < 0)
            ret->removed++;
        else
            ret->added++;
        i += order <= 0;
        j += order >= 0;
    }
}

// stored_members reads all of them.
static Err stored_members(const Edit *edit, ListMember **ret, size_t *ret_count, Error *error)
{
    int64_t list, all;
    Arena *arena = &edit->tx->arena;
    Db *db = edit->tx->db;
    Walk walk = { .limit = PAGE_ROWS_MAX };
    Seen seen = { .has_more = true };
    TRY(list_find(db, arena, edit->call->tenant, edit->id, &list, error));
    TRY(list_count(db, arena, edit->call->tenant, list, &all, error));
    ListMember *members = ARENA_ARRAY(arena, ListMember, (size_t) all + 1), *page;
    size_t count = 0;
    while (seen.has_more && count < (size_t) all) {
        TRY(list_page(db, arena, edit->call->tenant, list, &walk, &page, &seen, error));
        for (size_t i = 0; i < seen.count && count < (size_t) all; i++)
            members[count++] = page[i];
        walk.after = seen.next;
    }
    *ret = members;
    *ret_count = count;
    return ERR_OK;
}

Err list_compare(const Edit *edit, ListDifference *ret, Error *error)
{
    ListMember *stored;
    size_t count;
    const ListSave *save = edit->members;
    *ret = (ListDifference){ 0 };
    if (!save || !save->has_targets)
        return ERR_OK;
    TRY(stored_members(edit, &stored, &count, error));
    ListMember *given =
        arena_copy(&edit->tx->arena, save->members, save->count * sizeof *save->members);
    compare(stored, count, given, save->count, ret);
    return ERR_OK;
}

// LookedList is what a list shows beside its body.
typedef struct LookedList {
    ListMember *members; // the first
    size_t count;
    int64_t all;
} LookedList;

Err list_look(Call *call, Db *db, Str id, const void **ret, Error *error)
{
    int64_t list;
    Seen seen;
    Walk walk = { .limit = TARGETS_MAX };
    LookedList *looked = ARENA_NEW(call->arena, LookedList);
    TRY(list_find(db, call->arena, call->tenant, id, &list, error));
    TRY(list_count(db, call->arena, call->tenant, list, &looked->all, error));
    TRY(list_page(db, call->arena, call->tenant, list, &walk, &looked->members, &seen, error));
    looked->count = seen.count;
    *ret = looked;
    return ERR_OK;
}

static void put_member(const Call *call, JsonOut *out, const ListMember *member)
{
    json_open(out, '{');
    json_put_str(out, S("address"), call_address(call, member->address));
    json_put_str(out, S("name"), member->name);
    json_put_str(out, S("locale"), member->locale);
    json_close(out, '}');
}

void list_put_targets(const Call *call, JsonOut *out, const void *of)
{
    const LookedList *looked = of;
    json_key(out, S("targets"));
    json_open(out, '[');
    for (size_t i = 0; i < looked->count; i++)
        put_member(call, out, &looked->members[i]);
    json_close(out, ']');
    json_put_i64(out, S("targetCount"), looked->all);
}

Err list_targets(Call *call, Db *db, Error *error)
{
    int64_t list;
    Walk walk;
    Seen seen;
    ListMember *members;
    TRY(call_walk(call, &walk, error));
    TRY(list_find(db, call->arena, call->tenant, call->params[0], &list, error));
    TRY(list_page(db, call->arena, call->tenant, list, &walk, &members, &seen, error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        put_member(call, json, &members[i]);
    page_close(call, &seen);
    return ERR_OK;
}

static Err tell_count(Call *call, Error *error)
{
    const int64_t *all = call->with;
    (void) error;
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_put_i64(json, S("targetCount"), *all);
    json_close(json, '}');
    return ERR_OK;
}

Err list_targets_add(Call *call, Tx *tx, Error *error)
{
    int64_t list, *all = ARENA_NEW(call->arena, int64_t);
    const Json *targets = NULL;
    ListMember *members;
    size_t count;
    TRY(call_body(call, error));
    TRY(fields_read(call->arena, call->body, S(""), &list_targets_shape, &targets, error));
    TRY(list_members(call->arena, targets, S("/targets"), &members, &count, error));
    TRY(list_find(tx->db, &tx->arena, call->tenant, call->params[0], &list, error));
    TRY(list_add(tx, call->tenant, list, members, count, error));
    TRY(list_count(tx->db, &tx->arena, call->tenant, list, all, error));
    call->with = all;
    call_later(call, tell_count);
    return ERR_OK;
}

enum { TARGET_ADDRESS };

// clang-format off
const Param list_target_params[] = {
    [TARGET_ADDRESS] = { "address", PARAM_TEXT, .max = EVENT_ADDRESS_MAX, .help = "Of the target" },
    { 0 },
};
// clang-format on

Err list_targets_remove(Call *call, Tx *tx, Error *error)
{
    int64_t list;
    Str address = STR_NONE;
    TRY(list_find(tx->db, &tx->arena, call->tenant, call->params[0], &list, error));
    if (!param_text(call, TARGET_ADDRESS, &address)) {
        error_add(error, S("/address"), "missing-parameter", "says which target");
        return error_close(error, ERR_INVALID);
    }
    TRY(list_remove(tx, call->tenant, list, address, error));
    call->reply = (Reply){ .status = 204 };
    return ERR_OK;
}
