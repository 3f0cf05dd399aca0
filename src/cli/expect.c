#include "cli/expect.h"

#include "base/time.h"
#include "cli/output.h"
#include "domain/delivery.h"
#include "domain/notification.h"

enum {
    SHOWN_MAX = 120,     // bytes of a text
    SAME_SHOWN = 3,      // lines at either end of what came as expected
    FIRST_BYTES = 1024,  // what differs is mostly told in these
    DIFFERENCES_MAX = 3, // with so many, or in everything, it is another message
};

// TextMember is a member that is a text, and where it stands in what the server tells.
typedef struct TextMember {
    const char *name;
    size_t offset; // in the struct of what is wanted
    const char *path;
} TextMember;

#define AT(Type, member) offsetof(Type, member)
static const TextMember message_members[] = {
    { "channel", AT(MessageWanted, channel), "channel" },
    { "to", AT(MessageWanted, to), "address" },
    { "rule", AT(MessageWanted, rule), "body/rule/id" },
    { "locale", AT(MessageWanted, locale), "body/locale" },
    { "customerRef", AT(MessageWanted, customer_ref), "body/customerRef" },
};
static const TextMember delivery_members[] = {
    { "rule", AT(DeliveryWanted, rule), "rule/id" },
    { "channel", AT(DeliveryWanted, channel), "channel" },
    { "to", AT(DeliveryWanted, to), "address" },
    { "customerRef", AT(DeliveryWanted, customer_ref), "customerRef" },
    { "entity", AT(DeliveryWanted, entity), "entity" },
};
#undef AT

static Str wanted_text(const void *wanted, const TextMember *member)
{
    Str text;
    memcpy(&text, (const char *) wanted + member->offset, sizeof text);
    return text;
}

static const Json *find(const Json *json, const char *path)
{
    Str rest = str_from(path);
    while (rest.at)
        json = json_get(json, str_cut(&rest, '/'));
    return json;
}

// said_in finds what a message says: by a template, or as a notification says it.
static Str said_in(const Json *message, const char *member)
{
    const Json *body = json_get(message, S("body"));
    Str said = json_str(json_get(body, str_from(member)));
    bool is_notice = str_eq(json_str(json_get(body, S("eventKind"))), NOTIFICATION_KIND);
    if (said.at || !is_notice)
        return said;
    return json_str(json_get(json_get(body, S("payload")), str_from(member)));
}

// has_members: everything that wanted has is in got, whose objects may have more.
static bool has_members(const Json *wanted, const Json *got)
{
    JsonType type = json_type(wanted);
    if (type != json_type(got) || (type == JSON_ARRAY && json_count(wanted) != json_count(got)))
        return false;
    if (type == JSON_STRING)
        return str_eq(json_str(wanted), json_str(got));
    if (type == JSON_BOOL)
        return json_bool(wanted) == json_bool(got);
    if (type == JSON_NUMBER)
        return str_eq(json_number_text(wanted), json_number_text(got)) ||
               json_double(wanted) == json_double(got);
    for (JsonIter it = json_each(wanted); json_next(&it);) {
        const Json *other =
            type == JSON_OBJECT ? json_get(got, it.key) : json_at(got, it.index - 1);
        if (!has_members(it.value, other))
            return false;
    }
    return true;
}

// quoted is a text as one line shows it.
static Str quoted(Arena *arena, Str text)
{
    if (!text.at)
        return S("nothing");
    Str clean = output_clean(arena, text), head = str_head(clean, SHOWN_MAX);
    return str_format(arena, "\"%.*s%s\"", STR_ARG(head), head.len < clean.len ? "…" : "");
}

// json_shown is a value as one line shows it.
static Str json_shown(Arena *arena, const Json *value)
{
    Str clean = output_clean(arena, json_text(arena, value)), head = str_head(clean, SHOWN_MAX);
    return str_format(arena, "%.*s%s", STR_ARG(head), head.len < clean.len ? "…" : "");
}

