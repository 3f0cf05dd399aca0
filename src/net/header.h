// header.h - a header as both ends of HTTP have it: its name and its value.
#pragma once

#include "base/str.h"

typedef struct Header {
    Str name, value;
} Header;

// header_is_token is true for what may name a header or a method: RFC 9110's token.
bool header_is_token(Str s);
