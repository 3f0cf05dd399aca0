-- The core tables. One text serves both databases; {TOKENS} stand for the few types that differ
-- (src/store/migrate.c). docs/tables.md has the reasons.

-- What there is one of: identity, epoch, hold, manual clock, the mark of the master key.
CREATE TABLE meta (
    key TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) {STRICT_KEYED};

-- Grows with every change of a definition, key, tenant or hold, so that a cache can tell. What
-- changed carries the number from which on it is seen, in its own column of this name.
CREATE TABLE generation (
    one {SMALL} NOT NULL PRIMARY KEY,
    n {I64} NOT NULL
) {STRICT_KEYED};
INSERT INTO generation (one, n) VALUES (1, 1);

-- The wall: every row below has one. Hidden is how a tenant is deleted.
CREATE TABLE tenant (
    tenant {I64} NOT NULL PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    is_hidden {SMALL} NOT NULL,
    has_preferences {SMALL} NOT NULL,
    created_at {I64} NOT NULL,
    generation {I64} NOT NULL
) {STRICT};
CREATE INDEX tenant_generation ON tenant (generation);

-- The name of a site as a number, for good; 0 stands for none.
CREATE TABLE site (
    site {I64} NOT NULL PRIMARY KEY,
    tenant {I64} NOT NULL,
    name TEXT NOT NULL,
    seen_at {I64},
    received {I64} NOT NULL,
    version TEXT,
    backlog {I64},
    clock_skew {I64},
    told_at {I64},
    key_id {ID},
    UNIQUE (tenant, name)
) {STRICT};

-- A key is 256 random bits; only its hash is kept. A revoked one stays, so that caches learn of it.
-- site is the one whose key it is; handlers are those that a worker's is limited to, by commas.
-- A session is a key of a key: parent is the id of the one whose rights it has. It is gone a day after it ended.
CREATE TABLE api_key (
    tenant {I64} NOT NULL,
    id {ID} NOT NULL,
    parent {ID},
    role TEXT NOT NULL,
    site {I64} NOT NULL,
    handlers TEXT,
    is_system {SMALL} NOT NULL,
    name TEXT NOT NULL,
    hash {BYTES} NOT NULL UNIQUE,
    created_at {I64} NOT NULL,
    expires_at {I64},
    is_revoked {SMALL} NOT NULL,
    generation {I64} NOT NULL,
    PRIMARY KEY (tenant, id)
) {STRICT};
CREATE INDEX api_key_generation ON api_key (generation);
CREATE INDEX api_key_session ON api_key (tenant, parent, id) WHERE parent IS NOT NULL;
CREATE INDEX api_key_session_end ON api_key (is_revoked, expires_at) WHERE parent IS NOT NULL;

-- The head of a definition: which version counts. Hidden is how a definition is deleted; forget_at is
-- when a secret of it, which is good beside the new one until then, has to go; origin says, as JSON,
-- which file it was applied from (docs/as-code.md).
CREATE TABLE definition (
    tenant {I64} NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    version {I64} NOT NULL,
    is_hidden {SMALL} NOT NULL,
    created_at {I64} NOT NULL,
    updated_at {I64} NOT NULL,
    generation {I64} NOT NULL,
    forget_at {I64},
    origin TEXT,
    PRIMARY KEY (tenant, kind, id)
) {STRICT_KEYED};
CREATE INDEX definition_generation ON definition (generation, tenant, kind, id);
CREATE INDEX definition_forget ON definition (forget_at) WHERE forget_at IS NOT NULL;

-- What each version said, and whose key said it; insert-only, but that secrets which count no more
-- are taken out, and that an apply says where the newest came from.
CREATE TABLE definition_version (
    tenant {I64} NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    version {I64} NOT NULL,
    body TEXT NOT NULL,
    created_at {I64} NOT NULL,
    actor {ID},
    origin TEXT,
    PRIMARY KEY (tenant, kind, id, version)
) {STRICT_KEYED};

-- A survey as it was published: of which version of its draft, and the rules that it made, as JSON;
-- insert-only. A survey's definition is its draft.
CREATE TABLE survey_version (
    tenant {I64} NOT NULL,
    survey TEXT NOT NULL,
    version {I64} NOT NULL,
    draft {I64} NOT NULL,
    body TEXT NOT NULL,
    rules TEXT NOT NULL,
    published_at {I64} NOT NULL,
    PRIMARY KEY (tenant, survey, version)
) {STRICT_KEYED};

