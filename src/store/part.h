// part.h - what a snapshot is made of, for who makes one (renew.c) and who looks into it
// (registry.c).
//
// Each part is one piece of memory with its texts behind it: there may be a hundred thousand, and
// an arena for each would be larger than they are. Parts are made with one holder. Those that point
// to others (a kind to its triggers, a lane to its channel) do not hold them: every snapshot that
// has the one has the other.
#pragma once

#include "store/registry.h"

extern const TrieKind part_tenants, part_keys, part_triggers, part_kinds;
extern const TrieKind part_channels, part_lanes, part_ways, part_sources, part_paths;

// RegistryWay is the number of the lane of a channel key.
typedef struct RegistryWay {
    TrieItem item;
    Str channel_key;
    int64_t lane;
} RegistryWay;

// RegistryPath is where the webhooks of a source come.
typedef struct RegistryPath {
    TrieItem item;
    Str path;
    const RegistryHook *hook; // of the snapshot
} RegistryPath;

RegistryTenant *part_tenant(int64_t number, Str id, Str name);

// part_tenant_copy makes another that shares what the tenant has.
RegistryTenant *part_tenant_copy(const RegistryTenant *from, Str id, Str name);

RegistryKey *part_key(const RegistryKey *from);

// part_trigger keeps what is needed of a compiled trigger; body is its text.
RegistryTrigger *part_trigger(const Trigger *from, Str body);

RegistryKind *part_kind(Str text, size_t count);

// part_channel tries whether its secrets can be opened.
RegistryChannel *part_channel(int64_t tenant, int64_t version, const ChannelDefinition *from,
                              const KeyRing *ring);
RegistryLane *part_lane(int64_t number, int64_t tenant, Str channel_key,
                        const RegistryChannel *channel);

RegistryWay *part_way(Str channel_key, int64_t lane);

// part_source tries whether its secrets can be opened; from's path is the whole of it.
RegistryHook *part_source(int64_t tenant, int64_t version, const SourceDefinition *from,
                          const KeyRing *ring);
RegistryPath *part_path(const RegistryHook *hook);

RegistryTenant *part_find_tenant(const Registry *registry, int64_t tenant);
RegistryKey *part_find_key(const Registry *registry, const Sha256 *hash);
RegistryTrigger *part_find_trigger(const RegistryTenant *tenant, RuleKind kind, Str id);
RegistryKind *part_find_kind(const Trie *kinds, Str kind);
RegistryChannel *part_find_channel(const RegistryTenant *tenant, Str key);
RegistryWay *part_find_way(const RegistryTenant *tenant, Str channel_key);
RegistryHook *part_find_source(const RegistryTenant *tenant, Str id);
RegistryPath *part_find_path(const Registry *registry, Str path);
RegistryLane *part_find_lane(const Registry *registry, int64_t lane);
