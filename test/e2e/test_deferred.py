"""J3 and J6: runs of a job that are put off for an entity, replaced, cancelled and tried again."""
import datetime
import threading

from harness import equal, eventually, like, main, only, slow
from steps import (advance, attempt_times, captured, delivery, make_channel, make_tenant, make_user, moment,
                   problems, settle, tick)
from test_jobs import make_job
from test_outbox import outbox, refused, sql


def defer(peal, entity="12345", job="payment-timeout", expect=202, **members):
    when = {} if "runAt" in members or "delay" in members else {"delay": "15m"}
    return peal.post(f"/v1/jobs/{job}/defer", {"entity": entity, **when, **members}, expect=expect).json


def cancel(peal, entity="12345", job="payment-timeout", expect=200):
    return peal.delete(f"/v1/jobs/{job}/deferred/{entity}", expect=expect).json


def pending(peal, job="payment-timeout"):
    return peal.get(f"/v1/jobs/{job}/deferred?limit=500", expect=200).json["items"]


def make_checkout(peal, **members):
    """The job of the checkout example: an unpaid order is cancelled after a quarter of an hour."""
    return make_job(peal, "payment-timeout", **members)


def test_an_order_that_is_not_paid_times_out(ctx):
    make_checkout(ctx.peal)
    made = defer(ctx.peal, payload={"order": 12345})
    equal(made["runAt"], moment(minutes=15))
    equal(pending(ctx.peal), [{"id": made["id"], "entity": "12345", "runAt": moment(minutes=15),
                               "createdAt": moment(), "state": "pending"}])
    advance(ctx.peal, "14m59s")
    equal(delivery(ctx.peal, made["id"])["state"], "pending")
    advance(ctx.peal, "1s")
    like(delivery(ctx.peal, made["id"]), {"state": "delivered", "status": "Succeeded", "entity": "12345",
                                          "rule": {"kind": "job", "id": "payment-timeout", "version": 1}})
    [taken] = captured(ctx.peal, made["id"])
    equal((taken["at"], taken["body"]["payload"]), (moment(minutes=15), {"order": 12345}))
    equal(pending(ctx.peal), [])


def test_an_order_that_is_paid_does_not(ctx):
    make_checkout(ctx.peal)
    other = defer(ctx.peal, "12346")["id"]
    made = defer(ctx.peal)["id"]
    advance(ctx.peal, "10m")
    equal(cancel(ctx.peal), {"cancelled": 1})
    equal(cancel(ctx.peal), {"cancelled": 0})
    advance(ctx.peal, "1h")
    like(delivery(ctx.peal, made), {"state": "cancelled", "status": "Cancelled", "reason": "called-off"})
    equal(captured(ctx.peal, made), [])
    equal(delivery(ctx.peal, other)["state"], "delivered")


def test_the_time_is_a_moment_or_a_delay_and_what_is_past_runs_at_once(ctx):
    make_checkout(ctx.peal, payload={"from": "the job"})
    at = defer(ctx.peal, "at", runAt=moment(hours=2), payload={"own": 1})
    equal(at["runAt"], moment(hours=2))
    local = defer(ctx.peal, "local", runAt="2026-05-14T08:12:34.5+02:00")
    equal(local["runAt"], moment(hours=1, milliseconds=500))
    past = defer(ctx.peal, "past", runAt=moment(days=-400))
    now = defer(ctx.peal, "now", delay="0s")
    settle(ctx.peal)
    equal([delivery(ctx.peal, one["id"])["state"] for one in (past, now, at)], ["delivered", "delivered", "pending"])
    equal(captured(ctx.peal, now["id"])[0]["body"]["payload"], {"from": "the job"})
    advance(ctx.peal, "2h")
    equal([captured(ctx.peal, one["id"])[0]["at"] for one in (local, at)],
          [moment(hours=1, milliseconds=500), moment(hours=2)])
    equal(captured(ctx.peal, at["id"])[0]["body"]["payload"], {"own": 1})


