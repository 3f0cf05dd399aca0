// err.h - the closed list of what can go wrong, and the sentence that goes with one.
//
// A function that can fail in more than one way returns Err, and fills an Error when it is given
// one. The same row gives the HTTP status, the exit code, the code in problem+json and the title:
// docs/errors.md is printed from it. To add an error, add a row. A failed delivery is not an
// error: it is an Outcome (domain/delivery.h).
#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "base/str.h"

// clang-format off
#define ERR_TABLE(X)                                                                              \
    /* name               http exit code                   title                               */ \
    X(OK,                  200, 0, "ok",                   "Done")                                \
    X(MALFORMED,           400, 2, "malformed",            "The request could not be read")       \
    X(NO_KEY,              401, 4, "no-key",               "A valid key is needed")               \
    X(UNVERIFIED,          401, 4, "unverified",           "The webhook is not verified")         \
    X(FORBIDDEN,           403, 4, "forbidden",            "The key's role may not do this")      \
    X(CONSOLE_HEADER,      403, 4, "console-header-missing", "A session writes with the header Peal-Console: 1") \
    X(CROSS_SITE,          403, 4, "cross-site",           "A session is not used by another site") \
    X(DIRECT,              403, 4, "direct",               "Requests come through the proxy only") \
    X(NOT_FOUND,           404, 3, "not-found",            "There is no such thing")              \
    X(METHOD,              405, 2, "method-not-allowed",   "The path has no such method")         \
    X(TIMEOUT,             408, 6, "request-timeout",      "The request took too long to arrive") \
    X(CONFLICT,            409, 5, "conflict",             "The current state does not allow it") \
    X(EXISTS,              409, 5, "already-exists",       "The id is taken")                     \
    X(KEY_REUSED,          409, 5, "idempotency-key-reused", "The idempotency key came before with another request") \
    X(GONE,                410, 5, "gone",                 "It is over, and takes nothing any more") \
    X(STALE,               412, 5, "stale",                "It changed since it was read")        \
    X(TOO_LARGE,           413, 2, "too-large",            "The request is too large")            \
    X(MEDIA_TYPE,          415, 2, "media-type",           "The content type is not understood")  \
    X(INVALID,             422, 2, "invalid",              "The request is not valid")            \
    X(TRIGGER_INVALID,     422, 2, "trigger-invalid",      "The trigger is not valid")            \
    X(CHANNEL_INVALID,     422, 2, "channel-invalid",      "The channel is not valid")            \
    X(TEMPLATE_INVALID,    422, 2, "template-invalid",     "The template is not valid")           \
    X(EVENT_INVALID,       422, 2, "event-invalid",        "The event is not valid")              \
    X(LIST_INVALID,        422, 2, "list-invalid",         "The list is not valid")               \
    X(JOB_INVALID,         422, 2, "job-invalid",          "The job is not valid")                \
    X(AUTOMATION_INVALID,  422, 2, "automation-invalid",   "The automation is not valid")         \
    X(SURVEY_INVALID,      422, 2, "survey-invalid",       "The survey is not valid")             \
    X(ANSWERS_INVALID,     422, 2, "answers-invalid",      "The answers are not valid")           \
    X(TOO_MANY,            429, 6, "too-many-requests",    "Too many requests")                   \
    X(HEADERS_TOO_LARGE,   431, 2, "headers-too-large",    "The request's headers are too large") \
    X(INTERNAL,            500, 1, "internal",             "Peal failed")                         \
    X(CORRUPT,             500, 1, "corrupt",              "Stored data breaks a rule")           \
    X(SETUP,               500, 2, "bad-setup",            "Peal cannot work with this setup")    \
    X(UNSTORED,            500, 6, "not-stored",           "The webhook could not be stored; send it again") \
    X(UNAVAILABLE,         503, 6, "store-unavailable",    "The database is away")                \
    X(BUSY,                503, 6, "busy",                 "Too much is waiting; try again")      \
    X(STOPPING,            503, 6, "stopping",             "Peal is stopping")                    \
    X(DISK_FULL,           507, 6, "disk-full",            "The disk is full")
// clang-format on

typedef enum Err {
#define ERR_ENUM(name, http, exit, code, title) ERR_##name,
    ERR_TABLE(ERR_ENUM)
#undef ERR_ENUM
} Err;

// Problem is one thing wrong at one place of a document; path is a JSON Pointer.
typedef struct Problem {
    Str path;
    const char *code; // from a closed list of the checker's, such as "unknown-op"
    Str message;
} Problem;

enum { ERROR_PROBLEMS_MAX = 20, ERROR_DETAIL_MAX = 400 };

// Error carries the sentence and the problems. Problems are copied into the error's arena, so it
// must be set before a checker is called with the error; without an arena they are only counted.
typedef struct Error {
    Err err;
    const char *code; // that is told instead of err's; NULL
    char detail[ERROR_DETAIL_MAX];
    Arena *arena;
    Problem problems[ERROR_PROBLEMS_MAX];
    size_t count; // of problems met; may exceed what is kept
} Error;

// fail fills error, when there is one, and returns err.
Err fail(Error *error, Err err, const char *format, ...) PRINTF(3, 4);

// error_add notes a problem at path and goes on; error_close turns notes into err, or ERR_OK.
void error_add(Error *error, Str path, const char *code, const char *format, ...) PRINTF(4, 5);
Err error_close(Error *error, Err err) MUST_USE;

int err_http(Err err);
int err_exit(Err err);
const char *err_code(Err err);
const char *err_title(Err err);
bool err_from_code(Str code, Err *ret);

#define TRY(expr)                                                                                  \
    do {                                                                                           \
        Err try_ = (expr);                                                                         \
        if (try_ != ERR_OK)                                                                        \
            return try_;                                                                           \
    } while (0)
