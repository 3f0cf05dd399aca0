#include "sim.h"

#include "store/act.h"
#include "store/definition.h"
#include "store/lane.h"
#include "store/meta.h"
#include "store/notification.h"

// What is asked of Peal. Spans are short, so that a run of some minutes sees everything fall due.
const Pattern patterns[] = {
    { .id = "plain",
      .kind = "a",
      .json = "{'id':'plain','eventKind':'a','channel':'http:0',"
              "'retry':{'policy':'exponential','interval':'2s','max':4}}",
      .wait = 2 * SPAN_SECOND,
      .is_doubling = true,
      .max = 4 },
    { .id = "keyed",
      .kind = "a",
      .json = "{'id':'keyed','eventKind':'a','channel':'http:1','dedupRecipe':['candidate.key'],"
              "'schedule':{'initialDelay':'3s'},"
              "'retry':{'policy':'fixed','interval':'5s','max':3}}",
      .lane = 1,
      .wait = 5 * SPAN_SECOND,
      .max = 3,
      .is_keyed = true },
    { .id = "reminded",
      .kind = "b",
      .json = "{'id':'reminded','eventKind':'b','channel':'http:0','expireAfter':'90s',"
              "'schedule':{'reminders':['20s','40s']},"
              "'retry':{'policy':'fixed','interval':'4s','max':1}}",
      .reminder_count = 2,
      .reminders = { 20 * SPAN_SECOND, 40 * SPAN_SECOND },
      .awaits = true,
      .expires_after = 90 * SPAN_SECOND,
      .wait = 4 * SPAN_SECOND,
      .max = 1 },
    { .id = "strict",
      .kind = "b",
      .json = "{'id':'strict','eventKind':'b','channel':'http:2',"
              "'retry':{'policy':'fixed','interval':'7s','max':100,'giveUpAfter':'30s'}}",
      .lane = 2,
      .wait = 7 * SPAN_SECOND,
      .max = 100,
      .give_up_after = 30 * SPAN_SECOND },
    { .id = "survey",
      .kind = "c",
      .json = "{'id':'survey','eventKind':'c','channel':'http:1','awaitAnswer':true,"
              "'expireAfter':'60s','retry':{'policy':'fixed','interval':'1s','max':0},"
              "'cancelOn':{'eventKind':'d','match':['candidate.key']}}",
      .lane = 1,
      .awaits = true,
      .expires_after = 60 * SPAN_SECOND,
      .wait = SPAN_SECOND,
      .is_recalled = true },
    { .id = "turned", // its lane is ordered: that it may be tried once only counts for nothing
      .kind = "e",
      .json = "{'id':'turned','eventKind':'e','channel':'http:3',"
              "'retry':{'policy':'fixed','interval':'3s','max':0}}",
      .lane = ORDERED_LANE },
    { .id = "handed",
      .kind = "f",
      .json = "{'id':'handed','eventKind':'f','channel':'hand:0',"
              "'retry':{'policy':'fixed','interval':'4s','max':2}}",
      .lane = HANDED_LANE,
      .wait = 4 * SPAN_SECOND,
      .max = 2 },
    { .id = "pulled",
      .kind = "g",
      .json = "{'id':'pulled','eventKind':'g','channel':'worker:0',"
              "'retry':{'policy':'fixed','interval':'4s','max':3}}",
      .lane = PULLED_LANE,
      .wait = 4 * SPAN_SECOND,
      .max = 3 },
    { .id = "chained", // what a job's end makes
      .kind = "job-completed",
      .json = "{'id':'chained','eventKind':'job-completed','channel':'http:0',"
              "'filter':{'path':'candidate.job','op':'==','value':'later'},"
              "'retry':{'policy':'fixed','interval':'4s','max':3}}",
      .wait = 4 * SPAN_SECOND,
      .max = 3 },
    { .id = "polled", // by poll.c
      .kind = "gmail.message",
      .json = "{'id':'polled','provider':'gmail','type':'message','way':'polling',"
              "'interval':'10s','channel':'http:0',"
              "'retry':{'policy':'fixed','interval':'4s','max':3}}",
      .wait = 4 * SPAN_SECOND,
      .max = 3 },
    { .id = "csi:gr", // of a survey: see survey.c
      .kind = "h",
      .reminder_count = 1,
      .reminders = { 25 * SPAN_SECOND },
      .awaits = true,
      .expires_after = 70 * SPAN_SECOND,
      .wait = 4 * SPAN_SECOND,
      .max = 2,
      .is_survey = true },
    { .id = "csi:http:2", // its subscribers
      .kind = "response-completed",
      .lane = 2,
      .wait = 4 * SPAN_SECOND,
      .max = 3,
      .is_survey = true },
    { .id = "csi:worker:0",
      .kind = "response-completed",
      .lane = PULLED_LANE,
      .wait = 4 * SPAN_SECOND,
      .max = 3,
      .is_survey = true },
    { .id = "few",
      .json = "{'id':'few','channels':['email:0'],"
              "'retry':{'policy':'fixed','interval':'3s','max':4}}",
      .lane = MAIL_LANE,
      .max = 4,
      .members = 3 },
    { .id = "many",
      .json = "{'id':'many','channels':['email:0'],"
              "'retry':{'policy':'fixed','interval':'6s','max':3}}",
      .lane = MAIL_LANE,
      .max = 3,
      .members = MEMBERS_MAX },
    { .id = "tight",
      .json = "'handler':'http:0','cron':'*/5 * * * * *','missed':'once','overlap':'skip',"
              "'maxRetries':1,'payload':{'key':0}",
      .wait = SPAN_MINUTE,
      .is_doubling = true,
      .max = 1,
      .is_job = true,
      .period = 5 * SPAN_SECOND,
      .missed = JOB_MISSED_ONCE,
      .overlap = JOB_OVERLAP_SKIP },
    { .id = "every",
      .json = "'handler':'http:2','cron':'*/10 * * * * *','missed':'all','missedWindow':'40s',"
              "'overlap':'allow','maxRetries':2,'payload':{'key':0}",
      .lane = 2,
      .wait = SPAN_MINUTE,
      .is_doubling = true,
      .max = 2,
      .is_job = true,
      .period = 10 * SPAN_SECOND,
      .missed = JOB_MISSED_ALL,
      .overlap = JOB_OVERLAP_ALLOW,
      .missed_window = 40 * SPAN_SECOND },
    { .id = "queued",
      .json = "'handler':'worker:0','cron':'*/12 * * * * *','missed':'skip','overlap':'queue',"
              "'maxRetries':1,'payload':{'key':0}",
      .lane = PULLED_LANE,
      .wait = SPAN_MINUTE,
      .is_doubling = true,
      .max = 1,
      .is_job = true,
      .period = 12 * SPAN_SECOND,
      .missed = JOB_MISSED_SKIP,
      .overlap = JOB_OVERLAP_QUEUE },
    { .id = "fresh",
      .json = "'handler':'http:1','cron':'*/15 * * * * *','missed':'skip','overlap':'allow',"
              "'maxRetries':0,'payload':{'key':0}",
      .lane = 1,
      .wait = SPAN_MINUTE,
      .is_doubling = true,
      .is_job = true,
      .period = 15 * SPAN_SECOND,
      .missed = JOB_MISSED_SKIP,
      .overlap = JOB_OVERLAP_ALLOW },
    { .id = "later", // which has no schedule
      .json = "'handler':'http:0','maxRetries':2,'payload':{'key':0}",
      .wait = SPAN_MINUTE,
      .is_doubling = true,
      .max = 2,
      .is_job = true },
    { .id = "rare", // its retries come before its next occurrence
      .json = "'handler':'hand:0','cron':'0 */3 * * * *','maxRetries':1,'payload':{'key':0}",
      .lane = HANDED_LANE,
      .wait = SPAN_MINUTE,
      .is_doubling = true,
      .max = 1,
      .is_job = true,
      .period = 3 * SPAN_MINUTE,
      .missed = JOB_MISSED_ONCE,
      .overlap = JOB_OVERLAP_SKIP },
};
const size_t pattern_count = ARRAY_LEN(patterns);

