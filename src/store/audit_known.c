#include "store/audit_known.h"

#include "base/json.h"
#include "store/columns.h"

// Ids of a tenant that are worth a range, and that are read along one: where they lie in a few
// places far from each other, only the ranges in between are read in vain.
enum { ALONG_MIN = 16, ALONG_MAX = 100 };

// A look-up has two statements, along a range of ids and for each of many; both give tenant, id and
// what is looked up, in the order of the ids.
#define ALONG(what, table)                                                                         \
    "SELECT t.tenant, t.id, " what " FROM " table " t WHERE t.tenant = $1 AND t.id >= $2"          \
    " AND t.id <= $3 ORDER BY t.id LIMIT $4"
#define EACH(what, table)                                                                          \
    "SELECT t.tenant, t.id, " what " FROM " table " t WHERE t.tenant = $1 AND t.id = $2"
#define EACH_OF(what, table)                                                                       \
    "SELECT t.tenant, t.id, " what " FROM unnest($1, $2) AS u (tenant, id) JOIN " table            \
    " t ON t.tenant = u.tenant AND t.id = u.id ORDER BY t.tenant, t.id"

static const Statement promise_along = {
    .name = "audit_promise_along",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    .sql = ALONG("t.address, t.event", "delivery"),
};
static const Statement promise_each = {
    .name = "audit_promise",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    .sql = EACH("t.address, t.event", "delivery"),
    .postgres = EACH_OF("t.address, t.event", "delivery"),
};
static const Statement event_along = {
    .name = "audit_event_along",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    .sql = ALONG("t.correlation_id, t.identity", "event"),
};
static const Statement event_each = {
    .name = "audit_event",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    .sql = EACH("t.correlation_id, t.identity", "event"),
    .postgres = EACH_OF("t.correlation_id, t.identity", "event"),
};
#define TRIED "t.attempt, t.verdict, t.tried_reason, t.code, t.provider_id, t.detail"
static const Statement ended_along = {
    .name = "audit_ended_along",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    .sql = ALONG(TRIED, "ended"),
};
static const Statement ended_each = {
    .name = "audit_ended",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    .sql = EACH(TRIED, "ended"),
    .postgres = EACH_OF(TRIED, "ended"),
};
static const Statement attempt = {
    .name = "audit_attempt",
    .scope = STATEMENT_TENANT,
    .params = "iuii",
    .many = true,
    .sql = "SELECT $4, verdict, reason, code, provider_id, detail FROM attempt"
           " WHERE tenant = $1 AND delivery = $2 AND number = $3",
    .postgres = "SELECT u.place, a.verdict, a.reason, a.code, a.provider_id, a.detail"
                " FROM unnest($1, $2, $3, $4) AS u (tenant, delivery, number, place) JOIN attempt a"
                " ON a.tenant = u.tenant AND a.delivery = u.delivery AND a.number = u.number",
};
static const Statement rule_kind = {
    .name = "audit_rule",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .many = true,
    .sql = "SELECT rule, kind FROM rule WHERE tenant = $1 AND rule = $2",
    .postgres = "SELECT r.rule, r.kind FROM unnest($1, $2) AS u (tenant, rule)"
                " JOIN rule r ON r.tenant = u.tenant AND r.rule = u.rule",
};

static const Statement target = {
    .name = "audit_target",
    .scope = STATEMENT_TENANT,
    .params = "iuii",
    .many = true,
    .sql = "SELECT $4, address FROM target WHERE tenant = $1 AND delivery = $2 AND n = $3",
    .postgres = "SELECT u.place, t.address FROM unnest($1, $2, $3, $4)"
                " AS u (tenant, delivery, n, place) JOIN target t"
                " ON t.tenant = u.tenant AND t.delivery = u.delivery AND t.n = u.n",
};
// What a notification says of where it comes from lies in its payload, which may be long.
static const Statement payload = {
    .name = "audit_payload",
    .scope = STATEMENT_TENANT,
    .params = "iuii",
    .many = true,
    .sql = "SELECT $4, payload FROM event WHERE tenant = $1 AND id = $2"
           " AND length(CAST(payload AS BLOB)) <= $3",
    .postgres = "SELECT u.place, e.payload FROM unnest($1, $2, $3, $4)"
                " AS u (tenant, id, most, place) JOIN event e ON e.tenant = u.tenant"
                " AND e.id = u.id AND octet_length(e.payload) <= u.most",
};

