#include "engine/state.h"

#include "store/audit_mend.h"

// What has its number is sealed into the audit chain (store/audit.h), right behind the sequencer.
// No delivery waits for it: where it fails it is tried again, and the journal keeps what is left.
// When all is sealed, a slice of the chain is looked at, and mended where somebody harmed it.

enum { FACTS = 3000 }; // a third of them are events, which are told in no row

Err seal_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    AuditSealed sealed;
    (void) options;
    int64_t restored;
    TRY(audit_seal(tx, FACTS, &sealed, error));
    ret->has_more = sealed.has_more;
    return sealed.is_ours && !sealed.has_more ? audit_mend(tx, &restored, error) : ERR_OK;
}
