#include "api/frame.h"

bool frame_kinds(Str text, unsigned *ret)
{
    static const char *const words[] = {
#define FRAME_WORD(name, word, meaning) word,
        FRAME_TABLE(FRAME_WORD)
#undef FRAME_WORD
    };
    unsigned kinds = 0;
    while (text.len > 0) {
        Str word = str_trim(str_cut(&text, ','));
        size_t i = 0;
        while (i < ARRAY_LEN(words) && !str_eq(word, str_from(words[i])))
            i++;
        if (i == ARRAY_LEN(words))
            return false;
        kinds |= FRAME_SET(i);
    }
    *ret = kinds;
    return kinds != 0;
}

static void add_event(JsonOut *json, const JournalEntry *entry)
{
    json_put_id(json, S("id"), entry->fact.event);
    json_put_str(json, S("kind"), entry->fact.subject);
}

static void add_delivery(JsonOut *json, const JournalEntry *entry)
{
    const Move *move = &entry->fact.move;
    json_put_id(json, S("id"), move->delivery);
    json_put_str(json, S("state"), str_from(delivery_state_text((DeliveryState) move->to)));
    if (move->reason != REASON_NONE)
        json_put_str(json, S("reason"), str_from(reason_code(move->reason)));
    if (move->attempt > 0)
        json_put_i64(json, S("attempt"), move->attempt);
}

// kind_of is what kind of frame tells of a fact; FRAME_KINDS: none does.
static FrameKind kind_of(const Fact *fact)
{
    if (fact->kind == FACT_EVENT)
        return FRAME_EVENT;
    return fact_is_move(fact->kind) && fact->move.to >= 0 ? FRAME_DELIVERY : FRAME_KINDS;
}

static void add_entry(Buf *to, const JournalEntry *entry, FrameKind kind)
{
    bool is_event = kind == FRAME_EVENT;
    buf_add_format(to, "id: %lld\nevent: %s\ndata: ", (long long) entry->number,
                   is_event ? "event" : "delivery");
    JsonOut json = json_out(to);
    json_open(&json, '{');
    if (is_event)
        add_event(&json, entry);
    else
        add_delivery(&json, entry);
    json_put_time(&json, S("time"), entry->at);
    json_close(&json, '}');
    buf_add(to, S("\n\n"));
}

void frames_write(Buf *to, const JournalEntry *entries, size_t count, int64_t after, unsigned kinds)
{
    for (size_t i = 0; i < count; i++) {
        const JournalEntry *entry = &entries[i];
        FrameKind kind = kind_of(&entry->fact);
        if (entry->number > after + 1)
            frame_gap(to, after + 1, entry->number - 1);
        if (kind != FRAME_KINDS && (kinds & FRAME_SET(kind)))
            add_entry(to, entry, kind);
        after = entry->number;
    }
}

void frame_gap(Buf *to, int64_t from, int64_t until)
{
    buf_add_format(to, "id: %lld\nevent: gap\ndata: {\"from\":%lld,\"to\":%lld}\n\n",
                   (long long) until, (long long) from, (long long) until);
}

void frame_place(Buf *to, int64_t number)
{
    buf_add_format(to, "id: %lld\n\n", (long long) number);
}

void frame_last(Buf *to, const char *code, const char *why)
{
    buf_add_format(to, "event: end\ndata: {\"code\":\"%s\",\"detail\":\"%s\"}\n\n", code, why);
}
