#include "fixture.h"

#include "store/definition.h"
#include "store/key.h"
#include "store/lane.h"
#include "store/meta.h"
#include "store/migrate.h"
#include "store/node.h"
#include "store/rule.h"
#include "store/tenant.h"

// What definition.h, registry.h, tenant.h, key.h, meta.h, node.h and migrate.h promise.

typedef enum EditKind { CREATE, REPLACE, HIDE, LANE } EditKind;

// Edit is one change of a definition; made is what came of it, in the test's arena.
typedef struct Edit {
    EditKind move;
    Str id, body;
    int64_t expected;
    Definition made;
    Arena *arena;
} Edit;

static Err apply_edit(Tx *tx, void *with, Error *error)
{
    Edit *edit = with;
    switch (edit->move) {
    case CREATE:
        TRY(definition_create(tx, TENANT, DEFINITION_TRIGGER, edit->id, edit->body, &edit->made,
                              error));
        break;
    case REPLACE:
        TRY(definition_replace(tx, TENANT, DEFINITION_TRIGGER, edit->id, edit->expected, edit->body,
                               &edit->made, error));
        break;
    case HIDE:
        return definition_hide(tx, TENANT, DEFINITION_TRIGGER, edit->id, edit->expected, error);
    case LANE:
        return lane_ensure(tx, TENANT, edit->id, error);
    }
    edit->made.body = str_dup(edit->arena, edit->made.body);
    return ERR_OK;
}

static Err edit(Store *store, EditKind move, const char *id, int64_t expected, const char *body,
                Definition *ret)
{
    Edit edit = { .move = move,
                  .id = str_from(id),
                  .body = str_from(body),
                  .expected = expected,
                  .arena = &store->arena };
    Err err = writer_run(store->writer, apply_edit, &edit, &store->error);
    if (ret)
        *ret = edit.made;
    return err;
}

static Err get(Store *store, const char *id, Definition *ret)
{
    return definition_get(store->db, &store->arena, TENANT, DEFINITION_TRIGGER, str_from(id), ret,
                          &store->error);
}

static int64_t generation(Store *store)
{
    return ask_i64(store, "SELECT n FROM generation");
}

static void versions_count_on(void)
{
    STORE(store);
    Definition made, found;
    CHECK(edit(&store, CREATE, "t", 0, "{\"a\":1}", &made) == ERR_OK && made.version == 1);
    CHECK(edit(&store, CREATE, "t", 0, "{\"a\":2}", NULL) == ERR_EXISTS);
    pass(&store, SPAN_SECOND);
    CHECK(edit(&store, REPLACE, "t", 1, "{\"a\":2}", &made) == ERR_OK && made.version == 2);
    CHECK(edit(&store, REPLACE, "t", 1, "{\"a\":3}", NULL) == ERR_STALE);
    CHECK(edit(&store, REPLACE, "x", 1, "{\"a\":3}", NULL) == ERR_NOT_FOUND);
    CHECK(edit(&store, REPLACE, "t", DEFINITION_ANY_VERSION, "{\"a\":3}", &made) == ERR_OK);
    CHECK(made.version == 3 && made.created_at == BEGINNING);
    CHECK(get(&store, "t", &found) == ERR_OK && found.version == 3);
    CHECK(is_text(found.body, "{\"a\":3}") && found.created_at == BEGINNING);
    CHECK(found.updated_at == BEGINNING + SPAN_SECOND);
    CHECK(get(&store, "x", &found) == ERR_NOT_FOUND);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM definition_version WHERE kind = 'trigger'") == 3);
}

static void the_same_body_makes_no_version(void)
{
    STORE(store);
    Definition made;
    edit(&store, CREATE, "t", 0, "{\"a\":1}", NULL);
    int64_t before = generation(&store);
    CHECK(edit(&store, REPLACE, "t", 1, "{\"a\":1}", &made) == ERR_OK && made.version == 1);
    CHECK(generation(&store) == before);
    CHECK(edit(&store, REPLACE, "t", 1, "{\"a\": 1}", &made) == ERR_OK && made.version == 2);
    CHECK(generation(&store) == before + 1);
}

