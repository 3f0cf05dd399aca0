"""Who may do what. The cases are made from the route table, as /openapi.json prints it."""
import functools
import http.client
import json
import re
import uuid

from harness import equal, eventually, like, main
from steps import (ADDRESS, KIND, advance, deliveries, delivery, ingest, ingest_one, make_channel,
                   make_tenant, make_trigger, make_user, moment, settle, trigger_body, visit)

ROLES = ("admin", "operator", "author", "ingest", "worker", "site", "read", "audit-export",
         "operations")
OPEN_TO_ANYONE = {("GET", "/livez"), ("GET", "/readyz"), ("GET", "/metrics"),
                  ("GET", "/openapi.json"), ("GET", "/s/page.css"), ("GET", "/s/page.js")}
NO_SUCH_ID = "01975e3c-7a4b-7000-8000-2c9d3f5b1a60"


class Operation:
    """One row of the route table."""

    def __init__(self, method, path, told):
        self.method = method.upper()
        self.path = path
        self.roles = told["x-peal-roles"]
        self.is_paged = any(one["name"] == "limit" for one in told.get("parameters", []))
        content = told.get("requestBody", {}).get("content", {})
        self.example = content.get("application/json", {}).get("example")

    def __str__(self):
        return f"{self.method} {self.path}"

    @property
    def is_open(self):
        return not self.roles

    @property
    def is_hook(self):
        """Webhooks have no key: what they bring is signed (test_hooks.py). Nor has who answers a survey:
        the public id that he was sent is his (test_responses.py)."""
        return self.path.startswith(("/hooks/", "/s/{"))

    @property
    def is_system(self):
        return self.roles == ["system"]

    @property
    def noun(self):
        return self.path.split("/")[2]

    def ask(self, who, id=NO_SUCH_ID):
        body = self.example
        if self.method == "PUT" and body and self.noun in ("triggers", "channels", "templates",
                                                          "sources", "lists", "jobs", "integrations",
                                                          "automations", "surveys") and "schedules" not in self.path:
            name = {"channels": "key", "jobs": "name"}.get(self.noun, "id")
            body = {**body, name: id}
            if self.noun == "channels":
                body = {"key": id, "type": "memory"}
        query = "?kinds=nothing" if self.path == "/v1/stream" else ""  # refused, for a stream that is open has no end
        return who.request(self.method, re.sub(r"\{\w+\}", id, self.path) + query, body)


def operations(peal):
    paths = peal.with_key(None).get("/openapi.json", expect=200).json["paths"]
    found = [Operation(method, path, told) for path, methods in paths.items()
             for method, told in methods.items()]
    assert len(found) > 40, "the route table is in the document"
    return found


def with_id(peal):
    return [operation for operation in operations(peal) if "{" in operation.path]


def rows_of(who):
    """One row of each noun, by the noun of the path."""
    make_channel(who, "memory:own")
    make_trigger(who, "own")
    who.post("/v1/templates", {"id": "own", "eventType": "none", "channel": "memory:own", "body": "x"}, expect=201)
    who.post("/v1/automations", {"id": "own", "handler": "memory:own"}, expect=201)
    who.post("/v1/surveys", {"id": "own", "questions": [{"id": "q", "type": "text", "text": {"en": "?"}}]}, expect=201)
    who.post("/v1/surveys/own/publish", expect=200)
    who.post("/v1/integrations", {"id": "own", "provider": "linear"}, expect=201)
    who.post("/v1/jobs", {"name": "own", "handler": "memory:own"}, expect=201)
    who.post("/v1/jobs", {"name": "dead", "handler": "http:nowhere"}, expect=201)
    dead = who.post("/v1/jobs/dead/trigger", expect=202).json["deliveryId"]
    who.post("/v1/events", {"kind": "none", "entity": "b:1", "payload": {}}, expect=202)
    id = ingest_one(who)
    event = delivery(who, id)["eventId"]
    message = who.get("/v1/messages", expect=200).json["items"][0]["id"]
    operation = who.post("/v1/operations", {"action": "retry", "filter": {"state": "parked"}},
                         expect=202).json["id"]
    keys = who.get("/v1/keys", expect=200).json["items"]
    who.post("/v1/lists", {"id": "own", "channels": ["memory:own"],
                           "targets": [{"address": "own@example.org"}]}, expect=201)
    told = who.post("/v1/notifications", {"list": "own", "body": "own"}, expect=202).json["id"]
    who.post("/v1/sources", {"id": "own", "provider": "github"}, expect=201)
    made = who.get("/v1/triggers/own/events", expect=200).json["items"][0]["id"]
    campaign = who.post("/v1/campaigns?trigger=own", {"list": "own"}, expect=202).json["id"]
    return {"captured": id, "campaigns": campaign, "trigger-events": made, "lists": "own", "jobs": "own", "sources": "own", "automations": "own", "surveys": "own", "integrations": "own", "dead": dead, "notifications": told,
            "templates": "own", "messages": message, "entities": "b:1",
            "events": event, "deliveries": id, "operations": operation, "triggers": "own",
            "channels": "memory:own", "keys": keys[0]["id"]}


