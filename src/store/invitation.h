// invitation.h - an invitation to answer: the delivery behind the public id in a link, and the
// survey as it was when that was made.
//
// Only what a survey's trigger made asks anything. Whether it was never there, was purged, or asks
// nothing is one and the same answer, which tells a stranger nothing.
#pragma once

#include "store/delivery.h"
#include "store/surveys.h"

typedef struct Invitation {
    DeliveryView view;
    const SurveyVersion *version; // held until invitation_drop()
} Invitation;

// invitation_find finds it, of whichever tenant: ERR_NOT_FOUND.
Err invitation_find(Db *db, Arena *arena, Versions *versions, Surveys *surveys, Str public_id,
                    Invitation *ret, Error *error) MUST_USE;
void invitation_drop(const Invitation *invitation);

// invitation_may says whether an answer is still taken where the delivery stands: ERR_CONFLICT
// where it has one already, ERR_GONE where it expired or was called off.
Err invitation_may(DeliveryState state, Error *error) MUST_USE;
