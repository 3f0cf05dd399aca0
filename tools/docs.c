// docs.c - prints the documents whose truth is a table in the code: `docs states`, `docs errors`,
// `docs metrics`, `docs roles`; and the figures within docs/limits.md: `docs limits`.
//
// docs/states.md and its like are its output; a test compares them, `make docs` renews them.

#include "api/api.h"
#include "base/err.h"
#include "base/metric.h"
#include "domain/delivery.h"
#include "domain/role.h"
#include "domain/trigger.h"
#include "limits.h"
#include "providers/provider.h"

#include <stdio.h>
#include <string.h>

// print_statuses prints the word that each family has for a state, and the later one behind it.
static void print_statuses(void)
{
    static const Live anew = { .last_sent_at = INSTANT_NONE, .opened_at = INSTANT_NONE };
    static const Live aged = { .failures = 1 };
    printf("\n## `status`: the words of the five systems\n\n"
           "T surveys and triggers, N notifications, J jobs, M messages, W automations. Behind a\n"
           "comma, the word after a first send (T), after the addressee looked (T, waiting) or\n"
           "after a failure (N).\n\n"
           "| state | T | N | J | M | W |\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < DELIVERY_STATE_COUNT; i++) {
        printf("| %s |", delivery_state_text((DeliveryState) i));
        for (int family = 0; family < STATUS_FAMILY_COUNT; family++) {
            const char *first = delivery_status((StatusFamily) family, (DeliveryState) i, &anew);
            const char *later = delivery_status((StatusFamily) family, (DeliveryState) i, &aged);
            printf(" %s", first ? first : "–");
            if (first && strcmp(first, later) != 0)
                printf(", %s", later);
            printf(" |");
        }
        printf("\n");
    }
}

static void print_states(void)
{
    printf("# States of a delivery\n\n"
           "Printed from the tables in `src/domain/delivery.h` by `make docs`; do not edit.\n\n"
           "One table; pure functions beside it decide (`delivery_first`, `_claim`, `_settle`, "
           "`_expire`,\n"
           "`_act_on`); one guarded statement per move (`src/store/queue.c`) writes. Nothing else "
           "writes a\n"
           "state; `test/suite/statements.c` proves it.\n\n"
           "| state | in the queue | final | leaves by |\n|---|---|---|---|\n");
    for (size_t i = 0; i < DELIVERY_STATE_COUNT; i++) {
        DeliveryState state = (DeliveryState) i;
        printf("| %s | %s | %s |", delivery_state_text(state),
               delivery_is_live(state) ? "yes" : "no", delivery_is_final(state) ? "yes" : "no");
        for (size_t a = 0; a < TABLE_ROWS(DELIVERY_ACTION_TABLE); a++)
            if (delivery_may(state, (DeliveryAction) a))
                printf(" %s", delivery_action_text((DeliveryAction) a));
        printf(" |\n");
    }
    print_statuses();
    printf("\n## Outcomes of an attempt\n\n| outcome | meaning |\n|---|---|\n");
#define ROW(name, text, meaning) printf("| %s | %s |\n", text, meaning);
    VERDICT_TABLE(ROW)
    printf("\n## Reasons of attempts and states\n\n| reason | meaning |\n|---|---|\n");
#undef ROW
#define ROW(name, code, meaning)                                                                   \
    if (code[0])                                                                                   \
        printf("| %s | %s |\n", code, meaning);
    DELIVERY_REASON_TABLE(ROW)
    printf("\n## Reasons of decisions\n\n| reason | meaning |\n|---|---|\n");
    DECISION_REASON_TABLE(ROW)
#undef ROW
}