def response_row(who):
    """What somebody answered."""
    body = {"id": "own-asked", "questions": [{"id": "q", "type": "text", "text": {"en": "?"}}],
            "triggers": [{"id": "own", "eventKind": "own-asked", "channel": "memory:own"}]}
    who.post("/v1/surveys", body, expect=201)
    who.post("/v1/surveys/own-asked/publish", expect=200)
    [made] = ingest(who, visit(), kind="own-asked")["items"][0]["deliveries"]
    answer = who.with_key(None).post(f"/s/{made['publicId']}/responses", {"answers": {"q": "own"}}, expect=200)
    return answer.json["responseId"]


def inbox_row(who):
    """A webhook that came."""
    made = who.post("/v1/sources", {"id": "own-hook", "provider": "generic", "config": {"verify": {"kind": "none"}}},
                    expect=201).json
    return who.with_key(None).post(made["url"], {"own": 1}, expect=200).json["id"]


def outbox_row(ctx):
    """What acme emitted; on SQLite nobody can."""
    if ctx.store == "sqlite":
        return NO_SUCH_ID
    [[id]] = ctx.sql("SELECT peal.emit('own', '{}', tenant => 'acme')")
    return id


def test_the_document_names_the_roles_of_every_route(ctx):
    for operation in operations(ctx.peal):
        if (operation.method, operation.path) in OPEN_TO_ANYONE or operation.is_hook:
            equal(operation.roles, [], str(operation))
            continue
        assert operation.roles, f"{operation} names no role"
        assert operation.is_system or "admin" in operation.roles, f"{operation}: {operation.roles}"
        assert set(operation.roles) <= {*ROLES, "system"}, f"{operation}: {operation.roles}"


def test_without_a_key_every_route_is_shut(ctx):
    nobody = ctx.peal.with_key(None)
    strangers = [nobody, ctx.peal.with_key("pk_" + "x" * 43), ctx.peal.with_key(""),
                 ctx.peal.with_key("pk_é")]
    for operation in operations(ctx.peal):
        for who in strangers:
            answer = operation.ask(who)
            if operation.is_open:
                equal(answer.status, 404 if operation.is_hook else 200, str(operation))
                continue
            equal(answer.status, 401, str(operation))
            equal(answer.json["code"], "no-key", str(operation))
            equal(answer.headers["www-authenticate"], "Bearer", str(operation))


def test_a_key_is_taken_from_its_header_only(ctx):
    nobody, key = ctx.peal.with_key(None), ctx.peal.key
    for headers in ({"Authorization": f"Basic {key}"}, {"Authorization": key},
                    {"Authorization": "Bearer"}, {"X-Api-Key": key}, {"Cookie": f"key={key}"}):
        equal(nobody.get("/v1/events", headers=headers).status, 401, str(headers))
    equal(nobody.get(f"/v1/events?key={key}").status, 401)
    equal(nobody.get("/v1/events", headers={"Authorization": f"bearer {key}"}).status, 200)


def test_each_role_may_do_what_its_routes_say_and_no_more(ctx):
    users = {role: make_user(ctx.peal, role) for role in ROLES}
    for operation in operations(ctx.peal):
        if operation.is_open:
            continue
        for role, who in users.items():
            answer = operation.ask(who)
            if role in operation.roles:
                assert answer.status not in (401, 403), \
                    f"{operation} as {role}: {answer.status} {answer.text}"
            else:
                equal(answer.status, 403, f"{operation} as {role}")
                equal(answer.json["code"], "forbidden", f"{operation} as {role}")


