#include "api/responses.h"

#include "api/surveys.h"
#include "domain/answer.h"
#include "store/response.h"

// An answer on its way in, from top to bottom: a thinker reads its body, a reader finds who was
// asked and holds the answers against that survey, and the writer completes, keeps and tells of
// many at once. It needs no key: who knows the public id was sent it. The rules of the survey, not
// of the one who answers, say what is taken; nothing is written for what is not.

enum { AGENT_ID_MAX = 200 };

typedef struct ResponseBody {
    const Json *answers;
    Str agent_id;
} ResponseBody;

#define ALWAYS FIELD_ALWAYS

// clang-format off
#define AT(member) .offset = offsetof(ResponseBody, member)
static const Field meta_rows[] = {
    { "agentId", FIELD_TEXT_OR_NUMBER, FIELD_NULLABLE, AT(agent_id), .max = AGENT_ID_MAX, .help = "who asked, on the spot" },
};
static const Shape meta_shape = { .name = "ResponseMeta", SHAPE_ROWS(meta_rows), .size = sizeof(ResponseBody) };
static const Field body_rows[] = {
    { "answers", FIELD_OBJECT, FIELD_NEEDED, AT(answers), .help = "By the ids of questions" },
    { "meta",    FIELD_OBJECT, .inside = &meta_shape },
};
#undef AT
const Shape response_body_shape = { .name = "ResponseBody", SHAPE_ROWS(body_rows), .size = sizeof(ResponseBody), .invalid = ERR_ANSWERS_INVALID };

static const Field taken_rows[] = {
    { "responseId",  FIELD_ID,   ALWAYS, .help = "Also the id of the event that tells of it" },
    { "completedAt", FIELD_TIME, ALWAYS },
};
const Shape response_taken_shape = { .name = "ResponseTaken", SHAPE_ROWS(taken_rows) };

static const Field response_rows[] = {
    { "id",          FIELD_ID,     ALWAYS, .help = "Also the id of the event that told of it" },
    { "surveyId",    FIELD_TEXT,   ALWAYS },
    { "version",     FIELD_COUNT,  ALWAYS, .help = "Of the survey, as it was asked" },
    { "deliveryId",  FIELD_ID,     ALWAYS, .help = "What was answered" },
    { "publicId",    FIELD_TEXT,   ALWAYS },
    { "completedAt", FIELD_TIME,   ALWAYS },
    { "locale",      FIELD_TEXT,   ALWAYS | FIELD_NULLABLE },
    { "agentId",     FIELD_TEXT,   ALWAYS | FIELD_NULLABLE },
    { "answers",     FIELD_OBJECT, ALWAYS, .help = "By the ids of questions; what a stranger wrote: show it as text" },
};
const Shape response_shape = { .name = "Response", SHAPE_ROWS(response_rows) };
// clang-format on

// ResponseCall is one submit while it is a request.
typedef struct ResponseCall {
    ResponseBody body;
    Invitation invitation;
    Submit *submit; // NULL: it holds nothing yet
} ResponseCall;

Err response_read(Call *call, Error *error)
{
    ResponseCall *with = ARENA_NEW(call->arena, ResponseCall);
    TRY(call_body(call, error));
    TRY(fields_read(call->arena, call->body, S(""), &response_body_shape, &with->body, error));
    if (json_count(with->body.answers) > ANSWERS_MAX)
        return fail(error, ERR_ANSWERS_INVALID, "there are more answers than a survey can ask for");
    call->with = with;
    return ERR_OK;
}

// let_go gives back what was held for a submit, at the end or before it is looked at again.
static void let_go(Call *call)
{
    ResponseCall *with = call->with;
    submit_drop(with->submit);
    invitation_drop(&with->invitation);
    with->submit = NULL;
    with->invitation.version = NULL;
}

// tell_problems answers with a sentence for each question, in the language that was spoken.
static Err tell_problems(Call *call, const ResponseCall *with, const Answers *answers)
{
    Str language =
        survey_language(&with->invitation.version->survey, with->invitation.view.promise.locale);
    Error places = { .arena = call->arena };
    Members members = members_open(with->body.answers, S("/answers"), &places);
    JsonOut *json = call_json(call, err_http(ERR_ANSWERS_INVALID));
    call->reply.type = S("application/problem+json");
    json_open(json, '{');
    json_put_str(json, S("type"),
                 str_format(call->arena, "/docs/errors#%s", err_code(ERR_ANSWERS_INVALID)));
    json_put_str(json, S("title"), str_from(err_title(ERR_ANSWERS_INVALID)));
    json_put_i64(json, S("status"), err_http(ERR_ANSWERS_INVALID));
    json_put_str(json, S("code"), str_from(err_code(ERR_ANSWERS_INVALID)));
    json_put_str(json, S("detail"),
                 str_format(call->arena, "%zu problems", answers->problem_count));
    json_key(json, S("errors"));
    json_open(json, '[');
    for (size_t i = 0; i < answers->problem_count; i++) {
        const AnswerProblem *problem = &answers->problems[i];
        json_open(json, '{');
        json_put_str(json, S("path"), members_pointer(&members, problem->question));
        json_put_str(json, S("questionId"), problem->question);
        json_put_str(json, S("code"), str_from(survey_word_code(problem->word)));
        json_put_str(json, S("message"), answer_problem_text(call->arena, problem, language));
        json_close(json, '}');
    }
    json_close(json, ']');
    json_put_id(json, S("requestId"), call->exchange->request_id);
    json_close(json, '}');
    return ERR_OK;
}

