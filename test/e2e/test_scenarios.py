"""X8: `peal test DIR` plays scenarios in virtual time, each on a Peal of its own.

Its store is SQLite by design, in a folder that is removed, so these tests need none of their own.
"""
import json
import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import xml.etree.ElementTree

from document import Schemas
from harness import equal, eventually, main, once
from process import Process
from server import PASSED_ON, ROOT, peal_program, run_peal

WAYS = """\
kind: channel
key: memory:mail
type: memory
---
kind: trigger
id: ask
eventKind: visit.closed
channel: memory:mail
schedule: {reminders: [2d, 5d]}
expireAfter: 30d
"""

VISIT = "event: {kind: visit.closed, payload: {wip: '7'}, recipient: {address: ada@example.com}}"

PASSES = f"""\
kind: scenario
name: Reminded twice
until: +60d
steps:
  - {VISIT}
    expect: {{channel: memory:mail, to: ada@example.com, rule: ask, send: 1, payload: {{wip: "7"}}}}
  - at: +2d
    expect: {{send: 2}}
  - at: +7d
    expect: {{send: 3}}
  - at: +40d
    deliveries: {{rule: ask, state: expired, reason: quiet, count: 1}}
"""


def project(ctx, name="shop", **files):
    """A folder with these files; the ways out and the trigger are in it anyhow."""
    folder = ctx.folder / name
    folder.mkdir(exist_ok=True)
    for file, text in {"ways": WAYS, **files}.items():
        (folder / f"{file}.yaml").write_text(text)
    return folder


def temporary(ctx):
    folder = ctx.folder / "tmp"
    folder.mkdir(exist_ok=True)
    return folder


def environment(ctx, **env):
    return {"HOME": str(ctx.folder), "TMPDIR": str(temporary(ctx)), **env}


def peal_test(ctx, *words, **env):
    """Runs `peal test`; whatever it did, it leaves nothing."""
    ran = run_peal("test", *map(str, words), cwd=ctx.folder, env=environment(ctx, **env))
    equal(os.listdir(temporary(ctx)), [], "it left something behind")
    return ran


def scenario(steps, **members):
    head = "".join(f"{name}: {value}\n" for name, value in {"name": "s", **members}.items())
    return f"kind: scenario\n{head}steps:\n" + "".join(f"  - {step}\n" for step in steps)


def outcome(ctx, text, **files):
    return peal_test(ctx, project(ctx, s=text, **files))


@once
def test_a_new_project_passes_its_scenarios(ctx):
    equal(run_peal("init", "shop", cwd=ctx.folder).code, 0)
    ran = peal_test(ctx, "shop")
    equal((ran.code, ran.err), (0, ""), ran)
    assert re.search(r"\n5 passed, 0 failed \(\d+\.\d{3} s\)\n$", ran.out), ran
    equal(ran.out.count("ok    "), 5)


@once
def test_sixty_days_of_reminders_are_played_at_their_times(ctx):
    ran = outcome(ctx, PASSES)
    equal(ran.code, 0, ran)


@once
def test_what_differs_is_shown_in_the_order_of_time(ctx):
    folder = project(ctx, s=PASSES.replace("at: +7d", "at: +6d").replace("send: 1", "send: 1, subject: Hello"))
    ran = peal_test(ctx, folder)
    equal(ran.code, 1, ran)
    lines = [line for line in ran.out.splitlines() if re.match(r"    [-+ ] \d", line)]
    equal([(line[4], line[6:31], line[6:].split()[1]) for line in lines],
          [("-", "2026-01-05T09:00:00+00:00", "+0s"), ("+", "2026-01-05T09:00:00+00:00", "+0s"),
           (" ", "2026-01-07T09:00:00+00:00", "+2d"), ("-", "2026-01-11T09:00:00+00:00", "+6d"),
           ("+", "2026-01-12T09:00:00+00:00", "+7d")], ran.out)
    assert f"({folder}/s.yaml:6)" in lines[0] and f"({folder}/s.yaml:10)" in lines[3], ran.out
    assert 'subject is nothing, not "Hello"' in ran.out, ran.out
    assert "it came at 2026-01-12T09:00:00+00:00  +7d" in ran.out, ran.out
    assert "0 passed, 1 failed" in ran.out, ran.out