def test_system_routes_need_the_system_right(ctx):
    admins = [make_user(ctx.peal, "admin"), make_tenant(ctx.peal, "acme")]
    system = [one for one in operations(ctx.peal) if one.is_system]
    assert len(system) >= 7, [str(one) for one in system]
    before = ctx.peal.get("/v1/clock", expect=200).json
    for operation in system:
        for who in admins:
            equal(operation.ask(who).status, 403, str(operation))
    equal(ctx.peal.get("/v1/clock", expect=200).json, before)
    equal(ctx.peal.get("/readyz", expect=200).json["held"], False)
    for operation in system:
        assert operation.ask(ctx.peal).status not in (401, 403), str(operation)


def test_another_tenants_row_looks_as_if_there_were_none(ctx):
    owner, other = make_tenant(ctx.peal, "acme"), make_tenant(ctx.peal, "other")
    rows = {**rows_of(owner), "outbox": outbox_row(ctx), "inbox": inbox_row(owner), "responses": response_row(owner)}
    rows["work"] = rows["deliveries"]
    settle(ctx.peal)
    path = f"/v1/operations/{rows['operations']}"
    eventually(lambda: owner.get(path, expect=200).json["state"] == "done")
    seen = snapshot(owner, rows)
    for operation in with_id(ctx.peal):
        if operation.is_system or operation.is_hook or "/{name}/defer" in operation.path:
            continue  # webhooks have no tenant to ask as; a job that nobody knows is taken, too
        absent = NO_SUCH_ID if is_id(rows[operation.noun]) else "no-such-thing"
        foreign, missing = operation.ask(other, rows[operation.noun]), operation.ask(other, absent)
        equal((foreign.status, missing.status), (404, 404), str(operation))
        equal(shape(foreign, rows[operation.noun]), shape(missing, absent), str(operation))
    equal(snapshot(owner, rows), seen)


def is_id(text):
    try:
        return bool(uuid.UUID(text))
    except ValueError:
        return False


def shape(answer, id):
    """The answer without what must differ: the id that was asked for, and the request's own."""
    body = {name: value for name, value in answer.json.items() if name != "requestId"}
    body["detail"] = body["detail"].replace(id, "{id}")
    kept = {name.lower(): value for name, value in answer.headers.items()
            if name.lower() not in ("date", "content-length")}
    return body, kept


def snapshot(owner, rows):
    paths = [f"/v1/{noun}/{id}" for noun, id in rows.items()
             if noun not in ("keys", "entities", "work", "dead") and id != NO_SUCH_ID]
    return [owner.get(path, expect=200).json for path in paths + ["/v1/keys"]]


def test_lists_show_only_ones_own(ctx):
    owner, other = make_tenant(ctx.peal, "acme"), make_tenant(ctx.peal, "other")
    rows = rows_of(owner)
    emitted, came = outbox_row(ctx), inbox_row(owner)
    make_trigger(owner, "lost", eventKind="lost", channel="http:nowhere")
    ingest(owner, visit(), kind="lost")  # it parks, and so has a cause
    owner.post("/v1/integrations", {"id": "polled", "provider": "linear", "baseUrl": "http://127.0.0.1:9"}, expect=201)
    owner.post("/v1/triggers", {"id": "polls", "provider": "linear", "type": "issue", "integration": "polled",
                                "way": "polling", "channel": "memory:default"}, expect=201)
    owner.post("/v1/keys", {"role": "site", "site": "own-site"}, expect=201)
    settle(ctx.peal)
    make_trigger(other, "theirs")
    ingest_one(other)
    lists = [one for one in operations(ctx.peal)
             if one.method == "GET" and "{" not in one.path and not one.is_open
             and not one.is_system and one.path not in ("/v1/clock", "/v1/site", "/v1/preferences", "/v1/stream")]
    assert len(lists) >= 6, lists
    queries = {"/v1/deliveries": [f"event={rows['events']}", "trigger=own", "q=own",
                                  "channel=memory:default", "state=delivered"],
               "/v1/captured": [f"delivery={rows['deliveries']}", "channel=memory:default", "newest=true"],
               "/v1/events": ["kind=service-visit-closed"]}
    hidden = [emitted, came, rows["events"], rows["deliveries"], rows["operations"], rows["keys"], '"own"',
              "memory:own", "acme", "polled", "own-site"]
    unread = {"/v1/outbox"} if ctx.store == "sqlite" else set()
    for path, is_paged in ((one.path, one.is_paged) for one in lists if one.path not in unread):
        for query in ["limit=500" if is_paged else "", *queries.get(path, [])]:
            text = other.get(f"{path}?{query}", expect=200).text
            for word in hidden:
                assert word not in text, f"{path}?{query} shows {word}"
        if is_paged:
            shown = owner.get(path, expect=200)
            assert shown.text if path.endswith("/export") else shown.json["items"], \
                f"{path} shows the owner its rows"


