// The client commands against a server that answers from a table and notes what it was asked.

#include "cli/command.h"
#include "net/server.h"
#include "run.h"
#include "test.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct Canned {
    const char *request; // method and path, with the query
    int status;
    const char *body;
    const char *retry_after;
} Canned;

enum { ASKED_MAX = 64 * 1024 };

typedef struct Fake {
    pthread_mutex_t lock; // guards the rest
    const Canned *rows;
    Canned single; // rows, where there is one that changes
    size_t count;
    char asked[ASKED_MAX]; // a line for each request: method, path with query, headers, body
    size_t asked_len;
    Server *server;
} Fake;

static Fake fake = { .lock = PTHREAD_MUTEX_INITIALIZER };
static Run ran;

static void note(const Exchange *exchange, Str target)
{
    static const char *const names[] = { "authorization", "idempotency-key", "if-match" };
    size_t room = ASKED_MAX - fake.asked_len;
    char *at = fake.asked + fake.asked_len;
    int len = snprintf(at, room, "%.*s", STR_ARG(target));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        Str value = exchange_header(exchange, str_from(names[i]));
        if (value.len > 0)
            len += snprintf(at + len, room - (size_t) len, " %s=%.*s", names[i], STR_ARG(value));
    }
    len += snprintf(at + len, room - (size_t) len, " %.*s\n", STR_ARG(exchange->body));
    fake.asked_len += (size_t) len;
}

static void handle(void *with, Exchange *exchange)
{
    (void) with;
    Buf target = buf_new(&exchange->arena, 4096);
    Header pair;
    buf_add_format(&target, "%.*s %.*s", STR_ARG(exchange->method), STR_ARG(exchange->path));
    for (size_t i = 0; exchange_query_next(exchange, i, &pair); i++)
        buf_add_format(&target, "%c%.*s=%.*s", i ? '&' : '?', STR_ARG(pair.name),
                       STR_ARG(pair.value));

    Reply reply = { .status = 404, .type = S("application/json"), .body = S("{\"title\":\"No\"}") };
    pthread_mutex_lock(&fake.lock);
    note(exchange, buf_str(&target));
    for (size_t i = 0; i < fake.count; i++) {
        const Canned *row = &fake.rows[i];
        if (!str_eq(buf_str(&target), str_from(row->request)))
            continue;
        reply.status = row->status;
        reply.body = str_from(row->body);
        if (row->retry_after)
            reply.headers[reply.header_count++] =
                (Header){ S("retry-after"), str_from(row->retry_after) };
        break;
    }
    pthread_mutex_unlock(&fake.lock);
    exchange_reply(exchange, &reply);
}

// serve makes the server answer from rows and forget what it was asked before.
static void serve(const Canned *rows, size_t count)
{
    if (!fake.server) {
        Error error = { 0 };
        ServerOptions options = { .listen = S("127.0.0.1:0"), .handle = handle };
        Err err = server_open(&options, &fake.server, &error);
        assert(err == ERR_OK);
        char url[64];
        snprintf(url, sizeof url, "http://127.0.0.1:%d", server_port(fake.server));
        setenv("PEAL_URL", url, 1);
        setenv("PEAL_KEY", "pk_1", 1);
    }
    pthread_mutex_lock(&fake.lock);
    fake.rows = rows;
    fake.count = count;
    fake.asked_len = 0;
    fake.asked[0] = '\0';
    pthread_mutex_unlock(&fake.lock);
}

static void serve_single(Canned row)
{
    pthread_mutex_lock(&fake.lock);
    fake.single = row;
    pthread_mutex_unlock(&fake.lock);
    serve(&fake.single, 1);
}

#define SERVE(...)                                                                                 \
    do {                                                                                           \
        static const Canned rows_[] = { __VA_ARGS__ };                                             \
        serve(rows_, ARRAY_LEN(rows_));                                                            \
    } while (0)

