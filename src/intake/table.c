#include "intake/table.h"

#include "base/log.h"
#include "store/duty.h"
#include "store/foreign.h"
#include "store/inbox.h"
#include "store/secret.h"
#include "store/source.h"
#include "store/tenant.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#define LEASE ((Span) 10 * SPAN_SECOND)
#define SOON (20 * SPAN_MILLISECOND) // while the drain is at what was put in
#define RETRY_MIN ((Span) SPAN_SECOND)
#define RETRY_MAX ((Span) SPAN_MINUTE)

enum { ROWS_MAX = INBOX_ROWS_MAX, BYTES_MAX = INBOX_BYTES_MAX };

struct Table {
    TableOptions options;
    Arena arena; // holds all that lasts, the password too: it is wiped
    int64_t tenant, version;
    int64_t to; // the tenant whose events its rows are; 0: not known yet
    Str id, body;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool is_stopping; // guarded by lock
    SourceTable config;
    Foreign *foreign; // NULL: not connected
    Span retry;       // how long the last failure waits; 0: it went well
};

// Turn is one look at the table.
typedef struct Turn {
    Table *table;
    Arena arena;
    bool is_ours; // the lease
    ForeignRow *rows;
    size_t count;
    Brought *brought;   // by row
    ForeignRow **taken; // those that are new, and fit
    size_t taken_count;
    size_t unsettled;  // rows that the drain has not come to
    bool is_undone;    // rows had ended, and not one could be marked
    Brought *replayed; // rows of turns before this one, that ended once more
    size_t replayed_count;
} Turn;

// find_tenant finds out whose events the rows are.
static Err find_tenant(Tx *tx, Table *table, Error *error)
{
    Tenant tenant = { .tenant = table->tenant };
    if (table->config.tenant.at)
        TRY(tenant_find(tx->db, &tx->arena, table->config.tenant, &tenant, error));
    table->to = tenant.tenant;
    return ERR_OK;
}

// find_replayed finds what the table is to be told once more.
static Err find_replayed(Tx *tx, Turn *turn, Error *error)
{
    const Table *table = turn->table;
    Brought *found;
    size_t count;
    TRY(source_replayed(tx, table->to, table->id, ROWS_MAX, &found, &count, error));
    turn->replayed = ARENA_ARRAY(&turn->arena, Brought, count + 1);
    turn->replayed_count = count;
    for (size_t i = 0; i < count; i++) {
        turn->replayed[i] = found[i];
        turn->replayed[i].external_id = str_dup(&turn->arena, found[i].external_id);
        turn->replayed[i].error = found[i].error.at ? str_dup(&turn->arena, found[i].error) : S("");
    }
    return ERR_OK;
}

static Err lease(Tx *tx, Turn *turn, Error *error)
{
    const Table *table = turn->table;
    Str name =
        str_format(&tx->arena, "source/%lld/%.*s", (long long) table->tenant, STR_ARG(table->id));
    Instant now = clock_now(table->options.real);
    turn->is_ours = str_starts(table->options.own, S("sqlite:")); // there is no other node
    if (turn->is_ours)
        return ERR_OK;
    return duty_lease_at(tx, name, table->options.node, now, now + LEASE, &turn->is_ours, error);
}

static Err look(Tx *tx, void *with, Error *error)
{
    Turn *turn = with;
    TRY(tx_sync(tx, error));
    TRY(source_look(tx, turn->brought, turn->count, error));
    for (size_t i = 0; i < turn->count; i++)
        if (turn->brought[i].error.at)
            turn->brought[i].error = str_dup(&turn->arena, turn->brought[i].error);
    return ERR_OK;
}

// begin finds out whether the turn is this node's, and what is left from others.
static Err begin(Tx *tx, void *with, Error *error)
{
    Turn *turn = with;
    TRY(tx_sync(tx, error));
    if (turn->table->to == 0)
        TRY(find_tenant(tx, turn->table, error));
    TRY(lease(tx, turn, error));
    return turn->is_ours ? find_replayed(tx, turn, error) : ERR_OK;
}

// is_too_large: a payload that no event could have is not even read. Written with spaces it may be
// longer than it will be.
static bool is_too_large(const Turn *turn, const ForeignRow *row)
{
    return row->size > 2 * (int64_t) turn->table->options.payload_max ||
           row->id.len > INBOX_EXTERNAL_MAX;
}

