#include "store/audit_key.h"

#include "base/log.h"
#include "store/meta.h"

// Without a master key there is nothing to seal it with; it stands as hex digits then.
#define BINDING S("audit-key")
#define PLAIN S("plain.")

enum { KEY_LEN = 32 };

static Err open_key(Arena *arena, const KeyRing *ring, Str stored, Str *ret)
{
    Error error = { 0 };
    *ret = STR_NONE;
    if (str_starts(stored, PLAIN)) {
        if (!hex_parse(arena, str_skip(stored, PLAIN.len), ret))
            *ret = STR_NONE;
        return ERR_OK;
    }
    if (!ring || crypto_open(arena, ring, BINDING, stored, ret, &error) != ERR_OK) {
        *ret = STR_NONE;
        log_warn("audit.keyless", "detail=%s",
                 log_quote(S("the master key cannot open the key of the audit's targets")));
    }
    return ERR_OK;
}

Err audit_key_get(Db *db, Arena *arena, const KeyRing *ring, Str *ret, Error *error)
{
    Str stored;
    TRY(meta_get(db, arena, META_AUDIT_KEY, &stored, error));
    *ret = STR_NONE;
    return stored.at ? open_key(arena, ring, stored, ret) : ERR_OK;
}

Err audit_key_make(Tx *tx, Str *ret, Error *error)
{
    Str stored;
    const KeyRing *ring = tx->registry->ring;
    TRY(meta_get(tx->db, &tx->arena, META_AUDIT_KEY, &stored, error));
    if (stored.at)
        return open_key(&tx->arena, ring, stored, ret);
    char *key = arena_alloc(&tx->arena, KEY_LEN);
    random_fill(tx->random, key, KEY_LEN);
    *ret = (Str){ key, KEY_LEN };
    bool seals = ring && ring->count > 0;
    meta_put(tx, META_AUDIT_KEY,
             seals ? crypto_seal(&tx->arena, ring, tx->random, BINDING, *ret)
                   : str_format(&tx->arena, "%s%.*s", PLAIN.at,
                                STR_ARG(hex_text(&tx->arena, key, KEY_LEN))));
    return ERR_OK;
}
