#include "providers/gmail.h"
#include "providers/polled.h"
#include "providers/read.h"

// Gmail pushes changes of a mailbox to a topic of Cloud Pub/Sub for whoever watches it. A mailbox
// has one watch: asking again replaces it, and it ends by itself within a week.

#define EXPIRATION_MAX (INT64_MAX / SPAN_MILLISECOND)

static Str body_of(Arena *arena, const IntegrationWatch *watch)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_str(&out, S("topicName"), watch->topic);
    if (watch->label_count > 0) {
        json_key(&out, S("labelIds"));
        json_open(&out, '[');
        for (size_t i = 0; i < watch->label_count; i++)
            json_add_str(&out, watch->labels[i]);
        json_close(&out, ']');
        json_put_str(&out, S("labelFilterBehavior"), S("INCLUDE"));
    }
    json_close(&out, '}');
    return buf_str(&text);
}

void gmail_watch_ask(Arena *arena, const PollTurn *turn, const IntegrationWatch *watch,
                     ProviderRequest *ret)
{
    gmail_request(arena, turn, "POST", watch->topic.at ? S("/watch") : S("/stop"), ret);
    if (!watch->topic.at)
        return;
    ret->headers[ret->header_count++] = (HookHeader){ S("content-type"), S("application/json") };
    ret->body = body_of(arena, watch);
}

Instant gmail_watch_read(Arena *arena, const PollTurn *turn, const ProviderReply *reply,
                         PollPage *ret)
{
    int64_t ms;
    Str expiration = read_word(polled_json(arena, reply->body), "expiration");
    *ret = (PollPage){ .verdict = POLL_GOOD };
    if (reply->status != 200)
        *ret = gmail_failure(arena, turn, reply);
    else if (str_to_i64(expiration, 1, EXPIRATION_MAX, &ms) && ms * SPAN_MILLISECOND > turn->now)
        return ms * SPAN_MILLISECOND;
    else
        *ret = (PollPage){ .verdict = POLL_AGAIN, .note = S("it does not say until when") };
    return INSTANT_NONE;
}
