#include "app/serve.h"

#include "api/api.h"
#include "api/feed.h"
#include "app/browser.h"
#include "app/demo.h"
#include "app/descriptors.h"
#include "app/notify.h"
#include "app/renewal.h"
#include "app/site.h"
#include "app/store.h"
#include "base/log.h"
#include "base/version.h"
#include "cli/client.h"
#include "cli/input.h"
#include "cli/output.h"
#include "engine/engine.h"
#include "intake/intake.h"
#include "net/listen.h"
#include "store/bell.h"
#include "store/site.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define STORE_PATIENCE (15 * SPAN_SECOND) // for which a manager is asked while the store is away

typedef struct Program {
    Arena *arena;
    const Config *config;
    Descriptors descriptors;
    Clock clock, real;
    Random random;
    KeyRing ring;
    Api api;
    Server *server;
    Renewal renewal;
    Notify notify;
    Signs signs; // when the watchdog was told last
    Str url;     // where it listens
    Str hint;    // what to try where it does not start; none
    StoreUp store;
    char away[ERROR_DETAIL_MAX]; // why the store was away, as it was told last
    Warden warden;               // of what it runs
    Carriers carriers;
    Transport transport;
    Pool *poll_readers;
    Engine *engine;
    Bell *bell;   // NULL on SQLite
    SiteUp *site; // NULL where it is none
    Intake *intake;
} Program;

static Err open_program(Program *program, Error *error);
static Err open_store(Program *program, Error *error);
static void announce(const Program *program, bool is_up);
static void announce_store(const Program *program);
static bool wait_stop(Program *program);
static void say_ready(const Program *program);
static void stop(Program *program, bool is_up);

static int give_up(const Program *program, const Error *error)
{
    return output_error(error, program->hint);
}

// passes says that a store may come up when it is tried again.
static bool passes(Err err)
{
    return err == ERR_UNAVAILABLE || err == ERR_BUSY;
}

// awaited are the signals that mean something: to stop, and SIGHUP to read certificates again. A
// terminal that closes ends `peal dev`, as it ends any other command.
static sigset_t awaited(const Config *config)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    if (!config->is_dev)
        sigaddset(&signals, SIGHUP);
    return signals;
}

// tell_away says why the store is away: when that is found out, and not at each try.
static void tell_away(Program *program, const Error *error)
{
    if (strcmp(program->away, error->detail) == 0)
        return;
    memcpy(program->away, error->detail, sizeof program->away);
    log_error("store.away", "detail=%s", log_quote(str_from(error->detail)));
}

int serve_run(Arena *arena, const Config *config)
{
    Program program = { .arena = arena, .config = config, .notify = notify_open() };
    Error error = { 0 };
    sigset_t signals = awaited(config);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); // inherited by every thread: this one waits
    signal(SIGPIPE, SIG_IGN);

    if (open_program(&program, &error) != ERR_OK)
        return give_up(&program, &error);
    Err err = open_store(&program, &error);
    if (err != ERR_OK && !passes(err)) {
        server_close(program.server);
        return give_up(&program, &error);
    }
    announce(&program, err == ERR_OK);
    while (err != ERR_OK) {
        tell_away(&program, &error);
        notify_say(&program.notify, "STATUS=the store is away\nEXTEND_TIMEOUT_USEC=%lld",
                   (long long) STORE_PATIENCE);
        if (wait_stop(&program)) {
            stop(&program, false);
            return 0;
        }
        err = open_store(&program, &error);
        if (err != ERR_OK && !passes(err)) {
            stop(&program, false);
            return give_up(&program, &error);
        }
        if (err != ERR_OK)
            continue;
        log_info("store.up", "node=%lld", (long long) program.store.node);
        announce_store(&program);
    }
    say_ready(&program);
    while (!wait_stop(&program))
        continue;
    stop(&program, true);
    return 0;
}

// harden keeps secrets out of core files, and the heap small.
static void harden(void)
{
    // Threads share what they free, and the heap keeps no more of it than a big batch needs again.
    mallopt(M_ARENA_MAX, 2);
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 8 << 20);
    prctl(PR_SET_DUMPABLE, 0);
}

