#include "store/response.h"

#include "store/act.h"
#include "store/columns.h"
#include "store/rule.h"
#include "store/tally.h"

#define RESPONSE_SOURCE S("peal")

#define READ                                                                                       \
    "SELECT r.tenant, r.id, r.delivery, r.survey, r.version, r.rule, r.completed_at, r.locale,"    \
    " r.agent_id, r.answers, d.public_id FROM response r"                                          \
    " JOIN delivery d ON d.tenant = r.tenant AND d.id = r.delivery"

static const Statement insert = {
    .name = "response_insert",
    .scope = STATEMENT_TENANT,
    .params = "iuutiiittt",
    .many = true,
    .sql = "INSERT INTO response (tenant, id, delivery, survey, version, rule, completed_at,"
           " locale, agent_id, answers) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    .postgres = "INSERT INTO response (tenant, id, delivery, survey, version, rule, completed_at,"
                " locale, agent_id, answers)"
                " SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
};
static const Statement one = {
    .name = "response_one",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .sql = READ " WHERE r.tenant = $1 AND r.id = $2",
};
static const Statement page = {
    .name = "response_page",
    .scope = STATEMENT_TENANT,
    .params = "itui",
    .sql = READ " WHERE r.tenant = $1 AND r.survey = $2 AND r.id < $3 ORDER BY r.id DESC LIMIT $4",
};

const Statement *const response_statements[] = { &insert, &one, &page, NULL };

#define STORED                                                                                     \
    COLUMN(Response, tenant), COLUMN(Response, id), COLUMN(Response, delivery),                    \
        COLUMN(Response, survey), COLUMN(Response, version), COLUMN(Response, rule),               \
        COLUMN(Response, completed_at), COLUMN(Response, locale), COLUMN(Response, agent_id),      \
        COLUMN(Response, answers)
static const Columns insert_columns = COLUMNS(Response, STORED);
static const Columns read_columns = COLUMNS(Response, STORED, COLUMN(Response, public_id));

// put_or_null puts JSON that was stored; null where there was none.
static void put_or_null(JsonOut *out, Str key, Str json)
{
    if (json.at)
        json_put_stored(out, key, json);
    else
        json_put_null(out, key);
}

// payload_of says all that a subscriber needs to know, who asks nobody else.
static Str payload_of(Arena *arena, const Invitation *invitation, const SubmitGiven *given)
{
    const DeliveryView *view = &invitation->view;
    const SurveyVersion *version = invitation->version;
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_str(&out, S("surveyId"), version->survey.id);
    json_put_i64(&out, S("surveyVersion"), version->version);
    json_put_str(&out, S("integrationId"), version->survey.integration_id);
    json_put_str(&out, S("publicId"), view->promise.public_id);
    json_put_str(&out, S("triggerId"), view->rule_id);
    json_put_str(&out, S("customerRef"), view->promise.customer_ref);
    put_or_null(&out, S("recipient"), view->origin.recipient);
    json_put_str(&out, S("eventKind"), view->origin.kind);
    json_put_time(&out, S("completedAt"), given->at);
    json_put_str(&out, S("agentId"), given->agent_id);
    json_put_raw(&out, S("answers"), given->answers);
    put_or_null(&out, S("payload"), view->origin.payload);
    json_close(&out, '}');
    return buf_str(&text);
}

// It may be longer than what comes in at the other doors, by the answers and the recipient: an
// answer is not refused because what it answers was long.
static Err make_event(Arena *arena, const Invitation *invitation, const SubmitGiven *given,
                      Event *ret, Error *error)
{
    const DeliveryView *view = &invitation->view;
    *ret = (Event){ .id = uuid_new(given->at, given->random),
                    .kind = EVENT_KIND_RESPONSE,
                    .source = RESPONSE_SOURCE,
                    .entity = view->promise.entity,
                    .correlation_id = view->origin.correlation_id,
                    .trace = view->origin.trace,
                    .received_at = given->at,
                    .occurred_at = given->at,
                    .payload = payload_of(arena, invitation, given),
                    .recipient = view->origin.recipient,
                    .site = view->promise.site };
    return event_parse(arena, ret, error);
}

// hold_rules holds the subscribers of the version that was asked. One that cannot be read gets
// nothing; that is logged where it is found out, and keeps nobody from answering.
static Err hold_rules(Db *db, Arena *arena, Versions *versions, Submit *submit, Error *error)
{
    const SurveyVersion *version = submit->invitation->version;
    const Promise *promise = &submit->invitation->view.promise;
    Str trigger = surveys_name(version->survey.id, submit->invitation->view.rule_id);
    size_t room = version->subscriber_count + 1, count = 0;
    VersionKey *keys = ARENA_ARRAY(arena, VersionKey, room);
    for (size_t i = 0; i < version->subscriber_count; i++) {
        const SurveySubscriber *of = &version->subscribers[i];
        if (!of->trigger.at || str_eq(of->trigger, trigger))
            keys[count++] = (VersionKey){ of->rule, of->version };
    }
    submit->held = ARENA_ARRAY(arena, const Trigger *, room);
    TRY(versions_load_all(versions, db, promise->tenant, keys, count, submit->held, error));
    submit->rules = ARENA_ARRAY(arena, Trigger, room);
    for (size_t i = 0; i < count; i++)
        if (submit->held[i])
            submit->rules[submit->rule_count++] = *submit->held[i];
    return ERR_OK;
}

Err submit_make(Db *db, Arena *arena, Versions *versions, const Invitation *invitation,
                const SubmitGiven *given, Submit **ret, Error *error)
{
    Submit *submit = ARENA_NEW(arena, Submit);
    submit->invitation = invitation;
    submit->given = *given;
    TRY(make_event(arena, invitation, given, &submit->item.event, error));
    TRY(hold_rules(db, arena, versions, submit, error));
    const Trigger **named = ARENA_ARRAY(arena, const Trigger *, submit->rule_count + 1);
    for (size_t i = 0; i < submit->rule_count; i++)
        named[i] = &submit->rules[i];
    submit->item.named = named;
    submit->item.named_count = submit->rule_count;
    submit->item.is_open = true;
    submit->accept = (Accept){ .arena = arena,
                               .tenant = invitation->view.promise.tenant,
                               .items = &submit->item,
                               .count = 1,
                               .now = given->at };
    *ret = submit;
    return ERR_OK;
}

void submit_drop(const Submit *submit)
{
    for (size_t i = 0; submit && i < submit->invitation->version->subscriber_count; i++)
        versions_drop(submit->held[i]);
}

// find_lanes gives the subscribers their lanes; false where the snapshot lacks one.
static bool find_lanes(Submit *submit, const Registry *registry)
{
    for (size_t i = 0; i < submit->rule_count; i++) {
        Rule *rule = &submit->rules[i].rule;
        if (!rule->lane)
            rule->lane = registry_lane_of(registry, rule->tenant, submit->rules[i].channel);
        if (!rule->lane)
            return false;
    }
    return true;
}

Err submit_decide(Submit *submit, const Registry *registry, Error *error)
{
    if (!find_lanes(submit, registry))
        return ERR_OK; // it is placed in the transaction
    return accept_decide(&submit->accept, registry, submit->given.random, error);
}

// prepare has what is not decided yet decided; what is refused has left nothing.
static Err prepare(Tx *tx, Submit *submit, Error *error)
{
    submit->error = (Error){ .arena = submit->accept.arena };
    submit->first = NULL;
    bool is_placed = find_lanes(submit, tx->registry);
    for (size_t i = 0; i < submit->rule_count && !is_placed; i++)
        TRY(rule_place(tx, &submit->rules[i].rule, submit->rules[i].channel, error));
    submit->err = accept_decide(&submit->accept, tx->registry, tx->random, &submit->error);
    return ERR_OK;
}

static int by_delivery(const void *a, const void *b)
{
    const Promise *x = &(*(Submit *const *) a)->invitation->view.promise;
    const Promise *y = &(*(Submit *const *) b)->invitation->view.promise;
    if (x->tenant != y->tenant)
        return x->tenant < y->tenant ? -1 : 1;
    return uuid_cmp(x->id, y->id);
}

// take_firsts keeps the first for each delivery, in their order; another is told behind it.
static size_t take_firsts(Submit **submits, size_t count)
{
    size_t kept = 0;
    qsort(submits, count, sizeof(Submit *), by_delivery);
    for (size_t i = 0; i < count; i++) {
        if (submits[i]->err != ERR_OK)
            continue;
        if (kept > 0 && by_delivery(&submits[kept - 1], &submits[i]) == 0)
            submits[i]->first = submits[kept - 1];
        else
            submits[kept++] = submits[i];
    }
    return kept;
}

// tell_others tells those that come behind another: it was taken, or they are refused as it was.
static void tell_others(Submit *const *submits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const Submit *first = submits[i]->first;
        if (first && first->err == ERR_OK)
            submits[i]->err = invitation_may(DELIVERY_COMPLETED, &submits[i]->error);
        else if (first)
            submits[i]->err = fail(&submits[i]->error, first->err, "%s", first->error.detail);
    }
}

