"""Definitions as files: whatever a file, a folder or a variable may be."""
import json
import os

from harness import equal, like, main
from steps import advance, make_user, moment
from test_apply import SECRET, apply, cli, project
from test_tried_out import DEFINITIONS, at_rest, dump

TRIGGER = "kind: trigger\nid: t\neventKind: k\nchannel: memory:default\n"
HOOK = "kind: channel\nkey: http:h\ntype: http\nconfig:\n  url: https://h.example\n"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def write(ctx, name, content):
    """Writes the only file of a folder."""
    folder = ctx.folder / "shop"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def test_json_is_told_by_its_line_too(ctx):
    rows = [('[\n {"kind": "trigger", "id": "t", "eventKind": "k",\n  "channel": "memory:default",\n  "enabled": "no"}\n]',
             "a.json:4, document 1, /0/enabled: must be true or false"),
            ('{"kind": "job", "name": "a\\"b:",\n "handler": "x",\n "payload": {"a": [1, -2.5e3, {}, [], null, "\\\\"]},\n'
             ' "cron":\n  "nonsense"}', "a.json:5, document 1, /cron"),
            ('[\n{"kind": "channel", "key": "http:a", "type": "http",\n"config": {\n"url": {"env": "NOBODY"}}}]',
             "a.json:4, document 1, /0/config/url: NOBODY is not set"),
            ('[\n\n{"kind": "nothing"}]', "a.json:3, document 1, /0/kind: must be one of"),
            ('{\n"kind": "trigger",\n\n"id": }', "(line 4)"),
            ('{"kind": "trigger",\n"kind": "x"}', "stands twice in its object (line 2)"),
            ('{\n"id": 1e999}', "is too large (line 2)"),
            ('{\n"id": "a\\u0000"}', "cannot be stored (line 2)")]
    for text, why in rows:
        done = cli(ctx, "diff", "-f", write(ctx, "a.json", text))
        equal(done.code, 2, done)
        assert why in done.err, (why, done)
        equal("A reference leads nowhere" in done.err, "NOBODY" in why, "and is no secret, which would stay")
    marked = write(ctx, "a.json", BYTE_ORDER_MARK + b'[{"kind": "trigger", "id": "t", "eventKind": "k", "channel": "memory:default"}]')
    equal(apply(ctx, marked).code, 0)
    equal(cli(ctx, "diff", "-f", "-", text=(marked / "a.json").read_text()).out, "No changes.\n")


def test_what_a_file_is_written_in(ctx):
    good = [TRIGGER.replace("\n", "\r\n"), TRIGGER.replace("\n", "\r"), BYTE_ORDER_MARK + TRIGGER.encode(),
            b"\xff\xfe" + TRIGGER.encode("utf-16-le"), "%YAML 1.2\n---\n" + TRIGGER + "...\n---\n",
            TRIGGER.replace("memory:default", "&c memory:default") + "templateId: *c\n", "# " + "x" * (9 << 20) + "\n" + TRIGGER]
    for text in good:
        shown = cli(ctx, "diff", "-f", write(ctx, "a.yaml", text))
        equal((shown.code, shown.err), (1, ""), shown)
        assert "+ trigger t  (a.yaml)" in shown.out, shown
    bad = [(TRIGGER.encode() + b"templateId: caf\xe9\n", "line 5: "), (TRIGGER.encode() + b"templateId: a\0b\n", "line 5: "),
           (TRIGGER + 'templateId: "a\\0b"\n', "line 5: the text has a NUL"), (TRIGGER + "\tfilter: x\n", "line 5: "),
           (TRIGGER + "expireAfter: 1e3\n", "a.yaml:5, document 1, /expireAfter"), ("id: 1\n" + TRIGGER, 'line 3: "id" stands on line 1'),
           (TRIGGER + "filter: " + "{not: " * 40 + "1" + "}" * 40, "line 5: values are nested too deep"),
           ("[" * 100000, "line 1: values are nested too deep"), ("kind: &a [*a]\n", "line 1: an anchor cannot be used inside itself"),
           ("? [a]\n: b\n", "line 1: a key is a word"), ("a: !!binary aGk=\n", "line 1: tags are not read"),
           (TRIGGER + "# " + "x" * (31 << 20), "all files together are more than 30 MiB"),
           (TRIGGER + "# " + "x" * (33 << 20), "it has more than 32 MiB")]
    for text, why in bad:
        done = cli(ctx, "diff", "-f", write(ctx, "a.yaml", text))
        equal(done.code, 2, (text[:80], done))
        assert why in done.err, (text[:80], why, done)


