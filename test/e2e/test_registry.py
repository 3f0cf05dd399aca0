"""W2, W13: what providers there are, and that a save is checked by the very schemas they show."""
from document import Schemas
from harness import equal, like, main
from steps import make_channel, problems

TYPES = {"github": ["issues", "pull_request", "push", "check_suite", "check_run", "workflow_run"],
         "linear": ["issue"], "sentry": ["issue"], "posthog": ["event"], "gmail": ["message"],
         **{id: ["event"] for id in ("nango", "composio", "slack", "stripe", "jira", "standard-webhooks", "generic")}}
POLLED = {"linear", "gmail"}

# Configs of each type, whether they are good, and where they are not.
CONFIGS = [
    ("github", "issues", {}, None),
    ("github", "issues", {"actions": ["opened"], "labels": ["bug"], "repositories": ["octo/hello"]}, None),
    ("github", "issues", {"labels": []}, None),
    ("github", "issues", {"label": ["bug"]}, "/config/label"),
    ("github", "issues", {"branches": ["main"]}, "/config/branches"),
    ("github", "issues", {"labels": "bug"}, "/config/labels"),
    ("github", "issues", {"labels": [7]}, "/config/labels/0"),
    ("github", "pull_request", {"branches": ["main"]}, None),
    ("github", "push", {"branches": ["main"], "repositories": ["octo/hello"]}, None),
    ("github", "push", {"actions": ["opened"]}, "/config/actions"),
    ("github", "workflow_run", {"conclusions": ["failure"], "branches": ["main"]}, None),
    ("linear", "issue", {"actions": ["create"], "teams": ["WEB"], "states": ["Todo"], "priorities": [1, "High"],
                         "labels": ["Bug"], "assignees": ["Mona"], "projects": ["Web"]}, None),
    ("linear", "issue", {"actions": ["remove"]}, "/config/actions/0"),
    ("sentry", "issue", {"projects": ["web"], "environments": ["production"], "minLevel": "error"}, None),
    ("sentry", "issue", {"minLevel": "worst"}, "/config/minLevel"),
    ("posthog", "event", {"events": ["signed up"], "properties": {"plan": "pro", "seats": 5}}, None),
    ("posthog", "event", {"properties": ["plan"]}, "/config/properties"),
    ("generic", "event", {}, None),
    ("generic", "event", {"a": 1}, "/config/a"),
]


def providers(peal):
    return {one["id"]: one for one in peal.get("/v1/providers", expect=200).json["items"]}


def save(peal, provider, type, config, id="own"):
    return peal.post("/v1/triggers", {"id": id, "channel": "memory:own", "provider": provider,
                                      "type": type, "config": config})


def test_providers_have_ways_and_types(ctx):
    found = providers(ctx.peal)
    for id, types in TYPES.items():
        equal([one["id"] for one in found[id]["triggerTypes"]], types)
        assert found[id]["name"] and "webhook" in found[id]["ways"], found[id]
        assert all(one["description"] for one in found[id]["triggerTypes"]), found[id]
        equal("polling" in found[id]["ways"], id in POLLED)
    equal(set(found), set(TYPES))
    like(found["github"], {"name": "GitHub", "ways": ["webhook"], "configSchema": None})
    assert "verify" in found["generic"]["configSchema"]["properties"], found["generic"]


def test_what_the_schema_allows_is_saved_and_nothing_else(ctx):
    found = providers(ctx.peal)
    make_channel(ctx.peal, "memory:own")
    for n, (provider, type, config, where) in enumerate(CONFIGS):
        [schema] = [one["configSchema"] for one in found[provider]["triggerTypes"] if one["id"] == type]
        told = list(Schemas({}).problems(config, schema))
        response = save(ctx.peal, provider, type, config, id=f"own-{n}")
        assert bool(told) == bool(where), (provider, type, config, told)
        equal(response.status, 422 if where else 201, response.text)
        assert not where or where in [path for path, _ in problems(response)], response.text


def test_explain_names_the_member_that_was_not_met(ctx):
    make_channel(ctx.peal, "memory:own")
    save(ctx.peal, "github", "issues", {"actions": ["opened"], "labels": ["bug"]})
    payload = {"dedupKey": "github:1:opened", "context": {"action": "opened", "labels": ["ui"]}}
    event = ctx.peal.post("/v1/events", {"kind": "github.issues", "payload": payload},
                          expect=202).json["eventId"]
    [told] = ctx.peal.get(f"/v1/events/{event}/explain", expect=200).json["decisions"]
    like(told, {"triggerId": "own", "outcome": "filtered", "path": "/config/labels", "seen": ["ui"],
                "predicate": 'labels contained "ui"; "bug" was asked for',
                "wouldMatchIf": 'candidate.context.labels contained one of ["bug"]'})


if __name__ == "__main__":
    main()
