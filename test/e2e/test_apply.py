"""Definitions as files: apply, diff, export."""
import json
import threading

from document import Schemas
from harness import equal, like, main, once, run_peal
from steps import make_tenant, make_trigger, make_user

SECRET = "whsec_" + "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ="

CHANNELS = """\
# Ways out.
kind: channel
key: http:bi
type: http
config:
  url: https://bi.example/in
  signingSecret: {env: BI_SECRET}
  headers:
    X-Team: {env: BI_TEAM}
---
kind: channel
key: memory:shop
type: memory
"""

RULES = """\
kind: trigger
id: welcome
eventKind: user.signed-up
channel: memory:shop
filter: {path: payload.country, op: in, value: ["no", on, se]}
---
kind: template
id: hello
eventType: user.signed-up
channel: memory:shop
language: en
body: |
  Hello {{name}},
  welcome.
---
kind: list
id: ops
channels: [memory:shop]
targets:
  - {address: a@example.com, name: Ada}
  - {address: b@example.com}
"""

JOBS = """\
- kind: job
  name: nightly
  cron: "15 3 * * *"
  zone: Europe/Warsaw
  handler: memory:shop
  payload: {env: prod}
- kind: automation
  id: triage
  name: Triage
  handler: memory:shop
"""

ENV = {"BI_SECRET": SECRET, "BI_TEAM": "csi"}


def project(ctx, **files):
    """Writes files into a folder of their own."""
    folder = ctx.folder / "shop"
    folder.mkdir(exist_ok=True)
    for name, text in (files or {"channels": CHANNELS, "rules": RULES, "jobs": JOBS}).items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def cli(ctx, *words, env=None, user=None, text=""):
    peal = user or ctx.peal
    return run_peal(*words, cwd=ctx.folder, text=text,
                    env={"HOME": str(ctx.folder), "PEAL_URL": ctx.peal.url, "PEAL_KEY": peal.key,
                         **(ENV if env is None else env)})


def apply(ctx, folder, *words, **more):
    return cli(ctx, "apply", "-f", folder, "--yes", *words, **more)


def test_files_become_definitions_and_twice_is_once(ctx):
    folder = project(ctx)
    shown = cli(ctx, "diff", "-f", folder)
    equal(shown.code, 1, shown)
    assert "+ channel http:bi  (channels.yaml)" in shown.out, shown
    assert "7 to create, 0 to update, 0 to delete, 0 unchanged." in shown.out, shown
    ctx.peal.get("/v1/channels/http:bi", expect=404)
    done = apply(ctx, folder)
    equal(done.code, 0, done)
    assert "Created 7, updated 0, deleted 0." in done.out, done
    trigger = ctx.peal.get("/v1/triggers/welcome", expect=200).json
    equal(trigger["filter"]["value"], ["no", "on", "se"], "YAML 1.2 has no such booleans")
    like(trigger["origin"], {"set": "shop", "file": "rules.yaml", "version": 1, "drifted": False})
    equal(ctx.peal.get("/v1/jobs/nightly", expect=200).json["payload"], {"env": "prod"})
    equal(ctx.peal.get("/v1/lists/ops", expect=200).json["targetCount"], 2)
    again = apply(ctx, folder)
    equal((again.code, again.out), (0, "No changes.\n"))
    equal(cli(ctx, "diff", "-f", folder).code, 0)
    equal(ctx.peal.get("/v1/channels/http:bi", expect=200).json["version"], 1)


def test_a_difference_is_readable_and_tells_no_secret(ctx):
    folder = project(ctx)
    equal(apply(ctx, folder).code, 0)
    project(ctx, channels=CHANNELS.replace("bi.example/in", "bi.example/out?sig=hidden"),
            rules=RULES.replace("memory:shop\nfilter", "memory:default\nfilter")
            .replace("b@example.com", "c@example.com"))
    other = SECRET.replace("c2Vj", "b3Ro")
    shown = cli(ctx, "diff", "-f", folder, env={**ENV, "BI_SECRET": other})
    equal(shown.code, 1, shown)
    for line in ('    /config/url  "https://bi.example/in" → "https://bi.example/out?…"',
                 "    /config/signingSecret  (a secret changes)",
                 '    /channel  "memory:shop" → "memory:default"',
                 '    /targets  "1 added, 1 removed, 0 changed"',
                 "0 to create, 3 to update, 0 to delete, 4 unchanged."):
        assert line in shown.out, (line, shown.out)
    for secret in (SECRET, other, "hidden", "csi"):
        assert secret not in shown.out + shown.err, shown
    equal(apply(ctx, folder, env={**ENV, "BI_SECRET": other}).code, 0)
    equal(apply(ctx, folder, env={**ENV, "BI_SECRET": other}).out, "No changes.\n")
    unset = apply(ctx, folder, env={})
    equal(unset.out, "No changes.\n")
    assert "channels.yaml:7, document 1, /config/signingSecret: BI_SECRET is not set" in unset.err, unset


