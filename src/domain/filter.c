// A filter is compiled to its leaves, in the order of the document. Each leaf knows where to go on
// when it holds and when it does not: to a later leaf, to MATCH or to MISS. Evaluation is a walk
// along these jumps; it needs no memory, visits no leaf twice, and the leaf that jumps to MISS is
// the one that decided.
#include "domain/filter.h"

#include "domain/decimal.h"
#include "domain/members.h"

enum { MATCH = -1, MISS = -2 };

// Scalar is one side of a comparison, from the filter or from the event.
typedef struct Scalar {
    JsonType type;   // JSON_ABSENT for null too, which counts as missing
    Str text;        // of a string or a number
    bool is_true;    // of a boolean
    bool is_numeric; // a number, or a text that reads as one; then decimal is set
    Decimal decimal;
    const Json *json; // the value itself, where it is part of a document
} Scalar;

typedef struct Operator Operator;

typedef struct Leaf {
    const Operator *op; // NULL: a group without members, whose truth is fixed
    Str path;
    const Json *value; // as written; NULL for none
    Scalar *operands;  // the value, or the elements of the value of "in"
    size_t operand_count;
    bool is_wanted;  // for exists: whether it should; for an empty group: its truth
    bool is_negated; // stands under an odd number of "not"
    bool is_made;    // is told in the words of what it was made of
    int then;        // where to go on when it holds: a leaf, MATCH or MISS
    int otherwise;
    Str pointer;
} Leaf;

struct Filter {
    int count;
    Leaf leaves[];
};

static void set_text(Scalar *scalar, JsonType type, Str text)
{
    scalar->type = type;
    scalar->text = text;
    scalar->is_numeric = decimal_parse(text, &scalar->decimal);
}

static Scalar scalar_of(const Json *value)
{
    Scalar scalar = { .type = json_type(value), .json = value };
    if (scalar.type == JSON_STRING)
        set_text(&scalar, JSON_STRING, json_str(value));
    else if (scalar.type == JSON_NUMBER)
        set_text(&scalar, JSON_NUMBER, json_number_text(value));
    else if (scalar.type == JSON_NULL)
        scalar.type = JSON_ABSENT;
    else
        scalar.is_true = json_bool(value);
    return scalar;
}

static Scalar scalar_found(const Found *found)
{
    if (found->json || found->type != JSON_STRING)
        return scalar_of(found->json);
    Scalar scalar = { 0 };
    set_text(&scalar, JSON_STRING, found_str(found));
    return scalar;
}

static bool is_text_or_number(const Scalar *scalar)
{
    return scalar->type == JSON_STRING || scalar->type == JSON_NUMBER;
}

static bool are_equal(const Scalar *a, const Scalar *b)
{
    if (a->type == JSON_BOOL && b->type == JSON_BOOL)
        return a->is_true == b->is_true;
    if (!is_text_or_number(a) || !is_text_or_number(b))
        return false;
    if (a->type == JSON_STRING && b->type == JSON_STRING)
        return str_eq(a->text, b->text);
    return a->is_numeric && b->is_numeric && decimal_cmp(&a->decimal, &b->decimal) == 0;
}

// compare orders two scalars; false when they have no order, as a number and a word.
static bool compare(const Scalar *a, const Scalar *b, int *ret)
{
    if (!is_text_or_number(a) || !is_text_or_number(b))
        return false;
    if (a->is_numeric && b->is_numeric)
        *ret = decimal_cmp(&a->decimal, &b->decimal);
    else if (a->type == JSON_STRING && b->type == JSON_STRING)
        *ret = str_cmp(a->text, b->text);
    else
        return false;
    return true;
}

// What follows are the operators. A missing value has the type JSON_ABSENT and falls out of each as
// it should: it equals nothing, has no order and contains nothing.

static bool equals(const Leaf *leaf, const Scalar *seen)
{
    return are_equal(seen, leaf->operands);
}

static bool differs(const Leaf *leaf, const Scalar *seen)
{
    return !equals(leaf, seen);
}

static bool is_less(const Leaf *leaf, const Scalar *seen)
{
    int order;
    return compare(seen, leaf->operands, &order) && order < 0;
}