static void a_hidden_definition_returns_under_a_new_version(void)
{
    STORE(store);
    Definition made, found;
    Str body;
    edit(&store, CREATE, "t", 0, "{\"a\":1}", NULL);
    CHECK(edit(&store, HIDE, "t", 2, NULL, NULL) == ERR_STALE);
    CHECK(edit(&store, HIDE, "t", 1, NULL, NULL) == ERR_OK);
    CHECK(edit(&store, HIDE, "t", DEFINITION_ANY_VERSION, NULL, NULL) == ERR_NOT_FOUND);
    CHECK(get(&store, "t", &found) == ERR_NOT_FOUND);
    CHECK(edit(&store, REPLACE, "t", 1, "{\"a\":2}", NULL) == ERR_NOT_FOUND);
    pass(&store, SPAN_SECOND);
    CHECK(edit(&store, CREATE, "t", 0, "{\"a\":1}", &made) == ERR_OK && made.version == 2);
    CHECK(get(&store, "t", &found) == ERR_OK && found.created_at == BEGINNING + SPAN_SECOND);
    for (int64_t version = 1; version <= 2; version++) {
        MUST(&store, definition_body(store.db, &store.arena, TENANT, DEFINITION_TRIGGER, S("t"),
                                     version, &body, &store.error));
        CHECK(is_text(body, "{\"a\":1}"));
    }
    CHECK(definition_body(store.db, &store.arena, TENANT, DEFINITION_TRIGGER, S("t"), 3, &body,
                          &store.error) == ERR_NOT_FOUND);
    CHECK(definition_body(store.db, &store.arena, TENANT + 1, DEFINITION_TRIGGER, S("t"), 1, &body,
                          &store.error) == ERR_NOT_FOUND);
}

static void definitions_are_listed_by_id(void)
{
    STORE(store);
    static const char *const ids[] = { "c", "a", "d", "b" };
    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        edit(&store, CREATE, ids[i], 0, "{}", NULL);
    edit(&store, HIDE, "b", 1, NULL, NULL);
    Definition *page;
    Seen seen;
    Walk walk = { .limit = 1 };
    MUST(&store, definition_page(store.db, &store.arena, TENANT, DEFINITION_TRIGGER, &walk, &page,
                                 &seen, &store.error));
    CHECK(seen.count == 1 && is_text(page[0].id, "a") && is_text(seen.next, "a") && !seen.is_cut);
    walk = (Walk){ .after = seen.next, .limit = 9 };
    MUST(&store, definition_page(store.db, &store.arena, TENANT, DEFINITION_TRIGGER, &walk, &page,
                                 &seen, &store.error));
    CHECK(seen.count == 2 && is_text(page[0].id, "c") && is_text(page[1].id, "d"));
    CHECK(!seen.has_more && !seen.next.at);
    // "b" was deleted: a page that may meet two heads ends there, and the next one goes on.
    walk = (Walk){ .limit = 9, .met_max = 2 };
    MUST(&store, definition_page(store.db, &store.arena, TENANT, DEFINITION_TRIGGER, &walk, &page,
                                 &seen, &store.error));
    CHECK(seen.count == 1 && seen.is_cut && is_text(seen.next, "b"));
    walk.after = seen.next;
    MUST(&store, definition_page(store.db, &store.arena, TENANT, DEFINITION_TRIGGER, &walk, &page,
                                 &seen, &store.error));
    CHECK(seen.count == 2 && is_text(page[0].id, "c") && is_text(seen.next, "d"));
    MUST(&store, definition_page(store.db, &store.arena, TENANT + 1, DEFINITION_TRIGGER, &walk,
                                 &page, &seen, &store.error));
    CHECK(seen.count == 0);
}

static void every_change_raises_the_generation_once(void)
{
    STORE(store);
    int64_t before = generation(&store);
    edit(&store, CREATE, "t", 0, "{}", NULL);
    CHECK(generation(&store) == before + 1);
    edit(&store, HIDE, "t", 1, NULL, NULL);
    CHECK(generation(&store) == before + 2);
    edit(&store, CREATE, "t", 0, "{}", NULL); // again
    CHECK(edit(&store, CREATE, "t", 0, "{}", NULL) == ERR_EXISTS);
    CHECK(generation(&store) == before + 3);
    Registry *registry = writer_registry(store.writer);
    CHECK(registry->generation == before + 3);
    registry_drop(registry);
}

static void lanes_are_numbered_and_stay(void)
{
    STORE(store);
    int64_t other = tenant_new(&store, "other");
    int64_t before = generation(&store);
    CHECK(edit(&store, LANE, "sms:x", 0, NULL, NULL) == ERR_OK);
    CHECK(generation(&store) == before + 1);
    CHECK(edit(&store, LANE, "sms:x", 0, NULL, NULL) == ERR_OK);
    CHECK(generation(&store) == before + 1);
    CHECK(lane_of(&store, TENANT, "memory:default") == 1);
    CHECK(lane_of(&store, other, "memory:default") == 2);
    CHECK(lane_of(&store, TENANT, "sms:x") == 3 && lane_of(&store, other, "sms:x") == 0);
    channel(&store, other, "sms:x");
    CHECK(lane_of(&store, other, "sms:x") == 4);

    Registry *registry = writer_registry(store.writer);
    CHECK(registry->lanes.count == 4);
    const RegistryLane *ours = registry_lane(registry, 3), *theirs = registry_lane(registry, 4);
    CHECK(ours && ours->tenant == TENANT && !ours->channel); // a lane needs no channel
    CHECK(theirs && theirs->channel && is_text(theirs->channel->definition.key, "sms:x"));
    CHECK(!registry_lane(registry, 5) && !registry_lane(registry, 0));
    registry_drop(registry);
}

