#include "app/config.h"

#include "app/settings.h"
#include "base/file.h"
#include "base/log.h"
#include "base/random.h"
#include "base/time.h"
#include "channels/exec.h"
#include "domain/event.h"
#include "engine/engine.h"
#include "net/listen.h"
#include "net/url.h"
#include "store/purge.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CA_FILE_MAX = 4 << 20 };

// clang-format off
#define STORE_OPTION  { "store", "URL", "sqlite:PATH or postgres://… (PEAL_STORE; default sqlite:peal.db)" }
#define TLS_ROWS                                                                                                          \
    { "tls-cert", "FILE", "certificate and those above it, in PEM: speak HTTPS (PEAL_TLS_CERT); renewed when it changes" }, \
    { "tls-key", "FILE", "its key, in PEM, not readable by everybody (PEAL_TLS_KEY)" }
#define LISTEN_OPTION { "listen", "HOST:PORT", "or unix:PATH: where to listen (PEAL_LISTEN; default " LISTEN_DEFAULT "; port 0 picks one)" }
#define SERVE_ROWS                                                                                                        \
    TLS_ROWS,                                                                                                             \
    { "behind-proxy", "CIDR[,…]", "proxies whose X-Forwarded-For is believed (PEAL_BEHIND_PROXY; default none)" },         \
    { "plain", NULL, "listen beyond this machine in plain text: the network is trusted (PEAL_PLAIN=true)" },               \
    { "clock", "MODE", "system, manual or manual=TIME (PEAL_CLOCK; default system)" },                                     \
    { "allow-private", "CIDR[,…]", "private addresses that outgoing requests may reach (PEAL_ALLOW_PRIVATE; default none)" }, \
    { "ca-file", "FILE", "certificates, in PEM, to trust beside the system's in outgoing requests and mail (PEAL_CA_FILE)" }, \
    { "master-key-file", "FILE", "key that seals channel secrets (PEAL_MASTER_KEY_FILE; default beside the store)" },      \
    { "new-master-key", NULL, "the earlier master key is lost: take this one, or make one; secrets must be given anew" },   \
    { "state-dir", "FOLDER", "what this node knows of its PostgreSQL store (PEAL_STATE_DIR; default $STATE_DIRECTORY, else" \
      " $XDG_STATE_HOME/peal, else ~/.local/state/peal)" },                                                               \
    { "adopt", NULL, "vouch for a store that would start held as a copy (see docs/operations.md)" },                      \
    { "url-template", "URL", "links in messages, with {publicId} (PEAL_URL_TEMPLATE)" },                                   \
    { "table-source-dir", "FOLDER", "below which SQLite files may be table sources (PEAL_TABLE_SOURCE_DIR; default none)" }, \
    { "exec-dir", "FOLDER", "commands that exec channels may run (PEAL_EXEC_DIR; default none: the type is refused)" },    \
    { "payload-max", "SIZE", "of one event (PEAL_PAYLOAD_MAX; default " MACRO_TEXT(PAYLOAD_MAX_MIB) "M)" },               \
    { "body-max", "SIZE", "of one request (PEAL_BODY_MAX; default " MACRO_TEXT(BODY_MAX_MIB) "M)" },                      \
    { "bodies-max", "SIZE", "of all requests in memory (PEAL_BODIES_MAX; default " MACRO_TEXT(BODIES_MAX_MIB) "M)" },     \
    { "keep", "SPAN", "how long what has ended is kept: 7d to 3660d (PEAL_KEEP; default 365d; see docs/retention.md)" },     \
    { "host-concurrency", "N", "requests open at once to one host, of all channels of a tenant, from this node"             \
      " (PEAL_HOST_CONCURRENCY; default " MACRO_TEXT(HOST_CONCURRENCY) ", or a channel's own concurrency where that is more)" }, \
    { "node-name", "NAME", "name of this node (PEAL_NODE_NAME; default the host's name)" },                                \
    { "log-level", "LEVEL", "debug, info, warn, error or off (PEAL_LOG_LEVEL; default info)" },                            \
    { "config", "FILE", "settings in YAML, by the names of these options (PEAL_CONFIG)" }

