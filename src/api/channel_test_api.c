#include "api/handlers.h"

#include "api/dry.h"
#include "domain/notification.h"
#include "engine/compose.h"
#include "store/accept.h"
#include "store/rule.h"

// A test of a channel is a delivery like any other: an event for one rule of Peal's own, which goes
// by the one door and the one queue to that channel's lane. Whatever holds others holds it, and
// what becomes of it is told as of any.

enum { TESTS_A_MINUTE = 10 }; // of a tenant

#define TEST_KIND S("channel.test")
#define TEST_RULE                                                                                  \
    S("channels") // one for all channels of a tenant, so that its tests can be counted

typedef struct TestBody {
    Str target, subject, body;
} TestBody;

// clang-format off
#define AT(member) .offset = offsetof(TestBody, member)
static const Field body_rows[] = {
    { "target",  FIELD_TEXT, AT(target), .max = EVENT_ADDRESS_MAX, .help = "An address as its channel takes it; needed unless the channel itself says whom it reaches" },
    { "subject", FIELD_TEXT, AT(subject), .max = NOTIFICATION_SUBJECT_MAX, .help = "\"Test by Peal\" unless said" },
    { "body",    FIELD_TEXT, FIELD_CONTROL, AT(body), .max = 10000, .help = "A sentence that names the channel unless said" },
};
#undef AT
const Shape channel_test_body_shape = { .name = "ChannelTest", SHAPE_ROWS(body_rows), .size = sizeof(TestBody) };
static const Field taken_rows[] = {
    { "deliveryId", FIELD_ID, FIELD_ALWAYS },
    { "eventId",    FIELD_ID, FIELD_ALWAYS },
};
const Shape channel_test_shape = { .name = "ChannelTestTaken", SHAPE_ROWS(taken_rows) };
// clang-format on

// Test is one on its way.
typedef struct Test {
    const RegistryChannel *channel;
    const ChannelType *type;
    TestBody body;
    Trigger rule;
    AcceptItem item;
} Test;

// check_type refuses what has nobody to send a message to.
static Err check_type(const Test *test, Error *error)
{
    Carrier carrier = test->type->carrier;
    if (carrier == CARRIER_PROCESS || carrier == CARRIER_PULLED)
        return fail(error, ERR_INVALID,
                    "a channel of type %s runs jobs and automations: run one of these to try it",
                    test->type->type);
    if (test->type->is_timeless)
        return fail(error, ERR_INVALID, "a channel of type %s hands on what a site took in",
                    test->type->type);
    if (!test->body.target.at && test->type->targets_max > 0) {
        error_add(error, S("/target"), "missing-member",
                  "\"target\" is needed by a channel of type %s", test->type->type);
        return error_close(error, ERR_INVALID);
    }
    return ERR_OK;
}

static Err read_test(Call *call, Tx *tx, Test *ret, Error *error)
{
    Str key = call->params[0];
    TRY(call_body(call, error));
    TRY(fields_read(call->arena, call->body, S(""), &channel_test_body_shape, &ret->body, error));
    ret->channel = registry_channel(tx->registry, call->tenant, key);
    ret->type = ret->channel ? channel_type_find(ret->channel->definition.type) : NULL;
    if (!ret->type)
        return fail(error, ERR_NOT_FOUND, "there is no channel %.*s", STR_ARG(key));
    return check_type(ret, error);
}