const Pattern *pattern_named(Str id)
{
    for (size_t i = 0; i < pattern_count; i++)
        if (str_eq(id, str_from(patterns[i].id)))
            return &patterns[i];
    assert(!"a trigger that nobody made");
    return NULL;
}

// Calls.

static Node *draw_node(Sim *sim)
{
    Node *node = &sim->nodes[draw(sim, sim->node_count)];
    return node_hears(node) && !node->stops ? node : NULL;
}

Call *call_new(Sim *sim, Node *node, CallKind kind)
{
    assert(sim->call_count < CALLS_MAX);
    Call *call = ARENA_NEW(&sim->arena, Call);
    *call = (Call){ .sim = sim,
                    .node = node,
                    .life = node->life,
                    .kind = kind,
                    .asked_at = sim->now,
                    .answered_at = INSTANT_NONE };
    sim->calls[sim->call_count++] = call;
    return call;
}

static void note_hold(const Call *call)
{
    Sim *sim = call->sim;
    sim->is_held = call->kind == CALL_HOLD;
    sim->held_at = sim->now;
    sim->held_by = call->node->number;
    sim->quiet_at = INSTANT_NONE;
}

// answered hands the answer to the client, unless nobody is there to give it. The engine is told of
// what was committed as the API would tell it.
static void answered(Call *call, Err err)
{
    Sim *sim = call->sim;
    call->err = err;
    call->is_done = true;
    if (err == ERR_OK && (call->kind == CALL_HOLD || call->kind == CALL_RELEASE))
        note_hold(call);
    if (err == ERR_OK && call->kind == CALL_CHANNEL) {
        sim->lanes[call->lane].changed_at = sim->now;
        sim->lanes[call->lane].gone_at = INSTANT_NONE;
        care_on_channel(sim, call->lane);
    }
    if (call->kind == CALL_EMIT)
        inbox_on_answer(sim, call);
    if (call->kind == CALL_REPORT)
        elsewhere_on_answer(sim, call);
    if (call->kind == CALL_DEFER)
        defer_on_answer(sim, call);
    if (call->kind == CALL_ANSWER)
        survey_on_answer(sim, call);
    if (call->kind == CALL_PULL)
        worker_on_pull(sim, call);
    if (call->kind == CALL_TOLD)
        worker_on_told(sim, call);
    if (!node_hears(call->node) || call->node->life != call->life)
        return;
    call->answered_at = sim->now;
    trace(sim, "n%d answers call %d %s", call->node->index, (int) call->kind, err_code(err));
    laws_on_answer(sim, call);
}

