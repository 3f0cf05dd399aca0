// posthog.c - PostHog: what its webhook destinations send, and what is captured by others alike.
//
// PostHog signs nothing: its owner writes the headers, so the source's secret itself is one of them
// (X-PostHog-Token, or Authorization: Bearer), or stands in the address (?token=). Who puts
// something in between that signs does it by X-PostHog-Signature, and then the signature counts.
// The body is the owner's as well: an event as an object or by its name, alone, in an array or as a
// batch.
#include "providers/providers.h"
#include "providers/read.h"
#include "providers/sign.h"
#include "providers/when.h"

enum { PROPERTIES_MAX = 64 * 1024, BATCH_MAX = 10000, HASH_DIGITS = 16 };

static const SignForm plain = { HMAC_SHA256, SIGN_HEX, S("x-posthog-signature"), STR_NONE };
static const SignForm prefixed = { HMAC_SHA256, SIGN_HEX, S("x-posthog-signature"), S("sha256=") };

// token_of is the secret as it was sent; a header that is there twice is nobody's.
static HookVerdict token_of(Arena *arena, const Hook *hook, Str *ret)
{
    Str token, bearer = S("Bearer ");
    HookVerdict verdict = sign_given(hook, S("x-posthog-token"), ret);
    if (verdict != HOOK_UNSIGNED)
        return verdict;
    verdict = sign_given(hook, S("authorization"), &token);
    if (verdict == HOOK_VERIFIED && token.len > bearer.len &&
        str_eq_nocase((Str){ token.at, bearer.len }, bearer)) {
        *ret = str_trim(str_skip(token, bearer.len));
        return HOOK_VERIFIED;
    }
    if (verdict == HOOK_TWICE)
        return verdict;
    return read_form(arena, hook->query, S("token"), ret) && ret->len > 0 ? HOOK_VERIFIED
                                                                          : HOOK_UNSIGNED;
}

static HookVerdict verify(Arena *arena, const Hook *hook, const HookTrust *trust)
{
    Str token, signature = hook_header(hook, plain.header);
    if (signature.at)
        return sign_check(arena, hook, trust,
                          str_starts(signature, prefixed.prefix) ? &prefixed : &plain);
    if (!sign_trusts(trust))
        return HOOK_NO_SECRET;
    HookVerdict verdict = token_of(arena, hook, &token);
    if (verdict != HOOK_VERIFIED)
        return verdict;
    return sign_equals(trust, token) ? HOOK_VERIFIED : HOOK_MISSIGNED;
}

static size_t sign(Arena *arena, const Hook *hook, Str secret, const Json *config,
                   HookHeader ret[PROVIDER_HEADERS_MAX])
{
    (void) arena, (void) hook, (void) config;
    ret[0] = (HookHeader){ S("x-posthog-token"), secret };
    return 1;
}

// Its id stands in the body alone.
static Str identify(Arena *arena, const Hook *hook)
{
    (void) arena, (void) hook;
    return STR_NONE;
}

// Captured is one event: what it is (its name is in it, or beside it), and what stands around it.
typedef struct Captured {
    const Json *event, *around;
    Str name, uuid, distinct_id;
} Captured;

static Captured captured(const Json *item)
{
    const Json *event = json_get(item, S("event"));
    Captured ret = { .event = json_type(event) == JSON_OBJECT ? event : item, .around = item };
    ret.name = READ_FIRST(read_text(ret.event, "event"), read_text(ret.event, "name"));
    ret.uuid = read_text(ret.event, "uuid");
    ret.distinct_id = READ_FIRST(
        read_word(ret.event, "distinct_id"), read_word(ret.event, "distinctId"),
        read_word(ret.event, "properties.distinct_id"), read_word(item, "person.distinct_id"));
    return ret;
}

// key_of: what has no id is told by its name, its person and its time as they were given; what has
// no time either, by all of it.
static Str key_of(Arena *arena, const Captured *it)
{
    if (it->uuid.at)
        return STR_JOIN(arena, S("posthog:"), read_id(arena, it->uuid));
    Str time = read_word(it->event, "timestamp");
    if (!time.at) {
        Sha256 hash = sha256(json_text(arena, it->around));
        time = hex_text(arena, hash.b, HASH_DIGITS / 2);
    }
    return STR_JOIN(arena, S("posthog:"), read_id(arena, it->name), S(":"),
                    read_id(arena, it->distinct_id), S(":"), read_id(arena, time));
}

// put_some writes an object whole, or of a long one the members that there is room for.
static void put_some(JsonOut *out, Arena *arena, const char *name, const Json *object)
{
    if (json_type(object) != JSON_OBJECT)
        return;
    size_t left = PROPERTIES_MAX;
    json_key(out, str_from(name));
    json_open(out, '{');
    for (JsonIter it = json_each(object); json_next(&it);) {
        Str value = json_text(arena, it.value);
        if (it.key.len + value.len > left)
            continue;
        left -= it.key.len + value.len;
        json_put_raw(out, it.key, value);
    }
    json_close(out, '}');
}

