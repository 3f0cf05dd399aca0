"""Chats, SMS, WhatsApp and SendGrid (M7, M8): each against a peer that is as strict as its
documentation, with the errors that it documents."""
import json
import re

from bus_peer import ServiceBus
from harness import equal, like, main
from providers import (Dialog, Infobip, Interakt, Msg91, Sendgrid, Slack, Teams, Twilio, Whatsapp,
                       told)
from receiver import Answer
from server import ROOT
from steps import advance, attempts, delivery, settle

PHONE = "+964 (770) 000-0001"
PLAIN = "+9647700000001"
TEXT = {"subject": "Disk <sda> full", "body": "90 % of *sda* & more\nsee <!channel>"}
MISSING = object()
EVERY_30S = {"policy": "fixed", "interval": "30s", "max": 3}


def open_peer(ctx, kind):
    peer = kind()
    ctx.closers.append(peer.close)
    return peer


class Way:
    """A peer, and channels to it: each case has one of its own, for what befalls it is its own."""

    def __init__(self, ctx, kind, type, **config):
        self.peal, self.type, self.count, self.address = ctx.peal, type, 0, PHONE
        self.peer = open_peer(ctx, kind)
        where = {"url": self.peer.url + kind.path} if type in ("slack", "teams") else \
            {"baseUrl": self.peer.url}
        self.config = {**where, **config}

    def open(self, **config):
        """The key of a new channel."""
        self.count += 1
        key = f"{self.type}:{self.count}"
        body = {"key": key, "type": self.type, "config": {**self.config, **config}}
        self.peal.post("/v1/channels", body, expect=201)
        self.peal.post("/v1/triggers", {"id": f"{self.type}-{self.count}", "channel": key,
                                        "eventKind": key, "retry": EVERY_30S}, expect=201)
        return key

    def send(self, payload=None, address=MISSING, locale="ar-IQ", key=None, **config):
        """Sends one message by a new channel and answers its delivery's id."""
        key = key or self.open(**config)
        recipient = {"address": self.address if address is MISSING else address, "locale": locale}
        item = {"payload": payload or TEXT, "recipient": recipient}
        made = self.peal.post("/v1/ingest", {"eventKind": key, "items": [item]}, expect=200).json
        settle(self.peal)
        return made["items"][0]["deliveries"][0]["deliveryId"]

    def last(self):
        return self.peer.wait_for(1)[-1]

    def sent(self, *words, **more):
        """What the provider took, and the attempt that tells of it."""
        id = self.send(*words, **more)
        attempt = attempts(self.peal, id)[-1]
        equal(self.peer.complaints, [])
        like(attempt, {"outcome": "delivered", "reason": "accepted"})
        equal(attempt["providerId"], self.peer.ids[-1] if self.peer.ids else None)
        return self.last(), id

    def answers(self, *cases):
        """Each answer means what the case says, and a state of the delivery follows."""
        for answer, outcome, reason in cases:
            self.peer.upcoming.append(answer)
            id = self.send()
            about = f"{self.type} {answer.status} {answer.body!r}"
            attempt = attempts(self.peal, id)[-1]
            equal((attempt["outcome"], attempt["reason"]), (outcome, reason), about)
            equal(attempt["code"], answer.status, about)
            equal(attempt["detail"], answer.body.decode() or None, about)
            state = {"transient": "retrying", "permanent": "parked"}.get(outcome, "delivered")
            like(delivery(self.peal, id), {"state": state})
        equal(self.peer.complaints, [])

    def refuses_login(self, **config):
        id = self.send(**config)
        like(attempts(self.peal, id)[-1],
             {"outcome": "transient", "reason": "login-refused", "code": 401})
        like(delivery(self.peal, id), {"state": "retrying"})
        assert self.peer.complaints.pop()

    def needs_a_number(self):
        """A bad or missing address fails its message alone, and nothing is asked."""
        before = self.peer.count()
        for address in ("0770 000 0001", "+96477x0000001", "ada@example.org", "+1", "+0123456789",
                        "+1234567890123456", None):
            id = self.send(address=address)
            like(delivery(self.peal, id), {"state": "parked", "reason": "no-recipient"})
        equal(self.peer.count(), before)


