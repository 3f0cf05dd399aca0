// why.h - what each trigger made of an event, in sentences.
#pragma once

#include "cli/client.h"

// why_print prints the first of them, with so much before each line; nothing where it cannot be
// asked.
void why_print(const Client *client, Str event, const char *indent);
