#include "api/apply.h"

#include "api/noun.h"
#include "domain/source.h"
#include "store/secret.h"
#include "store/survey.h"

// What is stored, as apply takes it. Whoever may write a kind may read it so: the URLs of channels
// are whole, and secrets are references to variables that whoever applies it sets, or leaves out.

// clang-format off
static const Field fields[] = {
    { "kind",    FIELD_TEXT,   FIELD_SHOWN | FIELD_NEEDED },
    { "id",      FIELD_TEXT,   FIELD_SHOWN | FIELD_NEEDED },
    { "version", FIELD_COUNT,  FIELD_SHOWN | FIELD_NEEDED },
    { "published", FIELD_BOOL, FIELD_SHOWN, .help = "of a survey: its draft is the version that counts" },
    { "origin",  FIELD_OBJECT, FIELD_SHOWN, .inside = &origin_shape, .help = "the files that it was applied from" },
    { "definition", FIELD_OBJECT, FIELD_SHOWN | FIELD_NEEDED, .help = "as it was given; the members of a list are at its own route" },
};
const Shape exported_shape = { "ExportedDefinition", SHAPE_ROWS(fields) };

enum { EXPORT_KIND };
const Param export_params[] = {
    [EXPORT_KIND] = { "kind", PARAM_TEXT, .max = 40, .help = "Of this kind; unless said, the first that the key may write" },
    { 0 },
};
// clang-format on

static size_t first_rank(const Call *call)
{
    size_t rank = 0;
    while (definition_kinds[rank] && !apply_may_write(call, definition_kinds[rank]))
        rank++;
    return rank;
}

static Err find_kind(const Call *call, const DefinitionKind **ret, Error *error)
{
    Str name;
    size_t rank = first_rank(call);
    bool is_known = !param_text(call, EXPORT_KIND, &name) || definition_rank(name, &rank);
    *ret = definition_kinds[rank];
    if (!is_known) {
        error_add(error, S("/kind"), "bad-value", "must be a kind of definition");
        return error_close(error, ERR_INVALID);
    }
    if (!*ret || !apply_may_write(call, *ret))
        return fail(error, ERR_FORBIDDEN, "the key's role may not write a %s",
                    *ret ? (*ret)->kind : "definition");
    return ERR_OK;
}

// is_made: by Peal for this very source; another server makes its own.
static bool is_made(const DefinitionKind *kind, Str member, const Json *value)
{
    return kind == &definition_source && str_eq(member, S("path")) &&
           str_starts(json_str(value), SOURCE_MADE);
}

static void put_definition(Call *call, const DefinitionKind *kind, Str id, const Json *body)
{
    const Noun *of = noun_of(kind);
    JsonOut *out = &call->json;
    Str prefix = str_format(call->arena, "PEAL_%s_%.*s", kind->kind, STR_ARG(id));
    json_open(out, '{');
    for (JsonIter it = json_each(body); json_next(&it);) {
        const Shape *shape = NULL;
        Error unknown = { 0 };
        if (is_made(kind, it.key, it.value))
            continue;
        json_key(out, it.key);
        if (of->secrets && str_eq(it.key, str_from(of->secrets))) {
            if (of->find_shape(call->arena, body, &shape, &unknown) != ERR_OK)
                shape = NULL;
            secret_refer(out, call->arena, shape, it.value, prefix);
        } else if (of->secret && str_eq(it.key, str_from(of->secret->fields[0].name))) {
            secret_reference(out, call->arena, prefix, it.key);
        } else {
            json_add_raw(out, json_text(call->arena, it.value));
        }
    }
    json_close(out, '}');
}

// is_published: the version of a survey that counts is its draft.
static Err is_published(Call *call, Db *db, const DefinitionKind *kind, const Definition *row,
                        bool *ret, Error *error)
{
    Walk walk = { .limit = 1 };
    Seen seen;
    SurveyRow *versions;
    *ret = false;
    if (kind != &definition_survey)
        return ERR_OK;
    TRY(survey_page(db, call->arena, call->tenant, row->id, &walk, &versions, &seen, error));
    *ret = seen.count > 0 && versions[0].draft == row->version;
    return ERR_OK;
}

static Err put_row(Call *call, Db *db, const DefinitionKind *kind, const Definition *row,
                   Error *error)
{
    JsonOut *out = &call->json;
    const Json *body;
    bool is_out;
    Error unreadable = { 0 };
    if (json_parse(call->arena, row->body, &body, &unreadable) != ERR_OK)
        return fail(error, ERR_CORRUPT, "%s %.*s: %s", kind->kind, STR_ARG(row->id),
                    unreadable.detail);
    if (kind == &definition_trigger && survey_owns(body).at)
        return ERR_OK; // which says it
    TRY(is_published(call, db, kind, row, &is_out, error));
    json_open(out, '{');
    json_put_str(out, S("kind"), str_from(kind->kind));
    json_put_str(out, S("id"), row->id);
    json_put_i64(out, S("version"), row->version);
    if (kind == &definition_survey)
        json_put_bool(out, S("published"), is_out);
    origin_put(out, call->arena, row->origin, row->version);
    json_key(out, S("definition"));
    put_definition(call, kind, row->id, body);
    json_close(out, '}');
    return ERR_OK;
}

Err export_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    Definition *rows;
    const DefinitionKind *kind;
    TRY(find_kind(call, &kind, error));
    TRY(call_walk(call, &walk, error));
    TRY(definition_page(db, call->arena, call->tenant, str_from(kind->kind), &walk, &rows, &seen,
                        error));
    page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        TRY(put_row(call, db, kind, &rows[i], error));
    page_close(call, &seen);
    return ERR_OK;
}
