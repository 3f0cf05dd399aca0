#include "store/campaign.h"

#include "store/columns.h"

// States and kinds of work lie in their rows as numbers.
_Static_assert(CAMPAIGN_UPLOADING == 0 && CAMPAIGN_RUNNING == 1 && CAMPAIGN_STOPPED == 3 &&
                   CAMPAIGN_MAKES == 1 && CAMPAIGN_DROPS == 2,
               "the SQL names them by number");

#define CAMPAIGN_COLUMNS                                                                           \
    "SELECT tenant, id, trigger_id, list, is_dry, actor, layout, state, work, slices, bytes,"      \
    " position, line, total, created, skipped, failed, created_at, touched_at, finished_at"        \
    " FROM campaign"
#define CAMPAIGN_NEXT CAMPAIGN_COLUMNS " WHERE work <> 0 ORDER BY slices, created_at, id LIMIT 1"
#define OF_CAMPAIGN " WHERE tenant = $1 AND campaign = $2"

static const Statement add = {
    .name = "campaign_add",
    .scope = STATEMENT_TENANT,
    .params = "iuttiutiiiiiiiiiiii",
    .sql = "INSERT INTO campaign (tenant, id, trigger_id, list, is_dry, actor, layout, state, work,"
           " slices, bytes, position, line, total, created, skipped, failed, created_at,"
           " touched_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,"
           " $16, $17, $18, $19)",
};
static const Statement one = {
    .name = "campaign_row",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .sql = CAMPAIGN_COLUMNS " WHERE tenant = $1 AND id = $2",
};
static const Statement page = {
    .name = "campaign_page",
    .scope = STATEMENT_TENANT,
    .params = "iui",
    .sql = CAMPAIGN_COLUMNS " WHERE tenant = $1 AND id < $2 ORDER BY id DESC LIMIT $3",
};
static const Statement append = {
    .name = "campaign_append",
    .scope = STATEMENT_TENANT,
    .params = "iuiiii",
    .sql = "UPDATE campaign SET bytes = $4, total = $5, touched_at = $6"
           " WHERE tenant = $1 AND id = $2 AND state = 0 AND bytes = $3",
};
static const Statement piece_add = {
    .name = "campaign_piece_add",
    .scope = STATEMENT_TENANT,
    .params = "iuib",
    .sql = "INSERT INTO campaign_piece (tenant, campaign, place, body) VALUES ($1, $2, $3, $4)",
};
static const Statement start = {
    .name = "campaign_start",
    .scope = STATEMENT_TENANT,
    .params = "iuii",
    .sql = "UPDATE campaign SET state = 1, work = 1, total = $3, slices = COALESCE((SELECT"
           " MIN(w.slices) FROM campaign w WHERE w.work <> 0), 0)"
           " WHERE tenant = $1 AND id = $2 AND state = 0 AND bytes = $4",
};
static const Statement stop = {
    .name = "campaign_stop",
    .scope = STATEMENT_TENANT,
    .params = "iui",
    .sql = "UPDATE campaign SET state = 3, work = 2, finished_at = $3"
           " WHERE tenant = $1 AND id = $2 AND state IN (0, 1)",
};
static const Statement give_up = {
    .name = "campaign_give_up",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = "UPDATE campaign SET state = 3, work = 2, finished_at = $2"
           " WHERE state = 0 AND touched_at < $1",
};
static const Statement next = {
    .name = "campaign_next",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = CAMPAIGN_NEXT,
    .postgres = CAMPAIGN_NEXT " FOR UPDATE SKIP LOCKED",
};
static const Statement pieces = {
    .name = "campaign_pieces",
    .scope = STATEMENT_TENANT,
    .params = "iuiii",
    .sql = "SELECT place, body FROM campaign_piece" OF_CAMPAIGN
           " AND place > $3 AND place + length(body) > $4 ORDER BY place LIMIT $5",
};
static const Statement places = {
    .name = "campaign_places",
    .scope = STATEMENT_TENANT,
    .params = "iui",
    .sql = "SELECT place FROM campaign_piece" OF_CAMPAIGN " ORDER BY place LIMIT $3",
};
static const Statement pieces_drop = {
    .name = "campaign_pieces_drop",
    .scope = STATEMENT_TENANT,
    .params = "iui",
    .sql = "DELETE FROM campaign_piece" OF_CAMPAIGN " AND place < $3",
};
static const Statement advance = {
    .name = "campaign_advance",
    .scope = STATEMENT_TENANT,
    .params = "iuiiiiiiiiii",
    .sql = "UPDATE campaign SET state = $3, work = $4, slices = $5, position = $6, line = $7,"
           " total = $8, created = $9, skipped = $10, failed = $11, finished_at = $12"
           " WHERE tenant = $1 AND id = $2",
};
static const Statement failure_add = {
    .name = "campaign_failure_add",
    .scope = STATEMENT_TENANT,
    .params = "iuit",
    .many = true,
    .sql = "INSERT INTO campaign_failure (tenant, campaign, line, error) VALUES ($1, $2, $3, $4)"
           " ON CONFLICT DO NOTHING",
    .postgres = "INSERT INTO campaign_failure (tenant, campaign, line, error)"
                " SELECT * FROM unnest($1, $2, $3, $4) ON CONFLICT DO NOTHING",
};
static const Statement failures = {
    .name = "campaign_failures",
    .scope = STATEMENT_TENANT,
    .params = "iuii",
    .sql = "SELECT tenant, campaign, line, error FROM campaign_failure" OF_CAMPAIGN
           " AND line > $3 ORDER BY line LIMIT $4",
};

