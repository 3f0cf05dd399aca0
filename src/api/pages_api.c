#include "api/pages.h"

#include "api/responses.h"
#include "store/definition.h"
#include "store/survey.h"
#include "surveys/language.h"

const Param page_get_params[] = {
    { "lang", PARAM_TEXT, .max = SURVEY_LANGUAGE_MAX, .help = "One of the survey's languages" },
    { 0 },
};

// root is the way from the page to /s/: a form is answered one step further down.
static Str root(const Call *call)
{
    Buf way = buf_new(call->arena, BUF_WHOLE);
    Str rest = str_skip(call->exchange->path, S("/s/").len);
    for (size_t i = 0; i < rest.len; i++)
        if (rest.at[i] == '/')
            buf_add(&way, S("../"));
    return buf_str(&way);
}

// is_person: whoever asks for a page, or sends its form. Whatever asks for JSON is a program. A
// link that was cut off leads nowhere, but a browser says what it likes to read.
static bool is_person(const Call *call)
{
    const Route *route = call->route;
    Str accepts = exchange_header(call->exchange, S("Accept"));
    bool likes_pages = str_contains(accepts, S("text/html"));
    if (!route)
        return likes_pages && str_starts(call->exchange->path, S("/s/"));
    bool is_page = (route->is_visit && route->type && strcmp(route->type, "text/html") == 0) ||
                   (route->else_type && call_is_form(call));
    return is_page && (likes_pages || !str_contains(accepts, S("json")));
}

Str survey_page_language(const Call *call, const Invitation *invitation, Str asked)
{
    LanguageWish wish = { .asked = asked.len ? asked : exchange_query(call->exchange, S("lang")),
                          .accepted = exchange_header(call->exchange, S("Accept-Language")) };
    if (invitation)
        wish.locale = invitation->awaited.promise.locale;
    return language_for(invitation ? &invitation->version->survey : NULL, &wish);
}

// dress_as makes HTML the answer, and says what a browser may do for it.
static void dress_as(Reply *reply, Str html, Str language, Str policy)
{
    const Header headers[] = {
        { S("Content-Security-Policy"), policy },
        { S("Content-Language"), language },
        { S("Referrer-Policy"), S("no-referrer") },
        { S("X-Robots-Tag"), S("noindex") },
    };
    assert(reply->header_count + ARRAY_LEN(headers) <= REPLY_HEADERS_MAX);
    for (size_t i = 0; i < ARRAY_LEN(headers); i++)
        reply->headers[reply->header_count++] = headers[i];
    reply->type = S("text/html; charset=utf-8");
    reply->body = html;
}

static void dress(Reply *reply, Str html, Str language)
{
    dress_as(reply, html, language, S(PAGE_POLICY));
}

void survey_page_tell(Call *call, int status, Str html, Str language)
{
    call->reply = (Reply){ .status = status };
    dress(&call->reply, html, language);
}

static void dress_note(const Call *call, Reply *reply, const Survey *survey, PageNote note,
                       Str language)
{
    Buf html = buf_new(call->arena, BUF_WHOLE);
    page_write_note(&html, &(NotePage){ .note = note,
                                        .survey = survey,
                                        .public_id = call->params[0],
                                        .language = language,
                                        .root = root(call) });
    dress(reply, buf_str(&html), language);
}

static void tell_note(Call *call, int status, const Survey *survey, PageNote note, Str language)
{
    call->reply = (Reply){ .status = status };
    dress_note(call, &call->reply, survey, note, language);
}

static PageNote note_of(int status)
{
    static const struct {
        int status;
        PageNote note;
    } rows[] = {
        { 404, PAGE_NOBODY }, { 410, PAGE_OVER }, { 413, PAGE_TOO_MUCH }, { 429, PAGE_CROWDED }
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].status == status)
            return rows[i].note;
    return status >= 500 ? PAGE_DOWN : PAGE_MISREAD;
}

void survey_page_problem(const Call *call, Reply *reply)
{
    if (is_person(call))
        dress_note(call, reply, NULL, note_of(reply->status),
                   survey_page_language(call, NULL, STR_NONE));
}

// What has no page of its own is told as everywhere else.
bool survey_page_refuse(Call *call, const Invitation *invitation, Err err, Str language)
{
    const Survey *survey = invitation->version ? &invitation->version->survey : NULL;
    bool is_thanked = err == ERR_OK || err == ERR_CONFLICT;
    if (!survey || (!is_thanked && err != ERR_GONE) || (err != ERR_OK && !is_person(call)))
        return false;
    tell_note(call, err_http(err), survey, is_thanked ? PAGE_THANKS : PAGE_OVER, language);
    return true;
}

