#include "store/defer.h"

#include "store/rule.h"
#include "store/run.h"

// take names the job of an item. What the deferral does not say, the job does.
static void take(Accept *accept, AcceptItem *item, const Trigger *job)
{
    const Trigger **named = ARENA_ARRAY(accept->arena, const Trigger *, 1);
    named[0] = job;
    item->named = named;
    item->named_count = 1;
    if (!item->deferral->payload && job->job && job->job->payload.at)
        item->event.payload = str_dup(accept->arena, job->job->payload);
}

static bool is_deferral(const AcceptItem *item)
{
    return item->err == ERR_OK && item->deferral;
}

// is_of: neighbours are mostly for the same job, and share it.
static bool is_of(const Trigger *job, const AcceptItem *item)
{
    return job && str_eq(job->rule.id, item->deferral->job);
}

bool deferrals_name(Accept *accept, const Registry *registry)
{
    const Trigger *job = NULL;
    for (size_t i = 0; i < accept->count; i++) {
        AcceptItem *item = &accept->items[i];
        if (!is_deferral(item))
            continue;
        const RegistryTrigger *known =
            registry_rule(registry, accept->tenant, RULE_JOB, item->deferral->job);
        if (!known || !known->lane)
            return false;
        job = is_of(job, item) ? job : run_of(accept->arena, known);
        take(accept, item, job);
    }
    return true;
}

// find_only finds the job of which something is cancelled. One that nobody has named has nothing,
// and gets no number for it.
static Err find_only(Tx *tx, Arena *arena, int64_t tenant, Str name, const Trigger **ret,
                     Error *error)
{
    Trigger *job = ARENA_NEW(arena, Trigger);
    job->rule = rule_default(RULE_JOB, name);
    *ret = job;
    return rule_number(tx->db, &tx->arena, tenant, RULE_JOB, name, &job->rule.number, error);
}

static Err find(Tx *tx, Accept *accept, const AcceptItem *item, const Trigger **ret, Error *error)
{
    Str name = item->deferral->job;
    if (item->deferral->cancels)
        return find_only(tx, accept->arena, accept->tenant, name, ret, error);
    return run_rule(tx, accept->arena, accept->tenant, RULE_JOB, name, ret, error);
}

// is_defined: somebody has defined all of the jobs that are named.
static bool is_defined(const Accept *accept)
{
    for (size_t i = 0; i < accept->count; i++)
        if (is_deferral(&accept->items[i]) && accept->items[i].named[0]->rule.version == 0)
            return false;
    return true;
}

Err deferrals_name_now(Tx *tx, Accept *accept, Error *error)
{
    bool is_decided = accept->decided == registry_moved(tx->registry, accept->tenant);
    if ((is_decided && is_defined(accept)) || deferrals_name(accept, tx->registry))
        return ERR_OK;
    // A number that was given by a try which was rolled back may be another's by now.
    accept->decided = 0;
    for (size_t i = 0; i < accept->count; i++) {
        const Trigger *job;
        if (!is_deferral(&accept->items[i]))
            continue;
        TRY(find(tx, accept, &accept->items[i], &job, error));
        take(accept, &accept->items[i], job);
    }
    return ERR_OK;
}
