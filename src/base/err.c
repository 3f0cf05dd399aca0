#include "base/err.h"

#include <stdarg.h>

static const struct {
    int http;
    int exit;
    const char *code;
    const char *title;
} rows[] = {
#define ERR_ROW(name, http, exit, code, title) [ERR_##name] = { http, exit, code, title },
    ERR_TABLE(ERR_ROW)
#undef ERR_ROW
};

// format_detail prints into text and returns what fits.
static Str format_detail(char text[ERROR_DETAIL_MAX], const char *format, va_list args)
    PRINTF(2, 0);
static Str format_detail(char text[ERROR_DETAIL_MAX], const char *format, va_list args)
{
    int wanted = vsnprintf(text, ERROR_DETAIL_MAX, format, args);
    assert(wanted >= 0);
    size_t len = (size_t) wanted;
    if (len >= ERROR_DETAIL_MAX) {
        // The last character may be cut in two, which would make the text unfit for JSON.
        len = ERROR_DETAIL_MAX - 1;
        for (int i = 0; i < 3 && !str_is_utf8((Str){ text, len }); i++)
            len--;
    }
    return (Str){ text, len };
}

Err fail(Error *error, Err err, const char *format, ...)
{
    assert(err != ERR_OK);
    if (error) {
        // Not straight into the detail, because the old one may be among the arguments.
        char text[ERROR_DETAIL_MAX];
        va_list args;
        va_start(args, format);
        Str detail = format_detail(text, format, args);
        va_end(args);
        memcpy(error->detail, detail.at, detail.len);
        error->detail[detail.len] = '\0';
        error->err = err;
    }
    return err;
}

void error_add(Error *error, Str path, const char *code, const char *format, ...)
{
    assert(error);
    size_t index = error->count++;
    if (index >= ERROR_PROBLEMS_MAX || !error->arena)
        return;
    char text[ERROR_DETAIL_MAX];
    va_list args;
    va_start(args, format);
    Str message = format_detail(text, format, args);
    va_end(args);
    error->problems[index] = (Problem){
        .path = str_dup(error->arena, path),
        .code = code,
        .message = str_dup(error->arena, message),
    };
}

Err error_close(Error *error, Err err)
{
    assert(error);
    if (error->count == 0)
        return ERR_OK;
    if (error->count > 1)
        return fail(error, err, "%zu problems", error->count);
    if (!error->arena)
        return fail(error, err, "1 problem");
    return fail(error, err, "%.*s", STR_ARG(error->problems[0].message));
}

int err_http(Err err)
{
    return rows[err].http;
}

int err_exit(Err err)
{
    return rows[err].exit;
}

const char *err_code(Err err)
{
    return rows[err].code;
}

const char *err_title(Err err)
{
    return rows[err].title;
}

bool err_from_code(Str code, Err *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_eq(code, str_from(rows[i].code))) {
            *ret = (Err) i;
            return true;
        }
    }
    return false;
}
