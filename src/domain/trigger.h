// trigger.h - event kind + filter + dedup recipe + plan + channel; compiled from its JSON.
//
// One that names a provider listens to what that brings (provided.h): the kind of its events is
// <provider>.<type>, its filter asks for integration, source and config too, and it fires once for
// each dedup key that the provider gives. One that names an automation sends through no channel of
// its own: what it makes are runs of that automation, by its name (store/registry.h).
//
// It is also the compiled form of every other kind of rule (rule.h: rule_parse); rule.kind tells
// which it was.
//
// trigger_compile() refuses unknown members, bad durations and bad filters, each with its place.
// trigger_decide() is what one trigger makes of one event: pure, and the only place that says so.
#pragma once

#include "base/crypto.h"
#include "domain/decision.h"
#include "domain/event.h"
#include "domain/filter.h"
#include "domain/rule.h"

enum { TRIGGER_ID_MAX = 100, CHANNEL_KEY_MAX = 100 };

typedef struct Template Template;
typedef struct Job Job;
typedef struct ProvidedType ProvidedType;

// TriggerList is what a list says of itself (list.h).
typedef struct TriggerList {
    Str name;            // of one line
    const Str *channels; // keys
    size_t channel_count;
    bool shows_targets;  // to each other
    const Json *targets; // as they were given; they are stored elsewhere
} TriggerList;

// TriggerFeed is where a provider's events come from, and which of them it asks for.
typedef enum TriggerWay { TRIGGER_BY_WEBHOOK, TRIGGER_BY_POLLING } TriggerWay;
#define TRIGGER_INTERVAL_MIN ((Span) 10 * SPAN_SECOND)

typedef struct TriggerFeed {
    const ProvidedType *type; // NULL: no provider's
    Str integration, source;  // those alone; none: all
    const Json *config;       // what it asks for; NULL
    TriggerWay way;
    Span interval;       // of polls; 0: as the provider's usually are
    bool emits_existing; // the first poll tells of what is there
} TriggerFeed;

typedef struct Trigger {
    Rule rule;
    const Template *template; // what it says (template.h); NULL where rule is no template
    const Job *job;           // what it runs (job.h); NULL where rule is no job
    Str request;              // of a person who asks for it to be sent again; none
    bool enabled;
    Str event_kind;
    Str template_id; // defaults to the id
    const Filter *filter;
    const Str *dedup; // paths
    size_t dedup_count;
    Str channel;    // none: it runs an automation
    Str automation; // that it runs; none
    TriggerFeed feed;
    Str address_path, locale_path;
    Str cancel_kind;         // cancelOn.eventKind; none: no cancelOn
    const Str *cancel_match; // paths
    size_t cancel_match_count;
    const Filter *cancel_filter;
    TriggerList list; // of a list alone
    Str survey;       // whose version made it (survey.h), a trigger or a subscriber; none
    int64_t survey_version;
} Trigger;

