#include "base/percent.h"

bool percent_decode(Arena *arena, Str s, bool plus_is_blank, Str *ret)
{
    char *at = arena_grow(arena, NULL, 0, s.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        if (c == '%') {
            int high = i + 2 < s.len ? str_hex_value(s.at[i + 1]) : -1;
            int low = i + 2 < s.len ? str_hex_value(s.at[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char) (high << 4 | low);
            i += 2;
        } else if (c == '+' && plus_is_blank) {
            c = ' ';
        }
        at[len++] = c;
    }
    at[len] = '\0';
    *ret = (Str){ at, len };
    return str_is_utf8(*ret);
}
