#include "rig.h"

#include "domain/campaign.h"
#include "store/campaign.h"

// What engine/campaign.c and store/campaign.h promise: a slice's events, its counts and the place
// behind it are one transaction, whatever fails in it.

enum { ROWS = CAMPAIGN_SLICE * 2 + 500 };

#define HEAD "address,name\n"
#define COUNT_MADE "SELECT COUNT(*) FROM delivery"

// file is one with so many rows, of which the last has no address.
static Str file(Store *store)
{
    Buf text = buf_new(&store->arena, BUF_WHOLE);
    buf_add(&text, S(HEAD));
    for (int i = 1; i < ROWS; i++)
        buf_add_format(&text, "+%d,Name %d\n", i, i);
    buf_add(&text, S(",nobody\n"));
    return buf_str(&text);
}

typedef struct Upload {
    Campaign campaign;
    Str text;
} Upload;

static Err apply_upload(Tx *tx, void *with, Error *error)
{
    Upload *upload = with;
    Campaign *campaign = &upload->campaign;
    campaign->created_at = campaign->touched_at = tx->now;
    campaign_add(tx, campaign);
    for (Str rest = upload->text; rest.len > 0;) {
        size_t len = rest.len < CAMPAIGN_PIECE_BYTES ? rest.len : CAMPAIGN_PIECE_BYTES;
        TRY(campaign_append(tx, campaign, (Str){ rest.at, len }, error));
        rest = str_skip(rest, len);
    }
    return campaign_start(tx, campaign, error);
}

// upload_as has a campaign run for the trigger "gr", and gives its id.
static Uuid upload_as(Rig *rig, bool is_dry)
{
    Store *store = &rig->store;
    Str names[] = { S("address"), S("name") }, mapped[CAMPAIGN_ROLES] = { STR_NONE };
    CampaignLayout layout;
    publish(store, TENANT,
            "{'id':'gr','eventKind':'visit','channel':'memory:default','awaitAnswer':true,"
            "'schedule':{'initialDelay':'1d'}}");
    MUST(store,
         campaign_layout(&store->arena, names, ARRAY_LEN(names), mapped, &layout, &store->error));
    layout.delimiter = ',';
    Upload sent = { .text = file(store),
                    .campaign = { .tenant = TENANT,
                                  .id = uuid_new(now(store), &store->random),
                                  .trigger = S("gr"),
                                  .is_dry = is_dry,
                                  .layout = campaign_layout_text(&store->arena, &layout),
                                  .position = sizeof HEAD - 1,
                                  .line = 2,
                                  .finished_at = INSTANT_NONE } };
    MUST(store, writer_run(store->writer, apply_upload, &sent, &store->error));
    return sent.campaign.id;
}

static Uuid upload(Rig *rig)
{
    return upload_as(rig, false);
}

// see is how far a campaign has come. Whatever that is, what it says of it is true.
static Campaign see(Rig *rig, Uuid id)
{
    Campaign campaign;
    Store *store = &rig->store;
    MUST(store, campaign_row(store->db, &store->arena, TENANT, id, &campaign, &store->error));
    int64_t failures = ask_i64(store, "SELECT COUNT(*) FROM campaign_failure");
    CHECK(ask_i64(store, COUNT_MADE) == campaign.created);
    CHECK(ask_i64(store, "SELECT COUNT(*) FROM awaiting") == campaign.created);
    CHECK(ask_i64(store, "SELECT COUNT(*) FROM dedup") == campaign.created);
    CHECK(failures == campaign.failed);
    CHECK(campaign.state == CAMPAIGN_STOPPED || campaign.line == campaign_done(&campaign) + 2);
    return campaign;
}

static void check_done(Rig *rig, Uuid id)
{
    Campaign campaign = see(rig, id);
    CHECK(campaign.state == CAMPAIGN_DONE && campaign.total == ROWS);
    CHECK(campaign.created == ROWS - 1 && campaign.failed == 1 && campaign.skipped == 0);
    CHECK(campaign.position == campaign.bytes && campaign.work == CAMPAIGN_IDLE);
    CHECK(ask_i64(&rig->store, "SELECT COUNT(*) FROM campaign_piece") == 0);
}

static void a_file_becomes_events_slice_by_slice(void)
{
    RIG(rig);
    Uuid id = upload(&rig);
    turn(&rig);
    check_done(&rig, id);
    CHECK(see(&rig, id).slices >= 4); // and one that drops what was read
    Str text = file(&rig.store);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(DISTINCT address) FROM delivery") == ROWS - 1);
    CHECK(see(&rig, id).bytes == (int64_t) text.len);
}

