"""What Peal takes and gives is bounded in bytes as well as in numbers (H1)."""
import socket
import threading

from harness import equal, eventually, main, once, run_peal
from steps import deliveries, ingest, make_trigger, problems, settle, visit

LARGE = "x" * (900 * 1024)  # nine of these make a page


def walk(peal, path):
    """All items of a list, page by page, and how each page ended."""
    items, ends, cursor = [], [], ""
    while not ends or cursor:
        page = peal.get(f"{path}?limit=500" + (f"&cursor={cursor}" if cursor else ""),
                        expect=200).json
        items += page["items"]
        ends.append((len(page["items"]), page["complete"]))
        cursor = page["next"]
    return items, ends


def test_lists_end_at_so_many_bytes(ctx):
    make_trigger(ctx.peal)
    for _ in range(2):
        ingest(ctx.peal, *[visit(note=LARGE) for _ in range(10)])
    settle(ctx.peal)
    for path in ("/v1/events", "/v1/deliveries", "/v1/captured"):
        items, ends = walk(ctx.peal, path)
        equal(ends, [(9, False), (9, False), (2, True)], path)
        ids = {item.get("id") or item["deliveryId"] for item in items}
        equal(len(ids), 20, path)


def test_the_story_of_a_large_event_is_whole(ctx):
    for number in range(20):
        make_trigger(ctx.peal, f"t{number}")
    event = ingest(ctx.peal, visit(note=LARGE))["items"][0]["eventId"]
    settle(ctx.peal)
    decisions = ctx.peal.get(f"/v1/events/{event}/explain", expect=200).json["decisions"]
    equal(len(decisions), 20)


def test_a_large_event_with_many_rules_is_sent_in_bounded_memory(ctx):
    peal = ctx.start(memory_max=768 << 20)
    for number in range(800):
        make_trigger(peal, f"t{number}")
    answer = ingest(peal, visit(note=LARGE))
    equal(answer["created"], 800)
    settle(peal)
    assert peal.is_running(), peal.log()
    left = peal.get("/v1/deliveries?state=pending&limit=1", expect=200).json["items"]
    equal(left, [])


def test_a_page_of_large_events_is_read_in_bounded_memory(ctx):
    """What lies beyond the end of a page is not read, and not held."""
    peal = ctx.start(memory_max=384 << 20)
    for number in range(600):
        make_trigger(peal, f"t{number}", schedule={"initialDelay": "1h"})
    equal(ingest(peal, visit(note=LARGE))["created"], 600)
    for query in ("", "&state=pending", "&trigger=t7"):
        page = peal.get(f"/v1/deliveries?limit=500{query}", expect=200).json
        equal((len(page["items"]), page["complete"]), (1, True) if "t7" in query else (9, False))
    assert peal.is_running(), peal.log()


def test_an_event_may_have_so_many_bytes(ctx):
    make_trigger(ctx.peal)
    over = "x" * (1 << 20)
    answer = ctx.peal.post("/v1/events", {"kind": "k", "payload": {"note": over}})
    equal((answer.status, answer.json["code"], problems(answer)),
          (413, "too-large", [("/payload", "too-large")]))
    assert "1048576" in answer.json["errors"][0]["message"], "the limit is said"
    cloud = {"specversion": "1.0", "type": "k", "source": "s", "id": "1", "data": {"note": over}}
    answer = ctx.peal.post("/v1/events", cloud,
                           headers={"Content-Type": "application/cloudevents+json"})
    equal(answer.status, 413)
    answer = ctx.peal.post("/v1/events", {"kind": "k", "recipient": {"note": "x" * (64 << 10)}})
    equal((answer.status, problems(answer)), (413, [("/recipient", "too-large")]))
    equal(ctx.peal.get("/v1/events", expect=200).json["items"], [])


def test_in_a_batch_the_large_item_fails_alone(ctx):
    make_trigger(ctx.peal)
    answer = ingest(ctx.peal, visit(), visit(note="x" * (1 << 20)), visit())
    equal((answer["created"], answer["failed"]), (2, 1))
    equal([item["outcome"] for item in answer["items"]], ["created", "failed", "created"])
    equal(answer["items"][1]["error"]["code"], "too-large")


def test_the_limits_are_options(ctx):
    peal = ctx.start(args=["--payload-max", "2K", "--body-max", "1M", "--bodies-max", "2M"])
    equal(peal.post("/v1/events", {"kind": "k", "payload": {"n": "x" * 1900}}).status, 202)
    equal(peal.post("/v1/events", {"kind": "k", "payload": {"n": "x" * 2100}}).status, 413)
    equal(peal.post("/v1/events", raw=b" " * (1 << 20) + b"1").status, 413)


def test_few_descriptors_cost_no_delivery_an_attempt(ctx):
    """A far side that holds every request open uses up no descriptor that somebody else needs."""
    peal, receiver = ctx.start(clock="system", files_max=256), ctx.receiver()
    gate = threading.Event()
    receiver.answer(hold=gate)
    peal.post("/v1/channels", {"key": "http:out", "type": "http", "concurrency": 1000,
                               "config": {"url": receiver.url}}, expect=201)
    make_trigger(peal, channel="http:out", retry={"policy": "fixed", "interval": "1s", "max": 0})
    for _ in range(3):
        ingest(peal, *[visit() for _ in range(100)])
    receiver.wait_for(10)
    peal.get("/livez", expect=200)
    gate.set()
    receiver.wait_for(300, seconds=30)
    eventually(lambda: len(deliveries(peal, "&state=delivered")) == 300)
    equal({delivery["attemptCount"] for delivery in deliveries(peal)}, {1})
    log = peal.log(1000)
    assert "descriptors.few" in log and "store.doubted" not in log, log


def test_answers_that_nobody_takes_are_bounded(ctx):
    """A page of 8 MB each, asked for by many who do not read it (limits.md: memory in bytes)."""
    make_trigger(ctx.peal)
    ingest(ctx.peal, *[visit(note=LARGE) for _ in range(10)])
    settle(ctx.peal)
    ask = (f"GET /v1/deliveries?limit=500 HTTP/1.1\r\nHost: x\r\n"
           f"Authorization: Bearer {ctx.peal.key}\r\n\r\n").encode()
    idle = [socket.create_connection(tuple(ctx.peal.host.rsplit(":", 1))) for _ in range(60)]
    for one in idle:
        one.sendall(ask)
    eventually(lambda: ctx.peal.get("/v1/deliveries?limit=500").status == 503)
    with open(f"/proc/{ctx.peal.process.child.pid}/statm", encoding="ascii") as file:
        resident = int(file.read().split()[1]) * 4096
    assert resident < 700 << 20, resident
    for one in idle:
        one.close()
    eventually(lambda: ctx.peal.get("/v1/deliveries?limit=500").status == 200)


@once
def test_limits_that_make_no_sense_are_refused(ctx):
    for args in (["--payload-max", "0"], ["--payload-max", "1G"], ["--body-max", "many"],
                 ["--payload-max", "2M", "--body-max", "1M"], ["--bodies-max", "1M"]):
        ran = run_peal("serve", "--store", f"sqlite:{ctx.folder}/x.db", "--listen", "127.0.0.1:0",
                       *args)
        equal((ran.code, "-max" in ran.err), (2, True), str(args))


if __name__ == "__main__":
    main()
