#include "api/responses.h"

#include "api/pages.h"
#include "api/surveys.h"
#include "domain/answer.h"
#include "store/queue.h"
#include "store/response.h"

// An answer on its way in, from top to bottom: a thinker reads its body, a reader finds who was
// asked and holds the answers against that survey, and the writer completes, keeps and tells of
// many at once. It needs no key: who knows the public id was sent it. The rules of the survey, not
// of the one who answers, say what is taken; nothing is written for what is not.
//
// A page's form goes the same way, and is answered with a page. One that is not whole yet, or
// wrong, still tells that somebody looked, which is noted as a POST of opened is: once.

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

static const Field shown_row = { "", FIELD_TEXT };
static const Field shown_rows[] = {
    { "shown", FIELD_LIST, ALWAYS, .of = &shown_row, .help = "Ids of questions, in their order" },
};
const Shape shown_shape = { .name = "QuestionsShown", SHAPE_ROWS(shown_rows) };

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

// ResponseCall is one submit, or one look, while it is a request.
typedef struct ResponseCall {
    ResponseBody body;
    bool is_form;
    Form form;    // then
    Str language; // likewise: that the page speaks
    Str page;     // likewise, where it asks on; none
    int status;   // of that page
    Invitation invitation;
    Submit *submit; // NULL: it holds nothing yet, or is only a look
} ResponseCall;

Err response_read(Call *call, Error *error)
{
    ResponseCall *with = ARENA_NEW(call->arena, ResponseCall);
    call->with = with;
    with->is_form = call_is_form(call);
    if (with->is_form) {
        TRY(form_read(call->arena, call->exchange->body, &with->form, error));
        with->body.answers = with->form.answers;
        return ERR_OK;
    }
    TRY(call_body(call, error));
    TRY(fields_read(call->arena, call->body, S(""), &response_body_shape, &with->body, error));
    if (json_count(with->body.answers) > ANSWERS_MAX)
        return fail(error, ERR_ANSWERS_INVALID, "there are more answers than a survey can ask for");
    return ERR_OK;
}

