"""poll_steps.py - what tests of polls do: providers that are polled, triggers that ask, and what came of it."""
import datetime

from gmail_peer import Gmail
from harness import equal
from linear_peer import Linear
from steps import deliveries

KEY = "lin_api_secret"
START_MS = 1778735554000


def linear(ctx, peal=None, key=KEY, id="acme", token=None):
    """Linear, and an integration with it."""
    peer = Linear(key)
    ctx.closers.append(peer.close)
    token = token or {"source": "static", "value": key}
    (peal or ctx.peal).post("/v1/integrations", {"id": id, "provider": "linear", "baseUrl": peer.url, "token": token}, expect=201)
    return peer


def gmail(ctx, token="ya29.secret", **members):
    peer = Gmail(token)
    ctx.closers.append(peer.close)
    ctx.peal.post("/v1/integrations", {"id": "box", "provider": "gmail", "baseUrl": peer.url,
                                       "token": {"source": "static", "value": token}, **members}, expect=201)
    return peer


def trigger_body(id="bugs", provider="linear", type="issue", integration="acme", **members):
    return {"id": id, "provider": provider, "type": type, "integration": integration, "way": "polling",
            "channel": "memory:default", **members}


def trigger(peal, id="bugs", **members):
    return peal.post("/v1/triggers", trigger_body(id, **members), expect=201).json


def groups(peal):
    return peal.get("/v1/poll-groups", expect=200).json["items"]


def group(peal):
    found = groups(peal)
    equal(len(found), 1)
    return found[0]


def fired(peal, rule="bugs"):
    """The keys of what a trigger fired for, oldest first."""
    found = [one for one in deliveries(peal) if one["rule"]["id"] == rule]
    events = [peal.get(f"/v1/events/{one['eventId']}", expect=200).json for one in reversed(found)]
    return [one["payload"]["dedupKey"] for one in events]


def short(keys):
    """Keys without what is the same in all."""
    return [key.replace("00000000-0000-4000-8000-", "").replace("linear:", "").lstrip("0") for key in keys]


def all_events(peal, kind="linear.issue"):
    found, cursor = [], ""
    while cursor is not None:
        page = peal.get(f"/v1/events?limit=500&kind={kind}{cursor}", expect=200).json
        found += page["items"]
        cursor = f"&cursor={page['next']}" if page["next"] else None
    return found


def ms(**span):
    """The time so long after the start, as Gmail writes times."""
    return START_MS + int(datetime.timedelta(**span).total_seconds() * 1000)


def mail_trigger(peal, id="mails", **members):
    return trigger(peal, id, provider="gmail", type="message", integration="box", **members)


def mails(peal, rule="mails"):
    return [key.removeprefix("gmail:") for key in fired(peal, rule)]


def status(peal, id="acme"):
    return peal.get(f"/v1/integrations/{id}", expect=200).json


def oauth(url):
    return {"source": "oauth", "accessToken": "old", "refreshToken": "r1", "clientId": "c", "clientSecret": "s", "tokenUrl": url}
