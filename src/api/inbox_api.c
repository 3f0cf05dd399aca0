#include "api/handlers.h"

#include "base/crypto.h"
#include "domain/provided.h"
#include "store/event.h"
#include "store/inbox.h"

// The inbox, as who waits for webhooks sees it: what came, the very bytes, and what became of it.
// A row says by itself why it made no event (reason, error); what triggers made of its events is
// told by explain (story_api.c), which begins with the row.

enum { TEXT_BYTES_MAX = 48 << 20 }; // of a body as JSON text; longer ones are shown in base64

static const Json *headers_of(Arena *arena, const InboxRow *row)
{
    const Json *headers = NULL;
    if (!row->headers.at || json_parse(arena, row->headers, &headers, NULL) != ERR_OK)
        return NULL;
    return headers;
}

static bool is_named(const Json *header, Str name)
{
    return str_eq(json_str(json_at(header, 0)), name);
}

// value_of joins the values of a header that came several times.
static Str value_of(Arena *arena, const Json *headers, Str name)
{
    Buf value = buf_new(arena, BUF_WHOLE);
    size_t count = 0;
    for (JsonIter it = json_each(headers); json_next(&it);) {
        if (!is_named(it.value, name))
            continue;
        if (count++ > 0)
            buf_add(&value, S(", "));
        buf_add(&value, json_str(json_at(it.value, 1)));
    }
    return count > 0 ? buf_str(&value) : STR_NONE;
}

static bool is_first(const Json *headers, const JsonIter *at, Str name)
{
    for (JsonIter it = json_each(headers); json_next(&it) && it.index < at->index;)
        if (is_named(it.value, name))
            return false;
    return true;
}

static void put_headers(Call *call, JsonOut *json, const Json *headers)
{
    json_key(json, S("headers"));
    json_open(json, '{');
    for (JsonIter it = json_each(headers); json_next(&it);) {
        Str name = json_str(json_at(it.value, 0));
        if (name.at && is_first(headers, &it, name))
            json_put_str(json, name, value_of(call->arena, headers, name));
    }
    json_close(json, '}');
}

// escaped_len is how many bytes a text has at most in JSON.
static size_t escaped_len(Str text)
{
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char) text.at[i];
        len += c < 0x20 || c == 0x7f ? 6 : c == '"' || c == '\\' ? 2 : 1;
    }
    return len;
}

static void put_body(Call *call, JsonOut *json, Str body)
{
    if (str_is_utf8(body) && escaped_len(body) <= TEXT_BYTES_MAX)
        json_put_str(json, S("body"), body);
    else
        json_put_str(json, S("bodyBase64"), base64_text(call->arena, body));
}

static void put_members(JsonOut *json, Arena *arena, const InboxRow *row, const Json *headers)
{
    char text[UUID_TEXT_LEN + 1];
    InboxShown shown = inbox_shown((InboxStatus) row->status, row->attempts);
    json_put_str(json, S("id"), uuid_text(row->id, text));
    json_put_str(json, S("source"), row->source);
    json_put_str(json, S("provider"), row->provider);
    json_put_str(json, S("externalId"), row->external_id);
    json_put_str(json, S("status"), str_from(inbox_shown_words[shown]));
    json_put_str(json, S("reason"),
                 row->reason ? str_from(inbox_reason_code((InboxReason) row->reason)) : STR_NONE);
    json_put_str(json, S("error"), row->error);
    json_put_i64(json, S("attempts"), row->attempts);
    json_put_i64(json, S("size"), row->size);
    json_put_str(json, S("contentType"), value_of(arena, headers, S("content-type")));
    json_put_time(json, S("receivedAt"), row->received_at);
    json_put_time(json, S("processedAt"), row->processed_at);
}

void inbox_put_row(Call *call, JsonOut *json, const InboxRow *row)
{
    json_open(json, '{');
    put_members(json, call->arena, row, headers_of(call->arena, row));
    json_close(json, '}');
}

enum { INBOX_STATUS, INBOX_SOURCE, INBOX_PROVIDER, INBOX_FROM, INBOX_TO };

