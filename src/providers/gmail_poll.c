#include "providers/gmail.h"
#include "providers/polled.h"
#include "providers/read.h"
#include "providers/when.h"

// Gmail keeps a history of a mailbox, and is asked for the messages that were added behind a place
// in it. The history names messages only: each is fetched by itself (hydrated), and one that is
// gone by then is no event.
//
//   {"historyId": "…", "since": ms, "date": ms,
//    "recover": {"expired": bool, "pin": "…", "pageToken": "…", "date": ms}}
//
// The history is in the order of time, so the place is that of the last record that was read,
// wherever a poll ends. It begins where the mailbox stands at the first poll (since); where that is
// to tell of what is there, the messages of the time POLL_EXISTING before it are listed, as they
// are when a place has expired.
//
// A place expires, after a week or hours: Gmail answers 404. Then the place where the mailbox
// stands now is pinned, first of all; the messages that came since the last one that was told
// (date) are listed; and the history goes on from the pin. What was told already, or came before
// since, is not told again: for the former its key is known, and the list begins somewhat earlier.

#define API "https://gmail.googleapis.com"
#define PAGE "50"
#define MARGIN ((Span) 10 * SPAN_MINUTE) // mails may come out of the order of their dates
#define EXPIRED                                                                                    \
    "the history id had expired: a new one was taken, and what came since the last message was"    \
    " listed instead"

enum { ID_MAX = 100, TOKEN_MAX = 2000 };

typedef struct Place {
    bool is_first; // nothing was polled yet
    Str history;   // none: it is the first poll
    Instant since, date;
    bool recovers;
    bool has_expired; // that is why it does
    Str pin, list;    // of the recovery: where the history goes on, the next page of messages …
    Instant reached;  // … and the newest of them
    Str start, page;  // of the conversation: what was asked first, and the next page of that
} Place;

static bool is_word(Str text, size_t max)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        bool is_good = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '_';
        if (!is_good)
            return false;
    }
    return text.len > 0 && text.len <= max;
}

static Instant from_ms(const Json *value)
{
    int64_t ms;
    return json_i64(value, &ms) ? ms * SPAN_MILLISECOND : 0;
}

static Place read_place(Arena *arena, const PollTurn *turn)
{
    const Json *cursor = NULL, *step = NULL;
    Place place = { 0 };
    if (!turn->cursor.at || json_parse(arena, turn->cursor, &cursor, NULL) != ERR_OK)
        return (Place){ .is_first = true };
    if (turn->step.at && json_parse(arena, turn->step, &step, NULL) != ERR_OK)
        step = NULL;
    const Json *recover = json_get(cursor, S("recover"));
    place.history = json_str(json_get(cursor, S("historyId")));
    place.since = from_ms(json_get(cursor, S("since")));
    place.date = from_ms(json_get(cursor, S("date")));
    place.recovers = json_type(recover) == JSON_OBJECT;
    place.has_expired = json_bool(json_get(recover, S("expired")));
    place.pin = json_str(json_get(recover, S("pin")));
    place.list = json_str(json_get(recover, S("pageToken")));
    place.reached = from_ms(json_get(recover, S("date")));
    place.page = json_str(json_get(step, S("pageToken")));
    place.start = json_str(json_get(step, S("start")));
    return place;
}

static Str place_text(Arena *arena, const Place *place)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_str(&out, S("historyId"), place->history);
    json_put_i64(&out, S("since"), place->since / SPAN_MILLISECOND);
    json_put_i64(&out, S("date"), place->date / SPAN_MILLISECOND);
    if (place->recovers) {
        json_key(&out, S("recover"));
        json_open(&out, '{');
        json_put_bool(&out, S("expired"), place->has_expired);
        json_put_str(&out, S("pin"), place->pin);
        json_put_str(&out, S("pageToken"), place->list);
        json_put_i64(&out, S("date"), place->reached / SPAN_MILLISECOND);
        json_close(&out, '}');
    }
    json_close(&out, '}');
    return buf_str(&text);
}