// part_descriptors gives each side its part, so that neither takes what the other needs.
static void part_descriptors(Program *program)
{
    program->descriptors = descriptors_part(descriptors_raise());
    const Descriptors *parts = &program->descriptors;
    if (parts->is_small)
        log_warn("descriptors.few",
                 "limit=%zu wanted=%d connections=%zu in_flight=%zu detail=\"raise ulimit -n\"",
                 parts->limit, DESCRIPTORS_WANTED, parts->connections_max, parts->flights_max);
}

static Err make_data_folder(const Config *config, Error *error)
{
    if (!config->is_dev)
        return ERR_OK;
    if (mkdir("peal-data", 0700) != 0 && errno != EEXIST)
        return fail(error, ERR_INTERNAL, "cannot make the folder peal-data: %m");
    return ERR_OK;
}

// open_socket listens, but not so that keys would travel in plain text without anyone having said
// so.
static Err open_socket(Program *program, int *ret_fd, Error *error)
{
    const Config *config = program->config;
    int fd = 0;
    TRY(notify_socket(&fd, error));
    if (fd > 0)
        TRY(listen_check(fd, error));
    else
        TRY(listen_open(config->listen, &fd, error));
    program->url = listen_name(program->arena, fd);
    if (!listen_is_unix(fd))
        program->url = str_format(program->arena, "%s://%.*s",
                                  config->tls_cert.at ? "https" : "http", STR_ARG(program->url));
    bool is_said = config->tls_cert.at || config->proxies.count > 0 || config->is_plain;
    if (is_said || listen_is_loopback(fd)) {
        *ret_fd = fd;
        return ERR_OK;
    }
    close(fd);
    program->hint = S("--tls-cert FILE --tls-key FILE; or --behind-proxy CIDR, where a proxy speaks"
                      " TLS for it; or --plain, where the network is trusted");
    return fail(error, ERR_SETUP,
                "others than this machine reach %.*s, and keys would travel in plain text",
                STR_ARG(program->url));
}

static Err open_server(Program *program, Error *error)
{
    const Config *config = program->config;
    ServerOptions options = { .proxies = config->proxies,
                              .connections_max = program->descriptors.connections_max,
                              // Each route has a limit of its own, which may not exceed this.
                              .body_bytes_max =
                                  config->body_max > BODY_HOOK ? config->body_max : BODY_HOOK,
                              .bodies_bytes_max = config->bodies_max,
                              .begin = api_begin,
                              .refused = api_refused,
                              .handle = api_handle,
                              .turn = api_turn,
                              .with = &program->api };
    TRY(renewal_begin(&program->renewal, config, &options.certificate, error));
    Err err = open_socket(program, &options.listen_fd, error);
    if (err != ERR_OK) {
        certificate_free(options.certificate);
        return err;
    }
    TRY(server_open(&options, &program->server, error));
    program->renewal.server = program->server;
    return ERR_OK;
}

static Err open_program(Program *program, Error *error)
{
    const Config *config = program->config;
    harden();
    if (config->exec_folder.at) // before there are threads, and keys
        program->warden = warden_open();
    part_descriptors(program);
    clock_init_system(&program->real);
    clock_init_system(&program->clock);
    if (config->is_manual)
        clock_init_manual(&program->clock, config->manual_from != INSTANT_NONE
                                               ? config->manual_from
                                               : clock_now(&program->real));
    program->random = random_system();
    TRY(make_data_folder(config, error));
    config_guard_key(program->arena, config);
    Err err = config_keys(program->arena, config, &program->ring, error);
    if (err != ERR_OK && err != ERR_NOT_FOUND) // whether one may be made, the store will tell
        return err;
    program->api = (Api){ .started_lock = PTHREAD_MUTEX_INITIALIZER,
                          .clock = &program->clock,
                          .random = &program->random,
                          .ring = &program->ring,
                          .table_folder = config->table_folder,
                          .exec_folder = config->exec_folder,
                          .store_url = config->store,
                          .url_template = config->url_template,
                          .is_dev = config->is_dev,
                          .is_private = config->is_private,
                          .guard = &config->guard,
                          .payload_max = config->payload_max,
                          .body_max = config->body_max,
                          .waiting_max = program->descriptors.connections_max / 4 * 3,
                          .version = PEAL_VERSION,
                          .real = &program->real,
                          .settings = config->settings,
                          .setting_count = config->setting_count,
                          .started_at = clock_now(&program->real) };
    return open_server(program, error);
}

