"""providers.py - the far side of chats, SMS, WhatsApp and SendGrid, as strict as their documentation.

A Peer takes what its provider would take and answers as it would. What is wrong with a request (its
method, path, headers, content type, a field that is missing, unknown or of the wrong form) is
answered with the provider's own error and kept in peer.complaints. answer_next(...) replays an error
for a request that is right.
"""
import base64
import itertools
import json
import re
import urllib.parse

from receiver import Answer, Receiver

E164 = re.compile(r"\+[1-9][0-9]{6,14}")
DIGITS = re.compile(r"[1-9][0-9]{6,14}")
numbers = itertools.count(1)


class Wrong(Exception):
    """What is wrong with a request, and the answer it gets."""

    def __init__(self, complaint, answer):
        super().__init__(complaint)
        self.answer = answer


def told(status, body, **headers):
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return Answer(status, headers={name.replace("_", "-"): value for name, value in headers.items()},
                  body=data)


class Peer(Receiver):
    """One provider. Subclasses say what is right, and what their errors look like."""

    path = "/"
    content_type = "application/json"

    def __init__(self):
        self.complaints = []
        self.ids = []
        super().__init__()

    def take(self, request):
        try:
            self.check_head(request)
            self.check(request)
        except Wrong as wrong:
            self.complaints.append(str(wrong))
            self.note(request)
            return wrong.answer
        with self.changed:
            answer = self.upcoming.popleft() if self.upcoming else None
        self.note(request)
        return answer or self.accept(request)

    def note(self, request):
        with self.changed:
            self.received.append(request)
            self.changed.notify_all()

    def check_head(self, request):
        self.need(request.method == "POST", "method", 405)
        self.need(request.path == self.path, f"path {request.path}", 404)
        self.login(request)
        self.need(request.headers["content-type"] == self.content_type, "content type", 415)

    def need(self, is_so, complaint, status=400):
        if not is_so:
            raise Wrong(complaint, self.refuse(status, complaint))

    def members(self, value, needed, allowed=(), where="body"):
        """The value is an object with these members and no others."""
        self.need(isinstance(value, dict), f"{where} is no object")
        for name in needed:
            self.need(name in value, f"{where} has no {name}")
        for name in value:
            self.need(name in needed or name in allowed, f"{where} has an unknown {name}")

    def new_id(self, form):
        self.ids.append(form % next(numbers))
        return self.ids[-1]

    def login(self, request):
        pass

    def refuse(self, status, complaint):
        return told(status, {"message": complaint})


class Slack(Peer):
    path = "/services/T0/B0/a-secret-of-slack"

    def refuse(self, status, complaint):
        return told(status, {404: "no_service"}.get(status, "invalid_payload"))

    def check(self, request):
        self.members(request.json, ["text"], ["blocks"])
        self.need(isinstance(request.json["text"], str) and request.json["text"], "text")
        self.need(not re.search(r"<|>|&(?!amp;|lt;|gt;)", request.json["text"]), "text unescaped")

    def accept(self, request):
        return told(200, "ok")


class Teams(Peer):
    path = "/workflows/w1/triggers/manual/paths/invoke?api-version=2016-06-01&sig=a-secret-of-teams"

    def refuse(self, status, complaint):
        return told(status, {"error": {"code": "InvalidRequest", "message": complaint}})

    def check(self, request):
        body = request.json
        self.need(len(request.body) <= 28 * 1024, "too large", 413)
        self.members(body, ["type", "attachments"])
        self.need(body["type"] == "message" and len(body["attachments"]) == 1, "type")
        card = body["attachments"][0]
        self.members(card, ["contentType", "contentUrl", "content"])
        self.need(card["contentType"] == "application/vnd.microsoft.card.adaptive", "contentType")
        self.need(card["contentUrl"] is None, "contentUrl")
        content = card["content"]
        self.members(content, ["$schema", "type", "version", "body"], ["msteams"], "card")
        self.need(content["type"] == "AdaptiveCard" and content["version"] == "1.4", "card")
        for block in content["body"]:
            self.members(block, ["type", "text"], ["wrap", "weight", "size"], "block")
            self.need(block["type"] == "TextBlock" and block["text"], "block")

    def accept(self, request):
        return told(202, "")