@once
def test_nothing_at_all_is_an_expectation(ctx):
    other = "event: {kind: visit.opened, recipient: {address: ada@example.com}}"
    equal(outcome(ctx, scenario([other], until="+90d")).code, 0)
    ran = outcome(ctx, scenario([VISIT], until="+1d"))
    equal(ran.code, 1, ran)
    assert re.search(r"\+ 2026-01-05T09:00:00\+00:00  \+0s +memory:mail to ada@example.com  rule ask  payload", ran.out), ran
    equal(outcome(ctx, scenario([VISIT], until="+1d", unexpected="allow")).code, 0)
    equal(outcome(ctx, scenario([VISIT], until="+90d", ignore="[{rule: ask}]")).code, 0)


@once
def test_scenarios_know_nothing_of_each_other(ctx):
    """The same event twice: without a store of its own, the second would be a duplicate."""
    once_only = WAYS + "dedupRecipe: [payload.wip]\n"
    twice = PASSES + "---\n" + PASSES.replace("Reminded twice", "Again")
    ran = outcome(ctx, twice, ways=once_only)
    equal((ran.code, ran.out.count("ok    ")), (0, 2), ran)


@once
def test_an_answer_stops_the_plan(ctx):
    survey = """\
kind: survey
id: csi
published: true
questions:
  - {id: rate, type: rating, required: true, text: {en: How?}}
triggers:
  - {id: t, eventKind: survey.due, channel: memory:mail, schedule: {initialDelay: 1d, reminders: [2d, 4d, 10d]}}
subscribers:
  - {key: "memory:crm", filter: {questionId: rate, op: <=, value: 2}}
---
kind: channel
key: memory:crm
type: memory
"""
    due = "event: {kind: survey.due, recipient: {address: ada@example.com, customerRef: A-1}}"
    sent = ["{at: +1d, expect: {to: ada@example.com, rule: 'csi:t'}}", "{at: +3d, expect: {send: 2, customerRef: A-1}}"]
    answered = "{at: +5d, answer: {to: ada@example.com, answers: {rate: %s}, agentId: a7}%s}"
    told = ", expect: {channel: memory:crm, payload: {agentId: a7, answers: {rate: 2}}}"
    over = "{at: +6d, deliveries: {rule: 'csi:t', state: completed, reason: answered}}"
    ran = outcome(ctx, scenario([due, *sent, answered % (2, told), over], until="+60d"), survey=survey)
    equal(ran.code, 0, ran)
    ran = outcome(ctx, scenario([due, *sent, answered % (5, "")], until="+60d"), survey=survey)
    equal(ran.code, 0, "its subscriber is told of bad ones only")
    ran = outcome(ctx, scenario([due, *sent, answered % (9, "")], until="+60d"), survey=survey)
    equal(ran.code, 1, ran)
    assert "! 2026-01-10T09:00:00+00:00  +5d  answer is refused" in ran.out and "s.yaml:8)" in ran.out, ran
    ran = outcome(ctx, scenario([due, "{at: +1h, answer: {to: bo@example.com, answers: {rate: 1}}}"]), survey=survey)
    equal(ran.code, 1, ran)
    assert "0 deliveries that are not over are meant (to bo@example.com), and not 1" in ran.out, ran


@once
def test_deliveries_are_completed_and_cancelled(ctx):
    first = "{" + VISIT + ", expect: {send: 1}}"
    for verb, state in (("complete", "completed"), ("cancel", "cancelled")):
        steps = [first, "{at: +1d, %s: {rule: ask}, deliveries: {to: ada@example.com, state: %s}}" % (verb, state)]
        ran = outcome(ctx, scenario(steps, until="+60d"))
        equal(ran.code, 0, ran)
    over = "{at: +1d, complete: {rule: ask}}"
    ran = outcome(ctx, scenario([first, over, first, over, "deliveries: {state: completed, count: 2}"], until="+60d"))
    equal(ran.code, 0, f"what is over is not meant: {ran}")
    ran = outcome(ctx, scenario([first, "deliveries: {rule: ask, state: parked, count: 3}"]))
    equal(ran.code, 1, ran)
    none = outcome(ctx, scenario(["deliveries: {rule: nobody}"]))
    equal(none.code, 1, "at least one unless said")
    assert "there are 0 deliveries of these (rule nobody)" in none.out, none
    assert "a delivery (rule ask) is waiting" in ran.out and "there are 1 deliveries of these (rule ask)" in ran.out, ran


