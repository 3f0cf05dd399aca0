// mime.h - a mail as bytes: headers and body as RFC 5322, 2045 and 2047 have them. Pure.
//
// Whatever it is given, the bytes are lines of at most 998 characters in ASCII that end in CR and
// LF, no text can begin a header of its own (control characters become spaces), and no line begins
// with a dot. Only an address whose local part is not ASCII stands there as it is: a mail to such a
// one needs SMTPUTF8 anyway.
#pragma once

#include "channels/mailbox.h"

// MimeMail is what a mail says and to whom.
typedef struct MimeMail {
    Str id; // of the message, without brackets: the same for every try
    Instant date;
    Mailbox from;
    Mailbox reply_to;  // its address none: there is none
    Str group;         // To names this group and no members; none
    const Mailbox *to; // who are shown where there is no group; none at all: undisclosed recipients
    size_t to_count;
    Str unsubscribe; // the header's value; none
    Str subject, text, html;
} MimeMail;

// mime_bytes is the mail, ready to be sent.
Str mime_bytes(Arena *arena, const MimeMail *mail);
