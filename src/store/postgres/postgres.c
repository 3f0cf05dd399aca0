#include "store/db.h"

#include "base/log.h"
#include "store/postgres/copy.h"
#include "store/postgres/settings.h"

#include <endian.h>

// The store on PostgreSQL: binary parameters, prepared statements, everything pipelined between
// two syncs. The tables are looked for in schema peal and nowhere else: the same names in another
// schema are somebody else's.
//
// Plans that read whole tables are switched off (settings.c).

enum { PREPARED_SLOTS = 512, PARAMS_MAX = 32 };

enum {
    OID_BOOL = 16,
    OID_BYTEA = 17,
    OID_INT8 = 20,
    OID_INT2 = 21,
    OID_INT4 = 23,
    OID_TEXT = 25,
    OID_VARCHAR = 1043,
    OID_UUID = 2950
};
enum {
    OID_BYTEA_ARRAY = 1001,
    OID_TEXT_ARRAY = 1009,
    OID_INT8_ARRAY = 1016,
    OID_UUID_ARRAY = 2951
};

// Expected is one result that the server owes us.
typedef struct Expected {
    const Statement *statement; // NULL for BEGIN and COMMIT
    size_t prepares;            // slot + 1 when this is the answer to a Parse
    Arena *arena;
    Rows *rows;     // may be NULL
    size_t ceiling; // of their bytes; 0: none
} Expected;

typedef struct PostgresDb {
    Db db;
    PGconn *conn;
    bool is_reader;
    Arena scratch; // parameters of one send
    const Statement *prepared[PREPARED_SLOTS];
    bool is_prepared[PREPARED_SLOTS];
    Expected *expected;
    size_t expected_count, expected_room;
    Err failed; // sticky until the sync
    Error failure;
} PostgresDb;

static void note(PostgresDb *self, Err err, const char *what, const char *message)
{
    if (self->failed == ERR_OK)
        self->failed = fail(&self->failure, err, "%s: %.*s", what,
                            STR_ARG(str_trim((Str){ message, strcspn(message, "\n") })));
}

static void note_lost(PostgresDb *self, const char *what)
{
    self->db.is_broken = true;
    note(self, ERR_UNAVAILABLE, what, PQerrorMessage(self->conn));
}

// err_of_state reads the SQLSTATE classes that mean something to us.
static Err err_of_state(const char *state)
{
    static const struct {
        const char *prefix;
        Err err;
    } classes[] = {
        { "53100", ERR_DISK_FULL },   { "40001", ERR_BUSY },        { "40P01", ERR_BUSY },
        { "55P03", ERR_BUSY },        { "57014", ERR_BUSY },        { "23505", ERR_BUSY },
        { "08", ERR_UNAVAILABLE },    { "57P", ERR_UNAVAILABLE },   { "53", ERR_UNAVAILABLE },
        { "25006", ERR_UNAVAILABLE }, { "25P03", ERR_UNAVAILABLE }, { "XX001", ERR_CORRUPT },
        { "XX002", ERR_CORRUPT },
    };
    if (!state)
        return ERR_UNAVAILABLE;
    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        if (strncmp(state, classes[i].prefix, strlen(classes[i].prefix)) == 0)
            return classes[i].err;
    return ERR_INTERNAL;
}

static bool is_time_out(const char *state)
{
    return state && (strcmp(state, "55P03") == 0 || strcmp(state, "57014") == 0);
}

static bool fault(PostgresDb *self, const char *call)
{
    if (!self->db.fault || self->db.fault(self->db.fault_with, call) == 0)
        return false;
    note(self, ERR_UNAVAILABLE, call, "injected fault");
    return true;
}

static Expected *expect(PostgresDb *self)
{
    if (self->expected_count == self->expected_room) {
        self->expected_room = self->expected_room ? self->expected_room * 2 : 32;
        self->expected = memory_grow(self->expected, self->expected_room * sizeof(Expected));
    }
    Expected *expected = &self->expected[self->expected_count++];
    *expected = (Expected){ 0 };
    return expected;
}