@once
def test_jobs_fire_by_the_clocks_of_their_zone(ctx):
    """On 2026-03-29 Oslo's clocks skip an hour, on 2026-10-25 they show one twice."""
    job = "kind: job\nname: report\ncron: 0 9 * * *\nzone: Europe/Oslo\nhandler: memory:mail\n"
    days = ["{at: +%dd 09:00, expect: {rule: report}}" % day for day in range(1, 4)]
    for start in ("2026-03-27 12:00", "2026-10-23 12:00"):
        ran = outcome(ctx, scenario(days, start=start, zone="Europe/Oslo"), job=job)
        equal(ran.code, 0, ran)
    exact = ["{at: 2026-03-28T08:00:00Z, expect: {rule: report}}", "{at: 2026-03-29T09:00:00+02:00, expect: {rule: report}}",
             "{at: +2d20h, expect: {rule: report}}"]
    ran = outcome(ctx, scenario(exact, start="2026-03-27 12:00", zone="Europe/Oslo"), job=job)
    equal(ran.code, 0, ran)


@once
def test_what_is_wrong_with_the_files_is_told_with_its_line(ctx):
    wrong = {
        scenario(["evnt: {kind: k}"]): "s.yaml:4, document 1, /steps/0/evnt: ",
        scenario(["event: {kind: k, paylod: {}}"]): "s.yaml:4, document 1, /steps/0/event/paylod: ",
        scenario(["{at: soon, event: {kind: k}}"]): '/steps/0/at: "soon" is not a time',
        scenario(["{at: +2d, event: {kind: k}}", "{at: +1d, event: {kind: k}}"]): "s.yaml:5, document 1, /steps/1/at: is before",
        scenario(["{event: {kind: k}, notify: {list: l, body: b}}"]): "a step does one thing",
        scenario(["deliveries: {state: lost}"]): "/steps/0/deliveries/state: ",
        scenario(["event: {kind: k}"], zone="Europe/Atlantis"): "s.yaml:3, document 1, /zone: ",
        scenario(["event: {kind: k}"], start="+3d"): "/start: ",
        scenario(["event: {kind: k}"], until="+4000d"): "/until: ",
        scenario(["{at: 2031-01-01 00:00}", "{at: 2038-01-01 00:00}"]): "/steps/1/at: is more than ten years after the start",
        "kind: scenario\nname: n\n": "/steps: ",
        "kind: scenario\nname: n\nsteps: []\n": "/steps: ",
        "kind: [": "cannot be read",
    }
    for text, told in wrong.items():
        ran = outcome(ctx, text)
        equal(ran.code, 2, f"{text}: {ran}")
        assert told in ran.err and ran.out == "", f"{text}: {told}: {ran}"


@once
def test_a_definition_that_is_refused_ends_the_test(ctx):
    ran = outcome(ctx, PASSES, bad="kind: trigger\nid: bad\neventKind: k\nchanel: memory:mail\n")
    equal((ran.code, ran.out), (2, ""), ran)
    assert "bad.yaml:4, document 1, /chanel: " in ran.err, ran
    ran = outcome(ctx, PASSES, bad="kind: trigger\nid: bad\neventKind: k\nchannel: memory:mail\nfilter: {path: a, op: '~', value: 1}\n")
    equal(ran.code, 2, ran)
    assert "bad.yaml:5" in ran.err, ran


@once
def test_without_scenarios_there_is_nothing_to_pass(ctx):
    ran = peal_test(ctx, project(ctx))
    equal((ran.code, ran.out), (2, ""), ran)
    assert "There are no scenarios" in ran.err, ran
    ran = peal_test(ctx, project(ctx, s=PASSES), "--filter", "Three times")
    equal((ran.code, ran.out), (2, ""), ran)
    equal(peal_test(ctx, project(ctx, s=PASSES), "--filter", "twice").code, 0)
    equal(peal_test(ctx, ctx.folder / "nowhere").code, 2)
    equal(peal_test(ctx).code, 2)