// choose takes what is new, as much of it as memory may hold.
static void choose(Turn *turn)
{
    int64_t bytes = BYTES_MAX;
    turn->taken = ARENA_ARRAY(&turn->arena, ForeignRow *, turn->count + 1);
    for (size_t i = 0; i < turn->count && bytes > 0; i++) {
        if (turn->brought[i].is_known || is_too_large(turn, &turn->rows[i]))
            continue;
        bytes -= turn->rows[i].size;
        turn->taken[turn->taken_count++] = &turn->rows[i];
    }
}

static int version_of(Str text)
{
    int64_t version = 0;
    (void) str_to_i64(text, 0, INT32_MAX, &version);
    return (int) version;
}

// row_of is what the inbox gets; ids are given in the order of the table.
static InboxRow row_of(Tx *tx, const Table *table, const ForeignRow *from)
{
    return (InboxRow){
        .tenant = table->to,
        .id = uuid_new(tx->now, tx->random),
        .source = table->id,
        .kind = INBOX_EVENT,
        .external_id = from->id,
        .event_kind = from->at[SOURCE_EVENT_TYPE],
        .entity = from->at[SOURCE_ENTITY],
        .topic = from->at[SOURCE_TOPIC],
        .correlation_id = from->at[SOURCE_CORRELATION_ID],
        .schema_version = version_of(from->at[SOURCE_SCHEMA_VERSION]),
        .body = from->at[SOURCE_PAYLOAD].at ? from->at[SOURCE_PAYLOAD] : S("null"),
        .next_at = INSTANT_NONE,
        .received_at = tx->now,
        .processed_at = INSTANT_NONE,
    };
}

// give_up makes of a row that cannot become an event one that has failed: it is on record, and a
// text that the store could not hold is left out.
static void give_up(InboxRow *row, Instant now, Str why)
{
    row->status = INBOX_FAILED;
    row->reason = INBOX_REASON_UNUSABLE;
    row->error = why;
    row->processed_at = now;
    row->event_kind = row->entity = row->topic = row->correlation_id = STR_NONE;
    row->body = S("null");
}

static bool is_storable(const InboxRow *row)
{
    const Str texts[] = { row->event_kind, row->entity, row->topic, row->correlation_id };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (texts[i].at && (texts[i].len > INBOX_EXTERNAL_MAX || !str_is_utf8(texts[i])))
            return false;
    return true;
}

// put puts new rows into the inbox.
static Err put(Tx *tx, void *with, Error *error)
{
    const Turn *turn = with;
    const Table *table = turn->table;
    InboxRow *rows = ARENA_ARRAY(&tx->arena, InboxRow, turn->taken_count + 1);
    size_t count = 0;
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < turn->taken_count; i++) {
        if (!turn->taken[i]->at[SOURCE_ID].at)
            continue; // it is gone meanwhile
        InboxRow *row = &rows[count++];
        *row = row_of(tx, table, turn->taken[i]);
        if (!is_storable(row))
            give_up(row, tx->now, S("a text is too long, or not UTF-8"));
    }
    inbox_put(tx, rows, count);
    return tx_sync(tx, error);
}

// check_found: an id that is a BLOB, or of a column without a type, is not found again by its text.
static Err check_found(const Turn *turn, Error *error)
{
    for (size_t i = 0; i < turn->taken_count; i++)
        if (turn->taken[i]->at[SOURCE_ID].at)
            return ERR_OK;
    return turn->taken_count == 0
               ? ERR_OK
               : fail(error, ERR_CONFLICT, "no row is found by its id: is it INTEGER or TEXT?");
}

// settle marks what has ended, and what could never be taken.
static Err settle(Turn *turn, Error *error)
{
    const ForeignRow **ended = ARENA_ARRAY(&turn->arena, const ForeignRow *, turn->count + 1);
    size_t count = 0;
    for (size_t i = 0; i < turn->count; i++) {
        ForeignRow *row = &turn->rows[i];
        const Brought *brought = &turn->brought[i];
        bool is_refused = is_too_large(turn, row);
        if (!is_refused && (!brought->is_known || brought->status == INBOX_PENDING)) {
            turn->unsettled++;
            continue;
        }
        row->is_failed = is_refused || brought->status == INBOX_FAILED;
        row->error = is_refused ? S("its payload or its id is too long") : brought->error;
        row->error = row->error.at ? row->error : S("");
        ended[count++] = row;
    }
    TRY(foreign_mark(turn->table->foreign, &turn->arena, ended, count, error));
    turn->is_undone = count > 0 && turn->table->foreign->marked == 0;
    return ERR_OK;
}

