// registry.h - definitions as every thread sees them: an immutable snapshot of tenants, keys,
// triggers, channels, sources of webhooks, lanes and the hold.
//
// A snapshot carries the generation it was read at. Whatever changes a definition raises the
// generation in the same transaction; whatever decides on a snapshot has its transaction check the
// generation (tx.h) and decides anew when it has moved. So a publish is seen by every node before
// it is answered, without a message between nodes.
//
// There may be a hundred thousand definitions, so nothing is done for all of them because of one.
// registry_renew() reads what changed since another snapshot, and makes one that shares the rest
// with it (base/trie.h). What belongs to a tenant hangs on the tenant, which says which load last
// changed its triggers: who decided on what has not moved since need not decide anew. A trigger is
// kept as its text, a few hundred bytes, and compiled when an event first needs it
// (registry_compiled); a channel's secrets are opened when something is first sent through it
// (registry_config), and overwritten when the channel has changed and nobody looks at the old one
// any more.
//
// Snapshots are counted: registry_hold() and registry_drop(). What a look-up returns lives as long
// as the snapshot is held.
//
// A channel whose secret cannot be opened is never sent through: without its signature a message
// would be a forgery's equal. Its lane waits, and no attempt is spent, until the right key is given
// or the secret is given anew. Whether it can be is tried when the channel is loaded; what was
// opened for that is overwritten at once. Nor does a source whose secret cannot be opened take
// anything: it is neither known what comes from its sender, nor what does not.
#pragma once

#include "base/crypto.h"
#include "base/trie.h"
#include "domain/channel.h"
#include "domain/defer.h"
#include "domain/role.h"
#include "domain/sieve.h"
#include "domain/source.h"
#include "domain/trigger.h"
#include "store/db.h"

// RegistryTenant is a tenant with all that it has defined.
typedef struct RegistryTenant {
    TrieItem item;
    int64_t tenant;
    Str id, name;          // none: it is gone, and what it had defined is not
    bool has_preferences;  // or had: addresses are to be looked up (preference.h)
    int64_t stamp;         // of the load that made this one
    int64_t moved;         // the stamp of the load that last changed a trigger of it
    Trie triggers;         // RegistryTrigger by kind and id; current versions, disabled ones too
    Trie kinds, off_kinds; // RegistryKind: who listens to a kind; whose cancelOn does
    Trie channels;         // RegistryChannel by key
    Trie ways;             // from a channel key to the number of its lane
    Trie sources;          // RegistryHook by id
} RegistryTenant;

typedef struct RegistryKey {
    TrieItem item;
    Uuid id;
    int64_t tenant;
    Role role;
    bool is_system; // tenants, tick, clock, hold and release
    Instant expires_at;
    int64_t site;  // whose it is (store/site.h); 0: nobody's
    Str site_name; // none
    Str handlers;  // that it is limited to, by commas; none: all
    Sha256 hash;
    bool is_session; // of the key with the hash parent, whose rights it has: see registry_session()
    Sha256 parent;
    Uuid parent_id;
} RegistryKey;

typedef struct RegistryCompiled RegistryCompiled;
typedef struct RegistryOpened RegistryOpened;

// RegistryTrigger is a trigger, or another kind of rule that has a definition, as it is kept: whom
// it listens to, and its text.
typedef struct RegistryTrigger {
    TrieItem item;
    RuleKind rule_kind;
    int64_t tenant, rule, version, lane;
    bool is_enabled;
    bool is_provided;       // it listens to a provider's events
    Str id, kind, off_kind; // kind: of events, none where it listens to none; of its cancelOn; none
    Str automation;         // that it runs; none
    Str gate_path;          // of its filter's gate; none
    const uint64_t *gate_keys;
    size_t gate_count;
    Str body;
    _Atomic(RegistryCompiled *) compiled; // NULL until it is needed
} RegistryTrigger;