def test_slack(ctx):
    way = Way(ctx, Slack, "slack")
    request, _ = way.sent()
    equal(request.json, {"text": "*Disk &lt;sda&gt; full*\n90 % of *sda* &amp; more\n"
                                 "see &lt;!channel&gt;"})
    way.answers(
        (told(429, "rate_limited", Retry_After="90"), "transient", "unwell"),
        (told(500, "rollup_error"), "transient", "unwell"),
        (told(400, "invalid_payload"), "permanent", "refused"),
        (told(403, "action_prohibited"), "permanent", "refused"),
        (told(404, "no_service"), "permanent", "refused"),
        (told(410, "channel_is_archived"), "permanent", "gone"),
        (told(200, "<html>a proxy's own page</html>"), "transient", "unclassified"))
    like(way.peal.get("/v1/channels/slack:7", expect=200).json, {"enabled": False})


def test_teams(ctx):
    way = Way(ctx, Teams, "teams")
    request, _ = way.sent({"subject": "Down: db_1", "body": "# not a title\n*nor* [this](x)\n- a"})
    blocks = request.json["attachments"][0]["content"]["body"]
    equal([block["text"] for block in blocks],
          ["Down: db\\_1", "\\# not a title\n\n\\*nor\\* \\[this\\](x)\n\n\\- a"])
    failed = "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error"
    way.answers(
        (told(200, "1"), "delivered", "accepted"),
        (told(200, f"{failed} 429 with ContextId MS-CV=x"), "transient", "unwell"),
        (told(200, f"{failed} 413 with ContextId MS-CV=x"), "permanent", "refused"),
        (told(200, f"{failed} 503 with ContextId MS-CV=x"), "transient", "unwell"),
        (told(200, "Webhook message delivery failed with error: Bad payload"), "transient", "unclassified"),
        (told(429, "", Retry_After="5"), "transient", "unwell"),
        (told(502, ""), "transient", "unwell"),
        (told(400, {"error": {"code": "WorkflowTriggerIsNotEnabled"}}), "permanent", "refused"),
        (told(401, {"error": {"code": "DirectApiAuthorizationRequired"}}), "transient", "login-refused"))
    id = way.send({"body": "x" * 28 * 1024})
    like(delivery(way.peal, id), {"state": "parked", "reason": "bad-request"})
    detail = attempts(way.peal, id)[-1]["detail"]
    assert detail.endswith("teams takes 28672"), detail


TWILIO = {"accountSid": "AC1", "authToken": Twilio.token, "from": "+15005550006"}


def test_twilio(ctx):
    way = Way(ctx, Twilio, "twilio", **TWILIO)
    request, _ = way.sent()
    equal(way.peer.fields(request), {"To": PLAIN, "From": "+15005550006", "Body": TEXT["body"]})
    request, _ = way.sent({"typeData": {"template": "HX1", "params": ["Ada", "12 & 3"]}},
                          **{"from": None, "messagingServiceSid": "MG1"})
    fields = way.peer.fields(request)
    like(fields, {"MessagingServiceSid": "MG1", "ContentSid": "HX1"})
    equal(json.loads(fields["ContentVariables"]), {"1": "Ada", "2": "12 & 3"})
    way.answers(
        (told(429, {"code": 20429, "message": "Too Many Requests", "status": 429}), "transient", "unwell"),
        (told(503, {"code": 20503, "message": "Service unavailable"}), "transient", "unwell"),
        (told(400, {"code": 21211, "message": "Invalid 'To' Phone Number"}), "permanent", "refused"),
        (told(400, {"code": 21610, "message": "Attempt to send to unsubscribed recipient"}),
         "permanent", "refused"),
        (told(403, {"code": 20003, "message": "Permission Denied"}), "transient", "login-refused"),
        (told(200, "<html></html>"), "transient", "unclassified"))
    way.refuses_login(authToken="another")
    way.needs_a_number()
    way.sent({"body": "ä" * 1600})
    id = way.send({"body": "ä" * 1601})
    like(attempts(way.peal, id)[-1], {"outcome": "permanent", "reason": "bad-request",
                                      "detail": "the text has 1601 characters; twilio takes 1600"})