void call_done(Op *op, Err err, const Error *error)
{
    (void) error;
    answered((Call *) op, err);
}

// A hold is answered once the engine starts nothing more, as the API does.
static void hold_quiet(void *with, const EngineReport *report)
{
    Call *call = with;
    Sim *sim = call->sim;
    if (report->err != ERR_OK || !node_hears(call->node))
        return;
    trace(sim, "n%d is quiet", call->node->index);
    if (sim->is_held && sim->held_by == call->node->number)
        sim->quiet_at = sim->now;
}

static void hold_done(Op *op, Err err, const Error *error)
{
    (void) error;
    Call *call = (Call *) op;
    answered(call, err);
    if (err == ERR_OK && call->kind == CALL_HOLD && call->answered_at != INSTANT_NONE)
        engine_quiet(call->node->engine, hold_quiet, call);
}

static Err apply_ingest(Tx *tx, Op **ops, size_t count, Error *error)
{
    Accept **accepts = ARENA_ARRAY(&tx->arena, Accept *, count);
    for (size_t i = 0; i < count; i++) {
        Call *call = (Call *) ops[i];
        accepts[i] = &call->accept;
        TRY(notifications_name_now(tx, accepts[i], error));
        TRY(accept_decide(accepts[i], tx->registry, tx->random, error));
        registry_drop(call->registry);
        call->registry = registry_hold(tx->registry);
    }
    return accept_write(tx, accepts, count, error);
}

void call_submit(Call *call, const OpKind *kind, void (*done)(Op *op, Err err, const Error *error))
{
    call->op.kind = kind;
    call->op.done = done;
    writer_submit(call->node->writer, &call->op);
    node_plan_write(call->node);
}

Str moves_quoted(Sim *sim, const char *text)
{
    Str made = str_dup(&sim->arena, str_from(text));
    for (char *at = (char *) (uintptr_t) made.at; *at; at++)
        if (*at == '\'')
            *at = '"';
    return made;
}

