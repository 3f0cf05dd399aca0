// Fills a small template's phrase from an event, over and over on one core, as the engine does for
// each message: prints how many a second. The work of a message is in an arena of its own.
#include "domain/phrase.h"

#include <stdio.h>
#include <time.h>

#define TEXT                                                                                       \
    "Hello {{guestName}}, see you on {{checkinDate | date:\"dd-MMM-yyyy\"}}"                       \
    " at listing {{listingId}}."
#define PAYLOAD                                                                                    \
    "{\"guestPhone\":\"+919876543210\",\"guestName\":\"Ada Lovelace\","                            \
    "\"checkinDate\":\"2026-11-20\",\"listingId\":\"10\"}"

enum { ROUNDS = 1000000 };

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

int main(void)
{
    Arena lasting = { 0 }, arena = { 0 };
    Error error = { .arena = &lasting };
    Event event = { .kind = S("booking.confirmed"), .occurred_at = INSTANT_NONE };
    const Phrase *phrase = phrase_compile(&lasting, S(TEXT), S("/body"), &error);
    if (!phrase || json_parse(&lasting, S(PAYLOAD), &event.payload_json, &error) != ERR_OK)
        return 1;
    size_t bytes = 0;
    double began = seconds();
    for (int i = 0; i < ROUNDS; i++) {
        Str filled;
        Filling filling = { .event = &event };
        if (phrase_fill(phrase, &arena, &filling, i % 2, &filled, &error) != ERR_OK)
            return 1;
        bytes += filled.len;
        arena_reset(&arena);
    }
    double spent = seconds() - began;
    printf("rate=%.0f bytes=%zu\n", ROUNDS / spent, bytes / ROUNDS);
    return 0;
}
