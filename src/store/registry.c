#include "domain/run.h"
#include "store/part.h"

Registry *registry_hold(Registry *registry)
{
    registry->holders++;
    return registry;
}

void registry_drop(Registry *registry)
{
    if (!registry || --registry->holders > 0)
        return;
    trie_drop(&registry->lanes);
    trie_drop(&registry->sealed);
    trie_drop(&registry->paths);
    trie_drop(&registry->keys);
    trie_drop(&registry->tenants);
    free((char *) (uintptr_t) registry->hold_reason.at);
    free(registry);
}

const RegistryTenant *registry_tenant(const Registry *registry, int64_t tenant)
{
    const RegistryTenant *found = part_find_tenant(registry, tenant);
    return found && found->id.at ? found : NULL;
}

bool registry_key_may(const RegistryKey *key, Str handler)
{
    Str rest = key->handlers;
    while (rest.len > 0)
        if (str_eq(str_cut(&rest, ','), handler))
            return true;
    return !key->handlers.at;
}

const RegistryKey *registry_key(const Registry *registry, const Sha256 *hash)
{
    return part_find_key(registry, hash);
}

bool registry_session(const Registry *registry, const Sha256 *hash, RegistryKey *ret)
{
    const RegistryKey *session = part_find_key(registry, hash);
    const RegistryKey *key =
        session && session->is_session ? part_find_key(registry, &session->parent) : NULL;
    if (!key || key->is_session || key->tenant != session->tenant)
        return false;
    *ret = *key;
    ret->id = session->id;
    ret->is_session = true;
    ret->parent_id = key->id;
    ret->expires_at = earlier(session->expires_at, key->expires_at);
    return true;
}

const RegistryChannel *registry_channel(const Registry *registry, int64_t tenant, Str key)
{
    const RegistryTenant *of = part_find_tenant(registry, tenant);
    return of ? part_find_channel(of, key) : NULL;
}

const RegistryHook *registry_hook(const Registry *registry, Str path)
{
    const RegistryPath *found = part_find_path(registry, path);
    return found ? found->hook : NULL;
}

const RegistryHook *registry_source(const Registry *registry, int64_t tenant, Str source)
{
    const RegistryTenant *of = part_find_tenant(registry, tenant);
    return of ? part_find_source(of, source) : NULL;
}

const RegistryLane *registry_lane(const Registry *registry, int64_t lane)
{
    return part_find_lane(registry, lane);
}

int64_t registry_lane_of(const Registry *registry, int64_t tenant, Str channel_key)
{
    const RegistryTenant *of = part_find_tenant(registry, tenant);
    const RegistryWay *way = of ? part_find_way(of, channel_key) : NULL;
    return way ? way->lane : 0;
}

// List is the items of a map, put in a row.
typedef struct List {
    const TrieItem **items;
    size_t count;
} List;

static void add_to_list(void *with, TrieItem *item)
{
    List *list = with;
    list->items[list->count++] = item;
}

static List list_of(const Trie *trie, Arena *arena)
{
    List list = { .items = ARENA_ARRAY(arena, const TrieItem *, trie->count + 1) };
    trie_each(trie, add_to_list, &list);
    assert(list.count == trie->count);
    return list;
}

size_t registry_lanes(const Registry *registry, Arena *arena, int64_t **ret)
{
    List list = list_of(&registry->lanes, arena);
    *ret = ARENA_ARRAY(arena, int64_t, list.count + 1);
    for (size_t i = 0; i < list.count; i++)
        (*ret)[i] = ((const RegistryLane *) list.items[i])->lane;
    return list.count;
}

static int by_channel_key(const void *a, const void *b)
{
    const RegistryChannel *x = *(const RegistryChannel *const *) a;
    const RegistryChannel *y = *(const RegistryChannel *const *) b;
    if (x->tenant != y->tenant)
        return x->tenant < y->tenant ? -1 : 1;
    return str_cmp(x->definition.key, y->definition.key);
}

size_t registry_sealed(const Registry *registry, Arena *arena, const RegistryChannel ***ret)
{
    List list = list_of(&registry->sealed, arena);
    *ret = (const RegistryChannel **) list.items;
    qsort(*ret, list.count, sizeof **ret, by_channel_key);
    return list.count;
}

static int by_automation_and_id(const void *a, const void *b)
{
    const RegistryTrigger *x = *(const RegistryTrigger *const *) a;
    const RegistryTrigger *y = *(const RegistryTrigger *const *) b;
    int of = str_cmp(x->automation, y->automation);
    return of ? of : str_cmp(x->id, y->id);
}

static bool is_runner(const RegistryTrigger *trigger, Str automation)
{
    return automation.at ? str_eq(trigger->automation, automation) : trigger->automation.at != NULL;
}

size_t registry_runners(const Registry *registry, Arena *arena, int64_t tenant, Str automation,
                        const RegistryTrigger ***ret)
{
    const RegistryTenant *of = part_find_tenant(registry, tenant);
    List list = of ? list_of(&of->triggers, arena) : (List){ 0 };
    size_t count = 0;
    *ret = (const RegistryTrigger **) list.items;
    for (size_t i = 0; i < list.count; i++)
        if (is_runner((*ret)[i], automation))
            (*ret)[count++] = (*ret)[i];
    if (count > 0)
        qsort(*ret, count, sizeof **ret, by_automation_and_id);
    return count;
}

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const Str *) a, *(const Str *) b);
}

size_t registry_kinds(const Registry *registry, Arena *arena, int64_t tenant, Str **ret)
{
    const RegistryTenant *of = part_find_tenant(registry, tenant);
    List list = of ? list_of(&of->kinds, arena) : (List){ 0 };
    *ret = ARENA_ARRAY(arena, Str, list.count + 1);
    for (size_t i = 0; i < list.count; i++)
        (*ret)[i] = ((const RegistryKind *) list.items[i])->kind;
    qsort(*ret, list.count, sizeof **ret, by_text);
    return list.count;
}

