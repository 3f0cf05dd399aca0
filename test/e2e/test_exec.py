"""J4, J5: commands of the operator as handlers: what they get, what their end means, and that nothing
that they do holds up Peal or outlives it."""
import json
import os
import pathlib
import shutil

from harness import eventually, equal, like, main, only, run_peal
from steps import (advance, attempts, deliveries, delivery, ingest, ingest_one, make_tenant, make_trigger, problems, settle,
                   visit)

KEY = "exec:sync"
EVERY_30S = {"policy": "fixed", "interval": "30s", "max": 3}


class Commands:
    """The operator's folder."""

    def __init__(self, ctx):
        self.folder = ctx.folder / "commands"
        self.folder.mkdir(mode=0o755)
        self.notes = ctx.folder / "notes"
        self.notes.mkdir()

    def add(self, name, script, mode=0o755, interpreter="/bin/sh"):
        path = self.folder / name
        path.write_text(f"#!{interpreter}\nnotes={self.notes}\n{script}\n")
        path.chmod(mode)
        return path

    def note(self, name):
        """What a command wrote down, once it has."""
        path = self.notes / name
        return eventually(lambda: path.exists() and path.read_text())


def start(ctx, commands, **options):
    return ctx.start(args=["--exec-dir", str(commands.folder)], **options)


def channel_body(command, key=KEY, **members):
    config = {"command": command, **members.pop("config", {})}
    return {"key": key, "type": "exec", "config": config, **members}


def make_exec(peal, command, **members):
    """A channel that runs the command, and a trigger that sends visits there."""
    made = peal.post("/v1/channels", channel_body(command, **members), expect=201).json
    make_trigger(peal, channel=made["key"], retry=EVERY_30S)
    return made


def run_one(peal, item=None):
    """One delivery, tried once; answers its id."""
    id = ingest_one(peal, item)
    settle(peal)
    return id


def last_attempt(peal, id):
    return attempts(peal, id)[-1]


