#include "cli/scenario.h"

#include "base/time.h"
#include "channels/channel.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/signing.h"
#include "domain/delivery.h"
#include "domain/event.h"
#include "domain/notification.h"
#include "domain/source.h"
#include "domain/survey.h"

enum { NAME_MAX_BYTES = 200, WHEN_MAX = 64 };

static const char *const state_words[] = {
#define STATE_WORD(name, text, ...) text,
    DELIVERY_STATE_TABLE(STATE_WORD)
#undef STATE_WORD
        NULL,
};
static const char *const kind_words[] = { "scenario", NULL };
static const char *const unexpected_words[] = { "fail", "allow", NULL };

const char *scenario_action_text(ScenarioAction action)
{
    static const char *const texts[] = {
#define ACTION_TEXT(name, text) text,
        SCENARIO_ACTION_TABLE(ACTION_TEXT)
#undef ACTION_TEXT
    };
    return texts[action];
}

// clang-format off
static const Field header_row = { NULL, FIELD_TEXT, FIELD_EMPTY, .max = 8192 };
static const Field text_row = { NULL, FIELD_TEXT, FIELD_LINES, .max = SCENARIO_TEXT_MAX };

#define AT(member) .offset = offsetof(MessageWanted, member)
#define MESSAGE_ROWS \
    { "channel", FIELD_KEY, AT(channel), .max = CHANNEL_KEY_MAX, .help = "the channel that it leaves by" }, \
    { "to", FIELD_TEXT_OR_NUMBER, AT(to), .max = EVENT_ADDRESS_MAX, .help = "its recipient's address" }, \
    { "rule", FIELD_KEY, AT(rule), .max = SUBSCRIBER_ID_MAX, .help = "the trigger, template, job or subscriber that made it" }, \
    { "send", FIELD_INT, AT(send), .min = 1, .max = 1000, .help = "1 is the first, 2 the first reminder" }, \
    { "subject", FIELD_TEXT, FIELD_EMPTY | FIELD_LINES, AT(subject), .max = SCENARIO_TEXT_MAX, .help = "its subject, in full" }, \
    { "body", FIELD_TEXT, FIELD_EMPTY | FIELD_LINES, AT(body), .max = SCENARIO_TEXT_MAX, .help = "its text, in full but for line ends at its end" }, \
    { "contains", FIELD_LIST, FIELD_ALONE, AT(contains), .count = offsetof(MessageWanted, contains_count), .min = 1, .max = 100, \
      .of = &text_row, .help = "texts that its subject or body have in them" }, \
    { "payload", FIELD_OBJECT, AT(payload), .help = "what its payload has, among other members" }, \
    { "locale", FIELD_TEXT, AT(locale), .max = EVENT_ADDRESS_MAX }, \
    { "customerRef", FIELD_TEXT_OR_NUMBER, AT(customer_ref), .max = EVENT_ADDRESS_MAX }

static const Field ignored_rows[] = { MESSAGE_ROWS };
static const Field expected_rows[] = {
    MESSAGE_ROWS,
    { "within", FIELD_SPAN, AT(within), .min = 0, .max = SCENARIO_SPAN_MAX, .help = "so much later is as good" },
};
#undef AT
#undef MESSAGE_ROWS
static const Shape ignored_shape = { "ScenarioIgnored", SHAPE_ROWS(ignored_rows), .size = sizeof(MessageWanted) };
static const Shape expected_shape = { "ScenarioExpected", SHAPE_ROWS(expected_rows), .size = sizeof(MessageWanted) };
static const Field ignored_row = { NULL, FIELD_OBJECT, .inside = &ignored_shape };
static const Field expected_row = { NULL, FIELD_OBJECT, .inside = &expected_shape };

