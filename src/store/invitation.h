// invitation.h - an invitation to answer: the delivery behind the public id in a link, and the
// survey as it was when that was made.
//
// Only what a survey's trigger made asks anything. Whether it was never there, was purged, or asks
// nothing is one and the same answer, which tells a stranger nothing.
#pragma once

#include "store/delivery.h"
#include "store/surveys.h"

typedef struct Invitation {
    Awaited awaited;
    DeliveryView view;            // of who answers; whoever looks has none
    const SurveyVersion *version; // held until invitation_drop()
} Invitation;

// invitation_find finds it for who answers, invitation_look for who looks at it, of whichever
// tenant: ERR_NOT_FOUND.
Err invitation_find(Db *db, Arena *arena, Versions *versions, Surveys *surveys, Str public_id,
                    Invitation *ret, Error *error) MUST_USE;
Err invitation_look(Db *db, Arena *arena, Versions *versions, Surveys *surveys, Str public_id,
                    Invitation *ret, Error *error) MUST_USE;
void invitation_drop(const Invitation *invitation);

// invitation_may says whether an answer is still taken where the delivery stands: ERR_CONFLICT
// where it has one already, ERR_GONE where it expired or was called off.
Err invitation_may(DeliveryState state, Error *error) MUST_USE;