def test_a_cursor_does_not_lead_into_another_tenant(ctx):
    owner, other = make_tenant(ctx.peal, "acme"), make_tenant(ctx.peal, "other")
    make_trigger(owner, "own")
    ingest(owner, *[visit() for _ in range(5)])
    for path in ("/v1/deliveries", "/v1/events"):
        cursor = owner.get(f"{path}?limit=2", expect=200).json["next"]
        page = other.get(f"{path}?limit=2&cursor={cursor}", expect=200).json
        equal(page, {"items": [], "next": None, "complete": True}, path)


def test_an_operation_reaches_only_ones_own(ctx):
    owner, other = make_tenant(ctx.peal, "acme"), make_tenant(ctx.peal, "other")
    make_trigger(owner, "own", schedule={"initialDelay": "1d"})
    id = ingest_one(owner)
    for filter in ({}, {"trigger": "own"}, {"event": delivery(owner, id)["eventId"]}):
        begun = other.post("/v1/operations", {"action": "cancel", "filter": filter}, expect=202).json
        path = f"/v1/operations/{begun['id']}"
        ended = eventually(lambda: other.get(path, expect=200).json["finishedAt"] and other.get(path))
        equal(ended.json["matched"], 0, str(filter))
    settle(ctx.peal)
    equal(delivery(owner, id)["state"], "pending")


def test_tenants_do_not_meet_in_dedup_or_event_identity(ctx):
    owner, other = make_tenant(ctx.peal, "acme"), make_tenant(ctx.peal, "other")
    item = visit()
    event = {"kind": "order.paid", "source": "shop", "id": "8812", "payload": {"total": 1}}
    seen = []
    for who in (owner, other):
        make_trigger(who, "same", dedupRecipe=["candidate.wip"])
        equal(ingest(who, item)["created"], 1)
        answer = who.post("/v1/events", event, expect=202).json
        equal(answer["duplicate"], False)
        seen.append(answer["eventId"])
    assert seen[0] != seen[1], seen


def test_the_engine_keeps_tenants_apart(ctx):
    """Both name their channel alike; each delivery goes through its own tenant's."""
    owner, other = make_tenant(ctx.peal, "acme"), make_tenant(ctx.peal, "other")
    receivers = {}
    for who in (owner, other):
        receivers[who] = ctx.receiver()
        who.post("/v1/channels", {"key": "http:out", "type": "http",
                                  "config": {"url": receivers[who].url}}, expect=201)
        make_trigger(who, "own", channel="http:out")
    ids = {who: ingest_one(who) for who in receivers}
    settle(ctx.peal)
    for who, receiver in receivers.items():
        equal([one.json["deliveryId"] for one in receiver.wait_for(1)], [ids[who]])


def test_an_expired_key_is_no_key(ctx):
    body = {"role": "read", "name": "short", "expiresAt": moment(hours=1)}
    made = ctx.peal.post("/v1/keys", body, expect=201).json
    equal(made["expiresAt"], moment(hours=1))
    who = ctx.peal.with_key(made["key"])
    advance(ctx.peal, "59m59s")
    equal(who.get("/v1/events").status, 200)
    advance(ctx.peal, "1s")
    answer = who.get("/v1/events")
    equal((answer.status, answer.json["code"]), (401, "no-key"))
    for bad in (moment(hours=1), moment(days=-1), "tomorrow", 7):
        answer = ctx.peal.post("/v1/keys", {**body, "expiresAt": bad})
        equal(answer.status, 422, str(bad))


