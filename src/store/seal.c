#include "store/seal.h"

#include "store/meta.h"

#define MARK_BINDING S("meta/master-key")
#define MARK_TEXT S("peal")

Err seal_fit(Db *db, Arena *arena, const KeyRing *ring, const Registry *registry, SealFit *ret,
             Error *error)
{
    Str mark, opened;
    Error unfit = { 0 };
    TRY(meta_get(db, arena, META_MASTER_KEY, &mark, error));
    if (!mark.at)
        *ret = registry->sealed.count > 0 ? SEAL_FOREIGN : SEAL_UNMARKED;
    else if (crypto_open(arena, ring, MARK_BINDING, mark, &opened, &unfit) != ERR_OK)
        *ret = SEAL_FOREIGN;
    else
        *ret = crypto_is_newest(ring, mark) ? SEAL_FITS : SEAL_OUTDATED;
    return ERR_OK;
}

void seal_mark(Tx *tx, const KeyRing *ring)
{
    meta_put(tx, META_MASTER_KEY,
             crypto_seal(&tx->arena, ring, tx->random, MARK_BINDING, MARK_TEXT));
}
