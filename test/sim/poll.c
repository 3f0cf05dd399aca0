#include "sim.h"

#include "store/poll_group.h"

// A mailbox that is polled, and I57: what comes into it after the first poll becomes one event, and
// what was there before becomes none; the cursor never stands behind what has no event yet, nor
// goes back; a poll is nobody else's while its lease lasts, and none is made before its time; and
// that a place had expired is said when what it hid was told.
//
// The far side is Gmail as engine/poll.c and providers/gmail_poll.c talk to it: a history in pages,
// which is forgotten now and then, and messages that are fetched one by one. Some are gone by then,
// and some cannot be had before peace: those may be left out, once three polls tried in vain. Its
// clock is never behind that of a node: how a place is found again rests on the dates of mails.

enum { MAILS_MAX = 400, ASKED_MAX = 8192, PAGE_MAX = 4, TRIES = 3, BEFORE = 3 };

typedef struct BoxMail {
    Instant date;
    bool is_gone;   // it was deleted
    bool is_cursed; // whoever wants it gets an error, for now
    int failures;   // answers in a row that it was not had by
    bool is_told;   // there was an event of it …
    bool is_there;  // … and is, as far as this look has come
} BoxMail;

// BoxCall is one request to the mailbox.
typedef struct BoxCall {
    int node, life;
    Instant ends_at;
    Answer answer;
    int status;
    Span retry_after;
    Str body;
    int mail; // that is fetched; 0: none
    bool is_over;
    TransferDone *done;
    void *with;
} BoxCall;

struct Box {
    BoxMail mails[MAILS_MAX + 1]; // by their numbers in the history, from 1
    int count;
    Instant latest; // that any clock has shown
    int forgotten;  // a place before it has expired
    const Mood *mood;
    BoxCall *asked;
    size_t asked_count, first_open;
    PollGroup row; // as it was last seen
    int cursor;    // likewise: its place; -1: none
    int baseline;  // the first place; -1: none yet
    bool recovers;
};

void poll_open(Sim *sim)
{
    sim->box = memory_new(sizeof *sim->box);
    *sim->box = (struct Box){ .asked = memory_new(ASKED_MAX * sizeof(BoxCall)),
                              .count = BEFORE,
                              .mood = &moods[0],
                              .cursor = -1,
                              .baseline = -1 };
    sim->box->row.lease_until = sim->box->row.backoff_until = INSTANT_NONE;
}

void poll_close(Sim *sim)
{
    free(sim->box->asked);
    free(sim->box);
}

Err poll_publish(Tx *tx, Error *error)
{
    poll_groups_touch(tx, OUR_TENANT, PROVIDER_GMAIL, STR_NONE);
    return tx_sync(tx, error);
}

void poll_end_troubles(Sim *sim)
{
    sim->box->mood = &moods[0];
    for (int i = 1; i <= sim->box->count; i++)
        sim->box->mails[i].is_cursed = false;
}

// What happens in the mailbox; it asks nothing of a node.
void poll_play(Sim *sim, Node *node)
{
    struct Box *box = sim->box;
    for (int i = 0; i < sim->node_count; i++)
        box->latest = later(box->latest, sim->now + later(sim->nodes[i].skew, 0));
    int more = 1 + draw(sim, PAGE_MAX + 2);
    (void) node;
    for (int i = 0; i < more && box->count < MAILS_MAX; i++)
        box->mails[++box->count] = (BoxMail){ .date = box->latest, .is_cursed = chance(sim, 4) };
    if (chance(sim, 20))
        box->mails[1 + draw(sim, box->count)].is_gone = true;
    if (chance(sim, 15))
        box->forgotten = box->count;
    if (chance(sim, 40))
        box->mood = &moods[draw(sim, (int) mood_count)];
    trace(sim, "%d mails, forgotten before %d, %s", box->count, box->forgotten, box->mood->name);
}

