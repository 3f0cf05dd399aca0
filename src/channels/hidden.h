// hidden.h - what a far side's answer must not carry into the record: the secrets of its channel.
//
// Some servers tell a caller what it sent: "invalid token SG.x…". What they say is kept, shown to
// readers and searched, so each secret of the channel, whole or in parts that are worth as much, is
// written over before. Nothing that is shorter than HIDDEN_MIN is taken for a secret.
#pragma once

#include "channels/channel.h"

enum { HIDDEN_MIN = 8 };

// hidden_of gathers them from what the channel's shape calls secret, and from the login that the
// request carries. What it returns lies in the arena.
Hidden hidden_of(Arena *arena, const Shape *shape, const Json *config, const Transfer *transfer);

// hidden_redact returns text with *** for each, also for the beginning of one that it was cut off
// in; the text itself where there is none.
Str hidden_redact(Arena *arena, const Hidden *hidden, Str text);

// hidden_stand_ins returns settings as they may be shown (store/secret.h: secret_show), with a
// stand-in for the mark of each secret: what is made of them has the form of what would be sent,
// and no secret in it, however it is coded. A signature made with one verifies nowhere.
const Json *hidden_stand_ins(Arena *arena, const Shape *shape, const Json *shown);
