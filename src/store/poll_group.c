#include "store/poll_group.h"

#include "store/columns.h"

#define GROUP                                                                                      \
    "tenant, provider, integration, next_at, told, cursor, cursor_set_at, fence, holder,"          \
    " lease_until, last_polled_at, backoff_until, last_error, failures, unfetched,"                \
    " registered, registered_until, register_at, register_error"
enum { SCOPE_MAX = 100 };

#define KEY "tenant = $1 AND provider = $2 AND integration = $3"
#define NOT_FULL " AND tenant NOT IN ($1, $2, $3, $4)"
#define DUE                                                                                        \
    "SELECT " GROUP " FROM poll_group WHERE next_at <= $5" NOT_FULL " ORDER BY next_at LIMIT $6"

// While a poll goes on, next_at is when its lease ends: who tells something leaves that alone.
#define LOOK_NOW                                                                                   \
    "next_at = CASE WHEN poll_group.lease_until > $4 THEN poll_group.next_at ELSE $4 END"

static const Statement touch = {
    .name = "poll_group_touch",
    .scope = STATEMENT_TENANT,
    .params = "ittii",
    .sql = "INSERT INTO poll_group (tenant, provider, integration, next_at, told, fence, failures)"
           " VALUES ($1, $2, $3, $4, $5, 0, 0) ON CONFLICT (tenant, provider, integration)"
           " DO UPDATE SET " LOOK_NOW ", told = CASE WHEN poll_group.told > $5"
           " THEN poll_group.told ELSE $5 END",
};
static const Statement changed = {
    .name = "poll_group_changed",
    .scope = STATEMENT_TENANT,
    .params = "ittii",
    .sql = "UPDATE poll_group SET " LOOK_NOW ", told = CASE WHEN told > $5 THEN told ELSE $5 END"
           " WHERE " KEY,
};
static const Statement due_now = {
    .name = "poll_group_due_now",
    .scope = STATEMENT_TENANT,
    .params = "ittii",
    .sql = "UPDATE poll_group SET " LOOK_NOW ", told = $5 WHERE " KEY " AND next_at IS NOT NULL",
};
static const Statement rebound = {
    .name = "poll_group_rebound",
    .scope = STATEMENT_TENANT,
    .params = "ittiit",
    .sql = "UPDATE poll_group SET next_at = $4, told = $5, cursor = NULL, cursor_set_at = NULL,"
           " fence = fence + 1, holder = NULL, lease_until = NULL, last_polled_at = NULL,"
           " backoff_until = NULL, last_error = $6, failures = 0, unfetched = NULL,"
           " registered = NULL, registered_until = NULL, register_at = NULL, register_error = NULL "
           "WHERE " KEY,
};
static const Statement take = {
    .name = "poll_group_take",
    .scope = STATEMENT_SYSTEM,
    .params = "iiiiii",
    .sql = DUE,
    .postgres = DUE " FOR UPDATE SKIP LOCKED",
};
static const Statement free_all = {
    .name = "poll_group_free",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .sql = "UPDATE poll_group SET next_at = $1 WHERE lease_until IS NOT NULL",
};
static const Statement put_off = {
    .name = "poll_group_put_off",
    .scope = STATEMENT_TENANT,
    .params = "ittit",
    .sql = "UPDATE poll_group SET next_at = $4, told = 0, holder = NULL, lease_until = NULL,"
           " last_error = $5 WHERE " KEY,
};
static const Statement remove_one = {
    .name = "poll_group_remove",
    .scope = STATEMENT_TENANT,
    .params = "itt",
    .sql = "DELETE FROM poll_group WHERE " KEY,
};
static const Statement claim = {
    .name = "poll_group_claim",
    .scope = STATEMENT_TENANT,
    .params = "ittiii",
    .sql = "UPDATE poll_group SET fence = $4, holder = $5, lease_until = $6, next_at = $6, told = 0"
           " WHERE " KEY,
};

#define OURS KEY " AND fence = $4 AND lease_until > $5"
#define MOVES                                                                                      \
    "cursor = COALESCE($6, cursor), cursor_set_at = COALESCE($7, cursor_set_at),"                  \
    " registered = $8, registered_until = $9, register_at = $10, register_error = $11,"            \
    " unfetched = $12"