// fill_store brings the store up with all that is to be in it, or leaves nothing open: it is tried
// again, and a SQLite file that is still open here would be in use.
static Err fill_store(Program *program, Error *error)
{
    const Config *config = program->config;
    Str made = program->store.keys.made; // by an earlier try, and not shown yet
    TRY(store_up(program->arena, config, &program->ring, &program->clock, &program->real,
                 &program->random, &program->store, error));
    if (made.len)
        program->store.keys.made = made;
    if (!config->is_dev || config->is_empty)
        return ERR_OK;
    Err err = demo_load(program->store.writer, error);
    if (err != ERR_OK)
        store_down(&program->store, &program->real);
    return err;
}

// moved is told of every commit of this node: its engine has to know, and other nodes', if any.
static void moved(void *with, const Move *moves, size_t count)
{
    const Program *program = with;
    engine_moved(program->engine, moves, count);
    if (program->site)
        site_moved(program->site, moves, count);
    if (engine_has_company(program->engine))
        bell_ring(program->bell, moves, count);
    if (count == 0)
        feed_wake(program->api.feed); // a key may be gone
}

// tell_subscribers names the tenants, as they are called, to those who listen in SQL.
static void tell_subscribers(const Program *program, const Sequenced *sequenced)
{
    Registry *registry = writer_registry(program->store.writer);
    for (size_t i = 0; i < sequenced->count && i < SEQUENCE_TOLD; i++) {
        const RegistryTenant *tenant = registry_tenant(registry, sequenced->numbered[i].tenant);
        if (tenant) // not of the installation itself
            bell_tell(program->bell, tenant->id, sequenced->numbered[i].number);
    }
    if (sequenced->count > SEQUENCE_TOLD)
        bell_tell(program->bell, STR_NONE, 0);
    registry_drop(registry);
}

// numbered is told that what happened has its numbers: those who listen here may be told.
static void numbered(void *with, const Sequenced *sequenced)
{
    const Program *program = with;
    feed_wake(program->api.feed);
    if (program->bell)
        tell_subscribers(program, sequenced);
}

// heard_numbers is told that what happened elsewhere has its numbers.
static void heard_numbers(void *with)
{
    const Program *program = with;
    feed_wake(program->api.feed);
}

// brought is told by table sources that there is something in the inbox.
static void brought(void *with)
{
    engine_moved(with, NULL, 0);
}

static void start_intake(Program *program)
{
    const Config *config = program->config;
    TableOptions options = { .writer = program->store.writer,
                             .ring = &program->ring,
                             .real = &program->real,
                             .node = program->store.node,
                             .payload_max = config->payload_max,
                             .folder = config->table_folder,
                             .own = config->store,
                             .put = brought,
                             .with = program->engine };
    program->intake = intake_start(&options);
}

// open_carriers opens the ways out that the engine is given.
static void open_carriers(Program *program)
{
    const Config *config = program->config;
    size_t flights_max = program->descriptors.flights_max;
    carriers_open(&program->carriers, &program->clock, &config->addresses);
    transfers_limit(program->carriers.transfers, flights_max);
    transfers_trust(program->carriers.transfers, config->ca_file);
    processes_limit(program->carriers.processes, flights_max / 2);
    processes_guard(program->carriers.processes, &program->warden);
    program->transport = carriers_transport(&program->carriers);
}