def test_a_document_of_many_members_is_read_at_once(ctx):
    """Not in a time that grows with their square."""
    done = cli(ctx, "diff", "-f", write(ctx, "a.yaml", TRIGGER + "".join(f"k{number}: 1\n" for number in range(200000))))
    equal(done.code, 2, done.code)
    assert 'a.yaml:5, document 1, /k0: "k0" is not known here' in done.err, done.err[:500]


def test_what_lies_in_a_folder_and_is_not_read_is_told(ctx):
    """With --prune, what is not read would be deleted."""
    folder = write(ctx, "a.yaml", TRIGGER)
    (ctx.folder / "elsewhere").mkdir()
    (ctx.folder / "elsewhere" / "b.yaml").write_text(TRIGGER.replace("id: t", "id: b"))
    (folder / "linked.yaml").symlink_to("../elsewhere/b.yaml")
    (folder / "notes").symlink_to("nowhere")
    (folder / ".hidden.yaml").write_text("not: [read")
    done = apply(ctx, folder)
    equal((done.code, done.err), (0, ""))
    assert "+ trigger b  (linked.yaml)" in done.out, done
    (folder / "linked.yaml").unlink()
    (folder / "more").symlink_to("../elsewhere")
    os.mkfifo(folder / "pipe.yaml")
    shown = cli(ctx, "diff", "-f", folder, "--prune")
    equal(shown.code, 1, shown)
    assert "- trigger b" in shown.out, shown
    equal(shown.err, f"Left out: {folder}/more, a link to a folder\nLeft out: {folder}/pipe.yaml, which is no file\n")
    (folder / "linked.yaml").symlink_to("../elsewhere/moved.yaml")
    lost = apply(ctx, folder, "--prune")
    equal(lost.code, 2, lost)
    assert "linked.yaml cannot be read" in lost.err and "No such file" in lost.err, lost
    equal(ctx.peal.get("/v1/triggers/b").status, 200)


def test_a_secret_that_is_empty_was_not_meant(ctx):
    """A CI has an empty variable for a secret that it was not given."""
    folder = project(ctx, c=HOOK + "  signingSecret: {env: SIGN}\n  headers: {X~Key: {env: HEAD}}\n")
    equal(apply(ctx, folder, env={"SIGN": SECRET, "HEAD": "h"}).code, 0)
    refused = apply(ctx, folder, env={"SIGN": SECRET, "HEAD": ""})
    equal(refused.code, 2, refused)
    assert "c.yaml:7, document 1, /config/headers/X~0Key: HEAD is empty" in refused.err, refused
    for content, why in ((b"", "is empty"), (b"\n", "is empty"), (b"a\0b", "is no text"), (b"\xff", "is no text")):
        (folder / "secret.txt").write_bytes(content)
        refused = apply(ctx, project(ctx, c=HOOK + "  signingSecret: {file: secret.txt}\n"))
        equal(refused.code, 2, refused)
        assert f"c.yaml:6, document 1, /config/signingSecret: {folder}/secret.txt {why}" in refused.err, refused
    (folder / "secret.txt").write_text(SECRET + "\r\n")
    gone = apply(ctx, folder)
    equal(gone.out.splitlines()[1:-2], ['    /config/headers  {"X~Key":"(secret)"} → nothing'], "the same secret, and a line end")
    equal(apply(ctx, project(ctx, c=HOOK)).out, "No changes.\n", "what is left out stays")
    taken = apply(ctx, project(ctx, c=HOOK + "  signingSecret: null\n"))
    assert "    /config/signingSecret  (a secret changes)" in taken.out, taken
    assert "signingSecret" not in ctx.peal.get("/v1/channels/http:h").json["config"]


def test_a_secret_that_was_rotated_stays_so(ctx):
    """While its overlap lasts, too: neither the files nor an export know of it."""
    folder = project(ctx, c=HOOK + "  signingSecret: {env: SIGN}\n")
    equal(apply(ctx, folder, env={"SIGN": SECRET}).code, 0)
    ctx.peal.post("/v1/channels/http:h/rotate", {"secret": "signingSecret", "overlap": "24h"}, expect=200)
    before = ctx.peal.get("/v1/channels/http:h").json["config"]
    equal(apply(ctx, folder, env={}).out, "No changes.\n")
    out = cli(ctx, "export", "-o", "out", env={})
    equal((out.code, "previous" in (ctx.folder / "out" / "channels.yaml").read_text()), (0, False), out)
    equal(apply(ctx, "out", env={}).out, "No changes.\n")
    more = project(ctx, c=HOOK + "  signingSecret: {env: SIGN}\nconcurrency: 3\n")
    equal(apply(ctx, more, env={}).code, 0)
    equal(ctx.peal.get("/v1/channels/http:h").json["config"], before)