static bool asked(const char *text)
{
    pthread_mutex_lock(&fake.lock);
    bool found = strstr(fake.asked, text) != NULL;
    pthread_mutex_unlock(&fake.lock);
    return found;
}

#define PRINTS(text) (strstr(ran.out, (text)) != NULL)
#define SAYS(text) (strstr(ran.err, (text)) != NULL)

static void an_event_is_emitted(void)
{
    SERVE({ "POST /v1/events", 202,
            "{\"eventId\":\"e1\",\"duplicate\":false,\"deliveries\":[{\"outcome\":\"created\","
            "\"deliveryId\":\"d1\",\"triggerId\":\"receipt\"},{\"outcome\":\"skipped\","
            "\"deliveryId\":\"d0\",\"triggerId\":\"once\"}]}" },
          { "GET /v1/deliveries/d1", 200, "{\"state\":\"pending\",\"channel\":\"http:bi\"}" },
          { "GET /v1/events/e1/explain?limit=500", 200,
            "{\"decisions\":[{\"triggerId\":\"receipt\",\"outcome\":\"created\"},"
            "{\"triggerId\":\"vip\",\"outcome\":\"filtered\",\"reason\":\"filter-false\","
            "\"predicate\":\"candidate.total >= 1000\",\"seen\":249}]}" });
    run(&ran, "peal emit order.paid --data {\"total\":249} --recipient a@b --locale ar "
              "--customer-ref c --id 7 --source shop --entity o:7 --correlation-id x "
              "--occurred-at 2026-05-14T05:12:34Z --idempotency-key k1");
    CHECK(ran.exit == EXIT_DONE);
    CHECK(asked(
        "POST /v1/events authorization=Bearer pk_1 idempotency-key=k1 {\"kind\":\"order.paid\","
        "\"id\":\"7\",\"source\":\"shop\",\"occurredAt\":\"2026-05-14T05:12:34Z\","
        "\"entity\":\"o:7\",\"correlationId\":\"x\",\"payload\":{\"total\":249},"
        "\"recipient\":{\"address\":\"a@b\",\"locale\":\"ar\",\"customerRef\":\"c\"}}\n"));
    CHECK(strncmp(ran.out, "e1\n", 3) == 0);
    CHECK(PRINTS("  receipt  pending   d1  http:bi\n"));
    CHECK(PRINTS("  once     skipped   d0 was made before\n"));
    CHECK(PRINTS("  vip      filtered  candidate.total >= 1000 was false: it saw 249\n"));
    CHECK(SAYS("peal why e1"));

    run(&ran, "peal emit order.paid --json");
    CHECK(strncmp(ran.out, "{\"eventId\":\"e1\",", 15) == 0 && ran.err[0] == '\0');
}

static void a_key_that_may_only_send_sees_less(void)
{
    SERVE({ "POST /v1/events", 202,
            "{\"eventId\":\"e1\",\"deliveries\":[{\"outcome\":\"created\",\"deliveryId\":\"d1\","
            "\"triggerId\":\"t\"}]}" },
          { "GET /v1/deliveries/d1", 403, "{}" }, { "GET /v1/events/e1/explain", 403, "{}" });
    run(&ran, "peal emit a");
    CHECK(ran.exit == EXIT_DONE && PRINTS("  t  created  d1\n"));

    SERVE({ "POST /v1/events", 202, "{\"eventId\":\"e1\",\"deliveries\":[]}" });
    run(&ran, "peal emit a");
    CHECK(ran.exit == EXIT_DONE && PRINTS("No delivery was made") && SAYS("peal why e1"));

    SERVE({ "POST /v1/events", 202, "{\"eventId\":\"e1\",\"duplicate\":true,\"deliveries\":[]}" });
    run(&ran, "peal emit a");
    CHECK(ran.exit == EXIT_DONE && PRINTS("came before"));
}