static void note(Arena *arena, Buf *out, const char *name, Str wanted, Str got)
{
    buf_add_format(out, "%s is %.*s, not %.*s\n", name, STR_ARG(quoted(arena, got)),
                   STR_ARG(quoted(arena, wanted)));
}

static void note_payload(Arena *arena, Buf *out, const Json *wanted, const Json *got)
{
    buf_add_format(out, "payload is %.*s and lacks %.*s\n", STR_ARG(json_shown(arena, got)),
                   STR_ARG(json_shown(arena, wanted)));
}

static Str without_line_ends(Str text)
{
    while (str_ends(text, S("\n")) || str_ends(text, S("\r")))
        text.len--;
    return text;
}

static void note_said(Arena *arena, const MessageWanted *wanted, const Json *message, Buf *out)
{
    Str subject = said_in(message, "subject"), body = said_in(message, "body");
    if (wanted->subject.at && !str_eq(wanted->subject, subject))
        note(arena, out, "subject", wanted->subject, subject);
    if (wanted->body.at && !str_eq(without_line_ends(wanted->body), without_line_ends(body)))
        note(arena, out, "body", wanted->body, body);
    for (size_t i = 0; i < wanted->contains_count; i++) {
        Str part = wanted->contains[i];
        if (!str_contains(subject, part) && !str_contains(body, part))
            buf_add_format(out, "it does not contain %.*s, but says %.*s\n",
                           STR_ARG(quoted(arena, part)),
                           STR_ARG(quoted(arena, body.at ? body : subject)));
    }
}

bool expect_message_differs(Arena *arena, const MessageWanted *wanted, const Json *message,
                            Buf *out)
{
    size_t before = out->len;
    const Json *payload = find(message, "body/payload");
    int64_t send = 0;
    for (size_t i = 0; i < ARRAY_LEN(message_members); i++) {
        Str is = wanted_text(wanted, &message_members[i]);
        Str got = json_str(find(message, message_members[i].path));
        if (is.at && !str_eq(is, got))
            note(arena, out, message_members[i].name, is, got);
    }
    (void) json_i64(json_get(message, S("send")), &send);
    if (wanted->send && wanted->send != send)
        buf_add_format(out, "it is send %lld, not %d\n", (long long) send, wanted->send);
    note_said(arena, wanted, message, out);
    if (wanted->payload && !has_members(wanted->payload, payload))
        note_payload(arena, out, wanted->payload, payload);
    return out->len > before;
}

static bool is_meant(const MessageWanted *wanted, const Json *message)
{
    DEFER(arena_done) Arena scratch = { .first = FIRST_BYTES };
    Buf differences = buf_new(&scratch, BUF_WHOLE);
    return !expect_message_differs(&scratch, wanted, message, &differences);
}

static bool is_ignored(const Scenario *scenario, const Json *message)
{
    for (size_t i = 0; i < scenario->ignore_count; i++)
        if (is_meant(&scenario->ignore[i], message))
            return true;
    return false;
}

// by_text orders messages by what one place of them says.
static int by_text(const Came *a, const Came *b, const char *path)
{
    return str_cmp(json_str(find(a->message, path)), json_str(find(b->message, path)));
}

// by_time orders what came. Within a moment it goes by what is told of them, so that a report is
// the same tomorrow.
static int by_time(const void *a, const void *b)
{
    static const char *const told[] = { "channel", "address", "body/rule/id" };
    const Came *x = a, *y = b;
    int order = (x->at > y->at) - (x->at < y->at);
    for (size_t i = 0; i < ARRAY_LEN(told) && order == 0; i++)
        order = by_text(x, y, told[i]);
    return order;
}

static void take_messages(Arena *arena, const Scenario *scenario, const Json *const *messages,
                          size_t count, Comparison *comparison)
{
    comparison->came = ARENA_ARRAY(arena, Came, count + 1);
    for (size_t i = 0; i < count; i++) {
        Came came = { messages[i], scenario->start, EXPECT_NONE };
        (void) time_parse(json_str(json_get(messages[i], S("at"))), &came.at);
        if (!is_ignored(scenario, messages[i]))
            comparison->came[comparison->came_count++] = came;
    }
    qsort(comparison->came, comparison->came_count, sizeof *comparison->came, by_time);
}