-- A tenant's channel key as a number: the queue is claimed lane by lane. A lane exists as soon as
-- a trigger names the channel, even where the channel does not.
CREATE TABLE lane (
    lane {I64} NOT NULL PRIMARY KEY,
    tenant {I64} NOT NULL,
    channel TEXT NOT NULL,
    generation {I64} NOT NULL,
    UNIQUE (tenant, channel)
) {STRICT};
CREATE INDEX lane_generation ON lane (generation);

-- What holds a lane, as the node said that found out last; a pause is every node's. A lane that was
-- never in trouble has no row.
CREATE TABLE health (
    lane {I64} NOT NULL PRIMARY KEY,
    tenant {I64} NOT NULL,
    circuit {SMALL} NOT NULL,
    failures {I32} NOT NULL,
    since {I64},
    probe_at {I64},
    error TEXT,
    paused_until {I64}
) {STRICT};

-- How much of a channel's rate all nodes together have taken in the window that runs: each claims no
-- more than it was granted. future is what a later window is held against: a clock was wrong then.
CREATE TABLE rate (
    lane {I64} NOT NULL PRIMARY KEY,
    window_at {I64} NOT NULL,
    max {I64} NOT NULL,
    spent {I64} NOT NULL,
    granted {I64} NOT NULL,
    future {I64} NOT NULL
) {STRICT};

-- The name of whatever makes deliveries as a number, for good: history and keys go by it. kind is
-- domain/rule.h's; owner is the definition that a rule was derived from, if any.
CREATE TABLE rule (
    rule {I64} NOT NULL PRIMARY KEY,
    tenant {I64} NOT NULL,
    kind {SMALL} NOT NULL,
    id TEXT NOT NULL,
    owner TEXT,
    generation {I64} NOT NULL,
    UNIQUE (tenant, kind, id)
) {STRICT};

-- The members of a list, and of which of its editions: one counts, others are being written or taken
-- away. list is the rule's number; n never comes again in a list, so whoever has got as far as one
-- knows who was added since.
CREATE TABLE list_member (
    tenant {I64} NOT NULL,
    list {I64} NOT NULL,
    edition {I64} NOT NULL,
    n {I64} NOT NULL,
    address TEXT NOT NULL,
    name TEXT,
    locale TEXT,
    PRIMARY KEY (tenant, list, edition, n)
) {STRICT_KEYED};
CREATE UNIQUE INDEX list_member_address ON list_member (tenant, list, edition, address);

-- Which edition of a list counts, how many members that has, and the next n.
CREATE TABLE list_head (
    tenant {I64} NOT NULL,
    list {I64} NOT NULL,
    edition {I64} NOT NULL,
    members {I64} NOT NULL,
    next_n {I64} NOT NULL,
    PRIMARY KEY (tenant, list)
) {STRICT_KEYED};

-- Editions that are to be taken away from a moment on: those that were replaced, and those that are
-- being written, should they never be finished.
CREATE TABLE list_waste (
    tenant {I64} NOT NULL,
    list {I64} NOT NULL,
    edition {I64} NOT NULL,
    due_at {I64} NOT NULL,
    PRIMARY KEY (tenant, list, edition)
) {STRICT_KEYED};
CREATE INDEX list_waste_due ON list_waste (due_at);

