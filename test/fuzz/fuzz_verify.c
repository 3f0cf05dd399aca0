// Nobody can sign without the secret, whatever comes; and what is signed is taken, whatever it is.
// A header "x-config" is the source's config.
#include "hook_input.h"

#include "base/json.h"

#define SECRET S("c2VjcmV0IG9mIGEgZnV6emVyIQ==") // base64, as some want it

// is_open tells whether a config lets in whoever comes.
static bool is_open(const Json *config)
{
    return str_eq(json_str(json_get(json_get(config, S("verify")), S("kind"))), S("none"));
}

// signs tells whether a provider's sign can do what its verify asks for: Linear's time stands in
// the body, and a token in the query is in no header.
static bool signs(const Provider *provider, const Json *config)
{
    return provider->name != PROVIDER_LINEAR &&
           !json_get(json_get(config, S("verify")), S("query"));
}

static void check_answer(Arena *arena, const HookInput *input, const HookTrust *trust)
{
    static const char *const methods[] = { "POST", "GET", "OPTIONS" };
    for (size_t i = 0; input->provider->answer && i < ARRAY_LEN(methods); i++) {
        Hook hook = input->hook;
        HookAnswer answer = { 0 };
        hook.method = str_from(methods[i]);
        if (!input->provider->answer(arena, &hook, trust, &answer))
            continue;
        assert(answer.status == 200 && answer.header_count <= ARRAY_LEN(answer.headers));
        for (size_t j = 0; j < answer.header_count; j++)
            assert(str_is_printable(answer.headers[j].value));
    }
}

// sign_anew takes away what came beside the body, and signs.
static void sign_anew(Arena *arena, HookInput *input, const Json *config)
{
    input->hook.query = STR_NONE;
    input->hook.header_count =
        input->provider->sign(arena, &input->hook, SECRET, config, input->headers);
    assert(input->hook.header_count <= PROVIDER_HEADERS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    DEFER(arena_done) Arena arena = { 0 };
    HookInput input = { 0 };
    if (!hook_input_read(&arena, (Str){ (const char *) data, size }, &input))
        return 0;
    HookTrust trust = { .secrets = { SECRET }, .secret_count = 1 };
    Str config = hook_header(&input.hook, S("x-config"));
    if (!config.at || json_parse(&arena, config, &trust.config, NULL) != ERR_OK)
        trust.config = NULL;
    Error error = { .arena = &arena };
    const Shape *shape = input.provider->config;
    bool is_config = trust.config && shape &&
                     fields_read(&arena, trust.config, S(""), shape, NULL, &error) == ERR_OK;
    HookVerdict verdict = input.provider->verify(&arena, &input.hook, &trust);
    assert(hook_verdict_code(verdict) && hook_verdict_words(verdict));
    assert(verdict != HOOK_VERIFIED);
    assert(verdict != HOOK_UNCHECKED || (is_config && is_open(trust.config)));
    check_answer(&arena, &input, &trust);
    if (trust.config && !is_config)
        return 0;
    HookTrust nobody = { .config = trust.config };
    sign_anew(&arena, &input, trust.config);
    verdict = input.provider->verify(&arena, &input.hook, &trust);
    HookVerdict good = is_open(trust.config) ? HOOK_UNCHECKED : HOOK_VERIFIED;
    assert(verdict == good || !signs(input.provider, trust.config));
    verdict = input.provider->verify(&arena, &input.hook, &nobody);
    assert(verdict == HOOK_NO_SECRET || is_open(trust.config));
    return 0;
}
