#include "inspect.h"

// Each rule counts the rows that break it. States: 1 sending, 4 parked, 6 completed, 8 cancelled.
typedef struct Rule {
    const char *name;
    Statement count;
} Rule;

#define RULE(rule_name, text)                                                                      \
    {                                                                                              \
        rule_name,                                                                                 \
        {                                                                                          \
            .name = rule_name, .scope = STATEMENT_SYSTEM, .params = "", .sql = text                \
        }                                                                                          \
    }

#define ROWS_OF(table, delivery)                                                                   \
    "(SELECT COUNT(*) FROM " table " x WHERE x.tenant = " delivery ".tenant AND x.id = " delivery  \
    ".id)"
#define TRIES_OF(row)                                                                              \
    "(SELECT COUNT(*) FROM attempt a WHERE a.tenant = " row ".tenant AND a.delivery = " row ".id)"
#define TRIES                                                                                      \
    "(SELECT tenant, delivery, number FROM attempt UNION ALL"                                      \
    " SELECT tenant, id, attempt FROM ended WHERE verdict IS NOT NULL) tries"

static const Rule rules[] = {
    RULE("a delivery is in the queue or ended, once",
         "SELECT COUNT(*) FROM delivery d WHERE " ROWS_OF("queue", "d") " + " ROWS_OF("ended",
                                                                                      "d") " <> 1"),
    RULE("what is queued was promised",
         "SELECT COUNT(*) FROM queue q WHERE " ROWS_OF("delivery", "q") " <> 1"),
    RULE("what ended was promised",
         "SELECT COUNT(*) FROM ended n WHERE " ROWS_OF("delivery", "n") " <> 1"),
    RULE("a delivery has its event",
         "SELECT COUNT(*) FROM delivery d WHERE NOT EXISTS (SELECT 1 FROM event e"
         " WHERE e.tenant = d.tenant AND e.id = d.event)"),
    RULE("a delivery with a key holds one",
         "SELECT COUNT(*) FROM delivery d JOIN rule r ON r.rule = d.rule"
         " JOIN definition_version v ON v.tenant = r.tenant AND v.kind = 'trigger' AND v.id = r.id"
         " AND v.version = d.version WHERE v.body LIKE '%dedupRecipe%' AND NOT EXISTS"
         " (SELECT 1 FROM dedup k WHERE k.tenant = d.tenant AND k.holder = d.id)"),
    RULE("an event with an identity holds one",
         "SELECT COUNT(*) FROM event e WHERE e.identity IS NOT NULL AND NOT EXISTS"
         " (SELECT 1 FROM dedup k WHERE k.tenant = e.tenant AND k.holder = e.id)"),
    RULE(
        "nobody holds two keys, and who holds one is there",
        "SELECT COUNT(*) FROM (SELECT k.holder FROM dedup k"
        " LEFT JOIN delivery d ON d.tenant = k.tenant AND d.id = k.holder"
        " LEFT JOIN event e ON e.tenant = k.tenant AND e.id = k.holder"
        " GROUP BY k.tenant, k.holder HAVING COUNT(*) > 1 OR COUNT(d.id) + COUNT(e.id) = 0) wrong"),
    RULE("a decision has its event",
         "SELECT COUNT(*) FROM decision c WHERE NOT EXISTS (SELECT 1 FROM event e"
         " WHERE e.tenant = c.tenant AND e.id = c.event)"),
    RULE("what can be recalled is there",
         "SELECT COUNT(*) FROM recall r WHERE NOT EXISTS (SELECT 1 FROM delivery d"
         " WHERE d.tenant = r.tenant AND d.id = r.delivery)"),
    RULE("the counters equal the rows",
         "SELECT COUNT(*) FROM (SELECT tenant, lane, state FROM ("
         "  SELECT tenant, lane, state, n FROM counter"
         "  UNION ALL SELECT tenant, lane, state, -COUNT(*) FROM queue GROUP BY tenant, lane, state"
         "  UNION ALL SELECT tenant, lane, state, -COUNT(*) FROM ended GROUP BY tenant, lane, state"
         " ) c GROUP BY tenant, lane, state HAVING SUM(n) <> 0) wrong"),
    RULE("attempts are numbered from 1 without a gap",
         "SELECT COUNT(*) FROM (SELECT tenant, delivery FROM " TRIES " GROUP BY tenant, delivery"
         " HAVING MIN(number) <> 1 OR MAX(number) <> COUNT(*)) wrong"),
    RULE("every finished try of a live delivery has its row",
         "SELECT COUNT(*) FROM queue q WHERE " TRIES_OF(
             "q") " <> q.attempt - CASE WHEN q.state = 1 THEN 1 ELSE 0 END"),
    RULE("every try of an ended delivery has its row",
         "SELECT COUNT(*) FROM ended n WHERE " TRIES_OF(
             "n") " + CASE WHEN n.verdict IS NULL THEN 0 ELSE 1 END <> n.attempt"),
    RULE("step and state agree", "SELECT COUNT(*) FROM queue WHERE (step <> 1 AND state <> 3 AND "
                                 "(step <> 2 OR state <> 1)) OR state > 3"
                                 " OR (state = 1) <> (started_at IS NOT NULL)"
                                 " OR (state = 1) <> (lease_until IS NOT NULL)"),
    RULE("an answer is kept whole",
         "SELECT COUNT(*) FROM idempotency WHERE status = 0 OR body = ''"),
    RULE("a definition has the version it names",
         "SELECT COUNT(*) FROM definition d WHERE NOT EXISTS (SELECT 1 FROM definition_version v"
         " WHERE v.tenant = d.tenant AND v.kind = d.kind AND v.id = d.id"
         " AND v.version = d.version)"),
    RULE("a version of a survey follows another, and names its draft",
         "SELECT COUNT(*) FROM survey_version s WHERE (s.version > 1 AND NOT EXISTS (SELECT 1"
         " FROM survey_version b WHERE b.tenant = s.tenant AND b.survey = s.survey"
         " AND b.version = s.version - 1)) OR NOT EXISTS (SELECT 1 FROM definition_version v"
         " WHERE v.tenant = s.tenant AND v.kind = 'survey' AND v.id = s.survey"
         " AND v.version = s.draft AND v.body = s.body)"),
    RULE("what has a response is completed",
         "SELECT COUNT(*) FROM response r WHERE NOT EXISTS (SELECT 1 FROM ended n"
         " WHERE n.tenant = r.tenant AND n.id = r.delivery AND n.state = 6)"),
    RULE("what was drained has its event, and nothing else has",
         "SELECT COUNT(*) FROM inbox i WHERE i.provider IS NULL AND (i.status = 1) <> EXISTS "
         "(SELECT 1 FROM event e"
         " WHERE e.tenant = i.tenant AND e.id = i.id)"),
    RULE("a target has its delivery, and a moment where something was told",
         "SELECT COUNT(*) FROM target t WHERE NOT EXISTS (SELECT 1 FROM delivery d"
         " WHERE d.tenant = t.tenant AND d.id = t.delivery) OR (t.send > 0 AND t.told_at IS NULL)"),
    RULE("no chain is sealed beyond what has its number, and it ends with its last row",
         "SELECT COUNT(*) FROM chain c WHERE c.number > c.told OR c.seq <> COALESCE((SELECT"
         " MAX(a.seq) FROM audit a WHERE a.tenant = c.tenant), 0)"),
    RULE("a campaign has counted what it made, and read no further",
         "SELECT COUNT(*) FROM campaign c WHERE c.position > c.bytes OR (c.created + c.skipped +"
         " c.failed = 0) <> (c.line = 2) OR (SELECT SUM(created) FROM campaign) <> (SELECT"
         " COUNT(*) FROM delivery d JOIN event e ON e.tenant = d.tenant AND e.id = d.event"
         " WHERE e.source = 'campaign')"),
    RULE("an operation has counted what it did",
         "SELECT COUNT(*) FROM operation WHERE done + skipped + failed > 0 AND position IS NULL"),
};

