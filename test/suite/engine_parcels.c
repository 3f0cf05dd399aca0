#include "parcel_types.h"
#include "rig.h"

#include "store/definition.h"
#include "store/list.h"
#include "store/notification.h"
#include "store/preference.h"
#include "store/report.h"

// What channel.h promises, each on the real engine and store, with channel types of the test's own:
// several targets, lists, several messages in one parcel, programs, and what is left with somebody
// outside.

// channel makes one of a type, and a trigger of its name that tries again max times.
static void channel_by(Rig *rig, const char *type, const char *members, int max)
{
    Store *store = &rig->store;
    rig->types = parcel_types;
    restart(rig);
    channel_of(store, TENANT,
               str_format(&store->arena, "{'key':'%s:one','type':'%s'%s}", type, type, members).at);
    publish(store, TENANT,
            str_format(&store->arena,
                       "{'id':'%s','eventKind':'%s','channel':'%s:one','retry':{'policy':'fixed',"
                       "'interval':'1s','max':%d}}",
                       type, type, type, max)
                .at);
}

typedef struct Addressing {
    int count;
    const char *prefix;
} Addressing;

// apply_targets gives every delivery of the queue that has none so many.
static Err apply_targets(Tx *tx, void *with, Error *error)
{
    static const Statement bare = {
        .name = "suite_bare",
        .scope = STATEMENT_SYSTEM,
        .params = "",
        .sql = "SELECT q.id FROM queue q WHERE NOT EXISTS (SELECT 1 FROM target t"
               " WHERE t.tenant = q.tenant AND t.delivery = q.id)",
    };
    const Addressing *to = with;
    Rows rows;
    TRY(tx_query(tx, &bare, NULL, &rows, error));
    for (size_t i = 0; i < rows.count; i++) {
        TargetRow *targets = ARENA_ARRAY(&tx->arena, TargetRow, to->count);
        for (int n = 1; n <= to->count; n++)
            targets[n - 1] = (TargetRow){
                .tenant = TENANT,
                .delivery = value_to_uuid(rows_at(&rows, i)),
                .target = { .n = n, .address = str_format(&tx->arena, "%s%d", to->prefix, n) }
            };
        target_insert(tx, targets, (size_t) to->count);
    }
    return tx_sync(tx, error);
}

static void address_as(Rig *rig, int count, const char *prefix)
{
    Addressing to = { count, prefix };
    MUST(&rig->store, writer_run(rig->store.writer, apply_targets, &to, &rig->store.error));
}

static void address(Rig *rig, int count)
{
    address_as(rig, count, "to");
}

// say answers a request with letters.
static void say(Rig *rig, int number, const char *letters)
{
    rig->body = letters;
    answer(rig, number, 200);
    rig->body = NULL;
}

static bool was_to(const Rig *rig, int number, const char *list)
{
    return number < rig->sent_count && is_text(rig->sent[number].body, list);
}

static int64_t target_count(Rig *rig, Verdict verdict)
{
    Value args[] = { value_i64(verdict) };
    Rows rows = ask(&rig->store, "SELECT COUNT(*) FROM target WHERE verdict = $1", "i", args);
    return value_to_i64(&rows.values[0]);
}

// Several targets

static void a_retry_goes_only_to_the_target_that_may_pass(void)
{
    RIG(rig);
    channel_by(&rig, "many", "", 3);
    visits(&rig, "many", 1);
    address(&rig, 3);
    turn(&rig);
    CHECK(was_to(&rig, 0, "to1 to2 to3 "));
    say(&rig, 0, "dtp");
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(rig.sent_count == 2 && was_to(&rig, 1, "to2 "));
    CHECK(target_count(&rig, VERDICT_DELIVERED) == 1 && target_count(&rig, VERDICT_PERMANENT) == 1);
    say(&rig, 1, "d");
    lapse(&rig, 2 * SPAN_SECOND);
    // Not everybody has it, and trying again cannot help: a person must decide.
    CHECK(in_state(&rig, DELIVERY_PARKED) == 1 && rig.sent_count == 2 && attempts(&rig) == 2);
    CHECK(ask_i64(&rig.store, "SELECT reason FROM ended") == REASON_PARTLY_DELIVERED);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM ended WHERE detail = '2 of 3 have it; 3: "
                              "refused'") == 1);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM target WHERE provider_id = 'id-2'") == 1);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM target WHERE detail = 'no 3'") == 1);

    Rows rows = ask(&rig.store, "SELECT id FROM ended", "", NULL);
    MUST(&rig.store,
         act(&rig.store, TENANT, value_to_uuid(rows.values), DELIVERY_ACTION_RETRY, ""));
    turn(&rig);
    CHECK(was_to(&rig, 2, "to3 "));
    say(&rig, 2, "d");
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 1 && target_count(&rig, VERDICT_DELIVERED) == 3);
}

