#include "domain/source.h"

#include "domain/definition.h"

#define POLL_USUAL SPAN_SECOND
#define POLL_MIN SPAN_SECOND

enum { SOURCE_TENANT_MAX = 100, PASSWORD_MAX = 500, TABLE_MAX = 2 * SOURCE_NAME_MAX + 1 };

const char *const source_providers[] = { "table", NULL };

static void check_table(const Members *members, void *value);

// clang-format off
#define COLUMN_FIELD(column, member, usual, what) \
    { member, FIELD_TEXT, .offset = offsetof(SourceTable, columns) + SOURCE_##column * sizeof(Str), .max = SOURCE_NAME_MAX, .help = what },
static const Field column_fields[] = { SOURCE_COLUMN_TABLE(COLUMN_FIELD) };
#undef COLUMN_FIELD
static const Shape columns_shape = { "SourceColumns", SHAPE_ROWS(column_fields), .size = sizeof(SourceTable) };

#define AT(member) .offset = offsetof(SourceTable, member)
static const Field table_fields[] = {
    { "store", FIELD_TEXT, FIELD_NEEDED, AT(store), .max = SOURCE_STORE_MAX, .help = "postgres://… without a password, or sqlite:PATH of a file below --table-source-dir" },
    { "password", FIELD_TEXT, FIELD_SECRET, AT(password), .max = PASSWORD_MAX, .help = "of the role that store names" },
    { "table", FIELD_TEXT, FIELD_NEEDED, AT(table), .max = TABLE_MAX, .help = "NAME or SCHEMA.NAME" },
    { "tenant", FIELD_KEY, AT(tenant), .max = SOURCE_TENANT_MAX, .help = "whose events they are; else of the tenant that has the source" },
    // The names lie in the configuration itself.
    { "columns", FIELD_OBJECT, .inside = &columns_shape, .help = "what each column is called there" },
    { "pollEvery", FIELD_SPAN, AT(poll_every), .min = POLL_MIN, .max = SPAN_DAY, .help = "how often an idle table is looked at; 1s unless said" },
};
#undef AT
const Shape source_table_shape = { "SourceTable", SHAPE_ROWS(table_fields), .size = sizeof(SourceTable), .invalid = ERR_INVALID, .check = check_table };

#define AT(member) .offset = offsetof(SourceDefinition, member)
static const Field source_fields[] = {
    { "id", FIELD_KEY, FIELD_NEEDED, AT(id), .max = SOURCE_ID_MAX, .help = "its name; events say it as their source" },
    { "provider", FIELD_WORD, FIELD_NEEDED, AT(provider), .words = source_providers, .noun = "a provider" },
    { "config", FIELD_OBJECT, FIELD_NEEDED, AT(config), .help = "store, password, table, columns, pollEvery" },
    { "enabled", FIELD_BOOL, FIELD_ALWAYS, AT(enabled), .help = "a disabled one takes nothing" },
    DEFINITION_SHOWN,
};
#undef AT
// clang-format on

const Shape source_shape = {
    "Source",
    SHAPE_ROWS(source_fields),
    .size = sizeof(SourceDefinition),
    .invalid = ERR_INVALID,
};

// has_password looks where libpq would find one.
static bool has_password(Str store)
{
    Str rest = store;
    (void) str_cut(&rest, '/');
    (void) str_cut(&rest, '/');
    Str place = rest;
    Str authority = str_cut(&place, '/');
    bool has_user = str_contains(authority, S("@"));
    Str user = str_cut(&authority, '@');
    return (has_user && str_contains(user, S(":"))) || str_contains(store, S("password="));
}

static void check_table(const Members *members, void *value)
{
    (void) value;
    SourceTable table = { .store = json_str(members_get(members, "store")) };
    bool is_postgres =
        str_starts(table.store, S("postgres://")) || str_starts(table.store, S("postgresql://"));
    if (!table.store.len)
        return;
    if (!is_postgres && !source_is_file(&table))
        members_note(members, S("store"), "bad-value", "must begin with postgres:// or sqlite:");
    else if (is_postgres && has_password(table.store))
        members_note(members, S("store"), "bad-value",
                     "must not hold a password: give it as password, which is sealed");
}

bool source_is_file(const SourceTable *table)
{
    return str_starts(table->store, S("sqlite:"));
}

Err source_compile(Arena *arena, const Json *body, SourceDefinition *ret, Error *error)
{
    SourceDefinition source = { .enabled = true };
    TRY(fields_read(arena, body, S(""), &source_shape, &source, error));
    *ret = source;
    return ERR_OK;
}

Err source_table(Arena *arena, const Json *config, SourceTable *ret, Error *error)
{
#define COLUMN_USUAL(name, member, usual, help) [SOURCE_##name] = usual,
    static const char *const usual[] = { SOURCE_COLUMN_TABLE(COLUMN_USUAL) };
#undef COLUMN_USUAL
    SourceTable table = { .poll_every = POLL_USUAL };
    for (size_t i = 0; i < SOURCE_COLUMNS; i++)
        table.columns[i] = usual[i] ? str_from(usual[i]) : STR_NONE;
    TRY(fields_read(arena, config, S("/config"), &source_table_shape, &table, error));
    *ret = table;
    return ERR_OK;
}
