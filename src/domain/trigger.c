#include "domain/trigger.h"

#include "base/time.h"
#include "domain/dedup.h"
#include "domain/definition.h"
#include "domain/provided.h"
#include "domain/run.h"
#include "domain/template.h"
#include "domain/trigger_event.h"

enum { CANCEL_PATHS_MAX = 16 };

const Field trigger_path = { NULL, FIELD_PATH };

static const char *const ways[] = { "webhook", "polling", NULL };

// Source is what a definition says.
typedef struct Source {
    Trigger trigger; // first: cancelOn is read into it
    int provider;    // -1: none
    int way;
    Str type;
} Source;

// clang-format off
#define AT(member) .offset = offsetof(Trigger, member)
#define KIND FIELD_TEXT, .max = EVENT_KIND_MAX
static const Field cancel_fields[] = {
    { "eventKind", KIND, AT(cancel_kind), .flags = FIELD_NEEDED },
    { "kind", KIND, .flags = FIELD_ALSO },
    { "match", FIELD_LIST, FIELD_NEEDED, AT(cancel_match), .count = offsetof(Trigger, cancel_match_count),
      .min = 1, .max = CANCEL_PATHS_MAX, .of = &trigger_path,
      .help = "paths whose values must be those of the event that made the delivery" },
    { "filter", FIELD_FILTER, AT(cancel_filter) },
};
const Shape cancel_shape = { "CancelOn", SHAPE_ROWS(cancel_fields), .size = sizeof(Trigger) };

static const Field count_fields[] = {
#define COUNT_ROW(name, text) { text, FIELD_COUNT, FIELD_SHOWN | FIELD_NEEDED },
    TRIGGER_STATUS_TABLE(COUNT_ROW)
#undef COUNT_ROW
};
static const Shape counts_shape = { "TriggerCounts", SHAPE_ROWS(count_fields) };
static const Field recent_event = { NULL, FIELD_OBJECT, .component = "TriggerEvent" };

static const Field fields[] = {
    { "id", FIELD_KEY, FIELD_NEEDED, AT(rule.id), .max = TRIGGER_ID_MAX },
    { "eventKind", KIND, AT(event_kind), .help = "the events that it listens to, unless it has a provider" },
    { "kind", KIND, .flags = FIELD_ALSO },
    { "channel", FIELD_KEY, AT(channel), .max = CHANNEL_KEY_MAX,
      .help = "the key of the channel that it sends through, unless it has an automation" },
    { "automation", FIELD_KEY, AT(automation), .max = TRIGGER_ID_MAX, .help = "the id of the automation that it runs" },
    { "provider", FIELD_WORD, .offset = offsetof(Source, provider),
      .words = provider_ids, .noun = "a provider", .help = "whose events it listens to" },
    { "type", FIELD_TEXT, .offset = offsetof(Source, type), .max = EVENT_KIND_MAX, .help = "of the provider's events" },
    { "integration", FIELD_KEY, AT(feed.integration), .max = TRIGGER_ID_MAX, .help = "whose events alone it listens to" },
    { "source", FIELD_KEY, AT(feed.source), .max = TRIGGER_ID_MAX, .help = "by which alone they come" },
    { "config", FIELD_OBJECT, AT(feed.config), .help = "what it asks of them, by provider and type (GET /v1/providers)" },
    { "way", FIELD_WORD, .offset = offsetof(Source, way), .words = ways, .noun = "a way", .help = "webhook unless said" },
    { "interval", FIELD_SPAN, AT(feed.interval), .min = TRIGGER_INTERVAL_MIN, .max = SPAN_DAY,
      .help = "how often its integration is polled at least; as is usual for the provider unless said" },
    { "emitExisting", FIELD_BOOL, AT(feed.emits_existing),
      .help = "whether the first poll of its integration tells of what came in the last 30 days; false unless said" },
    TRIGGER_ROWS(Source, FIELD_ALWAYS),
    TRIGGER_SURVEY(Source),
    { "pendingCount", FIELD_COUNT, FIELD_SHOWN, .help = "what it made that is still to be done" },
    { "counts", FIELD_OBJECT, FIELD_SHOWN, .inside = &counts_shape, .help = "what it made, by status, where one of a provider or an automation is shown alone" },
    { "recentEvents", FIELD_LIST, FIELD_SHOWN, .of = &recent_event, .help = "the newest, likewise" },
    DEFINITION_SHOWN,
};
// clang-format on

