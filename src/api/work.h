// work.h - what workers ask and tell: bodies and answers of /v1/work, as rows (shapes.h).
//
// Claims are claim_api.c's, reports work_api.c's.
#pragma once

#include "api/handlers.h"

enum {
    WORK_MAX = 1000,          // deliveries of one claim …
    WORK_BYTES_MAX = 8 << 20, // … and of their payloads: the rest waits for the next one
    WORK_WORKER_MAX = 200,    // bytes of a worker's name
};
#define WORK_WAIT_MAX SPAN_MINUTE

typedef struct ClaimBody {
    Str handler;
    int max;
    Span wait, lease; // lease 0: the channel's
    Str worker;       // none
} ClaimBody;
extern const Shape claim_body_shape;
extern const Shape claim_shape;

// WorkBody is a report; each kind of report takes some of it.
typedef struct WorkBody {
    Uuid id; // of many
    int fence;
    Str message;
    Span lease;         // 0: the channel's
    const Json *result; // NULL: none
    bool is_permanent;
} WorkBody;
extern const Shape work_heartbeat_shape;
extern const Shape work_progress_shape;
extern const Shape work_done_shape;
extern const Shape work_fail_shape;
extern const Shape work_renewed_shape;
extern const Shape work_told_shape;

typedef struct WorkBodies {
    WorkBody *items;
    size_t count;
} WorkBodies;
extern const Shape work_done_many_shape;
extern const Shape work_told_many_shape;
