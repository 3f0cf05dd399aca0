#include "api/served.h"

#include "api/feed.h"
#include "base/metric.h"
#include "domain/inbox.h"
#include "domain/source.h"
#include "providers/provider.h"
#include "store/inbox.h"

// A webhook on its way in, from top to bottom: its path finds the source, its bytes are verified as
// they came, and it is stored as they came, many in one transaction; then it is answered. Nothing
// else looks into it here: what it means is the drain's to find out (engine/drain.c).
//
// It needs no key and has no other proof than its signature. A wrong one is told why (401) and
// nothing more: it locks nobody out, neither its address nor the path, for a stranger could then
// keep a provider away. What is Peal's own fault is 500, never 503, which some providers take for
// a last word.

// HookCall is one webhook while it is a request.
typedef struct HookCall {
    ProviderName provider;
    Hook hook;
    int64_t version; // of the source that it was verified by; 0: it was not yet
    Str headers;     // as they are kept
    Str external_id; // none
    Uuid id;         // once it is stored
    bool is_judged;  // it was verified, or was not:
    HookVerdict verdict;
    Str source; // its id
} HookCall;

static const RegistryHook *find(const Call *call, const Registry *registry)
{
    return registry_hook(registry, str_skip(call->exchange->path, strlen("/hooks/")));
}

// hook_admit lets in what comes to a path where a source listens. One that is disabled looks as if
// there were none.
Err hook_admit(Call *call, const Registry *registry, Error *error)
{
    const RegistryHook *source = find(call, registry);
    if (!source || !source->is_enabled)
        return fail(error, ERR_NOT_FOUND, "nothing listens here");
    if (!call->with)
        call->with = ARENA_NEW(call->arena, HookCall);
    ((HookCall *) call->with)->provider = source->provider;
    call->tenant = source->tenant;
    return ERR_OK;
}

static Str lower(Arena *arena, Str name)
{
    char *text = arena_copy(arena, name.at, name.len);
    for (size_t i = 0; i < name.len; i++)
        if (text[i] >= 'A' && text[i] <= 'Z')
            text[i] = (char) (text[i] - 'A' + 'a');
    return (Str){ text, name.len };
}

Err hook_read(Call *call, Error *error)
{
    HookCall *with = call->with;
    Header *given;
    size_t count = exchange_headers(call->exchange, &given);
    HookHeader *headers = ARENA_ARRAY(call->arena, HookHeader, count + 1);
    (void) error;
    for (size_t i = 0; i < count; i++)
        headers[i] = (HookHeader){ lower(call->arena, given[i].name), given[i].value };
    with->hook = (Hook){ .method = call->exchange->method,
                         .query = exchange_query_text(call->exchange),
                         .headers = headers,
                         .header_count = count,
                         .body = call->exchange->body,
                         .at = clock_now(call->api->clock) };
    return ERR_OK;
}

// weigh_hook: a source that has changed since is to be asked anew, elsewhere than on a pen.
static size_t weigh_hook(const Call *call)
{
    const HookCall *with = call->with;
    const RegistryHook *source = find(call, call->registry);
    bool is_known = with->version == 0 || (source && source->version == with->version);
    return is_known ? 1 : QUICK_PAIRS_MAX + 1;
}

// open_trust fails where nobody can tell what comes from the sender and what does not.
static Err open_trust(const Call *call, const RegistryHook *source, HookTrust *ret, Error *error)
{
    if (source->is_sealed)
        return fail(error, ERR_CORRUPT, "the secret of source %.*s cannot be opened",
                    STR_ARG(source->source));
    if (!provider_of(source->provider))
        return fail(error, ERR_CORRUPT, "source %.*s has a provider that nobody knows",
                    STR_ARG(source->source));
    HookTrust trust = { 0 };
    _Static_assert((int) HOOK_SECRETS_MAX == (int) REGISTRY_SECRETS_MAX, "there are as many");
    trust.secret_count = registry_hook_trust(call->registry, source, clock_now(call->api->clock),
                                             trust.secrets, &trust.config);
    *ret = trust;
    return ERR_OK;
}

static void answer_shake(Call *call, const HookAnswer *answer)
{
    call->reply = (Reply){ .status = answer->status, .type = answer->type, .body = answer->body };
    for (size_t i = 0; i < answer->header_count; i++)
        call_header(call, answer->headers[i].name, answer->headers[i].value);
}

static void refuse_method(Call *call)
{
    Error error = { .arena = call->arena };
    fail(&error, ERR_METHOD, "the path takes POST");
    reply_refuse(call, &error);
    call_header(call, S("Allow"), S("POST"));
}

// is_credential: what proves who sent it is not kept.
static bool is_credential(const HookTrust *trust, const HookHeader *header)
{
    static const char *const words[] = { "authorization", "cookie", "token",   "secret",
                                         "password",      "passwd", "api-key", "apikey",
                                         "credential",    "api_key" };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_contains(header->name, str_from(words[i])))
            return true;
    for (size_t i = 0; i < trust->secret_count; i++)
        if (trust->secrets[i].len && str_contains(header->value, trust->secrets[i]))
            return true;
    return false;
}

// text_of is a header's value as text: bytes that are not UTF-8 are read as Latin-1.
static Str text_of(Arena *arena, Str value)
{
    if (str_is_utf8(value))
        return value;
    char *text = arena_alloc(arena, 2 * value.len);
    size_t len = 0;
    for (size_t i = 0; i < value.len; i++) {
        unsigned char byte = (unsigned char) value.at[i];
        if (byte >= 0x80)
            text[len++] = (char) (0xc0 | byte >> 6);
        text[len++] = (char) (byte >= 0x80 ? 0x80 | (byte & 0x3f) : byte);
    }
    return (Str){ text, len };
}