def is_gone(pid):
    """The process has ended; one that nobody reaped is as good as gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


# What it gets


def test_a_command_gets_the_message_and_little_else(ctx):
    commands = Commands(ctx)
    commands.add("look", 'cat > $notes/input; env > $notes/env; ls /proc/self/fd > $notes/fds; pwd > $notes/pwd;'
                         ' echo "$@" > $notes/words; cut -d" " -f1,5,6 /proc/$$/stat > $notes/group')
    peal = start(ctx, commands, env={"PEAL_SECRET_OF_OURS": "x"})
    make_exec(peal, ["look", "--fast", "a b", ""])
    id = ingest_one(peal, {**visit(), "entity": "order-7"})
    settle(peal)
    like(delivery(peal, id), {"state": "delivered", "lastError": None})
    body = json.loads(commands.note("input"))
    like(body, {"deliveryId": id, "attempt": 1, "send": 1, "eventKind": "service-visit-closed"})
    equal(body["payload"]["jobType"], "GR")
    lines = dict(line.split("=", 1) for line in commands.note("env").splitlines())
    for name in ("PWD", "SHLVL", "_", "OLDPWD"):  # are the shell's own
        lines.pop(name, None)
    equal(sorted(lines), ["PATH", "PEAL_ATTEMPT", "PEAL_ENTITY", "PEAL_EXECUTION_ID", "PEAL_STARTED_AT"])
    like(lines, {"PEAL_ATTEMPT": "1", "PEAL_ENTITY": "order-7", "PEAL_EXECUTION_ID": f"{id}-1",
                 "PEAL_STARTED_AT": "2026-05-14T05:12:34.000Z"})
    equal(commands.note("fds").split(), ["0", "1", "2", "3"])  # 3 is what ls itself looks at
    equal(commands.note("pwd").strip(), str(commands.folder.resolve()))
    equal(commands.note("words"), "--fast a b \n")
    own, group, session = commands.note("group").split()
    equal((group, session), (own, own))


# What its end means


def test_the_exit_code_decides(ctx):
    commands = Commands(ctx)
    commands.add("end", "echo so it went; echo badly >&2; exit $1")
    commands.add("killed", "kill -9 $$")
    peal = start(ctx, commands)
    make_exec(peal, ["end", "0"])
    id = run_one(peal)
    equal(delivery(peal, id)["state"], "delivered")
    like(last_attempt(peal, id), {"outcome": "delivered", "reason": "accepted", "detail": "so it went\nbadly"})
    for command, state, reason, code, words in [
            (["end", "100"], "parked", "refused", 100, "it exited with 100\nso it went\nbadly"),
            (["end", "1"], "retrying", "unwell", 1, "it exited with 1\nso it went\nbadly"),
            (["end", "255"], "retrying", "unwell", 255, "it exited with 255\nso it went\nbadly"),
            (["killed"], "retrying", "unwell", None, "signal 9 ended it: Killed")]:
        peal.put(f"/v1/channels/{KEY}", channel_body(command), expect=200)
        id = run_one(peal)
        equal(delivery(peal, id)["state"], state, command)
        like(last_attempt(peal, id), {"reason": reason, "code": code, "detail": words})


def test_what_failed_is_tried_again_and_parked_in_the_end(ctx):
    commands = Commands(ctx)
    commands.add("count", "echo $PEAL_ATTEMPT >> $notes/runs; exit 3")
    peal = start(ctx, commands)
    make_exec(peal, "count")
    id = ingest_one(peal)
    advance(peal, "10m")
    equal(delivery(peal, id)["state"], "parked")
    equal(commands.note("runs").split(), ["1", "2", "3", "4"])


# What it may do, and Peal goes on


def test_input_that_nobody_reads_holds_nobody_up(ctx):
    commands = Commands(ctx)
    commands.add("deaf", "exit 0")
    commands.add("closed", "exec <&-; echo done")
    commands.add("counts", "wc -c")
    peal = start(ctx, commands)
    make_exec(peal, "deaf")
    large = visit(text="x" * 1000000)
    for command, words in [("deaf", None), ("closed", "done")]:
        peal.put(f"/v1/channels/{KEY}", channel_body(command), expect=200)
        like(last_attempt(peal, run_one(peal, large)), {"outcome": "delivered", "detail": words})
    peal.put(f"/v1/channels/{KEY}", channel_body("counts"), expect=200)
    assert int(last_attempt(peal, run_one(peal, large))["detail"]) > 1000000


def test_of_its_output_the_end_is_kept(ctx):
    commands = Commands(ctx)
    commands.add("loud", "yes | head -c 100000000; echo the end")
    commands.add("binary", "head -c 5000 /dev/urandom; printf '\\n\\377\\0the end'")
    peal = start(ctx, commands)
    make_exec(peal, "loud", config={"outputMax": 1000})
    detail = last_attempt(peal, run_one(peal))["detail"]
    assert detail.endswith("y\ny\nthe end") and 900 < len(detail) <= 1000, detail
    peal.put(f"/v1/channels/{KEY}", channel_body("binary", config={"outputMax": 1000}), expect=200)
    detail = last_attempt(peal, run_one(peal))["detail"]
    assert detail.endswith("\N{REPLACEMENT CHARACTER} the end") and len(detail.encode()) <= 1000, detail
    peal.put(f"/v1/channels/{KEY}", channel_body("loud", config={"outputMax": 0}), expect=200)
    like(last_attempt(peal, run_one(peal)), {"outcome": "delivered", "detail": None})


def test_at_its_timeout_the_whole_group_is_ended(ctx):
    commands = Commands(ctx)
    commands.add("hangs", 'trap "" TERM; sleep 1000 & echo $! > $notes/child; exec >&- 2>&-; echo $$ > $notes/own; wait')
    peal = start(ctx, commands)
    make_exec(peal, "hangs", config={"timeout": "1s"})
    id = ingest_one(peal)
    eventually(lambda: delivery(peal, id)["state"] == "retrying")
    like(last_attempt(peal, id), {"reason": "no-answer", "detail": "it did not end within 1s"})
    assert is_gone(commands.note("own").strip()) and is_gone(commands.note("child").strip())


def test_what_it_leaves_behind_holds_nobody_up(ctx):
    commands = Commands(ctx)
    commands.add("leaves", "sleep 1000 & echo $! > $notes/child; echo gone")
    peal = start(ctx, commands)
    make_exec(peal, "leaves")
    like(last_attempt(peal, run_one(peal)), {"outcome": "delivered", "detail": "gone"})
    assert eventually(lambda: is_gone(commands.note("child").strip()))


def test_two_hundred_at_once(ctx):
    commands = Commands(ctx)
    commands.add("waits", "echo $$ > $notes/in-$PEAL_EXECUTION_ID; while [ ! -e $notes/go ]; do sleep 0.2; done")
    peal = start(ctx, commands)
    make_exec(peal, "waits", concurrency=200)
    ingest(peal, *[visit() for _ in range(200)])
    eventually(lambda: len(list(commands.notes.glob("in-*"))) == 200, seconds=60)
    (commands.notes / "go").touch()
    settle(peal)
    states = peal.get("/v1/deliveries?state=delivered&limit=500", expect=200).json["items"]
    equal(len(states), 200)


def test_more_than_there_are_descriptors_for(ctx):
    commands = Commands(ctx)
    commands.add("waits", "while [ ! -e $notes/go ]; do sleep 0.2; done")
    peal = start(ctx, commands, files_max=256, clock="system")  # sixteen at once
    make_exec(peal, "waits", concurrency=40)
    ingest(peal, *[visit() for _ in range(40)])
    eventually(lambda: len(deliveries(peal, "&state=sending")) >= 10)
    (commands.notes / "go").touch()
    eventually(lambda: len(deliveries(peal, "&state=delivered")) == 40, seconds=60)
    equal({one["attemptCount"] for one in deliveries(peal)}, {1})  # what was given back is not charged


# Which commands there are


def test_only_the_operator_says_what_runs(ctx):
    commands = Commands(ctx)
    commands.add("fine", "true")
    commands.add("plain", "true", mode=0o644)
    commands.add("open", "true", mode=0o757)
    (commands.folder / "within").symlink_to("fine")
    (commands.folder / "out").symlink_to("/bin/true")
    (commands.folder / "nowhere").symlink_to("nothing")
    beside = ctx.folder / "commands-of-others"
    beside.mkdir()
    (commands.folder / "beside").symlink_to(shutil.copy("/bin/true", beside))
    commands.add("-n", "true")
    (commands.folder / "folder").mkdir()
    peal = start(ctx, commands)
    for command in ("../fine", "/bin/true", "fine/", "..", ".", "", "-x", "a b", "missing", "plain", "open", "out",
                    "nowhere", "folder", "beside", "-n", "x" * 101):
        answer = peal.post("/v1/channels", channel_body([command]), expect=422)
        assert {path.split("/")[2] for path, _ in problems(answer)} == {"command"}, (command, answer.json)
    for config in ({}, {"command": []}, {"command": "fine", "timeout": "2d"}, {"command": "fine", "outputMax": -1},
                   {"command": "fine", "shell": True}):
        peal.post("/v1/channels", {"key": KEY, "type": "exec", "config": config}, expect=422)
    acme = make_tenant(peal, "acme")
    acme.post("/v1/channels", channel_body("fine"), expect=403)
    acme.post("/v1/channels", {"key": KEY, "type": "memory"}, expect=201)
    acme.patch(f"/v1/channels/{KEY}", {"type": "exec", "config": {"command": "fine"}}, expect=403)
    make_exec(peal, "within")
    equal(delivery(peal, run_one(peal))["state"], "delivered")


def test_the_look_is_taken_when_it_runs(ctx):
    commands = Commands(ctx)
    path = commands.add("fine", "true")
    peal = start(ctx, commands)
    make_exec(peal, "fine")

    def parked():
        id = run_one(peal)
        like(delivery(peal, id), {"state": "parked", "reason": "bad-request"})
        return last_attempt(peal, id)["detail"]

    path.chmod(0o644)
    equal(parked(), "the command fine cannot be run: it is not executable")
    path.unlink()
    assert "is not in --exec-dir" in parked()
    path.symlink_to("/bin/true")
    equal(parked(), "the command fine cannot be run: it leads out of --exec-dir")
    path.unlink()
    commands.add("fine", "true", interpreter="/no/such/interpreter")
    assert "No such file" in parked()
    path.write_bytes(b"neither a script nor a program")
    assert "Exec format error" in parked()


def test_without_a_folder_there_are_no_commands(ctx):
    commands = Commands(ctx)
    commands.add("fine", "true")
    refused = ctx.peal.post("/v1/channels", channel_body("fine"), expect=422)
    equal(problems(refused), [("/type", "bad-command")])
    assert "--exec-dir" in refused.json["errors"][0]["message"]
    ctx.peal.stop()
    peal = start(ctx, commands)
    make_exec(peal, "fine")
    peal.stop()
    peal = ctx.start()
    id = run_one(peal)
    equal(delivery(peal, id)["state"], "pending")  # it waits for a node that has the folder
    peal.patch(f"/v1/channels/{KEY}", {"concurrency": 2}, expect=422)
    make_tenant(peal, "acme").patch(f"/v1/channels/{KEY}", {"enabled": False}, expect=404)
    peal.patch(f"/v1/channels/{KEY}", {"enabled": False}, expect=200)  # that can always be said
    settle(peal)
    like(delivery(peal, id), {"state": "parked", "reason": "channel-disabled"})
    peal.stop()
    peal = start(ctx, commands)
    peal.patch(f"/v1/channels/{KEY}", {"enabled": True}, expect=200)
    peal.post(f"/v1/deliveries/{id}/retry", expect=200)
    settle(peal)
    equal(delivery(peal, id)["state"], "delivered")


@only("postgres")
def test_nodes_without_the_folder_leave_it_to_others(ctx):
    commands = Commands(ctx)
    commands.add("fine", "true")
    able, other = start(ctx, commands, clock="system"), ctx.start(clock="system")
    make_exec(able, "fine")
    ingest(other, *[visit() for _ in range(20)])
    eventually(lambda: len(deliveries(able, "&state=delivered")) == 20)
    equal(len({attempts(able, one["id"])[0]["node"] for one in deliveries(able)}), 1)


@only("sqlite")
def test_a_folder_that_everybody_may_write_is_refused(ctx):
    commands = Commands(ctx)
    for folder, words in [(commands.folder, "everybody may write it"), ("/no/such", "No such file"),
                          (__file__, "is no folder")]:
        commands.folder.chmod(0o777)
        ran = run_peal("serve", "--store", ctx.store_url, "--listen", "127.0.0.1:0", "--exec-dir", folder)
        assert ran.code == 2 and words in ran.err, ran


# As the handler of a job


def make_job(peal, command, name="Rates", **members):
    peal.post("/v1/channels", channel_body(command), expect=201)
    return peal.post("/v1/jobs", {"name": name, "handler": KEY, **members}, expect=201).json


def trigger_job(peal, name="Rates"):
    return peal.post(f"/v1/jobs/{name}/trigger", expect=202).json["deliveryId"]


def executions(peal, name="Rates"):
    return peal.get(f"/v1/jobs/{name}/executions", expect=200).json["items"]


def progress(peal):
    return [line["message"] for run in executions(peal) for line in run["progress"]]


def test_a_run_of_a_job_knows_what_it_is(ctx):
    commands = Commands(ctx)
    commands.add("look", "cat > $notes/input; env > $notes/env; echo 34 rates")
    peal = start(ctx, commands)
    make_job(peal, "look", payload={"base": "EUR"})
    id = trigger_job(peal)
    settle(peal)
    like(delivery(peal, id), {"state": "delivered", "status": "Succeeded"})
    like(last_attempt(peal, id), {"detail": "34 rates"})
    like(json.loads(commands.note("input")), {"job": "Rates", "executionId": f"{id}-1", "source": "Manual",
                                              "payload": {"base": "EUR"}})
    lines = commands.note("env").splitlines()
    assert "PEAL_JOB=Rates" in lines and f"PEAL_EXECUTION_ID={id}-1" in lines, lines


def test_progress_is_seen_while_it_runs(ctx):
    commands = Commands(ctx)
    commands.add("steps", "echo progress: one; echo 'progress:   two  '; echo 'progress:'; echo other;"
                          " printf 'progress: \\033[1mb\\377\\n'; while [ ! -e $notes/go ]; do sleep 0.1; done;"
                          " echo progress: last; echo done")
    peal = start(ctx, commands)
    make_job(peal, "steps")
    id = trigger_job(peal)
    eventually(lambda: progress(peal) == ["one", "two", "[1mb\N{REPLACEMENT CHARACTER}"])
    like(executions(peal), [{"executionId": f"{id}-1", "completedAt": None, "succeeded": None}])
    (commands.notes / "go").touch()
    settle(peal)
    equal(progress(peal)[3:], ["last"])
    like(executions(peal), [{"succeeded": True, "message": "other\ndone", "retry": 0}])


def test_one_that_talks_without_end_is_not_listened_to(ctx):
    commands = Commands(ctx)
    commands.add("talks", "yes 'progress: again' | head -n 200000; echo done")
    peal = start(ctx, commands)
    make_job(peal, "talks")
    id = trigger_job(peal)
    settle(peal)
    like(last_attempt(peal, id), {"outcome": "delivered", "detail": "done"})
    equal(len(progress(peal)), 1000)


def test_what_was_said_is_there_on_every_page(ctx):
    commands = Commands(ctx)
    commands.add("talks", "yes \"progress: $(head -c 990 /dev/zero | tr '\\0' x)\" | head -n 1000")
    peal = start(ctx, commands)
    make_job(peal, "talks")
    for _ in range(10):
        trigger_job(peal)
        settle(peal)
    found, cursor, pages = [], "", 0
    while cursor is not None:
        page = peal.get(f"/v1/jobs/Rates/executions?limit=500{cursor}", expect=200).json
        found += page["items"]
        cursor, pages = page["next"] and f"&cursor={page['next']}", pages + 1
    equal([len(one["progress"]) for one in found], [1000] * 10)
    equal(len({one["executionId"] for one in found}), 10)
    assert pages < 5, f"{pages} pages"


def test_a_job_bounds_its_command(ctx):
    commands = Commands(ctx)
    commands.add("hangs", "echo half; exec sleep 1000")
    peal = start(ctx, commands)
    make_job(peal, "hangs", timeout="1s")
    id = trigger_job(peal)
    eventually(lambda: delivery(peal, id)["status"] == "Retrying")
    like(last_attempt(peal, id), {"reason": "no-answer", "detail": "it did not end within 1s\nhalf"})


# When Peal ends


def test_a_stop_ends_commands_and_they_run_again(ctx):
    commands = Commands(ctx)
    commands.add("long", 'echo $$ > $notes/$PEAL_ATTEMPT; [ $PEAL_ATTEMPT = 2 ] || exec sleep 1000')
    peal = start(ctx, commands)
    make_exec(peal, "long")
    id = ingest_one(peal)
    pid = commands.note("1").strip()
    peal.stop()
    assert is_gone(pid)
    peal.start()
    like(last_attempt(peal, id), {"outcome": "transient", "reason": "no-answer", "detail": "Peal was stopped while it ran"})
    advance(peal, "1m")
    equal(commands.note("2") and delivery(peal, id)["state"], "delivered")


def test_no_command_outlives_a_peal_that_was_killed(ctx):
    commands = Commands(ctx)
    commands.add("long", 'sleep 1000 & echo $! $$ > $notes/$PEAL_ATTEMPT; [ $PEAL_ATTEMPT = 2 ] || wait')
    peal = start(ctx, commands, clock="system")
    peal.post("/v1/channels", channel_body("long"), expect=201)
    make_trigger(peal, channel=KEY, retry={"policy": "fixed", "interval": "1s", "max": 3})
    id = ingest_one(peal)
    pids = commands.note("1").split()
    peal.kill9()
    eventually(lambda: all(is_gone(pid) for pid in pids))
    peal.start()
    eventually(lambda: delivery(peal, id)["state"] == "delivered", seconds=60)
    like(attempts(peal, id), [{"number": 1, "outcome": "unknown", "reason": "lease-lapsed"},
                              {"number": 2, "outcome": "delivered"}])


if __name__ == "__main__":
    main()