Err inspect_broken(Db *db, Arena *arena, const char **ret, Error *error)
{
    *ret = NULL;
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        Rows rows;
        TRY(db_query(db, arena, &rules[i].count, NULL, &rows, error));
        if (value_to_i64(&rows.values[0]) != 0) {
            *ret = rules[i].name;
            return ERR_OK;
        }
    }
    return ERR_OK;
}

// Of journal and sequence the writer's own numbers are left out: a COMMIT whose reply was lost
// costs one. So are journal_seen, which is such a number, and what PostgreSQL alone has for those
// who emit (emitter, emit_state: roles, and what emit() has to know of the nodes).
#define PART(table, columns, rest)                                                                 \
    {                                                                                              \
        .name = "inspect_" table, .scope = STATEMENT_SYSTEM, .params = "",                         \
        .sql = "SELECT " columns " FROM " table " " rest                                           \
    }
#define TABLE(table, key)                                                                          \
    {                                                                                              \
        .name = "inspect_" table, .scope = STATEMENT_SYSTEM, .params = "",                         \
        .sql = "SELECT * FROM " table " ORDER BY " key                                             \
    }

static const Statement tables[] = {
    TABLE("meta", "key"),
    TABLE("generation", "one"),
    TABLE("tenant", "tenant"),
    TABLE("site", "site"),
    TABLE("api_key", "tenant, id"),
    TABLE("definition", "tenant, kind, id"),
    TABLE("definition_version", "tenant, kind, id, version"),
    TABLE("survey_version", "tenant, survey, version"),
    TABLE("lane", "lane"),
    TABLE("health", "lane"),
    TABLE("rate", "lane"),
    TABLE("rule", "rule"),
    TABLE("list_member", "tenant, list, edition, n"),
    TABLE("list_head", "tenant, list"),
    TABLE("list_waste", "tenant, list, edition"),
    TABLE("schedule", "tenant, rule, name"),
    TABLE("poll_group", "tenant, provider, integration"),
    TABLE("integration", "tenant, id"),
    TABLE("event", "tenant, id"),
    TABLE("resend", "tenant, event"),
    TABLE("preference", "tenant, key"),
    TABLE("hook_path", "tenant, path"),
    TABLE("inbox", "tenant, id"),
    TABLE("inbox_retell", "tenant, source, external_id"),
    TABLE("delivery", "tenant, id"),
    TABLE("target", "tenant, delivery, n"),
    TABLE("queue", "tenant, id"),
    TABLE("ended", "tenant, id"),
    TABLE("attempt", "tenant, delivery, number"),
    TABLE("progress", "tenant, delivery, n"),
    TABLE("trigger_result", "tenant, delivery"),
    TABLE("trigger_action", "tenant, delivery, n"),
    TABLE("decision", "tenant, event"),
    TABLE("dedup", "tenant, key"),
    TABLE("awaiting", "public_id"),
    TABLE("response", "tenant, id"),
    TABLE("tally", "tenant, survey, day, rule, version, question, value, writer"),
    TABLE("recall", "tenant, key, delivery"),
    TABLE("counter", "writer, tenant, rule, lane, site, state"),
    TABLE("purge", "one"),
    TABLE("node", "node"),
    TABLE("idempotency", "tenant, key"),
    TABLE("operation", "tenant, id"),
    TABLE("campaign", "tenant, id"),
    TABLE("campaign_piece", "tenant, campaign, place"),
    TABLE("campaign_failure", "tenant, campaign, line"),
    TABLE("pace", "minute, tenant, writer, rule, site"),
    TABLE("sample", "tenant, at"),
    TABLE("curve", "tenant, step, at, part"),
    PART("journal", "writer, at, facts", "WHERE facts IS NOT NULL ORDER BY writer, n"),
    PART("sequence", "tenant, first, count, writer", "ORDER BY tenant, first"),
    TABLE("audit", "tenant, seq"),
    TABLE("audit_brought", "tenant, event"),
    TABLE("chain", "tenant"),
    TABLE("duty", "name"),
};