def test_bad_input_is_refused_by_its_field(ctx):
    make_checkout(ctx.peal)
    for members, expected in (({"delay": "1m", "runAt": moment()}, ("/delay", "bad-value")),
                              ({"delay": None}, ("/runAt", "missing-member")),
                              ({"delay": "soon"}, ("/delay", "bad-duration")),
                              ({"delay": "-1m"}, ("/delay", "bad-duration")),
                              ({"delay": "3661d"}, ("/delay", "bad-duration")),
                              ({"runAt": "tomorrow"}, ("/runAt", "bad-time")),
                              ({"runAt": moment(days=3661)}, ("/runAt", "bad-value")),
                              ({"entity": ""}, ("/entity", "bad-value")),
                              ({"entity": "e" * 201}, ("/entity", "too-large")),
                              ({"entity": "a\nb"}, ("/entity", "bad-value")),
                              ({"entity": 7}, ("/entity", "bad-type")),
                              ({"payload": [1]}, ("/payload", "bad-type")),
                              ({"replace": "yes"}, ("/replace", "bad-type")),
                              ({"replacee": True}, ("/replacee", "unknown-member"))):
        answer = ctx.peal.post("/v1/jobs/payment-timeout/defer", {"entity": "x", "delay": "1m", **members}
                               if "runAt" not in members or "delay" in members else {"entity": "x", **members}, expect=422)
        equal(problems(answer), [expected], members)
    defer(ctx.peal, "x", job="n" * 101, expect=422)
    defer(ctx.peal, "x", job="a%20b", expect=422)
    cancel(ctx.peal, "e" * 201, expect=422)
    cancel(ctx.peal, "a%0Ab", expect=400)
    ctx.peal.post("/v1/jobs/payment-timeout/defer", raw=b'{"entity":"\xff","delay":"1m"}', expect=400)
    ctx.peal.post("/v1/jobs/payment-timeout/defer", raw=b'{"entity":"a\\u0000b","delay":"1m"}', expect=400)
    defer(ctx.peal, "big", payload={"a": "x" * 1048576}, expect=413)
    equal(pending(ctx.peal), [])
    longest = "ż" * 100
    defer(ctx.peal, longest)
    equal([one["entity"] for one in pending(ctx.peal)], [longest])
    equal(cancel(ctx.peal, "%C5%BC" * 100), {"cancelled": 1})


def test_an_entity_may_hold_whatever_a_path_can_say(ctx):
    make_checkout(ctx.peal)
    for entity, path in (("order:1 2", "order:1%202"), ("100%", "100%25"), ("..", "%2E%2E"), ("?x=1", "%3Fx=1")):
        defer(ctx.peal, entity)
        equal(cancel(ctx.peal, path), {"cancelled": 1}, entity)
    defer(ctx.peal, "a/b")
    gone = ctx.peal.delete("/v1/jobs/payment-timeout/deferred?entity=a%2Fb", expect=200).json
    equal(gone, {"cancelled": 1})
    ctx.peal.delete("/v1/jobs/payment-timeout/deferred", expect=404)


def test_two_calls_are_two_runs_unless_one_replaces(ctx):
    make_checkout(ctx.peal)
    first, second = defer(ctx.peal), defer(ctx.peal, delay="20m")
    equal(len(pending(ctx.peal)), 2)
    other = defer(ctx.peal, "another")
    third = defer(ctx.peal, delay="30m", replace=True, payload={"n": 3})
    equal([one["id"] for one in pending(ctx.peal)], [third["id"], other["id"]])
    advance(ctx.peal, "1h")
    equal([delivery(ctx.peal, one["id"])["state"] for one in (first, second, third, other)],
          ["cancelled", "cancelled", "delivered", "delivered"])
    equal([one["at"] for one in captured(ctx.peal, third["id"])], [moment(minutes=30)])


def test_two_jobs_may_have_an_entity_in_common(ctx):
    make_checkout(ctx.peal)
    make_job(ctx.peal, "remind")
    defer(ctx.peal)
    defer(ctx.peal, job="remind")
    defer(ctx.peal, job="remind", replace=True)
    equal((cancel(ctx.peal), cancel(ctx.peal, job="remind")), ({"cancelled": 1}, {"cancelled": 1}))


