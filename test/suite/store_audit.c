#include "fixture.h"

#include "store/audit_mend.h"
#include "store/operation.h"
#include "store/sequence.h"
#include "store/site.h"

// What store/audit.h promises: every fact is told once, in a chain in which any change is found.

enum { SLICE = 100 };

typedef struct Seal {
    int limit;
    bool dies;
    AuditSealed sealed;
} Seal;

static Err do_seal(Tx *tx, void *with, Error *error)
{
    Seal *seal = with;
    bool has_more;
    TRY(sequence_run(tx, SLICE, &has_more, NULL, error));
    TRY(audit_seal(tx, seal->limit, &seal->sealed, error));
    return seal->dies ? fail(error, ERR_CONFLICT, "died before the commit") : ERR_OK;
}

// seal seals all there is and returns how many slices that took.
static int seal(Store *store, int limit)
{
    Seal seal = { .limit = limit, .sealed.has_more = true };
    int slices = 0;
    for (; seal.sealed.has_more && slices < 200; slices++)
        MUST(store, writer_run(store->writer, do_seal, &seal, &store->error));
    return slices;
}

static void open_audited(Store *store)
{
    publish(store, TENANT,
            "{'id':'plain','eventKind':'visit','channel':'memory:default',"
            "'retry':{'policy':'fixed','interval':'1m','max':1}}");
    seal(store, SLICE);
}

static Uuid visit(Store *store)
{
    Accept *accept = take(store, TENANT,
                          "{'kind':'visit','payload':{},'correlationId':'c-1',"
                          "'recipient':{'address':'ada@example.org'}}");
    MUST(store, take_err(accept));
    return accept->items[0].pairs[0].delivery;
}

// deliver makes one delivery that goes out at once.
static Uuid deliver(Store *store)
{
    Uuid id = visit(store);
    Claimed claimed = claim_one(store, 1);
    settle_one(store, &claimed, VERDICT_DELIVERED);
    return id;
}

static size_t page_of(Store *store, const AuditFilter *filter, AuditRow **ret)
{
    Seen seen;
    Walk walk = { .limit = 500 };
    MUST(store, audit_page(store->db, &store->arena, NULL, TENANT, filter, &walk, ret, &seen,
                           &store->error));
    return seen.count;
}

static AuditFilter any(void)
{
    return (AuditFilter){ .from = INSTANT_NONE, .to = INSTANT_NONE };
}

static AuditVerdict verify(Store *store, const AuditHead *outside)
{
    AuditChain chain;
    bool has_more = true;
    static const AuditHead none;
    MUST(store, audit_chain(store->db, &store->arena, TENANT, &chain, &store->error));
    AuditVerdict verdict = { .head = chain.anchor };
    while (has_more)
        MUST(store, audit_verify(store->db, TENANT, outside ? outside : &none, 7, &verdict,
                                 &has_more, &store->error));
    return verdict;
}

static bool is_whole(Store *store)
{
    return verify(store, NULL).problem == AUDIT_PROBLEM_NONE;
}

static bool is_bad(Store *store, const AuditHead *outside, AuditProblem problem, int64_t seq)
{
    AuditVerdict verdict = verify(store, outside);
    return verdict.problem == problem && verdict.bad == seq;
}

static int64_t entries(Store *store)
{
    return ask_i64(store, "SELECT CAST(SUM(seq - first + 1) AS BIGINT) FROM audit");
}

