// link.h - a site's line to central, beside the rows that are forwarded: asking how things stand.
//
// A thread asks central now and then for its epoch, and whenever it is poked, which happens when
// rows were handed on. Where central's state is older than the one the site saw, or another, what
// the site still keeps of what it handed on is handed on again (store/site.h): central knows what
// it has by its ids.
//
// link_ask asks what became of a notification, and remembers the answer for when central cannot be
// reached. While it is known that it cannot, nobody waits for it.
#pragma once

#include "store/writer.h"

typedef struct Link Link;

typedef struct LinkOptions {
    Writer *writer;
    int64_t tenant, rule; // whose deliveries are handed on again
    Str url, key;         // of central
    Str ca;               // a file of certificates to trust; none: the system's alone
} LinkOptions;

Link *link_open(const LinkOptions *options);
void link_close(Link *link); // NULL is allowed

// link_poke has central asked soon; from any thread, without waiting.
void link_poke(Link *link);

// LinkAnswer is what is known of a notification at central.
typedef struct LinkAnswer {
    Str text;      // JSON, an object; none: nothing was ever heard of it
    bool is_stale; // it was heard before, or never, and central does not tell now
} LinkAnswer;
LinkAnswer link_ask(Link *link, Arena *arena, Uuid notification);
