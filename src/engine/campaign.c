#include "engine/state.h"

#include "base/log.h"
#include "domain/campaign.h"
#include "engine/measure.h"
#include "intake/csv.h"
#include "store/accept.h"
#include "store/campaign.h"
#include "store/rule.h"

// A campaign's file becomes events, slice by slice (store/campaign.h): so many rows are read from
// where the last slice ended, each becomes an event for the campaign's trigger alone, and all of
// them go in by the one door, in the transaction that moves the campaign on. A row that is bad is
// counted and kept with its line; it stops nothing. One that is dry asks what would become of each
// row, and makes nothing: rows that repeat each other are all counted as made then.
//
// A campaign whose trigger is gone, or of which the store did not take a slice, is stopped, and
// says why on the line that it came to: the file can be sent again, for what was made is not made
// twice.

// Slice is what one transaction makes of a campaign.
typedef struct Slice {
    Tx *tx;
    const EngineOptions *options;
    Campaign *campaign;
    CampaignLayout layout;
    const RegistryTrigger *known;
    const Trigger *rule;
    AcceptItem *items;
    size_t count;
    CampaignFailure *failures;
    size_t failure_count;
} Slice;

static void keep_failure(Slice *slice, int64_t line, Str why)
{
    const Campaign *campaign = slice->campaign;
    slice->campaign->failed++;
    slice->failures[slice->failure_count++] =
        (CampaignFailure){ campaign->tenant, campaign->id, line, str_dup(&slice->tx->arena, why) };
}

static void fail_row(Slice *slice, int64_t line, Str why)
{
    if (slice->campaign->failed < CAMPAIGN_FAILURES_MAX)
        keep_failure(slice, line, why);
    else
        slice->campaign->failed++;
}

static void end(Slice *slice, CampaignState state)
{
    Campaign *campaign = slice->campaign;
    campaign->state = state;
    campaign->work = CAMPAIGN_DROPS;
    campaign->finished_at = slice->tx->now;
    if (state == CAMPAIGN_DONE)
        campaign->total = campaign_done(campaign);
}

// halt ends a campaign that cannot go on; the row that it came to counts as the one that failed.
static void halt(Slice *slice, Str why)
{
    char id[UUID_TEXT_LEN + 1];
    log_error("campaign.stopped", "tenant=%lld campaign=%.*s detail=%s",
              (long long) slice->campaign->tenant, STR_ARG(uuid_text(slice->campaign->id, id)),
              log_quote(why));
    keep_failure(slice, slice->campaign->line, why); // however many there are
    end(slice, CAMPAIGN_STOPPED);
}

// name_rule makes the campaign's trigger one that events are named for; false where it is gone.
static Err name_rule(Slice *slice, bool *ret_found, Error *error)
{
    Tx *tx = slice->tx;
    const Campaign *campaign = slice->campaign;
    slice->known = registry_rule(tx->registry, campaign->tenant, RULE_TRIGGER, campaign->trigger);
    *ret_found = slice->known != NULL;
    if (!slice->known)
        return ERR_OK;
    const Trigger *compiled = registry_compiled(slice->known, &tx->arena);
    Trigger *rule = arena_copy(&tx->arena, compiled, sizeof *compiled);
    rule->rule.number = slice->known->rule;
    rule->rule.version = slice->known->version;
    rule->rule.tenant = slice->known->tenant;
    rule->rule.lane = slice->known->lane;
    slice->rule = rule;
    if (rule->rule.number && rule->rule.lane)
        return ERR_OK;
    return rule_place(tx, &rule->rule, rule->channel, error);
}

// add_row makes an item of a row, or notes why it is none.
static void add_row(Slice *slice, const CsvRow *row)
{
    Arena *arena = &slice->tx->arena;
    Error why = { .arena = arena };
    AcceptItem item = { .named = &slice->rule, .named_count = 1 };
    Err err = row->problem ? fail(&why, ERR_EVENT_INVALID, "%s", row->problem)
                           : campaign_event(arena, &slice->layout, row->fields, row->count,
                                            slice->rule, &item.event, &why);
    item.event.tenant = slice->campaign->tenant;
    if (err == ERR_OK)
        err = event_check_size(&item.event, slice->options->payload_max, &why);
    if (err == ERR_OK)
        slice->items[slice->count++] = item;
    else
        fail_row(slice, row->line, str_from(why.detail));
}

// read_rows reads on in the file, and says where it came to.
static Err read_rows(Slice *slice, bool *ret_end, Error *error)
{
    Str text;
    CsvRow row;
    bool is_last;
    Campaign *campaign = slice->campaign;
    CsvFound found = CSV_MORE;
    TRY(campaign_text(slice->tx, campaign, &text, &is_last, error));
    CsvReader *reader = csv_new(&slice->tx->arena, slice->layout.delimiter, campaign->line);
    csv_give(reader, text, is_last);
    for (size_t rows = 0; rows < CAMPAIGN_SLICE; rows++) {
        found = csv_next(reader, &row);
        if (found != CSV_ROW)
            break;
        add_row(slice, &row);
    }
    bool is_stuck = found == CSV_MORE && csv_taken(reader) == 0;
    campaign->position += (int64_t) csv_taken(reader);
    campaign->line = csv_line(reader);
    csv_done(reader);
    *ret_end = found == CSV_END;
    return is_stuck ? fail(error, ERR_CORRUPT, "a campaign's file ends too early") : ERR_OK;
}