// number_behind is the number that stands in a URL behind a word; where none does, the usual one.
static int64_t number_behind(Str url, Str word, int64_t usual)
{
    const char *at = memmem(url.at, url.len, word.at, word.len), *end = url.at + url.len;
    int64_t number = 0;
    if (!at || at + word.len == end)
        return usual;
    for (at += word.len; at < end && *at >= '0' && *at <= '9'; at++)
        number = 10 * number + (*at - '0');
    return number;
}

// answer_history tells of what came behind a place; a page ends with a number, and the next one
// begins there.
static void answer_history(Sim *sim, Str url, BoxCall *ret)
{
    const struct Box *box = sim->box;
    int start = (int) number_behind(url, S("startHistoryId="), 0);
    int from = (int) number_behind(url, S("pageToken="), start), page = 1 + draw(sim, PAGE_MAX);
    Buf text = buf_new(&sim->arena, BUF_WHOLE);
    if (start < box->forgotten) {
        ret->status = 404;
        return;
    }
    buf_add_format(&text, "{\"historyId\":\"%d\",\"history\":[", box->count);
    for (int i = from + 1; i <= box->count && i <= from + page; i++)
        buf_add_format(&text, "%s{\"id\":\"%d\",\"messagesAdded\":[{\"message\":{\"id\":\"%d\"}}]}",
                       i > from + 1 ? "," : "", i, i);
    buf_add(&text, S("]"));
    if (from + page < box->count)
        buf_add_format(&text, ",\"nextPageToken\":\"%d\"", from + page);
    buf_add(&text, S("}"));
    ret->body = buf_str(&text);
}

// answer_list tells of what came since a time, the newest first.
static void answer_list(Sim *sim, Str url, BoxCall *ret)
{
    const struct Box *box = sim->box;
    Instant since = (Instant) number_behind(url, S("q=after%3A"), 0) * SPAN_SECOND;
    int from = (int) number_behind(url, S("pageToken="), box->count + 1);
    int left = 1 + draw(sim, PAGE_MAX), at = from - 1;
    Buf text = buf_new(&sim->arena, BUF_WHOLE);
    buf_add(&text, S("{\"messages\":["));
    for (; at > 0 && box->mails[at].date >= since && left > 0; at--, left--)
        buf_add_format(&text, "%s{\"id\":\"%d\"}", at < from - 1 ? "," : "", at);
    buf_add(&text, S("]"));
    if (at > 0 && box->mails[at].date >= since)
        buf_add_format(&text, ",\"nextPageToken\":\"%d\"", at + 1);
    buf_add(&text, S("}"));
    ret->body = buf_str(&text);
}

static void answer_mail(Sim *sim, BoxCall *ret)
{
    const BoxMail *mail = &sim->box->mails[ret->mail];
    if (mail->is_gone)
        ret->status = 404;
    else if (mail->is_cursed)
        ret->status = 500;
    else
        ret->body = str_format(&sim->arena, "{\"id\":\"%d\",\"internalDate\":\"%lld\"}", ret->mail,
                               (long long) (mail->date / SPAN_MILLISECOND));
}

static void answer(Sim *sim, Str url, BoxCall *ret)
{
    ret->status = 200;
    ret->mail = (int) number_behind(url, S("/messages/"), 0);
    if (ret->mail)
        answer_mail(sim, ret);
    else if (str_contains(url, S("/profile")))
        ret->body = str_format(&sim->arena, "{\"historyId\":\"%d\"}", sim->box->count);
    else if (str_contains(url, S("/history?")))
        answer_history(sim, url, ret);
    else
        answer_list(sim, url, ret);
}

