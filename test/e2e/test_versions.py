"""What definitions said before, what a draft would say, and what lists may be asked for."""
import base64

from harness import equal, like, main
from steps import make_channel, make_tenant, make_trigger

SECRET, NEXT = ("whsec_" + base64.b64encode(byte * 32).decode() for byte in (b"a", b"b"))


def bodies():
    """A body of each kind, with the member that is changed and its next value."""
    return {
        "channels": ({"key": "http:own", "type": "http", "config": {"url": "https://one.example/"}},
                     {"config": {"url": "https://two.example/"}}),
        "lists": ({"id": "own", "channels": ["memory:default"], "name": "one"}, {"name": "two"}),
        "templates": ({"id": "own", "eventType": "none", "channel": "memory:default", "body": "one"}, {"body": "two"}),
        "integrations": ({"id": "own", "provider": "linear", "enabled": True}, {"enabled": False}),
        "automations": ({"id": "own", "handler": "memory:default", "name": "one"}, {"name": "two"}),
        "triggers": ({"id": "own", "eventKind": "one", "channel": "memory:default"}, {"eventKind": "two"}),
        "sources": ({"id": "own", "provider": "github", "enabled": True}, {"enabled": False}),
        "jobs": ({"name": "own", "handler": "memory:default", "cron": "0 1 * * *"}, {"cron": "0 2 * * *"}),
        "surveys": ({"id": "own", "title": {"en": "one"}, "questions": [{"id": "q", "type": "text", "text": {"en": "?"}}]},
                    {"title": {"en": "two"}}),
    }


def path_of(kind):
    return f"/v1/{kind}/{'http:own' if kind == 'channels' else 'own'}/{'drafts' if kind == 'surveys' else 'versions'}"


def test_every_kind_keeps_what_it_said(ctx):
    peal = ctx.peal
    for kind, (body, change) in bodies().items():
        peal.post(f"/v1/{kind}", body, expect=201)
        path = path_of(kind)
        peal.patch(path.rsplit("/", 1)[0], change, expect=200)
        items = peal.get(path, expect=200).json["items"]
        equal([item["version"] for item in items], [2, 1], kind)
        assert all(item["actor"] for item in items), kind
        [member] = change
        equal(peal.get(f"{path}/1", expect=200).json["definition"][member], body[member], kind)
        equal(peal.get(f"{path}/2", expect=200).json["definition"][member], change[member], kind)
        peal.get(f"{path}/3", expect=404)
        peal.get(f"{path}/one", expect=404)
        peal.delete(path.rsplit("/", 1)[0], expect=204)
        assert len(peal.get(path, expect=200).json["items"]) >= 2, f"{kind}: what was deleted is still told"
        peal.get(path.replace("own", "never"), expect=404)


def test_versions_come_in_pages_and_name_whoever_saved_them(ctx):
    author = ctx.peal
    make_trigger(author, "own")
    for n in range(3):
        author.patch("/v1/triggers/own", {"eventKind": f"k{n}"}, expect=200)
    first = author.get("/v1/triggers/own/versions?limit=3", expect=200).json
    equal([item["version"] for item in first["items"]], [4, 3, 2])
    rest = author.get(f"/v1/triggers/own/versions?limit=3&cursor={first['next']}", expect=200).json
    equal([item["version"] for item in rest["items"]], [1])
    equal(rest["next"], None)
    actors = {item["actor"] for item in first["items"]}
    keys = {key["id"] for key in ctx.peal.get("/v1/keys", expect=200).json["items"]}
    assert actors <= keys, (actors, keys)


def test_no_version_shows_a_secret(ctx):
    peal = ctx.peal
    body = {"key": "http:own", "type": "http",
            "config": {"url": "https://one.example/", "signingSecret": SECRET}}
    peal.post("/v1/channels", body, expect=201)
    peal.post("/v1/channels/http:own/rotate", {"secret": "signingSecret", "value": NEXT}, expect=200)
    for version in (1, 2):
        shown = peal.get(f"/v1/channels/http:own/versions/{version}", expect=200)
        assert "whsec" not in shown.text and "sealed" not in shown.text, shown.text
        equal(shown.json["definition"]["config"]["signingSecret"]["set"], True)