static void a_delivery_is_told_from_beginning_to_end(void)
{
    STORE(store);
    open_audited(&store);
    AuditFilter filter = any();
    AuditRow *rows;
    filter.has_delivery = true;
    filter.delivery = visit(&store);
    Claimed claimed = claim_one(&store, 1);
    settle_one(&store, &claimed, VERDICT_TRANSIENT);
    pass(&store, 2 * SPAN_MINUTE);
    claimed = claim_one(&store, 1);
    settle_one(&store, &claimed, VERDICT_TRANSIENT); // the retries are used up
    MUST(&store, act(&store, TENANT, filter.delivery, DELIVERY_ACTION_DISCARD, "no"));
    seal(&store, SLICE);
    static const char *const told[] = {
        "Delivery.Terminal", "Delivery.Terminal", "Delivery.Attempt",
        "Delivery.Attempt",  "Delivery.Created",
    };
    CHECK(page_of(&store, &filter, &rows) == ARRAY_LEN(told));
    for (size_t i = 0; i < ARRAY_LEN(told); i++) {
        CHECK(rows[i].is_read && strcmp(audit_kind_text(rows[i].entry.kind), told[i]) == 0);
        CHECK(is_text(rows[i].target, "ada@example.org") && rows[i].entry.has_target);
        CHECK(is_text(rows[i].entry.correlation_id, "c-1"));
    }
    CHECK(rows[2].entry.attempt == 2 && rows[3].entry.attempt == 1);
    CHECK(rows[3].entry.status == AUDIT_STATUS_TRANSIENT);
    CHECK(rows[1].entry.status == AUDIT_STATUS_PARKED);
    CHECK(rows[1].entry.reason == REASON_GAVE_UP);
    CHECK(is_whole(&store));
}

// An attempt that ended a delivery is moved when a person has it tried again; called off before
// the next one, the delivery has ended with that number once more, and without what it told.
static void an_attempt_is_told_whatever_a_person_did_before_it_was_sealed(void)
{
    STORE(store);
    open_audited(&store);
    AuditFilter filter = any();
    AuditRow *rows;
    filter.has_delivery = filter.has_kind = true;
    filter.kind = AUDIT_DELIVERY_ATTEMPT;
    filter.delivery = visit(&store);
    Claimed claimed = claim_one(&store, 1);
    settle_one(&store, &claimed, VERDICT_PERMANENT);
    MUST(&store, act(&store, TENANT, filter.delivery, DELIVERY_ACTION_RETRY, "again"));
    MUST(&store, act(&store, TENANT, filter.delivery, DELIVERY_ACTION_CANCEL, "no"));
    seal(&store, SLICE);
    CHECK(page_of(&store, &filter, &rows) == 1);
    CHECK(rows[0].entry.attempt == 1 && rows[0].entry.status == AUDIT_STATUS_PERMANENT);
    CHECK(is_whole(&store));
}

static void what_is_sealed_in_small_slices_is_the_same_chain(void)
{
    STORE(store);
    open_audited(&store);
    for (int i = 0; i < 10; i++)
        deliver(&store);
    CHECK(seal(&store, 3) > 3);
    CHECK(is_whole(&store));
    CHECK(ask_i64(&store,
                  "SELECT CAST(SUM(seq - first + 1) AS BIGINT) FROM audit WHERE tenant = 1") ==
          ask_i64(&store, "SELECT seq FROM chain WHERE tenant = 1"));
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM chain WHERE number <> told") == 0);
    AuditRow *rows;
    AuditFilter filter = any();
    filter.has_kind = true;
    filter.kind = AUDIT_DELIVERY_TERMINAL;
    CHECK(page_of(&store, &filter, &rows) == 10);
}

// waiting is how many facts of a tenant are not sealed yet.
static int64_t waiting(Store *store, int64_t tenant)
{
    AuditChain chain;
    MUST(store, audit_chain(store->db, &store->arena, tenant, &chain, &store->error));
    return chain.waiting;
}

static Err do_number(Tx *tx, void *with, Error *error)
{
    return sequence_run(tx, SLICE, with, NULL, error);
}

