// url.h - URLs as a transfer will read them: by the same parser, so that what is checked here is
// what is asked for later. Two that read one URL differently are how a check is got around.
#pragma once

#include "base/arena.h"
#include "base/str.h"

// url_problem says what is wrong with a URL that requests shall go to, as a sentence; NULL for
// nothing.
const char *url_problem(Str url);

// url_mail_problem says the same of a mail server's: smtp or smtps, and as its path at most the
// name that it is greeted with.
const char *url_mail_problem(Str url);

// url_is_plain: TLS is not there from the start.
bool url_is_plain(Str url);

// url_ascii_host is a name of a host as DNS has it (xn--…); none where it cannot be one.
Str url_ascii_host(Arena *arena, Str host);

// url_same_origin tells whether two URLs have the same scheme, host and port; false where one is no
// URL.
bool url_same_origin(Str a, Str b);

// url_host gives the host and the port that a URL leads to, such as "example.com:443", in lower
// case; false where it is no URL, or its scheme has no port of its own and names none.
bool url_host(Arena *arena, Str url, Str *ret);