const Statement *const audit_known_statements[] = {
    &promise_along, &promise_each, &event_along, &event_each, &ended_along, &ended_each,
    &attempt,       &rule_kind,    &target,      &payload,    NULL,
};

// Ask is who asks for a row, by its id or, of rules, by its number.
typedef struct Ask {
    int64_t tenant;
    Uuid id;
    int64_t number, place;
    AuditMoved *of;
} Ask;

static const Columns ask_columns = COLUMNS(Ask, COLUMN(Ask, tenant), COLUMN(Ask, id));
static const Columns numbered_columns =
    COLUMNS(Ask, COLUMN(Ask, tenant), COLUMN(Ask, id), COLUMN(Ask, number), COLUMN(Ask, place));
static const Columns rule_columns = COLUMNS(Ask, COLUMN(Ask, tenant), COLUMN(Ask, number));

// Range is what a tenant asks for along one range, and what was read along it.
typedef struct Range {
    size_t from, to;
    int64_t most;
    Rows rows;
} Range;

// Looking is one look-up: asks, in the order of their ids.
typedef struct Looking {
    const Statement *along, *each;
    void (*take)(AuditMoved *moved, const Value *row); // row is behind tenant and id
    Ask *asks;
    size_t count;
} Looking;

static int by_id(const void *a, const void *b)
{
    const Ask *x = a, *y = b;
    int order = x->tenant < y->tenant ? -1 : x->tenant > y->tenant;
    return order ? order : uuid_cmp(x->id, y->id);
}

static Ask *ask(Looking *looking, AuditMoved *moved, Uuid id)
{
    Ask *asked = &looking->asks[looking->count++];
    *asked = (Ask){ .tenant = moved->tenant, .id = id, .of = moved };
    return asked;
}

// give hands rows to those from a place on who asked for them, both being in the order of their
// ids; what was read along and nobody asked for is passed by.
static void give(const Looking *looking, size_t from, const Rows *rows)
{
    const Ask *asked = looking->asks + from, *end = looking->asks + looking->count;
    for (size_t i = 0; i < rows->count; i++) {
        const Value *row = rows_at(rows, i);
        Ask key = { .tenant = value_to_i64(&row[0]), .id = value_to_uuid(&row[1]) };
        while (asked < end && by_id(asked, &key) < 0)
            asked++;
        for (; asked < end && by_id(asked, &key) == 0; asked++)
            looking->take(asked->of, row + 2);
    }
}

static size_t split(const Looking *looking, Range *ret)
{
    size_t count = 0;
    for (size_t i = 0; i < looking->count; i++) {
        if (i == 0 || looking->asks[i].tenant != looking->asks[i - 1].tenant ||
            i - ret[count - 1].from == ALONG_MAX)
            ret[count++] = (Range){ .from = i };
        ret[count - 1].to = i + 1;
    }
    return count;
}

static void send_along(Tx *tx, const Looking *looking, Range *range)
{
    const Ask *first = &looking->asks[range->from], *last = &looking->asks[range->to - 1];
    range->most = 2 * (int64_t) (range->to - range->from);
    Value args[] = { value_i64(first->tenant), value_uuid(&first->id), value_uuid(&last->id),
                     value_i64(range->most) };
    if (range->to - range->from >= ALONG_MIN)
        db_send(tx->db, &tx->arena, looking->along, args, &range->rows);
}

