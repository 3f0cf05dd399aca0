"""Secrets: what cannot be signed is not sent, and what was sealed is not shown."""
import base64
import functools
import pathlib
import re

from harness import equal, eventually, like, main, only, run_peal
from steps import (deliveries, delivery, ingest, ingest_one, make_tenant, make_trigger, make_user,
                   problems, settle, visit)

KEY = "http:out"
SECRET = "whsec_" + base64.b64encode(b"a secret of twenty-four b").decode()
WAITS = f"channel {KEY} waits: its secret cannot be opened with this master key"
FOREIGN = "the master key of this node is not this database's"


def make_channel(peal, receiver, **config):
    body = {"key": KEY, "type": "http",
            "config": {"url": receiver.url, "signingSecret": SECRET, **config}}
    made = peal.post("/v1/channels", body, expect=201).json
    make_trigger(peal, channel=KEY)
    return made


def key_file(ctx, home=None):
    if ctx.store == "sqlite":
        return pathlib.Path(ctx.store_url.removeprefix("sqlite:") + ".key")
    return (home or ctx.folder) / ".local/state/peal/master.key"


# A master key that is not the database's (H5)


def test_without_its_key_a_channel_waits_and_spends_nothing(ctx):
    receiver, peal = ctx.receiver(), ctx.peal
    make_channel(peal, receiver)
    peal.stop()
    kept = key_file(ctx).rename(ctx.folder / "kept.key")
    peal.start()
    make_trigger(peal, "other", eventKind="other")
    waiting = ingest_one(peal)
    equal(ingest(peal, visit(), kind="other")["created"], 1)
    settle(peal)
    equal(len(deliveries(peal, "&state=delivered")), 1, "the other channel goes on")
    equal(receiver.received, [])
    like(delivery(peal, waiting), {"state": "pending", "attemptCount": 0})
    peal.stop()
    kept.rename(key_file(ctx))
    peal.start()
    settle(peal)
    request = receiver.wait_for(1)[0]
    assert request.headers["webhook-signature"], "it is signed, or it is not sent"
    like(delivery(peal, waiting), {"state": "delivered", "attemptCount": 1})


def lose_key(ctx):
    """A node with a channel that has a secret, started again without its master key."""
    peal = ctx.peal
    make_channel(peal, ctx.receiver())
    peal.stop()
    key_file(ctx).rename(ctx.folder / "kept.key")
    peal.start()
    return peal


def test_a_lost_key_is_told_and_none_is_made(ctx):
    peal = lose_key(ctx)
    assert not key_file(ctx).exists(), "a new key would hide that the old one is lost"
    assert peal.process.out.wait_for("the master key is not this database's", seconds=5)
    for line in ("event=key.foreign", re.escape(WAITS)):
        assert peal.process.err.wait_for(line, seconds=5), peal.log()
    id = ingest_one(peal)
    equal(delivery(peal, id)["waits"], WAITS)
    equal(peal.get(f"/v1/channels/{KEY}", expect=200).json["warnings"], [WAITS])
    like(peal.get("/readyz", expect=200).json, {"status": "ready", "reasons": [FOREIGN, WAITS]})
    anyone = peal.with_key(None).get("/readyz", expect=200).json["reasons"]
    equal(anyone, [FOREIGN, "channels whose secret cannot be opened with this master key wait: 1"])
    stranger = make_tenant(peal, "other").get("/readyz", expect=200).json["reasons"]
    equal(stranger, [FOREIGN])
    found = run_peal("doctor", "--store", ctx.store_url, env={"HOME": str(ctx.folder)})
    equal(found.code, 1, found.out)
    assert "FAIL  master key: there is none" in found.out and f"FAIL  {WAITS}" in found.out, found


def test_a_node_with_a_foreign_key_seals_nothing(ctx):
    peal = lose_key(ctx)
    body = {"key": KEY, "type": "http", "config": {"url": "http://127.0.0.1:9/"}}
    given = {**body, "config": {**body["config"], "signingSecret": SECRET}}
    equal(peal.put(f"/v1/channels/{KEY}", given).status, 409)
    answer = peal.put(f"/v1/channels/{KEY}", body)
    equal((answer.status, answer.json["errors"][0]["code"]), (422, "no-secret"))
    peal.post("/v1/channels", {**body, "key": "http:plain"}, expect=201)  # it has nothing to seal