def test_a_revoked_key_is_no_key_at_once(ctx):
    for _ in range(5):
        made = ctx.peal.post("/v1/keys", {"role": "read", "name": "gone"}, expect=201).json
        who = ctx.peal.with_key(made["key"])
        equal(who.get("/v1/events").status, 200)
        ctx.peal.delete(f"/v1/keys/{made['id']}", expect=204)
        equal(who.get("/v1/events").status, 401)
        equal(ctx.peal.delete(f"/v1/keys/{made['id']}").status, 404)
    ctx.peal.restart()
    equal(ctx.peal.with_key(made["key"]).get("/v1/events").status, 401)


def newest_event(peal):
    return [event["id"] for event in peal.get("/v1/events?limit=1", expect=200).json["items"]]


def post_slowly(peal, key, data):
    """Posts a batch; when it returns, the server has all of it, and a thinker has begun."""
    connection = http.client.HTTPConnection(peal.host, timeout=60)
    connection.putrequest("POST", "/v1/ingest")
    for name, value in (("Authorization", f"Bearer {key}"), ("Content-Type", "application/json"),
                        ("Content-Length", str(len(data)))):
        connection.putheader(name, value)
    connection.endheaders()
    connection.send(data[:-1])
    for _ in range(50):  # the loop goes round, and has read what came
        peal.get("/livez", expect=200)
    connection.send(data[-1:])
    peal.get("/livez", expect=200)
    return connection


def test_a_key_revoked_while_its_events_are_decided_brings_none_in(ctx):
    """A call is let in again inside its transaction; much to decide leaves time for a revocation."""
    many = [{"path": "candidate.text", "op": "contains", "value": f"y{n}"} for n in range(40)]
    for number in range(10):
        make_trigger(ctx.peal, f"slow-{number}", filter={"any": many})
    data = json.dumps({"eventKind": KIND, "items": [{"payload": {"text": "x" * 20}}] * 10000})
    for _ in range(5):  # the batch may be quicker than the revocation, but not always
        path, _, who = make_key(ctx.peal, role="ingest")
        before = newest_event(ctx.peal)
        connection = post_slowly(ctx.peal, who.key, data.encode())
        ctx.peal.delete(path, expect=204)
        answer = connection.getresponse()
        told = json.loads(answer.read())
        connection.close()
        if answer.status == 401:
            equal(told["code"], "no-key")
            equal(newest_event(ctx.peal), before)
            return
        equal(answer.status, 200)
    raise AssertionError("a revoked key always brought its events in")


def make_key(peal, **body):
    """A key, and somebody who has it."""
    made = peal.post("/v1/keys", {"role": "read", "name": "one", **body}, expect=201).json
    return f"/v1/keys/{made['id']}", made, peal.with_key(made["key"])


def test_a_key_is_shown_and_changed(ctx):
    path, made, who = make_key(ctx.peal, expiresAt=moment(hours=1))
    shown = {name: value for name, value in made.items() if name != "key"}
    equal(ctx.peal.get(path, expect=200).json, shown)
    changed = ctx.peal.put(path, {"role": "read", "name": "two", "expiresAt": moment(hours=2)}, expect=200).json
    equal(changed, {**shown, "name": "two", "expiresAt": moment(hours=2)})
    advance(ctx.peal, "90m")
    equal(who.get("/v1/events").status, 200, "it lives longer")
    replaced = ctx.peal.put(path, {"role": "read"}, expect=200).json
    equal((replaced["name"], replaced["expiresAt"]), (None, None), "a PUT says all there is to say")
    patched = ctx.peal.patch(path, {"name": "three"}, expect=200).json
    equal(ctx.peal.patch(path, {"expiresAt": moment(days=1)}, expect=200).json,
          {**patched, "expiresAt": moment(days=1)})
    equal(ctx.peal.patch(path, {"name": None}, expect=200).json["name"], None)
    equal(ctx.peal.get(path, expect=200).json["expiresAt"], moment(days=1))


