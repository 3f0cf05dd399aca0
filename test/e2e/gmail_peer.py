"""gmail_peer.py - Gmail's REST API for one mailbox as its documentation has it, and nothing besides.

It knows users.getProfile, users.history.list, users.messages.list and .get, users.watch and .stop, each with the parameters
that it documents; whatever is asked otherwise is refused and kept in `wrongs`.
"""
import collections
import http.server
import json
import re
import threading
import urllib.parse

from receiver import QuietServer

ROOT = "/gmail/v1/users/me"
PAGE_DEFAULT = 100


class Wrong(Exception):
    """What Gmail would refuse."""


class Gmail:
    """The far side. Messages are added; the history before `expired` is forgotten."""

    def __init__(self, token="ya29.secret"):
        self.token = token
        self.messages = {}             # by id
        self.history = []              # (history id, message id)
        self.history_id = 1000
        self.expired = 0               # a start before it is 404
        self.gone = set()              # listed, but not to be had
        self.broken = {}               # listed, and answered with this: (status, reason), or bytes
        self.page_max = PAGE_DEFAULT   # fewer come in a page than were asked for
        self.requests = []             # (path, query)
        self.wrongs = []
        self.answers = collections.deque()   # (path, status, body, headers)
        self.watches = []
        self.watch_expires = None      # in ms, of each that is asked for
        self.stops = 0
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()
        self.server = QuietServer(("127.0.0.1", 0), handler_of(self))
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def add(self, id, date_ms, labels=("INBOX",), subject="Hello", sender="Ann <ann@example.com>"):
        """A mail comes; history ids grow with gaps."""
        with self.lock:
            self.history_id += 7
            self.messages[id] = {
                "id": id, "threadId": id, "labelIds": list(labels), "snippet": "Hello there", "historyId": str(self.history_id),
                "internalDate": str(date_ms), "sizeEstimate": 1234,
                "payload": {"mimeType": "text/plain", "headers": [{"name": "From", "value": sender}, {"name": "Subject", "value": subject},
                                                                  {"name": "X-Other", "value": "never asked for"}]}}
            self.history.append((self.history_id, id))

    def touch(self):
        """Something changes that adds no message: the history id grows."""
        with self.lock:
            self.history_id += 3

    def answer(self, path, status, body=None, headers=None, times=1):
        for _ in range(times):
            self.answers.append((path, status, body if isinstance(body, bytes) else json.dumps(body or {}).encode(), headers or {}))

    def answer_error(self, path, status, reason, headers=None, times=1):
        self.answer(path, status, error(status, reason), headers, times)

    def get_profile(self, query):
        expect(query, set())
        return {"emailAddress": "me@example.com", "messagesTotal": len(self.messages), "threadsTotal": len(self.messages),
                "historyId": str(self.history_id)}

    def list_history(self, query):
        expect(query, {"startHistoryId", "historyTypes", "maxResults", "pageToken", "labelId"})
        start = query.get("startHistoryId", "")
        if not re.fullmatch(r"[1-9]\d*", start):
            raise Wrong("startHistoryId is a number")
        if query.get("historyTypes") not in (None, "messageAdded"):
            raise Wrong("historyTypes")
        if int(start) < self.expired:
            return 404, error(404, "notFound", "Requested entity was not found.")
        found = [one for one in self.history if one[0] > int(start)]
        found, token = self.cut(found, query, f"h{start}")
        page = {"historyId": str(self.history_id)}
        if found:
            page["history"] = [{"id": str(number), "messages": [{"id": id, "threadId": id}],
                                "messagesAdded": [{"message": {"id": id, "threadId": id, "labelIds": self.messages[id]["labelIds"]}}]}
                               for number, id in found]
        return {**page, **token}

    def cut(self, found, query, name):
        """A page, and its token: good for this list alone."""
        size = int(query.get("maxResults", PAGE_DEFAULT))
        if not 1 <= size <= 500:
            raise Wrong("maxResults")
        size = min(size, self.page_max)
        at = 0
        if "pageToken" in query:
            match = re.fullmatch(rf"{re.escape(name)}/(\d+)\+=", query["pageToken"])
            if not match:
                raise Wrong(f"pageToken {query['pageToken']} of another list than {name}")
            at = int(match[1])
        token = {"nextPageToken": f"{name}/{at + size}+="} if len(found) > at + size else {}
        return found[at:at + size], token

    def list_messages(self, query):
        expect(query, {"q", "maxResults", "pageToken", "labelIds", "includeSpamTrash"})
        after = re.fullmatch(r"after:(\d+)", query["q"]) if "q" in query else None
        if "q" in query and not after:
            raise Wrong(f"q {query['q']}")
        since = int(after[1]) * 1000 if after else 0
        found = sorted((one for one in self.messages.values() if int(one["internalDate"]) >= since),
                       key=lambda one: int(one["internalDate"]), reverse=True)
        found, token = self.cut(found, query, f"m{since}")
        page = {"resultSizeEstimate": len(found), **token}
        if found:
            page["messages"] = [{"id": one["id"], "threadId": one["threadId"]} for one in found]
        return page

    def get_message(self, id, query):
        expect(query, {"format", "metadataHeaders"})
        if query.get("format") != "metadata":
            raise Wrong("the format")
        if id in self.gone or id not in self.messages:
            return 404, error(404, "notFound", "Requested entity was not found.")
        if id in self.broken:
            broken = self.broken[id]
            return broken if isinstance(broken, bytes) else (broken[0], error(*broken))
        wanted = {name.lower() for name in query.getall("metadataHeaders")}
        message = json.loads(json.dumps(self.messages[id]))
        message["payload"]["headers"] = [one for one in message["payload"]["headers"] if one["name"].lower() in wanted]
        return message

    def watch(self, body):
        wanted = json.loads(body)
        if set(wanted) - {"topicName", "labelIds", "labelFilterBehavior"} or \
                ("labelIds" in wanted) != ("labelFilterBehavior" in wanted) or \
                not re.fullmatch(r"projects/[\w.-]+/topics/[\w.-]+", wanted.get("topicName", "")):
            raise Wrong(f"watch {wanted}")
        self.watches.append(wanted)
        return {"historyId": str(self.history_id), "expiration": str(self.watch_expires)}

    def respond(self, handler, body):
        if handler.headers.get("Authorization") != f"Bearer {self.token}":
            return 401, error(401, "authError", "Invalid Credentials")
        url = urllib.parse.urlsplit(handler.path)
        if not url.path.startswith(ROOT + "/"):
            raise Wrong(handler.path)
        name, query = url.path[len(ROOT) + 1:], Query(url.query)
        self.requests.append((name, query))
        if handler.command == "POST" and name == "watch" and not url.query:
            return self.watch(body)
        if handler.command == "POST" and name == "stop" and not url.query and not body:
            self.stops += 1
            return 204, None
        if handler.command != "GET" or body:
            raise Wrong(f"{handler.command} {name}")
        if name == "profile":
            return self.get_profile(query)
        if name == "history":
            return self.list_history(query)
        if name == "messages":
            return self.list_messages(query)
        if re.fullmatch(r"messages/[0-9A-Za-z]+", name):
            return self.get_message(name.split("/")[1], query)
        raise Wrong(name)