// pick_left picks who asks for what a range was not read as far as, each id once.
static size_t pick_left(const Looking *looking, const Range *range, const Ask **ret)
{
    size_t count = 0;
    const Rows *rows = &range->rows;
    bool is_along = range->to - range->from >= ALONG_MIN;
    if (is_along && (int64_t) rows->count < range->most)
        return 0;
    Ask last = looking->asks[range->from];
    if (is_along)
        last.id = value_to_uuid(&rows_at(rows, rows->count - 1)[1]);
    for (size_t i = range->from; i < range->to; i++) {
        const Ask *one = &looking->asks[i];
        bool is_new = i == 0 || by_id(one - 1, one) != 0;
        if (is_new && (!is_along || by_id(&last, one) < 0))
            ret[count++] = one;
    }
    return count;
}

static Err look_up(Tx *tx, Looking *looking, Error *error)
{
    Rows rest = { 0 };
    size_t left = 0;
    Range *ranges = ARENA_ARRAY(&tx->arena, Range, looking->count + 1);
    const Ask **picked = ARENA_ARRAY(&tx->arena, const Ask *, looking->count + 1);
    qsort(looking->asks, looking->count, sizeof *looking->asks, by_id);
    size_t count = split(looking, ranges);
    for (size_t i = 0; i < count; i++)
        send_along(tx, looking, &ranges[i]);
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < count; i++) {
        give(looking, ranges[i].from, &ranges[i].rows);
        left += pick_left(looking, &ranges[i], picked + left);
    }
    db_send_picked(tx->db, &tx->arena, looking->each, &ask_columns, (const void *const *) picked,
                   left, &rest);
    TRY(tx_sync(tx, error));
    give(looking, 0, &rest);
    return ERR_OK;
}

static void take_promise(AuditMoved *moved, const Value *row)
{
    moved->known.to.address = value_to_str(&row[0]);
    moved->event = value_to_uuid(&row[1]);
}

static void take_event(AuditMoved *moved, const Value *row)
{
    moved->known.correlation_id = value_to_str(&row[0]);
    moved->known.identity = value_to_str(&row[1]);
}

static const Columns outcome_columns =
    COLUMNS(Outcome, COLUMN(Outcome, verdict), COLUMN(Outcome, reason), COLUMN(Outcome, code),
            COLUMN(Outcome, provider_id), COLUMN(Outcome, detail));

static void take_outcome(AuditMoved *moved, const Value *row)
{
    columns_read(&outcome_columns, row, &moved->known.outcome);
    moved->known.outcome = outcome_mended(moved->known.outcome);
    moved->known.was_tried = true;
}

// has_attempt: the move ended an attempt, and what that told does not stand in the fact itself.
static bool has_attempt(const AuditMoved *moved)
{
    const Move *move = moved->move;
    return move->from == DELIVERY_SENDING && !move->is_untried && !move->targets.at;
}

static bool ended_here(const AuditMoved *moved)
{
    const Move *move = moved->move;
    return has_attempt(moved) && move->to != MOVE_NOWHERE &&
           !delivery_is_live((DeliveryState) move->to);
}

// take_ended takes the attempt that ended the delivery, if it stands there. Of one that a person
// had tried again and then called off before the next attempt only the number does: what it told
// lies among the attempts.
static void take_ended(AuditMoved *moved, const Value *row)
{
    if (value_to_i64(&row[0]) == moved->move->attempt && row[1].type != VALUE_NULL)
        take_outcome(moved, row + 1);
}

static Looking looking(Tx *tx, const Statement *along, const Statement *each,
                       void (*take)(AuditMoved *, const Value *), size_t room)
{
    return (Looking){ along, each, take, ARENA_ARRAY(&tx->arena, Ask, room + 1), 0 };
}

static void hash_address(Str key, AuditAddress *to)
{
    to->has_target = key.at && to->address.at;
    if (to->has_target)
        to->target = audit_target(key, to->address);
}

