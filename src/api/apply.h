// apply.h - many definitions in one transaction, as files say them (docs/as-code.md).
//
// POST /v1/apply takes definitions of any kind, each with its kind and the file that it is from,
// and makes what is stored say the same: what is not there is made, what differs is replaced, what
// says the same is left alone, and what the set had before and has no longer is deleted where that
// is asked for (prune). All of it, or nothing: a refusal names the definition and the place in it.
// Each is saved by the same steps as by its own routes (noun.h), by whoever may use these.
//
// A dry run does all that and is then undone (RouteRun.is_whole), so that what it tells is what
// would happen. The plan that it tells has a name; who applies may say which plan was agreed to,
// and is refused where it has become another.
//
// "enabled" is the operators' as much as the author's: what a file does not say stays as it is.
//
// GET /v1/definitions shows what is stored as apply takes it, with references for secrets.
#pragma once

#include "api/api.h"

enum { APPLY_MAX = 10000 }; // definitions at once; as many are deleted at most

extern const Shape apply_body_shape;
extern const Shape apply_shape;
extern const Shape exported_shape;
extern const Param export_params[];

// apply_may_write says whether the call's key may write definitions of a kind by their own routes.
bool apply_may_write(const Call *call, const DefinitionKind *kind);

Err apply_read(Call *call, Error *error);
Err apply_write(Call *call, Tx *tx, Error *error);
Err export_list(Call *call, Db *db, Error *error);