static Str payload_of(Call *call, const TestBody *body)
{
    Buf text = buf_new(call->arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_str(&out, S("subject"), body->subject.at ? body->subject : S("Test by Peal"));
    json_put_str(&out, S("body"),
                 body->body.at ? body->body
                               : str_format(call->arena, "This is a test of the channel %.*s.",
                                            STR_ARG(call->params[0])));
    json_put_bool(&out, S("test"), true);
    json_close(&out, '}');
    return buf_str(&text);
}

static Str recipient_of(Call *call, Str target)
{
    if (!target.at)
        return STR_NONE;
    Buf text = buf_new(call->arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_str(&out, S("address"), target);
    json_close(&out, '}');
    return buf_str(&text);
}

// check_target has the channel itself say whether it takes the target: its request is made, with
// stand-ins for secrets, and not sent.
static Err check_target(Call *call, const Test *test, Instant now, Error *error)
{
    Sent unused = { 0 };
    Message message;
    Error refused = { .arena = call->arena };
    Target target = { .address = test->body.target, .outcome = { .verdict = VERDICT_UNKNOWN } };
    Claimed claimed = { .promise = { .address = test->body.target, .public_id = S("test") },
                        .live = { .send = 1, .attempt = 1, .started_at = now },
                        .event_kind = TEST_KIND,
                        .payload = test->item.event.payload,
                        .origin = { .occurred_at = now },
                        .trigger = &test->rule };
    if (test->type->carrier != CARRIER_TRANSFER)
        return ERR_OK;
    compose(&claimed, test->type, call->api->url_template, &target, 1, call->arena, &message);
    Parcel parcel = { .type = test->type,
                      .config = sent_config(call, test->channel, test->type),
                      .messages = &message,
                      .count = 1,
                      .arena = call->arena,
                      .now = now };
    if (!parcel.config)
        return ERR_OK; // it waits for its key, and so will the test
    Err err = sent_describe(&parcel, &unused, &refused);
    if (err == ERR_OK && !parcel_is_judged(&parcel))
        return ERR_OK;
    Str why = err != ERR_OK ? str_from(refused.detail) : target.outcome.detail;
    error_add(error, S("/target"), "bad-value", "%.*s", STR_ARG(why));
    return error_close(error, ERR_INVALID);
}

// place gives the rule its number and the lane of the channel, and counts what it made lately.
static Err place(Call *call, Tx *tx, Test *test, Error *error)
{
    int64_t made;
    test->rule = trigger_usual(RULE_TEST);
    test->rule.rule.id = TEST_RULE;
    test->rule.rule.tenant = call->tenant;
    TRY(rule_place(tx, &test->rule.rule, call->params[0], error));
    TRY(rule_made(tx->db, &tx->arena, call->tenant, test->rule.rule.number, tx->now - SPAN_MINUTE,
                  TESTS_A_MINUTE, &made, error));
    if (made < TESTS_A_MINUTE)
        return ERR_OK;
    return fail(error, ERR_TOO_MANY, "%d tests a minute: try again in a minute", TESTS_A_MINUTE);
}

static Err tell_test(Call *call, Error *error)
{
    const Test *test = call->with;
    (void) error;
    JsonOut *json = call_json(call, 202);
    json_open(json, '{');
    json_put_id(json, S("deliveryId"), test->item.pairs[0].delivery);
    json_put_id(json, S("eventId"), test->item.event.id);
    json_close(json, '}');
    return ERR_OK;
}

Err channel_test_post(Call *call, Tx *tx, Error *error)
{
    Test *test = ARENA_NEW(call->arena, Test);
    const Trigger **named = ARENA_ARRAY(call->arena, const Trigger *, 1);
    Accept accept = { .arena = call->arena,
                      .tenant = call->tenant,
                      .items = &test->item,
                      .count = 1,
                      .now = tx->now };
    Accept *accepts[] = { &accept };
    TRY(read_test(call, tx, test, error));
    named[0] = &test->rule;
    test->item = (AcceptItem){
        .event = { .kind = TEST_KIND,
                   .source = TEST_KIND,
                   .occurred_at = tx->now,
                   .payload = payload_of(call, &test->body),
                   .recipient = recipient_of(call, test->body.target) },
        .named = named,
        .named_count = 1,
    };
    TRY(event_parse(call->arena, &test->item.event, error));
    TRY(check_target(call, test, tx->now, error));
    TRY(place(call, tx, test, error));
    TRY(accept_decide(&accept, tx->registry, tx->random, error));
    TRY(accept_write(tx, accepts, 1, error));
    assert(test->item.created_count == 1); // it has no filter and no key
    call->with = test;
    call_later(call, tell_test);
    return ERR_OK;
}