static int64_t rule_of(Store *store, int64_t tenant, const char *id)
{
    Value args[] = { value_i64(tenant), value_text(str_from(id)) };
    Rows rows =
        ask(store, "SELECT rule FROM rule WHERE tenant = $1 AND kind = 0 AND id = $2", "it", args);
    return rows.count ? value_to_i64(&rows.values[0]) : 0;
}

static void rules_are_numbered_and_stay(void)
{
    STORE(store);
    int64_t other = tenant_new(&store, "other");
    publish(&store, TENANT, "{'id':'a','eventKind':'k','channel':'memory:default'}");
    publish(&store, other, "{'id':'a','eventKind':'k','channel':'memory:default'}");
    publish(&store, TENANT, "{'id':'b','eventKind':'k','channel':'memory:default'}");
    CHECK(rule_of(&store, TENANT, "a") == 1 && rule_of(&store, other, "a") == 2);
    CHECK(rule_of(&store, TENANT, "b") == 3);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM rule") == 3); // channels make no deliveries

    // Changed, hidden and made again, it is the same rule.
    publish(&store, TENANT, "{'id':'a','eventKind':'l','channel':'memory:default'}");
    edit(&store, HIDE, "a", 2, NULL, NULL);
    publish(&store, TENANT, "{'id':'a','eventKind':'k','channel':'memory:default'}");
    CHECK(rule_of(&store, TENANT, "a") == 1);
    size_t count;
    Registry *registry = writer_registry(store.writer);
    const RegistryTrigger *const *found = registry_triggers(registry, TENANT, S("k"), &count);
    CHECK(count == 2 && found[0]->rule == 1 && found[1]->rule == 3);
    CHECK(found[0]->version == 3);
    CHECK(registry_rule(registry, TENANT, RULE_TRIGGER, S("b")) == found[1]);
    CHECK(!registry_rule(registry, TENANT, RULE_TEMPLATE, S("b")));
    CHECK(!registry_rule(registry, other, RULE_TRIGGER, S("b")));
    registry_drop(registry);

    RuleName names[3];
    int64_t numbers[] = { 3, 2, 1 }; // 2 is another tenant's
    MUST(&store, rule_names(store.db, &store.arena, TENANT, numbers, 3, names, &store.error));
    CHECK(is_text(names[0].id, "b") && !names[1].id.at && is_text(names[2].id, "a"));
}

static void what_changes_carries_its_generation(void)
{
    STORE(store);
    publish(&store, TENANT, "{'id':'a','eventKind':'k','channel':'memory:x'}");
    int64_t made = generation(&store);
    CHECK(ask_i64(&store, "SELECT generation FROM definition WHERE id = 'a'") == made);
    CHECK(ask_i64(&store, "SELECT generation FROM rule") == made);
    CHECK(ask_i64(&store, "SELECT generation FROM lane WHERE channel = 'memory:x'") == made);
    edit(&store, HIDE, "a", 1, NULL, NULL);
    CHECK(ask_i64(&store, "SELECT generation FROM definition WHERE id = 'a'") == made + 1);
    CHECK(ask_i64(&store, "SELECT generation FROM rule") == made);
    tenant_new(&store, "other");
    CHECK(ask_i64(&store, "SELECT MAX(generation) FROM tenant") == made + 2);
    CHECK(ask_i64(&store, "SELECT MAX(generation) FROM api_key") < made);
}