def test_all_or_nothing_and_the_place_is_named(ctx):
    folder = project(ctx, good=CHANNELS, wrong=RULES + "---\nkind: job\nname: j\nhandler: memory:shop\ncron: nonsense\n")
    done = apply(ctx, folder)
    equal(done.code, 2, done)
    assert "wrong.yaml:26, document 4, /cron" in done.err, done
    equal(ctx.peal.get("/v1/channels/http:bi").status, 404)
    # One that only the store can refuse comes after others that were written.
    project(ctx, good=CHANNELS, wrong="kind: source\nid: a\nprovider: generic\npath: same\n---\n"
            "kind: source\nid: b\nprovider: generic\npath: same\n")
    done = apply(ctx, folder)
    equal(done.code, 5, done)
    assert "wrong.yaml:6, document 2" in done.err and "same" in done.err, done
    equal(ctx.peal.get("/v1/sources").json["items"], [])
    equal(ctx.peal.get("/v1/channels/http:bi").status, 404)


def test_nothing_goes_but_by_prune_and_only_of_the_set(ctx):
    folder = project(ctx)
    equal(apply(ctx, folder).code, 0)
    make_trigger(ctx.peal, "by-hand")
    (folder / "jobs.yaml").unlink()
    equal(apply(ctx, folder).out, "No changes.\n")
    done = apply(ctx, folder, "--prune")
    assert "- job nightly" in done.out and "Created 0, updated 0, deleted 2." in done.out, done
    equal(ctx.peal.get("/v1/jobs/nightly").status, 404)
    equal(apply(ctx, folder, "--prune").out, "No changes.\n")
    equal(apply(ctx, folder, "--prune", "--set", "another").out, "No changes.\n")
    done = apply(ctx, folder, "--prune", "--all")
    assert "- trigger by-hand" in done.out and "deleted 1." in done.out, done
    equal(ctx.peal.get("/v1/channels/memory:default").status, 200)


def test_what_was_changed_by_hand_is_told(ctx):
    folder = project(ctx)
    equal(apply(ctx, folder).code, 0)
    ctx.peal.patch("/v1/triggers/welcome", {"enabled": False}, expect=200)
    equal(cli(ctx, "diff", "-f", folder).out, "No changes.\n", "enabled is not the file's")
    ctx.peal.patch("/v1/triggers/welcome", {"channel": "memory:default"}, expect=200)
    like(ctx.peal.get("/v1/triggers/welcome").json["origin"], {"version": 1, "drifted": True})
    shown = cli(ctx, "diff", "-f", folder)
    assert "~ trigger welcome  (rules.yaml)  changed by hand since it was applied" in shown.out, shown
    equal(apply(ctx, folder).code, 0)
    like(ctx.peal.get("/v1/triggers/welcome").json,
         {"enabled": False, "channel": "memory:shop", "origin": {"drifted": False}})


def test_what_is_exported_is_applied_without_a_change(ctx):
    equal(apply(ctx, project(ctx)).code, 0)
    ctx.peal.post("/v1/sources", {"id": "gh", "provider": "github"}, expect=201)
    out = cli(ctx, "export", "-o", "out", env={})
    equal(out.code, 0, out)
    text = "".join(path.read_text() for path in (ctx.folder / "out").iterdir())
    assert SECRET not in text and "$sealed" not in text and "csi" not in text, text
    assert "env: PEAL_CHANNEL_HTTP_BI_SIGNINGSECRET" in text, text
    equal(cli(ctx, "diff", "-f", "out", env={}).out, "No changes.\n")
    equal(apply(ctx, "out", env={}).out, "No changes.\n")
    one = cli(ctx, "export", env={})
    equal(cli(ctx, "diff", "-f", "-", env={}, text=one.out).out, "No changes.\n")
    as_json = cli(ctx, "export", "--json", env={})
    equal(cli(ctx, "diff", "-f", "-", env={}, text=as_json.out).out, "No changes.\n")
    equal(len(json.loads(as_json.out)), 9)