// However much waits of one tenant, another has its share of each slice.
static void who_has_much_to_tell_holds_up_nobody(void)
{
    STORE(store);
    open_audited(&store);
    bool has_more;
    int64_t other = tenant_new(&store, "other");
    for (int i = 0; i < 10; i++)
        deliver(&store);
    publish(&store, other, "{'id':'plain','eventKind':'visit','channel':'memory:default'}");
    publish(&store, other, "{'id':'more','eventKind':'visit','channel':'memory:default'}");
    MUST(&store, writer_run(store.writer, do_number, &has_more, &store.error));
    int64_t before = waiting(&store, TENANT), chains = ask_i64(&store, "SELECT COUNT(*) FROM chain"
                                                                       " WHERE number < told");
    Seal seal = { .limit = 9 };
    MUST(&store, writer_run(store.writer, do_seal, &seal, &store.error));
    CHECK(before > 9 && chains > 1 && seal.sealed.has_more);
    CHECK(waiting(&store, other) == 0);
    CHECK(before - waiting(&store, TENANT) == 9 / chains + 1);
}

static void who_dies_in_between_leaves_nothing(void)
{
    STORE(store);
    open_audited(&store);
    deliver(&store);
    int64_t before = entries(&store);
    Seal dying = { .limit = SLICE, .dies = true };
    CHECK(writer_run(store.writer, do_seal, &dying, &store.error) == ERR_CONFLICT);
    CHECK(entries(&store) == before);
    seal(&store, SLICE);
    CHECK(entries(&store) == before + 3);
    CHECK(is_whole(&store));
}

// run does something to the tables that Peal itself never does.
static Err do_run(Tx *tx, void *with, Error *error)
{
    Rows rows;
    return tx_query(tx, with, NULL, &rows, error);
}

static void run(Store *store, const char *sql)
{
    static int number;
    // Drivers know it by its place, the server by its name.
    Statement *statement = ARENA_ARRAY(&store->arena, Statement, 1);
    *statement = (Statement){ .name = str_format(&store->arena, "suite_run_%d", number++).at,
                              .scope = STATEMENT_SYSTEM,
                              .params = "",
                              .sql = sql };
    MUST(store, writer_run(store->writer, do_run, statement, &store->error));
}

static void any_change_is_found_and_named(void)
{
    STORE(store);
    open_audited(&store);
    seal(&store, SLICE);
    int64_t first = ask_i64(&store, "SELECT seq FROM chain WHERE tenant = 1") + 1;
    for (int i = 0; i < 5; i++) { // five blocks of three entries
        deliver(&store);
        seal(&store, SLICE);
    }
    AuditChain chain;
    MUST(&store, audit_chain(store.db, &store.arena, TENANT, &chain, &store.error));
    CHECK(is_whole(&store) && chain.head.seq == first + 14);

    run(&store, "UPDATE audit SET target = NULL WHERE tenant = 1"); // it is erased
    CHECK(is_whole(&store));

    run(&store, "CREATE TABLE kept AS SELECT a.*, (SELECT COUNT(*) FROM audit b WHERE b.tenant = 1"
                " AND b.seq > a.seq) AS place FROM audit a WHERE a.tenant = 1");
#define BLOCK(place) "(SELECT k.seq FROM kept k WHERE k.place = " place ")"
#define OF(member, place) "(SELECT k." member " FROM kept k WHERE k.place = " place ")"
    static const struct {
        const char *harm[3];
        AuditProblem problem;
        int64_t bad; // counted from the first of the five blocks
    } harms[] = {
        { { "UPDATE audit SET body = " OF("body", "3") " WHERE tenant = 1 AND seq = " BLOCK("2") },
          AUDIT_PROBLEM_REORDERED,
          6 },
        { { "UPDATE audit SET link = " OF("link", "3") " WHERE tenant = 1 AND seq = " BLOCK("2") },
          AUDIT_PROBLEM_CHANGED,
          8 },
        { { "UPDATE audit SET body = link WHERE tenant = 1 AND seq = " BLOCK("2") },
          AUDIT_PROBLEM_CHANGED,
          6 },
        { { "UPDATE audit SET first = first + 1 WHERE tenant = 1 AND seq = " BLOCK("2") },
          AUDIT_PROBLEM_MISSING,
          6 },
        { { "DELETE FROM audit WHERE tenant = 1 AND seq = " BLOCK("3") },
          AUDIT_PROBLEM_MISSING,
          3 },
        { { "UPDATE audit SET seq = 1000 WHERE tenant = 1 AND seq = " BLOCK("4"),
            "UPDATE audit SET seq = " BLOCK(
                "4") ", first = first - 3 WHERE tenant = 1 AND seq = " BLOCK("3"),
            "UPDATE audit SET seq = " BLOCK("3") ", first = first + 3 WHERE seq = 1000" },
          AUDIT_PROBLEM_REORDERED,
          0 },
        { { "DELETE FROM audit WHERE tenant = 1 AND seq > " BLOCK("2") }, AUDIT_PROBLEM_CUT, 9 },
    };
    for (size_t i = 0; i < ARRAY_LEN(harms); i++) {
        for (size_t h = 0; h < 3 && harms[i].harm[h]; h++)
            run(&store, harms[i].harm[h]);
        CHECK_AT(harms[i].harm[0], is_bad(&store, NULL, harms[i].problem, first + harms[i].bad));
        run(&store, "DELETE FROM audit WHERE tenant = 1");
        run(&store, "INSERT INTO audit (tenant, seq, first, body, link, target)"
                    " SELECT tenant, seq, first, body, link, target FROM kept");
        CHECK_AT(harms[i].harm[0], is_whole(&store));
    }

    // Who cuts the chain and its own head is found by the head that was kept elsewhere; so is who
    // rewrites it, also where that head lies inside a block.
    run(&store, "DELETE FROM audit WHERE tenant = 1 AND seq > " BLOCK("2"));
    run(&store,
        "UPDATE chain SET seq = " BLOCK("2") ", link = " OF("link", "2") " WHERE tenant = 1");
    CHECK(is_whole(&store) && is_bad(&store, &chain.head, AUDIT_PROBLEM_CUT, first + 9));
    AuditHead other = chain.head;
    other.seq = first + 7;
    CHECK(is_bad(&store, &other, AUDIT_PROBLEM_CHANGED, first + 7));
    run(&store, "DROP TABLE kept");
}

