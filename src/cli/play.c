#include "cli/play.h"

#include "base/time.h"
#include "channels/channel.h"
#include "cli/expect.h"
#include "cli/pages.h"
#include "cli/signing.h"
#include "domain/source.h"

enum { ANSWER_SHOWN = 300 }; // bytes of what a webhook was answered

// Play is a scenario under way.
typedef struct Play {
    Client client;
    Failure failure; // of the last call
    const Scenario *scenario;
    size_t step;  // where it stands
    Buf wrong;    // what went otherwise than it should, in lines
    bool is_lost; // the Peal does not answer
} Play;

// complain notes what is wrong with the step, or with a part of it.
static void complain(Play *play, const char *part, Str why)
{
    Arena *arena = play->client.arena;
    Str pointer =
        str_format(arena, "/steps/%zu%s%s", play->step, part ? "/" : "", part ? part : "");
    Instant at = play->scenario->steps[play->step].at;
    buf_add_format(&play->wrong, "! %.*s  %.*s   (%.*s)\n",
                   STR_ARG(scenario_when(arena, play->scenario, at)), STR_ARG(why),
                   STR_ARG(scenario_place(arena, play->scenario, pointer)));
}

// refused says what the server found wrong, in a line.
static Str refused(const Play *play, const char *what)
{
    const Failure *failure = &play->failure;
    Arena *arena = play->client.arena;
    Buf out = buf_new(arena, BUF_WHOLE);
    buf_add_format(&out, "%s is refused: %.*s", what, STR_ARG(failure->error));
    if (failure->why.len > 0 && failure->problem_count == 0)
        buf_add_format(&out, "; %.*s", STR_ARG(failure->why));
    for (size_t i = 0; i < failure->problem_count; i++)
        buf_add_format(&out, "; %.*s: %.*s", STR_ARG(failure->problems[i].path),
                       STR_ARG(failure->problems[i].message));
    return output_clean(arena, buf_str(&out));
}

// call asks the Peal; false: it refuses, which is noted as the step's, or is gone.
static bool call(Play *play, const char *what, const char *method, Str path, Str body, Answer *ret)
{
    int status = client_call(&play->client, method, path, body, ret);
    if (status == EXIT_UNREACHABLE)
        play->is_lost = true;
    else if (status != EXIT_DONE)
        complain(play, *what ? what : NULL, refused(play, *what ? what : "the step"));
    return status == EXIT_DONE;
}

static bool move_clock(Play *play, Instant to)
{
    char buffer[TIME_TEXT_MAX];
    Answer answer;
    Str body = str_format(play->client.arena, "{\"set\":\"%.*s\"}", STR_ARG(time_text(to, buffer)));
    return call(play, "", "POST", S("/v1/clock"), body, &answer);
}

static bool tick(Play *play)
{
    Answer answer;
    return call(play, "", "POST", S("/v1/tick"), STR_NONE, &answer);
}

// list reads all rows of a list.
static bool list(Play *play, Str path, Pages *ret)
{
    int status = pages_read(&play->client, path, "", "items", SCENARIO_ROWS_MAX, ret);
    bool is_whole = status == EXIT_DONE && !ret->is_cut && ret->next.len == 0;
    if (status != EXIT_DONE)
        play->is_lost = true;
    else if (!is_whole)
        complain(play, NULL,
                 S("there are more than " MACRO_TEXT(SCENARIO_ROWS_MAX) " messages or deliveries"));
    return is_whole;
}

// find_delivery finds the one that is meant and not over yet.
static const Json *find_delivery(Play *play, const DeliveryWanted *wanted)
{
    Arena *arena = play->client.arena;
    const char *part = scenario_action_text(play->scenario->steps[play->step].action);
    const Json *found = NULL;
    size_t count = 0;
    Pages all;
    if (!list(play, S("/v1/deliveries"), &all))
        return NULL;
    for (size_t i = 0; i < all.count; i++) {
        bool is_over = json_type(json_get(all.items[i], S("endedAt"))) != JSON_NULL;
        if (is_over || !expect_is_whose(wanted, all.items[i]))
            continue;
        found = all.items[i];
        count++;
    }
    if (count == 1)
        return found;
    complain(play, part,
             str_format(arena, "%zu deliveries that are not over are meant (%.*s), and not 1",
                        count, STR_ARG(expect_whose_text(arena, wanted))));
    return NULL;
}

static void act(Play *play, const DeliveryWanted *wanted, const char *action)
{
    Answer answer;
    const Json *delivery = find_delivery(play, wanted);
    if (!delivery)
        return;
    const char *id = str_z(play->client.arena, json_str(json_get(delivery, S("id"))));
    (void) call(play, action, "POST", client_path(play->client.arena, "/v1/deliveries", id, action),
                STR_NONE, &answer);
}

static void do_event(Play *play, const ScenarioStep *step)
{
    Answer answer;
    (void) call(play, "event", "POST", S("/v1/events"), json_text(play->client.arena, step->event),
                &answer);
}

