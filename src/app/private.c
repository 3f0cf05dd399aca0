#include "app/private.h"

#include "app/serve.h"
#include "base/log.h"
#include "store/purge.h"

enum { MIB = 1 << 20 };

int private_serve(Arena *arena, const StageSetup *setup)
{
    Config config = {
        .store = str_format(arena, "sqlite:%.*s/peal.db", STR_ARG(setup->folder)),
        .listen = S("127.0.0.1:0"),
        .is_manual = true,
        .manual_from = setup->from,
        .admin_key = setup->key,
        .master_key_file = str_format(arena, "%.*s/master.key", STR_ARG(setup->folder)),
        .guard = { .state_folder = setup->folder },
        .payload_max = (size_t) PAYLOAD_MAX_MIB * MIB,
        .body_max = (size_t) BODY_MAX_MIB * MIB,
        .bodies_max = (size_t) BODIES_MAX_MIB * MIB,
        .kept = PURGE_KEPT_MAX, // what is looked at in the end is there yet
        .url_template = S("https://peal.example/s/{publicId}"),
        .node_name = S("test"),
        .is_dev = true,
        .is_empty = true,
        .is_private = true,
    };
    log_level(LOG_WARN);
    return serve_run(arena, &config);
}