const CommandOption serve_options[] = { STORE_OPTION, LISTEN_OPTION, SERVE_ROWS, { 0 } };
const CommandOption site_options[] = {
    { "store", "URL", "sqlite:PATH: where it keeps what it took in (PEAL_STORE; default sqlite:peal-site.db)" },
    { "central", "URL", "the Peal that it hands on to, such as https://peal.example.org (PEAL_CENTRAL)" },
    { "key-file", "FILE", "its key there, with the role site (PEAL_KEY_FILE)" },
    { "listen", "WHERE", "unix:PATH or HOST:PORT (PEAL_LISTEN; default a socket beside the store)" },
    SERVE_ROWS,
    { 0 },
};
const CommandOption dev_options[] = {
    { "store", "URL", "sqlite:PATH or postgres://… (PEAL_STORE; default sqlite:peal-data/peal.db)" },
    LISTEN_OPTION,
    SERVE_ROWS,
    { "empty", NULL, "without the demo trigger" },
    { "open", NULL, "show the console in a browser" },
    { 0 },
};
#define STORE_ROWS                                                                                                        \
    STORE_OPTION,                                                                                                         \
    { "state-dir", "FOLDER", "what this node knows of its PostgreSQL store (PEAL_STATE_DIR)" },                            \
    { "master-key-file", "FILE", "key that seals channel secrets (PEAL_MASTER_KEY_FILE; default beside the store)" },      \
    { "log-level", "LEVEL", "debug, info, warn, error or off (PEAL_LOG_LEVEL; default info)" },                            \
    { "config", "FILE", "settings in YAML, by the names of these options (PEAL_CONFIG)" },                                 \
    { "json", NULL, "print the answer as JSON" }

const CommandOption store_options[] = { STORE_ROWS, { 0 } };
const CommandOption doctor_options[] = { STORE_ROWS, TLS_ROWS, { 0 } };
// clang-format on

// Sources is where an option may come from, in the order in which they win.
typedef struct Sources {
    const CommandArgs *args;
    Str path; // of the file; none
    Settings settings;
} Sources;

// SaidOption is what an option is set to, and where that was said.
typedef struct SaidOption {
    Str value, origin;
} SaidOption;

static Str variable_of(Arena *arena, const char *name)
{
    Buf text = buf_new(arena, strlen(name) + strlen("PEAL_"));
    buf_add(&text, S("PEAL_"));
    for (const char *at = name; *at; at++)
        buf_add_char(&text, *at == '-' ? '_' : (char) (*at >= 'a' && *at <= 'z' ? *at - 32 : *at));
    return buf_str(&text);
}

// find looks an option up: the flag, else PEAL_NAME, else the file, else none.
static SaidOption find(const Sources *sources, const char *name)
{
    Arena *arena = args_arena(sources->args);
    const char *given = args_option(sources->args, name);
    if (given)
        return (SaidOption){ str_from(given), S("flag") };
    Str variable = variable_of(arena, name);
    const char *value = getenv(str_z(arena, variable));
    if (value && *value)
        return (SaidOption){ str_from(value), STR_JOIN(arena, S("env "), variable) };
    const Setting *setting = settings_find(&sources->settings, name);
    if (setting)
        return (SaidOption){ setting->value,
                             str_format(arena, "%.*s:%zu", STR_ARG(sources->path), setting->line) };
    return (SaidOption){ STR_NONE, S("default") };
}

static Str option(const Sources *sources, const char *name)
{
    return find(sources, name).value;
}

// is_switch is true for the one flag that an installation sets for good.
static bool is_switch(const char *name)
{
    return strcmp(name, "plain") == 0;
}

// read_file takes the configuration file in, if there is one, and refuses what it does not know.
static Err read_file(const CommandArgs *args, Sources *sources, Error *error)
{
    Str path = option(sources, "config");
    if (!path.at)
        return ERR_OK;
    TRY(settings_read(args_arena(args), path, &sources->settings, error));
    sources->path = path;
    for (size_t i = 0; i < sources->settings.count; i++) {
        const Setting *setting = &sources->settings.rows[i];
        bool is_known = false;
        for (const CommandOption *row = site_options; row->name && !is_known; row++)
            is_known =
                (row->value || is_switch(row->name)) && str_eq(setting->name, str_from(row->name));
        if (!is_known || str_eq(setting->name, S("config")))
            return fail(error, ERR_SETUP, "%.*s, line %zu: there is no setting \"%.*s\"",
                        STR_ARG(path), setting->line, STR_ARG(setting->name));
    }
    return ERR_OK;
}