static Str draw_candidate(Sim *sim)
{
    static const char *const kinds[] = {
        "a", "a", "b", "b", "c", "c", "d", "e", "f", "g", "h", "h"
    };
    int key = draw(sim, KEYS), identity = draw(sim, 40);
    char tail[40] = "";
    if (identity < 10) // the same ones come again
        snprintf(tail, sizeof tail, ",'id':'e%d'", identity);
    return str_format(&sim->arena,
                      "{'kind':'%s','payload':{'key':%d},"
                      "'recipient':{'address':'x','customerRef':'%d'}%s}",
                      kinds[draw(sim, ARRAY_LEN(kinds))], key, key, tail);
}

static void draw_event(Sim *sim, Event *ret)
{
    Error error = { 0 };
    const Json *body;
    Str text = chance(sim, 8) ? list_draw_event(sim) : draw_candidate(sim);
    Err err = json_parse(&sim->arena, moves_quoted(sim, text.at), &body, &error);
    assert(err == ERR_OK);
    err = event_build(&sim->arena, body, ret, &error);
    assert(err == ERR_OK);
}

static void ask_ingest(Sim *sim, Node *node)
{
    static const OpKind kind = { .name = "sim ingest", .apply = apply_ingest };
    Call *call = call_new(sim, node, CALL_INGEST);
    size_t count = 1 + (size_t) draw(sim, chance(sim, 20) ? 12 : 3);
    call->accept = (Accept){ .arena = &sim->arena,
                             .tenant = OUR_TENANT,
                             .now = clock_now(&node->clock),
                             .count = count,
                             .items = ARENA_ARRAY(&sim->arena, AcceptItem, count) };
    for (size_t i = 0; i < count; i++)
        draw_event(sim, &call->accept.items[i].event);
    trace(sim, "client: n%d ingest %zu", node->index, count);
    call_submit(call, &kind, call_done);
}

static Err apply_act(Tx *tx, Op **ops, size_t count, Error *error)
{
    for (size_t i = 0; i < count; i++) {
        const Call *call = (const Call *) ops[i];
        TRY(act_one(tx, OUR_TENANT, call->delivery, call->action, STR_NONE, error));
    }
    return ERR_OK;
}

// draw_track prefers what the action may move.
static Track *draw_track(Sim *sim, DeliveryAction action)
{
    for (int tries = 0; tries < 12 && sim->track_count > 0; tries++) {
        Track *track = &sim->tracks[draw(sim, (int) sim->track_count)];
        if (delivery_may(track->row.state, action) || chance(sim, 5))
            return track;
    }
    return NULL;
}

static void ask_act(Sim *sim, Node *node)
{
    static const OpKind kind = { .name = "sim act", .apply = apply_act };
    static const DeliveryAction actions[] = { DELIVERY_ACTION_CANCEL,   DELIVERY_ACTION_CANCEL,
                                              DELIVERY_ACTION_COMPLETE, DELIVERY_ACTION_RETRY,
                                              DELIVERY_ACTION_RETRY,    DELIVERY_ACTION_DISCARD };
    DeliveryAction action = actions[draw(sim, ARRAY_LEN(actions))];
    Track *track = draw_track(sim, action);
    if (!track)
        return;
    Call *call = call_new(sim, node, CALL_ACT);
    call->delivery = track->id;
    call->action = action;
    track->by_hand++;
    trace(sim, "client: n%d %s %zu", node->index, delivery_action_text(action),
          (size_t) (track - sim->tracks));
    call_submit(call, &kind, call_done);
}

static Err apply_hold(Tx *tx, Op **ops, size_t count, Error *error)
{
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < count; i++) {
        if (((const Call *) ops[i])->kind == CALL_HOLD)
            meta_put(tx, META_HOLD, S("by the simulation"));
        else
            meta_remove(tx, META_HOLD);
    }
    tx->changes_definitions = true;
    return ERR_OK;
}

static void ask_hold(Sim *sim, Node *node)
{
    static const OpKind kind = { .name = "sim hold", .apply = apply_hold };
    Call *call = call_new(sim, node, sim->is_held ? CALL_RELEASE : CALL_HOLD);
    trace(sim, "client: n%d %s", node->index, sim->is_held ? "release" : "hold");
    call_submit(call, &kind, hold_done);
}