const Statement *const campaign_statements[] = {
    &add,  &one,    &page,   &append,      &piece_add, &start,       &stop,     &give_up,
    &next, &pieces, &places, &pieces_drop, &advance,   &failure_add, &failures, NULL,
};

// CampaignRow is a campaign as it lies in its row.
typedef struct CampaignRow {
    Campaign campaign;
    int state, work;
} CampaignRow;

#define AT(member) COLUMN(CampaignRow, campaign.member)
#define STATE COLUMN(CampaignRow, state), COLUMN(CampaignRow, work), AT(slices)
static const Columns row_columns = COLUMNS(
    CampaignRow, AT(tenant), AT(id), AT(trigger), AT(list), AT(is_dry), AT(actor), AT(layout),
    STATE, AT(bytes), AT(position), AT(line), AT(total), AT(created), AT(skipped), AT(failed),
    AT(created_at), AT(touched_at), COLUMN_TIME(CampaignRow, campaign.finished_at));
static const Columns advanced_columns =
    COLUMNS(CampaignRow, AT(tenant), AT(id), STATE, AT(position), AT(line), AT(total), AT(created),
            AT(skipped), AT(failed), COLUMN_TIME(CampaignRow, campaign.finished_at));
#undef STATE
#undef AT
static const Columns failure_columns =
    COLUMNS(CampaignFailure, COLUMN(CampaignFailure, tenant), COLUMN(CampaignFailure, campaign),
            COLUMN(CampaignFailure, line), COLUMN(CampaignFailure, error));

static const char *const state_texts[] = {
    [CAMPAIGN_UPLOADING] = "uploading",
    [CAMPAIGN_RUNNING] = "running",
    [CAMPAIGN_DONE] = "done",
    [CAMPAIGN_STOPPED] = "stopped",
};

const char *campaign_state_text(CampaignState state)
{
    assert(state < ARRAY_LEN(state_texts));
    return state_texts[state];
}

int64_t campaign_done(const Campaign *campaign)
{
    return campaign->created + campaign->skipped + campaign->failed;
}

// row_of lies in the transaction's arena: its ids are read at the sync.
static const CampaignRow *row_of(Tx *tx, const Campaign *campaign)
{
    CampaignRow *row = ARENA_NEW(&tx->arena, CampaignRow);
    *row = (CampaignRow){ .campaign = *campaign,
                          .state = (int) campaign->state,
                          .work = (int) campaign->work };
    return row;
}

static Err read_row(const Value *at, Campaign *ret, Error *error)
{
    CampaignRow row = { 0 };
    columns_read(&row_columns, at, &row);
    if (row.state < 0 || row.state > CAMPAIGN_STOPPED || row.work < 0 || row.work > CAMPAIGN_DROPS)
        return fail(error, ERR_CORRUPT, "a campaign is in no state that there is");
    *ret = row.campaign;
    ret->state = (CampaignState) row.state;
    ret->work = (CampaignWork) row.work;
    return ERR_OK;
}

