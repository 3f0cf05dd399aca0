#include "api/campaigns.h"

#include "domain/campaign.h"
#include "domain/list.h"
#include "intake/csv.h"
#include "store/campaign.h"
#include "store/list.h"

// A file of any length is taken part by part (Admission.part_bytes): each is a transaction, and no
// more of it lies in memory. The first says what its columns are, so that a file which nobody could
// read is refused before the rest comes; the last lets it run. What breaks off leaves a campaign
// that nobody started, which the engine tidies away (store/campaign.h).
//
// A list is sent to as a file of its members, as they are now.

#define ALWAYS FIELD_ALWAYS
#define OR_NULL (FIELD_ALWAYS | FIELD_NULLABLE)

enum {
    FAILURES_SHOWN = 100,  // with the campaign itself
    MEMBERS_AT_ONCE = 200, // whose rows fit into a piece, however long they are
};
_Static_assert(MEMBERS_AT_ONCE * 2 * (EVENT_ADDRESS_MAX + LIST_NAME_MAX + LIST_LOCALE_MAX + 10) <=
                   CAMPAIGN_PIECE_MAX,
               "a page of members is a piece");

// clang-format off
typedef struct CampaignBody { Str list; } CampaignBody;
static const Field body_rows[] = {
    { "list", FIELD_KEY, FIELD_NEEDED, offsetof(CampaignBody, list), .max = TRIGGER_ID_MAX, .help = "Its members are the rows, instead of a file's" },
};
const Shape campaign_body_shape = { .name = "CampaignList", SHAPE_ROWS(body_rows), .size = sizeof(CampaignBody) };

static const Field begun_rows[] = {
    { "id",     FIELD_ID,   ALWAYS },
    { "dryRun", FIELD_BOOL, ALWAYS },
};
const Shape campaign_begun_shape = { .name = "CampaignBegun", SHAPE_ROWS(begun_rows) };

static const Field failure_rows[] = {
    { "line",  FIELD_COUNT, ALWAYS, .help = "As in the file, the first being 1" },
    { "error", FIELD_TEXT,  ALWAYS },
};
const Shape campaign_failure_shape = { .name = "CampaignFailure", SHAPE_ROWS(failure_rows) };
static const Field failure_row = { NULL, FIELD_OBJECT, .inside = &campaign_failure_shape };

static const char *const state_words[] = { "uploading", "running", "done", "stopped", NULL };
#define CAMPAIGN_ROWS                                                                                            \
    { "id",         FIELD_ID,    ALWAYS },                                                                       \
    { "trigger",    FIELD_TEXT,  ALWAYS },                                                                       \
    { "list",       FIELD_TEXT,  OR_NULL, .help = "Null: it is a file's" },                                      \
    { "dryRun",     FIELD_BOOL,  ALWAYS, .help = "Nothing is made: created is what would be" },                  \
    { "state",      FIELD_WORD,  ALWAYS, .words = state_words },                                                 \
    { "rows",       FIELD_COUNT, ALWAYS, .help = "Roughly, until it is done" },                                  \
    { "done",       FIELD_COUNT, ALWAYS, .help = "Created, skipped and failed together" },                       \
    { "created",    FIELD_COUNT, ALWAYS },                                                                       \
    { "skipped",    FIELD_COUNT, ALWAYS, .help = "They came before, or the trigger or the recipient does not want them" }, \
    { "failed",     FIELD_COUNT, ALWAYS },                                                                       \
    { "createdAt",  FIELD_TIME,  ALWAYS },                                                                       \
    { "finishedAt", FIELD_TIME,  OR_NULL }
static const Field campaign_rows[] = { CAMPAIGN_ROWS };
const Shape campaign_shape = { .name = "Campaign", SHAPE_ROWS(campaign_rows) };
static const Field campaign_whole_rows[] = {
    CAMPAIGN_ROWS,
    { "failures", FIELD_LIST, ALWAYS, .of = &failure_row, .help = "The first hundred; /failures lists the first ten thousand" },
};
const Shape campaign_whole_shape = { .name = "CampaignWhole", SHAPE_ROWS(campaign_whole_rows) };

