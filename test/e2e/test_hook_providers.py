"""W2, W5: each provider's webhooks through the real program, signed here by the provider's published rules."""
import base64
import datetime
import hashlib
import hmac
import json

from harness import equal, like, main
from steps import advance, clock

SECRET = "3b9e1d2c4f5a60718293a4b5c6d7e8f9"
ISSUE = {"action": "opened", "repository": {"full_name": "octo/hello"},
         "issue": {"id": 1, "number": 7, "title": "It breaks", "html_url": "https://github.com/octo/hello/issues/7"}}


def mac(text, key=SECRET, method="sha256"):
    return hmac.new(key if isinstance(key, bytes) else key.encode(), text, method)


def slack(body, now):
    text = f"v0:{now}:".encode() + body
    return {"X-Slack-Request-Timestamp": str(now), "X-Slack-Signature": "v0=" + mac(text).hexdigest()}


def stripe(body, now):
    return {"Stripe-Signature": f"t={now},v1=" + mac(f"{now}.".encode() + body).hexdigest()}


def standard(key):
    def sign(body, now):
        text = f"msg_1.{now}.".encode() + body
        return {"webhook-id": "msg_1", "webhook-timestamp": str(now),
                "webhook-signature": "v1," + base64.b64encode(mac(text, key).digest()).decode()}
    return sign


def by_body(header, prefix=""):
    return lambda body, now: {header: prefix + mac(body).hexdigest()}


# provider, what signs, headers beside, body, and what becomes of it: the kind and key of the event, or a reason.
WEBHOOKS = [
    ("generic", by_body("X-Signature"), {}, {"id": 1, "type": "order.paid"}, "generic.event", None),
    ("slack", slack, {}, {"type": "event_callback", "event_id": "Ev1", "event": {"type": "message", "text": "hi"}},
     "slack.event", "slack:Ev1"),
    ("stripe", stripe, {}, {"id": "evt_1", "type": "charge.succeeded", "created": 1680064028}, "stripe.event",
     "stripe:evt_1"),
    ("jira", by_body("X-Hub-Signature", "sha256="), {}, {"webhookEvent": "jira:issue_created", "timestamp": 1525698237764,
     "issue": {"id": "10002", "key": "WEB-7"}}, "jira.event", "jira:10002:jira:issue_created:1525698237764"),
    # The key is what the secret stands for in base64.
    ("standard-webhooks", standard(base64.b64decode(SECRET)), {}, {"type": "contact.created", "data": {}},
     "standard-webhooks.event", "standard-webhooks:msg_1"),
    ("composio", standard(SECRET), {}, {"type": "composio.trigger.message", "data": {"message": "fix"},
     "metadata": {"trigger_slug": "GITHUB_COMMIT_EVENT"}}, "composio.event", "composio:msg_1"),
    ("nango", by_body("X-Nango-Hmac-Sha256"), {}, {"from": "nango", "type": "sync", "connectionId": "c-1"}, None, "sync"),
    ("nango", by_body("X-Nango-Hmac-Sha256"), {"X-GitHub-Event": "issues"}, ISSUE, None,
     "forwarded without a connection"),
]


def seconds(peal):
    return int(datetime.datetime.fromisoformat(clock(peal).replace("Z", "+00:00")).timestamp())


def make_source(peal, id, provider, secret=SECRET, **more):
    known = {"secret": secret} if secret else {}
    return peal.post("/v1/sources", {"id": id, "provider": provider, **known, **more}, expect=201).json["url"]


def post(peal, url, body, headers, expect):
    return peal.with_key(None).request("POST", url, raw=body, expect=expect,
                                       headers={"Content-Type": "application/json", **headers})


def take(peal, url, body, headers):
    """Posts what is signed, has it drained, and answers the id of its row."""
    id = post(peal, url, body, headers, 200).json["id"]
    advance(peal, "1s")
    return id


def rows(ctx, source=None):
    where = f" WHERE source = '{source}'" if source else ""
    return [tuple(row) for row in ctx.sql("SELECT error, headers FROM inbox" + where)]


def test_what_a_provider_signs_becomes_its_event(ctx):
    peal = ctx.peal
    for number, (provider, sign, more, content, kind, told) in enumerate(WEBHOOKS):
        body = json.dumps(content).encode()
        url = make_source(peal, f"s{number}", provider)
        id = take(peal, url, body, {**more, **sign(body, seconds(peal))})
        if not kind:
            peal.get("/v1/events/" + id, expect=404)
            equal(rows(ctx, f"s{number}")[0][0], told)
            continue
        event = peal.get("/v1/events/" + id, expect=200).json
        like(event, {"kind": kind, "source": f"s{number}"})
        if told:
            equal(event["payload"]["dedupKey"], told)