def test_what_was_applied_says_from_where(ctx):
    definition = {"kind": "trigger", "id": "own", "eventKind": "one", "channel": "memory:default"}
    ctx.peal.post("/v1/apply", {"origin": "shop", "definitions": [definition]}, expect=200)
    ctx.peal.patch("/v1/triggers/own", {"eventKind": "two"}, expect=200)
    [second, first] = ctx.peal.get("/v1/triggers/own/versions", expect=200).json["items"]
    equal(first["origin"]["set"], "shop")
    assert "origin" not in second, second


def test_another_tenant_has_no_versions(ctx):
    make_trigger(ctx.peal, "own")
    acme = make_tenant(ctx.peal, "acme")
    acme.get("/v1/triggers/own/versions", expect=404)
    acme.get("/v1/triggers/own/versions/1", expect=404)


def test_the_command_lists_and_shows_versions(ctx):
    make_trigger(ctx.peal, "own")
    ctx.peal.patch("/v1/triggers/own", {"eventKind": "two"}, expect=200)
    listed = ctx.peal.cli("triggers", "versions", "own")
    assert [line.split()[0] for line in listed.out.splitlines()] == ["VERSION", "2", "1"], listed.out
    assert '"two"' in ctx.peal.cli("triggers", "versions", "own", "2", "--json").out


def test_a_draft_is_rendered_as_a_template_is(ctx):
    draft = {"eventType": "none", "channel": "memory:default", "subject": "For {{name}}", "body": "Hello {{name}} {{lost}}"}
    body = {"template": draft, "data": {"name": "Ada"}}
    shown = ctx.peal.post("/v1/templates/preview", body, expect=200).json
    ctx.peal.post("/v1/templates", {"id": "own", **draft}, expect=201)
    equal(shown, ctx.peal.post("/v1/templates/own/preview", {"data": {"name": "Ada"}}, expect=200).json)
    like(shown, {"subject": "For Ada", "body": "Hello Ada ", "warnings": [{"placeholder": "lost"}]})
    equal(len(ctx.peal.get("/v1/templates", expect=200).json["items"]), 1, "nothing was saved by it")
    event = ctx.peal.post("/v1/events", {"kind": "none", "payload": {"name": "Bo"}}, expect=202).json["eventId"]
    equal(ctx.peal.post("/v1/templates/preview", {"template": draft, "eventId": event}, expect=200).json["subject"], "For Bo")


def test_a_draft_that_is_wrong_says_where(ctx):
    body = {"template": {"eventType": "none", "channel": "memory:default", "body": "Hello {{name"}, "data": {}}
    problem = ctx.peal.post("/v1/templates/preview", body, expect=422).json
    assert problem["errors"], problem
    ctx.peal.post("/v1/templates/preview", {"data": {}}, expect=422)
    ctx.peal.post("/v1/templates/preview", {"template": {"eventType": "none", "channel": "memory:default", "body": "x"}}, expect=422)


SURVEY = {"id": "own", "languages": ["en", "ar"], "title": {"en": "One <b>", "ar": "واحد"},
          "questions": [{"id": "q", "type": "text", "text": {"en": "First?", "ar": "الأول؟"}},
                        {"id": "r", "type": "text", "text": {"en": "Second?", "ar": "الثاني؟"}}]}


def test_a_survey_is_shown_as_people_will_see_it(ctx):
    ctx.peal.post("/v1/surveys", SURVEY, expect=201)
    page = ctx.peal.get("/v1/surveys/own/page", expect=200)
    assert "First?" in page.text and "One &lt;b&gt;" in page.text, page.text
    policy = page.headers["Content-Security-Policy"]
    assert policy.startswith("sandbox; default-src 'none';") and "allow-" not in policy, policy
    assert "form-action 'none'" in policy and "script-src" not in policy and "frame-ancestors 'self'" in policy, policy
    arabic = ctx.peal.get("/v1/surveys/own/page?lang=ar", expect=200)
    assert 'dir="rtl"' in arabic.text and "الأول؟" in arabic.text, arabic.text
    ctx.peal.with_key(None).get("/v1/surveys/own/page", expect=401)
    ctx.peal.get("/v1/surveys/never/page", expect=404)