static const Statement go_on = {
    .name = "poll_group_go_on",
    .scope = STATEMENT_TENANT,
    .params = "ittiititiitti",
    .sql = "UPDATE poll_group SET " MOVES ", lease_until = $13, next_at = $13 WHERE " OURS,
};
static const Statement end = {
    .name = "poll_group_end",
    .scope = STATEMENT_TENANT,
    .params = "ittiititiittiiitii",
    .sql = "UPDATE poll_group SET " MOVES ", next_at = CASE WHEN told > 0 THEN $5 ELSE $13 END,"
           " holder = NULL, lease_until = NULL, last_polled_at = $14, backoff_until = $15,"
           " last_error = $16, failures = $17,"
           " told = CASE WHEN told > $18 THEN told ELSE $18 END WHERE " OURS " RETURNING next_at",
};
static const Statement due = {
    .name = "poll_group_due",
    .scope = STATEMENT_SYSTEM,
    .params = "iiii",
    .sql = "SELECT MIN(next_at) FROM poll_group WHERE next_at IS NOT NULL" NOT_FULL,
};
static const Statement list = {
    .name = "poll_group_list",
    .scope = STATEMENT_TENANT,
    .params = "itti",
    .sql = "SELECT " GROUP " FROM poll_group WHERE tenant = $1 AND (provider, integration) >"
           " ($2, $3) ORDER BY provider, integration LIMIT $4",
};
static const Statement of_integration = {
    .name = "poll_group_of",
    .scope = STATEMENT_TENANT,
    .params = "it",
    .sql = "SELECT " GROUP " FROM poll_group WHERE tenant = $1 AND integration = $2 AND provider ="
           " (SELECT provider FROM integration WHERE tenant = $1 AND id = $2)",
};

const Statement *const poll_group_statements[] = {
    &touch, &changed, &due_now, &rebound, &take, &free_all,       &put_off, &remove_one,
    &claim, &go_on,   &end,     &due,     &list, &of_integration, NULL,
};

static const Columns columns = COLUMNS(
    PollGroup, COLUMN(PollGroup, tenant), COLUMN(PollGroup, provider),
    COLUMN(PollGroup, integration), COLUMN_TIME(PollGroup, next_at), COLUMN(PollGroup, told),
    COLUMN(PollGroup, cursor), COLUMN_TIME(PollGroup, cursor_set_at), COLUMN(PollGroup, fence),
    COLUMN_SOME(PollGroup, holder), COLUMN_TIME(PollGroup, lease_until),
    COLUMN_TIME(PollGroup, last_polled_at), COLUMN_TIME(PollGroup, backoff_until),
    COLUMN(PollGroup, last_error), COLUMN(PollGroup, failures), COLUMN(PollGroup, unfetched),
    COLUMN(PollGroup, registered), COLUMN_TIME(PollGroup, registered_until),
    COLUMN_TIME(PollGroup, register_at), COLUMN(PollGroup, register_error));

static void tell(Tx *tx, const Statement *statement, int64_t tenant, ProviderName provider,
                 Str integration, PollTold told)
{
    Value args[] = { value_i64(tenant), value_text(str_from(provider_id_text(provider))),
                     value_text(integration.at ? str_dup(&tx->arena, integration) : S("")),
                     value_i64(tx->now), value_i64(told) };
    db_send(tx->db, &tx->arena, statement, args, NULL);
    tx->wakes = true;
}

void poll_groups_touch(Tx *tx, int64_t tenant, ProviderName provider, Str integration)
{
    tell(tx, &touch, tenant, provider, integration, POLL_TOLD_LOOK);
}

// Asking is what is found out so far of what a group's triggers ask.
typedef struct Asking {
    Arena *arena;
    Str integration;
    Str member;  // that they may name values of; none
    bool is_all; // one of them names none, or together they name too many
    Str names[SCOPE_MAX];
    size_t count;
    PollAsked asked;
} Asking;

