// circuit.h - whether a far side is worth trying. Pure.
//
// A circuit is closed while the far side answers. After so many failures in a row it opens: nothing
// goes out but a probe, one at a time, and what waits behind it spends neither slots nor attempts.
// The first probe goes after a short wait, and each that fails doubles the wait, up to a ceiling.
// While a probe is under way the circuit is half-open. The first good sign closes it, whoever
// brings it: an attempt that began before it opened may be as good as a probe.
//
//     closed ──failures──▶ open ──its time has come──▶ half-open ──good──▶ closed
//                            ▲                             │
//                            └────────bad: waits longer────┘
//
// There are three kinds, a row each, and an outcome is a sign for each of them by its own reading:
// a host is bad when no connection to it lives long enough to bring an answer; a login, when the
// channel's own credentials are refused; an ordered lane, when what stands first in it could not be
// sent, for whatever reason: nothing may overtake it.
#pragma once

#include "domain/delivery.h"

// clang-format off
#define CIRCUIT_STATE_TABLE(X)      \
    X(CLOSED,    "closed")          \
    X(OPEN,      "open")            \
    X(HALF_OPEN, "half-open")

#define CIRCUIT_KIND_TABLE(X)                                       \
    /* kind  failures  first probe       ceiling of the wait     */ \
    X(HOST,  5,        5 * SPAN_SECOND,  5 * SPAN_MINUTE)           \
    X(LOGIN, 1,        5 * SPAN_SECOND,  5 * SPAN_MINUTE)           \
    X(ORDER, 1,        1 * SPAN_SECOND,  1 * SPAN_MINUTE)
// clang-format on

typedef enum CircuitState {
#define CIRCUIT_STATE_ENUM(name, text) CIRCUIT_##name,
    CIRCUIT_STATE_TABLE(CIRCUIT_STATE_ENUM)
#undef CIRCUIT_STATE_ENUM
} CircuitState;

typedef enum CircuitKind {
#define CIRCUIT_KIND_ENUM(name, failures, first, most) CIRCUIT_OF_##name,
    CIRCUIT_KIND_TABLE(CIRCUIT_KIND_ENUM)
#undef CIRCUIT_KIND_ENUM
} CircuitKind;

typedef struct Circuit {
    CircuitKind kind;
    CircuitState state;
    int failures;     // in a row
    Instant since;    // it opened then; nothing while it is closed
    Instant probe_at; // no probe goes before; nothing while it is closed
    Span wait;        // before that probe
} Circuit;

// CircuitSign is what an outcome says of a circuit: it may say nothing.
typedef enum CircuitSign { CIRCUIT_SILENT, CIRCUIT_BAD, CIRCUIT_GOOD } CircuitSign;

CircuitSign circuit_sign(CircuitKind kind, const Outcome *outcome);

const char *circuit_state_text(CircuitState state);

// circuit_probe_at is when a probe of an open circuit may go: at once, where the clock was set back
// behind the time at which the wait began.
Instant circuit_probe_at(const Circuit *circuit, Instant now);
bool circuit_may_probe(const Circuit *circuit, Instant now);

// circuit_probe begins a probe, which ends with circuit_tell() or circuit_unprobe(): the latter,
// where none was sent.
void circuit_probe(Circuit *circuit);
void circuit_unprobe(Circuit *circuit);

// circuit_tell takes a sign in; is_probe: of the probe. True where the circuit opened, closed, or
// waits for another probe now: whoever waits behind it is to look again.
bool circuit_tell(Circuit *circuit, CircuitSign sign, bool is_probe, Instant now);

// circuit_hasten has an open circuit probed at once: what made it fail may be mended.
void circuit_hasten(Circuit *circuit, Instant now);
