// site.h - `peal site`: a Peal whose one channel is forward.
//
// site_open brings the site's definitions up to what it was started with: the channel to central
// with its key, the rule by which all that comes in is handed on, and the line to central.
#pragma once

#include "api/site.h"
#include "app/config.h"
#include "app/store.h"

#define SITE_CHANNEL S("forward:central")

Err site_open(Arena *arena, const Config *config, const KeyRing *ring, const StoreUp *store,
              Site **ret, Error *error) MUST_USE;
void site_close(Site *site); // NULL is allowed

// site_moved is told of every commit: where rows were handed on, central is asked how it stands.
void site_moved(const Site *site, const Move *moves, size_t count);
