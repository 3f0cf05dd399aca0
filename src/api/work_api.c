#include "api/work.h"

#include "api/shapes.h"
#include "channels/channel.h"
#include "domain/channel.h"
#include "store/key.h"
#include "store/progress.h"
#include "store/report.h"

// What workers tell: that they live, how far they are, what became of a delivery. All reports that
// come at once are carried out together, whoever they are from. Handlers that took a delivery on
// with a 202 report here too; their number is the attempt's, as they know no other (report.h).

typedef struct Reporting {
    Report *reports;
    size_t count;
    bool is_many; // it answers for each by itself
    Span lease;   // asked for by a sign of life; 0: the channel's
    Str line;     // of progress; none
} Reporting;

static Reporting *reporting_new(Call *call, size_t count)
{
    Reporting *reporting = ARENA_NEW(call->arena, Reporting);
    *reporting =
        (Reporting){ .reports = ARENA_ARRAY(call->arena, Report, count + 1), .count = count };
    call->with = reporting;
    return reporting;
}

// read_one reads a body about the delivery that the path names.
static Err read_one(Call *call, const Shape *shape, WorkBody *ret, Reporting **ret_reporting,
                    Error *error)
{
    Uuid id;
    TRY(call_id(call, 0, &id, error));
    TRY(call_body(call, error));
    TRY(fields_read(call->arena, call->body, S(""), shape, ret, error));
    *ret_reporting = reporting_new(call, 1);
    (*ret_reporting)->reports[0] = (Report){ .id = id, .number = ret->fence };
    return ERR_OK;
}

Err work_heartbeat_read(Call *call, Error *error)
{
    WorkBody body = { 0 };
    Reporting *reporting;
    TRY(read_one(call, &work_heartbeat_shape, &body, &reporting, error));
    reporting->reports[0].is_renewal = true;
    reporting->lease = body.lease;
    return ERR_OK;
}

// work_progress_read: whoever says how far he is lives.
Err work_progress_read(Call *call, Error *error)
{
    WorkBody body = { 0 };
    Reporting *reporting;
    TRY(read_one(call, &work_progress_shape, &body, &reporting, error));
    reporting->reports[0].is_renewal = true;
    reporting->line = judge_text(call->arena, body.message, PROGRESS_MESSAGE_MAX);
    return ERR_OK;
}

// done_with is the outcome of work that was done: what it is told with, or else what came of it.
static Outcome done_with(Call *call, const WorkBody *body)
{
    Str said = body->message;
    if (!said.len && body->result)
        said = json_text(call->arena, body->result);
    return (Outcome){ .verdict = VERDICT_DELIVERED,
                      .reason = REASON_ACCEPTED,
                      .detail = judge_detail(call->arena, said) };
}

Err work_done_read(Call *call, Error *error)
{
    WorkBody body = { 0 };
    Reporting *reporting;
    TRY(read_one(call, &work_done_shape, &body, &reporting, error));
    reporting->reports[0].outcome = done_with(call, &body);
    return ERR_OK;
}

Err work_fail_read(Call *call, Error *error)
{
    WorkBody body = { 0 };
    Reporting *reporting;
    TRY(read_one(call, &work_fail_shape, &body, &reporting, error));
    reporting->reports[0].outcome =
        (Outcome){ .verdict = body.is_permanent ? VERDICT_PERMANENT : VERDICT_TRANSIENT,
                   .reason = body.is_permanent ? REASON_REFUSED : REASON_UNWELL,
                   .detail = judge_detail(call->arena, body.message) };
    return ERR_OK;
}

Err work_done_many_read(Call *call, Error *error)
{
    WorkBodies bodies = { 0 };
    TRY(call_body(call, error));
    TRY(fields_read(call->arena, call->body, S(""), &work_done_many_shape, &bodies, error));
    Reporting *reporting = reporting_new(call, bodies.count);
    reporting->is_many = true;
    for (size_t i = 0; i < bodies.count; i++)
        reporting->reports[i] = (Report){ .id = bodies.items[i].id,
                                          .number = bodies.items[i].fence,
                                          .outcome = done_with(call, &bodies.items[i]) };
    return ERR_OK;
}

static size_t weigh_reports(const Call *call)
{
    const Reporting *reporting = call->with;
    return reporting->count;
}

static Err decide_reports(Call *call, Error *error)
{
    (void) error;
    call->weight = weigh_reports(call);
    return ERR_OK;
}

// lanes_of lists the lanes that a caller may tell of; NULL: all of its tenant's.
static const int64_t *lanes_of(Tx *tx, const Call *call, size_t *ret_count)
{
    Str rest = call->key->handlers;
    *ret_count = 0;
    if (!rest.at)
        return NULL;
    int64_t *lanes = ARENA_ARRAY(&tx->arena, int64_t, KEY_HANDLERS_MAX);
    while (rest.len > 0 && *ret_count < KEY_HANDLERS_MAX)
        lanes[(*ret_count)++] = registry_lane_of(tx->registry, call->tenant, str_cut(&rest, ','));
    return lanes;
}

