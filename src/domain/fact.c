#include "domain/fact.h"

#include "base/varint.h"
#include "domain/told.h"

// A packed fact is its kind and which of what follows is there (one number), then, where it is:
// the actor, tenant, lane, rule and site; and then the subject, or the rest of the move: how many
// of the id's bytes are the last id's and the other ones, from and to, reason, attempt, due time;
// and what its targets were told, of kind SENT alone. An event is its id, written likewise, and its
// kind as text, which is empty where it is the last event's.

enum {
    NEW_ACTOR = 1,
    NEW_TENANT = 2,
    NEW_LANE = 4,
    NEW_RULE = 8,
    NEW_SITE = 16,
    NEW_BITS = 5,
};

// States are stored one higher, so that nowhere is 0, and two of them share a byte.
enum { PLACES = 16 };
_Static_assert(DELIVERY_STATE_COUNT < PLACES, "from and to share a byte");

const char *fact_text(FactKind kind)
{
    static const char *const texts[] = {
#define FACT_ROW(name, text, subject) text,
        FACT_TABLE(FACT_ROW)
#undef FACT_ROW
    };
    assert(kind < ARRAY_LEN(texts));
    return texts[kind];
}

bool fact_is_move(FactKind kind)
{
    return kind == FACT_MOVED || kind == FACT_UNTRIED || kind == FACT_SENT;
}

FactKind fact_of_move(const Move *move)
{
    assert(!move->is_untried || !move->targets.at);
    if (move->is_untried)
        return FACT_UNTRIED;
    return move->targets.at ? FACT_SENT : FACT_MOVED;
}

FactPack fact_pack(Arena *arena, Instant at)
{
    return (FactPack){ .bytes = buf_new(arena, FACT_BYTES_MAX), .at = at };
}

static unsigned news(const Fact *fact, const Fact *last)
{
    bool moved = fact_is_move(fact->kind);
    return (uuid_cmp(fact->actor, last->actor) != 0 ? NEW_ACTOR : 0u) |
           (fact->tenant != last->tenant ? NEW_TENANT : 0u) |
           (moved && fact->move.lane != last->move.lane ? NEW_LANE : 0u) |
           (moved && fact->move.rule != last->move.rule ? NEW_RULE : 0u) |
           (moved && fact->move.site != last->move.site ? NEW_SITE : 0u);
}

static void add_subject(Buf *bytes, Str subject)
{
    varint_add_text(bytes, str_head(subject, FACT_SUBJECT_MAX));
}

static void add_id(FactPack *pack, Uuid id)
{
    size_t same = 0;
    while (same < sizeof id.b && id.b[same] == pack->id.b[same])
        same++;
    buf_add_char(&pack->bytes, (char) same);
    buf_add_bytes(&pack->bytes, id.b + same, sizeof id.b - same);
    pack->id = id;
}

static void add_event(FactPack *pack, const Fact *fact)
{
    Str kind = str_head(fact->subject, FACT_SUBJECT_MAX);
    add_id(pack, fact->event);
    varint_add_text(&pack->bytes, str_eq(kind, pack->event_kind) ? STR_NONE : kind);
    pack->event_kind = kind;
}

static void add_move(FactPack *pack, const Move *move)
{
    assert(move->from < PLACES - 1 && move->to < PLACES - 1);
    add_id(pack, move->delivery);
    buf_add_char(&pack->bytes, (char) ((move->from + 1) * PLACES + move->to + 1));
    varint_add(&pack->bytes, move->reason);
    varint_add(&pack->bytes, (uint64_t) move->attempt);
    // 0 stands for none, so that a due time lies one further away than it is.
    Span ahead = move->due_at == INSTANT_NONE ? -1 : move->due_at - pack->at;
    varint_add_signed(&pack->bytes, ahead >= 0 || move->due_at == INSTANT_NONE ? ahead + 1 : ahead);
}

void fact_add(FactPack *pack, const Fact *fact)
{
    unsigned new = news(fact, &pack->last);
    varint_add(&pack->bytes, (uint64_t) fact->kind << NEW_BITS | new);
    if (new &NEW_ACTOR)
        buf_add_bytes(&pack->bytes, fact->actor.b, sizeof fact->actor.b);
    if (new &NEW_TENANT)
        varint_add_signed(&pack->bytes, fact->tenant);
    if (new &NEW_LANE)
        varint_add_signed(&pack->bytes, fact->move.lane);
    if (new &NEW_RULE)
        varint_add_signed(&pack->bytes, fact->move.rule);
    if (new &NEW_SITE)
        varint_add_signed(&pack->bytes, fact->move.site);
    bool moved = fact_is_move(fact->kind);
    Move last = moved ? fact->move : pack->last.move;
    if (moved)
        add_move(pack, &fact->move);
    else if (fact->kind == FACT_EVENT)
        add_event(pack, fact);
    else
        add_subject(&pack->bytes, fact->subject);
    if (fact->kind == FACT_SENT)
        varint_add_text(&pack->bytes, fact->move.targets);
    pack->last = *fact;
    pack->last.move = last;
    pack->count++;
    assert(!pack->bytes.overflowed);
}

