#include "domain/channel.h"

#include "documents.h"

static void a_channel_is_read_whole(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    ChannelDefinition channel = { 0 };
    const Json *source =
        document(&arena, "{'key':'http:bi','type':'http','config':{'url':'https://bi.example/in'},"
                         "'concurrency':8,'rate':{'per':'1s','max':100},'timeout':'20s','enabled':"
                         "false,'ordered':true,"
                         "'retry':{'policy':'exponential','interval':'2m','max':7,"
                         "'giveUpAfter':'3d'}}");
    CHECK(channel_compile(source, &channel, &error) == ERR_OK);
    CHECK(is_text(channel.key, "http:bi") && is_text(channel.type, "http"));
    CHECK(is_text(json_str(json_get(channel.config, S("url"))), "https://bi.example/in"));
    CHECK(channel.concurrency == 8 && channel.rate_max == 100 && channel.rate_per == SPAN_SECOND);
    CHECK(channel.timeout == 20 * SPAN_SECOND && !channel.enabled && channel.ordered);
    CHECK(channel.has_retry && channel.retry.kind == RETRY_EXPONENTIAL && channel.retry.max == 7);
    CHECK(channel.retry.interval == 2 * SPAN_MINUTE && channel.retry.give_up_after == 3 * SPAN_DAY);
}

static void key_and_type_are_enough(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    ChannelDefinition channel = { 0 };
    CHECK(channel_compile(document(&arena, "{'key':'memory:default','type':'memory'}"), &channel,
                          NULL) == ERR_OK);
    CHECK(!channel.config && channel.concurrency == 32 && channel.rate_max == 0);
    CHECK(channel.timeout == 15 * SPAN_SECOND && channel.enabled && !channel.ordered);
    CHECK(!channel.has_retry && channel.retry.kind == RETRY_EXPONENTIAL && channel.retry.max == 5);
}

static void limits_are_included(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    ChannelDefinition channel = { 0 };
    const Json *low = document(&arena, "{'key':'k','type':'t','concurrency':1,'timeout':'1s',"
                                       "'rate':{'per':'1s','max':1}}");
    CHECK(channel_compile(low, &channel, NULL) == ERR_OK);
    CHECK(channel.concurrency == 1 && channel.timeout == SPAN_SECOND && channel.rate_max == 1);
    const Json *high = document(&arena, "{'key':'k','type':'t','concurrency':1000,'timeout':'5m',"
                                        "'rate':{'per':'1d','max':1000000}}");
    CHECK(channel_compile(high, &channel, NULL) == ERR_OK);
    CHECK(channel.concurrency == 1000 && channel.timeout == 5 * SPAN_MINUTE);
}

#define BASE "'key':'k','type':'t'"

static void a_bad_channel_is_refused_with_its_place(void)
{
    static const struct {
        const char *source, *path, *code;
    } cases[] = {
        { "[]", "", "bad-type" },
        { "{'type':'t'}", "/key", "missing-member" },
        { "{'key':'k'}", "/type", "missing-member" },
        { "{'key':'a b','type':'t'}", "/key", "bad-value" },
        { "{'key':5,'type':'t'}", "/key", "bad-type" },
        { "{" BASE ",'url':'x'}", "/url", "unknown-member" },
        { "{" BASE ",'config':'x'}", "/config", "bad-type" },
        { "{" BASE ",'concurrency':0}", "/concurrency", "bad-value" },
        { "{" BASE ",'concurrency':1001}", "/concurrency", "bad-value" },
        { "{" BASE ",'timeout':'0s'}", "/timeout", "bad-duration" },
        { "{" BASE ",'timeout':'6m'}", "/timeout", "bad-duration" },
        { "{" BASE ",'rate':5}", "/rate", "bad-type" },
        { "{" BASE ",'rate':{'max':5}}", "/rate/per", "missing-member" },
        { "{" BASE ",'rate':{'per':'1s'}}", "/rate/max", "missing-member" },
        { "{" BASE ",'rate':{'per':'1s','max':0}}", "/rate/max", "bad-value" },
        { "{" BASE ",'rate':{'per':'0s','max':1}}", "/rate/per", "bad-duration" },
        { "{" BASE ",'rate':{'per':'1s','max':1,'burst':2}}", "/rate/burst", "unknown-member" },
        { "{" BASE ",'retry':{'policy':'no'}}", "/retry/policy", "bad-value" },
        { "{" BASE ",'enabled':0}", "/enabled", "bad-type" },
        { "{" BASE ",'sorted':true}", "/sorted", "unknown-member" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        ChannelDefinition channel = { .concurrency = 7 };
        const Json *source = document(&arena, cases[i].source);
        CHECK_AT(cases[i].source, channel_compile(source, &channel, &error) == ERR_CHANNEL_INVALID);
        CHECK_AT(cases[i].source, error.count == 1 && channel.concurrency == 7);
        CHECK_AT(cases[i].source, has_problem(&error, cases[i].path, cases[i].code));
        CHECK_AT(cases[i].source, channel_compile(source, &channel, NULL) == ERR_CHANNEL_INVALID);
    }
}

static const Test tests[] = {
    TEST(a_channel_is_read_whole),
    TEST(key_and_type_are_enough),
    TEST(limits_are_included),
    TEST(a_bad_channel_is_refused_with_its_place),
};
TEST_MAIN(tests)