#define AT(Type, member) .offset = offsetof(Type, member)
#define WHOSE_ROWS(Type, whose) \
    { "rule", FIELD_KEY, AT(Type, whose rule), .max = SUBSCRIBER_ID_MAX, .help = "the trigger, template, job or subscriber that made it" }, \
    { "channel", FIELD_KEY, AT(Type, whose channel), .max = CHANNEL_KEY_MAX }, \
    { "to", FIELD_TEXT_OR_NUMBER, AT(Type, whose to), .max = EVENT_ADDRESS_MAX, .help = "its recipient's address" }, \
    { "customerRef", FIELD_TEXT_OR_NUMBER, AT(Type, whose customer_ref), .max = EVENT_ADDRESS_MAX }, \
    { "entity", FIELD_TEXT, AT(Type, whose entity), .max = EVENT_ENTITY_MAX }

static const Field delivery_rows[] = {
    WHOSE_ROWS(DeliveryWanted, ),
    { "state", FIELD_WORD, AT(DeliveryWanted, state), .given = offsetof(DeliveryWanted, has_state), .words = state_words,
      .noun = "a state", .help = "the state that each of them is in" },
    { "reason", FIELD_TEXT, AT(DeliveryWanted, reason), .max = 100, .help = "the reason that each of them has" },
    { "count", FIELD_INT, AT(DeliveryWanted, count), .given = offsetof(DeliveryWanted, has_count), .min = 0, .max = 100000,
      .help = "how many there are; at least one unless said" },
};
static const Shape delivery_shape = { "ScenarioDelivery", SHAPE_ROWS(delivery_rows), .size = sizeof(DeliveryWanted) };
static const Field delivery_row = { NULL, FIELD_OBJECT, .inside = &delivery_shape };

static const Field whose_rows[] = { WHOSE_ROWS(DeliveryWanted, ) };
static const Shape whose_shape = { "ScenarioWhose", SHAPE_ROWS(whose_rows), .size = sizeof(DeliveryWanted) };

static const Field answer_rows[] = {
    WHOSE_ROWS(ScenarioAnswer, of.),
    { "answers", FIELD_OBJECT, FIELD_NEEDED, AT(ScenarioAnswer, answers), .help = "by the ids of questions" },
    { "agentId", FIELD_TEXT, AT(ScenarioAnswer, agent), .max = EVENT_ADDRESS_MAX },
};
static const Shape answer_shape = { "ScenarioAnswer", SHAPE_ROWS(answer_rows), .size = sizeof(ScenarioAnswer) };
#undef WHOSE_ROWS

static const Field hook_rows[] = {
    { "source", FIELD_KEY, FIELD_NEEDED, AT(ScenarioHook, source), .max = SOURCE_ID_MAX, .help = "whose path it comes to, and whose secret signs it" },
    { "event", FIELD_TEXT, AT(ScenarioHook, event), .max = 100, .help = "one of the provider's examples (peal hooks send --list): its header, and its body unless that is given" },
    { "headers", FIELD_MAP, AT(ScenarioHook, headers), .max = SIGNED_HEADERS_MAX - 1, .of = &header_row, .help = "beside the content type and the signature" },
    { "body", FIELD_ANY, AT(ScenarioHook, body), .help = "JSON" },
};
static void check_hook(const Members *members, void *value);
static const Shape hook_shape = { "ScenarioHook", SHAPE_ROWS(hook_rows), .size = sizeof(ScenarioHook), .check = check_hook };

static const Field channel_rows[] = {
    { "key", FIELD_KEY, FIELD_NEEDED, AT(ScenarioChannel, key), .max = CHANNEL_KEY_MAX },
    { "config", FIELD_OBJECT, FIELD_NEEDED | FIELD_RAW, AT(ScenarioChannel, config), .inside = &memory_config_shape, .help = "as a memory channel has it" },
};
static const Shape channel_step_shape = { "ScenarioChannel", SHAPE_ROWS(channel_rows), .size = sizeof(ScenarioChannel) };