static void a_death_between_send_and_settle_forgets_what_was_told(void)
{
    RIG(rig);
    channel_by(&rig, "many", "", 3);
    visits(&rig, "many", 1);
    address(&rig, 3);
    turn(&rig);
    say(&rig, 0, "dtt");
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(was_to(&rig, 1, "to2 to3 "));
    rig.is_away = true; // what it says never gets to the store
    say(&rig, 1, "dd");
    lapse(&rig, SPAN_SECOND);
    rig.is_away = false;
    restart(&rig);
    lapse(&rig, suite_is_postgres() ? 22 * SPAN_SECOND : 2 * SPAN_SECOND);
    CHECK(rig.sent_count == 3 && was_to(&rig, 2, "to2 to3 "));
    say(&rig, 2, "dd");
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 1 && attempts(&rig) == 3);
}

static void a_budget_that_is_used_up_leaves_what_was_told(void)
{
    RIG(rig);
    channel_by(&rig, "many", "", 1);
    visits(&rig, "many", 1);
    address(&rig, 3);
    turn(&rig);
    say(&rig, 0, "dtp");
    lapse(&rig, 2 * SPAN_SECOND);
    say(&rig, 1, "t");
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_PARKED) == 1);
    CHECK(ask_i64(&rig.store, "SELECT reason FROM ended") == REASON_GAVE_UP);
    Rows rows = ask(&rig.store, "SELECT id FROM ended", "", NULL);
    MUST(&rig.store,
         act(&rig.store, TENANT, value_to_uuid(rows.values), DELIVERY_ACTION_RETRY, ""));
    turn(&rig);
    CHECK(was_to(&rig, 2, "to2 to3 "));
    say(&rig, 2, "dd");
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 1);
}

// counts are those that the API shows.
static TargetCounts counts(Rig *rig)
{
    TargetCounts found;
    Rows rows = ask(&rig->store, "SELECT DISTINCT delivery FROM target", "", NULL);
    MUST(&rig->store, targets_count(rig->store.db, &rig->store.arena, TENANT,
                                    value_to_uuid(rows.values), &found, &rig->store.error));
    return found;
}

static void what_is_asked_for_again_counts_as_untold(void)
{
    RIG(rig);
    TargetRow *targets;
    Seen seen;
    channel_by(&rig, "many", "", 3);
    visits(&rig, "many", 1);
    address(&rig, 3);
    turn(&rig);
    say(&rig, 0, "dpp");
    turn(&rig);
    CHECK(counts(&rig).refused == 2 && counts(&rig).delivered == 1);
    Rows rows = ask(&rig.store, "SELECT id FROM ended", "", NULL);
    Uuid id = value_to_uuid(rows.values);
    MUST(&rig.store, act(&rig.store, TENANT, id, DELIVERY_ACTION_RETRY, ""));
    CHECK(counts(&rig).refused == 0 && counts(&rig).delivered == 1);
    Walk walk = { .limit = 10 };
    MUST(&rig.store, target_page(rig.store.db, &rig.store.arena, TENANT, id, &walk, &targets, &seen,
                                 &rig.store.error));
    CHECK(targets[0].target.outcome.verdict == VERDICT_DELIVERED);
    CHECK(targets[1].target.outcome.verdict == VERDICT_UNKNOWN);
}

static Err apply_opt_out(Tx *tx, void *with, Error *error)
{
    const Str *address = with;
    Preference preference = { .address = *address };
    TRY(json_parse(&tx->arena, S("[\"many\",\"single\"]"), &preference.opt_out, error));
    return preference_put(tx, TENANT, &preference, error);
}

static void opt_out(Rig *rig, int n)
{
    Str to = str_format(&rig->store.arena, "to%d", n);
    MUST(&rig->store, writer_run(rig->store.writer, apply_opt_out, &to, &rig->store.error));
}

static void who_opted_out_is_neither_sent_to_nor_waited_for(void)
{
    RIG(rig);
    channel_by(&rig, "many", "", 3);
    opt_out(&rig, 2);
    visits(&rig, "many", 1);
    address(&rig, 3);
    turn(&rig);
    say(&rig, 0, "d-t");
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(was_to(&rig, 1, "to3 ") && counts(&rig).opted_out == 1 && counts(&rig).refused == 0);
    say(&rig, 1, "d");
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 1 && counts(&rig).delivered == 2);
}

// Lists

enum { LISTED = 250 }; // three attempts' worth

// Listing is a list that a test saves.
typedef struct Listing {
    Str body;
    int count;
} Listing;