static void check_type(const Members *members, Source *source)
{
    if (!source->type.at) {
        members_missing(members, "type");
        return;
    }
    source->trigger.feed.type = provided_type((ProviderName) source->provider, source->type);
    if (!source->trigger.feed.type)
        members_note(members, S("type"), "unknown-type",
                     "%s has no events of the type \"%.*s\": see GET /v1/providers",
                     provider_id_text((ProviderName) source->provider),
                     STR_ARG(members_shown(source->type)));
}

// check_polled: what tells of polls stands only beside that way.
static void check_polled(const Members *members, const Source *source)
{
    static const char *const only[] = { "interval", "emitExisting" };
    for (size_t i = 0; i < ARRAY_LEN(only); i++)
        if (source->way != TRIGGER_BY_POLLING && members_get(members, only[i]))
            members_note(members, str_from(only[i]), "bad-value",
                         "stands beside the way polling alone");
}

// check_feed: what tells of a provider's events stands only beside one.
static void check_feed(const Members *members, Source *source)
{
    static const char *const only[] = { "type", "integration", "source",      "config",
                                        "way",  "interval",    "emitExisting" };
    source->trigger.feed.way = (TriggerWay) source->way;
    if (source->provider >= 0) {
        check_type(members, source);
        if (source->trigger.event_kind.at)
            members_note(members, S("eventKind"), "bad-value",
                         "it follows from \"provider\" and \"type\"");
        check_polled(members, source);
        return;
    }
    if (members_get(members, "provider"))
        return; // it is none that there is
    for (size_t i = 0; i < ARRAY_LEN(only); i++)
        if (members_get(members, only[i]))
            members_note(members, str_from(only[i]), "bad-value", "needs \"provider\" beside it");
    if (!members_get(members, "eventKind") && !members_get(members, "kind"))
        members_missing(members, "eventKind");
}

// check says where it listens, and where what it makes goes.
static void check(const Members *members, void *value)
{
    Source *source = value;
    check_feed(members, source);
    bool has_channel = members_get(members, "channel"), runs = members_get(members, "automation");
    if (!has_channel && !runs)
        members_note(members, S("channel"), "missing-member",
                     "\"channel\" or \"automation\" is needed: where does it go?");
    if (has_channel && runs)
        members_note(members, S("channel"), "bad-value",
                     "it is the automation's handler that is sent to");
    if (runs && members_get(members, "retry"))
        members_note(members, S("retry"), "bad-value", "it is the automation's");
}

const Shape trigger_shape = {
    "Trigger",      SHAPE_ROWS(fields), .size = sizeof(Source), .invalid = ERR_TRIGGER_INVALID,
    .check = check,
};

// provided_leaf is the filter that one fact about an event asks for.
static const Json *provided_leaf(Arena *arena, const char *fact, Str value)
{
    const Json *leaf;
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_str(&out, S("path"), str_from(fact));
    json_put_str(&out, S("op"), S("=="));
    json_put_str(&out, S("value"), value);
    json_close(&out, '}');
    Err err = json_parse(arena, buf_str(&text), &leaf, NULL);
    assert(err == ERR_OK);
    return leaf;
}

// join_filter has the trigger's filter ask for what its feed says as well, each told by its place.
// The integration stands first: the sieve picks by what does.
static Err join_filter(Arena *arena, const Json *source, Trigger *trigger, Error *error)
{
    const TriggerFeed *feed = &trigger->feed;
    FilterPart parts[PROVIDED_PARTS_MAX + 3];
    size_t count = 0;
    if (feed->integration.at)
        parts[count++] = (FilterPart){ provided_leaf(arena, "event.topic", feed->integration),
                                       S("/integration"), true };
    if (feed->source.at)
        parts[count++] =
            (FilterPart){ provided_leaf(arena, "event.source", feed->source), S("/source"), true };
    if (feed->config)
        count += provided_parts(arena, feed->type, feed->config, parts + count);
    if (trigger->filter)
        parts[count++] = (FilterPart){ json_get(source, S("filter")), S("/filter"), false };
    return filter_compile_all(arena, parts, count, &trigger->filter, error);
}

// listen completes what listens to a provider's events.
static Err listen(Arena *arena, const Json *source, Trigger *trigger, Error *error)
{
    static const Str dedup_key[] = { S("candidate.dedupKey") };
    const ProvidedType *type = trigger->feed.type;
    trigger->event_kind = str_format(arena, "%s.%s", provider_id_text(type->provider), type->id);
    if (trigger->dedup_count == 0) {
        trigger->dedup = dedup_key;
        trigger->dedup_count = 1;
    }
    return join_filter(arena, source, trigger, error);
}