def test_what_is_tried_again_can_be_replaced_and_cancelled(ctx):
    make_channel(ctx.peal, "memory:unwell", answer="transient")
    make_checkout(ctx.peal, handler="memory:unwell")
    first = defer(ctx.peal)
    advance(ctx.peal, "15m")
    like(pending(ctx.peal)[0], {"id": first["id"], "state": "retrying", "runAt": moment(minutes=16, seconds=30)})
    second = defer(ctx.peal, replace=True)
    advance(ctx.peal, "15m")
    equal([(one["id"], one["state"]) for one in pending(ctx.peal)], [(second["id"], "retrying")])
    equal(cancel(ctx.peal), {"cancelled": 1})
    equal([delivery(ctx.peal, one["id"])["state"] for one in (first, second)], ["cancelled"] * 2)


def test_what_runs_is_spared(ctx):
    receiver, hold = ctx.receiver(), threading.Event()
    receiver.answer(200, hold=hold)
    ctx.peal.post("/v1/channels", {"key": "http:shop", "type": "http", "timeout": "60s", "config": {"url": receiver.url}},
                  expect=201)
    make_checkout(ctx.peal, handler="http:shop")
    first = defer(ctx.peal, delay="0s")
    mover = threading.Thread(target=lambda: tick(ctx.peal))
    mover.start()
    receiver.wait_for(1)
    equal(cancel(ctx.peal), {"cancelled": 0})
    second = defer(ctx.peal, replace=True)
    equal([(one["id"], one["state"]) for one in pending(ctx.peal)], [(second["id"], "pending"), (first["id"], "sending")])
    hold.set()
    mover.join()
    equal(delivery(ctx.peal, first["id"])["state"], "delivered")
    equal(cancel(ctx.peal), {"cancelled": 1})


def test_a_run_that_fails_is_tried_again_after_a_tenth_of_its_delay(ctx):
    """J6: +1.5 min, +3 min, +4.5 min for a quarter of an hour; then it waits for a person."""
    make_channel(ctx.peal, "memory:unwell", answer="transient")
    make_checkout(ctx.peal, handler="memory:unwell")
    id = defer(ctx.peal)["id"]
    advance(ctx.peal, "1h")
    equal(attempt_times(ctx.peal, id), [moment(minutes=m) for m in (15, 16.5, 19.5, 24)])
    like(delivery(ctx.peal, id), {"state": "parked", "status": "Dead", "reason": "gave-up"})
    # After a person's retry its own delay still counts, not how long it has lain there.
    ctx.peal.post(f"/v1/deliveries/{id}/retry", expect=200)
    advance(ctx.peal, "1h")
    equal(attempt_times(ctx.peal, id)[4:], [moment(minutes=m) for m in (60, 61.5, 64.5, 69)])


def test_the_wait_has_a_floor_and_a_ceiling(ctx):
    make_channel(ctx.peal, "memory:unwell", answer="transient")
    make_checkout(ctx.peal, handler="memory:unwell", maxRetries=2)
    short = defer(ctx.peal, "short", delay="1s")["id"]
    past = defer(ctx.peal, "past", runAt=moment(days=-1))["id"]
    long = defer(ctx.peal, "long", delay="48h")["id"]
    advance(ctx.peal, "3d")
    equal(attempt_times(ctx.peal, short), [moment(seconds=s) for s in (1, 11, 21)])
    equal(attempt_times(ctx.peal, past), [moment(seconds=s) for s in (0, 10, 20)])
    equal(attempt_times(ctx.peal, long), [moment(hours=h) for h in (48, 49, 50)])


def test_an_unknown_job_is_taken_and_waits_for_its_handler(ctx):
    early = defer(ctx.peal, "early")["id"]
    late = defer(ctx.peal, "late", delay="2h")["id"]
    equal(len(pending(ctx.peal)), 2)
    defer(ctx.peal, "gone")
    equal(cancel(ctx.peal, "gone"), {"cancelled": 1})
    equal(cancel(ctx.peal, job="never-named"), {"cancelled": 0})
    advance(ctx.peal, "1h")
    like(delivery(ctx.peal, early), {"state": "parked",
                                     "rule": {"id": "payment-timeout", "version": 0}})
    make_checkout(ctx.peal)
    settle(ctx.peal)
    equal([one["at"] for one in captured(ctx.peal, early)], [moment(hours=1)])
    advance(ctx.peal, "1h")
    equal([one["at"] for one in captured(ctx.peal, late)], [moment(hours=2)])


