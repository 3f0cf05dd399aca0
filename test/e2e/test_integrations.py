"""W6: integrations are kept, their places are one of a kind, and their secrets are not shown."""
import hashlib
import hmac
import json
import pathlib
import threading

from harness import equal, eventually, like, main
from steps import make_channel, make_tenant, make_user, problems, tick

STATIC = {"source": "static", "value": "lin_api_not-to-be-seen"}
OAUTH = {"source": "oauth", "accessToken": "at-not-to-be-seen", "refreshToken": "rt-not-to-be-seen",
         "clientId": "peal", "clientSecret": "cs-not-to-be-seen", "tokenUrl": "https://id.example/token",
         "expiresAt": "2026-12-01T00:00:00.000Z"}
NANGO = {"source": "nango", "secretKey": "nk-not-to-be-seen"}
COMPOSIO = {"source": "composio", "apiKey": "ck-not-to-be-seen"}


def body(id="acme", **members):
    return {"id": id, "provider": "linear", **members}


def make(peal, id="acme", expect=201, **members):
    return peal.post("/v1/integrations", body(id, **members), expect=expect).json


def show(peal, id="acme"):
    return peal.get(f"/v1/integrations/{id}", expect=200).json


def test_an_integration_is_kept(ctx):
    made = make(ctx.peal, provider="github", connectionId="c-1", installationId="42", token=STATIC,
                baseUrl="https://ghe.example/api")
    like(made, {"id": "acme", "provider": "github", "connectionId": "c-1", "installationId": "42", "enabled": True,
                "baseUrl": "https://ghe.example/api", "status": "active", "statusReason": None, "version": 1})
    equal(show(ctx.peal)["connectionId"], "c-1")
    make(ctx.peal, expect=409)
    like(ctx.peal.patch("/v1/integrations/acme", {"enabled": False}, expect=200).json,
         {"enabled": False, "connectionId": "c-1", "token": {"value": {"set": True}}})
    like(ctx.peal.put("/v1/integrations/acme", body(), expect=200).json, {"provider": "linear", "enabled": True})
    assert "connectionId" not in show(ctx.peal), "a PUT says all of it"
    equal([row["id"] for row in ctx.peal.get("/v1/integrations", expect=200).json["items"]], ["acme"])
    ctx.peal.delete("/v1/integrations/acme", expect=204)
    ctx.peal.get("/v1/integrations/acme", expect=404)
    make(ctx.peal, connectionId="c-1")


def test_what_an_app_calls_an_installation_may_be_a_number(ctx):
    equal(make(ctx.peal, provider="github", installationId=42)["installationId"], "42")
    make(ctx.peal, "other", provider="github", installationId="42", expect=409)


def test_secrets_are_marks(ctx):
    for number, token in enumerate((STATIC, OAUTH, NANGO, COMPOSIO)):
        made = make(ctx.peal, f"i{number}", token=token)
        like(made["token"], {"source": token["source"]})
        secrets = [name for name, value in token.items() if "not-to-be-seen" in value]
        assert secrets and all(made["token"][name]["set"] is True for name in secrets), made
        again = ctx.peal.put(f"/v1/integrations/i{number}", body(f"i{number}", token=made["token"]), expect=200).json
        equal(again["version"], 1, "the marks given back change nothing")
    assert "not-to-be-seen" not in json.dumps(ctx.peal.get("/v1/integrations", expect=200).json)
    stored = str(ctx.sql("SELECT body FROM definition_version"))
    assert "not-to-be-seen" not in stored and "$sealed" in stored, "sealed at rest"
    assert "not-to-be-seen" not in ctx.peal.log(10_000), "and not logged"


