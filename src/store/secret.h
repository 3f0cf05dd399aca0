// secret.h - members of a definition that are sealed at rest: the one place that seals and opens.
//
// A Shape says which members are secret (FIELD_SECRET; of a map, each member is one). What is
// stored for a secret is {"$sealed":…,"rotatedAt":…}, sealed with the master key and bound to
// kind/tenant/id/member, so that it is worth nothing anywhere else. What is shown is a mark,
// {"set":true,"rotatedAt":…}.
//
// On the way in the mark may be given back, and a secret that is left out stays; null removes it. A
// member of a map that is left out is gone, for the names in a map are no secret. The same secret
// given again is no change.
//
// A secret that is rotated with an overlap keeps its last value beside it until a moment that is
// stored with it: "previous". Opened, that stands beside the member, as
// "signingSecret/previous":{"value":…,"until":…}; whoever uses it looks at the time. It is
// erased soon after that moment (definition_forget), or when the secret is rotated once more.
//
// What counts no more is not kept: of a version that another has taken the place of, and of a
// definition that was deleted, the secrets are erased.
//
// A secret belongs to the place it was given for: where that moved, each must be given anew.
// Otherwise whoever may edit a channel could have its credentials sent to a host of their own.
#pragma once

#include "base/crypto.h"
#include "domain/field.h"

// SecretOwner is the definition whose secrets they are.
typedef struct SecretOwner {
    Str kind;
    int64_t tenant;
    Str id;
} SecretOwner;

// Sealer is what it takes to seal, and what there was before.
typedef struct Sealer {
    Arena *arena;
    const KeyRing *ring;
    Random *random;
    Instant now;
    SecretOwner owner;
    bool is_foreign;    // the ring is not this database's (store/seal.h): nothing may be sealed
    const Json *old;    // as it is stored so far; NULL
    bool has_moved;     // the old secrets were given for another place
    bool drops_unnamed; // a secret that is left out does not stay: of a patch, which was merged
    Span overlap;       // of a rotation: so long the last value stays good (FIELD_OVERLAPS)
} Sealer;

// secret_seal checks given, which lies at pointer in its document, by the shape and returns the
// JSON to be stored. It fails with the shape's invalid, and with ERR_CONFLICT where this node
// cannot seal.
Err secret_seal(const Sealer *sealer, const Shape *shape, const Json *given, Str pointer, Str *ret,
                Error *error) MUST_USE;

// secret_open returns what is stored with its secrets opened; all of it lies in the arena, which
// the caller wipes. One secret that cannot be opened leaves the whole unusable: ERR_CORRUPT or
// what the key ring says. stored may be NULL.
Err secret_open(Arena *arena, const KeyRing *ring, const SecretOwner *owner, const Json *stored,
                const Json **ret, Error *error) MUST_USE;

// secret_show writes what is stored as an object with marks for its secrets. The query of a URL may
// hold a token: it is shown to those who may edit alone. Where the shape is not known any more,
// nobody can tell what was secret: NULL shows nothing.
void secret_show(JsonOut *out, Arena *arena, const Shape *shape, const Json *stored, bool may_edit);

// secret_refer does likewise, with a reference to a variable of the environment for each secret,
// whose name begins with prefix: {"env":"PREFIX_PASSWORD"}. secret_reference writes one of them.
void secret_refer(JsonOut *out, Arena *arena, const Shape *shape, const Json *stored, Str prefix);
void secret_reference(JsonOut *out, Arena *arena, Str prefix, Str name);

// secret_mark writes the mark of one that is stored.
void secret_mark(JsonOut *out, const Json *stored);

// secret_erase returns a stored definition without its secrets, or without those alone whose time
// was over at a moment. Where nothing was to be erased it is the same. ret_next is when the next
// one's is; INSTANT_NONE.
typedef enum SecretErase { ERASE_ALL, ERASE_ENDED } SecretErase;
Str secret_erase(Arena *arena, Str stored, SecretErase what, Instant now, Instant *ret_next);