-- When a cron expression of a job or automation is looked at next, and how far it has come: name is
-- '' for a job's own; last_for is the last occurrence that was dealt with, or when it was saved; run
-- is the oldest run that may still go on, and queued_for the occurrence that waits for the end of
-- all of them. next_at is NULL for one that is switched off, or that is never due again. fault says
-- why one cannot be fired.
CREATE TABLE schedule (
    tenant {I64} NOT NULL,
    rule {I64} NOT NULL,
    name TEXT NOT NULL,
    version {I64} NOT NULL,
    cron TEXT NOT NULL,
    zone TEXT NOT NULL,
    overlap {SMALL} NOT NULL,
    next_at {I64},
    last_for {I64} NOT NULL,
    queued_for {I64},
    run {ID},
    missed {I64} NOT NULL,
    skipped {I64} NOT NULL,
    passed_for {I64},
    fault TEXT,
    PRIMARY KEY (tenant, rule, name)
) {STRICT_KEYED};
CREATE INDEX schedule_next ON schedule (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX schedule_tenant ON schedule (tenant, next_at) WHERE next_at IS NOT NULL;

CREATE TABLE poll_group (
    tenant {I64} NOT NULL,
    provider TEXT NOT NULL,
    integration TEXT NOT NULL,
    next_at {I64},
    told {SMALL} NOT NULL,
    cursor TEXT,
    cursor_set_at {I64},
    fence {I64} NOT NULL,
    holder {I64},
    lease_until {I64},
    last_polled_at {I64},
    backoff_until {I64},
    last_error TEXT,
    failures {I64} NOT NULL,
    unfetched TEXT,
    registered TEXT,
    registered_until {I64},
    register_at {I64},
    register_error TEXT,
    PRIMARY KEY (tenant, provider, integration)
) {STRICT_KEYED};
CREATE INDEX poll_group_next ON poll_group (next_at) WHERE next_at IS NOT NULL;

-- What has become of an account at a provider: which place it has there, that nobody else's has, of
-- whatever tenant; whether it works and why not (status: src/domain/integration.h), and the tokens that
-- were got for it, sealed. What was found out under an older fence counts no more.
CREATE TABLE integration (
    tenant {I64} NOT NULL,
    id TEXT NOT NULL,
    provider TEXT NOT NULL,
    is_enabled {SMALL} NOT NULL,
    connection_id TEXT,
    installation_id TEXT,
    status {SMALL} NOT NULL,
    reason TEXT,
    since {I64} NOT NULL,
    fence {I64} NOT NULL,
    access TEXT,
    refresh TEXT,
    expires_at {I64},
    PRIMARY KEY (tenant, id)
) {STRICT_KEYED};
CREATE UNIQUE INDEX integration_connection ON integration (connection_id) WHERE connection_id IS NOT NULL;
CREATE UNIQUE INDEX integration_installation ON integration (installation_id) WHERE installation_id IS NOT NULL;

-- What came in; insert-only. The payload lies here once, whatever is made of it. depth is how many
-- events it stems from, one by the other; NULL: it came from outside. decided is what rules made of
-- it without making a delivery, and why: all of them, packed (domain/decision.h); NULL: none did.
CREATE TABLE event (
    tenant {I64} NOT NULL,
    id {ID} NOT NULL,
    kind TEXT NOT NULL,
    source TEXT NOT NULL,
    identity TEXT,
    entity TEXT,
    correlation_id TEXT,
    trace TEXT,
    received_at {I64} NOT NULL,
    occurred_at {I64},
    recipient TEXT,
    payload TEXT NOT NULL,
    topic TEXT,
    schema_version {I32},
    depth {SMALL},
    decided {BYTES},
    PRIMARY KEY (tenant, id)
) {STRICT};
CREATE INDEX event_entity ON event (tenant, entity, kind, id) WHERE entity IS NOT NULL;

-- Who asked for messages to be sent again, and by which request: of the event that was made for it.
CREATE TABLE resend (
    tenant {I64} NOT NULL,
    event {ID} NOT NULL,
    request TEXT NOT NULL,
    actor {ID} NOT NULL,
    PRIMARY KEY (tenant, event)
) {STRICT_KEYED};

-- What a recipient wants, by his address (key: src/domain/preference.h). Tenants that ever had one are
-- marked, so that nobody else pays for the look. A list goes by the id, which tells nothing of the address.
CREATE TABLE preference (
    tenant {I64} NOT NULL,
    key TEXT NOT NULL,
    address TEXT NOT NULL,
    opt_out TEXT NOT NULL,
    channel TEXT NOT NULL,
    updated_at {I64} NOT NULL,
    id {ID} NOT NULL,
    PRIMARY KEY (tenant, key)
) {STRICT_KEYED};
CREATE INDEX preference_id ON preference (tenant, id);

-- Which of a tenant's sources listens at a path (store/hook.h).
CREATE TABLE hook_path (
    tenant {I64} NOT NULL,
    path TEXT NOT NULL,
    source TEXT NOT NULL,
    PRIMARY KEY (tenant, path)
) {STRICT_KEYED};
CREATE INDEX hook_path_source ON hook_path (tenant, source);

-- Raw input that waits to become something: what applications emitted in SQL (sql/002), rows of
-- their own tables, what webhooks brought. id is the event's that it becomes (its first, if there
-- are several); ids are in the order in which a source's rows came. kind, status and reason are
-- domain/inbox.h's. A row that was tried alone and failed waits until next_at; one that is being
-- read is a node's until then. provider and headers are a hook's, an array of [name, value]. A
-- hook's external_id may come again, with another body.
CREATE TABLE inbox (
    tenant {I64} NOT NULL,
    id {ID} NOT NULL,
    source TEXT NOT NULL,
    kind {SMALL} NOT NULL,
    external_id TEXT,
    event_kind TEXT,
    entity TEXT,
    topic TEXT,
    correlation_id TEXT,
    schema_version {I32},
    body {BYTES} NOT NULL,
    status {SMALL} NOT NULL,
    reason {SMALL} NOT NULL,
    error TEXT,
    attempts {I32} NOT NULL,
    next_at {I64},
    received_at {I64} NOT NULL,
    processed_at {I64},
    provider TEXT,
    headers TEXT,
    PRIMARY KEY (tenant, id)
) {STRICT};
CREATE INDEX inbox_pending ON inbox (tenant, source, id) WHERE status = 0;
CREATE INDEX inbox_done ON inbox (processed_at) WHERE provider IS NOT NULL AND status <> 0;
CREATE UNIQUE INDEX inbox_external ON inbox (tenant, source, external_id)
    WHERE external_id IS NOT NULL AND provider IS NULL;

