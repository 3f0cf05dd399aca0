// url.h - URLs as a transfer will read them: by the same parser, so that what is checked here is
// what is asked for later. Two that read one URL differently are how a check is got around.
#pragma once

#include "base/str.h"

// url_problem says what is wrong with a URL that requests shall go to, as a sentence; NULL for
// nothing.
const char *url_problem(Str url);

// url_same_origin tells whether two URLs have the same scheme, host and port; false where one is no
// URL.
bool url_same_origin(Str a, Str b);
