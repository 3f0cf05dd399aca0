#include "store/handler.h"

#include "domain/cause.h"
#include "domain/run.h"
#include "store/operation.h"

#define BEGUN_BY S("its handler is there")

// State 4 is parked.
_Static_assert(DELIVERY_PARKED == 4, "the SQL names the state by number");
static const Statement waits = {
    .name = "handler_waits",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .sql = "SELECT 1 FROM ended WHERE tenant = $1 AND cause = $2 AND state = 4 LIMIT 1",
};

const Statement *const handler_statements[] = { &waits, NULL };

static Str filter_of(Arena *arena, int64_t cause, Str job)
{
    char text[CAUSE_TEXT_LEN + 1];
    Buf buf = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&buf);
    json_open(&out, '{');
    json_put_str(&out, S("state"), str_from(delivery_state_text(DELIVERY_PARKED)));
    json_put_str(&out, S("cause"), cause_text(cause, text));
    if (job.at)
        json_put_str(&out, S("job"), job);
    json_close(&out, '}');
    return buf_str(&buf);
}

Err handler_is_there(Tx *tx, int64_t tenant, Str channel, Str job, Error *error)
{
    Rows rows;
    Str sample = cause_sample(&tx->arena, RUN_NO_HANDLER);
    int64_t lane = registry_lane_of(tx->registry, tenant, channel);
    int64_t cause = cause_of(lane, REASON_NO_HANDLER, 0, sample);
    Value args[] = { value_i64(tenant), value_i64(cause) };
    if (lane == 0)
        return ERR_OK;
    TRY(tx_query(tx, &waits, args, &rows, error));
    if (rows.count == 0)
        return ERR_OK;
    Operation operation = { .tenant = tenant,
                            .id = uuid_new(tx->now, tx->random),
                            .kind = OPERATION_ACT,
                            .action = DELIVERY_ACTION_RETRY,
                            .filter = filter_of(&tx->arena, cause, job),
                            .reason = BEGUN_BY,
                            .created_at = tx->now };
    operation_add(tx, &operation);
    return ERR_OK;
}