static void why_is_told_in_sentences(void)
{
    SERVE({ "GET /v1/events/e1/explain?limit=500", 200,
            "{\"eventId\":\"e1\",\"decisions\":[{\"triggerId\":\"csi\",\"triggerVersion\":3,"
            "\"outcome\":\"filtered\",\"reason\":\"filter-false\",\"path\":\"/filter/all/0\","
            "\"predicate\":\"candidate.jobType == \\\"GR\\\"\",\"seen\":\"PM\","
            "\"wouldMatchIf\":\"candidate.jobType were \\\"GR\\\"\"},"
            "{\"triggerId\":\"gh\",\"outcome\":\"filtered\",\"reason\":\"filter-false\","
            "\"path\":\"/config/labels\",\"predicate\":\"labels contained \\\"ui\\\"; "
            "\\\"bug\\\" was asked for\",\"seen\":[\"ui\"]},"
            "{\"triggerId\":\"old\",\"outcome\":\"disabled\",\"reason\":\"trigger-disabled\"},"
            "{\"triggerId\":\"twice\",\"outcome\":\"duplicate\",\"reason\":\"duplicate-key\","
            "\"deliveryId\":\"d0\"},"
            "{\"triggerId\":\"voc\",\"outcome\":\"created\",\"reason\":\"matched\","
            "\"deliveryId\":\"d1\"}],\"note\":\"2 other triggers listen to other kinds\"}" });
    run(&ran, "peal why e1");
    CHECK(ran.exit == EXIT_DONE);
    CHECK(PRINTS("csi (version 3) made no delivery (filtered): candidate.jobType == \"GR\" was "
                 "false: it saw \"PM\".\n"));
    CHECK(PRINTS("  The place is /filter/all/0.\n"));
    CHECK(PRINTS("  It would match if candidate.jobType were \"GR\".\n"));
    CHECK(PRINTS("gh made no delivery (filtered): labels contained \"ui\"; \"bug\" was asked "
                 "for.\n"));
    CHECK(PRINTS("old made no delivery (disabled): the trigger was disabled.\n"));
    CHECK(PRINTS("twice made no delivery (duplicate): its dedup key was taken by delivery d0.\n"));
    CHECK(PRINTS("voc matched and made delivery d1.\n"));
    CHECK(PRINTS("2 other triggers listen to other kinds.\n"));
}

static void lists_are_aligned_and_paged(void)
{
    SERVE({ "GET /v1/deliveries?state=parked&channel=email:ops&limit=2", 200,
            "{\"items\":[{\"id\":\"d1\",\"state\":\"parked\",\"triggerId\":\"long-trigger\","
            "\"channel\":\"email:ops\",\"address\":\"\\u001b[31mé\",\"dueAt\":null,"
            "\"attemptCount\":6,\"lastError\":\"550 no\"},{\"id\":\"d22\",\"state\":\"parked\"}],"
            "\"next\":\"c/2\"}" },
          { "GET /v1/deliveries?state=parked&channel=email:ops&limit=50&cursor=c/2", 200,
            "{\"items\":[],\"next\":null}" });
    run(&ran, "peal deliveries --state parked --channel email:ops --limit 2");
    CHECK(ran.exit == EXIT_DONE);
    CHECK(PRINTS("ID   STATE   TRIGGER       CHANNEL    ADDRESS  DUE  TRIES  LAST ERROR\n"));
    CHECK(PRINTS("d1   parked  long-trigger  email:ops  ?[31mé   -    6      550 no\n"));
    CHECK(PRINTS("d22  parked  -             -          -        -    -      -\n"));
    CHECK(SAYS("--cursor c/2"));
    run(&ran, "peal deliveries list --state parked --channel email:ops --cursor c/2");
    CHECK(ran.exit == EXIT_DONE && ran.out[0] == '\0' && SAYS("No deliveries."));
}