static Err know_promises(Tx *tx, Str key, AuditMoved *moved, size_t count, Error *error)
{
    Looking promises = looking(tx, &promise_along, &promise_each, take_promise, count);
    Looking events = looking(tx, &event_along, &event_each, take_event, count);
    for (size_t i = 0; i < count; i++)
        ask(&promises, &moved[i], moved[i].move->delivery);
    TRY(look_up(tx, &promises, error));
    for (size_t i = 0; i < count; i++) {
        if (!uuid_is_none(moved[i].event))
            ask(&events, &moved[i], moved[i].event);
        hash_address(key, &moved[i].known.to);
    }
    return look_up(tx, &events, error);
}

// know_attempts finds what became of attempts: in ended where it is the delivery's last, otherwise
// among the attempts.
static Err know_attempts(Tx *tx, AuditMoved *moved, size_t count, Error *error)
{
    Rows rows = { 0 };
    Looking last = looking(tx, &ended_along, &ended_each, take_ended, count);
    Looking others = looking(tx, NULL, &attempt, NULL, count);
    for (size_t i = 0; i < count; i++)
        if (ended_here(&moved[i]))
            ask(&last, &moved[i], moved[i].move->delivery);
    TRY(look_up(tx, &last, error));
    for (size_t i = 0; i < count; i++) {
        if (!has_attempt(&moved[i]) || moved[i].known.was_tried)
            continue;
        Ask *asked = ask(&others, &moved[i], moved[i].move->delivery);
        asked->number = moved[i].move->attempt;
        asked->place = (int64_t) i;
    }
    db_send_rows(tx->db, &tx->arena, others.each, &numbered_columns, others.asks, others.count,
                 &rows);
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < rows.count; i++)
        take_outcome(&moved[value_to_i64(&rows_at(&rows, i)[0])], rows_at(&rows, i) + 1);
    return ERR_OK;
}

static int by_number(const void *a, const void *b)
{
    const Ask *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

static Err know_rules(Tx *tx, AuditMoved *moved, size_t count, Error *error)
{
    Rows rows = { 0 };
    size_t kept = 0;
    Ask *asks = ARENA_ARRAY(&tx->arena, Ask, count + 1);
    for (size_t i = 0; i < count; i++)
        asks[i] = (Ask){ .tenant = moved[i].tenant, .number = moved[i].move->rule };
    qsort(asks, count, sizeof *asks, by_number);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || by_number(&asks[kept - 1], &asks[i]) != 0)
            asks[kept++] = asks[i];
    db_send_rows(tx->db, &tx->arena, &rule_kind, &rule_columns, asks, kept, &rows);
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < rows.count; i++) {
        Ask key = { .number = value_to_i64(&rows_at(&rows, i)[0]) };
        Ask *found = bsearch(&key, asks, kept, sizeof key, by_number);
        assert(found);
        found->place = value_to_i64(&rows_at(&rows, i)[1]);
    }
    for (size_t i = 0; i < count; i++) {
        Ask key = { .number = moved[i].move->rule };
        const Ask *found = bsearch(&key, asks, kept, sizeof key, by_number);
        moved[i].known.rule_kind = (RuleKind) found->place;
    }
    return ERR_OK;
}

// ask_targets asks for the addresses of those that a move's attempt told; place counts those of
// all moves.
static size_t ask_targets(const AuditMoved *moved, size_t place, Ask *ret)
{
    TargetTold told[TARGETS_MAX];
    size_t count = told_read(moved->move->targets, told);
    for (size_t i = 0; i < count; i++)
        ret[i] = (Ask){ .tenant = moved->tenant,
                        .id = moved->move->delivery,
                        .number = told[i].n,
                        .place = (int64_t) (place + i) };
    return count;
}

// know_targets finds where attempts with several targets went to: who has one pays nothing.
static Err know_targets(Tx *tx, Str key, AuditMoved *moved, size_t count, Error *error)
{
    Rows rows = { 0 };
    size_t room = 0, asked = 0;
    for (size_t i = 0; i < count; i++)
        room += told_count(moved[i].move->targets);
    if (room == 0)
        return ERR_OK;
    Ask *asks = ARENA_ARRAY(&tx->arena, Ask, room);
    AuditAddress *found = ARENA_ARRAY(&tx->arena, AuditAddress, room);
    for (size_t i = 0; i < count; i++) {
        if (!moved[i].move->targets.at)
            continue;
        moved[i].known.targets = found + asked;
        asked += ask_targets(&moved[i], asked, asks + asked);
    }
    db_send_rows(tx->db, &tx->arena, &target, &numbered_columns, asks, asked, &rows);
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < rows.count; i++) {
        AuditAddress *to = &found[value_to_i64(&rows_at(&rows, i)[0])];
        to->address = value_to_str(&rows_at(&rows, i)[1]);
        hash_address(key, to);
    }
    return ERR_OK;
}

