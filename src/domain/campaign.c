#include "domain/campaign.h"

#include "domain/dedup.h"

#define CAMPAIGN_SOURCE S("campaign")
#define CAMPAIGN_KIND S("campaign") // where the trigger listens to none

const char *const campaign_role_words[CAMPAIGN_ROLES] = {
    [CAMPAIGN_ADDRESS] = "address",
    [CAMPAIGN_LOCALE] = "locale",
    [CAMPAIGN_CUSTOMER_REF] = "customerRef",
};

static int find(const Str *names, size_t count, Str name)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(names[i], name))
            return (int) i;
    return CAMPAIGN_NOBODY;
}

static void check_names(Arena *arena, const Str *names, size_t count, Error *error)
{
    for (size_t i = 0; i < count; i++) {
        Str place = str_format(arena, "/columns/%zu", i);
        if (names[i].len == 0 || names[i].len > CAMPAIGN_COLUMN_MAX || !str_is_printable(names[i]))
            error_add(error, place, "bad-value",
                      "a column's name must have 1 to %d bytes and no control characters",
                      CAMPAIGN_COLUMN_MAX);
        else if (find(names, i, names[i]) != CAMPAIGN_NOBODY)
            error_add(error, place, "duplicate", "two columns have the name %.*s",
                      STR_ARG(names[i]));
    }
}

static void check_role(CampaignRole role, Str mapped, int at, Error *error)
{
    const char *word = campaign_role_words[role];
    if (at != CAMPAIGN_NOBODY)
        return;
    if (mapped.len > 0)
        error_add(error, S("/columns"), "unknown", "there is no column %.*s, which map.%s names",
                  STR_ARG(mapped), word);
    else if (role == CAMPAIGN_ADDRESS)
        error_add(error, S("/columns"), "missing",
                  "the first line must name a column %s, or map.%s another", word, word);
}

Err campaign_layout(Arena *arena, const Str *names, size_t count, const Str mapped[CAMPAIGN_ROLES],
                    CampaignLayout *ret, Error *error)
{
    Error own = { 0 }, *noted = error ? error : &own;
    Str *kept = ARENA_ARRAY(arena, Str, count + 1);
    CampaignLayout layout = { .names = kept, .count = count };
    for (size_t i = 0; i < count; i++)
        kept[i] = str_dup(arena, names[i]);
    check_names(arena, names, count, noted);
    for (CampaignRole role = 0; role < CAMPAIGN_ROLES; role++) {
        Str name = mapped[role].len > 0 ? mapped[role] : str_from(campaign_role_words[role]);
        layout.at[role] = find(names, count, name);
        check_role(role, mapped[role], layout.at[role], noted);
    }
    TRY(error_close(noted, ERR_INVALID));
    *ret = layout;
    return ERR_OK;
}

Str campaign_layout_text(Arena *arena, const CampaignLayout *layout)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_str(&out, S("delimiter"), (Str){ &layout->delimiter, 1 });
    json_key(&out, S("names"));
    json_open(&out, '[');
    for (size_t i = 0; i < layout->count; i++)
        json_add_str(&out, layout->names[i]);
    json_close(&out, ']');
    for (CampaignRole role = 0; role < CAMPAIGN_ROLES; role++)
        if (layout->at[role] != CAMPAIGN_NOBODY)
            json_put_str(&out, str_from(campaign_role_words[role]),
                         layout->names[layout->at[role]]);
    json_close(&out, '}');
    return buf_str(&text);
}

Err campaign_layout_parse(Arena *arena, Str text, CampaignLayout *ret, Error *error)
{
    const Json *json;
    Str mapped[CAMPAIGN_ROLES];
    TRY(json_parse(arena, text, &json, error));
    const Json *list = json_get(json, S("names"));
    Str *names = ARENA_ARRAY(arena, Str, json_count(list) + 1);
    size_t count = 0;
    for (JsonIter it = json_each(list); json_next(&it);)
        names[count++] = json_str(it.value);
    for (CampaignRole role = 0; role < CAMPAIGN_ROLES; role++)
        mapped[role] = json_str(json_get(json, str_from(campaign_role_words[role])));
    TRY(campaign_layout(arena, names, count, mapped, ret, error));
    Str delimiter = json_str(json_get(json, S("delimiter")));
    if (delimiter.len != 1)
        return fail(error, ERR_CORRUPT, "a campaign's layout has no delimiter");
    ret->delimiter = delimiter.at[0];
    for (CampaignRole role = 0; role < CAMPAIGN_ROLES; role++)
        if (!mapped[role].at) // a column of its name is a payload's: another was mapped
            ret->at[role] = CAMPAIGN_NOBODY;
    return ERR_OK;
}