static void a_snapshot_holds_what_was_published(void)
{
    STORE(store);
    int64_t other = tenant_new(&store, "other");
    publish(&store, TENANT,
            "{'id':'b','eventKind':'k','channel':'memory:default',"
            "'cancelOn':{'eventKind':'c','match':['candidate.x']}}");
    Registry *old = writer_registry(store.writer);
    publish(&store, TENANT, "{'id':'a','eventKind':'k','channel':'memory:default'}");
    publish(&store, TENANT,
            "{'id':'a','eventKind':'k','channel':'memory:default','enabled':false}");
    publish(&store, other, "{'id':'a','eventKind':'k','channel':'memory:default'}");
    edit(&store, CREATE, "broken", 0, "{\"id\":\"broken\",\"eventKind\":5}", NULL);

    Registry *registry = writer_registry(store.writer);
    size_t count;
    const RegistryTrigger *const *triggers = registry_triggers(registry, TENANT, S("k"), &count);
    CHECK(count == 2 && is_text(triggers[0]->id, "a") && is_text(triggers[1]->id, "b"));
    const Trigger *compiled = registry_compiled(triggers[0], &store.arena);
    CHECK(compiled->rule.version == 2 && !compiled->enabled && compiled->rule.lane == 1);
    CHECK(compiled == registry_compiled(triggers[0], &store.arena)); // and kept
    triggers = registry_triggers(registry, other, S("k"), &count);
    CHECK(count == 1 && triggers[0]->lane == 2);
    registry_triggers(registry, TENANT, S("kk"), &count);
    CHECK(count == 0);
    registry_recallers(registry, TENANT, S("c"), &count);
    CHECK(count == 1);
    CHECK(registry_listeners(registry, TENANT) == 2); // one that does not compile is left out
    registry_triggers(old, TENANT, S("k"), &count);
    CHECK(count == 1); // a snapshot never changes
    CHECK(registry_tenant(registry, other) && !registry_tenant(registry, 9));
    CHECK(is_text(registry_tenant(registry, other)->id, "other"));
    registry_drop(old);
    registry_drop(registry);

    edit(&store, HIDE, "b", 1, NULL, NULL);
    registry = writer_registry(store.writer);
    registry_triggers(registry, TENANT, S("k"), &count);
    CHECK(count == 1);
    registry_recallers(registry, TENANT, S("c"), &count);
    CHECK(count == 0);
    registry_drop(registry);
}

static void old_versions_can_be_loaded(void)
{
    STORE(store);
    publish(&store, TENANT, "{'id':'t','eventKind':'k1','channel':'memory:default'}");
    publish(&store, TENANT, "{'id':'t','eventKind':'k2','channel':'memory:default'}");
    edit(&store, HIDE, "t", 2, NULL, NULL);
    Versions *versions = writer_versions(store.writer);
    const Trigger *first, *again;
    MUST(&store, versions_load(versions, store.db, TENANT, 1, 1, &first, &store.error));
    CHECK(is_text(first->event_kind, "k1") && first->rule.version == 1 &&
          first->rule.tenant == TENANT);
    MUST(&store, versions_load(versions, store.db, TENANT, 1, 1, &again, &store.error));
    CHECK(first == again);
    versions_drop(first);
    versions_drop(again);
    MUST(&store, versions_load(versions, store.db, TENANT, 1, 3, &again, &store.error));
    CHECK(!again);
    MUST(&store, versions_load(versions, store.db, TENANT, 1, 0, &again, &store.error));
    CHECK(again->rule.version == 0 && is_text(again->rule.id, "t") && !again->enabled);
    versions_drop(again);
    MUST(&store, versions_load(versions, store.db, TENANT, 2, 0, &again, &store.error));
    CHECK(!again); // nobody has that number
    MUST(&store, versions_load(versions, store.db, TENANT + 1, 1, 1, &again, &store.error));
    CHECK(!again);
    versions_drop(again);
}

static int count_call(void *with, const char *call)
{
    *(int *) with += strcmp(call, "version_load") == 0;
    return 0;
}

static const Trigger *load_version(Store *store, int64_t version)
{
    const Trigger *loaded = NULL;
    MUST(store, versions_load(writer_versions(store->writer), store->db, TENANT, 1, version,
                              &loaded, &store->error));
    return loaded;
}

// Insert is rows that no API writes.
static Err insert_version(Tx *tx, void *with, Error *error)
{
    static const Statement insert = {
        .name = "suite_version_insert",
        .scope = STATEMENT_TENANT,
        .params = "iti",
        .sql = "INSERT INTO definition_version (tenant, kind, id, version, body, created_at)"
               " VALUES ($1, 'trigger', 't', $3, $2, 0)",
    };
    const Value *args = with;
    Rows rows;
    return tx_query(tx, &insert, args, &rows, error);
}

