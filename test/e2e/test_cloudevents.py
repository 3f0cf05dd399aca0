"""X4: CloudEvents come in as binary, structured and batch; their identity is stored once."""
import json

from harness import equal, like, main
from steps import deliveries, delivery, ingest, make_trigger, moment, problems, settle

STRUCTURED = "application/cloudevents+json"
BATCH = "application/cloudevents-batch+json"
KIND = "com.example.order.paid"
SOURCE = "/shop/7"


def cloud(id="A-1", **members):
    return {"specversion": "1.0", "type": KIND, "source": SOURCE, "id": id, **members}


def headers_of(content="application/json", **attributes):
    given = {**cloud(), **attributes}
    return {"Content-Type": content,
            **{f"ce-{name}": value for name, value in given.items() if value is not None}}


def post_structured(peal, event, **rest):
    return peal.post("/v1/events", event, headers={"Content-Type": STRUCTURED}, **rest)


def post_batch(peal, events, **rest):
    return peal.post("/v1/events", events, headers={"Content-Type": BATCH}, **rest)


def post_binary(peal, data=b'{"total":249}', **attributes):
    return peal.post("/v1/events", raw=data, headers=headers_of(**attributes))


def event_of(peal, answer):
    return peal.get(f"/v1/events/{answer.json['eventId']}", expect=200).json


def count_events(peal):
    return len(peal.get("/v1/events?limit=500", expect=200).json["items"])


def listen(peal):
    return make_trigger(peal, "orders", eventKind=KIND)


def test_structured(ctx):
    listen(ctx.peal)
    answer = post_structured(ctx.peal, cloud(
        subject="order:8812", time=moment(hours=-2), datacontenttype="application/json",
        data={"total": 249}, correlationid="c-9", extension="dropped"), expect=202)
    like(answer.json, {"duplicate": False,
                       "deliveries": [{"outcome": "created", "triggerId": "orders"}]})
    like(event_of(ctx.peal, answer), {
        "kind": KIND, "source": SOURCE, "entity": "order:8812", "occurredAt": moment(hours=-2),
        "receivedAt": moment(), "payload": {"total": 249}, "correlationId": "c-9"})


def test_binary(ctx):
    listen(ctx.peal)
    answer = post_binary(ctx.peal, subject="order:8812", time=moment(hours=-2))
    equal(answer.status, 202)
    equal(len(answer.json["deliveries"]), 1)
    like(event_of(ctx.peal, answer), {
        "kind": KIND, "source": SOURCE, "entity": "order:8812", "occurredAt": moment(hours=-2),
        "payload": {"total": 249}})


def test_binary_headers_are_percent_decoded(ctx):
    answer = post_binary(ctx.peal, subject="gr%C3%B6%C3%9Fe%20%22a%22 50%")
    equal(event_of(ctx.peal, answer)["entity"], 'größe "a" 50%')
    equal(post_binary(ctx.peal, id="bad", subject="%ff").status, 422)


def test_binary_with_other_content(ctx):
    cases = [("text/plain", "größer".encode(), {"data": "größer"}),
             ("application/octet-stream", b"\x00\xff", {"data_base64": "AP8="}),
             ("application/json", b"[1,2]", {"data": [1, 2]}), ("application/json", b"", {}),
             ("application/vnd.acme+json; charset=utf-8", b'{"a":1}', {"a": 1})]
    for number, (type, data, payload) in enumerate(cases):
        answer = ctx.peal.post("/v1/events", raw=data, headers=headers_of(type, id=f"B-{number}"))
        equal(answer.status, 202, type)
        equal(event_of(ctx.peal, answer)["payload"], payload, type)
    answer = ctx.peal.post("/v1/events", raw=b"{", headers=headers_of(id="B-9"))
    equal((answer.status, answer.json["code"]), (400, "malformed"))


def test_structured_with_other_data(ctx):
    cases = [({"data": "text"}, {"data": "text"}), ({"data": [1]}, {"data": [1]}),
             ({"data": 7}, {"data": 7}), ({"data": None}, {}), ({}, {}),
             ({"data_base64": "AP8="}, {"data_base64": "AP8="})]
    for number, (members, payload) in enumerate(cases):
        answer = post_structured(ctx.peal, cloud(f"C-{number}", **members), expect=202)
        equal(event_of(ctx.peal, answer)["payload"], payload, str(members))


def test_batch(ctx):
    listen(ctx.peal)
    answer = post_batch(ctx.peal, [cloud("A-1"), cloud("A-2", data={"n": 2}), cloud("A-1")],
                        expect=202).json
    equal([item["outcome"] for item in answer["items"]], ["created", "created", "skipped"])
    ids = [item["eventId"] for item in answer["items"]]
    equal(ids[0], ids[2])
    assert ids[0] != ids[1]
    equal(len(deliveries(ctx.peal)), 2)
    equal(count_events(ctx.peal), 2)
    equal(post_batch(ctx.peal, [], expect=202).json["items"], [])