void campaign_add(Tx *tx, const Campaign *campaign)
{
    Str subject = STR_JOIN(&tx->arena, S("campaign/"), uuid_dup(&tx->arena, campaign->id));
    db_send_row(tx->db, &tx->arena, &add, &row_columns, row_of(tx, campaign), NULL);
    tx_fact(tx, FACT_OPERATION, campaign->tenant, subject);
}

// check_changed: nobody has stopped it.
static Err check_changed(const Rows *changed, Error *error)
{
    if (changed->changed == 1)
        return ERR_OK;
    return fail(error, ERR_CONFLICT, "the campaign was stopped while its file came in");
}

Err campaign_append(Tx *tx, Campaign *campaign, Str piece, Error *error)
{
    Rows changed;
    int64_t bytes = campaign->bytes + (int64_t) piece.len;
    assert(piece.len <= CAMPAIGN_PIECE_MAX);
    if (bytes > CAMPAIGN_FILE_MAX)
        return fail(error, ERR_TOO_LARGE, "a campaign's file may have %d bytes", CAMPAIGN_FILE_MAX);
    if (piece.len == 0)
        return ERR_OK;
    Value moved[] = { value_i64(campaign->tenant), value_uuid(&campaign->id),
                      value_i64(campaign->bytes),  value_i64(bytes),
                      value_i64(campaign->total),  value_i64(tx->now) };
    Value added[] = { moved[0], moved[1], value_i64(campaign->bytes), value_bytes(piece) };
    TRY(tx_query(tx, &append, moved, &changed, error));
    TRY(check_changed(&changed, error));
    db_send(tx->db, &tx->arena, &piece_add, added, NULL);
    TRY(tx_sync(tx, error));
    campaign->bytes = bytes;
    return ERR_OK;
}

Err campaign_start(Tx *tx, const Campaign *campaign, Error *error)
{
    Rows changed;
    Value args[] = { value_i64(campaign->tenant), value_uuid(&campaign->id),
                     value_i64(campaign->total), value_i64(campaign->bytes) };
    TRY(tx_query(tx, &start, args, &changed, error));
    tx->wakes = true;
    return check_changed(&changed, error);
}

Err campaign_stop(Tx *tx, int64_t tenant, Uuid id, Error *error)
{
    Rows changed;
    Campaign found;
    Value args[] = { value_i64(tenant), value_uuid(&id), value_i64(tx->now) };
    TRY(tx_query(tx, &stop, args, &changed, error));
    if (changed.changed == 1) {
        tx->wakes = true; // its pieces are to be dropped
        return ERR_OK;
    }
    TRY(campaign_row(tx->db, &tx->arena, tenant, id, &found, error));
    return fail(error, ERR_CONFLICT, "the campaign is %s", campaign_state_text(found.state));
}

Err campaign_row(Db *db, Arena *arena, int64_t tenant, Uuid id, Campaign *ret, Error *error)
{
    Rows rows;
    char text[UUID_TEXT_LEN + 1];
    Value args[] = { value_i64(tenant), value_uuid(&id) };
    TRY(db_query(db, arena, &one, args, &rows, error));
    if (rows.count == 0)
        return fail(error, ERR_NOT_FOUND, "there is no campaign %.*s",
                    STR_ARG(uuid_text(id, text)));
    return read_row(rows.values, ret, error);
}