def test_a_new_key_is_taken_when_it_is_said_so(ctx):
    peal = lose_key(ctx)
    receiver = ctx.receiver()
    id = ingest_one(peal)
    peal.stop()
    peal.args.append("--new-master-key")
    peal.start()
    assert key_file(ctx).exists()
    like(peal.get("/readyz").json, {"reasons": [WAITS]})
    config = {"url": receiver.url, "signingSecret": SECRET}
    peal.put(f"/v1/channels/{KEY}", {"type": "http", "config": config}, expect=200)
    settle(peal)
    assert receiver.wait_for(1)[0].headers["webhook-signature"]
    equal(delivery(peal, id)["waits"], None)
    peal.args.remove("--new-master-key")
    peal.restart()
    equal(peal.get("/readyz").json["reasons"], [])


@only("postgres")
def test_two_nodes_with_keys_of_their_own_never_send_unsigned(ctx):
    """By default each node's key lies in its own home."""
    homes = [ctx.folder / name for name in ("a", "b")]
    nodes = []
    for home in homes:
        home.mkdir()
        nodes.append(ctx.start(clock="system", env={"HOME": str(home)}))
    receiver = ctx.receiver()
    make_channel(nodes[0], receiver)
    assert not key_file(ctx, homes[1]).exists()
    ids = [ingest_one(node) for node in nodes * 3]
    sent = receiver.wait_for(len(ids))
    assert all(one.headers["webhook-signature"] for one in sent), "each is signed"
    eventually(lambda: all(delivery(nodes[0], id)["state"] == "delivered" for id in ids))
    equal([delivery(nodes[0], id)["attemptCount"] for id in ids], [1] * len(ids))


# Secrets stay where they were given for (M4)


def replace(peal, url, type="http", **config):
    return peal.put(f"/v1/channels/{KEY}", {"type": type, "config": {"url": url, **config}})


def test_secrets_do_not_follow_to_another_host(ctx):
    receiver, other = ctx.receiver(), ctx.receiver()  # another port
    make_channel(ctx.peal, receiver, authorization="Bearer TOPSECRET", headers={"X-Key": "hush"})
    author = make_user(ctx.peal, "author")
    answer = replace(author, other.url)
    equal((answer.status, answer.json["code"]), (422, "channel-invalid"))
    equal(sorted(problems(answer)), [("/config/authorization", "secret-moved"),
                                     ("/config/signingSecret", "secret-moved")])
    mark = {"set": True}
    answer = replace(author, other.url, signingSecret=SECRET, authorization=None,
                     headers={"X-Key": mark})
    equal(problems(answer), [("/config/headers/X-Key", "secret-moved")])
    for url in (receiver.url.replace("http:", "https:"), receiver.url.replace("127.", "localhost."),
                other.url + "/in?" + receiver.url):
        equal(replace(author, url).status, 422, url)
    equal(replace(author, other.url, signingSecret=SECRET, authorization=None).status, 200)
    ingest_one(ctx.peal)
    settle(ctx.peal)
    sent = other.wait_for(1)[0].headers
    equal((sent["authorization"], sent["x-key"]), (None, None))
    assert sent["webhook-signature"], "what was given anew is used"


def test_secrets_stay_while_the_host_does(ctx):
    receiver = ctx.receiver()
    make_channel(ctx.peal, receiver, authorization="Bearer TOPSECRET", headers={"X-Key": "hush"})
    equal(replace(ctx.peal, receiver.url + "/elsewhere", headers={"X-Key": {"set": True}}).status,
          200)
    ingest_one(ctx.peal)
    settle(ctx.peal)
    request = receiver.wait_for(1)[0]
    equal((request.path, request.headers["authorization"], request.headers["x-key"]),
          ("/elsewhere", "Bearer TOPSECRET", "hush"))


# What a channel shows (M5)


