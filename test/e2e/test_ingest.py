"""T1, T5, T6: one call posts many events; what comes of each is counted and named."""
import concurrent.futures
import threading
import time

from harness import equal, eventually, like, main, only, slow
from steps import (ADDRESS, KIND, deliveries, delivery, ingest, ingest_one, make_trigger, make_user,
                   moment, settle, visit)

RECIPE = ["templateId", "recipient.address", "candidate.dealerId", "candidate.wip"]
ONLY_GR = {"path": "candidate.jobType", "op": "==", "value": "GR"}


def outcomes(answer):
    return [item["outcome"] for item in answer["items"]]


def counts(answer):
    return {name: answer[name] for name in ("created", "skipped", "failed", "unmatched")}


def test_every_item_and_matching_trigger_make_one_delivery(ctx):
    make_trigger(ctx.peal, "all")
    make_trigger(ctx.peal, "only-gr", filter=ONLY_GR)
    make_trigger(ctx.peal, "other", eventKind="something-else")
    answer = ingest(ctx.peal, visit(jobType="GR"), visit(jobType="PM"))
    equal(counts(answer), {"created": 3, "skipped": 0, "failed": 0, "unmatched": 0})
    equal(outcomes(answer), ["created", "created"])
    triggers = [sorted(d["triggerId"] for d in item["deliveries"]) for item in answer["items"]]
    equal(triggers, [["all", "only-gr"], ["all"]])


def test_each_delivery_is_named_by_its_own_ids(ctx):
    make_trigger(ctx.peal, "one")
    make_trigger(ctx.peal, "two")
    answer = ingest(ctx.peal, visit(), visit())
    made = [d for item in answer["items"] for d in item["deliveries"]]
    for name in ("deliveryId", "publicId"):
        equal(len({d[name] for d in made}), 4, name)
    equal(len({item["eventId"] for item in answer["items"]}), 2)
    for each in made:
        like(each, {"outcome": "created", "surveyId": None})
        like(delivery(ctx.peal, each["deliveryId"]), {"publicId": each["publicId"]})


def test_items_that_match_nothing_are_counted_as_unmatched(ctx):
    make_trigger(ctx.peal, filter=ONLY_GR)
    answer = ingest(ctx.peal, visit(jobType="PM"), visit(jobType="GR"), visit(jobType="XX"))
    equal(counts(answer), {"created": 1, "skipped": 0, "failed": 0, "unmatched": 2})
    equal(outcomes(answer), ["unmatched", "created", "unmatched"])
    equal(ingest(ctx.peal, visit(), kind="nobody-listens")["unmatched"], 1)


def test_the_same_event_twice_in_one_batch_is_skipped_the_second_time(ctx):
    make_trigger(ctx.peal, dedupRecipe=RECIPE)
    answer = ingest(ctx.peal, visit(wip="1"), visit(wip="2"), visit(wip="1"))
    equal(counts(answer), {"created": 2, "skipped": 1, "failed": 0, "unmatched": 0})
    equal(outcomes(answer), ["created", "created", "skipped"])
    first, _, again = (item["deliveries"][0] for item in answer["items"])
    like(again, {"outcome": "skipped", "deliveryId": first["deliveryId"],
                 "publicId": first["publicId"]})
    equal(len(deliveries(ctx.peal)), 2)


def test_an_event_posted_again_answers_the_first_delivery(ctx):
    make_trigger(ctx.peal, dedupRecipe=RECIPE)
    first = ingest(ctx.peal, visit(wip="7"))["items"][0]["deliveries"][0]
    again = ingest(ctx.peal, visit(wip="7"))
    equal(counts(again), {"created": 0, "skipped": 1, "failed": 0, "unmatched": 0})
    like(again["items"][0]["deliveries"][0],
         {"outcome": "skipped", "deliveryId": first["deliveryId"], "publicId": first["publicId"]})