// TRIGGER_ROWS are the rows that a trigger has wherever it stands, of a struct whose first member
// is trigger; shown is FIELD_ALWAYS where "enabled" is shown though nobody said it. TRIGGER_SURVEY
// are those that only the publishing of a survey gives. What is awaited follows from the schedule,
// unless it is said: so that stands first. The members of cancelOn lie in the trigger itself.
// clang-format off
#define TRIGGER_ROWS(Type, shown)                                                                                        \
    { "enabled", FIELD_BOOL, shown, .offset = offsetof(Type, trigger.enabled), .help = "a disabled one makes no deliveries" }, \
    { "templateId", FIELD_TEXT_OR_NUMBER, .offset = offsetof(Type, trigger.template_id), .max = TEMPLATE_ID_MAX, .help = "its id unless said; in a survey the survey's integrationId, else its id" }, \
    { "filter", FIELD_FILTER, .offset = offsetof(Type, trigger.filter) },                                                \
    { "dedupRecipe", FIELD_LIST, .offset = offsetof(Type, trigger.dedup), .count = offsetof(Type, trigger.dedup_count),    \
      .min = 1, .max = DEDUP_PATHS_MAX, .of = &trigger_path, .help = "paths whose values say that two events are the same" }, \
    { "schedule", FIELD_OBJECT, .offset = offsetof(Type, trigger.rule.plan), .inside = &plan_shape },                    \
    { "awaitAnswer", FIELD_BOOL, .offset = offsetof(Type, trigger.rule.plan.await_answer),                               \
      .help = "whether the delivery waits for an answer; true where there are reminders, and in a survey" },           \
    { "expireAfter", FIELD_SPAN, .offset = offsetof(Type, trigger.rule.plan.expire_after), .min = SPAN_SECOND, .max = DURATION_MAX, \
      .help = "how long after its last send; 30d unless said" },                                                       \
    { "retry", FIELD_OBJECT, .offset = offsetof(Type, trigger.rule.retry), .given = offsetof(Type, trigger.rule.has_retry), \
      .inside = &retry_shape, .help = "the channel's unless said" },                                                   \
    { "cancelOn", FIELD_OBJECT, .inside = &cancel_shape, .help = "an event that calls its deliveries off" },           \
    { "address", FIELD_PATH, .offset = offsetof(Type, trigger.address_path), .help = "recipient.address unless said" },  \
    { "locale", FIELD_PATH, .offset = offsetof(Type, trigger.locale_path), .help = "recipient.locale unless said" }
#define TRIGGER_SURVEY(Type)                                                                                             \
    { "survey", FIELD_KEY, FIELD_OURS, .offset = offsetof(Type, trigger.survey), .max = TRIGGER_ID_MAX,                  \
      .help = "the survey that it is of; it is edited there" },                                                        \
    { "surveyVersion", FIELD_COUNT, FIELD_OURS, .offset = offsetof(Type, trigger.survey_version), .min = 1, .max = INT64_MAX, \
      .help = "the version of the survey that its deliveries ask for" }
// clang-format on
enum { TEMPLATE_ID_MAX = 200 };
extern const Field trigger_path;

// trigger_usual is a trigger of which nothing is said.
Trigger trigger_usual(RuleKind kind);

extern const Shape trigger_shape;
extern const Shape cancel_shape; // reads cancelOn into a Trigger

// trigger_compile reads the definition; strings are kept by reference, so json must live as long
// as the trigger. ERR_TRIGGER_INVALID lists every problem found.
Err trigger_compile(Arena *arena, const Json *json, Trigger *ret, Error *error) MUST_USE;

// trigger_parse is trigger_compile for the text of a definition, which must live as long.
Err trigger_parse(Arena *arena, Str body, Trigger *ret, Error *error) MUST_USE;

// trigger_polls: its provider is to be polled for it. A push of Gmail's says only that there is
// something, so those triggers poll whichever way they name.
bool trigger_polls(const Trigger *trigger);

// Decision says what became of the pair. For CREATED the rest describes the delivery to make; the
// store may still turn it into DUPLICATE when the key is taken.
typedef struct Decision {
    const Trigger *trigger;
    DecisionKind kind;
    DecisionReason reason;
    int leaf; // of the filter, where that decided; -1
    bool has_key;
    Sha256 key;
    int64_t lane; // the rule's; of a run that is an automation's, whoever decides looks it up
    Instant due_at;
    Str address, locale, customer_ref;
} Decision;

// trigger_key is the dedup key that its recipe makes of an event, or template_key(); false where
// there is none. Its scope is trigger_key_scope().
bool trigger_key(Arena *scratch, const Trigger *trigger, const Event *event, Sha256 *ret);
int64_t trigger_key_scope(const Trigger *trigger);

// trigger_is_run: its deliveries are runs, of a job or an automation.
bool trigger_is_run(const Trigger *trigger);

Decision trigger_decide(Arena *arena, const Trigger *trigger, const Event *event, Instant now);

// miss_of is a decision that made nothing as it is kept (decision.h).
Miss miss_of(const Decision *decision);