static void print_errors(void)
{
    printf(
        "# Errors\n\n"
        "Printed from the table in `src/base/err.h` by `make docs`; do not edit.\n\n"
        "Every error is `application/problem+json` with this `code`; the command line exits with\n"
        "the number in the last column.\n\n"
        "| code | HTTP | title | exit |\n|---|---|---|---|\n");
#define ROW(name, http, exit, code, title)                                                         \
    if (ERR_##name != ERR_OK)                                                                      \
        printf("| <a id=\"%s\"></a>%s | %d | %s | %d |\n", code, code, http, title, exit);
    ERR_TABLE(ROW)
#undef ROW
    printf("\n## Webhooks that are not verified\n\n"
           "Instead of `unverified` a 401 says what is wrong (`src/providers/provider.h`).\n\n"
           "| code | meaning |\n|---|---|\n");
#define ROW(name, code, words)                                                                     \
    if (!hook_verdict_admits(HOOK_##name))                                                         \
        printf("| <a id=\"%s\"></a>%s | %s |\n", code, code, words);
    HOOK_VERDICT_TABLE(ROW)
#undef ROW
}

static const char *unit_of(const MetricRow *row)
{
    static const char *const units[] = { "seconds", "bytes" };
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (str_contains(str_from(row->text), str_from(units[i])))
            return units[i];
    return "";
}

static void print_metrics(void)
{
    printf(
        "# Metrics\n\n"
        "Printed from the table in `src/base/metric.h` by `make docs`; do not edit.\n\n"
        "`GET /metrics` answers in Prometheus' text format. Without a key no tenant and no\n"
        "channel is named: `peal_deliveries` and `peal_queue_oldest_seconds` are sums, and what\n"
        "is counted by channel is left out. A key sees its own tenant, a system key every one.\n\n"
        "What is counted as Peal runs is this node's, since its start; what is said to be of all\n"
        "nodes is asked of the database, by a connection of its own, and left out while that is\n"
        "away (`peal_store_up` is 0 then). Where asking takes longer than 50 ms it is done\n"
        "seldom: for at most a twentieth of the time.\n\n"
        "Labels are bounded. `peal_deliveries` and `peal_queue_oldest_seconds` name the %d\n"
        "channels with the most to do and sum the rest under `(others)`; what is counted by\n"
        "channel or route has at most as many series as the last column says, first come first\n"
        "served since the start, and sums the rest under `(others)`. Buckets of histograms end\n"
        "at 1, 2.5 and 5 in each decade from 100 us to 1000 s.\n\n"
        "| name | type | unit | labels | meaning | series |\n|---|---|---|---|---|---|\n",
        METRIC_LANES_SHOWN);
    for (Metric metric = 0; metric < METRIC_COUNT; metric++) {
        const MetricRow *row = metric_row(metric);
        printf("| %s | %s | %s | %s | %s |", row->text, metric_type_text(row->type), unit_of(row),
               row->labels, row->help);
        if (row->series > 1)
            printf(" %zu |\n", row->series);
        else
            printf(" |\n");
    }
}

static void print_who(const Route *route)
{
    if (route->roles == ANYONE || route->roles == SYSTEM) {
        printf(" %s |\n", route->roles == ANYONE ? "anyone, without a key" : "the system right");
        return;
    }
    for (size_t role = ROLE_NONE + 1; role < TABLE_ROWS(ROLE_TABLE); role++)
        if (role == ROLE_ADMIN || (route->roles & 1u << role) != 0)
            printf(" %s", role_text((Role) role));
    printf(" |\n");
}

static void print_roles(void)
{
    printf("# Roles, and who may call what\n\n"
           "Printed from the tables in `src/domain/role.h` and `src/api/routes.c` by `make docs`; "
           "do not edit.\n\n"
           "A key has one role, and is of one tenant: what belongs to another is not there (404). "
           "Beside its\n"
           "role the first key has the system right: tenants, clock, tick, hold and release.\n\n"
           "| role | what it is for |\n|---|---|\n");
    for (size_t role = ROLE_NONE + 1; role < TABLE_ROWS(ROLE_TABLE); role++)
        printf("| %s | %s |\n", role_text((Role) role), role_purpose((Role) role));
    printf("\n| call | what it does | who may |\n|---|---|---|\n");
    for (size_t i = 0; i < route_count; i++) {
        if (routes[i].is_view)
            continue;
        printf("| `%s %s`%s | %s |", routes[i].method, routes[i].path,
               routes[i].is_site ? ", at a site" : "", routes[i].summary);
        print_who(&routes[i]);
    }
}

int main(int argc, char **argv)
{
    Str what = argc == 2 ? str_from(argv[1]) : STR_NONE;
    if (str_eq(what, S("states")))
        print_states();
    else if (str_eq(what, S("errors")))
        print_errors();
    else if (str_eq(what, S("metrics")))
        print_metrics();
    else if (str_eq(what, S("roles")))
        print_roles();
    else if (str_eq(what, S("limits")))
        limits_print();
    else
        return 2;
    return 0;
}