static Err apply_list(Tx *tx, void *with, Error *error)
{
    const Listing *listing = with;
    Definition made;
    ListEdition edition;
    ListMember *members = ARENA_ARRAY(&tx->arena, ListMember, listing->count);
    for (int i = 0; i < listing->count; i++)
        members[i] = (ListMember){ .address = str_format(&tx->arena, "to%d", i + 1) };
    TRY(definition_create(tx, TENANT, DEFINITION_LIST, S("ops"), listing->body, &made, error));
    TRY(list_begin(tx, TENANT, S("ops"), (size_t) listing->count, &edition, error));
    list_write(tx, &edition, 0, members, (size_t) listing->count);
    return list_publish(tx, &edition, error);
}

static Err apply_notification(Tx *tx, void *with, Error *error)
{
    Accept *accept = with;
    TRY(notifications_name_now(tx, accept, error));
    TRY(accept_decide(accept, tx->registry, tx->random, error));
    return accept_write(tx, &accept, 1, error);
}

// notify_by makes a list of so many, over a channel of a type and with members, and sends one
// notification to it.
static void notify_by(Rig *rig, const char *type, const char *members, int count)
{
    Store *store = &rig->store;
    channel_by(rig, type, members, 3);
    const char *list = str_format(&store->arena, "{'id':'ops','channels':['%s:one']}", type).at;
    Listing listing = { json_compact(store, list), count };
    MUST(store, writer_run(store->writer, apply_list, &listing, &store->error));
    Accept *accept = accept_of(store, TENANT,
                               "{'kind':'notification','source':'notification','id':'one',"
                               "'payload':{'list':'ops','body':'It burns.'}}");
    MUST(store, writer_run(store->writer, apply_notification, accept, &store->error));
    turn(rig);
}

static void notify(Rig *rig, const char *type, int count)
{
    notify_by(rig, type, "", count);
}

// letters are those of a whole attempt: everybody has it, but for the one at a place.
static const char *letters(Rig *rig, int place, char letter)
{
    char *all = arena_alloc(&rig->store.arena, TARGETS_MAX + 1);
    memset(all, 'd', TARGETS_MAX);
    all[TARGETS_MAX] = 0;
    all[place] = letter;
    return all;
}

// was_to_range: a request went to those members of the list, in their order, and to nobody else.
static bool was_to_range(Rig *rig, int number, int first, int last)
{
    Buf list = buf_new(&rig->store.arena, 10000);
    for (int n = first; n <= last; n++)
        buf_add_format(&list, "to%d ", n);
    return number < rig->sent_count && str_eq(rig->sent[number].body, buf_str(&list));
}

static void a_list_is_sent_in_slices_and_only_who_may_pass_again(void)
{
    RIG(rig);
    notify(&rig, "many", LISTED);
    CHECK(rig.sent_count == 1 && was_to_range(&rig, 0, 1, 100));
    say(&rig, 0, letters(&rig, 0, 'd'));
    turn(&rig);
    CHECK(rig.sent_count == 2 && was_to_range(&rig, 1, 101, 200));
    say(&rig, 1, letters(&rig, 49, 't'));
    turn(&rig);
    CHECK(rig.sent_count == 3 && was_to_range(&rig, 2, 201, LISTED));
    say(&rig, 2, letters(&rig, 2, 'p'));
    lapse(&rig, 59 * SPAN_SECOND);
    CHECK(rig.sent_count == 3 && in_state(&rig, DELIVERY_RETRYING) == 1);
    CHECK(ask_i64(&rig.store, "SELECT failures FROM queue") == 1);
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(rig.sent_count == 4 && was_to_range(&rig, 3, 150, 150));
    say(&rig, 3, "d");
    lapse(&rig, 2 * SPAN_MINUTE);
    CHECK(rig.sent_count == 4 && attempts(&rig) == 4 && in_state(&rig, DELIVERY_PARKED) == 1);
    CHECK(ask_i64(&rig.store, "SELECT reason FROM ended") == REASON_PARTLY_DELIVERED);
    CHECK(target_count(&rig, VERDICT_DELIVERED) == LISTED - 1);
    CHECK(target_count(&rig, VERDICT_PERMANENT) == 1);
}

// times_sent is how many requests went to a member of the list.
static int times_sent(Rig *rig, int n)
{
    int times = 0;
    const char *word = str_format(&rig->store.arena, "to%d ", n).at;
    for (int i = 0; i < rig->sent_count; i++)
        times += strstr(str_z(&rig->store.arena, rig->sent[i].body), word) != NULL;
    return times;
}

static void in_an_ordered_lane_who_failed_is_tried_again_at_once(void)
{
    RIG(rig);
    notify_by(&rig, "many", ",'ordered':true", 3);
    say(&rig, 0, "dtd");
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(rig.sent_count == 2 && was_to_range(&rig, 1, 2, 2));
    say(&rig, 1, "d");
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 1);
}

