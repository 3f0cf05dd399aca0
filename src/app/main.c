#include "app/backup.h"
#include "app/config.h"
#include "app/doctor.h"
#include "app/private.h"
#include "app/serve.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/scenarios.h"
#include "store/migrate.h"

// The server's side of the command line; the client's commands are in cli/.

static int refuse(const Error *error)
{
    return output_error(error, STR_NONE);
}

static int serve(CommandArgs *args)
{
    Config config;
    Error error = { 0 };
    if (config_read(args, CONFIG_SERVE, &config, &error) != ERR_OK)
        return refuse(&error);
    return serve_run(args_arena(args), &config);
}

static int dev(CommandArgs *args)
{
    Config config;
    Error error = { 0 };
    if (config_read(args, CONFIG_DEV, &config, &error) != ERR_OK)
        return refuse(&error);
    return serve_run(args_arena(args), &config);
}

static int site(CommandArgs *args)
{
    Config config;
    Error error = { 0 };
    if (config_read(args, CONFIG_SITE, &config, &error) != ERR_OK)
        return refuse(&error);
    return serve_run(args_arena(args), &config);
}

static int test(CommandArgs *args)
{
    return scenarios_run(args, private_serve);
}

static int migrate(CommandArgs *args)
{
    Config config;
    Error error = { 0 };
    Db *db;
    int applied;
    if (config_read(args, CONFIG_SERVE, &config, &error) != ERR_OK ||
        db_open(&(DbOptions){ .url = config.store }, &db, &error) != ERR_OK)
        return refuse(&error);
    Err err = migrate_run(db, &applied, &error);
    db_close(db);
    if (err != ERR_OK)
        return refuse(&error);
    printf(args_flag(args, "json") ? "{\"applied\":%d}\n" : "%d migrations applied\n", applied);
    return EXIT_DONE;
}

static int doctor(CommandArgs *args)
{
    Config config;
    Error error = { 0 };
    if (config_read(args, CONFIG_SERVE, &config, &error) != ERR_OK)
        return refuse(&error);
    return doctor_run(args_arena(args), &config, args_flag(args, "json"));
}

static int backup(CommandArgs *args)
{
    Config config;
    Error error = { 0 };
    int status = args_expect(args, "FILE", 1, 1);
    if (status != EXIT_DONE)
        return status;
    if (config_read(args, CONFIG_SERVE, &config, &error) != ERR_OK)
        return refuse(&error);
    return backup_run(args_arena(args), &config, str_from(args_word(args, 0)),
                      args_flag(args, "json"));
}

static const Command commands[] = {
    { .name = "dev",
      .usage = "dev [--listen HOST:PORT] [--empty] [--open]",
      .summary = "Run Peal to try it out: every channel captures, nothing is sent",
      .options = dev_options,
      .run = dev },
    { .name = "serve",
      .usage = "serve [--store URL] [--listen HOST:PORT] [--clock MODE]",
      .summary = "Run Peal",
      .details = "Examples:\n"
                 "  peal serve --store sqlite:/var/lib/peal/peal.db\n"
                 "  PEAL_ADMIN_KEY=pk_… peal serve --store postgres://peal@db/peal\n"
                 "  peal serve --listen 0.0.0.0:7325 --tls-cert peal.crt --tls-key peal.key\n"
                 "  peal serve --listen 10.0.0.5:7325 --behind-proxy 10.0.0.2\n",
      .options = serve_options,
      .run = serve },
    { .name = "site",
      .usage = "site --central URL --key-file FILE [--store sqlite:PATH] [--listen WHERE]",
      .summary = "Run a site: keep what comes in, and hand it on to central",
      .details =
          "Whatever a site has taken in is synced in its own file and is handed on in order,\n"
          "however long central is away. docs/sites.md has the rest.\n\n"
          "Examples:\n"
          "  peal site --store sqlite:/var/lib/peal/site.db --central https://peal.example.org"
          " --key-file site.key\n"
          "  peal notify ops --subject 'Boiler' --body 'It is hot'\n",
      .options = site_options,
      .run = site },
    { .name = "test",
      .usage = "test DIR [--filter TEXT] [--verbose] [--junit FILE] [--json]",
      .summary = "Play scenarios of definitions as files, in a Peal of their own and in no time",
      .details =
          "A scenario is a document of kind: scenario in DIR: events and answers at times, and\n"
          "the messages that are expected of them. For each, a Peal is started that nobody else\n"
          "has, with an empty store and a clock that is moved: 60 days pass in a second. The\n"
          "definitions in DIR are applied to it. Nothing is sent, and no other Peal is asked.\n"
          "Exits with 0 where all pass, 1 where one fails, 2 where the files are wrong.\n"
          "docs/testing.md says what a scenario may say.\n\n"
          "Examples:\n"
          "  peal init shop && peal test shop\n"
          "  peal test shop --filter reminder --verbose\n"
          "  peal test shop --junit results.xml             in CI\n",
      .options = scenarios_options,
      .run = test },
    { .name = "migrate",
      .usage = "migrate [--store URL] [--json]",
      .summary = "Bring the tables up to date; serve does so by itself",
      .options = store_options,
      .run = migrate },
    { .name = "doctor",
      .usage = "doctor [--store URL] [--json]",
      .summary = "Look at the store and say what is wrong with it",
      .options = doctor_options,
      .run = doctor },
    { .name = "backup",
      .usage = "backup FILE [--store URL] [--json]",
      .summary = "Copy the store into a file, while Peal runs or not",
      .details =
          "The copy holds all that was acknowledged before it began. It is synced, readable by\n"
          "its owner alone, and never takes the place of another file. The master key is not in\n"
          "it. On SQLite it is a database: start Peal with it and it is held until `peal\n"
          "release`. On PostgreSQL it is an archive of pg_dump (which must be installed), for\n"
          "pg_restore. docs/operations.md says how to restore.\n\n"
          "Examples:\n"
          "  peal backup --store sqlite:/var/lib/peal/peal.db /backup/peal-monday.db\n"
          "  PEAL_STORE=postgres://peal@db/peal peal backup /backup/peal-monday.dump\n",
      .options = store_options,
      .run = backup },
};

int main(int argc, char **argv)
{
    return command_main(argc, argv, commands, ARRAY_LEN(commands));
}
