// gmail.c - Gmail's push by Cloud Pub/Sub: it says that a mailbox changed, and nothing of what.
//
// Pub/Sub can sign its pushes with a token of Google's (OIDC), whose keys would have to be fetched:
// a provider does no I/O. So the push address carries the source's secret, as Google's own guides
// do it: ?token=…; who puts a proxy in between may send it as X-Goog-Channel-Token. Nothing else
// is taken. What changed is then polled.
#include "providers/gmail.h"

#include "base/crypto.h"
#include "providers/providers.h"
#include "providers/read.h"
#include "providers/sign.h"

static const Str token_header = S("x-goog-channel-token");

static HookVerdict verify(Arena *arena, const Hook *hook, const HookTrust *trust)
{
    Str token;
    if (!sign_trusts(trust))
        return HOOK_NO_SECRET;
    if (!read_form(arena, hook->query, S("token"), &token)) {
        HookVerdict verdict = sign_given(hook, token_header, &token);
        if (verdict != HOOK_VERIFIED)
            return verdict;
    }
    return sign_equals(trust, token) ? HOOK_VERIFIED : HOOK_MISSIGNED;
}

static size_t sign(Arena *arena, const Hook *hook, Str secret, const Json *config,
                   HookHeader ret[PROVIDER_HEADERS_MAX])
{
    (void) arena, (void) hook, (void) config;
    ret[0] = (HookHeader){ token_header, secret };
    return 1;
}

// A push's id stands in its body.
static Str identify(Arena *arena, const Hook *hook)
{
    (void) arena, (void) hook;
    return STR_NONE;
}

// has_change tells whether the data of a push is Gmail's: an address and a number.
static bool has_change(Arena *arena, const Json *body)
{
    Str data;
    const Json *change = NULL;
    return base64_parse(arena, read_text(body, "message.data"), &data) &&
           json_parse(arena, data, &change, NULL) == ERR_OK &&
           read_text(change, "emailAddress").at && read_word(change, "historyId").at;
}

static Err parse(Arena *arena, const Hook *hook, ProviderRead *ret, Error *error)
{
    const Json *body = NULL;
    if (json_parse(arena, hook->body, &body, NULL) != ERR_OK)
        return fail(error, ERR_INVALID, "the body is not JSON that can be read");
    if (!has_change(arena, body))
        return fail(error, ERR_INVALID, "a push of Gmail has message.data with a historyId");
    *ret = (ProviderRead){
        .external_id = read_id(arena, READ_FIRST(read_text(body, "message.messageId"),
                                                 read_text(body, "message.message_id"))),
        .note = S("the mailbox changed: whoever polls it does so now"),
        .polls = true,
        .polled = PROVIDER_GMAIL,
    };
    return ERR_OK;
}

// {"emailAddress": "user@example.com", "historyId": 9876543210}
static const ProviderExample examples[] = {
    { "message", NULL,
      "{\"message\":{\"data\":"
      "\"eyJlbWFpbEFkZHJlc3MiOiJ1c2VyQGV4YW1wbGUuY29tIiwiaGlzdG9yeUlkIjo5ODc2"
      "NTQzMjEwfQ==\",\"messageId\":\"2070%id%\",\"publishTime\":"
      "\"2021-02-26T19:13:55.749Z\"},\"subscription\":"
      "\"projects/myproject/subscriptions/mysubscription\"}" },
};

const Provider provider_gmail = {
    .name = PROVIDER_GMAIL,
    .ways = PROVIDER_WEBHOOK | PROVIDER_POLLING,
    .verify = verify,
    .identify = identify,
    .parse = parse,
    .sign = sign,
    .poll_every = SPAN_MINUTE,
    .poll_ask = gmail_poll_ask,
    .poll_read = gmail_poll_read,
    .hydrate_ask = gmail_hydrate_ask,
    .hydrate_read = gmail_hydrate_read,
    .watch_ask = gmail_watch_ask,
    .watch_read = gmail_watch_read,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
};
