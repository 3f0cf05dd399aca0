"""bus_peer.py - a queue of Azure Service Bus as its REST documentation has it, and nothing besides.

It lets in who has signed for this very queue with the policy's key and whose token has not expired by its
own clock (`now`, in seconds, which a test may move), takes JSON with BrokerProperties that it knows, and
drops what it has had under the same MessageId: `queue` holds what a reader would get. Errors are Azure's,
in XML. `lose_next()` takes a message and loses the receipt.
"""
import base64
import datetime
import hmac
import json
import re
import urllib.parse

from providers import Peer, Wrong, told
from receiver import Answer
from server import START

PROPERTIES = {"MessageId": str, "CorrelationId": str, "TimeToLive": int}
TOKEN = re.compile(r"SharedAccessSignature sr=([^&\s]+)&sig=([^&\s]+)&se=([0-9]+)&skn=([^&\s]+)")
FAR = 2 * 3600          # a token that holds for longer is nothing to send about
LARGEST = 256 * 1024    # of the standard tier


def error(status, detail):
    return told(status, f"<Error><Code>{status}</Code><Detail>{detail} TrackingId:7a-2_G1</Detail></Error>",
                Content_Type="application/xml; charset=utf-8")


class ServiceBus(Peer):
    path = "/answers/messages"
    home, key_name, key = "https://acme.servicebus.windows.net", "send", "a-secret-of-service-bus-in-base64="

    def __init__(self):
        self.now = datetime.datetime.fromisoformat(START.replace("Z", "+00:00")).timestamp()
        self.queue = {}
        self.losses = 0
        super().__init__()

    def refuse(self, status, complaint):
        return error(status, complaint)

    def login(self, request):
        token = TOKEN.fullmatch(request.headers["authorization"] or "")
        self.need(token, "MalformedToken: The token is malformed.", 401)
        resource, signature, expires, name = token.groups()
        own = self.home + self.path.removesuffix("/messages")
        self.need(urllib.parse.unquote(resource) == own.lower(), f"InvalidAudience: {resource}", 401)
        self.need(urllib.parse.unquote(name) == self.key_name, "InvalidSignature: no such policy", 401)
        digest = hmac.digest(self.key.encode(), f"{resource}\n{expires}".encode(), "sha256")
        self.need(urllib.parse.unquote(signature) == base64.b64encode(digest).decode(),
                  "InvalidSignature: The token has an invalid signature.", 401)
        self.need(int(expires) > self.now, "ExpiredToken: The token is expired.", 401)
        self.need(int(expires) <= self.now + FAR, "the token holds for too long", 401)

    def properties(self, request):
        text = request.headers["brokerproperties"]
        self.need(text and text.isascii(), "BrokerProperties")
        try:
            found = json.loads(text)
        except ValueError as problem:
            raise Wrong("BrokerProperties", self.refuse(400, "BrokerProperties")) from problem
        self.members(found, ["MessageId"], PROPERTIES, "BrokerProperties")
        for name, value in found.items():
            self.need(type(value) is PROPERTIES[name], f"BrokerProperties {name}")
        self.need(0 < len(found["MessageId"]) <= 128, "MessageId")
        return found

    def check(self, request):
        self.properties(request)
        self.need(len(request.body) <= LARGEST, "The message is too large.", 413)
        self.need(isinstance(request.json, dict), "body")

    def lose_next(self):
        self.losses += 1

    def accept(self, request):
        with self.changed:
            self.queue.setdefault(self.properties(request)["MessageId"], request.json)
            is_lost, self.losses = self.losses > 0, max(self.losses - 1, 0)
        return Answer(drop=True) if is_lost else told(201, "")