// retell marks what was replayed.
static Err retell(Turn *turn, Error *error)
{
    const ForeignRow **ended =
        ARENA_ARRAY(&turn->arena, const ForeignRow *, turn->replayed_count + 1);
    for (size_t i = 0; i < turn->replayed_count; i++) {
        const Brought *brought = &turn->replayed[i];
        ForeignRow *row = ARENA_NEW(&turn->arena, ForeignRow);
        *row = (ForeignRow){ .id = brought->external_id,
                             .is_failed = brought->status == INBOX_FAILED,
                             .error = brought->error };
        ended[i] = row;
    }
    return foreign_mark(turn->table->foreign, &turn->arena, ended, turn->replayed_count, error);
}

static Err forget_replayed(Tx *tx, void *with, Error *error)
{
    const Turn *turn = with;
    source_told(tx, turn->replayed, turn->replayed_count);
    return tx_sync(tx, error);
}

static void bring(Turn *turn)
{
    const Table *table = turn->table;
    turn->brought = ARENA_ARRAY(&turn->arena, Brought, turn->count + 1);
    for (size_t i = 0; i < turn->count; i++)
        turn->brought[i] =
            (Brought){ .tenant = table->to, .source = table->id, .external_id = turn->rows[i].id };
}

// check_marked: a trigger or a policy of the table may undo an update without a word. The same rows
// would come again at once, and no others.
static Err check_marked(const Turn *turn, Error *error)
{
    return turn->is_undone ? fail(error, ERR_CONFLICT,
                                  "no row could be marked: does a trigger or a policy of the table"
                                  " undo it?")
                           : ERR_OK;
}

// take does a turn.
static Err take(Turn *turn, Error *error)
{
    Table *table = turn->table;
    Writer *writer = table->options.writer;
    TRY(writer_run(writer, begin, turn, error));
    if (!turn->is_ours)
        return ERR_OK;
    if (!table->foreign)
        TRY(foreign_open(&turn->arena, &table->config, &table->foreign, error));
    TRY(foreign_list(table->foreign, &turn->arena, ROWS_MAX, &turn->rows, &turn->count, error));
    if (turn->count > 0) {
        bring(turn);
        TRY(writer_run(writer, look, turn, error));
        choose(turn);
        TRY(foreign_read(table->foreign, &turn->arena, turn->taken, turn->taken_count, error));
        TRY(check_found(turn, error));
        if (turn->taken_count > 0) {
            TRY(writer_run(writer, put, turn, error));
            table->options.put(table->options.with);
        }
        TRY(settle(turn, error));
    }
    TRY(retell(turn, error));
    TRY(foreign_end(table->foreign, error));
    // Only now: who dies before has it told again.
    if (turn->replayed_count > 0)
        TRY(writer_run(writer, forget_replayed, turn, error));
    return check_marked(turn, error);
}

// failed backs off, and tells of the first failure in a row.
static Span failed(Table *table, const Error *error)
{
    if (table->retry == 0)
        log_warn("source.fails", "source=%s detail=%s", log_quote(table->id),
                 log_quote(str_from(error->detail)));
    foreign_close(table->foreign);
    table->foreign = NULL;
    table->retry = table->retry * 2 < RETRY_MIN ? RETRY_MIN : table->retry * 2;
    table->retry = table->retry > RETRY_MAX ? RETRY_MAX : table->retry;
    return table->retry;
}

// work does a turn and says how long to wait for the next.
static Span work(Table *table)
{
    Turn turn = { .table = table };
    Error error = { 0 };
    Err err = take(&turn, &error);
    size_t unsettled = turn.unsettled, count = turn.count;
    arena_wipe(&turn.arena);
    if (err != ERR_OK)
        return failed(table, &error);
    if (table->retry > 0)
        log_info("source.back", "source=%s", log_quote(table->id));
    table->retry = 0;
    if (unsettled > 0)
        return SOON;
    return count == ROWS_MAX ? 0 : table->config.poll_every;
}