def stored_bytes(ctx):
    """All that the store has, as bytes: files as they are, or rows as they are read."""
    if ctx.store == "sqlite":
        return b"".join(path.read_bytes() for path in ctx.folder.glob("peal-*.db*"))
    return repr(dump(ctx)).encode()


def test_a_secret_is_told_nobody(ctx):
    """Not the plan, an error, the log, the audit, an answer that is kept, an export, nor the store."""
    peal = ctx.start(env={"PEAL_LOG_LEVEL": "debug"})
    words = {name: f"sentinel-{name.lower()}-0123456789" for name in ("AUTH", "HEAD", "TOKEN", "PASSWORD", "HOOK")}
    env = {**words, "SIGN": SECRET, "SLACK": "https://hooks.example/sentinel-slack"}
    sentinels = [b"sentinel-", SECRET.removeprefix("whsec_").encode()]
    folder = project(ctx, c=HOOK + "  signingSecret: {env: SIGN}\n  authorization: {env: AUTH}\n  headers: {X-Key: {env: HEAD}}\n"
                     "---\nkind: channel\nkey: slack:s\ntype: slack\nconfig: {url: {env: SLACK}}\n"
                     "---\nkind: channel\nkey: email:e\ntype: email\nconfig: {server: 'smtps://m.example', from: a@example.org,"
                     " user: u, password: {env: PASSWORD}}\n"
                     "---\nkind: integration\nid: lin\nprovider: linear\ntoken: {source: static, value: {env: TOKEN}}\n"
                     "---\nkind: source\nid: gh\nprovider: github\nsecret: {env: HOOK}\n")
    said = []
    for given in (env, {**env, "SIGN": "sentinel-bad"}, {**env, "HEAD": "sentinel-\r\nbad"}, {**env, "SLACK": "sentinel-none"}):
        for command in (("diff",), ("diff", "--json"), ("apply", "--yes"), ("apply", "--yes", "--json")):
            said.append(cli(ctx, *command, "-f", folder, env=given))
    equal([done.code for done in said], [1, 1, 0, 0] + [2] * 12)
    changed = cli(ctx, "diff", "-f", folder, env={name: value + "1" if value in words.values() else value for name, value in env.items()})
    equal(changed.out.count("(a secret changes)"), 5, changed)
    made = {"definitions": [{"kind": "source", "id": "own", "provider": "github"}]}
    answer = peal.post("/v1/apply", made, headers={"Idempotency-Key": "k"}, expect=200).json["changes"][0]["secret"]
    equal(peal.post("/v1/apply", made, headers={"Idempotency-Key": "k"}).json["changes"][0]["secret"], answer, "kept, and sealed")
    out = cli(ctx, "export", "--json", env={})
    told = "".join(done.out + done.err for done in (*said, changed, out)) + peal.log(100000)
    told += peal.get("/v1/audit?limit=500").text + "".join(
        peal.get(f"/v1/{path}").text for path in ("channels", "integrations", "sources", "definitions", "definitions?kind=source"))
    at_rest(ctx)
    for sentinel in (*sentinels, answer.encode()):
        assert sentinel not in told.encode(), (sentinel, told[max(0, told.find(sentinel.decode()) - 300):][:500])
        assert sentinel not in stored_bytes(ctx), sentinel


def test_a_secret_that_peal_makes_is_told_once(ctx):
    source = "kind: source\nid: gh\nprovider: github\n"
    folder = project(ctx, s=source)
    assert "secret" not in cli(ctx, "diff", "-f", folder, "--json").out
    assert "source gh has the secret " in apply(ctx, folder).out
    equal(apply(ctx, folder).out, "No changes.\n")
    given = apply(ctx, project(ctx, s=source + "secret: {env: HOOK}\n"), env={"HOOK": "a-secret-of-many-letters"})
    assert "    /secret  (a secret changes)" in given.out and "has the secret" not in given.out, given
    equal(apply(ctx, project(ctx, s=source + "secret: null\n")).out, "No changes.\n", "a source has one")