static Err read_clock(Str text, Config *ret, Error *error)
{
    ret->manual_from = INSTANT_NONE;
    if (!text.at || str_eq(text, S("system")))
        return ERR_OK;
    ret->is_manual = true;
    if (str_eq(text, S("manual")))
        return ERR_OK;
    if (str_starts(text, S("manual=")) && time_parse(str_skip(text, 7), &ret->manual_from))
        return ERR_OK;
    return fail(error, ERR_SETUP,
                "--clock is system, manual or manual=TIME (such as manual=2026-05-14T05:12:00Z),"
                " not \"%.*s\"",
                STR_ARG(text));
}

// read_size reads a number of bytes such as 65536, 512K or 1M.
static Err read_size(const Sources *sources, const char *name, size_t least, size_t most,
                     size_t usual, size_t *ret, Error *error)
{
    Str text = option(sources, name), digits = text;
    *ret = usual;
    if (!text.at)
        return ERR_OK;
    char unit = text.len > 0 ? text.at[text.len - 1] : '\0';
    int64_t factor = unit == 'K' ? 1 << 10 : unit == 'M' ? 1 << 20 : 1, number;
    digits.len -= factor > 1;
    if (!str_to_i64(digits, 1, (int64_t) most, &number) || (size_t) (number * factor) < least ||
        (size_t) (number * factor) > most)
        return fail(error, ERR_SETUP,
                    "--%s is a size from %zuK to %zuM, such as %zuM, not \"%.*s\"", name,
                    least >> 10, most >> 20, usual >> 20, STR_ARG(text));
    *ret = (size_t) (number * factor);
    return ERR_OK;
}

// read_limits sees that one event fits into a request, and one request among all of them.
static Err read_limits(const Sources *sources, Config *config, Error *error)
{
    enum { K = 1 << 10, M = 1 << 20 };
    _Static_assert(PAYLOAD_MAX_MIB * M == EVENT_PAYLOAD_MAX, "the domain's own");
    TRY(read_size(sources, "payload-max", K, 32 * M, PAYLOAD_MAX_MIB * M, &config->payload_max,
                  error));
    TRY(read_size(sources, "body-max", M, 256 * M, BODY_MAX_MIB * M, &config->body_max, error));
    TRY(read_size(sources, "bodies-max", M, (size_t) 4096 * M, BODIES_MAX_MIB * M,
                  &config->bodies_max, error));
    if (config->payload_max > config->body_max || config->body_max > config->bodies_max)
        return fail(error, ERR_SETUP,
                    "--payload-max, --body-max and --bodies-max must not fall below one another");
    return ERR_OK;
}

static Err read_kept(const Sources *sources, Config *config, Error *error)
{
    Str text = option(sources, "keep");
    config->kept = PURGE_KEPT;
    if (text.at && (!duration_parse(text, &config->kept) || config->kept < PURGE_KEPT_MIN ||
                    config->kept > PURGE_KEPT_MAX))
        return fail(error, ERR_SETUP, "--keep is from 7d to 3660d, not \"%.*s\"", STR_ARG(text));
    return ERR_OK;
}

static Err read_host_max(const Sources *sources, Config *config, Error *error)
{
    enum { MOST = 10000 };
    Str text = option(sources, "host-concurrency");
    int64_t number = 0;
    if (text.at && !str_to_i64(text, 1, MOST, &number))
        return fail(error, ERR_SETUP, "--host-concurrency is from 1 to %d, not \"%.*s\"", MOST,
                    STR_ARG(text));
    config->host_max = (int) number;
    return ERR_OK;
}

