"""J4, J5 and J7 for pull workers: claim, heartbeat, progress, done, fail, under leases."""
import json
import socket
import threading
import time

from harness import equal, eventually, like, main, only
from steps import (KIND, advance, attempts, delivery, ingest, make_tenant, make_trigger, make_user,
                   moment, tick, visit)

HANDLER = "worker:rates"
NO_ID = "01975e3c-7a4b-7000-8000-2c9d3f5b1a60"


def make_worker(peal, key=HANDLER, **config):
    return peal.post("/v1/channels", {"key": key, "type": "worker", "config": config},
                     expect=201).json


def start(ctx, count=1, **trigger):
    """A worker's channel, a trigger that names it, and so many deliveries."""
    make_worker(ctx.peal)
    make_trigger(ctx.peal, channel=HANDLER, **trigger)
    return ask_for(ctx.peal, count)


def ask_for(peal, count=1):
    if count == 0:
        return []
    items = ingest(peal, *(visit() for _ in range(count)))["items"]
    return [item["deliveries"][0]["deliveryId"] for item in items]


def claim(peal, max=10, handler=HANDLER, **members):
    return peal.post("/v1/work/claim", {"handler": handler, "max": max, **members},
                     expect=200).json["items"]


def claim_one(peal, **members):
    items = claim(peal, 1, **members)
    equal(len(items), 1)
    return items[0]


def tell(peal, work, what, expect=200, **members):
    return peal.post(f"/v1/work/{work['id']}/{what}", {"fence": work["fence"], **members},
                     expect=expect).json


def test_work_is_claimed_and_done(ctx):
    ids = start(ctx, 3)
    items = claim(ctx.peal, 2)
    equal([item["id"] for item in items], ids[:2])
    like(items[0], {"fence": 1, "executionId": f"{ids[0]}-1", "job": None, "entity": None,
                    "eventKind": KIND, "attempt": 1, "payload": {"dealerId": "1"},
                    "startedAt": moment(), "leaseUntil": moment(minutes=5)})
    equal(delivery(ctx.peal, ids[0])["state"], "sending")
    equal(tell(ctx.peal, items[0], "done", message="synced 40 rates"),
          {"id": ids[0], "state": "delivered", "repeated": False})
    like(attempts(ctx.peal, ids[0]), [{"outcome": "delivered", "detail": "synced 40 rates"}])
    equal([item["id"] for item in claim(ctx.peal, 10)], ids[2:])
    equal(claim(ctx.peal), [])


def test_nobody_but_workers_sends_it(ctx):
    id = start(ctx)[0]
    equal(tick(ctx.peal)["claimed"], 0)
    equal(delivery(ctx.peal, id)["state"], "pending")


def test_a_second_done_is_repeated(ctx):
    start(ctx)
    work = claim_one(ctx.peal)
    equal(tell(ctx.peal, work, "done")["repeated"], False)
    for _ in range(2):
        equal(tell(ctx.peal, work, "done"),
              {"id": work["id"], "state": "delivered", "repeated": True})
    tell(ctx.peal, work, "fail", error="too late", expect=409)
    tell(ctx.peal, work, "heartbeat", expect=409)
    tell(ctx.peal, {**work, "fence": 2}, "done", expect=409)
    equal(len(attempts(ctx.peal, work["id"])), 1)


def test_what_failed_is_tried_again_and_parked_at_last(ctx):
    id = start(ctx, retry={"policy": "fixed", "interval": "1m", "max": 1})[0]
    work = claim_one(ctx.peal)
    equal(tell(ctx.peal, work, "fail", error="no rates today"),
          {"id": id, "state": "retrying", "repeated": False, "dueAt": moment(minutes=1)})
    equal(tell(ctx.peal, work, "fail", error="no rates today")["repeated"], True)
    tell(ctx.peal, work, "done", expect=409)
    equal(claim(ctx.peal), [])
    advance(ctx.peal, "1m")
    work = claim_one(ctx.peal)
    like(work, {"id": id, "fence": 2, "attempt": 2, "executionId": f"{id}-2"})
    equal(tell(ctx.peal, work, "fail", error="still none")["state"], "parked")
    like(delivery(ctx.peal, id), {"state": "parked", "reason": "gave-up"})
    like(attempts(ctx.peal, id), [{"detail": "no rates today", "outcome": "transient"},
                                  {"detail": "still none", "outcome": "transient"}])