def test_msg91(ctx):
    way = Way(ctx, Msg91, "msg91", authKey=Msg91.key, templateId="flow-1", senderId="PEALIN")
    request, _ = way.sent({"typeData": {"params": ["Ada", 12], "template": "flow-2"}})
    equal(request.json, {"template_id": "flow-2", "sender": "PEALIN", "short_url": "0",
                         "recipients": [{"mobiles": PLAIN[1:], "VAR1": "Ada", "VAR2": "12"}]})
    request, _ = way.sent({"body": "x", "typeData": {"params": {"guest": "Ada"}}})
    like(request.json, {"template_id": "flow-1",
                        "recipients": [{"mobiles": PLAIN[1:], "guest": "Ada"}]})
    request, _ = way.sent({"body": "hello"})
    like(request.json, {"recipients": [{"VAR1": "hello"}]})
    way.answers(
        (told(429, {"type": "error", "message": "Too many requests"}), "transient", "unwell"),
        (told(500, ""), "transient", "unwell"),
        (told(400, {"type": "error", "message": "template_id missing"}), "permanent", "refused"),
        (told(200, {"type": "error", "message": "Template not found"}), "transient", "unclassified"),
        (told(200, {"type": "error", "message": "Invalid authkey"}), "transient", "login-refused"))
    way.refuses_login(authKey="another")
    way.needs_a_number()
    id = way.send(templateId=None)
    like(attempts(way.peal, id)[-1], {"reason": "bad-request",
                                      "detail": "msg91 sends templates only, and there is none"})


def test_infobip(ctx):
    way = Way(ctx, Infobip, "infobip", apiKey=Infobip.key, **{"from": "Peal"})
    request, id = way.sent()
    equal(request.json, {"messages": [{"from": "Peal", "destinations": [{"to": PLAIN[1:]}],
                                       "text": TEXT["body"], "callbackData": f"{id}.1"}]})

    def status(number):
        return told(200, {"messages": [{"to": PLAIN[1:], "status": way.peer.status(number),
                                        "messageId": "x"}]})
    way.answers(
        (status(7), "delivered", "accepted"),
        (status(12), "transient", "unwell"),
        (status(21), "transient", "unwell"),
        (status(6), "permanent", "refused"),
        (status(51), "permanent", "refused"),
        (status(4711), "transient", "unclassified"),
        (told(200, {"messages": []}), "transient", "unclassified"),
        (told(429, "", Retry_After="5"), "transient", "unwell"),
        (told(500, {"requestError": {"serviceException": {"messageId": "GENERAL_ERROR"}}}),
         "transient", "unwell"),
        (way.peer.refuse(400, "Bad request"), "permanent", "refused"))
    way.refuses_login(apiKey="another")
    way.needs_a_number()


def test_interakt(ctx):
    way = Way(ctx, Interakt, "interakt", apiKey=Interakt.key)
    request, id = way.sent({"typeData": {"template": "booking_ok", "params": ["Ada", "12"]}})
    equal(request.json, {"fullPhoneNumber": PLAIN, "callbackData": f"{id}.1", "type": "Template",
                         "template": {"name": "booking_ok", "languageCode": "ar_IQ",
                                      "bodyValues": ["Ada", "12"]}})
    request, _ = way.sent(locale=None)
    like(request.json, {"type": "Text", "data": {"message": TEXT["body"]}})
    way.answers(
        (told(200, {"result": True, "data": {"id": "nested"}}), "delivered", "accepted"),
        (told(200, {"result": False, "message": "Template is paused"}), "transient", "unclassified"),
        (told(429, {"result": False, "message": "Rate limit exceeded for this resource"}),
         "transient", "unwell"),
        (told(502, ""), "transient", "unwell"),
        (told(400, {"result": False, "message": "Invalid template name"}), "permanent", "refused"))
    way.refuses_login(apiKey="another")
    way.needs_a_number()