// fail_by_mood has it answer otherwise.
static void fail_by_mood(Sim *sim, Span timeout, BoxCall *ret)
{
    const Mood *mood = sim->box->mood;
    Span takes = draw_span(sim, mood->least, mood->most);
    ret->answer = far_draw_answer(sim, mood);
    if (takes >= timeout && ret->answer != ANSWER_NO_CONNECTION)
        ret->answer = ANSWER_LOST;
    switch (ret->answer) {
    case ANSWER_TAKEN:
    case ANSWER_LOST:
    case ANSWER_NEVER:
    case ANSWER_NO_CONNECTION:
        break;
    case ANSWER_REFUSED:
        ret->status = 401;
        break;
    case ANSWER_LATER:
        ret->status = 429;
        ret->retry_after = draw_span(sim, 1, 40) * SPAN_SECOND;
        break;
    case ANSWER_UNWELL:
    case ANSWER_GONE:
        ret->status = 500;
        break;
    }
    ret->ends_at = sim->now + (ret->answer >= ANSWER_LOST ? timeout : earlier(takes, timeout));
}

// I57: nobody asks before the time that the group is to wait for.
static void on_asked(Sim *sim, const Node *node)
{
    const PollGroup *row = &sim->box->row;
    if (row->backoff_until != INSTANT_NONE && node->jumped_at == INSTANT_NONE &&
        row->backoff_until > clock_now(&node->clock) + OBEYED)
        broken(sim, "I57", "n%d polls %lld s too early", node->index,
               (long long) ((row->backoff_until - clock_now(&node->clock)) / SPAN_SECOND));
}

bool poll_is_asked(const Transfer *transfer)
{
    return str_contains(transfer->url, S("gmail.googleapis.com"));
}

void poll_start(Node *node, const Transfer *transfer, TransferDone *done, void *with)
{
    Sim *sim = node->sim;
    struct Box *box = sim->box;
    assert(box->asked_count < ASKED_MAX);
    BoxCall *asked = &box->asked[box->asked_count++];
    *asked = (BoxCall){ .node = node->index, .life = node->life, .done = done, .with = with };
    answer(sim, transfer->url, asked);
    fail_by_mood(sim, transfer->timeout, asked);
    trace(sim, "n%d polls %.*s: %s %d", node->index,
          STR_ARG(str_skip(transfer->url, S("https://gmail.googleapis.com/gmail/v1/users/me").len)),
          answer_text(asked->answer), asked->status);
    on_asked(sim, node);
}

static bool is_open(const Node *node, const BoxCall *asked)
{
    return asked->node == node->index && asked->life == node->life && !asked->is_over;
}

Instant poll_next(const Node *node)
{
    const struct Box *box = node->sim->box;
    Instant next = INSTANT_NONE;
    for (size_t i = box->first_open; i < box->asked_count; i++)
        if (is_open(node, &box->asked[i]))
            next = earlier(next, box->asked[i].ends_at);
    return next;
}

static void tell(Sim *sim, BoxCall *asked)
{
    char retry[24];
    snprintf(retry, sizeof retry, "%lld", (long long) (asked->retry_after / SPAN_SECOND));
    Header header = { S("retry-after"), str_from(retry) };
    TransferResult result = { .headers = &header, .header_count = asked->retry_after > 0 };
    BoxMail *mail = &sim->box->mails[asked->mail];
    bool is_had = asked->answer == ANSWER_TAKEN && asked->status != 500;
    asked->is_over = true;
    mail->failures = is_had ? 0 : mail->failures + 1;
    if (asked->answer == ANSWER_NO_CONNECTION || asked->answer >= ANSWER_LOST) {
        result.problem =
            asked->answer == ANSWER_NO_CONNECTION ? TRANSFER_NO_CONNECTION : TRANSFER_NO_ANSWER;
        result.problem_text = S("nobody answers");
    } else {
        result.status = asked->status;
        result.body = asked->status == 200 ? asked->body : S("{}");
    }
    asked->done(asked->with, &result);
}

