"""What is tried out is what happens then, and leaves no trace: dry runs held against real ones, and
every table of the store against itself."""
import json
import random

from harness import equal, eventually, like, main
from steps import (ADDRESS, KIND, advance, captured, change_trigger, delivery, ingest_one, make_channel, make_trigger,
                   make_user, moment, settle, visit)
from test_secrets import WAITS, lose_key

TRIGGERS = 60
SPANS = ("0s", "1s", "59m", "1h", "23h59m59s", "1d", "25h", "7d", "60d")


def tables(ctx):
    if ctx.store == "postgres":
        return ["peal." + row[0] for row in
                ctx.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'peal' ORDER BY 1")]
    return [row[0] for row in ctx.sql("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")]


# What a node says of itself whether anybody asks it or not: that it lives, which duties it did, and transactions
# in which nothing happened.
BY_ITSELF = {"node": "1 = 0", "duty": "1 = 0", "sample": "1 = 0", "meta": "key <> 'epoch'",
             "journal": "length(facts) > 0"}


def dump(ctx):
    """Every row of every table that the catalog names."""
    found = {}
    for name in tables(ctx):
        rows = ctx.sql(f"SELECT * FROM {name} WHERE {BY_ITSELF.get(name.removeprefix('peal.'), '1 = 1')}")
        found[name] = sorted(map(repr, rows))
    assert len(found) > 40, found.keys()
    return found


UNTOLD = """SELECT count(*) FROM {0}journal j LEFT JOIN {0}journal_seen s ON s.writer = j.writer
            WHERE length(j.facts) > 0 AND (s.n IS NULL OR s.n < j.n)"""
UNSEALED = "SELECT count(*) FROM {0}chain WHERE number < told"


def at_rest(ctx):
    """What is stored once all that happened has its number, and is in the audit."""
    schema = "peal." if ctx.store == "postgres" else ""
    is_on_record = lambda: all(int(ctx.sql(sql.format(schema))[0][0]) == 0 for sql in (UNTOLD, UNSEALED))
    eventually(is_on_record, seconds=60)
    return dump(ctx)


def differences(before, after):
    return {name: sorted(set(before[name]) ^ set(after[name])) for name in before if before[name] != after[name]}


def dry(peal, id="visit", expect=200, **body):
    return peal.post(f"/v1/triggers/{id}/test", body, expect=expect).json


DEFINITIONS = [
    {"kind": "channel", "key": "http:new", "type": "http", "config": {"url": "https://x.example", "authorization": "s"}},
    {"kind": "channel", "key": "memory:old", "type": "memory", "concurrency": 3},
    {"kind": "list", "id": "ops", "channels": ["memory:old"], "targets": [{"address": "a@example.org"}]},
    {"kind": "template", "id": "new", "eventType": KIND, "channel": "memory:old", "body": "Hello"},
    {"kind": "automation", "id": "new", "handler": "memory:new", "schedules": [{"name": "s", "cron": "0 5 * * *"}]},
    {"kind": "survey", "id": "new", "published": True, "questions": [{"id": "q", "type": "text", "text": {"en": "?"}}],
     "triggers": [{"id": "t", "eventKind": KIND, "channel": "memory:old"}]},
    {"kind": "trigger", "id": "new", "eventKind": KIND, "channel": "memory:new"},
    {"kind": "source", "id": "new", "provider": "github"},
    {"kind": "job", "name": "new", "cron": "* * * * *", "handler": "memory:new"},
]


def test_nothing_is_written_to_any_table(ctx):
    make_channel(ctx.peal, "memory:old")
    make_trigger(ctx.peal, dedupRecipe=["candidate.wip"], schedule={"reminders": ["1h"]},
                 cancelOn={"eventKind": "off", "match": ["candidate.wip"]})
    make_trigger(ctx.peal, "lost", channel="http:nowhere")
    ctx.peal.post("/v1/templates", {"id": "hello", "eventType": "none", "channel": "memory:old", "body": "{{name}}"}, expect=201)
    stored = delivery(ctx.peal, ctx.peal.post("/v1/events", {"kind": KIND, "id": "mine", **visit()}, expect=202)
                      .json["deliveries"][0]["deliveryId"])["eventId"]
    reader = make_user(ctx.peal, "read")
    settle(ctx.peal)
    ctx.peal.get("/v1/triggers", expect=200)
    before = at_rest(ctx)
    item = {"filter": {"path": "candidate.a", "op": "==", "value": 1}}
    for who in (ctx.peal, reader):
        for id in ("visit", "lost"):
            for kind in (KIND, "off", "another"):
                dry(who, id, event={"kind": kind, "id": "mine", **visit()})
                dry(who, id, event={"kind": kind, **visit()})
            dry(who, id, eventId=stored)
        dry(who, "visit", expect=422, event={"kind": KIND, "payload": 7})
        for given in ({"event": {"payload": {}}}, {"eventId": stored}):
            who.post("/v1/filters/test", {**item, **given}, expect=200)
        who.post("/v1/cron/preview", {"cron": "* * * * *"})
        who.post("/v1/templates/hello/preview", {"payload": {"name": "Ada"}})
    ctx.peal.post("/v1/apply", {"definitions": DEFINITIONS, "dryRun": True}, expect=200)
    ctx.peal.post("/v1/apply", {"definitions": [], "pruneAll": True, "dryRun": True}, expect=200)
    # One that the store alone can refuse comes after all others were written.
    same = [{"kind": "source", "id": id, "provider": "generic", "path": "same"} for id in ("a", "b")]
    ctx.peal.post("/v1/apply", {"definitions": DEFINITIONS + same}, expect=409)
    ctx.peal.post("/v1/apply", {"definitions": DEFINITIONS, "plan": "another"}, expect=409)
    equal(differences(before, at_rest(ctx)), {})
    ctx.peal.post("/v1/apply", {"definitions": DEFINITIONS}, expect=200)
    changed = differences(before, at_rest(ctx))
    assert {name.removeprefix("peal.") for name in changed} >= {"definition", "journal", "audit", "survey_version", "list_member",
                                                               "schedule", "hook_path"}, changed.keys()


def any_plan(chance):
    members = {"schedule": {"initialDelay": chance.choice(SPANS),
                            "reminders": [chance.choice(SPANS[1:]) for _ in range(chance.randrange(4))]}}
    if chance.random() < 0.5:
        members["expireAfter"] = chance.choice(SPANS[1:])
    if chance.random() < 0.3:
        members["awaitAnswer"] = chance.random() < 0.5
    if chance.random() < 0.2:
        del members["schedule"]
    return members


def any_event(chance, number):
    event = {"kind": f"kind-{number}", **visit(text="<b>&amp;</b> \u202e\u0007 ''\"\\")}
    if chance.random() < 0.5:
        event["occurredAt"] = moment(hours=chance.randrange(-2000, 2))
    return event


def happened(peal, id):
    """What a delivery came to, in the words of a dry run."""
    row = delivery(peal, id)
    sent = [{"send": taken["send"], "at": taken["at"]} for taken in captured(peal, id)]
    return sent, row["endedAt"] if row["state"] == "expired" else None


OWN = {"deliveryId", "eventId", "publicId", "url", "source", "id"}


def without_ids(body):
    return {name: value for name, value in body.items() if name not in OWN}


def test_a_plan_that_is_told_is_the_one_that_is_kept(ctx):
    """For triggers and events by chance: the same times, over a year with its two changes of the clock."""
    ctx.start(args=["--keep", "3660d"])
    chance = random.Random(7)
    made = []
    for number in range(TRIGGERS):
        make_trigger(ctx.peal, f"t{number}", eventKind=f"kind-{number}", **any_plan(chance))
        event = any_event(chance, number)
        made.append((f"t{number}", event, dry(ctx.peal, f"t{number}", event=event)))
    done = [ctx.peal.post("/v1/events", event, expect=202).json for _, event, _ in made]
    settle(ctx.peal)
    advance(ctx.peal, "400d")
    for (id, event, told), answer in zip(made, done):
        delivery_id = answer["deliveries"][0]["deliveryId"]
        equal((told["plan"], told["expiresAt"]), happened(ctx.peal, delivery_id), id)
        equal(without_ids(told["message"]["body"]), without_ids(captured(ctx.peal, delivery_id)[0]["body"]), id)


def test_a_stored_event_is_asked_about_as_if_it_came_now(ctx):
    """Also one that said nothing of when it happened, days later."""
    make_trigger(ctx.peal, schedule={"initialDelay": "5d", "reminders": ["1d"]})
    event = visit()
    stored = delivery(ctx.peal, ingest_one(ctx.peal, event))["eventId"]
    advance(ctx.peal, "2d")
    told = dry(ctx.peal, eventId=stored)
    equal([send["at"] for send in told["plan"]], [moment(days=7), moment(days=8)])
    equal(told["plan"], dry(ctx.peal, event=event)["plan"])
    id = ingest_one(ctx.peal, event)
    advance(ctx.peal, "10d")
    equal(told["plan"], happened(ctx.peal, id)[0])


def test_what_ends_before_it_is_sent_ends_as_was_told(ctx):
    body = {"payload": {"subject": "S", "body": "B"}, "recipient": {"address": "ada@example.org"}}
    ctx.peal.post("/v1/channels", {"key": "http:off", "type": "http", "enabled": False,
                                   "config": {"url": "https://x.example"}}, expect=201)
    ctx.peal.post("/v1/channels", {"key": "email:out", "type": "email",
                                   "config": {"server": "smtps://mail.example.org", "from": "a@example.org"}}, expect=201)
    ctx.peal.post("/v1/templates", {"id": "bad", "eventType": "bad", "channel": "memory:default", "body": "{{name}}",
                                    "missing": "fail"})
    ctx.peal.put("/v1/preferences", {"address": "out@example.org", "optOut": ["memory"]}, expect=200)
    make_channel(ctx.peal, "memory:runs")
    ctx.peal.post("/v1/automations", {"id": "sort", "handler": "memory:runs"}, expect=201)
    cases = [("off", "http:off", body), ("nowhere", "http:nowhere", body),
             ("empty", "email:out", {**body, "payload": {}}),
             ("nobody", "email:out", {**body, "recipient": {}}),
             ("no-mail", "email:out", {**body, "recipient": {"address": "+100"}}),
             ("out", "memory:default", {**body, "recipient": {"address": "out@example.org"}}),
             ("run", None, {**body, "recipient": {"address": "out@example.org"}})]
    told = {}
    for id, channel, event in cases:
        way = {"channel": channel} if channel else {"automation": "sort"}
        ctx.peal.post("/v1/triggers", {"id": id, "eventKind": id, **way}, expect=201)
        told[id] = dry(ctx.peal, id, event={"kind": id, **event})["stops"]
        assert told[id]["detail"], told[id]
    for id, _, event in cases:
        answer = ctx.peal.post("/v1/events", {"kind": id, **event}, expect=202).json
        settle(ctx.peal)
        row = delivery(ctx.peal, answer["deliveries"][0]["deliveryId"])
        equal(told[id] and (told[id]["state"], told[id]["reason"]), (row["state"], row["reason"]), id)


def test_what_somebody_would_rather_have_moves_no_run(ctx):
    """A message goes where its recipient wants it; a run stays with the automation's handler."""
    make_channel(ctx.peal, "memory:runs")
    make_channel(ctx.peal, "memory:rather")
    ctx.peal.post("/v1/automations", {"id": "sort", "handler": "memory:runs"}, expect=201)
    ctx.peal.put("/v1/preferences", {"address": ADDRESS, "channel": {"memory:runs": "memory:rather"}}, expect=200)
    for id, way, goes in (("mail", {"channel": "memory:runs"}, "memory:rather"), ("run", {"automation": "sort"}, "memory:runs")):
        ctx.peal.post("/v1/triggers", {"id": id, "eventKind": id, **way}, expect=201)
        equal(dry(ctx.peal, id, event={"kind": id, **visit()})["message"]["channel"], goes)
        answer = ctx.peal.post("/v1/events", {"kind": id, **visit()}, expect=202).json
        equal(delivery(ctx.peal, answer["deliveries"][0]["deliveryId"])["channel"], goes)


def test_an_event_that_came_before_calls_nothing_off_again(ctx):
    make_trigger(ctx.peal, cancelOn={"eventKind": "off", "match": ["candidate.wip"]})
    off = {"kind": "off", "id": "mine", "payload": {"wip": 1}}
    equal(dry(ctx.peal, event=off)["callsOff"], True)
    ctx.peal.post("/v1/events", off, expect=202)
    told = dry(ctx.peal, event=off)
    equal(told["callsOff"], False)
    assert told["note"].startswith("an event with this id came before: "), told


def test_an_event_that_is_too_large_to_come_is_too_large_to_be_tried(ctx):
    ctx.start(args=["--payload-max", "64K"])
    make_trigger(ctx.peal)
    for size, expected in ((63 << 10, 200), (65 << 10, 413)):
        event = {"kind": KIND, "payload": {"x": "x" * size}}
        equal(ctx.peal.post("/v1/events", event).status, 202 if expected == 200 else 413)
        equal(ctx.peal.post("/v1/triggers/visit/test", {"event": event}).status, expected)
        equal(ctx.peal.post("/v1/filters/test", {"event": event, "filter": {"path": "candidate.x", "op": "exists"}}).status, expected)


def test_a_channel_that_waits_for_its_key_is_told(ctx):
    lose_key(ctx)
    told = dry(ctx.peal, event=visit())
    equal((told["note"], told["stops"]), (WAITS, None))
    assert told["message"]["headers"]["webhook-signature"], "what would be sent is shown all the same"


def test_a_filter_of_as_many_conditions_as_there_may_be(ctx):
    """The last one decides; one more is refused. What is HTML is told as a text."""
    rows = [{"path": f"candidate.a{number}", "op": "exists"} for number in range(998)]
    last = {"path": "candidate.b", "op": "==", "value": "<i>"}
    event = {"kind": KIND, "payload": {**{f"a{number}": "<script>" for number in range(998)}, "b": "</script>"}}
    told = ctx.peal.post("/v1/filters/test", {"filter": {"all": [*rows, last]}, "event": event}, expect=200).json
    like(told, {"matches": False, "explain": {"path": "/filter/all/998", "seen": "</script>",
                                              "predicate": 'candidate.b == "<i>"'}})
    make_trigger(ctx.peal, filter={"all": [*rows, last]})
    like(dry(ctx.peal, event=event)["decision"], {"outcome": "filtered", "path": "/filter/all/998", "seen": "</script>"})
    ctx.peal.post("/v1/filters/test", {"filter": {"all": [*rows, last, last]}, "event": event}, expect=422)


def test_what_cannot_be_read_is_said_and_stops_nobody(ctx):
    """A stored event whose payload is damaged, one that is gone, triggers and templates that do not compile."""
    make_trigger(ctx.peal)
    make_trigger(ctx.peal, "torn", eventKind="other")
    ctx.peal.post("/v1/templates", {"id": "torn", "eventType": "other", "channel": "memory:default", "body": "x"}, expect=201)
    stored, gone = (delivery(ctx.peal, ingest_one(ctx.peal))["eventId"] for _ in range(2))
    settle(ctx.peal)
    ctx.peal.stop()
    schema = "peal." if ctx.store == "postgres" else ""
    bytes_of = lambda id: f"'{id}'" if ctx.store == "postgres" else f"x'{id.replace('-', '')}'"
    ctx.sql(f"UPDATE {schema}event SET payload = '{{' WHERE id = {bytes_of(stored)}")
    ctx.sql(f"DELETE FROM {schema}event WHERE id = {bytes_of(gone)}")
    ctx.sql(f"UPDATE {schema}definition_version SET body = '{{' WHERE id = 'torn'")
    ctx.peal.restart()
    filter = {"path": "candidate.wip", "op": "exists"}
    for path, body in (("/v1/triggers/visit/test", {}), ("/v1/filters/test", {"filter": filter})):
        equal(ctx.peal.post(path, {**body, "eventId": stored}, expect=500).json["code"], "corrupt")
        ctx.peal.post(path, {**body, "eventId": gone}, expect=404)
    equal(len(dry(ctx.peal, event=visit())["plan"]), 1)
    ctx.peal.post("/v1/triggers/torn/test", {"event": visit()}, expect=404)
    # What is damaged is deleted and replaced as if it were whole.
    plan = ctx.peal.post("/v1/apply", {"definitions": [], "dryRun": True, "pruneAll": True}, expect=200).json
    equal([row["id"] for row in plan["changes"]], ["torn", "torn", "visit"])
    change_trigger(ctx.peal, "torn")
    equal(len(dry(ctx.peal, "torn", event=visit())["plan"]), 1)


if __name__ == "__main__":
    main()
