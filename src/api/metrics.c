#include "api/handlers.h"

#include "engine/engine.h"

// Metrics are rows: a name, what it is, and how to get it. Counts of deliveries come from the
// counters that are kept with the writes; nothing is counted on request.

static const Statement counters = {
    .name = "metrics_counters",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT t.id, l.channel, c.state, CAST(SUM(c.n) AS BIGINT) FROM counter c"
           " JOIN tenant t ON t.tenant = c.tenant JOIN lane l ON l.lane = c.lane"
           " GROUP BY t.id, l.channel, c.state ORDER BY t.id, l.channel, c.state",
};

// Who has no key learns how many there are, not whose.
static const Statement totals = {
    .name = "metrics_totals",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT state, CAST(SUM(n) AS BIGINT) FROM counter GROUP BY state ORDER BY state",
};

const Statement *const metrics_statements[] = { &counters, &totals, NULL };

static void head(Buf *out, const char *name, const char *type, const char *help)
{
    buf_add_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void gauge(Buf *out, const char *name, const char *help, int64_t value)
{
    head(out, name, "gauge", help);
    buf_add_format(out, "%s %lld\n", name, (long long) value);
}

// label writes a label's value as the format wants it.
static void label(Buf *out, Str value)
{
    for (size_t i = 0; i < value.len; i++) {
        if (value.at[i] == '\\' || value.at[i] == '"')
            buf_add_char(out, '\\');
        buf_add_char(out, value.at[i] == '\n' ? ' ' : value.at[i]);
    }
}

static void tallies(Buf *out, const Tally *tally)
{
    const struct {
        const char *name, *help;
        int64_t value;
    } rows[] = {
        { "peal_claimed_total", "Deliveries claimed by this node", tally->claimed },
        { "peal_delivered_total", "Attempts that were delivered", tally->delivered },
        { "peal_retried_total", "Attempts that will be retried", tally->retried },
        { "peal_parked_total", "Deliveries that were parked", tally->parked },
        { "peal_expired_total", "Deliveries that expired", tally->expired },
        { "peal_lapsed_total", "Leases that lapsed", tally->lapsed },
        { "peal_stale_settles_total", "Settles that came too late", tally->stale },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        head(out, rows[i].name, "counter", rows[i].help);
        buf_add_format(out, "%s %lld\n", rows[i].name, (long long) rows[i].value);
    }
}

static void put_count(Buf *out, const Value *state, const Value *n)
{
    buf_add_format(out, "state=\"%s\"} %lld\n",
                   delivery_state_text((DeliveryState) value_to_i64(state)),
                   (long long) value_to_i64(n));
}

// put_deliveries shows a key its own tenant, and the system every one.
static Err put_deliveries(Call *call, Db *db, Buf *out, Error *error)
{
    Rows rows;
    TRY(db_query(db, call->arena, call->key ? &counters : &totals, NULL, &rows, error));
    head(out, "peal_deliveries", "gauge", "Deliveries by state; with a key by tenant and channel");
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        if (!call->key) {
            buf_add(out, S("peal_deliveries{"));
            put_count(out, &row[0], &row[1]);
            continue;
        }
        if (!call->key->is_system && !str_eq(value_to_str(&row[0]), call_tenant_id(call)))
            continue;
        buf_add(out, S("peal_deliveries{tenant=\""));
        label(out, value_to_str(&row[0]));
        buf_add(out, S("\",channel=\""));
        label(out, value_to_str(&row[1]));
        buf_add(out, S("\","));
        put_count(out, &row[2], &row[3]);
    }
    return ERR_OK;
}

Err metrics_get(Call *call, Db *db, Error *error)
{
    Buf out = buf_new(call->arena, 16u << 20);
    call_identify(call);
    TRY(put_deliveries(call, db, &out, error));
    Tally tally = engine_tally(call->api->engine);
    tallies(&out, &tally);
    gauge(&out, "peal_in_flight", "Attempts under way on this node",
          engine_in_flight(call->api->engine));
    EngineHealth health = engine_health(call->api->engine);
    head(&out, "peal_rounds_failed_total", "counter", "Rounds of the engine that failed");
    buf_add_format(&out, "peal_rounds_failed_total %lld\n", (long long) health.failed);
    gauge(&out, "peal_last_good_round_age_seconds", "How long ago a round went well",
          health.since_good / SPAN_SECOND);
    gauge(&out, "peal_writer_waiting", "Operations waiting for the writer",
          (int64_t) writer_waiting(call->api->writer));
    gauge(&out, "peal_held", "1 while nothing is sent", call->registry->is_held);
    call->reply = (Reply){ .status = 200,
                           .type = S("text/plain; version=0.0.4; charset=utf-8"),
                           .body = buf_str(&out) };
    return ERR_OK;
}
