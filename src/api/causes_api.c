#include "api/handlers.h"

#include "store/cause.h"

enum { LIST_STATE };

static const char *const cause_states[] = { "parked", "retrying", NULL };

// clang-format off
const Param cause_params[] = {
    [LIST_STATE] = { "state", PARAM_WORD, .words = cause_states, .help = "Of what is parked, which is the default, or of what is retried" },
    { 0 },
};
// clang-format on

// put_filter writes what selects exactly the deliveries of a cause, in lists and operations.
static void put_filter(JsonOut *json, Str state, Str cause)
{
    json_key(json, S("filter"));
    json_open(json, '{');
    json_put_str(json, S("state"), state);
    json_put_str(json, S("cause"), cause);
    json_close(json, '}');
}

static void put_cause(Call *call, JsonOut *json, Str state, const Cause *cause)
{
    char text[CAUSE_TEXT_LEN + 1];
    const RegistryLane *lane = registry_lane(call->registry, cause->lane);
    Str reason = str_from(reason_code(cause->reason));
    json_open(json, '{');
    json_put_str(json, S("cause"), cause_text(cause->cause, text));
    json_put_str(json, S("channel"), lane ? lane->channel_key : STR_NONE);
    json_put_str(json, S("reason"), reason.len ? reason : STR_NONE);
    if (cause->code)
        json_put_i64(json, S("code"), cause->code);
    else
        json_put_null(json, S("code"));
    json_put_str(json, S("sample"), cause->sample);
    json_put_i64(json, S("count"), cause->count);
    json_put_time(json, S("oldest"), cause->oldest);
    json_put_time(json, S("newest"), cause->newest);
    put_filter(json, state, cause_text(cause->cause, text));
    json_close(json, '}');
}

Err cause_list(Call *call, Db *db, Error *error)
{
    static const DeliveryState states[] = { DELIVERY_PARKED, DELIVERY_RETRYING };
    Walk walk;
    Seen seen;
    Cause *causes;
    size_t state = 0;
    param_word(call, LIST_STATE, &state);
    TRY(call_walk(call, &walk, error));
    TRY(cause_page(db, call->arena, call->tenant, states[state], &walk, &causes, &seen, error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        put_cause(call, json, str_from(cause_states[state]), &causes[i]);
    page_close(call, &seen);
    return ERR_OK;
}