// A page that ends early is followed by the next, up to what was asked for.
static void a_page_that_ends_early_is_followed(void)
{
    SERVE({ "GET /v1/deliveries?limit=600", 500, "{}" },
          { "GET /v1/deliveries?limit=500", 200,
            "{\"items\":[{\"id\":\"d1\"}],\"next\":\"c1\",\"complete\":false}" },
          { "GET /v1/deliveries?limit=500&cursor=c1", 200,
            "{\"items\":[],\"next\":\"c2\",\"complete\":false}" },
          { "GET /v1/deliveries?limit=500&cursor=c2", 200,
            "{\"items\":[{\"id\":\"d2\"}],\"next\":null,\"complete\":true}" });
    run(&ran, "peal deliveries --limit 600");
    CHECK(ran.exit == EXIT_DONE && PRINTS("d1") && PRINTS("d2") && !SAYS("More"));
    run(&ran, "peal deliveries --limit 600 --json");
    CHECK(PRINTS("{\"items\":[{\"id\":\"d1\"},{\"id\":\"d2\"}],\"next\":null,"
                 "\"complete\":true}\n"));
}

static void an_event_is_shown_with_its_timeline(void)
{
    SERVE({ "GET /v1/events?limit=50", 200,
            "{\"items\":[{\"id\":\"e1\",\"kind\":\"a\"}],\"next\":null}" },
          { "GET /v1/events/e 1", 200, "{\"id\":\"e 1\",\"payload\":{\"a\":1.50}}" },
          { "GET /v1/events/e1/timeline?limit=500", 200,
            "{\"items\":[{\"at\":\"T1\",\"what\":\"received\",\"detail\":{\"kind\":\"a\","
            "\"entity\":null}},{\"at\":\"T2\",\"what\":\"ended\"}]}" });
    run(&ran, "peal events");
    CHECK(PRINTS("e1  a     -       -       -\n"));
    run(&ran, "peal events show e+1");
    CHECK(PRINTS("id       e 1\npayload  {\"a\":1.50}\n"));
    run(&ran, "peal events timeline e1");
    CHECK(PRINTS("T1  received  kind=a\nT2  ended"));
}

static void deliveries_are_acted_on(void)
{
    SERVE({ "POST /v1/deliveries/d1/retry", 200, "{\"id\":\"d1\",\"state\":\"pending\"}" },
          { "POST /v1/deliveries/d2/retry", 409,
            "{\"title\":\"The current state does not allow it\",\"detail\":\"it is delivered\"}" },
          { "POST /v1/deliveries/d1/discard", 200, "{\"id\":\"d1\",\"state\":\"discarded\"}" });
    run(&ran, "peal deliveries retry d2 d1");
    CHECK(ran.exit == EXIT_CONFLICT);
    CHECK(PRINTS("d1  pending\n"));
    CHECK(SAYS("Error: The current state does not allow it\nWhy: it is delivered\n"));
    run(&ran, "peal deliveries discard d1 --reason test+data");
    CHECK(ran.exit == EXIT_DONE && PRINTS("d1  discarded\n"));
    CHECK(asked("POST /v1/deliveries/d1/discard authorization=Bearer pk_1 "
                "{\"reason\":\"test data\"}\n"));
    run(&ran, "peal deliveries cancel d9");
    CHECK(ran.exit == EXIT_NOT_FOUND && SAYS("Try: peal deliveries\n"));
}

static void many_deliveries_are_acted_on_at_once(void)
{
    SERVE({ "POST /v1/operations", 202, "{\"id\":\"o1\",\"matched\":null}" },
          { "GET /v1/operations/o1", 200, "{\"matched\":214,\"failed\":0,\"state\":\"done\"}" });
    run(&ran, "peal deliveries retry --state parked --channel email:ops --dry-run");
    CHECK(ran.exit == EXIT_DONE && PRINTS("214 deliveries match; nothing was changed.\n"));
    CHECK(asked("{\"action\":\"retry\",\"filter\":{\"state\":\"parked\",\"channel\":\"email:ops\"},"
                "\"dryRun\":true}"));
    SERVE({ "POST /v1/operations", 202, "{\"id\":\"o1\",\"matched\":null}" },
          { "GET /v1/operations/o1", 200,
            "{\"id\":\"o1\",\"matched\":214,\"done\":213,\"skipped\":0,\"failed\":1,"
            "\"state\":\"done\"}" });
    run(&ran, "peal deliveries discard --state parked --reason old");
    CHECK(ran.exit == EXIT_FAILED && PRINTS("failed   1\n"));
    CHECK(asked("\"reason\":\"old\",\"dryRun\":false}"));
}