static Err judge(const Acted *acted, Error *error)
{
    if (acted->err == ERR_OK)
        return ERR_OK;
    if (acted->err == ERR_NOT_FOUND)
        return fail(error, ERR_NOT_FOUND, "nothing awaits an answer under this id");
    if (acted->moved_on)
        return fail(error, ERR_BUSY, "it moved on meanwhile; try again");
    return invitation_may(acted->state, error);
}

// complete completes the deliveries of one tenant.
static Err complete(Tx *tx, Submit *const *submits, size_t count, Error *error)
{
    Uuid *ids = ARENA_ARRAY(&tx->arena, Uuid, count);
    Acted *acted = ARENA_ARRAY(&tx->arena, Acted, count);
    for (size_t i = 0; i < count; i++)
        ids[i] = submits[i]->invitation->view.promise.id;
    TRY(act_all(tx, submits[0]->invitation->view.promise.tenant, ids, count,
                DELIVERY_ACTION_COMPLETE, STR_NONE, acted, error));
    for (size_t i = 0; i < count; i++)
        submits[i]->err = judge(&acted[i], &submits[i]->error);
    return ERR_OK;
}

static Response row_of(const Submit *submit)
{
    const Promise *promise = &submit->invitation->view.promise;
    const SurveyVersion *version = submit->invitation->version;
    return (Response){ .tenant = promise->tenant,
                       .id = submit_response(submit),
                       .delivery = promise->id,
                       .survey = version->survey.id,
                       .version = version->version,
                       .rule = promise->rule,
                       .completed_at = submit->given.at,
                       .locale = promise->locale,
                       .agent_id = submit->given.agent_id,
                       .answers = submit->given.answers };
}

