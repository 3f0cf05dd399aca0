// renewal.h - certificates are renewed while Peal runs.
//
// renewal_look() is called every second: where one of the two files has changed since it was looked
// at, or where a person asks (SIGHUP), both are read again and presented from then on. Connections
// that are open go on. What cannot be used is told once, and the certificate stays as it was.
#pragma once

#include "app/config.h"
#include "net/server.h"

typedef struct Renewal {
    Str certificate_file, key_file; // none: there is no TLS
    Server *server;
    uint64_t seen; // what both files looked like
} Renewal;

// renewal_begin loads the certificate for the start; *ret stays NULL without TLS.
Err renewal_begin(Renewal *renewal, const Config *config, Certificate **ret, Error *error) MUST_USE;
void renewal_look(Renewal *renewal, bool is_asked);