def test_secrets_do_not_follow_to_another_host(ctx):
    make(ctx.peal, token=OAUTH, baseUrl="https://api.example")
    for change in ({"baseUrl": "https://evil.example"}, {"baseUrl": None},
                   {"token": {"tokenUrl": "https://evil.example/token"}}, {"provider": "github"}):
        refused = ctx.peal.patch("/v1/integrations/acme", change, expect=422)
        assert ("/token/refreshToken", "secret-moved") in problems(refused), refused.json
    ctx.peal.patch("/v1/integrations/acme", {"token": {"tokenUrl": "https://id.example/v2/token"}}, expect=200)
    ctx.peal.patch("/v1/integrations/acme", {"baseUrl": "https://api.example/v2"}, expect=200)
    make(ctx.peal, "broker", token={**NANGO, "baseUrl": "https://nango.example"})
    refused = ctx.peal.patch("/v1/integrations/broker", {"token": {"baseUrl": "https://evil.example"}}, expect=422)
    assert ("/token/secretKey", "secret-moved") in problems(refused), refused.json


def test_what_is_wrong_is_told_with_its_place(ctx):
    for members, pointer, code in [
            ({"provider": "gitlab"}, "/provider", "bad-value"),
            ({"provider": "table"}, "/provider", "bad-value"),
            ({"connectionId": ""}, "/connectionId", "bad-value"),
            ({"connectionId": "a\nb"}, "/connectionId", "bad-value"),
            ({"connectionId": "x" * 201}, "/connectionId", "too-large"),
            ({"installationId": True}, "/installationId", "bad-type"),
            ({"baseUrl": "ftp://example.org"}, "/baseUrl", "bad-url"),
            ({"token": {"value": "x"}}, "/token/source", "bad-value"),
            ({"token": {"source": "magic"}}, "/token/source", "bad-value"),
            ({"token": {"source": "static"}}, "/token/value", "missing-member"),
            ({"token": {"source": "static", "value": "a\r\nX: y"}}, "/token/value", "bad-value"),
            ({"token": {**NANGO, "value": "x"}}, "/token/value", "unknown-member"),
            ({"token": {**OAUTH, "tokenUrl": "file:///etc/passwd"}}, "/token/tokenUrl", "bad-url"),
            ({"status": "active"}, "/status", "unknown-member")]:
        refused = ctx.peal.post("/v1/integrations", body(**members), expect=422)
        equal(problems(refused), [(pointer, code)], str(members))
    equal(ctx.peal.get("/v1/integrations", expect=200).json["items"], [])


def test_a_place_is_one_integrations_over_all_tenants(ctx):
    make(ctx.peal, connectionId="c-1", installationId="42")
    stranger = make_tenant(ctx.peal, "acme")
    make(stranger, "mine", expect=201)
    for place in ({"connectionId": "c-1"}, {"installationId": "42"}):
        problem = ctx.peal.post("/v1/integrations", body("other", **place), expect=409).json
        assert "another integration has this" in problem["detail"] and "acme" not in json.dumps(problem), problem
        stranger.patch("/v1/integrations/mine", place, expect=403)
    ctx.peal.delete("/v1/integrations/acme", expect=204)
    make(ctx.peal, "other", connectionId="c-1", installationId="42")


def test_a_place_takes_the_system_right(ctx):
    author = make_user(ctx.peal, "author")
    for place in ({"connectionId": "c-1"}, {"installationId": "42"}):
        make(author, expect=403, **place)
    make(author)
    author.patch("/v1/integrations/acme", {"connectionId": "c-1"}, expect=403)
    ctx.peal.patch("/v1/integrations/acme", {"connectionId": "c-1"}, expect=200)
    shown = author.get("/v1/integrations/acme", expect=200).json
    author.patch("/v1/integrations/acme", {"enabled": False}, expect=200)
    equal(author.put("/v1/integrations/acme", body(connectionId=shown["connectionId"]), expect=200).json["connectionId"],
          "c-1", "what it has already may be said again")
    author.patch("/v1/integrations/acme", {"connectionId": None}, expect=200)
    author.patch("/v1/integrations/acme", {"connectionId": "c-1"}, expect=403)
    make_user(ctx.peal, "read").get("/v1/integrations/acme", expect=200)
    make_user(ctx.peal, "read").delete("/v1/integrations/acme", expect=403)
    make_user(ctx.peal, "ingest").get("/v1/integrations/acme", expect=403)