def test_a_cancel_and_the_run_race_and_one_of_them_wins(ctx):
    """Under the real clock: what is cancelled is never run, what is run was not cancelled."""
    receiver = ctx.receiver()
    peal = ctx.start(clock="system")
    peal.post("/v1/channels", {"key": "http:shop", "type": "http", "config": {"url": receiver.url}}, expect=201)
    make_checkout(peal, handler="http:shop")
    made, cancelled = {}, []
    for n in range(60):
        at = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(milliseconds=n % 12)).isoformat()
        made[str(n)] = defer(peal, str(n), runAt=at)["id"]
        cancelled += [str(n)] if cancel(peal, str(n))["cancelled"] else []
    eventually(lambda: all(delivery(peal, id)["state"] in ("delivered", "cancelled") for id in made.values()))
    run = [request.json["entity"] for request in receiver.wait_for(len(made) - len(cancelled))]
    equal(sorted(run + cancelled, key=int), sorted(made, key=int))


def test_a_node_that_dies_between_keeps_its_word(ctx):
    """kill -9 while runs are put off and called off: what was answered holds, and nothing else is made up."""
    peal = ctx.start(clock="system")
    make_checkout(peal)
    told = {}

    def shop(first):
        for n in range(first, first + 200):
            try:
                defer(peal, str(n), delay="1h", replace=True)
                told[str(n)] = 1
                if n % 2:
                    told[str(n)] = None  # unless it answers, nobody knows
                    told[str(n)] = 1 - cancel(peal, str(n))["cancelled"]
            except Exception:
                return
    threads = [threading.Thread(target=shop, args=(first,)) for first in (0, 1000)]
    for thread in threads:
        thread.start()
    eventually(lambda: len(told) > 60)
    peal.kill9()
    for thread in threads:
        thread.join()
    peal.start()
    found = [one["entity"] for one in pending(peal)]
    equal(len(found), len(set(found)))
    for entity, count in told.items():
        if count is not None:
            equal(found.count(entity), count, entity)


def test_an_idempotency_key_makes_one_run(ctx):
    make_checkout(ctx.peal)
    body = {"entity": "12345", "delay": "15m"}
    answers = [ctx.peal.post("/v1/jobs/payment-timeout/defer", body, headers={"Idempotency-Key": "k"}, expect=202)
               for _ in range(3)]
    equal(len({answer.json["id"] for answer in answers}), 1)
    equal(len(pending(ctx.peal)), 1)


def test_a_burst_leaves_one_run_and_little_behind(ctx):
    """Debounce: each call puts the run off anew; what was replaced stands in no list that is looked through."""
    make_checkout(ctx.peal)
    ids = [defer(ctx.peal, replace=True, delay="5m")["id"] for _ in range(1000)]
    equal([one["id"] for one in pending(ctx.peal)], [ids[-1]])
    advance(ctx.peal, "5m")
    equal(delivery(ctx.peal, ids[-1])["state"], "delivered")
    ctx.peal.stop()
    equal(ctx.sql("SELECT COUNT(*) FROM queue"), [[0]] if ctx.store == "sqlite" else [["0"]])
    equal(ctx.sql("SELECT COUNT(*) FROM recall"), [[1]] if ctx.store == "sqlite" else [["1"]])


def test_others_keys_do_not_reach_it(ctx):
    make_checkout(ctx.peal)
    defer(ctx.peal)
    stranger = make_tenant(ctx.peal, "acme")
    equal(cancel(stranger), {"cancelled": 0})
    equal(pending(stranger), [])
    made = defer(stranger, replace=True)
    equal([one["id"] for one in pending(stranger)], [made["id"]])
    equal(len(pending(ctx.peal)), 1)
    shop = make_user(ctx.peal, "ingest")
    defer(shop, "other")
    equal(cancel(shop), {"cancelled": 1})
    shop.get("/v1/jobs/payment-timeout/deferred", expect=403)
    for role in ("read", "author"):
        defer(make_user(ctx.peal, role), expect=403)
        cancel(make_user(ctx.peal, role), expect=403)


def test_it_survives_a_kill_and_a_restart(ctx):
    make_checkout(ctx.peal)
    kept, paid = defer(ctx.peal, "kept")["id"], defer(ctx.peal, "paid")["id"]
    ctx.peal.kill9()
    ctx.peal.start()
    equal(cancel(ctx.peal, "paid"), {"cancelled": 1})
    ctx.peal.kill9()
    ctx.peal.start()
    equal([one["id"] for one in pending(ctx.peal)], [kept])
    advance(ctx.peal, "15m")
    equal([delivery(ctx.peal, one)["state"] for one in (kept, paid)], ["delivered", "cancelled"])


