#include "api/handlers.h"

#include "api/shown.h"
#include "store/key.h"
#include "store/audit_outside.h"
#include "store/operation.h"

// The audit as it is shown. Whoever has the role read sees addresses masked, and cannot ask for
// one; exporting is a right of its own.

enum {
    LIST_CHANNEL,
    LIST_KIND,
    LIST_STATUS,
    LIST_SITE,
    LIST_INSTANCE,
    LIST_TARGET,
    LIST_ACTOR,
    LIST_CORRELATION,
    LIST_DELIVERY,
    LIST_ERRORS,
    LIST_FROM,
    LIST_TO,
    LIST_INSTALLATION,
    EXPORT_AFTER,
    EXPORT_LIMIT,
};

enum { CHAIN_INSTALLATION };

enum { NAME_MAX_BYTES = 200, TARGET_MAX_BYTES = 500 };

#define ENGINE S("engine")

static const char *const kind_words[] = {
#define KIND_WORD(name, text) text,
    AUDIT_KIND_TABLE(KIND_WORD)
#undef KIND_WORD
        NULL
};
static const char *const status_words[] = {
#define STATUS_WORD(name, text, error, meaning) text,
    AUDIT_STATUS_TABLE(STATUS_WORD)
#undef STATUS_WORD
        NULL
};

// clang-format off
#define INSTALLATION_PARAM \
    { "installation", PARAM_BOOL, .help = "The installation's own: holds and releases. It needs the system right" }
#define FILTER_PARAMS \
    [LIST_CHANNEL]     = { "channel", PARAM_TEXT, .max = NAME_MAX_BYTES, .help = "The key of a channel" }, \
    [LIST_KIND]        = { "kind", PARAM_WORD, .words = kind_words, .help = "What the row tells of" }, \
    [LIST_STATUS]      = { "status", PARAM_WORD, .words = status_words, .help = "How it went" }, \
    [LIST_SITE]        = { "site", PARAM_TEXT, .max = NAME_MAX_BYTES, .help = "The site it came from" }, \
    [LIST_INSTANCE]    = { "instance", PARAM_TEXT, .max = NAME_MAX_BYTES, .help = "The instance at the site" }, \
    [LIST_TARGET]      = { "target", PARAM_TEXT, .max = TARGET_MAX_BYTES, .help = "An address, whole" }, \
    [LIST_ACTOR]       = { "actor", PARAM_TEXT, .max = NAME_MAX_BYTES, .help = "The id of a key, or engine" }, \
    [LIST_CORRELATION] = { "correlationId", PARAM_TEXT, .max = NAME_MAX_BYTES, .help = "Of the event" }, \
    [LIST_DELIVERY]    = { "delivery", PARAM_ID, .help = "The id of a delivery" }, \
    [LIST_ERRORS]      = { "errorsOnly", PARAM_BOOL, .help = "Without what went well: Success, Enqueued, Delivered, Completed" }, \
    [LIST_FROM]        = { "from", PARAM_TIME, .help = "At or after" }, \
    [LIST_TO]          = { "to", PARAM_TIME, .help = "Before" }, \
    [LIST_INSTALLATION] = INSTALLATION_PARAM,

const Param audit_params[] = { FILTER_PARAMS { 0 } };
const Param audit_chain_params[] = { [CHAIN_INSTALLATION] = INSTALLATION_PARAM, { 0 } };
const Param audit_export_params[] = {
    FILTER_PARAMS
    [EXPORT_AFTER] = { "after", PARAM_INT, .min = 0, .max = INT64_MAX, .help = "Begin behind the row with this seq" },
    [EXPORT_LIMIT] = { "limit", PARAM_INT, .min = 1, .max = INT64_MAX, .help = "So many rows at most; all unless said" },
    { 0 },
};
// clang-format on

// read_names reads what the store knows by number. A name that nobody has fits no row.
static void read_names(const Call *call, AuditFilter *filter)
{
    Str name;
    filter->has_lane = param_text(call, LIST_CHANNEL, &name);
    if (filter->has_lane) {
        filter->lane = registry_lane_of(call->registry, call->tenant, name);
        filter->lane = filter->lane ? filter->lane : -1;
    }
}

static Err read_actor(const Call *call, AuditFilter *filter, Error *error)
{
    Str actor;
    filter->has_actor = param_text(call, LIST_ACTOR, &actor);
    if (!filter->has_actor || str_eq(actor, ENGINE) || uuid_parse(actor, &filter->actor))
        return ERR_OK;
    return fail(error, ERR_INVALID, "actor must be the id of a key, or engine");
}

// enter_chain goes from the tenant's own chain to the installation's, where that is asked for.
static Err enter_chain(Call *call, size_t param, Error *error)
{
    bool is_asked = false;
    param_bool(call, param, &is_asked);
    if (is_asked && !call->key->is_system)
        return fail(error, ERR_FORBIDDEN, "the installation's audit needs the system right");
    if (is_asked)
        call->tenant = 0;
    return ERR_OK;
}

