#include "cli/client.h"

#include "base/err.h"
#include "cli/input.h"
#include "cli/pages.h"

// A stream is asked for anew after so long: a connection may be dead, and nobody know.
#define STREAM_SPAN SPAN_HOUR

enum {
    CALL_HEADERS = 5,
    ANSWER_BYTES_MAX = 64 * 1024 * 1024,
    URL_BYTES_MAX = 64 * 1024,
    EXCERPT_MAX = 300,
    LIST_ROWS = 50,
};

static const char *first_of(const char *a, const char *b, const char *c)
{
    const char *choices[] = { a, b, c };
    for (size_t i = 0; i < ARRAY_LEN(choices); i++)
        if (choices[i] && choices[i][0])
            return choices[i];
    return NULL;
}

// is_this_machine is true for a URL whose host can be nobody else's.
static bool is_this_machine(Str url)
{
    static const char *const hosts[] = { "127.0.0.1", "localhost", "[::1]" };
    Str scheme = S("http://");
    if (!str_starts(url, scheme))
        return false;
    Str rest = str_skip(url, scheme.len);
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        Str host = str_from(hosts[i]);
        Str behind = str_starts(rest, host) ? str_skip(rest, host.len) : S("?");
        if (behind.len == 0 || behind.at[0] == ':' || behind.at[0] == '/')
            return !str_contains(rest, S("@"));
    }
    return false;
}

static Str key_of_this_folder(Arena *arena, Str url)
{
    Str key = STR_NONE;
    if (!is_this_machine(url) || !input_file(arena, CLIENT_KEY_FILE, &key))
        return STR_NONE;
    return str_trim(str_cut(&key, '\n'));
}

Client client_open(const CommandArgs *args)
{
    Client client = {
        .args = args,
        .arena = args_arena(args),
        .json = args_flag(args, "json"),
        .url = str_from(first_of(args_option(args, "url"), getenv("PEAL_URL"), CLIENT_URL_DEFAULT)),
        .key = str_from(
            first_of(args_option(args, "key"), getenv("PEAL_KEY"), getenv("PEAL_ADMIN_KEY"))),
        .ca = str_from(first_of(args_option(args, "ca"), getenv("PEAL_CA"), NULL)),
        .timeout = 60 * (Span) SPAN_SECOND,
    };
    while (str_ends(client.url, S("/")))
        client.url.len--;
    if (!client.key.at)
        client.key = key_of_this_folder(client.arena, client.url);
    return client;
}

static void add_encoded(Buf *buf, Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char) text.at[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (plain || (c && strchr("-._~:", c)))
            buf_add_char(buf, (char) c);
        else
            buf_add_format(buf, "%%%02X", (unsigned) c);
    }
}

Str client_path(Arena *arena, const char *base, const char *id, const char *tail)
{
    Buf path = buf_new(arena, URL_BYTES_MAX);
    buf_add_format(&path, "%s/", base);
    add_encoded(&path, str_from(id));
    if (tail)
        buf_add_format(&path, "/%s", tail);
    return buf_str(&path);
}

Str client_with(const Client *client, Str path, Str name, Str value)
{
    Buf url = buf_new(client->arena, URL_BYTES_MAX);
    buf_add(&url, path);
    buf_add_char(&url, memchr(path.at, '?', path.len) ? '&' : '?');
    buf_add(&url, name);
    buf_add_char(&url, '=');
    add_encoded(&url, value);
    return buf_str(&url);
}

Str client_query(const Client *client, Str path, const char *options)
{
    Str rest = str_from(options);
    while (rest.len > 0) {
        Str name = str_cut(&rest, ' ');
        const char *value = args_option(client->args, str_z(client->arena, name));
        if (value)
            path = client_with(client, path, name, str_from(value));
    }
    return path;
}

static TransferResult send_request(const Client *client, const char *method, Str path, Str body)
{
    Arena *arena = client->arena;
    Header headers[CALL_HEADERS] = { { S("accept"), S("application/json") } };
    size_t count = 1;
    if (client->key.len > 0)
        headers[count++] =
            (Header){ S("authorization"), str_format(arena, "Bearer %.*s", STR_ARG(client->key)) };
    if (body.at || client->file)
        headers[count++] =
            (Header){ S("content-type"),
                      client->body_type.at ? client->body_type : S("application/json") };
    if (client->idempotency_key.len > 0)
        headers[count++] = (Header){ S("idempotency-key"), client->idempotency_key };
    if (client->if_match.len > 0)
        headers[count++] =
            (Header){ S("if-match"), str_format(arena, "\"%.*s\"", STR_ARG(client->if_match)) };
    Transfer transfer = {
        .method = str_from(method),
        .url = str_format(arena, "%.*s%.*s", STR_ARG(client->url), STR_ARG(path)),
        .headers = headers,
        .header_count = count,
        .body = body,
        .timeout = client->timeout,
        .ca = client->ca,
        .response_max = ANSWER_BYTES_MAX,
        .source = client->file ? input_read : NULL,
        .source_with = client->file,
        .source_bytes = client->file ? client->file->bytes : 0,
    };
    return transfer_once(arena, &transfer);
}