static void in_an_ordered_lane_nothing_overtakes_a_list(void)
{
    RIG(rig);
    notify_by(&rig, "many", ",'ordered':true", LISTED);
    clock_pass(&rig.store.clock, SPAN_SECOND);
    visits(&rig, "many", 1);
    clock_pass(&rig.store.clock, SPAN_SECOND);
    for (int i = 0; i < 3; i++) {
        CHECK(rig.sent_count == i + 1 && times_sent(&rig, i * 100 + 1) == 1);
        say(&rig, i, letters(&rig, 0, 'd'));
        turn(&rig);
    }
    CHECK(rig.sent_count == 4 && was_to(&rig, 3, "x "));
}

static void a_death_between_slices_sends_nothing_again_that_was_told(void)
{
    RIG(rig);
    notify(&rig, "many", LISTED);
    say(&rig, 0, letters(&rig, 9, 't'));
    turn(&rig);
    CHECK(rig.sent_count == 2 && target_count(&rig, VERDICT_DELIVERED) == 99);
    rig.is_away = true; // what it says never gets to the store
    say(&rig, 1, letters(&rig, 0, 'd'));
    lapse(&rig, SPAN_SECOND);
    rig.is_away = false;
    restart(&rig);
    rig.status = 200;
    rig.body = letters(&rig, 0, 'd');
    lapse(&rig, 3 * SPAN_MINUTE);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 1);
    CHECK(target_count(&rig, VERDICT_DELIVERED) == LISTED);
    // Of the second slice nobody knows; the first was told, but for the one that may pass.
    for (int n = 1; n <= LISTED; n++)
        CHECK(times_sent(&rig, n) == (n == 10 || (n > 100 && n <= 200) ? 2 : 1));
}

static void a_round_that_fails_between_slices_sends_to_nobody_twice(void)
{
    RIG(rig);
    notify(&rig, "many", LISTED);
    for (int slice = 0; slice < 3; slice++) {
        rig.broken = "target_tell";
        say(&rig, slice, letters(&rig, 0, 'd'));
        lapse(&rig, SPAN_SECOND);
        CHECK(rig.sent_count == slice + 1);
        rig.broken = NULL;
        lapse(&rig, 5 * SPAN_SECOND);
    }
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 1 && attempts(&rig) == 3);
    for (int n = 1; n <= LISTED; n++)
        CHECK(times_sent(&rig, n) == 1);
}

// Legs

// was_to_each: so many requests from one on went to those members of the list, one each.
static bool was_to_each(Rig *rig, int number, int first, int last)
{
    for (int n = first; n <= last; n++)
        if (!was_to_range(rig, number + n - first, n, n))
            return false;
    return true;
}

// say_each answers all requests from one on that are not answered, each with a letter.
static void say_each(Rig *rig, int first, const char *letter)
{
    for (int i = first; i < rig->sent_count; i++)
        if (rig->sent[i].done)
            say(rig, i, letter);
}

static void a_type_that_takes_one_address_gets_several_requests_at_once(void)
{
    RIG(rig);
    notify(&rig, "single", 3);
    CHECK(rig.sent_count == 3 && was_to_each(&rig, 0, 1, 3) && attempts(&rig) == 0);
    say(&rig, 1, "t");
    say(&rig, 2, "p");
    turn(&rig);
    CHECK(attempts(&rig) == 0 && in_state(&rig, DELIVERY_SENDING) == 1);
    say(&rig, 0, "d");
    turn(&rig);
    CHECK(attempts(&rig) == 1 && ask_i64(&rig.store, "SELECT failures FROM queue") == 1);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM target WHERE provider_id = 'id-1'") == 1);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM target WHERE detail = 'no 3'") == 1);
    lapse(&rig, 61 * SPAN_SECOND);
    CHECK(rig.sent_count == 4 && was_to_each(&rig, 3, 2, 2));
    say(&rig, 3, "d");
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_PARKED) == 1 && attempts(&rig) == 2);
    CHECK(ask_i64(&rig.store, "SELECT reason FROM ended") == REASON_PARTLY_DELIVERED);
}

static void legs_leave_a_slot_of_four_to_others(void)
{
    RIG(rig);
    notify_by(&rig, "single", ",'concurrency':8", 20);
    CHECK(rig.sent_count == 6 && was_to_each(&rig, 0, 1, 6));
    visits(&rig, "single", 1);
    turn(&rig);
    CHECK(rig.sent_count == 7 && was_to(&rig, 6, "x "));
    say(&rig, 0, "d"); // six of eight are taken still
    CHECK(rig.sent_count == 7);
    say(&rig, 6, "d");
    say(&rig, 1, "d");
    CHECK(rig.sent_count == 9 && was_to_each(&rig, 7, 7, 8));
    for (int i = 0; i < 20; i++)
        say_each(&rig, 0, "d");
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 2 && attempts(&rig) == 2 && rig.sent_count == 21);
}