static void definitions_are_changed(void)
{
    static char file[] = "/tmp/peal-cli-XXXXXX";
    int fd = mkstemp(file);
    CHECK(fd >= 0 && write(fd, "{\"id\":\"t\"}\n", 11) == 11);
    close(fd);
    DEFER(arena_done) Arena arena = { 0 };
    SERVE(
        { "POST /v1/triggers", 201, "{\"id\":\"t\",\"version\":1}" },
        { "PUT /v1/triggers/t", 200, "{\"id\":\"t\",\"version\":2}" },
        { "DELETE /v1/triggers/t", 204, "" },
        { "PATCH /v1/triggers/t", 200, "{\"id\":\"t\",\"version\":8}" },
        { "PATCH /v1/channels/http:bi", 200, "{\"key\":\"http:bi\",\"version\":5}" },
        { "PUT /v1/channels/http:bi", 200, "{\"key\":\"http:bi\",\"version\":4}" },
        { "GET /v1/channels?limit=50", 200,
          "{\"items\":[{\"key\":\"http:bi\",\"type\":\"http\",\"enabled\":true}],\"next\":null}" });
    run(&ran, str_format(&arena, "peal triggers create -f %s", file).at);
    CHECK(ran.exit == EXIT_DONE && strcmp(ran.out, "Created trigger t, version 1.\n") == 0);
    CHECK(asked("POST /v1/triggers authorization=Bearer pk_1 {\"id\":\"t\"}\n"));
    run(&ran, str_format(&arena, "peal triggers update t -f %s --if-version 1", file).at);
    CHECK(ran.exit == EXIT_DONE && strcmp(ran.out, "Updated trigger t, version 2.\n") == 0);
    CHECK(asked("PUT /v1/triggers/t authorization=Bearer pk_1 if-match=\"1\" {\"id\":\"t\"}\n"));
    run(&ran, "peal triggers delete t");
    CHECK(ran.exit == EXIT_DONE && strcmp(ran.out, "Deleted trigger t.\n") == 0);
    run(&ran, "peal triggers disable t");
    CHECK(ran.exit == EXIT_DONE && strcmp(ran.out, "Disabled trigger t, version 8.\n") == 0);
    CHECK(asked("PATCH /v1/triggers/t authorization=Bearer pk_1 {\"enabled\":false}\n"));
    run(&ran, "peal triggers set t retry.max=3 channel=http:bi retry.interval=30s filter=null"
              " dedupRecipe=[\"a\"] templateId=a=b --if-version 7");
    CHECK(ran.exit == EXIT_DONE && strcmp(ran.out, "Changed trigger t, version 8.\n") == 0);
    CHECK(
        asked("if-match=\"7\" {\"retry\":{\"max\":3,\"interval\":\"30s\"},\"channel\":\"http:bi\","
              "\"filter\":null,\"dedupRecipe\":[\"a\"],\"templateId\":\"a=b\"}\n"));
    run(&ran, "peal channels set http:bi config.headers.X-Team=csi config.url=http://x/");
    CHECK(asked("{\"config\":{\"headers\":{\"X-Team\":\"csi\"},\"url\":\"http://x/\"}}\n"));
    run(&ran, "peal triggers set t");
    CHECK(ran.exit == EXIT_INVALID);
    run(&ran, "peal triggers set t enabled");
    CHECK(ran.exit == EXIT_INVALID && SAYS("enabled is no NAME=VALUE"));
    run(&ran, str_format(&arena, "peal channels update http:bi --file=%s", file).at);
    CHECK(ran.exit == EXIT_DONE && strcmp(ran.out, "Updated channel http:bi, version 4.\n") == 0);
    run(&ran, "peal channels");
    CHECK(PRINTS("http:bi  http  true "));
    unlink(file);
}