void poll_tell_all(Node *node)
{
    struct Box *box = node->sim->box;
    size_t count = box->asked_count; // what a callback starts ends later
    for (size_t i = box->first_open; i < count && node_hears(node); i++)
        if (is_open(node, &box->asked[i]) && box->asked[i].ends_at <= node->sim->now)
            tell(node->sim, &box->asked[i]);
    while (box->first_open < box->asked_count && box->asked[box->first_open].is_over)
        box->first_open++;
}

void poll_forget(Node *node)
{
    struct Box *box = node->sim->box;
    for (size_t i = box->first_open; i < box->asked_count; i++)
        if (is_open(node, &box->asked[i]))
            box->asked[i].is_over = true;
}

// may_lack: no event need become of it.
static bool may_lack(const BoxMail *mail)
{
    return mail->is_told || mail->is_gone || mail->failures >= TRIES;
}

void poll_on_event(Sim *sim, int number)
{
    BoxMail *mail = &sim->box->mails[number];
    if (number <= sim->box->baseline)
        broken(sim, "I57", "mail %d is told, and was there before", number);
    else if (mail->is_there)
        broken(sim, "I57", "mail %d is told twice", number);
    mail->is_told = mail->is_there = true;
}

// I57: the cursor goes on, and leaves nothing behind.
static void on_cursor(Sim *sim, int cursor)
{
    struct Box *box = sim->box;
    if (box->baseline < 0)
        box->baseline = cursor;
    if (cursor < box->cursor)
        broken(sim, "I57", "the cursor goes back from %d to %d", box->cursor, cursor);
    for (int i = box->baseline + 1; i <= cursor; i++)
        if (!may_lack(&box->mails[i]))
            broken(sim, "I57", "the cursor is at %d, and mail %d has no event", cursor, i);
    box->cursor = cursor;
}

// I57: a poll is its holder's while the lease lasts, by the clock of whoever takes it; where one
// node has the store alone, none outlives the process.
static void on_claim(Sim *sim, const PollGroup *was, const PollGroup *is)
{
    const Node *node = &sim->nodes[sim->last_writer];
    bool was_taken = is->fence != was->fence && was->lease_until != INSTANT_NONE;
    if (was_taken && sim->node_count > 1 && was->lease_until > clock_now(&node->clock) + OBEYED)
        broken(sim, "I57", "n%d takes a poll whose lease lasts %lld s", node->index,
               (long long) ((was->lease_until - clock_now(&node->clock)) / SPAN_SECOND));
}

static void on_recovered(Sim *sim, const PollGroup *is)
{
    if (!str_contains(is->last_error, S("expired")))
        broken(sim, "I57", "its place had expired, and nobody says so");
}

void poll_look(Sim *sim)
{
    struct Box *box = sim->box;
    PollGroup row;
    int cursor = -1;
    bool recovers = false;
    for (int i = 1; i <= box->count; i++)
        box->mails[i].is_there = false;
    look_polled(sim);
    if (sim->has_failed || !look_poll_group(sim, &row, &cursor, &recovers))
        return;
    on_claim(sim, &box->row, &row);
    if (cursor >= 0)
        on_cursor(sim, cursor);
    if (box->recovers && !recovers)
        on_recovered(sim, &row);
    box->recovers = recovers;
    box->row = row;
}

bool poll_waits(const Sim *sim)
{
    const struct Box *box = sim->box;
    for (int i = box->baseline + 1; i <= box->count; i++)
        if (!may_lack(&box->mails[i]))
            return true;
    return box->baseline < 0;
}

// One that nobody answered for long waits for up to an hour, which is longer than peace.
void poll_at_end(Sim *sim)
{
    const struct Box *box = sim->box;
    bool holds_back = box->row.backoff_until != INSTANT_NONE && box->row.backoff_until > sim->now;
    if (box->baseline < 0)
        broken(sim, "I57", "nothing is polled");
    if (holds_back)
        return;
    for (int i = box->baseline + 1; i <= box->count; i++)
        if (!may_lack(&box->mails[i]))
            broken(sim, "I57", "mail %d never becomes an event", i);
}