static void legs_are_no_more_than_the_process_can_carry(void)
{
    RIG(rig);
    rig.flights_max = 3;
    notify(&rig, "single", 9);
    CHECK(rig.sent_count == 2); // with the delivery itself, that makes three
    for (int i = 0; i < 9; i++)
        say_each(&rig, 0, "d");
    turn(&rig);
    CHECK(rig.sent_count == 9 && in_state(&rig, DELIVERY_DELIVERED) == 1 && attempts(&rig) == 1);
}

static void a_turn_ends_and_others_go_first(void)
{
    RIG(rig);
    notify_by(&rig, "single", ",'concurrency':1", 3);
    CHECK(rig.sent_count == 1);
    clock_pass(&rig.store.clock, 100 * SPAN_MILLISECOND);
    say(&rig, 0, "t");
    CHECK(rig.sent_count == 2 && was_to_each(&rig, 1, 2, 2) && attempts(&rig) == 0);
    visits(&rig, "single", 1);
    clock_pass(&rig.store.clock, 600 * SPAN_MILLISECOND);
    say(&rig, 1, "d");
    turn(&rig);
    CHECK(rig.sent_count == 3 && was_to(&rig, 2, "x "));
    CHECK(attempts(&rig) == 1 && ask_i64(&rig.store, "SELECT COUNT(*) FROM queue WHERE"
                                                     " failures > 0") == 0);
    say(&rig, 2, "d");
    turn(&rig);
    CHECK(rig.sent_count == 4 && was_to_each(&rig, 3, 3, 3));
    say(&rig, 3, "d");
    turn(&rig);
    CHECK(ask_i64(&rig.store, "SELECT failures FROM queue") == 1); // now that each was tried
}

static void a_circuit_that_opens_ends_the_legs(void)
{
    RIG(rig);
    notify_by(&rig, "single", ",'concurrency':8", 20);
    for (int i = 0; i < 5; i++)
        say(&rig, i, "c");
    CHECK(rig.sent_count == 10); // four went out in the place of the first four
    say_each(&rig, 5, "c");
    lapse(&rig, 4 * SPAN_SECOND);
    CHECK(rig.sent_count == 10 && attempts(&rig) == 1 && in_state(&rig, DELIVERY_RETRYING) == 1);
    CHECK(target_count(&rig, VERDICT_TRANSIENT) == 10);
    CHECK(ask_i64(&rig.store, "SELECT failures FROM queue") == 0);
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(rig.sent_count == 11 && was_to_each(&rig, 10, 11, 11)); // the probe is one request
    say(&rig, 10, "d");
    turn(&rig);
    CHECK(rig.sent_count == 17); // and the others follow it
}

static void a_probe_that_nobody_wants_leaves_it_to_the_next(void)
{
    RIG(rig);
    notify_by(&rig, "single", ",'concurrency':8", 5);
    say_each(&rig, 0, "c");
    for (int n = 1; n <= 5; n++)
        opt_out(&rig, n);
    lapse(&rig, 61 * SPAN_SECOND);
    CHECK(rig.sent_count == 5 && in_state(&rig, DELIVERY_CANCELLED) == 1);
    visits(&rig, "single", 1);
    lapse(&rig, SPAN_SECOND);
    CHECK(rig.sent_count == 6 && was_to(&rig, 5, "x "));
}

static void a_pause_that_is_asked_for_ends_the_legs(void)
{
    RIG(rig);
    notify_by(&rig, "single", ",'concurrency':4", 9);
    CHECK(rig.sent_count == 3);
    say(&rig, 0, "r");
    say_each(&rig, 1, "d");
    lapse(&rig, 9 * SPAN_SECOND);
    CHECK(rig.sent_count == 3 && attempts(&rig) == 1);
    CHECK(target_count(&rig, VERDICT_DELIVERED) == 2);
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(rig.sent_count == 6 && was_to_each(&rig, 3, 4, 6));
}

static void each_leg_is_paid_for_by_the_rate(void)
{
    RIG(rig);
    notify_by(&rig, "single", ",'rate':{'max':3,'per':'10s'}", 7);
    rig.status = 200;
    rig.body = "d";
    lapse(&rig, 5 * SPAN_SECOND);
    int first = rig.sent_count; // a window or two were begun
    CHECK(first == 3 || first == 6);
    lapse(&rig, 10 * SPAN_SECOND);
    CHECK(rig.sent_count == (first == 3 ? 6 : 7));
    lapse(&rig, 20 * SPAN_SECOND);
    CHECK(rig.sent_count == 7 && in_state(&rig, DELIVERY_DELIVERED) == 1);
}

