#include "api/surveys.h"

#include "domain/survey.h"
#include "store/survey.h"

#define ALWAYS FIELD_ALWAYS

// clang-format off
static const Field warning_row = { NULL, FIELD_TEXT };
static const Field published_rows[] = {
    { "version",     FIELD_COUNT, ALWAYS, .help = "Counts publishes from 1" },
    { "publishedAt", FIELD_TIME,  ALWAYS, .help = "When that version was made: now, unless the draft is what it was" },
    { "isNew",       FIELD_BOOL,  ALWAYS, .help = "False: the draft is what the last version said" },
    { "triggers",    FIELD_LIST,  ALWAYS, .of = &warning_row, .help = "The ids of its triggers, as /v1/triggers has them" },
    { "warnings",    FIELD_LIST,  0, .of = &warning_row },
};
const Shape survey_published_shape = { .name = "SurveyPublished", SHAPE_ROWS(published_rows) };

#define VERSION_ROWS                                                                                                   \
    { "version",     FIELD_COUNT, ALWAYS },                                                                            \
    { "draft",       FIELD_COUNT, ALWAYS, .help = "The version of the draft that it was made of" },                    \
    { "publishedAt", FIELD_TIME,  ALWAYS }
static const Field version_rows[] = { VERSION_ROWS };
const Shape survey_version_shape = { .name = "SurveyVersion", SHAPE_ROWS(version_rows) };
static const Field version_whole_rows[] = {
    VERSION_ROWS,
    { "survey", FIELD_OBJECT, ALWAYS, .help = "As it was published" },
};
const Shape survey_version_whole_shape = { .name = "SurveyVersionWhole", SHAPE_ROWS(version_whole_rows) };
// clang-format on

// Keys are those of the channels that a survey names.
typedef struct Keys {
    Str *all;
    size_t count;
} Keys;

// warn_of_channels warns of those that are not there, of each once.
static Err warn_of_channels(Edit *edit, const Keys *keys, Error *error)
{
    for (size_t i = 0; i < keys->count; i++) {
        size_t first = 0;
        while (!str_eq(keys->all[first], keys->all[i]))
            first++;
        if (first == i && keys->all[i].at)
            TRY(edit_warn_of_missing(edit, &definition_channel, keys->all[i], error));
    }
    return ERR_OK;
}

// Told is what became of a publish.
typedef struct Told {
    SurveyPublished published;
    const EditWarning *warnings;
    size_t warning_count;
} Told;

static Err tell_published(Call *call, Error *error)
{
    const Told *told = call->with;
    (void) error;
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_put_i64(json, S("version"), told->published.version);
    json_put_time(json, S("publishedAt"), told->published.at);
    json_put_bool(json, S("isNew"), told->published.is_new);
    json_key(json, S("triggers"));
    json_open(json, '[');
    for (size_t i = 0; i < told->published.rule_count; i++)
        if (told->published.rules[i].kind == RULE_TRIGGER)
            json_add_str(json, told->published.rules[i].id);
    json_close(json, ']');
    json_key(json, S("warnings"));
    json_open(json, '[');
    for (size_t i = 0; i < told->warning_count; i++)
        json_add_str(json, told->warnings[i].message);
    json_close(json, ']');
    json_close(json, '}');
    return ERR_OK;
}

Err survey_publish_post(Call *call, Tx *tx, Error *error)
{
    Told *told = ARENA_NEW(call->arena, Told);
    SurveyPublished *published = &told->published;
    Edit edit = edit_of(call, tx);
    TRY(survey_publish(tx, call->tenant, edit.id, edit.expected, published, error));
    // The transaction's arena is gone when it is told.
    SurveyRule *rules = ARENA_ARRAY(call->arena, SurveyRule, published->rule_count + 1);
    Keys keys = { ARENA_ARRAY(call->arena, Str, published->rule_count + 1), published->rule_count };
    for (size_t i = 0; i < published->rule_count; i++) {
        keys.all[i] = published->rules[i].channel;
        rules[i].kind = published->rules[i].kind;
        rules[i].id = str_dup(call->arena, published->rules[i].id);
    }
    TRY(warn_of_channels(&edit, &keys, error));
    told->warnings = edit.warnings;
    told->warning_count = edit.warning_count;
    published->rules = rules;
    call->with = told;
    call_later(call, tell_published);
    return ERR_OK;
}