class Twilio(Peer):
    path = "/2010-04-01/Accounts/AC1/Messages.json"
    content_type = "application/x-www-form-urlencoded"
    account, token = "AC1", "a-secret-of-twilio"

    def refuse(self, status, complaint):
        code = {401: 20003, 404: 20404}.get(status, 21604)
        return told(status, {"code": code, "message": complaint, "status": status,
                             "more_info": f"https://www.twilio.com/docs/errors/{code}"})

    def login(self, request):
        basic = "Basic " + base64.b64encode(f"{self.account}:{self.token}".encode()).decode()
        self.need(request.headers["authorization"] == basic, "Authenticate", 401)

    def fields(self, request):
        return dict(urllib.parse.parse_qsl(request.body.decode("ascii"), strict_parsing=True,
                                           keep_blank_values=True))

    def check(self, request):
        fields = self.fields(request)
        self.members(fields, ["To"], ["From", "MessagingServiceSid", "Body", "ContentSid",
                                      "ContentVariables"])
        self.need(E164.fullmatch(fields["To"]), f"The 'To' number {fields['To']} is not valid")
        self.need(("From" in fields) != ("MessagingServiceSid" in fields), "A 'From' is required")
        self.need(("Body" in fields) != ("ContentSid" in fields), "Message body is required")
        self.need(len(fields.get("Body", "")) <= 1600, "The concatenated message body exceeds 1600")
        json.loads(fields.get("ContentVariables", "{}"))

    def accept(self, request):
        return told(201, {"sid": self.new_id("SM%032x"), "status": "queued", "error_code": None,
                          "error_message": None, "num_segments": "1"})


class Msg91(Peer):
    path = "/api/v5/flow/"
    key = "a-secret-of-msg91"

    def refuse(self, status, complaint):
        return told(status, {"type": "error", "message": complaint})

    def login(self, request):
        self.need(request.headers["authkey"] == self.key, "Authentication failure", 401)

    def check(self, request):
        self.members(request.json, ["template_id", "recipients"], ["sender", "short_url"])
        self.need(request.json["template_id"], "template_id missing")
        for one in request.json["recipients"]:
            self.need(DIGITS.fullmatch(one.get("mobiles", "")), "mobiles")
            self.need(all(isinstance(value, str) for value in one.values()), "variables")

    def accept(self, request):
        return told(200, {"type": "success", "message": self.new_id("3763%020x")})


class Infobip(Peer):
    path = "/sms/2/text/advanced"
    key = "a-secret-of-infobip"

    def refuse(self, status, complaint):
        kind = {401: "UNAUTHORIZED"}.get(status, "BAD_REQUEST")
        return told(status, {"requestError": {"serviceException": {"messageId": kind,
                                                                   "text": complaint}}})

    def login(self, request):
        self.need(request.headers["authorization"] == f"App {self.key}", "Invalid login details", 401)

    def check(self, request):
        self.members(request.json, ["messages"])
        for message in request.json["messages"]:
            self.members(message, ["destinations", "text"], ["from", "callbackData"], "message")
            for one in message["destinations"]:
                self.members(one, ["to"], [], "destination")
                self.need(DIGITS.fullmatch(one["to"]), "to")

    def status(self, number):
        group = {3: (1, "PENDING"), 7: (1, "PENDING"), 26: (1, "PENDING")}.get(number, (5, "REJECTED"))
        return {"groupId": group[0], "groupName": group[1], "id": number, "name": f"STATUS_{number}",
                "description": "as documented"}

    def answer_for(self, request, number):
        return told(200, {"bulkId": "b1", "messages": [
            {"to": one["to"], "status": self.status(number), "messageId": self.new_id("ib-%x")}
            for one in request.json["messages"][0]["destinations"]]})

    def accept(self, request):
        return self.answer_for(request, 26)