// gather lays the reports of all calls one behind the other, each bound to its caller's tenant.
static Report *gather(Tx *tx, Call *const *calls, size_t count, size_t *ret_count)
{
    size_t room = 0, used = 0;
    for (size_t i = 0; i < count; i++)
        room += weigh_reports(calls[i]);
    Report *all = ARENA_ARRAY(&tx->arena, Report, room + 1);
    for (size_t i = 0; i < count; i++) {
        const Reporting *reporting = calls[i]->with;
        size_t lane_count;
        const int64_t *lanes = lanes_of(tx, calls[i], &lane_count);
        for (size_t n = 0; n < reporting->count; n++) {
            Report *report = &all[used++];
            *report = reporting->reports[n];
            report->tenant = calls[i]->tenant;
            report->lanes = lanes;
            report->lane_count = lane_count;
            report->lease_until = reporting->lease ? tx->now + reporting->lease : 0;
        }
    }
    *ret_count = used;
    return all;
}

// note_line keeps what somebody said of a delivery that is his.
static void note_line(Tx *tx, const Call *call, const Report *report)
{
    const Reporting *reporting = call->with;
    if (!reporting->line.at)
        return;
    progress_add(tx,
                 &(Progress){ .tenant = report->tenant,
                              .delivery = report->id,
                              .attempt = report->to.live.attempt,
                              .at = tx->now,
                              .message = reporting->line },
                 1);
}

// refusal_of is what a report was turned down with; ERR_OK where it was not.
static Err refusal_of(const Report *report, Error *error)
{
    if (report->is_missing)
        return fail(error, ERR_NOT_FOUND, "there is no such delivery");
    if (report->is_barred)
        return fail(error, ERR_FORBIDDEN, "the key is for other handlers");
    if (report->is_early)
        return fail(error, ERR_BUSY,
                    "its request is under way: answer it with 202, and tell again");
    if (report->is_stale && !report->is_repeated)
        return fail(error, ERR_CONFLICT, "the fence is stale: the delivery is %s",
                    delivery_state_text(report->to.live.state));
    return ERR_OK;
}

static Err write_reports(Tx *tx, Call *const *calls, size_t count, Error *error)
{
    size_t told_count;
    Report *told = gather(tx, calls, count, &told_count), *next = told;
    TRY(queue_report(tx, told, told_count, error));
    for (size_t i = 0; i < count; i++) {
        Error refusal = { .arena = calls[i]->arena };
        Reporting *reporting = calls[i]->with;
        memcpy(reporting->reports, next, reporting->count * sizeof *next);
        next += reporting->count;
        Err err = reporting->is_many ? ERR_OK : refusal_of(&reporting->reports[0], &refusal);
        if (err != ERR_OK)
            call_refuse(calls[i], err, &refusal);
        else
            note_line(tx, calls[i], &reporting->reports[0]);
    }
    return ERR_OK;
}

// put_told writes where the delivery stands after a report.
static void put_told(JsonOut *json, const Report *report)
{
    const Live *live = &report->to.live;
    bool is_due = !report->is_repeated && live->state == DELIVERY_RETRYING;
    json_put_id(json, S("id"), report->id);
    json_put_str(json, S("state"), str_from(delivery_state_text(live->state)));
    if (report->is_renewal)
        json_put_time(json, S("leaseUntil"), live->lease_until);
    else
        json_put_bool(json, S("repeated"), report->is_repeated);
    if (is_due)
        json_put_time(json, S("dueAt"), live->due_at);
}

static void put_one_of_many(JsonOut *json, const Report *report)
{
    Error error = { 0 };
    Err err = refusal_of(report, &error);
    json_open(json, '{');
    if (err == ERR_OK) {
        put_told(json, report);
    } else {
        json_put_id(json, S("id"), report->id);
        json_key(json, S("error"));
        json_open(json, '{');
        json_put_str(json, S("code"), str_from(err_code(err)));
        json_put_str(json, S("message"), str_from(error.detail));
        json_close(json, '}');
    }
    json_put_i64(json, S("status"), err_http(err));
    json_close(json, '}');
}

static Err answer_reports(Call *call, Error *error)
{
    const Reporting *reporting = call->with;
    (void) error;
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    if (!reporting->is_many) {
        put_told(json, &reporting->reports[0]);
    } else {
        json_key(json, S("items"));
        json_open(json, '[');
        for (size_t i = 0; i < reporting->count; i++)
            put_one_of_many(json, &reporting->reports[i]);
        json_close(json, ']');
    }
    json_close(json, '}');
    return ERR_OK;
}

const RouteSet report_set = {
    .weigh = weigh_reports,
    .decide = decide_reports,
    .write = write_reports,
    .answer = answer_reports,
};