static const Field step_rows[] = {
    { "at", FIELD_TEXT, AT(ScenarioStep, when), .max = WHEN_MAX,
      .help = "when: +3d12h or +3d 09:00 from the start on, or a time; with the step before it unless said" },
    { "event", FIELD_OBJECT, FIELD_RAW, AT(ScenarioStep, event), .inside = &event_shape, .help = "an event comes in, as it would be posted" },
    { "notify", FIELD_OBJECT, FIELD_RAW, AT(ScenarioStep, notify), .inside = &notification_body_shape, .help = "a notification to a list" },
    { "answer", FIELD_OBJECT, AT(ScenarioStep, answer), .given = offsetof(ScenarioStep, has_answer), .inside = &answer_shape,
      .help = "a survey is answered, by whom the delivery asks" },
    { "complete", FIELD_OBJECT, AT(ScenarioStep, complete), .given = offsetof(ScenarioStep, has_complete), .inside = &whose_shape,
      .help = "the answer to a delivery has come: it is completed" },
    { "cancel", FIELD_OBJECT, AT(ScenarioStep, cancel), .given = offsetof(ScenarioStep, has_cancel), .inside = &whose_shape,
      .help = "a delivery is cancelled" },
    { "run", FIELD_KEY, AT(ScenarioStep, run), .max = TRIGGER_ID_MAX, .help = "a job is run by hand" },
    { "hook", FIELD_OBJECT, AT(ScenarioStep, hook), .given = offsetof(ScenarioStep, has_hook), .inside = &hook_shape,
      .help = "a webhook comes to a source" },
    { "channel", FIELD_OBJECT, AT(ScenarioStep, channel), .given = offsetof(ScenarioStep, has_channel), .inside = &channel_step_shape,
      .help = "from now on a channel answers so: it fails, say" },
    { "expect", FIELD_LIST, FIELD_ALONE, AT(ScenarioStep, expect), .count = offsetof(ScenarioStep, expect_count), .min = 0,
      .max = SCENARIO_WANTED_MAX, .of = &expected_row, .help = "messages that leave at this time" },
    { "deliveries", FIELD_LIST, FIELD_ALONE, AT(ScenarioStep, deliveries), .count = offsetof(ScenarioStep, delivery_count), .min = 1,
      .max = SCENARIO_WANTED_MAX, .of = &delivery_row, .help = "what has become of deliveries by this time" },
};

static void check_step(const Members *members, void *value);
static const Shape step_shape = { "ScenarioStep", SHAPE_ROWS(step_rows), .size = sizeof(ScenarioStep), .check = check_step };
static const Field step_row = { NULL, FIELD_OBJECT, .inside = &step_shape };

static const Field scenario_rows[] = {
    { "kind", FIELD_WORD, FIELD_NEEDED, AT(Scenario, kind), .words = kind_words, .noun = "a kind" },
    { "name", FIELD_TEXT, FIELD_NEEDED, AT(Scenario, name), .max = NAME_MAX_BYTES, .help = "what it shows, in a few words" },
    { "start", FIELD_TEXT, AT(Scenario, start_text), .max = WHEN_MAX, .help = "its first moment; " SCENARIO_START " unless said" },
    { "zone", FIELD_TEXT, AT(Scenario, zone_name), .max = ZONE_NAME_MAX, .help = "whose clocks its times are told by; UTC unless said" },
    { "until", FIELD_TEXT, AT(Scenario, until_text), .max = WHEN_MAX, .help = "its last moment; that of its last step unless said" },
    { "unexpected", FIELD_WORD, AT(Scenario, unexpected), .words = unexpected_words, .noun = "one of these",
      .help = "what becomes of it where a message comes that no step expects; fail unless said" },
    { "ignore", FIELD_LIST, FIELD_ALONE, AT(Scenario, ignore), .count = offsetof(Scenario, ignore_count), .min = 1, .max = 100,
      .of = &ignored_row, .help = "messages that are not looked at, such as those of a job" },
    { "steps", FIELD_LIST, FIELD_NEEDED, AT(Scenario, steps), .count = offsetof(Scenario, step_count), .min = 1, .max = SCENARIO_STEPS_MAX,
      .of = &step_row, .help = "what happens and what is expected, in the order of time" },
};
#undef AT
// clang-format on

const Shape scenario_shape = {
    "Scenario",
    SHAPE_ROWS(scenario_rows),
    .size = sizeof(Scenario),
};

static void check_hook(const Members *members, void *value)
{
    const ScenarioHook *hook = value;
    if (!hook->event.at && !hook->body)
        members_note(members, S("body"), "missing-member", "is missing, and so is event");
}