def test_one_bad_item_fails_alone(ctx):
    make_trigger(ctx.peal)
    bad = [7, {"payload": 7}, {"payload": [], "recipient": {}}, {**visit(), "recipient": "me"},
           {**visit(), "occurredAt": "yesterday"}, {**visit(), "recipent": {}}]
    for item in bad:
        answer = ingest(ctx.peal, visit(), item, visit())
        equal(outcomes(answer), ["created", "failed", "created"], item)
        equal(counts(answer), {"created": 2, "skipped": 0, "failed": 1, "unmatched": 0}, item)
        error = answer["items"][1]["error"]
        assert error["code"] and error["message"], f"{item} must say what is wrong: {error}"
    equal(len(deliveries(ctx.peal)), 2 * len(bad))


def test_a_batch_that_cannot_be_read_is_refused_as_a_whole(ctx):
    make_trigger(ctx.peal)
    whole = {"eventKind": KIND, "items": [visit()]}
    equal(ctx.peal.post("/v1/ingest", raw=b'{"eventKind":').status, 400)
    equal(ctx.peal.post("/v1/ingest", raw=b"").status, 400)
    equal(ctx.peal.post("/v1/ingest", {**whole, "items": {}}).status, 422)
    equal(ctx.peal.post("/v1/ingest", {**whole, "eventKind": ""}).status, 422)
    equal(ctx.peal.post("/v1/ingest", {"items": [visit()]}).status, 422)
    equal(ctx.peal.post("/v1/ingest", {"eventKind": KIND}).status, 422)
    equal(ctx.peal.post("/v1/ingest", {**whole, "tiems": []}).status, 422)
    equal(deliveries(ctx.peal), [])


def test_a_batch_has_at_most_ten_thousand_items(ctx):
    items = [{"payload": {}}] * 10001
    response = ctx.peal.post("/v1/ingest", {"eventKind": KIND, "items": items})
    assert response.status in (413, 422), response.text
    equal(deliveries(ctx.peal), [])


@slow
def test_ten_thousand_items_are_one_call(ctx):
    make_trigger(ctx.peal, dedupRecipe=["candidate.wip"])
    answer = ingest(ctx.peal, *(visit(wip=str(number)) for number in range(10000)))
    equal(counts(answer), {"created": 10000, "skipped": 0, "failed": 0, "unmatched": 0})
    equal(len({item["deliveries"][0]["publicId"] for item in answer["items"]}), 10000)
    again = ingest(ctx.peal, *(visit(wip=str(number)) for number in range(10000)))
    equal(counts(again), {"created": 0, "skipped": 10000, "failed": 0, "unmatched": 0})
    settle(ctx.peal)
    ids = {row["id"] for row in deliveries(ctx.peal, "&state=delivered")}
    equal(len(ids), 10000)


def test_items_times_triggers_are_bounded(ctx):
    for number in range(11):
        make_trigger(ctx.peal, f"t{number}", filter={"path": "candidate.n", "op": "==", "value": 1})
    body = {"eventKind": KIND, "items": [{"payload": {"n": 0}}] * 10000}
    answer = ctx.peal.post("/v1/ingest", body, headers={"Idempotency-Key": "large"})
    equal((answer.status, answer.json["code"]), (413, "too-large"))
    assert "send smaller batches" in answer.json["detail"], answer.text
    equal(ctx.peal.get("/v1/events", expect=200).json["items"], [])
    body["items"] = body["items"][:1000]  # a smaller batch is another request: it has its own key
    ctx.peal.post("/v1/ingest", body, headers={"Idempotency-Key": "large"}, expect=409)
    like(ctx.peal.post("/v1/ingest", body, headers={"Idempotency-Key": "small"}, expect=200).json,
         {"unmatched": 1000})


