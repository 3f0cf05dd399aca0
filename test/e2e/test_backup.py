"""peal backup: a copy of a store in use, whole, private, and held wherever it is started."""
import json
import os
import shutil
import subprocess
import threading

from harness import equal, eventually, main, only, run_peal
from postgres import program
from steps import deliveries, ingest, ingest_one, make_trigger, settle, visit

SECRET = "whsec_" + "YWJj" * 10


def make_http(ctx, peal):
    """A trigger whose visits go to the receiver that is answered, signed."""
    receiver = ctx.receiver()
    peal.post("/v1/channels", {"key": "http:out", "type": "http", "config": {
        "url": receiver.url, "signingSecret": SECRET}}, expect=201)
    make_trigger(peal, channel="http:out")
    return receiver


def back_up(peal, name, *options, path=None):
    """Runs the command on the node's store, which it names by the environment."""
    return run_peal("backup", name, *options, cwd=peal.folder, env={
        "HOME": str(peal.folder), "PEAL_STORE": peal.store,
        "PATH": path if path is not None else f"{os.path.dirname(program('pg_dump'))}:{os.environ['PATH']}"})


def restore(ctx, backup):
    """Puts a backup where nothing was, and answers the store's URL."""
    url = ctx.new_store_url()
    if ctx.store == "sqlite":
        url = f"sqlite:{ctx.folder}/restored.db"
        shutil.copyfile(backup, ctx.folder / "restored.db")
    else:
        subprocess.run([program("pg_restore"), "-d", url, backup], check=True)
    return url


def key_file(ctx):
    if ctx.store == "sqlite":
        return f"{ctx.peal.store.removeprefix('sqlite:')}.key"
    return ctx.folder / ".local/state/peal/master.key"


