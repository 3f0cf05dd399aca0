#include "app/doctor.h"

#include "app/descriptors.h"
#include "app/renewal.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/time.h"
#include "cli/output.h"
#include "store/durability.h"
#include "store/meta.h"
#include "store/migrate.h"
#include "store/node.h"
#include "store/seal.h"

#include <stdarg.h>

typedef enum Finding { FINDING_OK, FINDING_WARN, FINDING_FAIL } Finding;

static const char *const finding_texts[] = { "ok  ", "warn", "FAIL" };
static const char *const finding_words[] = { "ok", "warn", "fail" };

enum { REPORT_BYTES_MAX = 64 * 1024 };

// Report is what is found, told line by line, or as one JSON document in the end.
typedef struct Report {
    bool is_json;
    Finding worst;
    Buf text;
    JsonOut json;
} Report;

static void say(Report *report, Finding finding, const char *format, ...) PRINTF(3, 4);

static void say(Report *report, Finding finding, const char *format, ...)
{
    char line[ERROR_DETAIL_MAX * 2];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    report->worst = finding > report->worst ? finding : report->worst;
    if (!report->is_json) {
        printf("%s  %s\n", finding_texts[finding], line);
        return;
    }
    json_open(&report->json, '{');
    json_put_str(&report->json, S("finding"), str_from(finding_words[finding]));
    json_put_str(&report->json, S("text"), str_from(line));
    json_close(&report->json, '}');
}

// check_promises looks at what durability hangs on.
static void check_promises(Report *report, Db *db, Arena *arena)
{
    DurabilityFact *facts;
    size_t count;
    Error error = { 0 };
    if (durability_look(db, arena, &facts, &count, &error) != ERR_OK) {
        say(report, FINDING_FAIL, "cannot read the settings: %s", error.detail);
        return;
    }
    for (size_t i = 0; i < count; i++)
        say(report, facts[i].is_fine ? FINDING_OK : FINDING_FAIL, "%.*s: %.*s",
            STR_ARG(facts[i].name), STR_ARG(facts[i].is));
}

static void check_schema(Report *report, Db *db)
{
    int pending;
    Error error = { 0 };
    if (migrate_pending(db, &pending, &error) != ERR_OK)
        say(report, FINDING_FAIL, "schema: %s", error.detail);
    else if (pending > 0)
        say(report, FINDING_WARN, "schema: %d migrations are missing; `peal migrate` applies them",
            pending);
    else
        say(report, FINDING_OK, "schema: up to date (%d)", migrations[migration_count - 1].number);
}

static void check_hold(Report *report, Db *db, Arena *arena, const Config *config)
{
    Str hold;
    EpochFinding finding;
    Error error = { 0 };
    if (meta_get(db, arena, META_HOLD, &hold, &error) != ERR_OK ||
        epoch_look(db, arena, &config->guard, &finding, &error) != ERR_OK)
        say(report, FINDING_FAIL, "hold: %s", error.detail);
    else if (hold.at)
        say(report, FINDING_WARN, "held: %.*s", STR_ARG(hold));
    else if (epoch_reason(finding).at)
        say(report, FINDING_WARN, "Peal will start held: %.*s", STR_ARG(epoch_reason(finding)));
    else
        say(report, FINDING_OK, "not held");
}

static void check_clock(Report *report, Db *db)
{
    Clock real;
    ClockOffset offset;
    Error error = { 0 };
    clock_init_system(&real);
    if (node_offset(db, &real, &offset, &error) != ERR_OK) {
        say(report, FINDING_FAIL, "clock: %s", error.detail);
        return;
    }
    Span away = offset.span < 0 ? -offset.span : offset.span;
    say(report, away > 2 * SPAN_SECOND ? FINDING_WARN : FINDING_OK,
        "clock: %lld ms from the database's", (long long) (offset.span / SPAN_MILLISECOND));
}

// check_secrets says whether the keys are this database's, and which channels wait for another.
static Err check_secrets(Report *report, Db *db, Arena *arena, const KeyRing *ring, Error *error)
{
    SealFit fit;
    Registry *registry;
    TRY(registry_load(db, ring, &registry, error));
    Err err = seal_fit(db, arena, ring, registry, &fit, error);
    if (err == ERR_OK && fit == SEAL_FOREIGN)
        say(report, FINDING_FAIL, "master key: %s the one that this database is sealed with",
            ring->count ? "it is not" : "there is none, but it needs");
    else if (err == ERR_OK && ring->count == 0)
        say(report, FINDING_WARN, "master key: none yet; `peal serve` makes one");
    else if (err == ERR_OK)
        say(report, FINDING_OK, "master key: %zu", ring->count);
    const RegistryChannel **sealed;
    size_t sealed_count = registry_sealed(registry, arena, &sealed);
    for (size_t i = 0; i < sealed_count; i++)
        say(report, FINDING_FAIL, "%.*s", STR_ARG(registry_wait(arena, sealed[i])));
    registry_drop(registry);
    return err;
}

