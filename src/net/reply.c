#include "net/reply.h"

#include "base/json.h"

enum { PROBLEM_BYTES_MAX = 64 * 1024 };

static Str problem_json(Arena *arena, const Error *error, Uuid request_id)
{
    char id[UUID_TEXT_LEN + 1];
    const char *code = error->code ? error->code : err_code(error->err);
    Buf buf = buf_new(arena, PROBLEM_BYTES_MAX);
    JsonOut out = json_out(&buf);
    json_open(&out, '{');
    json_put_str(&out, S("type"), str_format(arena, "/docs/errors#%s", code));
    json_put_str(&out, S("title"), str_from(err_title(error->err)));
    json_put_i64(&out, S("status"), err_http(error->err));
    json_put_str(&out, S("code"), str_from(code));
    json_put_str(&out, S("detail"), str_from(error->detail));
    size_t count = error->arena ? error->count : 0;
    if (count > 0) {
        json_key(&out, S("errors"));
        json_open(&out, '[');
        for (size_t i = 0; i < count && i < ERROR_PROBLEMS_MAX; i++) {
            json_open(&out, '{');
            json_put_str(&out, S("path"), error->problems[i].path);
            json_put_str(&out, S("code"), str_from(error->problems[i].code));
            json_put_str(&out, S("message"), error->problems[i].message);
            json_close(&out, '}');
        }
        json_close(&out, ']');
    }
    json_put_str(&out, S("requestId"), uuid_text(request_id, id));
    json_close(&out, '}');
    return buf_str(&buf);
}

// retry_after says when to come again, in seconds; NULL: the status does not ask for it.
static const char *retry_after(int status)
{
    if (status == 429 || status == 503)
        return "2";
    return status == 507 ? "60" : NULL; // a disk is not emptied in a moment
}

Reply problem_reply(Arena *arena, const Error *error, Uuid request_id)
{
    Reply reply = {
        .status = err_http(error->err),
        .type = S("application/problem+json"),
        .body = problem_json(arena, error, request_id),
    };
    if (error->err == ERR_NO_KEY) // a webhook that is not verified is not asked for a key
        reply.headers[reply.header_count++] = (Header){ S("WWW-Authenticate"), S("Bearer") };
    const char *seconds = retry_after(reply.status);
    if (seconds)
        reply.headers[reply.header_count++] = (Header){ S("Retry-After"), str_from(seconds) };
    return reply;
}