static void a_leg_that_was_not_tried_is_paid_back(void)
{
    RIG(rig);
    notify_by(&rig, "single", ",'rate':{'max':3,'per':'24h'}", 9);
    lapse(&rig, SPAN_SECOND);
    CHECK(rig.sent_count == 3);
    for (int i = 0; i < 3; i++)
        lack(&rig, i);
    lapse(&rig, 3 * SPAN_SECOND);
    CHECK(rig.sent_count == 6 && was_to_each(&rig, 3, 1, 3));
    say_each(&rig, 3, "d");
    lapse(&rig, 3 * SPAN_SECOND);
    CHECK(rig.sent_count == 6 && target_count(&rig, VERDICT_DELIVERED) == 3);
}

static void a_death_among_the_legs_forgets_those_of_the_parcel(void)
{
    RIG(rig);
    notify_by(&rig, "single", ",'concurrency':1", 3);
    clock_pass(&rig.store.clock, SPAN_SECOND);
    say(&rig, 0, "d"); // its turn is over: it is settled
    turn(&rig);
    CHECK(rig.sent_count == 2 && target_count(&rig, VERDICT_DELIVERED) == 1);
    say(&rig, 1, "d"); // and goes on, but is not settled
    CHECK(rig.sent_count == 3);
    restart(&rig);
    rig.status = 200;
    rig.body = "d";
    lapse(&rig, 3 * SPAN_MINUTE);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 1);
    CHECK(times_sent(&rig, 1) == 1 && times_sent(&rig, 2) == 2 && times_sent(&rig, 3) == 2);
}

static void what_is_called_off_starts_no_more_legs(void)
{
    RIG(rig);
    notify_by(&rig, "single", ",'concurrency':4", 9);
    Rows rows = ask(&rig.store, "SELECT id FROM queue", "", NULL);
    MUST(&rig.store,
         act(&rig.store, TENANT, value_to_uuid(rows.values), DELIVERY_ACTION_CANCEL, ""));
    turn(&rig);
    say_each(&rig, 0, "d");
    turn(&rig);
    CHECK(rig.sent_count == 3 && in_state(&rig, DELIVERY_CANCELLED) == 1 && attempts(&rig) == 1);
}

static void a_leg_that_was_not_tried_is_given_back(void)
{
    RIG(rig);
    notify_by(&rig, "single", ",'concurrency':4", 9);
    say(&rig, 0, "d");
    lack(&rig, 1);
    CHECK(rig.sent_count == 4);
    say_each(&rig, 2, "d");
    turn(&rig);
    CHECK(rig.sent_count == 4 && target_count(&rig, VERDICT_DELIVERED) == 3);
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(rig.sent_count == 7 && times_sent(&rig, 2) == 2 && attempts(&rig) == 1);
    for (int i = 4; i < 7; i++)
        lack(&rig, i); // nothing of it was tried: no attempt is made of it
    turn(&rig);
    CHECK(attempts(&rig) == 1);
    rig.status = 200;
    rig.body = "d";
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 1 && attempts(&rig) == 2);
    CHECK(target_count(&rig, VERDICT_DELIVERED) == 9);
}

// Several messages

static void messages_of_a_parcel_settle_each_by_itself(void)
{
    RIG(rig);
    channel_by(&rig, "batch", ",'concurrency':1", 3);
    visits(&rig, "batch", 7);
    turn(&rig);
    CHECK(rig.sent_count == 1 && in_state(&rig, DELIVERY_SENDING) == 3);
    CHECK(was_to(&rig, 0, "x x x "));
    clock_pass(&rig.store.clock, SPAN_SECOND); // it is slow: nothing is claimed ahead
    say(&rig, 0, "dtp");
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 1 && in_state(&rig, DELIVERY_PARKED) == 1);
    CHECK(in_state(&rig, DELIVERY_RETRYING) == 1 && in_state(&rig, DELIVERY_SENDING) == 3);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM ended WHERE detail = 'no 0'") == 1);
    CHECK(rig.sent_count == 2);
    lack(&rig, 1);
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_PENDING) == 4 && attempts(&rig) == 3);
    rig.status = 200;
    rig.body = "ddd";
    lapse(&rig, 4 * SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 6 && attempts(&rig) == 8);
}

static void a_parcel_has_no_more_targets_than_it_may(void)
{
    RIG(rig);
    channel_by(&rig, "batch", "", 0);
    visits(&rig, "batch", 3);
    address(&rig, 45);
    rig.body = "t";
    rig.status = 200;
    turn(&rig);
    CHECK(rig.sent_count == 2 && in_state(&rig, DELIVERY_PARKED) == 3); // two of them, and one
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM target WHERE verdict = 1") == 135);
}

static void a_request_that_cannot_be_built_parks_its_parcel(void)
{
    RIG(rig);
    channel_by(&rig, "batch", "", 3);
    visits(&rig, "batch", 2);
    address_as(&rig, 2, "bad");
    turn(&rig);
    CHECK(rig.sent_count == 0 && in_state(&rig, DELIVERY_PARKED) == 2);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM ended WHERE reason = 8") == 2);
}