Trigger trigger_usual(RuleKind kind)
{
    return (Trigger){ .rule = rule_default(kind, STR_NONE),
                      .enabled = true,
                      .address_path = S("recipient.address"),
                      .locale_path = S("recipient.locale") };
}

Err trigger_compile(Arena *arena, const Json *json, Trigger *ret, Error *error)
{
    Error own = { .arena = arena };
    Error *problems = error ? error : &own;
    Source source = { .trigger = trigger_usual(RULE_TRIGGER), .provider = -1 };
    Trigger *trigger = &source.trigger;
    if (fields_note(arena, json, S(""), &trigger_shape, &source, problems) && trigger->feed.type &&
        trigger->feed.config)
        provided_check(arena, trigger->feed.type, trigger->feed.config, S("/config"), problems);
    TRY(error_close(problems, ERR_TRIGGER_INVALID));
    if (!trigger->template_id.at)
        trigger->template_id = trigger->rule.id;
    if (trigger->feed.type)
        TRY(listen(arena, json, trigger, problems));
    *ret = *trigger;
    return ERR_OK;
}

bool trigger_polls(const Trigger *trigger)
{
    const TriggerFeed *feed = &trigger->feed;
    return feed->type &&
           (feed->way == TRIGGER_BY_POLLING || feed->type->provider == PROVIDER_GMAIL);
}

bool trigger_is_run(const Trigger *trigger)
{
    return trigger->automation.at || run_of_rule(trigger->rule.kind);
}

Err trigger_parse(Arena *arena, Str body, Trigger *ret, Error *error)
{
    const Json *json;
    TRY(json_parse(arena, body, &json, error));
    return trigger_compile(arena, json, ret, error);
}

static Decision refuse(const Trigger *trigger, DecisionKind kind, DecisionReason reason, int leaf)
{
    return (Decision){
        .trigger = trigger, .kind = kind, .reason = reason, .leaf = leaf, .due_at = INSTANT_NONE
    };
}

// lacks_key: what a provider gave no key for is like nothing else.
static bool lacks_key(const Trigger *trigger, const Event *event)
{
    if (!trigger->feed.type || trigger->dedup_count != 1)
        return false;
    Found found = event_find(event, trigger->template_id, trigger->dedup[0]);
    return found.type == JSON_ABSENT || found.type == JSON_NULL;
}

bool trigger_key(Arena *scratch, const Trigger *trigger, const Event *event, Sha256 *ret)
{
    if (trigger->template) {
        *ret = template_key(scratch, trigger, event);
        return true;
    }
    if (trigger->dedup_count == 0 || lacks_key(trigger, event))
        return false;
    *ret = dedup_hash(scratch, trigger->dedup, trigger->dedup_count, event, trigger->template_id);
    return true;
}

int64_t trigger_key_scope(const Trigger *trigger)
{
    return trigger->template ? DEDUP_SCOPE_MESSAGE : trigger->rule.number;
}

Decision trigger_decide(Arena *arena, const Trigger *trigger, const Event *event, Instant now)
{
    FilterMiss miss = { .leaf = -1 };
    if (!trigger->enabled)
        return refuse(trigger, DECISION_DISABLED, DECISION_REASON_TRIGGER_DISABLED, -1);
    if (!filter_matches(trigger->filter, event, trigger->template_id, &miss))
        return refuse(trigger, DECISION_FILTERED, DECISION_REASON_FILTER_FALSE, miss.leaf);

    Str template_id = trigger->template_id;
    Decision decision = {
        .trigger = trigger,
        .kind = DECISION_CREATED,
        .reason = DECISION_REASON_MATCHED,
        .leaf = -1,
        .lane = trigger->rule.lane,
        .due_at = plan_first_due(&trigger->rule.plan, event->occurred_at, event->received_at, now),
        .address = event_text_at(arena, event, template_id, trigger->address_path),
        .locale = event_text_at(arena, event, template_id, trigger->locale_path),
        .customer_ref = event_text_at(arena, event, template_id, S("recipient.customerRef")),
    };
    if (decision.address.len > EVENT_ADDRESS_MAX || decision.locale.len > EVENT_ADDRESS_MAX)
        return refuse(trigger, DECISION_FAILED, DECISION_REASON_TOO_LARGE, -1);

    decision.has_key = trigger_key(arena, trigger, event, &decision.key);
    return decision;
}

Miss miss_of(const Decision *decision)
{
    return (Miss){ .rule = decision->trigger->rule.number,
                   .version = decision->trigger->rule.version,
                   .kind = decision->kind,
                   .reason = decision->reason,
                   .leaf = decision->leaf };
}