Err campaign_page(Db *db, Arena *arena, int64_t tenant, const Walk *walk, Campaign **ret,
                  Seen *ret_seen, Error *error)
{
    Rows rows;
    Uuid before = uuid_ceiling(INSTANT_NONE);
    TRY(walk_after(walk, true, &before, error));
    Value args[] = { value_i64(tenant), value_uuid(&before), value_i64(walk->limit + 1) };
    db_page(db);
    TRY(db_query(db, arena, &page, args, &rows, error));
    Campaign *found = ARENA_ARRAY(arena, Campaign, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        TRY(read_row(rows_at(&rows, i), &found[i], error));
    *ret = found;
    *ret_seen = walk_counted(walk, rows.count, rows.is_cut, false);
    if (ret_seen->has_more)
        ret_seen->next = walk_place(arena, found[ret_seen->count - 1].id);
    return ERR_OK;
}

Err campaign_failures(Db *db, Arena *arena, int64_t tenant, Uuid id, const Walk *walk,
                      CampaignFailure **ret, Seen *ret_seen, Error *error)
{
    Rows rows;
    int64_t after;
    TRY(walk_after_number(walk, &after, error));
    Value args[] = { value_i64(tenant), value_uuid(&id), value_i64(after),
                     value_i64(walk->limit + 1) };
    db_page(db);
    TRY(db_query(db, arena, &failures, args, &rows, error));
    CampaignFailure *found = ARENA_ARRAY(arena, CampaignFailure, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        columns_read(&failure_columns, rows_at(&rows, i), &found[i]);
    *ret = found;
    *ret_seen = walk_counted(walk, rows.count, rows.is_cut, false);
    if (ret_seen->has_more)
        ret_seen->next = walk_place_number(arena, found[ret_seen->count - 1].line);
    return ERR_OK;
}

Err campaign_take(Tx *tx, Campaign *ret, bool *ret_found, Error *error)
{
    Rows rows;
    Value late[] = { value_i64(tx->now - CAMPAIGN_UPLOAD_PATIENCE), value_i64(tx->now) };
    db_send(tx->db, &tx->arena, &give_up, late, NULL);
    TRY(tx_query(tx, &next, NULL, &rows, error));
    *ret_found = rows.count > 0;
    return rows.count > 0 ? read_row(rows.values, ret, error) : ERR_OK;
}

static void drop_before(Tx *tx, const Campaign *campaign, int64_t place)
{
    const CampaignRow *row = row_of(tx, campaign);
    Value args[] = { value_i64(campaign->tenant), value_uuid(&row->campaign.id), value_i64(place) };
    db_send(tx->db, &tx->arena, &pieces_drop, args, NULL);
}

// join_pieces is the text from the campaign's position to the end of what was found.
static Err join_pieces(Tx *tx, const Campaign *campaign, const Rows *found, Str *ret, Error *error)
{
    Str text = S("");
    int64_t at = campaign->position;
    for (size_t i = 0; i < found->count; i++) {
        int64_t place = value_to_i64(rows_at(found, i));
        Str body = value_to_str(rows_at(found, i) + 1);
        if (place > at)
            return fail(error, ERR_CORRUPT, "a piece of a campaign's file is missing");
        if (i == 0)
            drop_before(tx, campaign, place);
        Str rest = str_skip(body, (size_t) (at - place));
        text = text.len > 0 ? STR_JOIN(&tx->arena, text, rest) : rest;
        at = place + (int64_t) body.len;
    }
    if (at == campaign->position && at < campaign->bytes)
        return fail(error, ERR_CORRUPT, "a piece of a campaign's file is missing");
    *ret = text;
    return ERR_OK;
}

Err campaign_text(Tx *tx, const Campaign *campaign, Str *ret, bool *ret_last, Error *error)
{
    Rows found;
    Value args[] = { value_i64(campaign->tenant), value_uuid(&campaign->id),
                     value_i64(campaign->position - CAMPAIGN_PIECE_MAX - 1),
                     value_i64(campaign->position), value_i64(CAMPAIGN_LOOK_PIECES) };
    TRY(tx_query(tx, &pieces, args, &found, error));
    TRY(join_pieces(tx, campaign, &found, ret, error));
    *ret_last = campaign->position + (int64_t) ret->len == campaign->bytes;
    return ERR_OK;
}

Err campaign_drop(Tx *tx, Campaign *campaign, Error *error)
{
    Rows found;
    Value args[] = { value_i64(campaign->tenant), value_uuid(&campaign->id),
                     value_i64(CAMPAIGN_DROP_PIECES) };
    TRY(tx_query(tx, &places, args, &found, error));
    if (found.count < CAMPAIGN_DROP_PIECES)
        campaign->work = CAMPAIGN_IDLE;
    if (found.count > 0)
        drop_before(tx, campaign, value_to_i64(rows_at(&found, found.count - 1)) + 1);
    return ERR_OK;
}

void campaign_advance(Tx *tx, const Campaign *campaign, const CampaignFailure *failed, size_t count)
{
    db_send_row(tx->db, &tx->arena, &advance, &advanced_columns, row_of(tx, campaign), NULL);
    db_send_rows(tx->db, &tx->arena, &failure_add, &failure_columns, failed, count, NULL);
}
