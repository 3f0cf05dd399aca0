"""linear_peer.py - Linear's GraphQL as its documentation has it, and nothing besides.

It answers POST /graphql alone, to who has the key, with JSON and the variables that the query declares.
Issues come newest update first, a page at a time; of each it gives the fields that the query selects, and an
unknown one is an error, inside a 200, as all of GraphQL's are. Whatever is asked otherwise is kept in
`wrongs`, which a test looks at last.
"""
import collections
import datetime
import json
import re
import threading

from receiver import QuietServer

import http.server

ISSUE = {"id": 0, "identifier": 0, "number": 0, "title": 0, "description": 0, "url": 0, "priority": 0,
         "priorityLabel": 0, "estimate": 0, "dueDate": 0, "createdAt": 0, "updatedAt": 0, "startedAt": 0,
         "completedAt": 0, "canceledAt": 0, "state": {"id": 0, "name": 0, "type": 0, "color": 0},
         "team": {"id": 0, "key": 0, "name": 0}, "labels": {"nodes": {"id": 0, "name": 0, "color": 0}},
         "assignee": {"id": 0, "name": 0, "email": 0}, "creator": {"id": 0, "name": 0},
         "project": {"id": 0, "name": 0}, "cycle": {"id": 0, "name": 0, "number": 0}, "parent": {"id": 0}}
SCHEMA = {"issues": {"nodes": ISSUE, "pageInfo": {"hasNextPage": 0, "endCursor": 0}}}
VARIABLES = {"first": "Int!", "after": "String", "filter": "IssueFilter"}


class Wrong(Exception):
    """What Linear would refuse."""


def parse_time(text):
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text):
        raise Wrong(f"{text!r} is no time")
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def parse_query(text):
    """The variables that a query declares, and what it selects: names, each with its arguments and its selection."""
    tokens = re.findall(r"[A-Za-z_]\w*|\$\w+|\d+|[!:(){},\[\]]", text)
    if re.sub(r"\s", "", text) != "".join(tokens):
        raise Wrong("the query has what no query has")
    at = 0

    def take(expected=None):
        nonlocal at
        if at >= len(tokens) or expected not in (None, tokens[at]):
            raise Wrong(f"{expected} expected in the query, at {tokens[at:at + 3]}")
        at += 1
        return tokens[at - 1]

    def arguments():
        found = {}
        take("(")
        while tokens[at] != ")":
            name = take()
            take(":")
            found[name] = take()
            if tokens[at] == ",":
                take()
        take(")")
        return found

    def selection():
        found = {}
        take("{")
        while tokens[at] != "}":
            name = take()
            given = arguments() if tokens[at] == "(" else {}
            found[name] = (given, selection() if tokens[at] == "{" else None)
        take("}")
        return found

    declared = {}
    take("query")
    take("(")
    while tokens[at] != ")":
        name = take()
        take(":")
        declared[name[1:]] = take() + (take() if tokens[at] == "!" else "")
        if tokens[at] == ",":
            take()
    take(")")
    chosen = selection()
    if at != len(tokens):
        raise Wrong("something follows the query")
    return declared, chosen


def check(selected, schema, path="issues"):
    for name, (_, inner) in selected.items():
        if name not in schema:
            raise Wrong(f"Cannot query field {name!r} at {path}")
        if bool(schema[name]) != bool(inner):
            raise Wrong(f"{path}.{name} must be selected otherwise")
        if inner:
            check(inner, schema[name], f"{path}.{name}")


def pick(value, selected):
    if isinstance(value, list):
        return [pick(one, selected) for one in value]
    if value is None:
        return None
    return {name: pick(value.get(name), inner) if inner else value.get(name)
            for name, (_, inner) in selected.items()}


