#include "domain/event.h"

#include "base/time.h"
#include "documents.h"

static void an_event_is_read_whole(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    Event event = { 0 };
    const Json *body = document(
        &arena, "{'kind':'order.paid','id':'o-1','source':'shop','occurredAt':"
                "'2026-05-14T05:12:34Z','entity':'booking:12345','correlationId':'c-1',"
                "'payload':{ 'a' : [1, 2.50] },'recipient':{'address':'+964','x':[true]}}");
    CHECK(event_build(&arena, body, &event, &error) == ERR_OK);
    CHECK(is_text(event.kind, "order.paid") && is_text(event.identity, "o-1"));
    CHECK(is_text(event.source, "shop") && is_text(event.entity, "booking:12345"));
    CHECK(is_text(event.correlation_id, "c-1"));
    CHECK(event.occurred_at == (Instant) 1778735554 * SPAN_SECOND);
    CHECK(is_text(event.payload, "{\"a\":[1,2.50]}"));
    CHECK(is_text(event.recipient, "{\"address\":\"+964\",\"x\":[true]}"));
    CHECK(json_get(event.payload_json, S("a")) && json_get(event.recipient_json, S("x")));
}

static void only_the_kind_is_needed(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    Event event = { 0 };
    const Json *body = document(&arena, "{'kind':'k','id':null,'payload':null,'recipient':null}");
    CHECK(event_build(&arena, body, &event, &error) == ERR_OK);
    CHECK(is_text(event.source, "api") && is_text(event.payload, "{}"));
    CHECK(json_type(event.payload_json) == JSON_OBJECT && !event.recipient_json);
    CHECK(!event.recipient.at && !event.identity.at && !event.entity.at);
    CHECK(!event.correlation_id.at && event.occurred_at == INSTANT_NONE);
    CHECK(event_build(&arena, body, &event, NULL) == ERR_OK);
}

