#include "net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

// Every address is compared as 16 bytes, IPv4 as ::ffff:a.b.c.d: so the mapped spelling of an IPv4
// address is the IPv4 address, and one table serves both families.

// clang-format off
#define V4(a, b, c, d) { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d }

static const AddressRange v4_all = { V4(0, 0, 0, 0), 96 };
static const AddressRange v6_global = { { 0x20 }, 3 };

// Within IPv4 everything is public but these; within IPv6 nothing is but 2000::/3 without these.
static const AddressRange reserved[] = {
    { V4(0, 0, 0, 0),      96 + 8 },  // this network
    { V4(10, 0, 0, 0),     96 + 8 },  // private
    { V4(100, 64, 0, 0),   96 + 10 }, // carrier NAT, and a cloud's metadata at 100.100.100.200
    { V4(127, 0, 0, 0),    96 + 8 },  // loopback
    { V4(169, 254, 0, 0),  96 + 16 }, // link-local, and most clouds' metadata
    { V4(172, 16, 0, 0),   96 + 12 }, // private
    { V4(192, 0, 0, 0),    96 + 24 }, // protocol assignments, and a cloud's metadata at .192
    { V4(192, 0, 2, 0),    96 + 24 }, // documentation
    { V4(192, 88, 99, 0),  96 + 24 }, // 6to4 relays
    { V4(192, 168, 0, 0),  96 + 16 }, // private
    { V4(198, 18, 0, 0),   96 + 15 }, // benchmarks
    { V4(198, 51, 100, 0), 96 + 24 }, // documentation
    { V4(203, 0, 113, 0),  96 + 24 }, // documentation
    { V4(224, 0, 0, 0),    96 + 4 },  // multicast
    { V4(240, 0, 0, 0),    96 + 4 },  // reserved, and broadcast
    { { 0x20, 0x01, 0x00, 0x00 }, 23 }, // protocol assignments, Teredo among them
    { { 0x20, 0x01, 0x0d, 0xb8 }, 32 }, // documentation
    { { 0x20, 0x02 },             16 }, // 6to4: any IPv4 address may hide inside
    { { 0x3f, 0xff },             20 }, // documentation
};
// clang-format on

static bool to_bytes(const struct sockaddr *address, uint8_t ret[16])
{
    // A copy, because the caller's storage need not be aligned for the longer type.
    if (address->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof v4);
        memcpy(ret, v4_all.network, 12);
        memcpy(ret + 12, &v4.sin_addr, 4);
        return true;
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, address, sizeof v6);
        memcpy(ret, &v6.sin6_addr, 16);
        return true;
    }
    return false;
}

static bool contains(const AddressRange *range, const uint8_t at[16])
{
    int whole = range->bits / 8, rest = range->bits % 8;
    if (memcmp(range->network, at, (size_t) whole) != 0)
        return false;
    int mask = 0xff00 >> rest & 0xff;
    return rest == 0 || ((range->network[whole] ^ at[whole]) & mask) == 0;
}

bool address_named(const AddressPolicy *policy, const uint8_t at[16])
{
    for (size_t i = 0; i < policy->count; i++)
        if (contains(&policy->allowed[i], at))
            return true;
    return false;
}

bool address_allowed(const AddressPolicy *policy, const struct sockaddr *address)
{
    uint8_t at[16];
    if (!to_bytes(address, at))
        return false;
    if (address_named(policy, at))
        return true;
    if (!contains(&v4_all, at) && !contains(&v6_global, at))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
        if (contains(&reserved[i], at))
            return false;
    return true;
}

// parse_range reads one address with or without "/bits".
static bool parse_range(Str text, AddressRange *ret)
{
    bool has_bits = str_contains(text, S("/"));
    Str host = str_cut(&text, '/');
    char z[INET6_ADDRSTRLEN];
    if (host.len == 0 || host.len >= sizeof z)
        return false;
    memcpy(z, host.at, host.len);
    z[host.len] = '\0';

    AddressRange range = { .bits = 128 };
    int64_t bits_max = 128;
    if (inet_pton(AF_INET, z, range.network + 12) == 1) {
        memcpy(range.network, v4_all.network, 12);
        bits_max = 32;
    } else if (inet_pton(AF_INET6, z, range.network) != 1) {
        return false;
    }
    int64_t bits = bits_max;
    if (has_bits && !str_to_i64(text, 0, bits_max, &bits))
        return false;
    range.bits = (int) (128 - bits_max + bits);
    *ret = range;
    return true;
}

Err address_policy_parse(Str text, AddressPolicy *ret, Error *error)
{
    AddressPolicy policy = { 0 };
    bool is_empty = str_trim(text).len == 0;
    while (!is_empty && text.at) {
        Str part = str_trim(str_cut(&text, ','));
        if (policy.count == ADDRESS_RANGES_MAX)
            return fail(error, ERR_SETUP, "at most %d ranges may be named", ADDRESS_RANGES_MAX);
        if (!parse_range(part, &policy.allowed[policy.count]))
            return fail(error, ERR_SETUP,
                        "\"%.*s\" is not an address or a range such as 10.0.0.0/8", STR_ARG(part));
        policy.count++;
    }
    *ret = policy;
    return ERR_OK;
}
