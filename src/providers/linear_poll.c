#include "base/time.h"
#include "providers/linear.h"
#include "providers/polled.h"
#include "providers/when.h"

// Linear is asked for the issues that were updated since the cursor's time, by GraphQL. It gives
// them newest first, a page at a time, so the time can be moved on only once the last page was
// read. Until then the cursor keeps both: where the walk started (at), and how far it has come
// (walk); a poll that ends in the middle of it goes on from there.
//
//   {"at": "…", "ids": ["…"], "teams": ["…"], "before": {"at": "…", "ids": ["…"], "teams": ["…"]},
//   "walk": {"after": "…", "top": "…", "ids": ["…"], "teams": ["…"]}, "mute": true}
//
// Several issues may have been updated at the very time of the cursor, and not all of them been
// seen. So what has that time is asked for again, and those that were taken (ids) are passed over.
//
// The first walk takes note of the newest issues and says nothing (is_mute), unless it is to tell
// of what is there: then it is like any other walk, from a time POLL_EXISTING ago. An issue that
// was made since the walk before this one began (before) tells of that, though it may have been
// told: it may also have been changed, and so have left its place, just before that walk came to
// it. One that was seen as it was made does not tell of it again: the first walk may have been
// silent about it. One that was changed after it was made tells of the change; what happened in
// between two polls is one change.
//
// Where all triggers name teams, those alone are asked for, and the cursor keeps which (teams): of
// a team that comes later the next walk takes note in silence, as the first one did of all.

#define API "https://api.linear.app"
#define PAGE 50
#define IDS_MAX 2000 // kept of one time; past them an issue may be told twice, under the same key

// With 50 labels each a page costs about 3,500 of the 10,000 points that a query may.
#define QUERY                                                                                      \
    "query($first:Int!,$after:String,$filter:IssueFilter){issues(first:$first,after:$after,"       \
    "filter:$filter,orderBy:updatedAt){nodes{id identifier number title description url priority"  \
    " priorityLabel estimate dueDate createdAt updatedAt startedAt completedAt canceledAt"         \
    " state{id name type}team{id key name}labels(first:50){nodes{id name}}assignee{id name email}" \
    "creator{id name}project{id name}cycle{id name}parent{id}}pageInfo{hasNextPage endCursor}}}"

// Mark is a time, with those that were seen to have it.
typedef struct Mark {
    Instant at; // INSTANT_NONE: there is none
    Str *ids;
    size_t count;
    const Json *teams; // that were asked for, by id, key or name; NULL: all
} Mark;

typedef struct Place {
    Mark from;
    Mark before; // from where the walk before this one started
    Mark top;    // of the walk
    Str after;   // none: it has not begun
    bool is_mute;
} Place;

static Mark read_mark(Arena *arena, const Json *mark, const char *name)
{
    Mark ret = { .at = when_read(json_get(mark, str_from(name))),
                 .teams = json_get(mark, S("teams")) };
    const Json *ids = json_get(mark, S("ids"));
    ret.ids = ARENA_ARRAY(arena, Str, json_count(ids) + 1);
    for (JsonIter it = json_each(ids); json_next(&it);)
        if (json_str(it.value).at)
            ret.ids[ret.count++] = json_str(it.value);
    return ret;
}

static bool is_same(Arena *arena, const Json *a, const Json *b)
{
    return a && b ? str_eq(json_text(arena, a), json_text(arena, b)) : a == b;
}

// read_walk: one that asked for other teams begins anew.
static void read_walk(Arena *arena, const Json *walk, const PollTurn *turn, Place *ret)
{
    ret->top = read_mark(arena, walk, "top");
    ret->after = json_str(json_get(walk, S("after")));
    if (is_same(arena, ret->top.teams, turn->scope))
        return;
    ret->top = (Mark){ .at = INSTANT_NONE, .teams = turn->scope };
    ret->after = STR_NONE;
}

// read_place: without a cursor nothing was polled yet. A cursor is Peal's own; one that cannot be
// read would be a mistake, and is a first poll's.
static Place read_place(Arena *arena, const PollTurn *turn)
{
    const Json *cursor = NULL;
    Place place = { .from = { .at = INSTANT_NONE },
                    .before = { .at = INSTANT_NONE },
                    .top = { .at = INSTANT_NONE, .teams = turn->scope } };
    if (!turn->cursor.at || json_parse(arena, turn->cursor, &cursor, NULL) != ERR_OK) {
        place.is_mute = !turn->emits_first;
        if (turn->emits_first)
            place.from.at = place.before.at = turn->now - POLL_EXISTING;
        return place;
    }
    place.from = read_mark(arena, cursor, "at");
    place.before = read_mark(arena, json_get(cursor, S("before")), "at");
    read_walk(arena, json_get(cursor, S("walk")), turn, &place);
    place.is_mute = json_bool(json_get(cursor, S("mute")));
    return place;
}

