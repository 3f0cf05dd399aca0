// smtp.h - our half of the dialogue with a mail server, for one message: pure, no sockets.
//
// Whoever has a connection asks smtp_next() for bytes to send and tells smtp_hear() what came,
// until smtp_is_over(). What the server has to say to each recipient is then smtp_reply(): its
// answer to the sender, to that recipient, to DATA or to the final dot, whichever decided.
//
// Where the server offers PIPELINING, everything up to DATA goes out in one piece: two round trips
// for a message. The dialogue also says what state it leaves the connection in: fit for the next
// message, in need of RSET, or to be closed.
//
// Before that there is the opening: greeting, EHLO, STARTTLS and login, which libcurl speaks.
// smtp_overhear() listens to it, for what the server offers and for what it refuses.
#pragma once

#include "base/str.h"

// SmtpReply is what a server said to one command. Its text begins with the code and is one line.
typedef struct SmtpReply {
    int code; // 0: nothing was said
    Str text;
} SmtpReply;

enum { SMTP_TEXT_MAX = 1000 };      // bytes kept of a reply
enum { SMTP_LINE_MAX = 2000 };      // bytes looked at of a line
enum { SMTP_HEARD_MAX = 64 << 10 }; // bytes of a reply: who says more does not mean to end it

// SmtpEnvelope is who sends a message and who gets it: addresses without brackets.
typedef struct SmtpEnvelope {
    Str sender;
    const Str *recipients;
    size_t count;
} SmtpEnvelope;

// smtp_address_problem says why an address cannot stand in a command, as a sentence; NULL for
// nothing. It keeps commands apart; what is an address is its channel's to know.
const char *smtp_address_problem(Str address);

// smtp_wire is a message as it goes over the wire: dots doubled, and the final one. It returns none
// where a line does not end in CR and LF together, or a NUL is in it.
Str smtp_wire(Arena *arena, Str message);

// SmtpOffer is what a server says in answer to EHLO that it can do.
typedef struct SmtpOffer {
    bool has_pipelining, has_utf8, has_size;
} SmtpOffer;

// SmtpReader makes lines and replies of bytes as they come.
typedef struct SmtpReader {
    char line[SMTP_LINE_MAX];
    size_t line_len;
    size_t heard; // bytes of the reply that is coming
    int code;     // of the reply that is coming; 0: none
    Buf text;     // of that reply
} SmtpReader;

// SmtpOpening is what was overheard of the opening.
typedef struct SmtpOpening {
    SmtpReader reader;
    SmtpOffer offer;
    SmtpReply last; // in the arena
} SmtpOpening;

void smtp_overhear_begin(SmtpOpening *opening, Arena *arena);

// smtp_overhear returns false where a reply does not end.
bool smtp_overhear(SmtpOpening *opening, Arena *arena, Str bytes);

typedef struct Smtp {
    Arena *arena;
    SmtpReader reader;
    SmtpOffer offer;
    Str wire;             // the message
    const Str *asks;      // what is asked before the message, one after the other
    size_t ask_count;     // the last of them is DATA
    size_t sender_at;     // place of MAIL among them; the recipients follow it
    const size_t *places; // of each recipient among them; 0: it cannot be asked
    size_t asked, told;   // how far both sides are; the message itself counts as one more
    SmtpReply *replies;   // to each of them
    SmtpReply last;
    bool is_over, needs_reset, is_broken;
} Smtp;

// smtp_begin makes smtp the dialogue about one message; all of it lies in the arena. resets: what
// was said last over this connection is to be forgotten first. An address beyond ASCII is refused
// here where the server does not offer SMTPUTF8.
void smtp_begin(Smtp *smtp, Arena *arena, const SmtpEnvelope *envelope, Str wire, SmtpOffer offer,
                bool resets);

// smtp_next returns what to send now; none while the other side is to speak.
Str smtp_next(Smtp *smtp);

// smtp_hear takes what came, in any pieces.
void smtp_hear(Smtp *smtp, Str bytes);

bool smtp_is_over(const Smtp *smtp);

// smtp_was_begun: the server has said something about this message, other than that it closes.
bool smtp_was_begun(const Smtp *smtp);

// smtp_may_go_on: the connection is fit for another message.
bool smtp_may_go_on(const Smtp *smtp);

// smtp_reply is the server's word on a recipient; its code is 0 where there was none.
SmtpReply smtp_reply(const Smtp *smtp, size_t recipient);