static Err open_store(Program *program, Error *error)
{
    const Config *config = program->config;
    TRY(fill_store(program, error));
    open_carriers(program);
    program->poll_readers = pool_open(&(PoolOptions){ .threads = 2, .waiting_max = 64 });
    EngineOptions options = {
        .writer = program->store.writer,
        .clock = &program->clock,
        .real = &program->real,
        .random = &program->random,
        .transport = &program->transport,
        .readers = program->poll_readers,
        .node = program->store.node,
        .is_only_node = str_starts(config->store, S("sqlite:")),
        .is_dev = config->is_dev,
        .is_private = config->is_private,
        .flights_max = program->descriptors.flights_max,
        .host_max = config->host_max,
        .payload_max = config->payload_max,
        .url_template = config->url_template,
        .exec_folder = config->exec_folder,
        .numbered = numbered,
        .numbered_with = program,
        .kept = config->kept,
        .kept_delivered = config->central.at ? SITE_KEEPS : 0,
    };
    program->engine = engine_new(&options);
    program->api.engine = program->engine;
    program->api.node = program->store.node;
    program->api.feed = feed_open(&program->api); // before whoever may wake it
    program->bell = bell_open(&(BellOptions){ .url = config->store,
                                              .clock = &program->clock,
                                              .heard = engine_heard,
                                              .with = program->engine,
                                              .numbered = heard_numbers,
                                              .numbered_with = program });
    if (config->central.at)
        TRY(site_open(program->arena, config, &program->ring, &program->store, &program->clock,
                      &program->site, error));
    program->api.site = program->site ? &program->site->site : NULL;
    writer_follow(program->store.writer, moved, program);
    writer_follow_events(program->store.writer, engine_took, program->engine);
    engine_start(program->engine);
    if (!config->is_private)
        start_intake(program);
    program->api.is_key_foreign = program->store.is_key_foreign;
    program->api.reader = program->store.reader;
    program->api.watcher = program->store.watcher;
    program->api.streamer = program->store.streamer;
    program->api.thinkers =
        pool_open(&(PoolOptions){ .threads = 2, .waiting_max = 20000, .take_max = 16 });
    program->api.slow_thinkers = pool_open(&(PoolOptions){ .threads = 2, .waiting_max = 1000 });
    program->api.writer = program->store.writer; // last: from here on requests are served
    return ERR_OK;
}