-- Rows of table sources that were replayed: when they have ended, their tables are told once more.
CREATE TABLE inbox_retell (
    tenant {I64} NOT NULL,
    source TEXT NOT NULL,
    external_id TEXT NOT NULL,
    PRIMARY KEY (tenant, source, external_id)
) {STRICT_KEYED};

-- What holds in place of an event's own column decided, once it was decided anew.
CREATE TABLE decision (
    tenant {I64} NOT NULL,
    event {ID} NOT NULL,
    facts {BYTES} NOT NULL,
    PRIMARY KEY (tenant, event)
) {STRICT_KEYED};

-- What was promised; insert-only. The id shares its first 14 bytes with the event's, so an event's
-- deliveries are a range of the primary key and need no index of their own.
CREATE TABLE delivery (
    tenant {I64} NOT NULL,
    id {ID} NOT NULL,
    event {ID} NOT NULL,
    public_id TEXT NOT NULL,
    rule {I64} NOT NULL,
    version {I32} NOT NULL,
    lane {I64} NOT NULL,
    site {I64} NOT NULL,
    triggered_at {I64} NOT NULL,
    address TEXT,
    locale TEXT,
    customer_ref TEXT,
    entity TEXT,
    PRIMARY KEY (tenant, id)
) {STRICT_KEYED};
CREATE INDEX delivery_rule ON delivery (rule, id);
CREATE INDEX delivery_entity ON delivery (tenant, entity, id) WHERE entity IS NOT NULL;

-- The addresses of a delivery that has several, and what was last told of each: in which send (0:
-- nothing yet, or it was asked for again), and after how many failures of it. n counts them from 1;
-- of a list it is the member's. A delivery with one address has none: its attempts say it all.
CREATE TABLE target (
    tenant {I64} NOT NULL,
    delivery {ID} NOT NULL,
    n {I64} NOT NULL,
    address TEXT NOT NULL,
    name TEXT,
    locale TEXT,
    send {I32} NOT NULL,
    round {I32} NOT NULL,
    verdict {SMALL} NOT NULL,
    reason {SMALL},
    code {I32},
    provider_id TEXT,
    detail TEXT,
    told_at {I64},
    PRIMARY KEY (tenant, delivery, n)
) {STRICT_KEYED};
CREATE INDEX target_address ON target (address, delivery);
CREATE INDEX target_open ON target (tenant, delivery, send, round, n) WHERE verdict <> 0;