static void put_version(JsonOut *json, const SurveyRow *row)
{
    json_open(json, '{');
    json_put_i64(json, S("version"), row->version);
    json_put_i64(json, S("draft"), row->draft);
    json_put_time(json, S("publishedAt"), row->published_at);
    if (row->body.at)
        json_put_stored(json, S("survey"), row->body);
    json_close(json, '}');
}

Err survey_exists(const Call *call, Db *db, Str id, Error *error)
{
    SurveyHead head = { .survey = id };
    Definition unused;
    TRY(surveys_look(db, call->arena, call->tenant, &head, 1, error));
    if (head.version > 0)
        return ERR_OK;
    return definition_get(db, call->arena, call->tenant, S("survey"), id, &unused, error);
}

Err survey_version_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    SurveyRow *rows;
    Str id = call->params[0];
    TRY(call_walk(call, &walk, error));
    TRY(survey_exists(call, db, id, error));
    TRY(survey_page(db, call->arena, call->tenant, id, &walk, &rows, &seen, error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        put_version(json, &rows[i]);
    page_close(call, &seen);
    return ERR_OK;
}

Err survey_version_show(Call *call, Db *db, Error *error)
{
    SurveyRow row;
    int64_t version;
    if (!str_to_i64(call->params[1], 1, INT64_MAX, &version))
        return fail(error, ERR_NOT_FOUND, "versions are numbers from 1");
    TRY(survey_row(db, call->arena, call->tenant, call->params[0], version, &row, error));
    put_version(call_json(call, 200), &row);
    return ERR_OK;
}

static void add_keys(Keys *keys, const Json *list, Str member)
{
    for (JsonIter it = json_each(list); json_next(&it);)
        keys->all[keys->count++] = json_str(json_get(it.value, member));
}

// survey_touch reads the keys where they stand: a large draft is not compiled twice.
Err survey_touch(Edit *edit, Error *error)
{
    enum { OF_TRIGGER = 1 + SURVEY_SUBSCRIBERS_MAX };
    const Json *triggers = json_get(edit->body, S("triggers"));
    size_t room = json_count(triggers) * OF_TRIGGER + SURVEY_SUBSCRIBERS_MAX;
    Keys keys = { .all = ARENA_ARRAY(edit->call->arena, Str, room) };
    add_keys(&keys, triggers, S("channel"));
    add_keys(&keys, json_get(edit->body, S("subscribers")), S("key"));
    for (JsonIter it = json_each(triggers); json_next(&it);)
        add_keys(&keys, json_get(it.value, S("subscribers")), S("key"));
    return warn_of_channels(edit, &keys, error);
}

// Heads are the newest versions of the surveys of a page.
typedef struct Heads {
    SurveyHead *all;
    size_t count;
} Heads;

Err survey_look(Call *call, Db *db, const Definition *rows, size_t count, const void **ret,
                Error *error)
{
    Heads *heads = ARENA_NEW(call->arena, Heads);
    *heads = (Heads){ ARENA_ARRAY(call->arena, SurveyHead, count + 1), count };
    for (size_t i = 0; i < count; i++)
        heads->all[i].survey = str_dup(call->arena, rows[i].id);
    *ret = heads;
    return surveys_look(db, call->arena, call->tenant, heads->all, count, error);
}

void survey_tell(Call *call, const void *known, Str id)
{
    const Heads *heads = known;
    size_t i = 0;
    while (!str_eq(heads->all[i].survey, id)) {
        i++;
        assert(i < heads->count); // only what was looked at is told of
    }
    const SurveyHead *head = &heads->all[i];
    if (head->version > 0)
        json_put_i64(&call->json, S("publishedVersion"), head->version);
    else
        json_put_null(&call->json, S("publishedVersion"));
    json_put_time(&call->json, S("publishedAt"), head->published_at);
}