def test_a_list_has_pages(ctx):
    make_checkout(ctx.peal)
    made = [defer(ctx.peal, str(n))["id"] for n in range(5)]
    page = ctx.peal.get("/v1/jobs/payment-timeout/deferred?limit=3", expect=200).json
    equal([one["id"] for one in page["items"]], made[:1:-1])
    rest = ctx.peal.get(f"/v1/jobs/payment-timeout/deferred?limit=3&cursor={page['next']}", expect=200).json
    equal(([one["id"] for one in rest["items"]], rest["next"]), (made[1::-1], None))
    equal(pending(ctx.peal, "never-named"), [])


@only("postgres")
def test_the_checkout_in_the_application_s_own_transaction(ctx):
    make_checkout(ctx.peal)
    [unpaid, paid, rolled_back] = sql(ctx, """
        CREATE TABLE orders (id INTEGER PRIMARY KEY, state TEXT);
        BEGIN;
        INSERT INTO orders VALUES (12345, 'placed');
        SELECT peal.defer('payment-timeout', '12345', interval '15 minutes', '{"order": 12345}');
        COMMIT;
        BEGIN; SELECT peal.defer('payment-timeout', '12346', delay => '15 minutes'); COMMIT;
        BEGIN; SELECT peal.defer('payment-timeout', '12347', delay => '15 minutes'); ROLLBACK;""")
    tick(ctx.peal)
    equal(sorted(one["entity"] for one in pending(ctx.peal)), ["12345", "12346"])
    like(pending(ctx.peal)[1], {"id": unpaid, "runAt": moment(minutes=15), "createdAt": moment(), "state": "pending"})
    sql(ctx, "BEGIN; SELECT peal.cancel_deferred('payment-timeout', '12346'); ROLLBACK;")
    tick(ctx.peal)
    equal(len(pending(ctx.peal)), 2)
    sql(ctx, "BEGIN; UPDATE orders SET state = 'paid'; SELECT peal.cancel_deferred('payment-timeout', '12346'); COMMIT;")
    advance(ctx.peal, "15m")
    equal([delivery(ctx.peal, one)["state"] for one in (unpaid, paid)], ["delivered", "cancelled"])
    ctx.peal.get(f"/v1/deliveries/{rolled_back}", expect=404)
    equal(captured(ctx.peal, unpaid)[0]["body"]["payload"], {"order": 12345})
    equal([row["kind"] for row in outbox(ctx.peal)], ["defer-cancel", "defer", "defer"])
    equal({row["status"] for row in outbox(ctx.peal)}, {"Published"})


@only("postgres")
def test_calls_of_sql_count_in_their_order(ctx):
    make_checkout(ctx.peal)
    sql(ctx, """BEGIN;
                SELECT peal.defer('payment-timeout', 'a', delay => '1h');
                SELECT peal.cancel_deferred('payment-timeout', 'a');
                SELECT peal.defer('payment-timeout', 'b', delay => '1h');
                SELECT peal.defer('payment-timeout', 'b', delay => '2h');
                SELECT peal.defer('payment-timeout', 'b', run_at => '2026-05-14T09:12:34Z', replace => true);
                SELECT peal.cancel_deferred('payment-timeout', 'c');
                SELECT peal.defer('payment-timeout', 'c', delay => '1h', replace => true);
                COMMIT;""")
    tick(ctx.peal)
    equal([(one["entity"], one["runAt"]) for one in pending(ctx.peal)], [("c", moment(hours=1)), ("b", moment(hours=4))])
    # A row that is decided anew makes no second run, and calls nothing off a second time.
    for row in outbox(ctx.peal):
        ctx.peal.post(f"/v1/outbox/{row['id']}/replay", expect=200)
    tick(ctx.peal)
    equal([one["entity"] for one in pending(ctx.peal)], ["c", "b"])
    equal({row["status"] for row in outbox(ctx.peal)}, {"Published"})