// read_network reads how others reach this node.
static Err read_network(const Sources *sources, Config *config, Error *error)
{
    Str plain = option(sources, "plain"), proxies = option(sources, "behind-proxy");
    config->tls_cert = option(sources, "tls-cert");
    config->tls_key = option(sources, "tls-key");
    config->is_plain = args_flag(sources->args, "plain") || str_eq(plain, S("true"));
    if (plain.at && !config->is_plain && !str_eq(plain, S("false")))
        return fail(error, ERR_SETUP, "plain is true or false, not \"%.*s\"", STR_ARG(plain));
    if (!config->tls_cert.at != !config->tls_key.at)
        return fail(error, ERR_SETUP, "--tls-cert and --tls-key come together");
    if (config->is_plain && config->tls_cert.at)
        return fail(error, ERR_SETUP, "--plain and --tls-cert exclude one another");
    return proxies.at ? address_policy_parse(proxies, &config->proxies, error) : ERR_OK;
}

// read_trust sees that the certificates are there: without them every request would fail, later.
static Err read_trust(const Sources *sources, Config *config, Error *error)
{
    DEFER(arena_done) Arena scratch = { 0 };
    Str file = option(sources, "ca-file"), text = STR_NONE;
    config->ca_file = file;
    if (!file.at)
        return ERR_OK;
    TRY(file_get_regular(&scratch, file, CA_FILE_MAX, &text, error));
    if (!str_contains(text, S("-----BEGIN CERTIFICATE-----")))
        return fail(error, ERR_SETUP, "--ca-file: there is no certificate in PEM in %.*s",
                    STR_ARG(file));
    return ERR_OK;
}

static Str host_name(Arena *arena)
{
    char name[256] = "node";
    if (gethostname(name, sizeof name - 1) != 0)
        name[0] = '\0';
    // The number of a process is no name: in a container every one is the first.
    Random random = random_system();
    return str_format(arena, "%s-%d-%04x", name, (int) getpid(),
                      (unsigned) (random_u64(&random) & 0xffff));
}

// state_folder is where a node keeps what is its own. A service manager may give several, by
// colons.
static Str state_folder(Arena *arena, const Sources *sources)
{
    Str given = option(sources, "state-dir");
    Str managed = str_from(getenv("STATE_DIRECTORY"));
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (given.at)
        return given;
    if (managed.len)
        return str_cut(&managed, ':');
    return state  ? str_format(arena, "%s/peal", state)
           : home ? str_format(arena, "%s/.local/state/peal", home)
                  : S(".");
}

enum { KEY_FILE_MAX = 4096 };

static const Str default_stores[] = {
    [CONFIG_SERVE] = S("sqlite:peal.db"),
    [CONFIG_DEV] = S("sqlite:peal-data/peal.db"),
    [CONFIG_SITE] = S("sqlite:peal-site.db"),
};

// read_site reads what only a site has. Where it hands on to, the operator has said: whatever
// address that is may be reached.
static Err read_site(const Sources *sources, Config *config, Error *error)
{
    Arena *arena = args_arena(sources->args);
    Str path = option(sources, "key-file"), text;
    config->central = option(sources, "central");
    if (!config->central.at || !path.at)
        return fail(error, ERR_SETUP, "a site needs --central URL and --key-file FILE");
    const char *problem = url_problem(config->central);
    if (problem)
        return fail(error, ERR_SETUP, "--central %s", problem);
    TRY(file_get_regular(arena, path, KEY_FILE_MAX, &text, error));
    config->central_key = str_trim(str_cut(&text, '\n'));
    if (config->central_key.len == 0 || str_contains(config->central_key, S(" ")))
        return fail(error, ERR_SETUP, "%.*s holds no key: its first line is to be one",
                    STR_ARG(path));
    if (!str_starts(config->store, S("sqlite:")))
        return fail(error, ERR_SETUP, "a site keeps what it took in a file: --store sqlite:PATH");
    if (!config->listen.at)
        config->listen = str_format(arena, LISTEN_UNIX "%.*s.sock",
                                    STR_ARG(str_skip(config->store, strlen("sqlite:"))));
    return address_policy_parse(S("0.0.0.0/0,::/0"), &config->addresses, error);
}

