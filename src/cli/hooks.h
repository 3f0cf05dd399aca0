// hooks.h - what became of a webhook, for who watches it come in.
#pragma once

#include "cli/client.h"

// hook_print_result waits until the row of the inbox is drained, a few seconds at most, and prints
// what became of it: its reason, or its first event and what each trigger made of that.
void hook_print_result(const Client *client, Str id);
