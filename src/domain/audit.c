#include "domain/audit.h"

#include "base/varint.h"

const char *audit_kind_text(AuditKind kind)
{
    static const char *const texts[] = {
#define AUDIT_KIND_TEXT(name, text) text,
        AUDIT_KIND_TABLE(AUDIT_KIND_TEXT)
#undef AUDIT_KIND_TEXT
    };
    assert(kind < ARRAY_LEN(texts));
    return texts[kind];
}

typedef struct StatusRow {
    const char *text;
    bool is_error;
} StatusRow;

static const StatusRow statuses[] = {
#define AUDIT_STATUS_ROW(name, text, error, meaning) { text, error },
    AUDIT_STATUS_TABLE(AUDIT_STATUS_ROW)
#undef AUDIT_STATUS_ROW
};

const char *audit_status_text(AuditStatus status)
{
    assert(status < ARRAY_LEN(statuses));
    return statuses[status].text;
}

bool audit_status_is_error(AuditStatus status)
{
    assert(status < ARRAY_LEN(statuses));
    return statuses[status].is_error;
}

const char *audit_problem_text(AuditProblem problem)
{
    static const char *const texts[] = {
#define AUDIT_PROBLEM_TEXT(name, text) text,
        AUDIT_PROBLEM_TABLE(AUDIT_PROBLEM_TEXT)
#undef AUDIT_PROBLEM_TEXT
    };
    assert(problem < ARRAY_LEN(texts));
    return texts[problem];
}

AuditTarget audit_target(Str key, Str address)
{
    AuditTarget target;
    Sha256 hash = hmac_sha256(key, address);
    memcpy(target.b, hash.b, sizeof target.b);
    return target;
}

// Packing: the layout, the row's own number, which of what may be missing is there, and then what
// is, in this order.

enum { LAYOUT = 1 };

enum {
    HAS_ACTOR = 1,
    HAS_DELIVERY = 2,
    HAS_BROUGHT = 4,
    HAS_TARGET = 8,
    HAS_CODE = 16,
    HAS_CORRELATION = 32,
    HAS_INSTANCE = 64,
    HAS_PROVIDER = 128,
    HAS_TEXT = 256,
};

static unsigned parts_of(const AuditEntry *entry)
{
    return (uuid_is_none(entry->actor) ? 0u : HAS_ACTOR) |
           (uuid_is_none(entry->delivery) ? 0u : HAS_DELIVERY) |
           (uuid_is_none(entry->brought) ? 0u : HAS_BROUGHT) |
           (entry->has_target ? HAS_TARGET : 0u) | (entry->code ? HAS_CODE : 0u) |
           (entry->correlation_id.at ? HAS_CORRELATION : 0u) |
           (entry->instance.at ? HAS_INSTANCE : 0u) | (entry->provider_id.at ? HAS_PROVIDER : 0u) |
           (entry->text.at ? HAS_TEXT : 0u);
}

Str audit_text(Str text)
{
    return str_head(text, AUDIT_TEXT_MAX);
}

static void add_text(Buf *bytes, Str text)
{
    varint_add_text(bytes, audit_text(text));
}

static void add_numbers(Buf *bytes, const AuditEntry *entry)
{
    varint_add(bytes, (uint64_t) entry->number);
    varint_add(bytes, (uint64_t) entry->part);
    varint_add_signed(bytes, entry->at);
    varint_add(bytes, entry->kind);
    varint_add(bytes, entry->status);
    varint_add_signed(bytes, entry->lane);
    varint_add_signed(bytes, entry->rule);
    varint_add_signed(bytes, entry->site);
    varint_add(bytes, (uint64_t) entry->attempt);
    varint_add(bytes, entry->reason);
}

void audit_pack(Buf *bytes, const AuditEntry *entry)
{
    unsigned has = parts_of(entry);
    buf_add_char(bytes, LAYOUT);
    varint_add(bytes, (uint64_t) entry->seq);
    varint_add(bytes, has);
    add_numbers(bytes, entry);
    if (has & HAS_ACTOR)
        buf_add_bytes(bytes, entry->actor.b, sizeof entry->actor.b);
    if (has & HAS_DELIVERY)
        buf_add_bytes(bytes, entry->delivery.b, sizeof entry->delivery.b);
    if (has & HAS_BROUGHT)
        buf_add_bytes(bytes, entry->brought.b, sizeof entry->brought.b);
    if (has & HAS_TARGET)
        buf_add_bytes(bytes, entry->target.b, sizeof entry->target.b);
    if (has & HAS_CODE)
        varint_add_signed(bytes, entry->code);
    if (has & HAS_CORRELATION)
        add_text(bytes, entry->correlation_id);
    if (has & HAS_INSTANCE)
        add_text(bytes, entry->instance);
    if (has & HAS_PROVIDER)
        add_text(bytes, entry->provider_id);
    if (has & HAS_TEXT)
        add_text(bytes, entry->text);
    assert(!bytes->overflowed);
}

