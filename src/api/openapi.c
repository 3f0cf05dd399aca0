#include "api/handlers.h"
#include "api/shapes.h"
#include "channels/channel.h"
#include "domain/cloudevent.h"

// The OpenAPI document is printed from the route table, the shapes that its rows name and the table
// of errors, so that it cannot say anything else than they do. A shape is a component by its name,
// with Body behind it for what is taken; a page of it has Page behind it.

typedef struct ErrorRow {
    Err err;
    int http;
    const char *code, *title;
} ErrorRow;

static const ErrorRow errors[] = {
#define ERROR_ROW(name, http, exit, code, title) { ERR_##name, http, code, title },
    ERR_TABLE(ERROR_ROW)
#undef ERROR_ROW
};

static const char *const roles[] = {
#define ROLE_ROW(name, text, purpose) [ROLE_##name] = text,
    ROLE_TABLE(ROLE_ROW)
#undef ROLE_ROW
};

static bool is_method(const Route *route, const char *method)
{
    return strcmp(route->method, method) == 0;
}

static void open_member(JsonOut *out, Str key, char bracket)
{
    json_key(out, key);
    json_open(out, bracket);
}

static void put_reference(JsonOut *out, Str to)
{
    json_open(out, '{');
    json_put_str(out, S("$ref"), to);
    json_close(out, '}');
}