static void add_listeners(void *with, TrieItem *item)
{
    *(size_t *) with += ((const RegistryKind *) item)->count;
}

size_t registry_listeners(const Registry *registry, int64_t tenant)
{
    size_t count = 0;
    const RegistryTenant *of = part_find_tenant(registry, tenant);
    if (of)
        trie_each(&of->kinds, add_listeners, &count);
    return count;
}

bool registry_lane_may_send(const RegistryLane *lane)
{
    return !lane->channel || !lane->channel->is_sealed;
}

Str registry_wait(Arena *arena, const RegistryChannel *channel)
{
    assert(channel->is_sealed);
    return str_format(arena, "channel %.*s waits: its secret cannot be opened with this master key",
                      STR_ARG(channel->definition.key));
}

const RegistryTrigger *registry_runs(const Registry *registry, const RegistryTrigger *rule)
{
    return rule->automation.at
               ? registry_rule(registry, rule->tenant, RULE_AUTOMATION, rule->automation)
               : rule;
}

Decision registry_hand_on(const Registry *registry, const RegistryTrigger *trigger,
                          Decision decision)
{
    if (decision.kind != DECISION_CREATED || !trigger->automation.at)
        return decision;
    const RegistryTrigger *automation = registry_runs(registry, trigger);
    decision.lane = automation ? automation->lane : 0;
    if (!decision.lane) {
        decision.kind = DECISION_FAILED;
        decision.reason = DECISION_REASON_RUN_CREATE_FAILED;
    } else if (!automation->is_enabled) {
        decision.kind = DECISION_DISABLED;
        decision.reason = DECISION_REASON_AUTOMATION_DISABLED;
    }
    return decision;
}

// run_by is the rule that says how a delivery is tried: what it was made under, or the automation
// that this names, where there is one by now. It may lie in arena.
static const Trigger *run_by(const Registry *registry, const Trigger *made_under, Arena *arena)
{
    if (!made_under->automation.at)
        return made_under;
    const RegistryTrigger *automation =
        registry_rule(registry, made_under->rule.tenant, RULE_AUTOMATION, made_under->automation);
    return automation ? registry_compiled(automation, arena) : made_under;
}

RetryPolicy registry_retry(const Registry *registry, const RegistryLane *lane,
                           const Trigger *trigger, const Origin *origin)
{
    DEFER(arena_done) Arena scratch = { 0 };
    const Rule *rule = &run_by(registry, trigger, &scratch)->rule;
    const RegistryChannel *channel = lane ? lane->channel : NULL;
    bool is_channels = !rule->has_retry && channel && channel->definition.has_retry;
    RetryPolicy policy = is_channels ? channel->definition.retry : rule->retry;
    return run_of_rule(trigger->rule.kind) ? deferral_retry(policy, origin) : policy;
}

Span registry_run_timeout(const Registry *registry, const Trigger *made_under)
{
    DEFER(arena_done) Arena scratch = { 0 };
    const Job *job = run_by(registry, made_under, &scratch)->job;
    return job ? job->timeout : 0;
}

const RegistryTrigger *registry_rule(const Registry *registry, int64_t tenant, RuleKind kind,
                                     Str id)
{
    const RegistryTenant *of = part_find_tenant(registry, tenant);
    return of ? part_find_trigger(of, kind, id) : NULL;
}

int64_t registry_moved(const Registry *registry, int64_t tenant)
{
    const RegistryTenant *of = part_find_tenant(registry, tenant);
    return of && of->moved ? of->moved : REGISTRY_UNMOVED;
}

const RegistryKind *registry_kind(const Registry *registry, int64_t tenant, Str kind)
{
    const RegistryTenant *of = part_find_tenant(registry, tenant);
    return of ? part_find_kind(&of->kinds, kind) : NULL;
}

static Sieve *make_sieve(const RegistryKind *kind)
{
    DEFER(arena_done) Arena arena = { 0 };
    SieveRule *rules = ARENA_ARRAY(&arena, SieveRule, kind->count);
    for (size_t i = 0; i < kind->count; i++) {
        const RegistryTrigger *trigger = kind->triggers[i];
        rules[i] = (SieveRule){ .rule = trigger->rule,
                                .version = trigger->version,
                                .is_enabled = trigger->is_enabled,
                                .path = trigger->gate_path,
                                .keys = trigger->gate_keys,
                                .key_count = trigger->gate_count };
    }
    return sieve_new(rules, kind->count);
}

const Sieve *registry_sieve(const RegistryKind *kind)
{
    Sieve *known = kind->sieve;
    if (known)
        return known;
    Sieve *made = make_sieve(kind);
    _Atomic(Sieve *) *place = &((RegistryKind *) (uintptr_t) kind)->sieve;
    if (atomic_compare_exchange_strong(place, &known, made))
        return made;
    sieve_free(made);
    return known;
}

static const RegistryTrigger *const *triggers_of(const RegistryKind *kind, size_t *ret_count)
{
    *ret_count = kind ? kind->count : 0;
    return kind ? kind->triggers : NULL;
}

const RegistryTrigger *const *registry_triggers(const Registry *registry, int64_t tenant, Str kind,
                                                size_t *ret_count)
{
    return triggers_of(registry_kind(registry, tenant, kind), ret_count);
}

const RegistryTrigger *const *registry_recallers(const Registry *registry, int64_t tenant, Str kind,
                                                 size_t *ret_count)
{
    const RegistryTenant *of = part_find_tenant(registry, tenant);
    return triggers_of(of ? part_find_kind(&of->off_kinds, kind) : NULL, ret_count);
}
