// site.h - what makes a Peal a site: all that comes in is kept as rows for central, by one rule.
//
// A site serves the same paths as central where it takes something in, and answers when it is
// synced; nothing touches the network for it. Whoever comes by the site's Unix socket needs no key:
// the file says who may use it. He may post, and ask what became of what was posted.
#pragma once

#include "api/link.h"
#include "store/accept.h"
#include "store/registry.h"

typedef struct Site {
    Trigger rule; // of kind forward: what all that comes in is for
    const Trigger *named[1];
    Places *places;    // of its lane
    RegistryKey local; // of whoever comes by the socket and names none
    Link *link;
} Site;

// site_take makes an item's event one for central.
void site_take(const Site *site, AcceptItem *item);

// site_init fills in all but the link and the places: rule and lane are numbers of the site's own
// store.
void site_init(Site *site, int64_t tenant, int64_t rule, int64_t lane);