// check_step sees that a step does one thing: two at one moment are two steps, in an order.
static void check_step(const Members *members, void *value)
{
    ScenarioStep *step = value;
    const bool given[] = {
        [SCENARIO_EVENT] = step->event,       [SCENARIO_NOTIFY] = step->notify,
        [SCENARIO_ANSWER] = step->has_answer, [SCENARIO_COMPLETE] = step->has_complete,
        [SCENARIO_CANCEL] = step->has_cancel, [SCENARIO_RUN] = step->run.at,
        [SCENARIO_HOOK] = step->has_hook,     [SCENARIO_CHANNEL] = step->has_channel,
    };
    for (size_t i = 0; i < ARRAY_LEN(given); i++) {
        if (!given[i])
            continue;
        if (step->action != SCENARIO_NONE)
            members_note(members, str_from(scenario_action_text((ScenarioAction) i)), "bad-value",
                         "is one too many: a step does one thing; write another step");
        step->action = (ScenarioAction) i;
    }
}

// at_wall is when the clocks of a zone first show a wall, or skip it.
static Instant at_wall(const Zone *zone, Instant wall)
{
    ZonePeriod period = zone_period(zone, wall - ZONE_OFFSET_MAX);
    while (period.until < ZONE_FUTURE && wall - period.offset >= period.until)
        period = zone_period(zone, period.until);
    return later(wall - period.offset, period.from);
}

// read_hours reads "09:00" or "09:00:30".
static bool read_hours(Str text, Span *ret)
{
    int64_t hours, minutes, seconds = 0;
    Str rest = text, first = str_cut(&rest, ':'), second = str_cut(&rest, ':');
    if (first.len != 2 || second.len != 2 || !str_to_i64(first, 0, 23, &hours) ||
        !str_to_i64(second, 0, 59, &minutes) ||
        (rest.at && (rest.len != 2 || !str_to_i64(rest, 0, 59, &seconds))))
        return false;
    *ret = hours * SPAN_HOUR + minutes * SPAN_MINUTE + seconds * SPAN_SECOND;
    return true;
}

// read_day reads "2026-03-29" as the wall at which it begins.
static bool read_day(Arena *arena, Str text, Instant *ret)
{
    return text.len == strlen("2026-03-29") &&
           time_parse(str_format(arena, "%.*sT00:00:00Z", STR_ARG(text)), ret);
}

// read_clock reads a day and what the clocks show on it: "2026-03-29 09:00", "+3d 09:00".
static bool read_clock(Arena *arena, const Scenario *scenario, Str text, Instant *ret)
{
    Instant day;
    Span hours, ahead;
    bool is_counted = str_starts(text, S("+"));
    Str rest = is_counted ? str_skip(text, 1) : text;
    Str date = str_cut(&rest, memchr(text.at, ' ', text.len) ? ' ' : 'T');
    if (!rest.at || !read_hours(str_trim(rest), &hours))
        return false;
    if (!is_counted && !read_day(arena, date, &day))
        return false;
    if (is_counted) {
        if (!duration_parse(date, &ahead) || ahead % SPAN_DAY != 0)
            return false;
        Instant wall = scenario->start + zone_period(scenario->zone, scenario->start).offset;
        day = wall - wall % SPAN_DAY + ahead;
    }
    *ret = at_wall(scenario->zone, day + hours);
    return true;
}

static bool read_when(Arena *arena, const Scenario *scenario, Str text, Instant *ret)
{
    Span ahead;
    if (time_parse(text, ret))
        return true;
    if (str_starts(text, S("+")) && duration_parse(str_skip(text, 1), &ahead)) {
        *ret = scenario->start + ahead;
        return true;
    }
    return text.len > 0 && read_clock(arena, scenario, text, ret);
}

// note_when reads the text at a pointer, and notes what is no time.
static void note_when(Arena *arena, const Scenario *scenario, Str text, Str pointer, Instant *ret,
                      Error *error)
{
    if (!read_when(arena, scenario, text, ret))
        error_add(error, pointer, "bad-time",
                  "\"%.*s\" is not a time; write +3d12h, +3d 09:00, 2026-03-29 09:00 or "
                  "2026-03-29T09:00:00+02:00",
                  STR_ARG(members_shown(text)));
}