static void a_bad_event_is_refused_with_its_place(void)
{
    static const struct {
        const char *source, *path, *code;
    } cases[] = {
        { "[]", "", "bad-type" },
        { "{}", "/kind", "missing-member" },
        { "{'kind':''}", "/kind", "bad-value" },
        { "{'kind':7}", "/kind", "bad-type" },
        { "{'kind':'k','kid':'k'}", "/kid", "unknown-member" },
        { "{'kind':'k','eventKind':'k'}", "/eventKind", "unknown-member" },
        { "{'kind':'k','payload':[]}", "/payload", "bad-type" },
        { "{'kind':'k','payload':'{}'}", "/payload", "bad-type" },
        { "{'kind':'k','recipient':'+964'}", "/recipient", "bad-type" },
        { "{'kind':'k','recipient':{'address':true}}", "/recipient/address", "bad-type" },
        { "{'kind':'k','recipient':{'address':''}}", "/recipient/address", "bad-value" },
        { "{'kind':'k','recipient':{'address':'a\\nb'}}", "/recipient/address", "bad-value" },
        { "{'kind':'k','recipient':{'locale':5}}", "/recipient/locale", "bad-type" },
        { "{'kind':'k','recipient':{'customerRef':{}}}", "/recipient/customerRef", "bad-type" },
        { "{'kind':'k','occurredAt':'today'}", "/occurredAt", "bad-time" },
        { "{'kind':'k','occurredAt':1778735554}", "/occurredAt", "bad-type" },
        { "{'kind':'k','entity':12345}", "/entity", "bad-type" },
        { "{'kind':'k','id':''}", "/id", "bad-value" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        Event event = { .tenant = 7 };
        const Json *body = document(&arena, cases[i].source);
        CHECK_AT(cases[i].source, event_build(&arena, body, &event, &error) == ERR_EVENT_INVALID);
        CHECK_AT(cases[i].source, error.err == ERR_EVENT_INVALID && error.count == 1);
        CHECK_AT(cases[i].source, has_problem(&error, cases[i].path, cases[i].code));
        CHECK_AT(cases[i].source, event.tenant == 7);
        CHECK_AT(cases[i].source, event_build(&arena, body, &event, NULL) == ERR_EVENT_INVALID);
    }
}

static void texts_have_limits(void)
{
    static const struct {
        const char *format;
        int max;
        const char *path;
    } cases[] = {
        { "{'kind':'%s'}", EVENT_KIND_MAX, "/kind" },
        { "{'kind':'k','source':'%s'}", EVENT_SOURCE_MAX, "/source" },
        { "{'kind':'k','id':'%s'}", EVENT_IDENTITY_MAX, "/id" },
        { "{'kind':'k','entity':'%s'}", EVENT_ENTITY_MAX, "/entity" },
        { "{'kind':'k','correlationId':'%s'}", EVENT_CORRELATION_MAX, "/correlationId" },
        { "{'kind':'k','recipient':{'address':'%s'}}", EVENT_ADDRESS_MAX, "/recipient/address" },
        { "{'kind':'k','recipient':{'locale':'%s'}}", EVENT_ADDRESS_MAX, "/recipient/locale" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        for (int over = 0; over <= 1; over++) {
            Buf source = buf_new(&arena, 5000);
            const char *mark = strstr(cases[i].format, "%s");
            buf_add_bytes(&source, cases[i].format, (size_t) (mark - cases[i].format));
            for (int j = 0; j < cases[i].max + over; j++)
                buf_add_char(&source, 'a');
            buf_add(&source, str_from(mark + 2));
            Error error = { .arena = &arena };
            Event event;
            const Json *body = document(&arena, str_z(&arena, buf_str(&source)));
            Err err = event_build(&arena, body, &event, &error);
            CHECK_AT(cases[i].path, (err == ERR_OK) == (over == 0));
            CHECK_AT(cases[i].path, !over || has_problem(&error, cases[i].path, "too-large"));
        }
    }
}

static void an_item_takes_the_kind_of_its_batch(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    Event event = { 0 };
    const Json *item =
        document(&arena, "{'payload':{'wip':'1'},'recipient':{'address':7},'id':'i','entity':'e'}");
    CHECK(event_build_item(&arena, S("closed"), item, &event, &error) == ERR_OK);
    CHECK(is_text(event.kind, "closed") && is_text(event.source, "ingest"));
    CHECK(is_text(event.identity, "i") && is_text(event.entity, "e"));
    CHECK(is_text(event_text_at(&arena, &event, STR_NONE, S("recipient.address")), "7"));

    static const char *const bad[] = { "{'kind':'k','payload':{}}", "{'source':'s'}", "7",
                                       "{'payload':[]}" };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK_AT(bad[i], event_build_item(&arena, S("closed"), document(&arena, bad[i]), &event,
                                          &error) == ERR_EVENT_INVALID);
    // One bad item fails alone, even when the error is used again.
    CHECK(event_build_item(&arena, S("closed"), item, &event, &error) == ERR_OK);
    CHECK(event_build_item(&arena, S(""), item, &event, &error) == ERR_EVENT_INVALID);
    CHECK(event_build_item(&arena, S("a\nb"), item, &event, NULL) == ERR_EVENT_INVALID);
}

static const struct {
    const char *path;
    const char *expect; // its JSON; NULL: not there
} paths[] = {
    { "templateId", "\"4523\"" },
    { "templateId.x", NULL },
    { "candidate.wip", "\"1\"" },
    { "payload.wip", "\"1\"" },
    { "wip", "\"1\"" },
    { "n.a.b.0", "10" },
    { "candidate.n.a.b.1.c", "\"x\"" },
    { "n.a.b", "[10,{\"c\":\"x\"}]" },
    { "n.a.b.2", NULL },
    { "n.a.b.-1", NULL },
    { "n.a.b.00", NULL },
    { "n.a.b.x", NULL },
    { "n.a.b.99999999999999999999", NULL },
    { "l.0.1", "2" },
    { "l.1.0", "3" },
    { "l.1.1", NULL },
    { "many.9", "9" },
    { "many.10", "10" },
    { "many.:", NULL },
    { "1", "\"one\"" },
    { "null", "null" },
    { "null.x", NULL },
    { "wip.x", NULL },
    { "absent", NULL },
    { "a.b", "\"dotted\"" },
    { "a.c", NULL },
    { "a.bc", NULL },
    { "a.b.c", NULL },
    { "candidate.a.b", "\"dotted\"" },
    { "p.q.r.s", "\"deep\"" },
    { "p.q.r", "{\"s\":\"deep\"}" },
    { "p.q", NULL },
    { "x.y", "\"nested\"" },
    { "x.z", "\"only flat\"" },
    { "m.n.o", "\"1\"" },
    { "m.n.p", NULL },
    { "recipient.address", "\"+964\"" },
    { "recipient.prefs.sms", "true" },
    { "recipient.wip", NULL },
    { "candidate.recipient.address", "\"shadowed\"" },
    { "event.kind", "\"visit-closed\"" },
    { "candidate.event.kind", "\"shadowed\"" },
    { "event.source", "\"api\"" },
    { "event.entity", "\"booking:1\"" },
    { "event.correlationId", NULL },
    { "event.occurredAt", NULL },
    { "event.receivedAt", "\"2026-05-14T05:12:34.000Z\"" },
    { "event.id", "\"0197a3c4-0000-7000-8000-000000000001\"" },
    { "event.payload", NULL },
    { "event", NULL },
};

static void a_path_leads_to_its_value(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Event event = event_of(
        &arena,
        document(&arena,
                 "{'recipient':{'address':'+964','prefs':{'sms':true}},'payload':{"
                 "'wip':'1','n':{'a':{'b':[10,{'c':'x'}]}},'null':null,'a.b':'dotted',"
                 "'p':{'q.r':{'s':'deep'}},'x':{'y':'nested'},'x.y':'flat','x.z':'only flat',"
                 "'m.n':{'o':'1'},'m.n.o':'2','event':{'kind':'shadowed'},'templateId':'p',"
                 "'recipient':{'address':'shadowed'},'l':[[1,2],[3]],'':'empty','1':'one','many':["
                 "0,1,2,3,4,5,6,7,8,9,10]}}"));
    event.entity = S("booking:1");
    event.received_at = (Instant) 1778735554 * SPAN_SECOND;
    CHECK(uuid_parse(S("0197a3c4-0000-7000-8000-000000000001"), &event.id));

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        Found found = event_find(&event, S("4523"), str_from(paths[i].path));
        CHECK_AT(paths[i].path, (found.type == JSON_ABSENT) == !paths[i].expect);
        if (!paths[i].expect)
            continue;
        Buf text = buf_new(&arena, 1000);
        JsonOut out = json_out(&text);
        if (found.json)
            json_write(&text, found.json, false);
        else
            json_add_str(&out, found_str(&found));
        CHECK_AT(paths[i].path, is_text(buf_str(&text), paths[i].expect));
        CHECK_AT(paths[i].path, !found.json || found.type == json_type(found.json));
    }
    CHECK(event_find(&event, S(""), S("candidate")).type == JSON_OBJECT);
    CHECK(event_find(&event, S(""), S("recipient")).type == JSON_OBJECT);
    CHECK(event_find(&event, STR_NONE, S("templateId")).type == JSON_ABSENT);
    event.id = (Uuid){ 0 };
    CHECK(event_find(&event, STR_NONE, S("event.id")).type == JSON_ABSENT);
}

static void a_text_is_a_string_or_a_number(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Event event =
        event_of(&arena, document(&arena, "{'payload':{'s':'x','n':1.50,'b':true,'o':{},'e':''}}"));
    event.occurred_at = 0;
    static const struct {
        const char *path, *expect;
    } cases[] = {
        { "s", "x" },          { "n", "1.50" },
        { "b", NULL },         { "o", NULL },
        { "absent", NULL },    { "e", "" },
        { "templateId", "t" }, { "event.occurredAt", "1970-01-01T00:00:00.000Z" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Str text = event_text_at(&arena, &event, S("t"), str_from(cases[i].path));
        if (cases[i].expect)
            CHECK_AT(cases[i].path, is_text(text, cases[i].expect));
        else
            CHECK_AT(cases[i].path, !text.at);
    }
    Found found = event_find(&event, S("t"), S("n"));
    CHECK(!found_str(&found).at);
}

static const Test tests[] = {
    TEST(an_event_is_read_whole),
    TEST(only_the_kind_is_needed),
    TEST(a_bad_event_is_refused_with_its_place),
    TEST(texts_have_limits),
    TEST(an_item_takes_the_kind_of_its_batch),
    TEST(a_path_leads_to_its_value),
    TEST(a_text_is_a_string_or_a_number),
};
TEST_MAIN(tests)
