// recipient.h - the addresses of persons, as a channel needs them.
//
// Addresses are kept as they were given. A channel strips what people put between digits before it
// looks at a number; what is left goes out unchanged, or not at all.
#pragma once

#include "base/arena.h"
#include "base/str.h"

typedef enum RecipientKind {
    RECIPIENT_NONE,  // the channel knows where to: an address is not looked at
    RECIPIENT_PHONE, // a number as E.164 has it: a plus, and 7 to 15 digits
    RECIPIENT_EMAIL, // somebody@somewhere
} RecipientKind;

// recipient_read returns the address to send to; none where it is no address of that kind.
Str recipient_read(Arena *arena, RecipientKind kind, Str address);