static Err read_filter(Call *call, AuditFilter *ret, Error *error)
{
    AuditFilter filter = { .from = INSTANT_NONE, .to = INSTANT_NONE };
    size_t kind = 0, status = 0;
    filter.has_kind = param_word(call, LIST_KIND, &kind);
    filter.kind = (AuditKind) kind;
    filter.has_status = param_word(call, LIST_STATUS, &status);
    filter.status = (AuditStatus) status;
    filter.has_delivery = param_id(call, LIST_DELIVERY, &filter.delivery);
    param_text(call, LIST_SITE, &filter.site);
    param_text(call, LIST_INSTANCE, &filter.instance);
    param_text(call, LIST_CORRELATION, &filter.correlation_id);
    param_bool(call, LIST_ERRORS, &filter.errors_only);
    param_time(call, LIST_FROM, &filter.from);
    param_time(call, LIST_TO, &filter.to);
    TRY(enter_chain(call, LIST_INSTALLATION, error));
    read_names(call, &filter);
    TRY(read_actor(call, &filter, error));
    if (param_text(call, LIST_TARGET, &filter.target))
        TRY(call_may_search(call, error));
    *ret = filter;
    return ERR_OK;
}

static void put_detail(JsonOut *json, const AuditEntry *entry)
{
    Str reason = str_from(reason_code(entry->reason));
    json_key(json, S("detail"));
    json_open(json, '{');
    if (entry->attempt)
        json_put_i64(json, S("attempt"), entry->attempt);
    if (reason.len)
        json_put_str(json, S("reason"), reason);
    if (entry->code)
        json_put_i64(json, S("code"), entry->code);
    if (entry->provider_id.at)
        json_put_str(json, S("providerId"), entry->provider_id);
    if (entry->text.at)
        json_put_str(json, S("text"), entry->text);
    json_close(json, '}');
}

static void put_entry(const Call *call, JsonOut *json, const AuditRow *row)
{
    const AuditEntry *entry = &row->entry;
    const RegistryLane *lane = registry_lane(call->registry, entry->lane);
    json_put_id(json, S("eventId"), audit_event_id(call->tenant, entry));
    json_put_time(json, S("at"), entry->at);
    json_put_str(json, S("kind"), str_from(audit_kind_text(entry->kind)));
    json_put_str(json, S("status"), str_from(audit_status_text(entry->status)));
    if (uuid_is_none(entry->actor))
        json_put_str(json, S("actor"), ENGINE);
    else
        json_put_id(json, S("actor"), entry->actor);
    if (row->actor.at)
        json_put_str(json, S("actorName"), row->actor);
    json_put_id(json, S("deliveryId"), entry->delivery);
    json_put_str(json, S("channel"), lane ? lane->channel_key : STR_NONE);
    json_put_str(json, S("site"), row->site);
    json_put_str(json, S("instance"), entry->instance);
    json_put_str(json, S("correlationId"), entry->correlation_id);
    json_put_str(json, S("target"), call_address(call, row->target));
    put_detail(json, entry);
}

// put_row shows a row; of one that cannot be read any more, that it is there.
static void put_row(const Call *call, JsonOut *json, const AuditRow *row)
{
    json_open(json, '{');
    json_put_i64(json, S("seq"), row->seq);
    if (row->is_read)
        put_entry(call, json, row);
    json_put_str(json, S("hash"), hex_text(call->arena, row->link.b, sizeof row->link.b));
    json_close(json, '}');
}

// name_actors finds the names of those who did what rows tell of, each asked for once.
static Err name_actors(const Call *call, Db *db, AuditRow *rows, size_t count, Error *error)
{
    int64_t tenant = call->tenant ? call->tenant : call->key->tenant;
    Uuid *ids = ARENA_ARRAY(call->arena, Uuid, count + 1);
    Str *names = ARENA_ARRAY(call->arena, Str, count + 1);
    size_t *places = ARENA_ARRAY(call->arena, size_t, count + 1);
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        const Uuid *actor = &rows[i].entry.actor;
        size_t at = 0;
        while (at < known && uuid_cmp(ids[at], *actor) != 0)
            at++;
        places[i] = at;
        if (at == known)
            ids[known++] = *actor;
    }
    TRY(key_names(db, call->arena, tenant, ids, known, names, error));
    for (size_t i = 0; i < count; i++)
        rows[i].actor = names[places[i]];
    return ERR_OK;
}

