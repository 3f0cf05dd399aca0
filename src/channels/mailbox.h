// mailbox.h - where mail goes and comes from: "Ada Lovelace <ada@example.org>". Pure.
//
// An address is a local part of letters, digits and the marks that may stand there unquoted, in any
// script, and the name of a host. Quoted local parts and addresses in brackets are not taken: what
// is read here ends up in commands and headers, and one spelling is enough.
#pragma once

#include "base/str.h"

enum { MAILBOX_ADDRESS_MAX = 254, MAILBOX_LOCAL_MAX = 64 };

typedef struct Mailbox {
    Str name; // none where there is none; no control characters
    Str address;
} Mailbox;

// mailbox_address_problem says what is wrong with an address, as a sentence; NULL for nothing.
const char *mailbox_address_problem(Str address);

// mailbox_parse reads an address, or a name (quoted or not) and an address in angle brackets.
bool mailbox_parse(Arena *arena, Str text, Mailbox *ret);

// mailbox_address is an address as the wire has it: its host in ASCII. None where that cannot be.
Str mailbox_address(Arena *arena, Str address);

// mailbox_is_ascii: no server needs SMTPUTF8 for it.
bool mailbox_is_ascii(Str address);

Str mailbox_host(Str address); // what stands behind the last @