static void add_capitalized(Buf *buf, Str word)
{
    for (size_t i = 0; i < word.len; i++) {
        char c = word.at[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool is_first = i == 0 || word.at[i - 1] == '.' || word.at[i - 1] == '-';
        if (is_letter)
            buf_add_char(buf, is_first && c >= 'a' ? (char) (c - 'a' + 'A') : c);
    }
}

// operation_id turns GET /v1/events/{id}/explain into getEventsByIdExplain.
static Str operation_id(Arena *arena, const Route *route)
{
    Buf id = buf_new(arena, 200);
    for (const char *c = route->method; *c; c++)
        buf_add_char(&id, (char) (*c - 'A' + 'a'));
    Str rest = str_from(route->path);
    while (rest.at) {
        Str word = str_cut(&rest, '/');
        if (str_eq(word, S("v1")))
            continue;
        if (str_starts(word, S("{")))
            buf_add(&id, S("By"));
        add_capitalized(&id, str_starts(word, S("{")) ? str_skip(word, 1) : word);
    }
    return buf_str(&id);
}

static void put_parameter(JsonOut *out, Str in, Str name, Str description, const char *schema)
{
    json_open(out, '{');
    json_put_str(out, S("name"), name);
    json_put_str(out, S("in"), in);
    json_put_bool(out, S("required"), str_eq(in, S("path")));
    if (description.at)
        json_put_str(out, S("description"), description);
    json_put_raw(out, S("schema"), str_from(schema));
    json_close(out, '}');
}

// put_kind writes the schema of a query parameter's value.
static void put_kind(JsonOut *out, const Param *param)
{
    static const char *const types[] = {
        [PARAM_TEXT] = "string", [PARAM_WORD] = "string", [PARAM_BOOL] = "boolean",
        [PARAM_INT] = "integer", [PARAM_TIME] = "string", [PARAM_ID] = "string",
    };
    open_member(out, S("schema"), '{');
    json_put_str(out, S("type"), str_from(types[param->kind]));
    if (param->kind == PARAM_TEXT)
        json_put_i64(out, S("maxLength"), param->max);
    if (param->kind == PARAM_TIME)
        json_put_str(out, S("format"), S("date-time"));
    if (param->kind == PARAM_ID)
        json_put_str(out, S("format"), S("uuid"));
    if (param->kind == PARAM_INT) {
        json_put_i64(out, S("minimum"), param->min);
        json_put_i64(out, S("maximum"), param->max);
    }
    if (param->kind == PARAM_WORD) {
        open_member(out, S("enum"), '[');
        for (size_t i = 0; param->words[i]; i++)
            json_add_str(out, str_from(param->words[i]));
        json_close(out, ']');
    }
    json_close(out, '}');
}

static void put_query(JsonOut *out, const Param *params)
{
    for (size_t i = 0; i < param_count(params); i++) {
        json_open(out, '{');
        json_put_str(out, S("name"), str_from(params[i].name));
        json_put_str(out, S("in"), S("query"));
        json_put_bool(out, S("required"), false);
        json_put_str(out, S("description"), str_from(params[i].help));
        put_kind(out, &params[i]);
        json_close(out, '}');
    }
}

// has_version: what it changes is known by a version, which If-Match may name.
static bool has_version(const Route *route)
{
    return route->definition && !is_method(route, "GET") && !is_method(route, "POST");
}

static void put_parameters(JsonOut *out, const Route *route)
{
    open_member(out, S("parameters"), '[');
    Str rest = str_from(route->path);
    while (rest.at) {
        Str word = str_cut(&rest, '/');
        if (str_starts(word, S("{")))
            put_parameter(out, S("path"), (Str){ word.at + 1, word.len - 2 }, STR_NONE,
                          "{\"type\":\"string\"}");
    }
    const Param *tables[PARAM_TABLES];
    param_tables(route, tables);
    for (size_t i = 0; i < PARAM_TABLES; i++)
        put_query(out, tables[i]);
    if (route->keeps_answer)
        put_parameter(out, S("header"), S("Idempotency-Key"),
                      S("The same key with the same request gets the same answer for 24 hours, a "
                        "refusal too, and is done once"),
                      "{\"type\":\"string\",\"minLength\":1,\"maxLength\":200}");
    if (has_version(route))
        put_parameter(out, S("header"), S("If-Match"),
                      S("The version that was read, as in its ETag; 412 when it has changed"),
                      "{\"type\":\"string\"}");
    json_close(out, ']');
}

static void put_roles(JsonOut *out, const Route *route)
{
    open_member(out, S("x-peal-roles"), '[');
    if (route->roles == SYSTEM) {
        json_add_str(out, S("system"));
    } else if (route->roles != ANYONE) {
        for (size_t i = 1; i < ARRAY_LEN(roles); i++)
            if (i == ROLE_ADMIN || (route->roles & 1u << i) != 0)
                json_add_str(out, str_from(roles[i]));
    }
    json_close(out, ']');
}

static Str component_name(Arena *arena, const Shape *shape, FieldUse use)
{
    return str_format(arena, "%s%s", shape->name, fields_suffix(use));
}

static void put_schema_reference(JsonOut *out, Arena *arena, Str name)
{
    put_reference(out, str_format(arena, "#/components/schemas/%.*s", STR_ARG(name)));
}

static bool needs_any(const Shape *shape)
{
    for (size_t i = 0; i < shape->count; i++)
        if (shape->fields[i].flags & FIELD_NEEDED)
            return true;
    return false;
}

// put_cloudevents tells of the other things that a route which takes any media type takes.
static void put_cloudevents(JsonOut *out, Arena *arena)
{
    Str name = component_name(arena, &cloudevent_shape, FIELDS_TAKEN);
    open_member(out, S("application/cloudevents+json"), '{');
    json_key(out, S("schema"));
    put_schema_reference(out, arena, name);
    json_close(out, '}');
    open_member(out, S("application/cloudevents-batch+json"), '{');
    open_member(out, S("schema"), '{');
    json_put_str(out, S("type"), S("array"));
    json_key(out, S("items"));
    put_schema_reference(out, arena, name);
    json_close(out, '}');
    json_close(out, '}');
}

// use_of says what a route does with its body.
static FieldUse use_of(const Route *route)
{
    return route->media == MEDIA_PATCH ? FIELDS_PATCHED : FIELDS_TAKEN;
}

static void put_media(JsonOut *out, Arena *arena, const Route *route, Str type)
{
    open_member(out, type, '{');
    json_key(out, S("schema"));
    put_schema_reference(out, arena, component_name(arena, route->takes, use_of(route)));
    if (route->example)
        json_put_raw(out, S("example"), str_from(route->example));
    json_close(out, '}');
}

static void put_request(JsonOut *out, Arena *arena, const Route *route)
{
    if (!route->takes)
        return;
    open_member(out, S("requestBody"), '{');
    json_put_bool(out, S("required"), needs_any(route->takes));
    open_member(out, S("content"), '{');
    put_media(out, arena, route, S("application/json"));
    if (route->media == MEDIA_PATCH)
        put_media(out, arena, route, S("application/merge-patch+json"));
    if (route->media == MEDIA_ANY)
        put_cloudevents(out, arena);
    if (route->media == MEDIA_FORM)
        json_put_raw(out, S("application/x-www-form-urlencoded"),
                     S("{\"schema\":{\"type\":\"object\"}}"));
    if (route->media == MEDIA_FILE)
        json_put_raw(out, S("text/csv"), S("{\"schema\":{\"type\":\"string\"}}"));
    json_close(out, '}');
    json_close(out, '}');
}

// is_possible tells whether a route can be refused with this status; what holds for every route
// (429, 500, 503 …) is told once, under default.
static bool is_possible(const Route *route, int status)
{
    bool has_body = route->media != MEDIA_NONE;
    if (route->is_hook) // whose body and query are the provider's, and read by nobody here
        return status == 401 || status == 404 || (status == 413 && has_body);
    switch (status) {
    case 400:
        return has_body || route->is_paged;
    case 401:
    case 403:
        return route->roles != ANYONE;
    case 404:
        return str_contains(str_from(route->path), S("{"));
    case 409:
        return route->roles != ANYONE && !is_method(route, "GET");
    case 412:
        return has_version(route);
    case 413:
    case 415:
        return has_body;
    case 422:
        return !route->takes_query; // a query parameter that it does not know
    default:
        return false;
    }
}

#define OTHER_PROBLEMS "Anything else that went wrong, told in the same way"
#define HTML_CONTENT "{\"schema\":{\"type\":\"string\"}}"

// has_page tells whether a person who is refused here reads a page.
static bool has_page(const Route *route)
{
    return route->else_type ||
           (route->is_visit && route->type && strcmp(route->type, "text/html") == 0);
}

// is_of_page tells whether that is what a route of pages says of a survey.
static bool is_of_page(const Route *route, int status)
{
    return has_page(route) && (status == 404 || status == 410 ||
                               ((status == 409 || status == 422) && route->else_type));
}

// is_first_of is true for the first error with its status: several share one.
static bool is_first_of(size_t row)
{
    for (size_t i = 0; i < row; i++)
        if (errors[i].http == errors[row].http)
            return false;
    return true;
}

// put_usual writes the schema of what a route answers as a rule.
static void put_usual(JsonOut *out, Arena *arena, const Route *route)
{
    if (route->is_page)
        put_schema_reference(out, arena, str_format(arena, "%sPage", route->gives->name));
    else
        put_schema_reference(out, arena, component_name(arena, route->gives, FIELDS_SHOWN));
}

// put_given writes the schema of what a route answers.
static void put_given(JsonOut *out, Arena *arena, const Route *route)
{
    json_key(out, S("schema"));
    if (!route->gives) {
        json_add_raw(out, S("{\"type\":\"string\"}"));
    } else if (route->else_gives) {
        json_open(out, '{');
        open_member(out, S("anyOf"), '[');
        put_usual(out, arena, route);
        put_schema_reference(out, arena, component_name(arena, route->else_gives, FIELDS_SHOWN));
        json_close(out, ']');
        json_close(out, '}');
    } else {
        put_usual(out, arena, route);
    }
}

static void put_response(JsonOut *out, Arena *arena, const Route *route, int status)
{
    open_member(out, str_format(arena, "%d", status), '{');
    json_put_str(out, S("description"), str_from(route->gives ? route->gives->name : "Done"));
    if (status != 204) {
        open_member(out, S("content"), '{');
        open_member(out, str_from(route->type ? route->type : "application/json"), '{');
        put_given(out, arena, route);
        json_close(out, '}');
        if (route->else_type)
            json_put_raw(out, str_from(route->else_type), S(HTML_CONTENT));
        json_close(out, '}');
    }
    json_close(out, '}');
}

// put_refusal tells of a refusal: by its name among all of them, or here, where a person reads a
// page instead.
static void put_refusal(JsonOut *out, Arena *arena, const Route *route, Str name, const char *title)
{
    json_key(out, str_eq(name, S("problem")) ? S("default") : name);
    if (!has_page(route)) {
        put_reference(out, STR_JOIN(arena, S("#/components/responses/"), name));
        return;
    }
    json_open(out, '{');
    json_put_str(out, S("description"), str_from(title));
    json_put_raw(out, S("content"),
                 S("{\"application/problem+json\":"
                   "{\"schema\":{\"$ref\":\"#/components/schemas/Problem\"}},"
                   "\"text/html\":" HTML_CONTENT "}"));
    json_close(out, '}');
}

static void put_responses(JsonOut *out, Arena *arena, const Route *route)
{
    open_member(out, S("responses"), '{');
    put_response(out, arena, route, route->status);
    if (route->other_status)
        put_response(out, arena, route, route->other_status);
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        int status = errors[i].http;
        if (!is_first_of(i) || !(is_possible(route, status) || is_of_page(route, status)))
            continue;
        put_refusal(out, arena, route, str_i64(arena, status), errors[i].title);
    }
    put_refusal(out, arena, route, S("problem"), OTHER_PROBLEMS);
    json_close(out, '}');
}

