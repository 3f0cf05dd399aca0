// address.h - which addresses an outgoing request may reach.
//
// By default nothing private: the list is research/reliability.md 4.2's, checked numerically on
// the address that was resolved, at the moment the socket is opened. IPv4 inside IPv6 is unmapped
// first. The operator of the installation may allow ranges.
#pragma once

#include "base/base.h"
#include "base/err.h"
#include "base/str.h"

struct sockaddr;

enum { ADDRESS_RANGES_MAX = 64 };

typedef struct AddressRange {
    uint8_t network[16]; // IPv4 stands as ::ffff:a.b.c.d
    int bits;            // of 128
} AddressRange;

typedef struct AddressPolicy {
    AddressRange allowed[ADDRESS_RANGES_MAX];
    size_t count;
} AddressPolicy;

// address_policy_parse reads "10.0.0.0/8,127.0.0.1,::1/128"; an address alone is one address.
Err address_policy_parse(Str text, AddressPolicy *ret, Error *error) MUST_USE;

// address_named says whether a range of the list has the address (16 bytes, as network above).
bool address_named(const AddressPolicy *policy, const uint8_t at[16]);

bool address_allowed(const AddressPolicy *policy, const struct sockaddr *address);
