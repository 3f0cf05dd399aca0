#include "api/handlers.h"

#include "store/inbox.h"

// The outbox, as an application sees it, is the inbox: what it emitted in SQL or wrote into a table
// of its own, and what became of each row.

static void put_row(JsonOut *json, const InboxRow *row)
{
    char text[UUID_TEXT_LEN + 1];
    bool is_published = row->status == INBOX_PUBLISHED;
    json_open(json, '{');
    json_put_str(json, S("id"), uuid_text(row->id, text));
    json_put_str(json, S("source"), row->source);
    json_put_str(json, S("kind"), str_from(inbox_kind_text((InboxKind) row->kind)));
    json_put_str(json, S("topic"), row->topic);
    json_put_str(json, S("eventType"), row->event_kind);
    json_put_str(json, S("entity"), row->entity);
    json_put_str(json, S("correlationId"), row->correlation_id);
    if (row->schema_version)
        json_put_i64(json, S("schemaVersion"), row->schema_version);
    else
        json_put_null(json, S("schemaVersion"));
    json_put_stored(json, S("payload"), row->body);
    json_put_str(json, S("status"), str_from(inbox_status_text((InboxStatus) row->status)));
    json_put_str(json, S("reason"),
                 row->reason ? str_from(inbox_reason_code((InboxReason) row->reason)) : STR_NONE);
    json_put_i64(json, S("attemptCount"), row->attempts);
    json_put_str(json, S("lastError"), row->error);
    json_put_time(json, S("nextAttemptAt"), row->next_at);
    json_put_time(json, S("createdAt"), row->received_at);
    json_put_time(json, S("publishedAt"), is_published ? row->processed_at : INSTANT_NONE);
    json_close(json, '}');
}

enum { OUTBOX_STATUS, OUTBOX_FROM, OUTBOX_TO };

// clang-format off
const Param outbox_params[] = {
    [OUTBOX_STATUS] = { "status", PARAM_WORD, .words = inbox_status_words, .help = "Only rows that stand there" },
    [OUTBOX_FROM]   = { "from",   PARAM_TIME, .help = "Written at this time or later" },
    [OUTBOX_TO]     = { "to",     PARAM_TIME, .help = "Written before this time" },
    { 0 },
};
// clang-format on

Err outbox_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    InboxFilter filter = { .side = INBOX_OUTBOX, .to = INSTANT_NONE };
    InboxRow *rows;
    size_t status;
    TRY(call_walk(call, &walk, error));
    filter.has_status = param_word(call, OUTBOX_STATUS, &status);
    if (filter.has_status)
        filter.status = (InboxStatus) status;
    param_time(call, OUTBOX_FROM, &filter.from);
    param_time(call, OUTBOX_TO, &filter.to);
    TRY(inbox_page(db, call->arena, call->tenant, &filter, &walk, &rows, &seen, error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        put_row(json, &rows[i]);
    page_close(call, &seen);
    return ERR_OK;
}

Err outbox_get(Call *call, Db *db, Error *error)
{
    Uuid id;
    InboxRow row;
    TRY(call_id(call, 0, &id, error));
    TRY(inbox_row(db, call->arena, INBOX_OUTBOX, call->tenant, id, &row, error));
    put_row(call_json(call, 200), &row);
    return ERR_OK;
}

static Err tell_row(Call *call, Error *error)
{
    (void) error;
    put_row(call_json(call, 200), call->with);
    return ERR_OK;
}

// outbox_replay sets a row back to pending; one that waits already stays where it is.
Err outbox_replay(Call *call, Tx *tx, Error *error)
{
    Uuid id;
    InboxRow row;
    int64_t done;
    TRY(call_id(call, 0, &id, error));
    TRY(inbox_row(tx->db, call->arena, INBOX_OUTBOX, call->tenant, id, &row, error));
    TRY(inbox_replay(tx, call->tenant, &id, 1, &done, error));
    TRY(inbox_row(tx->db, call->arena, INBOX_OUTBOX, call->tenant, id, &row, error));
    call->with = arena_copy(call->arena, &row, sizeof row);
    call_later(call, tell_row);
    return ERR_OK;
}
