"""Definitions as files, while something else happens: a kill, events, another node, another tenant."""
import threading
import time

from harness import equal, main
from steps import KIND, delivery, make_tenant, make_user
from test_tried_out import at_rest, differences

MANY = 1500
KILLS = (0.05, 0.3, 0.5, 0.7, 0.9, 1.0)  # of the time that it takes


def many(round, count=MANY):
    """Definitions of many kinds, which say otherwise in each round."""
    return [{"kind": "channel", "key": f"memory:c{number}", "type": "memory", "concurrency": round + 1} for number in range(50)] + [
        {"kind": "list", "id": "ops", "channels": ["memory:c1"], "targets": [{"address": f"{round}@example.org"}]},
        {"kind": "survey", "id": "csi", "published": True, "title": {"en": f"Round {round}"},
         "questions": [{"id": "q", "type": "text", "text": {"en": "?"}}],
         "triggers": [{"id": "t", "eventKind": "none", "channel": "memory:c1"}]},
        {"kind": "job", "name": "nightly", "cron": f"{round} 3 * * *", "handler": "memory:c1"},
        *({"kind": "trigger", "id": f"t{number}", "eventKind": f"kind-{round}", "channel": "memory:c1"} for number in range(count))]


def rounds_seen(peal):
    """Which rounds' definitions are stored."""
    channels = peal.get("/v1/channels?limit=500", expect=200).json["items"]
    surveys = peal.get("/v1/surveys", expect=200).json["items"]
    jobs = peal.get("/v1/jobs", expect=200).json["items"]
    seen = {row["concurrency"] - 1 for row in channels if row["key"] != "memory:default"}
    seen |= {int(row["title"]["en"].removeprefix("Round ")) for row in surveys}
    seen |= {int(row["cron"].split()[0]) for row in jobs}
    seen |= {int(row["address"].split("@")[0]) for row in peal.get("/v1/lists/ops/targets").json.get("items", [])}
    cursor = ""
    while cursor is not None:
        page = peal.get(f"/v1/triggers?limit=500{cursor}", expect=200).json
        seen |= {int(row["eventKind"].removeprefix("kind-")) for row in page["items"] if row["eventKind"] != "none"}
        cursor = f"&cursor={page['next']}" if page["next"] else None
    return seen


def ask(peal, body, answers):
    """Applies; none is the answer where the server goes meanwhile."""
    try:
        answers.append(peal.post("/v1/apply", body).status)
    except OSError:
        answers.append(None)


def test_a_kill_leaves_all_of_it_or_nothing(ctx):
    peal = ctx.peal
    peal.post("/v1/apply", {"definitions": many(0)}, expect=200)
    began = time.monotonic()
    peal.post("/v1/apply", {"definitions": many(1), "dryRun": True}, expect=200)
    takes, stands = time.monotonic() - began, 0
    for round, part in enumerate(KILLS, 1):
        answers = []
        thread = threading.Thread(target=ask, args=(peal, {"definitions": many(round)}, answers))
        thread.start()
        thread.join(takes * part)
        peal.kill9()
        thread.join()
        peal.start()
        seen = rounds_seen(peal)
        assert seen in ({round}, {stands}), (round, stands, seen)
        assert answers != [200] or seen == {round}, "what was answered is there"
        stands = seen.pop()
    peal.post("/v1/apply", {"definitions": many(9)}, expect=200)
    equal(rounds_seen(peal), {9})


def test_an_event_meets_all_old_or_all_new_definitions(ctx):
    """Two triggers of one kind change their channel together, to and fro, while another node takes events in."""
    node = ctx.peal if ctx.store == "sqlite" else ctx.start()
    ways = ("memory:a", "memory:b")
    plan = lambda way: {"definitions": [{"kind": "channel", "key": key, "type": "memory"} for key in ways] + [
        {"kind": "trigger", "id": id, "eventKind": KIND, "channel": way} for id in ("one", "two")]}
    ctx.peal.post("/v1/apply", plan("memory:a"), expect=200)
    made, is_over = [], threading.Event()

    def emit():
        while not is_over.is_set():
            made.append(node.post("/v1/events", {"kind": KIND, "payload": {}}, expect=202).json)

    thread = threading.Thread(target=emit)
    thread.start()
    for number in range(12):
        way = ways[(number + 1) % 2]
        ctx.peal.post("/v1/apply", plan(way), expect=200)
        answer = node.post("/v1/events", {"kind": KIND, "payload": {}}, expect=202).json
        equal({delivery(node, row["deliveryId"])["channel"] for row in answer["deliveries"]}, {way}, "what was answered counts")
    is_over.set()
    thread.join()
    for answer in made[::max(1, len(made) // 200)]:
        channels = {delivery(node, row["deliveryId"])["channel"] for row in answer["deliveries"]}
        equal((len(channels), len(answer["deliveries"])), (1, 2), answer)
    assert len(made) >= 12, len(made)


def test_events_come_in_beside_ten_thousand_definitions(ctx):
    """Nobody is refused, and on PostgreSQL nobody waits for all of it."""
    body = {"definitions": [{"kind": "trigger", "id": f"t{number}", "eventKind": f"kind-{number}", "channel": "memory:default"}
                            for number in range(10000)]}
    ctx.peal.get("/v1/triggers", expect=200)
    answers, waits = [], []
    thread = threading.Thread(target=ask, args=(ctx.peal, body, answers))
    began = time.monotonic()
    thread.start()
    while thread.is_alive():
        asked = time.monotonic()
        ctx.peal.post("/v1/events", {"kind": "another", "payload": {}}, expect=202)
        waits.append(time.monotonic() - asked)
    took = time.monotonic() - began
    equal(answers, [200])
    assert ctx.store == "sqlite" or max(waits) < took / 2, (took, max(waits))


def test_another_tenant_and_another_role_change_nothing_of_it(ctx):
    peal = ctx.peal
    peal.post("/v1/apply", {"definitions": many(0, 3)}, expect=200)
    stranger = make_tenant(peal, "other")
    users = [make_user(peal, role) for role in ("read", "ingest", "operator", "worker")]
    before = at_rest(ctx)
    gone = {"definitions": [], "prune": True, "pruneAll": True, "origin": "api"}
    equal(stranger.post("/v1/apply", gone, expect=200).json["deleted"], 0)
    for user in users:
        for body in (gone, {"definitions": many(1, 3)}):
            assert user.post("/v1/apply", {**body, "dryRun": True}).status in (200, 403), user
    for user in users[:2] + users[3:]:
        user.post("/v1/apply", gone, expect=403)
        user.get("/v1/definitions?kind=channel", expect=403)
    operator = users[2]
    plan = operator.post("/v1/apply", {**gone, "dryRun": True}, expect=200).json
    equal([row["kind"] for row in plan["changes"]], ["job"], "an operator writes jobs, and deletes no others")
    equal(differences(before, at_rest(ctx)), {})
    stranger.post("/v1/apply", {"definitions": many(5, 3)}, expect=200)
    equal(rounds_seen(peal), {0})
    equal(rounds_seen(stranger), {5})


if __name__ == "__main__":
    main()