static void put_mark(Arena *arena, JsonOut *out, const char *name, const Mark *mark)
{
    json_put_time(out, str_from(name), mark->at);
    json_key(out, S("ids"));
    json_open(out, '[');
    for (size_t i = 0; i < mark->count && i < IDS_MAX; i++)
        json_add_str(out, mark->ids[i]);
    json_close(out, ']');
    if (mark->teams)
        json_put_raw(out, S("teams"), json_text(arena, mark->teams));
}

static Str place_text(Arena *arena, const Place *place)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    put_mark(arena, &out, "at", &place->from);
    json_key(&out, S("before"));
    json_open(&out, '{');
    put_mark(arena, &out, "at", &place->before);
    json_close(&out, '}');
    if (place->after.at) {
        json_key(&out, S("walk"));
        json_open(&out, '{');
        json_put_str(&out, S("after"), place->after);
        put_mark(arena, &out, "top", &place->top);
        json_close(&out, '}');
    }
    if (place->is_mute)
        json_put_bool(&out, S("mute"), true);
    json_close(&out, '}');
    return buf_str(&text);
}

// is_uuid: Linear refuses to look for any other id.
static bool is_uuid(Str text)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    if (text.len != sizeof form - 1)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        bool is_hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
        if (form[i] == '-' ? c != '-' : !is_hex)
            return false;
    }
    return true;
}

static void put_teams_by(JsonOut *out, const char *member, const Json *teams, bool by_id)
{
    json_open(out, '{');
    json_key(out, str_from(member));
    json_open(out, '{');
    json_key(out, S("in"));
    json_open(out, '[');
    for (JsonIter it = json_each(teams); json_next(&it);)
        if (!by_id || is_uuid(json_str(it.value)))
            json_add_str(out, json_str(it.value));
    json_close(out, ']');
    json_close(out, '}');
    json_close(out, '}');
}

// put_teams: a name may be any of the three.
static void put_teams(JsonOut *out, const Json *teams)
{
    json_key(out, S("team"));
    json_open(out, '{');
    json_key(out, S("or"));
    json_open(out, '[');
    put_teams_by(out, "key", teams, false);
    put_teams_by(out, "name", teams, false);
    put_teams_by(out, "id", teams, true);
    json_close(out, ']');
    json_close(out, '}');
}

static Str body_of(Arena *arena, const Place *place)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_str(&out, S("query"), S(QUERY));
    json_key(&out, S("variables"));
    json_open(&out, '{');
    json_put_i64(&out, S("first"), PAGE);
    if (place->after.at)
        json_put_str(&out, S("after"), place->after);
    json_key(&out, S("filter"));
    json_open(&out, '{');
    if (place->from.at != INSTANT_NONE) {
        json_key(&out, S("updatedAt"));
        json_open(&out, '{');
        json_put_time(&out, S("gte"), place->from.at);
        json_close(&out, '}');
    }
    if (place->top.teams)
        put_teams(&out, place->top.teams);
    json_close(&out, '}');
    json_close(&out, '}');
    json_close(&out, '}');
    return buf_str(&text);
}

// A personal key is sent as it is, what OAuth gives as a bearer's.
static Str authorization(Arena *arena, Str token)
{
    return str_starts(token, S("lin_api_")) ? token : STR_JOIN(arena, S("Bearer "), token);
}

Err linear_poll_ask(Arena *arena, const PollTurn *turn, ProviderRequest *ret, Error *error)
{
    (void) error;
    Place place = read_place(arena, turn);
    *ret = (ProviderRequest){ .method = "POST",
                              .url = polled_url(arena, turn->base_url, API, S("/graphql")),
                              .headers = { { S("content-type"), S("application/json") } },
                              .header_count = 1,
                              .body = body_of(arena, &place) };
    if (turn->token.at)
        ret->headers[ret->header_count++] =
            (HookHeader){ S("authorization"), authorization(arena, turn->token) };
    return ERR_OK;
}