static size_t count_expected(const Scenario *scenario)
{
    size_t count = 0;
    for (size_t i = 0; i < scenario->step_count; i++)
        count += scenario->steps[i].expect_count;
    return count;
}

static void take_expectations(Arena *arena, const Scenario *scenario, Comparison *comparison)
{
    comparison->expected = ARENA_ARRAY(arena, Expectation, count_expected(scenario) + 1);
    for (size_t i = 0; i < scenario->step_count; i++) {
        const ScenarioStep *step = &scenario->steps[i];
        for (size_t j = 0; j < step->expect_count; j++)
            comparison->expected[comparison->expected_count++] = (Expectation){
                .wanted = &step->expect[j],
                .at = step->at,
                // One that stands alone has no number: the line is then that of the list's value.
                .pointer = str_format(arena, "/steps/%zu/expect/%zu", i, j),
                .met = EXPECT_NONE,
            };
    }
}

// Pairing looks for a message for an expectation.
typedef struct Pairing {
    Comparison *comparison;
    bool *is_tried; // of each message, in this search
} Pairing;

static bool may_pair(const Expectation *expectation, const Came *came)
{
    return came->at >= expectation->at &&
           came->at <= expectation->at + expectation->wanted->within &&
           is_meant(expectation->wanted, came->message);
}

static bool take(Pairing *pairing, size_t index, size_t message)
{
    pairing->comparison->came[message].meets = index;
    pairing->comparison->expected[index].met = message;
    return true;
}

// pair finds a message for an expectation, one that is free if it can; who has it already looks for
// another (Kuhn).
static bool pair(Pairing *pairing, size_t index)
{
    const Comparison *comparison = pairing->comparison;
    const Expectation *expectation = &comparison->expected[index];
    for (size_t i = 0; i < comparison->came_count; i++)
        if (comparison->came[i].meets == EXPECT_NONE && may_pair(expectation, &comparison->came[i]))
            return take(pairing, index, i);
    for (size_t i = 0; i < comparison->came_count; i++) {
        const Came *came = &comparison->came[i];
        if (came->meets == EXPECT_NONE || pairing->is_tried[i] || !may_pair(expectation, came))
            continue;
        pairing->is_tried[i] = true;
        if (pair(pairing, came->meets))
            return take(pairing, index, i);
    }
    return false;
}

Comparison expect_compare(Arena *arena, const Scenario *scenario, const Json *const *messages,
                          size_t count)
{
    Comparison comparison = { 0 };
    DEFER(arena_done) Arena scratch = { 0 };
    take_messages(arena, scenario, messages, count, &comparison);
    take_expectations(arena, scenario, &comparison);
    for (size_t i = 0; i < comparison.expected_count; i++) {
        arena_reset(&scratch);
        Pairing pairing = { &comparison, ARENA_ARRAY(&scratch, bool, comparison.came_count + 1) };
        (void) pair(&pairing, i);
    }
    return comparison;
}

static size_t count_unmet(const Comparison *comparison)
{
    size_t count = 0;
    for (size_t i = 0; i < comparison->expected_count; i++)
        count += comparison->expected[i].met == EXPECT_NONE;
    return count;
}

static size_t count_others(const Comparison *comparison)
{
    size_t count = 0;
    for (size_t i = 0; i < comparison->came_count; i++)
        count += comparison->came[i].meets == EXPECT_NONE;
    return count;
}

bool expect_is_met(const Scenario *scenario, const Comparison *comparison)
{
    return count_unmet(comparison) == 0 && (scenario->unexpected || count_others(comparison) == 0);
}

static void add_part(Buf *out, Arena *arena, const char *name, Str text)
{
    if (text.at)
        buf_add_format(out, "  %s %.*s", name, STR_ARG(quoted(arena, text)));
}

static void add_where(Buf *out, Str channel, Str to, Str rule)
{
    buf_add_format(out, "%.*s", STR_ARG(channel.at ? channel : S("any channel")));
    if (to.at)
        buf_add_format(out, " to %.*s", STR_ARG(to));
    if (rule.at)
        buf_add_format(out, "  rule %.*s", STR_ARG(rule));
}