def test_variables_of_one_name_are_told(ctx):
    for key in ("http:a.b", "http:a-b"):
        ctx.peal.post("/v1/channels", {"key": key, "type": "http", "config": {"url": "https://x.example", "authorization": key}},
                      expect=201)
    told = cli(ctx, "export", env={})
    assert "PEAL_CHANNEL_HTTP_A_B_AUTHORIZATION stands for more than one secret" in told.err, told


def test_each_kind_takes_the_right_that_its_routes_take(ctx):
    folder = project(ctx)
    author, operator = make_user(ctx.peal, "author"), make_user(ctx.peal, "operator")
    reader = make_user(ctx.peal, "read")
    equal(apply(ctx, folder, user=reader).code, 4)
    done = apply(ctx, folder, user=author)
    equal(done.code, 4, done)
    assert "jobs.yaml" in done.err and "may not write a job" in done.err, done
    equal(apply(ctx, folder, user=operator).code, 4)
    (folder / "jobs.yaml").unlink()
    equal(apply(ctx, folder, user=author).code, 0)
    project(ctx, exec="kind: channel\nkey: exec:x\ntype: exec\nconfig: {command: x}\n")
    equal(apply(ctx, folder, user=author).code, 4)
    stranger = make_tenant(ctx.peal, "other")
    exported = cli(ctx, "export", user=stranger, env={})
    assert "http:bi" not in exported.out and "memory:default" in exported.out, exported


def test_a_plan_that_has_become_another_is_refused(ctx):
    body = {"definitions": [{"kind": "trigger", "id": "t", "eventKind": "k", "channel": "memory:default"}]}
    plan = ctx.peal.post("/v1/apply", {**body, "dryRun": True}, expect=200).json
    like(plan, {"dryRun": True, "created": 1, "changes": [{"action": "create", "kind": "trigger", "id": "t"}]})
    ctx.peal.get("/v1/triggers/t", expect=404)
    make_trigger(ctx.peal, "t", eventKind="other")
    ctx.peal.post("/v1/apply", {**body, "plan": plan["plan"]}, expect=409)
    equal(ctx.peal.get("/v1/triggers/t").json["eventKind"], "other")
    key = {"Idempotency-Key": "once"}
    first = ctx.peal.post("/v1/apply", {**body, "dryRun": True}, headers=key, expect=200).json
    equal(ctx.peal.post("/v1/apply", {**body, "dryRun": True}, headers=key, expect=200).json, first)
    bad = {"definitions": [{"kind": "trigger", "id": "t"}, {"kind": "nothing"}]}
    key = {"Idempotency-Key": "bad"}
    said = ctx.peal.post("/v1/apply", bad, headers=key, expect=422).json
    equal({row["path"] for row in said["errors"]} >= {"/definitions/0/eventKind", "/definitions/1/kind"}, True, said)
    equal(ctx.peal.post("/v1/apply", bad, headers=key, expect=422).json["errors"], said["errors"])


