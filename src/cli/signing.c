#include "cli/signing.h"

enum {
    OWN_MAX = SIGNED_HEADERS_MAX + 1, // with the content type
    ALL_MAX = OWN_MAX + PROVIDER_HEADERS_MAX,
    ANSWER_BYTES_MAX = 1 << 20,
};

HookHeader signed_kind(const char *text)
{
    Str value = str_from(text), name = str_cut(&value, ':');
    return (HookHeader){ name, str_trim(value) };
}

// headers_of are what the provider would send: its kind, and its signature.
static size_t headers_of(Arena *arena, const SignedHook *signing, Header ret[ALL_MAX])
{
    HookHeader own[OWN_MAX] = { { S("content-type"), S("application/json") } };
    HookHeader signs[PROVIDER_HEADERS_MAX];
    size_t count = 1, sign_count = 0;
    assert(signing->header_count <= SIGNED_HEADERS_MAX);
    for (size_t i = 0; i < signing->header_count; i++)
        own[count++] = signing->headers[i];
    Hook hook = { .method = S("POST"),
                  .headers = own,
                  .header_count = count,
                  .body = signing->body,
                  .at = signing->at };
    if (signing->secret.at)
        sign_count = signing->provider->sign(arena, &hook, signing->secret, signing->config, signs);
    for (size_t i = 0; i < count; i++)
        ret[i] = (Header){ own[i].name, own[i].value };
    for (size_t i = 0; i < sign_count; i++)
        ret[count + i] = (Header){ signs[i].name, signs[i].value };
    return count + sign_count;
}

TransferResult signed_post(Arena *arena, const SignedHook *hook)
{
    Header headers[ALL_MAX];
    Transfer transfer = { .method = S("POST"),
                          .url = hook->url,
                          .headers = headers,
                          .header_count = headers_of(arena, hook, headers),
                          .body = hook->body,
                          .timeout = hook->timeout,
                          .ca = hook->ca,
                          .response_max = ANSWER_BYTES_MAX };
    return transfer_once(arena, &transfer);
}