// clang-format off
const Param inbox_params[] = {
    [INBOX_STATUS]   = { "status",   PARAM_WORD, .words = inbox_shown_words, .help = "Only rows that stand there" },
    [INBOX_SOURCE]   = { "source",   PARAM_TEXT, .max = EVENT_SOURCE_MAX, .help = "That came to this source" },
    [INBOX_PROVIDER] = { "provider", PARAM_WORD, .words = provider_ids, .help = "Of this provider" },
    [INBOX_FROM]     = { "from",     PARAM_TIME, .help = "Received at this time or later" },
    [INBOX_TO]       = { "to",       PARAM_TIME, .help = "Received before this time" },
    { 0 },
};
// clang-format on

// read_status sets what a status that is shown is in the store.
static void read_status(InboxShown shown, InboxFilter *filter)
{
    filter->has_status = true;
    switch (shown) {
    case INBOX_SHOWN_PENDING:
    case INBOX_SHOWN_PROCESSING:
        filter->status = INBOX_PENDING;
        filter->tries = shown == INBOX_SHOWN_PENDING ? INBOX_UNTRIED : INBOX_TRIED;
        return;
    case INBOX_SHOWN_COMPLETED:
        filter->status = INBOX_PUBLISHED;
        return;
    case INBOX_SHOWN_FAILED:
        filter->status = INBOX_FAILED;
        return;
    }
}

Err inbox_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    InboxFilter filter = { .side = INBOX_HOOKS, .to = INSTANT_NONE };
    InboxRow *rows;
    size_t word;
    TRY(call_walk(call, &walk, error));
    if (param_word(call, INBOX_STATUS, &word))
        read_status((InboxShown) word, &filter);
    param_text(call, INBOX_SOURCE, &filter.source);
    if (param_word(call, INBOX_PROVIDER, &word))
        filter.provider = str_from(provider_ids[word]);
    param_time(call, INBOX_FROM, &filter.from);
    param_time(call, INBOX_TO, &filter.to);
    TRY(inbox_page(db, call->arena, call->tenant, &filter, &walk, &rows, &seen, error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        inbox_put_row(call, json, &rows[i]);
    page_close(call, &seen);
    return ERR_OK;
}

Err inbox_name_owner(const Call *call, Db *db, InboxRow *row, Error *error)
{
    EventOwner owner;
    if (!call->key->is_system || !str_eq(row->error, INBOX_ELSEWHERE))
        return ERR_OK;
    Err err = event_owner(db, call->arena, row->id, &owner, error);
    if (err == ERR_OK)
        row->error = str_format(call->arena, "%.*s: %.*s of tenant %.*s", STR_ARG(row->error),
                                STR_ARG(owner.topic), STR_ARG(owner.tenant));
    return err == ERR_NOT_FOUND ? ERR_OK : err; // it is kept no more
}

Err inbox_get(Call *call, Db *db, Error *error)
{
    Uuid id;
    InboxRow row;
    TRY(call_id(call, 0, &id, error));
    TRY(inbox_row(db, call->arena, INBOX_HOOKS, call->tenant, id, &row, error));
    TRY(inbox_name_owner(call, db, &row, error));
    const Json *headers = headers_of(call->arena, &row);
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    put_members(json, call->arena, &row, headers);
    put_headers(call, json, headers);
    put_body(call, json, row.body);
    json_close(json, '}');
    return ERR_OK;
}

static Err tell_row(Call *call, Error *error)
{
    (void) error;
    inbox_put_row(call, call_json(call, 200), call->with);
    return ERR_OK;
}

// inbox_reprocess sets a row back to pending; one that waits already stays where it is.
Err inbox_reprocess(Call *call, Tx *tx, Error *error)
{
    Uuid id;
    InboxRow row;
    int64_t done;
    TRY(call_id(call, 0, &id, error));
    TRY(inbox_head(tx->db, call->arena, call->tenant, id, &row, error)); // it may be no hook
    TRY(inbox_replay(tx, call->tenant, &id, 1, &done, error));
    TRY(inbox_head(tx->db, call->arena, call->tenant, id, &row, error));
    call->with = arena_copy(call->arena, &row, sizeof row);
    call_later(call, tell_row);
    return ERR_OK;
}