// What a site brought, as a fact's subject.

Str audit_brought_pack(Arena *arena, const AuditBrought *brought)
{
    const Str texts[] = { brought->instance, brought->correlation_id, brought->text };
    Buf bytes = buf_new(arena, FACT_SUBJECT_MAX);
    buf_add_bytes(&bytes, brought->event.b, sizeof brought->event.b);
    varint_add_signed(&bytes, brought->site);
    varint_add_signed(&bytes, brought->at);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        buf_add_char(&bytes, texts[i].at ? 1 : 0);
        if (texts[i].at)
            add_text(&bytes, str_head(texts[i], AUDIT_BROUGHT_MAX));
    }
    assert(!bytes.overflowed);
    return buf_str(&bytes);
}

static bool brought_unpack(Str rest, AuditBrought *ret)
{
    AuditBrought brought = { 0 };
    Str *texts[] = { &brought.instance, &brought.correlation_id, &brought.text };
    if (rest.len < sizeof brought.event.b)
        return false;
    memcpy(brought.event.b, rest.at, sizeof brought.event.b);
    rest = str_skip(rest, sizeof brought.event.b);
    if (!varint_take_signed(&rest, &brought.site) || !varint_take_signed(&rest, &brought.at))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        uint64_t has;
        if (!varint_take(&rest, &has) || (has == 1 && !varint_take_text(&rest, texts[i])))
            return false;
    }
    *ret = brought;
    return rest.len == 0;
}

// Telling

// Family is how the rows of a delivery are called, by what made it.
typedef struct Family {
    AuditKind created, attempt, terminal;
} Family;

static Family family_of(RuleKind kind)
{
    if (kind == RULE_NOTIFY)
        return (Family){ AUDIT_NOTIFICATION_ENQUEUED, AUDIT_NOTIFICATION_ATTEMPT,
                         AUDIT_NOTIFICATION_TERMINAL };
    return (Family){ AUDIT_DELIVERY_CREATED, AUDIT_DELIVERY_ATTEMPT, AUDIT_DELIVERY_TERMINAL };
}

// ending is the status of a delivery that stands where it is left; false while it is live.
static bool ending(int state, AuditStatus *ret)
{
    static const AuditStatus statuses_of[DELIVERY_STATE_COUNT] = {
        [DELIVERY_PARKED] = AUDIT_STATUS_PARKED,
        [DELIVERY_DELIVERED] = AUDIT_STATUS_DELIVERED,
        [DELIVERY_COMPLETED] = AUDIT_STATUS_COMPLETED,
        [DELIVERY_EXPIRED] = AUDIT_STATUS_EXPIRED,
        [DELIVERY_CANCELLED] = AUDIT_STATUS_CANCELLED,
        [DELIVERY_DISCARDED] = AUDIT_STATUS_DISCARDED,
    };
    if (state == MOVE_NOWHERE || delivery_is_live((DeliveryState) state))
        return false;
    *ret = statuses_of[state];
    return true;
}

static AuditStatus tried(Verdict verdict)
{
    static const AuditStatus statuses_of[] = {
        [VERDICT_DELIVERED] = AUDIT_STATUS_SUCCESS,   [VERDICT_TRANSIENT] = AUDIT_STATUS_TRANSIENT,
        [VERDICT_PERMANENT] = AUDIT_STATUS_PERMANENT, [VERDICT_UNKNOWN] = AUDIT_STATUS_UNKNOWN,
        [VERDICT_ELSEWHERE] = AUDIT_STATUS_SUCCESS,
    };
    assert(verdict < ARRAY_LEN(statuses_of));
    return statuses_of[verdict];
}

static const struct Ending {
    int to;
    AuditKind kind;
} endings[] = {
    { DELIVERY_DISCARDED, AUDIT_OPERATOR_DISCARD },
    { DELIVERY_CANCELLED, AUDIT_OPERATOR_CANCEL },
    { DELIVERY_COMPLETED, AUDIT_OPERATOR_COMPLETE },
};