Err opened_read(Call *call, Error *error)
{
    (void) error;
    call->with = ARENA_NEW(call->arena, ResponseCall);
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
    Str language = survey_page_language(call, &with->invitation, STR_NONE);
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

typedef Err Finder(Db *db, Arena *arena, Versions *versions, Surveys *surveys, Str public_id,
                   Invitation *ret, Error *error);

// find holds the invitation for the call.
static Err find(Call *call, Db *db, Finder *finder, Error *error)
{
    ResponseCall *with = call->with;
    Writer *writer = call->api->writer;
    let_go(call);
    TRY(finder(db, call->arena, writer_versions(writer), writer_surveys(writer), call->params[0],
               &with->invitation, error));
    call->let_go = let_go;
    call->tenant = with->invitation.awaited.promise.tenant;
    if (with->is_form)
        with->language = survey_page_language(call, &with->invitation, with->form.language);
    return ERR_OK;
}

// is_new_look: nobody has looked before, and it can still be noted.
static bool is_new_look(const Invitation *invitation)
{
    return invitation->awaited.opened_at == INSTANT_NONE &&
           delivery_is_live(invitation->awaited.state);
}

// show_page ends a form that is not whole with the page that it leads to; a first look is noted
// before.
static Err show_page(Call *call, const Answers *answers, Turn turn)
{
    ResponseCall *with = call->with;
    Page page = { .survey = &with->invitation.version->survey,
                  .public_id = call->params[0],
                  .language = with->language,
                  .root = S("../"),
                  .given = with->form.answers,
                  .answers = answers,
                  .turn = turn };
    Buf html = buf_new(call->arena, BUF_WHOLE);
    page_write(&html, &page);
    with->page = buf_str(&html);
    with->status = turn.kind == TURN_WRONG ? err_http(ERR_ANSWERS_INVALID) : 200;
    if (!is_new_look(&with->invitation))
        survey_page_tell(call, with->status, with->page, with->language);
    return ERR_OK;
}

// make_submit prepares to write answers that are whole.
static Err make_submit(Call *call, Db *db, const Answers *answers, Error *error)
{
    ResponseCall *with = call->with;
    const Survey *survey = &with->invitation.version->survey;
    SubmitGiven given = { .answers = answers_text(call->arena, survey, answers),
                          .agent_id = with->body.agent_id,
                          .at = clock_now(call->api->clock),
                          .random = call->api->random };
    TRY(submit_make(db, call->arena, writer_versions(call->api->writer), &with->invitation, &given,
                    &with->submit, error));
    TRY(submit_decide(with->submit, call->registry, error));
    call->weight = with->submit->accept.weight + 2;
    return ERR_OK;
}

Err response_look(Call *call, Db *db, Error *error)
{
    ResponseCall *with = call->with;
    Err err = find(call, db, invitation_find, error);
    if (err == ERR_OK)
        err = invitation_may(with->invitation.awaited.state, error);
    if (err != ERR_OK)
        return with->is_form && survey_page_refuse(call, &with->invitation, err, with->language)
                   ? ERR_OK
                   : err;
    const Survey *survey = &with->invitation.version->survey;
    Answers answers = answers_check(call->arena, survey, with->body.answers,
                                    with->is_form ? ANSWERS_FORM : ANSWERS_JSON);
    Turn turn = { TURN_TAKE };
    if (with->is_form)
        turn = turn_next(survey, &with->form, &answers);
    else if (answers.problem_count > 0)
        return tell_problems(call, with, &answers);
    return turn.kind == TURN_TAKE ? make_submit(call, db, &answers, error)
                                  : show_page(call, &answers, turn);
}

Err shown_look(Call *call, Db *db, Error *error)
{
    const ResponseCall *with = call->with;
    TRY(find(call, db, invitation_look, error));
    TRY(invitation_may(with->invitation.awaited.state, error));
    const Survey *survey = &with->invitation.version->survey;
    Answers answers = answers_check(call->arena, survey, with->body.answers, ANSWERS_FORM);
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_key(json, S("shown"));
    json_open(json, '[');
    for (size_t i = 0; i < survey->question_count; i++)
        if (answers.is_shown[i])
            json_add_str(json, survey->questions[i].id);
    json_close(json, ']');
    json_close(json, '}');
    return ERR_OK;
}

Err opened_look(Call *call, Db *db, Error *error)
{
    const ResponseCall *with = call->with;
    TRY(find(call, db, invitation_look, error));
    if (!is_new_look(&with->invitation))
        call->reply = (Reply){ .status = 204 };
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

static int by_delivery(const void *a, const void *b)
{
    const QueueOpened *x = a, *y = b;
    if (x->tenant != y->tenant)
        return x->tenant < y->tenant ? -1 : 1;
    return uuid_cmp(x->id, y->id);
}

// looks_of is whom calls are about, in the order in which all others take their rows: all of them,
// or those that only looked.
static size_t looks_of(Tx *tx, Call *const *calls, size_t count, bool is_all, QueueOpened **ret)
{
    QueueOpened *rows = ARENA_ARRAY(&tx->arena, QueueOpened, count);
    size_t looks = 0;
    for (size_t i = 0; i < count; i++) {
        const ResponseCall *with = calls[i]->with;
        const Promise *promise = &with->invitation.awaited.promise;
        if (is_all || !with->submit)
            rows[looks++] = (QueueOpened){ promise->tenant, promise->id, tx->now };
    }
    qsort(rows, looks, sizeof *rows, by_delivery);
    *ret = rows;
    return looks;
}

// A form that came too late is told so by a page (tell_written).
static void refuse(Call *call)
{
    const ResponseCall *with = call->with;
    const Submit *submit = with->submit;
    bool is_told =
        submit->err == ERR_CONFLICT || submit->err == ERR_GONE || submit->err == ERR_NOT_FOUND;
    if (submit->err != ERR_OK && !(with->is_form && is_told))
        call_refuse(call, submit->err, &submit->error);
}

static Err write_responses(Tx *tx, Call *const *calls, size_t count, Error *error)
{
    Submit **submits = ARENA_ARRAY(&tx->arena, Submit *, count);
    Call **submitting = ARENA_ARRAY(&tx->arena, Call *, count);
    size_t submit_count = 0;
    for (size_t i = 0; i < count; i++) {
        const ResponseCall *with = calls[i]->with;
        if (!with->submit)
            continue;
        submitting[submit_count] = calls[i];
        submits[submit_count++] = with->submit;
    }
    QueueOpened *rows;
    if (submit_count > 0 && submit_count < count) {
        size_t all = looks_of(tx, calls, count, true, &rows);
        queue_lock(tx, rows, all);
    }
    if (submit_count > 0)
        TRY(submits_write(tx, submits, submit_count, error));
    for (size_t i = 0; i < submit_count; i++)
        refuse(submitting[i]);
    size_t looks = looks_of(tx, calls, count, false, &rows);
    if (looks > 0)
        queue_open(tx, rows, looks);
    return ERR_OK;
}

static void tell_taken(Call *call)
{
    const ResponseCall *with = call->with;
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_put_id(json, S("responseId"), submit_response(with->submit));
    json_put_time(json, S("completedAt"), with->submit->given.at);
    json_close(json, '}');
}

static Err tell_written(Call *call, Error *error)
{
    const ResponseCall *with = call->with;
    if (!with->submit && !with->is_form)
        call->reply = (Reply){ .status = 204 };
    else if (!with->submit)
        survey_page_tell(call, with->status, with->page, with->language);
    else if (!with->is_form)
        tell_taken(call);
    else if (!survey_page_refuse(call, &with->invitation, with->submit->err, with->language))
        return fail(error, with->submit->err, "%s", with->submit->error.detail);
    return ERR_OK;
}

const RouteSet response_set = {
    .weigh = weigh,
    .decide = decide,
    .write = write_responses,
    .answer = tell_written,
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
