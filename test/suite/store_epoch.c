#include "fixture.h"

#include "store/meta.h"

#include <sys/resource.h>
#include <unistd.h>

// What epoch.h promises, below the program: what is compared, and in which order the two sides are
// written, so that no crash between them holds a store for nothing.

typedef struct Guarded {
    Store store;
    EpochGuard guard;
    char folder[32];
    bool fails; // the transaction is rolled back in the end
} Guarded;

static void guarded_open(Guarded *self)
{
    snprintf(self->folder, sizeof self->folder, "/tmp/peal-epoch-XXXXXX");
    assert(mkdtemp(self->folder));
    self->guard.state_folder = str_from(self->folder);
    store_open(&self->store);
}

static void guarded_close(Guarded *self)
{
    store_close(&self->store);
    rmdir(self->folder);
}

#define GUARDED(name)                                                                              \
    DEFER(guarded_close) Guarded name = { 0 };                                                     \
    guarded_open(&name)

typedef struct Raising {
    Guarded *of;
    EpochRaise raised;
} Raising;

static Err apply_raise(Tx *tx, void *with, Error *error)
{
    Raising *raising = with;
    Guarded *of = raising->of;
    return epoch_raise(tx, &of->guard, &of->store.arena, &raising->raised, error);
}

static Err apply_release(Tx *tx, void *with, Error *error)
{
    const Guarded *of = with;
    TRY(epoch_release(tx, &of->guard, error));
    return of->fails ? fail(error, ERR_DISK_FULL, "no room") : ERR_OK;
}

static EpochRaise raise_inside(Guarded *of)
{
    Raising raising = { .of = of };
    MUST(&of->store, writer_run(of->store.writer, apply_raise, &raising, &of->store.error));
    return raising.raised;
}

static EpochRaise raise_both(Guarded *of)
{
    EpochRaise raised = raise_inside(of);
    epoch_keep(&raised);
    return raised;
}

static EpochFinding look(Guarded *of)
{
    EpochFinding finding;
    MUST(&of->store,
         epoch_look(of->store.db, &of->store.arena, &of->guard, &finding, &of->store.error));
    return finding;
}

static Str known(Guarded *of, Str key)
{
    Str value;
    MUST(&of->store, meta_get(of->store.db, &of->store.arena, key, &value, &of->store.error));
    return value;
}

static Err apply_put(Tx *tx, void *with, Error *error)
{
    (void) error;
    meta_put(tx, META_EPOCH, *(Str *) with);
    return ERR_OK;
}

// put_back makes the database what it was when its epoch was this one.
static void put_back(Guarded *of, Str epoch)
{
    MUST(&of->store, writer_run(of->store.writer, apply_put, &epoch, &of->store.error));
}

static void a_new_database_gets_an_epoch(void)
{
    GUARDED(of);
    CHECK(look(&of) == EPOCH_FIRST);
    EpochRaise raised = raise_both(&of);
    CHECK(look(&of) == EPOCH_SAME && !known(&of, META_HOLD).at);
    CHECK(access(str_z(&of.store.arena, raised.path), R_OK) == 0);
    unlink(str_z(&of.store.arena, raised.path));
}

static void a_crash_between_the_two_sides_holds_nothing(void)
{
    GUARDED(of);
    raise_inside(&of); // the first: outside knows it before it is committed
    CHECK(look(&of) == EPOCH_SAME);
    raise_both(&of);
    raise_inside(&of);
    EpochRaise raised = raise_inside(&of);
    CHECK(look(&of) == EPOCH_SAME);
    raise_both(&of);
    CHECK(look(&of) == EPOCH_SAME && !known(&of, META_HOLD).at);
    unlink(str_z(&of.store.arena, raised.path));
}

static void an_older_state_is_held_and_nothing_is_claimed(void)
{
    GUARDED(of);
    raise_both(&of);
    Str before = known(&of, META_EPOCH);
    EpochRaise raised = raise_both(&of);
    publish(&of.store, TENANT, "{'id':'t','eventKind':'visit','channel':'memory:default'}");
    take(&of.store, TENANT, "{'kind':'visit','payload':{}}");
    put_back(&of, before);
    CHECK(look(&of) == EPOCH_OLDER);
    CHECK(!raise_both(&of).path.at);
    CHECK(str_contains(known(&of, META_HOLD), S("older")));
    CHECK(claim_lane(&of.store, 1, 10).count == 0);

    int64_t generation = ask_i64(&of.store, "SELECT n FROM generation");
    raise_both(&of);
    CHECK(ask_i64(&of.store, "SELECT n FROM generation") == generation); // once is enough

    MUST(&of.store, writer_run(of.store.writer, apply_release, &of, &of.store.error));
    CHECK(look(&of) == EPOCH_SAME && !known(&of, META_HOLD).at);
    CHECK(!str_starts(known(&of, META_EPOCH), (Str){ before.at, 32 })); // a new one
    CHECK(claim_lane(&of.store, 1, 10).count == 1);
    put_back(&of, before);
    raise_inside(&of);
    CHECK(look(&of) != EPOCH_SAME); // what was released is not what was there before
    unlink(str_z(&of.store.arena, raised.path));
}

