#include "domain/list.h"

#include "domain/content.h"
#include "domain/definition.h"
#include "domain/event.h"

static const Field channel = { NULL, FIELD_KEY, .max = CHANNEL_KEY_MAX };

// clang-format off
#define AT(member) .offset = offsetof(ListMember, member)
static const Field member_fields[] = {
    { "address", FIELD_TEXT, FIELD_NEEDED, AT(address), .max = EVENT_ADDRESS_MAX },
    { "name",    FIELD_TEXT, FIELD_CONTROL | FIELD_NULLABLE, AT(name), .max = LIST_NAME_MAX, .help = "of who is there" },
    { "locale",  FIELD_TEXT, FIELD_NULLABLE, AT(locale), .max = LIST_LOCALE_MAX },
};
#undef AT
const Shape list_member_shape = { "ListTarget", SHAPE_ROWS(member_fields), .size = sizeof(ListMember),
                                  .invalid = ERR_LIST_INVALID };
static const Field member = { NULL, FIELD_OBJECT, .inside = &list_member_shape };

#define AT(member) .offset = offsetof(Trigger, member)
static const Field fields[] = {
    { "id", FIELD_KEY, FIELD_NEEDED, AT(rule.id), .max = TRIGGER_ID_MAX },
    { "name", FIELD_TEXT, FIELD_CONTROL, AT(list.name), .max = LIST_NAME_MAX, .help = "what its mails are addressed to; its id unless said" },
    { "channels", FIELD_LIST, FIELD_NEEDED, AT(list.channels), .count = offsetof(Trigger, list.channel_count),
      .min = 1, .max = LIST_CHANNELS_MAX, .of = &channel,
      .help = "the keys of its channels: a notification takes the first of its type, else the first" },
    { "targets", FIELD_LIST, FIELD_RAW, AT(list.targets), .max = LIST_MEMBERS_MAX, .of = &member,
      .help = "who is told; shown are the first 100" },
    { "targetCount", FIELD_COUNT, FIELD_SHOWN, .help = "how many there are" },
    { "showTargets", FIELD_BOOL, AT(list.shows_targets), .help = "whether a mail tells its readers whom else it goes to" },
    { "retry", FIELD_OBJECT, AT(rule.retry), .given = offsetof(Trigger, rule.has_retry), .inside = &retry_shape,
      .help = "the channel's unless said, else each minute, 10 times" },
    DEFINITION_SHOWN,
};
#undef AT
// clang-format on

const Shape list_shape = {
    "List",
    SHAPE_ROWS(fields),
    .size = sizeof(Trigger),
    .invalid = ERR_LIST_INVALID,
};

Err list_compile(Arena *arena, const Json *source, Trigger *ret, Error *error)
{
    Trigger list = { .rule = rule_default(RULE_NOTIFY, STR_NONE), .enabled = true };
    TRY(fields_read(arena, source, S(""), &list_shape, &list, error));
    list.list.name = content_line(arena, list.list.name.at ? list.list.name : list.rule.id);
    list.template_id = list.rule.id;
    *ret = list;
    return ERR_OK;
}

Err list_parse(Arena *arena, Str body, Trigger *ret, Error *error)
{
    const Json *json;
    TRY(json_parse(arena, body, &json, error));
    return list_compile(arena, json, ret, error);
}

static int by_address(const void *a, const void *b)
{
    const ListMember *const *x = a, *const *y = b;
    int order = str_cmp((*x)->address, (*y)->address);
    return order ? order : *x < *y ? -1 : *x > *y;
}

// drop_twins leaves of those with the same address the first.
static size_t drop_twins(ListMember *members, size_t count)
{
    DEFER(arena_done) Arena scratch = { 0 };
    ListMember **sorted = ARENA_ARRAY(&scratch, ListMember *, count + 1);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        sorted[i] = &members[i];
    qsort(sorted, count, sizeof *sorted, by_address);
    bool *is_twin = ARENA_ARRAY(&scratch, bool, count + 1);
    memset(is_twin, 0, count + 1);
    for (size_t i = 1; i < count; i++)
        is_twin[sorted[i] - members] = str_eq(sorted[i]->address, sorted[i - 1]->address);
    for (size_t i = 0; i < count; i++)
        if (!is_twin[i])
            members[kept++] = members[i];
    return kept;
}

static void read_member(Arena *arena, const Json *source, Str pointer, ListMember *ret,
                        Error *error)
{
    *ret = (ListMember){ .address = STR_NONE };
    if (fields_note(arena, source, pointer, &list_member_shape, ret, error))
        ret->name = content_line(arena, ret->name);
}

Err list_members(Arena *arena, const Json *targets, Str pointer, ListMember **ret,
                 size_t *ret_count, Error *error)
{
    size_t count = json_count(targets);
    if (json_type(targets) != JSON_ARRAY)
        error_add(error, pointer, "bad-type", "must be a list");
    else if (count > LIST_MEMBERS_MAX)
        error_add(error, pointer, "too-large", "may have %d elements, not %zu", LIST_MEMBERS_MAX,
                  count);
    TRY(error_close(error, ERR_LIST_INVALID));
    ListMember *members = ARENA_ARRAY(arena, ListMember, count + 1);
    for (JsonIter it = json_each(targets); json_next(&it);) {
        char place[64];
        int len = snprintf(place, sizeof place, "%.*s/%zu", STR_ARG(pointer), it.index - 1);
        read_member(arena, it.value, (Str){ place, (size_t) len }, &members[it.index - 1], error);
    }
    TRY(error_close(error, ERR_LIST_INVALID));
    *ret = members;
    *ret_count = drop_twins(members, count);
    return ERR_OK;
}
