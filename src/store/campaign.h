// campaign.h - a file whose rows become events for one trigger: the row that says how far it came,
// the pieces that are still to be read, and the rows that became nothing.
//
// A file comes in pieces, a transaction each, and nothing runs before the last (campaign_start): an
// upload that breaks off is stopped after a while, and its pieces dropped. Then the engine carries
// it out in slices (engine/campaign.c). A slice's events, counts, failures and the place behind it
// are one transaction, under the lock of the campaign's row: whatever dies goes on from there, and
// no row is made twice. Who had fewest slices is next, so that a file of a million rows does not
// hold a file of ten up. What was read is dropped as it goes.
//
//     campaign_add ─▶ campaign_append … ─▶ campaign_start ─▶ campaign_take, campaign_text,
//                                                            campaign_advance …
#pragma once

#include "store/tx.h"
#include "store/walk.h"

enum {
    CAMPAIGN_PIECE_BYTES = 256 * 1024,      // a piece is handed on when it has as many …
    CAMPAIGN_PIECE_MAX = 512 * 1024,        // … and never has more
    CAMPAIGN_FILE_MAX = 1024 * 1024 * 1024, // bytes of a file
    CAMPAIGN_FAILURES_MAX = 10000,          // that are kept of one; all are counted
    CAMPAIGN_SLICE = 2000,                  // rows of a transaction
    CAMPAIGN_LOOK_PIECES = 2,               // read at once: a row lies in two at most
    CAMPAIGN_DROP_PIECES = 4,               // dropped at once
};
#define CAMPAIGN_UPLOAD_PATIENCE SPAN_HOUR // between two pieces

typedef enum CampaignState {
    CAMPAIGN_UPLOADING,
    CAMPAIGN_RUNNING,
    CAMPAIGN_DONE,
    CAMPAIGN_STOPPED,
} CampaignState;

typedef enum CampaignWork { CAMPAIGN_IDLE, CAMPAIGN_MAKES, CAMPAIGN_DROPS } CampaignWork;

typedef struct Campaign {
    int64_t tenant;
    Uuid id;
    Str trigger; // its id
    Str list;    // whose members its rows are; none: they came as a file
    bool is_dry; // nothing is made
    Uuid actor;  // who asked for it
    Str layout;  // JSON (domain/campaign.h)
    CampaignState state;
    CampaignWork work;
    int slices;
    int64_t bytes;    // of its file, so far
    int64_t position; // how many of them were read
    int64_t line;     // there
    int64_t total;    // rows: counted roughly while it comes in, exactly when it is done
    int64_t created, skipped, failed;
    Instant created_at, touched_at, finished_at;
} Campaign;

typedef struct CampaignFailure {
    int64_t tenant;
    Uuid campaign;
    int64_t line;
    Str error;
} CampaignFailure;

const char *campaign_state_text(CampaignState state);

// campaign_done is how many rows were read.
int64_t campaign_done(const Campaign *campaign);

// campaign_add adds one that is being uploaded. campaign_append adds a piece behind its bytes,
// which it moves on: ERR_CONFLICT where it was stopped meanwhile, ERR_TOO_LARGE past
// CAMPAIGN_FILE_MAX. The piece must live until the sync. campaign_start lets it run, beside those
// that do: slices that they had before it came are no reason to let them wait.
void campaign_add(Tx *tx, const Campaign *campaign);
Err campaign_append(Tx *tx, Campaign *campaign, Str piece, Error *error) MUST_USE;
Err campaign_start(Tx *tx, const Campaign *campaign, Error *error) MUST_USE;

// campaign_stop stops one; what it made stays. ERR_CONFLICT: it is over.
Err campaign_stop(Tx *tx, int64_t tenant, Uuid id, Error *error) MUST_USE;

Err campaign_row(Db *db, Arena *arena, int64_t tenant, Uuid id, Campaign *ret,
                 Error *error) MUST_USE;

// campaign_page lists campaigns, newest first; campaign_failures the failures of one by their
// lines.
Err campaign_page(Db *db, Arena *arena, int64_t tenant, const Walk *walk, Campaign **ret,
                  Seen *ret_seen, Error *error) MUST_USE;
Err campaign_failures(Db *db, Arena *arena, int64_t tenant, Uuid id, const Walk *walk,
                      CampaignFailure **ret, Seen *ret_seen, Error *error) MUST_USE;

// campaign_take locks the campaign that had fewest slices and has work to do, after uploads that
// broke off were stopped; false: there is none.
Err campaign_take(Tx *tx, Campaign *ret, bool *ret_found, Error *error) MUST_USE;

// campaign_text reads on from its position: CAMPAIGN_LOOK_PIECES at most. Pieces before that are
// dropped. ret_last: the file ends with it.
Err campaign_text(Tx *tx, const Campaign *campaign, Str *ret, bool *ret_last,
                  Error *error) MUST_USE;

// campaign_drop drops a few pieces of one that is over; it is idle when none are left.
Err campaign_drop(Tx *tx, Campaign *campaign, Error *error) MUST_USE;

// campaign_advance writes how far it came, and what failed on the way.
void campaign_advance(Tx *tx, const Campaign *campaign, const CampaignFailure *failed,
                      size_t count);

extern const Statement *const campaign_statements[]; // ends with NULL