def test_what_cannot_succeed_is_parked_at_once(ctx):
    id = start(ctx)[0]
    told = tell(ctx.peal, claim_one(ctx.peal), "fail", error="no such currency", permanent=True)
    equal(told["state"], "parked")
    like(attempts(ctx.peal, id), [{"outcome": "permanent", "detail": "no such currency"}])


def test_a_lease_that_lapses_is_a_failure(ctx):
    id = start(ctx, retry={"policy": "fixed", "interval": "1m", "max": 1})[0]
    late = claim_one(ctx.peal)
    advance(ctx.peal, "4m59s")
    equal(delivery(ctx.peal, id)["state"], "sending")
    advance(ctx.peal, "1s")
    equal(delivery(ctx.peal, id)["state"], "retrying")
    for what in ("heartbeat", "done"):
        tell(ctx.peal, late, what, expect=409)
    like(attempts(ctx.peal, id), [{"outcome": "unknown", "reason": "lease-lapsed"}])
    advance(ctx.peal, "1m")
    work = claim_one(ctx.peal, lease="10s")
    equal(work["attempt"], 2)
    tell(ctx.peal, late, "done", expect=409)  # who was late is not heard for another's claim
    advance(ctx.peal, "10s")
    like(delivery(ctx.peal, id), {"state": "parked", "reason": "gave-up"})
    tell(ctx.peal, work, "done", expect=409)
    equal(len(attempts(ctx.peal, id)), 2)


def test_a_heartbeat_keeps_the_lease(ctx):
    start(ctx)
    work = claim_one(ctx.peal, lease="10s")
    for _ in range(5):
        advance(ctx.peal, "9s")
        told = tell(ctx.peal, work, "heartbeat", lease="10s")
    equal(told, {"id": work["id"], "state": "sending", "leaseUntil": moment(seconds=55)})
    equal(tell(ctx.peal, work, "heartbeat")["leaseUntil"], moment(seconds=45, minutes=5))
    equal(tell(ctx.peal, work, "heartbeat", lease="1s")["leaseUntil"],
          moment(seconds=45, minutes=5))  # never shorter
    tell(ctx.peal, work, "done")


def test_progress_is_kept_and_a_sign_of_life(ctx):
    id = start(ctx)[0]
    work = claim_one(ctx.peal, lease="10s")
    advance(ctx.peal, "5s")
    like(tell(ctx.peal, work, "progress", message="one\u0001\ttwo \u00e4"),
         {"id": id, "state": "sending", "leaseUntil": moment(seconds=5, minutes=5)})
    tell(ctx.peal, work, "progress", message="x" * 500_000)
    tell(ctx.peal, work, "progress", message="")
    tell(ctx.peal, {**work, "fence": 2}, "progress", message="not his", expect=409)
    tell(ctx.peal, work, "done", message="y" * 500_000)
    ctx.stop_servers()
    rows = ctx.sql("SELECT n, attempt, message FROM progress ORDER BY n")
    equal([[int(row[0]), int(row[1]), row[2]] for row in rows],
          [[1, 1, "one  two \u00e4"], [2, 1, "x" * 1000]])


def test_many_are_done_at_once_and_each_is_answered(ctx):
    ids = start(ctx, 5)
    items = claim(ctx.peal, 5)
    tell(ctx.peal, items[1], "done")
    told = ctx.peal.post("/v1/work/done", {"items": [
        {"id": items[0]["id"], "fence": 1, "message": "good"},
        {"id": items[1]["id"], "fence": 1},
        {"id": items[2]["id"], "fence": 7},
        {"id": NO_ID, "fence": 1},
        {"id": items[0]["id"], "fence": 1},
        {"id": items[3]["id"], "fence": 1, "result": {"rates": 40}}]}, expect=200).json["items"]
    equal([(one["status"], one.get("repeated"), one.get("state")) for one in told],
          [(200, False, "delivered"), (200, True, "delivered"), (409, None, None),
           (404, None, None), (200, True, "delivered"), (200, False, "delivered")])
    equal([one["id"] for one in told[:3]], ids[:3])
    equal(told[2]["error"]["code"], "conflict")
    equal(attempts(ctx.peal, ids[3])[0]["detail"], '{"rates":40}')
    equal(delivery(ctx.peal, ids[2])["state"], "sending")