def test_a_changed_role_counts_at_once(ctx):
    path, made, who = make_key(ctx.peal, role="ingest")
    equal(who.get("/v1/events").status, 403)
    ctx.peal.patch(path, {"role": "read"}, expect=200)
    equal(who.get("/v1/events").status, 200)
    equal(who.post("/v1/ingest", {"eventKind": "x", "items": [visit()]}).status, 403)
    ctx.peal.restart()
    equal(ctx.peal.with_key(made["key"]).get("/v1/events").status, 200)


def test_a_wrong_change_leaves_the_key_as_it_was(ctx):
    path, made, _ = make_key(ctx.peal, name="as it was")
    for body, where in (({"role": "root"}, "/role"), ({"role": None}, "/role"), ({"tenant": "other"}, "/tenant"),
                        ({"expiresAt": moment(days=-1)}, "/expiresAt"), ({"nmae": "x"}, "/nmae"),
                        ({"system": True}, "/system"), ({"key": "pk_mine"}, "/key")):
        refused = ctx.peal.patch(path, body, expect=422).json
        equal([problem["path"] for problem in refused["errors"]], [where], body)
    equal(ctx.peal.put(path, {"name": "x"}).status, 422, "a role is needed")
    equal(ctx.peal.get(path, expect=200).json["name"], made["name"])
    ctx.peal.delete(path, expect=204)
    for method, body in (("GET", None), ("PUT", {"role": "read"}), ("PATCH", {"name": "x"}), ("DELETE", None)):
        equal(ctx.peal.request(method, path, body).status, 404, "it is revoked")


def test_a_key_that_others_depend_on_does_not_change(ctx):
    system = next(row for row in ctx.peal.get("/v1/keys", expect=200).json["items"] if row["system"])
    for body in ({"role": "read"}, {"name": "x"}, {"expiresAt": moment(days=1)}):
        answer = ctx.peal.patch(f"/v1/keys/{system['id']}", body)
        equal((answer.status, answer.json["detail"]), (409, "a key with the system right does not change"))
    path, made, admin = make_key(ctx.peal, role="admin")
    answer = admin.patch(path, {"role": "read"})
    equal((answer.status, answer.json["detail"]), (409, "a key does not change its own role"))
    equal(admin.patch(path, {"name": "mine"}, expect=200).json["role"], "admin")
    equal(admin.delete(f"/v1/keys/{system['id']}").status, 403, "it is the operator's")
    equal(ctx.peal.patch(path, {"role": "read"}, expect=200).json["role"], "read")


def test_another_tenants_key_is_as_good_as_none(ctx):
    owner, other = make_tenant(ctx.peal, "acme"), make_tenant(ctx.peal, "other")
    path, made, _ = make_key(owner)
    for method, body in (("GET", None), ("PUT", {"role": "read"}), ("PATCH", {"name": "x"}), ("DELETE", None)):
        equal(other.request(method, path, body).status, 404, method)
    equal(ctx.peal.patch(path, {"name": "by the system"}, expect=200).json["tenant"], "acme")
    equal(owner.get(path, expect=200).json["name"], "by the system")


def test_a_tenant_is_renamed(ctx):
    owner = make_tenant(ctx.peal, "acme")
    equal(ctx.peal.put("/v1/tenants/acme", {"name": "Acme Ltd"}, expect=200).json["name"], "Acme Ltd")
    equal(ctx.peal.patch("/v1/tenants/acme", {}, expect=200).json["name"], "Acme Ltd")
    equal(ctx.peal.patch("/v1/tenants/acme", {"name": "Acme", "id": "acme"}, expect=200).json["id"], "acme")
    equal(ctx.peal.get("/v1/tenants/acme", expect=200).json["name"], "Acme")
    equal(ctx.peal.put("/v1/tenants/acme", {}, expect=200).json["name"], "acme", "its id unless said")
    for body, where in (({"id": "other"}, "/id"), ({"name": ""}, "/name"), ({"nmae": "x"}, "/nmae")):
        refused = ctx.peal.put("/v1/tenants/acme", body, expect=422).json
        equal([problem["path"] for problem in refused["errors"]], [where], body)
    for method in ("PUT", "PATCH", "DELETE"):
        equal(ctx.peal.request(method, "/v1/tenants/none", {"name": "x"}).status, 404, method)
        equal(owner.request(method, "/v1/tenants/acme", {"name": "x"}).status, 403, method)