FactRead fact_read(Str bytes, Instant at)
{
    return (FactRead){ .rest = bytes, .at = at };
}

static bool take_bytes(Str *rest, void *ret, size_t len)
{
    if (rest->len < len)
        return false;
    if (len)
        memcpy(ret, rest->at, len);
    *rest = str_skip(*rest, len);
    return true;
}

static bool take_byte(Str *rest, unsigned max, unsigned *ret)
{
    uint8_t byte;
    if (!take_bytes(rest, &byte, 1) || byte > max)
        return false;
    *ret = byte;
    return true;
}

static bool take_due_at(FactRead *read, Instant *ret)
{
    int64_t ahead;
    if (!varint_take_signed(&read->rest, &ahead) || ahead < -read->at ||
        ahead > INSTANT_NONE - read->at)
        return false;
    *ret = ahead == 0 ? INSTANT_NONE : read->at + (ahead > 0 ? ahead - 1 : ahead);
    return true;
}

static bool take_id(FactRead *read, Uuid *ret)
{
    unsigned same;
    if (!take_byte(&read->rest, sizeof read->id.b, &same) ||
        !take_bytes(&read->rest, read->id.b + same, sizeof read->id.b - same))
        return false;
    *ret = read->id;
    return true;
}

static bool take_event(FactRead *read, Fact *fact)
{
    Str kind;
    if (!take_id(read, &fact->event) || !varint_take_text(&read->rest, &kind))
        return false;
    if (kind.len > 0)
        read->event_kind = kind;
    fact->subject = read->event_kind;
    return true;
}

static bool take_move(FactRead *read, Move *move)
{
    unsigned places;
    uint64_t reason, attempt;
    if (!take_id(read, &move->delivery) || !take_byte(&read->rest, UINT8_MAX, &places) ||
        !varint_take(&read->rest, &reason) || !varint_take(&read->rest, &attempt) ||
        attempt > INT32_MAX || !take_due_at(read, &move->due_at))
        return false;
    move->from = (int) (places / PLACES) - 1;
    move->to = (int) (places % PLACES) - 1;
    move->reason = (DeliveryReason) reason;
    move->attempt = (int) attempt;
    return move->from < (int) DELIVERY_STATE_COUNT && move->to < (int) DELIVERY_STATE_COUNT &&
           reason < TABLE_ROWS(DELIVERY_REASON_TABLE);
}

static bool take_fact(FactRead *read, Fact *fact)
{
    Str *rest = &read->rest;
    Move *move = &fact->move;
    uint64_t head;
    if (!varint_take(rest, &head) || head >> NEW_BITS >= TABLE_ROWS(FACT_TABLE))
        return false;
    fact->kind = (FactKind) (head >> NEW_BITS);
    if (((head & NEW_ACTOR) && !take_bytes(rest, fact->actor.b, sizeof fact->actor.b)) ||
        ((head & NEW_TENANT) && !varint_take_signed(rest, &fact->tenant)) ||
        ((head & NEW_LANE) && !varint_take_signed(rest, &move->lane)) ||
        ((head & NEW_RULE) && !varint_take_signed(rest, &move->rule)) ||
        ((head & NEW_SITE) && !varint_take_signed(rest, &move->site)))
        return false;
    move->tenant = fact->tenant;
    if (fact->kind == FACT_EVENT)
        return take_event(read, fact);
    if (!fact_is_move(fact->kind))
        return varint_take_text(rest, &fact->subject);
    move->is_untried = fact->kind == FACT_UNTRIED;
    return take_move(read, move) &&
           (fact->kind != FACT_SENT || varint_take_text(rest, &move->targets));
}

bool fact_next(FactRead *read, Fact *ret)
{
    if (read->rest.len == 0 || read->is_bad)
        return false;
    Fact fact = read->last;
    fact.subject = fact.move.targets = STR_NONE;
    read->is_bad = !take_fact(read, &fact);
    if (read->is_bad)
        return false;
    read->last = fact;
    *ret = fact;
    return true;
}