// tell says what is wrong, or keeps it for who asked to say it himself.
static int tell(const Client *client, const Failure *failure)
{
    if (!client->failure)
        return output_failure(failure);
    *client->failure = *failure;
    return failure->exit;
}

// report_silence says why there is no answer at all.
static int report_silence(const Client *client, const TransferResult *result)
{
    Failure failure = {
        .exit = EXIT_UNREACHABLE,
        .error = str_format(client->arena, "Peal cannot be reached at %.*s", STR_ARG(client->url)),
        .why = result->problem_text,
    };
    switch (result->problem) {
    case TRANSFER_NOT_TRIED:
        failure.error = S("The request could not be made");
        break;
    case TRANSFER_REFUSED:
        failure.exit = EXIT_INVALID;
        failure.error = S("The request could not be made");
        failure.hint = S("a --url such as " CLIENT_URL_DEFAULT ", and a key in one line");
        break;
    case TRANSFER_NO_CONNECTION:
        failure.hint = str_starts(client->url, S("https:"))
                           ? S("--ca FILE or PEAL_CA, where the certificate is not a public one's")
                           : S("peal dev starts one here; --url or PEAL_URL names another");
        break;
    case TRANSFER_NO_ANSWER:
        failure.error =
            str_format(client->arena, "Peal at %.*s did not answer", STR_ARG(client->url));
        failure.hint = S("again; the request may have been carried out");
        break;
    case TRANSFER_FORBIDDEN:
    case TRANSFER_LOGIN_REFUSED:
    case TRANSFER_ANSWERED:
        break;
    }
    return tell(client, &failure);
}

// exit_of gives an HTTP status the exit status of its row in ERR_TABLE.
static int exit_of(int status)
{
    static const struct {
        int status, exit;
    } rows[] = {
#define EXIT_ROW(name, http, exit, code, title) { http, exit },
        ERR_TABLE(EXIT_ROW)
#undef EXIT_ROW
            { 502, EXIT_UNREACHABLE }, // proxies in front of Peal say these two
        { 504, EXIT_UNREACHABLE },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].status == status)
            return rows[i].exit;
    return status >= 400 && status < 500 ? EXIT_INVALID : EXIT_FAILED;
}

static Str hint_for(const Client *client, const TransferResult *result)
{
    Str wait = result->retry_after;
    switch (result->status) {
    case 401:
        return client->key.len > 0 ? S("another key: --key KEY or PEAL_KEY")
                                   : S("give a key: --key KEY or PEAL_KEY");
    case 403:
        return S("a key with another role; peal keys lists them");
    case 404:
        return client->lists_with ? str_format(client->arena, "peal %s", client->lists_with)
                                  : STR_NONE;
    case 412:
        return S("read it again, then change it");
    case 429:
    case 503:
        return wait.len > 0 ? str_format(client->arena, "again in %.*s s", STR_ARG(wait))
                            : S("again in a moment");
    default:
        break;
    }
    return result->status >= 300 && result->status < 400 ? S("the --url that it moved to")
                                                         : STR_NONE;
}

// report_problem prints a problem+json answer, or what came in its place.
static int report_problem(const Client *client, const TransferResult *result, const Json *json)
{
    Arena *arena = client->arena;
    const Json *errors = json_get(json, S("errors"));
    Problem *problems = ARENA_ARRAY(arena, Problem, json_count(errors) + 1);
    size_t count = 0;
    for (JsonIter it = json_each(errors); json_next(&it);) {
        Str path = json_str(json_get(it.value, S("path")));
        problems[count++] = (Problem){
            .path = client->place ? client->place(client->place_with, arena, path) : path,
            .message = json_str(json_get(it.value, S("message"))),
        };
    }

    Failure failure = {
        .exit = exit_of(result->status),
        .error = json_str(json_get(json, S("title"))),
        .why = json_str(json_get(json, S("detail"))),
        .hint = hint_for(client, result),
        .problems = problems,
        .problem_count = count,
    };
    bool is_problem = failure.error.len > 0;
    if (!is_problem)
        failure.error = str_format(arena, "The server answered %d", result->status);
    if (!is_problem && failure.why.len == 0 && count == 0)
        failure.why = (Str){ result->body.at,
                             result->body.len < EXCERPT_MAX ? result->body.len : EXCERPT_MAX };
    Str request = json_str(json_get(json, S("requestId")));
    if (failure.exit == EXIT_FAILED && request.len > 0 && failure.hint.len == 0)
        failure.hint = str_format(arena, "the server's log for request %.*s", STR_ARG(request));
    if (client->json && json)
        output_json(result->body);
    return tell(client, &failure);
}

// read_body keeps the text of an answer, and what it means where it is JSON.
static bool read_body(const Client *client, const TransferResult *result, Answer *ret)
{
    Answer answer = { .status = result->status, .text = result->body };
    bool is_json = result->body.len == 0 ||
                   json_parse(client->arena, result->body, &answer.json, NULL) == ERR_OK;
    *ret = answer;
    return is_json;
}