def test_a_bad_event_of_a_batch_fails_alone(ctx):
    listen(ctx.peal)
    answer = post_batch(ctx.peal, [cloud("A-1"), {"specversion": "1.0"}, 7, cloud("A-2")],
                        expect=202).json
    equal([item["outcome"] for item in answer["items"]],
          ["created", "failed", "failed", "created"])
    equal(answer["items"][1]["error"]["code"], "event-invalid")
    equal(count_events(ctx.peal), 2)
    for body in ({}, "x", 7):
        equal(post_batch(ctx.peal, body).status, 422, str(body))


def test_the_same_identity_is_the_same_event(ctx):
    listen(ctx.peal)
    first = post_structured(ctx.peal, cloud(data={"total": 1}), expect=202).json
    settle(ctx.peal)
    again = [post_structured(ctx.peal, cloud(data={"total": 1})),
             post_structured(ctx.peal, cloud(data={"total": 2}, subject="another")),
             post_binary(ctx.peal),
             ctx.peal.post("/v1/events", {"kind": KIND, "source": SOURCE, "id": "A-1"})]
    for answer in again:
        equal(answer.status, 202)
        equal(answer.json, {"eventId": first["eventId"], "duplicate": True, "deliveries": []})
    equal(count_events(ctx.peal), 1)
    equal(len(deliveries(ctx.peal)), 1)
    equal(ctx.peal.get(f"/v1/events/{first['eventId']}", expect=200).json["payload"], {"total": 1})


def test_another_source_is_another_event(ctx):
    ids = {post_structured(ctx.peal, cloud(source=source), expect=202).json["eventId"]
           for source in ("/shop/7", "/shop/8", "/SHOP/7")}
    equal(len(ids), 3)


def test_an_identity_is_known_after_a_restart(ctx):
    listen(ctx.peal)
    first = post_structured(ctx.peal, cloud(), expect=202).json
    ctx.peal.restart()
    again = post_structured(ctx.peal, cloud(), expect=202).json
    like(again, {"eventId": first["eventId"], "duplicate": True, "deliveries": []})


def test_missing_and_odd_attributes(ctx):
    cases = [({"id": None}, "/id"), ({"source": None}, "/source"), ({"type": None}, "/type"),
             ({"specversion": "0.3"}, "/specversion"), ({"id": ""}, "/id"), ({"type": ""}, "/type"),
             ({"source": ""}, "/source"), ({"time": "yesterday"}, "/time"),
             ({"id": "x" * 2000}, "/id"), ({"type": "x" * 2000}, "/type")]
    for members, place in cases:
        event = {name: value for name, value in cloud(**members).items() if value is not None}
        answer = post_structured(ctx.peal, event)
        equal((answer.status, answer.json["code"]), (422, "event-invalid"), str(members)[:60])
        assert place in [path for path, _ in problems(answer)], answer.text
        answer = post_binary(ctx.peal, **members)
        equal((answer.status, answer.json["code"]), (422, "event-invalid"), str(members)[:60])
        assert place in [path for path, _ in problems(answer)], answer.text
    for members in ({"id": 7}, {"source": {}}, {"type": []}, {"time": 5}, {"subject": 5},
                    {"data": 1, "data_base64": "AA=="}, {"data_base64": "!"}, {"data_base64": 1}):
        equal(post_structured(ctx.peal, cloud(**members)).status, 422, str(members))
    for event in ({}, [], "x", {"type": KIND}):
        equal(post_structured(ctx.peal, event).status, 422, str(event))
    equal(count_events(ctx.peal), 0)


def test_an_event_without_an_identity_is_never_a_duplicate(ctx):
    listen(ctx.peal)
    body = {"kind": KIND, "payload": {"total": 1}}
    ids = {ctx.peal.post("/v1/events", body, expect=202).json["eventId"] for _ in range(3)}
    equal(len(ids), 3)
    equal(len(deliveries(ctx.peal)), 3)


def test_both_doors_reach_the_same_triggers(ctx):
    listen(ctx.peal)
    item = {"payload": {"total": 1}, "recipient": {"address": "ada@example.com"}}
    equal(ingest(ctx.peal, item, kind=KIND)["created"], 1)
    equal(len(post_structured(ctx.peal, cloud(data={"total": 1})).json["deliveries"]), 1)
    answer = ctx.peal.post("/v1/events", {"kind": KIND, **item}, expect=202)
    equal(len(answer.json["deliveries"]), 1)
    id = answer.json["deliveries"][0]["deliveryId"]
    like(delivery(ctx.peal, id), {"address": "ada@example.com", "triggerId": "orders"})


def test_the_mode_is_told_by_the_content_type(ctx):
    """A structured event under application/json is not one, and says what it lacks."""
    answer = ctx.peal.post("/v1/events", cloud())
    equal(answer.status, 422)
    answer = ctx.peal.post("/v1/events", raw=json.dumps(cloud("D-1")).encode(),
                           headers={"Content-Type": STRUCTURED + "; charset=UTF-8"})
    equal(answer.status, 202)


if __name__ == "__main__":
    main()