def meta_cases(peer):
    return [(peer.error(status, code), outcome, reason) for status, code, outcome, reason in [
        (400, 130429, "transient", "unwell"),
        (400, 131056, "transient", "unwell"),
        (400, 80007, "transient", "unwell"),
        (500, 131016, "transient", "unwell"),
        (500, 1, "transient", "unwell"),
        (400, 131026, "permanent", "refused"),
        (500, 131047, "permanent", "refused"),
        (404, 132001, "permanent", "refused"),
        (400, 100, "permanent", "refused"),
        (400, 190, "transient", "login-refused"),
        (400, 0, "transient", "login-refused"),
        (400, 999999, "transient", "unclassified"),
        (429, 999999, "transient", "unwell"),
        (503, 999999, "transient", "unwell"),
    ]]


def check_whatsapp(way):
    request, id = way.sent({"typeData": {"template": "booking_ok", "params": ["Ada"]}})
    equal(request.json, {
        "messaging_product": "whatsapp", "recipient_type": "individual", "to": PLAIN,
        "biz_opaque_callback_data": f"{id}.1", "type": "template",
        "template": {"name": "booking_ok", "language": {"code": "ar_IQ"}, "components": [
            {"type": "body", "parameters": [{"type": "text", "text": "Ada"}]}]}})
    request, _ = way.sent()
    like(request.json, {"type": "text", "text": {"body": TEXT["body"]}})
    way.answers(*meta_cases(way.peer), (told(200, {"messages": []}), "transient", "unclassified"))
    way.needs_a_number()


def test_whatsapp(ctx):
    way = Way(ctx, Whatsapp, "whatsapp", phoneNumberId="1070", token=Whatsapp.token)
    check_whatsapp(way)
    way.refuses_login(token="another")
    way.peer.path = "/v30.0/1070/messages"
    way.sent(apiVersion="v30.0")


def test_360dialog(ctx):
    way = Way(ctx, Dialog, "360dialog", apiKey=Dialog.key)
    check_whatsapp(way)
    way.refuses_login(apiKey="another")
    way.answers(
        (way.peer.own_error(400, "You have exceeded the endpoint rate limit."), "transient", "unwell"),
        (way.peer.own_error(400, "Could not send message due to lack of payment."),
         "transient", "unclassified"),
        (way.peer.own_error(502, "WhatsApp for Business API not available"), "transient", "unwell"))


def test_sendgrid(ctx):
    way = Way(ctx, Sendgrid, "sendgrid", apiKey=Sendgrid.key, **{"from": "Peal <peal@example.org>"})
    mail = {"subject": "Grüße", "body": "plain", "typeData": {"html": "<b>rich</b>"}}
    request, id = way.sent(mail, address="ada@example.org")
    equal(request.json, {
        "personalizations": [{"to": [{"email": "ada@example.org"}]}],
        "from": {"email": "peal@example.org", "name": "Peal"}, "subject": "Grüße",
        "content": [{"type": "text/plain", "value": "plain"},
                    {"type": "text/html", "value": "<b>rich</b>"}],
        "custom_args": {"peal_id": f"{id}.1"}})
    request, _ = way.sent({"typeData": {"template": "d-1", "params": {"guest": "Ada"}}},
                          address="ada@example.org", **{"from": "bare@example.org"})
    like(request.json, {"template_id": "d-1", "from": {"email": "bare@example.org"},
                        "personalizations": [{"dynamic_template_data": {"guest": "Ada"}}]})
    for address in ("ada", "ada@", "@example.org", "a b@example.org", "a@b@c", "a@b, c@d", "<a@b>", None):
        id = way.send(mail, address=address)
        like(delivery(way.peal, id), {"state": "parked", "reason": "no-recipient"})
    send = way.send
    way.send = lambda **rest: send(mail, address="ada@example.org", **rest)
    way.answers(
        (told(429, way.peer.refuse(429, "too many requests").body.decode(), Retry_After="7"),
         "transient", "unwell"),
        (told(500, ""), "transient", "unwell"),
        (way.peer.refuse(400, "Does not contain a valid address."), "permanent", "refused"),
        (way.peer.refuse(413, "too large"), "permanent", "refused"),
        (way.peer.refuse(403, "The from address does not match a verified Sender Identity."),
         "transient", "unclassified"))
    way.refuses_login(apiKey="SG.another")


# What all of them share