static void read_start(Arena *arena, Scenario *scenario, Error *error)
{
    Error own = { .arena = arena };
    Str start = scenario->start_text.at ? scenario->start_text : S(SCENARIO_START);
    if (zone_find(scenario->zone_name, &scenario->zone, &own) != ERR_OK)
        error_add(error, S("/zone"), "bad-value", "%s", own.detail);
    if (str_starts(start, S("+")))
        error_add(error, S("/start"), "bad-time", "must be a time by itself, not one after it");
    else
        note_when(arena, scenario, start, S("/start"), &scenario->start, error);
}

// check_when sees that times go forward, and not on for ever.
static void check_when(const Scenario *scenario, Instant before, Instant at, Str pointer,
                       Error *error)
{
    if (at < before)
        error_add(error, pointer, "bad-time", "is before the step above it, or before the start");
    else if (at - scenario->start > SCENARIO_SPAN_MAX)
        error_add(error, pointer, "bad-time", "is more than ten years after the start");
}

static Instant last_of(const ScenarioStep *step)
{
    Instant last = step->at;
    for (size_t i = 0; i < step->expect_count; i++)
        last = later(last, step->at + step->expect[i].within);
    return last;
}

// read_times gives every step its moment.
static void read_times(Arena *arena, Scenario *scenario, Error *error)
{
    read_start(arena, scenario, error);
    Instant before = scenario->start, last = scenario->start;
    for (size_t i = 0; i < scenario->step_count && error->count == 0; i++) {
        ScenarioStep *step = &scenario->steps[i];
        Str pointer = str_format(arena, "/steps/%zu/at", i);
        step->at = before;
        if (step->when.at)
            note_when(arena, scenario, step->when, pointer, &step->at, error);
        check_when(scenario, before, step->at, pointer, error);
        before = step->at;
        last = later(last, last_of(step));
    }
    scenario->until = last;
    if (!scenario->until_text.at || error->count > 0)
        return;
    note_when(arena, scenario, scenario->until_text, S("/until"), &scenario->until, error);
    check_when(scenario, before, scenario->until, S("/until"), error);
}

static int refuse(Arena *arena, const ProjectPart *part, Error *error)
{
    size_t count = error->count < ERROR_PROBLEMS_MAX ? error->count : ERROR_PROBLEMS_MAX;
    for (size_t i = 0; i < count; i++)
        error->problems[i].path = project_part_place(arena, part, error->problems[i].path);
    return output_failure(&(Failure){ .exit = EXIT_INVALID,
                                      .error = S("A scenario cannot be read"),
                                      .problems = error->problems,
                                      .problem_count = count });
}

int scenario_read(Arena *arena, const ProjectPart *part, Scenario *ret)
{
    Scenario scenario = { .zone = zone_utc, .zone_name = S("UTC") };
    Error error = { .arena = arena };
    Err err = fields_read(arena, part->json, S(""), &scenario_shape, &scenario, &error);
    if (err == ERR_OK)
        read_times(arena, &scenario, &error);
    if (error.count > 0)
        return refuse(arena, part, &error);
    scenario.part = part;
    *ret = scenario;
    return EXIT_DONE;
}

Str scenario_place(Arena *arena, const Scenario *scenario, Str pointer)
{
    const ProjectPart *part = scenario->part;
    Str whole = STR_JOIN(arena, part->inside, pointer);
    return str_format(arena, "%.*s:%zu", STR_ARG(part->file->path),
                      yaml_line(part->document, whole));
}

Str scenario_when(Arena *arena, const Scenario *scenario, Instant at)
{
    char buffer[TIME_TEXT_MAX];
    Str local = time_local_text(at, zone_period(scenario->zone, at).offset, buffer);
    Str ahead = duration_text(arena, at - scenario->start);
    return str_format(arena, "%.*s  +%.*s", STR_ARG(local), STR_ARG(ahead));
}
