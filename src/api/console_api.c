#include "api/console.h"

#include "api/handlers.h"
#include "base/gzip.h"

// The console is one page for all its paths, with assets whose names change with their bytes. It
// holds no data and needs no key: what it shows, it asks for by the same API as everybody.

#define CONSOLE_POLICY                                                                             \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "              \
    "connect-src 'self'; font-src 'self'; frame-src 'self'; form-action 'self'; "                  \
    "frame-ancestors 'none'; base-uri 'none'"
#define CACHE_ASK "no-cache" // may be kept, but is asked for
#define CACHE_FOREVER "public, max-age=31536000, immutable"

static const ConsoleFile *find(Str path)
{
    size_t low = 0, high = console_file_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_cmp(path, str_from(console_files[middle].path));
        if (order == 0)
            return &console_files[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

// is_refused: a weight of zero may have up to three digits behind its point.
static bool is_refused(Str weight)
{
    if (!str_starts(weight, S("q=0")))
        return false;
    for (size_t i = 2; i < weight.len; i++)
        if (weight.at[i] != '0' && weight.at[i] != '.')
            return false;
    return true;
}

// takes_gzip: what is refused by a weight of zero is not taken.
static bool takes_gzip(const Call *call)
{
    Str accepted = exchange_header(call->exchange, S("Accept-Encoding"));
    while (accepted.len > 0) {
        Str one = str_trim(str_cut(&accepted, ','));
        Str name = str_trim(str_cut(&one, ';'));
        Str weight = str_trim(one);
        if (str_eq(name, S("gzip")))
            return !is_refused(weight);
    }
    return false;
}

static void put_headers(Call *call, const ConsoleFile *file, const char *cache)
{
    call_header(call, S("ETag"), str_from(file->etag));
    call_header(call, S("Cache-Control"), str_from(cache));
    call_header(call, S("Vary"), S("Accept-Encoding"));
    call_header(call, S("Content-Security-Policy"), S(CONSOLE_POLICY));
    call_header(call, S("Referrer-Policy"), S("same-origin"));
    call_header(call, S("Cross-Origin-Opener-Policy"), S("same-origin"));
}

static void tell(Call *call, const ConsoleFile *file, const char *cache)
{
    Error error = { .arena = call->arena };
    if (!file) {
        call_fail(call, fail(&error, ERR_NOT_FOUND, "there is no such page"), &error);
        return;
    }
    Str known = exchange_header(call->exchange, S("If-None-Match"));
    if (known.len > 0 && str_contains(known, str_from(file->etag))) {
        call->reply = (Reply){ .status = 304 };
        put_headers(call, file, cache);
        call_reply(call);
        return;
    }
    call->reply = (Reply){ .status = 200, .type = str_from(file->type) };
    put_headers(call, file, cache);
    Str packed = { file->packed, file->packed_size };
    if (takes_gzip(call)) {
        call_header(call, S("Content-Encoding"), S("gzip"));
        call->reply.body = packed;
    } else {
        Err err = gzip_open(call->arena, packed, file->size, &call->reply.body, &error);
        assert(err == ERR_OK); // the build packed it
        (void) err;
    }
    call_reply(call);
}

void console_view(Call *call)
{
    tell(call, find(S("index.html")), CACHE_ASK);
}

void console_asset(Call *call)
{
    // The page itself is no asset: its name stays when its bytes change.
    bool is_page = str_eq(call->params[0], S("index.html"));
    tell(call, is_page ? NULL : find(call->params[0]), CACHE_FOREVER);
}

void console_docs(Call *call)
{
    tell(call, find(S("docs/index.html")), CACHE_ASK);
}

void console_doc(Call *call)
{
    Str name = call->params[0];
    const ConsoleFile *file = find(STR_JOIN(call->arena, S("docs/"), name, S(".html")));
    tell(call, file ? file : find(STR_JOIN(call->arena, S("docs/"), name)), CACHE_ASK);
}
