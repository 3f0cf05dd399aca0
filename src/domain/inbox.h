// inbox.h - what waits in the inbox: kinds of rows, where they stand, and why one failed. Tables.
//
// The inbox holds raw input that is to become something: what an application emitted in SQL, a row
// of its own table, what a webhook brought (a hook). It is not a second queue: nothing is sent from
// it. A row is pending until the drain (engine/drain.c) has made of it what its kind says, in the
// order of its source; then it is published, or failed with a reason and waits for a person.
//
// Kinds, statuses and reasons are stored as their place in the table: rows are only ever added at
// the end.
#pragma once

#include "base/base.h"
#include "base/str.h"

// clang-format off
#define INBOX_OUTBOX_TABLE(X)                                                           \
    /* name           text              what becomes of it                           */ \
    X(EVENT,          "event",          "an event")                                     \
    X(CANCEL,         "cancel",         "what is unsent of its entity is called off")   \
    X(NOTIFY,         "notify",         "a notification to a list")                     \
    X(DEFER,          "defer",          "a run of a job that is put off")               \
    X(DEFER_CANCEL,   "defer-cancel",   "the job's runs of its entity are called off")

#define INBOX_KIND_TABLE(X)                                                             \
    INBOX_OUTBOX_TABLE(X)                                                               \
    X(HOOK,           "hook",           "the events that its provider reads from it")

#define INBOX_STATUS_TABLE(X)  \
    /* name       shown as  */ \
    X(PENDING,   "Pending")    \
    X(PUBLISHED, "Published")  \
    X(FAILED,    "Failed")

#define INBOX_OUTBOX_REASON_TABLE(X)                                                         \
    /* name      code                    what it means                                    */ \
    X(NONE,      "none",                 "nothing is wrong")                                 \
    X(UNUSABLE,  "unusable",             "it cannot become an event")                        \
    X(UNTAKEN,   "template not found",   "no rule took the event")                           \
    X(UNWRITTEN, "cannot be written",    "the store refused what it makes, three times")     \
    X(UNLISTED,  "list not found",       "the notification is for a list that is not there") \
    X(FATAL,     "fatal",                "Peal died while it was handled, three times")

// Of hooks; FATAL is theirs as well. Those with NO_ are no failures: they say why there is no run.
// BEING_READ is of one that is pending: until next_at it is a node's that reads it, and what its
// source brought behind it waits.
#define INBOX_HOOK_REASON_TABLE(X)                                                           \
    X(UNPARSABLE,    "unparsable",    "it is not what its provider sends")                   \
    X(TOO_LARGE,     "too-large",     "it opens to too much, or an event of it is too long") \
    X(REFUSED,       "unwritten",     "the store refused what it makes, three times")        \
    X(NO_TRIGGER,    "no-trigger",    "no trigger took its events")                          \
    X(NO_CONNECTION, "no-connection", "it is of an account that no integration knows")       \
    X(NO_EVENT,      "no-event",      "it tells of nothing that triggers ask for")         \
    X(TIMEOUT,       "timeout",       "its parser came to no end in time, three times")      \
    X(BEING_READ,    "being-read",    "it is long, and is being read")

#define INBOX_REASON_TABLE(X)    \
    INBOX_OUTBOX_REASON_TABLE(X) \
    INBOX_HOOK_REASON_TABLE(X)

// Where a hook stands, as it is shown: one that was part of a failure is processed, try by try.
#define INBOX_SHOWN_TABLE(X)      \
    /* name       shown as     */ \
    X(PENDING,    "pending")      \
    X(PROCESSING, "processing")   \
    X(COMPLETED,  "completed")    \
    X(FAILED,     "failed")
// clang-format on

typedef enum InboxKind {
#define INBOX_KIND_ENUM(name, text, meaning) INBOX_##name,
    INBOX_KIND_TABLE(INBOX_KIND_ENUM)
#undef INBOX_KIND_ENUM
        INBOX_KINDS
} InboxKind;

typedef enum InboxStatus {
#define INBOX_STATUS_ENUM(name, text) INBOX_##name,
    INBOX_STATUS_TABLE(INBOX_STATUS_ENUM)
#undef INBOX_STATUS_ENUM
} InboxStatus;

typedef enum InboxReason {
#define INBOX_REASON_ENUM(name, code, meaning) INBOX_REASON_##name,
    INBOX_REASON_TABLE(INBOX_REASON_ENUM)
#undef INBOX_REASON_ENUM
} InboxReason;

typedef enum InboxShown {
#define INBOX_SHOWN_ENUM(name, text) INBOX_SHOWN_##name,
    INBOX_SHOWN_TABLE(INBOX_SHOWN_ENUM)
#undef INBOX_SHOWN_ENUM
} InboxShown;

// INBOX_TRIES is how often a row is tried that the store refuses.
enum { INBOX_TRIES = 3 };

#define INBOX_SOURCE_SQL S("sql") // of what was emitted by the functions in schema peal

// INBOX_ELSEWHERE is said of a hook whose events are not to be seen where its row is; who they are
// of is told only to those who may see all tenants.
#define INBOX_ELSEWHERE S("its events are of another tenant's integration")

// The words for what is stored. A newer Peal, or who damaged a row, may have left what is in no
// table: a kind without a word (NULL); it is failed, and unusable.
extern const char *const inbox_status_words[]; // ends with NULL
const char *inbox_kind_text(InboxKind kind);
const char *inbox_status_text(InboxStatus status);
const char *inbox_reason_code(InboxReason reason);

// inbox_shown is where a hook stands that has so many attempts behind it.
extern const char *const inbox_shown_words[]; // ends with NULL
InboxShown inbox_shown(InboxStatus status, int attempts);