static void a_release_that_fails_leaves_what_was(void)
{
    GUARDED(of);
    raise_both(&of);
    Str before = known(&of, META_EPOCH);
    EpochRaise raised = raise_both(&of);
    Str now = known(&of, META_EPOCH);
    put_back(&of, before);
    raise_both(&of); // held
    of.fails = true;
    CHECK(writer_run(of.store.writer, apply_release, &of, &of.store.error) == ERR_DISK_FULL);
    CHECK(look(&of) == EPOCH_OLDER && known(&of, META_HOLD).at);
    put_back(&of, now); // the database as it should be
    CHECK(look(&of) == EPOCH_SAME);
    unlink(str_z(&of.store.arena, raised.path));
}

static void a_database_that_nobody_knows_is_held(void)
{
    GUARDED(of);
    EpochRaise raised = raise_both(&of);
    unlink(str_z(&of.store.arena, raised.path));
    // On PostgreSQL the writer, which has just raised it, lives and knows it.
    CHECK(look(&of) == (suite_is_postgres() ? EPOCH_SAME : EPOCH_UNKNOWN));
    raise_both(&of);
    CHECK((known(&of, META_HOLD).at != NULL) == !suite_is_postgres());
    unlink(str_z(&of.store.arena, raised.path));
}

// use_up takes the descriptors that are free away, and returns the limit that was; what is open
// stays so. The limit is not 0: no connection could be waited for then.
static struct rlimit use_up(void)
{
    struct rlimit was, is;
    int free = dup(STDOUT_FILENO);
    close(free);
    assert(free > 0 && getrlimit(RLIMIT_NOFILE, &was) == 0);
    is = (struct rlimit){ (rlim_t) free, was.rlim_max };
    assert(setrlimit(RLIMIT_NOFILE, &is) == 0);
    return was;
}

static void put_limit(struct rlimit limit)
{
    assert(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static void what_cannot_be_read_now_is_no_reason_to_doubt(void)
{
    GUARDED(of);
    EpochFinding finding;
    Raising raising = { .of = &of };
    EpochRaise raised = raise_both(&of);
    struct rlimit was = use_up();
    Err looked = epoch_look(of.store.db, &of.store.arena, &of.guard, &finding, &of.store.error);
    Err raise = writer_run(of.store.writer, apply_raise, &raising, &of.store.error);
    put_limit(was);
    CHECK(looked == ERR_UNAVAILABLE && raise == ERR_UNAVAILABLE);
    CHECK(str_contains(str_from(of.store.error.detail), S("cannot read")));
    CHECK(look(&of) == EPOCH_SAME && !known(&of, META_HOLD).at);
    unlink(str_z(&of.store.arena, raised.path));
}

// The machine's own name is a part of what a file is known by.
static void an_identity_that_cannot_be_read_now_is_none(void)
{
    GUARDED(of);
    Str identity;
    MUST(&of.store, meta_identity(of.store.db, &of.store.arena, &identity, &of.store.error));
    struct rlimit was = use_up();
    Err err = meta_identity(of.store.db, &of.store.arena, &identity, &of.store.error);
    put_limit(was);
    CHECK(err == (suite_is_postgres() ? ERR_OK : ERR_UNAVAILABLE));
}

static const Test tests[] = {
    TEST(a_new_database_gets_an_epoch),
    TEST(a_crash_between_the_two_sides_holds_nothing),
    TEST(an_older_state_is_held_and_nothing_is_claimed),
    TEST(a_release_that_fails_leaves_what_was),
    TEST(a_database_that_nobody_knows_is_held),
    TEST(what_cannot_be_read_now_is_no_reason_to_doubt),
    TEST(an_identity_that_cannot_be_read_now_is_none),
};

PART(epoch_part, tests);