static void add_wanted(Buf *out, Arena *arena, const MessageWanted *wanted)
{
    add_where(out, wanted->channel, wanted->to, wanted->rule);
    if (wanted->send)
        buf_add_format(out, "  send %d", wanted->send);
    add_part(out, arena, "subject", wanted->subject);
    add_part(out, arena, "body", wanted->body);
    for (size_t i = 0; i < wanted->contains_count; i++)
        add_part(out, arena, "contains", wanted->contains[i]);
    if (wanted->payload)
        buf_add_format(out, "  payload %.*s", STR_ARG(json_shown(arena, wanted->payload)));
    if (wanted->within)
        buf_add_format(out, "  within %.*s", STR_ARG(duration_text(arena, wanted->within)));
}

static void add_message(Buf *out, Arena *arena, const Json *message)
{
    int64_t send = 0;
    Str subject = said_in(message, "subject"), body = said_in(message, "body");
    add_where(out, json_str(json_get(message, S("channel"))),
              json_str(json_get(message, S("address"))), json_str(find(message, "body/rule/id")));
    (void) json_i64(json_get(message, S("send")), &send);
    if (send > 1)
        buf_add_format(out, "  send %lld", (long long) send);
    add_part(out, arena, "subject", subject);
    add_part(out, arena, "body", body);
    if (!subject.at && !body.at)
        buf_add_format(out, "  payload %.*s",
                       STR_ARG(json_shown(arena, find(message, "body/payload"))));
}

static size_t count_lines(Str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += text.at[i] == '\n';
    return count;
}

// differences_of writes in which way a message that came is not the one that was expected.
static Buf differences_of(Arena *arena, const Scenario *scenario, const Expectation *expectation,
                          const Came *came)
{
    Buf out = buf_new(arena, BUF_WHOLE);
    Instant last = expectation->at + expectation->wanted->within;
    if (came->at < expectation->at || came->at > last)
        buf_add_format(&out, "it came at %.*s\n",
                       STR_ARG(scenario_when(arena, scenario, came->at)));
    (void) expect_message_differs(arena, expectation->wanted, came->message, &out);
    return out;
}

// count_given counts what an expectation says, its time too.
static size_t count_given(const MessageWanted *wanted)
{
    size_t count = 1 + wanted->contains_count + (wanted->send > 0) + (wanted->payload != NULL) +
                   (wanted->subject.at != NULL) + (wanted->body.at != NULL);
    for (size_t i = 0; i < ARRAY_LEN(message_members); i++)
        count += wanted_text(wanted, &message_members[i]).at != NULL;
    return count;
}

// add_nearest tells which message may have been meant, and what is wrong with it.
static void add_nearest(Buf *out, Arena *arena, const Scenario *scenario,
                        const Comparison *comparison, const Expectation *expectation)
{
    DEFER(arena_done) Arena scratch = { 0 };
    Str best = STR_NONE;
    size_t given = count_given(expectation->wanted);
    size_t least = given < DIFFERENCES_MAX ? given : DIFFERENCES_MAX;
    for (size_t i = 0; i < comparison->came_count; i++) {
        const Came *came = &comparison->came[i];
        if (came->meets != EXPECT_NONE)
            continue;
        arena_reset(&scratch);
        Buf found = differences_of(&scratch, scenario, expectation, came);
        size_t count = count_lines(buf_str(&found));
        if (count >= least)
            continue;
        least = count;
        best = str_dup(arena, buf_str(&found));
    }
    while (best.len > 0) {
        Str line = str_cut(&best, '\n');
        buf_add_format(out, "      %.*s\n", STR_ARG(line));
    }
}

static void add_when(Buf *out, Arena *arena, const Scenario *scenario, char sign, Instant at)
{
    buf_add_format(out, "%c %-36.*s  ", sign, STR_ARG(scenario_when(arena, scenario, at)));
}

