"""X10: webhooks without a tunnel: peal listen shows what arrives, peal hooks send signs and posts an example."""
import json

from harness import equal, eventually, like, main
from sse import Stream
from steps import make_tenant, make_user
from test_follow import follow
from test_hooks import BODY, make_source, send


def test_frames_of_hooks(ctx):
    """Verified ones and refused ones, to those who may see how sources are configured; nothing of a body."""
    source = make_source(ctx.peal)
    stream, theirs = Stream(ctx.peal, "?kinds=hook"), Stream(make_tenant(ctx.peal, "acme"), "?kinds=hook,event")
    row = send(ctx.peal, source["url"], secret=source["secret"]).json["id"]
    send(ctx.peal, source["url"], secret="guessed", expect=401)
    taken, refused = stream.take(2)
    like(taken.data, {"source": "gh", "provider": "github", "verdict": "verified", "id": row, "size": len(BODY)})
    like(refused.data, {"source": "gh", "verdict": "signature-wrong", "id": None})
    equal(set(refused.data), {"source", "provider", "verdict", "size", "id", "time"})
    theirs.connection.sock.settimeout(0.5)
    try:
        assert False, theirs.next()
    except TimeoutError:
        pass  # nothing of another tenant's


def test_listen_shows_what_arrives_and_why_not(ctx):
    ours, other = make_source(ctx.peal), make_source(ctx.peal, "other")
    lines, pretty = follow(ctx, "listen", "--json"), follow(ctx, "listen", "gh")
    send(ctx.peal, other["url"], secret="no", expect=401)
    send(ctx.peal, ours["url"], secret="no", expect=401)
    row = send(ctx.peal, ours["url"], secret=ours["secret"]).json["id"]
    eventually(lambda: len(lines.out.lines) == 3)
    equal([(hook["source"], hook["verdict"]) for hook in map(json.loads, lines.out.lines)],
          [("other", "signature-wrong"), ("gh", "signature-wrong"), ("gh", "verified")])
    assert pretty.out.wait_for(f"verified  {row}", seconds=15), pretty.out.text()
    assert "REFUSED (signature-wrong)" in pretty.out.text() and "other" not in pretty.out.text(), pretty.out.text()


def test_what_nobody_verified_is_not_called_verified(ctx):
    open_one = make_source(ctx.peal, "any", provider="generic", config={"verify": {"kind": "none"}})
    pretty, stream = follow(ctx, "listen", "any"), Stream(ctx.peal, "?kinds=hook")
    row = send(ctx.peal, open_one["url"]).json["id"]
    like(stream.take(1)[0].data, {"verdict": "unchecked", "id": row})
    assert pretty.out.wait_for(f"nothing was verified  {row}", seconds=15), pretty.out.text()


def test_who_listens_where_nothing_can_come_is_told(ctx):
    ran = ctx.peal.cli("listen", "nope")
    equal(ran.code, 3)
    assert "no source nope" in ran.err and "peal sources" in ran.err, ran.err
    table = {"id": "rows", "provider": "table", "config": {"store": "postgres://127.0.0.1:1/y", "table": "t"}}
    ctx.peal.post("/v1/sources", table, expect=201)
    equal(ctx.peal.cli("listen", "rows").code, 2)
    make_source(ctx.peal, enabled=False)
    assert follow(ctx, "listen", "gh").err.wait_for("is disabled", seconds=15)


def test_from_nothing_to_a_fired_trigger(ctx):
    """The walk of docs/webhooks.md: two commands."""
    trigger = {"id": "bugs", "eventKind": "github.issues", "channel": "memory:default"}
    ctx.peal.post("/v1/triggers", trigger, expect=201)
    ran = ctx.peal.cli("hooks", "send", "--provider", "github", "--event", "issues.opened")
    equal((ran.code, ran.err), (0, ""))
    assert ": 200\n" in ran.out and "github.issues" in ran.out and "bugs (version 1) matched" in ran.out, ran.out
    again = ctx.peal.cli("hooks", "send", "--provider", "github", "--event", "issues.opened")
    equal(again.code, 0)  # the source is there by now: it has another secret
    equal([source["id"] for source in ctx.peal.get("/v1/sources").json["items"]], ["try-github"])


def test_a_source_of_ones_own(ctx):
    made = make_source(ctx.peal)
    words = ("hooks", "send", "--provider", "github", "--source", "gh")
    ran = ctx.peal.cli(*words)
    equal(ran.code, 2)
    assert "--new-secret" in ran.err, ran.err
    equal(ctx.peal.cli(*words, "--secret", made["secret"]).code, 0)
    ran = ctx.peal.cli(*words, "--secret", "wrong")
    equal(ran.code, 1)
    assert ": 401" in ran.out and "signature" in ran.out, ran.out
    equal(ctx.peal.cli(*words, "--new-secret").code, 0)
    equal(ctx.peal.cli(*words, "--secret", made["secret"], "--data", '{"action":"opened"}', "--json").code, 0)


def test_what_there_is_to_send(ctx):
    ran = ctx.peal.cli("hooks", "send", "--list")
    assert "github" in ran.out and "issues.opened" in ran.out and "stripe" in ran.out, ran.out
    equal(ctx.peal.cli("hooks", "send").code, 2)
    equal(ctx.peal.cli("hooks", "send", "--provider", "nobody").code, 2)
    equal(ctx.peal.cli("hooks", "send", "--provider", "github", "--to", "http://127.0.0.1:1/").code, 2)  # signed by what?
    equal(ctx.peal.get("/v1/sources").json["items"], [])
    equal(ctx.peal.cli("hooks", "send", "--provider", "github", "--event", "x").code, 2)
    ran = ctx.peal.cli("listen", "--key", make_user(ctx.peal, "read").key)
    equal(ran.code, 4)


if __name__ == "__main__":
    main()