def test_a_jobs_run_tells_its_job_entity_and_progress(ctx):
    make_worker(ctx.peal)
    ctx.peal.post("/v1/jobs", {"name": "RateSync", "handler": HANDLER, "payload": {"base": "EUR"}},
                  expect=201)
    run = ctx.peal.post("/v1/jobs/RateSync/trigger", expect=202).json
    ctx.peal.post("/v1/jobs/RateSync/defer", {"entity": "12345", "delay": "1m"}, expect=202)
    work = claim_one(ctx.peal)
    like(work, {"id": run["deliveryId"], "executionId": run["executionId"], "job": "RateSync",
                "entity": None, "payload": {"base": "EUR"}})
    tell(ctx.peal, work, "progress", message="fetching")
    running = ctx.peal.get("/v1/jobs/RateSync/executions", expect=200).json["items"]
    shown = next(one for one in running if one["executionId"] == work["executionId"])
    like(shown, {"completedAt": None, "succeeded": None, "progress": [{"message": "fetching"}]})
    tell(ctx.peal, work, "done", message="40 rates")
    shown = next(one for one in ctx.peal.get("/v1/jobs/RateSync/executions", expect=200).json["items"]
                 if one["executionId"] == work["executionId"])
    like(shown, {"succeeded": True, "message": "40 rates", "progress": [{"message": "fetching"}]})
    advance(ctx.peal, "1m")
    like(claim_one(ctx.peal), {"job": "RateSync", "entity": "12345"})


def test_progress_is_of_the_try_that_told_it(ctx):
    make_worker(ctx.peal)
    ctx.peal.post("/v1/jobs", {"name": "RateSync", "handler": HANDLER}, expect=201)
    ctx.peal.post("/v1/jobs/RateSync/trigger", expect=202)
    for said in ("one", "two"):
        work = claim_one(ctx.peal)
        tell(ctx.peal, work, "progress", message=said)
        tell(ctx.peal, work, "fail", error="no")
        advance(ctx.peal, "1h")
    tries = ctx.peal.get("/v1/jobs/RateSync/executions", expect=200).json["items"]
    equal({one["retry"]: [line["message"] for line in one["progress"]] for one in tries}, {0: ["one"], 1: ["two"]})


def test_a_claim_holds_so_many_bytes(ctx):
    start(ctx, 0)
    ids = []
    for _ in range(12):
        items = ingest(ctx.peal, *(visit(text="x" * 240_000) for _ in range(3)))["items"]
        ids += [item["deliveries"][0]["deliveryId"] for item in items]
    first = [item["id"] for item in claim(ctx.peal, 1000)]
    assert 30 < len(first) < 36, f"{len(first)} of 8.6 MB"
    equal(first + [item["id"] for item in claim(ctx.peal, 1000)], ids)


def test_two_workers_never_hold_one_claim(ctx):
    ids = start(ctx, 60)
    got, lock = [], threading.Lock()

    def work():
        while items := claim(ctx.peal, 3):
            with lock:
                got.extend(item["id"] for item in items)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(sorted(got), sorted(ids))


def test_a_held_store_and_a_disabled_channel_give_nothing(ctx):
    start(ctx, 2)
    ctx.peal.post("/v1/hold", expect=200)
    equal(claim(ctx.peal), [])
    ctx.peal.post("/v1/release", expect=200)
    work = claim_one(ctx.peal)
    ctx.peal.patch(f"/v1/channels/{HANDLER}", {"enabled": False}, expect=200)
    equal(claim(ctx.peal), [])
    tell(ctx.peal, work, "done")  # it was given before


