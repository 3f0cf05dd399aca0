"""Secrets: what cannot be signed is not sent, and what was sealed is not shown."""
import base64
import pathlib

from harness import equal, like, main
from steps import delivery, ingest, ingest_one, make_trigger, settle, visit

KEY = "http:out"
SECRET = "whsec_" + base64.b64encode(b"a secret of twenty-four b").decode()


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


if __name__ == "__main__":
    main()
