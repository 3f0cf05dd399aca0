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
} Trigger;

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
