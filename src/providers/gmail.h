// gmail.h - the polling half of Gmail, for its struct (gmail.c), and how its API is asked.
#pragma once

#include "providers/provider.h"

Err gmail_poll_ask(Arena *arena, const PollTurn *turn, ProviderRequest *ret, Error *error);
void gmail_poll_read(Arena *arena, const PollTurn *turn, const ProviderReply *reply, PollPage *ret);
Err gmail_hydrate_ask(Arena *arena, const PollTurn *turn, const ProviderEvent *event,
                      ProviderRequest *ret, Error *error);
bool gmail_hydrate_read(Arena *arena, const PollTurn *turn, const ProviderReply *reply,
                        ProviderEvent *event, PollPage *page);

// gmail_watch.c
void gmail_watch_ask(Arena *arena, const PollTurn *turn, const IntegrationWatch *watch,
                     ProviderRequest *ret);
Instant gmail_watch_read(Arena *arena, const PollTurn *turn, const ProviderReply *reply,
                         PollPage *ret);

// gmail_request is one to a path of the mailbox (/profile), with the turn's token; gmail_failure
// what an answer that is none means.
void gmail_request(Arena *arena, const PollTurn *turn, const char *method, Str path,
                   ProviderRequest *ret);
PollPage gmail_failure(Arena *arena, const PollTurn *turn, const ProviderReply *reply);
