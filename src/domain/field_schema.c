#include "domain/field.h"

#include "domain/filter.h"

// The schemas of rows. Bytes of a text are given as its maxLength: a text of more characters has
// more bytes as well.

#define COMPONENT "#/components/schemas/"

const char *fields_suffix(FieldUse use)
{
    static const char *const suffixes[] = {
        [FIELDS_TAKEN] = "Body",
        [FIELDS_PATCHED] = "Patch",
        [FIELDS_FILED] = "File",
        [FIELDS_SHOWN] = "",
    };
    return suffixes[use];
}

static void put_text(JsonOut *out, const char *name, const char *value)
{
    json_put_str(out, str_from(name), str_from(value));
}

static void put_ref(JsonOut *out, const char *component, const char *suffix)
{
    char ref[100];
    snprintf(ref, sizeof ref, COMPONENT "%s%s", component, suffix);
    put_text(out, "$ref", ref);
}

// put_limits writes min and max, where there are any, by the names that the type has for them.
static void put_limits(JsonOut *out, const Field *field, const char *least, const char *most)
{
    if (field->min == field->max)
        return;
    json_put_i64(out, str_from(least), field->min);
    json_put_i64(out, str_from(most), field->max);
}

static void put_string(JsonOut *out, const Field *field, const char *keyword, const char *value)
{
    put_text(out, "type", "string");
    if (field->max > 0) {
        json_put_i64(out, S("minLength"), field->flags & FIELD_EMPTY ? 0 : 1);
        json_put_i64(out, S("maxLength"), field->max);
    }
    if (keyword)
        put_text(out, keyword, value);
}

static void put_words(JsonOut *out, const Field *field)
{
    put_text(out, "type", "string");
    json_key(out, S("enum"));
    json_open(out, '[');
    for (size_t i = (size_t) field->min; field->words[i]; i++)
        json_add_str(out, str_from(field->words[i]));
    json_close(out, ']');
}

static void put_list(JsonOut *out, const Field *field, FieldUse use)
{
    put_text(out, "type", "array");
    put_limits(out, field, "minItems", "maxItems");
    json_key(out, S("items"));
    field_schema(out, field->of, use);
}

// element_of is what a map or a list is of; the elements of a map of secrets are secret.
static Field element_of(const Field *field)
{
    Field element = *field->of;
    element.flags |= field->flags & FIELD_SECRET;
    return element;
}

static void put_map(JsonOut *out, const Field *field, FieldUse use)
{
    Field element = element_of(field);
    put_text(out, "type", "object");
    if (field->max > 0)
        json_put_i64(out, S("maxProperties"), field->max);
    json_key(out, S("additionalProperties"));
    field_schema(out, &element, use);
}

static bool is_in_use(const Field *field, FieldUse use)
{
    unsigned not_in_bodies = FIELD_SHOWN | FIELD_OURS;
    return !(field->flags & (use == FIELDS_SHOWN ? FIELD_TAKEN | FIELD_ALSO : not_in_bodies));
}

// is_required: what has two names is required by neither, and a patch by nothing.
static bool is_required(const Shape *shape, size_t i, FieldUse use)
{
    bool has_other_name = i + 1 < shape->count && shape->fields[i + 1].flags & FIELD_ALSO;
    if (use == FIELDS_SHOWN)
        return shape->fields[i].flags & (FIELD_NEEDED | FIELD_ALWAYS);
    return use != FIELDS_PATCHED && shape->fields[i].flags & FIELD_NEEDED && !has_other_name;
}

static void put_required(JsonOut *out, const Shape *shape, FieldUse use)
{
    bool is_begun = false;
    for (size_t i = 0; i < shape->count; i++) {
        if (!is_in_use(&shape->fields[i], use) || !is_required(shape, i, use))
            continue;
        if (!is_begun) {
            json_key(out, S("required"));
            json_open(out, '[');
            is_begun = true;
        }
        json_add_str(out, str_from(shape->fields[i].name));
    }
    if (is_begun)
        json_close(out, ']');
}

// put_also describes another name of the row above.
static void put_also(JsonOut *out, const Field *also, FieldUse use)
{
    char help[100];
    const Field *named = also;
    while (named->flags & FIELD_ALSO)
        named--;
    snprintf(help, sizeof help, "another name of %s", named->name);
    Field field = *also;
    field.help = help;
    field_schema(out, &field, use);
}

static void put_shape(JsonOut *out, const Shape *shape, FieldUse use)
{
    put_text(out, "type", "object");
    json_key(out, S("properties"));
    json_open(out, '{');
    for (size_t i = 0; i < shape->count; i++) {
        if (!is_in_use(&shape->fields[i], use))
            continue;
        json_key(out, str_from(shape->fields[i].name));
        if (shape->fields[i].flags & FIELD_ALSO)
            put_also(out, &shape->fields[i], use);
        else
            field_schema(out, &shape->fields[i], use);
    }
    json_close(out, '}');
    put_required(out, shape, use);
    json_put_bool(out, S("additionalProperties"), shape->is_open);
}

static void put_object(JsonOut *out, const Field *field, FieldUse use)
{
    if (field->inside) {
        put_shape(out, field->inside, use);
    } else if (field->component) {
        put_ref(out, field->component, fields_suffix(use));
    } else {
        put_text(out, "type", "object");
        json_put_bool(out, S("additionalProperties"), true);
    }
}

