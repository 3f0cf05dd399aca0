// reply.h - an answer of the server's: its status, its headers, its body.
#pragma once

#include "base/err.h"
#include "base/id.h"
#include "net/header.h"

enum { REPLY_HEADERS_MAX = 8 };

typedef struct Reply {
    int status;
    Str type; // content type; none when there is no body
    Str body;
    Header headers[REPLY_HEADERS_MAX];
    size_t header_count;
} Reply;

// problem_reply makes the error an answer, as application/problem+json, with the headers that its
// status asks for.
Reply problem_reply(Arena *arena, const Error *error, Uuid request_id);