static Err do_mend(Tx *tx, void *with, Error *error)
{
    return audit_mend(tx, with, error);
}

// mend walks along all chains once, and returns how many rows were restored.
static int64_t mend(Store *store)
{
    int64_t restored, sum = 0;
    pass(store, AUDIT_MEND_REST + SPAN_SECOND);
    for (int i = 0; i < 20; i++, sum += restored)
        MUST(store, writer_run(store->writer, do_mend, &restored, &store->error));
    return sum;
}

static void what_is_harmed_is_restored_while_the_journal_has_it(void)
{
    STORE(store);
    open_audited(&store);
    for (int i = 0; i < 5; i++) {
        deliver(&store);
        seal(&store, i % 2 ? 1 : SLICE); // also in blocks of one fact
    }
    Uuid id = visit(&store);
    Claimed claimed = claim_one(&store, 1);
    settle_one(&store, &claimed, VERDICT_TRANSIENT);
    MUST(&store, act(&store, TENANT, id, DELIVERY_ACTION_CANCEL, "no"));
    seal(&store, SLICE);
    CHECK(mend(&store) == 0 && is_whole(&store));
    AuditRow *whole, *rows;
    AuditFilter filter = any();
    size_t count = page_of(&store, &filter, &whole);
    static const char *const harms[] = {
        "DELETE FROM audit WHERE tenant = 1 AND seq > 5 AND seq < 10",
        "UPDATE audit SET body = link WHERE tenant = 1 AND seq > 4 AND seq < 12",
        "UPDATE audit SET link = body WHERE tenant = 1 AND seq > 8",
        "UPDATE audit SET first = first - 1 WHERE tenant = 1 AND seq > 8 AND seq < 12",
        "DELETE FROM audit WHERE tenant = 1 AND seq >= (SELECT seq FROM chain WHERE tenant = 1)",
        "DELETE FROM audit WHERE tenant = 1", // what is restored is one block
    };
    for (size_t i = 0; i < ARRAY_LEN(harms); i++) {
        run(&store, harms[i]);
        CHECK_AT(harms[i], !is_whole(&store));
        CHECK_AT(harms[i], mend(&store) > 0 && is_whole(&store));
        CHECK_AT(harms[i], page_of(&store, &filter, &rows) == count);
        for (size_t r = 0; r < count; r++)
            CHECK_AT(harms[i], is_text(rows[r].target, "ada@example.org") ==
                                       is_text(whole[r].target, "ada@example.org") &&
                                   memcmp(&rows[r].link, &whole[r].link, SHA256_LEN) == 0);
    }
}

