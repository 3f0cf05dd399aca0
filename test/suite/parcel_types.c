#include "parcel_types.h"

#include "test.h"

static Err request_list(const Parcel *parcel, Transfer *ret, Error *error)
{
    Buf list = buf_new(parcel->arena, 10000);
    for (size_t i = 0; i < parcel->count; i++)
        for (size_t j = 0; j < parcel->messages[i].target_count; j++)
            if (!target_is_judged(&parcel->messages[i].targets[j]))
                buf_add_format(&list, "%.*s ", STR_ARG(parcel->messages[i].targets[j].address));
    if (str_starts(buf_str(&list), S("bad")))
        return fail(error, ERR_CHANNEL_INVALID, "the address is bad");
    *ret = (Transfer){ .method = S("POST"), .url = S("http://192.0.2.1/"), .body = buf_str(&list) };
    return ERR_OK;
}

static Outcome outcome_of(Arena *arena, char letter, int n)
{
    switch (letter) {
    case 'd':
        return (Outcome){ .verdict = VERDICT_DELIVERED,
                          .reason = REASON_ACCEPTED,
                          .provider_id = str_format(arena, "id-%d", n) };
    case 'p':
        return (Outcome){ .verdict = VERDICT_PERMANENT,
                          .reason = REASON_REFUSED,
                          .detail = str_format(arena, "no %d", n) };
    case 'e':
        return (Outcome){ .verdict = VERDICT_ELSEWHERE, .lease = SPAN_HOUR };
    case 'c':
        return (Outcome){ .verdict = VERDICT_TRANSIENT, .reason = REASON_NO_CONNECTION };
    case 'r':
        return (Outcome){ .verdict = VERDICT_TRANSIENT,
                          .reason = REASON_UNWELL,
                          .retry_after = 10 * SPAN_SECOND };
    default:
        return (Outcome){ .verdict = VERDICT_TRANSIENT, .reason = REASON_UNWELL };
    }
}

static void judge_letters(const Parcel *parcel, const TransferResult *result)
{
    size_t at = 0;
    CHECK(!parcel->messages[0].payload.at && !parcel->config); // those are gone by now
    for (size_t i = 0; i < parcel->count; i++)
        for (size_t j = 0; j < parcel->messages[i].target_count; j++, at++) {
            char letter = at < result->body.len ? result->body.at[at] : 't';
            Target *target = &parcel->messages[i].targets[j];
            if (!target_is_judged(target))
                target->outcome = outcome_of(parcel->arena, letter, (int) target->n);
        }
}

static Err command_of(const Parcel *parcel, Process *ret, Error *error)
{
    Str *arguments = ARENA_ARRAY(parcel->arena, Str, 3);
    (void) error;
    arguments[0] = S("/bin/sh");
    arguments[1] = S("-c");
    arguments[2] = json_str(json_get(parcel->config, S("script")));
    *ret = (Process){ .arguments = arguments,
                      .argument_count = 3,
                      .input = message_json(parcel->arena, parcel->messages),
                      .output_max = 1000 };
    return ERR_OK;
}

static void judge_exit(const Parcel *parcel, const ProcessResult *result)
{
    bool is_done = result->end == PROCESS_EXITED && result->status == 0;
    Outcome outcome = { .verdict = is_done ? VERDICT_DELIVERED : VERDICT_TRANSIENT,
                        .reason = is_done ? REASON_ACCEPTED : REASON_UNWELL,
                        .code = result->status,
                        .detail = str_dup(parcel->arena, result->output) };
    parcel_judge(parcel, &outcome);
}

static Str progress_of(Str line)
{
    Str mark = S("progress:");
    return str_starts(line, mark) ? str_skip(line, mark.len) : STR_NONE;
}

static const ChannelType many = { .type = "many",
                                  .carrier = CARRIER_TRANSFER,
                                  .parcel_max = 1,
                                  .targets_max = TARGETS_MAX,
                                  .request = request_list,
                                  .judge = judge_letters };
static const ChannelType single = { .type = "single",
                                    .carrier = CARRIER_TRANSFER,
                                    .parcel_max = 1,
                                    .targets_max = 1,
                                    .request = request_list,
                                    .judge = judge_letters };
static const ChannelType batch = { .type = "batch",
                                   .carrier = CARRIER_TRANSFER,
                                   .parcel_max = 3,
                                   .targets_max = TARGETS_MAX,
                                   .request = request_list,
                                   .judge = judge_letters };
static const ChannelType shell = { .type = "shell",
                                   .carrier = CARRIER_PROCESS,
                                   .parcel_max = 1,
                                   .command = command_of,
                                   .progress = progress_of,
                                   .judge_end = judge_exit };
static const ChannelType worker = { .type = "worker", .carrier = CARRIER_PULLED, .parcel_max = 1 };
const ChannelType *const parcel_types[] = { &many,   &single,       &batch, &shell,
                                            &worker, &channel_http, NULL };