@once
def test_an_event_that_is_refused_is_the_scenarios_failure(ctx):
    ran = outcome(ctx, scenario(["notify: {list: nobody, body: Hot}", "deliveries: {count: 0}"], unexpected="allow"))
    equal(ran.code, 1, ran)


@once
def test_nothing_leaves_the_machine(ctx):
    """Channels that would reach somebody, run something or read a database do nothing of it."""
    receiver = ctx.receiver()
    mark = ctx.folder / "ran"
    ways = f"""\
kind: channel
key: http:far
type: http
config: {{url: "{receiver.url}", signingSecret: {{env: NOT_SET}}, headers: {{X-A: {{file: not/there}}}}}}
---
kind: channel
key: http:named
type: http
config: {{url: {{env: NOT_SET_EITHER}}}}
---
kind: channel
key: exec:touch
type: exec
config: {{command: [touch, "{mark}"]}}
---
kind: channel
key: worker:far
type: worker
---
kind: source
id: rows
provider: table
config: {{store: "sqlite:{ctx.folder}/precious.db", table: orders}}
"""
    keys = ("http:far", "http:named", "exec:touch", "worker:far")
    ways += "".join(f"---\nkind: trigger\nid: t{i}\neventKind: k\nchannel: '{key}'\n" for i, key in enumerate(keys))
    expect = "".join(f"      - {{channel: '{key}', to: ada@example.com}}\n" for key in keys)
    text = scenario(["event: {kind: k, recipient: {address: ada@example.com}}\n    expect:\n" + expect.rstrip()])
    ran = outcome(ctx, text, far=ways)
    equal(ran.code, 0, ran)
    equal((receiver.received, mark.exists(), (ctx.folder / "precious.db").exists()), ([], False, False))


@once
def test_what_the_user_has_set_is_not_touched(ctx):
    """His store, his keys and his server are named by variables, and by a file in his folder."""
    precious = ctx.folder / "precious.db"
    precious.write_text("this is no database")
    (ctx.folder / "peal-data").mkdir()
    (ctx.folder / "peal-data" / "admin.key").write_text("pk_precious\n")
    (ctx.folder / "credentials").mkdir()
    env = {"PEAL_STORE": f"sqlite:{precious}", "PEAL_CONFIG": "/not/there.yaml", "PEAL_URL": "http://127.0.0.1:1",
           "PEAL_KEY": "pk_wrong", "PEAL_ADMIN_KEY": "pk_wrong", "PEAL_LISTEN": "127.0.0.1:1", "PEAL_CLOCK": "system",
           "PEAL_MASTER_KEY_FILE": "/not/there", "CREDENTIALS_DIRECTORY": str(ctx.folder / "credentials"),
           "NOTIFY_SOCKET": str(ctx.folder / "notify"), "LISTEN_FDS": "1", "http_proxy": "http://127.0.0.1:1",
           "PEAL_LOG_LEVEL": "nonsense", "PEAL_KEEP": "7d", "PEAL_STATE_DIR": "/not/there", "TZ": "Asia/Kathmandu"}
    folder = project(ctx, s=PASSES)
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    ctx.closers.append(manager.close)
    manager.bind(env["NOTIFY_SOCKET"])
    before = {path: path.stat().st_mtime_ns for path in ctx.folder.rglob("*") if path.name != "tmp"}
    ran = peal_test(ctx, folder, **env)
    equal((ran.code, ran.err), (0, ""), ran)
    after = {path: path.stat().st_mtime_ns for path in ctx.folder.rglob("*") if path.name != "tmp"}
    equal(after, before, "nothing was written but to the temporary folder")
    equal(precious.read_text(), "this is no database")
    equal(select.select([manager], [], [], 0)[0], [], "systemd is not told of a Peal that is none of its")


