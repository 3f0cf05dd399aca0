#include "engine/state.h"

#include "store/audit.h"

// What has its number is sealed into the audit chain (store/audit.h), right behind the sequencer.
// No delivery waits for it: where it fails it is tried again, and the journal keeps what is left.

enum { FACTS = 2000 };

Err seal_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    AuditSealed sealed;
    (void) options;
    TRY(audit_seal(tx, FACTS, &sealed, error));
    ret->has_more = sealed.has_more;
    return ERR_OK;
}