// Budgets are told apart; each says what is left of it and when it is filled again.
static const char *const budgets[][2] = {
    { "x-ratelimit-requests-remaining", "x-ratelimit-requests-reset" },
    { "x-ratelimit-complexity-remaining", "x-ratelimit-complexity-reset" },
    { "x-ratelimit-endpoint-requests-remaining", "x-ratelimit-endpoint-requests-reset" },
};

// until_filled is how long until no budget is used up.
static Span until_filled(const ProviderReply *reply, Instant now)
{
    Span longest = polled_retry_after(reply, now);
    for (size_t i = 0; i < ARRAY_LEN(budgets); i++) {
        Str left = polled_header(reply, str_from(budgets[i][0]));
        Instant reset = when_text(polled_header(reply, str_from(budgets[i][1])));
        if (str_eq(left, S("0")) && reset != INSTANT_NONE && reset - now > longest)
            longest = reset - now;
    }
    return longest;
}

// read_errors: GraphQL tells of errors in answers of any status.
static void read_errors(Arena *arena, const PollTurn *turn, const ProviderReply *reply,
                        const Json *body, PollPage *ret)
{
    const Json *first = json_at(json_get(body, S("errors")), 0);
    Str code = json_str(json_get(json_get(first, S("extensions")), S("code")));
    *ret = polled_status(arena, reply, turn->now);
    if (!first)
        return;
    ret->note = polled_note(arena, reply->status, code, json_str(json_get(first, S("message"))));
    ret->backoff = until_filled(reply, turn->now);
    Place place = read_place(arena, turn);
    if (str_eq(code, S("RATELIMITED")))
        ret->verdict = POLL_LIMITED;
    else if (str_eq(code, S("AUTHENTICATION_ERROR")))
        ret->verdict = POLL_UNAUTHORIZED;
    else if (reply->status < 400)
        ret->verdict = POLL_AGAIN;
    if (ret->verdict != POLL_LIMITED && ret->verdict != POLL_UNAUTHORIZED && place.after.at) {
        place.after = STR_NONE; // a place in the walk is good for a while only: it begins anew
        ret->verdict = POLL_AGAIN;
        ret->cursor = place_text(arena, &place);
    }
}

static bool has_seen(const Mark *mark, Instant at, Str id)
{
    for (size_t i = 0; mark->at == at && i < mark->count; i++)
        if (str_eq(mark->ids[i], id))
            return true;
    return false;
}

// mark_add raises a mark to a time, and has it know who was seen to have it.
static void mark_add(Arena *arena, Mark *mark, Instant at, Str id)
{
    if (mark->at != INSTANT_NONE && at < mark->at)
        return;
    if (mark->at != at)
        *mark = (Mark){ .at = at, .teams = mark->teams };
    size_t old = mark->count * sizeof(Str);
    mark->ids = arena_grow(arena, mark->ids, old, old + sizeof(Str));
    mark->ids[mark->count++] = id;
}

// as_webhook is an issue as a webhook has it: there labels are a list, and no page of one.
static const Json *as_webhook(Arena *arena, const Json *node)
{
    const Json *ret = NULL;
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    for (JsonIter it = json_each(node); json_next(&it);) {
        bool is_page = str_eq(it.key, S("labels")) && json_type(it.value) == JSON_OBJECT;
        const Json *value = is_page ? json_get(it.value, S("nodes")) : it.value;
        json_put_raw(&out, it.key, value ? json_text(arena, value) : STR_NONE);
    }
    json_close(&out, '}');
    bool is_good = json_parse(arena, buf_str(&text), &ret, NULL) == ERR_OK;
    assert(is_good); // it was made of what is JSON
    return ret;
}

static void add_event(Arena *arena, const Json *issue, const char *action, PollPage *ret)
{
    ProviderEvent *event = &ret->events[ret->count];
    if (!linear_issue(arena, issue, str_from(action), event))
        return;
    event->raw = json_text(arena, issue);
    ret->count++;
}

static bool names_team(const Json *teams, Str name)
{
    for (JsonIter it = json_each(teams); name.at && json_next(&it);)
        if (str_eq(json_str(it.value), name))
            return true;
    return false;
}

// covers: an issue of this team was asked for with what the mark is of.
static bool covers(const Mark *mark, const Json *issue)
{
    const Json *team = json_get(issue, S("team"));
    return !mark->teams || names_team(mark->teams, json_str(json_get(team, S("id")))) ||
           names_team(mark->teams, json_str(json_get(team, S("key")))) ||
           names_team(mark->teams, json_str(json_get(team, S("name"))));
}