static void the_cache_of_versions_has_a_ceiling(void)
{
    STORE(store);
    int queries = 0;
    publish(&store, TENANT, "{'id':'t','eventKind':'k','channel':'memory:default'}");
    Str body = json_compact(&store, "{'id':'t','eventKind':'k','channel':'memory:default'}");
    for (int64_t version = 2; version <= VERSIONS_MAX * 2; version++) {
        Value args[] = { value_i64(TENANT), value_text(body), value_i64(version) };
        MUST(&store, writer_run(store.writer, insert_version, args, &store.error));
    }
    store.db->fault = count_call;
    store.db->fault_with = &queries;
    const Trigger *held = load_version(&store, 1);
    for (int64_t version = 2; version <= VERSIONS_MAX * 2; version++)
        versions_drop(load_version(&store, version));
    CHECK(queries == VERSIONS_MAX * 2);
    CHECK(load_version(&store, 1) == held && queries == VERSIONS_MAX * 2); // held ones stay
    CHECK(held->rule.version == 1 && is_text(held->rule.id, "t"));
    versions_drop(load_version(&store, VERSIONS_MAX * 2));
    CHECK(queries == VERSIONS_MAX * 2); // so do the newest
    versions_drop(load_version(&store, 2));
    CHECK(queries == VERSIONS_MAX * 2 + 1); // this one had to go
    versions_drop(held);
    versions_drop(held);
    store.db->fault = NULL;
}

static Err put_hold(Tx *tx, void *with, Error *error)
{
    (void) error;
    meta_put(tx, META_HOLD, S("was overwritten"));
    meta_put(tx, META_HOLD, *(Str *) with);
    tx->changes_definitions = true;
    return ERR_OK;
}

static Err remove_hold(Tx *tx, void *with, Error *error)
{
    (void) with;
    (void) error;
    meta_remove(tx, META_HOLD);
    tx->changes_definitions = true;
    return ERR_OK;
}

static void a_hold_is_part_of_the_snapshot(void)
{
    STORE(store);
    Str value, reason = S("this is a copy");
    MUST(&store, meta_get(store.db, &store.arena, META_HOLD, &value, &store.error));
    CHECK(!value.at);
    MUST(&store, writer_run(store.writer, put_hold, &reason, &store.error));
    MUST(&store, meta_get(store.db, &store.arena, META_HOLD, &value, &store.error));
    CHECK(is_text(value, "this is a copy"));
    Registry *held = writer_registry(store.writer);
    CHECK(held->is_held && is_text(held->hold_reason, "this is a copy"));
    registry_drop(held);
    MUST(&store, writer_run(store.writer, remove_hold, NULL, &store.error));
    Registry *released = writer_registry(store.writer);
    CHECK(!released->is_held);
    registry_drop(released);
}

static void a_database_knows_what_it_is(void)
{
    STORE(store);
    Str first, again;
    MUST(&store, meta_identity(store.db, &store.arena, &first, &store.error));
    MUST(&store, meta_identity(store.db, &store.arena, &again, &store.error));
    CHECK(first.len > 10 && str_eq(first, again));
    CHECK(str_starts(first, suite_is_postgres() ? S("cluster ") : S("file ")));
}

// Joining is what one node does to its row.
typedef struct Joining {
    Str name;
    Instant at;
    int64_t node;
    enum { JOIN, BEAT, LEAVE } move;
} Joining;

static Err apply_joining(Tx *tx, void *with, Error *error)
{
    Joining *joining = with;
    if (joining->move == JOIN)
        return node_join(tx, joining->name, S("1"), false, joining->at, &joining->node, error);
    if (joining->move == BEAT)
        return node_beat(tx,
                         &(NodeBeat){ .node = joining->node,
                                      .real_now = joining->at,
                                      .clock_offset = -SPAN_SECOND,
                                      .leases = 7 },
                         error);
    node_leave(tx, joining->node, joining->at);
    return ERR_OK;
}

static int64_t others(Store *store, int64_t node, Instant at)
{
    int64_t count = -1;
    MUST(store, node_others(store->db, node, at, &count, &store->error));
    return count;
}

static void join(Store *store, Joining joining)
{
    int64_t expected = joining.node;
    MUST(store, writer_run(store->writer, apply_joining, &joining, &store->error));
    CHECK(joining.node == expected);
}

static void nodes_are_numbered(void)
{
    STORE(store);
    for (int64_t n = 1; n <= 3; n++)
        join(&store, (Joining){ S("same"), BEGINNING, n, JOIN });
    join(&store, (Joining){ .at = BEGINNING, .node = 3, .move = LEAVE });
    join(&store, (Joining){ S("same"), BEGINNING, 4, JOIN }); // a number is never used again
    CHECK(ask_i64(&store, "SELECT seen_until FROM node WHERE node = 1") == BEGINNING + NODE_LEASE);
    CHECK(ask_i64(&store, "SELECT seen_until FROM node WHERE node = 3") == BEGINNING);
    // It left, and did not die.
    CHECK(ask_i64(&store, "SELECT is_over FROM node WHERE node = 3") == 1);
}

