#include "api/shapes.h"

// What /v1/nodes, /v1/sites and /v1/settings answer.

#define ALWAYS FIELD_ALWAYS
#define OR_NULL (FIELD_ALWAYS | FIELD_NULLABLE)
#define WORDS(name, flags, list)                                                                   \
    {                                                                                              \
        name, FIELD_WORD, flags, .words = list                                                     \
    }
#define LIST(name, flags, element)                                                                 \
    {                                                                                              \
        name, FIELD_LIST, flags, .of = &(element)                                                  \
    }
#define SHAPE(title, rows)                                                                         \
    {                                                                                              \
        .name = (title), SHAPE_ROWS(rows)                                                          \
    }

// clang-format off
static const char *const node_words[] = { "alive", "left", "dead", NULL };
static const Field node_rows[] = {
    { "number",        FIELD_COUNT, ALWAYS },
    { "name",          FIELD_TEXT,  ALWAYS },
    WORDS("state", ALWAYS, node_words),
    { "isThis",        FIELD_BOOL,  ALWAYS, .help = "It is the one that answers" },
    { "startedAt",     FIELD_TIME,  ALWAYS },
    { "beatAt",        FIELD_TIME,  ALWAYS, .help = "When it last told that it lives; every 5 s" },
    { "version",       FIELD_TEXT,  ALWAYS },
    { "clockOffsetMs", FIELD_INT,   ALWAYS, .help = "How far the store's clock is ahead of its own, as it measured it; 0 on SQLite" },
    { "leases",        FIELD_COUNT, ALWAYS, .help = "Deliveries that it had claimed and not settled at its last beat" },
};
const Shape node_shape = SHAPE("Node", node_rows);
static const Field site_row_rows[] = {
    { "site",          FIELD_TEXT,  ALWAYS },
    { "lastSeenAt",    FIELD_TIME,  OR_NULL, .help = "When it last handed on or asked; null: never" },
    { "silentSeconds", FIELD_COUNT, OR_NULL, .help = "Since then; a site asks every minute at least" },
    { "received",      FIELD_COUNT, ALWAYS, .help = "Rows that it handed on; duplicates are counted" },
    { "keyId",         FIELD_ID,    OR_NULL, .help = "The key that it came with last" },
    { "version",       FIELD_TEXT,  OR_NULL, .help = "Of its Peal, as it told" },
    { "backlog",       FIELD_COUNT, OR_NULL, .help = "Rows that it has still to hand on, as it told" },
    { "clockSkewMs",   FIELD_INT,   OR_NULL, .help = "How far its clock was ahead of central's when it told, and the way less" },
    { "toldAt",        FIELD_TIME,  OR_NULL, .help = "When it told" },
};
const Shape site_row_shape = SHAPE("SiteSeen", site_row_rows);
static const char *const store_words[] = { "sqlite", "postgres", NULL };
static const Field store_facts_rows[] = {
    WORDS("kind", ALWAYS, store_words),
    { "place",    FIELD_TEXT,  ALWAYS, .help = "Without credentials" },
    { "version",  FIELD_TEXT,  ALWAYS, .help = "Of the database" },
    { "schema",   FIELD_COUNT, ALWAYS, .help = "The number of the last migration" },
    { "bytes",    FIELD_COUNT, ALWAYS, .help = "On disk; looked at once a minute" },
    { "walBytes", FIELD_COUNT, OR_NULL, .help = "Of SQLite's write-ahead log" },
};
static const Shape store_facts_shape = SHAPE("StoreFacts", store_facts_rows);
static const Field setting_rows[] = {
    { "name",     FIELD_TEXT, ALWAYS },
    { "value",    FIELD_TEXT, OR_NULL, .help = "Null: none, or a secret" },
    { "origin",   FIELD_TEXT, ALWAYS, .help = "flag, env NAME, FILE:LINE or default" },
    { "isSecret", FIELD_BOOL, ALWAYS },
};
static const Shape setting_shape = SHAPE("Setting", setting_rows);
static const Field setting_row = { NULL, FIELD_OBJECT, .inside = &setting_shape };
static const Field settings_rows[] = {
    { "version", FIELD_TEXT,   ALWAYS },
    { "build",   FIELD_TEXT,   ALWAYS, .help = "Compiler, and how it was built" },
    { "node",    FIELD_COUNT,  ALWAYS, .help = "The number of the node that answers" },
    { "store",   FIELD_OBJECT, ALWAYS, .inside = &store_facts_shape },
    LIST("items", ALWAYS, setting_row),
};
const Shape settings_shape = SHAPE("Settings", settings_rows);
// clang-format on
