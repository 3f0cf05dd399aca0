// linear.h - what Linear's two ways in share. Private to linear.c and linear_poll.c.
//
// A webhook tells of one change of an issue (linear.c); a poll finds the issues that have changed
// (linear_poll.c). Both make the same event of it, with the same key, so that a trigger that hears
// of it by both fires once.
#pragma once

#include "providers/provider.h"

// linear_issue fills in the event of what happened to an issue, which is given as a webhook has it
// in its data: create or update. False where it is no issue that can be told from others.
bool linear_issue(Arena *arena, const Json *issue, Str action, ProviderEvent *ret);

Err linear_poll_ask(Arena *arena, const PollTurn *turn, ProviderRequest *ret, Error *error);
void linear_poll_read(Arena *arena, const PollTurn *turn, const ProviderReply *reply,
                      PollPage *ret);