static Str config_of(Sim *sim, const Lane *lane)
{
    if (lane == &sim->lanes[MAIL_LANE])
        return str_format(&sim->arena,
                          "'type':'email','config':{'server':'smtp://far%d.test/%s',"
                          "'from':'peal@peal.test'}",
                          lane->host, lane->key);
    if (lane == &sim->lanes[PULLED_LANE])
        return S("'type':'worker','config':{}");
    return str_format(&sim->arena, "'type':'%s','config':{'url':'http://far%d.test/%s'}",
                      lane == &sim->lanes[HANDED_LANE] ? "hand" : "http", lane->host, lane->key);
}

static Str channel_body(Sim *sim, const Lane *lane)
{
    Str rate = lane->rate_max
                   ? str_format(&sim->arena, ",'rate':{'per':'%llds','max':%d}",
                                (long long) (lane->rate_per / SPAN_SECOND), lane->rate_max)
                   : S("");
    Str config = config_of(sim, lane);
    Str text = str_format(
        &sim->arena,
        "{'key':'%s',%.*s,'concurrency':%d,'timeout':'%llds','enabled':%s,"
        "'ordered':%s%.*s}",
        lane->key, STR_ARG(config), lane->concurrency, (long long) (lane->timeout / SPAN_SECOND),
        lane->is_enabled ? "true" : "false", lane->is_ordered ? "true" : "false", STR_ARG(rate));
    return moves_quoted(sim, text.at);
}

Err moves_put(Tx *tx, Str kind, Str id, Str channel, Str body, Error *error)
{
    Definition made;
    Error missing = { 0 };
    TRY(lane_ensure(tx, OUR_TENANT, channel, error));
    Err err =
        definition_replace(tx, OUR_TENANT, kind, id, DEFINITION_ANY_VERSION, body, &made, &missing);
    return err != ERR_NOT_FOUND ? err
                                : definition_create(tx, OUR_TENANT, kind, id, body, &made, error);
}

static Err apply_channel(Tx *tx, Op **ops, size_t count, Error *error)
{
    for (size_t i = 0; i < count; i++) {
        const Call *call = (const Call *) ops[i];
        Str key = str_from(call->sim->lanes[call->lane].key);
        TRY(moves_put(tx, DEFINITION_CHANNEL, key, key, call->body, error));
    }
    return ERR_OK;
}

static void ask_channel(Sim *sim, Node *node)
{
    static const OpKind kind = { .name = "sim channel", .apply = apply_channel };
    Call *call = call_new(sim, node, CALL_CHANNEL);
    call->lane = draw(sim, sim->lane_count);
    Lane *lane = &sim->lanes[call->lane];
    lane->concurrency = 1 + draw(sim, 6);
    lane->loosest = lane->concurrency > lane->loosest ? lane->concurrency : lane->loosest;
    lane->is_enabled = sim->is_calm || !chance(sim, 10);
    lane->was_off |= !lane->is_enabled;
    call->body = channel_body(sim, lane);
    trace(sim, "client: n%d channel %d: %d at once, %s", node->index, call->lane, lane->concurrency,
          lane->is_enabled ? "on" : "off");
    call_submit(call, &kind, call_done);
}

Err moves_publish_all(Tx *tx, void *with, Error *error)
{
    Sim *sim = with;
    for (int i = 0; i < sim->lane_count; i++) {
        Str key = str_from(sim->lanes[i].key);
        TRY(moves_put(tx, DEFINITION_CHANNEL, key, key, channel_body(sim, &sim->lanes[i]), error));
    }
    for (size_t i = 0; i < pattern_count; i++)
        if (patterns[i].is_job)
            TRY(job_publish(tx, sim, &patterns[i], true, error));
    for (size_t i = 0; i < pattern_count; i++)
        if (!patterns[i].is_job && !patterns[i].is_survey)
            TRY(moves_put(tx, patterns[i].members ? DEFINITION_LIST : DEFINITION_TRIGGER,
                          str_from(patterns[i].id), str_from(sim->lanes[patterns[i].lane].key),
                          moves_quoted(sim, patterns[i].json), error));
    TRY(survey_publish_all(tx, sim, error));
    TRY(poll_publish(tx, error));
    return list_publish_all(tx, error);
}

typedef struct Play {
    const char *name;
    int weight;
    void (*run)(Sim *sim, Node *node);
} Play;