static bool is_at_most(const Leaf *leaf, const Scalar *seen)
{
    int order;
    return compare(seen, leaf->operands, &order) && order <= 0;
}

static bool is_more(const Leaf *leaf, const Scalar *seen)
{
    int order;
    return compare(seen, leaf->operands, &order) && order > 0;
}

static bool is_at_least(const Leaf *leaf, const Scalar *seen)
{
    int order;
    return compare(seen, leaf->operands, &order) && order >= 0;
}

static bool is_in(const Leaf *leaf, const Scalar *seen)
{
    for (size_t i = 0; i < leaf->operand_count; i++) {
        if (are_equal(seen, &leaf->operands[i]))
            return true;
    }
    return false;
}

static bool shares(const Leaf *leaf, const Scalar *seen)
{
    if (seen->type != JSON_ARRAY)
        return false;
    for (JsonIter it = json_each(seen->json); json_next(&it);) {
        Scalar element = scalar_of(it.value);
        if (is_in(leaf, &element))
            return true;
    }
    return false;
}

static bool contains(const Leaf *leaf, const Scalar *seen)
{
    if (seen->type == JSON_STRING)
        return is_text_or_number(leaf->operands) && str_contains(seen->text, leaf->operands->text);
    if (seen->type != JSON_ARRAY)
        return false;
    for (JsonIter it = json_each(seen->json); json_next(&it);) {
        Scalar element = scalar_of(it.value);
        if (are_equal(&element, leaf->operands))
            return true;
    }
    return false;
}

static bool starts(const Leaf *leaf, const Scalar *seen)
{
    return seen->type == JSON_STRING && str_starts(seen->text, leaf->operands->text);
}

static bool ends(const Leaf *leaf, const Scalar *seen)
{
    return seen->type == JSON_STRING && str_ends(seen->text, leaf->operands->text);
}

static bool exists(const Leaf *leaf, const Scalar *seen)
{
    return (seen->type != JSON_ABSENT) == leaf->is_wanted;
}

// Kinds of value, and which of them an operator takes.
enum { STRING = 1, NUMBER = 2, BOOL = 4, LIST = 8, NOTHING = 16 };

typedef struct Takes {
    int kinds;
    const char *text;
} Takes;

static const Takes any_scalar = { STRING | NUMBER | BOOL, "a string, a number, true or false" };
static const Takes any_ordered = { STRING | NUMBER, "a string or a number" };
static const Takes a_string = { STRING, "a string" };
static const Takes a_list = { LIST, "an array" };
static const Takes a_choice = { BOOL | NOTHING, "true or false" };

// In the phrases % stands for the value.
struct Operator {
    const char *text;
    const Takes *takes;
    bool (*holds)(const Leaf *leaf, const Scalar *seen);
    const char *would; // completes "it would match if <path> …"
    const char *would_not;
};

// clang-format off
static const Operator ops[] = {
    { "==",         &any_scalar,  equals,      "were %",           "were not %" },
    { "!=",         &any_scalar,  differs,     "were not %",       "were %" },
    { "<",          &any_ordered, is_less,     "were less than %", "were at least %" },
    { "<=",         &any_ordered, is_at_most,  "were at most %",   "were more than %" },
    { ">",          &any_ordered, is_more,     "were more than %", "were at most %" },
    { ">=",         &any_ordered, is_at_least, "were at least %",  "were less than %" },
    { "in",         &a_list,      is_in,       "were one of %",    "were none of %" },
    { "contains",   &any_scalar,  contains,    "contained %",      "did not contain %" },
    { "startsWith", &a_string,    starts,      "started with %",   "did not start with %" },
    { "endsWith",   &a_string,    ends,        "ended with %",     "did not end with %" },
    { "exists",     &a_choice,    exists,      "were there",       "were not there" },
};

// FILTER_SHARES is no word of the language: only what is made uses it.
static const Operator shares_op =
    { FILTER_SHARES, &a_list,     shares,      "contained one of %", "contained none of %" };
// clang-format on

static int kind_of(const Json *value)
{
    switch (json_type(value)) {
    case JSON_ABSENT:
        return NOTHING;
    case JSON_BOOL:
        return BOOL;
    case JSON_NUMBER:
        return NUMBER;
    case JSON_STRING:
        return STRING;
    case JSON_ARRAY:
        return LIST;
    case JSON_NULL:
    case JSON_OBJECT:
        return 0;
    }
    return 0;
}

