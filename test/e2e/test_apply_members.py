"""Every member that a table of fields has, by itself: applied, exported, and applied again it is the same.

The definitions are made from the schema that is printed from the tables, one for each value of each member of each kind
(and of each type of channel, provider of a source, source of a token), so a member that is added is tried by itself.
One whose value follows from no schema has it in VALUES, or goes with others in WITH.
"""
import json
import re

from document import Schemas
from harness import equal, main, run_peal
from test_apply import cli

SIGN = "whsec_" + "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ="
FILTER = {"path": "payload.a", "op": "in", "value": ["no", 1, 1.50, True]}

# By the end of a member's path, the longest first: values that a schema does not tell.
VALUES = {
    "channel": ["memory:all"], "channels": [["memory:all"]], "handler": ["memory:all"], "key": ["memory:all"],
    "cron": ["5 4 * * *"], "zone": ["Asia/Baghdad"], "timeout": ["1m"], "url": ["https://x.example/in?a=b"],
    "baseUrl": ["https://x.example"], "from": ["Peal <peal@example.org>"], "replyTo": ["r@example.org"],
    "signingSecret": [SIGN, [SIGN, SIGN.replace("c2Vj", "b3Ro")]], "server": ["smtps://mail.example.org"],
    "command": ["run"], "store": ["postgres://u@127.0.0.1:9/x"], "tokenUrl": ["https://x.example/token"], "watch/topic": ["projects/p/topics/t"],
    "scope/value": ["12345", 7, True], "trigger/type": ["issue"], "trigger/provider": ["linear"], "trigger/config": [{"actions": ["create"]}],
    "listUnsubscribe": ["https://x.example/off"], "questions/id": ["why"], "goTo/to": ["end"], "schedules/name": ["daily"],
}
# What a definition, or an object in one, has beside what the schema says is needed, by its path.
HAS = {
    "channel:twilio/config": {"from": "+100"},
    "template": {"eventType": "k", "body": "x"},
    "trigger": {"eventKind": "k", "channel": "memory:all"},
    "automation/schedules": {"name": "daily"},
    **{f"{kind}/cancelOn": {"eventKind": "off"} for kind in ("trigger", "template", "survey/triggers")},
}
# What stands beside a member, by its path. What is None is left out.
FED = {"provider": "linear", "type": "issue", "eventKind": None}
POLLED = {**FED, "way": "polling", "integration": "plain"}
BESIDE = {
    "channel:email/config/password": {"user": "u"},
    "channel:twilio/config/messagingServiceSid": {"from": None},
    "template/eventKind": {"eventType": None}, "template/provider": {"body": None},
    "trigger/automation": {"channel": None}, "trigger/interval": POLLED, "trigger/emitExisting": POLLED,
    **{f"trigger/{name}": FED for name in ("provider", "type", "config", "way", "integration", "source")},
    "job/reason": {"enabled": False},
    "survey/questions/min": {"type": "number"}, "survey/questions/max": {"type": "number"},
    "source:generic/config/verify/query": {"kind": "token"}, "source:generic/config/verify/user": {"kind": "basic"},
    **{f"integration:{source}/watch": {"provider": "gmail"} for source in ("static", "oauth", "nango", "composio")},
    **{f"{kind}/cancelOn/kind": {"eventKind": None} for kind in ("trigger", "template", "survey/triggers")},
}
# What the tables have and a definition of these words has not.
NOT_THERE = {f"source:table/{name}" for name in ("integration", "path", "secret", "shared")}
# What is kept under another name.
OTHER_NAMES = ("template/eventKind", "cancelOn/kind", "survey/triggers/kind")
# What no two definitions may have.
NOBODY_ELSES = {"connectionId", "installationId", "path"}


class Maker:
    """Makes values that a schema allows."""

    def __init__(self, document):
        self.schemas = Schemas(document)
        self.components = document["components"]["schemas"]

    def shapes(self, kind):
        """Yields what depends on a word of the definition, and the schema that it has then."""
        rows, *cases = self.components[kind]["allOf"]
        if not cases:
            yield kind, {}, rows
        for case in cases:
            said = said_in(case["if"])
            words = "/".join(one if isinstance(one, str) else "".join(one.values()) for one in said.values())
            yield f"{kind}:{words}", said, {**rows, "properties": {**rows["properties"], **case["then"]["properties"]}}

    def values(self, schema, path):
        """Yields some values that a schema allows, each with the path of the member that it is about."""
        schema = self.schemas.resolve(schema)
        hint = next((VALUES[end] for end in sorted(VALUES, key=len, reverse=True) if f"/{path}".endswith(f"/{end}")), None)
        if hint is not None:
            yield from ((path, value) for value in hint)
        elif schema.get("title") == "Filter":
            yield path, FILTER
        elif "anyOf" in schema:
            yield from self.values(schema["anyOf"][0], path)
        elif "enum" in schema:
            yield from ((path, value) for value in schema["enum"])
        elif first(schema.get("type", "object")) in ("object", "array"):
            yield from getattr(self, "of_" + first(schema.get("type", "object")))(schema, path)
        else:
            yield from ((path, value) for value in plain(schema))

    def value(self, schema, path):
        return next(value for _, value in self.values(schema, path))

    def of_array(self, schema, path):
        yield from ((inner, [value]) for inner, value in self.values(schema.get("items", {"type": "string"}), path))

    def of_object(self, schema, path):
        rows = schema.get("properties")
        if not rows:
            of = schema.get("additionalProperties")
            yield path, {"en": self.value(of, path)} if isinstance(of, dict) else {"env": "prod"}
            return
        needed = self.needed(schema, path)
        for name, inner in rows.items():
            for at, value in self.values(inner, f"{path}/{name}"):
                yield at, beside(needed, f"{path}/{name}", {name: value})

    def needed(self, schema, path):
        return {**{name: self.value(schema["properties"][name], f"{path}/{name}") for name in schema.get("required", [])},
                **HAS.get(path, {})}