// RegistryKind is who listens to events of one kind, by kind of rule and id.
typedef struct RegistryKind {
    TrieItem item;
    Str kind;
    size_t count;
    const RegistryTrigger **triggers; // of the snapshot
    _Atomic(Sieve *) sieve;           // NULL until it is needed
} RegistryKind;

typedef struct RegistryChannel {
    TrieItem item;
    int64_t tenant, version;
    ChannelDefinition definition; // but config: ask registry_config()
    Str config;                   // JSON as it is stored, secrets sealed; none
    bool is_sealed; // a secret cannot be opened with the keys at hand: nothing may be sent
    _Atomic(RegistryOpened *) opened; // NULL until it is needed
} RegistryChannel;

// RegistryHook is a source that webhooks come to.
typedef struct RegistryHook {
    TrieItem item;
    int64_t tenant, version;
    Str source, path, integration; // path: below /hooks/; integration: none
    ProviderName provider;
    bool is_enabled, is_shared;
    bool is_sealed;     // its secret cannot be opened with the keys at hand: nothing may be taken
    Str config, secret; // JSON as it is stored; none
    _Atomic(RegistryOpened *) opened; // NULL until it is needed
} RegistryHook;

typedef struct RegistryLane {
    TrieItem item;
    int64_t lane, tenant;
    Str channel_key;
    const RegistryChannel *channel; // of the snapshot; NULL: there is no such channel
} RegistryLane;

typedef struct Registry {
    _Atomic int holders;
    int64_t generation;
    int64_t stamp;            // of the load that made it: no other has the same
    size_t rows_read;         // to make it
    const KeyRing *ring;      // that the secrets are opened with; the caller's
    Trie tenants;             // RegistryTenant by number
    Trie keys;                // RegistryKey by hash
    Trie lanes;               // RegistryLane by number
    Trie sealed;              // RegistryChannel: those that wait for their key
    Trie paths;               // from where webhooks come to their RegistryHook
    bool is_held, is_doubted; // doubted: the reason is Peal's own, the database may be a copy
    Str hold_reason;          // the snapshot's
} Registry;

// registry_load reads everything; registry_renew what changed since old, which must be of the same
// store and ring. A definition that no longer compiles is left out and logged: it was valid when it
// was saved.
Err registry_load(Db *db, const KeyRing *ring, Registry **ret, Error *error) MUST_USE;
Err registry_renew(Db *db, const Registry *old, Registry **ret, Error *error) MUST_USE;
Registry *registry_hold(Registry *registry);
void registry_drop(Registry *registry);

const RegistryTenant *registry_tenant(const Registry *registry, int64_t tenant);
const RegistryKey *registry_key(const Registry *registry, const Sha256 *hash);
// registry_session is what a session may: all that its key may by now, until the first of the two
// ends. ret's texts are the snapshot's. False where the hash is no session's, or its key is gone.
bool registry_session(const Registry *registry, const Sha256 *hash, RegistryKey *ret);
bool registry_key_may(const RegistryKey *key, Str handler); // it is not limited to others
const RegistryChannel *registry_channel(const Registry *registry, int64_t tenant, Str key);
const RegistryLane *registry_lane(const Registry *registry, int64_t lane);
int64_t registry_lane_of(const Registry *registry, int64_t tenant, Str channel_key); // 0: none
size_t registry_listeners(const Registry *registry, int64_t tenant); // rules with a kind of events

// registry_lanes lists the numbers of all lanes, registry_sealed the channels that wait, by tenant
// and key, registry_kinds the kinds that a tenant's triggers listen to, in order.
size_t registry_lanes(const Registry *registry, Arena *arena, int64_t **ret);
size_t registry_sealed(const Registry *registry, Arena *arena, const RegistryChannel ***ret);
size_t registry_kinds(const Registry *registry, Arena *arena, int64_t tenant, Str **ret);

// registry_lane_may_send is false while a lane must not be claimed from. A lane without a channel,
// or with one that is disabled, is claimed from: its deliveries park.
bool registry_lane_may_send(const RegistryLane *lane);

// registry_config is the channel's settings with its secrets opened; NULL where it has none. Not
// for a channel that is sealed.
const Json *registry_config(const Registry *registry, const RegistryChannel *channel);