// Events are told in no row: however many of them lie between, what is told behind them is found.
static void events_alone_do_not_keep_a_block_from_being_restored(void)
{
    STORE(store);
    open_audited(&store);
    deliver(&store);
    seal(&store, SLICE);
    for (int i = 0; i < 30; i++) {
        Accept *accept = take(&store, TENANT, "{'kind':'unheard','payload':{}}");
        MUST(&store, take_err(accept));
    }
    deliver(&store);
    seal(&store, SLICE);
    run(&store, "DELETE FROM audit WHERE tenant = 1"
                " AND seq = (SELECT seq FROM chain WHERE tenant = 1)");
    CHECK(!is_whole(&store));
    CHECK(mend(&store) == 3 && is_whole(&store));
}

static void what_lies_in_a_blocks_place_holds_up_nobody(void)
{
    STORE(store);
    open_audited(&store);
    deliver(&store);
    seal(&store, SLICE);
    run(&store, "INSERT INTO audit SELECT tenant, seq + 3, first, body, link, target FROM audit"
                " WHERE tenant = 1 AND seq = (SELECT seq FROM chain WHERE tenant = 1)");
    deliver(&store); // three rows: the next block ends there
    seal(&store, SLICE);
    CHECK(ask_i64(&store, "SELECT told - number FROM chain WHERE tenant = 1") == 0);
    CHECK(!is_whole(&store));
    CHECK(mend(&store) > 0 && is_whole(&store));
}

// lose_a_block takes the middle one of three out of a chain.
static void lose_a_block(Store *store)
{
    open_audited(store);
    for (int i = 0; i < 3; i++) {
        deliver(store);
        seal(store, SLICE);
    }
    run(store, "DELETE FROM audit WHERE tenant = 1 AND first = (SELECT MIN(first) + 3 FROM audit"
               " WHERE tenant = 1 AND seq - first = 2)");
}

static void what_the_journal_does_not_have_stays_broken(void)
{
    STORE(store);
    lose_a_block(&store);
    AuditVerdict named = verify(&store, NULL);
    run(&store, "DELETE FROM sequence WHERE tenant = 1");
    CHECK(named.problem == AUDIT_PROBLEM_MISSING && mend(&store) == 0);
    CHECK(is_bad(&store, NULL, AUDIT_PROBLEM_MISSING, named.bad));
}

// What is told otherwise now is not what was there.
static void what_leads_to_another_link_is_not_restored(void)
{
    STORE(store);
    lose_a_block(&store);
    run(&store, "UPDATE event SET correlation_id = 'c-2' WHERE tenant = 1");
    CHECK(mend(&store) == 0 && !is_whole(&store));
    run(&store, "UPDATE event SET correlation_id = 'c-1' WHERE tenant = 1");
    CHECK(mend(&store) == 3 && is_whole(&store));
}

static size_t unread(const AuditRow *rows, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += !rows[i].is_read;
    return found;
}

static void a_damaged_block_alone_cannot_be_read(void)
{
    STORE(store);
    open_audited(&store);
    int64_t before = entries(&store);
    for (int i = 0; i < 3; i++) {
        deliver(&store);
        seal(&store, SLICE);
    }
    run(&store, "UPDATE audit SET body = link WHERE tenant = 1 AND seq ="
                " (SELECT MAX(seq) FROM audit WHERE tenant = 1 AND seq <"
                " (SELECT MAX(seq) FROM audit WHERE tenant = 1))");
    AuditRow *rows;
    AuditFilter filter = any();
    size_t count = page_of(&store, &filter, &rows);
    CHECK(unread(rows, count) == 1 && !rows[3].is_read); // one row stands for the three
    CHECK((int64_t) count == before + 9 - 2);
    filter.has_kind = true;
    filter.kind = AUDIT_DELIVERY_TERMINAL;
    CHECK(page_of(&store, &filter, &rows) == 2);
}