static const Play *draw_move(Sim *sim, const Play *moves, size_t count, unsigned appetite)
{
    int total = 0;
    for (size_t i = 0; i < count; i++)
        total += (appetite >> i & 1) ? moves[i].weight : 0;
    if (total == 0)
        return NULL;
    int roll = draw(sim, total);
    for (size_t i = 0;; i++) {
        int weight = (appetite >> i & 1) ? moves[i].weight : 0;
        if (roll < weight)
            return &moves[i];
        roll -= weight;
    }
}

void move_client(Sim *sim)
{
    static const Play asks[] = {
        { "ingest", 52, ask_ingest },    { "emit", 8, inbox_ask },      { "act", 35, ask_act },
        { "hold", 6, ask_hold },         { "channel", 4, ask_channel }, { "purge", 2, purge_ask },
        { "report", 10, elsewhere_ask }, { "job", 8, job_ask },         { "defer", 24, defer_ask },
        { "mail", 14, poll_play },       { "answer", 40, survey_ask },
    };
    Node *node = draw_node(sim);
    sim->calls_left--;
    // Mostly in bursts: what meets in one batch is what has surprises.
    sim->client_at = sim->now + (chance(sim, 60) ? draw_span(sim, 0, 20 * SPAN_MILLISECOND)
                                                 : draw_span(sim, 0, 5 * SPAN_SECOND));
    if (node)
        draw_move(sim, asks, ARRAY_LEN(asks), ~0u)->run(sim, node);
}

// Troubles.

static void crash(Sim *sim, Node *node)
{
    (void) sim;
    node_die(node, "at once");
}

static void crash_inside(Sim *sim, Node *node)
{
    node->dies_in = 1 + draw(sim, 30);
    trace(sim, "n%d will die in %d calls", node->index, node->dies_in);
}

static void crash_at_commit(Sim *sim, Node *node)
{
    (void) sim;
    node->dies_at_commit = true;
}

static void stop_orderly(Sim *sim, Node *node)
{
    node->stops_at = sim->now;
}

static void cut_power(Sim *sim, Node *node)
{
    (void) node;
    for (int i = 0; i < sim->node_count; i++)
        if (sim->nodes[i].in_engine || sim->nodes[i].in_writer)
            return; // the frames of the dead would find no ground
    power_loss(sim);
}

static void freeze(Sim *sim, Node *node)
{
    if (chance(sim, 50))
        node->freezes_at_commit = true;
    else
        node_freeze(node);
}

static void trouble_store(Sim *sim, Node *node)
{
    bool is_long = chance(sim, 40), is_all = chance(sim, 50);
    Trouble trouble = (Trouble) (1 + draw(sim, TROUBLE_LOST));
    Span length = is_long ? draw_span(sim, LEASE, 3 * LEASE) : draw_span(sim, 1, 3 * SPAN_SECOND);
    for (int i = 0; i < sim->node_count; i++) {
        Node *one = &sim->nodes[i];
        if (one != node && !is_all)
            continue;
        node_trouble(one, trouble, length);
    }
    trace(sim, "store trouble %d for %lld ms (%s)", (int) trouble,
          (long long) (length / SPAN_MILLISECOND), is_all ? "all" : "one");
}

static bool is_near(Span a, Span b)
{
    return a - b <= OBEYED && b - a <= OBEYED;
}

// doubt_clock notes what the node makes of a jump: near the time that it trusts, it obeys at once.
// What it has not trusted for long it may have come to trust.
static void doubt_clock(const Sim *sim, Node *node, Span before)
{
    Instant calm_since = later(node->jumped_at, node->frozen_until);
    if (node->is_dazed && sim->now - calm_since > 2 * DOUBTED) { // it trusts what it saw since
        node->is_dazed = false;
        node->lost_time_at = INSTANT_NONE;
    }
    bool is_lost = node->lost_time_at != INSTANT_NONE;
    node->is_dazed |= sim->now < node->frozen_until;
    if (is_near(node->skew, is_lost ? node->trusted : before)) {
        node->lost_time_at = INSTANT_NONE;
        return;
    }
    if (is_near(node->skew, before))
        return; // as lost as it was
    if (!is_lost || sim->now - node->lost_time_at >= DOUBTED)
        node->trusted = before;
    node->lost_time_at = sim->now;
}

