// statements.c - walks the registry of statements and proves what db.h says of every one of them.
//
//   suite_statements [URL]      see fixture.h
#include "fixture.h"

#include "store/statements.h"

#include <dirent.h>
#include <regex.h>

// The closed list of statements that are not bound to a tenant. Whoever adds one says so here.
static const char *const system_statements[] = {
    "audit_backlog",
    "audit_behind",
    "audit_heads",
    "audit_mend_next",
    "campaign_give_up",
    "campaign_next",
    "counter_add",
    "counter_take_gone",
    "curve_purge",
    "definition_forgettable",
    "delivery_awaited",
    "delivery_view_awaited",
    "depth_sums",
    "durability_look",
    "duty_lease",
    "ended_next_expiry",
    "ended_parked_due",
    "epoch_get",
    "epoch_leap",
    "epoch_lock",
    "epoch_vouch",
    "epoch_vouchers",
    "event_owner",
    "generation_get",
    "generation_lock",
    "generation_raise",
    "health_held",
    "health_pauses",
    "idempotency_purge",
    "inbox_awake",
    "inbox_depth",
    "inbox_last_tenant",
    "inbox_next_source",
    "inbox_lock_source",
    "inbox_open",
    "inbox_purge",
    "integration_at_connection",
    "integration_at_installation",
    "journal_forget",
    "journal_last",
    "journal_note",
    "journal_patience",
    "journal_purge",
    "journal_see",
    "journal_take",
    "journal_unsealed",
    "journal_unseen",
    "journal_writers",
    "key_promote",
    "key_replace",
    "key_system",
    "key_tenant",
    "lane_next",
    "lane_used",
    "list_waste_next",
    "meta_cluster",
    "meta_get",
    "meta_put",
    "meta_remove",
    "node_beat",
    "node_deaths",
    "node_leave",
    "node_join",
    "node_others",
    "node_page",
    "node_server_time",
    "operation_next",
    "pace_add",
    "pace_purge",
    "poll_group_due",
    "poll_group_free",
    "poll_group_take",
    "purge_move_on",
    "purge_next_tenant",
    "purge_place",
    "queue_claim",
    "queue_claim_lock",
    "queue_claim_newest",
    "queue_lapsed",
    "queue_next_send",
    "queue_next_sweep",
    "queue_pull",
    "queue_waiting_due",
    "rate_return",
    "rate_take",
    "recall_lock",
    "registry_bodies",
    "registry_hold",
    "registry_keys",
    "registry_lanes",
    "registry_tenants",
    "sample_last",
    "sample_purge",
    "sample_sums",
    "schedule_carry_back",
    "schedule_due",
    "schedule_due_count",
    "schedule_due_tenants",
    "schedule_take",
    "sequence_last",
    "store_facts",
    "sequence_purge",
    "session_any_expired",
    "session_expire",
    "session_forget",
    "source_rows",
    "tally_take",
    "tenant_find",
    "tenant_insert",
    "tenant_page",
    "tenant_was",
};

// Statements below the nouns, which are in no list: the machinery's own and the doctor's.
static const char *const machinery_statements[] = {
    "migrate_table", "migrate_version", "migrate_applied",
    "migrate_lock",  "migrate_room",    "migrate_patience",
};
static const char *const machinery_files[] = { "app/doctor.c" };

