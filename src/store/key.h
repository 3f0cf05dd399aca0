// key.h - API keys as rows. A key is 256 random bits; only the SHA-256 of its text is kept, so that
// it can be shown but once.
//
// A key that is removed leaves its row, marked as revoked: a cache that asks what changed since it
// last looked learns of it, and the journal's facts name their actors by it.
//
// The system right comes from key_bootstrap() alone. The last key that has it cannot be removed.
#pragma once

#include "store/tx.h"
#include "store/walk.h"

enum { KEY_NAME_MAX = 100, KEY_GIVEN_MIN = 16, KEY_HANDLERS_MAX = 50 };

typedef struct Key {
    Uuid id;
    int64_t tenant;
    Role role;
    bool is_system;
    Str name; // empty: none
    Instant created_at, expires_at;
    int64_t site;  // whose it is, where the role is that (store/site.h); 0
    Str site_name; // none
    Str handlers;  // that it is limited to, by commas, where the role is worker; none: all
    bool is_session;
    Uuid
        session_of; // the key whose session it is (store/session.h), and whose role and name it has
} Key;

// key_text_new makes a prefix and 43 letters and digits.
#define KEY_PREFIX "pk_"
#define SESSION_PREFIX "ps_"
enum { KEY_TEXT_LEN = 46 };
Str key_text_new(Arena *arena, Random *random, const char prefix[4]);

// key_add stores a key with this text; it fills id and created_at.
Err key_add(Tx *tx, Key *key, Str text, Error *error) MUST_USE;

// key_page lists a tenant's keys, and the sessions that are open, by id.
Err key_page(Db *db, Arena *arena, int64_t tenant, Instant now, const Walk *walk, Key **ret,
             Seen *ret_seen, Error *error) MUST_USE;

// key_find returns a key or a session of the tenant; ERR_NOT_FOUND for one that is revoked, too.
Err key_find(Db *db, Arena *arena, int64_t tenant, const Uuid *id, Instant now, Key *ret,
             Error *error) MUST_USE;

// key_change writes role, site, handlers, name and expiry of a key that was found under
// definition_lock().
Err key_change(Tx *tx, const Key *key, Error *error) MUST_USE;

// key_names tells the names of keys of the tenant, revoked ones too; a session has its key's. None
// for an id that is no key's, and for a key without a name. ret has room for count.
Err key_names(Db *db, Arena *arena, int64_t tenant, const Uuid *ids, size_t count, Str *ret,
              Error *error) MUST_USE;

// key_tenant tells whose a key is, whichever tenant's: for the system right alone.
Err key_tenant(Db *db, Arena *arena, const Uuid *id, int64_t *ret, Error *error) MUST_USE;

// key_remove ends a key's sessions with it, or the one session that id names. It fails with
// ERR_NOT_FOUND, and with ERR_CONFLICT for the last key of the system.
Err key_remove(Tx *tx, int64_t tenant, const Uuid *id, Error *error) MUST_USE;

// KeyStart is what a start did to the keys.
typedef struct KeyStart {
    Str made;         // the text of a key that was made, to be shown this once; none
    int64_t replaced; // keys given at earlier starts that the one given now took the place of
} KeyStart;

// key_bootstrap makes what every installation has and lacks at its first start: the tenant
// "default" as number 1, its channel memory:default, and a key with the system right. Where given
// is a text, that key has the right afterwards, and a key that was given at an earlier start is
// removed: whoever changes it wants the old one to be worth nothing. Where it is none and no key
// has the right, one is made. It may run at every start: where nothing is missing it changes
// nothing. The text lies in the arena.
Err key_bootstrap(Tx *tx, Arena *arena, Str given, KeyStart *ret, Error *error) MUST_USE;

extern const Statement *const key_statements[]; // ends with NULL
