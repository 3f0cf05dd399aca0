// integration.h - what has become of integrations: whose place is whose, their status, and the
// tokens that were got for them.
//
// A definition says what an integration is to be (domain/integration.h); its row here says what it
// is. The row is made, changed and taken away with the definition, in the same transaction.
//
// A place (a connection, an installation) is one integration's, over all tenants: whoever asks for
// one that is taken is told that it is, and not whose. What comes by a source that is not shared
// reaches its own tenant's integrations alone, whatever it names; a shared source, which takes the
// system right to make, reaches all of them, and it alone may bind a place by the broker's word.
//
// Fresh tokens are sealed and bound to their integration. They go when the token is given anew, or
// the integration another place: the fence is raised then, and what was found out under an older
// one (a refusal, a refreshed token) counts no more.
#pragma once

#include "domain/integration.h"
#include "store/tx.h"

// IntegrationState is what is shown beside a definition.
typedef struct IntegrationState {
    Str id;
    bool is_known; // it has a row
    Str connection_id, installation_id;
    IntegrationStatus status;
    Str reason; // none
    Instant since;
} IntegrationState;

// integrations_look reads the states of those that ids name.
Err integrations_look(Db *db, Arena *arena, int64_t tenant, IntegrationState *states, size_t count,
                      Error *error) MUST_USE;

// IntegrationSave is what a save of its definition changes.
typedef struct IntegrationSave {
    int64_t tenant;
    Str id;
    ProviderName provider;
    bool is_enabled;
    bool has_place; // it names another place than before, or none any more
    Str connection_id, installation_id;
    bool has_token; // its token was given anew, or is sent elsewhere
} IntegrationSave;

// integration_may_save fails with ERR_CONFLICT where the place is taken; it locks definitions.
// integration_save then makes the row, or changes it: what had failed is active again, and one with
// another place is active whatever its last one was.
Err integration_may_save(Tx *tx, const IntegrationSave *save, Error *error) MUST_USE;
Err integration_save(Tx *tx, const IntegrationSave *save, Error *error) MUST_USE;
Err integration_remove(Tx *tx, int64_t tenant, Str id, Error *error) MUST_USE;

// IntegrationName is an integration as somebody has opened it.
typedef struct IntegrationName {
    int64_t tenant;
    Str id;
    int64_t fence;
} IntegrationName;

typedef struct IntegrationOpened {
    IntegrationName name;
    IntegrationAccess access;
    IntegrationStatus status;
    IntegrationWatch watch;
    bool is_enabled;
} IntegrationOpened;

// integration_open reads one with its secrets, into an arena that the caller wipes. It fails with
// ERR_NOT_FOUND, and with ERR_CORRUPT where they cannot be opened with these keys.
Err integration_open(Db *db, Arena *arena, const KeyRing *ring, int64_t tenant, Str id,
                     IntegrationOpened *ret, Error *error) MUST_USE;

// integration_refreshed keeps a token that was got; refresh is none where the last one stays good.
Err integration_refreshed(Tx *tx, const KeyRing *ring, const IntegrationName *name, Str access,
                          Str refresh, Instant expires_at, Error *error) MUST_USE;

// integration_mark notes what asking the provider has shown: it works (INTEGRATION_ACTIVE), or its
// token is refused and no other to be had (INTEGRATION_FAILED). One that the provider holds back
// stays so. Whoever knew it by an older fence, or knew one that is gone, changes nothing.
Err integration_mark(Tx *tx, const IntegrationName *name, IntegrationStatus status, Str reason,
                     Error *error) MUST_USE;

// IntegrationRoute leads from a source and a place to whose event it is.
typedef struct IntegrationRoute {
    int64_t tenant; // of the source
    Str own;        // the integration that the source names; none
    bool is_shared;
    Str connection_id, installation_id; // the place; none

    bool is_found; // found out: false where it is nobody's, or of one that takes no events …
    Str why;       // … and which of both, in words
    int64_t to_tenant;
    Str to; // the integration; none: it is of none
} IntegrationRoute;

// integrations_route finds out for many at once. Without a place it is the source's own tenant and
// integration, be there one of that name or not. So it is where an unshared source's event names an
// installation that the tenant has bound to none, unless the source's own is bound to another: the
// source is the tenant's, and every event of a GitHub app names one. A connection must be known.
Err integrations_route(Tx *tx, IntegrationRoute *routes, size_t count, Error *error) MUST_USE;

// IntegrationChange is the provider's own word on a place.
typedef struct IntegrationChange {
    IntegrationRoute of; // what it came by, and the place; integrations_route is not needed
    ProviderName provider;
    IntegrationStatus status;
    Str reason;              // in words; none
    bool is_new;             // the place was made: it may be bound …
    Str tenant, integration; // … to this one, as a shared source's envelope names it; none
} IntegrationChange;

// integration_change has it count. Where the place is nobody's, or not for this source to speak of,
// nothing happens and ret_found is false.
Err integration_change(Tx *tx, const IntegrationChange *change, bool *ret_found,
                       Error *error) MUST_USE;

extern const Statement *const integration_statements[]; // ends with NULL
