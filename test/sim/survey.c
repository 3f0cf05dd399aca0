#include "sim.h"

#include "store/definition.h"
#include "store/response.h"
#include "store/survey.h"

// Answers to a survey, some of them several at once, and I58: of all that answer one invitation one
// makes a response, and only while the invitation may be answered; response, completion, event,
// counts and what each subscriber is to be told are there together or not at all, whoever died
// between the answer and its acknowledgement; and who comes second is told so.

enum { RATED_MAX = 10, UNHAPPY_MAX = 3, AT_ONCE_MAX = 3 };

#define SURVEY                                                                                     \
    "{'id':'csi','questions':[{'id':'rate','type':'rating','max':10,'text':{'en':'?'}}],"          \
    "'triggers':[{'id':'gr','eventKind':'h','channel':'http:0','expireAfter':'70s',"               \
    "'schedule':{'reminders':['25s']},'retry':{'policy':'fixed','interval':'4s','max':2}}],"       \
    "'subscribers':[{'key':'http:2','retry':{'policy':'fixed','interval':'4s','max':3}},"          \
    "{'key':'worker:0','filter':{'path':'rate','op':'<=','value':3},"                              \
    "'retry':{'policy':'fixed','interval':'4s','max':3}}]}"

// Answering is one on its way: the API's part of it.
typedef struct Answering {
    Track *track;
    Invitation invitation;
    Submit *submit;
    Uuid response; // that it would make
    Err err;       // of the submit, once it is done
} Answering;

Err survey_publish_all(Tx *tx, Sim *sim, Error *error)
{
    Definition made;
    SurveyPublished published;
    TRY(definition_create(tx, OUR_TENANT, S("survey"), S("csi"), moves_quoted(sim, SURVEY), &made,
                          error));
    return survey_publish(tx, OUR_TENANT, S("csi"), DEFINITION_ANY_VERSION, &published, error);
}

static Err apply(Tx *tx, Op **ops, size_t count, Error *error)
{
    Submit **submits = ARENA_ARRAY(&tx->arena, Submit *, count);
    for (size_t i = 0; i < count; i++)
        submits[i] = ((const Call *) ops[i])->answering->submit;
    return submits_write(tx, submits, count, error);
}

// read_answer takes the steps ahead of the transaction.
static void read_answer(Sim *sim, const Node *node, Answering *ret)
{
    Error error = { 0 };
    SubmitGiven given = { .answers =
                              str_format(&sim->arena, "{\"rate\":%d}", 1 + draw(sim, RATED_MAX)),
                          .at = clock_now(&node->clock),
                          .random = &sim->chance };
    Err err = submit_make(sim->eye, &sim->arena, writer_versions(node->writer), &ret->invitation,
                          &given, &ret->submit, &error);
    assert(err == ERR_OK);
    Registry *registry = writer_registry(node->writer);
    err = submit_decide(ret->submit, registry, &error);
    assert(err == ERR_OK);
    registry_drop(registry);
    ret->response = submit_response(ret->submit);
}

static Str public_id_of(Sim *sim, Uuid delivery)
{
    DeliveryView view;
    Error error = { 0 };
    Err err = delivery_view(sim->eye, &sim->arena, OUR_TENANT, delivery, &view, &error);
    return err == ERR_OK ? view.promise.public_id : S("purged");
}

static void answer(Sim *sim, Node *node, Track *track)
{
    static const OpKind kind = { .name = "sim answer", .apply = apply };
    Error error = { 0 };
    Answering *made = ARENA_NEW(&sim->arena, Answering);
    *made = (Answering){ .track = track };
    Err err = invitation_find(sim->eye, &sim->arena, writer_versions(node->writer),
                              writer_surveys(node->writer), public_id_of(sim, track->id),
                              &made->invitation, &error);
    if (err == ERR_OK) {
        err = invitation_may(made->invitation.view.state, &error);
        if (err != ERR_OK)
            invitation_drop(&made->invitation);
    }
    trace(sim, "client: n%d answers %d: %s", node->index, name_of(sim, track), err_code(err));
    if (err != ERR_OK)
        return;
    read_answer(sim, node, made);
    Call *call = call_new(sim, node, CALL_ANSWER);
    call->answering = made;
    track->by_hand++;
    call_submit(call, &kind, call_done);
}

