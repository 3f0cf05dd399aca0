#include "domain/circuit.h"

static const char *const states[] = {
#define STATE_ROW(name, text) [CIRCUIT_##name] = text,
    CIRCUIT_STATE_TABLE(STATE_ROW)
#undef STATE_ROW
};

static const struct {
    int failures;
    Span first, most;
} kinds[] = {
#define KIND_ROW(name, failures, first, most) [CIRCUIT_OF_##name] = { failures, first, most },
    CIRCUIT_KIND_TABLE(KIND_ROW)
#undef KIND_ROW
};

const char *circuit_state_text(CircuitState state)
{
    assert(state < ARRAY_LEN(states));
    return states[state];
}

// was_asked: what is known before it is sent, and what nobody knows, says nothing of a far side.
static bool was_asked(const Outcome *outcome)
{
    DeliveryReason reason = outcome->reason;
    bool is_ours = reason == REASON_BAD_REQUEST || reason == REASON_ADDRESS_FORBIDDEN ||
                   reason == REASON_NO_RECIPIENT || reason == REASON_OPTED_OUT ||
                   reason == REASON_RENDER_FAILED;
    return !is_ours && outcome->verdict != VERDICT_UNKNOWN;
}

// sign_of_host: whatever the far side answered, it is there.
static CircuitSign sign_of_host(const Outcome *outcome)
{
    DeliveryReason reason = outcome->reason;
    if (reason == REASON_NO_CONNECTION || reason == REASON_NO_ANSWER)
        return CIRCUIT_BAD;
    return was_asked(outcome) ? CIRCUIT_GOOD : CIRCUIT_SILENT;
}

// sign_of_login: one that was taken or refused for good came past the login.
static CircuitSign sign_of_login(const Outcome *outcome)
{
    if (outcome->reason == REASON_LOGIN_REFUSED)
        return CIRCUIT_BAD;
    bool is_past = outcome->verdict == VERDICT_DELIVERED || outcome->verdict == VERDICT_ELSEWHERE ||
                   outcome->reason == REASON_REFUSED;
    return is_past ? CIRCUIT_GOOD : CIRCUIT_SILENT;
}

static CircuitSign sign_of_order(const Outcome *outcome)
{
    bool stays = outcome->verdict == VERDICT_TRANSIENT || outcome->verdict == VERDICT_UNKNOWN;
    return stays ? CIRCUIT_BAD : CIRCUIT_GOOD;
}

CircuitSign circuit_sign(CircuitKind kind, const Outcome *outcome)
{
    switch (kind) {
    case CIRCUIT_OF_HOST:
        return sign_of_host(outcome);
    case CIRCUIT_OF_LOGIN:
        return sign_of_login(outcome);
    case CIRCUIT_OF_ORDER:
        return sign_of_order(outcome);
    }
    assert(!"there is no other kind");
    return CIRCUIT_SILENT;
}

Instant circuit_probe_at(const Circuit *circuit, Instant now)
{
    return now < circuit->probe_at - circuit->wait ? now : circuit->probe_at;
}

bool circuit_may_probe(const Circuit *circuit, Instant now)
{
    return circuit->state == CIRCUIT_OPEN && now >= circuit_probe_at(circuit, now);
}

void circuit_probe(Circuit *circuit)
{
    assert(circuit->state == CIRCUIT_OPEN);
    circuit->state = CIRCUIT_HALF_OPEN;
}

void circuit_unprobe(Circuit *circuit)
{
    if (circuit->state == CIRCUIT_HALF_OPEN)
        circuit->state = CIRCUIT_OPEN;
}

static bool close_it(Circuit *circuit)
{
    bool was_closed = circuit->state == CIRCUIT_CLOSED;
    *circuit = (Circuit){ .kind = circuit->kind };
    return !was_closed;
}

static bool wait_for(Circuit *circuit, Span wait, Instant now)
{
    circuit->state = CIRCUIT_OPEN;
    circuit->wait = wait;
    circuit->probe_at = now + wait;
    return true;
}

// fail_once counts one more. What began before the circuit opened and fails after it tells nothing
// new.
static bool fail_once(Circuit *circuit, bool is_probe, Instant now)
{
    Span most = kinds[circuit->kind].most;
    if (circuit->failures < INT32_MAX)
        circuit->failures++;
    if (circuit->state == CIRCUIT_HALF_OPEN && is_probe)
        return wait_for(circuit, earlier(circuit->wait * 2, most), now);
    if (circuit->state != CIRCUIT_CLOSED || circuit->failures < kinds[circuit->kind].failures)
        return false;
    circuit->since = now;
    return wait_for(circuit, kinds[circuit->kind].first, now);
}

bool circuit_tell(Circuit *circuit, CircuitSign sign, bool is_probe, Instant now)
{
    switch (sign) {
    case CIRCUIT_GOOD:
        return close_it(circuit);
    case CIRCUIT_BAD:
        return fail_once(circuit, is_probe, now);
    case CIRCUIT_SILENT:
        break;
    }
    bool waited = is_probe && circuit->state == CIRCUIT_HALF_OPEN;
    return waited && wait_for(circuit, circuit->wait, now);
}

void circuit_hasten(Circuit *circuit, Instant now)
{
    if (circuit->state == CIRCUIT_OPEN)
        circuit->probe_at = earlier(circuit->probe_at, now);
}