class Linear:
    """The far side. `issues` by id; `answers` are given instead, one each, in order."""

    def __init__(self, key="lin_api_secret"):
        self.key = key
        self.issues = {}
        self.lock = threading.Lock()
        self.requests = []            # the variables of each
        self.wrongs = []
        self.answers = collections.deque()
        self.arrived = 0              # requests, be they answered or not
        self.headers = {}             # that every answer has
        self.hold = None              # an event: answers wait for it
        self.before_page = None       # called with the variables, before a page is made
        self.server = QuietServer(("127.0.0.1", 0), handler_of(self))
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        if self.hold:
            self.hold.set()
        self.server.shutdown()
        self.server.server_close()

    def put(self, number, updated, created=None, team="WEB", **members):
        """An issue, made or changed."""
        issue = {"id": f"00000000-0000-4000-8000-{number:012d}", "number": number, "identifier": f"{team}-{number}",
                 "title": f"Issue {number}", "url": f"https://linear.app/acme/issue/{team}-{number}", "priority": 2,
                 "priorityLabel": "High", "createdAt": created or updated, "updatedAt": updated,
                 "state": {"id": "s-1", "name": "Todo", "type": "unstarted"},
                 "team": {"id": f"team-{team}", "key": team, "name": team.title()},
                 "labels": {"nodes": [{"id": "l-1", "name": "Bug"}]}, **members}
        with self.lock:
            self.issues[issue["id"]] = issue
        return issue["id"]

    def answer(self, status=200, body=None, headers=None, raw=None, drop=False, times=1):
        for _ in range(times):
            self.answers.append((status, raw if raw is not None else json.dumps(body).encode(), headers or {}, drop))

    def answer_error(self, code, status=200, headers=None, message="no", times=1):
        self.answer(status, {"errors": [{"message": message, "extensions": {"code": code}}]}, headers, times=times)

    def page(self, variables, selected):
        first = variables["first"]
        if not 1 <= first <= 250:
            raise Wrong("first must be from 1 to 250")
        wanted = variables.get("filter") or {}
        if set(wanted) - {"updatedAt", "team"}:
            raise Wrong(f"unknown members of the filter: {wanted}")
        since = wanted.get("updatedAt", {})
        if set(since) - {"gte", "gt"}:
            raise Wrong(f"unknown comparison: {since}")
        found = [one for one in self.issues.values() if fits_team(one, wanted.get("team"))]
        if "gte" in since:
            found = [one for one in found if parse_time(one["updatedAt"]) >= parse_time(since["gte"])]
        found.sort(key=lambda one: (one["updatedAt"], one["id"]), reverse=True)
        after = variables.get("after")
        if after is not None:
            ids = [one["id"] for one in found]
            if after not in ids:
                raise Wrong("after: no such cursor")
            found = found[ids.index(after) + 1:]
        nodes = found[:first]
        info = {"hasNextPage": len(found) > first, "endCursor": nodes[-1]["id"] if nodes else None}
        return pick({"issues": {"nodes": nodes, "pageInfo": info}}, selected)

    def respond(self, handler, body):
        authorization = handler.headers.get("Authorization")
        if handler.command != "POST" or handler.path != "/graphql":
            raise Wrong(f"{handler.command} {handler.path}")
        if handler.headers.get("Content-Type") != "application/json":
            raise Wrong("a body of JSON says so")
        expected = self.key if not self.key or self.key.startswith("lin_api_") else f"Bearer {self.key}"
        if authorization != expected:
            return 401, {"errors": [{"message": "Authentication required", "extensions": {"code": "AUTHENTICATION_ERROR"}}]}
        query = json.loads(body)
        if set(query) != {"query", "variables"}:
            raise Wrong(f"a query has a text and variables, not {set(query)}")
        declared, selected = parse_query(query["query"])
        if any(VARIABLES.get(name) != type_ for name, type_ in declared.items()) or set(query["variables"]) - set(declared):
            raise Wrong(f"variables {declared} with {query['variables']}")
        if set(selected) != {"issues"} or selected["issues"][0].get("orderBy") != "updatedAt":
            raise Wrong("issues by the time of their update, and nothing else")
        check(selected, SCHEMA)
        self.requests.append(query["variables"])
        if self.before_page:
            self.before_page(query["variables"])
        with self.lock:
            return 200, {"data": self.page(query["variables"], selected)}


def fits_team(issue, team):
    if team is None:
        return True
    if set(team) == {"or"}:
        return any(fits_team(issue, one) for one in team["or"])
    (name, comparison), = team.items()
    if name not in ("id", "key", "name") or set(comparison) != {"in"}:
        raise Wrong(f"unknown filter of teams: {team}")
    if name == "id" and not all(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", one) for one in comparison["in"]):
        raise Wrong("an id must be a UUID")
    return issue["team"][name] in comparison["in"]


def handler_of(peer):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers, drop = {}, False
            with peer.lock:
                peer.arrived += 1
            if peer.hold:
                peer.hold.wait()
            try:
                status, answer = peer.respond(self, body)
                text = json.dumps(answer).encode()
            except Wrong as wrong:
                peer.wrongs.append(str(wrong))
                status, text = 400, json.dumps({"errors": [{"message": str(wrong), "extensions": {"code": "INVALID_INPUT"}}]}).encode()
            if peer.answers and status != 401:
                status, text, headers, drop = peer.answers.popleft()
            if drop:
                self.close_connection = True
                return
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            for name, value in {**peer.headers, **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(text)
            except OSError:
                pass  # it was cut off

        do_GET = do_POST

        def log_message(self, *args):
            pass

    return Handler