static void do_notify(Play *play, const ScenarioStep *step)
{
    Answer answer;
    (void) call(play, "notify", "POST", S("/v1/notifications"),
                json_text(play->client.arena, step->notify), &answer);
}

static void do_answer(Play *play, const ScenarioStep *step)
{
    Arena *arena = play->client.arena;
    const Json *delivery = find_delivery(play, &step->answer.of);
    Buf body = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&body);
    Answer answer;
    if (!delivery)
        return;
    const char *id = str_z(arena, json_str(json_get(delivery, S("publicId"))));
    json_open(&out, '{');
    json_put_raw(&out, S("answers"), json_text(arena, step->answer.answers));
    if (step->answer.agent.at) {
        json_key(&out, S("meta"));
        json_open(&out, '{');
        json_put_str(&out, S("agentId"), step->answer.agent);
        json_close(&out, '}');
    }
    json_close(&out, '}');
    (void) call(play, "answer", "POST", client_path(arena, "/s", id, "responses"), buf_str(&body),
                &answer);
}

static void do_complete(Play *play, const ScenarioStep *step)
{
    act(play, &step->complete, "complete");
}

static void do_cancel(Play *play, const ScenarioStep *step)
{
    act(play, &step->cancel, "cancel");
}

static void do_run(Play *play, const ScenarioStep *step)
{
    Arena *arena = play->client.arena;
    Answer answer;
    (void) call(play, "run", "POST",
                client_path(arena, "/v1/jobs", str_z(arena, step->run), "trigger"), S("{}"),
                &answer);
}

// new_secret gives a source another secret, which is told this once.
static bool new_secret(Play *play, const char *source, Str *ret)
{
    Answer answer;
    if (!call(play, "hook", "POST",
              client_path(play->client.arena, "/v1/sources", source, "rotate"),
              S("{\"overlap\":\"24h\"}"), &answer))
        return false;
    *ret = json_str(json_get(answer.json, S("secret")));
    return true;
}

// fill_hook says what is sent: the example that is named, with what the scenario has of its own.
static bool fill_hook(Play *play, const ScenarioStep *step, HookHeader *headers, SignedHook *hook)
{
    Arena *arena = play->client.arena;
    const ProviderExample *example = NULL;
    hook->headers = headers;
    for (size_t i = 0; step->hook.event.at && i < hook->provider->example_count; i++)
        if (str_eq(str_from(hook->provider->examples[i].event), step->hook.event))
            example = &hook->provider->examples[i];
    if (step->hook.event.at && !example) {
        complain(play, "hook/event", S("the source's provider has no such example"));
        return false;
    }
    if (example && example->header)
        headers[hook->header_count++] = signed_kind(example->header);
    for (JsonIter it = json_each(step->hook.headers); json_next(&it);)
        headers[hook->header_count++] = (HookHeader){ it.key, json_str(it.value) };
    hook->body = step->hook.body ? json_text(arena, step->hook.body)
                                 : provider_example(arena, example, step->at);
    return true;
}

// find_source asks where a source listens, and how it wants to be signed.
static bool find_source(Play *play, Str id, SignedHook *ret)
{
    Arena *arena = play->client.arena;
    const char *source = str_z(arena, id);
    ProviderName name;
    Answer answer;
    if (!call(play, "hook", "GET", client_path(arena, "/v1/sources", source, NULL), STR_NONE,
              &answer))
        return false;
    Str provider = json_str(json_get(answer.json, S("provider")));
    if (!provider_name_parse(provider, &name) || !provider_of(name) || !provider_of(name)->sign) {
        complain(play, "hook/source", S("no webhooks come to this source"));
        return false;
    }
    ret->provider = provider_of(name);
    ret->config = json_get(answer.json, S("config"));
    ret->url = STR_JOIN(arena, play->client.url, json_str(json_get(answer.json, S("url"))));
    return source_is_unsigned(answer.json) || new_secret(play, source, &ret->secret);
}

static void do_hook(Play *play, const ScenarioStep *step)
{
    Arena *arena = play->client.arena;
    HookHeader headers[SIGNED_HEADERS_MAX];
    SignedHook hook = { .at = step->at, .timeout = play->client.timeout };
    if (!find_source(play, step->hook.source, &hook) || !fill_hook(play, step, headers, &hook))
        return;
    TransferResult result = signed_post(arena, &hook);
    play->is_lost = result.problem != TRANSFER_ANSWERED;
    play->failure =
        (Failure){ .error = S("The webhook was not answered"), .why = result.problem_text };
    if (!play->is_lost && result.status != 200)
        complain(play, "hook",
                 str_format(arena, "the webhook is answered %d: %.*s", result.status,
                            STR_ARG(output_clean(arena, str_head(result.body, ANSWER_SHOWN)))));
}

