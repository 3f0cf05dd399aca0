"""What every route has in common; the cases are made from the route table, as the document has it."""
import re

from document import Document, Drift
from harness import equal, main
from server import Response
from steps import ingest_one, make_trigger, make_user, trigger_body

NO_SUCH_ID = "01975e3c-7a4b-7000-8000-2c9d3f5b1a60"
VALUES = {"boolean": "true", "date-time": "2026-05-14T05:12:34Z", "uuid": NO_SUCH_ID}
# Their query is taken as it comes: links are marked on their way.
PAGES = {("GET", "/s/{publicId}"), ("GET", "/s/{publicId}/responses")}


def operations(peal):
    paths = peal.get("/openapi.json", expect=200).json["paths"]
    return [(method.upper(), path, told) for path, methods in paths.items()
            for method, told in methods.items()]


def parameters(told, place):
    return {each["name"]: each["schema"] for each in told["parameters"] if each["in"] == place}


def filled(path):
    return re.sub(r"\{\w+\}", NO_SUCH_ID, path)


def problems(answer):
    return {(each["path"], each["code"]): each["message"] for each in answer.json["errors"]}


def value_of(schema):
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "integer":
        return schema["minimum"]
    return VALUES.get(schema.get("format", schema["type"]), "")


def test_what_no_route_knows_is_refused_by_every_route(ctx):
    for method, path, _ in operations(ctx.peal):
        if path.startswith("/hooks/") or (method.upper(), path) in PAGES:  # where it is the provider's
            continue
        answer = ctx.peal.request(method, f"{filled(path)}?colour=red")
        equal(answer.status, 422, f"{method} {path}")
        assert ("/colour", "unknown-parameter") in problems(answer), answer.text


def test_a_webhook_is_documented_as_it_is_answered(ctx):
    told = {method: set(each["responses"]) for method, path, each in operations(ctx.peal) if path == "/hooks/{path}"}
    equal(told["POST"], {"200", "401", "404", "413", "default"})
    equal(told["GET"], {"200", "401", "404", "default"})


def test_a_refused_query_leaves_nothing_done(ctx):
    ctx.peal.post("/v1/triggers?dryrun=true", trigger_body("odd"), expect=422)
    ctx.peal.get("/v1/triggers/odd", expect=404)


def test_a_typo_is_told_what_was_perhaps_meant(ctx):
    answer = ctx.peal.get("/v1/deliveries?stat=parked&chanel=x&colour=red", expect=422)
    told = problems(answer)
    assert 'did you mean "state"?' in told["/stat", "unknown-parameter"]
    assert 'did you mean "channel"?' in told["/chanel", "unknown-parameter"]
    assert "use state trigger channel" in told["/colour", "unknown-parameter"]


def test_a_parameter_stands_once(ctx):
    answer = ctx.peal.get("/v1/deliveries?state=parked&state=pending", expect=422)
    equal(list(problems(answer)), [("/state", "bad-value")])


def test_whatever_the_document_names_is_taken(ctx):
    watcher = make_user(ctx.peal, "operations")
    for method, path, told in operations(ctx.peal):
        if path == "/v1/stream":
            continue  # what it takes opens it, and it has no end: test_stream.py
        for name, schema in parameters(told, "query").items():
            is_across = name == "tenant" and "operations" in told["x-peal-roles"]
            body = told.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example") if path.startswith("/s/") else None
            answer = (watcher if is_across else ctx.peal).request(method, f"{filled(path)}?{name}={value_of(schema)}", body)
            # What lacks another is told that, and nothing else of this one.
            is_taken = answer.status == 422 and {code for place, code in problems(answer) if place == f"/{name}"} <= {"missing"}
            assert answer.status in (200, 404) or is_taken, f"{method} {path}?{name}: {answer.text}"


def test_a_value_outside_its_bounds_is_refused(ctx):
    for method, path, told in operations(ctx.peal):
        for name, schema in parameters(told, "query").items() if (method.upper(), path) not in PAGES else ():
            if schema["type"] == "string" and "maxLength" not in schema:
                bad = "nothing-such"
            else:
                bad = "x" * (schema.get("maxLength", 0) + 1)
            answer = ctx.peal.request(method, f"{filled(path)}?{name}={bad}")
            equal(answer.status, 422, f"{method} {path}?{name}={bad[:20]}")
            equal([place for place, _ in problems(answer)], [f"/{name}"], path)


def complaint(document, path, answer):
    try:
        document.check("GET", path, answer)
    except Drift as drift:
        return str(drift)
    return ""


def test_an_answer_that_is_not_as_the_document_says_is_noticed(ctx):
    """Every answer of every test is held against the document: this shows that it would be seen."""
    make_trigger(ctx.peal)
    document, id = ctx.peal.document(), ingest_one(ctx.peal)
    path, other = f"/v1/deliveries/{id}", "/v1/deliveries"
    good = ctx.peal.get(path, expect=200)
    row, headers = good.json, good.headers
    equal(complaint(document, path, good), "")
    for answer, words in (
            (Response(200, {**row, "colour": "red"}, headers), "/colour is not in the document"),
            (Response(200, {**row, "state": "odd"}, headers), "/state is 'odd', none of"),
            (Response(200, {**row, "id": 7}, headers), "/id is 7, not of type string"),
            (Response(200, {**row, "eventId": "7"}, headers), "/eventId is '7', no uuid"),
            (Response(200, {**row, "dueAt": "noon"}, headers), "/dueAt fits none of 2"),
            (Response(200, {**row, "send": True}, headers), "/send is True, not of type integer"),
            (Response(200, {k: v for k, v in row.items() if k != "waits"}, headers),
             "/waits is missing"),
            (Response(202, row, headers), "the status 202 is not in the document"),
            (Response(404, row, headers), "the content type is 'application/json'"),
            (Response(200, row, {"Content-Type": "text/html"}), "the content type is 'text/html'")):
        assert words in complaint(document, path, answer), (words, complaint(document, path, answer))
    assert "/next is missing" in complaint(document, other, Response(200, {"items": []}, headers))


def schemas_in(value):
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from schemas_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from schemas_in(each)


def test_nothing_is_untyped_by_omission(ctx):
    """What may be any JSON says so; every object says which members it has."""
    document = ctx.peal.get("/openapi.json", expect=200).json
    for name, component in document["components"]["schemas"].items():
        for schema in schemas_in(component):
            if schema.get("type") == "object":
                assert "additionalProperties" in schema, f"{name}: {schema}"
            if schema.keys() <= {"description"} and schema:
                assert "any JSON" in str(schema["description"]), f"{name}: {schema}"
    for method, path, told in operations(ctx.peal):
        for status, response in told["responses"].items():
            for content in response.get("content", {}).values():
                assert content["schema"], f"{method} {path} {status}"
        for content in told.get("requestBody", {}).get("content", {}).values():
            assert content["schema"], f"{method} {path}"


def test_every_post_keeps_its_answer_for_an_idempotency_key(ctx):
    for method, path, told in operations(ctx.peal):
        if path.startswith(("/hooks/", "/s/")):
            continue  # providers send it with other meanings; a stranger must not take a tenant's keys
        if path == "/v1/session":
            continue  # its secret is kept nowhere, and so cannot be given again
        is_look = path.endswith(("/preview", "/test")) and not path.startswith("/v1/channels/")  # with a body
        changes = method == "POST" and not is_look
        equal("Idempotency-Key" in parameters(told, "header"), changes, path)


if __name__ == "__main__":
    main()