RETRY = {"policy": "exponential", "interval": "1m", "max": 3, "giveUpAfter": "3d"}
TEXTS = {"en": "How: was it? # no", "ar": "كيف كان؟"}
# One or more of each kind, which together say all that a file can say of it.
WHOLE = {
    "channel": [
        {"key": "http:all", "type": "http", "concurrency": 3, "rate": {"per": "1s", "max": 7}, "timeout": "9s",
         "retry": RETRY, "enabled": False, "ordered": True,
         "config": {"url": "https://x.example/in?a=b", "signingSecret": [SECRET, SECRET.replace("c2Vj", "b3Ro")],
                    "headers": {"X-One": "1", "X-Two": "no"}, "method": "PUT", "authorization": "Bearer x"}},
        {"key": "http:leased", "type": "http", "config": {"url": "https://x.example/in", "lease": "5m"}},
        {"key": "email:all", "type": "email",
         "config": {"server": "smtp://127.0.0.1:25", "from": "Peal <peal@example.org>", "startTls": "none", "user": "u",
                    "password": "007", "replyTo": "r@example.org", "allowPlainAuth": True}},
        {"key": "memory:all", "type": "memory", "config": {"failFirst": 0}},
        {"key": "worker:all", "type": "worker", "config": {"lease": "1m"}},
        {"key": "slack:all", "type": "slack", "config": {"url": "https://hooks.example/s/secret"}},
        {"key": "twilio:all", "type": "twilio",
         "config": {"accountSid": "AC1", "authToken": "t", "from": "+100", "baseUrl": "https://tw.example"}},
    ],
    "list": [{"id": "all", "name": "All of them", "channels": ["memory:all", "email:all"], "showTargets": True,
              "retry": {"policy": "fixed", "interval": "1m", "max": 3},
              "targets": [{"address": "a@example.com", "name": "Ada: 1", "locale": "no"}, {"address": "+100"}]}],
    "template": [{"id": "all", "name": "hello", "eventType": "k", "channel": "memory:all", "active": False,
                  "language": "ar-IQ", "scope": {"path": "payload.hotel", "value": "12345"}, "subject": "Hi {{name}}", "body": "one\ntwo {{name}}\n",
                  "format": "html", "missing": "empty", "declares": ["name"], "address": "payload.to",
                  "locale": "payload.language", "dedupRecipe": ["payload.id"], "schedule": {"initialDelay": "15m"},
                  "retry": RETRY, "cancelOn": {"eventKind": "off", "match": ["payload.id"]}}],
    "integration": [
        {"id": "oauth", "provider": "gmail", "connectionId": "c-1", "baseUrl": "https://api.example", "enabled": False,
         "token": {"source": "oauth", "accessToken": "a", "refreshToken": "r", "clientId": "i", "clientSecret": "s",
                   "tokenUrl": "https://t.example/token", "expiresAt": "2030-01-01T00:00:00.000Z"}},
        {"id": "plain", "provider": "linear", "token": {"source": "static", "value": "yes"}},
        {"id": "app", "provider": "github", "installationId": "4711"},
    ],
    "automation": [{"id": "all", "name": "no", "handler": "memory:all", "enabled": False, "payload": {"env": "prod"},
                    "maxRetries": 7, "timeout": "10s",
                    "schedules": [{"name": "daily", "cron": "0 5 * * *", "zone": "Europe/Oslo"}]}],
    "survey": [{"id": "all", "integrationId": "4523", "languages": ["en", "ar"], "title": TEXTS, "thanks": TEXTS,
                "paging": "one", "published": True,
                "questions": [{"id": "rate", "type": "rating", "min": 1, "max": 5, "required": True, "text": TEXTS},
                              {"id": "why", "type": "single", "text": TEXTS,
                               "choices": [{"value": "No", "text": TEXTS}, {"value": "Yes", "text": TEXTS}],
                               "show": {"questionId": "rate", "op": "<=", "value": 2}}],
                "triggers": [{"id": "t", "eventKind": "visit", "channel": "memory:all",
                              "schedule": {"reminders": ["1d"]}}],
                "subscribers": [{"key": "memory:all", "filter": {"questionId": "rate", "op": "<=", "value": 3}}]},
               {"id": "draft", "questions": []}],
    "trigger": [
        {"id": "all", "eventKind": "k", "channel": "memory:all", "enabled": False, "templateId": "t",
         "filter": {"all": [{"path": "payload.a", "op": "in", "value": ["no", 1, 1.50, True]}]},
         "dedupRecipe": ["payload.id"], "schedule": {"initialDelay": "1h", "reminders": ["1d", "2d"]},
         "awaitAnswer": True, "expireAfter": "60d", "retry": RETRY, "address": "payload.to", "locale": "payload.l",
         "cancelOn": {"eventKind": "off", "match": ["payload.id"]}},
        {"id": "fed", "provider": "linear", "type": "issue", "integration": "plain", "config": {"actions": ["create"]},
         "way": "polling", "interval": "10m", "emitExisting": True, "automation": "all"},
        {"id": "hooked", "provider": "github", "type": "issues", "source": "gh", "way": "webhook", "channel": "memory:all"},
    ],
    "source": [
        {"id": "gh", "provider": "github", "integration": "app", "path": "chosen", "secret": "0123456789abcdef0123",
         "enabled": False},
        {"id": "made", "provider": "github", "shared": True},
        {"id": "open", "provider": "generic", "config": {"verify": {"kind": "none"}}},
        {"id": "rows", "provider": "table", "enabled": False,
         "config": {"store": "postgres://u@127.0.0.1:9/x", "password": "p", "table": "t"}},
    ],
    "job": [{"name": "all", "cron": "*/5 * * * *", "zone": "Asia/Baghdad", "enabled": False, "reason": "yes",
             "handler": "memory:all", "payload": {"file": "x", "n": [1, {"y": "no"}]}, "maxRetries": 0,
             "missed": "all", "missedWindow": "2d", "overlap": "queue", "timeout": "30s"}],
}
LEFT_OUT = {"kind", "eventKind", "ordered"}  # other names, and what others exclude
NOT_HERE = {"template": {"provider"}, "integration": {"watch"}}


