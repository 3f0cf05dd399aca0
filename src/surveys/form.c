#include "surveys/form.h"

#include "base/percent.h"
#include "domain/answer.h"

// FormAnswer is all that was given under one name.
typedef struct FormAnswer {
    Str id;
    Str *values;
    size_t count, room;
} FormAnswer;

typedef struct FormReading {
    Arena *arena;
    FormAnswer *answers;
    size_t answer_count, field_count;
    Form form;
} FormReading;

// with_plain_ends is text whose lines end with one character: browsers send two.
static Str with_plain_ends(Arena *arena, Str text)
{
    char *at = arena_grow(arena, NULL, 0, text.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] != '\r' || i + 1 == text.len || text.at[i + 1] != '\n')
            at[len++] = text.at[i];
    return (Str){ at, len };
}

// answer_of is where answers of that id are gathered; NULL: there are too many. A browser sends
// those of one name together, so the last is looked at first.
static FormAnswer *answer_of(FormReading *reading, Str id)
{
    for (size_t i = reading->answer_count; i-- > 0;)
        if (str_eq(reading->answers[i].id, id))
            return &reading->answers[i];
    if (reading->answer_count == ANSWERS_MAX)
        return NULL;
    FormAnswer *answer = &reading->answers[reading->answer_count++];
    *answer = (FormAnswer){ .id = id };
    return answer;
}

static void add_value(Arena *arena, FormAnswer *answer, Str value)
{
    if (answer->count == answer->room) {
        size_t room = answer->room ? answer->room * 2 : 1;
        Str *values = ARENA_ARRAY(arena, Str, room);
        if (answer->count > 0)
            memcpy(values, answer->values, answer->count * sizeof *values);
        answer->values = values;
        answer->room = room;
    }
    answer->values[answer->count++] = value;
}

static Err take(FormReading *reading, Str name, Str value, Error *error)
{
    Form *form = &reading->form;
    if (str_starts(name, FORM_ANSWER)) {
        FormAnswer *answer = answer_of(reading, str_skip(name, FORM_ANSWER.len));
        if (!answer)
            return fail(error, ERR_ANSWERS_INVALID,
                        "there are more answers than a survey can ask for");
        add_value(reading->arena, answer, with_plain_ends(reading->arena, value));
    } else if (str_eq(name, FORM_SWITCH)) {
        form->language = value;
        form->is_switched = true;
    } else if (str_eq(name, FORM_LANG) && !form->is_switched) {
        form->language = value;
    } else if (str_eq(name, FORM_AT)) {
        form->at = value;
    } else if (str_eq(name, FORM_END)) {
        form->is_end = true;
    } else if (str_eq(name, FORM_GO)) {
        form->is_back = str_eq(value, FORM_BACK);
    }
    return ERR_OK;
}

static Err read_field(FormReading *reading, Str field, Error *error)
{
    Str name, value, raw = field, raw_name = str_cut(&raw, '=');
    if (field.len == 0)
        return ERR_OK;
    if (++reading->field_count > FORM_FIELDS_MAX)
        return fail(error, ERR_ANSWERS_INVALID, "a form has at most %d fields", FORM_FIELDS_MAX);
    if (!percent_decode(reading->arena, raw_name, true, &name) ||
        !percent_decode(reading->arena, raw, true, &value))
        return fail(error, ERR_MALFORMED, "the form is not well encoded");
    return take(reading, name, value, error);
}

// gathered is the answers as JSON, which is how answers are checked wherever they come from.
static Err gathered(const FormReading *reading, const Json **ret, Error *error)
{
    Buf text = buf_new(reading->arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    for (size_t i = 0; i < reading->answer_count; i++) {
        const FormAnswer *answer = &reading->answers[i];
        json_key(&out, answer->id);
        if (answer->count > 1)
            json_open(&out, '[');
        for (size_t k = 0; k < answer->count; k++)
            json_add_str(&out, answer->values[k]);
        if (answer->count > 1)
            json_close(&out, ']');
    }
    json_close(&out, '}');
    return json_parse(reading->arena, buf_str(&text), ret, error);
}

Err form_read(Arena *arena, Str body, Form *ret, Error *error)
{
    FormReading reading = { .arena = arena,
                            .answers = ARENA_ARRAY(arena, FormAnswer, ANSWERS_MAX) };
    while (body.at)
        TRY(read_field(&reading, str_cut(&body, '&'), error));
    TRY(gathered(&reading, &reading.form.answers, error));
    *ret = reading.form;
    return ERR_OK;
}