static Str kept_headers(Arena *arena, const Hook *hook, const HookTrust *trust)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '[');
    for (size_t i = 0; i < hook->header_count; i++) {
        if (is_credential(trust, &hook->headers[i]))
            continue;
        json_open(&out, '[');
        json_add_str(&out, hook->headers[i].name);
        json_add_str(&out, text_of(arena, hook->headers[i].value));
        json_close(&out, ']');
    }
    json_close(&out, ']');
    return buf_str(&text);
}

static Err refuse_verdict(HookVerdict verdict, Error *error)
{
    fail(error, ERR_UNVERIFIED, "%s", hook_verdict_words(verdict));
    error->code = hook_verdict_code(verdict);
    return ERR_UNVERIFIED;
}

// decide_hook answers a handshake, or verifies the hook and says what is kept of it.
static Err decide_hook(Call *call, Error *error)
{
    HookCall *with = call->with;
    const Hook *hook = &with->hook;
    const RegistryHook *source = find(call, call->registry);
    HookTrust trust;
    HookAnswer answer = { 0 };
    assert(source); // it was let in with this snapshot
    TRY(open_trust(call, source, &trust, error));
    const Provider *provider = provider_of(source->provider);
    if (provider->answer && provider->answer(call->arena, hook, &trust, &answer)) {
        answer_shake(call, &answer);
        return ERR_OK;
    }
    if (!str_eq(hook->method, S("POST"))) {
        refuse_method(call);
        return ERR_OK;
    }
    HookVerdict verdict = provider->verify(call->arena, hook, &trust);
    with->is_judged = true;
    with->verdict = verdict;
    with->source = str_dup(call->arena, source->source);
    if (!hook_verdict_admits(verdict))
        return refuse_verdict(verdict, error);
    Str id = provider->identify ? provider->identify(call->arena, hook) : STR_NONE;
    with->external_id = id.len && id.len <= INBOX_EXTERNAL_MAX && str_is_utf8(id) ? id : STR_NONE;
    with->headers = kept_headers(call->arena, hook, &trust);
    with->version = source->version;
    call->weight = 1;
    return ERR_OK;
}

static InboxRow row_of(const Tx *tx, const Call *call, const RegistryHook *source)
{
    const HookCall *with = call->with;
    return (InboxRow){
        .tenant = source->tenant,
        .id = with->id,
        .source = source->source,
        .kind = INBOX_HOOK,
        .external_id = with->external_id,
        .provider = str_from(provider_id_text(source->provider)),
        .headers = with->headers,
        .body = with->hook.body,
        .next_at = INSTANT_NONE,
        .received_at = tx->now,
        .processed_at = INSTANT_NONE,
    };
}

static Err write_hooks(Tx *tx, Call *const *calls, size_t count, Error *error)
{
    InboxRow *rows = ARENA_ARRAY(&tx->arena, InboxRow, count);
    size_t used = 0;
    (void) error;
    for (size_t i = 0; i < count; i++) {
        HookCall *with = calls[i]->with;
        const RegistryHook *source = find(calls[i], calls[i]->registry);
        if (source->version != with->version) { // somebody publishes without end
            Error changed = { 0 };
            call_refuse(calls[i], fail(&changed, ERR_UNSTORED, "the source changes"), &changed);
            continue;
        }
        with->id = uuid_new(tx->now, tx->random);
        rows[used++] = row_of(tx, calls[i], source);
    }
    inbox_put(tx, rows, used);
    tx->wakes = true;
    return ERR_OK;
}

static Err answer_hook(Call *call, Error *error)
{
    const HookCall *with = call->with;
    JsonOut *json = call_json(call, 200);
    (void) error;
    json_open(json, '{');
    json_put_str(json, S("id"), uuid_dup(call->arena, with->id));
    json_close(json, '}');
    return ERR_OK;
}

const RouteSet hook_set = {
    .weigh = weigh_hook,
    .decide = decide_hook,
    .write = write_hooks,
    .answer = answer_hook,
};

enum { STATUSES = 1000 };

// tell_listeners says that it came, and whether it was let in; not what Peal failed to store.
static void tell_listeners(const Call *call, int status)
{
    const HookCall *with = call->with;
    if (!with || !with->is_judged || status >= 500)
        return;
    feed_hook(call->api->feed, &(HookSeen){ .tenant = call->tenant,
                                            .source = with->source,
                                            .provider = with->provider,
                                            .verdict = with->verdict,
                                            .size = with->hook.body.len,
                                            .id = with->id,
                                            .at = with->hook.at });
}

void hook_answered(const Call *call, int status)
{
    const HookCall *with = call->with;
    if (!call->route || !call->route->is_hook)
        return;
    tell_listeners(call, status);
    metric_count(METRIC_WEBHOOKS, (with ? (int64_t) with->provider + 1 : 0) * STATUSES + status, 1);
}

bool label_hook(void *with, int64_t key, Buf *out)
{
    int64_t provider = key / STATUSES;
    char status[8];
    (void) with;
    snprintf(status, sizeof status, "%d", (int) (key % STATUSES));
    metric_label(out, "provider",
                 provider > 0 ? str_from(provider_id_text((ProviderName) (provider - 1)))
                              : S("(none)"));
    metric_label(out, "status", str_from(status));
    return true;
}