static void put_named(JsonOut *out, Arena *arena, const char *name, const Json *value)
{
    static const ReadRow rows[] = { { "id", "id", NULL },
                                    { "name", "name", NULL },
                                    { "url", "url", NULL } };
    if (json_type(value) != JSON_OBJECT)
        return;
    json_key(out, str_from(name));
    json_open(out, '{');
    read_put(out, value, rows, ARRAY_LEN(rows));
    put_some(out, arena, "properties", json_get(value, S("properties")));
    json_close(out, '}');
}

static Str context_of(Arena *arena, const Captured *it)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    read_put_text(&out, "event", it->name);
    read_put_text(&out, "uuid", it->uuid);
    read_put_text(&out, "distinctId", it->distinct_id);
    put_some(&out, arena, "properties", json_get(it->event, S("properties")));
    put_named(&out, arena, "person", json_get(it->around, S("person")));
    put_named(&out, arena, "project", json_get(it->around, S("project")));
    json_close(&out, '}');
    return buf_str(&text);
}

static ProviderEvent event_of(Arena *arena, const Json *item)
{
    Captured it = captured(item);
    Str url =
        READ_FIRST(read_url(read_text(it.event, "url")), read_url(read_text(item, "person.url")),
                   read_url(read_text(it.event, "properties.$current_url")));
    return (ProviderEvent){
        .provider = PROVIDER_POSTHOG,
        .type = S("event"),
        .provider_type = read_id(arena, it.name),
        .occurred_at = when_read(json_get(it.event, S("timestamp"))),
        .dedup_key = key_of(arena, &it),
        .title = READ_FIRST(read_title(it.name), read_title(read_text(item, "text"))),
        .url = url,
        .external_id = read_id(arena, READ_FIRST(it.uuid, it.distinct_id)),
        .context = context_of(arena, &it),
        .raw = json_text(arena, item),
    };
}

// items_of is the list of a batch; NULL where the body is one event itself.
static const Json *items_of(const Json *body)
{
    const Json *batch = json_get(body, S("batch"));
    if (json_type(body) == JSON_ARRAY)
        return body;
    return json_type(batch) == JSON_ARRAY ? batch : NULL;
}

// read_batch takes the events of a list; what in it has no name is none.
static Err read_batch(Arena *arena, const Json *items, ProviderRead *ret, Error *error)
{
    if (json_count(items) > BATCH_MAX)
        return fail(error, ERR_TOO_LARGE, "a batch may have %d events", BATCH_MAX);
    ret->events = ARENA_ARRAY(arena, ProviderEvent, json_count(items) + 1);
    for (JsonIter it = json_each(items); json_next(&it);)
        if (captured(it.value).name.at)
            ret->events[ret->count++] = event_of(arena, it.value);
    if (ret->count == 0)
        ret->note = S("an empty batch");
    return ERR_OK;
}

static Err parse(Arena *arena, const Hook *hook, ProviderRead *ret, Error *error)
{
    const Json *body;
    if (json_parse(arena, hook->body, &body, NULL) != ERR_OK)
        return fail(error, ERR_INVALID, "the body is not JSON");
    const Json *items = items_of(body), *inside = json_get(body, S("data"));
    *ret = (ProviderRead){ 0 };
    if (items)
        return read_batch(arena, items, ret, error);
    if (json_type(body) != JSON_OBJECT)
        return fail(error, ERR_INVALID, "the body is neither an event nor a list of them");
    // A hook of Zapier's has the event inside.
    bool is_wrapped = json_get(body, S("hook")) && json_type(inside) == JSON_OBJECT;
    ret->events = ARENA_NEW(arena, ProviderEvent);
    ret->events[ret->count++] = event_of(arena, is_wrapped ? inside : body);
    return ERR_OK;
}

static const ProviderExample examples[] = {
    { "event", NULL,
      "{\"event\":{\"uuid\":\"01947000-0000-7000-8000-%id%\",\"event\":\"signed "
      "up\",\"distinct_id\":"
      "\"user-1\",\"properties\":{\"plan\":\"pro\",\"$current_url\":\"https://app.example.com/"
      "signup\"},\"timestamp\":\"%time%\",\"url\":\"https://eu.posthog.com/project/1/events/1\"},"
      "\"person\":{\"id\":\"p-1\",\"name\":\"Mona\",\"properties\":{\"email\":\"mona@example.com\"}"
      ","
      "\"url\":\"https://eu.posthog.com/project/1/person/p-1\"}}" },
};

const Provider provider_posthog = {
    .name = PROVIDER_POSTHOG,
    .ways = PROVIDER_WEBHOOK,
    .verify = verify,
    .identify = identify,
    .parse = parse,
    .sign = sign,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
};