@once
def test_a_folder_that_cannot_be_written_is_good_enough(ctx):
    folder = project(ctx, s=PASSES)
    for path in (*folder.iterdir(), folder):
        path.chmod(path.stat().st_mode & 0o555)
    equal(peal_test(ctx, folder).code, 0)
    folder.chmod(0o755)
    ran = run_peal("test", str(folder), cwd=ctx.folder, env={**environment(ctx), "TMPDIR": "/not/there"})
    equal(ran.code, 1, ran)
    assert "no folder for it could be made" in ran.err, ran


# Enough work that it is under way for as long as a test needs it to be.
BUSY = "kind: job\nname: busy\ncron: '* * * * * *'\nhandler: memory:mail\n"


def begun(ctx, name="shop"):
    """A `peal test` that is at work, and the Peal that it plays on."""
    folder = project(ctx, name, busy=BUSY, s=scenario(["{at: +3000d, expect: []}"], unexpected="allow"))
    given = {key: os.environ[key] for key in PASSED_ON if key in os.environ}
    process = Process([peal_program(), "test", folder], cwd=ctx.folder, env={**given, **environment(ctx)})
    ctx.closers.append(process.kill)
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    child = int(eventually(lambda: children.read_text().split() and list(temporary(ctx).glob("*/peal.db-wal"))
                           and children.read_text().split())[0])
    return process, child


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@once
def test_who_stops_it_finds_nothing_left(ctx):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        process, child = begun(ctx)
        process.send(number)
        equal(process.wait(20), -number, "it ends by the signal, as its shell wants to know")
        equal((is_alive(child), os.listdir(temporary(ctx))), (False, []))


@once
def test_where_it_is_killed_its_peal_dies_with_it(ctx):
    process, child = begun(ctx)
    process.kill()
    eventually(lambda: not is_alive(child))


@once
def test_where_its_peal_dies_that_is_told(ctx):
    process, child = begun(ctx)
    os.kill(child, signal.SIGKILL)
    equal(process.wait(20), 1)
    assert "The Peal that was tested with has ended" in process.err.text(), process.err.text()
    assert "it was ended by signal 9 (Killed)" in process.err.text(), process.err.text()
    equal(os.listdir(temporary(ctx)), [])


@once
def test_where_its_peal_cannot_start_its_words_are_told(ctx):
    few = f"ulimit -n 12; exec '{peal_program()}' test '{project(ctx, s=PASSES)}'"
    done = subprocess.run(["sh", "-c", few], cwd=ctx.folder, env={**os.environ, **environment(ctx)}, capture_output=True, text=True)
    equal((done.returncode, done.stdout), (1, ""), done)
    assert "The Peal that was tested with has ended" in done.stderr, done
    assert "It said:\n" in done.stderr and "event=descriptors.few" in done.stderr, done
    equal(os.listdir(temporary(ctx)), [])


@once
def test_where_nobody_reads_on_it_ends(ctx):
    folder = project(ctx, s=(PASSES + "---\n") * 3)
    done = subprocess.Popen([peal_program(), "test", folder], cwd=ctx.folder, env={**os.environ, **environment(ctx)},
                            stdout=subprocess.PIPE)
    done.stdout.close()
    equal(done.wait(60), -signal.SIGPIPE)
    equal(os.listdir(temporary(ctx)), [])


@once
def test_two_at_once_do_not_meet(ctx):
    first, child = begun(ctx)
    other = project(ctx, "other", s=PASSES)
    equal(run_peal("test", str(other), cwd=ctx.folder, env=environment(ctx)).code, 0)
    equal((first.is_running(), is_alive(child)), (True, True))


