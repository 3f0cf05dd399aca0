"""Definitions as files: apply, diff, export."""
import json

from harness import equal, like, main, run_peal
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


if __name__ == "__main__":
    main()