int client_call(const Client *client, const char *method, Str path, Str body, Answer *ret)
{
    TransferResult result = send_request(client, method, path, body);
    Answer answer = { 0 };
    if (result.problem != TRANSFER_ANSWERED)
        return report_silence(client, &result);
    bool is_json = read_body(client, &result, &answer);
    if (result.status < 200 || result.status >= 300)
        return report_problem(client, &result, answer.json);
    if (!is_json && !client->takes_text)
        return tell(client,
                    &(Failure){
                        .exit = EXIT_FAILED,
                        .error = str_format(client->arena,
                                            "What listens at %.*s does not speak as Peal does",
                                            STR_ARG(client->url)),
                        .why = S("the answer is not JSON"),
                        .hint = S("--url or PEAL_URL"),
                    });
    *ret = answer;
    return EXIT_DONE;
}

int client_get(const Client *client, Str path, Answer *ret)
{
    return client_call(client, "GET", path, STR_NONE, ret);
}

int client_stream(Client *client, Str path, Str last, bool (*piece)(void *with, Str bytes),
                  void *with, bool *ret_lost)
{
    Arena *arena = client->arena;
    Header headers[CALL_HEADERS] = { { S("accept"), S("text/event-stream") } };
    size_t count = 1;
    if (client->key.len > 0)
        headers[count++] =
            (Header){ S("authorization"), str_format(arena, "Bearer %.*s", STR_ARG(client->key)) };
    if (last.len > 0)
        headers[count++] = (Header){ S("last-event-id"), last };
    Transfer transfer = { .method = S("GET"),
                          .url = str_format(arena, "%.*s%.*s", STR_ARG(client->url), STR_ARG(path)),
                          .headers = headers,
                          .header_count = count,
                          .timeout = STREAM_SPAN,
                          .ca = client->ca,
                          .response_max = ANSWER_BYTES_MAX,
                          .piece = piece,
                          .piece_with = with };
    client->lost = transfer_once(arena, &transfer);
    *ret_lost = client->lost.problem != TRANSFER_ANSWERED || client->lost.status >= 500;
    if (*ret_lost || client->lost.status == 200)
        return EXIT_DONE;
    Answer answer;
    (void) read_body(client, &client->lost, &answer);
    return report_problem(client, &client->lost, answer.json);
}

int client_lost(const Client *client)
{
    Answer answer;
    if (client->lost.problem != TRANSFER_ANSWERED)
        return report_silence(client, &client->lost);
    (void) read_body(client, &client->lost, &answer);
    return report_problem(client, &client->lost, answer.json);
}

bool client_look(const Client *client, Str path, Answer *ret)
{
    TransferResult result = send_request(client, "GET", path, STR_NONE);
    Answer answer = { 0 };
    if (result.problem != TRANSFER_ANSWERED || result.status != 200 ||
        !read_body(client, &result, &answer) || !answer.json)
        return false;
    *ret = answer;
    return true;
}

int client_list(const CommandArgs *args, const ClientList *list)
{
    Client client = client_open(args);
    Pages pages;
    int status = pages_read(&client, list->path, list->options, "items", LIST_ROWS, &pages);
    if (status != EXIT_DONE)
        return status;
    if (client.json) {
        pages_json(&client, &pages, "items");
        return EXIT_DONE;
    }
    output_list(client.arena, pages.items, pages.count, list->columns, list->column_count);
    if (pages.count == 0)
        fprintf(stderr, "No %s.\n", list->noun);
    pages_tell(&client, &pages);
    return EXIT_DONE;
}

int client_show(const CommandArgs *args, Str path, const char *lists_with)
{
    Client client = client_open(args);
    Answer answer = { 0 };
    client.lists_with = lists_with;
    int status = client_get(&client, client_query(&client, path, "tenant"), &answer);
    if (status != EXIT_DONE)
        return status;
    if (client.json)
        output_json(answer.text);
    else
        output_fields(client.arena, answer.json);
    return EXIT_DONE;
}

static Str reason_body(const Client *client)
{
    const char *reason = args_option(client->args, "reason");
    if (!reason)
        return STR_NONE;
    Buf text = buf_new(client->arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_str(&out, S("reason"), str_from(reason));
    json_close(&out, '}');
    return buf_str(&text);
}

int client_act(const Client *client, const char *base, const char *action)
{
    Str body = reason_body(client);
    int worst = EXIT_DONE;
    for (size_t i = 0; i < args_count(client->args); i++) {
        const char *id = args_word(client->args, i);
        Answer answer = { 0 };
        int status = client_call(client, "POST", client_path(client->arena, base, id, action), body,
                                 &answer);
        if (status != EXIT_DONE) {
            worst = worst == EXIT_DONE ? status : worst;
            continue;
        }
        if (client->json)
            output_json(answer.text);
        else
            printf("%s  %.*s\n", id,
                   STR_ARG(output_value(client->arena, json_get(answer.json, S("state")))));
    }
    return worst;
}
