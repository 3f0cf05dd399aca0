#include "store/postgres/settings.h"

#include "store/db.h"

// Joins are written in the order in which they are to be read. Left to itself the planner turns
// them around on tables that were never analyzed, and multiplies events by deliveries. Every
// statement looks rows up by an index: a plan that was made while a table was small, or for a value
// that most rows have, must not read all of it when it holds a million. Nor is a process started
// for a statement: that takes ten milliseconds, and a few rows are all that any of them wants.
#define PLAN_SETTINGS                                                                              \
    " -c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_hashjoin=off"          \
    " -c enable_mergejoin=off -c enable_bitmapscan=off -c jit=off -c join_collapse_limit=1"        \
    " -c from_collapse_limit=1 -c max_parallel_workers_per_gather=0"

static const char writer_settings[] =
    "-c search_path=peal -c synchronous_commit=on" PLAN_SETTINGS
    " -c statement_timeout=30s -c lock_timeout=" MACRO_TEXT(
        DB_LOCK_SECONDS) "s -c idle_in_transaction_session_timeout=10s";
static const char reader_settings[] =
    "-c search_path=peal" PLAN_SETTINGS " -c statement_timeout=" MACRO_TEXT(
        DB_READ_SECONDS) "s -c idle_in_transaction_session_timeout=10s"
                         " -c default_transaction_read_only=on";

// options_of returns the `options` of a URL; none also where it cannot be read: connecting says so.
static Str options_of(Arena *arena, const char *url)
{
    Str options = STR_NONE;
    PQconninfoOption *parsed = PQconninfoParse(url, NULL);
    for (const PQconninfoOption *one = parsed; one && one->keyword; one++)
        if (strcmp(one->keyword, "options") == 0 && one->val)
            options = str_dup(arena, str_from(one->val));
    PQconninfoFree(parsed);
    return options;
}

static char plain(char c)
{
    return c == '-' ? '_' : str_lower_char(c); // --search-path= is another way to write it
}

// sets says whether the options give the named setting a value.
static bool sets(Str options, Str name)
{
    for (size_t from = 0; from + name.len < options.len; from++) {
        size_t same = 0;
        while (same < name.len && plain(options.at[from + same]) == name.at[same])
            same++;
        if (same == name.len && options.at[from + same] == '=')
            return true;
    }
    return false;
}

// clash returns the first of our settings that the options have too; none.
static Str clash(const char *ours, Str options)
{
    for (const char *at = ours; (at = strstr(at, "-c "));) {
        at += 3;
        Str name = { at, strcspn(at, "=") };
        if (sets(options, name))
            return name;
    }
    return STR_NONE;
}

// settings_for returns the value of libpq's `options` for a connection.
static Err settings_for(Arena *arena, const char *url, bool is_reader, const char **ret,
                        Error *error)
{
    const char *ours = is_reader ? reader_settings : writer_settings;
    Str options = options_of(arena, url);
    Str twice = clash(ours, options);
    if (twice.at)
        return fail(error, ERR_SETUP,
                    "the store's URL sets %.*s in its options, but Peal sets that itself; leave it "
                    "out",
                    STR_ARG(twice));
    *ret = options.len ? str_format(arena, "%.*s %s", STR_ARG(options), ours).at : ours;
    return ERR_OK;
}

static void ignore_notice(void *with, const char *message)
{
    (void) with;
    (void) message;
}

// prefer_lz4 has what is long packed by LZ4, where the server can and nobody chose otherwise: its
// own pglz takes longer for an event of 2 KiB than all else that becomes of its row. Whatever has
// no LZ4 goes on as it is, and a connection that broke just now says so when it is used.
static void prefer_lz4(PGconn *conn)
{
    PQclear(PQexec(conn, "SELECT set_config(name, 'lz4', false) FROM pg_settings"
                         " WHERE name = 'default_toast_compression' AND source = 'default'"
                         " AND 'lz4' = ANY (enumvals)"));
}

Err settings_connect(Arena *scratch, Str url, bool is_reader, Str name, PGconn **ret, Error *error)
{
    const char *url_z = str_z(scratch, url), *settings;
    TRY(settings_for(scratch, url_z, is_reader, &settings, error));
    const char *keys[] = { "dbname",
                           "application_name",
                           "connect_timeout",
                           "client_encoding",
                           "options",
                           "tcp_user_timeout",
                           NULL };
    const char *values[] = { url_z,    str_format(scratch, "peal %.*s", STR_ARG(name)).at,
                             "5",      "UTF8",
                             settings, "10000",
                             NULL };
    PGconn *conn = PQconnectdbParams(keys, values, 1);
    if (PQstatus(conn) != CONNECTION_OK) {
        const char *message = PQerrorMessage(conn);
        fail(error, ERR_UNAVAILABLE, "cannot connect to PostgreSQL: %.*s",
             (int) strcspn(message, "\n"), message);
        PQfinish(conn);
        return ERR_UNAVAILABLE;
    }
    PQsetNoticeProcessor(conn, ignore_notice, NULL);
    if (!is_reader)
        prefer_lz4(conn);
    *ret = conn;
    return ERR_OK;
}
