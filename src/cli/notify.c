// Telling a list something: at a site, whose file keeps it before this returns, or at central.

#include "base/json.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/site.h"

enum { BODY_BYTES_MAX = 4 << 20 };

static int notify_site(const CommandArgs *args, const char *store)
{
    char id[PEAL_ID_SIZE] = "";
    const char *given = args_option(args, "id");
    PealNotification notification = { .list = args_word(args, 0),
                                      .subject = args_option(args, "subject"),
                                      .body = args_option(args, "body"),
                                      .type = args_option(args, "type"),
                                      .type_data = args_option(args, "data"),
                                      .script = "peal notify" };
    if (given && snprintf(id, sizeof id, "%s", given) >= (int) sizeof id)
        return args_usage(args, "--id is a UUID");
    Peal *peal = peal_open(store);
    if (!peal)
        abort();
    PealResult result = peal_notify(peal, &notification, id);
    int status = site_told(args, result);
    peal_close(peal);
    if (result == PEAL_OK)
        site_print_id(args, id);
    return status;
}

static void put_option(JsonOut *out, const CommandArgs *args, const char *option)
{
    const char *value = args_option(args, option);
    if (value)
        json_put_str(out, str_from(option), str_from(value));
}

static int notify_central(const CommandArgs *args)
{
    Client client = client_open(args);
    Answer answer = { 0 };
    const Json *data;
    const char *given = args_option(args, "data");
    Buf body = buf_new(client.arena, BODY_BYTES_MAX);
    JsonOut out = json_out(&body);
    if (given && json_parse(client.arena, str_from(given), &data, NULL) != ERR_OK)
        return args_usage(args, "--data is a JSON object");
    json_open(&out, '{');
    json_put_str(&out, S("list"), str_from(args_word(args, 0)));
    put_option(&out, args, "id");
    put_option(&out, args, "subject");
    put_option(&out, args, "body");
    put_option(&out, args, "type");
    if (given)
        json_put_raw(&out, S("typeData"), str_from(given));
    json_close(&out, '}');
    int status = client_call(&client, "POST", S("/v1/notifications"), buf_str(&body), &answer);
    if (status != EXIT_DONE)
        return status;
    if (client.json)
        output_json(answer.text);
    else
        printf("%.*s\n", STR_ARG(json_str(json_get(answer.json, S("id")))));
    return EXIT_DONE;
}

static void print_status(const CommandArgs *args, const PealStatus *status)
{
    Buf text = buf_new(args_arena(args), BODY_BYTES_MAX);
    JsonOut out = json_out(&text);
    if (!args_flag(args, "json")) {
        printf("%s%s\n", status->status, status->is_stale ? " (last known: central is away)" : "");
        if (status->last_error[0])
            printf("%s\n", status->last_error);
        return;
    }
    json_open(&out, '{');
    json_put_str(&out, S("status"), str_from(status->status));
    json_put_i64(&out, S("retryCount"), status->retry_count);
    json_put_str(&out, S("lastError"),
                 status->last_error[0] ? str_from(status->last_error) : STR_NONE);
    json_put_bool(&out, S("stale"), status->is_stale);
    json_close(&out, '}');
    output_json(buf_str(&text));
}

static int status_of(const CommandArgs *args)
{
    const char *store = site_of(args), *id = args_word(args, 1);
    PealStatus status;
    if (!store)
        return client_show(args, client_path(args_arena(args), "/v1/notifications", id, NULL),
                           "peal notify LIST");
    Peal *peal = peal_open(store);
    if (!peal)
        abort();
    PealResult result = peal_status(peal, id, &status);
    int told = site_told(args, result);
    peal_close(peal);
    if (result == PEAL_OK)
        print_status(args, &status);
    return told;
}

static int notify(CommandArgs *args)
{
    const char *word = args_word(args, 0), *store = site_of(args);
    bool is_status = word && strcmp(word, "status") == 0 && args_count(args) > 1;
    int status = args_expect(args, is_status ? "an ID" : "a LIST", 1, is_status ? 2 : 1);
    if (status != EXIT_DONE)
        return status;
    if (is_status)
        return status_of(args);
    if (!args_option(args, "body"))
        return args_usage(args, "What to say is missing: --body TEXT");
    return store ? notify_site(args, store) : notify_central(args);
}

static const CommandOption options[] = {
    { "subject", "TEXT", "what it is about" },
    { "body", "TEXT", "what to say" },
    { "type", "TYPE", "of the channel, such as email; else the list's first" },
    { "data", "JSON", "for the channel, such as {\"html\":\"…\"}" },
    { "id", "UUID", "its id; the same one again is no second notification" },
    SITE_OPTION,
    CLIENT_OPTIONS,
};

const Command command_notify = {
    .name = "notify",
    .usage = "notify LIST --body TEXT [--subject TEXT] [--site STORE]\n"
             "notify status ID [--site STORE]",
    .summary = "Tell a list something, or ask what became of it",
    .details =
        "At a site it answers the id when it is synced, whether or not the site runs; no\n"
        "network is touched. Without a site it asks central.\n\n"
        "Examples:\n"
        "  peal notify ops --subject Boiler --body 'It is hot' --site /var/lib/peal/site.db\n"
        "  peal notify status 01975e3c-7a4b-7000-8000-2c9d3f5b1a60",
    .options = options,
    .run = notify,
};