// Compiler fills a filter. While it works, the jumps of leaves are labels, for the place of a later
// leaf is known only when it is reached; labels[0] is MATCH and labels[1] is MISS.
typedef struct Compiler {
    Arena *arena;
    Error *error;
    Filter *filter;
    int *labels;
    int label_count;
    bool is_made; // the part under way
} Compiler;

typedef struct Jumps {
    int then, otherwise; // labels
    bool is_negated;
} Jumps;

static Leaf *add_leaf(Compiler *compiler, Str pointer, Jumps jumps)
{
    Leaf *leaf = &compiler->filter->leaves[compiler->filter->count++];
    leaf->pointer = pointer;
    leaf->then = jumps.then;
    leaf->otherwise = jumps.otherwise;
    leaf->is_negated = jumps.is_negated;
    leaf->is_made = compiler->is_made;
    return leaf;
}

static void read_leaf_path(const Members *members, Leaf *leaf)
{
    const Json *path = json_get(members->object, S("path"));
    const Json *question = json_get(members->object, S("questionId"));
    Str name = question && !path ? S("questionId") : S("path");
    const Json *given = path ? path : question;
    if (path && question)
        members_note(members, S("questionId"), "bad-path",
                     "\"questionId\" is another word for \"path\"; give one of them");

    const char *problem = members_path_problem(json_str(given));
    if (!given)
        members_note(members, name, "missing-path", "\"path\" is needed");
    else if (json_type(given) != JSON_STRING)
        members_note(members, name, "bad-path", "a path is a string, not %s",
                     json_type_name(json_type(given)));
    else if (problem)
        members_note(members, name, "bad-path", "%s", problem);
    leaf->path = json_str(given);
}

static void note_unknown_op(const Members *members, Str text)
{
    char known[120] = "";
    size_t len = 0;
    for (size_t i = 0; i < ARRAY_LEN(ops); i++)
        len += (size_t) snprintf(known + len, sizeof(known) - len, " %s", ops[i].text);
    members_note(members, S("op"), "unknown-op", "\"%.*s\" is not an operator; use one of%s",
                 STR_ARG(members_shown(text)), known);
}

static void read_leaf_op(const Members *members, Leaf *leaf)
{
    const Json *op = json_get(members->object, S("op"));
    if (!op) {
        members_note(members, S("op"), "missing-op", "\"op\" is needed");
        return;
    }
    if (json_type(op) != JSON_STRING) {
        members_note(members, S("op"), "bad-type", "must be a string, not %s",
                     json_type_name(json_type(op)));
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        if (str_eq(json_str(op), str_from(ops[i].text)))
            leaf->op = &ops[i];
    }
    if (leaf->is_made && str_eq(json_str(op), S(FILTER_SHARES)))
        leaf->op = &shares_op;
    if (!leaf->op)
        note_unknown_op(members, json_str(op));
}

static void read_leaf_list(Compiler *compiler, const Members *members, Leaf *leaf)
{
    Members list = members_open(leaf->value, members_pointer(members, S("value")), compiler->error);
    leaf->operands = ARENA_ARRAY(compiler->arena, Scalar, json_count(leaf->value));
    for (JsonIter it = json_each(leaf->value); json_next(&it);) {
        char index[24];
        snprintf(index, sizeof(index), "%zu", leaf->operand_count);
        if (!(kind_of(it.value) & any_scalar.kinds))
            members_note(&list, str_from(index), "bad-value",
                         "\"%s\" compares with strings, numbers, true and false, not with %s",
                         leaf->op->text, json_type_name(json_type(it.value)));
        leaf->operands[leaf->operand_count++] = scalar_of(it.value);
    }
}