-- All live state, and nothing but live state: a row exists while the delivery is pending, sending,
-- retrying or waiting. due_at is when step falls due: a send, the end of a lease or an expiry. While a
-- node sends it, a row has a lease and keeps its place: a claim changes no indexed column (on
-- PostgreSQL a HOT update, for which the page keeps room). While somebody outside has it, which may
-- take hours, it lies beside the expiries and in nobody's way. cause is what the last attempt
-- failed of (src/domain/cause.h), until the next one is settled.
CREATE TABLE queue (
    tenant {I64} NOT NULL,
    id {ID} NOT NULL,
    lane {I64} NOT NULL,
    rule {I64} NOT NULL,
    site {I64} NOT NULL,
    bytes {I32} NOT NULL,
    state {SMALL} NOT NULL,
    step {SMALL} NOT NULL,
    due_at {I64} NOT NULL,
    fence {I32} NOT NULL,
    attempt {I32} NOT NULL,
    failures {I32} NOT NULL,
    send {I32} NOT NULL,
    reminders_left {I32} NOT NULL,
    triggered_at {I64} NOT NULL,
    first_due_at {I64} NOT NULL,
    last_sent_at {I64},
    opened_at {I64},
    started_at {I64},
    lease_until {I64},
    holder {I64},
    cause {I64},
    PRIMARY KEY (tenant, id)
) {STRICT_KEYED} {QUEUE_STORAGE};
CREATE INDEX queue_send ON queue (lane, due_at, id{AND_STEP}) WHERE step = 1;
CREATE INDEX queue_sweep ON queue (due_at) WHERE step > 1;
-- One of 16, by random bytes of the event's id, in 256 ranks: what the outlook estimates from.
CREATE INDEX queue_sample ON queue (tenant, {RANK}, due_at, lane, rule{AND_STEP}) WHERE step = 1 AND {SAMPLED};
CREATE INDEX queue_cause ON queue (tenant, cause, id) WHERE cause IS NOT NULL;

-- Where a delivery ended: parked (a person may revive it) or final, with its figures and the attempt
-- that ended it, whose number and send are the delivery's. Where verdict is NULL none did: whatever
-- was tried before stands in attempt. cause is of what was parked.
CREATE TABLE ended (
    tenant {I64} NOT NULL,
    id {ID} NOT NULL,
    lane {I64} NOT NULL,
    rule {I64} NOT NULL,
    site {I64} NOT NULL,
    bytes {I32} NOT NULL,
    state {SMALL} NOT NULL,
    reason {SMALL} NOT NULL,
    ended_at {I64} NOT NULL,
    fence {I32} NOT NULL,
    attempt {I32} NOT NULL,
    failures {I32} NOT NULL,
    send {I32} NOT NULL,
    reminders_left {I32} NOT NULL,
    first_due_at {I64} NOT NULL,
    last_sent_at {I64},
    opened_at {I64},
    expires_at {I64},
    note TEXT,
    started_at {I64},
    finished_at {I64},
    verdict {SMALL},
    tried_reason {SMALL},
    code {I32},
    provider_id TEXT,
    detail TEXT,
    node {I64},
    is_captured {SMALL},
    cause {I64},
    PRIMARY KEY (tenant, id)
) {STRICT_KEYED};
CREATE INDEX ended_parked ON ended (tenant, id) WHERE state = 4;
CREATE INDEX ended_cause ON ended (tenant, cause, id) WHERE state = 4;
CREATE INDEX ended_expiry ON ended (expires_at) WHERE expires_at IS NOT NULL;

-- One complete row per try but the one that ended the delivery; append-only.
CREATE TABLE attempt (
    tenant {I64} NOT NULL,
    delivery {ID} NOT NULL,
    number {I32} NOT NULL,
    send {I32} NOT NULL,
    started_at {I64} NOT NULL,
    finished_at {I64} NOT NULL,
    verdict {SMALL} NOT NULL,
    reason {SMALL} NOT NULL,
    code {I32},
    provider_id TEXT,
    detail TEXT,
    node {I64},
    is_captured {SMALL} NOT NULL,
    PRIMARY KEY (tenant, delivery, number)
) {STRICT_KEYED};

-- What whoever runs a job said while it did; n counts the lines of a delivery, over all attempts.
CREATE TABLE progress (
    tenant {I64} NOT NULL,
    delivery {ID} NOT NULL,
    n {I32} NOT NULL,
    attempt {I32} NOT NULL,
    at {I64} NOT NULL,
    message TEXT NOT NULL,
    PRIMARY KEY (tenant, delivery, n)
) {STRICT_KEYED};

-- What a run that a trigger made wrote back of itself; none until it did.
CREATE TABLE trigger_result (
    tenant {I64} NOT NULL,
    delivery {ID} NOT NULL,
    session_id TEXT,
    enriched TEXT,
    filter_result TEXT,
    analysis_result TEXT,
    PRIMARY KEY (tenant, delivery)
) {STRICT_KEYED};