EVERY = [  # and what of its settings is secret
    (Slack, "slack", {}, "a-secret-of-slack"),
    (Teams, "teams", {}, "a-secret-of-teams"),
    (Twilio, "twilio", TWILIO, Twilio.token),
    (Msg91, "msg91", {"authKey": Msg91.key, "templateId": "flow-1"}, Msg91.key),
    (Infobip, "infobip", {"apiKey": Infobip.key}, Infobip.key),
    (Interakt, "interakt", {"apiKey": Interakt.key}, Interakt.key),
    (Whatsapp, "whatsapp", {"phoneNumberId": "1070", "token": Whatsapp.token}, Whatsapp.token),
    (Dialog, "360dialog", {"apiKey": Dialog.key}, Dialog.key),
    (Sendgrid, "sendgrid", {"apiKey": Sendgrid.key, "from": "peal@example.org"}, Sendgrid.key),
    (ServiceBus, "servicebus", {"namespace": "acme", "queue": "answers", "keyName": "send", "key": ServiceBus.key},
     ServiceBus.key),
]


def each_way(ctx):
    """A way to every provider, whose messages go to somebody it can reach."""
    for kind, type, config, secret in EVERY:
        way = Way(ctx, kind, type, **config)
        way.secret = secret
        way.address = "ada@example.org" if type == "sendgrid" else PHONE
        yield way


def test_a_page_is_no_providers_answer(ctx):
    """Some proxy, or a login, stands between: nothing was taken, whatever its status says."""
    for way in each_way(ctx):
        way.answers((told(200, "\n <!DOCTYPE html><title>Log in</title>".strip()), "transient", "unclassified"),
                    (told(202, "<html>held for you</html>"), "transient", "unclassified"))


def test_what_a_provider_says_cannot_harm(ctx):
    """Neither NULs nor half characters, nor arrays in arrays, nor what is not the form it should be."""
    for way in each_way(ctx):
        for body in (b"\0\xff\x1b[2J{", b"[" * 100_000, b'{"a":' * 50_000, b'{"messages":[[[1]],{"id":{}}],"id":[],'
                     b'"sid":true,"type":7,"message":null,"error":{"code":"x"},"code":1e999}', b"null", b'"ok'):
            way.peer.upcoming.append(Answer(400, body=body))
            found = attempts(way.peal, way.send())[-1]
            assert found["outcome"] != "delivered" and found["reason"] != "bad-request", (way.type, body[:40], found)
            assert len(found["detail"].encode()) <= 4096 and "\0" not in found["detail"], found["detail"]
    like(delivery(ctx.peal, way.send()), {"state": "delivered"})


def test_every_secret_is_written_over(ctx):
    for way in each_way(ctx):
        way.peer.upcoming.append(told(400, f"you sent {way.secret}"))
        equal(attempts(way.peal, way.send())[-1]["detail"], "you sent ***", way.type)


def test_what_is_not_understood_is_tried_once_more(ctx):
    way = Way(ctx, Slack, "slack")
    way.peer.answer(200)
    way.peer.accept = lambda request: told(200, "what?")
    id = way.send()
    advance(way.peal, "5m")
    like(delivery(way.peal, id), {"state": "parked", "reason": "unclassified", "attemptCount": 2,
                                  "lastError": "what?"})


def test_retry_after_is_kept_to(ctx):
    way = Way(ctx, Twilio, "twilio", **TWILIO)
    way.peer.upcoming.append(told(429, {"code": 20429}, Retry_After="120"))
    id = way.send()
    advance(way.peal, "119s")
    equal(way.peer.count(), 1)
    advance(way.peal, "1s")
    equal(way.peer.count(), 2)
    like(delivery(way.peal, id), {"state": "delivered", "attemptCount": 2})