// Payloads are read a few at a time, and one that is long alone: what they say is kept, not they.
enum { PAYLOADS = 64, PAYLOAD_SHORT = 16 << 10 };

static Str instance_of(Arena *arena, Str text)
{
    DEFER(arena_done) Arena scratch = { 0 };
    Error error = { 0 };
    const Json *json;
    if (json_parse(&scratch, text, &json, &error) != ERR_OK)
        return STR_NONE; // it is told without
    Str instance = json_str(json_get(json_get(json, S("source")), S("instance")));
    return instance.len ? str_dup(arena, audit_text(instance)) : STR_NONE;
}

// read_payloads reads those that are no longer than most; place is -1 for who was answered.
static Err read_payloads(Tx *tx, Ask *asks, size_t count, int64_t most, Error *error)
{
    DEFER(arena_done) Arena scratch = { 0 };
    Rows rows = { 0 };
    for (size_t i = 0; i < count; i++) {
        asks[i].number = most;
        asks[i].place = (int64_t) i;
    }
    db_send_rows(tx->db, &scratch, &payload, &numbered_columns, asks, count, &rows);
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < rows.count; i++) {
        Ask *asked = &asks[value_to_i64(&rows_at(&rows, i)[0])];
        asked->of->known.instance = instance_of(&tx->arena, value_to_str(&rows_at(&rows, i)[1]));
        asked->place = -1;
    }
    return ERR_OK;
}

static Err read_instances(Tx *tx, Ask *asks, size_t count, Error *error)
{
    for (size_t from = 0; from < count; from += PAYLOADS) {
        size_t some = count - from < PAYLOADS ? count - from : PAYLOADS;
        TRY(read_payloads(tx, asks + from, some, PAYLOAD_SHORT, error));
        for (size_t i = from; i < from + some; i++)
            if (asks[i].place >= 0)
                TRY(read_payloads(tx, &asks[i], 1, INT64_MAX, error));
    }
    return ERR_OK;
}

// know_instances finds out which instance of a site notifications come from; no others pay for it.
static Err know_instances(Tx *tx, AuditMoved *moved, size_t count, Error *error)
{
    Looking events = looking(tx, NULL, &payload, NULL, count);
    Ask *each = ARENA_ARRAY(&tx->arena, Ask, count + 1);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (moved[i].known.rule_kind == RULE_NOTIFY && !uuid_is_none(moved[i].event))
            ask(&events, &moved[i], moved[i].event);
    qsort(events.asks, events.count, sizeof *events.asks, by_id);
    for (size_t i = 0; i < events.count; i++)
        if (i == 0 || by_id(&events.asks[i - 1], &events.asks[i]) != 0)
            each[kept++] = events.asks[i];
    TRY(read_instances(tx, each, kept, error));
    for (size_t i = 1; i < events.count; i++) // those of one event lie together
        if (by_id(&events.asks[i - 1], &events.asks[i]) == 0)
            events.asks[i].of->known.instance = events.asks[i - 1].of->known.instance;
    return ERR_OK;
}

Err audit_know(Tx *tx, Str key, AuditMoved *moved, size_t count, Error *error)
{
    if (count == 0)
        return ERR_OK;
    TRY(know_promises(tx, key, moved, count, error));
    TRY(know_attempts(tx, moved, count, error));
    TRY(know_targets(tx, key, moved, count, error));
    TRY(know_rules(tx, moved, count, error));
    return know_instances(tx, moved, count, error);
}