static void read_leaf_value(Compiler *compiler, const Members *members, Leaf *leaf)
{
    leaf->value = json_get(members->object, S("value"));
    int kind = kind_of(leaf->value);
    if (!(kind & leaf->op->takes->kinds)) {
        if (kind == NOTHING)
            members_note(members, S("value"), "missing-value", "\"%s\" needs a value",
                         leaf->op->text);
        else
            members_note(members, S("value"), "bad-value", "\"%s\" takes %s, not %s",
                         leaf->op->text, leaf->op->takes->text,
                         json_type_name(json_type(leaf->value)));
        return;
    }
    if (kind == LIST) {
        read_leaf_list(compiler, members, leaf);
        return;
    }
    leaf->operands = ARENA_NEW(compiler->arena, Scalar);
    leaf->operands[0] = scalar_of(leaf->value);
    leaf->operand_count = 1;
    leaf->is_wanted = kind == NOTHING || json_bool(leaf->value);
}

static void compile_leaf(Compiler *compiler, const Members *members, Jumps jumps)
{
    // The words of groups are here for their typos: an "al" was not meant to be a leaf.
    static const char *const known[] = { "path", "questionId", "op", "value", "all", "any", "not" };
    Leaf *leaf = add_leaf(compiler, members->pointer, jumps);
    members_check(members, known, ARRAY_LEN(known));
    read_leaf_path(members, leaf);
    read_leaf_op(members, leaf);
    if (leaf->op)
        read_leaf_value(compiler, members, leaf);
}

static void compile(Compiler *compiler, const Json *source, Str pointer, Jumps jumps, int depth);

// compile_list compiles the members of "all" or "any". In "all" a member that holds leads to the
// next, in "any" one that does not; behind the last stands what the whole leads to.
static void compile_list(Compiler *compiler, const Json *list, bool is_all, Str pointer,
                         Jumps jumps, int depth)
{
    size_t count = json_count(list), i = 0;
    if (count == 0)
        add_leaf(compiler, pointer, jumps)->is_wanted = is_all;

    for (JsonIter it = json_each(list); json_next(&it); i++) {
        Jumps member = jumps;
        int next = compiler->label_count;
        if (i + 1 < count) {
            compiler->label_count++;
            if (is_all)
                member.then = next;
            else
                member.otherwise = next;
        }
        Str place = str_format(compiler->arena, "%.*s/%zu", STR_ARG(pointer), i);
        compile(compiler, it.value, place, member, depth + 1);
        if (i + 1 < count)
            compiler->labels[next] = compiler->filter->count;
    }
}

static const char *const group_names[] = { "all", "any", "not" };

// group_of returns the group that source is, or NULL for a leaf.
static const char *group_of(const Json *source)
{
    for (size_t i = 0; i < ARRAY_LEN(group_names); i++) {
        if (json_get(source, str_from(group_names[i])))
            return group_names[i];
    }
    return NULL;
}

static void compile_group(Compiler *compiler, const Members *members, const char *group,
                          Jumps jumps, int depth)
{
    for (JsonIter it = json_each(members->object); json_next(&it);) {
        if (!str_eq(it.key, str_from(group)))
            members_note(members, it.key, "unknown-member", "nothing can stand beside \"%s\"",
                         group);
    }

    const Json *value = json_get(members->object, str_from(group));
    Str pointer = str_format(compiler->arena, "%.*s/%s", STR_ARG(members->pointer), group);
    if (str_eq(str_from(group), S("not"))) {
        Jumps swapped = { jumps.otherwise, jumps.then, !jumps.is_negated };
        compile(compiler, value, pointer, swapped, depth + 1);
    } else if (json_type(value) != JSON_ARRAY) {
        error_add(compiler->error, pointer, "bad-type", "must be an array of filters, not %s",
                  json_type_name(json_type(value)));
    } else {
        compile_list(compiler, value, str_eq(str_from(group), S("all")), pointer, jumps, depth);
    }
}

static void compile(Compiler *compiler, const Json *source, Str pointer, Jumps jumps, int depth)
{
    Members members = members_open(source, pointer, compiler->error);
    const char *group = group_of(source);
    if (depth > FILTER_DEPTH_MAX)
        error_add(compiler->error, pointer, "too-deep", "a filter may be %d levels deep",
                  FILTER_DEPTH_MAX);
    else if (json_type(source) != JSON_OBJECT)
        error_add(compiler->error, pointer, "bad-type", "a filter is an object, not %s",
                  json_type_name(json_type(source)));
    else if (group)
        compile_group(compiler, &members, group, jumps, depth);
    else
        compile_leaf(compiler, &members, jumps);
}