static Oid param_oid(char letter, bool many)
{
    switch (letter) {
    case 'i':
        return many ? OID_INT8_ARRAY : OID_INT8;
    case 't':
        return many ? OID_TEXT_ARRAY : OID_TEXT;
    case 'b':
        return many ? OID_BYTEA_ARRAY : OID_BYTEA;
    default:
        assert(letter == 'u');
        return many ? OID_UUID_ARRAY : OID_UUID;
    }
}

// prepare makes sure that the connection knows the statement and returns its slot.
static size_t prepare(PostgresDb *self, const Statement *statement)
{
    size_t at = ((uintptr_t) statement / sizeof(void *)) * 0x9e3779b97f4a7c15u % PREPARED_SLOTS;
    while (self->prepared[at] && self->prepared[at] != statement)
        at = (at + 1) % PREPARED_SLOTS;
    if (self->prepared[at] == statement && self->is_prepared[at])
        return at;

    Oid oids[PARAMS_MAX];
    int count = 0;
    for (; statement->params[count]; count++)
        oids[count] = param_oid(statement->params[count], statement->many);
    const char *sql = statement->postgres ? statement->postgres : statement->sql;
    self->prepared[at] = statement;
    if (!PQsendPrepare(self->conn, statement->name, sql, count, oids)) {
        note_lost(self, statement->name);
        return at;
    }
    Expected *expected = expect(self);
    expected->statement = statement;
    expected->prepares = at + 1;
    // Taken as done: if the server refuses, the answer to this Parse says so and unmarks it.
    self->is_prepared[at] = true;
    return at;
}

static size_t value_size(const Value *value)
{
    if (value->type == VALUE_NULL)
        return 0;
    return value->type == VALUE_I64 ? sizeof(int64_t) : value->str.len;
}

static char *put_u32(char *at, uint32_t n)
{
    n = htobe32(n);
    memcpy(at, &n, sizeof n);
    return at + sizeof n;
}

static char *put_value(char *at, const Value *value)
{
    if (value->type == VALUE_I64) {
        uint64_t n = htobe64((uint64_t) value->i64);
        memcpy(at, &n, sizeof n);
    } else if (value->type != VALUE_NULL && value->str.len) {
        memcpy(at, value->str.at, value->str.len);
    }
    return at + value_size(value);
}

// array_of writes one parameter of every row as a PostgreSQL array in binary.
static Str array_of(Arena *arena, const Value *values, size_t stride, size_t row_count, Oid element)
{
    size_t size = 20;
    bool has_null = false;
    for (size_t row = 0; row < row_count; row++) {
        size += 4 + value_size(&values[row * stride]);
        has_null |= values[row * stride].type == VALUE_NULL;
    }
    char *start = arena_alloc(arena, size), *at = start;
    at = put_u32(at, 1);
    at = put_u32(at, has_null);
    at = put_u32(at, element);
    at = put_u32(at, (uint32_t) row_count);
    at = put_u32(at, 1);
    for (size_t row = 0; row < row_count; row++) {
        const Value *value = &values[row * stride];
        at = put_u32(at, value->type == VALUE_NULL ? UINT32_MAX : (uint32_t) value_size(value));
        at = put_value(at, value);
    }
    return (Str){ start, size };
}