static void keys_and_tenants_are_made(void)
{
    SERVE({ "POST /v1/keys", 201, "{\"id\":\"k1\",\"role\":\"ingest\",\"key\":\"pk_new\"}" },
          { "POST /v1/tenants", 201, "{\"id\":\"acme\",\"name\":\"Acme\"}" },
          { "DELETE /v1/keys/k1", 200, "{}" },
          { "GET /v1/keys/k1", 200, "{\"id\":\"k1\",\"role\":\"ingest\"}" },
          { "PATCH /v1/keys/k1", 200, "{\"id\":\"k1\",\"role\":\"read\"}" },
          { "PATCH /v1/tenants/acme", 200, "{\"id\":\"acme\",\"name\":\"acme\"}" },
          { "DELETE /v1/tenants/acme", 204, "" },
          { "GET /v1/tenants?limit=50", 200, "{\"items\":[{\"id\":\"acme\",\"name\":\"Acme\"}]}" });
    run(&ran, "peal keys create --role ingest --tenant acme --name ci --expires-at T");
    CHECK(ran.exit == EXIT_DONE && strcmp(ran.out, "pk_new\n") == 0);
    CHECK(SAYS("Created key k1. It is shown this once"));
    CHECK(asked("{\"tenant\":\"acme\",\"role\":\"ingest\",\"name\":\"ci\",\"expiresAt\":\"T\"}\n"));
    run(&ran, "peal tenants create acme --name Acme");
    CHECK(ran.exit == EXIT_DONE && strcmp(ran.out, "Created tenant acme.\n") == 0);
    run(&ran, "peal keys delete k1");
    CHECK(ran.exit == EXIT_DONE && strcmp(ran.out, "Deleted key k1.\n") == 0);
    run(&ran, "peal keys show k1");
    CHECK(ran.exit == EXIT_DONE && PRINTS("role  ingest\n"));
    run(&ran, "peal keys set k1 --role read --name x --expires-at never");
    CHECK(ran.exit == EXIT_DONE && strcmp(ran.out, "Changed key k1.\n") == 0);
    CHECK(asked("{\"role\":\"read\",\"name\":\"x\",\"expiresAt\":null}\n"));
    run(&ran, "peal keys set k1");
    CHECK(ran.exit == EXIT_INVALID && SAYS("Say what is to change"));
    run(&ran, "peal tenants set acme --name A");
    CHECK(ran.exit == EXIT_DONE && asked("PATCH /v1/tenants/acme authorization=Bearer pk_1"
                                         " {\"name\":\"A\"}\n"));
    run(&ran, "peal tenants delete acme");
    CHECK(ran.exit == EXIT_DONE && strcmp(ran.out, "Deleted tenant acme.\n") == 0);
    run(&ran, "peal tenants list");
    CHECK(ran.exit == EXIT_DONE && PRINTS("acme  Acme\n"));
}

