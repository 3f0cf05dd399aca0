// html.h - text on its way into HTML.
#pragma once

#include "base/str.h"

// html_add appends text so that it stands as text, between tags and inside a quoted attribute.
void html_add(Buf *buf, Str text);