static Str step_text(Arena *arena, Str start, Str page)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_str(&out, S("start"), start);
    json_put_str(&out, S("pageToken"), page);
    json_close(&out, '}');
    return buf_str(&text);
}

static void add_page_token(Buf *url, Str token)
{
    if (!token.at)
        return;
    buf_add(url, S("&pageToken="));
    buf_add_percent(url, token);
}

static Str url_of(Arena *arena, const Place *place)
{
    Buf url = buf_new(arena, BUF_WHOLE);
    if (place->is_first || (place->recovers && !place->pin.at)) {
        buf_add(&url, S("/profile"));
    } else if (place->recovers) {
        buf_add(&url, S("/messages?maxResults=" PAGE));
        if (place->date > MARGIN)
            buf_add_format(&url, "&q=after%%3A%lld",
                           (long long) ((place->date - MARGIN) / SPAN_SECOND));
        add_page_token(&url, place->list);
    } else {
        buf_add(&url, S("/history?historyTypes=messageAdded&maxResults=" PAGE "&startHistoryId="));
        buf_add_percent(&url, place->start.at ? place->start : place->history);
        add_page_token(&url, place->page);
    }
    return buf_str(&url);
}

void gmail_request(Arena *arena, const PollTurn *turn, const char *method, Str path,
                   ProviderRequest *ret)
{
    path = STR_JOIN(arena, S("/gmail/v1/users/me"), path);
    *ret =
        (ProviderRequest){ .method = method, .url = polled_url(arena, turn->base_url, API, path) };
    if (turn->token.at)
        ret->headers[ret->header_count++] =
            (HookHeader){ S("authorization"), STR_JOIN(arena, S("Bearer "), turn->token) };
}

Err gmail_poll_ask(Arena *arena, const PollTurn *turn, ProviderRequest *ret, Error *error)
{
    (void) error;
    Place place = read_place(arena, turn);
    gmail_request(arena, turn, "GET", url_of(arena, &place), ret);
    return ERR_OK;
}

static bool is_limit(Str reason)
{
    return str_eq(reason, S("rateLimitExceeded")) || str_eq(reason, S("userRateLimitExceeded")) ||
           str_eq(reason, S("quotaExceeded")) || str_eq(reason, S("dailyLimitExceeded"));
}

// A limit is told by 429, or by 403 with the reason.
PollPage gmail_failure(Arena *arena, const PollTurn *turn, const ProviderReply *reply)
{
    const Json *body = polled_json(arena, reply->body);
    PollPage page = polled_status(arena, reply, turn->now);
    const Json *first = json_at(read_at(body, "error.errors"), 0);
    Str reason = read_text(first, "reason");
    page.note = polled_note(arena, reply->status, reason, read_text(body, "error.message"));
    if (reply->status == 403 && is_limit(reason))
        page.verdict = POLL_LIMITED;
    return page;
}

static bool is_number(Str text)
{
    int64_t n;
    return str_to_i64(text, 1, INT64_MAX, &n);
}

// read_profile takes the place where the mailbox stands: of the first poll, or a pin.
static bool read_profile(Arena *arena, const PollTurn *turn, const Json *body, Place *place,
                         PollPage *ret)
{
    Str history = read_word(body, "historyId");
    if (!is_number(history))
        return false;
    if (place->is_first && !turn->emits_first) {
        *place = (Place){ .history = history, .since = turn->now, .date = turn->now };
    } else {
        if (place->is_first)
            place->since = place->date = turn->now - POLL_EXISTING;
        place->recovers = true;
        place->pin = history;
        ret->step = step_text(arena, STR_NONE, STR_NONE);
        place->history = place->history.at ? place->history : history;
    }
    return true;
}