def test_a_cancelled_delivery_is_told_of_and_stays_cancelled(ctx):
    id = start(ctx)[0]
    work = claim_one(ctx.peal)
    ctx.peal.post(f"/v1/deliveries/{id}/cancel", {"reason": "not needed"}, expect=200)
    tell(ctx.peal, work, "heartbeat", expect=409)
    for _ in range(2):
        tell(ctx.peal, work, "done", message="it was done all the same", expect=409)
    like(delivery(ctx.peal, id), {"state": "cancelled"})
    like(attempts(ctx.peal, id), [{"detail": "it was done all the same"}])


def test_handlers_that_are_none(ctx):
    start(ctx)
    for handler, status in (("worker:none", 404), ("memory:default", 409), ("", 422), ("a b", 422)):
        ctx.peal.post("/v1/work/claim", {"handler": handler}, expect=status)


def test_hostile_bodies(ctx):
    start(ctx)
    for body in ({}, {"handler": 1}, [], {"handler": HANDLER, "max": 0},
                 {"handler": HANDLER, "max": -1}, {"handler": HANDLER, "max": 10 ** 9},
                 {"handler": HANDLER, "max": 10 ** 30}, {"handler": HANDLER, "max": "5"},
                 {"handler": HANDLER, "wait": "61s"}, {"handler": HANDLER, "wait": "-1s"},
                 {"handler": HANDLER, "wait": []}, {"handler": HANDLER, "lease": "25h"},
                 {"handler": HANDLER, "lease": "0s"}, {"handler": HANDLER, "worker": "w" * 201},
                 {"handler": HANDLER, "more": 1}):
        ctx.peal.post("/v1/work/claim", body, expect=422)
    work = claim_one(ctx.peal)
    for what, body in (("done", {}), ("done", {"fence": 0}), ("done", {"fence": -1}),
                       ("done", {"fence": 2 ** 31}), ("done", {"fence": "1"}),
                       ("done", {"fence": 1.5}), ("done", {"fence": 1, "message": {}}),
                       ("fail", {"fence": 1}), ("fail", {"fence": 1, "error": 5}),
                       ("fail", {"fence": 1, "error": "e", "permanent": "yes"}),
                       ("progress", {"fence": 1}), ("heartbeat", {"fence": 1, "lease": "25h"})):
        ctx.peal.post(f"/v1/work/{work['id']}/{what}", body, expect=422)
    for items in ([], [{"id": "none", "fence": 1}], [{"id": work["id"]}], "all",
                  [{"id": work["id"], "fence": 1}] * 1001):
        ctx.peal.post("/v1/work/done", {"items": items}, expect=422)
    for id in ("none", NO_ID):
        ctx.peal.post(f"/v1/work/{id}/done", {"fence": 1}, expect=404)
    equal(tell(ctx.peal, work, "done")["state"], "delivered")


def test_another_tenants_work_is_not_there(ctx):
    start(ctx)
    work = claim_one(ctx.peal)
    other = make_tenant(ctx.peal, "other")
    tell(other, work, "done", expect=404)
    other.post("/v1/work/claim", {"handler": HANDLER}, expect=404)
    tell(ctx.peal, work, "done")


def test_who_may(ctx):
    start(ctx)
    worker = make_user(ctx.peal, "worker")
    tell(worker, claim_one(worker), "done")
    worker.get("/v1/deliveries", expect=403)
    for role in ("read", "ingest", "operator", "author"):
        make_user(ctx.peal, role).post("/v1/work/claim", {"handler": HANDLER}, expect=403)


