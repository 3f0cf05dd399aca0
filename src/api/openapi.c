#include "api/handlers.h"

// The OpenAPI document is printed from the route table and the table of errors, so that it cannot
// say anything else than they do.

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
#define ROLE_ROW(name, text) [ROLE_##name] = text,
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
    put_query(out, route->params);
    if (route->is_page)
        put_query(out, page_params);
    if (route->keeps_answer)
        put_parameter(out, S("header"), S("Idempotency-Key"),
                      S("The same key with the same request gets the same answer for 24 hours, a "
                        "refusal too, and is done once"),
                      "{\"type\":\"string\",\"minLength\":1,\"maxLength\":200}");
    if (is_method(route, "PUT"))
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

static void put_request(JsonOut *out, const Route *route)
{
    if (route->media == MEDIA_NONE)
        return;
    open_member(out, S("requestBody"), '{');
    open_member(out, S("content"), '{');
    open_member(out, S("application/json"), '{');
    json_put_raw(out, S("schema"), S("{\"type\":\"object\"}"));
    if (route->example)
        json_put_raw(out, S("example"), str_from(route->example));
    json_close(out, '}');
    json_close(out, '}');
    json_close(out, '}');
}

// is_possible tells whether a route can be refused with this status; what holds for every route
// (429, 500, 503 …) is told once, under default.
static bool is_possible(const Route *route, int status)
{
    bool has_body = route->media != MEDIA_NONE;
    switch (status) {
    case 400:
        return has_body || route->is_page;
    case 401:
    case 403:
        return route->roles != ANYONE;
    case 404:
        return str_contains(str_from(route->path), S("{"));
    case 409:
        return route->roles != ANYONE && !is_method(route, "GET");
    case 412:
        return is_method(route, "PUT") || is_method(route, "DELETE");
    case 413:
    case 415:
        return has_body;
    case 422:
        return true; // a query parameter that it does not know
    default:
        return false;
    }
}

// is_first_of is true for the first error with its status: several share one.
static bool is_first_of(size_t row)
{
    for (size_t i = 0; i < row; i++)
        if (errors[i].http == errors[row].http)
            return false;
    return true;
}

static void put_responses(JsonOut *out, Arena *arena, const Route *route)
{
    open_member(out, S("responses"), '{');
    open_member(out, str_format(arena, "%d", route->status), '{');
    json_put_str(out, S("description"), str_from(route->answers));
    if (route->status != 204) {
        open_member(out, S("content"), '{');
        json_put_raw(out, str_from(route->type ? route->type : "application/json"), S("{}"));
        json_close(out, '}');
    }
    json_close(out, '}');
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        if (!is_first_of(i) || !is_possible(route, errors[i].http))
            continue;
        json_key(out, str_format(arena, "%d", errors[i].http));
        put_reference(out, str_format(arena, "#/components/responses/%d", errors[i].http));
    }
    json_key(out, S("default"));
    put_reference(out, S("#/components/responses/problem"));
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
    put_request(out, route);
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
        if (first != i)
            continue;
        open_member(out, str_from(routes[i].path), '{');
        for (size_t k = i; k < route_count; k++)
            if (strcmp(routes[k].path, routes[i].path) == 0)
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
    json_put_str(out, S("description"), S("Anything else that went wrong, told in the same way"));
    put_problem_content(out);
    json_close(out, '}');
    json_close(out, '}');
}

static void put_problem_schema(JsonOut *out)
{
    open_member(out, S("Problem"), '{');
    json_put_str(out, S("type"), S("object"));
    json_put_raw(out, S("required"), S("[\"type\",\"title\",\"status\",\"code\",\"requestId\"]"));
    open_member(out, S("properties"), '{');
    json_put_raw(out, S("type"), S("{\"type\":\"string\",\"format\":\"uri-reference\"}"));
    json_put_raw(out, S("title"), S("{\"type\":\"string\"}"));
    json_put_raw(out, S("status"), S("{\"type\":\"integer\"}"));
    open_member(out, S("code"), '{');
    json_put_str(out, S("type"), S("string"));
    open_member(out, S("enum"), '[');
    for (size_t i = 0; i < ARRAY_LEN(errors); i++)
        if (errors[i].err != ERR_OK)
            json_add_str(out, str_from(errors[i].code));
    json_close(out, ']');
    json_close(out, '}');
    json_put_raw(out, S("detail"), S("{\"type\":\"string\"}"));
    json_put_raw(out, S("errors"),
                 S("{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
                   "\"path\":{\"type\":\"string\"},\"code\":{\"type\":\"string\"},"
                   "\"message\":{\"type\":\"string\"}}}}"));
    json_put_raw(out, S("requestId"), S("{\"type\":\"string\",\"format\":\"uuid\"}"));
    json_close(out, '}');
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
    json_put_raw(out, S("security"), S("[{\"key\":[]}]"));
    put_paths(out, call->arena);
    open_member(out, S("components"), '{');
    json_put_raw(out, S("securitySchemes"),
                 S("{\"key\":{\"type\":\"http\",\"scheme\":\"bearer\"}}"));
    open_member(out, S("schemas"), '{');
    put_problem_schema(out);
    json_close(out, '}');
    put_error_responses(out, call->arena);
    json_close(out, '}');
    json_close(out, '}');
    call_reply(call);
}