static const char *const delimiter_words[] = { "comma", "semicolon", "tab", "bar", ",", ";", "\t", "|", NULL };
static const char delimiters[] = { ',', ';', '\t', '|', ',', ';', '\t', '|' };
enum { BY_SURVEY, BY_TRIGGER, BY_DRY, BY_DELIMITER, BY_MAP };
const Param campaign_params[] = {
    [BY_SURVEY] = { "survey", PARAM_TEXT, .max = TRIGGER_ID_MAX, .help = "Whose trigger it is; none: one of /v1/triggers" },
    [BY_TRIGGER] = { "trigger", PARAM_TEXT, .max = TRIGGER_ID_MAX, .help = "That each row is an event for: gr, or csi:gr" },
    [BY_DRY] = { "dryRun", PARAM_BOOL, .help = "Say what would become of each row, and make nothing" },
    [BY_DELIMITER] = { "delimiter", PARAM_WORD, .words = delimiter_words, .help = "What parts the columns; as the first line has it unless said" },
    [BY_MAP + CAMPAIGN_ADDRESS] = { "map.address", PARAM_TEXT, .max = CAMPAIGN_COLUMN_MAX, .help = "The column that has the address" },
    [BY_MAP + CAMPAIGN_LOCALE] = { "map.locale", PARAM_TEXT, .max = CAMPAIGN_COLUMN_MAX, .help = "The column that has the locale" },
    [BY_MAP + CAMPAIGN_CUSTOMER_REF] = { "map.customerRef", PARAM_TEXT, .max = CAMPAIGN_COLUMN_MAX, .help = "The column that has the customer's reference" },
    { 0 },
};
// clang-format on

// Upload is a file on its way in, from its first part to its last.
typedef struct Upload {
    Campaign campaign; // as it was committed
    Campaign written;  // as the transaction of the part at hand leaves it
    CampaignCount counted;
    bool is_begun; // its first part was read
} Upload;

// find_trigger is the id of the trigger that the rows are for.
static Err find_trigger(const Call *call, Str *ret, Error *error)
{
    Str survey = STR_NONE, trigger = STR_NONE;
    param_text(call, BY_SURVEY, &survey);
    if (!param_text(call, BY_TRIGGER, &trigger)) {
        error_add(error, S("/trigger"), "missing",
                  "say in the query which trigger the rows are for");
        return error_close(error, ERR_INVALID);
    }
    if (survey.at && !str_contains(trigger, S(":")))
        trigger = STR_JOIN(call->arena, survey, S(":"), trigger);
    if (!registry_rule(call->registry, call->tenant, RULE_TRIGGER, trigger))
        return fail(error, ERR_NOT_FOUND, "there is no trigger %.*s%s", STR_ARG(trigger),
                    survey.at ? "; is the survey published?" : "");
    *ret = str_dup(call->arena, trigger);
    return ERR_OK;
}

// read_names reads the first line.
static Err read_names(const Call *call, CsvReader *reader, CampaignLayout *ret, Error *error)
{
    CsvRow row;
    Str mapped[CAMPAIGN_ROLES] = { STR_NONE };
    for (CampaignRole role = 0; role < CAMPAIGN_ROLES; role++)
        param_text(call, BY_MAP + role, &mapped[role]);
    CsvFound found = csv_next(reader, &row);
    if (found == CSV_ROW && !row.problem)
        return campaign_layout(call->arena, row.fields, row.count, mapped, ret, error);
    error_add(error, S("/columns"), found == CSV_ROW ? "bad-value" : "missing",
              "the first line must name the columns: %s",
              found == CSV_ROW ? row.problem : "there is none");
    return error_close(error, ERR_INVALID);
}

// read_head reads what stands before the first row.
static Err read_head(const Call *call, Str text, Campaign *campaign, Error *error)
{
    size_t word;
    CampaignLayout layout;
    Str rest = csv_without_mark(text);
    char delimiter = param_word(call, BY_DELIMITER, &word) ? delimiters[word] : csv_delimiter(rest);
    CsvReader *reader = csv_new(call->arena, delimiter, 1);
    csv_give(reader, rest, !call->exchange->is_part);
    Err err = read_names(call, reader, &layout, error);
    campaign->position = (int64_t) (text.len - rest.len + csv_taken(reader));
    campaign->line = csv_line(reader);
    csv_done(reader);
    TRY(err);
    layout.delimiter = delimiter;
    campaign->layout = campaign_layout_text(call->arena, &layout);
    return ERR_OK;
}

