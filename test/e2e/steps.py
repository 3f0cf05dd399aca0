"""steps.py - what the scenarios do and look at, in the words of the contract."""
import datetime
import itertools

from server import START

KIND = "service-visit-closed"
ADDRESS = "+964 770 000 0001"
numbers = itertools.count(40956)


def moment(**span):
    """The time so long after the start of the manual clock, as the program writes times."""
    start = datetime.datetime.fromisoformat(START.replace("Z", "+00:00"))
    at = start + datetime.timedelta(**span)
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


def trigger_body(id="visit", **members):
    return {"id": id, "eventKind": KIND, "channel": "memory:default", **members}


def make_trigger(peal, id="visit", **members):
    return peal.post("/v1/triggers", trigger_body(id, **members), expect=201).json


def change_trigger(peal, id="visit", **members):
    return peal.put(f"/v1/triggers/{id}", trigger_body(id, **members), expect=200).json


def make_channel(peal, key, **config):
    body = {"key": key, "type": "memory", "config": config}
    return peal.post("/v1/channels", body, expect=201).json


def change_channel(peal, key, **config):
    body = {"key": key, "type": "memory", "config": config}
    return peal.put(f"/v1/channels/{key}", body, expect=200).json


def make_tenant(peal, id):
    """Makes a tenant and answers somebody who is its administrator."""
    peal.post("/v1/tenants", {"id": id, "name": id.title()}, expect=201)
    return make_user(peal, "admin", tenant=id)


def make_user(peal, role, tenant="default"):
    body = {"tenant": tenant, "role": role, "name": f"a {role}", "expiresAt": None}
    if role == "site":
        body["site"] = "plant-7"
    return peal.with_key(peal.post("/v1/keys", body, expect=201).json["key"])


def visit(**payload):
    """One item of a batch; each is another visit unless wip is given."""
    return {"payload": {"wip": str(next(numbers)), "dealerId": "1", "jobType": "GR", **payload},
            "recipient": {"address": ADDRESS, "locale": "ar", "customerRef": "cust-123"}}


def ingest(peal, *items, kind=KIND):
    return peal.post("/v1/ingest", {"eventKind": kind, "items": list(items)}, expect=200).json


def ingest_one(peal, item=None):
    """Posts one visit that one trigger matches and answers the id of its delivery."""
    answer = ingest(peal, item or visit())
    assert answer["created"] == 1, f"one delivery expected: {answer}"
    return answer["items"][0]["deliveries"][0]["deliveryId"]


def clock(peal):
    return peal.get("/v1/clock", expect=200).json["now"]


def advance(peal, span):
    """Moves the clock; all that falls due on the way is done when it returns."""
    return peal.post("/v1/clock", {"advance": span}, expect=200).json


def set_clock(peal, to):
    return peal.post("/v1/clock", {"set": to}, expect=200).json


def tick(peal):
    return peal.post("/v1/tick", expect=200).json


def settle(peal):
    """Does what is due now and waits for what is under way, without moving the clock."""
    return tick(peal)


def delivery(peal, id):
    return peal.get(f"/v1/deliveries/{id}", expect=200).json


def deliveries(peal, query=""):
    """All deliveries that the query finds, page by page."""
    found, cursor = [], None
    while True:
        more = f"&cursor={cursor}" if cursor else ""
        page = peal.get(f"/v1/deliveries?limit=500{query}{more}", expect=200).json
        found += page["items"]
        cursor = page["next"]
        if not cursor:
            return found


def attempts(peal, id):
    return peal.get(f"/v1/deliveries/{id}/attempts", expect=200).json["items"]


def attempt_times(peal, id):
    return [attempt["startedAt"] for attempt in attempts(peal, id)]


def captured(peal, id):
    return peal.get(f"/v1/captured?delivery={id}", expect=200).json["items"]


def sends(peal, id):
    """When each send went out, with its number."""
    return [(taken["send"], taken["at"]) for taken in captured(peal, id)]


def act(peal, id, action, body=None, expect=200):
    return peal.post(f"/v1/deliveries/{id}/{action}", body, expect=expect).json


def problems(response):
    """The (path, code) pairs of a problem+json answer."""
    return sorted((problem["path"], problem["code"]) for problem in response.json["errors"])