@once
def test_a_channel_that_fails_is_retried_at_its_times(ctx):
    ways = """\
kind: channel
key: http:far
type: http
config: {url: "https://far.example/in", signingSecret: {env: NOT_SET}}
retry: {policy: fixed, interval: 10m, max: 4}
---
kind: trigger
id: tell
eventKind: k
channel: http:far
"""
    event = "event: {kind: k, recipient: {address: ada@example.com}}"
    fails = "channel: {key: 'http:far', config: {failFirst: 3}}"
    states = "{at: +5m, deliveries: {rule: tell, state: retrying, reason: unwell}}"
    ran = outcome(ctx, scenario([fails, event, states, "{at: +10m, expect: []}"], until="+3d"), far=ways)
    equal(ran.code, 1, ran)
    came = re.search(r"\+ \S+  \+(\S+) +http:far", ran.out)[1]
    ran = outcome(ctx, scenario([fails, event, states, "{at: +%s, expect: {channel: 'http:far'}}" % came], until="+3d"), far=ways)
    equal(ran.code, 0, ran)
    late = "{expect: {channel: 'http:far', within: 3h}}"
    equal(outcome(ctx, scenario([fails, event, late], until="+3d"), far=ways).code, 0)
    over = "{at: +2d, deliveries: {rule: tell, state: parked, reason: gave-up, count: 1}}"
    never = "channel: {key: 'http:far', config: {answer: transient}}"
    equal(outcome(ctx, scenario([never, event, over]), far=ways).code, 0)
    ran = outcome(ctx, scenario(["channel: {key: 'http:no', config: {answer: transient}}"]), far=ways)
    equal(ran.code, 1, ran)
    assert "channel is refused: There is no such thing" in ran.out, ran
    equal(outcome(ctx, scenario(["channel: {key: 'http:no', config: {answr: transient}}"]), far=ways).code, 2)


@once
def test_jobs_are_run_by_hand(ctx):
    job = "kind: job\nname: report\nhandler: memory:mail\npayload: {a: 1}\n"
    steps = ["{at: +1h, run: report, expect: {rule: report, payload: {a: 1}}}"]
    equal(outcome(ctx, scenario(steps), job=job).code, 0)


@once
def test_lists_are_notified(ctx):
    ops = "kind: list\nid: ops\nchannels: [memory:mail]\ntargets:\n  - {address: a@example.com}\n  - {address: b@example.com}\n"
    steps = ["{notify: {list: ops, subject: Boiler, body: It is hot}, expect: {rule: ops, subject: Boiler, body: It is hot,"
             " contains: [hot, Boil]}}"]
    ran = outcome(ctx, scenario(steps), ops=ops)
    equal(ran.code, 0, ran)


@once
def test_webhooks_come_signed_by_the_clock_of_the_scenario(ctx):
    ways = """\
kind: source
id: shop
provider: stripe
---
kind: source
id: free
provider: generic
config: {verify: {kind: none}}
---
kind: trigger
id: pay
eventKind: stripe.event
channel: memory:mail
---
kind: trigger
id: any
eventKind: generic.event
channel: memory:mail
"""
    hook = "hook: {source: shop, body: {id: evt_%d, type: charge.succeeded, created: 1767603600}}"
    steps = ["{%s, expect: {rule: pay}}" % (hook % 1), "{at: +40d, %s, expect: {rule: pay}}" % (hook % 2),
             "{hook: {source: free, headers: {X-Kind: a}, body: {id: 1, type: order.paid}}, expect: {rule: any}}"]
    ran = outcome(ctx, scenario(steps), ways2=ways)
    equal(ran.code, 0, ran)
    ran = outcome(ctx, scenario(["hook: {source: nobody, body: {}}"]), ways2=ways)
    equal(ran.code, 1, ran)
    assert "hook is refused: There is no such thing" in ran.out, ran
    ran = outcome(ctx, scenario(["hook: {source: shop, event: no.such}"]), ways2=ways)
    equal(ran.code, 1, ran)
    assert "the source's provider has no such example" in ran.out, ran
    ran = outcome(ctx, scenario([hook % 3]), ways2=ways.replace("provider: stripe", "provider: stripe\nenabled: false"))
    equal(ran.code, 1, ran)
    assert "the webhook is answered 404: " in ran.out, ran
    equal(outcome(ctx, scenario(["hook: {source: shop}"]), ways2=ways).code, 2)


@once
def test_every_example_of_a_provider_is_taken(ctx):
    """Whatever `peal hooks send` can send, a scenario can."""
    rows = [line.split() for line in run_peal("hooks", "send", "--list").out.splitlines()[1:]]
    sources = "".join(f"---\nkind: source\nid: s-{one}\nprovider: {one}\n" for one in sorted({row[0] for row in rows}))
    steps = [f"hook: {{source: s-{one}, event: '{event}'}}" for one, event in rows]
    ran = outcome(ctx, scenario(steps), sources=sources)
    equal(ran.code, 0, ran)


