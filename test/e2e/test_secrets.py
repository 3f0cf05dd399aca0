"""Secrets: what cannot be signed is not sent, and what was sealed is not shown."""
import base64
import pathlib

from harness import equal, eventually, like, main, only, run_peal
from steps import (delivery, ingest, ingest_one, make_tenant, make_trigger, settle, visit)

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
    equal(settle(peal)["delivered"], 1, "the other channel goes on")
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
    assert "event=key.foreign" in peal.log() and WAITS in peal.log(), peal.log()
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


if __name__ == "__main__":
    main()
