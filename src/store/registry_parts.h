// registry_parts.h - what a snapshot is made of, for whoever makes one: registry.c and
// renew.c alone.
//
// Each part is one piece of memory with its texts behind it: there may be a hundred thousand, and
// an arena for each would be larger than they are. Parts are made with one holder. Those that point
// to others (a kind to its triggers, a lane to its channel) do not hold them: every snapshot that
// has the one has the other.
#pragma once

#include "store/registry.h"

extern const TrieKind tenant_parts, key_parts, trigger_parts, kind_parts;
extern const TrieKind channel_parts, lane_parts, way_parts;

// RegistryWay is the number of the lane of a channel key.
typedef struct RegistryWay {
    TrieItem item;
    Str channel_key;
    int64_t lane;
} RegistryWay;

RegistryTenant *tenant_part(int64_t tenant, Str id, Str name);

// tenant_part_copy makes another that shares what the tenant has.
RegistryTenant *tenant_part_copy(const RegistryTenant *from, Str id, Str name);

RegistryKey *key_part(const RegistryKey *from);

// trigger_part keeps what is needed of a compiled trigger; body is its text.
RegistryTrigger *trigger_part(const Trigger *from, Str body);

RegistryKind *kind_part(Str kind, size_t count);

// channel_part tries whether its secrets can be opened.
RegistryChannel *channel_part(int64_t tenant, int64_t version, const ChannelDefinition *from,
                              const KeyRing *ring);
RegistryLane *lane_part(int64_t lane, int64_t tenant, Str channel_key,
                        const RegistryChannel *channel);

RegistryWay *way_part(Str channel_key, int64_t lane);

RegistryTenant *find_tenant(const Registry *registry, int64_t tenant);
RegistryTrigger *find_trigger(const RegistryTenant *tenant, int64_t rule);
RegistryKind *find_kind(const Trie *kinds, Str kind);
RegistryChannel *find_channel(const RegistryTenant *tenant, Str key);
RegistryWay *find_way(const RegistryTenant *tenant, Str channel_key);
RegistryLane *find_lane(const Registry *registry, int64_t lane);