// draw_invitation prefers one that may be answered.
static Track *draw_invitation(Sim *sim)
{
    const Pattern *asks = pattern_named(S("csi:gr"));
    Track *found = NULL;
    for (int tries = 0; tries < 60 && sim->track_count > 0; tries++) {
        Track *track = &sim->tracks[draw(sim, (int) sim->track_count)];
        if (track->pattern != asks)
            continue;
        found = track;
        if (delivery_may(track->row.state, DELIVERY_ACTION_COMPLETE) || chance(sim, 10))
            break;
    }
    return found;
}

void survey_ask(Sim *sim, Node *node)
{
    Track *track = draw_invitation(sim);
    for (int left = 1 + draw(sim, AT_ONCE_MAX); left > 0 && track; left--) {
        Node *other = &sim->nodes[draw(sim, sim->node_count)];
        answer(sim, node_hears(other) && !other->stops ? other : node, track);
    }
}

// survey_on_answer gives back what was held: the writer that had it may be about to go.
void survey_on_answer(Sim *sim, const Call *call)
{
    Answering *of = call->answering;
    of->err = of->submit->err;
    submit_drop(of->submit);
    invitation_drop(&of->invitation);
    bool is_over = call->err == ERR_OK && (of->err == ERR_OK || of->err == ERR_CONFLICT);
    of->track->is_answered |= is_over && node_hears(call->node);
    trace(sim, "track %d: its answer is %s", name_of(sim, of->track),
          err_code(call->err == ERR_OK ? of->err : call->err));
}

void survey_on_response(Sim *sim, Uuid id, Uuid delivery, Str answers, bool has_event, int told)
{
    Track *track = track_of(sim, delivery, false);
    int64_t rate = 0;
    Str number = str_skip(answers, S("{\"rate\":").len);
    if (!track || track->is_gone) {
        broken(sim, "I58", "a response is to nothing, or to what is gone");
        return;
    }
    if (uuid_cmp(track->response, id) == 0)
        return;
    (void) str_to_i64((Str){ number.at, number.len - 1 }, 1, RATED_MAX, &rate);
    trace(sim, "track %d is answered with %lld", name_of(sim, track), (long long) rate);
    if (!uuid_is_none(track->response))
        broken(sim, "I58", "track %d has two responses", name_of(sim, track));
    if (track->row.state != DELIVERY_COMPLETED)
        broken(sim, "I58", "track %d is answered, and is %s", name_of(sim, track),
               delivery_state_text(track->row.state));
    if (!has_event || told != 1 + (rate <= UNHAPPY_MAX))
        broken(sim, "I58", "track %d is answered with %lld, and %d are told", name_of(sim, track),
               (long long) rate, told);
    track->response = id;
    sim->responses++;
}

void survey_look(Sim *sim)
{
    look_responses(sim);
    if (!sim->has_failed && look_tally(sim) != sim->responses)
        broken(sim, "I58", "%d responses were seen, %d are counted", sim->responses,
               look_tally(sim));
    for (size_t i = 0; i < sim->track_count && !sim->has_failed; i++) {
        const Track *track = &sim->tracks[i];
        if (track->is_answered && !track->is_gone && track->row.state != DELIVERY_COMPLETED)
            broken(sim, "I58", "track %d is said to be answered, and is %s", name_of(sim, track),
                   delivery_state_text(track->row.state));
    }
}

// I58: who was taken is there, and who was not is not.
void survey_often(Sim *sim)
{
    for (size_t c = 0; c < sim->call_count && !sim->has_failed; c++) {
        const Answering *of = sim->calls[c]->answering;
        if (!of)
            continue;
        bool is_taken = sim->calls[c]->is_done && sim->calls[c]->err == ERR_OK && of->err == ERR_OK;
        bool is_there = uuid_cmp(of->track->response, of->response) == 0;
        if (is_taken != is_there)
            broken(sim, "I58", "call %zu: track %d's answer was %s, and is %s", c,
                   name_of(sim, of->track), is_taken ? "taken" : "not taken",
                   is_there ? "there" : "not there");
    }
}