// registry_hook finds the source that listens at a path below /hooks/ ("t_…", or
// "<tenant>/<path>"), registry_source one by its name; NULL: there is none that takes webhooks. A
// disabled one is found.
const RegistryHook *registry_hook(const Registry *registry, Str path);
const RegistryHook *registry_source(const Registry *registry, int64_t tenant, Str source);

// registry_hook_trust is what webhooks are verified with: the secret and, while they overlap, the
// one before it; and the source's config, NULL where it has none. Not for a source that is sealed.
enum { REGISTRY_SECRETS_MAX = 2 };
size_t registry_hook_trust(const Registry *registry, const RegistryHook *hook, Instant now,
                           Str ret_secrets[REGISTRY_SECRETS_MAX], const Json **ret_config);

// registry_wait is the sentence that tells why a channel waits.
Str registry_wait(Arena *arena, const RegistryChannel *channel);

// registry_retry is the policy a delivery is tried under: the rule's, else the channel's, else that
// of the rule's kind; as a run that was put off is tried, where its origin says that it is one.
// What a trigger makes of an automation is tried as that says by now.
RetryPolicy registry_retry(const Registry *registry, const RegistryLane *lane,
                           const Trigger *trigger, const Origin *origin);

// registry_runs is the rule whose runs are made: the automation that a trigger names, as it is now,
// NULL where there is none; of any other the rule itself, as it is now. registry_run_timeout is how
// long a try of a run may take; 0: its rule does not say.
const RegistryTrigger *registry_runs(const Registry *registry, const RegistryTrigger *rule);
Span registry_run_timeout(const Registry *registry, const Trigger *made_under);

// registry_hand_on finds out who runs what a trigger made of its automation: the handler that this
// has now. What cannot be handed on makes nothing and holds no key, so that it may be decided anew.
Decision registry_hand_on(const Registry *registry, const RegistryTrigger *trigger,
                          Decision decision);

// registry_runners lists the triggers that name an automation, by id; of STR_NONE those that name
// any, by automation and id.
size_t registry_runners(const Registry *registry, Arena *arena, int64_t tenant, Str automation,
                        const RegistryTrigger ***ret);

// registry_moved is the stamp of the load that last changed what a tenant's decisions rest on:
// while it stays the same, so do the triggers, be it in another snapshot. It is never 0;
// REGISTRY_UNMOVED: there never were any.
int64_t registry_moved(const Registry *registry, int64_t tenant);

// registry_rule finds a rule by its name; NULL: there is none. What is not compiled yet is made by
// registry_compiled().
const RegistryTrigger *registry_rule(const Registry *registry, int64_t tenant, RuleKind kind,
                                     Str id);

// registry_triggers returns those of a tenant that listen to kind; registry_recallers those whose
// cancelOn does. Both are in the order of their ids.
const RegistryTrigger *const *registry_triggers(const Registry *registry, int64_t tenant, Str kind,
                                                size_t *ret_count);
const RegistryTrigger *const *registry_recallers(const Registry *registry, int64_t tenant, Str kind,
                                                 size_t *ret_count);

// registry_kind is the same as registry_triggers(); NULL: nobody listens. registry_sieve tells
// which of them an event may concern; rules are as in kind->triggers.
const RegistryKind *registry_kind(const Registry *registry, int64_t tenant, Str kind);
const Sieve *registry_sieve(const RegistryKind *kind);

// registry_compiled is the trigger to decide by, from now on kept with it. Where those that are
// kept have grown past REGISTRY_COMPILED_BYTES together, it lies in arena instead and is for the
// caller alone.
const Trigger *registry_compiled(const RegistryTrigger *trigger, Arena *arena);
bool registry_keeps(const RegistryTrigger *trigger, const Trigger *compiled);

enum { REGISTRY_COMPILED_BYTES = 32 << 20, REGISTRY_UNMOVED = 1 };

extern const Statement *const registry_statements[]; // ends with NULL