// Blocks that say that they begin elsewhere hold up nobody who walks past them.
static void a_walk_ends_whatever_blocks_say(void)
{
    STORE(store);
    open_audited(&store);
    for (int i = 0; i < 40; i++) {
        deliver(&store);
        seal(&store, SLICE);
    }
    run(&store, "UPDATE audit SET first = 1 WHERE tenant = 1");
    AuditRow *rows;
    AuditFilter filter = any();
    size_t count = page_of(&store, &filter, &rows);
    int64_t blocks = ask_i64(&store, "SELECT COUNT(*) FROM audit WHERE tenant = 1");
    CHECK((int64_t) unread(rows, count) == blocks - 1); // the first says the truth
}

// A page may end anywhere: the next one goes on from inside the block.
static void a_walk_goes_on_inside_a_block(void)
{
    STORE(store);
    open_audited(&store);
    for (int i = 0; i < 10; i++)
        deliver(&store);
    seal(&store, SLICE);
    int64_t expected = ask_i64(&store, "SELECT seq FROM chain WHERE tenant = 1");
    AuditFilter filter = any();
    Walk walk = { .limit = 4 };
    Seen seen = { .has_more = true };
    AuditRow *rows;
    while (seen.has_more) {
        MUST(&store, audit_page(store.db, &store.arena, NULL, TENANT, &filter, &walk, &rows, &seen,
                                &store.error));
        for (size_t i = 0; i < seen.count; i++)
            CHECK(rows[i].is_read && rows[i].seq == expected--);
        walk.after = seen.next;
    }
    CHECK(expected == 0);
    AuditRow out[AUDIT_EXPORT_ROWS];
    size_t count;
    int64_t after = 2;
    MUST(&store, audit_export(store.db, &store.arena, NULL, TENANT, &filter, &after, 9, out, &count,
                              &store.error));
    CHECK(count == 7 && out[0].seq == 3 && out[6].seq == 9 && after == 9);
}

// Deliveries that lie far from each other are looked up all the same: ranges are cut off.
static void what_is_known_does_not_hang_on_where_it_lies(void)
{
    enum { MANY = 400, EVERY = 20 };
    STORE(store);
    open_audited(&store);
    for (int i = 0; i < MANY; i++) {
        visit(&store);
        if (i % (SLICE / 2) == 0)
            seal(&store, SLICE);
    }
    seal(&store, SLICE);
    int64_t before = entries(&store);
    Uuid ids[MANY];
    AuditRow *rows;
    AuditFilter filter = any();
    filter.has_kind = true;
    filter.kind = AUDIT_DELIVERY_CREATED;
    CHECK(page_of(&store, &filter, &rows) == MANY);
    for (int i = 0; i < MANY; i++)
        ids[i] = rows[i].entry.delivery;
    for (int i = 0; i < MANY; i += EVERY)
        MUST(&store, act(&store, TENANT, ids[i], DELIVERY_ACTION_CANCEL, "no"));
    seal(&store, SLICE);
    CHECK(entries(&store) > before);
    filter.kind = AUDIT_DELIVERY_TERMINAL;
    size_t count = page_of(&store, &filter, &rows);
    CHECK(count == MANY / EVERY);
    for (size_t i = 0; i < count; i++)
        CHECK(is_text(rows[i].target, "ada@example.org") &&
              is_text(rows[i].entry.correlation_id, "c-1"));
    CHECK(is_whole(&store));
}

// Verification is an operation that verifies, in steps of ten rows.
typedef struct Verification {
    AuditHead outside;
    Uuid id;
    bool begins, dies, has_more;
} Verification;