// is_made_since: no walk has seen it as it was made.
static bool is_made_since(const Place *place, const Json *issue)
{
    Str id = json_str(json_get(issue, S("id")));
    Instant made = when_read(json_get(issue, S("createdAt")));
    const Mark *since = covers(&place->before, issue) ? &place->before : &place->from;
    bool is_late = since->at == INSTANT_NONE || made >= since->at;
    return made != INSTANT_NONE && is_late && !has_seen(&place->from, made, id) &&
           !has_seen(&place->before, made, id);
}

static void add_issue(Arena *arena, const Json *node, const Place *place, PollPage *ret)
{
    Instant made = when_read(json_get(node, S("createdAt")));
    Instant updated = when_read(json_get(node, S("updatedAt")));
    const Json *issue = as_webhook(arena, node);
    bool is_new = is_made_since(place, node);
    if (is_new)
        add_event(arena, issue, "create", ret);
    if (!is_new || updated > made)
        add_event(arena, issue, "update", ret);
}

// read_nodes takes what is new, oldest first.
static void read_nodes(Arena *arena, const Json *nodes, Place *place, PollPage *ret)
{
    size_t count = json_count(nodes);
    ret->events = ARENA_ARRAY(arena, ProviderEvent, count * 2 + 1);
    for (size_t i = count; i-- > 0;) {
        const Json *node = json_at(nodes, i);
        Str id = json_str(json_get(node, S("id")));
        Instant at = when_read(json_get(node, S("updatedAt")));
        if (!id.at || at == INSTANT_NONE)
            continue;
        bool is_old = place->from.at != INSTANT_NONE && at < place->from.at;
        bool is_told = !place->is_mute && covers(&place->from, node);
        if (is_told && !is_old && !has_seen(&place->from, at, id))
            add_issue(arena, node, place, ret);
        if (!is_old)
            mark_add(arena, &place->top, at, id);
    }
}

// goes_on: a walk that only takes note ends with the first page that has an older issue.
static bool goes_on(const Json *nodes, const Json *info, const Place *place)
{
    Instant last = when_read(json_get(json_at(nodes, json_count(nodes) - 1), S("updatedAt")));
    bool is_enough = place->is_mute && last != INSTANT_NONE && last < place->top.at;
    return json_bool(json_get(info, S("hasNextPage"))) && json_count(nodes) > 0 && !is_enough;
}

// end_walk moves the cursor to the newest that was seen; where nothing newer was, those of the same
// time come to those that are known.
static void end_walk(Arena *arena, Place *place, Instant now)
{
    Mark top = place->top;
    if (top.at == place->from.at)
        for (size_t i = 0; i < place->from.count; i++)
            if (!has_seen(&top, top.at, place->from.ids[i]))
                mark_add(arena, &top, top.at, place->from.ids[i]);
    if (top.at == INSTANT_NONE)
        top = place->from.at == INSTANT_NONE ? (Mark){ .at = now } : place->from;
    top.teams = place->top.teams;
    bool is_first = place->from.at == INSTANT_NONE;
    *place = (Place){ .from = top, .before = is_first ? top : place->from };
}

void linear_poll_read(Arena *arena, const PollTurn *turn, const ProviderReply *reply, PollPage *ret)
{
    const Json *body = polled_json(arena, reply->body);
    const Json *issues = json_get(json_get(body, S("data")), S("issues"));
    const Json *nodes = json_get(issues, S("nodes")), *info = json_get(issues, S("pageInfo"));
    if (reply->status != 200 || json_count(json_get(body, S("errors"))) > 0) {
        read_errors(arena, turn, reply, body, ret);
        return;
    }
    if (json_type(nodes) != JSON_ARRAY) {
        *ret = (PollPage){ .verdict = POLL_AGAIN, .note = S("its answer is not one of GraphQL") };
        return;
    }
    Place place = read_place(arena, turn);
    read_nodes(arena, nodes, &place, ret);
    Str next = json_str(json_get(info, S("endCursor")));
    bool has_next = goes_on(nodes, info, &place) && next.len > 0 && !str_eq(next, place.after);
    if (has_next)
        place.after = next;
    else
        end_walk(arena, &place, turn->now);
    ret->verdict = POLL_GOOD;
    ret->cursor = place_text(arena, &place);
    ret->step = has_next ? S("{}") : STR_NONE;
    ret->backoff = until_filled(reply, turn->now);
}