static void add_name(Asking *asking, Str name)
{
    for (size_t i = 0; i < asking->count; i++)
        if (str_eq(asking->names[i], name))
            return;
    if (asking->count < SCOPE_MAX)
        asking->names[asking->count++] = name;
    else
        asking->is_all = true;
}

static void add_scope(Asking *asking, const Json *config)
{
    const Json *names = json_get(config, asking->member);
    asking->is_all = asking->is_all || json_count(names) == 0;
    for (JsonIter it = json_each(names); json_next(&it);)
        add_name(asking, json_str(it.value));
}

static int by_bytes(const void *a, const void *b)
{
    return str_cmp(*(const Str *) a, *(const Str *) b);
}

static Str scope_of(Asking *asking)
{
    Buf text = buf_new(asking->arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    if (!asking->member.at || asking->is_all)
        return STR_NONE;
    qsort(asking->names, asking->count, sizeof *asking->names, by_bytes);
    json_open(&out, '[');
    for (size_t i = 0; i < asking->count; i++)
        json_add_str(&out, asking->names[i]);
    json_close(&out, ']');
    return buf_str(&text);
}

// ask_one has one trigger's wishes count, where it polls this group.
static void ask_one(const Trigger *trigger, Asking *asking)
{
    PollAsked *ret = &asking->asked;
    const TriggerFeed *feed = &trigger->feed;
    Str own = feed->integration.at ? feed->integration : S("");
    if (!trigger_polls(trigger) || !str_eq(own, asking->integration))
        return;
    ret->triggers++;
    if (feed->interval && (!ret->interval || feed->interval < ret->interval))
        ret->interval = feed->interval;
    ret->emits_first = ret->emits_first || feed->emits_existing;
    add_scope(asking, feed->config);
}

PollAsked poll_group_asked(const Registry *registry, Arena *arena, int64_t tenant,
                           ProviderName provider, Str integration, Str scope)
{
    Asking asking = { .arena = arena, .integration = integration, .member = scope };
    size_t type_count, count;
    const ProvidedType *types = provided_types(provider, &type_count);
    for (size_t t = 0; t < type_count; t++) {
        Str kind =
            STR_JOIN(arena, str_from(provider_id_text(provider)), S("."), str_from(types[t].id));
        const RegistryTrigger *const *triggers = registry_triggers(registry, tenant, kind, &count);
        for (size_t i = 0; i < count; i++)
            if (triggers[i]->is_enabled)
                ask_one(registry_compiled(triggers[i], arena), &asking);
    }
    asking.asked.scope = scope_of(&asking);
    return asking.asked;
}

void poll_group_changed(Tx *tx, int64_t tenant, ProviderName provider, Str integration)
{
    tell(tx, &changed, tenant, provider, integration, POLL_TOLD_LOOK);
}

void poll_group_due_now(Tx *tx, int64_t tenant, ProviderName provider, Str integration)
{
    tell(tx, &due_now, tenant, provider, integration, POLL_TOLD_POLL);
}

void poll_group_rebound(Tx *tx, int64_t tenant, ProviderName provider, Str integration)
{
    Value args[] = { value_i64(tenant),
                     value_text(str_from(provider_id_text(provider))),
                     value_text(str_dup(&tx->arena, integration)),
                     value_i64(tx->now),
                     value_i64(POLL_TOLD_POLL),
                     value_text(POLL_REBOUND) };
    db_send(tx->db, &tx->arena, &rebound, args, NULL);
    tx->wakes = true;
}

static PollGroup *read_all(Arena *arena, const Rows *rows)
{
    PollGroup *groups = ARENA_ARRAY(arena, PollGroup, rows->count + 1);
    for (size_t i = 0; i < rows->count; i++) {
        groups[i] = (PollGroup){ 0 };
        columns_read(&columns, rows_at(rows, i), &groups[i]);
    }
    return groups;
}

// FULL_OF are those that are full; no tenant has the number -1.
_Static_assert(POLL_FULL_MAX == 4, "FULL_OF tells them all");
#define FULL_AT(full, i) value_i64((i) < (full)->count ? (full)->tenants[i] : -1)
#define FULL_OF(full) FULL_AT(full, 0), FULL_AT(full, 1), FULL_AT(full, 2), FULL_AT(full, 3)

Err poll_groups_take(Tx *tx, const PollFull *full, size_t max, PollGroup **ret, size_t *ret_count,
                     Error *error)
{
    Rows rows;
    Value args[] = { FULL_OF(full), value_i64(tx->now), value_i64((int64_t) max) };
    TRY(tx_query(tx, &take, args, &rows, error));
    *ret = read_all(&tx->arena, &rows);
    *ret_count = rows.count;
    return ERR_OK;
}

void poll_groups_free(Tx *tx)
{
    Value args[] = { value_i64(tx->now) };
    db_send(tx->db, &tx->arena, &free_all, args, NULL);
}

#define KEY_OF(group)                                                                              \
    value_i64((group)->tenant), value_text((group)->provider), value_text((group)->integration)

void poll_group_put_off(Tx *tx, const PollGroup *group)
{
    Value args[] = { KEY_OF(group), value_time(group->next_at), value_text(group->last_error) };
    db_send(tx->db, &tx->arena, &put_off, args, NULL);
}

void poll_group_remove(Tx *tx, const PollGroup *group)
{
    Value args[] = { KEY_OF(group) };
    db_send(tx->db, &tx->arena, &remove_one, args, NULL);
}

void poll_group_claim(Tx *tx, int64_t holder, PollGroup *group)
{
    group->fence++;
    group->holder = holder;
    group->lease_until = tx->now + POLL_LEASE;
    Value args[] = { KEY_OF(group), value_i64(group->fence), value_i64(holder),
                     value_i64(group->lease_until) };
    db_send(tx->db, &tx->arena, &claim, args, NULL);
}

#define MOVE_OF(group, now)                                                                        \
    KEY_OF(group), value_i64((group)->fence), value_i64(now), value_text((group)->cursor),         \
        value_time((group)->cursor.at ? (now) : INSTANT_NONE), value_text((group)->registered),    \
        value_time((group)->registered_until), value_time((group)->register_at),                   \
        value_text((group)->register_error), value_text((group)->unfetched)

Err poll_group_go_on(Tx *tx, const PollGroup *group, bool *ret, Error *error)
{
    Rows rows = { 0 };
    Value args[] = { MOVE_OF(group, tx->now), value_i64(tx->now + POLL_LEASE) };
    db_send(tx->db, &tx->arena, &go_on, args, &rows);
    TRY(tx_sync(tx, error));
    *ret = rows.changed == 1;
    return ERR_OK;
}

Err poll_group_end(Tx *tx, PollGroup *group, bool *ret, Error *error)
{
    Rows rows = { 0 };
    Value args[] = { MOVE_OF(group, tx->now),
                     value_time(group->next_at),
                     value_i64(tx->now),
                     value_time(group->backoff_until),
                     value_text(group->last_error),
                     value_i64(group->failures),
                     value_i64(group->told) };
    db_send(tx->db, &tx->arena, &end, args, &rows);
    TRY(tx_sync(tx, error));
    *ret = rows.count == 1;
    if (*ret)
        group->next_at = value_to_time(rows.values);
    return ERR_OK;
}

void poll_groups_due(Db *db, Arena *arena, const PollFull *full, Rows *ret)
{
    Value args[] = { FULL_OF(full) };
    db_send(db, arena, &due, args, ret);
}

Instant poll_groups_due_take(const Rows *rows)
{
    return value_to_time(rows->values);
}

Err poll_groups_list(Db *db, Arena *arena, int64_t tenant, Str after_provider,
                     Str after_integration, int64_t limit, PollGroup **ret, size_t *ret_count,
                     Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_text(after_provider), value_text(after_integration),
                     value_i64(limit) };
    TRY(db_query(db, arena, &list, args, &rows, error));
    *ret = read_all(arena, &rows);
    *ret_count = rows.count;
    return ERR_OK;
}

Err poll_group_of(Db *db, Arena *arena, int64_t tenant, Str integration, PollGroup *ret,
                  Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_text(integration) };
    TRY(db_query(db, arena, &of_integration, args, &rows, error));
    if (rows.count == 0)
        return ERR_NOT_FOUND;
    *ret = *read_all(arena, &rows);
    return ERR_OK;
}
