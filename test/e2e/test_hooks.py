"""W1, W5, W16: sources that webhooks come to, and the way in of a webhook."""
from harness import equal, like, main
from steps import make_tenant


def make_source(peal, id="gh", provider="github", expect=201, **more):
    return peal.post("/v1/sources", {"id": id, "provider": provider, **more}, expect=expect).json


def test_a_source_gets_a_path_and_a_secret_that_is_shown_once(ctx):
    peal = ctx.peal
    made = make_source(peal)
    assert made["url"].startswith("/hooks/t_") and len(made["url"]) > 40, made
    equal(made["url"], "/hooks/" + made["path"])
    equal(len(bytes.fromhex(made["secret"])), 32)
    for shown in (peal.get("/v1/sources/gh", expect=200).json,
                  peal.get("/v1/sources", expect=200).json["items"][0],
                  peal.patch("/v1/sources/gh", {"enabled": False}, expect=200).json,
                  peal.put("/v1/sources/gh", {"provider": "github"}, expect=200).json):
        like(shown, {"url": made["url"], "path": made["path"]})
        equal(shown["secret"], {"set": True, "rotatedAt": made["createdAt"]})
    other = make_source(peal, "gh-2", secret="known to both")
    equal(other["secret"], "known to both")
    assert other["path"] != made["path"]
    assert "known to both" not in peal.get("/v1/sources", expect=200).text
    # The database has it sealed only.
    bodies = ctx.sql("SELECT body FROM definition_version WHERE kind = 'source'")
    assert bodies and not any(word in row[0] for row in bodies for word in ("known to both", made["secret"]))


def test_a_path_may_be_chosen_and_is_one_sources(ctx):
    peal = ctx.peal
    equal(make_source(peal, path="github")["url"], "/hooks/default/github")
    like(make_source(peal, "two", path="github", expect=409), {"code": "conflict"})
    peal.get("/v1/sources/two", expect=404)
    equal(make_source(make_tenant(peal, "acme"), path="github")["url"], "/hooks/acme/github")
    # Given up, it is free again; one that was made stays over whatever is saved.
    peal.patch("/v1/sources/gh", {"path": "elsewhere"}, expect=200)
    make_source(peal, "two", path="github")
    peal.delete("/v1/sources/two", expect=204)
    peal.patch("/v1/sources/gh", {"path": "github"}, expect=200)
    made = peal.put("/v1/sources/gh", {"provider": "github"}, expect=200).json["path"]
    assert made.startswith("t_")
    equal(peal.put("/v1/sources/gh", {"provider": "github", "path": made}, expect=200).json["path"], made)
    for path in ("t_chosen", "a/b", "", "x" * 101, "a b"):
        like(make_source(peal, "bad", path=path, expect=422), {"code": "invalid"})


def test_a_source_keeps_its_provider_and_its_form(ctx):
    peal = ctx.peal
    make_source(peal)
    peal.patch("/v1/sources/gh", {"provider": "linear"}, expect=422)
    make_source(peal, "no", provider="bitbucket", expect=422)
    make_source(peal, "no", secret="", expect=422)
    make_source(peal, "no", secret=7, expect=422)
    make_source(peal, "no", secret={"set": True}, expect=422)
    make_source(peal, "no", secret={"$sealed": "v1.x"}, expect=422)
    for member in ({"path": "x"}, {"secret": "x"}, {"shared": True}, {"integration": "x"}):
        table = {"id": "t", "provider": "table", "config": {"store": "postgres://x/y", "table": "t"}, **member}
        like(peal.post("/v1/sources", table, expect=422).json, {"code": "invalid"})


def test_who_may_write_sources(ctx):
    admin = make_tenant(ctx.peal, "acme")
    author = admin.with_key(admin.post("/v1/keys", {"role": "author"}, expect=201).json["key"])
    reader = admin.with_key(admin.post("/v1/keys", {"role": "read"}, expect=201).json["key"])
    make_source(author)
    like(reader.get("/v1/sources/gh", expect=200).json, {"secret": {"set": True}})
    make_source(reader, "no", expect=403)
    make_source(author, "no", shared=True, expect=403)
    author.patch("/v1/sources/gh", {"shared": True}, expect=403)
    reader.post("/v1/sources/gh/rotate", {}, expect=403)
    author.delete("/v1/sources/gh", expect=204)
    # The system right reaches out of the store, and over tenants.
    make_source(ctx.peal, shared=True)
    author = ctx.peal.with_key(ctx.peal.post("/v1/keys", {"role": "author"}, expect=201).json["key"])
    author.patch("/v1/sources/gh", {"shared": False}, expect=403)
    author.post("/v1/sources/gh/rotate", {}, expect=403)
    author.delete("/v1/sources/gh", expect=403)
    ctx.peal.get("/v1/sources/gh", expect=200)


def test_a_rotated_secret_is_shown_once(ctx):
    peal = ctx.peal
    made = make_source(peal)
    told = peal.post("/v1/sources/gh/rotate", {"overlap": "24h"}, expect=200).json
    assert told["secret"] != made["secret"] and len(bytes.fromhex(told["secret"])) == 32
    like(told, {"id": "gh", "version": 2})
    assert told["previousUntil"] > told["rotatedAt"]
    equal(peal.post("/v1/sources/gh/rotate", {"secret": "mine", "overlap": "0s"}, expect=200).json["secret"], "mine")
    assert told["secret"] not in peal.get("/v1/sources/gh", expect=200).text
    peal.post("/v1/sources/none/rotate", {}, expect=404)


if __name__ == "__main__":
    main()
