#include "app/doctor.h"

#include "cli/output.h"
#include "base/clock.h"
#include "store/meta.h"
#include "store/migrate.h"
#include "store/node.h"

#include <stdarg.h>

typedef enum Finding { FINDING_OK, FINDING_WARN, FINDING_FAIL } Finding;

static const char *const finding_texts[] = { "ok  ", "warn", "FAIL" };

static Finding say(Finding finding, const char *format, ...) PRINTF(2, 3);

static Finding say(Finding finding, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("%s  ", finding_texts[finding]);
    vprintf(format, args);
    printf("\n");
    va_end(args);
    return finding;
}

static Finding worse(Finding a, Finding b)
{
    return a > b ? a : b;
}

static const Statement settings = {
    .name = "doctor_settings",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT 'integrity', integrity_check FROM pragma_integrity_check(10)",
    .postgres = "SELECT name, setting FROM pg_settings WHERE name IN"
                " ('fsync', 'full_page_writes', 'synchronous_commit')",
};

// check_promises looks at what durability hangs on.
static Finding check_promises(Db *db, Arena *arena)
{
    Rows rows;
    Error error = { 0 };
    Finding worst = FINDING_OK;
    if (db_query(db, arena, &settings, NULL, &rows, &error) != ERR_OK)
        return say(FINDING_FAIL, "cannot read the settings: %s", error.detail);
    for (size_t i = 0; i < rows.count; i++) {
        Str name = value_to_str(&rows_at(&rows, i)[0]), is = value_to_str(&rows_at(&rows, i)[1]);
        bool is_fine = db_is_postgres(db) ? !str_eq(is, S("off")) : str_eq(is, S("ok"));
        worst = worse(worst, say(is_fine ? FINDING_OK : FINDING_FAIL, "%.*s: %.*s", STR_ARG(name),
                                 STR_ARG(is)));
    }
    return worst;
}

static Finding check_schema(Db *db)
{
    int pending;
    Error error = { 0 };
    if (migrate_pending(db, &pending, &error) != ERR_OK)
        return say(FINDING_FAIL, "schema: %s", error.detail);
    if (pending > 0)
        return say(FINDING_WARN, "schema: %d migrations are missing; `peal migrate` applies them",
                   pending);
    return say(FINDING_OK, "schema: up to date (%d)", migrations[migration_count - 1].number);
}

static Finding check_hold(Db *db, Arena *arena, const Config *config)
{
    Str hold, inside, outside;
    Error error = { 0 };
    if (meta_get(db, arena, META_HOLD, &hold, &error) != ERR_OK ||
        meta_get(db, arena, META_IDENTITY, &inside, &error) != ERR_OK ||
        meta_identity(db, config->store, arena, &outside, &error) != ERR_OK)
        return say(FINDING_FAIL, "hold: %s", error.detail);
    if (hold.at)
        return say(FINDING_WARN, "held: %.*s", STR_ARG(hold));
    if (inside.at && !str_eq(inside, outside))
        return say(FINDING_WARN, "this database is a copy: Peal will start held");
    return say(FINDING_OK, "not held");
}

static Finding check_clock(Db *db)
{
    Clock real;
    Span offset;
    Error error = { 0 };
    clock_init_system(&real);
    if (node_offset(db, &real, &offset, &error) != ERR_OK)
        return say(FINDING_FAIL, "clock: %s", error.detail);
    Span away = offset < 0 ? -offset : offset;
    return say(away > 2 * SPAN_SECOND ? FINDING_WARN : FINDING_OK,
               "clock: %lld ms from the database's", (long long) (offset / SPAN_MILLISECOND));
}

int doctor_run(Arena *arena, const Config *config)
{
    Db *db;
    Error error = { 0 };
    if (db_open(&(DbOptions){ .url = config->store, .is_reader = true }, &db, &error) != ERR_OK) {
        say(FINDING_FAIL, "store: %s", error.detail);
        return err_exit(error.err);
    }
    Finding worst = say(FINDING_OK, "store: %s answers", db->driver->name);
    worst = worse(worst, check_schema(db));
    worst = worse(worst, check_promises(db, arena));
    worst = worse(worst, check_hold(db, arena, config));
    worst = worse(worst, check_clock(db));
    KeyRing ring = { 0 };
    worst = worse(worst, config_keys(arena, config, &ring, &error) == ERR_OK
                             ? say(FINDING_OK, "master key: %zu", ring.count)
                             : say(FINDING_FAIL, "master key: %s", error.detail));
    crypto_wipe(&ring, sizeof ring);
    db_close(db);
    return worst == FINDING_FAIL ? EXIT_FAILED : EXIT_DONE;
}