static void the_installation_is_run(void)
{
    SERVE({ "POST /v1/hold", 200, "{\"held\":true,\"reason\":\"a move\"}" },
          { "POST /v1/release", 200, "{}" }, { "POST /v1/tick", 200, "{\"claimed\":3}" },
          { "POST /v1/clock", 200, "{\"now\":\"T\",\"mode\":\"manual\"}" },
          { "GET /v1/clock", 200, "{\"now\":\"T\",\"mode\":\"manual\"}" },
          { "GET /v1/captured?delivery=d1&limit=50", 200,
            "{\"items\":[{\"at\":\"T\",\"channel\":\"memory:default\",\"send\":1}]}" },
          { "GET /readyz", 200, "{\"ready\":true}" });
    run(&ran, "peal hold --reason a+move");
    CHECK(ran.exit == EXIT_DONE && PRINTS("held    true\n"));
    CHECK(asked("POST /v1/hold authorization=Bearer pk_1 {\"reason\":\"a move\"}\n"));
    run(&ran, "peal release");
    CHECK(ran.exit == EXIT_DONE && strcmp(ran.out, "Done.\n") == 0);
    run(&ran, "peal tick --json");
    CHECK(ran.exit == EXIT_DONE && strcmp(ran.out, "{\"claimed\":3}\n") == 0);
    run(&ran, "peal clock advance 24h");
    CHECK(ran.exit == EXIT_DONE && asked("{\"advance\":\"24h\"}\n"));
    run(&ran, "peal clock set T2");
    CHECK(ran.exit == EXIT_DONE && asked("{\"set\":\"T2\"}\n"));
    run(&ran, "peal clock");
    CHECK(ran.exit == EXIT_DONE && strcmp(ran.out, "now   T\nmode  manual\n") == 0);
    run(&ran, "peal captured --delivery d1");
    CHECK(ran.exit == EXIT_DONE && PRINTS("T   memory:default  -        1 "));
    run(&ran, "peal health");
    CHECK(ran.exit == EXIT_DONE && PRINTS("is ready.\nready  true\n"));
    SERVE({ "GET /readyz", 200, "ok" });
    run(&ran, "peal health");
    CHECK(ran.exit == EXIT_DONE && PRINTS("is ready.\n"));
    SERVE({ "GET /readyz", 503, "{\"ready\":false,\"reasons\":[\"held\"]}" });
    run(&ran, "peal health");
    CHECK(ran.exit == EXIT_UNREACHABLE && SAYS("\"reasons\":[\"held\"]"));
}

