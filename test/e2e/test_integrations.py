"""W6: integrations are kept, their places are one of a kind, and their secrets are not shown."""
import json
import pathlib
import threading

from harness import equal, like, main
from steps import make_tenant, make_user, problems

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