static void tell_first(Call *call, const Invitation *invitation, Str language)
{
    const Survey *survey = &invitation->version->survey;
    Answers answers = answers_check(call->arena, survey, NULL, ANSWERS_FORM);
    Page page = { .survey = survey,
                  .public_id = call->params[0],
                  .language = language,
                  .root = root(call),
                  .answers = &answers,
                  .turn = turn_first(survey, &answers) };
    Buf html = buf_new(call->arena, BUF_WHOLE);
    page_write(&html, &page);
    survey_page_tell(call, 200, buf_str(&html), language);
}

// tell_page: what was answered says thanks, and is no mistake of who looks again.
static Err tell_page(Call *call, const Invitation *invitation, Error *error)
{
    Str language = survey_page_language(call, invitation, STR_NONE);
    Err err = invitation_may(invitation->awaited.state, error);
    if (err == ERR_OK)
        tell_first(call, invitation, language);
    else if (!survey_page_refuse(call, invitation, err == ERR_CONFLICT ? ERR_OK : err, language))
        return err;
    return ERR_OK;
}

Err page_get(Call *call, Db *db, Error *error)
{
    Writer *writer = call->api->writer;
    Invitation invitation = { 0 };
    Err err = invitation_look(db, call->arena, writer_versions(writer), writer_surveys(writer),
                              call->params[0], &invitation, error);
    if (err != ERR_OK)
        return err;
    err = tell_page(call, &invitation, error);
    invitation_drop(&invitation);
    return err;
}

enum { PREVIEW_LANG, PREVIEW_VERSION, PREVIEW_AT };

// clang-format off
const Param survey_page_params[] = {
    [PREVIEW_LANG]    = { "lang",    PARAM_TEXT, .max = SURVEY_LANGUAGE_MAX, .help = "One of the survey's languages" },
    [PREVIEW_VERSION] = { "version", PARAM_INT, .min = 1, .max = INT64_MAX, .help = "As it was published then; its draft unless said" },
    [PREVIEW_AT]      = { "at",      PARAM_INT, .min = 1, .max = SURVEY_QUESTIONS_MAX, .help = "Where each question has its page: which of them" },
    { 0 },
};
// clang-format on

// A preview runs nothing, sends nothing and is nobody's page but who reads it in a frame of ours.
#define PREVIEW_POLICY                                                                             \
    "sandbox; default-src 'none'; style-src 'self'; form-action 'none'; base-uri 'none'; "         \
    "frame-ancestors 'self'"

static Err find_draft(const Call *call, Db *db, Str *ret, Error *error)
{
    int64_t version;
    Definition draft;
    SurveyRow row;
    Str id = call->params[0];
    if (param_int(call, PREVIEW_VERSION, &version)) {
        TRY(survey_row(db, call->arena, call->tenant, id, version, &row, error));
        *ret = row.body;
        return ERR_OK;
    }
    TRY(definition_get(db, call->arena, call->tenant, S("survey"), id, &draft, error));
    *ret = draft.body;
    return ERR_OK;
}

// preview_turn is the page that is asked for, where each question has its own.
static Turn preview_turn(const Call *call, const Survey *survey, const Answers *answers)
{
    int64_t at;
    Turn turn = turn_first(survey, answers);
    if (survey->paging == SURVEY_ONE_EACH && param_int(call, PREVIEW_AT, &at) &&
        (size_t) at <= survey->question_count)
        turn.at = (size_t) at - 1;
    return turn;
}

Err survey_page_preview(Call *call, Db *db, Error *error)
{
    Str body;
    Survey survey;
    LanguageWish wish = { .accepted = exchange_header(call->exchange, S("Accept-Language")) };
    TRY(find_draft(call, db, &body, error));
    TRY(survey_parse(call->arena, body, &survey, error));
    TRY(survey_check(call->arena, &survey, error));
    param_text(call, PREVIEW_LANG, &wish.asked);
    Answers answers = answers_check(call->arena, &survey, NULL, ANSWERS_FORM);
    Page page = { .survey = &survey,
                  .public_id = S("preview"), // there is no such: ids are longer
                  .language = language_for(&survey, &wish),
                  .root = S("../../../s/"),
                  .answers = &answers,
                  .turn = preview_turn(call, &survey, &answers) };
    Buf html = buf_new(call->arena, BUF_WHOLE);
    page_write(&html, &page);
    call->reply = (Reply){ .status = 200 };
    dress_as(&call->reply, buf_str(&html), page.language, S(PREVIEW_POLICY));
    return ERR_OK;
}

static void tell_asset(Call *call, const char *text, Str type)
{
    call->reply = (Reply){ .status = 200, .type = type, .body = str_from(text) };
    call_header(call, S("Cache-Control"), S("public, max-age=3600"));
    call_reply(call);
}

void page_css_get(Call *call)
{
    tell_asset(call, page_css, S("text/css; charset=utf-8"));
}

void page_js_get(Call *call)
{
    tell_asset(call, page_js, S("text/javascript; charset=utf-8"));
}
