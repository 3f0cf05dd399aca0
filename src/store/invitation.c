#include "store/invitation.h"

// load holds the version of the survey that the delivery's rule asks for.
static Err load(Db *db, Versions *versions, Surveys *surveys, Invitation *invitation, Error *error)
{
    const Promise *promise = &invitation->awaited.promise;
    const Trigger *rule;
    TRY(versions_load(versions, db, promise->tenant, promise->rule, promise->version, &rule,
                      error));
    Err err = ERR_OK;
    if (rule && !rule->survey.at)
        err = fail(error, ERR_NOT_FOUND, "nothing awaits an answer under this id");
    if (rule && err == ERR_OK)
        err = surveys_load(surveys, db, promise->tenant, rule->survey, rule->survey_version,
                           &invitation->version, error);
    versions_drop(rule);
    if (err == ERR_OK && !invitation->version)
        err = fail(error, ERR_CORRUPT, "the survey that was asked cannot be read");
    return err;
}

Err invitation_find(Db *db, Arena *arena, Versions *versions, Surveys *surveys, Str public_id,
                    Invitation *ret, Error *error)
{
    Invitation invitation = { 0 };
    const DeliveryView *view = &invitation.view;
    TRY(delivery_view_awaited(db, arena, public_id, &invitation.view, error));
    invitation.awaited = (Awaited){ view->promise, view->state, view->opened_at };
    TRY(load(db, versions, surveys, &invitation, error));
    *ret = invitation;
    return ERR_OK;
}

Err invitation_look(Db *db, Arena *arena, Versions *versions, Surveys *surveys, Str public_id,
                    Invitation *ret, Error *error)
{
    Invitation invitation = { 0 };
    TRY(delivery_awaited(db, arena, public_id, &invitation.awaited, error));
    TRY(load(db, versions, surveys, &invitation, error));
    *ret = invitation;
    return ERR_OK;
}

void invitation_drop(const Invitation *invitation)
{
    surveys_drop(invitation->version);
}

Err invitation_may(DeliveryState state, Error *error)
{
    if (delivery_may(state, DELIVERY_ACTION_COMPLETE))
        return ERR_OK;
    if (state == DELIVERY_COMPLETED)
        return fail(error, ERR_CONFLICT, "it was answered already");
    return fail(error, ERR_GONE, "it is %s, and takes no answer any more",
                delivery_state_text(state));
}
