// registry.h - definitions as every thread sees them: an immutable snapshot of tenants, keys,
// triggers, channels, lanes and the hold.
//
// A snapshot carries the generation it was read at. Whatever changes a definition raises the
// generation in the same transaction; whatever decides on a snapshot has its transaction check the
// generation (tx.h) and decides anew when it has moved. So a publish is seen by every node before
// it is answered, without a message between nodes.
//
// Snapshots are counted: registry_hold() and registry_drop(). Everything in one lives in its arena;
// opened secrets have one of their own, which is overwritten when the snapshot is freed.
//
// A channel whose secret cannot be opened is never sent through: without its signature a message
// would be a forgery's equal. Its lane waits, and no attempt is spent, until the right key is given
// or the secret is given anew.
#pragma once

#include "base/crypto.h"
#include "domain/channel.h"
#include "domain/role.h"
#include "domain/trigger.h"
#include "store/db.h"

#include <stdatomic.h>

typedef struct RegistryTenant {
    int64_t tenant;
    Str id, name;
} RegistryTenant;

typedef struct RegistryKey {
    Uuid id;
    int64_t tenant;
    Role role;
    bool is_system; // tenants, tick, clock, hold and release
    Instant expires_at;
    Sha256 hash;
} RegistryKey;

typedef struct RegistryChannel {
    int64_t tenant, version;
    ChannelDefinition definition; // config has its secrets opened; NULL where one cannot be
    bool is_sealed; // a secret cannot be opened with the keys at hand: nothing may be sent
} RegistryChannel;

typedef struct RegistryLane {
    int64_t lane, tenant;
    Str channel_key;
    const RegistryChannel *channel; // NULL: there is no such channel
} RegistryLane;

typedef struct Registry {
    _Atomic int holders;
    int64_t generation;
    Arena arena, secrets;
    const RegistryTenant *tenants; // by number
    size_t tenant_count;
    const RegistryKey *keys; // by hash
    size_t key_count;
    const Trigger **triggers; // by tenant and event kind; current versions, disabled ones too
    size_t trigger_count;
    const Trigger **recallers; // those with cancelOn, by tenant and its event kind
    size_t recaller_count;
    const RegistryChannel *channels; // by tenant and key
    size_t channel_count, sealed_count;
    const RegistryLane *lanes; // by number
    const RegistryLane **lanes_by_channel;
    size_t lane_count;
    bool is_held, is_doubted; // doubted: the reason is Peal's own, the database may be a copy
    Str hold_reason;
} Registry;

// registry_load reads everything in one go. A definition that no longer compiles is left out and
// logged: it was valid when it was saved.
Err registry_load(Db *db, const KeyRing *ring, Registry **ret, Error *error) MUST_USE;
Registry *registry_hold(Registry *registry);
void registry_drop(Registry *registry);

const RegistryTenant *registry_tenant(const Registry *registry, int64_t tenant);
const RegistryKey *registry_key(const Registry *registry, const Sha256 *hash);
const RegistryChannel *registry_channel(const Registry *registry, int64_t tenant, Str key);
const RegistryLane *registry_lane(const Registry *registry, int64_t lane);

// registry_lane_may_send is false while a lane must not be claimed from. A lane without a channel,
// or with one that is disabled, is claimed from: its deliveries park.
bool registry_lane_may_send(const RegistryLane *lane);

// registry_wait is the sentence that tells why a channel waits.
Str registry_wait(Arena *arena, const RegistryChannel *channel);

// registry_retry is the policy a delivery is tried under: the trigger's, else the channel's, else
// the default.
RetryPolicy registry_retry(const RegistryLane *lane, const Trigger *trigger);

// registry_triggers returns those of a tenant that listen to kind; registry_recallers those whose
// cancelOn does.
const Trigger *const *registry_triggers(const Registry *registry, int64_t tenant, Str kind,
                                        size_t *ret_count);
const Trigger *const *registry_recallers(const Registry *registry, int64_t tenant, Str kind,
                                         size_t *ret_count);

extern const Statement *const registry_statements[]; // ends with NULL