// count_nodes counts leaves and groups, so that a filter is measured before it is built.
static size_t count_nodes(const Json *source, int depth)
{
    const char *group = group_of(source);
    if (!group || depth > FILTER_DEPTH_MAX)
        return 1;
    const Json *value = json_get(source, str_from(group));
    if (json_type(value) != JSON_ARRAY)
        return 1 + count_nodes(value, depth + 1);
    size_t count = 1;
    for (JsonIter it = json_each(value); json_next(&it);)
        count += count_nodes(it.value, depth + 1);
    return count;
}

static int resolve(const Compiler *compiler, int label)
{
    assert(label >= 0 && label < compiler->label_count);
    return compiler->labels[label];
}

static size_t count_parts(const FilterPart *parts, size_t count)
{
    size_t nodes = 0;
    for (size_t i = 0; i < count; i++)
        nodes += count_nodes(parts[i].source, 1);
    return nodes;
}

// compile_parts compiles them one behind the other: each that holds leads to the next.
static void compile_parts(Compiler *compiler, const FilterPart *parts, size_t count)
{
    Filter *filter = compiler->filter;
    for (size_t i = 0; i < count; i++) {
        int next = i + 1 < count ? compiler->label_count++ : 0;
        int first = filter->count;
        compiler->is_made = parts[i].is_made;
        compile(compiler, parts[i].source, parts[i].pointer,
                (Jumps){ .then = next, .otherwise = 1 }, 1);
        if (next)
            compiler->labels[next] = filter->count;
        for (int n = first; parts[i].is_made && n < filter->count; n++)
            filter->leaves[n].pointer = parts[i].pointer;
    }
}

Err filter_compile_all(Arena *arena, const FilterPart *parts, size_t count, const Filter **ret,
                       Error *error)
{
    *ret = NULL;
    if (count == 0)
        return ERR_OK;
    Error own = { 0 };
    Members members = members_open(parts[0].source, parts[0].pointer, error ? error : &own);
    size_t nodes = count_parts(parts, count);
    if (nodes > FILTER_NODES_MAX) {
        error_add(members.error, parts[count - 1].pointer, "too-large",
                  "a filter may have %d parts, not %zu", FILTER_NODES_MAX, nodes);
        return members_close(&members, ERR_INVALID);
    }

    Filter *filter = (Filter *) arena_alloc(arena, sizeof(Filter) + nodes * sizeof(Leaf));
    Compiler compiler = { .arena = arena,
                          .error = members.error,
                          .filter = filter,
                          .labels = ARENA_ARRAY(arena, int, nodes + count + 2),
                          .label_count = 2 };
    compiler.labels[0] = MATCH;
    compiler.labels[1] = MISS;
    compile_parts(&compiler, parts, count);
    TRY(members_close(&members, ERR_INVALID));

    for (int i = 0; i < filter->count; i++) {
        filter->leaves[i].then = resolve(&compiler, filter->leaves[i].then);
        filter->leaves[i].otherwise = resolve(&compiler, filter->leaves[i].otherwise);
    }
    *ret = filter;
    return ERR_OK;
}

Err filter_compile(Arena *arena, const Json *source, Str pointer, const Filter **ret, Error *error)
{
    return filter_compile_all(arena, &(FilterPart){ source, pointer, false }, source ? 1 : 0, ret,
                              error);
}

// put_group is the schema of {"all":…}, {"any":…} or {"not":…}; value is that of what stands there.
static void put_group(JsonOut *out, const char *group, Str value)
{
    json_open(out, '{');
    json_put_str(out, S("type"), S("object"));
    json_key(out, S("properties"));
    json_open(out, '{');
    json_put_raw(out, str_from(group), value);
    json_close(out, '}');
    json_key(out, S("required"));
    json_open(out, '[');
    json_add_str(out, str_from(group));
    json_close(out, ']');
    json_put_bool(out, S("additionalProperties"), false);
    json_close(out, '}');
}