def test_of_two_who_want_a_place_at_once_one_gets_it(ctx):
    peal, statuses = ctx.peal, []

    def want(id):
        statuses.append(peal.post("/v1/integrations", body(id, connectionId="c-1")).status)

    threads = [threading.Thread(target=want, args=(f"i{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(sorted(statuses), [201] + [409] * 5)
    equal(len(ctx.peal.get("/v1/integrations", expect=200).json["items"]), 1)


def test_integrations_are_their_tenants(ctx):
    make(ctx.peal, token=STATIC)
    stranger = make_tenant(ctx.peal, "acme")
    stranger.get("/v1/integrations/acme", expect=404)
    stranger.patch("/v1/integrations/acme", {"enabled": False}, expect=404)
    stranger.delete("/v1/integrations/acme", expect=404)
    equal(stranger.get("/v1/integrations", expect=200).json["items"], [])


def test_without_its_key_a_token_is_not_used_and_says_so(ctx):
    peal = ctx.peal
    make(peal, token=STATIC)
    make(peal, "bare")
    assert "warnings" not in show(peal)
    sqlite = ctx.store == "sqlite"
    key = pathlib.Path(ctx.store_url.removeprefix("sqlite:") + ".key") if sqlite else \
        ctx.folder / ".local/state/peal/master.key"
    peal.stop()
    kept = key.rename(ctx.folder / "kept.key")
    peal.start()
    for shown in (show(peal), peal.get("/v1/integrations", expect=200).json["items"][0]):
        assert "cannot be opened with this master key" in shown["warnings"][0], shown
        like(shown, {"status": "active", "token": {"value": {"set": True}}})
    assert "warnings" not in show(peal, "bare")
    peal.stop()
    kept.rename(key)
    peal.start()
    assert "warnings" not in show(peal)


# Whose an event is, and what providers say of an integration

SECRET = "between the provider and us"
ISSUE = {"action": "opened", "issue": {"id": 1, "number": 7, "title": "It is broken", "labels": []},
         "repository": {"id": 2, "full_name": "octo/hello"}}


def make_source(peal, id, provider, **members):
    return peal.post("/v1/sources", {"id": id, "provider": provider, "secret": SECRET, **members},
                     expect=201).json["url"]


def send(peal, url, body, **headers):
    """Posts as a provider does, and returns what became of it once it was drained."""
    data = json.dumps(body).encode()
    mac = hmac.new(SECRET.encode(), data, hashlib.sha256).hexdigest()
    signed = {"X-Hub-Signature-256": f"sha256={mac}", "X-Nango-Hmac-Sha256": mac,
              "X-GitHub-Delivery": "72d3162e-cc78", **headers}
    id = peal.with_key(None).request("POST", url, raw=data, expect=200,
                                     headers={"Content-Type": "application/json", **signed}).json["id"]

    def drained():
        tick(peal)
        row = peal.get(f"/v1/inbox/{id}", expect=200).json
        return row if row["status"] not in ("pending", "processing") else None

    return eventually(drained)


def github(peal, url, event, body, **members):
    return send(peal, url, {**body, **members}, **{"X-GitHub-Event": event})


def installation(peal, url, action, id=41):
    return github(peal, url, "installation", {"action": action}, installation={"id": id})


def forward(connection, payload=None):
    return {"from": "github", "type": "forward", "providerConfigKey": "github", "connectionId": connection,
            "payload": payload or ISSUE}


def auth(connection, operation="creation", success=True, **members):
    return {"from": "nango", "type": "auth", "operation": operation, "connectionId": connection, "provider": "github",
            "providerConfigKey": "github", "success": success, **members}


def topics(peal):
    return [row["topic"] for row in peal.get("/v1/events", expect=200).json["items"]]


def test_a_source_of_an_integration_that_is_not_there_is_warned_of(ctx):
    body = {"id": "gh", "provider": "github", "integration": "acme"}
    equal(ctx.peal.post("/v1/sources", body, expect=201).json["warnings"], ["integration acme does not exist yet"])
    make(ctx.peal)
    assert "warnings" not in ctx.peal.put("/v1/sources/gh", {**body, "enabled": False}, expect=200).json
    assert "warnings" not in ctx.peal.post("/v1/sources", {"id": "other", "provider": "github"}, expect=201).json


def test_an_app_says_what_became_of_its_installation(ctx):
    peal = ctx.peal
    make(peal, provider="github", installationId="41")
    url = make_source(peal, "gh", "github")
    for action, status in (("suspend", "suspended"), ("unsuspend", "active"), ("deleted", "revoked")):
        like(installation(peal, url, action), {"status": "completed", "reason": "no-event"})
        shown = show(peal)
        equal(shown["status"], status)
        equal(shown["statusReason"] is None, status == "active", str(shown))
    like(installation(peal, url, "suspend", id=77), {"status": "completed", "reason": "no-connection"})

    def told():
        tick(peal)
        rows = peal.get("/v1/audit?limit=100", expect=200).json["items"]
        return [row["detail"]["text"] for row in reversed(rows) if row["kind"] == "Integration.Changed"]

    eventually(lambda: told() == ["acme/suspended", "acme/active", "acme/revoked"])


def test_events_of_a_suspended_integration_are_not_taken(ctx):
    peal = ctx.peal
    make(peal, provider="github", installationId="41")
    url = make_source(peal, "gh", "github", integration="acme")
    github(peal, url, "issues", ISSUE, installation={"id": 41})
    equal(topics(peal), ["acme"])
    installation(peal, url, "suspend")
    row = github(peal, url, "issues", ISSUE, installation={"id": 41})
    like(row, {"status": "completed", "reason": "no-connection", "error": "integration acme is suspended"})
    equal(topics(peal), ["acme"])
    installation(peal, url, "unsuspend")
    peal.post(f"/v1/inbox/{row['id']}/reprocess", expect=200)
    tick(peal)
    eventually(lambda: topics(peal) == ["acme", "acme"])


def test_an_installation_that_nobody_bound_is_the_sources_own(ctx):
    peal = ctx.peal
    url = make_source(peal, "gh", "github", integration="acme")
    github(peal, url, "issues", ISSUE, installation={"id": 99})
    equal(topics(peal), ["acme"])


def test_what_nango_forwards_is_led_by_its_connection(ctx):
    peal, other = ctx.peal, make_tenant(ctx.peal, "other")
    make(peal, provider="github", connectionId="c-1")
    make(other, "theirs", provider="github")
    shared = make_source(peal, "nango", "nango", shared=True)
    own = make_source(other, "mine", "nango")
    send(peal, shared, forward("c-1"), **{"X-GitHub-Event": "issues"})
    equal(topics(peal), ["acme"])
    like(send(peal, shared, forward("c-9"), **{"X-GitHub-Event": "issues"}),
         {"status": "completed", "reason": "no-connection"})
    for odd in ("c-1\u0000", "c-1\n", "\ud7ff" * 100, "' OR 1=1 --"):
        row = send(peal, shared, forward(odd), **{"X-GitHub-Event": "issues"})
        assert row["reason"] in ("no-connection", "unparsable"), row
    # Whoever has a source of his own reaches nobody else's.
    stranger = Stranger(other, peal)
    like(send(stranger, own, forward("c-1"), **{"X-GitHub-Event": "issues"}), {"reason": "no-connection"})
    like(send(stranger, own, auth("c-1", "refresh", False)), {"reason": "no-connection"})
    like(send(stranger, own, auth("c-5", tags={"tenant": "other", "integration": "theirs"})),
         {"reason": "no-connection"})
    equal((topics(peal), topics(other)), (["acme"], []))
    equal(show(peal)["status"], "active")


class Stranger:
    """A tenant's admin, with the clock of whoever may move it."""

    def __init__(self, admin, system):
        self.admin, self.system = admin, system

    def __getattr__(self, name):
        return getattr(self.admin, name)

    def post(self, path, *rest, **members):
        return (self.system if path == "/v1/tick" else self.admin).post(path, *rest, **members)


def test_a_shared_source_binds_a_connection_that_was_made(ctx):
    peal, other = ctx.peal, make_tenant(ctx.peal, "other")
    make(other, "theirs", provider="github")
    shared = make_source(peal, "nango", "nango", shared=True)
    like(send(peal, shared, auth("c-7", tags={"tenant": "other", "integration": "theirs"})), {"reason": "no-event"})
    equal(show(other, "theirs")["connectionId"], "c-7")
    send(peal, shared, forward("c-7"), **{"X-GitHub-Event": "issues"})
    equal((topics(peal), topics(other)), ([], ["theirs"]))
    send(peal, shared, auth("c-7", "refresh", False, error={"type": "refresh", "description": "the grant is gone"}))
    like(show(other, "theirs"), {"status": "failed", "statusReason": "the grant is gone"})
    send(peal, shared, auth("c-7", "override"))
    like(show(other, "theirs"), {"status": "active", "statusReason": None})
    make(peal, "second", connectionId="c-7", expect=409)
    # What its broker gave it stays, whatever is saved of the rest.
    other.patch("/v1/integrations/theirs", {"enabled": False}, expect=200)
    equal(other.put("/v1/integrations/theirs", body("theirs", provider="github"), expect=200).json["connectionId"], "c-7")
    like(send(peal, shared, {"from": "nango", "type": "sync", "connectionId": "c-7", "success": True}),
         {"status": "completed", "reason": "no-event", "error": "sync"})


def test_what_went_to_another_tenant_is_not_there_twice_when_it_is_processed_again(ctx):
    peal, other = ctx.peal, make_tenant(ctx.peal, "other")
    make(peal, provider="github", connectionId="c-0")
    make(other, "theirs", provider="github")
    shared = make_source(peal, "nango", "nango", shared=True)
    send(peal, shared, auth("c-7", tags={"tenant": "other", "integration": "theirs"}))
    make_channel(other, "memory:theirs")
    other.post("/v1/triggers", {"id": "t", "provider": "github", "type": "issues", "channel": "memory:theirs"}, expect=201)
    row = send(peal, shared, forward("c-7"), **{"X-GitHub-Event": "issues"})
    for _ in range(2):
        like(row, {"status": "completed", "reason": None})
        equal((topics(peal), topics(other)), ([], ["theirs"]))
        equal(len(other.get("/v1/deliveries", expect=200).json["items"]), 1)
        peal.post(f"/v1/inbox/{row['id']}/reprocess", expect=200)
        tick(peal)
        row = peal.get(f"/v1/inbox/{row['id']}", expect=200).json


def test_the_command_line_keeps_integrations(ctx):
    file = ctx.write("acme.json", json.dumps(body(token=STATIC)))
    equal(ctx.peal.cli("integrations", "create", "-f", file).code, 0)
    listed = ctx.peal.cli("integrations").out
    assert "acme" in listed and "active" in listed and "not-to-be-seen" not in listed, listed
    assert "linear" in ctx.peal.cli("integrations", "show", "acme").out
    equal(ctx.peal.cli("integrations", "set", "acme", "enabled=false").code, 0)
    equal(ctx.peal.cli("integrations", "delete", "acme").code, 0)
    equal(ctx.peal.cli("integrations", "show", "acme").code, 3)


if __name__ == "__main__":
    main()
