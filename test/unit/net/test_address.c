#include "net/address.h"
#include "test.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>

// allowed resolves a spelling as libcurl would, without asking any server.
static bool allowed(const AddressPolicy *policy, const char *spelling)
{
    struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    int failed = getaddrinfo(spelling, "80", &hints, &found);
    CHECK_AT(spelling, !failed);
    if (failed)
        return false;
    bool is_allowed = address_allowed(policy, found->ai_addr);
    freeaddrinfo(found);
    return is_allowed;
}

// clang-format off
static const char *const private_spellings[] = {
    // this network, and what the kernel takes for loopback
    "0.0.0.0", "0", "0.1.2.3", "0.255.255.255",
    // loopback
    "127.0.0.1", "127.1", "127.0.1", "127.255.255.254", "2130706433", "0x7f000001",
    "0x7f.0.0.1", "0x7f.1", "0177.0.0.1", "0177.1", "017700000001", "127.000.000.001",
    // private
    "10.0.0.0", "10.255.255.255", "0xa.0.0.1", "167772161", "172.16.0.0", "172.31.255.255",
    "192.168.0.0", "192.168.255.255", "3232235521", "0xc0a80001",
    // carrier NAT and metadata
    "100.64.0.0", "100.127.255.255", "100.100.100.200", "169.254.0.0", "169.254.169.254",
    "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.170.2", "169.254.255.255",
    "192.0.0.0", "192.0.0.192", "192.0.0.255",
    // documentation, benchmarks, relays, multicast, reserved, broadcast
    "192.0.2.1", "198.51.100.7", "203.0.113.255", "198.18.0.0", "198.19.255.255",
    "192.88.99.1", "224.0.0.1", "239.255.255.255", "240.0.0.0", "255.255.255.255",
    // IPv6: unspecified, loopback, compatible, mapped
    "::", "::1", "0:0:0:0:0:0:0:1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1",
    "::ffff:7f00:1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:a9fe:a9fe",
    "0:0:0:0:0:ffff:c0a8:1", "::ffff:0:127.0.0.1",
    // NAT64 and discard
    "64:ff9b::127.0.0.1", "64:ff9b::8.8.8.8", "64:ff9b:1::1", "100::1", "100:0:0:1::1",
    // Teredo, ORCHID, 6to4
    "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:10::1", "2001:20::1",
    "2001:1ff::1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:808:808::1",
    // documentation, segment routing, unique local, link and site local, multicast
    "2001:db8::1", "2001:db8:ffff:ffff::1", "3fff::1", "3fff:fff::1", "5f00::1", "fc00::1",
    "fd00:ec2::254", "fdff:ffff::1", "fe80::1", "febf::1", "fec0::1", "feff::1", "ff02::1",
    "ff0e::1", "4000::1", "8000::1", "1fff:ffff::1",
};

static const char *const public_spellings[] = {
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
    "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255",
    "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.88.98.255", "192.88.100.0", "192.167.255.255",
    "192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0",
    "203.0.112.255", "203.0.114.0", "223.255.255.255", "134744072", "0x08080808",
    "::ffff:8.8.8.8", "::ffff:808:808", "2000::1", "2001:200::1", "2001:4860:4860::8888",
    "2001:db7::1", "2001:db9::1", "2003::1", "2606:4700:4700::1111", "2a00:1450:4001::1",
    "3ffe::1", "3fff:1000::1",
};
// clang-format on

static void private_addresses_are_refused_in_every_spelling(void)
{
    AddressPolicy none = { 0 };
    CHECK(ARRAY_LEN(private_spellings) >= 60);
    for (size_t i = 0; i < ARRAY_LEN(private_spellings); i++)
        CHECK_AT(private_spellings[i], !allowed(&none, private_spellings[i]));
}

static void public_addresses_are_allowed(void)
{
    AddressPolicy none = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(public_spellings); i++)
        CHECK_AT(public_spellings[i], allowed(&none, public_spellings[i]));
}

