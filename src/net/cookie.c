#include "net/cookie.h"

Str cookie_find(Str header, Str name)
{
    Str found = STR_NONE;
    for (int pairs = 0; header.len > 0; pairs++) {
        if (pairs == COOKIE_PAIRS_MAX)
            return STR_NONE;
        Str value = str_cut(&header, ';');
        Str key = str_cut(&value, '=');
        if (!value.at || !str_eq(str_trim(key), name))
            continue;
        if (found.at)
            return STR_NONE;
        found = str_trim(value);
    }
    return found;
}