def test_a_long_text_may_be_a_file_of_its_own(ctx):
    folder = project(ctx, t="kind: template\nid: long\neventType: k\nchannel: memory:default\nbody: {file: long.html}\n")
    (folder / "long.html").write_text("<p>Hello</p>\n" * 15000)
    done = apply(ctx, folder)
    equal(done.code, 0, done)
    equal(len(ctx.peal.get("/v1/templates/long").json["body"]), 13 * 15000 - 1)
    (folder / "long.html").write_text("x" * (2 << 20))
    refused = apply(ctx, folder)
    assert "t.yaml:5, document 1, /body" in refused.err and "more than 1 MiB" in refused.err, refused


def test_nothing_at_all_is_no_reason_to_delete_everything(ctx):
    folder = write(ctx, "a.yaml", TRIGGER)
    equal(apply(ctx, folder).code, 0)
    scenario = "kind: scenario\nname: n\nsteps: [{event: {kind: k}}]\n"
    for name, text in (("readme.txt", TRIGGER), ("a.yaml", ""), ("a.yaml", "# nothing\n---\n"), ("a.yaml", scenario)):
        done = apply(ctx, write(ctx, name, text), "--prune")
        equal(done.code, 2, done)
        assert "There are no definitions at all" in done.err, done
        equal(apply(ctx, folder).out, "No changes.\n", "without --prune there is nothing to do")
    equal(ctx.peal.get("/v1/triggers/t").status, 200)
    done = apply(ctx, write(ctx, "a.yaml", "[]\n"), "--prune")
    assert "deleted 1." in done.out, done
    equal(cli(ctx, "diff", "-f", folder, "--all").code, 2, "--all is of --prune")


def test_an_export_says_what_is_there_now(ctx):
    equal(apply(ctx, project(ctx, a=TRIGGER)).code, 0)
    equal(cli(ctx, "export", "-o", "out").code, 0)
    ctx.peal.delete("/v1/triggers/t", expect=204)
    equal(cli(ctx, "export", "-o", "out").code, 0)
    equal(cli(ctx, "diff", "-f", "out").out, "No changes.\n", "also of a kind that nothing is left of")
    both = cli(ctx, "export", "-o", "other", "--json")
    equal((both.code, (ctx.folder / "other").exists()), (2, False), both)
    equal(cli(ctx, "export", "out").code, 2)


def test_a_draft_that_was_not_published_is_exported_as_one(ctx):
    """Else whoever applies the export would publish it."""
    survey = ("kind: survey\nid: csi\npublished: true\nquestions: [{id: q, type: text, text: {en: Why}}]\n")
    equal(apply(ctx, project(ctx, s=survey)).out.splitlines()[-1], "Created 1, updated 0, deleted 0.")
    equal(cli(ctx, "export", "-o", "out").code, 0)
    assert "published: true" in (ctx.folder / "out" / "surveys.yaml").read_text()
    ctx.peal.patch("/v1/surveys/csi", {"title": {"en": "Not yet"}}, expect=200)
    equal(cli(ctx, "export", "-o", "out").code, 0)
    assert "published" not in (ctx.folder / "out" / "surveys.yaml").read_text()
    equal(apply(ctx, "out").out, "No changes.\n")
    equal(ctx.peal.get("/v1/surveys/csi").json["publishedVersion"], 1)


def test_an_export_has_what_the_key_may_write(ctx):
    author, operator = make_user(ctx.peal, "author"), make_user(ctx.peal, "operator")
    author.get("/v1/definitions?kind=job", expect=403)
    operator.get("/v1/definitions?kind=channel", expect=403)
    equal(author.get("/v1/definitions", expect=200).json["items"][0]["kind"], "channel")
    equal(operator.get("/v1/definitions", expect=200).json["items"], [], "jobs, of which there are none")
    ctx.peal.get("/v1/definitions?kind=nothing", expect=422)
    told = cli(ctx, "export", user=author)
    equal((told.code, told.err), (0, "Left out: jobs, which the key may not write\n"))


def test_a_server_that_fails_is_no_difference(ctx):
    """An exit status of 1 says that there is one."""
    failing = ctx.receiver()
    failing.answer(500, body=b"{}")
    for words in ((), ("--json",)):
        done = cli(ctx, "diff", "-f", project(ctx, a=TRIGGER), "--url", failing.url, *words)
        equal(done.code, 2, done)