static void send(Db *db, Arena *arena, const Statement *statement, const Value *values,
                 size_t row_count, Rows *ret)
{
    PostgresDb *self = (PostgresDb *) db;
    if (ret)
        *ret = (Rows){ 0 };
    if (self->failed != ERR_OK || fault(self, statement->name))
        return;
    prepare(self, statement);

    const char *at[PARAMS_MAX];
    int lengths[PARAMS_MAX], formats[PARAMS_MAX];
    size_t count = strlen(statement->params);
    arena_reset(&self->scratch);
    for (size_t p = 0; p < count; p++) {
        Str encoded;
        formats[p] = 1;
        if (statement->many) {
            encoded = array_of(&self->scratch, values + p, count, row_count,
                               param_oid(statement->params[p], false));
        } else if (values[p].type == VALUE_NULL) {
            encoded = STR_NONE;
        } else {
            char *bytes = arena_alloc(&self->scratch, value_size(&values[p]) + 1);
            put_value(bytes, &values[p]);
            encoded = (Str){ bytes, value_size(&values[p]) };
        }
        at[p] = encoded.at;
        lengths[p] = (int) encoded.len;
    }
    if (!PQsendQueryPrepared(self->conn, statement->name, (int) count, at, lengths, formats, 1)) {
        note_lost(self, statement->name);
        return;
    }
    Expected *expected = expect(self);
    expected->statement = statement;
    expected->arena = arena;
    expected->rows = ret;
    expected->ceiling = ret ? db->ceiling : 0;
}

static int64_t get_int(const char *at, int len)
{
    if (len == 8) {
        uint64_t n;
        memcpy(&n, at, sizeof n);
        return (int64_t) be64toh(n);
    }
    if (len == 4) {
        uint32_t n;
        memcpy(&n, at, sizeof n);
        return (int32_t) be32toh(n);
    }
    if (len == 2) {
        uint16_t n;
        memcpy(&n, at, sizeof n);
        return (int16_t) be16toh(n);
    }
    return *at;
}

static Value cell(const PGresult *result, int row, int column, Oid type, Arena *arena)
{
    if (PQgetisnull(result, row, column))
        return value_null();
    const char *at = PQgetvalue(result, row, column);
    int len = PQgetlength(result, row, column);
    switch (type) {
    case OID_BOOL:
    case OID_INT2:
    case OID_INT4:
    case OID_INT8:
        return value_i64(get_int(at, len));
    case OID_BYTEA:
    case OID_UUID:
        return value_bytes(str_dup(arena, (Str){ at, (size_t) len }));
    default:
        assert(type == OID_TEXT || type == OID_VARCHAR);
        return value_text(str_dup(arena, (Str){ at, (size_t) len }));
    }
}

static void take_rows(PGresult *result, const Expected *expected)
{
    Rows *rows = expected->rows;
    Str changed = str_from(PQcmdTuples(result));
    rows->changed = 0;
    (void) str_to_i64(changed, 0, INT64_MAX, &rows->changed);
    rows->count = (size_t) PQntuples(result);
    rows->columns = (size_t) PQnfields(result);
    if (rows->count == 0)
        return;
    Value *values = ARENA_ARRAY(expected->arena, Value, rows->count * rows->columns);
    for (size_t c = 0; c < rows->columns; c++) {
        Oid type = PQftype(result, (int) c);
        for (size_t r = 0; r < rows->count; r++)
            values[r * rows->columns + c] = cell(result, (int) r, (int) c, type, expected->arena);
    }
    rows->values = values;
}

// Taking is rows that come one at a time, of which those beyond the ceiling are dropped.
typedef struct Taking {
    const Expected *expected;
    size_t bytes, room;
    Value *values;
} Taking;

static size_t row_bytes(const PGresult *result)
{
    size_t bytes = 0;
    for (int c = 0; c < PQnfields(result); c++)
        bytes += (size_t) PQgetlength(result, 0, c);
    return bytes;
}

static void take_one(Taking *taking, const PGresult *result)
{
    Rows *rows = taking->expected->rows;
    Arena *arena = taking->expected->arena;
    taking->bytes += row_bytes(result);
    rows->is_cut |= rows->count > 0 && taking->bytes > taking->expected->ceiling;
    if (rows->is_cut)
        return;
    rows->columns = (size_t) PQnfields(result);
    if (rows->count == taking->room) {
        size_t room = taking->room ? taking->room * 2 : 8;
        taking->values =
            arena_grow(arena, taking->values, taking->room * rows->columns * sizeof(Value),
                       room * rows->columns * sizeof(Value));
        taking->room = room;
    }
    for (size_t c = 0; c < rows->columns; c++)
        taking->values[rows->count * rows->columns + c] =
            cell(result, 0, (int) c, PQftype(result, (int) c), arena);
    rows->count++;
    rows->values = taking->values;
}

