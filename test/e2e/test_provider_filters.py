"""W2 to W4: what each provider sends is one form of event, and each member of a trigger's config takes and leaves it,
through the real program: signed, stored, drained, decided."""
import hashlib
import hmac
import json

from harness import equal, like, main
from steps import deliveries, moment, settle, tick
from test_hook_providers import SECRET, make_source, seconds

NORMAL = {"provider", "eventType", "providerEventType", "occurredAt", "dedupKey", "title", "url", "externalId", "context", "raw"}
AT = "2026-05-14T05:00:00Z"
REPOSITORY = {"repository": {"full_name": "octo/hello", "html_url": "https://github.com/octo/hello"}}
SHA = "ec26c3e57ca3a959ca5aad62de7213c562f8c821"


def github(event, **body):
    return "github", {"X-GitHub-Event": event}, {**REPOSITORY, **body}


def numbered(**members):
    return {"id": 7, "number": 3, "title": "It breaks", "html_url": "https://github.com/octo/hello/issues/3", "created_at": AT,
            "updated_at": AT, "labels": [{"name": "bug"}, {"name": "ui"}], **members}


def checked(**members):
    return {"id": 9, "head_sha": SHA, "head_branch": "main", "status": "completed", "conclusion": "failure", "created_at": AT,
            "updated_at": AT, "completed_at": AT, "html_url": "https://github.com/octo/hello/runs/9", **members}


LINEAR = {"id": "i-1", "identifier": "WEB-44", "title": "It breaks", "priority": 2, "priorityLabel": "High", "createdAt": AT,
          "updatedAt": AT, "url": "https://linear.app/a/issue/WEB-44", "labels": [{"id": "l-1", "name": "Bug"}],
          "labelIds": ["l-1"], "state": {"id": "s-1", "name": "Todo", "type": "unstarted"},
          "team": {"id": "t-1", "key": "WEB", "name": "Web"}, "project": {"id": "p-1", "name": "Launch"},
          "assignee": {"id": "u-1", "name": "Mona", "email": "mona@example.org"}}
SENTRY = {"event_id": "e4874d66", "level": "error", "title": "Oops", "project": 7, "issue_id": "42", "datetime": AT,
          "web_url": "https://sentry.io/o/acme/issues/42/events/e4/",
          "url": "https://sentry.io/api/0/projects/acme/front-end/events/e4/",
          "tags": [["browser", "Chrome"], ["environment", "production"]]}