static void check_key(Report *report, Db *db, Arena *arena, const Config *config)
{
    KeyRing ring = { 0 };
    Error error = { 0 };
    Err err = config_keys(arena, config, &ring, &error);
    if (err == ERR_OK || err == ERR_NOT_FOUND)
        err = check_secrets(report, db, arena, &ring, &error);
    if (err != ERR_OK)
        say(report, FINDING_FAIL, "master key: %s", error.detail);
    crypto_wipe(&ring, sizeof ring);
}

// check_files looks at what others on this machine could read.
static void check_files(Report *report, Db *db, Arena *arena, const Config *config)
{
    bool may_make;
    Str key = config_key_path(arena, config, &may_make);
    Str store = db_is_postgres(db) ? STR_NONE : db_place(db, arena);
    Str paths[] = { key, store, str_format(arena, "%.*s-wal", STR_ARG(store)) };
    for (size_t i = 0; i < (store.at ? ARRAY_LEN(paths) : 1); i++)
        if (file_is_open(str_z(arena, paths[i])))
            say(report, FINDING_WARN, "%.*s: others can read it; chmod 600", STR_ARG(paths[i]));
}

// check_descriptors speaks of the limit of whoever asks, which may not be the server's.
static void check_descriptors(Report *report)
{
    Descriptors parts = descriptors_part(descriptors_raise());
    say(report, parts.is_small ? FINDING_WARN : FINDING_OK,
        "descriptors: %zu here (ulimit -Hn), for %zu connections and %zu deliveries in flight",
        parts.limit, parts.connections_max, parts.flights_max);
}

static void check_certificate(Report *report, const Config *config)
{
    char text[TIME_TEXT_MAX];
    Certificate *certificate;
    Error error = { 0 };
    Clock clock;
    if (!config->tls_cert.at)
        return;
    if (certificate_load(config->tls_cert, config->tls_key, &certificate, &error) != ERR_OK) {
        say(report, FINDING_FAIL, "certificate: %s", error.detail);
        return;
    }
    clock_init_system(&clock);
    Span left = certificate_expires_at(certificate) - clock_now(&clock);
    Finding finding = left < 0 ? FINDING_FAIL : left < CERTIFICATE_NEAR ? FINDING_WARN : FINDING_OK;
    say(report, finding, "certificate: %.*s, until %.*s (%lld days)",
        STR_ARG(certificate_name(certificate)),
        STR_ARG(time_text(certificate_expires_at(certificate), text)),
        (long long) (left / SPAN_DAY));
    certificate_free(certificate);
}

static void examine(Report *report, Db *db, Arena *arena, const Config *config)
{
    say(report, FINDING_OK, "store: %s answers", db->driver->name);
    check_schema(report, db);
    check_promises(report, db, arena);
    check_hold(report, db, arena, config);
    check_clock(report, db);
    check_key(report, db, arena, config);
    check_files(report, db, arena, config);
    check_descriptors(report);
}

int doctor_run(Arena *arena, const Config *config, bool is_json)
{
    Db *db;
    Error error = { 0 };
    Report report = { .is_json = is_json, .text = buf_new(arena, REPORT_BYTES_MAX) };
    report.json = json_out(&report.text);
    json_open(&report.json, '{');
    json_key(&report.json, S("findings"));
    json_open(&report.json, '[');
    check_certificate(&report, config);
    Err err = db_open(&(DbOptions){ .url = config->store, .is_reader = true }, &db, &error);
    if (err != ERR_OK) {
        say(&report, FINDING_FAIL, "store: %s", error.detail);
    } else {
        examine(&report, db, arena, config);
        db_close(db);
    }
    json_close(&report.json, ']');
    json_put_str(&report.json, S("worst"), str_from(finding_words[report.worst]));
    json_close(&report.json, '}');
    if (is_json)
        output_json(buf_str(&report.text));
    if (err != ERR_OK)
        return err_exit(err);
    return report.worst == FINDING_FAIL ? EXIT_FAILED : EXIT_DONE;
}
