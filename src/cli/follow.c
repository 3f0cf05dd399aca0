#include "cli/follow.h"

#include <signal.h>
#include <unistd.h>

enum { LINE_BYTES_MAX = 1 << 20, DATA_BYTES_MAX = 4 << 20, ID_BYTES_MAX = 32 };

#define PAUSE_FIRST SPAN_SECOND
#define PAUSE_MOST ((Span) 10 * SPAN_SECOND)

// Following is one stream, over all its connections.
typedef struct Following {
    Client client;
    FollowTold *told;
    void *with;
    Arena lines;             // of the line and frame that are being read
    Arena frame;             // of the frame that is being told
    Buf line, event, data;   // so far
    char last[ID_BYTES_MAX]; // the id that was told last
    char next[ID_BYTES_MAX]; // of the frame that is being read
    bool has_begun;          // a connection brought something
    bool is_over;            // somebody has enough
} Following;

static void begin_frame(Following *following)
{
    arena_reset(&following->lines);
    following->line = buf_new(&following->lines, LINE_BYTES_MAX);
    following->event = buf_new(&following->lines, ID_BYTES_MAX);
    following->data = buf_new(&following->lines, DATA_BYTES_MAX);
}

// end_frame tells what was read. The id is ours only when its frame was told: a frame that was cut
// off comes again.
static void end_frame(Following *following)
{
    Followed frame = { .event = buf_str(&following->event), .text = buf_str(&following->data) };
    if (frame.text.len > 0) {
        arena_reset(&following->frame);
        following->client.arena = &following->frame;
        if (json_parse(&following->frame, frame.text, &frame.data, NULL) != ERR_OK)
            frame.data = NULL;
        following->is_over = !following->told(following->with, &following->client, &frame);
    }
    memcpy(following->last, following->next, sizeof following->last);
    following->has_begun = true;
    begin_frame(following);
}

static void read_line(Following *following, Str line)
{
    Str value = line, name = str_cut(&value, ':');
    if (str_starts(value, S(" ")))
        value = str_skip(value, 1);
    if (str_eq(name, S("id")))
        snprintf(following->next, sizeof following->next, "%.*s", STR_ARG(value));
    else if (str_eq(name, S("event")))
        buf_add(&following->event, value);
    else if (str_eq(name, S("data")))
        buf_add(&following->data, value);
}

// piece takes bytes of the stream, wherever they were cut.
static bool piece(void *with, Str bytes)
{
    Following *following = with;
    for (size_t i = 0; i < bytes.len && !following->is_over; i++) {
        Buf *line = &following->line;
        if (bytes.at[i] != '\n') {
            if (bytes.at[i] != '\r')
                buf_add_char(line, bytes.at[i]);
        } else if (line->len == 0) {
            end_frame(following);
        } else {
            read_line(following, buf_str(line));
            line->len = 0;
        }
    }
    return !following->is_over;
}

// leave ends the program: what was printed is out already, for each line is flushed.
static void leave(int signal)
{
    (void) signal;
    _exit(EXIT_DONE);
}

static void wait_for(Span span)
{
    struct timespec pause = { .tv_sec = span / SPAN_SECOND, .tv_nsec = span % SPAN_SECOND * 1000 };
    nanosleep(&pause, NULL);
}

int follow_run(const CommandArgs *args, Str path, FollowTold *told, void *with)
{
    Following following = { .client = client_open(args), .told = told, .with = with };
    Client client = following.client; // its arena lives as long as the command
    Span pause = PAUSE_FIRST;
    int status = EXIT_DONE;
    signal(SIGINT, leave);
    signal(SIGTERM, leave);
    for (bool is_again = false; !following.is_over && status == EXIT_DONE; is_again = true) {
        if (is_again)
            wait_for(pause);
        begin_frame(&following);
        memcpy(following.next, following.last, sizeof following.next);
        bool had_begun = following.has_begun, is_lost;
        following.has_begun = false;
        status =
            client_stream(&client, path, str_from(following.last), piece, &following, &is_lost);
        pause = following.has_begun ? PAUSE_FIRST : earlier(2 * pause, PAUSE_MOST);
        following.has_begun |= had_begun;
        if (is_lost && following.has_begun)
            status = EXIT_DONE; // it was there, and may be again
        else if (is_lost)
            status = client_lost(&client);
    }
    arena_done(&following.lines);
    arena_done(&following.frame);
    return status;
}

// Lines is how frames of one kind are printed.
typedef struct Lines {
    const char *kind;
    const char *only; // a member …
    Str wanted;       // … that must say this; none: anything will do
    const Column *columns;
    size_t count;
    bool json;
} Lines;

static void print_columns(const Lines *lines, Arena *arena, const Json *data)
{
    for (size_t i = 0; i < lines->count; i++) {
        Str value = output_value(arena, json_get(data, str_from(lines->columns[i].member)));
        printf("%s%.*s", i ? "  " : "", STR_ARG(value));
    }
    printf("\n");
}

static bool print_line(void *with, Client *client, const Followed *frame)
{
    const Lines *lines = with;
    if (str_eq(frame->event, S("gap")))
        fprintf(stderr, "Some are not kept any more: %.*s\n",
                STR_ARG(output_members(client->arena, frame->data)));
    if (!frame->data || !str_eq(frame->event, str_from(lines->kind)))
        return true;
    if (lines->wanted.at &&
        !str_eq(json_str(json_get(frame->data, str_from(lines->only))), lines->wanted))
        return true;
    if (lines->json)
        output_json(frame->text);
    else
        print_columns(lines, client->arena, frame->data);
    fflush(stdout);
    return true;
}

int follow_lines(const CommandArgs *args, const char *kind, const char *only, const Column *columns,
                 size_t count)
{
    Lines lines = { .kind = kind,
                    .only = only,
                    .wanted = str_from(args_option(args, only)),
                    .columns = columns,
                    .count = count,
                    .json = args_flag(args, "json") };
    return follow_run(args, str_format(args_arena(args), "/v1/stream?kinds=%s", kind), print_line,
                      &lines);
}