@once
def test_results_are_told_to_programs(ctx):
    odd = 'Not <so> & "thus"'
    folder = project(ctx, s=PASSES + "---\n" + scenario([VISIT], name=f"'{odd}'"))
    ran = peal_test(ctx, folder, "--json", "--junit", ctx.folder / "results.xml")
    equal(ran.code, 1, ran)
    told = json.loads(ran.out)
    equal((told["passed"], told["failed"]), (1, 1))
    equal([(one["name"], one["passed"], one["line"]) for one in told["scenarios"]],
          [("Reminded twice", True, 1), (odd, False, 14)])
    suite = xml.etree.ElementTree.parse(ctx.folder / "results.xml").getroot().find("testsuite")
    equal((suite.get("tests"), suite.get("failures")), ("2", "1"))
    cases = suite.findall("testcase")
    equal([one.get("name") for one in cases], ["Reminded twice", odd])
    equal(cases[0].find("failure"), None)
    assert cases[1].find("failure").text.startswith("+ 2026-01-05T09:00:00+00:00  +0s"), cases[1].find("failure").text
    equal(peal_test(ctx, project(ctx, s=PASSES), "--junit", "/dev/full").code, 1, "CI would miss what it was promised")
    ran = peal_test(ctx, folder, "--junit", "/not/there.xml")
    equal((ran.code, ran.out), (1, ""), ran)
    project(ctx, bad="kind: trigger\nid: bad\n")
    equal(peal_test(ctx, folder, "--junit", ctx.folder / "results.xml").code, 2)
    suite = xml.etree.ElementTree.parse(ctx.folder / "results.xml").getroot().find("testsuite")
    equal(suite.get("tests"), "0", "what was not played is not told of")


@once
def test_scenarios_may_be_json_and_one_file(ctx):
    folder = project(ctx)
    one = {"kind": "scenario", "name": "n", "steps": [{"event": {"kind": "visit.closed"}}]}
    (folder / "s.json").write_text(json.dumps([one, {**one, "name": "o"}], indent=1))
    ran = peal_test(ctx, folder)
    equal((ran.code, ran.out.count("FAIL ")), (1, 2), ran)
    assert re.search(r"FAIL  o  .*/s\.json:1\d\n", ran.out), ran
    alone = ctx.folder / "alone.yaml"
    alone.write_text(WAYS + "---\n" + PASSES)
    equal(peal_test(ctx, alone).code, 0)


@once
def test_what_a_stranger_wrote_plays_no_tricks(ctx):
    """A payload cannot reach the terminal, nor end a line of the report."""
    nasty = "event: {kind: visit.closed, payload: {a: \"x\\n+ 2026 fake \\e[31m\"}, recipient: {address: \"a\u202e@example.com\"}}"
    ran = outcome(ctx, scenario([nasty]))
    equal(ran.code, 1, ran)
    assert "\x1b" not in ran.out and len(ran.out.splitlines()) == 3, ran.out


@once
def test_what_the_documents_show_can_be_read(ctx):
    """They are about other definitions, so that they fail; but as scenarios, not as files."""
    text = (ROOT / "docs" / "testing.md").read_text()
    shown = [block for block in re.findall(r"```yaml\n(.*?)```", text, re.S) if "kind: scenario" in block]
    equal(len(shown), 2)
    for block in shown:
        ran = outcome(ctx, block)
        equal(ran.code, 1, f"{block}: {ran}")


@once
def test_the_schema_knows_scenarios(ctx):
    schema = json.loads(run_peal("schema").out)
    checker = Schemas(schema)
    good = {"kind": "scenario", "name": "n", "steps": [{"event": {"kind": "k"}, "expect": [{"channel": "a:b"}]}]}
    equal(list(checker.problems(good, schema)), [])
    equal(list(checker.problems({**good, "steps": [{"expect": {"channel": "a:b"}}]}, schema)), [], "one stands alone")
    for wrong in ({"name": "n"}, {**good, "stps": []}, {**good, "steps": [{"evnt": {}}]}):
        assert list(checker.problems({"kind": "scenario", **wrong}, schema)), wrong


if __name__ == "__main__":
    main()