def documents():
    return [{"kind": kind, **body} for kind, bodies in WHOLE.items() for body in bodies]


def test_every_member_of_every_kind_comes_back(ctx):
    """What is applied with all that can be said, exported, and applied: it is the same."""
    ctx.write("all.json", json.dumps(documents()))
    done = apply(ctx, "all.json")
    equal(done.code, 0, done)
    equal(apply(ctx, "all.json").out, "No changes.\n")
    equal(ctx.peal.get("/v1/surveys/all").json["publishedVersion"], 1)
    equal(cli(ctx, "export", "-o", "out", env={}).code, 0)
    equal(cli(ctx, "diff", "-f", "out", env={}).out, "No changes.\n")
    (ctx.folder / "out" / "scenario.yaml").write_text("kind: scenario\nname: n\nsteps: [{event: {kind: none}}]\n")
    played = cli(ctx, "test", "out", env={})
    equal(played.code, 0, f"with stand-ins for all secrets: {played}")
    exported = json.loads(cli(ctx, "export", "--json", env={}).out)
    said = {(one["kind"], one.get("id") or one.get("key") or one.get("name")): one for one in exported}
    equal(len(said), len(documents()) + 1, "and memory:default")
    for one in documents():
        found = said[one["kind"], one.get("id") or one.get("key") or one.get("name")]
        for name in one.keys() - {"config", "token", "secret", "targets"}:
            equal(found.get(name), one[name], f"{one['kind']} {name}")
    # On another server nothing is there yet, so secrets are missed, by the names of their variables.
    other = ctx.start(store=ctx.new_store_url() if ctx.store == "postgres" else f"sqlite:{ctx.folder}/other.db")
    refused = run_peal("apply", "-f", "out", "--yes", cwd=ctx.folder,
                       env={"HOME": str(ctx.folder), "PEAL_URL": other.url, "PEAL_KEY": other.key})
    equal(refused.code, 2, refused)
    assert "PEAL_CHANNEL_HTTP_ALL_HEADERS_X_TWO is not set" in refused.err, refused
    assert "channels.yaml" in refused.err and "/config/" in refused.err, refused


@once
def test_the_bodies_above_say_all_that_the_tables_have(ctx):
    """A member that is added to a table needs its value above."""
    schemas = json.loads(run_peal("schema").out)["components"]["schemas"]
    for kind, bodies in WHOLE.items():
        known = set(schemas[kind]["allOf"][0]["properties"]) - LEFT_OUT - NOT_HERE.get(kind, set())
        equal(known - {name for body in bodies for name in body}, set(), kind)
    equal({*WHOLE, "scenario"}, set(schemas["definition"]["properties"]["kind"]["enum"]))