static bool is_listed(const char *const *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

static const char *postgres_text(const Statement *statement)
{
    return statement->postgres ? statement->postgres : statement->sql;
}

static bool matches(const char *text, const char *pattern)
{
    regex_t regex;
    int failed = regcomp(&regex, pattern, REG_EXTENDED | REG_ICASE | REG_NOSUB);
    assert(!failed);
    bool found = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return found;
}

static void names_are_unique(void)
{
    StatementWalk walk = statements_walk();
    size_t count = 0;
    for (const Statement *one; (one = statements_next(&walk)); count++) {
        StatementWalk rest = walk;
        CHECK(one->name && one->name[0] && one->sql);
        CHECK_AT(one->name, strlen(one->name) < 63); // what PostgreSQL keeps of a name
        for (const Statement *other; (other = statements_next(&rest));)
            CHECK_AT(one->name, strcmp(one->name, other->name) != 0);
    }
    CHECK(count > 70);
}

// highest_param returns the largest n of the $n in text, and -1 where one below it is missing.
static int highest_param(const char *text)
{
    bool is_used[64] = { false };
    int highest = 0;
    for (const char *at = strchr(text, '$'); at; at = strchr(at + 1, '$')) {
        size_t digits = strspn(at + 1, "0123456789");
        int64_t n;
        if (!str_to_i64((Str){ at + 1, digits }, 1, 63, &n))
            return -1;
        is_used[n] = true;
        highest = n > highest ? (int) n : highest;
    }
    for (int n = 1; n <= highest; n++)
        if (!is_used[n])
            return -1;
    return highest;
}

static void every_parameter_is_bound(void)
{
    StatementWalk walk = statements_walk();
    for (const Statement *one; (one = statements_next(&walk));) {
        int params = (int) strlen(one->params);
        CHECK_AT(one->name, strspn(one->params, "itbu") == (size_t) params);
        CHECK_AT(one->name, highest_param(one->sql) == params);
        CHECK_AT(one->name, highest_param(postgres_text(one)) == params);
        CHECK_AT(one->name, one->returned >= 0 && one->returned <= params);
        CHECK_AT(one->name, !one->returned || strstr(postgres_text(one), " RETURNING "));
        CHECK_AT(one->name, !one->returned || !strstr(one->sql, " RETURNING "));
    }
}

// Time comes in as a parameter, and one text serves both: no casts that only one of them knows.
static void no_text_asks_for_the_time(void)
{
    static const char clock[] =
        "now[ "
        "]*\\(|current_(time|date|timestamp)|localtime|(clock|statement|transaction)_timestamp|"
        "(datetime|julianday|strftime|unixepoch|timeofday)[ ]*\\(";
    StatementWalk walk = statements_walk();
    for (const Statement *one; (one = statements_next(&walk));) {
        bool may_ask = strcmp(one->name, "node_server_time") == 0;
        CHECK_AT(one->name, !matches(one->sql, clock));
        CHECK_AT(one->name, matches(postgres_text(one), clock) == may_ask);
        CHECK_AT(one->name, !strstr(one->sql, "::") && !strstr(postgres_text(one), "::"));
    }
}

// place_of returns the place of an item in a list such as "a, b, c)", from 0; -1 for none.
static int place_of(const char *list, const char *item)
{
    int place = 0;
    for (const char *at = list; *at && *at != ')'; place++) {
        at += strspn(at, " ");
        size_t len = 0;
        for (int depth = 0; at[len] && (depth > 0 || !strchr(",)", at[len])); len++)
            depth += at[len] == '(' ? 1 : at[len] == ')' ? -1 : 0;
        size_t used = len;
        // The last value of a SELECT is followed by its FROM.
        for (size_t i = 0; i + 6 <= len; i++)
            used = strncmp(at + i, " FROM ", 6) == 0 && used == len ? i : used;
        if (used == strlen(item) && strncmp(at, item, used) == 0)
            return place;
        if (used < len)
            return -1;
        at += len + (at[len] == ',');
    }
    return -1;
}

static const char *behind(const char *text, const char *part)
{
    const char *at = strstr(text, part);
    return at ? at + strlen(part) : NULL;
}

// inserts_tenant says whether an INSERT puts $1 into the column tenant: by VALUES, by SELECT, or
// by an unnest() whose columns are taken in their order or by their names.
static bool inserts_tenant(const char *text)
{
    if (strncmp(text, "INSERT INTO ", 12) != 0)
        return false;
    const char *columns = behind(text, "(");
    int place = columns ? place_of(columns, "tenant") : -1;
    const char *rest = columns ? strchr(columns, ')') : NULL;
    if (place < 0 || !rest)
        return false;
    const char *values = behind(rest, "VALUES ("), *select = behind(rest, "SELECT ");
    const char *array = behind(rest, "unnest(");
    if (values)
        return place_of(values, "$1") == place;
    if (!select || !array)
        return select && place_of(select, "$1") == place;
    if (select[0] == '*')
        return place_of(array, "$1") == place;
    const char *alias = behind(array, " AS u (");
    if (!alias || place_of(array, "$1") != 0)
        return false;
    char first[32];
    snprintf(first, sizeof first, "%.*s", (int) strcspn(alias, ",)"), alias);
    return place_of(select, first) == place;
}

// is_bound says whether a text touches only rows of the tenant that is $1.
static bool is_bound(const char *text)
{
    if (inserts_tenant(text))
        return true;
    if (matches(text, "(^|[^a-z_])tenant = \\$1([^0-9]|$)"))
        return true;
    return matches(text, "unnest\\(\\$1, [^)]*\\) AS ([a-z]+) ?\\(tenant, ") &&
           matches(text, "[a-z]\\.tenant = [a-z]+\\.tenant");
}

static void every_statement_is_bound_to_a_tenant(void)
{
    size_t of_system = 0;
    StatementWalk walk = statements_walk();
    for (const Statement *one; (one = statements_next(&walk));) {
        bool is_system = is_listed(system_statements, ARRAY_LEN(system_statements), one->name);
        CHECK_AT(one->name, is_system == (one->scope == STATEMENT_SYSTEM));
        of_system += is_system;
        if (one->scope == STATEMENT_SYSTEM)
            continue;
        CHECK_AT(one->name, one->params[0] == 'i' && is_bound(one->sql));
        // The claim on PostgreSQL needs no second step: there it is an empty select.
        bool is_empty =
            strcmp(one->name, "queue_claim_mark") == 0 || strcmp(one->name, "queue_pull_mark") == 0;
        CHECK_AT(one->name, is_empty || is_bound(postgres_text(one)));
    }
    CHECK(of_system == ARRAY_LEN(system_statements)); // none in the list is gone
}

// The check itself: a rule that never says no proves nothing.
static void the_rule_tells_bound_from_unbound(void)
{
    static const struct {
        const char *sql;
        bool is_bound;
    } rows[] = {
        { "SELECT a FROM t WHERE tenant = $1", true },
        { "SELECT a FROM t x WHERE x.tenant = $1 AND id = $2", true },
        { "SELECT a FROM t WHERE tenant = $10", false },
        { "SELECT a FROM t WHERE tenant = $2", false },
        { "SELECT a FROM t WHERE subtenant = $1", false },
        { "INSERT INTO t (tenant, id) VALUES ($1, $2)", true },
        { "INSERT INTO t (tenant, id) VALUES ($2, $1)", false },
        { "INSERT INTO t (id, tenant) VALUES ($1, $2)", false },
        { "INSERT INTO t (n, tenant, c) SELECT COALESCE(MAX(n), 0) + 1, $1, $2 FROM t", true },
        { "INSERT INTO t (n, tenant) SELECT COALESCE(MAX(n), 0) + 1, $1 FROM t", true },
        { "INSERT INTO t (tenant, n) SELECT COALESCE(MAX(n), $1) + 1, $2 FROM t", false },
        { "INSERT INTO t (tenant, id) SELECT * FROM unnest($1, $2)", true },
        { "INSERT INTO t (id, tenant) SELECT * FROM unnest($1, $2)", false },
        { "INSERT INTO t (tenant, id) SELECT a, b FROM unnest($1, $2) AS u (a, b)", true },
        { "INSERT INTO t (tenant, id) SELECT b, a FROM unnest($1, $2) AS u (a, b)", false },
        { "DELETE FROM t q USING unnest($1, $2) AS s (tenant, id) WHERE q.tenant = s.tenant",
          true },
        { "DELETE FROM t q USING unnest($1, $2) AS s (tenant, id) WHERE q.id = s.id", false },
        { "DELETE FROM t q USING unnest($1, $2) AS s (id, tenant) WHERE q.tenant = s.tenant",
          false },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        CHECK_AT(rows[i].sql, is_bound(rows[i].sql) == rows[i].is_bound);
}

// is_purge: it only deletes, and its name says so.
static bool is_purge(const Statement *statement)
{
    return strncmp(statement->name, "purge_", strlen("purge_")) == 0 &&
           !matches(statement->sql,
                    "(UPDATE|INSERT INTO) (event|delivery|attempt|queue|ended)( |$)") &&
           !matches(postgres_text(statement), "DELETE FROM queue( |$)");
}

// What is insert-only is never updated, but for a promise whose list a person has it look for anew,
// or whose job has another handler, and for a version whose secrets are erased, or whose origin is
// told; an end is the one wide row that is, where a parked delivery goes on and where an attempt
// that was called off is told of after all, or was never made. What is old goes by the purge, and
// by nothing else.
static void wide_rows_are_not_updated(void)
{
    static const char wide[] =
        "(UPDATE|DELETE FROM) (event|delivery|attempt|definition_version|survey_version|"
        "dedup|decision)( |$)";
    static const char *const may_end[] = { "ended_change", "ended_delete", "ended_tell",
                                           "ended_untry", "purge_ended" };
    static const char *const may_change[] = { "notification_rename", "handover_promise",
                                              "definition_version_erase",
                                              "definition_version_mark" };
    StatementWalk walk = statements_walk();
    for (const Statement *one; (one = statements_next(&walk));) {
        bool renames = is_listed(may_change, ARRAY_LEN(may_change), one->name);
        bool changes = matches(one->sql, wide) || matches(postgres_text(one), wide);
        CHECK_AT(one->name, changes ? renames || is_purge(one) : !renames);
        bool ends = matches(one->sql, "(UPDATE|DELETE FROM) ended( |$)");
        CHECK_AT(one->name, ends == is_listed(may_end, ARRAY_LEN(may_end), one->name));
    }
}

static bool is_of_queue(const Statement *statement)
{
    for (size_t i = 0; queue_claim_statements[i]; i++)
        if (queue_claim_statements[i] == statement)
            return true;
    for (size_t i = 0; queue_statements[i]; i++)
        if (queue_statements[i] == statement)
            return true;
    return false;
}

// What becomes of a delivery is written in two files, store/queue.c and queue_claim.c, whoever
// decided it.
static void only_the_queue_writes_a_state(void)
{
    static const char writes[] = "(INSERT INTO|UPDATE|DELETE FROM) (queue|ended)( |$)";
    size_t count = 0;
    StatementWalk walk = statements_walk();
    for (const Statement *one; (one = statements_next(&walk));) {
        bool writes_state = matches(one->sql, writes) || matches(postgres_text(one), writes);
        CHECK_AT(one->name, !writes_state || is_of_queue(one) || is_purge(one));
        count += writes_state;
    }
    CHECK(count >= 7); // the pattern finds what it looks for
}

// Each text is explained by the database: it parses, and every name in it exists.
static void every_statement_prepares(void)
{
    STORE(store);
    StatementWalk walk = statements_walk();
    for (const Statement *one; (one = statements_next(&walk));) {
        Statement *explained = ARENA_NEW(&store.arena, Statement);
        *explained = *one;
        explained->sql = str_format(&store.arena, "EXPLAIN %s", one->sql).at;
        explained->postgres = str_format(&store.arena, "EXPLAIN %s", postgres_text(one)).at;
        Value nulls[32] = { { .type = VALUE_NULL } };
        Rows rows;
        db_begin(store.db);
        store.db->driver->send(store.db, &store.arena, explained, nulls, 1, &rows);
        Err err = db_sync(store.db, &store.error);
        if (err != ERR_OK)
            printf("# %s: %s\n", one->name, store.error.detail);
        CHECK_AT(one->name, err == ERR_OK && rows.count > 0);
        db_rollback(store.db);
    }
}

static const Statement *statement_named(const char *name)
{
    StatementWalk walk = statements_walk();
    for (const Statement *one; (one = statements_next(&walk));)
        if (strcmp(one->name, name) == 0)
            return one;
    return NULL;
}

// values_like binds what a mask says of each parameter: a letter as in Statement.params for some
// value of that type, n for a number below all, - for NULL.
static Value *values_like(Arena *arena, const char *mask)
{
    static const Uuid id = { { 1 } };
    Value *values = ARENA_ARRAY(arena, Value, strlen(mask));
    for (size_t i = 0; mask[i]; i++)
        values[i] = mask[i] == 'u'   ? value_uuid(&id)
                    : mask[i] == 't' ? value_text(S("x"))
                    : mask[i] == 'i' ? value_i64(1)
                    : mask[i] == 'n' ? value_i64(-1)
                                     : value_null();
    return values;
}

// plan_of is how the database would carry a statement out, as it says itself.
static const char *plan_of(Arena *arena, Db *db, const char *name, const char *mask)
{
    const Statement *statement = statement_named(name);
    if (!statement)
        return "there is no such statement";
    const char *ask = db_is_postgres(db) ? "EXPLAIN (COSTS OFF)" : "EXPLAIN QUERY PLAN";
    const char *sql = db_is_postgres(db) ? postgres_text(statement) : statement->sql;
    Statement *explained = ARENA_NEW(arena, Statement); // the connection keeps it prepared
    *explained = (Statement){ .name = str_format(arena, "plan_%s", name).at,
                              .params = statement->params,
                              .many = statement->many,
                              .sql = str_format(arena, "%s %s", ask, sql).at };
    Rows rows;
    Error error;
    db->driver->send(db, arena, explained, values_like(arena, mask), 1, &rows);
    if (db_sync(db, &error) != ERR_OK)
        return str_dup(arena, str_from(error.detail)).at;
    Buf plan = buf_new(arena, 1 << 16);
    for (size_t i = 0; i < rows.count; i++) {
        buf_add(&plan, value_to_str(&rows_at(&rows, i)[rows.columns - 1]));
        buf_add_char(&plan, '\n');
    }
    buf_add_char(&plan, '\0');
    return buf_str(&plan).at;
}

// How rows are found: by which index, and with which bounds.
#define BETWEEN " AND id>\\? AND id<\\?\\)"
#define PG_BETWEEN "[^\n]*\\(id < [^\n]*\\(id >= "
// clang-format off
static const struct {
    const char *name, *mask, *sqlite, *postgres;
} lookups[] = {
    { "delivery_all_edge",    "iuui",         "d USING PRIMARY KEY \\(tenant=\\?" BETWEEN,
      "delivery_pkey on delivery d\n +Index Cond: " PG_BETWEEN },
    { "delivery_all_find",    "iuui--------n", "d USING PRIMARY KEY \\(tenant=\\?" BETWEEN,
      "delivery_pkey on delivery d\n +Index Cond: " PG_BETWEEN },
    { "delivery_rule_edge",   "iuuii",        "d USING [A-Z ]*INDEX delivery_rule \\(rule=\\?" BETWEEN,
      "delivery_rule on delivery d\n +Index Cond: [^\n]*\\(rule = " PG_BETWEEN },
    { "delivery_rule_find",   "iuuii-------n", "d USING INDEX delivery_rule \\(rule=\\?" BETWEEN,
      "delivery_rule on delivery d\n +Index Cond: [^\n]*\\(rule = " PG_BETWEEN },
    { "delivery_entity_edge", "iuuit",        "d USING [A-Z ]*INDEX delivery_entity \\(tenant=\\? AND entity=\\?" BETWEEN,
      "delivery_entity on delivery d\n +Index Cond: [^\n]*\\(entity = " PG_BETWEEN },
    { "delivery_entity_find", "iuui---t----n", "d USING INDEX delivery_entity \\(tenant=\\? AND entity=\\?" BETWEEN,
      "delivery_entity on delivery d\n +Index Cond: [^\n]*\\(entity = " PG_BETWEEN },
    { "delivery_live_edge",   "iuui",         "q USING PRIMARY KEY \\(tenant=\\?" BETWEEN,
      "queue_pkey on queue q\n +Index Cond: " PG_BETWEEN },
    { "delivery_live_find",   "iuui--------n-", "q USING PRIMARY KEY \\(tenant=\\?" BETWEEN,
      "queue_pkey on queue q\n +Index Cond: " PG_BETWEEN },
    { "delivery_ended_edge",  "iuui",         "n USING PRIMARY KEY \\(tenant=\\?" BETWEEN,
      "ended_pkey on ended n\n +Index Cond: " PG_BETWEEN },
    { "delivery_ended_find",  "iuui--------i", "n USING PRIMARY KEY \\(tenant=\\?" BETWEEN,
      "ended_pkey on ended n\n +Index Cond: " PG_BETWEEN },
    { "delivery_parked_edge", "iuui",         "n USING [A-Z ]*INDEX ended_parked \\(tenant=\\?" BETWEEN,
      "ended_parked on ended n\n +Index Cond: " PG_BETWEEN },
    { "delivery_parked_find", "iuui--------",  "n USING INDEX ended_parked \\(tenant=\\?" BETWEEN,
      "ended_parked on ended n\n +Index Cond: " PG_BETWEEN },
    { "delivery_parked_up_find", "iuui--------", "n USING INDEX ended_parked \\(tenant=\\?" BETWEEN,
      "ended_parked on ended n\n +Index Cond: [^\n]*\\(id > [^\n]*\\(id <= " },
    { "delivery_live_up_find", "iuui--------n-", "q USING PRIMARY KEY \\(tenant=\\?" BETWEEN,
      "queue_pkey on queue q\n +Index Cond: [^\n]*\\(id > [^\n]*\\(id <= " },
    { "delivery_view",        "iu",           "d USING PRIMARY KEY \\(tenant=\\? AND id=\\?\\)",
      "delivery_pkey on delivery d\n +Index Cond: [^\n]*\\(tenant = [^\n]*\\(id = " },
    { "queue_claim",          "iiiiiiii",     "d USING PRIMARY KEY \\(tenant=\\? AND id=\\?\\)",
      "delivery_pkey on delivery d\n +Index Cond: [^\n]*\\(tenant = [^\n]*\\(id = " },
    { "event_edge",           "iuui",         "event USING [A-Z ]*INDEX [a-z_0-9]+ \\(tenant=\\?" BETWEEN,
      "event_pkey on event\n +Index Cond: " PG_BETWEEN },
    { "event_find",           "iuui------",    "event USING INDEX [a-z_0-9]+ \\(tenant=\\?" BETWEEN,
      "event_pkey on event\n +Index Cond: " PG_BETWEEN },
    { "inbox_next_source",    "it",           "inbox USING [A-Z ]*INDEX inbox_pending \\(\\(tenant,source\\)>",
      "inbox_pending on inbox\n +Index Cond: " },
    { "inbox_pending",        "itiii",        "inbox USING INDEX inbox_pending \\(tenant=\\? AND source=\\?\\)",
      "inbox_pending on inbox\n +Index Cond: [^\n]*\\(tenant = [^\n]*\\(source [>=]" },
};
// clang-format on

static void check_lookups(Store *store)
{
    // A sort of what a walk meets, or a table read from its beginning, is no walk.
    static const char *const refused[] = { "SCAN (d|q|n|event|inbox)( |$)|TEMP B-TREE",
                                           "Seq Scan on (delivery|queue|ended|event|inbox)|Sort" };
    Db *db = NULL;
    DbOptions options = { .url = store->url, .is_reader = true };
    bool is_postgres = suite_is_postgres();
    MUST(store, db_open(&options, &db, &store->error));
    for (size_t i = 0; i < ARRAY_LEN(lookups); i++) {
        bool is_walk = matches(lookups[i].name, "_(edge|find|pending)$");
        const char *plan = plan_of(&store->arena, db, lookups[i].name, lookups[i].mask);
        CHECK_AT(plan, matches(plan, is_postgres ? lookups[i].postgres : lookups[i].sqlite));
        CHECK_AT(plan, !is_walk || !matches(plan, refused[is_postgres]));
    }
    db_close(db);
}

// What is read page by page is looked up by its index, with both bounds of the id; what is read by
// its key, by that. PostgreSQL is asked of tables that were never analyzed: a connection goes on
// with the plan that it made then.
static void rows_are_found_by_their_index(void)
{
    STORE(store);
    check_lookups(&store);
}

// A hundred thousand deliveries: most have ended, a few are parked, a tenth lives. As many rows of
// one source wait in the inbox.
#define MANY "WITH RECURSIVE g (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < 100000) "
#define SQLITE_ID "CAST(printf('%016d', n) AS BLOB)"
#define POSTGRES_ID "CAST(LPAD(TO_HEX(n), 32, '0') AS uuid)"
#define MANY_EVENTS(id)                                                                            \
    MANY "INSERT INTO event (tenant, id, kind, source, received_at, payload)"                      \
         " SELECT 1, " id ", 'visit', 's', n, '{}' FROM g"
#define MANY_PROMISES(id)                                                                          \
    MANY "INSERT INTO delivery (tenant, id, event, public_id, rule, version, lane, site,"          \
         " triggered_at, entity) SELECT 1, " id ", " id ", CAST(n AS TEXT), n % 50, 1, n % 20, 0," \
         " n, CASE WHEN n % 10 = 0 THEN 'booking' END FROM g"
#define MANY_ENDED(id)                                                                             \
    MANY "INSERT INTO ended (tenant, id, lane, rule, site, bytes, state, reason, ended_at, fence," \
         " attempt, failures, send, reminders_left, first_due_at) SELECT 1, " id ", n % 20,"       \
         " n % 50, 0, 0, CASE WHEN n % 50 = 1 THEN 4 ELSE 5 END, 0, n, 1, 1, 0, 1, 0, n FROM g"    \
         " WHERE n % 10 > 0"
#define MANY_LIVE(id)                                                                              \
    MANY "INSERT INTO queue (tenant, id, lane, rule, site, bytes, state, step, due_at, fence,"     \
         " attempt, failures, send, reminders_left, triggered_at, first_due_at) SELECT 1, " id     \
         ", n % 20, n % 50, 0, 0, 0, 1, n, 0, 0, 0, 1, 0, n, n FROM g WHERE n % 10 = 0"
#define MANY_WAITING(id, body)                                                                     \
    MANY "INSERT INTO inbox (tenant, id, source, kind, body, status, reason, attempts,"            \
         " received_at) SELECT 1, " id ", 'x', 5, " body ", 0, 0, 0, n FROM g"
#define FILLER(word, text)                                                                         \
    {                                                                                              \
        .name = "suite_fill_" word, .params = "", .sql = text(SQLITE_ID),                          \
        .postgres = text(POSTGRES_ID)                                                              \
    }
#define EMPTIER(word)                                                                              \
    {                                                                                              \
        .name = "suite_empty_" word, .params = "", .sql = "DELETE FROM " word                      \
    }

static const Statement fill[] = {
    FILLER("event", MANY_EVENTS),
    FILLER("delivery", MANY_PROMISES),
    FILLER("ended", MANY_ENDED),
    FILLER("queue", MANY_LIVE),
    { .name = "suite_fill_inbox",
      .params = "",
      .sql = MANY_WAITING(SQLITE_ID, "x''"),
      .postgres = MANY_WAITING(POSTGRES_ID, "''") },
    { .name = "suite_analyze", .params = "", .sql = "ANALYZE" },
};
static const Statement empty[] = { EMPTIER("event"), EMPTIER("delivery"), EMPTIER("ended"),
                                   EMPTIER("queue"), EMPTIER("inbox") };

static Err send_fill(Tx *tx, void *with, Error *error)
{
    (void) with;
    for (size_t i = 0; i < ARRAY_LEN(fill); i++)
        db_send(tx->db, &tx->arena, &fill[i], NULL, NULL);
    return tx_sync(tx, error);
}

static Err send_empty(Tx *tx, void *with, Error *error)
{
    (void) with;
    for (size_t i = 0; i < ARRAY_LEN(empty); i++)
        db_send(tx->db, &tx->arena, &empty[i], NULL, NULL);
    return tx_sync(tx, error);
}

// Nor does what is known of a hundred thousand rows make another plan look better.
static void many_rows_are_found_by_their_index(void)
{
    STORE(store);
    MUST(&store, writer_run(store.writer, send_fill, NULL, &store.error));
    check_lookups(&store);
    MUST(&store, writer_run(store.writer, send_empty, NULL, &store.error));
}

static Str read_file(Arena *arena, const char *path)
{
    FILE *file = fopen(path, "rb");
    Buf text = buf_new(arena, 1 << 22);
    char piece[4096];
    for (size_t len; file && (len = fread(piece, 1, sizeof piece, file)) > 0;)
        buf_add_bytes(&text, piece, len);
    if (file)
        fclose(file);
    buf_add_char(&text, '\0');
    return buf_str(&text);
}

static bool is_walked(Str name)
{
    StatementWalk walk = statements_walk();
    for (const Statement *one; (one = statements_next(&walk));)
        if (str_eq(name, str_from(one->name)))
            return true;
    return false;
}

// check_source wants every statement that a file defines to be in the registry, and counts them.
static size_t check_source(Arena *arena, const char *path)
{
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(machinery_files); i++)
        if (str_ends(str_from(path), str_from(machinery_files[i])))
            return 0;
    const char *at = read_file(arena, path).at;
    while ((at = behind(at, "const Statement "))) {
        if (!matches(str_format(arena, "%.40s", at).at, "^[a-z_]+ = \\{"))
            continue;
        const char *name = behind(at, ".name = \"");
        if (!name)
            break;
        Str found = { name, strcspn(name, "\"") };
        const char *text = str_z(arena, found);
        count++;
        CHECK_AT(text, is_walked(found) ||
                           is_listed(machinery_statements, ARRAY_LEN(machinery_statements), text));
    }
    return count;
}

static size_t check_folder(Arena *arena, const char *path)
{
    DIR *folder = opendir(path);
    size_t count = 0;
    CHECK_AT(path, folder != NULL);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        const char *below = str_format(arena, "%s/%s", path, entry->d_name).at;
        if (entry->d_name[0] == '.')
            continue;
        if (str_ends(str_from(below), S(".c")))
            count += check_source(arena, below);
        else if (!strchr(entry->d_name, '.'))
            count += entry->d_type == DT_DIR ? check_folder(arena, below) : 0;
    }
    if (folder)
        closedir(folder);
    return count;
}

static void no_statement_is_left_out(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    size_t walked = 0;
    StatementWalk walk = statements_walk();
    while (statements_next(&walk))
        walked++;
    CHECK(check_folder(&arena, SOURCE_DIR) == walked + ARRAY_LEN(machinery_statements));
}

static const Test tests[] = {
    TEST(names_are_unique),
    TEST(every_parameter_is_bound),
    TEST(no_text_asks_for_the_time),
    TEST(the_rule_tells_bound_from_unbound),
    TEST(every_statement_is_bound_to_a_tenant),
    TEST(wide_rows_are_not_updated),
    TEST(only_the_queue_writes_a_state),
    TEST(every_statement_prepares),
    TEST(rows_are_found_by_their_index),
    TEST(many_rows_are_found_by_their_index),
    TEST(no_statement_is_left_out),
};
PART(statements_part, tests);

int main(int argc, char **argv)
{
    static const Part *const parts[] = { &statements_part };
    return suite_main(argc, argv, parts, ARRAY_LEN(parts));
}