def test_headers_are_sealed(ctx):
    receiver = ctx.receiver()
    made = make_channel(ctx.peal, receiver, headers={"X-Api-Key": "k-5521", "X-Team": "csi-team"})
    shown = ctx.peal.get(f"/v1/channels/{KEY}", expect=200)
    for answer in (made, shown.json):
        equal({name: value["set"] for name, value in answer["config"]["headers"].items()},
              {"X-Api-Key": True, "X-Team": True})
    ctx.peal.put(f"/v1/channels/{KEY}", {"type": "http", "config": {
        **shown.json["config"], "headers": {"X-Api-Key": "k-5521", "X-Team": {"set": True}}}},
        expect=200)
    equal(ctx.peal.get(f"/v1/channels/{KEY}").json["version"], 1, "the same again is no change")
    ingest_one(ctx.peal)
    settle(ctx.peal)
    sent = receiver.wait_for(1)[0].headers
    equal((sent["x-api-key"], sent["x-team"]), ("k-5521", "csi-team"))
    replace(ctx.peal, receiver.url, headers={"X-Team": {"set": True}})
    ingest_one(ctx.peal)
    settle(ctx.peal)
    sent = receiver.wait_for(2)[1].headers
    equal((sent["x-api-key"], sent["x-team"]), (None, "csi-team"), "a header left out is gone")
    if ctx.store == "sqlite":
        ctx.peal.stop()
        stored = b"".join(path.read_bytes() for path in ctx.folder.glob("*.db*"))
        assert b"k-5521" not in stored and b"csi-team" not in stored


def test_a_patch_leaves_secrets_alone_unless_it_names_them(ctx):
    receiver, peal = ctx.receiver(), ctx.peal
    made = make_channel(peal, receiver, headers={"X-Team": "csi", "X-Old": "1"}, authorization="Bearer x")
    patch = functools.partial(peal.patch, f"/v1/channels/{KEY}")
    mark = made["config"]["signingSecret"]
    kept = patch({"timeout": "5s", "config": {"method": "PUT"}}, expect=200).json
    equal(kept["config"], {**made["config"], "method": "PUT"})
    given_back = patch({"config": {"signingSecret": mark}}, expect=200).json
    equal((given_back["version"], given_back["config"]["signingSecret"]), (kept["version"], mark))
    changed = patch({"config": {"authorization": None, "headers": {"X-Old": None, "X-New": "n"}}},
                    expect=200).json
    assert "authorization" not in changed["config"], changed
    equal(sorted(changed["config"]["headers"]), ["X-New", "X-Team"])
    ingest_one(peal)
    settle(peal)
    request = receiver.wait_for(1)[0]
    like(dict(request.headers.items()), {"X-Team": "csi", "X-New": "n"})
    assert request.headers["webhook-signature"] and not request.headers["authorization"]
    removed = patch({"config": {"signingSecret": None, "headers": None}}, expect=200).json
    equal(removed["config"], {"url": receiver.url, "method": "PUT"})


def test_a_patch_does_not_take_secrets_to_another_host(ctx):
    receiver, other, peal = ctx.receiver(), ctx.receiver(), ctx.peal
    make_channel(peal, receiver, headers={"X-Team": "csi"})
    patch = functools.partial(peal.patch, f"/v1/channels/{KEY}")
    moved = patch({"config": {"url": other.url}}, expect=422)
    equal([(path, code) for path, code in problems(moved)],
          [("/config/headers/X-Team", "secret-moved"), ("/config/signingSecret", "secret-moved")])
    given = patch({"config": {"url": other.url, "signingSecret": SECRET, "headers": None}}, expect=200)
    equal(given.json["config"]["url"], other.url)
    forged = patch({"config": {"signingSecret": {"$sealed": "x"}}}, expect=422)
    equal([path for path, _ in problems(forged)], ["/config/signingSecret"])


def test_what_only_peal_writes_is_refused(ctx):
    for config in ({"headers": {"X": {"$sealed": "v1.0.0"}}}, {"authorization": {"$sealed": "x"}},
                   {"headers": {"X": {"set": True}}}, {"headers": {"X": {"set": False}}}):
        body = {"key": KEY, "type": "http", "config": {"url": "http://127.0.0.1:9/", **config}}
        equal(ctx.peal.post("/v1/channels", body).status, 422, str(config))


def test_the_query_of_a_url_is_for_those_who_may_edit_it(ctx):
    url = "https://hooks.example/in?token=t0ps3cret#x"
    ctx.peal.post("/v1/channels", {"key": KEY, "type": "http", "config": {"url": url}}, expect=201)
    for role in ("admin", "author", "read", "operator"):
        who = make_user(ctx.peal, role)
        shown = who.get(f"/v1/channels/{KEY}", expect=200).json["config"]["url"]
        listed = who.get("/v1/channels", expect=200).text
        equal(shown, url if role in ("admin", "author") else "https://hooks.example/in?…", role)
        equal("t0ps3cret" in listed, role in ("admin", "author"), role)


if __name__ == "__main__":
    main()