def test_a_preview_cannot_be_answered_and_shows_versions(ctx):
    ctx.peal.post("/v1/surveys", SURVEY, expect=201)
    ctx.peal.post("/v1/surveys/own/publish", expect=200)
    ctx.peal.patch("/v1/surveys/own", {"title": {"en": "Later", "ar": "لاحق"}, "paging": "one"}, expect=200)
    assert "Later" in ctx.peal.get("/v1/surveys/own/page", expect=200).text
    assert "One &lt;b&gt;" in ctx.peal.get("/v1/surveys/own/page?version=1", expect=200).text
    ctx.peal.get("/v1/surveys/own/page?version=2", expect=404)
    second = ctx.peal.get("/v1/surveys/own/page?at=2", expect=200).text
    assert "Second?" in second and "First?" not in second, second
    ctx.peal.with_key(None).post("/s/preview/responses", {"answers": {"q": "x"}}, expect=404)


def found(peal, query, path="events", name="kind"):
    return sorted(item[name] for item in peal.get(f"/v1/{path}?{query}", expect=200).json["items"])


def test_events_are_found_by_what_they_are(ctx):
    peal = ctx.peal
    for kind, source, entity, text in (("a", "shop", "o:1", "Boiler is HOT"), ("b", "shop", "o:2", "boiler 100%"),
                                       ("c", "crm", "o:1", "cold")):
        peal.post("/v1/events", {"kind": kind, "source": source, "id": kind, "entity": entity, "payload": {"text": text}}, expect=202)
    equal(found(peal, "source=shop"), ["a", "b"])
    equal(found(peal, "entity=o:1"), ["a", "c"])
    equal(found(peal, "type=b"), ["b"])
    equal(found(peal, "source=shop&entity=o:1"), ["a"])
    equal(found(peal, "q=boiler"), ["a", "b"])
    equal(found(peal, "q=hot+boiler"), ["a"])
    equal(found(peal, "q=100%25"), ["b"])
    equal(found(peal, "q=100_"), [])
    equal(found(peal, "q=boil%25r"), [], "a wildcard is a character like others")
    equal(found(peal, "q=crm"), ["c"])
    peal.get("/v1/events?kind=a&type=b", expect=400)
    out = ctx.peal.cli("events", "--q", "boiler hot", "--source", "shop").out
    assert len(out.splitlines()) == 2, out


def test_deliveries_are_found_by_words_type_and_list(ctx):
    peal = ctx.peal
    make_channel(peal, "memory:own")
    for id in ("ops", "dev"):
        peal.post("/v1/lists", {"id": id, "channels": ["memory:own"], "targets": [{"address": "a@example.org"}]}, expect=201)
    for list, subject in (("ops", "Disk FULL on db1"), ("ops", "Disk replaced"), ("dev", "full \"stop\"")):
        peal.post("/v1/notifications", {"list": list, "subject": subject, "body": "disk full"}, expect=202)
    subjects = lambda query: found(peal, query, "notifications", "subject")
    equal(subjects("q=full+disk"), ["Disk FULL on db1"])
    equal(subjects("q=disk"), ["Disk FULL on db1", "Disk replaced"])
    equal(subjects("q=full&list=dev"), ["full \"stop\""])
    count = lambda query: len(peal.get(f"/v1/deliveries?{query}", expect=200).json["items"])
    equal([count("q=full+disk"), count("q=disk"), count("q=body"), count("list=ops"), count("list=ops&q=full")], [1, 2, 0, 2, 1])
    equal([count("type=memory"), count("type=email")], [3, 0])
    equal(count("stuck=true"), 0)
    out = ctx.peal.cli("deliveries", "--q", "full disk", "--type", "memory").out
    assert len(out.splitlines()) == 2, out


def test_a_search_goes_on_where_a_page_ends(ctx):
    """Of twelve parts of one row each a page looks at ten: then it says where to go on."""
    peal = ctx.peal
    peal.post("/v1/lists", {"id": "ops", "channels": ["memory:default"], "targets": [{"address": "a@example.org"}]}, expect=201)
    for n in range(13):
        peal.post("/v1/notifications", {"list": "ops", "subject": "rare" if n == 0 else "usual", "body": "x"}, expect=202)
    first = peal.get("/v1/notifications?q=rare&limit=1", expect=200).json
    equal((first["items"], first["complete"]), ([], False))
    then = peal.get(f"/v1/notifications?q=rare&limit=1&cursor={first['next']}", expect=200).json
    equal([item["subject"] for item in then["items"]], ["rare"])


if __name__ == "__main__":
    main()
