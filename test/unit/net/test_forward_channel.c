#include "channels/channel.h"
#include "test.h"

enum { ROWS = 3 };

static const Outcome untold = { .verdict = VERDICT_UNKNOWN };

// Rig is a parcel of three rows.
typedef struct Rig {
    Arena arena;
    Message messages[ROWS];
    Target targets[ROWS];
    Parcel parcel;
} Rig;

static void rig_open(Rig *rig)
{
    const Json *config;
    *rig = (Rig){ 0 };
    CHECK(json_parse(&rig->arena, S("{\"url\":\"https://central.example/\",\"key\":\"pk_1\"}"),
                     &config, NULL) == ERR_OK);
    for (size_t i = 0; i < ROWS; i++) {
        rig->targets[i].outcome = untold;
        rig->messages[i] = (Message){ .payload = str_format(&rig->arena, "{\"n\":%zu}", i),
                                      .targets = &rig->targets[i],
                                      .target_count = 1 };
    }
    rig->parcel = (Parcel){ .type = &channel_forward,
                            .config = config,
                            .messages = rig->messages,
                            .count = ROWS,
                            .arena = &rig->arena };
}

static void rows_go_behind_one_another_in_one_request(void)
{
    Rig rig;
    Transfer transfer;
    rig_open(&rig);
    CHECK(channel_forward.request(&rig.parcel, &transfer, NULL) == ERR_OK);
    CHECK(str_eq(transfer.url, S("https://central.example/v1/site/forward")));
    CHECK(str_eq(transfer.body, S("{\"rows\":[{\"n\":0},{\"n\":1},{\"n\":2}]}")));
    CHECK(str_eq(transfer.headers[2].value, S("Bearer pk_1")));
    arena_done(&rig.arena);
}

static void each_row_is_judged_by_what_is_told_of_it(void)
{
    Rig rig;
    rig_open(&rig);
    TransferResult result = {
        .status = 200,
        .body = S("{\"rows\":[{\"outcome\":\"accepted\"},{\"outcome\":\"rejected\",\"error\":"
                  "{\"message\":\"no\"}},{\"outcome\":\"duplicate\"}]}"),
    };
    channel_forward.judge(&rig.parcel, &result);
    CHECK(rig.targets[0].outcome.verdict == VERDICT_DELIVERED);
    CHECK(rig.targets[1].outcome.verdict == VERDICT_PERMANENT);
    CHECK(str_eq(rig.targets[1].outcome.detail, S("no")));
    CHECK(rig.targets[2].outcome.verdict == VERDICT_DELIVERED);
    arena_done(&rig.arena);
}

// What a row was refused for is kept as text that any database takes, however long it is.
static void a_long_refusal_is_cut_between_characters(void)
{
    Rig rig;
    rig_open(&rig);
    Buf body = buf_new(&rig.arena, BUF_WHOLE);
    buf_add(&body, S("{\"rows\":[{\"outcome\":\"rejected\",\"error\":{\"message\":\"x"));
    for (int i = 0; i < RESPONSE_KEPT_MAX; i++)
        buf_add(&body, S("é"));
    buf_add(&body, S("\"}},{\"outcome\":\"accepted\"},{\"outcome\":\"accepted\"}]}"));
    channel_forward.judge(&rig.parcel, &(TransferResult){ .status = 200, .body = buf_str(&body) });
    Str detail = rig.targets[0].outcome.detail;
    CHECK(detail.len > 0 && detail.len <= RESPONSE_KEPT_MAX && str_ends(detail, S("é")));
    arena_done(&rig.arena);
}

// Nothing but central's own word about a row ends it: all else may pass.
static void whatever_else_comes_back_keeps_the_rows(void)
{
    static const struct {
        TransferProblem problem;
        int status;
        const char *body;
        DeliveryReason reason;
    } rows[] = {
        { TRANSFER_NO_CONNECTION, 0, "", REASON_NO_CONNECTION },
        { TRANSFER_NO_ANSWER, 200, "", REASON_NO_ANSWER },
        { TRANSFER_FORBIDDEN, 0, "", REASON_ADDRESS_FORBIDDEN },
        { TRANSFER_ANSWERED, 401, "{}", REASON_LOGIN_REFUSED },
        { TRANSFER_ANSWERED, 403, "{}", REASON_LOGIN_REFUSED },
        { TRANSFER_ANSWERED, 404, "", REASON_REFUSED },
        { TRANSFER_ANSWERED, 413, "", REASON_REFUSED },
        { TRANSFER_ANSWERED, 422, "", REASON_REFUSED },
        { TRANSFER_ANSWERED, 302, "", REASON_REFUSED },
        { TRANSFER_ANSWERED, 410, "", REASON_GONE },
        { TRANSFER_ANSWERED, 503, "", REASON_UNWELL },
        { TRANSFER_ANSWERED, 200, "<html>sign in</html>", REASON_UNCLASSIFIED },
        { TRANSFER_ANSWERED, 200, "{\"rows\":[]}", REASON_UNCLASSIFIED },
        { TRANSFER_ANSWERED, 200, "{\"rows\":[{},{},{}]}", REASON_UNCLASSIFIED },
        { TRANSFER_ANSWERED, 204, "", REASON_UNCLASSIFIED },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Rig rig;
        rig_open(&rig);
        TransferResult result = { .problem = rows[i].problem,
                                  .status = rows[i].status,
                                  .body = str_from(rows[i].body) };
        channel_forward.judge(&rig.parcel, &result);
        for (size_t t = 0; t < ROWS; t++) {
            CHECK_AT(rows[i].body, rig.targets[t].outcome.verdict == VERDICT_TRANSIENT);
            CHECK_AT(rows[i].body, rig.targets[t].outcome.reason == rows[i].reason);
        }
        arena_done(&rig.arena);
    }
}

static const Test tests[] = {
    TEST(rows_go_behind_one_another_in_one_request),
    TEST(each_row_is_judged_by_what_is_told_of_it),
    TEST(a_long_refusal_is_cut_between_characters),
    TEST(whatever_else_comes_back_keeps_the_rows),
};
TEST_MAIN(tests)