static void other_families_are_refused(void)
{
    AddressPolicy none = { 0 };
    struct sockaddr_un local = { .sun_family = AF_UNIX, .sun_path = "/run/docker.sock" };
    CHECK(!address_allowed(&none, (const struct sockaddr *) &local));
}

static void the_operator_may_allow_ranges(void)
{
    static const struct {
        const char *ranges, *inside, *outside;
    } cases[] = {
        { "10.0.0.0/8", "10.1.2.3", "127.0.0.1" },
        { "10.0.0.0/8", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3" },
        { "10.0.0.7/8", "10.200.0.1", "127.0.0.1" },
        { "127.0.0.1", "127.0.0.1", "127.0.0.2" },
        { " 127.0.0.1 , ::1/128 ", "::1", "::2" },
        { "172.20.0.0/15", "172.21.255.255", "172.22.0.0" },
        { "192.168.1.128/25", "192.168.1.128", "192.168.1.127" },
        { "fd00::/8", "fd12::1", "fc00::1" },
        { "fe80::/10", "febf::1", "fec0::1" },
        { "::ffff:127.0.0.0/104", "127.9.9.9", "10.0.0.1" },
        { "0.0.0.0/0", "127.0.0.1", "::1" },
        { "::/0", "127.0.0.1", NULL },
        { "127.0.0.1/32", "2130706433", "127.0.0.0" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AddressPolicy policy;
        Error error = { 0 };
        CHECK_AT(cases[i].ranges,
                 address_policy_parse(str_from(cases[i].ranges), &policy, &error) == ERR_OK);
        CHECK_AT(cases[i].ranges, allowed(&policy, cases[i].inside));
        if (cases[i].outside)
            CHECK_AT(cases[i].ranges, !allowed(&policy, cases[i].outside));
        CHECK_AT(cases[i].ranges, allowed(&policy, "8.8.8.8"));
    }
}

static void a_range_that_cannot_be_read_is_told(void)
{
    static const char *const bad[] = {
        "localhost",
        "10.0.0.0/33",
        "10.0.0.0/-1",
        "10.0.0.0/",
        "10/8",
        "127.1",
        "0x7f.0.0.1",
        "::1/129",
        "10.0.0.0/8,",
        ",10.0.0.0/8",
        "10.0.0.0/8,,::1",
        "10.0.0.0/8 ::1",
        "/8",
        "fe80::1%lo",
        "10.0.0.0/0x8",
        "1.2.3.4.5",
        "10.0.0.0/8/8",
        "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        AddressPolicy policy = { .count = 7 };
        Error error = { 0 };
        CHECK_AT(bad[i], address_policy_parse(str_from(bad[i]), &policy, &error) == ERR_SETUP);
        CHECK_AT(bad[i], policy.count == 7 && error.detail[0]);
    }
}

static void no_ranges_and_too_many(void)
{
    AddressPolicy policy = { .count = 7 };
    CHECK(address_policy_parse(S(" "), &policy, NULL) == ERR_OK && policy.count == 0);
    CHECK(address_policy_parse(STR_NONE, &policy, NULL) == ERR_OK && policy.count == 0);

    DEFER(arena_done) Arena arena = { 0 };
    Buf many = buf_new(&arena, 4096);
    for (int i = 0; i < ADDRESS_RANGES_MAX; i++)
        buf_add_format(&many, "%s10.0.0.%d", i > 0 ? "," : "", i);
    CHECK(address_policy_parse(buf_str(&many), &policy, NULL) == ERR_OK);
    CHECK(policy.count == ADDRESS_RANGES_MAX);
    buf_add(&many, S(",10.0.1.0"));
    CHECK(address_policy_parse(buf_str(&many), &policy, NULL) == ERR_SETUP);
}

static const Test tests[] = {
    TEST(private_addresses_are_refused_in_every_spelling),
    TEST(public_addresses_are_allowed),
    TEST(other_families_are_refused),
    TEST(the_operator_may_allow_ranges),
    TEST(a_range_that_cannot_be_read_is_told),
    TEST(no_ranges_and_too_many),
};

TEST_MAIN(tests)
