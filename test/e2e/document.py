"""document.py - holds every answer of a program against its own /openapi.json.

Schemas are the part of JSON Schema 2020-12 that Peal prints; a keyword that is not known here is an
error, lest a schema promise what nobody checks. Numbers are compared as JSON has them: true is no
number.
"""
import re
import uuid
from datetime import datetime

PROBLEM = "application/problem+json"
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
         "number": (int, float), "null": type(None)}
SAID_ONLY = {"title", "description", "example", "default", "$schema", "components", "then"}


class Drift(AssertionError):
    """The program answered something else than its document says."""


def is_type(value, name):
    if isinstance(value, bool) and name in ("integer", "number"):
        return False
    return isinstance(value, TYPES[name])


def is_format(text, name):
    try:
        if name == "date-time":
            datetime.fromisoformat(text.replace("Z", "+00:00"))
            return "T" in text and bool(re.search(r"(Z|[+-]\d\d:\d\d)$", text))
        if name == "uuid":
            return str(uuid.UUID(text)) == text
    except ValueError:
        return False
    if name in ("uri", "uri-reference"):
        return " " not in text
    raise Drift(f"nobody checks the format {name}")


class Schemas:
    """Finds what is wrong with a value, as sentences."""

    def __init__(self, document):
        self.document = document

    def resolve(self, schema):
        while "$ref" in schema:
            target = self.document
            for name in schema["$ref"].removeprefix("#/").split("/"):
                target = target[name]
            schema = target
        return schema

    def problems(self, value, schema, at=""):
        for keyword, wanted in schema.items():
            if keyword in SAID_ONLY or keyword == "required" and not isinstance(wanted, list):
                continue
            check = getattr(self, "check_" + keyword.replace("$", ""), None)
            if not check:
                raise Drift(f"{at}: nobody checks the keyword {keyword}")
            yield from check(value, wanted, schema, at)

    def check_ref(self, value, _, schema, at):
        yield from self.problems(value, self.resolve(schema), at)

    def check_type(self, value, wanted, _, at):
        names = wanted if isinstance(wanted, list) else [wanted]
        if not any(is_type(value, name) for name in names):
            yield f"{at} is {value!r:.80}, not of type {wanted}"

    def check_enum(self, value, wanted, _, at):
        if value not in wanted:
            yield f"{at} is {value!r:.80}, none of {wanted}"

    def check_const(self, value, wanted, _, at):
        if value is not wanted and value != wanted:
            yield f"{at} is {value!r:.80}, not {wanted!r}"

    def check_anyOf(self, value, wanted, _, at):
        found = [list(self.problems(value, each, at)) for each in wanted]
        if all(found):
            yield f"{at} fits none of {len(wanted)}: " + "; or ".join(each[0] for each in found)

    def check_allOf(self, value, wanted, _, at):
        for each in wanted:
            yield from self.problems(value, each, at)

    def check_if(self, value, wanted, schema, at):
        if not list(self.problems(value, wanted, at)):
            yield from self.problems(value, schema["then"], at)

    def check_minProperties(self, value, wanted, _, at):
        yield from self.check_size(value, dict, wanted, None, at)

    def check_properties(self, value, wanted, _, at):
        if isinstance(value, dict):
            for name, schema in wanted.items():
                if name in value:
                    yield from self.problems(value[name], schema, f"{at}/{name}")

    def check_required(self, value, wanted, _, at):
        if isinstance(value, dict):
            yield from (f"{at}/{name} is missing" for name in wanted if name not in value)

    def check_additionalProperties(self, value, wanted, schema, at):
        if wanted is True or not isinstance(value, dict):
            return
        for name in value.keys() - schema.get("properties", {}).keys():
            if wanted is False:
                yield f"{at}/{name} is not in the document"
            else:
                yield from self.problems(value[name], wanted, f"{at}/{name}")

    def check_items(self, value, wanted, _, at):
        if isinstance(value, list):
            for index, element in enumerate(value):
                yield from self.problems(element, wanted, f"{at}/{index}")

    def check_format(self, value, wanted, _, at):
        if isinstance(value, str) and not is_format(value, wanted):
            yield f"{at} is {value!r:.80}, no {wanted}"

    def check_pattern(self, value, wanted, _, at):
        if isinstance(value, str) and not re.search(wanted, value):
            yield f"{at} is {value!r:.80}, unlike {wanted}"

    def check_minimum(self, value, wanted, _, at):
        if is_type(value, "number") and value < wanted:
            yield f"{at} is {value}, less than {wanted}"

    def check_maximum(self, value, wanted, _, at):
        if is_type(value, "number") and value > wanted:
            yield f"{at} is {value}, more than {wanted}"

    def check_minLength(self, value, wanted, _, at):
        yield from self.check_size(value, str, wanted, None, at)

    def check_maxLength(self, value, wanted, _, at):
        yield from self.check_size(value, str, 0, wanted, at)

    def check_minItems(self, value, wanted, _, at):
        yield from self.check_size(value, list, wanted, None, at)

    def check_maxItems(self, value, wanted, _, at):
        yield from self.check_size(value, list, 0, wanted, at)

    def check_maxProperties(self, value, wanted, _, at):
        yield from self.check_size(value, dict, 0, wanted, at)

    def check_size(self, value, type_, least, most, at):
        if isinstance(value, type_) and (len(value) < least or most is not None
                                         and len(value) > most):
            yield f"{at} has {len(value)} of {least} to {most}"


class Document:
    """What /openapi.json says of every answer."""

    def __init__(self, document):
        self.paths = document["paths"]
        self.schemas = Schemas(document)
        # A fixed word goes before a {name}, as in the route table.
        self.patterns = sorted(
            ((path.count("{"), re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), path)
             for path in self.paths), key=lambda row: row[0])

    def operation(self, method, path):
        """The operation that answers, or None: then there can only be a problem."""
        path = path.partition("?")[0]
        for _, pattern, name in self.patterns:
            if pattern.fullmatch(path) and method.lower() in self.paths[name]:
                return self.paths[name][method.lower()]
        return None

    def content_of(self, operation, status):
        """What an answer with the status may be: schemas by content type."""
        responses = operation["responses"] if operation else {}
        told = responses.get(str(status)) or responses.get("default") or {"$ref": "#/components/responses/problem"}
        if str(status) not in responses and status < 400:
            raise Drift(f"the status {status} is not in the document")
        return self.schemas.resolve(told).get("content", {})

    def check(self, method, path, answer):
        """Raises Drift where the answer is not as the document says."""
        try:
            self.check_answer(method, path, answer)
        except Drift as drift:
            raise Drift(f"{method} {path} answered {answer.status}, but its document says "
                        f"otherwise: {drift}\n{answer.text[:2000]}") from None

    def check_answer(self, method, path, answer):
        operation = self.operation(method, path)
        if not operation and path.startswith("/s/"):
            return  # the link of a survey that was cut off leads to a page, which has no path of its own
        content = self.content_of(operation, answer.status)
        given = (answer.headers.get("Content-Type") or "").partition(";")[0]
        if not content and answer.json is not None:
            raise Drift("there should be no body")
        if content and given not in content:
            raise Drift(f"the content type is {given!r}, none of {list(content)}")
        if content:
            is_json = given == "application/json" or given.endswith("+json")
            body = answer.json if is_json else ""  # a text, which may be empty, or look like JSON
            problems = list(self.schemas.problems(body, content[given]["schema"]))
            if problems:
                raise Drift("\n".join(problems[:5]))
