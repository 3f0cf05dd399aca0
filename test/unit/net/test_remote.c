#include "net/remote.h"
#include "net/strikes.h"

#include "test.h"

static AddressPolicy ranges(const char *text)
{
    AddressPolicy policy = { 0 };
    Err err = address_policy_parse(str_from(text), &policy, NULL);
    assert(err == ERR_OK);
    return policy;
}

static Remote remote(const char *text)
{
    Remote made = { { 0 } };
    bool is_read = remote_parse(str_from(text), &made);
    assert(is_read);
    return made;
}

static void an_address_is_read_with_or_without_its_port(void)
{
    static const struct {
        const char *text, *read; // NULL: it is none
    } cases[] = {
        { "192.0.2.1", "192.0.2.1" },
        { "192.0.2.1:8080", "192.0.2.1" },
        { "2001:db8::1", "2001:db8::1" },
        { "[2001:db8::1]", "2001:db8::1" },
        { "[2001:db8::1]:443", "2001:db8::1" },
        { "::ffff:192.0.2.1", "192.0.2.1" },
        { "::1", "::1" },
        { "", NULL },
        { "unknown", NULL },
        { "_hidden", NULL },
        { "192.0.2", NULL },
        { "192.0.2.256", NULL },
        { "[2001:db8::1", NULL },
        { "[2001:db8::1]x", NULL },
        { "2001:db8::1::", NULL },
        { "192.0.2.1 192.0.2.2", NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Remote read;
        char text[REMOTE_TEXT_MAX];
        bool is_read = remote_parse(str_from(cases[i].text), &read);
        CHECK_AT(cases[i].text, is_read == (cases[i].read != NULL));
        if (is_read && cases[i].read)
            CHECK_AT(cases[i].text, str_eq(remote_text(read, text), str_from(cases[i].read)));
    }
}

static void only_what_our_own_proxies_say_is_believed(void)
{
    static const struct {
        const char *row, *peer, *list, *client;
    } cases[] = {
        { "one proxy", "10.0.0.2", "203.0.113.9", "203.0.113.9" },
        { "what the client wrote itself", "10.0.0.2", "1.2.3.4, 203.0.113.9", "203.0.113.9" },
        { "two proxies", "10.0.0.2", "203.0.113.9, 10.0.0.3", "203.0.113.9" },
        { "two proxies and a lie", "10.0.0.2", "8.8.8.8,203.0.113.9,10.0.0.3", "203.0.113.9" },
        { "all are ours", "10.0.0.2", "10.0.0.4, 10.0.0.3", "10.0.0.4" },
        { "no list", "10.0.0.2", NULL, "10.0.0.2" },
        { "an empty list", "10.0.0.2", "", "10.0.0.2" },
        { "not a proxy", "203.0.113.1", "8.8.8.8", "203.0.113.1" },
        { "an IPv6 client", "10.0.0.2", "2001:db8::7", "2001:db8::7" },
        { "with its port", "10.0.0.2", "203.0.113.9:1234", "203.0.113.9" },
        { "nonsense", "10.0.0.2", "nonsense", "10.0.0.2" },
        { "nonsense last", "10.0.0.2", "203.0.113.9, nonsense", "10.0.0.2" },
        { "nonsense behind whom we believe", "10.0.0.2", "nonsense, 203.0.113.9", "203.0.113.9" },
        { "nonsense behind a proxy", "10.0.0.2", "nonsense, 10.0.0.3", "10.0.0.2" },
        { "an empty element", "10.0.0.2", "203.0.113.9,", "10.0.0.2" },
    };
    AddressPolicy proxies = ranges("10.0.0.0/8");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Remote client = remote_believed(&proxies, remote(cases[i].peer), str_from(cases[i].list));
        Remote wanted = remote(cases[i].client);
        CHECK_AT(cases[i].row, memcmp(&client, &wanted, sizeof client) == 0);
    }
}

static void an_ipv6_network_is_one_host(void)
{
    CHECK(remote_same_client(remote("2001:db8:1:2::3"), remote("2001:db8:1:2:ffff::4")));
    CHECK(!remote_same_client(remote("2001:db8:1:2::3"), remote("2001:db8:1:3::3")));
    CHECK(!remote_same_client(remote("192.0.2.1"), remote("192.0.2.2")));
    CHECK(!remote_same_client(remote("192.0.2.1"), remote("::1")));
    CHECK(remote_is_loopback(remote("127.3.2.1")) && remote_is_loopback(remote("::1")));
    CHECK(!remote_is_loopback(remote("::")) && !remote_is_loopback(remote("128.0.0.1")));
}

static void a_host_is_out_after_so_many_strikes_and_forgiven_one_by_one(void)
{
    static Strikes strikes = { .seed = 7, .max = STRIKES_MAX, .every = STRIKES_EVERY };
    Remote one = remote("2001:db8::1"), neighbour = remote("2001:db8::2");
    Remote other = remote("203.0.113.9");
    Instant now = 1000 * SPAN_SECOND;
    for (int i = 0; i < STRIKES_MAX; i++) {
        CHECK(!strikes_out(&strikes, one, now));
        strikes_add(&strikes, one, now);
    }
    CHECK(strikes_out(&strikes, one, now) && strikes_out(&strikes, neighbour, now));
    CHECK(!strikes_out(&strikes, other, now));
    CHECK(strikes_out(&strikes, one, now + STRIKES_EVERY - 1));
    now += STRIKES_EVERY;
    CHECK(!strikes_out(&strikes, one, now));
    strikes_add(&strikes, one, now);
    CHECK(strikes_out(&strikes, one, now));
    CHECK(!strikes_out(&strikes, one, now + STRIKES_MAX * STRIKES_EVERY));
}

static void a_full_table_keeps_those_with_most_strikes(void)
{
    static Strikes strikes = { .seed = 7, .max = STRIKES_MAX, .every = STRIKES_EVERY };
    Remote guesser = remote("203.0.113.9");
    Instant now = 1000 * SPAN_SECOND;
    for (int i = 0; i < STRIKES_MAX; i++)
        strikes_add(&strikes, guesser, now);
    for (uint32_t i = 0; i < 20 * STRIKES_ROWS; i++) {
        Remote passer = remote("10.0.0.1");
        memcpy(passer.bytes + 12, &i, sizeof i);
        strikes_add(&strikes, passer, now);
    }
    CHECK(strikes_out(&strikes, guesser, now));
}

static const Test tests[] = {
    TEST(an_address_is_read_with_or_without_its_port),
    TEST(only_what_our_own_proxies_say_is_believed),
    TEST(an_ipv6_network_is_one_host),
    TEST(a_host_is_out_after_so_many_strikes_and_forgiven_one_by_one),
    TEST(a_full_table_keeps_those_with_most_strikes),
};

TEST_MAIN(tests)
