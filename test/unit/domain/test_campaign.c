#include "domain/campaign.h"

#include "test.h"

static Err read_layout(Arena *arena, const char *names, const char *mapped, CampaignLayout *ret,
                       Error *error)
{
    Str fields[8], roles[CAMPAIGN_ROLES] = { STR_NONE }, rest = str_from(names);
    size_t count = 0;
    while (rest.at)
        fields[count++] = str_cut(&rest, ',');
    rest = str_from(mapped);
    for (CampaignRole role = 0; role < CAMPAIGN_ROLES && rest.at; role++)
        roles[role] = str_cut(&rest, ',');
    return campaign_layout(arena, fields, count, roles, ret, error);
}

static void columns_have_roles(void)
{
    static const struct {
        const char *names, *mapped;
        int at[CAMPAIGN_ROLES];
        const char *problem; // NULL: there is none
    } cases[] = {
        { "address", "", { 0, -1, -1 } },
        { "name,customerRef,locale,address", "", { 3, 2, 1 } },
        { "phone,address", "phone", { 0, -1, -1 } },
        { "address,lang,id", ",lang,id", { 0, 1, 2 } },
        { "Address",
          "",
          { 0 },
          "the first line must name a column address, or map.address another" },
        { "address", "phone", { 0 }, "there is no column phone, which map.address names" },
        { "address", ",lang", { 0 }, "there is no column lang, which map.locale names" },
        { "address,a,a", "", { 0 }, "two columns have the name a" },
        { "address,",
          "",
          { 0 },
          "a column's name must have 1 to 200 bytes and no control characters" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        CampaignLayout layout = { 0 }, again = { 0 };
        Err err = read_layout(&arena, cases[i].names, cases[i].mapped, &layout, &error);
        CHECK_AT(cases[i].names, (err == ERR_OK) == !cases[i].problem);
        if (err != ERR_OK) {
            CHECK_AT(cases[i].names, err == ERR_INVALID && error.count == 1);
            CHECK_AT(cases[i].problem,
                     str_eq(error.problems[0].message, str_from(cases[i].problem)));
            continue;
        }
        layout.delimiter = ';';
        Str text = campaign_layout_text(&arena, &layout);
        CHECK(campaign_layout_parse(&arena, text, &again, &error) == ERR_OK);
        CHECK_AT(cases[i].names, memcmp(layout.at, cases[i].at, sizeof layout.at) == 0);
        CHECK_AT(cases[i].names, memcmp(again.at, cases[i].at, sizeof again.at) == 0);
        CHECK(again.delimiter == ';' && again.count == layout.count);
    }
}

static void a_row_is_an_event(void)
{
    static const struct {
        const char *row, *recipient, *payload;
        const char *problem; // NULL: there is none
    } cases[] = {
        { "+1,en,c1,Ann", "{\"address\":\"+1\",\"locale\":\"en\",\"customerRef\":\"c1\"}",
          "{\"name\":\"Ann\"}" },
        { "+1,,,", "{\"address\":\"+1\"}", "{\"name\":\"\"}" },
        { "+1,,,a\"b", "{\"address\":\"+1\"}", "{\"name\":\"a\\\"b\"}" },
        { ",en,c1,Ann", NULL, NULL, "it has no address" },
        { "+1,en,c1", NULL, NULL, "it has 3 columns, and the first line 4" },
        { "+1,en,c1,a,b", NULL, NULL, "it has 5 columns, and the first line 4" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        CampaignLayout layout;
        Trigger rule = { .event_kind = S("visit"), .rule.id = S("csi:gr") };
        Event event = { 0 }, again = { 0 };
        Str fields[8], rest = str_from(cases[i].row);
        size_t count = 0;
        while (rest.at)
            fields[count++] = str_cut(&rest, ',');
        CHECK(read_layout(&arena, "address,locale,customerRef,name", "", &layout, &error) ==
              ERR_OK);
        Err err = campaign_event(&arena, &layout, fields, count, &rule, &event, &error);
        CHECK_AT(cases[i].row, (err == ERR_OK) == !cases[i].problem);
        if (err != ERR_OK) {
            CHECK_AT(error.detail, strcmp(error.detail, cases[i].problem) == 0);
            continue;
        }
        CHECK_AT(cases[i].row, str_eq(event.recipient, str_from(cases[i].recipient)));
        CHECK_AT(cases[i].row, str_eq(event.payload, str_from(cases[i].payload)));
        CHECK(str_eq(event.kind, S("visit")) && str_eq(event.source, S("campaign")));
        // It is the same for the same trigger only; a recipe says it instead.
        CHECK(campaign_event(&arena, &layout, fields, count, &rule, &again, &error) == ERR_OK);
        CHECK(event.identity.len == 64 && str_eq(event.identity, again.identity));
        rule.rule.id = S("csi:other");
        CHECK(campaign_event(&arena, &layout, fields, count, &rule, &again, &error) == ERR_OK);
        CHECK(!str_eq(event.identity, again.identity));
        rule.dedup_count = 1;
        CHECK(campaign_event(&arena, &layout, fields, count, &rule, &again, &error) == ERR_OK);
        CHECK(again.identity.len == 0);
    }
}

static void what_no_event_may_hold_is_told(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    CampaignLayout layout;
    Trigger rule = { .event_kind = S("visit") };
    Event event;
    char *wide = arena_alloc(&arena, EVENT_ADDRESS_MAX + 1);
    memset(wide, 'x', EVENT_ADDRESS_MAX + 1);
    Str fields[] = { { wide, EVENT_ADDRESS_MAX + 1 } };
    CHECK(read_layout(&arena, "address", "", &layout, &error) == ERR_OK);
    Err err = campaign_event(&arena, &layout, fields, 1, &rule, &event, &error);
    CHECK(err == ERR_EVENT_INVALID);
    CHECK_AT(error.detail, str_starts(str_from(error.detail), S("/recipient/address ")));
}

static void rows_are_counted_as_they_come(void)
{
    static const struct {
        const char *text;
        int64_t rows;
    } cases[] = {
        { "", 0 },          { "a", 1 },           { "a\nb", 2 },         { "a\r\nb\r\n", 2 },
        { "\n\n  \na", 1 }, { "\"a\nb\"\nc", 2 }, { "\"a\"\"\nb\"", 1 }, { "a\rb\rc", 3 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Str text = str_from(cases[i].text);
        for (size_t cut = 0; cut <= text.len; cut++) {
            CampaignCount count = { 0 };
            campaign_count(&count, (Str){ text.at, cut });
            campaign_count(&count, str_skip(text, cut));
            CHECK_AT(cases[i].text, campaign_counted(&count) == cases[i].rows);
        }
    }
}

static const Test tests[] = {
    TEST(columns_have_roles),
    TEST(a_row_is_an_event),
    TEST(what_no_event_may_hold_is_told),
    TEST(rows_are_counted_as_they_come),
};

TEST_MAIN(tests)