static void put_leaf(JsonOut *out)
{
    json_open(out, '{');
    json_put_str(out, S("type"), S("object"));
    json_key(out, S("properties"));
    json_open(out, '{');
    json_put_raw(out, S("path"), S("{\"type\":\"string\"}"));
    json_put_raw(out, S("questionId"),
                 S("{\"type\":\"string\",\"description\":\"another name of path\"}"));
    json_key(out, S("op"));
    json_open(out, '{');
    json_put_str(out, S("type"), S("string"));
    json_key(out, S("enum"));
    json_open(out, '[');
    for (size_t i = 0; i < ARRAY_LEN(ops); i++)
        json_add_str(out, str_from(ops[i].text));
    json_close(out, ']');
    json_close(out, '}');
    json_put_raw(out, S("value"),
                 S("{\"type\":[\"string\",\"number\",\"boolean\",\"null\",\"array\"],\"items\":"
                   "{\"type\":[\"string\",\"number\",\"boolean\",\"null\"]}}"));
    json_close(out, '}');
    json_put_raw(out, S("required"), S("[\"op\"]"));
    json_put_bool(out, S("additionalProperties"), false);
    json_close(out, '}');
}

void filter_schema(JsonOut *out, const char *ref)
{
    char one[200], list[240];
    snprintf(one, sizeof one, "{\"$ref\":\"%s\"}", ref);
    snprintf(list, sizeof list, "{\"type\":\"array\",\"items\":%s}", one);
    json_open(out, '{');
    json_put_str(out, S("title"), S("Filter"));
    json_key(out, S("anyOf"));
    json_open(out, '[');
    put_leaf(out);
    put_group(out, "all", str_from(list));
    put_group(out, "any", str_from(list));
    put_group(out, "not", str_from(one));
    json_close(out, ']');
    json_close(out, '}');
}

static bool leaf_holds(const Leaf *leaf, const Event *event, Str template_id)
{
    if (!leaf->op)
        return leaf->is_wanted;
    Found found = event_find(event, template_id, leaf->path);
    Scalar seen = scalar_found(&found);
    return leaf->op->holds(leaf, &seen);
}

bool filter_matches(const Filter *filter, const Event *event, Str template_id, FilterMiss *miss)
{
    int at = filter ? 0 : MATCH;
    while (at != MATCH) {
        const Leaf *leaf = &filter->leaves[at];
        int next = leaf_holds(leaf, event, template_id) ? leaf->then : leaf->otherwise;
        if (next == MISS) {
            if (miss)
                miss->leaf = at;
            return false;
        }
        assert(next == MATCH || (next > at && next < filter->count));
        at = next;
    }
    return true;
}

// key_of is the same for all scalars that are equal to each other.
static bool key_of(const Scalar *scalar, uint64_t *ret)
{
    bool is_bool = scalar->type == JSON_BOOL;
    if (is_bool)
        *ret = scalar->is_true;
    else if (is_text_or_number(scalar))
        *ret = scalar->is_numeric ? decimal_hash(&scalar->decimal) : str_hash(scalar->text);
    return is_bool || is_text_or_number(scalar);
}

// is_gate says whether a leaf that does not hold decides, and holds for few values only. What
// stands at templateId differs from trigger to trigger.
static bool is_gate(const Leaf *leaf)
{
    bool is_equality = leaf->op && (leaf->op->holds == equals || leaf->op->holds == is_in);
    return is_equality && leaf->otherwise == MISS && leaf->operand_count <= FILTER_GATE_MAX &&
           !str_starts(leaf->path, S("templateId"));
}

FilterGate filter_gate(const Filter *filter)
{
    FilterGate gate = { 0 };
    if (!filter || !is_gate(&filter->leaves[FILTER_GATE_LEAF]))
        return gate;
    const Leaf *leaf = &filter->leaves[FILTER_GATE_LEAF];
    gate.path = leaf->path;
    for (size_t i = 0; i < leaf->operand_count; i++)
        gate.count += key_of(&leaf->operands[i], &gate.keys[gate.count]);
    return gate;
}

bool filter_gate_key(const Event *event, Str path, uint64_t *ret)
{
    Found found = event_find(event, STR_NONE, path);
    Scalar seen = scalar_found(&found);
    return key_of(&seen, ret);
}

// add_phrase writes phrase with the leaf's value where % stands.
static void add_phrase(Buf *buf, const char *phrase, const Json *value)
{
    for (; *phrase; phrase++) {
        if (*phrase == '%')
            json_write(buf, value, false);
        else
            buf_add_char(buf, *phrase);
    }
}

