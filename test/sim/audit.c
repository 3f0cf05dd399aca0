#include "sim.h"

#include "store/audit.h"

// I45: what happened is on record, in a chain that holds: each delivery that was made, each attempt
// and how it ended, each once and in order, whoever died meanwhile. The purge may take rows before
// anybody has read them; then what is left must hold all the same.

enum { VERIFIED_AT_ONCE = 10000 };

static void must(Sim *sim, Err err, const Error *error)
{
    if (err != ERR_OK)
        broken(sim, "I45", "the audit cannot be read: %s", error->detail);
}

static AuditChain chain_of(Sim *sim)
{
    Error error = { 0 };
    AuditChain chain = { 0 };
    must(sim, audit_chain(sim->eye, &sim->scratch, OUR_TENANT, &chain, &error), &error);
    return chain;
}

static void note_end(Track *track, const AuditEntry *entry)
{
    track->ended_as = (int) entry->status;
}

// note_attempt: an attempt is told once, and in a row for each of its targets, which lie together.
static void note_attempt(Sim *sim, Track *track, const AuditEntry *entry)
{
    uint64_t bit = (uint64_t) 1 << entry->attempt % ATTEMPTS_MAX;
    if ((track->audited & bit) && track->audited_by != entry->number)
        broken(sim, "I45", "track %d: attempt %d is on record twice", name_of(sim, track),
               entry->attempt);
    track->audited |= bit;
    track->audited_by = entry->number;
}

static void note(Sim *sim, const AuditEntry *entry)
{
    Track *track = uuid_is_none(entry->delivery) ? NULL : track_of(sim, entry->delivery, false);
    if (!track)
        return;
    bool is_made =
        entry->kind == AUDIT_DELIVERY_CREATED || entry->kind == AUDIT_NOTIFICATION_ENQUEUED;
    if (is_made && track->enqueued++)
        broken(sim, "I45", "track %d is made twice", name_of(sim, track));
    if (entry->kind == AUDIT_DELIVERY_ATTEMPT || entry->kind == AUDIT_NOTIFICATION_ATTEMPT)
        note_attempt(sim, track, entry);
    if (entry->kind == AUDIT_DELIVERY_TERMINAL || entry->kind == AUDIT_NOTIFICATION_TERMINAL)
        note_end(track, entry);
}

static void read_row(Sim *sim, const AuditRow *row)
{
    const AuditEntry *entry = &row->entry;
    bool follows = entry->number > sim->audit_number ||
                   (entry->number == sim->audit_number && entry->part > sim->audit_part);
    if (!row->is_read || row->seq != sim->audit_seq + 1 || !follows)
        broken(sim, "I45", "row %lld of the audit does not follow row %lld", (long long) row->seq,
               (long long) sim->audit_seq);
    sim->audit_seq = row->seq;
    sim->audit_number = entry->number;
    sim->audit_part = entry->part;
    note(sim, entry);
}

// audit_often reads what is new.
void audit_often(Sim *sim)
{
    static AuditRow rows[AUDIT_EXPORT_ROWS];
    static const AuditFilter all = { .from = INSTANT_NONE, .to = INSTANT_NONE };
    Error error = { 0 };
    AuditChain chain = chain_of(sim);
    size_t count;
    if (chain.anchor.seq > sim->audit_seq) {
        sim->has_unread = true;
        sim->audit_seq = chain.anchor.seq;
    }
    for (int64_t after = sim->audit_seq; after < chain.head.seq && !sim->has_failed;) {
        must(sim,
             audit_export(sim->eye, &sim->scratch, &(KeyRing){ 0 }, OUR_TENANT, &all, &after,
                          chain.head.seq, rows, &count, &error),
             &error);
        for (size_t i = 0; i < count && !sim->has_failed; i++)
            read_row(sim, &rows[i]);
    }
}

static void verify(Sim *sim, const AuditChain *chain)
{
    AuditVerdict verdict = { .head = chain->anchor };
    Error error = { 0 };
    bool has_more = true;
    while (has_more && !verdict.problem && !sim->has_failed)
        must(sim,
             audit_verify(sim->eye, OUR_TENANT, &chain->head, VERIFIED_AT_ONCE, &verdict, &has_more,
                          &error),
             &error);
    if (verdict.problem || verdict.head.seq != chain->head.seq)
        broken(sim, "I45", "row %lld of the audit is %s", (long long) verdict.bad,
               audit_problem_text(verdict.problem));
}

static int status_of(DeliveryState state)
{
    static const int statuses[DELIVERY_STATE_COUNT] = {
        [DELIVERY_PARKED] = AUDIT_STATUS_PARKED,
        [DELIVERY_DELIVERED] = AUDIT_STATUS_DELIVERED,
        [DELIVERY_COMPLETED] = AUDIT_STATUS_COMPLETED,
        [DELIVERY_EXPIRED] = AUDIT_STATUS_EXPIRED,
        [DELIVERY_CANCELLED] = AUDIT_STATUS_CANCELLED,
        [DELIVERY_DISCARDED] = AUDIT_STATUS_DISCARDED,
    };
    return statuses[state];
}

static void check_attempts(Sim *sim)
{
    size_t count;
    const Tried *tried = look_attempts(sim, &count);
    for (size_t i = 0; i < count && !sim->has_failed; i++) {
        const Track *track = track_of(sim, tried[i].delivery, false);
        bool is_late = track->closed_in_flight == tried[i].number; // it moved nothing any more
        bool is_told = track->audited >> tried[i].number % ATTEMPTS_MAX & 1;
        if (!is_told && !is_late && !track->is_gone)
            broken(sim, "I45", "track %d: attempt %d is not on record", name_of(sim, track),
                   tried[i].number);
    }
}

// audit_at_end: nothing waits any more, and all of it is there.
void audit_at_end(Sim *sim)
{
    AuditChain chain = chain_of(sim);
    if (chain.waiting > 0)
        broken(sim, "I45", "%lld facts are never sealed", (long long) chain.waiting);
    verify(sim, &chain);
    for (size_t i = 0; i < sim->track_count && !sim->has_unread && !sim->has_failed; i++) {
        const Track *track = &sim->tracks[i];
        if (track->enqueued != 1 || track->ended_as != status_of(track->row.state))
            broken(sim, "I45", "track %zu is %s, which is not on record", i,
                   delivery_state_text(track->row.state));
    }
    if (!sim->has_unread)
        check_attempts(sim);
}