// do_channel makes the channel one that rehearses. Nothing would be sent by it anyway.
static void do_channel(Play *play, const ScenarioStep *step)
{
    Arena *arena = play->client.arena;
    Str path = client_path(arena, "/v1/channels", str_z(arena, step->channel.key), NULL);
    Buf body = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&body);
    Answer answer;
    if (!call(play, "channel", "GET", path, STR_NONE, &answer))
        return;
    json_open(&out, '{');
    json_put_str(&out, S("type"), str_from(channel_memory.type));
    json_key(&out, S("config"));
    json_open(&out, '{');
    for (JsonIter it = json_each(json_get(answer.json, S("config"))); json_next(&it);)
        if (!json_get(step->channel.config, it.key))
            json_put_null(&out, it.key);
    for (JsonIter it = json_each(step->channel.config); json_next(&it);)
        json_put_raw(&out, it.key, json_text(arena, it.value));
    json_close(&out, '}');
    json_close(&out, '}');
    (void) call(play, "channel", "PATCH", path, buf_str(&body), &answer);
}

static void (*const actions[])(Play *play, const ScenarioStep *step) = {
    [SCENARIO_EVENT] = do_event,   [SCENARIO_NOTIFY] = do_notify,
    [SCENARIO_ANSWER] = do_answer, [SCENARIO_COMPLETE] = do_complete,
    [SCENARIO_CANCEL] = do_cancel, [SCENARIO_RUN] = do_run,
    [SCENARIO_HOOK] = do_hook,     [SCENARIO_CHANNEL] = do_channel,
};

// state_of tells what has become of a delivery: "parked (gave-up)".
static Str state_of(Arena *arena, const Json *delivery)
{
    Str reason = json_str(json_get(delivery, S("reason")));
    return str_format(arena, "%.*s%s%.*s%s",
                      STR_ARG(output_value(arena, json_get(delivery, S("state")))),
                      reason.len ? " (" : "", STR_ARG(reason), reason.len ? ")" : "");
}

static void check_deliveries(Play *play, const DeliveryWanted *wanted, const Pages *all,
                             const char *part)
{
    Arena *arena = play->client.arena;
    Str whose = expect_whose_text(arena, wanted);
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (!expect_is_whose(wanted, all->items[i]))
            continue;
        count++;
        if (!expect_state_is(wanted, all->items[i]))
            complain(play, part,
                     str_format(arena, "a delivery (%.*s) is %.*s", STR_ARG(whose),
                                STR_ARG(state_of(arena, all->items[i]))));
    }
    if (wanted->has_count ? count != (size_t) wanted->count : count == 0)
        complain(
            play, part,
            str_format(arena, "there are %zu deliveries of these (%.*s)", count, STR_ARG(whose)));
}

static void check_step(Play *play, const ScenarioStep *step)
{
    Pages all;
    if (step->delivery_count == 0 || !list(play, S("/v1/deliveries"), &all))
        return;
    for (size_t i = 0; i < step->delivery_count; i++) {
        Str part = str_format(play->client.arena, "deliveries/%zu", i);
        check_deliveries(play, &step->deliveries[i], &all, str_z(play->client.arena, part));
    }
}

// play_step goes to a step's moment and does it. What is refused does not end the scenario: what
// comes of that is told, too.
static void play_step(Play *play, const ScenarioStep *step)
{
    if (!move_clock(play, step->at))
        return;
    if (step->action != SCENARIO_NONE)
        actions[step->action](play, step);
    if (!play->is_lost && tick(play))
        check_step(play, step);
}

static void compare(Play *play, bool is_whole, Played *played)
{
    Arena *arena = play->client.arena;
    Pages messages;
    bool is_read = list(play, S("/v1/captured"), &messages);
    Buf report = buf_new(arena, BUF_WHOLE);
    buf_add(&report, buf_str(&play->wrong));
    if (is_read) {
        Comparison comparison =
            expect_compare(arena, play->scenario, messages.items, messages.count);
        played->is_passed = play->wrong.len == 0 && expect_is_met(play->scenario, &comparison);
        if (!played->is_passed || is_whole)
            expect_report(arena, play->scenario, &comparison, is_whole, &report);
    }
    played->report = buf_str(&report);
}

int play(const Client *client, const Scenario *scenario, bool is_whole, Played *ret)
{
    Play play = { .client = *client,
                  .scenario = scenario,
                  .wrong = buf_new(client->arena, BUF_WHOLE) };
    play.client.failure = &play.failure;
    *ret = (Played){ 0 };
    for (size_t i = 0; i < scenario->step_count && !play.is_lost; i++) {
        play.step = i;
        play_step(&play, &scenario->steps[i]);
    }
    if (!play.is_lost && move_clock(&play, scenario->until))
        compare(&play, is_whole, ret);
    ret->failure = play.failure;
    return play.is_lost ? EXIT_UNREACHABLE : EXIT_DONE;
}