// persons_action is what a person did to move the delivery so; false where it was not a person.
static bool persons_action(const Fact *fact, AuditKind *ret)
{
    const Move *move = &fact->move;
    if (uuid_is_none(fact->actor) || move->from == MOVE_NOWHERE)
        return false;
    bool is_retry = move->from == DELIVERY_PARKED && move->to != MOVE_NOWHERE &&
                    delivery_is_live((DeliveryState) move->to);
    if (is_retry) {
        *ret = AUDIT_OPERATOR_RETRY;
        return true;
    }
    if (move->reason == REASON_CALLED_OFF) // an event did it, which somebody posted
        return false;
    for (size_t i = 0; i < ARRAY_LEN(endings); i++)
        if (move->to == endings[i].to) {
            *ret = endings[i].kind;
            return true;
        }
    return false;
}

static AuditTold of_move(const Fact *fact, const AuditKnown *known, const AuditAddress *to)
{
    const Move *move = &fact->move;
    return (AuditTold){ .address = to->address,
                        .entry = { .actor = fact->actor,
                                   .delivery = move->delivery,
                                   .lane = move->lane,
                                   .rule = move->rule,
                                   .site = move->site,
                                   .reason = move->reason,
                                   .has_target = to->has_target,
                                   .target = to->target,
                                   .correlation_id = known->correlation_id,
                                   .instance = known->instance } };
}

static AuditTold of_attempt(const Fact *fact, const AuditKnown *known, const AuditAddress *to,
                            const Outcome *outcome)
{
    AuditTold told = of_move(fact, known, to);
    AuditEntry *entry = &told.entry;
    entry->kind = family_of(known->rule_kind).attempt;
    entry->status = tried(outcome->verdict);
    entry->attempt = fact->move.attempt;
    entry->reason = outcome->reason;
    entry->code = outcome->code;
    entry->provider_id = outcome->provider_id;
    entry->text = outcome->detail;
    entry->actor = (Uuid){ { 0 } }; // the attempt was the engine's, whoever ended it
    return told;
}

// tell_targets tells an attempt by what each of its targets was told.
static size_t tell_targets(const Fact *fact, const AuditKnown *known, AuditTold *ret)
{
    static const AuditAddress unknown = { 0 };
    TargetTold told[TARGETS_MAX];
    size_t count = told_read(fact->move.targets, told);
    for (size_t i = 0; i < count; i++)
        ret[i] = of_attempt(fact, known, known->targets ? &known->targets[i] : &unknown,
                            &told[i].outcome);
    return count;
}

static size_t tell_move(const Fact *fact, const AuditKnown *known, AuditTold *ret)
{
    const Move *move = &fact->move;
    Family family = family_of(known->rule_kind);
    size_t count = 0;
    AuditKind action;
    AuditStatus end;
    if (move->from == MOVE_NOWHERE) {
        ret[count] = of_move(fact, known, &known->to);
        ret[count].entry.kind = family.created;
        if (family.created == AUDIT_NOTIFICATION_ENQUEUED && known->identity.at)
            ret[count].entry.brought = audit_enqueued_id(known->identity);
        ret[count++].entry.status = AUDIT_STATUS_ENQUEUED;
    }
    if (persons_action(fact, &action)) {
        ret[count] = of_move(fact, known, &known->to);
        ret[count++].entry.kind = action;
    }
    if (move->from == DELIVERY_SENDING && move->targets.at)
        count += tell_targets(fact, known, ret + count);
    else if (move->from == DELIVERY_SENDING && !move->is_untried && known->was_tried)
        ret[count++] = of_attempt(fact, known, &known->to, &known->outcome);
    if (ending(move->to, &end)) {
        ret[count] = of_move(fact, known, &known->to);
        ret[count].entry.kind = family.terminal;
        ret[count].entry.attempt = move->attempt;
        ret[count++].entry.status = end;
    }
    return count;
}