static void put_operation(JsonOut *out, Arena *arena, const Route *route)
{
    Buf method = buf_new(arena, 20);
    for (const char *c = route->method; *c; c++)
        buf_add_char(&method, (char) (*c - 'A' + 'a'));
    open_member(out, buf_str(&method), '{');
    json_put_str(out, S("operationId"), operation_id(arena, route));
    json_put_str(out, S("summary"), str_from(route->summary));
    put_roles(out, route);
    if (route->roles == ANYONE)
        json_put_raw(out, S("security"), S("[]"));
    put_parameters(out, route);
    put_request(out, arena, route);
    put_responses(out, arena, route);
    json_close(out, '}');
}

// put_paths gathers the rows of the table that share a path.
static void put_paths(JsonOut *out, Arena *arena)
{
    open_member(out, S("paths"), '{');
    for (size_t i = 0; i < route_count; i++) {
        size_t first = 0;
        while (strcmp(routes[first].path, routes[i].path) != 0)
            first++;
        if (first != i || routes[i].is_site || routes[i].is_view)
            continue;
        open_member(out, str_from(routes[i].path), '{');
        for (size_t k = i; k < route_count; k++)
            if (strcmp(routes[k].path, routes[i].path) == 0 && !routes[k].is_site)
                put_operation(out, arena, &routes[k]);
        json_close(out, '}');
    }
    json_close(out, '}');
}