// take_page reads the rows of a bounded statement one by one, and returns the result that ends
// them; NULL where the connection was lost.
static PGresult *take_page(PostgresDb *self, const Expected *expected)
{
    Taking taking = { .expected = expected };
    *expected->rows = (Rows){ 0 };
    if (!PQsetSingleRowMode(self->conn))
        note(self, ERR_INTERNAL, expected->statement->name, "rows cannot be read one by one");
    PGresult *result = PQgetResult(self->conn);
    while (result && PQresultStatus(result) == PGRES_SINGLE_TUPLE) {
        take_one(&taking, result);
        PQclear(result);
        result = PQgetResult(self->conn);
    }
    return result;
}

static void take_result(PostgresDb *self, PGresult *result, const Expected *expected)
{
    const char *name = expected->statement ? expected->statement->name : "transaction";
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
        if (expected->rows && !expected->ceiling)
            take_rows(result, expected);
        return;
    }
    if (expected->prepares)
        self->is_prepared[expected->prepares - 1] = false;
    if (status == PGRES_PIPELINE_ABORTED) {
        note(self, ERR_INTERNAL, name, "skipped after an earlier failure");
        return;
    }
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    Err err = err_of_state(state);
    self->db.has_timed_out |= is_time_out(state);
    self->db.has_clashed |= state && strcmp(state, "23505") == 0;
    if (err == ERR_UNAVAILABLE)
        self->db.is_broken = true;
    note(self, err, name, PQresultErrorMessage(result));
}

// drain reads what the server owes up to the sync point.
static void drain(PostgresDb *self)
{
    for (size_t i = 0; i < self->expected_count && !self->db.is_broken; i++) {
        const Expected *expected = &self->expected[i];
        PGresult *result = expected->ceiling ? take_page(self, expected) : PQgetResult(self->conn);
        if (!result) {
            note_lost(self, "result");
            break;
        }
        take_result(self, result, expected);
        PQclear(result);
        while ((result = PQgetResult(self->conn)) != NULL)
            PQclear(result);
    }
    self->expected_count = 0;
    if (self->db.is_broken)
        return;
    PGresult *result = PQgetResult(self->conn);
    if (!result || PQresultStatus(result) != PGRES_PIPELINE_SYNC)
        note_lost(self, "sync");
    PQclear(result);
}

static Err sync(Db *db, Error *error)
{
    PostgresDb *self = (PostgresDb *) db;
    bool is_lost =
        fault(self, "sync"); // tests: the connection ends once everything was handed over
    if (db->is_broken)
        note(self, ERR_UNAVAILABLE, "sync", "the connection is lost");
    else if (!PQpipelineSync(self->conn))
        note_lost(self, "sync");
    else if (is_lost)
        db->is_broken = true;
    else
        drain(self);
    Err err = self->failed;
    if (err != ERR_OK)
        fail(error, err, "%s", self->failure.detail);
    self->failed = ERR_OK;
    return err;
}

static void send_plain(PostgresDb *self, const char *sql)
{
    if (self->failed != ERR_OK || fault(self, sql))
        return;
    if (!PQsendQueryParams(self->conn, sql, 0, NULL, NULL, NULL, NULL, 1))
        note_lost(self, sql);
    else
        expect(self);
}

