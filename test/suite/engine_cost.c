#include "rig.h"

// What a delivery costs the store: the statements of its way, and the bytes that each of many
// writes. Times differ from machine to machine and from hour to hour; these do not, so whatever
// makes them grow is seen here. What an installation does not use must not show: there are no
// rates, templates, preferences, lists or sites in these stores.
//
// A change that is worth its price says so by the figures below. Bytes may be MARGIN_PERCENT off:
// rows and keys do not fall on pages alike each time.

enum { MANY = 1000, TRIES = 3, MARGIN_PERCENT = 15 };

// Price is what a step costs on SQLite and on PostgreSQL: its statements, whatever the number of
// deliveries, and the bytes that each of MANY writes.
typedef struct Price {
    const char *what;
    const char *statements[2];
    int64_t bytes[2];
} Price;

#define IN "generation_get event_insert delivery_insert queue_insert counter_add journal_note "
#define NEXT "queue_next_send queue_next_sweep ended_next_expiry "
#define SETTLED "generation_get queue_settle_end ended_insert "
#define COUNTED "counter_add pace_add journal_note "

static const Price comes_in = {
    "come in",
    { "BEGIN IMMEDIATE " IN "COMMIT ", "BEGIN " IN "sync COMMIT sync " },
    { 391, 935 },
};
static const Price goes_out = {
    "go out",
    { "BEGIN IMMEDIATE generation_get queue_claim queue_claim_mark " NEXT "counter_add COMMIT "
      "BEGIN IMMEDIATE " SETTLED COUNTED "COMMIT ",
      "BEGIN generation_get queue_claim " NEXT "sync counter_add journal_note COMMIT sync "
      "BEGIN " SETTLED "sync " COUNTED "COMMIT sync " },
    { 304, 614 },
};
static const Price sealed = { "are sealed", { NULL, NULL }, { 152, 130 } };

// written is how many bytes went to the log so far; on SQLite, by this process in all.
static int64_t written(Rig *rig)
{
    if (suite_is_postgres())
        return ask_i64(&rig->store, "SELECT CAST(pg_current_wal_insert_lsn() - '0/0' AS BIGINT)");
    char line[64];
    int64_t bytes = 0;
    FILE *file = fopen("/proc/self/io", "re");
    while (file && fgets(line, sizeof line, file)) {
        Str rest = str_from(line), name = str_cut(&rest, ' '), number = str_cut(&rest, '\n');
        if (str_eq(name, S("wchar:")))
            CHECK(str_to_i64(number, 0, INT64_MAX, &bytes));
    }
    if (file)
        fclose(file);
    return bytes;
}

// settle_down has one delivery make its way alone: versions are loaded, and duties just done.
static void settle_down(Rig *rig)
{
    lapse(rig, 10 * SPAN_SECOND);
    visits(rig, "quiet", 1);
    turn(rig);
}

static void come_in(Rig *rig)
{
    visits(rig, "quiet", MANY);
}

static void be_sealed(Rig *rig)
{
    lapse(rig, 10 * SPAN_SECOND);
}

// cost checks what a step costs that each of MANY takes; returns the bytes of one.
static int64_t cost(Rig *rig, const Price *price, void (*step)(Rig *rig))
{
    const char *statements = price->statements[suite_is_postgres()];
    buf_done(&rig->said);
    int64_t before = written(rig);
    step(rig);
    int64_t bytes = (written(rig) - before) / MANY;
    bool is_same = !statements || str_eq(buf_str(&rig->said), str_from(statements));
    CHECK_AT("the statements are those that were agreed on", is_same);
    if (!is_same)
        printf("# when deliveries %s the store is asked for: %.*s\n", price->what,
               STR_ARG(buf_str(&rig->said)));
    return bytes;
}

static void check_bytes(const Price *price, int64_t bytes)
{
    int64_t agreed = price->bytes[suite_is_postgres()];
    printf("# deliveries that %s write %lld bytes each, agreed are %lld\n", price->what,
           (long long) bytes, (long long) agreed);
    CHECK(bytes * 100 <= agreed * (100 + MARGIN_PERCENT));
    CHECK(bytes * 100 >= agreed * (100 - MARGIN_PERCENT)); // else agree on less
}

// A checkpoint makes PostgreSQL write whole pages once more, so the cheapest of a few counts.
static void a_delivery_costs_what_was_agreed(void)
{
    RIG(rig);
    static const Price *const prices[] = { &comes_in, &goes_out, &sealed };
    static void (*const steps[])(Rig * rig) = { come_in, turn, be_sealed };
    int64_t least[] = { INT64_MAX, INT64_MAX, INT64_MAX };
    publish(&rig.store, TENANT, "{'id':'quiet','eventKind':'quiet','channel':'memory:default'}");
    for (int try = 0; try < TRIES; try++) {
        settle_down(&rig);
        for (size_t i = 0; i < ARRAY_LEN(steps); i++)
            least[i] = earlier(least[i], cost(&rig, prices[i], steps[i]));
    }
    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        check_bytes(prices[i], least[i]);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == TRIES * (MANY + 1));
}

static const Test tests[] = {
    TEST(a_delivery_costs_what_was_agreed),
};
PART(cost_part, tests);
