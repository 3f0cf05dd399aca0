#include "api/param.h"

#include "api/api.h"
#include "base/time.h"
#include "domain/members.h"

size_t param_count(const Param *params)
{
    size_t count = 0;
    while (params && params[count].name)
        count++;
    return count;
}

void param_tables(const Route *route, const Param *ret[PARAM_TABLES])
{
    ret[0] = route->params;
    ret[1] = route->is_paged ? page_params : NULL;
    ret[2] = route_is_across(route) ? across_params : NULL;
}

static const Param *row_of(const Route *route, size_t row)
{
    const Param *tables[PARAM_TABLES];
    param_tables(route, tables);
    for (size_t i = 0; i < PARAM_TABLES; i++) {
        size_t count = param_count(tables[i]);
        if (row < count)
            return &tables[i][row];
        row -= count;
    }
    return NULL;
}

static size_t row_find(const Route *route, Str name)
{
    size_t row = 0;
    for (const Param *param; (param = row_of(route, row)) != NULL; row++)
        if (str_eq(name, str_from(param->name)))
            break;
    return row;
}

static size_t names_of(const Route *route, const char *ret[PARAMS_MAX])
{
    size_t count = 0;
    for (const Param *param; (param = row_of(route, count)) != NULL; count++) {
        assert(count < PARAMS_MAX);
        ret[count] = param->name;
    }
    return count;
}

static Str pointer_of(const Call *call, Str name)
{
    return str_format(call->arena, "/%.*s", STR_ARG(members_shown(name)));
}

static void refuse_unknown(const Call *call, Str name, Error *error)
{
    const Route *route = call->route;
    const char *names[PARAMS_MAX];
    size_t count = names_of(route, names);
    const char *near = str_nearest(name, names, count);
    Buf hint = buf_new(call->arena, 1000);
    if (near)
        buf_add_format(&hint, "did you mean \"%s\"?", near);
    else if (count == 0)
        buf_add_format(&hint, "%s %s takes no query parameters", route->method, route->path);
    for (size_t i = 0; i < count && !near; i++)
        buf_add_format(&hint, "%s %s", i ? "" : "use", names[i]);
    error_add(error, pointer_of(call, name), "unknown-parameter",
              "\"%.*s\" is not known here; %.*s", STR_ARG(members_shown(name)),
              STR_ARG(buf_str(&hint)));
}

static bool find_word(const Param *param, Str text, size_t *ret)
{
    for (size_t i = 0; param->words[i]; i++) {
        if (str_eq(text, str_from(param->words[i]))) {
            *ret = i;
            return true;
        }
    }
    return false;
}

static bool read_value(const Param *param, Str text, Given *ret)
{
    switch (param->kind) {
    case PARAM_TEXT:
        ret->text = text;
        return (int64_t) text.len <= param->max && str_is_utf8(text);
    case PARAM_WORD:
        return find_word(param, text, &ret->word);
    case PARAM_BOOL:
        ret->flag = str_eq(text, S("true"));
        return ret->flag || str_eq(text, S("false"));
    case PARAM_INT:
        return str_to_i64(text, param->min, param->max, &ret->number);
    case PARAM_TIME:
        return time_parse(text, &ret->at);
    case PARAM_ID:
        return uuid_parse(text, &ret->id);
    }
    return false;
}

static Str words_text(const Call *call, const Param *param)
{
    Buf text = buf_new(call->arena, 1000);
    for (size_t i = 0; param->words[i]; i++)
        buf_add_format(&text, " %s", param->words[i]);
    return buf_str(&text);
}

static void refuse_value(const Call *call, const Param *param, Error *error)
{
    Str pointer = pointer_of(call, str_from(param->name));
    switch (param->kind) {
    case PARAM_TEXT:
        error_add(error, pointer, "bad-value", "must be a text of up to %lld bytes",
                  (long long) param->max);
        return;
    case PARAM_WORD:
        error_add(error, pointer, "bad-value", "must be one of%.*s",
                  STR_ARG(words_text(call, param)));
        return;
    case PARAM_BOOL:
        error_add(error, pointer, "bad-value", "must be true or false");
        return;
    case PARAM_INT:
        error_add(error, pointer, "bad-value", "must be a whole number from %lld to %lld",
                  (long long) param->min, (long long) param->max);
        return;
    case PARAM_TIME:
        error_add(error, pointer, "bad-time", "must be a time such as 2026-05-14T05:12:34Z");
        return;
    case PARAM_ID:
        error_add(error, pointer, "bad-value", "must be an id");
        return;
    }
}

static void take(Call *call, size_t row, Str value, Error *error)
{
    const Param *param = row_of(call->route, row);
    Given *given = &call->given[row];
    if (given->is_given)
        error_add(error, pointer_of(call, str_from(param->name)), "bad-value",
                  "stands more than once");
    else if (!read_value(param, value, given))
        refuse_value(call, param, error);
    given->is_given = value.len > 0 || param->kind != PARAM_TEXT;
}

Err params_read(Call *call, Error *error)
{
    Header query;
    for (size_t i = 0; exchange_query_next(call->exchange, i, &query); i++) {
        size_t row = row_find(call->route, query.name);
        if (!call->given)
            call->given = ARENA_ARRAY(call->arena, Given, PARAMS_MAX);
        if (row_of(call->route, row))
            take(call, row, query.value, error);
        else
            refuse_unknown(call, query.name, error);
    }
    return error_close(error, ERR_INVALID);
}

// given returns what was said for the row, or NULL; who asks for a value of another kind than the
// row's is mistaken about the table.
static const Given *given(const Call *call, size_t row, ParamKind kind)
{
    const Param *param = row_of(call->route, row);
    assert(param && param->kind == kind);
    return call->given && call->given[row].is_given ? &call->given[row] : NULL;
}

// clang-format off
#define PARAM_READER(name, type, kind, member)                                                     \
    bool name(const Call *call, size_t row, type *ret)                                             \
    {                                                                                              \
        const Given *found = given(call, row, kind);                                               \
        if (found)                                                                                 \
            *ret = found->member;                                                                  \
        return found != NULL;                                                                      \
    }
PARAM_READER(param_text, Str,     PARAM_TEXT, text)
PARAM_READER(param_word, size_t,  PARAM_WORD, word)
PARAM_READER(param_bool, bool,    PARAM_BOOL, flag)
PARAM_READER(param_int,  int64_t, PARAM_INT,  number)
PARAM_READER(param_time, Instant, PARAM_TIME, at)
PARAM_READER(param_id,   Uuid,    PARAM_ID,   id)
#undef PARAM_READER
// clang-format on
