#include "domain/source.h"

#include "domain/definition.h"

#define POLL_USUAL SPAN_SECOND
#define POLL_MIN SPAN_SECOND

enum { SOURCE_TENANT_MAX = 100, PASSWORD_MAX = 500, TABLE_MAX = 2 * SOURCE_NAME_MAX + 1 };

static void check_source(const Members *members, void *value);
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
    { "provider", FIELD_WORD, FIELD_NEEDED, AT(provider), .words = provider_ids, .noun = "a provider" },
    { "integration", FIELD_KEY, AT(integration), .max = SOURCE_ID_MAX, .help = "the account that its events are of; they have it as their topic" },
    { "path", FIELD_KEY, AT(path), .max = SOURCE_PATH_MAX, .help = "where webhooks come, behind /hooks/ and the tenant's id; made where none is given" },
    { "secret", FIELD_TEXT, FIELD_SECRET | FIELD_RAW, AT(secret), .max = SOURCE_SECRET_MAX, .help = "what webhooks are verified with; made where none is given, and shown once" },
    { "config", FIELD_OBJECT, AT(config), .help = "by provider; of a table store, password, table, columns, pollEvery" },
    { "shared", FIELD_BOOL, AT(shared), .help = "its events are routed to whom they name, in all tenants; takes the system right" },
    { "enabled", FIELD_BOOL, FIELD_ALWAYS, AT(enabled), .help = "a disabled one takes nothing" },
    { "url", FIELD_TEXT, FIELD_SHOWN, .help = "where webhooks come" },
    DEFINITION_SHOWN,
};
#undef AT
static const Field secret_fields[] = {
    { "secret", FIELD_TEXT, FIELD_SECRET | FIELD_OVERLAPS, .max = SOURCE_SECRET_MAX },
};
// clang-format on

const Shape source_secret_shape = { "SourceSecret", SHAPE_ROWS(secret_fields) };
const Shape source_shape = {
    "Source",
    SHAPE_ROWS(source_fields),
    .size = sizeof(SourceDefinition),
    .invalid = ERR_INVALID,
    .check = check_source,
};

// check_source: what is of webhooks is not of tables.
static void check_source(const Members *members, void *value)
{
    static const char *const of_webhooks[] = { "integration", "path", "secret", "shared" };
    const SourceDefinition *source = value;
    if (source->provider != PROVIDER_TABLE)
        return;
    for (size_t i = 0; i < ARRAY_LEN(of_webhooks); i++)
        if (members_get(members, of_webhooks[i]))
            members_note(members, str_from(of_webhooks[i]), "bad-value", "a table has none");
    if (!source->config)
        members_missing(members, "config");
}

bool source_is_unsigned(const Json *body)
{
    const Json *verify = json_get(json_get(body, S("config")), S("verify"));
    return str_eq(json_str(json_get(verify, S("kind"))), S("none"));
}

Str source_path(Arena *arena, Str tenant, Str path)
{
    if (str_starts(path, SOURCE_MADE))
        return path;
    return str_format(arena, "%.*s/%.*s", STR_ARG(tenant), STR_ARG(path));
}

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
    SourceDefinition source = { .provider = PROVIDERS, .enabled = true };
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