@once
def test_the_schema_fits_what_can_be_said_and_nothing_else(ctx):
    schema = json.loads(run_peal("schema").out)
    checker = Schemas(schema)
    for one in documents():
        equal(list(checker.problems(one, schema)), [], one)
    for kind, wrong in (("channel", {"key": "a:b", "type": "http", "config": {"url": "x", "urll": "y"}}),
                        ("job", {"name": "j", "handler": "h", "cronn": "* * * * *"}),
                        ("nothing", {"id": "x"})):
        assert list(checker.problems({"kind": kind, **wrong}, schema)), wrong
    by_reference = {"kind": "channel", "key": "http:a", "type": "http",
                    "config": {"url": {"env": "URL"}, "signingSecret": {"file": "x"}, "headers": {"A": {"env": "B"}}}}
    equal(list(checker.problems(by_reference, schema)), [])
    equal(run_peal("schema", "nothing").code, 2)


def test_a_new_project_works(ctx):
    made = cli(ctx, "init", "shop")
    equal(made.code, 0, made)
    done = apply(ctx, "shop")
    equal((done.code, done.err), (0, ""))
    equal(apply(ctx, "shop").out, "No changes.\n")
    schema = json.loads((ctx.folder / "shop" / "peal.schema.json").read_text())
    for one in json.loads(cli(ctx, "export", "--json").out):
        equal(list(Schemas(schema).problems(one, schema)), [], one)
    again = cli(ctx, "init", "shop")
    equal(again.code, 5, again)
    peal = ctx.peal
    answer = peal.post("/v1/events", {"kind": "user.signed-up", "payload": {"name": "Ada", "country": "no"},
                                      "recipient": {"address": "ada@example.com"}}, expect=202).json
    told = peal.get(f"/v1/events/{answer['eventId']}/explain", expect=200).json
    equal(len(answer["deliveries"]), 2, told)


def test_a_survey_is_published_where_it_says_so(ctx):
    folder = project(ctx, survey="kind: survey\nid: csi\npublished: true\nquestions:\n"
                     "- {id: rate, type: rating, text: {en: How?}}\n"
                     "triggers: [{id: t, eventKind: visit, channel: memory:default}]\n")
    equal(apply(ctx, folder).code, 0)
    equal(apply(ctx, folder).out, "No changes.\n")
    ctx.peal.patch("/v1/surveys/csi", {"paging": "one"}, expect=200)
    shown = cli(ctx, "diff", "-f", folder)
    assert "/paging" in shown.out and "/published" not in shown.out, "it is what was published: " + shown.out
    survey = (folder / "survey.yaml").read_text()
    (folder / "survey.yaml").write_text(survey.replace("How?", "How was it?"))
    done = apply(ctx, folder)
    assert '    /published  "version 2"' in done.out, done
    equal(ctx.peal.get("/v1/surveys/csi").json["publishedVersion"], 2)
    done = apply(ctx, folder, "--prune", "--all")
    equal(done.out, "No changes.\n", "its trigger is its own")
    (folder / "survey.yaml").write_text(survey.replace("text: {en: How?}", "text: {}"))
    refused = apply(ctx, folder)
    equal(refused.code, 2, refused)
    assert "survey.yaml:5, document 1, /questions/0/text" in refused.err, refused
    equal(ctx.peal.get("/v1/surveys/csi").json["publishedVersion"], 2)


def test_bad_files_are_refused_with_their_line(ctx):
    rows = (("a: 1\nkind: x\na: 2\n", 'line 3: "a" stands on line 1 already'),
            ("kind: job\nname: 007\n", "line 2: a number has no leading zero"),
            ("kind: job\n<<: *x\n", "line 2: "),
            ("kind: [\n", "line 2: "),
            ("kind: nothing\n", "bad.yaml:1, document 1, /kind: must be one of channel, list"),
            ("- 7\n", "bad.yaml:1, document 1, /0: must be an object"),
            ("kind: trigger\nid: t\neventKind: k\nchannel: c\nenabled: no\n", "bad.yaml:5, document 1, /enabled"),
            ("kind: trigger\nid: t\n---\nkind: trigger\nid: t\n", "/eventKind"))
    for text, why in rows:
        folder = project(ctx, bad=text)
        done = apply(ctx, folder)
        equal(done.code, 2, done)
        assert why in done.err, (why, done)
    twice = "kind: trigger\nid: t\neventKind: k\nchannel: memory:default\n"
    done = apply(ctx, project(ctx, bad=twice, good=twice))
    assert "good.yaml:1, document 1: trigger t is defined already" in done.err, done
    laughs = "a: &a [l,l,l,l,l,l,l,l,l,l]\n" + "".join(
        f"{name}: &{name} [{','.join(['*' + last] * 10)}]\n" for last, name in zip("abcdefghi", "bcdefghij"))
    done = apply(ctx, project(ctx, bad=laughs, good=""))
    equal(done.code, 2, done)
    equal(cli(ctx, "apply", "-f", "nowhere", "--yes").code, 2)
    equal(cli(ctx, "diff", "-f", project(ctx, bad="", good="")).out, "No changes.\n")
    nobody = cli(ctx, "apply", "-f", project(ctx, bad=twice, good=""))
    equal(nobody.code, 2, nobody)
    assert "--yes" in nobody.err and "\033" not in nobody.out, nobody
    ctx.peal.get("/v1/triggers/t", expect=404)