static void put_problem_content(JsonOut *out)
{
    json_put_raw(out, S("content"),
                 S("{\"application/problem+json\":"
                   "{\"schema\":{\"$ref\":\"#/components/schemas/Problem\"}}}"));
}

// put_error_responses has one entry for each status, which names the codes that go with it.
static void put_error_responses(JsonOut *out, Arena *arena)
{
    open_member(out, S("responses"), '{');
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        if (errors[i].err == ERR_OK || !is_first_of(i))
            continue;
        Buf text = buf_new(arena, 2000);
        for (size_t k = i; k < ARRAY_LEN(errors); k++)
            if (errors[k].http == errors[i].http)
                buf_add_format(&text, "%s%s: %s", text.len ? "; " : "", errors[k].code,
                               errors[k].title);
        open_member(out, str_format(arena, "%d", errors[i].http), '{');
        json_put_str(out, S("description"), buf_str(&text));
        put_problem_content(out);
        json_close(out, '}');
    }
    open_member(out, S("problem"), '{');
    json_put_str(out, S("description"), S(OTHER_PROBLEMS));
    put_problem_content(out);
    json_close(out, '}');
    json_close(out, '}');
}

// Component is a schema that some route refers to.
typedef struct Component {
    const Shape *shape;
    FieldUse use;
    bool is_page;
} Component;

typedef struct Components {
    Component *all;
    size_t count;
} Components;

static void note_component(Components *components, const Shape *shape, FieldUse use, bool is_page)
{
    if (!shape)
        return;
    for (size_t i = 0; i < components->count; i++) {
        const Component *other = &components->all[i];
        if (other->shape == shape && other->use == use && other->is_page == is_page)
            return;
        // Two shapes of one name would be one component.
        assert(other->shape == shape || other->use != use ||
               strcmp(other->shape->name, shape->name) != 0);
    }
    components->all[components->count++] = (Component){ shape, use, is_page };
}

