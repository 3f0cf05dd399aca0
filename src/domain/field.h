// field.h - what a JSON object may hold, as rows: one row per member, one Shape per object.
//
// The same rows read a body into a struct, refuse what they do not know, say which members are
// secret, and print the JSON Schema of what is taken and of what is shown. So a name that nobody
// reads cannot be accepted, and a document cannot differ from the program.
//
// Reading is as in members.h, with its codes: every mistake is noted with its place; null counts as
// not given; a member that is absent or wrong leaves its place in the struct as it was, so defaults
// are set before reading. Texts and JSON are kept by reference into the document, lists are made in
// the arena. Members are read in the order of their rows: a row may lean on what those above it
// left. What rows cannot say (one member's default depends on another, two exclude each other) is
// the Shape's check().
//
// To add a member, add a row. To add a kind of value, add it to FieldKind, to the readers of
// field.c and to the schemas of field_schema.c.
#pragma once

#include "domain/members.h"

// FieldKind says what a value is and, behind it, what holds it in the struct.
typedef enum FieldKind {
    FIELD_TEXT,           // Str: up to max bytes, no control characters
    FIELD_TEXT_OR_NUMBER, // Str: a number keeps its digits
    FIELD_KEY,            // Str: a text of letters, digits and . _ : - that can stand in a URL
    FIELD_PATH,           // Str: a dotted path (members_path_problem)
    FIELD_URL,            // Str: a text; net/ knows which URLs can be used
    FIELD_WORD,           // int: the place of the text in words, from min on
    FIELD_BOOL,           // bool
    FIELD_INT,            // int: a whole number from min to max
    FIELD_COUNT,          // int64_t: the same, wider
    FIELD_NUMBER,         // double
    FIELD_SPAN,           // Span: a duration from min to max
    FIELD_TIME,           // Instant
    FIELD_ID,             // Uuid
    FIELD_FILTER,         // const Filter *, compiled
    FIELD_OBJECT,         // the struct of inside; without inside const Json *: any members
    FIELD_LIST,           // a pointer to min to max elements as of says; their count beside it
    FIELD_MAP,            // const Json *: up to max members of any name, each as of says
    FIELD_ANY,            // const Json *: any JSON
} FieldKind;

enum {
    FIELD_NEEDED = 1,    // must be given; is always shown
    FIELD_ALWAYS = 2,    // need not be given, but is always shown
    FIELD_SECRET = 4,    // sealed at rest; a mark is shown instead (of a map: of each member)
    FIELD_SHOWN = 8,     // in answers only: given, it is unknown
    FIELD_TAKEN = 16,    // in bodies only: never shown
    FIELD_NULLABLE = 32, // null where there is none
    FIELD_ALSO = 64,     // another name of the row above it
    FIELD_EMPTY = 128,   // a text that may be empty
    FIELD_ALONE = 256,   // a list whose only element may stand without brackets
    FIELD_RAW = 512,     // an object that is read as inside says, but kept as const Json *; a list
                         // that is kept so as well, its elements unread: each may fail alone; a
                         // secret text that stands beside what is no secret: given, or its mark, or
                         // sealed (what Peal makes is shown once)
    FIELD_LINES = 1024,  // a text that may have several lines, and tabs
    FIELD_CONTROL = 4096, // a text that may have any control character: whoever sends it sees to it
    FIELD_OVERLAPS = 2048, // a secret whose last value may stay good beside it for a while
    FIELD_OURS = 8192,     // Peal's own: stored and shown, and no schema says that it may be given;
                           // who gives it all the same is refused by its noun
};

// A secret is stored as an object with this member (store/secret.h).
#define FIELD_SEALED S("$sealed")

typedef struct Field {
    const char *name; // NULL for what a list or map is of
    FieldKind kind;
    unsigned flags;
    size_t offset;    // of its place in the struct
    size_t count;     // of a list: offset of the size_t beside it
    size_t given;     // offset of a bool that becomes true where the member is given; 0: none
    int64_t min, max; // of a number, a duration, a list; max: bytes of a text
    const struct Shape *inside;
    const char *component; // of an object without inside: the schema that describes it
    const struct Field *of;
    const char *const *words; // NULL-terminated
    const char *noun;         // what a word is one of, for its refusal: "a policy"
    const char *code;         // of that refusal, or of a list of another length; NULL: bad-value
    const char *help;         // one line, without its full stop; NULL where the name says it all
} Field;

typedef struct Shape {
    const char *name; // of the schema: a word in capitals, such as Trigger
    const Field *fields;
    size_t count;
    size_t size;  // of the struct; 0 where nothing is kept
    bool is_open; // other members may stand beside those of the rows
    Err invalid;  // what a refusal is; ERR_OK: ERR_INVALID

    // check says what rows cannot; value is the struct, NULL where nothing is kept. It runs after
    // the rows, whether or not they found problems.
    void (*check)(const Members *members, void *value);
} Shape;

enum { SHAPE_FIELDS_MAX = 48 };

// SHAPE_ROWS(rows) is .fields and .count of a Shape.
#define SHAPE_ROWS(rows) .fields = (rows), .count = ARRAY_LEN(rows)

// fields_read reads source, which lies at pointer in its document, into ret (of shape->size; NULL:
// it is only checked). It fails with the shape's invalid when a problem was noted.
Err fields_read(Arena *arena, const Json *source, Str pointer, const Shape *shape, void *ret,
                Error *error) MUST_USE;

// fields_note is fields_read for whoever has more to say: it notes the problems and does not close
// the error. It returns false where source is no object: there is nothing to say about its members.
bool fields_note(Arena *arena, const Json *source, Str pointer, const Shape *shape, void *ret,
                 Error *error);

// fields_find is the row of a name that may be given, under any of its names; NULL: unknown.
const Field *fields_find(const Shape *shape, Str name);

// fields_write writes source under the names of the shape's rows: one name for what has several. A
// null is left out, unless it says something (in a patch). Objects inside are written likewise, and
// what the shape does not know is written as it is.
void fields_write(JsonOut *out, Arena *arena, const Shape *shape, const Json *source,
                  bool keeps_null);

// fields_schema writes the JSON Schema (2020-12) of what is taken, what a merge patch may hold, or
// what is shown. It refers to #/components/schemas/Filter and Secret; fields_components writes
// these, as members of an object. A row's own component is referred to by its name and the suffix
// of the use: Body for what is taken, Patch for a patch, File for what a file may say (as it is
// taken, but that a text may be a reference to it, field_may_refer()), nothing for what is shown.
typedef enum FieldUse { FIELDS_TAKEN, FIELDS_PATCHED, FIELDS_FILED, FIELDS_SHOWN } FieldUse;
const char *fields_suffix(FieldUse use);
void fields_schema(JsonOut *out, const Shape *shape, FieldUse use);
void field_schema(JsonOut *out, const Field *field, FieldUse use); // of one value

bool field_is_key(Str text); // it is made as a FIELD_KEY is

// field_may_refer: in a file, {"env":…} or {"file":…} may stand for its text (docs/as-code.md).
bool field_may_refer(const Field *field);
void fields_components(JsonOut *out);
