#include "channels/channel.h"

// The memory channel sends nowhere. Its settings let an operator rehearse what happens when a
// receiver fails: {"answer":"transient"}, or {"failFirst":2,"retryAfter":"30s"}.

enum { FAIL_FIRST_MAX = 1000 };

typedef enum Answer { ANSWER_DELIVERED, ANSWER_TRANSIENT, ANSWER_PERMANENT } Answer;
static const char *const answers[] = { "delivered", "transient", "permanent", NULL };

typedef struct Rehearsal {
    Answer answer;
    int fail_first;   // attempts up to this number are transient
    Span retry_after; // of the transient ones
} Rehearsal;

// clang-format off
#define AT(member) .offset = offsetof(Rehearsal, member)
static const Field fields[] = {
    { "answer", FIELD_WORD, AT(answer), .words = answers, .noun = "an answer",
      .help = "what becomes of each attempt; delivered unless said" },
    { "failFirst", FIELD_INT, AT(fail_first), .min = 0, .max = FAIL_FIRST_MAX,
      .help = "so many attempts of each delivery fail for now" },
    { "retryAfter", FIELD_SPAN, AT(retry_after), .min = 0, .max = SPAN_DAY,
      .help = "what those that fail ask for" },
};
// clang-format on

const Shape memory_config_shape = {
    "MemoryConfig",
    SHAPE_ROWS(fields),
    .size = sizeof(Rehearsal),
    .invalid = ERR_CHANNEL_INVALID,
};

static void capture(const Parcel *parcel);

const ChannelType channel_memory = {
    .type = "memory",
    .carrier = CARRIER_CAPTURE,
    .parcel_max = 1,
    .config = &memory_config_shape,
    .capture = capture,
};

static Outcome rehearse(Arena *arena, const Message *message, const Rehearsal *rehearsal)
{
    char id[UUID_TEXT_LEN + 1];
    if (message->attempt <= rehearsal->fail_first || rehearsal->answer == ANSWER_TRANSIENT)
        return (Outcome){ .verdict = VERDICT_TRANSIENT,
                          .reason = REASON_UNWELL,
                          .detail = S("the memory channel is set to fail"),
                          .retry_after = rehearsal->retry_after };
    if (rehearsal->answer == ANSWER_PERMANENT)
        return (Outcome){ .verdict = VERDICT_PERMANENT,
                          .reason = REASON_REFUSED,
                          .detail = S("the memory channel is set to refuse") };
    return (Outcome){ .verdict = VERDICT_DELIVERED,
                      .reason = REASON_ACCEPTED,
                      .is_captured = true,
                      .provider_id = STR_JOIN(arena, S("mem-"), uuid_text(message->promise.id, id),
                                              S("."), str_i64(arena, message->attempt)) };
}

static void capture(const Parcel *parcel)
{
    Error ignored = { 0 }; // what was saved was checked
    Rehearsal rehearsal = { .answer = ANSWER_DELIVERED };
    fields_note(parcel->arena, parcel->config, S(""), &memory_config_shape, &rehearsal, &ignored);
    for (size_t i = 0; i < parcel->count; i++) {
        Outcome outcome = rehearse(parcel->arena, &parcel->messages[i], &rehearsal);
        message_judge(&parcel->messages[i], &outcome);
    }
}