def test_a_key_may_be_limited_to_handlers(ctx):
    start(ctx, 1)
    make_worker(ctx.peal, "worker:other")
    made = ctx.peal.post("/v1/keys", {"role": "worker", "handlers": ["worker:none", "worker:other"]},
                         expect=201).json
    equal(made["handlers"], ["worker:none", "worker:other"])
    limited = ctx.peal.with_key(made["key"])
    limited.post("/v1/work/claim", {"handler": HANDLER}, expect=403)
    equal(claim(limited, handler="worker:other"), [])
    work = claim_one(ctx.peal)
    for what in ("heartbeat", "done"):
        tell(limited, work, what, expect=403)
    item = {"id": work["id"], "fence": work["fence"]}
    equal(limited.post("/v1/work/done", {"items": [item]}, expect=200).json["items"][0]["status"], 403)
    path = f"/v1/keys/{made['id']}"
    equal(ctx.peal.patch(path, {"name": "w"}, expect=200).json["handlers"], made["handlers"])
    ctx.peal.patch(path, {"handlers": [HANDLER]}, expect=200)
    tell(limited, work, "done")
    tell(limited, work, "done")
    equal(ctx.peal.patch(path, {"handlers": None}, expect=200).json["handlers"], None)
    equal(claim(limited), [])
    for body in ({"role": "read", "handlers": [HANDLER]}, {"role": "worker", "handlers": []},
                 {"role": "worker", "handlers": ["a,b"]}, {"role": "worker", "handlers": "all"},
                 {"role": "worker", "handlers": [HANDLER] * 51}):
        ctx.peal.post("/v1/keys", body, expect=422)


def test_an_idempotency_key_gives_the_same_claim(ctx):
    start(ctx, 2)
    body = {"handler": HANDLER, "max": 1}
    first = ctx.peal.post("/v1/work/claim", body, headers={"Idempotency-Key": "k"}, expect=200).json
    again = ctx.peal.post("/v1/work/claim", body, headers={"Idempotency-Key": "k"}, expect=200).json
    equal(first, again)
    work = first["items"][0]
    for what in ("done", "heartbeat"):  # a refusal is kept as well
        answers = [ctx.peal.post(f"/v1/work/{work['id']}/{what}", {"fence": 1},
                                 headers={"Idempotency-Key": what}) for _ in range(2)]
        equal(answers[0].status, answers[1].status)
        equal(answers[0].json.get("repeated"), answers[1].json.get("repeated"))


def test_an_idempotency_key_is_no_way_around_the_handlers(ctx):
    start(ctx, 1)
    made = ctx.peal.post("/v1/keys", {"role": "worker", "handlers": ["worker:other"]}, expect=201).json
    body, headers = {"handler": HANDLER}, {"Idempotency-Key": "k"}
    work = ctx.peal.post("/v1/work/claim", body, headers=headers, expect=200).json["items"][0]
    limited = ctx.peal.with_key(made["key"])
    refused = limited.post("/v1/work/claim", body, headers=headers)
    equal((refused.status, work["id"] in refused.text), (409, False))
    limited.post("/v1/work/claim", body, headers={"Idempotency-Key": "other"}, expect=403)


def test_a_rate_is_kept_over_all_workers(ctx):
    ctx.peal.post("/v1/channels", {"key": HANDLER, "type": "worker",
                                   "rate": {"per": "1m", "max": 5}}, expect=201)
    make_trigger(ctx.peal, channel=HANDLER)
    ask_for(ctx.peal, 2)
    equal(len(claim(ctx.peal, 4)), 2)  # what was granted and not used is left for others
    ask_for(ctx.peal, 9)
    equal([len(claim(ctx.peal, 2)) for _ in range(3)], [2, 1, 0])
    waiter = Waiter(ctx.peal, max=3)
    parked(ctx.peal, 1)
    advance(ctx.peal, "10s")
    parked(ctx.peal, 1)
    advance(ctx.peal, "50s")
    equal(len(waiter.got()), 3)


def test_a_channel_says_how_long_a_lease_is(ctx):
    for config in ({"lease": "0s"}, {"lease": "25h"}, {"lease": 5}, {"url": "http://x"}):
        ctx.peal.post("/v1/channels", {"key": "worker:x", "type": "worker", "config": config},
                      expect=422)
    ctx.peal.post("/v1/channels", {"key": "worker:x", "type": "worker", "ordered": True}, expect=422)
    make_worker(ctx.peal, lease="24h")
    make_trigger(ctx.peal, channel=HANDLER)
    ask_for(ctx.peal)
    equal(claim_one(ctx.peal)["leaseUntil"], moment(hours=24))