@only("postgres")
def test_sql_refuses_what_could_not_become_a_run(ctx):
    make_checkout(ctx.peal)
    for call, why in (("defer('a b', 'x', delay => '1h')", "job may have"),
                      ("defer(NULL, 'x', delay => '1h')", "job may have"),
                      ("defer('j', '', delay => '1h')", "entity must be given"),
                      ("defer('j', 'x', delay => NULL)", "run_at or delay"),
                      ("defer('j', 'x', run_at => 'infinity')", "3660 days"),
                      ("defer('j', 'x', delay => '3661 days')", "3660 days"),
                      ("defer('j', 'x', delay => '1h', payload => '[1]')", "JSON object"),
                      ("defer('j', repeat('x', 201), delay => '1h')", "200 bytes"),
                      ("defer('j', E'a\\nb', delay => '1h')", "control"),
                      ("defer('j', 'x', delay => '1h', tenant => 'nobody')", "may not emit"),
                      ("cancel_deferred('a b', 'x')", "job may have")):
        assert why in refused(ctx, f"SELECT peal.{call};"), call
    [past] = sql(ctx, "SELECT peal.defer('payment-timeout', 'x', run_at => '-infinity');")
    tick(ctx.peal)
    equal(delivery(ctx.peal, past)["state"], "delivered")
    sql(ctx, """BEGIN; SELECT peal.defer('payment-timeout', 'x', delay => '1h');
                UPDATE peal.inbox SET body = '{"job":7}' WHERE status = 0; COMMIT;""")
    tick(ctx.peal)
    like(outbox(ctx.peal)[0], {"kind": "defer", "status": "Failed", "reason": "unusable"})


@only("postgres")
def test_two_nodes_that_replace_at_once_leave_one_run(ctx):
    nodes = [ctx.start(clock="system"), ctx.start(clock="system")]
    make_checkout(nodes[0])
    made = []

    def burst(node):
        for n in range(40):
            made.append(defer(node, f"e{n % 4}", delay="1h", replace=True)["id"])
    threads = [threading.Thread(target=burst, args=(nodes[n % 2],)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(len(set(made)), 160)
    equal(sorted(one["entity"] for one in pending(nodes[1])), ["e0", "e1", "e2", "e3"])
    equal([cancel(nodes[n % 2], f"e{n}") for n in range(4)], [{"cancelled": 1}] * 4)


@slow
def test_one_of_very_many_is_cancelled_by_a_look_up(ctx):
    """100,000 runs of one job: a cancel looks at its own, and at nothing else."""
    make_checkout(ctx.peal)
    defer(ctx.peal, "12345")
    ctx.peal.stop()
    number = "CAST(n AS TEXT)"
    series = ("generate_series(1, 100000) AS g (n)" if ctx.store == "postgres" else
              "(WITH RECURSIVE g (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < 100000) SELECT n FROM g)")
    made = ("CAST(lpad(to_hex(n), 32, '0') AS UUID)" if ctx.store == "postgres" else "CAST(printf('%016d', n) AS BLOB)")
    ctx.sql(f"INSERT INTO recall SELECT tenant, {made}, {made} FROM recall, {series}")
    ctx.sql(f"""INSERT INTO queue SELECT tenant, {made}, lane, rule, site, bytes, state, step, due_at + n, fence, attempt,
                failures, send, reminders_left, triggered_at, first_due_at, last_sent_at, opened_at, started_at, lease_until,
                holder, cause FROM queue, {series} WHERE {number} <> ''""")
    ctx.peal.start()
    started = datetime.datetime.now()
    equal(cancel(ctx.peal), {"cancelled": 1})
    assert datetime.datetime.now() - started < datetime.timedelta(seconds=1)


@only("postgres")
def test_nodes_that_replace_and_cancel_at_once_wait_in_no_circle(ctx):
    nodes = [ctx.start(clock="system") for _ in range(2)]
    make_checkout(nodes[0])

    def storm(number):
        for turn in range(40):
            node, entity = nodes[(number + turn) % 2], f"order-{(number * 7 + turn * 5) % 4}"
            if (number + turn) % 3:
                defer(node, entity, replace=True)
            else:
                cancel(node, entity)

    threads = [threading.Thread(target=storm, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pending(nodes[0])) <= 4, pending(nodes[0])
    equal([node.stop() for node in nodes], [0, 0])
    equal(ctx.sql("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"), [["0"]])


if __name__ == "__main__":
    main()