static Err do_verification(Tx *tx, void *with, Error *error)
{
    Verification *verification = with;
    if (verification->begins)
        TRY(operation_verify(tx, TENANT, &verification->outside, &verification->id, error));
    else
        TRY(operation_step(tx, 1, &verification->has_more, error));
    return verification->dies ? fail(error, ERR_CONFLICT, "died before the commit") : ERR_OK;
}

static Uuid begin_verification(Store *store, const AuditHead *outside)
{
    Verification one = { .outside = *outside, .begins = true };
    MUST(store, writer_run(store->writer, do_verification, &one, &store->error));
    return one.id;
}

static Operation look(Store *store, Uuid id)
{
    Operation operation;
    MUST(store, operation_row(store->db, &store->arena, TENANT, id, &operation, &store->error));
    return operation;
}

// carry_verification_on dies in every step once, and returns how many there were.
static int carry_verification_on(Store *store, Uuid id)
{
    Verification step = { .has_more = true };
    int steps = 0;
    while (look(store, id).state != OPERATION_DONE && steps < 100) {
        step.dies = true;
        CHECK(writer_run(store->writer, do_verification, &step, &store->error) == ERR_CONFLICT);
        step.dies = false;
        MUST(store, writer_run(store->writer, do_verification, &step, &store->error));
        steps++;
    }
    return steps;
}

static void a_long_chain_is_verified_by_an_operation(void)
{
    STORE(store);
    open_audited(&store);
    for (int i = 0; i < 10; i++) { // blocks of three rows: a step looks at twelve
        deliver(&store);
        seal(&store, SLICE);
    }
    static const AuditHead none;
    AuditVerdict plain = verify(&store, NULL);
    Uuid id = begin_verification(&store, &none);
    CHECK(same_id(begin_verification(&store, &none), id)); // who asks meanwhile is given the same
    Operation begun = look(&store, id);
    CHECK(begun.state == OPERATION_RUNNING && begun.matched == plain.rows && begun.done == 0);
    deliver(&store);
    seal(&store, SLICE);
    plain = verify(&store, NULL);
    CHECK(carry_verification_on(&store, id) == plain.rows / 12 + 1);
    Operation done = look(&store, id);
    CHECK(done.kind == OPERATION_VERIFY && done.verdict.rows == plain.rows);
    CHECK(done.matched == plain.rows && done.skipped == 0 && !done.verdict.problem);
    CHECK(memcmp(&done.verdict.head, &plain.head, sizeof plain.head) == 0);

    AuditHead outside = plain.head;
    outside.seq = 12; // its link is another row's
    id = begin_verification(&store, &outside);
    CHECK(carry_verification_on(&store, id) == 2);
    done = look(&store, id);
    CHECK(done.verdict.problem == AUDIT_PROBLEM_CHANGED && done.verdict.bad == 12);
    CHECK(done.done == 12 && done.skipped == done.matched - 12);
}

static void a_broken_audit_changes_no_delivery_and_is_made_up_for(void)
{
    STORE(store);
    open_audited(&store);
    run(&store, "ALTER TABLE audit RENAME TO gone");
    Uuid id = deliver(&store);
    Seal failing = { .limit = SLICE };
    CHECK(writer_run(store.writer, do_seal, &failing, &store.error) != ERR_OK);
    CHECK(view(&store, TENANT, id).state == DELIVERY_DELIVERED);
    run(&store, "ALTER TABLE gone RENAME TO audit");
    seal(&store, SLICE);
    AuditRow *rows;
    AuditFilter filter = any();
    filter.has_delivery = true;
    filter.delivery = id;
    CHECK(page_of(&store, &filter, &rows) == 3 && is_whole(&store));
}

typedef struct Bring {
    AuditBrought brought[3];
} Bring;