// add goes on with a 64-bit FNV-1a hash.
static uint64_t add(uint64_t hash, const void *at, size_t len)
{
    const uint8_t *bytes = at;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

static uint64_t add_value(uint64_t hash, const Value *value)
{
    hash = add(hash, &value->type, sizeof value->type);
    if (value->type == VALUE_I64)
        return add(hash, &value->i64, sizeof value->i64);
    if (value->type == VALUE_NULL)
        return hash;
    hash = add(hash, &value->str.len, sizeof value->str.len);
    return add(hash, value->str.at, value->str.len);
}

_Static_assert(ARRAY_LEN(tables) == INSPECT_TABLES, "every table is counted");

Err inspect_tables(Db *db, uint64_t ret[INSPECT_TABLES], Error *error)
{
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        Rows rows;
        arena_reset(&arena);
        TRY(db_query(db, &arena, &tables[i], NULL, &rows, error));
        ret[i] = 0xcbf29ce484222325u;
        for (size_t v = 0; v < rows.count * rows.columns; v++)
            ret[i] = add_value(ret[i], &rows.values[v]);
    }
    return ERR_OK;
}

const char *inspect_differs(const uint64_t one[INSPECT_TABLES],
                            const uint64_t other[INSPECT_TABLES])
{
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        if (one[i] != other[i])
            return tables[i].name;
    return NULL;
}

Err inspect_digest(Db *db, uint64_t *ret, Error *error)
{
    uint64_t of[INSPECT_TABLES];
    TRY(inspect_tables(db, of, error));
    *ret = add(0xcbf29ce484222325u, of, sizeof of);
    return ERR_OK;
}