// A node lives while its beat holds and it has a connection. A file has one process at a time.
static void a_node_lives_while_it_beats_and_is_connected(void)
{
    STORE(store);
    Db *here = NULL, *there = NULL;
    join(&store, (Joining){ S("here"), BEGINNING, 1, JOIN });
    join(&store, (Joining){ S("there"), BEGINNING, 2, JOIN });
    join(&store, (Joining){ S("killed"), BEGINNING, 3, JOIN });
    if (!suite_is_postgres()) {
        CHECK(others(&store, 1, BEGINNING) == 0);
        return;
    }
    CHECK(others(&store, 0, BEGINNING) == 0);
    MUST(&store, db_open(&(DbOptions){ .url = store.url, .name = S("here") }, &here, &store.error));
    MUST(&store,
         db_open(&(DbOptions){ .url = store.url, .name = S("there") }, &there, &store.error));
    CHECK(others(&store, 0, BEGINNING) == 2 && others(&store, 1, BEGINNING) == 1);
    join(&store, (Joining){ .at = BEGINNING + NODE_BEAT, .node = 2, .move = BEAT });
    CHECK(others(&store, 0, BEGINNING + NODE_LEASE - 1) == 2);
    CHECK(others(&store, 0, BEGINNING + NODE_LEASE) == 1);
    CHECK(others(&store, 2, BEGINNING + NODE_LEASE) == 0);
    db_close(there); // as if it were killed: the server notices when it gets round to it
    for (int i = 0; i < 100000 && others(&store, 1, BEGINNING) > 0; i++)
        ;
    CHECK(others(&store, 1, BEGINNING) == 0);
    join(&store, (Joining){ .at = BEGINNING, .node = 1, .move = LEAVE });
    CHECK(others(&store, 0, BEGINNING) == 0);
    db_close(here);
}

static NodeRow *nodes(Store *store, int64_t node, Instant at)
{
    Seen seen;
    NodeRow *rows;
    Walk walk = { .limit = 9 };
    MUST(store, node_page(store->db, &store->arena, node, at, &walk, &rows, &seen, &store->error));
    CHECK(seen.count == 3 && !seen.has_more);
    return rows;
}

static void a_node_tells_of_itself(void)
{
    STORE(store);
    join(&store, (Joining){ S("left"), BEGINNING, 1, JOIN });
    join(&store, (Joining){ S("dead"), BEGINNING, 2, JOIN });
    join(&store, (Joining){ S("here"), BEGINNING, 3, JOIN });
    join(&store, (Joining){ .at = BEGINNING + NODE_BEAT, .node = 2, .move = BEAT });
    join(&store, (Joining){ .at = BEGINNING + 1, .node = 1, .move = LEAVE });
    NodeRow *rows = nodes(&store, 3, BEGINNING + NODE_BEAT);
    CHECK(rows[0].node == 3 && rows[0].state == NODE_ALIVE); // it asks
    CHECK(rows[1].node == 2 && rows[1].state == NODE_DEAD);  // it has no connection
    CHECK(rows[1].beat_at == BEGINNING + NODE_BEAT && rows[1].clock_offset == -SPAN_SECOND);
    CHECK(rows[1].leases == 7); // until they have lapsed
    CHECK(rows[2].node == 1 && rows[2].state == NODE_LEFT && rows[2].leases == 0);
    CHECK(str_eq(rows[2].name, S("left")) && str_eq(rows[2].version, S("1")));
    CHECK(nodes(&store, 3, BEGINNING + NODE_BEAT + NODE_LEASE)[1].leases == 0);
}

static void the_servers_clock_can_be_measured(void)
{
    STORE(store);
    Clock real;
    clock_init_system(&real);
    ClockOffset offset = { SPAN_DAY, -1 };
    MUST(&store, node_offset(store.db, &real, &offset, &store.error));
    CHECK(offset.span > -SPAN_MINUTE && offset.span < SPAN_MINUTE); // it is this machine's
    CHECK(offset.round_trip >= 0);
    CHECK(suite_is_postgres() || (offset.span == 0 && offset.round_trip == 0));
}

