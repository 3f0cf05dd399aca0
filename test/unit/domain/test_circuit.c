#include "domain/circuit.h"

#include "test.h"

#define NOW ((Instant) 1767225600 * SPAN_SECOND)

// Each move is one sign, in order: b bad, g good, s silent; B, G and S are of the probe, which is
// begun before them. The waits that follow are those before the next probe, in seconds.
static void moves_lead_where_the_table_says(void)
{
    static const struct {
        const char *name;
        CircuitKind kind;
        const char *moves;
        CircuitState state;
        int failures, wait;
    } cases[] = {
        { "a host stays closed after four", CIRCUIT_OF_HOST, "bbbb", CIRCUIT_CLOSED, 4, 0 },
        { "a host opens after five", CIRCUIT_OF_HOST, "bbbbb", CIRCUIT_OPEN, 5, 5 },
        { "in a row: a good one between", CIRCUIT_OF_HOST, "bbbbgbbbb", CIRCUIT_CLOSED, 4, 0 },
        { "silence breaks no row", CIRCUIT_OF_HOST, "bbsbbsb", CIRCUIT_OPEN, 5, 5 },
        { "stragglers do not double", CIRCUIT_OF_HOST, "bbbbbbbb", CIRCUIT_OPEN, 8, 5 },
        { "a probe that fails doubles", CIRCUIT_OF_HOST, "bbbbbB", CIRCUIT_OPEN, 6, 10 },
        { "again", CIRCUIT_OF_HOST, "bbbbbBBB", CIRCUIT_OPEN, 8, 40 },
        { "up to five minutes", CIRCUIT_OF_HOST, "bbbbbBBBBBBBBB", CIRCUIT_OPEN, 14, 300 },
        { "a silent probe keeps the wait", CIRCUIT_OF_HOST, "bbbbbBS", CIRCUIT_OPEN, 6, 10 },
        { "a probe closes it", CIRCUIT_OF_HOST, "bbbbbBBG", CIRCUIT_CLOSED, 0, 0 },
        { "and it begins anew", CIRCUIT_OF_HOST, "bbbbbBBGbbbbb", CIRCUIT_OPEN, 5, 5 },
        { "whoever is well closes it", CIRCUIT_OF_HOST, "bbbbbg", CIRCUIT_CLOSED, 0, 0 },
        { "a login opens at once", CIRCUIT_OF_LOGIN, "b", CIRCUIT_OPEN, 1, 5 },
        { "a login waits five minutes at most", CIRCUIT_OF_LOGIN, "bBBBBBBB", CIRCUIT_OPEN, 8,
          300 },
        { "an ordered lane opens at once", CIRCUIT_OF_ORDER, "b", CIRCUIT_OPEN, 1, 1 },
        { "an ordered lane doubles", CIRCUIT_OF_ORDER, "bBB", CIRCUIT_OPEN, 3, 4 },
        { "an ordered lane waits a minute at most", CIRCUIT_OF_ORDER, "bBBBBBBBBB", CIRCUIT_OPEN,
          10, 60 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Circuit circuit = { .kind = cases[i].kind };
        for (const char *move = cases[i].moves; *move; move++) {
            bool is_probe = *move < 'a';
            char sign = (char) (is_probe ? *move + 'a' - 'A' : *move);
            if (is_probe)
                circuit_probe(&circuit);
            circuit_tell(&circuit,
                         sign == 'b'   ? CIRCUIT_BAD
                         : sign == 'g' ? CIRCUIT_GOOD
                                       : CIRCUIT_SILENT,
                         is_probe, NOW);
        }
        CHECK_AT(cases[i].name, circuit.state == cases[i].state);
        CHECK_AT(cases[i].name, circuit.failures == cases[i].failures);
        CHECK_AT(cases[i].name, circuit.wait == cases[i].wait * SPAN_SECOND);
        CHECK_AT(cases[i].name,
                 circuit.state == CIRCUIT_CLOSED || circuit.probe_at == NOW + circuit.wait);
    }
}

static void an_outcome_is_a_sign_for_each_kind(void)
{
    static const struct {
        const char *name;
        Outcome outcome;
        CircuitSign host, login, order;
    } cases[] = {
#define BAD CIRCUIT_BAD
#define GOOD CIRCUIT_GOOD
#define SILENT CIRCUIT_SILENT
        { "accepted", { VERDICT_DELIVERED, REASON_ACCEPTED }, GOOD, GOOD, GOOD },
        { "taken on", { VERDICT_ELSEWHERE, REASON_NONE }, GOOD, GOOD, GOOD },
        { "refused", { VERDICT_PERMANENT, REASON_REFUSED }, GOOD, GOOD, GOOD },
        { "gone", { VERDICT_PERMANENT, REASON_GONE }, GOOD, SILENT, GOOD },
        { "unwell", { VERDICT_TRANSIENT, REASON_UNWELL }, GOOD, SILENT, BAD },
        { "no connection", { VERDICT_TRANSIENT, REASON_NO_CONNECTION }, BAD, SILENT, BAD },
        { "no answer", { VERDICT_TRANSIENT, REASON_NO_ANSWER }, BAD, SILENT, BAD },
        { "login refused", { VERDICT_TRANSIENT, REASON_LOGIN_REFUSED }, GOOD, BAD, BAD },
        { "bad request", { VERDICT_PERMANENT, REASON_BAD_REQUEST }, SILENT, SILENT, GOOD },
        { "forbidden", { VERDICT_PERMANENT, REASON_ADDRESS_FORBIDDEN }, SILENT, SILENT, GOOD },
        { "no recipient", { VERDICT_PERMANENT, REASON_NO_RECIPIENT }, SILENT, SILENT, GOOD },
        { "opted out", { VERDICT_PERMANENT, REASON_OPTED_OUT }, SILENT, SILENT, GOOD },
        { "not rendered", { VERDICT_PERMANENT, REASON_RENDER_FAILED }, SILENT, SILENT, GOOD },
        { "unknown", { VERDICT_UNKNOWN, REASON_LEASE_LAPSED }, SILENT, SILENT, BAD },
#undef BAD
#undef GOOD
#undef SILENT
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const Outcome *outcome = &cases[i].outcome;
        CHECK_AT(cases[i].name, circuit_sign(CIRCUIT_OF_HOST, outcome) == cases[i].host);
        CHECK_AT(cases[i].name, circuit_sign(CIRCUIT_OF_LOGIN, outcome) == cases[i].login);
        CHECK_AT(cases[i].name, circuit_sign(CIRCUIT_OF_ORDER, outcome) == cases[i].order);
    }
}

static Circuit opened(void)
{
    Circuit circuit = { .kind = CIRCUIT_OF_LOGIN };
    CHECK(circuit_tell(&circuit, CIRCUIT_BAD, false, NOW));
    return circuit;
}

static void one_probe_goes_at_a_time(void)
{
    Circuit circuit = opened();
    CHECK(!circuit_may_probe(&circuit, NOW + 5 * SPAN_SECOND - 1));
    CHECK(circuit_may_probe(&circuit, NOW + 5 * SPAN_SECOND));
    CHECK(circuit_may_probe(&circuit, NOW - 1)); // the clock was set back
    circuit_probe(&circuit);
    CHECK(circuit.state == CIRCUIT_HALF_OPEN);
    CHECK(!circuit_may_probe(&circuit, NOW + SPAN_DAY));
    circuit_unprobe(&circuit);
    CHECK(circuit_may_probe(&circuit, NOW + 5 * SPAN_SECOND));
}

static void it_tells_whether_those_behind_it_are_to_look(void)
{
    Circuit circuit = { .kind = CIRCUIT_OF_HOST };
    for (int i = 0; i < 4; i++)
        CHECK(!circuit_tell(&circuit, CIRCUIT_BAD, false, NOW));
    CHECK(!circuit_tell(&circuit, CIRCUIT_GOOD, false, NOW)); // it was closed, and still is
    for (int i = 0; i < 4; i++)
        CHECK(!circuit_tell(&circuit, CIRCUIT_BAD, false, NOW));
    CHECK(circuit_tell(&circuit, CIRCUIT_BAD, false, NOW) && circuit.since == NOW);
    CHECK(!circuit_tell(&circuit, CIRCUIT_BAD, false, NOW + 1));
    CHECK(!circuit_tell(&circuit, CIRCUIT_SILENT, false, NOW + 1));
    circuit_probe(&circuit);
    CHECK(!circuit_tell(&circuit, CIRCUIT_BAD, false, NOW + 2)); // a straggler: the probe is out
    CHECK(circuit.state == CIRCUIT_HALF_OPEN);
    CHECK(circuit_tell(&circuit, CIRCUIT_BAD, true, NOW + 3) && circuit.since == NOW);
    CHECK(circuit_tell(&circuit, CIRCUIT_GOOD, false, NOW + 4));
    CHECK(circuit.since == 0 && circuit.probe_at == 0 && circuit.kind == CIRCUIT_OF_HOST);
}

static void what_may_be_mended_is_tried_at_once(void)
{
    Circuit circuit = opened();
    circuit_hasten(&circuit, NOW + 1);
    CHECK(circuit_may_probe(&circuit, NOW + 1) && circuit.wait == 5 * SPAN_SECOND);
    circuit_hasten(&circuit, NOW + SPAN_DAY);
    CHECK(circuit.probe_at == NOW + 1);
    Circuit closed = { .kind = CIRCUIT_OF_HOST };
    circuit_hasten(&closed, NOW);
    CHECK(closed.state == CIRCUIT_CLOSED && closed.probe_at == 0);
}

static const Test tests[] = {
    TEST(moves_lead_where_the_table_says),
    TEST(an_outcome_is_a_sign_for_each_kind),
    TEST(one_probe_goes_at_a_time),
    TEST(it_tells_whether_those_behind_it_are_to_look),
    TEST(what_may_be_mended_is_tried_at_once),
};
TEST_MAIN(tests)
