#include "base/html.h"

void html_add(Buf *buf, Str text)
{
    for (size_t from = 0, at = 0; at <= text.len; at++) {
        char c = at < text.len ? text.at[at] : '\0';
        Str escape = c == '&'    ? S("&amp;")
                     : c == '<'  ? S("&lt;")
                     : c == '>'  ? S("&gt;")
                     : c == '"'  ? S("&quot;")
                     : c == '\'' ? S("&#39;")
                                 : STR_NONE;
        if (!escape.at && at < text.len)
            continue;
        buf_add(buf, (Str){ text.at + from, at - from });
        buf_add(buf, escape);
        from = at + 1;
    }
}