static void migrations_run_once(void)
{
    Str url = suite_database();
    Error error = { 0 };
    DEFER(arena_done) Arena arena = { 0 };
    Db *db = NULL;
    int applied = 0, pending = -1;
    must(NULL, db_open(&(DbOptions){ .url = url }, &db, &error), __FILE__, __LINE__);
    CHECK(migrate_pending(db, &pending, &error) == ERR_OK && pending == (int) migration_count);
    CHECK(migrate_run(db, &applied, &error) == ERR_OK && applied == (int) migration_count);
    CHECK(migrate_pending(db, &pending, &error) == ERR_OK && pending == 0);
    CHECK(migrate_run(db, &applied, &error) == ERR_OK && applied == 0);

    // Newer than this program knows: refused, and left as it is.
    CHECK(db_script(db, S("INSERT INTO migration (number, name) VALUES (9999, 'x')"), &error) ==
          ERR_OK);
    CHECK(migrate_run(db, &applied, &error) == ERR_CONFLICT && applied == 0);
    CHECK(migrate_pending(db, &pending, &error) == ERR_CONFLICT);
    db_close(db);
    suite_database();
}

static Err refuse_tenant(Tx *tx, void *with, Error *error)
{
    Tenant made;
    (void) with;
    return tenant_add(tx, S("other"), S("Again"), &made, error);
}

static void tenants_are_numbered_and_equipped(void)
{
    STORE(store);
    Tenant found, *page;
    Seen seen;
    Walk walk = { .after = S("and"), .limit = 1 };
    CHECK(tenant_new(&store, "other") == 2 && tenant_new(&store, "and") == 3);
    CHECK(writer_run(store.writer, refuse_tenant, NULL, &store.error) == ERR_EXISTS);
    MUST(&store, tenant_find(store.db, &store.arena, S("other"), &found, &store.error));
    CHECK(found.tenant == 2 && is_text(found.name, "other") && found.created_at == BEGINNING);
    CHECK(tenant_find(store.db, &store.arena, S("x"), &found, &store.error) == ERR_NOT_FOUND);
    MUST(&store, tenant_page(store.db, &store.arena, &walk, &page, &seen, &store.error));
    CHECK(seen.count == 1 && is_text(page[0].id, "default") && is_text(seen.next, "default"));
    Registry *registry = writer_registry(store.writer);
    CHECK(registry_channel(registry, 3, CHANNEL_ALWAYS) && lane_of(&store, 3, "memory:default"));
    registry_drop(registry);
}

// KeyMove is one change of the keys.
typedef struct KeyMove {
    Key key;
    const char *text; // none: remove it
} KeyMove;

static Err apply_key(Tx *tx, void *with, Error *error)
{
    KeyMove *move = with;
    if (move->text)
        return key_add(tx, &move->key, str_from(move->text), error);
    return key_remove(tx, move->key.tenant, &move->key.id, error);
}

static void keys_are_found_by_their_hash_alone(void)
{
    STORE(store);
    KeyMove move = { .key = { .tenant = TENANT,
                              .role = ROLE_INGEST,
                              .name = S("till"),
                              .expires_at = BEGINNING + SPAN_DAY },
                     .text = "a key of sixteen and more" };
    MUST(&store, writer_run(store.writer, apply_key, &move, &store.error));
    Registry *registry = writer_registry(store.writer);
    Sha256 hash = hash_of(move.text), wrong = hash_of("another key");
    const RegistryKey *found = registry_key(registry, &hash);
    CHECK(found && found->tenant == TENANT && found->role == ROLE_INGEST && !found->is_system);
    CHECK(found && found->expires_at == BEGINNING + SPAN_DAY && same_id(found->id, move.key.id));
    CHECK(!registry_key(registry, &wrong));
    registry_drop(registry);

    move.text = NULL;
    move.key.tenant = TENANT + 1;
    CHECK(writer_run(store.writer, apply_key, &move, &store.error) == ERR_NOT_FOUND);
    move.key.tenant = TENANT;
    CHECK(writer_run(store.writer, apply_key, &move, &store.error) == ERR_OK);
    registry = writer_registry(store.writer);
    CHECK(!registry_key(registry, &hash));
    registry_drop(registry);
    CHECK(writer_run(store.writer, apply_key, &move, &store.error) == ERR_NOT_FOUND);
    // Its row stays, with the number by which caches learn of it.
    CHECK(ask_i64(&store, "SELECT generation FROM api_key WHERE is_revoked = 1") ==
          generation(&store));
}

// Bootstrap is one start with or without a given key.
typedef struct Bootstrap {
    Arena *arena;
    Str given;
    KeyStart start;
} Bootstrap;

static Err apply_bootstrap(Tx *tx, void *with, Error *error)
{
    Bootstrap *bootstrap = with;
    return key_bootstrap(tx, bootstrap->arena, bootstrap->given, &bootstrap->start, error);
}