#define LIST_HEAD S("address,locale,name\n")

static Err begin(Call *call, Upload *upload, Error *error)
{
    Campaign *campaign = &upload->campaign;
    CampaignBody body = { 0 };
    Str text = call->exchange->body;
    *campaign = (Campaign){ .tenant = call->tenant, .finished_at = INSTANT_NONE };
    if (call->body)
        TRY(fields_read(call->arena, call->body, S(""), &campaign_body_shape, &body, error));
    TRY(find_trigger(call, &campaign->trigger, error));
    param_bool(call, BY_DRY, &campaign->is_dry);
    campaign->list = body.list;
    upload->is_begun = true;
    return read_head(call, call->body ? LIST_HEAD : text, campaign, error);
}

Err campaign_read(Call *call, Error *error)
{
    Upload *upload = call->thought;
    if (!upload)
        upload = call->thought = ARENA_NEW(call->arena, Upload);
    if (upload->is_begun)
        upload->campaign = upload->written; // the part before this one was committed
    else
        TRY(begin(call, upload, error));
    if (!call->body)
        campaign_count(&upload->counted, call->exchange->body);
    int64_t counted = campaign_counted(&upload->counted);
    upload->campaign.total = counted > 0 ? counted - 1 : 0;
    return ERR_OK;
}

static void add_member(Buf *text, const ListMember *member)
{
    csv_add(text, member->address);
    buf_add_char(text, ',');
    csv_add(text, member->locale);
    buf_add_char(text, ',');
    csv_add(text, member->name);
    buf_add_char(text, '\n');
}

// write_members writes a list's members as the rows of a file.
static Err write_members(Tx *tx, Campaign *campaign, int64_t list, Error *error)
{
    Seen seen = { 0 };
    ListMember *members;
    TRY(campaign_append(tx, campaign, LIST_HEAD, error));
    do {
        Walk walk = { .after = seen.next, .limit = MEMBERS_AT_ONCE };
        Buf *text = ARENA_NEW(&tx->arena, Buf);
        *text = buf_new(&tx->arena, CAMPAIGN_PIECE_MAX);
        TRY(list_page(tx->db, &tx->arena, campaign->tenant, list, &walk, &members, &seen, error));
        for (size_t i = 0; i < seen.count; i++)
            add_member(text, &members[i]);
        campaign->total += (int64_t) seen.count;
        TRY(campaign_append(tx, campaign, buf_str(text), error));
    } while (seen.has_more);
    return ERR_OK;
}

static Err tell_begun(Call *call, Error *error)
{
    const Campaign *campaign = &((const Upload *) call->thought)->written;
    (void) error;
    JsonOut *json = call_json(call, 202);
    json_open(json, '{');
    json_put_id(json, S("id"), campaign->id);
    json_put_bool(json, S("dryRun"), campaign->is_dry);
    json_close(json, '}');
    call_header(call, S("Location"),
                STR_JOIN(call->arena, S("/v1/campaigns/"), uuid_dup(call->arena, campaign->id)));
    return ERR_OK;
}

Err campaign_write(Call *call, Tx *tx, Error *error)
{
    Upload *upload = call->thought;
    Campaign *campaign = &upload->written;
    int64_t list = 0;
    *campaign = upload->campaign; // a replay begins anew
    if (campaign->list.at)
        TRY(list_find(tx->db, &tx->arena, campaign->tenant, campaign->list, &list, error));
    if (uuid_is_none(campaign->id)) {
        campaign->id = uuid_new(tx->now, tx->random);
        campaign->actor = tx->actor;
        campaign->created_at = campaign->touched_at = tx->now;
        campaign_add(tx, campaign);
    }
    if (campaign->list.at)
        TRY(write_members(tx, campaign, list, error));
    else
        TRY(campaign_append(tx, campaign, call->exchange->body, error));
    if (call->exchange->is_part)
        return ERR_OK;
    TRY(campaign_start(tx, campaign, error));
    call_later(call, tell_begun);
    return ERR_OK;
}

