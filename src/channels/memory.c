#include "channels/channel.h"
#include "domain/members.h"

// The memory channel sends nowhere. Its settings let an operator rehearse what happens when a
// receiver fails: {"answer":"transient"}, or {"failFirst":2,"retryAfter":"30s"}.

enum { FAIL_FIRST_MAX = 1000 };

typedef struct Rehearsal {
    Str answer;
    int fail_first;   // attempts up to this number are transient
    Span retry_after; // of the transient ones
} Rehearsal;

static void check(const Json *config, Str pointer, Error *error);
static void capture(const Parcel *parcel);

const ChannelType channel_memory = {
    .type = "memory",
    .carrier = CARRIER_CAPTURE,
    .parcel_max = 1,
    .check = check,
    .capture = capture,
};

static Rehearsal read_rehearsal(const Members *members)
{
    Rehearsal rehearsal = { .answer = S("delivered") };
    members_text(members, "answer", 20, &rehearsal.answer);
    members_int(members, "failFirst", 0, FAIL_FIRST_MAX, &rehearsal.fail_first);
    members_span(members, "retryAfter", 0, SPAN_DAY, &rehearsal.retry_after);
    return rehearsal;
}

static void check(const Json *config, Str pointer, Error *error)
{
    static const char *const known[] = { "answer", "failFirst", "retryAfter" };
    Members members = members_open(config, pointer, error);
    if (!config || !members_check(&members, known, ARRAY_LEN(known)))
        return;
    Str answer = read_rehearsal(&members).answer;
    if (!str_eq(answer, S("delivered")) && !str_eq(answer, S("transient")) &&
        !str_eq(answer, S("permanent")))
        members_note(&members, S("answer"), "bad-value",
                     "must be delivered, transient or permanent");
}

static Outcome rehearse(Arena *arena, const Message *message, const Rehearsal *rehearsal)
{
    char id[UUID_TEXT_LEN + 1];
    if (message->attempt <= rehearsal->fail_first || str_eq(rehearsal->answer, S("transient")))
        return (Outcome){ .verdict = VERDICT_TRANSIENT,
                          .reason = REASON_UNWELL,
                          .detail = S("the memory channel is set to fail"),
                          .retry_after = rehearsal->retry_after };
    if (str_eq(rehearsal->answer, S("permanent")))
        return (Outcome){ .verdict = VERDICT_PERMANENT,
                          .reason = REASON_REFUSED,
                          .detail = S("the memory channel is set to refuse") };
    uuid_text(message->promise.id, id);
    return (Outcome){ .verdict = VERDICT_DELIVERED,
                      .reason = REASON_ACCEPTED,
                      .is_captured = true,
                      .provider_id = str_format(arena, "mem-%s.%d", id, message->attempt) };
}

static void capture(const Parcel *parcel)
{
    Error ignored = { 0 }; // what was saved was checked
    Members members = members_open(parcel->config, S(""), &ignored);
    Rehearsal rehearsal = read_rehearsal(&members);
    Outcome outcome = rehearse(parcel->arena, parcel->messages, &rehearsal);
    parcel_judge(parcel, &outcome);
}