static bool has_role(const CampaignLayout *layout, size_t column)
{
    for (CampaignRole role = 0; role < CAMPAIGN_ROLES; role++)
        if (layout->at[role] == (int) column)
            return true;
    return false;
}

// item_of is the row as an item of a batch would say it.
static Err item_of(Arena *arena, const CampaignLayout *layout, const Str *fields, const Json **ret,
                   Error *error)
{
    DEFER(buf_done) Buf text = buf_new(NULL, BUF_WHOLE); // the JSON is a copy
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_key(&out, S("recipient"));
    json_open(&out, '{');
    for (CampaignRole role = 0; role < CAMPAIGN_ROLES; role++)
        if (layout->at[role] != CAMPAIGN_NOBODY && fields[layout->at[role]].len > 0)
            json_put_str(&out, str_from(campaign_role_words[role]), fields[layout->at[role]]);
    json_close(&out, '}');
    json_key(&out, S("payload"));
    json_open(&out, '{');
    for (size_t i = 0; i < layout->count; i++)
        if (!has_role(layout, i))
            json_put_str(&out, layout->names[i], fields[i]);
    json_close(&out, '}');
    json_close(&out, '}');
    return json_parse(arena, buf_str(&text), ret, error);
}

// identity_of is of the row's content, with the names of its columns.
static Str identity_of(Arena *arena, const Trigger *rule, const Event *event)
{
    Str parts[] = { rule->rule.id, event->recipient, event->payload };
    Sha256 hash = dedup_parts(arena, parts, ARRAY_LEN(parts));
    return hex_text(arena, &hash, sizeof hash);
}

// say_all puts the problems into the detail, which is all that is kept of a row.
static Err say_all(Arena *arena, Err err, Error *error)
{
    Buf text = buf_new(arena, ERROR_DETAIL_MAX - 1);
    for (size_t i = 0; i < error->count && i < ERROR_PROBLEMS_MAX; i++)
        buf_add_format(&text, "%s%.*s %.*s", i > 0 ? "; " : "", STR_ARG(error->problems[i].path),
                       STR_ARG(error->problems[i].message));
    return text.len > 0 ? fail(error, err, "%.*s", STR_ARG(buf_str(&text))) : err;
}

Err campaign_event(Arena *arena, const CampaignLayout *layout, const Str *fields, size_t count,
                   const Trigger *rule, Event *ret, Error *error)
{
    const Json *item;
    Str kind = rule->event_kind.len > 0 ? rule->event_kind : CAMPAIGN_KIND;
    if (count != layout->count)
        return fail(error, ERR_EVENT_INVALID, "it has %zu columns, and the first line %zu", count,
                    layout->count);
    if (fields[layout->at[CAMPAIGN_ADDRESS]].len == 0)
        return fail(error, ERR_EVENT_INVALID, "it has no address");
    TRY(item_of(arena, layout, fields, &item, error));
    Err err = event_build_item(arena, kind, item, ret, error);
    if (err != ERR_OK)
        return say_all(arena, err, error);
    ret->source = CAMPAIGN_SOURCE;
    if (rule->dedup_count == 0)
        ret->identity = identity_of(arena, rule, ret);
    return ERR_OK;
}

void campaign_count(CampaignCount *count, Str piece)
{
    for (size_t i = 0; i < piece.len; i++) {
        char c = piece.at[i];
        bool is_end = (c == '\n' || c == '\r') && !count->is_quoted;
        count->rows += is_end && count->is_begun;
        count->is_begun = !is_end && (count->is_begun || c != ' ');
        count->is_quoted ^= c == '"';
    }
}

int64_t campaign_counted(const CampaignCount *count)
{
    return count->rows + count->is_begun;
}