-- What such a run did, in the order in which it said so; n counts from 1.
CREATE TABLE trigger_action (
    tenant {I64} NOT NULL,
    delivery {ID} NOT NULL,
    n {I32} NOT NULL,
    tool TEXT NOT NULL,
    status TEXT NOT NULL,
    input TEXT,
    output TEXT,
    error TEXT,
    started_at {I64},
    completed_at {I64},
    PRIMARY KEY (tenant, delivery, n)
) {STRICT_KEYED};

-- Keys that are taken: a rule's dedup key is held by a delivery, an event's identity by the event.
-- The scope (a rule's number; 0 for identities) is hashed into the key (domain/dedup.h). Outlives
-- the purge of both.
CREATE TABLE dedup (
    tenant {I64} NOT NULL,
    key {ID} NOT NULL,
    holder {ID} NOT NULL,
    taken_at {I64} NOT NULL,
    PRIMARY KEY (tenant, key)
) {STRICT_KEYED};

-- Which deliveries an event of cancelOn's kind calls off: the match values as a key, like dedup's.
CREATE TABLE recall (
    tenant {I64} NOT NULL,
    key {ID} NOT NULL,
    delivery {ID} NOT NULL,
    PRIMARY KEY (tenant, key, delivery)
) {STRICT_KEYED};
CREATE INDEX recall_delivery ON recall (tenant, delivery);

-- The way from the public id in a message back to the delivery that awaits an answer. Stays when
-- that has ended: answers come late.
CREATE TABLE awaiting (
    public_id TEXT NOT NULL PRIMARY KEY,
    tenant {I64} NOT NULL,
    delivery {ID} NOT NULL
) {STRICT_KEYED};

-- What a delivery was answered with; each is once. id is that of the event that told of it; answers
-- is a JSON object by question. Insert-only, and goes with its delivery.
CREATE TABLE response (
    tenant {I64} NOT NULL,
    id {ID} NOT NULL,
    delivery {ID} NOT NULL,
    survey TEXT NOT NULL,
    version {I64} NOT NULL,
    rule {I64} NOT NULL,
    completed_at {I64} NOT NULL,
    locale TEXT,
    agent_id TEXT,
    answers TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) {STRICT};
CREATE UNIQUE INDEX response_delivery ON response (tenant, delivery);
CREATE INDEX response_survey ON response (tenant, survey, id);

-- How often each answer was given on a day; see store/tally.h.
CREATE TABLE tally (
    tenant {I64} NOT NULL,
    survey TEXT NOT NULL,
    day {I64} NOT NULL,
    rule {I64} NOT NULL,
    version {I64} NOT NULL,
    question TEXT NOT NULL,
    value TEXT NOT NULL,
    writer {I64} NOT NULL,
    n {I64} NOT NULL,
    total {I64} NOT NULL,
    PRIMARY KEY (tenant, survey, day, rule, version, question, value, writer)
) {STRICT_KEYED} {QUEUE_STORAGE};
CREATE INDEX tally_writer ON tally (day) WHERE writer <> 0;
CREATE INDEX tally_response ON tally (tenant, survey, day) WHERE question = '';

-- How many deliveries stand where. Each writer has rows of its own: a shared row would hold its
-- lock through the fsync.
CREATE TABLE counter (
    writer {I64} NOT NULL,
    tenant {I64} NOT NULL,
    rule {I64} NOT NULL,
    lane {I64} NOT NULL,
    site {I64} NOT NULL,
    state {SMALL} NOT NULL,
    n {I64} NOT NULL,
    PRIMARY KEY (tenant, writer, rule, lane, site, state)
) {STRICT_KEYED} {QUEUE_STORAGE};

-- How many deliveries arrived in each minute of the last hour; each writer has rows of its own.
CREATE TABLE pace (
    minute {I64} NOT NULL,
    writer {I64} NOT NULL,
    tenant {I64} NOT NULL,
    rule {I64} NOT NULL,
    site {I64} NOT NULL,
    n {I64} NOT NULL,
    PRIMARY KEY (minute, tenant, writer, rule, site)
) {STRICT_KEYED} {QUEUE_STORAGE};

-- How many deliveries stood in each state at a minute; a row where that has changed.
CREATE TABLE sample (
    tenant {I64} NOT NULL,
    at {I64} NOT NULL,
    pending {I64} NOT NULL,
    sending {I64} NOT NULL,
    retrying {I64} NOT NULL,
    waiting {I64} NOT NULL,
    parked {I64} NOT NULL,
    delivered {I64} NOT NULL,
    completed {I64} NOT NULL,
    expired {I64} NOT NULL,
    cancelled {I64} NOT NULL,
    discarded {I64} NOT NULL,
    PRIMARY KEY (tenant, at)
) {STRICT_KEYED};
CREATE INDEX sample_age ON sample (at);

-- What a tenant's channels did in each minute (step 60) and hour (3600) from at on, packed
-- (src/domain/curve.h): a row for each process that did anything, which is its part.
CREATE TABLE curve (
    tenant {I64} NOT NULL,
    step {I32} NOT NULL,
    at {I64} NOT NULL,
    part {I64} NOT NULL,
    figures {BYTES} NOT NULL,
    PRIMARY KEY (tenant, step, at, part)
) {STRICT};
CREATE INDEX curve_age ON curve (at);

-- What each transaction did, packed (src/domain/fact.h), and the number by which a COMMIT whose
-- reply was lost is resolved. A row without a moment is a number that was given up.
CREATE TABLE journal (
    writer {I64} NOT NULL,
    n {I64} NOT NULL,
    at {I64},
    facts {BYTES},
    PRIMARY KEY (writer, n)
) {STRICT_KEYED};

-- Up to where each writer's rows have their numbers.
CREATE TABLE journal_seen (
    writer {I64} NOT NULL PRIMARY KEY,
    n {I64} NOT NULL
) {STRICT_KEYED} {QUEUE_STORAGE};

-- One order for all facts of a tenant, without a gap: which transaction's are numbered from where.
CREATE TABLE sequence (
    tenant {I64} NOT NULL,
    first {I64} NOT NULL,
    count {I64} NOT NULL,
    writer {I64} NOT NULL,
    n {I64} NOT NULL,
    PRIMARY KEY (tenant, first)
) {STRICT_KEYED};

-- What happened, told in entries that vouch for each other, a block of them a row
-- (src/domain/audit_block.h): first and seq are the numbers of its first and last entry, link is the
-- last one's. The addresses stand beside, a line each, and may be erased.
CREATE TABLE audit (
    tenant {I64} NOT NULL,
    seq {I64} NOT NULL,
    first {I64} NOT NULL,
    body {BYTES} NOT NULL,
    link {BYTES} NOT NULL,
    target TEXT,
    PRIMARY KEY (tenant, seq)
) {STRICT};

-- Rows that sites bring have ids of their own, and may come twice, or beside our own row of the same
-- notification: which fact was told under each.
CREATE TABLE audit_brought (
    tenant {I64} NOT NULL,
    event {ID} NOT NULL,
    number {I64} NOT NULL,
    PRIMARY KEY (tenant, event)
) {STRICT_KEYED};

-- How far a tenant's audit has come: told is the last number of its facts, number the last that was
-- sealed into the chain, seq and link the chain's head; what lies up to the anchor was purged. mended is
-- how far the sweep along it has come (src/store/audit_mend.h), mended_at when it goes on.
CREATE TABLE chain (
    tenant {I64} NOT NULL PRIMARY KEY,
    told {I64} NOT NULL,
    number {I64} NOT NULL,
    seq {I64} NOT NULL,
    link {BYTES} NOT NULL,
    anchor_seq {I64} NOT NULL,
    anchor_link {BYTES} NOT NULL,
    sealed_at {I64} NOT NULL,
    mended {I64} NOT NULL DEFAULT 0,
    mended_at {I64} NOT NULL DEFAULT 0
) {STRICT_KEYED} {QUEUE_STORAGE};
CREATE INDEX chain_behind ON chain (sealed_at) WHERE number < told;

-- Work that one node at a time does: who has it, and until when.
CREATE TABLE duty (
    name TEXT NOT NULL PRIMARY KEY,
    holder {I64} NOT NULL,
    until {I64} NOT NULL
) {STRICT_KEYED} {QUEUE_STORAGE};

-- How far the daily purge has come: its table there (src/store/purge.c), the tenant, the key behind
-- which it goes on, how many rows of that tenant and table are gone; and when it may go on.
CREATE TABLE purge (
    one {SMALL} NOT NULL PRIMARY KEY,
    walk {I64} NOT NULL,
    tenant {I64} NOT NULL,
    position {ID},
    gone {I64} NOT NULL,
    next_at {I64} NOT NULL
) {STRICT_KEYED} {QUEUE_STORAGE};
INSERT INTO purge (one, walk, tenant, position, gone, next_at) VALUES (1, 0, 0, NULL, 0, 0);

-- Who runs, and until when it was seen, in real time. is_over: it left, or its death is known.
CREATE TABLE node (
    node {I64} NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    started_at {I64} NOT NULL,
    seen_until {I64} NOT NULL,
    is_manual {SMALL} NOT NULL,
    is_over {SMALL} NOT NULL,
    has_left {SMALL} NOT NULL,
    version TEXT NOT NULL,
    beat_at {I64} NOT NULL,
    clock_offset {I64} NOT NULL,
    leases {I64} NOT NULL
) {STRICT};

-- What a POST with an Idempotency-Key was answered, written with its effect.
CREATE TABLE idempotency (
    tenant {I64} NOT NULL,
    key TEXT NOT NULL,
    request {BYTES} NOT NULL,
    status {I32} NOT NULL,
    body TEXT NOT NULL,
    created_at {I64} NOT NULL,
    PRIMARY KEY (tenant, key)
) {STRICT_KEYED};
CREATE INDEX idempotency_age ON idempotency (created_at);

-- A bulk action: counted, then carried out, in slices; position is the last delivery it came to,
-- sample the first few that one which is dry matched. One that is paused keeps its state.
-- One that verifies the audit has its place in the chain instead, the chain's head as it stood
-- outside, and the first bad row with what is wrong with it (domain/audit.h).
CREATE TABLE operation (
    tenant {I64} NOT NULL,
    id {ID} NOT NULL,
    action TEXT NOT NULL,
    filter TEXT NOT NULL,
    reason TEXT,
    actor {ID} NOT NULL,
    is_dry {SMALL} NOT NULL,
    matched {I64} NOT NULL,
    done {I64} NOT NULL,
    skipped {I64} NOT NULL,
    failed {I64} NOT NULL,
    state TEXT NOT NULL,
    is_paused {SMALL} NOT NULL,
    slices {I32} NOT NULL,
    position {ID} NOT NULL,
    sample {BYTES},
    created_at {I64} NOT NULL,
    finished_at {I64},
    chain_seq {I64},
    chain_link {BYTES},
    outside_seq {I64},
    outside_link {BYTES},
    problem {SMALL},
    bad {I64},
    PRIMARY KEY (tenant, id)
) {STRICT_KEYED};
CREATE INDEX operation_running ON operation (slices, created_at, id)
    WHERE is_paused = 0 AND state IN ('counting', 'running');

-- Rows of a file that become events for one trigger, in slices; see store/campaign.h. position and
-- line say how far it was read, work what is to be done: 1 rows to make, 2 pieces to drop, 0 nothing.
CREATE TABLE campaign (
    tenant {I64} NOT NULL,
    id {ID} NOT NULL,
    trigger_id TEXT NOT NULL,
    list TEXT,
    is_dry {SMALL} NOT NULL,
    actor {ID} NOT NULL,
    layout TEXT NOT NULL,
    state {SMALL} NOT NULL,
    work {SMALL} NOT NULL,
    slices {I32} NOT NULL,
    bytes {I64} NOT NULL,
    position {I64} NOT NULL,
    line {I64} NOT NULL,
    total {I64} NOT NULL,
    created {I64} NOT NULL,
    skipped {I64} NOT NULL,
    failed {I64} NOT NULL,
    created_at {I64} NOT NULL,
    touched_at {I64} NOT NULL,
    finished_at {I64},
    PRIMARY KEY (tenant, id)
) {STRICT_KEYED};
CREATE INDEX campaign_work ON campaign (slices, created_at, id) WHERE work <> 0;
CREATE INDEX campaign_uploading ON campaign (touched_at) WHERE state = 0;

-- What is still to be read of a campaign's file; place is that of a piece's first byte.
CREATE TABLE campaign_piece (
    tenant {I64} NOT NULL,
    campaign {ID} NOT NULL,
    place {I64} NOT NULL,
    body {BYTES} NOT NULL,
    PRIMARY KEY (tenant, campaign, place)
) {STRICT};

-- Rows of a campaign's file that became nothing, and why; the first of them.
CREATE TABLE campaign_failure (
    tenant {I64} NOT NULL,
    campaign {ID} NOT NULL,
    line {I64} NOT NULL,
    error TEXT NOT NULL,
    PRIMARY KEY (tenant, campaign, line)
) {STRICT_KEYED};