static TallyResponse tally_of(const Submit *submit)
{
    const Promise *promise = &submit->invitation->view.promise;
    return (TallyResponse){ .tenant = promise->tenant,
                            .version = submit->invitation->version->version,
                            .rule = promise->rule,
                            .survey = &submit->invitation->version->survey,
                            .at = submit->given.at,
                            .answers = json_get(submit->item.event.payload_json, S("answers")) };
}

// write writes the responses of what was completed, counts them, and tells of them.
static Err write(Tx *tx, Submit *const *submits, size_t count, Error *error)
{
    Response *rows = ARENA_ARRAY(&tx->arena, Response, count + 1);
    TallyResponse *tallies = ARENA_ARRAY(&tx->arena, TallyResponse, count + 1);
    Accept **accepts = ARENA_ARRAY(&tx->arena, Accept *, count + 1);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (submits[i]->err != ERR_OK)
            continue;
        rows[used] = row_of(submits[i]);
        tallies[used] = tally_of(submits[i]);
        accepts[used++] = &submits[i]->accept;
    }
    if (used == 0)
        return ERR_OK;
    db_send_rows(tx->db, &tx->arena, &insert, &insert_columns, rows, used, NULL);
    tally_count(tx, tallies, used);
    return accept_write(tx, accepts, used, error);
}

Err submits_write(Tx *tx, Submit *const *submits, size_t count, Error *error)
{
    Submit **going = ARENA_ARRAY(&tx->arena, Submit *, count + 1);
    for (size_t i = 0; i < count; i++) {
        TRY(prepare(tx, submits[i], error));
        going[i] = submits[i];
    }
    size_t left = take_firsts(going, count);
    for (size_t from = 0, to; from < left; from = to) {
        int64_t tenant = going[from]->invitation->view.promise.tenant;
        for (to = from; to < left && going[to]->invitation->view.promise.tenant == tenant;)
            to++;
        TRY(complete(tx, going + from, to - from, error));
    }
    tell_others(submits, count);
    return write(tx, going, left, error);
}

Err response_get(Db *db, Arena *arena, int64_t tenant, Uuid id, Response *ret, Error *error)
{
    Rows rows;
    char text[UUID_TEXT_LEN + 1];
    Value args[] = { value_i64(tenant), value_uuid(&id) };
    TRY(db_query(db, arena, &one, args, &rows, error));
    if (rows.count == 0)
        return fail(error, ERR_NOT_FOUND, "there is no response %.*s",
                    STR_ARG(uuid_text(id, text)));
    columns_read(&read_columns, rows.values, ret);
    return ERR_OK;
}

Err response_page(Db *db, Arena *arena, int64_t tenant, Str survey, const Walk *walk,
                  Response **ret, Seen *ret_seen, Error *error)
{
    Rows rows;
    Uuid before = uuid_ceiling(INSTANT_NONE);
    TRY(walk_after(walk, true, &before, error));
    Value args[] = { value_i64(tenant), value_text(survey), value_uuid(&before),
                     value_i64(walk->limit + 1) };
    db_page(db);
    TRY(db_query(db, arena, &page, args, &rows, error));
    Response *found = ARENA_ARRAY(arena, Response, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        columns_read(&read_columns, rows_at(&rows, i), &found[i]);
    *ret = found;
    *ret_seen = walk_counted(walk, rows.count, rows.is_cut, false);
    if (ret_seen->has_more)
        ret_seen->next = walk_place(arena, found[ret_seen->count - 1].id);
    return ERR_OK;
}