static void count(Slice *slice, bool is_made)
{
    slice->campaign->created += is_made;
    slice->campaign->skipped += !is_made;
}

// make_events has what was read made.
static Err make_events(Slice *slice, Error *error)
{
    Tx *tx = slice->tx;
    Accept accept = { .arena = &tx->arena,
                      .tenant = slice->campaign->tenant,
                      .items = slice->items,
                      .count = slice->count,
                      .now = tx->now };
    Accept *accepts[] = { &accept };
    TRY(accept_decide(&accept, tx->registry, tx->random, error));
    TRY(accept_write(tx, accepts, 1, error));
    for (size_t i = 0; i < slice->count; i++) {
        const AcceptItem *item = &slice->items[i];
        bool is_made = false;
        for (size_t k = 0; k < item->pair_count; k++)
            is_made |= accept_made(item, &item->pairs[k]);
        count(slice, is_made);
    }
    return ERR_OK;
}

// try_events asks what would become of what was read.
static Err try_events(Slice *slice, Error *error)
{
    Tx *tx = slice->tx;
    const Event **events = ARENA_ARRAY(&tx->arena, const Event *, slice->count);
    AcceptTrial *trials = ARENA_ARRAY(&tx->arena, AcceptTrial, slice->count);
    for (size_t i = 0; i < slice->count; i++)
        events[i] = &slice->items[i].event;
    TRY(accept_try(tx->db, &tx->arena, tx->registry, slice->known, events, slice->count, tx->now,
                   trials, error));
    for (size_t i = 0; i < slice->count; i++)
        count(slice, trials[i].decision.kind == DECISION_CREATED && !trials[i].is_opted_out);
    return ERR_OK;
}

static Err make(Slice *slice, Error *error)
{
    bool is_found, is_end;
    Arena *arena = &slice->tx->arena;
    TRY(name_rule(slice, &is_found, error));
    if (!is_found) {
        halt(slice, str_format(arena, "there is no trigger %.*s any more",
                               STR_ARG(slice->campaign->trigger)));
        return ERR_OK;
    }
    slice->items = ARENA_ARRAY(arena, AcceptItem, CAMPAIGN_SLICE);
    TRY(campaign_layout_parse(arena, slice->campaign->layout, &slice->layout, error));
    TRY(read_rows(slice, &is_end, error));
    if (slice->count > 0)
        TRY(slice->campaign->is_dry ? try_events(slice, error) : make_events(slice, error));
    if (is_end)
        end(slice, CAMPAIGN_DONE);
    return ERR_OK;
}

static Err carry_on(Slice *slice, const char *fault, Error *error)
{
    slice->campaign->slices++;
    if (slice->campaign->work == CAMPAIGN_DROPS)
        return campaign_drop(slice->tx, slice->campaign, error);
    if (!fault)
        return make(slice, error);
    halt(slice, str_from(fault));
    return ERR_OK;
}

// tell says what the slice has added to what was.
static void tell(const Campaign *was, const Campaign *is, DutyReport *ret)
{
    if (!is->is_dry)
        ret->rows = (CampaignTally){ is->created - was->created, is->skipped - was->skipped,
                                     is->failed - was->failed };
}

Err campaign_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    Campaign campaign;
    Slice slice = { .tx = tx, .options = options, .campaign = &campaign };
    TRY(campaign_take(tx, &campaign, &ret->has_more, error));
    if (!ret->has_more)
        return ERR_OK;
    TRY(tx_guard(tx, error)); // it may be younger than what is known of its trigger
    bool is_blamed = uuid_cmp(ret->tried, campaign.id) == 0; // for what failed; another goes on
    ret->tried = campaign.id;
    Campaign was = campaign;
    Uuid actor = tx->actor;
    tx->actor = campaign.actor;
    slice.failures = ARENA_ARRAY(&tx->arena, CampaignFailure, CAMPAIGN_SLICE + 1);
    TRY(carry_on(&slice, is_blamed ? ret->fault : NULL, error));
    campaign_advance(tx, &campaign, slice.failures, slice.failure_count);
    tx->actor = actor;
    tell(&was, &campaign, ret);
    return tx_sync(tx, error);
}

void campaign_ran(Engine *engine, const DutyReport *report)
{
    const CampaignTally *rows = &report->rows;
    (void) engine;
    measure_row(MEASURED_CREATED, rows->created);
    measure_row(MEASURED_SKIPPED, rows->skipped);
    measure_row(MEASURED_FAILED, rows->failed);
}
