// cookie.h - one cookie out of a Cookie header, as browsers send it: "a=1; b=2" (RFC 6265). Pure.
#pragma once

#include "base/str.h"

enum { COOKIE_PAIRS_MAX = 200 }; // more than a browser keeps for a host

// cookie_find is the value of the one cookie of this name; none where there is no such, or more
// than one: another host of the same domain may have set the other, and which of them is meant
// cannot be told. Of a header with more than COOKIE_PAIRS_MAX nothing is believed.
Str cookie_find(Str header, Str name);
