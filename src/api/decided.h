// decided.h - what one trigger made of an event, as explain tells it (story_api.c); whoever tries a
// trigger out is told in the same words (dry_api.c).
#pragma once

#include "api/api.h"
#include "domain/trigger.h"
#include "store/rule.h"
#include "store/versions.h"

typedef struct Decided {
    int64_t place; // in an explanation
    VersionKey by;
    RuleName rule;
    DecisionKind kind;
    DecisionReason reason;
    int leaf;      // of the filter that decided; -1
    Uuid delivery; // made, or holding the key; zero
} Decided;

// decided_put writes it as an object. Which part of the filter was false is worked out anew from
// the version that decided, where that can be read: trigger may be NULL.
void decided_put(Call *call, JsonOut *json, const Decided *decided, const Trigger *trigger,
                 const Event *event);

// decided_put_reason writes the members that say why a filter was false. What it saw of a recipient
// is kept from those who see addresses masked.
void decided_put_reason(const Call *call, JsonOut *json, const FilterReason *reason);