// keep_dev_key leaves the key where the command line looks for it; false where it cannot.
static bool keep_dev_key(const Program *program)
{
    int fd = open("peal-data/admin.key", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    Str key = program->store.keys.made;
    bool is_kept = write(fd, key.at, key.len) == (ssize_t) key.len && write(fd, "\n", 1) == 1;
    close(fd);
    return is_kept;
}

// announce_tries shows commands that find this Peal as they stand.
static void announce_tries(const Program *program)
{
    printf("\nTry, in another terminal:\n");
    if (!str_eq(program->url, S("http://" LISTEN_DEFAULT)))
        printf("  export PEAL_URL=%.*s\n", STR_ARG(program->url));
    printf("  build/peal emit user.signed-up --recipient ada@example.org --data "
           "'{\"plan\":\"pro\"}'\n"
           "  build/peal captured\n"
           "  build/peal deliveries\n"
           "  build/peal emit user.signed-up --recipient bob@example.org --data "
           "'{\"plan\":\"free\"}'\n"
           "  build/peal events               and then: build/peal why EVENT\n");
}

// dev_key is the key that was made at the first start; none where one was given: whoever chose it
// may not want to see it here.
static Str dev_key(const Program *program)
{
    Str key = program->store.keys.made;
    if (!key.len && !program->config->admin_key.at &&
        input_file(program->arena, CLIENT_KEY_FILE, &key))
        key = str_trim(str_cut(&key, '\n'));
    return key;
}

// announce_console shows the way in. What stands behind # stays in the browser: the page signs in
// with it, and wipes it.
static void announce_console(const Program *program)
{
    Str key = dev_key(program);
    Str link = str_format(program->arena, "%.*s/signin%s%.*s", STR_ARG(program->url),
                          key.len ? "#" : "", STR_ARG(key));
    printf("\nConsole    %.*s\n", STR_ARG(link));
    if (program->config->opens_console)
        browser_open(program->arena, link);
}

static void announce_dev(const Program *program)
{
    printf("\nPeal %s, for development: nothing leaves this machine. Every channel captures its\n"
           "messages instead of sending them; `peal captured` shows them.\n",
           PEAL_VERSION);
    announce_console(program);
    if (!program->config->is_empty)
        announce_tries(program);
    printf("\nStop with Ctrl-C. The data stay in %.*s.\n\n", STR_ARG(program->config->store));
}

// announce_store tells what is known only once the store is there; the key is shown this once.
static void announce_store(const Program *program)
{
    Str key = program->store.keys.made;
    if (key.len && !(program->config->is_dev && keep_dev_key(program)))
        printf("first key (shown this once): %.*s\n", STR_ARG(key));
    if (program->store.was_held)
        printf("held: this database is, or may be, a copy. Events are taken in, nothing is sent.\n"
               "      /readyz says why; `peal release` lets it send.\n");
    if (program->store.is_key_foreign)
        printf(
            "the master key is not this database's: channels whose secrets it cannot open wait.\n"
            "      Give the right one with --master-key-file; where it is lost, start once with\n"
            "      --new-master-key and give the secrets anew.\n");
    fflush(stdout);
}

static void announce(const Program *program, bool is_up)
{
    const Config *config = program->config;
    printf("listening on %.*s\n", STR_ARG(program->url));
    if (is_up)
        announce_store(program);
    else
        printf("the store is away; Peal takes requests when it is back (503 until then)\n");
    if (config->is_dev)
        announce_dev(program);
    fflush(stdout);
}

static void say_ready(const Program *program)
{
    notify_say(&program->notify, "READY=1\nSTATUS=serving at %.*s", STR_ARG(program->url));
}

// reload is SIGHUP: what lies in files is read again.
static void reload(Program *program)
{
    notify_say(&program->notify, "RELOADING=1\nMONOTONIC_USEC=%lld",
               (long long) clock_machine_monotonic());
    renewal_look(&program->renewal, true);
    if (program->engine)
        say_ready(program);
}

static Signs signs_now(const Program *program)
{
    Signs signs = { .loop_silence = server_silence(program->server) };
    if (!program->engine)
        return signs;
    EngineHealth health = engine_health(program->engine);
    signs.has_engine = true;
    signs.is_store_up = writer_is_up(program->store.writer);
    signs.since_good = health.since_good;
    signs.failed = health.failed;
    return signs;
}

static void tell_watchdog(Program *program)
{
    if (program->notify.watchdog == 0)
        return;
    Signs signs = signs_now(program);
    if (signs_are_well(&program->signs, &signs)) {
        program->signs = signs;
        notify_say(&program->notify, "WATCHDOG=1");
    }
    server_poke(program->server); // for the next time
}

// wait_stop waits a moment for the order to stop, and looks after what has changed meanwhile.
static bool wait_stop(Program *program)
{
    sigset_t signals = awaited(program->config);
    Span span = SERVE_TEND_EVERY, watchdog = program->notify.watchdog;
    if (watchdog > 0)
        span = earlier(span, watchdog / 3);
    struct timespec timeout = { .tv_sec = span / SPAN_SECOND,
                                .tv_nsec = (long) (span % SPAN_SECOND * 1000) };
    int got = sigtimedwait(&signals, NULL, &timeout);
    if (got == SIGTERM || got == SIGINT)
        return true;
    if (got == SIGHUP)
        reload(program);
    else
        renewal_look(&program->renewal, false);
    tell_watchdog(program);
    return false;
}

static void stop(Program *program, bool is_up)
{
    notify_say(&program->notify, "STOPPING=1\nSTATUS=stopping");
    log_info("stopping", "grace_ms=%lld", (long long) (SERVE_STOP_GRACE / SPAN_MILLISECOND));
    server_quiesce(program->server);
    intake_stop(program->intake);
    feed_stop(program->api.feed);
    bool is_idle = !is_up || engine_stop(program->engine, SERVE_STOP_GRACE);
    bool is_closed = server_close(program->server);
    if (!is_idle || !is_closed) {
        // The store does not answer. What was acknowledged is on disk; the rest was not.
        log_error("stop.late",
                  "detail=\"the store answers nothing: ended without waiting for it\"");
        _exit(1);
    }
    if (is_up) {
        writer_follow(program->store.writer, NULL, NULL);
        writer_follow_events(program->store.writer, NULL, NULL);
        site_close(program->site);
        bell_close(program->bell);
        feed_free(program->api.feed);
        pool_close(program->poll_readers); // who reads has what is the engine's
        engine_free(program->engine);
        carriers_close(&program->carriers);
        warden_close(&program->warden);
        pool_close(program->api.thinkers);
        pool_close(program->api.slow_thinkers);
        store_down(&program->store, &program->real);
        depths_done(&program->api.depths);
    }
    notify_close(&program->notify);
    crypto_wipe(&program->ring, sizeof program->ring);
}
