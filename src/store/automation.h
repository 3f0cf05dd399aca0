// automation.h - the runs of an automation: by hand, by its schedules, and by the triggers that
// name it.
//
// The first two are deliveries of the automation itself, the others of their triggers. They are
// told in one order, the newest first: of each rule as many as a page holds are looked at, along
// its index, and the newest of all are given. AUTOMATION_RULES_MAX rules are looked at.
#pragma once

#include "domain/delivery.h"
#include "store/walk.h"

enum { AUTOMATION_RULES_MAX = 50 };

typedef struct AutomationRun {
    Uuid id;
    int64_t rule;
    Uuid event;
    Str source; // of its event; none: it got lost
    DeliveryState state;
    int attempts;
    Instant made_at, ended_at; // INSTANT_NONE: it goes on
} AutomationRun;

Err automation_runs(Db *db, Arena *arena, int64_t tenant, const int64_t *rules, size_t rule_count,
                    const Walk *walk, AutomationRun **ret, Seen *ret_seen, Error *error) MUST_USE;

extern const Statement *const automation_statements[]; // ends with NULL