static Components components_of_routes(Arena *arena)
{
    Components components = { ARENA_ARRAY(arena, Component, 4 * route_count + 2), 0 };
    note_component(&components, &problem_shape, FIELDS_SHOWN, false);
    note_component(&components, &cloudevent_shape, FIELDS_TAKEN, false);
    for (size_t i = 0; i < route_count; i++) {
        const Route *route = &routes[i];
        note_component(&components, route->takes, use_of(route), false);
        note_component(&components, route->gives, FIELDS_SHOWN, false);
        note_component(&components, route->else_gives, FIELDS_SHOWN, false);
        if (route->is_page)
            note_component(&components, route->gives, FIELDS_SHOWN, true);
    }
    return components;
}

static void put_page_schema(JsonOut *out, Arena *arena, const Shape *shape)
{
    json_open(out, '{');
    json_put_str(out, S("type"), S("object"));
    open_member(out, S("properties"), '{');
    open_member(out, S("items"), '{');
    json_put_str(out, S("type"), S("array"));
    json_key(out, S("items"));
    put_schema_reference(out, arena, component_name(arena, shape, FIELDS_SHOWN));
    json_close(out, '}');
    json_put_raw(out, S("next"),
                 S("{\"description\":\"the cursor of the next page; null: there is none\","
                   "\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}"));
    json_put_raw(out, S("complete"),
                 S("{\"description\":\"false where the page ended before its limit\","
                   "\"type\":\"boolean\"}"));
    json_close(out, '}');
    json_put_raw(out, S("required"), S("[\"items\",\"next\",\"complete\"]"));
    json_put_bool(out, S("additionalProperties"), false);
    json_close(out, '}');
}

// put_config_schema: what a config holds, depends on the channel's type.
static void put_config_schema(JsonOut *out, Arena *arena, FieldUse use)
{
    open_member(out, str_format(arena, "ChannelConfig%s", fields_suffix(use)), '{');
    open_member(out, S("anyOf"), '[');
    for (size_t i = 0; channel_type_at(i); i++)
        fields_schema(out, channel_type_at(i)->config, use);
    json_close(out, ']');
    json_close(out, '}');
}

static void put_schemas(JsonOut *out, Arena *arena)
{
    Components components = components_of_routes(arena);
    open_member(out, S("schemas"), '{');
    for (size_t i = 0; i < components.count; i++) {
        const Component *component = &components.all[i];
        if (component->is_page) {
            json_key(out, str_format(arena, "%sPage", component->shape->name));
            put_page_schema(out, arena, component->shape);
        } else {
            json_key(out, component_name(arena, component->shape, component->use));
            fields_schema(out, component->shape, component->use);
        }
    }
    fields_components(out);
    put_config_schema(out, arena, FIELDS_TAKEN);
    put_config_schema(out, arena, FIELDS_PATCHED);
    put_config_schema(out, arena, FIELDS_SHOWN);
    json_close(out, '}');
}

void openapi_get(Call *call)
{
    JsonOut *out = call_json(call, 200);
    json_open(out, '{');
    json_put_str(out, S("openapi"), S("3.1.0"));
    open_member(out, S("info"), '{');
    json_put_str(out, S("title"), S("Peal"));
    json_put_str(out, S("version"), call->api->version ? str_from(call->api->version) : S("0"));
    json_put_str(out, S("description"),
                 S("x-peal-roles names the roles of a key that may call an operation."));
    json_close(out, '}');
    json_put_raw(out, S("security"), S("[{\"key\":[]},{\"session\":[]}]"));
    put_paths(out, call->arena);
    open_member(out, S("components"), '{');
    json_put_raw(
        out, S("securitySchemes"),
        S("{\"key\":{\"type\":\"http\",\"scheme\":\"bearer\"},"
          "\"session\":{\"type\":\"apiKey\",\"in\":\"cookie\",\"name\":\"peal_session\","
          "\"description\":\"Opened by POST /v1/session; what changes something also sends "
          "Peal-Console: 1\"}}"));
    put_schemas(out, call->arena);
    put_error_responses(out, call->arena);
    json_close(out, '}');
    json_close(out, '}');
    call_reply(call);
}
