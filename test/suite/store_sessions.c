#include "fixture.h"

#include "store/definition.h"
#include "store/session.h"

// What session.h promises, and registry.h of sessions.

// KeyStep is one change of keys and sessions.
typedef struct KeyStep {
    enum { ADD, OPEN, CHANGE, REMOVE, PURGE, REOPEN } what;
    Key key;          // added, changed or removed; or whose session is opened
    const char *text; // of what is added or opened
    Key session;      // result
    int64_t gone;     // result
} KeyStep;

// reopen is nothing that Peal does.
static const Statement reopen = {
    .name = "suite_reopen",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .sql = "UPDATE api_key SET is_revoked = 0, expires_at = $1 WHERE parent IS NOT NULL",
};

static Err apply_step(Tx *tx, void *with, Error *error)
{
    KeyStep *step = with;
    TRY(definition_lock(tx, error));
    switch (step->what) {
    case ADD:
        return key_add(tx, &step->key, str_from(step->text), error);
    case OPEN:
        return session_open(tx, &step->key, str_from(step->text), &step->session, error);
    case CHANGE:
        return key_change(tx, &step->key, error);
    case REMOVE:
        return key_remove(tx, step->key.tenant, &step->key.id, error);
    case PURGE:
        return session_purge(tx, 500, &step->gone, error);
    case REOPEN:
        return tx_query(tx, &reopen, &(Value){ .type = VALUE_I64, .i64 = tx->now + SPAN_DAY },
                        &(Rows){ 0 }, error);
    }
    return ERR_OK;
}

static void do_step(Store *store, KeyStep *step)
{
    MUST(store, writer_run(store->writer, apply_step, step, &store->error));
}

// signed_in makes a key and opens a session of it.
static KeyStep signed_in(Store *store, const char *key, const char *session)
{
    KeyStep step = { .what = ADD,
                     .key = { .tenant = TENANT, .role = ROLE_AUTHOR, .name = S("Ada") },
                     .text = key };
    step.key.expires_at = INSTANT_NONE;
    do_step(store, &step);
    step.what = OPEN;
    step.text = session;
    do_step(store, &step);
    return step;
}

static bool finds(Store *store, const char *text, RegistryKey *ret)
{
    Sha256 hash = hash_of(text);
    Registry *registry = writer_registry(store->writer);
    bool found = registry_session(registry, &hash, ret);
    registry_drop(registry);
    return found;
}

static void a_session_is_as_its_key_is(void)
{
    STORE(store);
    RegistryKey found;
    KeyStep step = signed_in(&store, "the key of this test", "its session");
    CHECK(finds(&store, "its session", &found) && found.role == ROLE_AUTHOR);
    CHECK(same_id(found.id, step.session.id) && same_id(found.parent_id, step.key.id));
    CHECK(found.is_session && found.expires_at == now(&store) + SESSION_LIFE);
    CHECK(!finds(&store, "the key of this test", &found)); // which is no session
    step.what = CHANGE;
    step.key.role = ROLE_READ;
    step.key.expires_at = now(&store) + SPAN_HOUR;
    do_step(&store, &step);
    CHECK(finds(&store, "its session", &found) && found.role == ROLE_READ);
    CHECK(found.expires_at == now(&store) + SPAN_HOUR);
    CHECK(ask_i64(&store, "SELECT expires_at FROM api_key WHERE parent IS NOT NULL") ==
          now(&store) + SPAN_HOUR);
    step.what = REMOVE;
    do_step(&store, &step);
    CHECK(!finds(&store, "its session", &found));
    CHECK(ask_i64(&store, "SELECT is_revoked FROM api_key WHERE parent IS NOT NULL") == 1);
}

// A key that is gone ends its sessions even where nobody closed them.
static void a_session_without_its_key_opens_nothing(void)
{
    STORE(store);
    RegistryKey found;
    KeyStep step = signed_in(&store, "the key of this test", "its session");
    KeyStep other = signed_in(&store, "another key", "another session");
    step.what = REMOVE;
    do_step(&store, &step);
    step.what = REOPEN;
    do_step(&store, &step);
    Registry *registry = NULL;
    Sha256 hash = hash_of("its session"), kept = hash_of("another session");
    MUST(&store, registry_load(store.db, NULL, &registry, &store.error));
    CHECK(registry_key(registry, &hash) && !registry_session(registry, &hash, &found));
    CHECK(registry_session(registry, &kept, &found) && same_id(found.id, other.session.id));
    registry_drop(registry);
}

static void what_has_ended_is_forgotten(void)
{
    STORE(store);
    KeyStep step = signed_in(&store, "the key of this test", "its session");
    KeyStep purge = { .what = PURGE };
    Sha256 hash = hash_of("its session");
    pass(&store, SESSION_LIFE - 1);
    do_step(&store, &purge);
    Registry *registry = writer_registry(store.writer);
    CHECK(registry_key(registry, &hash));
    registry_drop(registry);
    pass(&store, 1);
    do_step(&store, &purge); // snapshots forget it, the table does not yet
    registry = writer_registry(store.writer);
    CHECK(!registry_key(registry, &hash) && purge.gone == 0);
    registry_drop(registry);
    pass(&store, SESSION_KEPT - 1);
    do_step(&store, &purge);
    CHECK(purge.gone == 0);
    pass(&store, 1);
    do_step(&store, &purge);
    CHECK(purge.gone == 1 &&
          ask_i64(&store, "SELECT COUNT(*) FROM api_key WHERE parent IS NOT NULL") == 0);
    step.what = REMOVE; // the key itself stays
    do_step(&store, &step);
}

static void the_oldest_makes_room(void)
{
    STORE(store);
    RegistryKey found;
    KeyStep step = signed_in(&store, "the key of this test", "session 0");
    for (int i = 1; i <= SESSIONS_MAX; i++) {
        pass(&store, SPAN_SECOND);
        step.text = str_z(&store.arena, str_format(&store.arena, "session %d", i));
        do_step(&store, &step);
        CHECK(finds(&store, "session 0", &found) == (i < SESSIONS_MAX));
    }
    CHECK(finds(&store, "session 1", &found));
}

static const Test tests[] = {
    TEST(a_session_is_as_its_key_is),
    TEST(a_session_without_its_key_opens_nothing),
    TEST(what_has_ended_is_forgotten),
    TEST(the_oldest_makes_room),
};
PART(sessions_part, tests);
