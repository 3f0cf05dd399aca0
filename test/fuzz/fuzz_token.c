// The input is how a token is come by, as JSON in the first line, the status of the answer in the
// second, and its body.
#include "base/json.h"
#include "providers/token.h"

#include "fuzz.h"

// is_sendable tells whether a token can stand in a header.
static bool is_sendable(Str text)
{
    return text.len == 0 || (str_is_utf8(text) && str_is_printable(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str input = { (const char *) data, size };
    Str token = str_cut(&input, '\n'), line = str_cut(&input, '\n');
    int64_t status = 0;
    IntegrationAccess access = { .provider = PROVIDER_LINEAR,
                                 .connection_id = S("c-1"),
                                 .expires_at = INSTANT_NONE };
    if (json_parse(&arena, token, &access.token, NULL) != ERR_OK)
        access.token = NULL;
    // Only an answer to what was asked is read.
    ProviderRequest request;
    Error error = { .arena = &arena };
    if (token_ask(&arena, &access, &request, &error) != ERR_OK)
        return 0;
    ProviderReply reply = { .body = input };
    reply.status = str_to_i64(line, 0, 999, &status) ? (int) status : 200;
    TokenAnswer answer = token_read(&arena, &access, &reply, 1778735554 * SPAN_SECOND);
    assert(answer.verdict == TOKEN_GOOD || answer.why.len > 0);
    assert(answer.verdict != TOKEN_GOOD || answer.access.len > 0);
    assert(is_sendable(answer.access) && is_sendable(answer.refresh));
    assert(str_is_utf8(answer.why) || answer.why.len == 0);
    return 0;
}
