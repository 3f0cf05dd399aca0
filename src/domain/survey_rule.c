#include "domain/survey.h"

// The rules of a survey: what a version of it makes of its triggers and subscribers.

// Stored is a subscriber's definition.
typedef struct Stored {
    Trigger trigger;
} Stored;

// clang-format off
#define AT(member) .offset = offsetof(Stored, member)
static const Field fields[] = {
    { "id", FIELD_KEY, FIELD_NEEDED, AT(trigger.rule.id), .max = SUBSCRIBER_ID_MAX },
    { "channel", FIELD_KEY, FIELD_NEEDED, AT(trigger.channel), .max = CHANNEL_KEY_MAX },
    { "templateId", FIELD_TEXT, FIELD_NEEDED, AT(trigger.template_id), .max = TEMPLATE_ID_MAX },
    { "filter", FIELD_FILTER, AT(trigger.filter) },
    { "retry", FIELD_OBJECT, AT(trigger.rule.retry), .given = offsetof(Stored, trigger.rule.has_retry), .inside = &retry_shape },
    TRIGGER_SURVEY(Stored),
};
#undef AT
// clang-format on

static const Shape stored_shape = {
    "StoredSubscriber",
    SHAPE_ROWS(fields),
    .size = sizeof(Stored),
    .invalid = ERR_SURVEY_INVALID,
};

Err subscriber_parse(Arena *arena, Str body, Trigger *ret, Error *error)
{
    const Json *json;
    Stored stored = { .trigger = trigger_usual(RULE_SUBSCRIBER) };
    TRY(json_parse(arena, body, &json, error));
    TRY(fields_read(arena, json, S(""), &stored_shape, &stored, error));
    stored.trigger.address_path = STR_NONE; // who answered is not who is told of it
    *ret = stored.trigger;
    return ERR_OK;
}

// Writing is a version of a survey on its way into rules.
typedef struct Writing {
    Arena *arena;
    const Survey *survey;
    int64_t version;
    SurveyRule *rules;
    size_t count;
} Writing;

// put_own opens a definition with what Peal gives it.
static void put_own(const Writing *writing, JsonOut *out, Str id)
{
    json_open(out, '{');
    json_put_str(out, S("id"), id);
    json_put_str(out, S("survey"), writing->survey->id);
    json_put_i64(out, S("surveyVersion"), writing->version);
}

// put_given copies a member, where it is there.
static void put_given(const Writing *writing, JsonOut *out, const Json *source, Str member)
{
    const Json *value = json_get(source, member);
    if (value)
        json_put_raw(out, member, json_text(writing->arena, value));
}

static void add_trigger(Writing *writing, const SurveyTrigger *trigger)
{
    const Survey *survey = writing->survey;
    Str id = STR_JOIN(writing->arena, survey->id, S(":"), trigger->trigger.rule.id);
    Buf text = buf_new(writing->arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    put_own(writing, &out, id);
    if (!trigger->trigger.template_id.at)
        json_put_str(&out, S("templateId"), survey_template_id(survey));
    json_put_bool(&out, S("awaitAnswer"), true);
    for (JsonIter it = json_each(trigger->source); json_next(&it);)
        if (!str_eq(it.key, S("id")) && !str_eq(it.key, S("awaitAnswer")) &&
            !str_eq(it.key, S("subscribers")))
            json_put_raw(&out, it.key, json_text(writing->arena, it.value));
    json_close(&out, '}');
    writing->rules[writing->count++] = (SurveyRule){ .kind = RULE_TRIGGER,
                                                     .id = id,
                                                     .trigger = trigger->trigger.rule.id,
                                                     .channel = trigger->trigger.channel,
                                                     .body = buf_str(&text) };
}

// add_subscriber writes one of a trigger's, or of the survey's own where that is none.
static void add_subscriber(Writing *writing, Str trigger, const Subscriber *subscriber)
{
    Arena *arena = writing->arena;
    Str owner = writing->survey->id;
    if (trigger.at)
        owner = STR_JOIN(arena, owner, S(":"), trigger);
    Str id = STR_JOIN(arena, owner, S(":"), subscriber->key);
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    put_own(writing, &out, id);
    json_put_str(&out, S("channel"), subscriber->key);
    json_put_str(&out, S("templateId"), survey_template_id(writing->survey));
    put_given(writing, &out, subscriber->source, S("filter"));
    put_given(writing, &out, subscriber->source, S("retry"));
    json_close(&out, '}');
    writing->rules[writing->count++] = (SurveyRule){ .kind = RULE_SUBSCRIBER,
                                                     .id = id,
                                                     .trigger = trigger,
                                                     .channel = subscriber->key,
                                                     .body = buf_str(&text) };
}

size_t survey_rules(Arena *arena, const Survey *survey, int64_t version, SurveyRule **ret)
{
    Writing writing = { .arena = arena, .survey = survey, .version = version };
    size_t room = survey->trigger_count + survey->subscriber_count;
    for (size_t i = 0; i < survey->trigger_count; i++)
        room += survey->triggers[i].subscriber_count;
    writing.rules = ARENA_ARRAY(arena, SurveyRule, room + 1);
    for (size_t i = 0; i < survey->trigger_count; i++)
        add_trigger(&writing, &survey->triggers[i]);
    for (size_t i = 0; i < survey->subscriber_count; i++)
        add_subscriber(&writing, STR_NONE, &survey->subscribers[i]);
    for (size_t i = 0; i < survey->trigger_count; i++)
        for (size_t k = 0; k < survey->triggers[i].subscriber_count; k++)
            add_subscriber(&writing, survey->triggers[i].trigger.rule.id,
                           &survey->triggers[i].subscribers[k]);
    assert(writing.count == room);
    *ret = writing.rules;
    return room;
}
