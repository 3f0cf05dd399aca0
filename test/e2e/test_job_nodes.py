"""J7, J9, J10: schedules on many nodes, and nodes that die in the middle of a run."""
import datetime
import threading

from cron_oracle import UTC
from harness import PATIENCE, equal, eventually, like, main, only
from job_steps import executions, make_job, scheduled, time_of
from steps import advance, attempts, deliveries, delivery

SCHEDULES = 1000
NODES = 4
LEASE = 15  # seconds that a send is claimed for


def percentile(values, percent):
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def tell_lateness(what, seconds):
    print(f"# {what}: p50 {percentile(seconds, 50) * 1000:.1f} ms, p99 {percentile(seconds, 99) * 1000:.1f} ms,"
          f" most {max(seconds) * 1000:.1f} ms of {len(seconds)}", flush=True)


def lateness(one):
    return (time_of(one["startedAt"]) - time_of(one["scheduledFor"])).total_seconds()


def at_each(nodes, count, work):
    """Has the nodes share so many pieces of work, a thread each."""
    def run(index):
        for number in range(index, count, len(nodes)):
            work(nodes[index], number)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(nodes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def in_seconds(seconds):
    at = datetime.datetime.now(UTC) + datetime.timedelta(seconds=seconds)
    return at.replace(microsecond=0)


@only("postgres")
def test_four_nodes_and_a_thousand_schedules_in_the_same_second(ctx):
    nodes = [ctx.start(clock="system") for _ in range(NODES)]
    due = in_seconds(25 * PATIENCE)
    cron = f"{due.second} {due.minute} {due.hour} * * *"
    for number in range(SCHEDULES):
        make_job(nodes[0], f"job-{number}", cron=cron)
    assert datetime.datetime.now(UTC) < due, "they were not made in time"
    eventually(lambda: len(deliveries(nodes[0], "&state=delivered")) == SCHEDULES, 60)
    ran = [None] * SCHEDULES

    def look(node, number):
        ran[number] = executions(node, f"job-{number}")

    at_each(nodes, SCHEDULES, look)
    for rows in ran:
        equal([(time_of(one["scheduledFor"]), one["succeeded"]) for one in rows], [(due, True)])
    late = [lateness(rows[0]) for rows in ran]
    tell_lateness("a thousand schedules in one second", late)
    assert 0 <= min(late) and max(late) < 5 * PATIENCE, (min(late), max(late))
    equal(len(deliveries(nodes[0])), SCHEDULES)


@only("postgres")
def test_every_second_on_four_nodes_each_once(ctx):
    nodes = [ctx.start(clock="system") for _ in range(NODES)]
    make_job(nodes[0], "second", cron="* * * * * *", overlap="allow", missed="all")
    eventually(lambda: len(executions(nodes[1], "second")) >= 12, 40)
    found = scheduled(nodes[2], "second")
    equal(found, [found[0] + datetime.timedelta(seconds=n) for n in range(len(found))])
    late = [lateness(one) for one in executions(nodes[3], "second")]
    tell_lateness("every second on four nodes", late)
    assert min(late) >= 0, late


def test_every_second_on_time(ctx):
    peal = ctx.start(clock="system")
    make_job(peal, "second", cron="* * * * * *", overlap="allow", missed="all")
    eventually(lambda: len(executions(peal, "second")) >= 20, 40)
    found = scheduled(peal, "second")
    equal(found, [found[0] + datetime.timedelta(seconds=n) for n in range(len(found))])
    late = [lateness(one) for one in executions(peal, "second")]
    tell_lateness(f"every second on {ctx.store}", late)
    assert 0 <= min(late) and percentile(late, 50) < 0.1 * PATIENCE, late


def make_way_out(peal, receiver):
    peal.post("/v1/channels", {"key": "http:out", "type": "http", "timeout": "60s",
                               "config": {"url": receiver.url}}, expect=201)


def check_it_was_retried(peal, id):
    eventually(lambda: delivery(peal, id)["state"] == "delivered", LEASE + 40)
    first, second = attempts(peal, id)
    like(first, {"number": 1, "outcome": "unknown", "reason": "lease-lapsed"})
    like(second, {"number": 2, "outcome": "delivered"})
    return first, second


def test_a_run_whose_node_is_killed_is_tried_again_with_its_count_raised(ctx):
    peal, receiver, gate = ctx.peal, ctx.receiver(), threading.Event()
    receiver.answer(200, hold=gate)
    make_way_out(peal, receiver)
    make_job(peal, "slow", handler="http:out", cron="0 6 * * *")
    moving = threading.Thread(target=lambda: move_on(peal), daemon=True)
    moving.start()
    receiver.wait_for(1)
    peal.kill9()
    moving.join()
    receiver.answer(200)
    peal.clock = "manual"  # it goes on from where it stood
    peal.start()
    advance(peal, "2h")
    gate.set()
    rows = sorted(executions(peal, "slow"), key=lambda one: one["retry"])
    like(rows, [{"retry": 0, "succeeded": False}, {"retry": 1, "succeeded": True}])
    equal({one["scheduledFor"] for one in rows}, {"2026-05-14T06:00:00.000Z"})
    equal(receiver.count(), 2)


def move_on(peal):
    """Moves the clock; the program dies meanwhile."""
    try:
        advance(peal, "50m")
    except Exception:  # http.client has many ways to say that nobody answered
        pass


@only("postgres")
def test_exactly_one_of_the_others_takes_up_the_run_of_a_killed_node(ctx):
    first, receiver, gate = ctx.start(clock="system"), ctx.receiver(), threading.Event()
    receiver.answer(200, hold=gate)
    ctx.closers.append(gate.set)
    make_way_out(first, receiver)
    make_job(first, "slow", handler="http:out")
    run = first.post("/v1/jobs/slow/defer", {"entity": "12345", "delay": "1s"}, expect=202).json
    receiver.wait_for(1)
    others = [ctx.start(clock="system") for _ in range(NODES - 1)]
    first.kill9()
    receiver.answer(200)
    tries = check_it_was_retried(others[0], run["id"])
    assert tries[0]["node"] != tries[1]["node"], tries
    equal(receiver.count(), 2)
    like(sorted(executions(others[1], "slow"), key=lambda one: one["retry"]),
         [{"retry": 0, "succeeded": False, "source": "Deferred"}, {"retry": 1, "succeeded": True}])


if __name__ == "__main__":
    main()