def test_what_it_did_not_sign_is_refused(ctx):
    peal = ctx.peal
    for number, (provider, sign, more, content, kind, told) in enumerate(WEBHOOKS):
        body = json.dumps(content).encode()
        url = make_source(peal, f"s{number}", provider)
        headers = sign(body, seconds(peal))
        post(peal, url, body + b" ", headers, 401)
        post(peal, url, body, {}, 401)
        post(peal, url, body, {name: value[:-4] for name, value in headers.items()}, 401)
        if sign(body, 1) != sign(body, 2):
            for shift in (-301, 301):
                post(peal, url, body, sign(body, seconds(peal) + shift), 401)
    equal(rows(ctx), [])


def test_what_nango_forwards_is_the_services_own(ctx):
    peal = ctx.peal
    peal.post("/v1/integrations", {"id": "acme-gh", "provider": "github", "connectionId": "c-1",
                                   "token": {"source": "static", "value": "x"}}, expect=201)
    url = make_source(peal, "n", "nango")
    body = json.dumps({"from": "github", "type": "forward", "connectionId": "c-1", "payload": ISSUE}).encode()
    headers = {"X-GitHub-Event": "issues", "X-Nango-Hmac-Sha256": mac(body).hexdigest()}
    event = peal.get("/v1/events/" + take(peal, url, body, headers), expect=200).json
    like(event, {"kind": "github.issues", "source": "n"})
    equal(event["payload"]["dedupKey"], "github:1:opened")


def test_handshakes_are_answered_and_make_no_row(ctx):
    peal = ctx.peal
    stranger = peal.with_key(None)
    url = make_source(peal, "s", "slack")
    body = b'{"type":"url_verification","challenge":"3eZbrw1a"}'
    post(peal, url, body, {}, 401)
    # The document tells of webhooks, which are answered in JSON, and not of this.
    answer = stranger._exchange("POST", url, body, slack(body, seconds(peal)), 60)
    equal((answer.status, answer.text), (200, "3eZbrw1a"))
    url = make_source(peal, "g", "generic")
    ask = url + "?hub.mode=subscribe&hub.challenge=115820&hub.verify_token="
    equal(stranger.request("GET", ask + SECRET, expect=200).text, "115820")
    stranger.request("GET", ask + "wrong", expect=405)
    answer = stranger.request("OPTIONS", url, headers={"WebHook-Request-Origin": "eventgrid.azure.net"}, expect=200)
    equal(answer.headers["WebHook-Allowed-Origin"], "eventgrid.azure.net")
    equal(rows(ctx), [])


def test_a_generic_source_is_signed_as_its_config_says(ctx):
    peal = ctx.peal
    ways = {
        "sha1": ({"kind": "hmac", "header": "X-Hub-Signature", "algorithm": "sha1", "prefix": "sha1="},
                 {"X-Hub-Signature": "sha1=" + mac(b"{}", method="sha1").hexdigest()}),
        "base64": ({"kind": "hmac", "encoding": "base64", "algorithm": "sha512"},
                   {"X-Signature": base64.b64encode(mac(b"{}", method="sha512").digest()).decode()}),
        "token": ({"kind": "token", "header": "X-Gitlab-Token"}, {"X-Gitlab-Token": SECRET}),
        "bearer": ({"kind": "token"}, {"Authorization": "Bearer " + SECRET}),
        "query": ({"kind": "token", "query": "t"}, {}),
        "basic": ({"kind": "basic", "user": "u"},
                  {"Authorization": "Basic " + base64.b64encode(b"u:" + SECRET.encode()).decode()}),
        "none": ({"kind": "none"}, {}),
    }
    for id, (verify, headers) in ways.items():
        url = make_source(peal, id, "generic", SECRET if id != "none" else None, config={"verify": verify})
        url += "?t=" + SECRET if id == "query" else ""
        event = peal.get("/v1/events/" + take(peal, url, b"{}", headers), expect=200).json
        equal(event["kind"], "generic.event")
        assert SECRET not in rows(ctx, id)[0][1], rows(ctx, id)
        if id == "query":
            post(peal, url[:-4], b"{}", {}, 401)
        elif id != "none":
            post(peal, url, b"{}", {}, 401)
            post(peal, url, b"{}", {name: value[:-4] for name, value in headers.items()}, 401)
    peal.post("/v1/sources", {"id": "bad", "provider": "generic", "config": {"verify": {"kind": "md5"}}}, expect=422)


if __name__ == "__main__":
    main()