static void add_expectation(Buf *out, Arena *arena, const Scenario *scenario,
                            const Comparison *comparison, const Expectation *expectation)
{
    add_when(out, arena, scenario, '-', expectation->at);
    add_wanted(out, arena, expectation->wanted);
    buf_add_format(out, "   (%.*s)\n",
                   STR_ARG(scenario_place(arena, scenario, expectation->pointer)));
    add_nearest(out, arena, scenario, comparison, expectation);
}

static void add_came(Buf *out, Arena *arena, const Scenario *scenario, char sign, const Came *came)
{
    add_when(out, arena, scenario, sign, came->at);
    add_message(out, arena, came->message);
    buf_add_char(out, '\n');
}

// Report is one being written: a run of what is as expected is held back until it is known how long
// it is.
typedef struct Report {
    Arena *arena;
    const Scenario *scenario;
    const Comparison *comparison;
    bool is_whole;
    size_t same_from, same; // the run
    Buf *out;
} Report;

static void end_run(Report *report)
{
    size_t cut =
        report->is_whole || report->same <= 2 * SAME_SHOWN + 1 ? 0 : report->same - 2 * SAME_SHOWN;
    for (size_t i = 0, seen = 0; seen < report->same; i++) {
        const Came *came = &report->comparison->came[report->same_from + i];
        if (came->meets == EXPECT_NONE)
            continue;
        seen++;
        if (cut && seen == SAME_SHOWN + 1)
            buf_add_format(report->out, "  … %zu more that came as expected\n", cut);
        if (!cut || seen <= SAME_SHOWN || seen > report->same - SAME_SHOWN)
            add_came(report->out, report->arena, report->scenario, ' ', came);
    }
    report->same = 0;
}

static void report_came(Report *report, size_t index)
{
    const Came *came = &report->comparison->came[index];
    if (came->meets != EXPECT_NONE) {
        report->same_from = report->same ? report->same_from : index;
        report->same++;
        return;
    }
    if (report->scenario->unexpected && !report->is_whole)
        return;
    end_run(report);
    add_came(report->out, report->arena, report->scenario, '+', came);
}

void expect_report(Arena *arena, const Scenario *scenario, const Comparison *comparison,
                   bool is_whole, Buf *out)
{
    Report report = { arena, scenario, comparison, is_whole, 0, 0, out };
    size_t next = 0;
    for (size_t i = 0; i < comparison->expected_count; i++) {
        const Expectation *expectation = &comparison->expected[i];
        if (expectation->met != EXPECT_NONE)
            continue;
        while (next < comparison->came_count && comparison->came[next].at < expectation->at)
            report_came(&report, next++);
        end_run(&report);
        add_expectation(out, arena, scenario, comparison, expectation);
    }
    while (next < comparison->came_count)
        report_came(&report, next++);
    end_run(&report);
}

bool expect_is_whose(const DeliveryWanted *wanted, const Json *delivery)
{
    for (size_t i = 0; i < ARRAY_LEN(delivery_members); i++) {
        Str is = wanted_text(wanted, &delivery_members[i]);
        if (is.at && !str_eq(is, json_str(find(delivery, delivery_members[i].path))))
            return false;
    }
    return true;
}

bool expect_state_is(const DeliveryWanted *wanted, const Json *delivery)
{
    const char *state = delivery_state_text((DeliveryState) wanted->state);
    if (wanted->has_state && !str_eq(str_from(state), json_str(json_get(delivery, S("state")))))
        return false;
    return !wanted->reason.at || str_eq(wanted->reason, json_str(json_get(delivery, S("reason"))));
}

Str expect_whose_text(Arena *arena, const DeliveryWanted *wanted)
{
    Buf out = buf_new(arena, BUF_WHOLE);
    for (size_t i = 0; i < ARRAY_LEN(delivery_members); i++) {
        Str is = wanted_text(wanted, &delivery_members[i]);
        if (is.at)
            buf_add_format(&out, "%s%s %.*s", out.len ? ", " : "", delivery_members[i].name,
                           STR_ARG(is));
    }
    return out.len ? buf_str(&out) : S("any");
}
