#include "cli/results.h"

#include "cli/output.h"

#define PASSED_COLOR "32"
#define FAILED_COLOR "31"

// Lines of a report begin with a sign (expect.h, play.c).
static const struct {
    char sign;
    const char *color;
} signs[] = { { '-', FAILED_COLOR }, { '+', PASSED_COLOR }, { '!', FAILED_COLOR } };

static const char *color_of(Str line)
{
    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        if (line.len > 0 && line.at[0] == signs[i].sign)
            return signs[i].color;
    return NULL;
}

static void print_painted(Str text, const char *color)
{
    if (color && output_has_color(stdout))
        printf("\033[%sm%.*s\033[0m", color, STR_ARG(text));
    else
        printf("%.*s", STR_ARG(text));
}

void result_print(const Result *result)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str name = output_clean(&arena, result->scenario->name), rest = result->report;
    print_painted(result->is_passed ? S("ok   ") : S("FAIL "),
                  result->is_passed ? PASSED_COLOR : FAILED_COLOR);
    if (result->is_passed)
        printf(" %.*s  (%lld ms)\n", STR_ARG(name), (long long) (result->took / SPAN_MILLISECOND));
    else
        printf(" %.*s  %.*s\n", STR_ARG(name),
               STR_ARG(scenario_place(&arena, result->scenario, S(""))));
    while (rest.len > 0) {
        Str line = str_cut(&rest, '\n');
        printf("    ");
        print_painted(line, color_of(line));
        printf("\n");
    }
    fflush(stdout);
}

// seconds_of is a span with so many digits behind the point as make milliseconds.
static Str seconds_of(Arena *arena, Span span)
{
    return str_format(arena, "%lld.%03lld", (long long) (span / SPAN_SECOND),
                      (long long) (span % SPAN_SECOND / SPAN_MILLISECOND));
}

void results_print(const Results *results)
{
    DEFER(arena_done) Arena arena = { 0 };
    printf("%zu passed, %zu failed (%.*s s)\n", results->passed, results->count - results->passed,
           STR_ARG(seconds_of(&arena, results->took)));
}

static size_t line_of(const Scenario *scenario)
{
    return yaml_line(scenario->part->document, scenario->part->inside);
}

Str results_json(Arena *arena, const Results *results)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_i64(&out, S("passed"), (int64_t) results->passed);
    json_put_i64(&out, S("failed"), (int64_t) (results->count - results->passed));
    json_key(&out, S("scenarios"));
    json_open(&out, '[');
    for (size_t i = 0; i < results->count; i++) {
        const Result *result = &results->at[i];
        json_open(&out, '{');
        json_put_str(&out, S("name"), result->scenario->name);
        json_put_str(&out, S("file"), result->scenario->part->file->path);
        json_put_i64(&out, S("line"), (int64_t) line_of(result->scenario));
        json_put_bool(&out, S("passed"), result->is_passed);
        json_put_i64(&out, S("milliseconds"), result->took / SPAN_MILLISECOND);
        json_put_str(&out, S("report"), result->report);
        json_close(&out, '}');
    }
    json_close(&out, ']');
    json_close(&out, '}');
    return buf_str(&text);
}

// add_xml adds a text; XML has no way to write control characters.
static void add_xml(Buf *out, Str text)
{
    static const struct {
        char c;
        const char *stands;
    } marks[] = { { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" } };
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        const char *stands = (unsigned char) c < ' ' && c != '\n' ? "?" : NULL;
        for (size_t j = 0; j < ARRAY_LEN(marks); j++)
            stands = marks[j].c == c ? marks[j].stands : stands;
        if (stands)
            buf_add(out, str_from(stands));
        else
            buf_add_char(out, c);
    }
}

static void add_attribute(Buf *out, const char *name, Str value)
{
    buf_add_format(out, " %s=\"", name);
    add_xml(out, value);
    buf_add_char(out, '"');
}

static void add_case(Buf *out, Arena *arena, const Result *result)
{
    const Scenario *scenario = result->scenario;
    Str rest = result->report;
    buf_add(out, S("    <testcase"));
    add_attribute(out, "classname", scenario->part->file->name);
    add_attribute(out, "name", scenario->name);
    add_attribute(out, "file", scenario->part->file->path);
    add_attribute(out, "line", str_i64(arena, (int64_t) line_of(scenario)));
    add_attribute(out, "time", seconds_of(arena, result->took));
    if (result->is_passed) {
        buf_add(out, S("/>\n"));
        return;
    }
    buf_add(out, S(">\n      <failure"));
    add_attribute(out, "message", str_cut(&rest, '\n'));
    buf_add_char(out, '>');
    add_xml(out, result->report);
    buf_add(out, S("</failure>\n    </testcase>\n"));
}

Str results_junit(Arena *arena, const Results *results)
{
    Buf out = buf_new(arena, BUF_WHOLE);
    buf_add(&out, S("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite"));
    add_attribute(&out, "name", S("peal test"));
    add_attribute(&out, "tests", str_i64(arena, (int64_t) results->count));
    add_attribute(&out, "failures", str_i64(arena, (int64_t) (results->count - results->passed)));
    add_attribute(&out, "time", seconds_of(arena, results->took));
    buf_add(&out, S(">\n"));
    for (size_t i = 0; i < results->count; i++)
        add_case(&out, arena, &results->at[i]);
    buf_add(&out, S("  </testsuite>\n</testsuites>\n"));
    return buf_str(&out);
}