static void begin(Db *db)
{
    PostgresDb *self = (PostgresDb *) db;
    db->commit_unknown = db->has_timed_out = db->has_clashed = false;
    send_plain(self, self->is_reader ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" : "BEGIN");
}

static void rollback(Db *db)
{
    PostgresDb *self = (PostgresDb *) db;
    if (db->is_broken)
        return;
    // What was sent and not yet answered must be read first, whatever it says.
    if (self->expected_count > 0)
        (void) !sync(db, NULL);
    self->failed = ERR_OK;
    if (!db->is_broken && PQtransactionStatus(self->conn) != PQTRANS_IDLE) {
        void *with = db->fault_with;
        int (*saved)(void *, const char *) = db->fault;
        db->fault = NULL; // a failing rollback is a lost connection; tests inject that elsewhere
        send_plain(self, "ROLLBACK");
        if (sync(db, NULL) != ERR_OK)
            db->is_broken = true;
        db->fault = saved;
        db->fault_with = with;
    }
}

static Err commit(Db *db, Error *error)
{
    PostgresDb *self = (PostgresDb *) db;
    if (self->failed == ERR_OK)
        send_plain(self, "COMMIT");
    bool sent = self->failed == ERR_OK;
    Err err = sync(db, error);
    if (err == ERR_OK)
        return ERR_OK;
    // Once COMMIT was handed over, a lost connection leaves the outcome open.
    db->commit_unknown = sent && db->is_broken;
    rollback(db);
    return err;
}

static Err script(Db *db, Str sql, Error *error)
{
    PostgresDb *self = (PostgresDb *) db;
    DEFER(arena_done) Arena arena = { 0 };
    PQexitPipelineMode(self->conn); // several statements in one text need the simple protocol
    PGresult *result = PQexec(self->conn, str_z(&arena, sql));
    Err err = ERR_OK;
    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
        err = fail(error, err_of_state(PQresultErrorField(result, PG_DIAG_SQLSTATE)), "%s",
                   PQresultErrorMessage(result));
    PQclear(result);
    PQenterPipelineMode(self->conn);
    return err;
}

// place names all hosts that were configured, not the one that answered: a failover is no move.
static Str place(Db *db, Arena *arena)
{
    static const char *const parts[] = { "host", "hostaddr", "port", "dbname" };
    PQconninfoOption *options = PQconninfo(((PostgresDb *) db)->conn);
    Str text = S("");
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        for (const PQconninfoOption *one = options; one && one->keyword; one++)
            if (strcmp(one->keyword, parts[i]) == 0 && one->val)
                text = str_format(arena, "%.*s%s%s=%s", STR_ARG(text), text.len ? " " : "",
                                  parts[i], one->val);
    PQconninfoFree(options);
    return text;
}

static void close_db(Db *db)
{
    PostgresDb *self = (PostgresDb *) db;
    PQfinish(self->conn);
    arena_done(&self->scratch);
    free(self->expected);
    free(self);
}

static Err open_db(Arena *scratch, const DbOptions *options, Db **ret, Error *error)
{
    PostgresDb *self = memory_new(sizeof *self);
    self->db.driver = &postgres_driver;
    self->is_reader = options->is_reader;
    Err err =
        settings_connect(scratch, options->url, options->is_reader,
                         options->is_reader ? S("reader") : options->name, &self->conn, error);
    if (err != ERR_OK) {
        close_db(&self->db);
        return err;
    }
    // In any other encoding there are texts that cannot be stored: one answer of a receiver with
    // such a letter would fail its settle for ever.
    const char *encoding = PQparameterStatus(self->conn, "server_encoding");
    if (!encoding || strcmp(encoding, "UTF8") != 0) {
        fail(error, ERR_SETUP, "the database's encoding is %s; Peal needs one in UTF8",
             encoding ? encoding : "unknown");
        close_db(&self->db);
        return ERR_SETUP;
    }
    PQenterPipelineMode(self->conn);
    *ret = &self->db;
    return ERR_OK;
}

const DbDriver postgres_driver = {
    .name = "postgres",
    .open = open_db,
    .close = close_db,
    .begin = begin,
    .send = send,
    .sync = sync,
    .commit = commit,
    .rollback = rollback,
    .script = script,
    .place = place,
    .copy = postgres_copy,
};