def test_a_tenant_goes_when_it_has_nothing_left(ctx):
    def left():
        return ctx.peal.delete("/v1/tenants/acme", expect=409).json["detail"]

    owner = make_tenant(ctx.peal, "acme")
    make_trigger(owner, schedule={"initialDelay": "1h"})
    make_channel(owner, "memory:one")
    make_channel(owner, "memory:two")
    id = ingest_one(owner)
    equal(left(), "tenant acme still has 2 channels, 1 trigger, 1 key, 1 live delivery")
    owner.post(f"/v1/deliveries/{id}/cancel", {"reason": "it goes"}, expect=200)
    for path in ("/v1/triggers/visit", "/v1/channels/memory:one", "/v1/channels/memory:two"):
        owner.delete(path, expect=204)
    equal(left(), "tenant acme still has 1 key")
    key = ctx.peal.get("/v1/keys?tenant=acme", expect=200).json["items"][0]
    ctx.peal.delete(f"/v1/keys/{key['id']}", expect=204)
    ctx.peal.delete("/v1/tenants/acme", expect=204)
    equal(owner.get("/v1/events").status, 401)
    for method, body in (("GET", None), ("PUT", {"name": "x"}), ("DELETE", None)):
        equal(ctx.peal.request(method, "/v1/tenants/acme", body).status, 404)
    assert "acme" not in [row["id"] for row in ctx.peal.get("/v1/tenants", expect=200).json["items"]]
    equal(ctx.peal.get("/v1/keys?tenant=acme").status, 404)
    answer = ctx.peal.post("/v1/keys", {"tenant": "acme", "role": "read"}, expect=422)
    equal(answer.json["errors"][0]["code"], "unknown-tenant")
    again = ctx.peal.post("/v1/tenants", {"id": "acme"}, expect=409).json
    equal(again["detail"], "there was a tenant acme; an id is not used again")
    equal(ctx.peal.delete("/v1/tenants/default", expect=409).json["detail"], "the tenant default always exists")
    ctx.peal.restart()
    equal(ctx.peal.get("/v1/tenants/acme").status, 404)


def test_a_key_is_shown_once(ctx):
    made = ctx.peal.post("/v1/keys", {"role": "read", "name": "once"}, expect=201).json
    assert re.fullmatch(r"pk_[0-9A-Za-z]{43}", made["key"]), made
    listed = ctx.peal.get("/v1/keys", expect=200)
    assert made["key"] not in listed.text and made["id"] in listed.text
    if ctx.store == "sqlite":
        stored = b"".join(path.read_bytes() for path in ctx.folder.glob("*.db*"))
        assert made["key"].encode() not in stored


def test_nobody_gives_rights_that_they_have_not(ctx):
    admin = make_tenant(ctx.peal, "acme")
    make_tenant(ctx.peal, "other")
    for tenant in ("default", "other", "no-such"):
        answer = admin.post("/v1/keys", {"tenant": tenant, "role": "admin", "name": "x"})
        equal((answer.status, answer.json["errors"][0]["code"]), (422, "unknown-tenant"), tenant)
        equal(admin.get(f"/v1/keys?tenant={tenant}").status, 404, tenant)
    for body in ({"role": "system"}, {"role": "root"}, {"role": "none"}, {},
                 {"role": "admin", "system": True}):
        equal(admin.post("/v1/keys", {"name": "x", **body}).status, 422, str(body))
    made = admin.post("/v1/keys", {"tenant": "acme", "role": "admin", "name": "x"}, expect=201)
    like(made.json, {"tenant": "acme", "role": "admin", "system": False})


def test_the_last_system_key_stays(ctx):
    key = next(row for row in ctx.peal.get("/v1/keys", expect=200).json["items"] if row["system"])
    equal(ctx.peal.delete(f"/v1/keys/{key['id']}").status, 409)
    equal(ctx.peal.get("/v1/tenants").status, 200)