// On PostgreSQL what is broken looks like a store that is away: it goes on. What a file refuses
// stops the campaign.
static void whatever_fails_leaves_nothing_of_its_slice(void)
{
    static const char *const statements[] = {
        "campaign_next", "campaign_pieces", "campaign_pieces_drop",
        "dedup_take",    "event_insert",    "delivery_insert",
        "queue_insert",  "awaiting_file",   "campaign_advance",
    };
    for (size_t i = 0; i < ARRAY_LEN(statements); i++) {
        RIG(rig);
        Uuid id = upload(&rig);
        rig.broken = statements[i];
        turn(&rig);
        Campaign campaign = see(&rig, id);
        CHECK_AT(statements[i], campaign.created == 0 && campaign.position == sizeof HEAD - 1);
        rig.broken = NULL;
        lapse(&rig, 10 * SPAN_SECOND);
        campaign = see(&rig, id);
        if (campaign.state == CAMPAIGN_DONE)
            check_done(&rig, id);
        else
            CHECK_AT(statements[i], !suite_is_postgres() && campaign.state == CAMPAIGN_STOPPED &&
                                        campaign.failed == 1);
    }
}

static CampaignState state_of(Rig *rig, Uuid id)
{
    Campaign campaign;
    Store *store = &rig->store;
    MUST(store, campaign_row(store->db, &store->arena, TENANT, id, &campaign, &store->error));
    return campaign.state;
}

// apply_spoil loses a file's pieces, and has another campaign come before it.
static Err apply_spoil(Tx *tx, void *with, Error *error)
{
    static const Statement drop = { .name = "suite_lose_pieces",
                                    .scope = STATEMENT_SYSTEM,
                                    .params = "",
                                    .sql = "DELETE FROM campaign_piece" };
    static const Statement later = { .name = "suite_come_later",
                                     .scope = STATEMENT_SYSTEM,
                                     .params = "",
                                     .sql =
                                         "UPDATE campaign SET created_at = created_at + 60000000" };
    (void) with;
    db_send(tx->db, &tx->arena, &drop, NULL, NULL);
    db_send(tx->db, &tx->arena, &later, NULL, NULL);
    return tx_sync(tx, error);
}

// What is taken instead of the campaign whose slice failed is not stopped for it.
static void another_campaign_is_not_blamed(void)
{
    RIG(rig);
    Uuid bad = upload(&rig);
    MUST(&rig.store, writer_run(rig.store.writer, apply_spoil, NULL, &rig.store.error));
    turn(&rig);
    if (!suite_is_postgres()) // without it the test guards nothing there
        lapse(&rig, SPAN_SECOND / 4);
    CHECK(state_of(&rig, bad) == CAMPAIGN_RUNNING); // it waits to be blamed
    Uuid good = upload(&rig);
    lapse(&rig, 10 * SPAN_SECOND);
    CHECK(state_of(&rig, good) == CAMPAIGN_DONE);
    CHECK(state_of(&rig, bad) == CAMPAIGN_STOPPED);
}

// A reply that is lost, that of the COMMIT among them: whether or not it was done, it is done once.
static void a_lost_reply_makes_no_row_twice(void)
{
    static const char *const calls[] = { "dedup_take", "event_insert", "campaign_advance", "COMMIT",
                                         "reply" };
    for (size_t i = 0; suite_is_postgres() && i < ARRAY_LEN(calls); i++) {
        RIG(rig);
        Uuid id = upload(&rig);
        rig.lost_behind = "campaign_next";
        rig.lost = calls[i];
        turn(&rig);
        lapse(&rig, 10 * SPAN_SECOND);
        CHECK_AT(calls[i], !rig.lost);
        check_done(&rig, id);
    }
}

// What would become of a slice's rows is asked in one question, and nothing is made.
static void a_dry_run_asks_once_a_slice(void)
{
    RIG(rig);
    int asked = 0;
    Campaign campaign;
    Store *store = &rig.store;
    Uuid id = upload_as(&rig, true);
    rig.said.len = 0;
    turn(&rig);
    for (Str rest = buf_str(&rig.said); rest.len > 0;)
        asked += str_eq(str_cut(&rest, ' '), S("dedup_find"));
    CHECK(asked == 3);
    MUST(store, campaign_row(store->db, &store->arena, TENANT, id, &campaign, &store->error));
    CHECK(campaign.state == CAMPAIGN_DONE && campaign.created == ROWS - 1 && campaign.failed == 1);
    CHECK(ask_i64(store, COUNT_MADE) == 0 && ask_i64(store, "SELECT COUNT(*) FROM dedup") == 0);
}

static const Test tests[] = {
    TEST(a_file_becomes_events_slice_by_slice), TEST(whatever_fails_leaves_nothing_of_its_slice),
    TEST(another_campaign_is_not_blamed),       TEST(a_lost_reply_makes_no_row_twice),
    TEST(a_dry_run_asks_once_a_slice),
};

PART(campaign_part, tests);