static bool pauses(Table *table, Span span)
{
    Instant due = clock_machine_monotonic() + span;
    struct timespec until = { .tv_sec = due / SPAN_SECOND,
                              .tv_nsec = (long) (due % SPAN_SECOND * 1000) };
    pthread_mutex_lock(&table->lock);
    int waited = 0;
    while (!table->is_stopping && waited == 0)
        waited = pthread_cond_timedwait(&table->wake, &table->lock, &until);
    bool goes_on = !table->is_stopping;
    pthread_mutex_unlock(&table->lock);
    return goes_on;
}

// file_of is a path as the file system knows it; none where there is no such file.
static Str file_of(Arena *arena, Str path)
{
    char found[PATH_MAX];
    return realpath(str_z(arena, path), found) ? str_dup(arena, str_from(found)) : STR_NONE;
}

const char *table_file_problem(Arena *arena, Str store, Str folder, Str own)
{
    Str prefix = S("sqlite:");
    if (!folder.at)
        return "files may be sources only where --table-source-dir names their folder";
    Str below = file_of(arena, folder), file = file_of(arena, str_skip(store, prefix.len));
    if (!below.at || !file.at)
        return "there is no such file";
    if (!str_starts(file, str_format(arena, "%.*s/", STR_ARG(below))))
        return "the file does not lie below --table-source-dir";
    Str mine = str_starts(own, prefix) ? file_of(arena, str_skip(own, prefix.len)) : STR_NONE;
    return mine.at && str_eq(mine, file) ? "this is Peal's own store" : NULL;
}

// configure opens the definition's secrets; a source that is disabled, or cannot be, takes nothing.
static Err configure(Table *table, bool *ret_works, Error *error)
{
    SourceDefinition definition;
    const Json *body, *config;
    SecretOwner owner = { S("source"), table->tenant, table->id };
    TRY(json_parse(&table->arena, table->body, &body, error));
    TRY(source_compile(&table->arena, body, &definition, error));
    *ret_works = definition.enabled;
    TRY(secret_open(&table->arena, table->options.ring, &owner, definition.config, &config, error));
    TRY(source_table(&table->arena, config, &table->config, error));
    if (!source_is_file(&table->config))
        return ERR_OK;
    const char *problem = table_file_problem(&table->arena, table->config.store,
                                             table->options.folder, table->options.own);
    if (problem)
        return fail(error, ERR_CONFLICT, "%s", problem);
    // The file that was looked at is the file that is opened: its path holds no link any more.
    Str path = file_of(&table->arena, str_skip(table->config.store, strlen("sqlite:")));
    table->config.store = str_format(&table->arena, "sqlite:%.*s", STR_ARG(path));
    return ERR_OK;
}

static void *table_main(void *with)
{
    Table *table = with;
    Error error = { 0 };
    bool works = false;
    Err err = configure(table, &works, &error);
    while (err != ERR_OK && pauses(table, failed(table, &error)))
        err = configure(table, &works, &error);
    for (Span wait = 0; works && err == ERR_OK && pauses(table, wait);)
        wait = work(table);
    foreign_close(table->foreign);
    return NULL;
}

Table *table_start(const TableOptions *options, int64_t tenant, Str id, int64_t version, Str body)
{
    Table *table = memory_new(sizeof *table);
    table->options = *options;
    table->tenant = tenant;
    table->version = version;
    table->id = str_dup(&table->arena, id);
    table->body = str_dup(&table->arena, body);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&table->lock, NULL);
    pthread_cond_init(&table->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&table->thread, NULL, table_main, table) != 0)
        abort();
    return table;
}

bool table_is(const Table *table, int64_t tenant, Str id, int64_t version)
{
    return table->tenant == tenant && table->version == version && str_eq(table->id, id);
}

void table_stop(Table *table)
{
    pthread_mutex_lock(&table->lock);
    table->is_stopping = true;
    pthread_cond_signal(&table->wake);
    pthread_mutex_unlock(&table->lock);
}

void table_free(Table *table)
{
    pthread_join(table->thread, NULL);
    pthread_mutex_destroy(&table->lock);
    pthread_cond_destroy(&table->wake);
    arena_wipe(&table->arena);
    free(table);
}