class Pulse(threading.Thread):
    """Asks the same again and again; worst is the longest it had to wait."""

    def __init__(self, ask):
        super().__init__()
        self.ask, self.worst, self.ends, self.beats = ask, 0, threading.Event(), 0
        self.start()

    def run(self):
        while not self.ends.is_set():
            began = time.monotonic()
            self.ask()
            self.worst = max(self.worst, time.monotonic() - began)
            self.beats += 1

    def check(self, took):
        self.ends.set()
        self.join()
        assert self.worst < took / 3, f"{self.worst:.2f} s of {took:.2f} s were one wait"


def make_slow_triggers(peal, leaves):
    leaf = {"path": "candidate.text", "op": "endsWith", "value": "y"}
    for number in range(10):
        make_trigger(peal, f"t{number}", filter={"any": [leaf] * leaves})


def post_slowly(peal, count):
    """Posts items that take long to decide; returns how long that was."""
    body = {"eventKind": KIND, "items": [{"payload": {"text": "x" * 3000}}] * count}
    began = time.monotonic()
    answer = peal.post("/v1/ingest", body, seconds=120)
    equal((answer.status, answer.json["unmatched"]), (200, count))
    return time.monotonic() - began


@slow
def test_a_large_body_holds_nobody_up(ctx):
    """Ten thousand items of 3 KB, each looked at by ten triggers with long filters."""
    make_slow_triggers(ctx.peal, leaves=100)
    pulse = Pulse(lambda: ctx.peal.get("/livez", expect=200))
    pulse.check(post_slowly(ctx.peal, 10000))


@slow
def test_a_publish_makes_the_writer_decide_nothing_large(ctx):
    """What was decided on old definitions is decided anew, while others go on writing."""
    make_slow_triggers(ctx.peal, leaves=900)
    pulse = Pulse(lambda: ctx.peal.post("/v1/events", {"kind": "other"}, expect=202))

    def publish():
        beats = pulse.beats
        eventually(lambda: pulse.beats > beats + 20)  # the large one is being decided
        make_trigger(ctx.peal, "new", eventKind="third")

    publisher = threading.Thread(target=publish)
    publisher.start()
    took = post_slowly(ctx.peal, 1000)
    publisher.join()
    pulse.check(took)


def post_at_once(people, item):
    """Each of them posts the same item at the same moment; answers the one delivery of each."""
    gate = threading.Barrier(len(people))

    def post(somebody):
        gate.wait()
        return ingest(somebody, item)["items"][0]["deliveries"][0]

    with concurrent.futures.ThreadPoolExecutor(len(people)) as pool:
        return list(pool.map(post, people))


def check_one_was_created(answers, peal):
    equal(sorted(answer["outcome"] for answer in answers),
          ["created"] + ["skipped"] * (len(answers) - 1))
    equal(len({answer["publicId"] for answer in answers}), 1)
    equal(len(deliveries(peal)), 1)


def test_simultaneous_posts_of_one_event_make_one_delivery(ctx):
    make_trigger(ctx.peal, dedupRecipe=RECIPE)
    check_one_was_created(post_at_once([ctx.peal] * 12, visit()), ctx.peal)


@only("postgres")
def test_simultaneous_posts_to_two_nodes_make_one_delivery(ctx):
    nodes = [ctx.start(clock="system"), ctx.start(clock="system")]
    make_trigger(nodes[0], dedupRecipe=RECIPE)
    for _ in range(5):
        answers = post_at_once(nodes * 4, visit())
        equal([answer["outcome"] for answer in answers].count("created"), 1)
        equal(len({answer["publicId"] for answer in answers}), 1)
    equal(len(deliveries(nodes[1])), 5)


