#include "hooks.h"

#include <string.h>

// sent is an example as `peal hooks send` posts it, signed.
static Hook sent(Arena *arena, const Provider *provider, const ProviderExample *example,
                 Instant now)
{
    HookHeader *headers = ARENA_ARRAY(arena, HookHeader, PROVIDER_HEADERS_MAX + 1);
    Hook hook = { .method = S("POST"), .at = now, .headers = headers };
    hook.body = provider_example(arena, example, now);
    hook.header_count = provider->sign(arena, &hook, S("s3cret"), NULL, headers);
    if (example->header) {
        Str rest = str_dup(arena, str_from(example->header)), name = str_cut(&rest, ':');
        for (size_t i = 0; i < name.len; i++)
            ((char *) (uintptr_t) name.at)[i] = str_lower_char(name.at[i]);
        headers[hook.header_count++] = (HookHeader){ name, str_trim(rest) };
    }
    return hook;
}

// Each example with marks is verified by the provider that it is of, becomes an event that triggers
// may ask for, says all that an event says, and is no duplicate of the one before.
static void check_example(const Provider *provider, const ProviderExample *example)
{
    DEFER(arena_done) Arena arena = { 0 };
    HookTrust trust = trust_in("s3cret");
    Instant now = at_time("2026-05-14T05:12:34Z");
    ProviderRead first = { 0 }, second = { 0 };
    Hook hook = sent(&arena, provider, example, now);
    CHECK_AT(example->event, provider->verify(&arena, &hook, &trust) == HOOK_VERIFIED);
    CHECK_AT(example->event, provider->parse(&arena, &hook, &first, NULL) == ERR_OK);
    hook = sent(&arena, provider, example, now + SPAN_SECOND);
    CHECK_AT(example->event, provider->parse(&arena, &hook, &second, NULL) == ERR_OK);
    CHECK_AT(example->event, first.count == 1 && second.count == 1);
    if (first.count != 1 || second.count != 1)
        return;
    CHECK_AT(example->event, provided_type(first.events->provider, first.events->type));
    CHECK_AT(example->event, !str_eq(first.events->dedup_key, second.events->dedup_key));
    CHECK_AT(example->event, first.events->title.at && first.events->external_id.at);
}

static void an_example_is_fresh_each_time(void)
{
    for (size_t i = 0; i < PROVIDERS; i++) {
        const Provider *provider = provider_of((ProviderName) i);
        for (size_t n = 0; provider && n < provider->example_count; n++)
            if (strstr(provider->examples[n].body, "%time%"))
                check_example(provider, &provider->examples[n]);
    }
}

static void every_provider_is_whole(void)
{
    for (size_t i = 0; i < PROVIDERS; i++) {
        const Provider *provider = provider_of((ProviderName) i);
        if (!provider)
            continue;
        CHECK_AT(provider_ids[i], provider->name == i && provider->ways);
        CHECK_AT(provider_ids[i], provider->verify && provider->identify && provider->parse);
    }
}

static const Test tests[] = {
    TEST(an_example_is_fresh_each_time),
    TEST(every_provider_is_whole),
};
TEST_MAIN(tests)