// campaign_take_back stops what came in so far: its key was let in no more, or the same file was
// sent before with its Idempotency-Key.
Err campaign_take_back(Call *call, Tx *tx, Error *error)
{
    const Upload *upload = call->thought;
    if (!upload || uuid_is_none(upload->campaign.id))
        return ERR_OK;
    const Campaign *campaign = &upload->campaign;
    Err err = campaign_stop(tx, campaign->tenant, campaign->id, error);
    return err == ERR_CONFLICT ? ERR_OK : err;
}

static void put_campaign(JsonOut *json, const Campaign *campaign)
{
    json_put_id(json, S("id"), campaign->id);
    json_put_str(json, S("trigger"), campaign->trigger);
    json_put_str(json, S("list"), campaign->list);
    json_put_bool(json, S("dryRun"), campaign->is_dry);
    json_put_str(json, S("state"), str_from(campaign_state_text(campaign->state)));
    json_put_i64(json, S("rows"), campaign->total);
    json_put_i64(json, S("done"), campaign_done(campaign));
    json_put_i64(json, S("created"), campaign->created);
    json_put_i64(json, S("skipped"), campaign->skipped);
    json_put_i64(json, S("failed"), campaign->failed);
    json_put_time(json, S("createdAt"), campaign->created_at);
    json_put_time(json, S("finishedAt"), campaign->finished_at);
}

static void put_failure(JsonOut *json, const CampaignFailure *failure)
{
    json_open(json, '{');
    json_put_i64(json, S("line"), failure->line);
    json_put_str(json, S("error"), failure->error);
    json_close(json, '}');
}

Err campaign_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    Campaign *rows;
    TRY(call_walk(call, &walk, error));
    TRY(campaign_page(db, call->arena, call->tenant, &walk, &rows, &seen, error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++) {
        json_open(json, '{');
        put_campaign(json, &rows[i]);
        json_close(json, '}');
    }
    page_close(call, &seen);
    return ERR_OK;
}

static Err show(Call *call, Db *db, Uuid id, Error *error)
{
    Seen seen;
    Campaign campaign;
    CampaignFailure *failures;
    Walk walk = { .limit = FAILURES_SHOWN };
    TRY(campaign_row(db, call->arena, call->tenant, id, &campaign, error));
    TRY(campaign_failures(db, call->arena, call->tenant, id, &walk, &failures, &seen, error));
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    put_campaign(json, &campaign);
    json_key(json, S("failures"));
    json_open(json, '[');
    for (size_t i = 0; i < seen.count; i++)
        put_failure(json, &failures[i]);
    json_close(json, ']');
    json_close(json, '}');
    return ERR_OK;
}

Err campaign_show(Call *call, Db *db, Error *error)
{
    Uuid id;
    TRY(call_id(call, 0, &id, error));
    return show(call, db, id, error);
}

Err campaign_failure_list(Call *call, Db *db, Error *error)
{
    Uuid id;
    Walk walk;
    Seen seen;
    Campaign unused;
    CampaignFailure *rows;
    TRY(call_id(call, 0, &id, error));
    TRY(call_walk(call, &walk, error));
    TRY(campaign_row(db, call->arena, call->tenant, id, &unused, error));
    TRY(campaign_failures(db, call->arena, call->tenant, id, &walk, &rows, &seen, error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        put_failure(json, &rows[i]);
    page_close(call, &seen);
    return ERR_OK;
}

static Err tell_stopped(Call *call, Error *error)
{
    (void) error;
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    put_campaign(json, call->with);
    json_close(json, '}');
    return ERR_OK;
}

Err campaign_halt(Call *call, Tx *tx, Error *error)
{
    Uuid id;
    Campaign *campaign = ARENA_NEW(call->arena, Campaign);
    TRY(call_id(call, 0, &id, error));
    TRY(campaign_stop(tx, call->tenant, id, error));
    TRY(campaign_row(tx->db, call->arena, call->tenant, id, campaign, error));
    call->with = campaign;
    call_later(call, tell_stopped);
    return ERR_OK;
}
