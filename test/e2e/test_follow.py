"""W15 on the command line: peal events --follow, peal deliveries --follow."""
import json
import signal

from harness import equal, eventually, main
from process import Process
from server import peal_program
from steps import ingest_one, make_trigger, settle
from test_stream import post, streams


def follow(ctx, *words):
    """A command that follows, once its stream is open."""
    before = streams(ctx.peal)
    command = Process([peal_program(), *words], cwd=ctx.folder,
                      env={"HOME": str(ctx.folder), "PEAL_URL": ctx.peal.url, "PEAL_KEY": ctx.peal.key})
    eventually(lambda: streams(ctx.peal) == before + 1)
    return command


def test_events_come_as_lines(ctx):
    table, lines = follow(ctx, "events", "--follow"), follow(ctx, "events", "--follow", "--json", "--kind", "b")
    first, second = post(ctx.peal, "a"), post(ctx.peal, "b")
    assert table.out.wait_for(f"{first}  a$", seconds=15) and table.out.wait_for(f"{second}  b$", seconds=15), table.out.text()
    assert lines.out.wait_for(second, seconds=15), lines.out.text()
    equal([json.loads(line)["id"] for line in lines.out.text().splitlines()], [second])
    for command in (table, lines):
        command.send(signal.SIGINT)
        equal(command.wait(seconds=10), 0)
        equal(command.err.text(), "")


def test_deliveries_come_as_lines(ctx):
    make_trigger(ctx.peal)
    command = follow(ctx, "deliveries", "--follow", "--json")
    delivery = ingest_one(ctx.peal)
    settle(ctx.peal)
    eventually(lambda: len(command.out.lines) == 2)
    equal(sorted((row["id"], row["state"]) for row in map(json.loads, command.out.text().splitlines())),
          [(delivery, "delivered"), (delivery, "pending")])


def test_a_restart_loses_nothing_and_tells_nothing_twice(ctx):
    command = follow(ctx, "events", "--follow", "--json")
    ids = [post(ctx.peal) for _ in range(3)]
    eventually(lambda: len(command.out.lines) == len(ids))
    port = ctx.peal.host.split(":")[1]
    ctx.peal.stop()
    ctx.peal.args += ["--listen", f"127.0.0.1:{port}"]
    ctx.peal.start()
    ids += [post(ctx.peal) for _ in range(3)]
    eventually(lambda: len(command.out.lines) == len(ids), seconds=30)
    equal(sorted(json.loads(line)["id"] for line in command.out.text().splitlines()), sorted(ids))


def test_what_cannot_be_followed_is_said(ctx):
    refused = ctx.peal.with_key("pk_none")
    ran = ctx.peal.cli("events", "--follow", "--key", refused.key)
    equal(ran.code, 4)
    assert "key" in ran.err, ran.err
    ran = ctx.peal.cli("events", "--follow", "--url", "http://127.0.0.1:1")
    equal(ran.code, 6)


if __name__ == "__main__":
    main()
