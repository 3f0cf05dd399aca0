#include "channels/channel.h"

#include "test.h"

static const Outcome untold = { .verdict = VERDICT_UNKNOWN };

typedef struct Sent {
    Transfer transfer;
    Target targets[3];
    Message message;
    Parcel parcel;
} Sent;

static const Json *config_of(Arena *arena)
{
    const Json *config = NULL;
    Err err = json_parse(
        arena, S("{\"server\":\"smtp://mx\",\"from\":\"Peal <peal@example.org>\"}"), &config, NULL);
    CHECK(err == ERR_OK);
    return config;
}

// ask describes the request of a message to some targets.
static void ask(Arena *arena, Sent *sent, const char *const *addresses, size_t count)
{
    Error error = { .arena = arena };
    for (size_t i = 0; i < count; i++)
        sent->targets[i] =
            (Target){ .n = (int) i + 1, .address = str_from(addresses[i]), .outcome = untold };
    sent->message.send = 1;
    sent->message.targets = sent->targets;
    sent->message.target_count = count;
    sent->message.content.text = S("Too hot.");
    sent->parcel = (Parcel){ .type = &channel_email,
                             .config = config_of(arena),
                             .messages = &sent->message,
                             .count = 1,
                             .arena = arena };
    CHECK(channel_email.request(&sent->parcel, &sent->transfer, &error) == ERR_OK);
}

static void a_list_shows_its_name_or_its_members(void)
{
    static const char *const three[] = { "ada@example.net", "bob@example.net", "josé@example.net" };
    static const struct {
        const char *list;
        bool shows_targets;
        size_t count;
        const char *shown;
    } rows[] = {
        { NULL, false, 1, "\r\nTo: ada@example.net\r\n" },
        { NULL, false, 3, "\r\nTo: undisclosed-recipients:;\r\n" },
        { "Operations", false, 1, "\r\nTo: Operations:;\r\n" },
        { "Operations", false, 3, "\r\nTo: Operations:;\r\n" },
        { "Ops\r\nBcc: eve@example.org", false, 2, "\r\nTo: \"Ops  Bcc: eve@example.org\":;\r\n" },
        { "Operations", true, 2, "\r\nTo: ada@example.net,\r\n bob@example.net\r\n" },
        { "Operations", true, 3, "\r\nTo: ada@example.net,\r\n bob@example.net\r\n" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Sent sent = { .message.list_name = str_from(rows[i].list),
                      .message.shows_targets = rows[i].shows_targets };
        ask(&arena, &sent, three, rows[i].count);
        CHECK_AT(rows[i].shown, str_contains(sent.transfer.body, str_from(rows[i].shown)));
        CHECK_AT(rows[i].shown, sent.transfer.mail->envelope.count == rows[i].count);
    }
}

static void a_bad_address_is_left_out_and_replies_find_their_targets(void)
{
    static const char *const three[] = { "ada@example.net", "nobody", "bob@example.net" };
    static const SmtpReply replies[] = { { 250, S("250 Ok: queued as 4CyGh") },
                                         { 450, S("450 busy") } };
    DEFER(arena_done) Arena arena = { 0 };
    Sent sent = { 0 };
    ask(&arena, &sent, three, 3);
    CHECK(sent.transfer.mail->envelope.count == 2);
    channel_email.judge(&sent.parcel, &(TransferResult){ .replies = replies });
    CHECK(sent.targets[0].outcome.verdict == VERDICT_DELIVERED &&
          str_eq(sent.targets[0].outcome.provider_id, S("4CyGh")));
    CHECK(sent.targets[1].outcome.reason == REASON_NO_RECIPIENT);
    CHECK(sent.targets[2].outcome.verdict == VERDICT_TRANSIENT &&
          sent.targets[2].outcome.code == 450);
}

static void each_reply_has_its_verdict(void)
{
    static const struct {
        int code;
        const char *text;
        Verdict verdict;
        DeliveryReason reason;
        const char *provider_id;
    } rows[] = {
        { 250, "250 2.0.0 Ok: queued as 4CyGh", VERDICT_DELIVERED, REASON_ACCEPTED, "4CyGh" },
        { 250, "250 OK id=1tAbCd-00", VERDICT_DELIVERED, REASON_ACCEPTED, "1tAbCd-00" },
        { 250, "250 thanks", VERDICT_DELIVERED, REASON_ACCEPTED, NULL },
        { 250, "250 queued as ", VERDICT_DELIVERED, REASON_ACCEPTED, NULL },
        { 421, "421 bye", VERDICT_TRANSIENT, REASON_UNWELL, NULL },
        { 452, "452 full", VERDICT_TRANSIENT, REASON_UNWELL, NULL },
        { 354, "354 odd", VERDICT_TRANSIENT, REASON_UNWELL, NULL },
        { 530, "530 who", VERDICT_TRANSIENT, REASON_LOGIN_REFUSED, NULL },
        { 534, "534 how", VERDICT_TRANSIENT, REASON_LOGIN_REFUSED, NULL },
        { 535, "535 no", VERDICT_TRANSIENT, REASON_LOGIN_REFUSED, NULL },
        { 550, "550 \xff\x01no", VERDICT_PERMANENT, REASON_REFUSED, NULL },
        { 0, "", VERDICT_TRANSIENT, REASON_NO_ANSWER, NULL },
    };
    static const char *const ada[] = { "ada@example.net" };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Sent sent = { 0 };
        SmtpReply reply = { rows[i].code, str_from(rows[i].text) };
        TransferResult result = { .problem = reply.code ? TRANSFER_ANSWERED : TRANSFER_NO_ANSWER,
                                  .replies = &reply };
        ask(&arena, &sent, ada, 1);
        channel_email.judge(&sent.parcel, &result);
        const Outcome *outcome = &sent.targets[0].outcome;
        CHECK_AT(rows[i].text, outcome->verdict == rows[i].verdict);
        CHECK_AT(rows[i].text, outcome->reason == rows[i].reason);
        CHECK_AT(rows[i].text, str_eq(outcome->provider_id, str_from(rows[i].provider_id)));
        CHECK_AT(rows[i].text, str_is_utf8(outcome->detail));
    }
}

static const Test tests[] = {
    TEST(a_list_shows_its_name_or_its_members),
    TEST(a_bad_address_is_left_out_and_replies_find_their_targets),
    TEST(each_reply_has_its_verdict),
};

TEST_MAIN(tests)