static Str predicate_of(Arena *arena, const Leaf *leaf)
{
    Buf buf = buf_new(arena, BUF_WHOLE);
    buf_add(&buf, leaf->is_negated ? S("not ") : S(""));
    if (!leaf->op) {
        buf_add(&buf, leaf->is_wanted ? S("all of nothing") : S("any of nothing"));
        return buf_str(&buf);
    }
    buf_add(&buf, leaf->path);
    buf_add_char(&buf, ' ');
    buf_add(&buf, str_from(leaf->op->text));
    add_phrase(&buf, leaf->value ? " %" : "", leaf->value);
    return buf_str(&buf);
}

static Str would_match_if(Arena *arena, const Leaf *leaf)
{
    if (!leaf->op)
        return S("the list were not empty");
    // "exists" with false asks for the opposite, as "not" does.
    bool is_opposite = leaf->is_negated;
    if (leaf->op->takes->kinds & NOTHING)
        is_opposite = leaf->is_negated == leaf->is_wanted;
    Buf buf = buf_new(arena, BUF_WHOLE);
    buf_add(&buf, leaf->path);
    buf_add_char(&buf, ' ');
    add_phrase(&buf, is_opposite ? leaf->op->would_not : leaf->op->would, leaf->value);
    return buf_str(&buf);
}

static Str seen_by(Arena *arena, const Leaf *leaf, const Event *event, Str template_id)
{
    if (!leaf->op)
        return STR_NONE;
    Found found = event_find(event, template_id, leaf->path);
    if (found.type == JSON_ABSENT)
        return STR_NONE;
    if (found.json)
        return json_text(arena, found.json);
    Buf buf = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&buf);
    json_add_str(&out, found_str(&found));
    return buf_str(&buf);
}

// told_name is a path without what all that providers bring lies below.
static Str told_name(Str path)
{
    Str context = S("candidate.context.");
    return str_starts(path, context) ? str_skip(path, context.len) : path;
}

// add_few writes a value, or the first elements of a list, with a word between them.
static void add_few(Buf *buf, const Json *value, const char *between)
{
    enum { FEW = 10 };
    if (json_type(value) != JSON_ARRAY) {
        json_write(buf, value, false);
        return;
    }
    for (JsonIter it = json_each(value); it.index < FEW && json_next(&it);) {
        buf_add(buf, it.index > 1 ? str_from(between) : S(""));
        json_write(buf, it.value, false);
    }
    if (json_count(value) > FEW)
        buf_add_format(buf, "%s%zu others", between, json_count(value) - FEW);
}

// told_of says what was seen and what was asked for: labels contained "ui"; "bug" was asked for.
static Str told_of(Arena *arena, const Leaf *leaf, const Event *event, Str template_id)
{
    Found found = event_find(event, template_id, leaf->path);
    const Scalar seen = scalar_found(&found);
    bool is_list = leaf->op == &shares_op;
    Buf buf = buf_new(arena, BUF_WHOLE);
    buf_add(&buf, told_name(leaf->path));
    buf_add(&buf, is_list ? S(" contained ") : S(" was "));
    if (seen.type == JSON_ABSENT || (is_list && json_count(seen.json) == 0))
        buf_add(&buf, is_list ? S("nothing") : S("missing"));
    else if (seen.json)
        add_few(&buf, seen.json, ", ");
    else
        buf_add_format(&buf, "\"%.*s\"", STR_ARG(seen.text));
    buf_add(&buf, S("; "));
    add_few(&buf, leaf->value, " or ");
    buf_add(&buf, S(" was asked for"));
    return buf_str(&buf);
}

FilterReason filter_explain(Arena *arena, const Filter *filter, int leaf, const Event *event,
                            Str template_id)
{
    if (!filter || leaf < 0 || leaf >= filter->count)
        return (FilterReason){ 0 };
    const Leaf *found = &filter->leaves[leaf];
    bool is_told = found->is_made && found->op;
    return (FilterReason){
        .path = found->pointer,
        .predicate =
            is_told ? told_of(arena, found, event, template_id) : predicate_of(arena, found),
        .seen = seen_by(arena, found, event, template_id),
        .would_match_if = would_match_if(arena, found),
    };
}