# What comes; the type, key and title of its event; and configs that take it, and that do not by which member.
HOOKS = [
    (github("issues", action="opened", issue=numbered()), "issues", "github:7:opened", "It breaks",
     [{}, {"actions": ["closed", "opened"]}, {"labels": ["bug"]}, {"labels": ["ui", "none"]}, {"repositories": ["octo/hello"]},
      {"actions": ["opened"], "labels": ["bug"], "repositories": ["octo/hello"]}, {"labels": []}],
     [{"actions": ["labeled"]}, {"labels": ["bu"]}, {"repositories": ["octo/hell"]}]),
    (github("pull_request", action="opened", pull_request=numbered(base={"ref": "main"}, head={"ref": "fix", "sha": SHA})),
     "pull_request", "github:7:opened", "It breaks",
     [{"branches": ["main"]}, {"actions": ["opened"], "labels": ["ui"]}],
     [{"branches": ["fix"]}, {"labels": ["docs"]}, {"actions": ["closed"]}, {"repositories": ["octo/other"]}]),
    (github("push", ref="refs/heads/main", after=SHA, compare="https://github.com/octo/hello/compare",
            head_commit={"message": "Fix it\n\nat last", "timestamp": AT}), "push", None, "Fix it",
     [{"branches": ["dev", "main"]}, {"repositories": ["octo/hello"]}],
     [{"branches": ["refs/heads/main"]}, {"repositories": ["octo/other"]}]),
    (github("push", ref="refs/tags/v1", after=SHA, head_commit={"message": "Release", "timestamp": AT}), "push", None, "Release",
     [{}], [{"branches": ["v1"]}]),
    (github("check_suite", action="completed", check_suite=checked(app={"slug": "ci", "name": "CI"})), "check_suite", None,
     "CI: failure", [{"conclusions": ["failure"]}, {"branches": ["main"], "actions": ["completed"]}],
     [{"conclusions": ["success", "neutral"]}, {"branches": ["dev"]}]),
    (github("check_run", action="completed", check_run=checked(name="lint", check_suite={"head_branch": "main"})), "check_run",
     None, "lint", [{"conclusions": ["failure"], "branches": ["main"]}], [{"conclusions": ["success"]}, {"branches": ["dev"]}]),
    (github("workflow_run", action="completed", workflow_run=checked(name="CI", display_title="Fix it")), "workflow_run", None,
     "Fix it", [{"conclusions": ["failure", "timed_out"]}, {"branches": ["main"]}],
     [{"conclusions": ["cancelled"]}, {"actions": ["requested"]}]),
    (("linear", {"Linear-Event": "Issue"}, {"action": "create", "type": "Issue", "data": LINEAR, "url": LINEAR["url"],
                                            "createdAt": AT}), "issue", "linear:i-1:create", "It breaks",
     [{"actions": ["create"]}, *({"teams": [by]} for by in ("t-1", "WEB", "Web")), *({"states": [by]} for by in ("s-1", "Todo")),
      *({"priorities": [by]} for by in (2, "High")), *({"labels": [by]} for by in ("l-1", "Bug")),
      *({"assignees": [by]} for by in ("u-1", "Mona", "mona@example.org")), *({"projects": [by]} for by in ("p-1", "Launch"))],
     [{"actions": ["update"]}, {"teams": ["APP"]}, {"states": ["Done"]}, {"priorities": [1]}, {"labels": ["Chore"]},
      {"assignees": ["u-2"]}, {"projects": ["p-2"]}]),
    (("sentry", {"Sentry-Hook-Resource": "event_alert"}, {"action": "triggered", "data": {"event": SENTRY}}), "issue",
     "sentry:e4874d66", "Oops",
     [*({"minLevel": level} for level in ("debug", "info", "warning", "error")), {"environments": ["production"]},
      *({"projects": [by]} for by in ("7", "front-end"))],
     [{"minLevel": "fatal"}, {"environments": ["staging"]}, {"projects": ["back-end"]}]),
    (("posthog", {}, {"event": {"event": "signed up", "uuid": "u-1", "distinct_id": "d", "timestamp": AT,
                                "properties": {"plan": "pro", "seats": 5}}}), "event", "posthog:u-1", "signed up",
     [{"events": ["signed up"]}, {"properties": {"plan": "pro"}}, {"properties": {"seats": 5}},
      {"properties": {"plan": ["free", "pro"], "seats": 5}}],
     [{"events": ["signed"]}, {"properties": {"plan": "free"}}, {"properties": {"seats": [1, 2]}}, {"properties": {"none": True}}]),
]


def sign(provider, body):
    mac = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    return {"github": {"X-Hub-Signature-256": "sha256=" + mac}, "linear": {"Linear-Signature": mac},
            "sentry": {"Sentry-Hook-Signature": mac}, "posthog": {"X-PostHog-Token": SECRET}}[provider]


def bring(peal, url, provider, headers, content):
    """Sends it as its provider does and has it drained; answers the id of its row and event."""
    if provider == "linear":
        content = {**content, "webhookTimestamp": seconds(peal) * 1000}
    body = json.dumps(content).encode()
    id = peal.with_key(None).request("POST", url, raw=body, expect=200, headers={
        "Content-Type": "application/json", **headers, **sign(provider, body)}).json["id"]
    tick(peal)
    return id


def make_triggers(peal, source, provider, type, configs, word):
    for n, config in enumerate(configs):
        peal.post("/v1/triggers", {"id": f"{source}-{word}-{n}", "provider": provider, "type": type, "source": source,
                                   "config": config, "channel": "memory:default"}, expect=201)