static void problems_become_exit_statuses(void)
{
    static const struct {
        int status, exit;
        const char *hint;
    } cases[] = {
        { 400, EXIT_INVALID, NULL },
        { 401, EXIT_NOT_ALLOWED, "Try: another key" },
        { 403, EXIT_NOT_ALLOWED, "another role" },
        { 404, EXIT_NOT_FOUND, NULL },
        { 405, EXIT_INVALID, NULL },
        { 409, EXIT_CONFLICT, NULL },
        { 412, EXIT_CONFLICT, "read it again" },
        { 413, EXIT_INVALID, NULL },
        { 418, EXIT_INVALID, NULL },
        { 422, EXIT_INVALID, NULL },
        { 429, EXIT_UNREACHABLE, "Try: again in 7 s" },
        { 500, EXIT_FAILED, "request r1" },
        { 502, EXIT_UNREACHABLE, NULL },
        { 503, EXIT_UNREACHABLE, "Try: again in 7 s" },
        { 507, EXIT_UNREACHABLE, NULL },
        { 302, EXIT_FAILED, "--url" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Canned row = { "POST /v1/tick", cases[i].status,
                       "{\"title\":\"It failed\",\"detail\":\"so\",\"requestId\":\"r1\"}", "7" };
        char name[16];
        snprintf(name, sizeof name, "%d", cases[i].status);
        serve_single(row);
        run(&ran, "peal tick");
        CHECK_AT(name, ran.exit == cases[i].exit);
        CHECK_AT(name, SAYS("Error: It failed\nWhy: so\n"));
        CHECK_AT(name, !cases[i].hint || SAYS(cases[i].hint));
        CHECK_AT(name, ran.out[0] == '\0');
    }
    serve(NULL, 0);
}

static void every_problem_has_its_line(void)
{
    SERVE({ "POST /v1/tick", 422,
            "{\"title\":\"The trigger is not valid\",\"status\":422,\"detail\":\"2 problems\","
            "\"errors\":[{\"path\":\"/filter/op\",\"message\":\"bad op\"},"
            "{\"path\":\"\",\"message\":\"no id\"}]}" });
    run(&ran, "peal tick");
    CHECK(ran.exit == EXIT_INVALID);
    CHECK(strcmp(ran.err, "Error: The trigger is not valid\nWhy: 2 problems\n"
                          "  /filter/op: bad op\n  /: no id\n") == 0);
    run(&ran, "peal tick --json");
    CHECK(ran.exit == EXIT_INVALID && strncmp(ran.out, "{\"title\":", 9) == 0);
    SERVE({ "POST /v1/tick", 200, "<html>" }, { "POST /v1/hold", 500, "<html>oops" });
    run(&ran, "peal tick");
    CHECK(ran.exit == EXIT_FAILED && SAYS("does not speak as Peal does"));
    run(&ran, "peal hold --reason x");
    CHECK(ran.exit == EXIT_FAILED && SAYS("Error: The server answered 500\nWhy: <html>oops\n"));
}

static void the_key_is_found_where_it_lies(void)
{
    static char folder[] = "/tmp/peal-cli-XXXXXX";
    char *before = getcwd(NULL, 0);
    SERVE({ "POST /v1/tick", 200, "{}" });
    CHECK(mkdtemp(folder) && chdir(folder) == 0);
    DEFER(arena_done) Arena arena = { 0 };
    run(&ran, "peal tick --key pk_2");
    CHECK(asked("authorization=Bearer pk_2 \n"));
    unsetenv("PEAL_KEY");
    setenv("PEAL_ADMIN_KEY", "pk_3", 1);
    run(&ran, "peal tick");
    CHECK(asked("authorization=Bearer pk_3 \n"));
    unsetenv("PEAL_ADMIN_KEY");
    run(&ran, "peal tick");
    CHECK(asked("POST /v1/tick \n"));

    CHECK(system("mkdir peal-data && echo pk_4 > peal-data/admin.key") == 0);
    run(&ran, "peal tick");
    CHECK(asked("authorization=Bearer pk_4 \n"));
    // A server elsewhere does not get the key of the one here.
    SERVE({ "POST /v1/tick", 200, "{}" });
    Str port = str_skip(str_from(getenv("PEAL_URL")), sizeof "http://127.0.0.1" - 1);
    run(&ran, str_format(&arena, "peal tick --url http://0.0.0.0%.*s/", STR_ARG(port)).at);
    CHECK(ran.exit == EXIT_DONE && asked("POST /v1/tick \n"));

    setenv("PEAL_KEY", "pk_1", 1);
    CHECK(chdir(before) == 0);
    CHECK(system(str_format(&arena, "rm -r %s", folder).at) == 0);
    free(before);
}

static void a_server_that_is_away_is_unreachable(void)
{
    run(&ran, "peal events --url http://127.0.0.1:1");
    CHECK(ran.exit == EXIT_UNREACHABLE);
    CHECK(SAYS("Error: Peal cannot be reached at http://127.0.0.1:1\nWhy: ") && SAYS("Try: "));
    run(&ran, "peal events --url nonsense://x");
    CHECK(ran.exit == EXIT_INVALID || ran.exit == EXIT_UNREACHABLE);
    server_quiesce(fake.server);
    server_close(fake.server);
}

static const Test tests[] = {
    TEST(an_event_is_emitted),
    TEST(a_key_that_may_only_send_sees_less),
    TEST(why_is_told_in_sentences),
    TEST(lists_are_aligned_and_paged),
    TEST(a_page_that_ends_early_is_followed),
    TEST(an_event_is_shown_with_its_timeline),
    TEST(deliveries_are_acted_on),
    TEST(many_deliveries_are_acted_on_at_once),
    TEST(definitions_are_changed),
    TEST(keys_and_tenants_are_made),
    TEST(the_installation_is_run),
    TEST(problems_become_exit_statuses),
    TEST(every_problem_has_its_line),
    TEST(the_key_is_found_where_it_lies),
    TEST(a_server_that_is_away_is_unreachable),
};

TEST_MAIN(tests)