class Interakt(Peer):
    path = "/v1/public/message/"
    key = base64.b64encode(b"a-secret-of-interakt").decode()  # as the dashboard shows it

    def refuse(self, status, complaint):
        return told(status, {"result": False, "message": complaint})

    def login(self, request):
        self.need(request.headers["authorization"] == f"Basic {self.key}", "Invalid token provided", 401)

    def check(self, request):
        body = request.json
        self.members(body, ["fullPhoneNumber", "type"], ["callbackData", "template", "data"])
        self.need(E164.fullmatch(body["fullPhoneNumber"]), "Invalid phone number")
        if body["type"] == "Template":
            self.members(body["template"], ["name", "languageCode"],
                         ["headerValues", "bodyValues", "buttonValues"], "template")
        else:
            self.need(body["type"] == "Text", "type")
            self.members(body["data"], ["message"], [], "data")

    def accept(self, request):
        return told(200, {"result": True, "message": "Message queued for sending via Interakt.",
                          "id": self.new_id("8f4a-%x")})


class Whatsapp(Peer):
    path = "/v21.0/1070/messages"
    token = "a-secret-of-meta"

    def error(self, status, code, message="as documented"):
        return told(status, {"error": {"message": f"(#{code}) {message}", "type": "OAuthException",
                                       "code": code, "fbtrace_id": "A1"}})

    def refuse(self, status, complaint):
        return self.error(status, {401: 190}.get(status, 100), complaint)

    def login(self, request):
        self.need(request.headers["authorization"] == f"Bearer {self.token}", "Invalid token", 401)

    def check(self, request):
        body = request.json
        self.members(body, ["messaging_product", "to", "type"],
                     ["recipient_type", "biz_opaque_callback_data", "text", "template"])
        self.need(body["messaging_product"] == "whatsapp", "messaging_product")
        self.need(E164.fullmatch(body["to"]), "to")
        self.need(body["type"] in ("text", "template") and body["type"] in body, "type")
        if body["type"] == "text":
            self.members(body["text"], ["body"], ["preview_url"], "text")
            return
        self.members(body["template"], ["name", "language"], ["components"], "template")
        self.members(body["template"]["language"], ["code"], [], "language")
        for component in body["template"].get("components", []):
            self.members(component, ["type", "parameters"], [], "component")
            for one in component["parameters"]:
                self.members(one, ["type", "text"], [], "parameter")

    def accept(self, request):
        return told(200, {"messaging_product": "whatsapp",
                          "contacts": [{"input": request.json["to"], "wa_id": request.json["to"][1:]}],
                          "messages": [{"id": self.new_id("wamid.%020X"), "message_status": "accepted"}]})


class Dialog(Whatsapp):
    path = "/messages"
    key = "a-secret-of-360dialog"

    def own_error(self, status, message):
        return told(status, {"meta": {"api_status": "stable", "success": False, "http_code": status,
                                      "developer_message": message}})

    def login(self, request):
        if request.headers["d360-api-key"] != self.key:
            raise Wrong("key", self.own_error(401, "Invalid API key"))


class Sendgrid(Peer):
    path = "/v3/mail/send"
    key = "SG.a-secret-of-sendgrid"

    def refuse(self, status, complaint):
        return told(status, {"errors": [{"message": complaint, "field": None, "help": None}]})

    def login(self, request):
        self.need(request.headers["authorization"] == f"Bearer {self.key}",
                  "The provided authorization grant is invalid, expired, or revoked", 401)

    def check(self, request):
        body = request.json
        self.members(body, ["personalizations", "from"],
                     ["subject", "content", "template_id", "custom_args"])
        self.members(body["from"], ["email"], ["name"], "from")
        self.need("@" in body["from"]["email"], "from")
        for person in body["personalizations"]:
            self.members(person, ["to"], ["dynamic_template_data"], "person")
            for one in person["to"]:
                self.members(one, ["email"], ["name"], "to")
        if "template_id" in body:
            return
        self.need(body.get("subject"), "The subject is required.")
        self.need([part["type"] for part in body["content"]] in
                  (["text/plain"], ["text/html"], ["text/plain", "text/html"]), "content")
        self.need(all(part["value"] for part in body["content"]), "content")

    def accept(self, request):
        return told(202, "", X_Message_Id=self.new_id("filter-%x"))