def test_secrets_come_from_files_and_are_kept_by_nobody_else(ctx):
    (ctx.folder / "shop").mkdir()
    (ctx.folder / "shop" / "secret.txt").write_text(SECRET + "\n")
    folder = project(ctx, c="kind: channel\nkey: http:f\ntype: http\nconfig:\n  url: {env: THE_URL}\n"
                     "  signingSecret: {file: secret.txt}\n")
    equal(apply(ctx, folder, env={}).code, 2, "an address is no secret: there is nothing to keep")
    equal(apply(ctx, folder, env={"THE_URL": "https://f.example/in"}).code, 0)
    equal(ctx.peal.get("/v1/channels/http:f").json["config"]["url"], "https://f.example/in")
    equal(apply(ctx, folder, env={"THE_URL": "https://f.example/in"}).out, "No changes.\n")
    moved = apply(ctx, project(ctx, c="kind: channel\nkey: http:f\ntype: http\nconfig: {url: https://evil.example}\n"))
    equal(moved.code, 2, moved)
    assert "c.yaml:4" in moved.err and "does not follow" in moved.err, moved
    (folder / "secret.txt").unlink()
    done = apply(ctx, project(ctx, c="kind: channel\nkey: http:g\ntype: http\nconfig:\n  url: https://g.example\n"
                              "  signingSecret: {file: secret.txt}\n"))
    equal(done.code, 2, done)
    assert "c.yaml:6" in done.err and "secret.txt" in done.err, done


def test_applies_at_the_same_time_go_one_after_the_other(ctx):
    """Each set says the same triggers otherwise: in the end all are one's or all are the other's."""
    node = ctx.peal if ctx.store == "sqlite" else ctx.start()
    ids = [f"t{number}" for number in range(100)]
    answers = []

    def work(peal, kind):
        for _ in range(3):
            body = {"origin": kind, "definitions": [{"kind": "trigger", "id": id, "eventKind": kind,
                                                     "channel": "memory:default"} for id in ids]}
            answers.append(peal.post("/v1/apply", body).status)

    ctx.peal.get("/v1/triggers", expect=200)
    threads = [threading.Thread(target=work, args=pair) for pair in ((ctx.peal, "a"), (node, "b"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(answers) <= {200, 409, 503} and 200 in answers, answers
    rows = ctx.peal.get("/v1/triggers?limit=500", expect=200).json["items"]
    equal(len({row["eventKind"] for row in rows}), 1)
    equal({row["origin"]["set"] for row in rows}, {rows[0]["eventKind"]})


def test_ten_thousand_are_applied_at_once_and_no_more(ctx):
    rows = [f"kind: trigger\nid: t{number}\neventKind: k{number}\nchannel: memory:default\n" for number in range(10001)]
    count = 10000 if ctx.store == "sqlite" else 3000  # a round trip or five each, on a busy machine
    folder = project(ctx, many="---\n".join(rows[:count]))
    done = cli(ctx, "apply", "-f", folder, "--yes")
    assert f"Created {count}, updated 0, deleted 0." in done.out, (done.code, done.err, done.out[-300:])
    equal(cli(ctx, "diff", "-f", folder).out, "No changes.\n")
    refused = cli(ctx, "diff", "-f", project(ctx, many="---\n".join(rows)))
    equal(refused.code, 2, refused)
    assert "10000" in refused.err, refused


if __name__ == "__main__":
    main()