// usual is what holds where nothing is said; none where that is nothing.
static Str usual(Arena *arena, const Config *config, Str name)
{
    const struct {
        Str name, value;
    } rows[] = {
        { S("store"), config->store },
        { S("listen"), config->listen },
        { S("state-dir"), config->guard.state_folder },
        { S("node-name"), config->node_name },
        { S("clock"), S("system") },
        { S("plain"), S("false") },
        { S("payload-max"), S(MACRO_TEXT(PAYLOAD_MAX_MIB) "M") },
        { S("body-max"), S(MACRO_TEXT(BODY_MAX_MIB) "M") },
        { S("bodies-max"), S(MACRO_TEXT(BODIES_MAX_MIB) "M") },
        { S("keep"), duration_text(arena, PURGE_KEPT) },
        { S("host-concurrency"), S(MACRO_TEXT(HOST_CONCURRENCY)) },
        { S("log-level"), S("info") },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (str_eq(rows[i].name, name))
            return rows[i].value;
    return STR_NONE;
}

// tell_settings keeps how each option is set, for whoever looks; a switch that was not given is
// false. What is a secret is never kept.
static void tell_settings(const Sources *sources, const CommandOption *options, Config *config)
{
    Arena *arena = args_arena(sources->args);
    SettingTold *told = ARENA_ARRAY(arena, SettingTold, SETTINGS_MAX + 1);
    size_t count = 0;
    for (const CommandOption *row = options; row->name && count < SETTINGS_MAX; row++) {
        SaidOption found = { STR_NONE, S("default") };
        if (row->value || is_switch(row->name))
            found = find(sources, row->name);
        if (!row->value && args_flag(sources->args, row->name))
            found = (SaidOption){ S("true"), S("flag") };
        if (!found.value.at)
            found.value = row->value || is_switch(row->name)
                              ? usual(arena, config, str_from(row->name))
                              : S("false");
        told[count++] = (SettingTold){ str_from(row->name), found.value, found.origin, false };
    }
    told[count++] =
        (SettingTold){ .name = S("admin-key"),
                       .origin = config->admin_key.at ? S("env PEAL_ADMIN_KEY") : S("default"),
                       .is_secret = true };
    config->settings = told;
    config->setting_count = count;
}

Err config_read(const CommandArgs *args, ConfigUse use, Config *ret, Error *error)
{
    static const CommandOption *const options[] = {
        [CONFIG_SERVE] = serve_options, [CONFIG_DEV] = dev_options, [CONFIG_SITE] = site_options
    };
    bool is_dev = use == CONFIG_DEV;
    Arena *arena = args_arena(args);
    Sources sources = { .args = args };
    TRY(read_file(args, &sources, error));
    *ret = (Config){ .is_dev = is_dev,
                     .is_empty = is_dev && args_flag(args, "empty"),
                     .opens_console = is_dev && args_flag(args, "open") };
    ret->store = option(&sources, "store");
    if (!ret->store.at)
        ret->store = default_stores[use];
    ret->listen = option(&sources, "listen");
    if (use == CONFIG_SITE)
        TRY(read_site(&sources, ret, error));
    if (!ret->listen.at)
        ret->listen = S(LISTEN_DEFAULT);
    ret->master_key_file = option(&sources, "master-key-file");
    ret->has_new_key = args_flag(args, "new-master-key");
    ret->guard = (EpochGuard){ .state_folder = state_folder(arena, &sources),
                               .adopts = args_flag(args, "adopt") };
    ret->url_template = option(&sources, "url-template");
    ret->table_folder = option(&sources, "table-source-dir");
    ret->exec_folder = option(&sources, "exec-dir");
    if (ret->exec_folder.at)
        TRY(exec_folder_check(arena, ret->exec_folder, error));
    ret->node_name = option(&sources, "node-name");
    if (!ret->node_name.at)
        ret->node_name = host_name(arena);
    // Not a flag: a command line is there for everyone to read.
    const char *admin_key = getenv("PEAL_ADMIN_KEY");
    ret->admin_key = admin_key && *admin_key ? str_from(admin_key) : STR_NONE;

    tell_settings(&sources, options[use], ret);
    TRY(read_limits(&sources, ret, error));
    TRY(read_kept(&sources, ret, error));
    TRY(read_host_max(&sources, ret, error));
    TRY(read_network(&sources, ret, error));
    TRY(read_trust(&sources, ret, error));
    Str level = option(&sources, "log-level");
    LogLevel lowest;
    if (level.at && !log_level_parse(level, &lowest))
        return fail(error, ERR_SETUP, "--log-level is debug, info, warn, error or off");
    if (level.at)
        log_level(lowest);
    Str allowed = option(&sources, "allow-private");
    if (allowed.at)
        TRY(address_policy_parse(allowed, &ret->addresses, error));
    return read_clock(option(&sources, "clock"), ret, error);
}

Str config_key_path(Arena *arena, const Config *config, bool *ret_may_make)
{
    const char *credentials = getenv("CREDENTIALS_DIRECTORY");
    *ret_may_make = true;
    if (config->master_key_file.len)
        return config->master_key_file;
    if (credentials) {
        *ret_may_make = false;
        return str_format(arena, "%s/master-key", credentials);
    }
    if (str_starts(config->store, S("sqlite:"))) {
        Str rest = str_skip(config->store, strlen("sqlite:"));
        Str path = str_cut(&rest, '?');
        return str_format(arena, "%.*s.key", STR_ARG(path));
    }
    return str_format(arena, "%.*s/master.key", STR_ARG(config->guard.state_folder));
}

// make_key writes a new key so that no reader ever sees half of it.
static Err make_key(Arena *arena, Str path, Error *error)
{
    uint8_t key[MASTER_KEY_LEN];
    Random random = random_system();
    random_fill(&random, key, sizeof key);
    file_make_folders(arena, path);
    Str temporary = str_format(arena, "%.*s.%d", STR_ARG(path), (int) getpid());
    int fd = open(temporary.at, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail(error, ERR_INTERNAL, "cannot make the master key %s: %m", temporary.at);
    Str text = hex_text(arena, key, sizeof key);
    bool is_written = write(fd, text.at, text.len) == (ssize_t) text.len && fsync(fd) == 0;
    close(fd);
    crypto_wipe(key, sizeof key);
    // link() fails where another process was first: then its key counts.
    bool is_there = is_written && (link(temporary.at, str_z(arena, path)) == 0 || errno == EEXIST);
    unlink(temporary.at);
    if (!is_there || !file_sync_folder(arena, path))
        return fail(error, ERR_INTERNAL, "cannot write the master key %.*s", STR_ARG(path));
    return ERR_OK;
}

Err config_make_key(Arena *arena, const Config *config, KeyRing *ret, Error *error)
{
    bool may_make;
    Str path = config_key_path(arena, config, &may_make);
    assert(may_make && ret->count == 0);
    TRY(make_key(arena, path, error));
    return config_keys(arena, config, ret, error);
}

void config_guard_key(Arena *arena, const Config *config)
{
    bool is_ours;
    const char *path = str_z(arena, config_key_path(arena, config, &is_ours));
    if (is_ours && !config->master_key_file.len)
        file_tighten(path);
    else if (file_is_open(path))
        log_error("key.readable", "file=%s detail=\"others can read the master key: chmod 600\"",
                  log_quote(str_from(path)));
}

Err config_keys(Arena *arena, const Config *config, KeyRing *ret, Error *error)
{
    bool may_make;
    const char *name = str_z(arena, config_key_path(arena, config, &may_make));
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(error, errno == ENOENT && may_make ? ERR_NOT_FOUND : ERR_SETUP,
                    "cannot read the master key %s: %m", name);
    char text[4096];
    ssize_t len = read(fd, text, sizeof text);
    close(fd);
    Str rest = { text, len > 0 ? (size_t) len : 0 };
    while (rest.len > 0) {
        Str line = str_trim(str_cut(&rest, '\n')), key;
        if (line.len == 0)
            continue;
        if (!hex_parse(arena, line, &key) || key.len != MASTER_KEY_LEN)
            return fail(error, ERR_SETUP, "%s must hold one key of %d hex digits a line", name,
                        MASTER_KEY_LEN * 2);
        TRY(key_ring_add(ret, key, error));
    }
    crypto_wipe(text, sizeof text);
    if (ret->count == 0)
        return fail(error, ERR_SETUP, "%s holds no key", name);
    return ERR_OK;
}