Err audit_list(Call *call, Db *db, Error *error)
{
    AuditFilter filter;
    Walk walk;
    Seen seen;
    AuditRow *rows;
    TRY(read_filter(call, &filter, error));
    TRY(call_walk(call, &walk, error));
    TRY(audit_page(db, call->arena, call->registry->ring, call->tenant, &filter, &walk, &rows,
                   &seen, error));
    TRY(name_actors(call, db, rows, seen.count, error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        put_row(call, json, &rows[i]);
    page_close(call, &seen);
    return ERR_OK;
}

static void put_head(const Call *call, JsonOut *json, const AuditHead *head)
{
    json_put_str(json, S("head"), hex_text(call->arena, head->link.b, sizeof head->link.b));
}

void put_verdict(const Call *call, JsonOut *json, const AuditVerdict *verdict)
{
    json_put_bool(json, S("ok"), !verdict->problem);
    json_put_i64(json, S("rows"), verdict->rows);
    json_put_i64(json, S("checkpoints"), verdict->rows / AUDIT_CHECKPOINT);
    put_head(call, json, &verdict->head);
    if (verdict->problem) {
        json_key(json, S("firstBad"));
        json_open(json, '{');
        json_put_i64(json, S("seq"), verdict->bad);
        json_put_str(json, S("problem"), str_from(audit_problem_text(verdict->problem)));
        json_close(json, '}');
    }
}

// audit_check verifies a chain of so many rows at most, as its head says, and no more of it where
// the head says less than there is. A longer one is left to an operation: audit_check_later().
Err audit_check(Call *call, Db *db, Error *error)
{
    AuditChain chain;
    bool has_more;
    Operation *later = call->with = ARENA_NEW(call->arena, Operation);
    TRY(enter_chain(call, CHAIN_INSTALLATION, error));
    TRY(audit_outside(db, call->arena, call->api->guard, call->tenant, &later->outside, error));
    TRY(audit_chain(db, call->arena, call->tenant, &chain, error));
    AuditVerdict verdict = { .head = chain.anchor };
    if (chain.head.seq - chain.anchor.seq > AUDIT_VERIFY_MAX)
        return ERR_OK;
    TRY(audit_verify(db, call->tenant, &later->outside, AUDIT_VERIFY_MAX, &verdict, &has_more,
                     error));
    if (has_more)
        return ERR_OK;
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    put_verdict(call, json, &verdict);
    json_close(json, '}');
    return ERR_OK;
}

Err audit_check_later(Call *call, Tx *tx, Error *error)
{
    Operation *operation = call->with;
    TRY(operation_verify(tx, call->tenant, &operation->outside, &operation->id, error));
    call_later(call, operation_begun);
    return ERR_OK;
}

// Export is how far an export has come.
typedef struct Export {
    AuditFilter filter;
    int64_t after, until;
    int64_t left; // rows that are asked for still
} Export;

static Err begin_export(Call *call, Db *db, Error *error)
{
    AuditChain chain;
    Export *export = ARENA_NEW(call->arena, Export);
    export->left = INT64_MAX;
    TRY(read_filter(call, &export->filter, error));
    TRY(audit_chain(db, call->arena, call->tenant, &chain, error));
    export->until = chain.head.seq;
    param_int(call, EXPORT_AFTER, &export->after);
    param_int(call, EXPORT_LIMIT, &export->left);
    call->with = export;
    return ERR_OK;
}

Err audit_pour(Call *call, Db *db, Buf *text, bool *ret_last, Error *error)
{
    size_t count;
    if (!call->with)
        TRY(begin_export(call, db, error));
    Export *export = call->with;
    AuditRow *rows = ARENA_ARRAY(call->arena, AuditRow, AUDIT_EXPORT_ROWS);
    TRY(audit_export(db, call->arena, call->registry->ring, call->tenant, &export->filter,
                     &export->after, export->until, rows, &count, error));
    TRY(name_actors(call, db, rows, count, error));
    for (size_t i = 0; i<count &&export->left> 0; i++, export->left--) {
        JsonOut json = json_out(text);
        put_row(call, &json, &rows[i]);
        buf_add_char(text, '\n');
    }
    *ret_last = export->left == 0 || export->after >= export->until;
    return ERR_OK;
}

static void put_place(const Call *call, JsonOut *json, Str key, const AuditHead *head)
{
    json_key(json, key);
    json_open(json, '{');
    json_put_i64(json, S("seq"), head->seq);
    json_put_str(json, S("hash"), hex_text(call->arena, head->link.b, sizeof head->link.b));
    json_close(json, '}');
}

Err audit_head_get(Call *call, Db *db, Error *error)
{
    AuditChain chain;
    AuditHead outside;
    TRY(enter_chain(call, CHAIN_INSTALLATION, error));
    TRY(audit_outside(db, call->arena, call->api->guard, call->tenant, &outside, error));
    TRY(audit_chain(db, call->arena, call->tenant, &chain, error));
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_put_i64(json, S("seq"), chain.head.seq);
    json_put_i64(json, S("count"), chain.head.seq - chain.anchor.seq);
    put_head(call, json, &chain.head);
    put_place(call, json, S("anchor"), &chain.anchor);
    put_place(call, json, S("outside"), &outside);
    json_put_i64(json, S("waiting"), chain.waiting);
    json_close(json, '}');
    return ERR_OK;
}