static void a_start_finds_or_makes_the_first_key(void)
{
    STORE(store);
    Bootstrap again = { .arena = &store.arena };
    int64_t before = generation(&store);
    MUST(&store, writer_run(store.writer, apply_bootstrap, &again, &store.error));
    CHECK(!again.start.made.at && generation(&store) == before);
    again.given = S("too short");
    CHECK(writer_run(store.writer, apply_bootstrap, &again, &store.error) == ERR_SETUP);

    Key *page;
    Seen seen;
    MUST(&store, key_page(store.db, &store.arena, TENANT, 0, &(Walk){ .limit = 9 }, &page, &seen,
                          &store.error));
    CHECK(seen.count == 1 && !seen.has_more && page[0].is_system && page[0].role == ROLE_ADMIN);
    KeyMove last = { .key = page[0] };
    CHECK(writer_run(store.writer, apply_key, &last, &store.error) == ERR_CONFLICT);
    pass(&store, SPAN_SECOND);
    again.given = S("another key for the system");
    MUST(&store, writer_run(store.writer, apply_bootstrap, &again, &store.error));
    CHECK(!again.start.made.at);
    CHECK(again.start.replaced == 1); // the key of the suite was given too
    CHECK(writer_run(store.writer, apply_key, &last, &store.error) == ERR_NOT_FOUND);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM api_key WHERE is_system = 1 AND is_revoked = 0") ==
          1);
}

static void has_right(Store *store, const char *text, bool expected)
{
    Sha256 hash = sha256(str_from(text));
    Registry *registry = writer_registry(store->writer);
    const RegistryKey *key = registry_key(registry, &hash);
    CHECK_AT(text, (key && key->is_system) == expected);
    registry_drop(registry);
}

// Whoever changes PEAL_ADMIN_KEY thinks that the old one is worth nothing.
static void a_key_given_at_the_start_replaces_the_one_before(void)
{
    STORE(store);
    KeyMove made = { .text = "a key that an admin made",
                     .key = { .tenant = TENANT,
                              .role = ROLE_ADMIN,
                              .name = S("given at the start"),
                              .expires_at = INSTANT_NONE } };
    MUST(&store, writer_run(store.writer, apply_key, &made, &store.error));
    Bootstrap start = { .arena = &store.arena, .given = S("the second given key") };
    MUST(&store, writer_run(store.writer, apply_bootstrap, &start, &store.error));
    CHECK(start.start.replaced == 1);
    has_right(&store, "the key of the suite", false);
    has_right(&store, "the second given key", true);
    MUST(&store, writer_run(store.writer, apply_bootstrap, &start, &store.error));
    CHECK(start.start.replaced == 0);            // the same again changes nothing
    start.given = S("a key that an admin made"); // its name is no mark of ours
    MUST(&store, writer_run(store.writer, apply_bootstrap, &start, &store.error));
    CHECK(start.start.replaced == 1);
    has_right(&store, "the second given key", false);
    has_right(&store, "a key that an admin made", true);
    start.given = S("the second given key"); // what was revoked is given anew
    MUST(&store, writer_run(store.writer, apply_bootstrap, &start, &store.error));
    has_right(&store, "the second given key", true);
    has_right(&store, "a key that an admin made", false);
    start.given = STR_NONE; // none given: whoever has the right keeps it
    MUST(&store, writer_run(store.writer, apply_bootstrap, &start, &store.error));
    CHECK(start.start.replaced == 0 && !start.start.made.at);
    has_right(&store, "the second given key", true);
}

static const Test tests[] = {
    TEST(versions_count_on),
    TEST(the_same_body_makes_no_version),
    TEST(a_hidden_definition_returns_under_a_new_version),
    TEST(definitions_are_listed_by_id),
    TEST(every_change_raises_the_generation_once),
    TEST(lanes_are_numbered_and_stay),
    TEST(rules_are_numbered_and_stay),
    TEST(what_changes_carries_its_generation),
    TEST(a_snapshot_holds_what_was_published),
    TEST(old_versions_can_be_loaded),
    TEST(the_cache_of_versions_has_a_ceiling),
    TEST(a_hold_is_part_of_the_snapshot),
    TEST(a_database_knows_what_it_is),
    TEST(nodes_are_numbered),
    TEST(a_node_lives_while_it_beats_and_is_connected),
    TEST(a_node_tells_of_itself),
    TEST(the_servers_clock_can_be_measured),
    TEST(migrations_run_once),
    TEST(tenants_are_numbered_and_equipped),
    TEST(keys_are_found_by_their_hash_alone),
    TEST(a_start_finds_or_makes_the_first_key),
    TEST(a_key_given_at_the_start_replaces_the_one_before),
};
PART(definitions_part, tests);