static Err do_bring(Tx *tx, void *with, Error *error)
{
    const Bring *bring = with;
    int64_t site;
    TRY(site_number(tx, TENANT, S("plant-5"), &site, error));
    for (size_t i = 0; i < ARRAY_LEN(bring->brought); i++) {
        AuditBrought brought = bring->brought[i];
        brought.site = site;
        audit_take(tx, TENANT, &brought);
    }
    return ERR_OK;
}

static void what_sites_bring_is_told_once(void)
{
    STORE(store);
    open_audited(&store);
    Uuid one = audit_enqueued_id(S("n-1")), two = audit_enqueued_id(S("n-2"));
    Bring bring = { { { .event = one, .at = now(&store) - SPAN_DAY },
                      { .event = two, .at = now(&store), .instance = S("line-2") },
                      { .event = one, .at = now(&store) } } };
    int64_t before = entries(&store);
    MUST(&store, writer_run(store.writer, do_bring, &bring, &store.error));
    seal(&store, SLICE);
    MUST(&store, writer_run(store.writer, do_bring, &bring, &store.error)); // its answer got lost
    seal(&store, SLICE);
    CHECK(entries(&store) == before + 2);
    AuditRow *rows;
    AuditFilter filter = any();
    filter.site = S("plant-5");
    CHECK(page_of(&store, &filter, &rows) == 2);
    CHECK(same_id(audit_event_id(TENANT, &rows[1].entry), one));
    CHECK(rows[1].entry.at == now(&store) - SPAN_DAY && is_text(rows[1].site, "plant-5"));
    CHECK(is_text(rows[0].entry.instance, "line-2") && is_whole(&store));
}

static void filters_find_what_they_name(void)
{
    STORE(store);
    open_audited(&store);
    deliver(&store);
    Instant half = now(&store) + SPAN_SECOND;
    pass(&store, SPAN_MINUTE);
    deliver(&store);
    seal(&store, SLICE);
    AuditRow *rows;
    AuditFilter filter = any();
    filter.target = S("ada@example.org");
    CHECK(page_of(&store, &filter, &rows) == 6);
    run(&store, "UPDATE audit SET target = NULL"); // found by its hash, when it is erased
    CHECK(page_of(&store, &filter, &rows) == 6);
    filter.target = S("eve@example.org");
    CHECK(page_of(&store, &filter, &rows) == 0);
    filter = any();
    filter.from = half;
    CHECK(page_of(&store, &filter, &rows) == 3);
    filter = any();
    filter.to = half;
    filter.has_status = true;
    filter.status = AUDIT_STATUS_DELIVERED;
    CHECK(page_of(&store, &filter, &rows) == 1);
    filter = any();
    filter.correlation_id = S("c-1");
    CHECK(page_of(&store, &filter, &rows) == 6);
    filter.errors_only = true;
    CHECK(page_of(&store, &filter, &rows) == 0);
}

static const Test tests[] = {
    TEST(a_delivery_is_told_from_beginning_to_end),
    TEST(an_attempt_is_told_whatever_a_person_did_before_it_was_sealed),
    TEST(what_is_sealed_in_small_slices_is_the_same_chain),
    TEST(who_has_much_to_tell_holds_up_nobody),
    TEST(who_dies_in_between_leaves_nothing),
    TEST(any_change_is_found_and_named),
    TEST(what_is_harmed_is_restored_while_the_journal_has_it),
    TEST(events_alone_do_not_keep_a_block_from_being_restored),
    TEST(what_lies_in_a_blocks_place_holds_up_nobody),
    TEST(what_the_journal_does_not_have_stays_broken),
    TEST(what_leads_to_another_link_is_not_restored),
    TEST(a_damaged_block_alone_cannot_be_read),
    TEST(a_walk_ends_whatever_blocks_say),
    TEST(a_walk_goes_on_inside_a_block),
    TEST(what_is_known_does_not_hang_on_where_it_lies),
    TEST(a_long_chain_is_verified_by_an_operation),
    TEST(a_broken_audit_changes_no_delivery_and_is_made_up_for),
    TEST(what_sites_bring_is_told_once),
    TEST(filters_find_what_they_name),
};
PART(audit_part, tests);