static void what_is_called_off_leaves_its_parcel_alone(void)
{
    RIG(rig);
    channel_by(&rig, "batch", "", 3);
    visits(&rig, "batch", 3);
    turn(&rig);
    Rows rows = ask(&rig.store, "SELECT id FROM queue ORDER BY id", "", NULL);
    Uuid id = value_to_uuid(rows_at(&rows, 0)); // the first has the request
    MUST(&rig.store, act(&rig.store, TENANT, id, DELIVERY_ACTION_CANCEL, ""));
    say(&rig, 0, "ddd");
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 2 && in_state(&rig, DELIVERY_CANCELLED) == 1);
    CHECK(engine_tally(rig.engine).stale == 1 && attempts(&rig) == 3);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM ended WHERE provider_id = 'id-0'") == 3);
}

// Elsewhere

static Err apply_report(Tx *tx, void *with, Error *error)
{
    return queue_report(tx, with, 1, error);
}

static Report report(Rig *rig, Uuid id, Verdict verdict)
{
    Report told = { .tenant = TENANT,
                    .id = id,
                    .attempt = 1,
                    .outcome = { .verdict = verdict, .reason = REASON_ACCEPTED } };
    MUST(&rig->store, writer_run(rig->store.writer, apply_report, &told, &rig->store.error));
    return told;
}

// left_elsewhere leaves one delivery with the far side.
static Uuid left_elsewhere(Rig *rig)
{
    channel_by(rig, "many", ",'concurrency':1", 3);
    visits(rig, "many", 1);
    turn(rig);
    say(rig, 0, "e");
    turn(rig);
    CHECK(in_state(rig, DELIVERY_SENDING) == 1 && attempts(rig) == 0 &&
          engine_is_idle(rig->engine));
    store_check(&rig->store); // whoever has it is nobody here
    Rows rows = ask(&rig->store, "SELECT id FROM queue", "", NULL);
    return value_to_uuid(rows.values);
}

static void what_is_elsewhere_is_told_of_later(void)
{
    static const struct {
        Verdict verdict;
        DeliveryState state;
    } cases[] = {
        { VERDICT_DELIVERED, DELIVERY_DELIVERED },
        { VERDICT_TRANSIENT, DELIVERY_RETRYING },
        { VERDICT_PERMANENT, DELIVERY_PARKED },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        RIG(rig);
        Uuid id = left_elsewhere(&rig);
        visits(&rig, "many", 1); // its slot is free, though it is not over
        turn(&rig);
        CHECK(rig.sent_count == 2);
        say(&rig, 1, "d");
        lapse(&rig, SPAN_MINUTE);
        CHECK(!report(&rig, id, cases[i].verdict).is_stale);
        CHECK(in_state(&rig, cases[i].state) == (cases[i].verdict == VERDICT_DELIVERED ? 2 : 1));
        CHECK(report(&rig, id, VERDICT_DELIVERED).is_stale);
        lapse(&rig, 2 * SPAN_SECOND);
        CHECK(rig.sent_count == (cases[i].verdict == VERDICT_TRANSIENT ? 3 : 2));
    }
}

static void what_is_elsewhere_lapses_when_nobody_tells(void)
{
    RIG(rig);
    left_elsewhere(&rig);
    clock_pass(&rig.store.clock, SPAN_HOUR - SPAN_MINUTE);
    lapse(&rig, 30 * SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_SENDING) == 1 && rig.sent_count == 1);
    lapse(&rig, 35 * SPAN_SECOND);
    CHECK(rig.sent_count == 2 && engine_tally(rig.engine).lapsed == 1 && attempts(&rig) == 1);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM attempt WHERE verdict = 3 AND reason = 11") ==
          1);
}

static void what_is_elsewhere_can_be_called_off(void)
{
    RIG(rig);
    Uuid id = left_elsewhere(&rig);
    MUST(&rig.store, act(&rig.store, TENANT, id, DELIVERY_ACTION_CANCEL, ""));
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_CANCELLED) == 1 && attempts(&rig) == 1);
    CHECK(report(&rig, id, VERDICT_DELIVERED).is_stale);
    CHECK(ask_i64(&rig.store, "SELECT verdict FROM ended") == VERDICT_DELIVERED);
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(rig.sent_count == 1 && in_state(&rig, DELIVERY_CANCELLED) == 1);
}

static void what_is_elsewhere_outlives_the_process(void)
{
    RIG(rig);
    Uuid id = left_elsewhere(&rig);
    CHECK(engine_stop(rig.engine, SPAN_SECOND));
    restart(&rig);
    lapse(&rig, 25 * SPAN_SECOND); // leases of dead nodes are swept by now
    CHECK(in_state(&rig, DELIVERY_SENDING) == 1 && engine_tally(rig.engine).lapsed == 0);
    CHECK(!report(&rig, id, VERDICT_DELIVERED).is_stale);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 1 && attempts(&rig) == 1 && rig.sent_count == 1);
}