static void add_message(const Json *message, PollPage *ret)
{
    Str id = read_text(message, "id");
    for (size_t i = 0; i < ret->count; i++)
        if (str_eq(ret->events[i].hydrates, id))
            return;
    if (is_word(id, ID_MAX))
        ret->events[ret->count++] = (ProviderEvent){ .provider = PROVIDER_GMAIL, .hydrates = id };
}

static size_t added_count(const Json *records)
{
    size_t count = 0;
    for (JsonIter it = json_each(records); json_next(&it);)
        count += json_count(json_get(it.value, S("messagesAdded")));
    return count;
}

static bool read_history(Arena *arena, const Json *body, Place *place, PollPage *ret)
{
    const Json *records = json_get(body, S("history")); // not there where nothing was added
    Str newest = read_word(body, "historyId"), next = read_text(body, "nextPageToken");
    Str start = place->start.at ? place->start : place->history;
    if (!is_number(newest))
        return false;
    ret->events = ARENA_ARRAY(arena, ProviderEvent, added_count(records) + 1);
    for (JsonIter it = json_each(records); json_next(&it);) {
        const Json *added = json_get(it.value, S("messagesAdded"));
        for (JsonIter message = json_each(added); json_next(&message);)
            add_message(json_get(message.value, S("message")), ret);
        Str id = read_word(it.value, "id");
        place->history = is_number(id) ? id : place->history;
    }
    if (next.at && next.len <= TOKEN_MAX)
        ret->step = step_text(arena, start, next);
    else
        place->history = newest;
    return true;
}

static bool read_list(Arena *arena, const Json *body, Place *place, PollPage *ret)
{
    const Json *messages = json_get(body, S("messages")); // not there where there is none
    Str next = read_text(body, "nextPageToken");
    if (json_type(body) != JSON_OBJECT)
        return false;
    ret->events = ARENA_ARRAY(arena, ProviderEvent, json_count(messages) + 1);
    for (JsonIter it = json_each(messages); json_next(&it);)
        add_message(it.value, ret);
    if (next.at && next.len <= TOKEN_MAX) {
        place->list = next;
        ret->step = step_text(arena, STR_NONE, STR_NONE);
    } else {
        place->recovers = false;
        place->history = place->pin;
        place->date = later(place->date, place->reached);
    }
    return true;
}

// expired has the history read anew from where the mailbox stands.
static void expired(Arena *arena, Place *place, PollPage *ret)
{
    place->recovers = place->has_expired = true;
    place->pin = place->list = STR_NONE;
    *ret = (PollPage){ .verdict = POLL_GOOD,
                       .cursor = place_text(arena, place),
                       .step = step_text(arena, STR_NONE, STR_NONE),
                       .note = S(EXPIRED) };
}

// failed: a page of a list that is not known any more is asked for from its beginning.
static void failed(Arena *arena, const PollTurn *turn, const ProviderReply *reply, Place *place,
                   PollPage *ret)
{
    *ret = gmail_failure(arena, turn, reply);
    if (reply->status == 400 && place->recovers && place->list.at) {
        place->list = STR_NONE;
        ret->verdict = POLL_AGAIN;
        ret->cursor = place_text(arena, place);
    }
}

void gmail_poll_read(Arena *arena, const PollTurn *turn, const ProviderReply *reply, PollPage *ret)
{
    const Json *body = polled_json(arena, reply->body);
    Place place = read_place(arena, turn);
    bool is_profile = place.is_first || (place.recovers && !place.pin.at), is_good = false;
    if (reply->status == 404 && !is_profile && !place.recovers) {
        expired(arena, &place, ret);
        return;
    }
    if (reply->status != 200) {
        failed(arena, turn, reply, &place, ret);
        return;
    }
    // It is said with every page that it takes: the poll that ends it may be another one.
    *ret = (PollPage){ .verdict = POLL_GOOD, .note = place.has_expired ? S(EXPIRED) : STR_NONE };
    if (is_profile)
        is_good = read_profile(arena, turn, body, &place, ret);
    else if (place.recovers)
        is_good = read_list(arena, body, &place, ret);
    else
        is_good = read_history(arena, body, &place, ret);
    if (is_good)
        ret->cursor = place_text(arena, &place);
    else
        *ret = (PollPage){ .verdict = POLL_AGAIN, .note = S("its answer is not one of Gmail") };
}