def test_what_a_delivery_keeps(ctx):
    make_trigger(ctx.peal, dedupRecipe=RECIPE, schedule={"initialDelay": "1h", "reminders": ["1d"]})
    item = {**visit(wip="40956"), "occurredAt": "2026-05-14T05:12:34Z", "entity": "visit:40956"}
    row = delivery(ctx.peal, ingest_one(ctx.peal, item))
    like(row, {
        "tenant": "default", "triggerId": "visit", "triggerVersion": 1, "surveyId": None,
        "channel": "memory:default", "address": ADDRESS, "locale": "ar", "customerRef": "cust-123",
        "entity": "visit:40956", "state": "pending", "status": "Pending", "reason": None,
        "triggeredAt": moment(), "triggeredBy": f"event:{KIND}", "dueAt": moment(hours=1),
        "expiresAt": None, "lastSentAt": None, "openedAt": None, "endedAt": None,
        "attemptCount": 0, "remindersRemaining": 1, "lastError": None, "payload": item["payload"]})
    assert len(row["publicId"]) >= 14, "a public id has at least 80 random bits"
    equal(len(row["dedupHash"]), 64)
    like(ctx.peal.get(f"/v1/events/{row['eventId']}", expect=200).json, {
        "kind": KIND, "source": "ingest", "entity": "visit:40956", "payload": item["payload"],
        "recipient": item["recipient"], "occurredAt": moment(), "receivedAt": moment()})


def test_a_repeated_idempotency_key_gets_the_same_answer(ctx):
    make_trigger(ctx.peal)
    body = {"eventKind": KIND, "items": [visit()]}
    key = {"Idempotency-Key": "once-only"}
    first = ctx.peal.post("/v1/ingest", body, headers=key, expect=200)
    again = ctx.peal.post("/v1/ingest", body, headers=key, expect=200)
    equal(again.json, first.json)
    other = {"eventKind": KIND, "items": [visit()]}
    like(ctx.peal.post("/v1/ingest", other, headers=key, expect=409).json,
         {"code": "idempotency-key-reused"})
    equal(len(deliveries(ctx.peal)), 1)


def test_an_event_with_a_known_identity_is_taken_once(ctx):
    make_trigger(ctx.peal, eventKind="order.paid")
    body = {"kind": "order.paid", "id": "A1", "source": "shop", "payload": {"total": 12.5}}
    first = ctx.peal.post("/v1/events", body, expect=202).json
    like(first, {"duplicate": False, "deliveries": [{"outcome": "created", "triggerId": "visit"}]})
    again = ctx.peal.post("/v1/events", body, expect=202).json
    like(again, {"duplicate": True, "eventId": first["eventId"]})
    other = ctx.peal.post("/v1/events", {**body, "source": "market"}, expect=202).json
    like(other, {"duplicate": False})
    equal(len(deliveries(ctx.peal)), 2)


def test_what_was_acknowledged_survives_a_kill(ctx):
    peal = ctx.start(clock="system")
    make_trigger(peal, schedule={"initialDelay": "1h"})
    answer = ingest(peal, *(visit() for _ in range(100)))
    peal.kill9()
    peal.start()
    equal({row["id"] for row in deliveries(peal)},
          {item["deliveries"][0]["deliveryId"] for item in answer["items"]})


def test_only_keys_that_may_ingest_can(ctx):
    make_trigger(ctx.peal)
    body = {"eventKind": KIND, "items": [visit()]}
    equal(ctx.peal.with_key(None).post("/v1/ingest", body).status, 401)
    equal(ctx.peal.with_key("pk_wrong").post("/v1/ingest", body).status, 401)
    equal(make_user(ctx.peal, "read").post("/v1/ingest", body).status, 403)
    equal(make_user(ctx.peal, "ingest").post("/v1/ingest", body).status, 200)
    equal(make_user(ctx.peal, "ingest").get("/v1/triggers").status, 403)
    equal(len(deliveries(ctx.peal)), 1)


def test_a_body_that_is_not_json_by_its_own_word_is_refused(ctx):
    response = ctx.peal.post("/v1/ingest", raw=b"a=1",
                             headers={"Content-Type": "application/x-www-form-urlencoded"})
    equal(response.status, 415)


def test_under_the_real_clock_it_is_sent_without_being_asked(ctx):
    peal = ctx.start(clock="system")
    make_trigger(peal)
    id = ingest_one(peal)
    eventually(lambda: delivery(peal, id)["state"] == "delivered")


if __name__ == "__main__":
    main()
