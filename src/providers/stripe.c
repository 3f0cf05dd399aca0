// stripe.c - Stripe: events of an account, whole ("event") or thin ("v2.core.event").
//
// One header holds the time and any number of signatures, for Stripe signs with both secrets while
// one is rolled: t=1492774577,v1=…,v1=…,v0=…. Only v1 counts. The secret is the whole text, with
// its "whsec_": Stripe does not decode it, unlike those who sign by the Standard Webhooks.
#include "providers/generic.h"
#include "providers/providers.h"
#include "providers/read.h"
#include "providers/sign.h"
#include "providers/when.h"

#define WINDOW (5 * SPAN_MINUTE)

static const Str signature_header = S("stripe-signature");

// Signed is what the header says.
typedef struct Signed {
    Str timestamp; // none
    Str macs[SIGN_MACS_MAX];
    size_t count;
    bool is_twice; // it has several times
} Signed;

static Signed read_signed(Arena *arena, Str list)
{
    Signed found = { 0 };
    while (list.at) {
        Str value = str_cut(&list, ','), name = str_trim(str_cut(&value, '='));
        if (str_eq(name, S("t"))) {
            found.is_twice |= found.timestamp.at != NULL;
            found.timestamp = str_trim(value);
        } else if (str_eq(name, S("v1")) && found.count < SIGN_MACS_MAX &&
                   sign_decode(arena, HMAC_SHA256, SIGN_HEX, str_trim(value),
                               &found.macs[found.count])) {
            found.count++;
        }
    }
    return found;
}

static HookVerdict verify(Arena *arena, const Hook *hook, const HookTrust *trust)
{
    Str list;
    if (!sign_trusts(trust))
        return HOOK_NO_SECRET;
    HookVerdict verdict = sign_given(hook, signature_header, &list);
    if (verdict != HOOK_VERIFIED)
        return verdict;
    Signed given = read_signed(arena, list);
    if (given.is_twice || given.count == 0)
        return HOOK_MALFORMED;
    verdict = sign_age(sign_seconds(given.timestamp), hook->at, WINDOW, WINDOW);
    if (verdict != HOOK_VERIFIED)
        return verdict;
    const Str parts[] = { given.timestamp, S("."), hook->body };
    bool holds =
        sign_holds_any(trust, HMAC_SHA256, parts, ARRAY_LEN(parts), given.macs, given.count);
    return holds ? HOOK_VERIFIED : HOOK_MISSIGNED;
}

static size_t sign(Arena *arena, const Hook *hook, Str secret, const Json *config,
                   HookHeader ret[PROVIDER_HEADERS_MAX])
{
    (void) config;
    Str timestamp = str_i64(arena, hook->at / SPAN_SECOND);
    SignForm form = { HMAC_SHA256, SIGN_HEX, signature_header,
                      STR_JOIN(arena, S("t="), timestamp, S(",v1=")) };
    const Str parts[] = { timestamp, S("."), hook->body };
    ret[0] = (HookHeader){ form.header, sign_text(arena, &form, secret, parts, ARRAY_LEN(parts)) };
    return 1;
}

// A Stripe event's id stands in its body.
static Str identify(Arena *arena, const Hook *hook)
{
    (void) arena, (void) hook;
    return STR_NONE;
}

// page_of is where Stripe shows an event.
static Str page_of(Arena *arena, const Json *body, Str id)
{
    bool is_live = json_bool(json_get(body, S("livemode")));
    return field_is_key(id) ? STR_JOIN(arena, S("https://dashboard.stripe.com/"),
                                       is_live ? S("") : S("test/"), S("events/"), id)
                            : STR_NONE;
}

static Str context_of(Arena *arena, const Json *body)
{
    static const ReadRow rows[] = {
        { "type", "type", NULL },
        { "livemode", "livemode", NULL },
        { "account", "account", NULL },
        { "apiVersion", "api_version", NULL },
        { "objectType", "data.object.object", NULL },
        { "objectId", "data.object.id", NULL },
        { "relatedType", "related_object.type", NULL },
        { "relatedId", "related_object.id", NULL },
    };
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    const Json *object = read_at(body, "data.object");
    const Json *previous = read_at(body, "data.previous_attributes");
    json_open(&out, '{');
    read_put(&out, body, rows, ARRAY_LEN(rows));
    if (json_type(object) == JSON_OBJECT)
        json_put_raw(&out, S("object"), json_text(arena, object));
    if (json_type(previous) == JSON_OBJECT)
        json_put_raw(&out, S("previous"), json_text(arena, previous));
    json_close(&out, '}');
    return buf_str(&text);
}

static Err parse(Arena *arena, const Hook *hook, ProviderRead *ret, Error *error)
{
    const Json *body = NULL;
    if (json_parse(arena, hook->body, &body, NULL) != ERR_OK)
        return fail(error, ERR_INVALID, "the body is not JSON that can be read");
    Str id = read_id(arena, read_text(body, "id")), type = read_text(body, "type");
    if (!id.at || !type.at)
        return fail(error, ERR_INVALID, "a Stripe event needs an id and a type");
    ProviderEvent *event = ARENA_NEW(arena, ProviderEvent);
    *event = (ProviderEvent){
        .provider = PROVIDER_STRIPE,
        .type = S("event"),
        .provider_type = str_head(type, READ_ID_MAX),
        .occurred_at = when_read(json_get(body, S("created"))),
        .dedup_key = generic_key(arena, hook, PROVIDER_STRIPE, id),
        .title = read_title(READ_FIRST(read_text(body, "data.object.description"), type)),
        .url = page_of(arena, body, id),
        .external_id = read_id(arena, READ_FIRST(read_text(body, "data.object.id"),
                                                 read_text(body, "related_object.id"), id)),
        .context = context_of(arena, body),
        .raw = str_trim(hook->body),
    };
    *ret = (ProviderRead){ .events = event, .count = 1, .external_id = id };
    return ERR_OK;
}

static const ProviderExample examples[] = {
    { "payment_intent.succeeded", NULL,
      "{\"id\":\"evt_%id%\",\"object\":\"event\",\"api_version\":\"2023-10-"
      "16\","
      "\"created\":%now%,\"livemode\":false,\"pending_webhooks\":1,\"type\":"
      "\"payment_intent.succeeded\",\"data\":{\"object\":{\"id\":\"pi_3MqqbKLt4dXK03v5\","
      "\"object\":"
      "\"payment_intent\",\"amount\":2000,\"currency\":\"usd\",\"status\":\"succeeded\","
      "\"description\":\"Order 1001\"}}}" },
    { "customer.subscription.deleted", NULL,
      "{\"id\":\"evt_%id%\",\"object\":\"event\",\"created\":%now%,"
      "\"livemode\":false,\"type\":\"customer.subscription.deleted\",\"data\":{\"object\":{\"id\":"
      "\"sub_1NG8Du2eZvKYlo2C\",\"object\":\"subscription\",\"status\":\"canceled\"}}}" },
};

const Provider provider_stripe = {
    .name = PROVIDER_STRIPE,
    .ways = PROVIDER_WEBHOOK,
    .verify = verify,
    .identify = identify,
    .parse = parse,
    .sign = sign,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
};
