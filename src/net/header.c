#include "net/header.h"

bool header_is_token(Str s)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_word && !memchr(marks, c, sizeof marks - 1))
            return false;
    }
    return s.len > 0;
}