static AuditKind kind_of(FactKind kind)
{
    static const AuditKind kinds[TABLE_ROWS(FACT_TABLE)] = {
        [FACT_MOVED] = AUDIT_OTHER,
        [FACT_DEFINITION_SAVED] = AUDIT_DEFINITION_SAVED,
        [FACT_DEFINITION_DELETED] = AUDIT_DEFINITION_DELETED,
        [FACT_HELD] = AUDIT_OPERATOR_HOLD,
        [FACT_RELEASED] = AUDIT_OPERATOR_RELEASE,
        [FACT_KEY_MADE] = AUDIT_KEY_CREATED,
        [FACT_KEY_DELETED] = AUDIT_KEY_REVOKED,
        [FACT_TENANT_MADE] = AUDIT_TENANT_CREATED,
        [FACT_OPERATION] = AUDIT_OPERATOR_OPERATION,
        [FACT_KEY_CHANGED] = AUDIT_KEY_CHANGED,
        [FACT_TENANT_CHANGED] = AUDIT_TENANT_CHANGED,
        [FACT_TENANT_DELETED] = AUDIT_TENANT_DELETED,
        [FACT_AUDIT_BROUGHT] = AUDIT_NOTIFICATION_ENQUEUED,
        [FACT_LOOKED] = AUDIT_CROSS_TENANT_READ,
        [FACT_PURGED] = AUDIT_PURGE,
        [FACT_OUTBOX_REPLAYED] = AUDIT_OPERATOR_OPERATION,
        [FACT_UNTRIED] = AUDIT_OTHER,
        [FACT_SENT] = AUDIT_OTHER,
        [FACT_INTEGRATION_TURNED] = AUDIT_INTEGRATION_CHANGED,
        [FACT_SURVEY_PUBLISHED] = AUDIT_SURVEY_PUBLISHED,
        [FACT_SESSION_OPENED] = AUDIT_SESSION_OPENED,
        [FACT_SESSION_CLOSED] = AUDIT_SESSION_CLOSED,
        [FACT_OPERATION_ENDED] = AUDIT_OPERATOR_OPERATION,
    };
    return kinds[kind];
}

// tell_brought tells what a site did; what it packed wrongly is told as what it is.
static AuditEntry tell_brought(const Fact *fact)
{
    AuditBrought brought;
    if (!brought_unpack(fact->subject, &brought))
        return (AuditEntry){ .kind = AUDIT_OTHER, .actor = fact->actor };
    return (AuditEntry){ .kind = AUDIT_NOTIFICATION_ENQUEUED,
                         .status = AUDIT_STATUS_ENQUEUED,
                         .at = brought.at,
                         .actor = fact->actor,
                         .brought = brought.event,
                         .site = brought.site,
                         .instance = brought.instance,
                         .correlation_id = brought.correlation_id,
                         .text = brought.text };
}

size_t audit_tell(const Fact *fact, Instant at, int64_t number, const AuditKnown *known,
                  AuditTold ret[AUDIT_PARTS_MAX])
{
    size_t count = 1;
    if (fact->kind == FACT_EVENT) // what it made is told, and what it did not make, it says itself
        return 0;
    if (fact_is_move(fact->kind))
        count = tell_move(fact, known, ret);
    else if (fact->kind == FACT_AUDIT_BROUGHT)
        ret[0] = (AuditTold){ .entry = tell_brought(fact) };
    else
        ret[0] = (AuditTold){
            .entry = { .kind = kind_of(fact->kind), .actor = fact->actor, .text = fact->subject }
        };
    for (size_t i = 0; i < count; i++) {
        AuditEntry *entry = &ret[i].entry;
        // What was brought has a time of its own. One that is still to come would keep a purge from
        // all that lies behind it.
        entry->at = entry->at ? earlier(entry->at, at) : at;
        entry->number = number;
        entry->part = (int) i;
    }
    return count;
}

// own_id makes an id of a text: version 8, by rules of our own.
static Uuid own_id(Str text)
{
    Uuid id;
    Sha256 hash = sha256(text);
    memcpy(id.b, hash.b, sizeof id.b);
    id.b[6] = (uint8_t) ((id.b[6] & 0x0f) | 0x80);
    id.b[8] = (uint8_t) ((id.b[8] & 0x3f) | 0x80);
    return id;
}

Uuid audit_enqueued_id(Str notification)
{
    DEFER(arena_done) Arena arena = { 0 };
    return own_id(str_format(&arena, "peal audit enqueued %.*s", STR_ARG(notification)));
}

Uuid audit_event_id(int64_t tenant, const AuditEntry *entry)
{
    char text[96];
    if (!uuid_is_none(entry->brought))
        return entry->brought;
    int len = snprintf(text, sizeof text, "peal audit %lld %lld %d", (long long) tenant,
                       (long long) entry->number, entry->part);
    assert(len > 0 && (size_t) len < sizeof text);
    return own_id((Str){ text, (size_t) len });
}

Sha256 audit_link(const Sha256 *before, int64_t tenant, const AuditEntry *entry)
{
    char room[SHA256_LEN + sizeof tenant + AUDIT_BYTES_MAX];
    Buf text = { .at = room, .room = sizeof room, .max = sizeof room };
    buf_add_bytes(&text, before->b, SHA256_LEN);
    for (int shift = 56; shift >= 0; shift -= 8)
        buf_add_char(&text, (char) ((uint64_t) tenant >> shift));
    audit_pack(&text, entry);
    return sha256(buf_str(&text));
}
