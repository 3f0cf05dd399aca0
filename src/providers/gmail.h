// gmail.h - the polling half of Gmail, for its struct (gmail.c).
#pragma once

#include "providers/provider.h"

Err gmail_poll_ask(Arena *arena, const PollTurn *turn, ProviderRequest *ret, Error *error);
void gmail_poll_read(Arena *arena, const PollTurn *turn, const ProviderReply *reply, PollPage *ret);
Err gmail_hydrate_ask(Arena *arena, const PollTurn *turn, const ProviderEvent *event,
                      ProviderRequest *ret, Error *error);
bool gmail_hydrate_read(Arena *arena, const PollTurn *turn, const ProviderReply *reply,
                        ProviderEvent *event, PollPage *page);