class Load:
    """Posts events one after another from a few threads, and remembers what was acknowledged."""

    def __init__(self, peal):
        self.peal, self.acknowledged, self.is_over = peal, [], threading.Event()
        self.threads = [threading.Thread(target=self.run) for _ in range(3)]
        for thread in self.threads:
            thread.start()

    def run(self):
        while not self.is_over.is_set():
            answer = ingest(self.peal, visit(filler="x" * 2000), visit())
            self.acknowledged += [item["eventId"] for item in answer["items"]]

    def stop(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join()


def check_backup_file(path, ctx):
    equal(path.stat().st_mode & 0o777, 0o600)
    equal([name for name in os.listdir(ctx.folder) if name.startswith(path.name)], [path.name])
    assert SECRET.encode() not in path.read_bytes()


def test_what_was_acknowledged_is_in_it_and_it_sends_nothing(ctx):
    receiver = make_http(ctx, ctx.peal)
    make_trigger(ctx.peal, "later", eventKind="later", channel="http:out",
                 schedule={"initialDelay": "1h"})
    ingest(ctx.peal, visit(), kind="later")
    load, backup = Load(ctx.peal), ctx.folder / "monday.backup"
    eventually(lambda: len(load.acknowledged) > 200)
    before = list(load.acknowledged)
    ran = back_up(ctx.peal, backup)
    load.stop()
    equal(ran.code, 0, ran.err)
    for words in ("master key is not in it", "held", "peal release"):
        assert words in ran.out, ran.out
    check_backup_file(backup, ctx)

    ctx.peal.stop()
    sent = receiver.count()
    copy = ctx.start(store=restore(ctx, backup), args=["--master-key-file", str(key_file(ctx))])
    told = copy.get("/readyz", expect=200).json
    assert told["held"] and "peal release" in told["reasons"][0], told
    kept = {row["eventId"] for row in deliveries(copy)}
    equal(set(before) - kept, set(), "acknowledged before the backup began, and lost")
    settle(copy)
    copy.post("/v1/clock", {"advance": "1d"}, expect=200)
    equal(receiver.count(), sent)

    waiting = len(deliveries(copy, "&state=pending"))
    assert waiting > 0, "one of them is for an hour later"
    equal(copy.cli("release").code, 0)
    settle(copy)
    receiver.wait_for(sent + waiting)
    copy.restart()
    equal(copy.get("/readyz", expect=200).json["held"], False)


@only("sqlite")
def test_put_back_at_once_it_is_held_all_the_same(ctx):
    """The epoch has not grown since: that it is a backup stands in the backup itself."""
    receiver = make_http(ctx, ctx.peal)
    ctx.peal.post("/v1/hold", {"reason": "a look"}, expect=200)
    ingest_one(ctx.peal)
    ctx.peal.kill9()
    path = ctx.folder / ctx.peal.store.removeprefix("sqlite:")
    backup = ctx.folder / "b"
    equal(back_up(ctx.peal, backup).code, 0)
    for tail in ("-wal", "-shm"):
        (path.parent / (path.name + tail)).unlink(missing_ok=True)
    path.write_bytes(backup.read_bytes())  # the same inode, born when it was
    ctx.peal.start()
    told = ctx.peal.get("/readyz", expect=200).json
    assert told["held"] and "backup" in told["reasons"][0], told
    settle(ctx.peal)
    equal(receiver.count(), 0)
    equal(ctx.peal.cli("release").code, 0)
    settle(ctx.peal)
    equal(receiver.count(), 1)


@only("sqlite")
def test_the_store_may_be_at_rest(ctx):
    make_trigger(ctx.peal, schedule={"initialDelay": "1d"})
    id = ingest_one(ctx.peal)
    ctx.peal.stop()
    ran = back_up(ctx.peal, "b", "--json")
    equal(ran.code, 0, ran.err)
    made = json.loads(ran.out)
    equal(made, {"file": "b", "bytes": (ctx.folder / "b").stat().st_size, "format": "sqlite",
                 "hasMasterKey": False})
    copy = ctx.start(store=restore(ctx, ctx.folder / "b"))
    equal(copy.get(f"/v1/deliveries/{id}", expect=200).json["state"], "pending")


def test_no_file_is_taken_the_place_of(ctx):
    make_trigger(ctx.peal)
    there = ctx.write("there", "precious")
    ran = back_up(ctx.peal, there)
    equal(ran.code, 5, ran.err)
    equal(there.read_text(), "precious")
    ran = back_up(ctx.peal, ctx.folder / "no" / "such" / "folder")
    equal(ran.code, 2, ran.err)
    equal(back_up(ctx.peal, "one", "two").code, 2)
    equal({"there"}, {name for name in os.listdir(ctx.folder) if name.startswith("th")})


@only("sqlite")
def test_what_is_no_store_is_not_backed_up(ctx):
    for name, text in (("empty.db", ""), ("text.db", "no database at all " * 100)):
        ctx.write(name, text)
        ran = run_peal("backup", ctx.folder / "b", "--store", f"sqlite:{ctx.folder}/{name}")
        assert ran.code != 0 and "Error:" in ran.err, ran
    ran = run_peal("backup", ctx.folder / "b", "--store", f"sqlite:{ctx.folder}/none.db")
    equal(ran.code, 6, ran.err)
    equal(sorted(os.listdir(ctx.folder)), ["empty.db", "text.db"])


@only("postgres")
def test_without_pg_dump_it_says_what_to_install(ctx):
    make_trigger(ctx.peal)
    ran = back_up(ctx.peal, "b", path=str(ctx.folder))
    equal(ran.code, 2, ran.err)
    assert "postgresql-client" in ran.err, ran.err
    equal([name for name in os.listdir(ctx.folder) if name.startswith("b")], [])


@only("postgres")
def test_the_password_is_on_no_command_line(ctx):
    """A pg_dump that writes down what it was called with stands in for the real one."""
    make_trigger(ctx.peal)
    tools = ctx.folder / "tools"
    tools.mkdir()
    (tools / "pg_dump").write_text('#!/bin/sh\necho "$@" > arguments\n'
                                   'echo "$PGPASSWORD $PGDATABASE $PGHOST" > environment\n')
    (tools / "pg_dump").chmod(0o755)
    url = "postgres://somebody:hunter2@db.example/peal"
    ran = run_peal("backup", "b", cwd=ctx.folder, env={"PEAL_STORE": url,
                                                       "PATH": f"{tools}:{os.environ['PATH']}"})
    equal(ran.code, 0, ran.err)
    assert "hunter2" not in (ctx.folder / "arguments").read_text()
    equal((ctx.folder / "environment").read_text(), "hunter2 peal db.example\n")
    assert "hunter2" not in ran.out + ran.err


if __name__ == "__main__":
    main()
