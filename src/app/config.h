// config.h - how the program is set up: flags over environment over defaults.
//
// Options are rows (config.c): the flag, the variable, the default and the help in one place.
#pragma once

#include "api/api.h"
#include "base/arena.h"
#include "base/crypto.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/command.h"
#include "net/address.h"
#include "store/epoch.h"

// What holds where nothing is said, in MiB: the help prints it.
#define PAYLOAD_MAX_MIB 1
#define BODY_MAX_MIB 32
#define BODIES_MAX_MIB 256

typedef struct Config {
    Str store; // sqlite:PATH or postgres://…
    Str listen;
    Str tls_cert, tls_key; // files; none: without TLS
    AddressPolicy proxies; // that stand before it
    bool is_plain;         // others may reach it in plain text
    bool is_manual;
    Instant manual_from; // INSTANT_NONE: where it stood, else the system's time
    AddressPolicy addresses;
    Str ca_file;         // certificates to trust beside the system's; none
    Str admin_key;       // PEAL_ADMIN_KEY; none
    Str master_key_file; // none: $CREDENTIALS_DIRECTORY, else a file beside the store
    bool has_new_key;    // the master key is meant to replace the one this database knows
    EpochGuard guard;    // where the store's epoch is kept outside, and whether to vouch for it
    Str table_folder;    // below which SQLite files may be table sources; none
    Str exec_folder;     // of commands that exec channels may run; none
    size_t payload_max, body_max, bodies_max; // bytes of one event, one request, all requests
    Span kept;                                // what has ended
    int host_max; // requests to one host at once; 0: as the engine has it
    Str url_template;
    Str node_name;
    bool is_dev;
    bool is_empty;               // dev without the demo
    bool opens_console;          // dev that shows its console in a browser
    bool is_private;             // dev that reaches nothing outside (app/private.h)
    const SettingTold *settings; // how each option is set, for whoever looks (api.h)
    size_t setting_count;
    Str central, central_key; // of a site: where it hands on, and its key there; none: it is none
} Config;

extern const CommandOption serve_options[];
extern const CommandOption dev_options[];
extern const CommandOption site_options[];
extern const CommandOption store_options[];
extern const CommandOption doctor_options[];

// config_read takes what the command line and the environment say; error says what is wrong.
typedef enum ConfigUse { CONFIG_SERVE, CONFIG_DEV, CONFIG_SITE } ConfigUse;
Err config_read(const CommandArgs *args, ConfigUse use, Config *ret, Error *error) MUST_USE;

// config_key_path says where the master key lies, and whether it may be made there.
Str config_key_path(Arena *arena, const Config *config, bool *ret_may_make);

// config_guard_key sees that the master key is nobody else's. One that Peal has made is tightened.
// One that was given is only told of, loudly: where Kubernetes mounts secrets, they are readable by
// all unless asked otherwise, and nobody but the process sees that disk.
void config_guard_key(Arena *arena, const Config *config);

// config_keys loads the master key. ERR_NOT_FOUND: there is none yet where one may be made.
Err config_keys(Arena *arena, const Config *config, KeyRing *ret, Error *error) MUST_USE;

// config_make_key makes a master key where there is none, durably, and loads it. Only for a
// database that holds no secrets yet (store/seal.h): a new key would hide that the old one is lost.
Err config_make_key(Arena *arena, const Config *config, KeyRing *ret, Error *error) MUST_USE;