static void jump_clock(Sim *sim, Node *node)
{
    static const Span jumps[] = { 2 * SPAN_SECOND,   -2 * SPAN_SECOND, 10 * SPAN_SECOND,
                                  -10 * SPAN_SECOND, SPAN_HOUR,        -40 * SPAN_SECOND };
    // Only a server's clock could tell several nodes which of them is wrong: see sim.h.
    size_t count = sim->node_count > 1 ? 2 : ARRAY_LEN(jumps);
    Span jump = jumps[draw(sim, (int) count)];
    if (node->skew + jump < -SPAN_MINUTE)
        return; // or the end of the run would be too far
    node->skew += jump;
    clock_set(&node->clock, clock_now(&node->clock) + jump);
    doubt_clock(sim, node, node->skew - jump);
    node->jumped_at = sim->now;
    care_on_jump(node, jump);
    trace(sim, "n%d: its clock jumps by %lld s", node->index, (long long) (jump / SPAN_SECOND));
}

static void change_mood(Sim *sim, Node *node)
{
    (void) node;
    Lane *lane = &sim->lanes[draw(sim, sim->lane_count)];
    lane->mood = &moods[draw(sim, (int) mood_count)];
    trace(sim, "%s is %s", lane->key, lane->mood->name);
}

static void slow_disk(Sim *sim, Node *node)
{
    node->writer_delay =
        chance(sim, 50) ? 2 * SPAN_MILLISECOND : draw_span(sim, 1, 4) * SPAN_SECOND;
    node_trouble(node, node->trouble, 0); // what was asked for before may take as long as before
    trace(sim, "n%d: commits take up to %lld ms", node->index,
          (long long) (node->writer_delay / SPAN_MILLISECOND));
}

static const Play troubles[] = {
    { "mood", 40, change_mood },
    { "store", 14, trouble_store },
    { "crash", 6, crash },
    { "crash inside", 6, crash_inside },
    { "crash at commit", 5, crash_at_commit },
    { "stop", 5, stop_orderly },
    { "power", 2, cut_power },
    { "freeze", 6, freeze },
    { "clock", 6, jump_clock },
    { "disk", 8, slow_disk },
};

size_t trouble_count(void)
{
    return ARRAY_LEN(troubles);
}

void move_trouble(Sim *sim)
{
    Node *node = draw_node(sim);
    const Play *move = draw_move(sim, troubles, ARRAY_LEN(troubles), sim->appetite);
    sim->trouble_at = sim->now + draw_span(sim, 0, 6 * SPAN_SECOND);
    if (node && move)
        move->run(sim, node);
}

// Peace: far sides are well, the store is there, clocks are right, channels on, nothing is held.
void moves_end_all(Sim *sim)
{
    trace(sim, "peace");
    sim->is_calm = true;
    sim->client_at = sim->trouble_at = INSTANT_NONE;
    for (int i = 0; i < sim->lane_count; i++)
        sim->lanes[i].mood = &moods[0];
    poll_end_troubles(sim);
    for (int i = 0; i < sim->node_count; i++) {
        Node *node = &sim->nodes[i];
        node->trouble = TROUBLE_NONE;
        node->trouble_until = node->frozen_until = sim->now;
        node->dies_in = 0;
        node->dies_at_commit = node->freezes_at_commit = false;
        node->writer_delay = 2 * SPAN_MILLISECOND;
        node->writes_at = earlier(node->writes_at, sim->now + node->writer_delay);
        if (node->starts_at != INSTANT_NONE)
            node->starts_at = sim->now;
    }
}

void moves_open_all(Sim *sim)
{
    Node *node = &sim->nodes[0];
    assert(node_hears(node));
    if (sim->is_held)
        ask_hold(sim, node);
    for (int i = 0; i < sim->lane_count; i++) {
        if (!sim->lanes[i].was_off)
            continue; // it is on, and its circuit closes by itself
        static const OpKind kind = { .name = "sim channel", .apply = apply_channel };
        Call *call = call_new(sim, node, CALL_CHANNEL);
        call->lane = i;
        sim->lanes[i].is_enabled = true;
        call->body = channel_body(sim, &sim->lanes[i]);
        call_submit(call, &kind, call_done);
    }
}