def beside(base, path, member):
    """A member among what it stands beside."""
    found = {**base, **BESIDE.get(path, {}), **member}
    return {name: value for name, value in found.items() if value is not None}


def first(types):
    return types if isinstance(types, str) else types[0]


def plain(schema):
    """Values of what is neither an object nor a list."""
    kind, least = first(schema["type"]), schema.get("minimum", 0)
    if kind == "boolean":
        return [True, False]
    if kind in ("integer", "number"):
        return sorted({least, min(least + 7, schema.get("maximum", least + 7))})
    if schema.get("format") == "date-time":
        return ["2030-01-01T00:00:00.000Z"]
    if "[0-9]+w" in schema.get("pattern", ""):
        return ["1h"]
    return ["payload.no"] if "pattern" in schema else ["no", "x: # y", "007"]


def said_in(condition):
    """What a definition says for a condition to hold."""
    return {name: rows["const"] if "const" in rows else said_in(rows) for name, rows in condition["properties"].items()}


ID = {"channel": "key", "job": "name", **dict.fromkeys(
    ("list", "template", "integration", "automation", "survey", "trigger", "source"), "id")}


def definitions(maker, kind):
    """Yields a definition for each value of each member, with the member's path."""
    for path, said, schema in maker.shapes(kind):
        base = {**maker.needed(schema, path), **{name: word for name, word in said.items() if isinstance(word, str)}}
        inner = {name: {**maker.needed(maker.schemas.resolve(schema["properties"][name]), f"{path}/{name}"), **words}
                 for name, words in [(name, said.get(name, {})) for name in ("config", "token")]
                 if name in schema["properties"] and (name in said or said and name == "config")}
        base.update({name: words for name, words in inner.items() if words})
        for name, rows in schema["properties"].items():
            if name in ("kind", ID[kind]) or isinstance(said.get(name), str):
                continue
            for at, value in maker.values(rows, f"{path}/{name}"):
                value = {**value, **said.get(name, {})} if name in inner else value
                yield at, beside(base, f"{path}/{name}", {name: value})


def make_all(ctx):
    """Every definition that is taken; whatever has none that is, is told."""
    maker = Maker(json.loads(run_peal("schema").out))
    good, seen, refused = [], set(), {}
    for kind in ID:
        for number, (path, body) in enumerate(definitions(maker, kind)):
            one = {**body, "kind": kind, ID[kind]: f"{kind}{':' if kind == 'channel' else '-'}{number}"}
            one.update({name: f"x-{number}" for name in one.keys() & NOBODY_ELSES})
            answer = ctx.peal.post("/v1/apply", {"definitions": [one], "dryRun": True})
            if answer.status == 200:
                good.append((path, one))
                seen.add(path)
            else:
                refused[path] = answer.json.get("errors", answer.json)
    equal({path: why for path, why in refused.items() if path not in seen | NOT_THERE}, {},
          "these members are taken with no value: HAS, BESIDE and VALUES say what they need")
    assert len(seen) > 400, len(seen)
    return good


def name_of(one):
    return one["kind"], one[ID[one["kind"]]]


def move_elsewhere(ctx, exported):
    """Another server that is given the files and the secrets has the same definitions."""
    text = "".join(path.read_text() for path in (ctx.folder / "out").iterdir())
    secrets = {name: SIGN if "SIGNINGSECRET" in name else "https://x.example/y" if name.endswith("_URL") else "a-secret-of-many-letters"
               for name in re.findall(r"env: (PEAL_\w+)", text)}
    store = ctx.new_store_url() if ctx.store == "postgres" else f"sqlite:{ctx.folder}/other.db"
    other = ctx.start(store=store, args=["--exec-dir", ctx.folder / "exec"])
    env = {"HOME": str(ctx.folder), "PEAL_URL": other.url, "PEAL_KEY": other.key}
    done = run_peal("apply", "-f", "out", "--yes", cwd=ctx.folder, env={**env, **secrets})
    equal(done.code, 0, done)
    found = {name_of(one): one for one in json.loads(run_peal("export", "--json", env=env).out)}
    equal(found, exported)


def test_every_member_by_itself_comes_back(ctx):
    (ctx.folder / "exec").mkdir()
    ctx.write("exec/run", "#!/bin/sh\n").chmod(0o755)
    ctx.start(args=["--exec-dir", ctx.folder / "exec"])
    good = make_all(ctx)
    ctx.write("all.json", json.dumps([one for _, one in good]))
    done = cli(ctx, "apply", "-f", "all.json", "--yes", env={})
    equal(done.code, 0, done)
    equal(cli(ctx, "diff", "-f", "all.json", env={}).out, "No changes.\n")
    equal(cli(ctx, "export", "-o", "out", env={}).code, 0)
    equal(cli(ctx, "diff", "-f", "out", env={}).out, "No changes.\n")
    equal(cli(ctx, "diff", "-f", "out", "--prune", "--all", env={}).out, "No changes.\n")
    exported = {name_of(one): one for one in json.loads(cli(ctx, "export", "--json", env={}).out)}
    for path, one in good:
        found = exported[name_of(one)]
        for name in one.keys() - {"config", "token", "secret"}:
            if not path.endswith(OTHER_NAMES):
                equal(found.get(name, False), one[name], f"{name_of(one)} {name}")
    move_elsewhere(ctx, exported)


if __name__ == "__main__":
    main()