def test_each_member_of_a_config_takes_and_leaves(ctx):
    peal = ctx.peal
    for number, ((provider, headers, content), type, key, title, takes, leaves) in enumerate(HOOKS):
        source = f"s{number}"
        url = make_source(peal, source, provider)
        make_triggers(peal, source, provider, type, takes, "takes")
        make_triggers(peal, source, provider, type, leaves, "leaves")
        id = bring(peal, url, provider, headers, content)
        told = peal.get(f"/v1/events/{id}/explain", expect=200).json["decisions"]
        found = {one["triggerId"]: one for one in told if one["triggerId"].startswith(source + "-")}
        for n, config in enumerate(takes):
            equal(found[f"{source}-takes-{n}"]["outcome"], "created", config)
        for n, config in enumerate(leaves):
            [member] = config
            like(found[f"{source}-leaves-{n}"], {"outcome": "filtered"})
            path = found[f"{source}-leaves-{n}"]["path"]
            assert path == f"/config/{member}" or path.startswith(f"/config/{member}/"), (config, path)
        settle(peal)
        equal(len([run for run in deliveries(peal) if run["eventId"] == id]), len(takes))
        [taken] = peal.get(f"/v1/triggers/{source}-takes-0/events", expect=200).json["items"]
        like(taken, {"eventId": id, "status": "completed", "title": title, "occurredAt": AT.replace("Z", ".000Z"),
                     "receivedAt": moment()})


def test_what_comes_has_one_form(ctx):
    peal = ctx.peal
    for number, ((provider, headers, content), type, key, title, takes, leaves) in enumerate(HOOKS):
        id = bring(peal, make_source(peal, f"s{number}", provider), provider, headers, content)
        event = peal.get("/v1/events/" + id, expect=200).json
        payload = event["payload"]
        like(event, {"kind": f"{provider}.{type}", "source": f"s{number}"})
        equal(set(payload) - {"url"}, NORMAL - {"url"})
        like(payload, {"provider": provider, "eventType": type, "title": title, "occurredAt": AT.replace("Z", ".000Z")})
        assert payload["dedupKey"].startswith(provider + ":") and (not key or payload["dedupKey"] == key), payload["dedupKey"]
        assert isinstance(payload["context"], dict) and payload["raw"].items() >= content.items(), payload


def test_linear_tells_of_no_removal(ctx):
    peal = ctx.peal
    url = make_source(peal, "lin", "linear")
    removed = {"action": "remove", "type": "Issue", "data": LINEAR, "createdAt": AT}
    id = bring(peal, url, "linear", {"Linear-Event": "Issue"}, removed)
    like(peal.get(f"/v1/inbox/{id}", expect=200).json, {"status": "completed", "reason": "no-event", "processedAt": moment()})
    peal.get("/v1/events/" + id, expect=404)


def test_what_sentry_needs_and_what_it_is_told_by(ctx):
    """Without an event the key is the issue's; without either it is nothing that Sentry sends."""
    peal = ctx.peal
    url = make_source(peal, "sen", "sentry")
    issue = {"id": "1170820242", "title": "TypeError", "level": "error", "project": {"id": "1", "slug": "web", "name": "Web"}}
    id = bring(peal, url, "sentry", {"Sentry-Hook-Resource": "issue"}, {"action": "created", "data": {"issue": issue}})
    equal(peal.get("/v1/events/" + id, expect=200).json["payload"]["dedupKey"], "sentry:1170820242")
    id = bring(peal, url, "sentry", {"Sentry-Hook-Resource": "issue"}, {"action": "created", "data": {}})
    like(peal.get(f"/v1/inbox/{id}", expect=200).json, {"status": "failed", "reason": "unparsable"})


def test_posthogs_event_may_be_a_name_and_its_time_is_kept_as_given(ctx):
    peal = ctx.peal
    url = make_source(peal, "post", "posthog")
    for content, key in (({"event": "a", "distinct_id": "d", "timestamp": "2024-01-01 12:00:00+02:00"},
                          "posthog:a:d:2024-01-01 12:00:00+02:00"),
                         ({"event": {"event": "a", "uuid": "u-9"}}, "posthog:u-9")):
        id = bring(peal, url, "posthog", {}, content)
        equal(peal.get("/v1/events/" + id, expect=200).json["payload"]["dedupKey"], key)


if __name__ == "__main__":
    main()