def test_what_a_far_side_repeats_of_our_secrets_is_not_kept(ctx):
    """Not the token, not what is made of it, not the parts of a URL that let people post."""
    for kind, type, config, secrets in [
            (Twilio, "twilio", TWILIO, [Twilio.token, "QUMxOmEtc2VjcmV0LW9mLXR3aWxpbw=="]),
            (Slack, "slack", {}, ["a-secret-of-slack"]),
            (Teams, "teams", {}, ["a-secret-of-teams"]),
            (Interakt, "interakt", {"apiKey": Interakt.key}, [Interakt.key])]:
        way = Way(ctx, kind, type, **config)
        way.peer.upcoming.append(told(400, f"you sent {', '.join(secrets)}!"))
        id = way.send()
        stars = ", ".join(["***"] * len(secrets))
        like(attempts(way.peal, id)[-1], {"reason": "refused", "detail": f"you sent {stars}!"})
        equal(delivery(way.peal, id)["lastError"], f"you sent {stars}!")
        for cut in (8, 12):  # where an answer is cut off in the middle of one
            way.peer.upcoming.append(told(400, "." * (4096 - cut) + secrets[0]))
            detail = attempts(way.peal, way.send())[-1]["detail"]
            equal(detail.lstrip("."), "***")
        for shown in way.peal.get("/v1/channels", expect=200).json["items"]:
            assert not any(secret in json.dumps(shown) for secret in secrets), shown
    assert "a-secret-of" not in ctx.peal.log(1000)


def definitions_of(text):
    """The channels in a document: those of its blocks of JSON, and those that its commands post."""
    decoder = json.JSONDecoder()
    for block in re.findall(r"```json\n(.*?)```", text, re.S) + \
            re.findall(r"/v1/channels .*?-d '(\{.*?\})'\n", text, re.S):
        while block := block.lstrip():
            found, end = decoder.raw_decode(block)
            yield found
            block = block[end:]


def test_every_example_of_the_document_is_taken(ctx):
    text = (ROOT / "docs/channels.md").read_text()
    folder = ctx.folder / "commands"
    folder.mkdir(mode=0o755)
    (folder / "sync-rates").write_text("#!/bin/sh\n")
    (folder / "sync-rates").chmod(0o755)
    ctx.start(args=["--exec-dir", str(folder)])
    found = {body["type"]: ctx.peal.post("/v1/channels", body, expect=201).json
             for body in definitions_of(text)}
    refused = ctx.peal.post("/v1/channels", {"key": "x:y", "type": "x", "config": {}}, expect=422)
    known = refused.json["errors"][0]["message"].partition("use one of ")[2].split(", ")
    equal(set(known) - set(found) - {"forward"}, set(), "each type has an example")


def peer_of(ctx, kind, config):
    """The provider as an example's settings expect it: at that path, with that secret."""
    peer = open_peer(ctx, kind)
    if "url" in config:
        peer.path = "/" + config["url"].split("/", 3)[3]
    peer.path = peer.path.replace("AC1", config.get("accountSid", "")).replace("1070", config.get("phoneNumberId", ""))
    peer.key = peer.token = config.get("apiKey") or config.get("authKey") or config.get("authToken") or config.get("token") or \
        config.get("key")
    peer.account = config.get("accountSid")
    return peer


def test_every_example_of_a_provider_works(ctx):
    """Each goes to its strict peer, which stands where the provider would."""
    kinds = {type: kind for kind, type, _, _ in EVERY}
    text = (ROOT / "docs/channels.md").read_text()
    examples = {body["type"]: body for body in definitions_of(text) if body["type"] in kinds}
    equal(set(examples), set(kinds))
    for type, body in examples.items():
        config = body["config"]
        peer = peer_of(ctx, kinds[type], config)
        place = {"url": peer.url + peer.path} if "url" in config else {"baseUrl": peer.url}
        key = body["key"]
        ctx.peal.post("/v1/channels", {**body, "config": {**config, **place}}, expect=201)
        ctx.peal.post("/v1/triggers", {"id": type, "channel": key, "eventKind": key}, expect=201)
        recipient = {"address": "ada@example.org" if type == "sendgrid" else PHONE}
        made = ctx.peal.post("/v1/ingest", {"eventKind": key, "items": [{"payload": TEXT, "recipient": recipient}]},
                             expect=200).json
        settle(ctx.peal)
        id = made["items"][0]["deliveries"][0]["deliveryId"]
        equal((type, peer.complaints, delivery(ctx.peal, id)["state"]), (type, [], "delivered"))


if __name__ == "__main__":
    main()