class Waiter(threading.Thread):
    """A worker that waits for work; its answer is in items once it has one."""

    def __init__(self, peal, **members):
        super().__init__()
        self.peal, self.members, self.items = peal, members, None
        self.start()

    def run(self):
        self.items = claim(self.peal, **{"wait": "60s", **self.members})

    def got(self):
        self.join(30)
        assert not self.is_alive(), "it still waits"
        return self.items


def parked(peal, count):
    """Waits until so many claims wait: none of them is a request that is being worked on."""
    eventually(lambda: metric(peal, "peal_workers_waiting") == count)


def metric(peal, name):
    for line in peal.get("/metrics", expect=200).text.splitlines():
        if line.startswith(f"{name} "):
            return float(line.split()[1])
    raise AssertionError(f"no metric {name}")


def test_a_worker_waits_for_work(ctx):
    start(ctx, 0)
    waiter = Waiter(ctx.peal, max=5)
    parked(ctx.peal, 1)
    ids = ask_for(ctx.peal, 2)
    equal([item["id"] for item in waiter.got()], ids)
    parked(ctx.peal, 0)


def test_a_wait_ends_by_itself(ctx):
    start(ctx, 0)
    began = time.monotonic()
    equal(claim(ctx.peal, wait="1s"), [])
    assert 1 <= time.monotonic() - began < 10, "by the machine's time, whatever the clock says"
    waiter = Waiter(ctx.peal, wait="50s")
    parked(ctx.peal, 1)
    advance(ctx.peal, "49s")
    parked(ctx.peal, 1)
    advance(ctx.peal, "1s")
    equal(waiter.got(), [])


def test_one_delivery_wakes_one_of_many(ctx):
    start(ctx, 0)
    waiters = [Waiter(ctx.peal, max=1) for _ in range(60)]
    parked(ctx.peal, 60)
    before = metric(ctx.peal, "peal_worker_claims_total")
    ids = ask_for(ctx.peal, 1)
    parked(ctx.peal, 59)
    eventually(lambda: any(waiter.items for waiter in waiters))
    # A node looks once a second besides, and may call another while the first one's claim is not written yet;
    # that it is one exactly is shown where time stands still (suite engine_pulls).
    assert 1 <= metric(ctx.peal, "peal_worker_claims_total") - before < 5, "not all"
    ids += ask_for(ctx.peal, 59)
    equal(sorted(waiter.got()[0]["id"] for waiter in waiters), sorted(ids))


def test_what_falls_due_later_wakes_who_waits(ctx):
    start(ctx, 0, schedule={"initialDelay": "40s"})
    id = ask_for(ctx.peal, 1)[0]
    waiter = Waiter(ctx.peal)
    parked(ctx.peal, 1)
    advance(ctx.peal, "39s")
    parked(ctx.peal, 1)
    advance(ctx.peal, "1s")
    equal([item["id"] for item in waiter.got()], [id])


def test_a_lapsed_lease_goes_to_who_waits(ctx):
    peal = ctx.start(clock="system")
    start(ctx, 1, retry={"policy": "fixed", "interval": "1s", "max": 3})
    lost = claim_one(peal, lease="1s")
    waiter = Waiter(peal)
    like(waiter.got(), [{"id": lost["id"], "attempt": 2, "fence": 2}])
    tell(peal, lost, "done", expect=409)


def test_nobody_is_called_while_it_is_held(ctx):
    start(ctx, 0)
    ctx.peal.post("/v1/hold", expect=200)
    waiter = Waiter(ctx.peal)
    parked(ctx.peal, 1)
    id = ask_for(ctx.peal, 1)[0]
    tick(ctx.peal)
    parked(ctx.peal, 1)
    ctx.peal.post("/v1/release", expect=200)
    equal([item["id"] for item in waiter.got()], [id])


