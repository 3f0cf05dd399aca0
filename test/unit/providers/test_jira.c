#include "parsed.h"

// The example of Atlassian's own page on signatures.
static void the_published_signature_holds(void)
{
    static const struct {
        const char *header;
        HookVerdict verdict;
    } rows[] = {
        { "sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9",
          HOOK_VERIFIED },
        { "sha512=bbfa6773bc306551cb4fd3b0fb0e5b65c352a188cdc4f8a3a3d54a67404605472ec97defc7610b13"
          "16f2d4906ac5454676b17fc01d64935a4fda65d20e0d4821",
          HOOK_VERIFIED },
        { "sha512=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9",
          HOOK_MALFORMED },
        { "a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9", HOOK_MALFORMED },
        { "sha1=d3b2d2c6c5bd4a8b8a5b1d8a3f0a8c6b9bd4f6b1", HOOK_MALFORMED },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        HookTrust trust = trust_in("It's a Secret to Everybody");
        Str header = str_format(&arena, "x-hub-signature: %s", rows[i].header);
        Hook hook = hook_lines(&arena, header.at, S("Hello World!"));
        HookVerdict verdict = provider_of(PROVIDER_JIRA)->verify(&arena, &hook, &trust);
        CHECK_AT(rows[i].header, verdict == rows[i].verdict);
    }
}

static void issues_comments_and_others_are_read(void)
{
    static const ParsedRow rows[] = {
        { "x-atlassian-webhook-identifier: w1",
          "{'timestamp':1525698237764,'webhookEvent':'jira:issue_updated','issue_event_type_name':"
          "'issue_generic','user':{'accountId':'99:27935d01','displayName':'Mia'},'issue':{'id':"
          "'10002','self':'https://x.atlassian.net/rest/api/2/issue/10002','key':'WEB-7','fields':"
          "{'summary':'The page is blank','issuetype':{'name':'Bug'},'status':{'name':'Done'},"
          "'priority':null,'labels':['ui','web'],'project':{'key':'WEB','name':'Web'},'assignee':"
          "null}},'changelog':{'id':'1','items':[{'field':'status','fromString':'To Do',"
          "'toString':'Done'}]}}",
          NULL, "jira.event", "jira:issue_updated", "jira:10002:jira:issue_updated:1525698237764",
          "The page is blank", "https://x.atlassian.net/browse/WEB-7", "WEB-7",
          "2018-05-07T13:03:57.764Z",
          "{'event':'jira:issue_updated','issueEvent':'issue_generic','key':'WEB-7','id':'10002',"
          "'summary':'The page is blank','issueType':'Bug','status':'Done','labels':['ui','web'],"
          "'projectName':'Web','user':'Mia','userId':'99:27935d01','changed':['status'],"
          "'changedTo':['Done'],'project':'WEB'}" },
        // A comment may come without its issue.
        { "x-atlassian-webhook-identifier: w2",
          "{'timestamp':1525698237764,'webhookEvent':'comment_created','comment':{'id':'5','self':"
          "'https://x/rest/api/2/comment/5','body':'Me too','author':{'displayName':'Mia'}}}",
          NULL, "jira.event", "comment_created", "jira:5:comment_created:1525698237764", "Me too",
          NULL, "5", "2018-05-07T13:03:57.764Z", NULL },
        // Without its time it is known by the sending, and the issue says when.
        { "x-atlassian-webhook-identifier: w3",
          "{'webhookEvent':'jira:issue_created','issue':{'id':'1','key':'A-1','self':"
          "'ftp://x/y','fields':{'summary':'S','updated':'2017-01-30T18:32:14.716+0100'}}}",
          NULL, "jira.event", "jira:issue_created", "jira:w3", "S", NULL, "A-1",
          "2017-01-30T17:32:14.716Z", NULL },
        { NULL,
          "{'timestamp':1525698237764,'webhookEvent':'sprint_started','sprint':{'id':7,"
          "'name':'Sprint 7'}}",
          NULL, "jira.event", "sprint_started", "jira:7:sprint_started:1525698237764", "Sprint 7",
          NULL, "7", "2018-05-07T13:03:57.764Z", "{'event':'sprint_started'}" },
    };
    check_parsed(PROVIDER_JIRA, rows, ARRAY_LEN(rows));
}

static void a_key_that_is_no_key_makes_no_url(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    ProviderRead read = { 0 };
    Hook hook = hook_lines(
        &arena, NULL,
        quoted(&arena, "{'webhookEvent':'x','issue':{'key':'../A','self':'https://x/y'}}"));
    CHECK(provider_of(PROVIDER_JIRA)->parse(&arena, &hook, &read, NULL) == ERR_OK);
    CHECK(read.count == 1 && !read.events[0].url.at);
}

static void what_is_not_jiras_is_refused(void)
{
    static const char *const bodies[] = {
        "", "{", "[]", "null", "{'webhookEvent':7}", "{'issue':{'key':'HOSTILE'}}"
    };
    check_refused(PROVIDER_JIRA, bodies, ARRAY_LEN(bodies));
}

static const Test tests[] = {
    TEST(the_published_signature_holds),
    TEST(issues_comments_and_others_are_read),
    TEST(a_key_that_is_no_key_makes_no_url),
    TEST(what_is_not_jiras_is_refused),
};
TEST_MAIN(tests)
