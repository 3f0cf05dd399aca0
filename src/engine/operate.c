#include "engine/state.h"

#include "store/operation.h"

// Operations act on all deliveries that a filter names (store/operation.h). Each round carries the
// least advanced one on by a slice, so that no operation holds the others, or the sends, up. What
// it makes due is told by its moves, as of any other commit.

Err operate_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    (void) options;
    return operation_step(tx, OPERATION_SLICE, &ret->has_more, error);
}