def test_what_cannot_be_read_is_replaced_by_what_the_files_say(ctx):
    """Of every kind; one damaged row keeps no others from being applied."""
    documents = [one for one in DEFINITIONS if one["kind"] != "source" or "path" in one]
    ctx.write("all.json", json.dumps(documents))
    equal(apply(ctx, "all.json").code, 0)
    ctx.peal.stop()
    ctx.sql(f"UPDATE {'peal.' if ctx.store == 'postgres' else ''}definition_version SET body = '{{' WHERE id <> 'memory:default'"
            " AND kind <> 'subscriber' AND id NOT LIKE '%:t'")
    ctx.peal.start()
    shown = cli(ctx, "diff", "-f", "all.json")
    equal((shown.code, shown.out.count('"what is stored cannot be read"')), (1, len(documents)), shown)
    done = apply(ctx, "all.json")
    equal(done.code, 0, done)
    equal(apply(ctx, "all.json").out, "No changes.\n")
    equal(cli(ctx, "export", "-o", "out").code, 0)
    equal(cli(ctx, "diff", "-f", "out").out, "No changes.\n")


def test_what_says_the_same_was_applied_when_it_was(ctx):
    folder = project(ctx, a=TRIGGER)
    equal(apply(ctx, folder).code, 0)
    before = ctx.peal.get("/v1/triggers/t").json
    advance(ctx.peal, "1h")
    equal(apply(ctx, folder).out, "No changes.\n")
    equal(ctx.peal.get("/v1/triggers/t").json, before)
    (folder / "a.yaml").rename(folder / "b.yaml")
    equal(apply(ctx, folder).out, "No changes.\n")
    like(ctx.peal.get("/v1/triggers/t").json["origin"], {"file": "b.yaml", "at": moment(hours=1), "version": 1})


def test_what_was_changed_by_hand_is_told_where_it_goes(ctx):
    two = TRIGGER + "---\n" + TRIGGER.replace("id: t", "id: same")
    equal(apply(ctx, project(ctx, a=two)).code, 0)
    ctx.peal.patch("/v1/triggers/t", {"eventKind": "other"}, expect=200)
    shown = cli(ctx, "diff", "-f", project(ctx, a="[]"), "--prune")
    equal(shown.out.splitlines()[:2], ["- trigger same", "- trigger t  changed by hand since it was applied"])


def test_a_change_that_the_plan_does_not_show_is_a_change_too(ctx):
    """A long text is told by its beginning; somebody changed its end meanwhile."""
    mine, theirs = "x" * 5000 + "mine", "x" * 5000 + "theirs"
    body = {"id": "long", "eventType": "k", "channel": "memory:default", "body": "x" * 5000}
    ctx.peal.post("/v1/templates", body, expect=201)
    given = {"definitions": [{"kind": "template", **body, "body": mine}]}
    plan = ctx.peal.post("/v1/apply", {**given, "dryRun": True}, expect=200).json
    equal(plan["plan"], ctx.peal.post("/v1/apply", {**given, "dryRun": True}, expect=200).json["plan"])
    ctx.peal.put("/v1/templates/long", {**body, "body": theirs}, expect=200)
    ctx.peal.post("/v1/apply", {**given, "plan": plan["plan"]}, expect=409)
    equal(ctx.peal.get("/v1/templates/long").json["body"], theirs)
    gone = {"definitions": [], "pruneAll": True}
    plan = ctx.peal.post("/v1/apply", {**gone, "dryRun": True}, expect=200).json
    ctx.peal.put("/v1/templates/long", {**body, "body": mine}, expect=200)
    ctx.peal.post("/v1/apply", {**gone, "plan": plan["plan"]}, expect=409)
    like(ctx.peal.get("/v1/templates/long").json, {"active": True})


def test_what_to_look_after_is_told_before_it_is_done(ctx):
    folder = project(ctx, a=TRIGGER.replace("memory:default", "http:nowhere"))
    warning = "Warning: trigger t: channel http:nowhere does not exist yet\n"
    for done in (cli(ctx, "diff", "-f", folder), apply(ctx, folder)):
        equal(done.err, warning)
    equal(apply(ctx, folder).err, "", "it was told")
    taken = apply(ctx, folder, "--set", "other")
    equal((taken.out, taken.err), ("No changes.\n", "Warning: trigger t: it was applied with the set shop; this makes it other's\n"))
    equal(apply(ctx, folder, "--set", "other").err, "")
    equal(apply(ctx, project(ctx, a="[]"), "--prune").out, "No changes.\n", "it is another's by now")
    as_json = json.loads(apply(ctx, project(ctx, a=TRIGGER), "--json").out)
    equal(as_json["changes"][0]["warnings"], ["it was applied with the set other; this makes it shop's"])


if __name__ == "__main__":
    main()