Err gmail_hydrate_ask(Arena *arena, const PollTurn *turn, const ProviderEvent *event,
                      ProviderRequest *ret, Error *error)
{
    (void) error;
    gmail_request(
        arena, turn, "GET",
        STR_JOIN(arena, S("/messages/"), event->hydrates,
                 S("?format=metadata&metadataHeaders=From&metadataHeaders=To"
                   "&metadataHeaders=Cc&metadataHeaders=Subject&metadataHeaders=Message-ID")),
        ret);
    return ERR_OK;
}

static Str header_of(const Json *message, Str name)
{
    for (JsonIter it = json_each(read_at(message, "payload.headers")); json_next(&it);)
        if (str_eq_nocase(read_text(it.value, "name"), name))
            return read_text(it.value, "value");
    return STR_NONE;
}

static Str context_of(Arena *arena, const Json *message)
{
    static const ReadRow rows[] = {
        { "id", "id", NULL },
        { "threadId", "threadId", NULL },
        { "labels", "labelIds", "" },
        { "snippet", "snippet", NULL },
        { "size", "sizeEstimate", NULL },
    };
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    read_put(&out, message, rows, ARRAY_LEN(rows));
    read_put_text(&out, "from", header_of(message, S("From")));
    read_put_text(&out, "to", header_of(message, S("To")));
    read_put_text(&out, "cc", header_of(message, S("Cc")));
    read_put_text(&out, "subject", header_of(message, S("Subject")));
    read_put_text(&out, "messageId", header_of(message, S("Message-ID")));
    json_close(&out, '}');
    return buf_str(&text);
}

// note_date has the cursor know the newest message that was told.
static void note_date(Arena *arena, const PollTurn *turn, Instant date, PollPage *page)
{
    PollTurn after = *turn;
    after.cursor = page->cursor;
    Place place = read_place(arena, &after);
    // A list is the same to its last page: until then its date stays.
    Instant *newest = place.recovers ? &place.reached : &place.date;
    if (date == INSTANT_NONE || date <= *newest)
        return;
    *newest = date;
    page->cursor = place_text(arena, &place);
}

bool gmail_hydrate_read(Arena *arena, const PollTurn *turn, const ProviderReply *reply,
                        ProviderEvent *event, PollPage *page)
{
    const Json *message = polled_json(arena, reply->body);
    if (reply->status == 404)
        return false;
    if (reply->status != 200 || !message) {
        PollPage failure = gmail_failure(arena, turn, reply);
        page->verdict = reply->status == 200 ? POLL_AGAIN : failure.verdict;
        page->note = failure.note;
        page->backoff = failure.backoff;
        return false;
    }
    Str id = event->hydrates;
    Instant date = when_read(json_get(message, S("internalDate")));
    Place place = read_place(arena, turn);
    if (place.recovers && date != INSTANT_NONE && date < place.since)
        return false; // listed, but from before the first poll
    *event = (ProviderEvent){
        .provider = PROVIDER_GMAIL,
        .type = S("message"),
        .provider_type = S("messageAdded"),
        .occurred_at = date,
        .dedup_key = STR_JOIN(arena, S("gmail:"), id),
        .title = read_title(header_of(message, S("Subject"))),
        .url = STR_JOIN(arena, S("https://mail.google.com/mail/u/0/#all/"), id),
        .external_id = id,
        .context = context_of(arena, message),
        .raw = json_text(arena, message),
    };
    note_date(arena, turn, date, page);
    return true;
}