// put_kind writes the keywords of the value itself.
static void put_kind(JsonOut *out, const Field *field, FieldUse use)
{
    switch (field->kind) {
    case FIELD_TEXT:
        put_string(out, field, NULL, NULL);
        return;
    case FIELD_TEXT_OR_NUMBER:
        json_put_raw(out, S("type"), S("[\"string\",\"number\"]"));
        return;
    case FIELD_KEY:
        put_string(out, field, "pattern", "^[A-Za-z0-9._:-]+$");
        return;
    case FIELD_PATH:
        put_string(out, &(Field){ .max = MEMBERS_PATH_MAX }, NULL, NULL);
        return;
    case FIELD_URL:
        put_string(out, field, "format", "uri");
        return;
    case FIELD_WORD:
        put_words(out, field);
        return;
    case FIELD_BOOL:
        put_text(out, "type", "boolean");
        return;
    case FIELD_INT:
    case FIELD_COUNT:
        put_text(out, "type", "integer");
        put_limits(out, field, "minimum", "maximum");
        return;
    case FIELD_NUMBER:
        put_text(out, "type", "number");
        put_limits(out, field, "minimum", "maximum");
        return;
    case FIELD_SPAN:
        put_text(out, "type", "string");
        put_text(out, "pattern", "^([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?$");
        return;
    case FIELD_TIME:
        put_text(out, "type", "string");
        put_text(out, "format", "date-time");
        return;
    case FIELD_ID:
        put_text(out, "type", "string");
        put_text(out, "format", "uuid");
        return;
    case FIELD_FILTER:
        put_ref(out, "Filter", "");
        return;
    case FIELD_OBJECT:
        put_object(out, field, use);
        return;
    case FIELD_LIST:
        put_list(out, field, use);
        return;
    case FIELD_MAP:
        put_map(out, field, use);
        return;
    case FIELD_ANY:
        put_text(out, "description", field->help ? field->help : "any JSON");
        return;
    }
    assert(!"there is no other kind");
}

// put_choice writes one of the schemas that the value may keep to.
static void put_choice(JsonOut *out, const Field *field, FieldUse use)
{
    json_open(out, '{');
    put_kind(out, field, use);
    json_close(out, '}');
}

static void put_ref_choice(JsonOut *out, const char *component)
{
    json_open(out, '{');
    put_ref(out, component, "");
    json_close(out, '}');
}

bool field_may_refer(const Field *field)
{
    return field->kind == FIELD_TEXT || field->kind == FIELD_URL ||
           field->kind == FIELD_TEXT_OR_NUMBER;
}

// Choices says what a value may be beside what its kind says.
typedef struct Choices {
    bool has_kind, has_mark, has_null, has_alone, has_reference;
} Choices;

static Choices choices_of(const Field *field, FieldUse use)
{
    bool is_secret = field->flags & FIELD_SECRET && field->kind != FIELD_MAP;
    return (Choices){
        .has_kind = !is_secret || use != FIELDS_SHOWN || field->flags & FIELD_RAW,
        .has_mark = is_secret && use != FIELDS_FILED,
        .has_reference = use == FIELDS_FILED && field_may_refer(field),
        // null takes away what a patch names; what a list is of, it cannot name.
        .has_null = field->flags & FIELD_NULLABLE ||
                    (is_secret && (use == FIELDS_TAKEN || use == FIELDS_FILED)) ||
                    (use == FIELDS_PATCHED && (field->name || is_secret)),
        .has_alone = field->flags & FIELD_ALONE && (!is_secret || use != FIELDS_SHOWN),
    };
}

static void put_choices(JsonOut *out, const Field *field, FieldUse use, Choices choices)
{
    json_key(out, S("anyOf"));
    json_open(out, '[');
    if (choices.has_alone)
        field_schema(out, field->of, use);
    if (choices.has_kind)
        put_choice(out, field, use);
    if (choices.has_mark)
        put_ref_choice(out, "Secret");
    if (choices.has_reference)
        put_ref_choice(out, "Reference");
    if (choices.has_null)
        json_add_raw(out, S("{\"type\":\"null\"}"));
    json_close(out, ']');
}

void field_schema(JsonOut *out, const Field *field, FieldUse use)
{
    Choices choices = choices_of(field, use);
    json_open(out, '{');
    if (field->help && field->kind != FIELD_ANY)
        put_text(out, "description", field->help);
    if (choices.has_mark || choices.has_null || choices.has_alone || choices.has_reference)
        put_choices(out, field, use, choices);
    else
        put_kind(out, field, use);
    json_close(out, '}');
}

void fields_schema(JsonOut *out, const Shape *shape, FieldUse use)
{
    json_open(out, '{');
    if (shape->name)
        put_text(out, "title", shape->name);
    put_shape(out, shape, use);
    json_close(out, '}');
}

void fields_components(JsonOut *out)
{
    json_key(out, S("Filter"));
    filter_schema(out, COMPONENT "Filter");
    json_put_raw(out, S("Secret"),
                 S("{\"title\":\"Secret\",\"description\":\"stands for a secret, which is never "
                   "shown; given back, it leaves the secret as it is\",\"type\":\"object\","
                   "\"properties\":{\"set\":{\"const\":true},\"rotatedAt\":{\"anyOf\":"
                   "[{\"type\":\"string\",\"format\":\"date-time\"},{\"type\":\"null\"}]}},"
                   "\"required\":[\"set\"],\"additionalProperties\":false}"));
}
