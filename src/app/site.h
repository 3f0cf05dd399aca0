// site.h - `peal site`: a Peal whose one channel is forward.
//
// site_open brings the site's definitions up to what it was started with: the channel to central
// with its key, and the rule by which all that comes in is handed on. It takes in what lies in the
// spool, and opens the line to central.
#pragma once

#include "api/site.h"
#include "app/collector.h"
#include "app/config.h"
#include "app/store.h"

#define SITE_CHANNEL S("forward:central")

typedef struct SiteUp {
    Site site;
    Places places;
    Collector *collector;
} SiteUp;

Err site_open(Arena *arena, const Config *config, const KeyRing *ring, const StoreUp *store,
              Clock *clock, SiteUp **ret, Error *error) MUST_USE;
void site_close(SiteUp *up); // NULL is allowed

// site_moved is told of every commit: where rows were handed on, central is asked how it stands.
void site_moved(const SiteUp *up, const Move *moves, size_t count);