Err response_look(Call *call, Db *db, Error *error)
{
    ResponseCall *with = call->with;
    Writer *writer = call->api->writer;
    let_go(call);
    TRY(invitation_find(db, call->arena, writer_versions(writer), writer_surveys(writer),
                        call->params[0], &with->invitation, error));
    call->let_go = let_go;
    call->tenant = with->invitation.view.promise.tenant;
    TRY(invitation_may(with->invitation.view.state, error));
    const Survey *survey = &with->invitation.version->survey;
    Answers answers = answers_check(call->arena, survey, with->body.answers, ANSWERS_JSON);
    if (answers.problem_count > 0)
        return tell_problems(call, with, &answers);
    SubmitGiven given = { .answers = answers_text(call->arena, survey, &answers),
                          .agent_id = with->body.agent_id,
                          .at = clock_now(call->api->clock),
                          .random = call->api->random };
    TRY(submit_make(db, call->arena, writer_versions(writer), &with->invitation, &given,
                    &with->submit, error));
    TRY(submit_decide(with->submit, call->registry, error));
    call->weight = with->submit->accept.weight + 2;
    return ERR_OK;
}

static size_t weigh(const Call *call)
{
    const ResponseCall *with = call->with;
    return with->submit ? accept_pairs(&with->submit->accept, call->registry) : 1;
}

// decide has nothing to say: who is asked is not known before the store is.
static Err decide(Call *call, Error *error)
{
    (void) call, (void) error;
    return ERR_OK;
}

static Err write_responses(Tx *tx, Call *const *calls, size_t count, Error *error)
{
    Submit **submits = ARENA_ARRAY(&tx->arena, Submit *, count);
    for (size_t i = 0; i < count; i++)
        submits[i] = ((ResponseCall *) calls[i]->with)->submit;
    TRY(submits_write(tx, submits, count, error));
    for (size_t i = 0; i < count; i++)
        if (submits[i]->err != ERR_OK)
            call_refuse(calls[i], submits[i]->err, &submits[i]->error);
    return ERR_OK;
}

static Err tell_taken(Call *call, Error *error)
{
    const ResponseCall *with = call->with;
    JsonOut *json = call_json(call, 200);
    (void) error;
    json_open(json, '{');
    json_put_id(json, S("responseId"), submit_response(with->submit));
    json_put_time(json, S("completedAt"), with->submit->given.at);
    json_close(json, '}');
    return ERR_OK;
}

const RouteSet response_set = {
    .weigh = weigh,
    .decide = decide,
    .write = write_responses,
    .answer = tell_taken,
};

static void put_response(JsonOut *json, const Response *response)
{
    json_open(json, '{');
    json_put_id(json, S("id"), response->id);
    json_put_str(json, S("surveyId"), response->survey);
    json_put_i64(json, S("version"), response->version);
    json_put_id(json, S("deliveryId"), response->delivery);
    json_put_str(json, S("publicId"), response->public_id);
    json_put_time(json, S("completedAt"), response->completed_at);
    json_put_str(json, S("locale"), response->locale);
    json_put_str(json, S("agentId"), response->agent_id);
    json_put_stored(json, S("answers"), response->answers);
    json_close(json, '}');
}

Err response_show(Call *call, Db *db, Error *error)
{
    Uuid id;
    Response response;
    TRY(call_id(call, 0, &id, error));
    TRY(response_get(db, call->arena, call->tenant, id, &response, error));
    put_response(call_json(call, 200), &response);
    return ERR_OK;
}

Err response_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    Response *rows;
    TRY(call_walk(call, &walk, error));
    TRY(survey_exists(call, db, call->params[0], error));
    TRY(response_page(db, call->arena, call->tenant, call->params[0], &walk, &rows, &seen, error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        put_response(json, &rows[i]);
    page_close(call, &seen);
    return ERR_OK;
}
