// response.h - responses: what deliveries were answered with.
//
// A submit is one transaction: the delivery is completed, whatever it was about to do; the response
// is written; and an event of kind response-completed tells of it, whose id is the response's. That
// goes by the one door (accept.h) to the subscribers of the version that was asked, each a delivery
// of its own, and to whoever listens. All of it is committed, or nothing; of two submits for one
// delivery one finds it completed.
//
// Ahead of the transaction, with a reader's connection:
//
//     TRY(invitation_find(db, arena, versions, surveys, public_id, &invitation, error));
//     TRY(submit_make(db, arena, versions, &invitation, &given, &submit, error));
//     TRY(submit_decide(submit, registry, error));
//
// and inside it submits_write(), for many at once. submit_drop() gives back what is held.
#pragma once

#include "store/accept.h"
#include "store/invitation.h"

typedef struct SubmitGiven {
    Str answers;  // clean (domain/answer.h): a JSON object
    Str agent_id; // who asked, on the spot; none
    Instant at;
    Random *random;
} SubmitGiven;

typedef struct Submit {
    const Invitation *invitation; // the caller's
    SubmitGiven given;
    Accept accept;
    AcceptItem item;
    Trigger *rules;       // the subscribers, ready to be named
    const Trigger **held; // what they are copies of
    size_t rule_count;

    // Results of submits_write(), in each try anew.
    const struct Submit *first; // of the same delivery, which goes before it; NULL: it is the first
    Err err; // ERR_OK; ERR_CONFLICT, ERR_GONE, ERR_NOT_FOUND, …: nothing was done
    Error error;
} Submit;

Err submit_make(Db *db, Arena *arena, Versions *versions, const Invitation *invitation,
                const SubmitGiven *given, Submit **ret, Error *error) MUST_USE;
Err submit_decide(Submit *submit, const Registry *registry, Error *error) MUST_USE;
void submit_drop(const Submit *submit);

Err submits_write(Tx *tx, Submit *const *submits, size_t count, Error *error) MUST_USE;

// submit_response is the id of the response that it makes.
static inline Uuid submit_response(const Submit *submit)
{
    return submit->item.event.id;
}

typedef struct Response {
    int64_t tenant;
    Uuid id, delivery;
    Str survey;
    int64_t version, rule;
    Instant completed_at;
    Str locale, agent_id; // none
    Str answers;          // a JSON object

    Str public_id; // of the delivery; where it is read
} Response;

// response_get reads one: ERR_NOT_FOUND. response_page lists those of a survey, newest first.
Err response_get(Db *db, Arena *arena, int64_t tenant, Uuid id, Response *ret,
                 Error *error) MUST_USE;
Err response_page(Db *db, Arena *arena, int64_t tenant, Str survey, const Walk *walk,
                  Response **ret, Seen *ret_seen, Error *error) MUST_USE;

extern const Statement *const response_statements[]; // ends with NULL
