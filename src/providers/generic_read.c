#include "base/crypto.h"
#include "providers/generic.h"
#include "providers/read.h"
#include "providers/when.h"

enum { TEXT_MAX = 64 * 1024 };

// x-request-id is not here: proxies make one for every request.
Str generic_id(Arena *arena, const Hook *hook)
{
    static const char *const names[] = {
        "webhook-id",          "svix-id",          "idempotency-key",      "x-idempotency-key",
        "x-webhook-id",        "x-event-id",       "x-delivery-id",        "x-github-delivery",
        "x-gitlab-event-uuid", "x-gitea-delivery", "x-shopify-webhook-id", "linear-delivery",
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        Str id = hook_header_text(hook, str_from(names[i]));
        if (id.len > 0)
            return read_id(arena, id);
    }
    // A CloudEvent's id is one of its source's.
    Str id = hook_header_text(hook, S("ce-id")), source = hook_header_text(hook, S("ce-source"));
    return id.len > 0 ? read_id(arena, STR_JOIN(arena, source, S(" "), id)) : STR_NONE;
}

static Str media_type(const Hook *hook)
{
    Str rest = hook_header_text(hook, S("content-type"));
    return str_trim(str_cut(&rest, ';'));
}

static bool is_json_type(Str type)
{
    Str suffix = S("+json");
    return str_eq_nocase(type, S("application/json")) || str_eq_nocase(type, S("text/json")) ||
           (type.len > suffix.len && str_eq_nocase(str_skip(type, type.len - suffix.len), suffix));
}

// may_be_json is true for types that say nothing.
static bool may_be_json(Str type)
{
    return type.len == 0 || str_eq_nocase(type, S("text/plain")) ||
           str_eq_nocase(type, S("application/octet-stream"));
}

// Body is what a webhook's bytes are.
typedef struct Body {
    const Json *json; // NULL: they are no JSON
    Str context;      // a JSON object
    Str raw;          // none
} Body;

// json_context makes an object of whatever JSON there is.
static Str json_context(Arena *arena, const Json *json)
{
    Str text = json_text(arena, json);
    if (json_type(json) == JSON_OBJECT)
        return text;
    Str name = json_type(json) == JSON_ARRAY ? S("items") : S("value");
    return STR_JOIN(arena, S("{\""), name, S("\":"), text, S("}"));
}

static bool read_json(Arena *arena, Str text, Body *ret)
{
    if (json_parse(arena, text, &ret->json, NULL) != ERR_OK)
        return false;
    ret->context = json_context(arena, ret->json);
    ret->raw = str_trim(text);
    return true;
}

static void read_fields(Arena *arena, Str form, Body *ret)
{
    Str payload;
    if (read_form(arena, form, S("payload"), &payload) && str_starts(payload, S("{")) &&
        read_json(arena, payload, ret))
        return;
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    read_put_form(arena, &out, form);
    json_close(&out, '}');
    ret->context = buf_str(&text);
    if (json_parse(arena, ret->context, &ret->json, NULL) != ERR_OK)
        ret->json = NULL;
}

// read_other tells of a body that is neither JSON nor a form: its text, or how long it is.
static void read_other(Arena *arena, Str type, Str body, Body *ret)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    if (body.len > 0) {
        read_put_text(&out, "contentType", type);
        json_put_i64(&out, S("bytes"), (int64_t) body.len);
        if (str_is_utf8(body))
            json_put_str(&out, S("text"), str_head(body, TEXT_MAX));
    }
    json_close(&out, '}');
    ret->context = buf_str(&text);
}

static Err read_body(Arena *arena, const Hook *hook, Body *ret, Error *error)
{
    Str type = media_type(hook), body = hook->body;
    body = str_starts(body, S("\xef\xbb\xbf")) ? str_skip(body, 3) : body;
    if (str_eq_nocase(type, S("application/x-www-form-urlencoded"))) {
        // curl calls whatever it is given a form.
        if (!str_starts(body, S("{")) || !read_json(arena, body, ret))
            read_fields(arena, body, ret);
    } else if (body.len > 0 && is_json_type(type)) {
        if (!read_json(arena, body, ret))
            return fail(error, ERR_INVALID, "the body is not JSON that can be read");
    } else if (body.len == 0 || !may_be_json(type) || !read_json(arena, body, ret)) {
        read_other(arena, type, body, ret);
    }
    return ERR_OK;
}

Str generic_key(Arena *arena, const Hook *hook, ProviderName provider, Str id)
{
    if (id.len == 0 && hook->body.len > 0) {
        Sha256 hash = sha256(hook->body);
        id = hex_text(arena, hash.b, sizeof hash.b);
    }
    return STR_JOIN(arena, str_from(provider_id_text(provider)), S(":"),
                    id.len > 0 ? id : str_i64(arena, hook->at));
}

// cloud_id is that of a CloudEvent whose attributes stand in the body; none.
static Str cloud_id(Arena *arena, const Json *json)
{
    Str id = read_text(json, "specversion").at ? read_text(json, "id") : STR_NONE;
    return id.at ? read_id(arena, STR_JOIN(arena, read_text(json, "source"), S(" "), id)) : id;
}

static Str first_word(const Json *json, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        Str word = read_word(json, names[i]);
        if (word.len > 0)
            return word;
    }
    return STR_NONE;
}

static Str first_url(const Json *json)
{
    static const char *const names[] = { "url", "html_url", "link", "permalink", "data.url" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        Str url = read_url(read_text(json, names[i]));
        if (url.len > 0)
            return url;
    }
    return STR_NONE;
}

static Instant occurred_at(const Hook *hook, const Json *json)
{
    static const char *const names[] = { "occurredAt", "occurred_at", "timestamp", "time" };
    Instant at = when_text(hook_header_text(hook, S("ce-time")));
    for (size_t i = 0; at == INSTANT_NONE && i < ARRAY_LEN(names); i++)
        at = when_read(read_at(json, names[i]));
    return at;
}

static const char *const type_names[] = { "type", "event", "eventType", "event_type" };
static const char *const title_names[] = { "title",   "subject", "summary",    "name",
                                           "message", "text",    "data.title", "data.name" };
static const char *const id_names[] = { "id", "uuid", "externalId", "data.id" };

Err generic_read(Arena *arena, const Hook *hook, ProviderName provider, Str id, ProviderEvent *ret,
                 Error *error)
{
    Body body = { 0 };
    TRY(read_body(arena, hook, &body, error));
    Str type = READ_FIRST(hook_header_text(hook, S("ce-type")),
                          first_word(body.json, type_names, ARRAY_LEN(type_names)), S("event"));
    id = id.len > 0 ? id : cloud_id(arena, body.json);
    *ret = (ProviderEvent){
        .provider = provider,
        .type = S("event"),
        .provider_type = str_head(type, READ_ID_MAX),
        .occurred_at = occurred_at(hook, body.json),
        .dedup_key = generic_key(arena, hook, provider, id),
        .title = read_title(first_word(body.json, title_names, ARRAY_LEN(title_names))),
        .url = first_url(body.json),
        .external_id = read_id(arena, first_word(body.json, id_names, ARRAY_LEN(id_names))),
        .context = body.context,
        .raw = body.raw,
    };
    return ERR_OK;
}