def test_metrics_name_tenants_only_to_those_who_may_know_them(ctx):
    owner, other = make_tenant(ctx.peal, "acme"), make_tenant(ctx.peal, "other")
    for who in (owner, other):
        make_trigger(who, "own")
        ingest_one(who)
    settle(ctx.peal)

    def named(who):
        text = who.get("/metrics", expect=200).text
        assert 'state="delivered"} ' in text, text
        return {word for word in ("acme", "other", "memory:default") if f'="{word}"' in text}

    equal(named(ctx.peal.with_key(None)), set())
    equal(named(owner), {"acme", "memory:default"})
    equal(named(ctx.peal), {"acme", "other", "memory:default"})


def test_a_changed_admin_key_ends_the_one_before(ctx):
    earlier = ctx.peal.with_key(ctx.peal.key)
    equal(earlier.get("/v1/tenants").status, 200)
    ctx.peal.stop()
    ctx.peal.key = ctx.peal.env["PEAL_ADMIN_KEY"] = "pk_" + "another" * 6
    ctx.peal.start()
    equal(ctx.peal.get("/v1/tenants").status, 200)
    equal(ctx.peal.with_key(earlier.key).get("/v1/tenants").status, 401)
    assert "event=key.replaced" in ctx.peal.log(), ctx.peal.log()


def test_one_request_after_another_on_a_connection_has_its_own_rights(ctx):
    """A kept-alive connection must not carry over who asked last."""
    reader = make_user(ctx.peal, "read")
    connection = http.client.HTTPConnection(ctx.peal.host, timeout=30)
    ask = functools.partial(ask_on, connection)
    equal(ask("POST", "/v1/tick", ctx.peal.key), 200)
    equal(ask("POST", "/v1/tick", reader.key), 403)
    equal(ask("POST", "/v1/tick", None), 401)
    equal(ask("GET", "/v1/events", reader.key), 200)
    equal(ask("GET", "/v1/events", None), 401)
    connection.close()


def ask_on(connection, method, path, key):
    connection.request(method, path, headers={"Authorization": f"Bearer {key}"} if key else {})
    answer = connection.getresponse()
    answer.read()
    return answer.status


def test_what_others_may_not_change_stays(ctx):
    reader = make_user(ctx.peal, "read")
    make_trigger(ctx.peal)
    id = ingest_one(ctx.peal)
    equal(reader.put("/v1/triggers/visit", trigger_body(enabled=False)).status, 403)
    equal(reader.delete("/v1/triggers/visit").status, 403)
    equal(reader.post(f"/v1/deliveries/{id}/cancel").status, 403)
    equal(reader.post("/v1/ingest", {"eventKind": "x", "items": [visit()]}).status, 403)
    equal(ctx.peal.get("/v1/triggers/visit", expect=200).json["enabled"], True)
    equal(len(deliveries(ctx.peal)), 1)


def test_readers_see_addresses_masked(ctx):
    make_trigger(ctx.peal)
    make_trigger(ctx.peal, "abroad",
                 filter={"path": "recipient.address", "op": "startsWith", "value": "+1"})
    taken = ingest(ctx.peal, visit())["items"][0]
    event, made = taken["eventId"], taken["deliveries"][0]["deliveryId"]
    mail = {**visit(), "recipient": {"address": "ada@example.org", "customerRef": "c-1"}}
    mailed = ingest(ctx.peal, mail)["items"][0]["eventId"]
    settle(ctx.peal)
    reader = make_user(ctx.peal, "read")
    for path in ("/v1/deliveries", f"/v1/deliveries/{made}", "/v1/events", f"/v1/events/{event}",
                 f"/v1/events/{event}/timeline", f"/v1/events/{event}/explain", "/v1/captured"):
        whole, masked = ctx.peal.get(path, expect=200).text, reader.get(path, expect=200).text
        assert ADDRESS in whole, path
        assert ADDRESS not in masked and "ada@" not in masked, (path, masked)
    equal(reader.get(f"/v1/deliveries/{made}").json["address"], "***01")
    equal(reader.get(f"/v1/events/{mailed}").json["recipient"],
          {"address": "***@example.org", "customerRef": "c-1"})
    equal(reader.get("/v1/deliveries?q=770").status, 403)
    equal(make_user(ctx.peal, "operator").get("/v1/deliveries?q=ada@").json["items"][0]["address"],
          "ada@example.org")


if __name__ == "__main__":
    main()