// Programs, and what is pulled

static void a_program_carries_a_parcel(void)
{
    RIG(rig);
    channel_by(&rig, "shell",
               ",'config':{'script':'read line; case $line in *shell*) echo heard;; *) exit 7;; "
               "esac'}",
               3);
    visits(&rig, "shell", 2);
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_SENDING) == 2);
    wait_for_programs(&rig);
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 2);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM ended WHERE detail LIKE 'heard%'") == 2);
}

static void a_program_that_fails_is_run_again(void)
{
    RIG(rig);
    channel_by(&rig, "shell", ",'config':{'script':'exit 7'}", 1);
    visits(&rig, "shell", 1);
    for (int i = 0; i < 2; i++) {
        turn(&rig);
        wait_for_programs(&rig);
        lapse(&rig, i == 0 ? SPAN_SECOND : 0);
    }
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_PARKED) == 1 && attempts(&rig) == 2);
    CHECK(ask_i64(&rig.store, "SELECT code FROM ended") == 7);
}

static Err apply_pull(Tx *tx, void *with, Error *error)
{
    Claim *claim = with;
    claim->lease_until = tx->now + SPAN_HOUR;
    return queue_pull(tx, claim, error);
}

static void what_is_pulled_is_left_to_those_outside(void)
{
    RIG(rig);
    channel_by(&rig, "worker", "", 3);
    visits(&rig, "worker", 2);
    lapse(&rig, 7 * SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_PENDING) == 2 && engine_tally(rig.engine).claimed == 0);
    ClaimLane lane = { lane_of(&rig.store, TENANT, "worker:one"), 1, BYTES, false };
    Claim taken = { .lanes = &lane, .lane_count = 1, .arena = &rig.store.arena };
    MUST(&rig.store, writer_run(rig.store.writer, apply_pull, &taken, &rig.store.error));
    CHECK(taken.count == 1 && in_state(&rig, DELIVERY_SENDING) == 1);
    CHECK(!report(&rig, taken.claimed[0].promise.id, VERDICT_DELIVERED).is_stale);
    queue_claim_drop(&taken);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 1);

    // Where its channel is off nobody is told of it.
    channel_of(&rig.store, TENANT, "{'key':'worker:one','type':'worker','enabled':false}");
    lapse(&rig, SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_PARKED) == 1);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM ended WHERE reason = 10 AND attempt = 0") == 1);
}

static const Test tests[] = {
    TEST(a_retry_goes_only_to_the_target_that_may_pass),
    TEST(a_death_between_send_and_settle_forgets_what_was_told),
    TEST(a_budget_that_is_used_up_leaves_what_was_told),
    TEST(what_is_asked_for_again_counts_as_untold),
    TEST(who_opted_out_is_neither_sent_to_nor_waited_for),
    TEST(a_list_is_sent_in_slices_and_only_who_may_pass_again),
    TEST(in_an_ordered_lane_who_failed_is_tried_again_at_once),
    TEST(in_an_ordered_lane_nothing_overtakes_a_list),
    TEST(a_death_between_slices_sends_nothing_again_that_was_told),
    TEST(a_round_that_fails_between_slices_sends_to_nobody_twice),
    TEST(a_type_that_takes_one_address_gets_several_requests_at_once),
    TEST(legs_leave_a_slot_of_four_to_others),
    TEST(legs_are_no_more_than_the_process_can_carry),
    TEST(a_turn_ends_and_others_go_first),
    TEST(a_circuit_that_opens_ends_the_legs),
    TEST(a_probe_that_nobody_wants_leaves_it_to_the_next),
    TEST(a_pause_that_is_asked_for_ends_the_legs),
    TEST(each_leg_is_paid_for_by_the_rate),
    TEST(a_leg_that_was_not_tried_is_paid_back),
    TEST(a_death_among_the_legs_forgets_those_of_the_parcel),
    TEST(what_is_called_off_starts_no_more_legs),
    TEST(a_leg_that_was_not_tried_is_given_back),
    TEST(messages_of_a_parcel_settle_each_by_itself),
    TEST(a_parcel_has_no_more_targets_than_it_may),
    TEST(a_request_that_cannot_be_built_parks_its_parcel),
    TEST(what_is_called_off_leaves_its_parcel_alone),
    TEST(what_is_elsewhere_is_told_of_later),
    TEST(what_is_elsewhere_lapses_when_nobody_tells),
    TEST(what_is_elsewhere_can_be_called_off),
    TEST(what_is_elsewhere_outlives_the_process),
    TEST(a_program_carries_a_parcel),
    TEST(a_program_that_fails_is_run_again),
    TEST(what_is_pulled_is_left_to_those_outside),
};
PART(parcel_part, tests);
