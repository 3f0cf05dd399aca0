/* local.h - one request to the site over its socket. Private to the library. */
#pragma once

#include "lib/text.h"

/* peal_local_ask sends a request and reads the answer's body: the status of the answer, or 0 where
 * there was none. Whether the request arrived then, nobody knows: ask again under the same id. A
 * body of NULL makes it a GET. */
int peal_local_ask(const char *socket_path, const char *path, const Text *body, Text *ret);