class Query(dict):
    """A query's parameters; one alone may come several times."""

    def __init__(self, text):
        self.pairs = urllib.parse.parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text))
        super().__init__(self.pairs)
        if len(self.pairs) != len(self) + max(len(self.getall("metadataHeaders")) - 1, 0):
            raise Wrong(f"a parameter came twice: {text}")

    def getall(self, name):
        return [value for key, value in self.pairs if key == name]


def expect(query, known):
    if set(query) - known:
        raise Wrong(f"unknown parameters: {set(query) - known}")


def error(status, reason, message="no"):
    return {"error": {"code": status, "message": message, "errors": [{"domain": "global", "reason": reason, "message": message}]}}


def handler_of(peer):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def serve(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, text, headers = self.decide(body)
            self.send_response(status)
            self.send_header("Content-Type", "application/json; charset=UTF-8")
            self.send_header("Content-Length", str(len(text)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        def decide(self, body):
            try:
                with peer.lock:
                    answer = peer.respond(self, body)
                    if peer.answers and f"{ROOT}/{peer.answers[0][0]}" == self.path.split("?")[0]:
                        return peer.answers.popleft()[1:]
            except Wrong as wrong:
                peer.wrongs.append(str(wrong))
                answer = 400, error(400, "invalidArgument", str(wrong))
            status, value = answer if isinstance(answer, tuple) else (200, answer)
            if isinstance(value, bytes):
                return status, value, {}
            return status, json.dumps(value).encode() if value is not None else b"", {}

        do_GET = do_POST = serve

        def log_message(self, *args):
            pass

    return Handler