def hang_up(peal, waiting=1, **members):
    """Asks for work, waits until that is parked as the last of so many, and goes."""
    host, port = peal.host.split(":")
    body = json.dumps({"handler": HANDLER, "wait": "60s", **members})
    with socket.create_connection((host, int(port))) as line:
        line.sendall(f"POST /v1/work/claim HTTP/1.1\r\nHost: {peal.host}\r\n"
                     f"Authorization: Bearer {peal.key}\r\nContent-Type: application/json\r\n"
                     f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        parked(peal, waiting)


def test_who_has_hung_up_gets_nothing(ctx):
    start(ctx, 0)
    hang_up(ctx.peal)
    id = ask_for(ctx.peal, 1)[0]
    parked(ctx.peal, 0)
    like(claim_one(ctx.peal), {"id": id, "fence": 1, "attempt": 1})


def test_what_was_for_who_has_hung_up_goes_to_the_next(ctx):
    start(ctx, 0)
    hang_up(ctx.peal)
    next_one = Waiter(ctx.peal)
    eventually(lambda: metric(ctx.peal, "peal_worker_claims_total") == 2)
    id = ask_for(ctx.peal, 1)[0]
    equal([item["id"] for item in next_one.got()], [id])


def test_who_has_hung_up_gives_its_connection_back(ctx):
    start(ctx, 0)
    patient = Waiter(ctx.peal)
    parked(ctx.peal, 1)
    hang_up(ctx.peal, 2)
    parked(ctx.peal, 1)  # though nothing came
    id = ask_for(ctx.peal, 1)[0]
    equal([item["id"] for item in patient.got()], [id])


def test_who_waits_leaves_connections_to_others(ctx):
    peal = ctx.start(files_max=256)  # 48 connections
    start(ctx, 0)
    producer = make_user(peal, "ingest")
    worker = make_user(peal, "worker")
    waiters = []
    for count in range(36):
        waiters.append(Waiter(worker, max=1))
        parked(peal, count + 1)
    for _ in range(3):
        equal(worker.post("/v1/work/claim", {"handler": HANDLER, "wait": "60s"}, expect=503).json["code"],
              "busy")
    equal(claim(worker), [])
    ids = ask_for(producer, 36)
    equal(sorted(waiter.got()[0]["id"] for waiter in waiters), sorted(ids))


def test_who_waits_is_answered_at_a_stop(ctx):
    start(ctx, 0)
    waiter = Waiter(ctx.peal)
    parked(ctx.peal, 1)
    equal(ctx.peal.stop(), 0)
    equal(waiter.got(), [])


def test_a_run_left_in_the_lane_of_an_earlier_handler_goes_to_the_new_one(ctx):
    """It was made beside the edit, by a node that did not know of it yet."""
    for key in ("worker:old", "worker:new"):
        make_worker(ctx.peal, key)
    ctx.peal.post("/v1/jobs", {"name": "rates", "handler": "worker:old"}, expect=201)
    ran = ctx.peal.post("/v1/jobs/rates/trigger", expect=202).json
    ctx.peal.patch("/v1/jobs/rates", {"handler": "worker:new"}, expect=200)
    ctx.peal.stop()
    ctx.sql("UPDATE queue SET lane = (SELECT lane FROM lane WHERE channel = 'worker:old')")
    ctx.sql("UPDATE delivery SET lane = (SELECT lane FROM lane WHERE channel = 'worker:old')")
    ctx.peal.start()
    equal(claim(ctx.peal, handler="worker:old"), [])
    like(claim_one(ctx.peal, handler="worker:new"), {"executionId": ran["executionId"], "attempt": 1})


def test_a_disabled_channel_wakes_who_waits_when_it_is_enabled(ctx):
    start(ctx, 0)
    ctx.peal.patch(f"/v1/channels/{HANDLER}", {"enabled": False}, expect=200)
    waiter = Waiter(ctx.peal)
    parked(ctx.peal, 1)
    ctx.peal.patch(f"/v1/channels/{HANDLER}", {"enabled": True}, expect=200)
    id = ask_for(ctx.peal, 1)[0]
    equal([item["id"] for item in waiter.got()], [id])


@only("postgres")
def test_who_waits_at_one_node_is_woken_by_another(ctx):
    here, there = ctx.start(clock="system"), ctx.start(clock="system")
    start(ctx, 0)
    waiter = Waiter(there)
    parked(there, 1)
    id = ask_for(here, 1)[0]
    work = waiter.got()[0]
    equal(work["id"], id)
    tell(here, work, "done")
    tell(there, work, "done")


if __name__ == "__main__":
    main()
