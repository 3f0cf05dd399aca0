#include "app/backup.h"

#include "base/clock.h"
#include "base/json.h"
#include "cli/output.h"
#include "store/backup.h"

enum { ANSWER_BYTES_MAX = 16 * 1024 };

static void tell_json(Arena *arena, Str path, int64_t bytes, bool is_postgres)
{
    Buf text = buf_new(arena, ANSWER_BYTES_MAX);
    JsonOut json = json_out(&text);
    json_open(&json, '{');
    json_put_str(&json, S("file"), path);
    json_put_i64(&json, S("bytes"), bytes);
    json_put_str(&json, S("format"), is_postgres ? S("pg_dump") : S("sqlite"));
    json_put_bool(&json, S("hasMasterKey"), false);
    json_close(&json, '}');
    output_json(buf_str(&text));
}

static void tell(Arena *arena, const Config *config, Str path, int64_t bytes, bool is_postgres)
{
    bool may_make;
    printf("%.*s holds all that was acknowledged before it began: %lld bytes.\n", STR_ARG(path),
           (long long) bytes);
    printf("The master key is not in it; without %.*s no secret of a channel can be opened.\n"
           "Keep that too, elsewhere.\n",
           STR_ARG(config_key_path(arena, config, &may_make)));
    if (is_postgres)
        printf("Restore with: pg_restore --dbname=DATABASE %.*s\n", STR_ARG(path));
    else
        printf("Restore with: cp %.*s PEAL.DB, beside no -wal and no -shm\n", STR_ARG(path));
    printf("What is restored is held: it sends nothing until `peal release`.\n");
}

int backup_run(Arena *arena, const Config *config, Str path, bool is_json)
{
    Clock clock;
    Error error = { 0 };
    int64_t bytes;
    bool is_postgres = db_driver_for(config->store) == &postgres_driver;
    clock_init_system(&clock);
    if (backup_write(arena, config->store, path, clock_now(&clock), &bytes, &error) != ERR_OK)
        return output_error(&error, S("peal backup --help"));
    if (is_json)
        tell_json(arena, path, bytes, is_postgres);
    else
        tell(arena, config, path, bytes, is_postgres);
    return EXIT_DONE;
}
