"""W6: what a poll is asked with: tokens that are refused, refreshed and had of a broker, and accounts that are held back."""
import hashlib
import hmac
import json
import threading

from harness import equal, eventually, like, main
from linear_peer import Linear
from poll_steps import KEY, fired, group, linear, oauth, short, status, trigger
from steps import advance, moment, tick


def test_another_account_is_another_beginning(ctx):
    peer = linear(ctx)
    ctx.peal.patch("/v1/integrations/acme", {"connectionId": "c1"}, expect=200)
    peer.put(1, moment(hours=-1))
    trigger(ctx.peal)
    tick(ctx.peal)
    peer.put(2, moment(seconds=10))
    advance(ctx.peal, "1m")
    peer.put(3, moment(seconds=70))  # as if it were another account's
    ctx.peal.patch("/v1/integrations/acme", {"connectionId": "c2"}, expect=200)
    tick(ctx.peal)
    equal(short(fired(ctx.peal)), ["2:create"])
    like(group(ctx.peal), {"cursorSetAt": moment(minutes=1), "lastError": "its integration is another account now: a new baseline was taken"})
    peer.put(4, moment(seconds=80))
    advance(ctx.peal, "1m")
    equal(short(fired(ctx.peal)), ["2:create", "4:create"])
    like(group(ctx.peal), {"lastError": None})
    ctx.peal.patch("/v1/integrations/acme", {"connectionId": "c2", "token": {"source": "static", "value": KEY}}, expect=200)
    peer.put(5, moment(seconds=130))
    advance(ctx.peal, "1m")
    equal(short(fired(ctx.peal)), ["2:create", "4:create", "5:create"])


def test_a_refused_token_stops_the_polls_until_it_is_changed(ctx):
    peer = linear(ctx)
    trigger(ctx.peal)
    tick(ctx.peal)
    peer.key = "lin_api_other"
    peer.put(1, moment(seconds=10))
    advance(ctx.peal, "1m")
    like(status(ctx.peal), {"status": "failed"})
    assert "401" in status(ctx.peal)["statusReason"], status(ctx.peal)
    like(group(ctx.peal), {"nextPollAt": None})
    advance(ctx.peal, "1d")
    equal(len(peer.requests), 1)
    ctx.peal.patch("/v1/integrations/acme", {"token": {"source": "static", "value": "lin_api_other"}}, expect=200)
    tick(ctx.peal)
    like(status(ctx.peal), {"status": "active"})
    equal(short(fired(ctx.peal)), ["1:create"])
    like(group(ctx.peal), {"lastError": None})


def test_a_token_is_refreshed_once_and_written_before_it_is_used(ctx):
    giver = ctx.receiver()
    giver.answer_next(200, headers={"Content-Type": "application/json"},
                      body=b'{"access_token":"fresh","refresh_token":"r2","expires_in":3600,"token_type":"Bearer"}')
    peer = linear(ctx, key="fresh", token=oauth(giver.url + "/token"))
    trigger(ctx.peal)
    tick(ctx.peal)
    equal(giver.count(), 1)
    assert b"refresh_token=r1" in giver.received[0].body
    like(group(ctx.peal), {"lastError": None, "cursorSetAt": moment()})
    advance(ctx.peal, "5m")
    equal(giver.count(), 1)
    giver.answer_next(503)
    peer.key = "fresher"
    advance(ctx.peal, "1m")
    assert b"refresh_token=r2" in giver.received[1].body
    like(status(ctx.peal), {"status": "active"})
    giver.answer_next(400, headers={"Content-Type": "application/json"}, body=b'{"error":"invalid_grant"}')
    advance(ctx.peal, "1m")
    like(status(ctx.peal), {"status": "failed"})
    assert "invalid_grant" in status(ctx.peal)["statusReason"], status(ctx.peal)
    assert b"r2" not in str(ctx.peal.get("/v1/integrations", expect=200).json).encode()


def test_a_fresh_token_that_is_refused_too_fails_the_integration(ctx):
    giver = ctx.receiver()
    giver.answer(200, headers={"Content-Type": "application/json"}, body=b'{"access_token":"wrong","token_type":"Bearer"}')
    linear(ctx, key="right", token=oauth(giver.url + "/token"))
    trigger(ctx.peal)
    tick(ctx.peal)
    equal(giver.count(), 1)
    like(status(ctx.peal), {"status": "failed"})


def brokered(ctx, key, **token):
    """Linear, whose token a broker keeps."""
    broker = ctx.receiver()
    peer = Linear(key)
    ctx.closers.append(peer.close)
    ctx.peal.post("/v1/integrations", {"id": "acme", "provider": "linear", "baseUrl": peer.url, "connectionId": "c/1",
                                       "token": {**token, "baseUrl": broker.url}}, expect=201)
    return peer, broker


def gives(broker, body, status=200):
    broker.answer(status, headers={"Content-Type": "application/json"}, body=json.dumps(body).encode())


def nango(token, expires=None):
    return {"connection_id": "c/1", "credentials": {"type": "OAUTH2", "access_token": token, "expires_at": expires}}


def test_nango_is_asked_for_the_token_and_asked_anew(ctx):
    peer, broker = brokered(ctx, "one", source="nango", secretKey="sk-1", providerConfigKey="linear-prod")
    gives(broker, nango("one", moment(hours=1)))
    trigger(ctx.peal)
    tick(ctx.peal)
    equal(broker.received[0].path, "/connections/c%2F1?provider_config_key=linear-prod")
    equal(broker.received[0].headers["authorization"], "Bearer sk-1")
    peer.put(1, moment(seconds=1))
    advance(ctx.peal, "10m")
    equal(short(fired(ctx.peal)), ["1:create"])
    equal(broker.count(), 1)  # it is kept, sealed
    peer.key = "two"
    gives(broker, nango("two", moment(hours=9)))
    advance(ctx.peal, "50m")  # before it expires
    equal(broker.count(), 2)
    assert broker.received[1].path.endswith("&force_refresh=true"), broker.received[1].path
    peer.key = "three"  # taken back ahead of its time
    gives(broker, nango("three"))
    peer.put(2, moment(minutes=61))
    advance(ctx.peal, "2m")
    equal((broker.count(), short(fired(ctx.peal))), (3, ["1:create", "2:create"]))
    equal(peer.wrongs, [])


def test_a_broker_that_has_no_token_fails_the_integration_until_it_is_mended(ctx):
    peer, broker = brokered(ctx, "right", source="composio", apiKey="ck-1")
    gives(broker, {"id": "c/1", "status": "EXPIRED", "state": {"val": {}}})
    trigger(ctx.peal)
    tick(ctx.peal)
    equal((broker.received[0].path, broker.received[0].headers["x-api-key"]), ("/api/v3/connected_accounts/c%2F1", "ck-1"))
    like(status(ctx.peal), {"status": "failed"})
    assert "expired" in status(ctx.peal)["statusReason"], status(ctx.peal)
    like(group(ctx.peal), {"nextPollAt": None})
    advance(ctx.peal, "1d")
    equal((broker.count(), peer.arrived), (1, 0))
    gives(broker, {"id": "c/1", "status": "ACTIVE", "state": {"val": {"access_token": "right"}}})
    ctx.peal.patch("/v1/integrations/acme", {"enabled": False}, expect=200)
    ctx.peal.patch("/v1/integrations/acme", {"enabled": True}, expect=200)
    tick(ctx.peal)
    like(status(ctx.peal), {"status": "active", "statusReason": None})
    like(group(ctx.peal), {"lastError": None, "nextPollAt": moment(days=1, minutes=1)})
    equal(peer.wrongs, [])


def test_a_broker_that_is_away_is_asked_again(ctx):
    peer, broker = brokered(ctx, "right", source="nango", secretKey="sk-1")
    gives(broker, {"error": {"code": "server_error"}}, 503)
    trigger(ctx.peal)
    tick(ctx.peal)
    like(status(ctx.peal), {"status": "active"})
    like(group(ctx.peal), {"backoffUntil": moment(seconds=30)})
    assert "token could be had: the answer was 503" in group(ctx.peal)["lastError"], group(ctx.peal)
    gives(broker, nango("right"))
    advance(ctx.peal, "30s")
    like(group(ctx.peal), {"backoffUntil": None, "lastError": None})
    assert "sk-1" not in ctx.peal.log(1000) and "right" not in str(status(ctx.peal))


def test_polls_stop_and_go_on_by_the_brokers_word(ctx):
    """What a broker tells of the connection counts, whatever was polled last."""
    peer, broker = brokered(ctx, "right", source="nango", secretKey="sk-1")
    gives(broker, nango("right"))
    url = ctx.peal.post("/v1/sources", {"id": "nango", "provider": "nango", "secret": SECRET, "shared": True}, expect=201).json["url"]
    trigger(ctx.peal)
    tick(ctx.peal)
    for operation, success, found in (("refresh", False, "failed"), ("override", True, "active"), ("refresh", False, "failed"), ("refresh", True, "active")):
        asked = peer.arrived
        say(ctx.peal, url, {"from": "nango", "type": "auth", "operation": operation, "connectionId": "c/1", "provider": "linear",
                            "providerConfigKey": "linear", "success": success})
        eventually(lambda: tick(ctx.peal) and status(ctx.peal)["status"] == found)
        advance(ctx.peal, "10m")
        equal(peer.arrived > asked, found == "active", f"{found}: {peer.arrived} requests, {asked} before")
        equal(group(ctx.peal)["nextPollAt"] is None, found != "active")


SECRET = "0123456789abcdef0123456789abcdef"


def say(peal, url, body):
    """Posts as Nango does."""
    data = json.dumps(body).encode()
    mac = hmac.new(SECRET.encode(), data, hashlib.sha256).hexdigest()
    peal.with_key(None).request("POST", url, raw=data, expect=200, headers={"Content-Type": "application/json", "X-Nango-Hmac-Sha256": mac})


def test_a_token_that_is_given_anew_while_one_is_refreshed_is_the_one_that_counts(ctx):
    """The old token's refresh is refused too late: that says nothing of the new one."""
    giver = ctx.receiver()
    peer = linear(ctx, key="new", token=oauth(giver.url + "/token"))
    late = threading.Event()
    giver.answer(400, headers={"Content-Type": "application/json"}, body=b'{"error":"invalid_grant"}', hold=late)
    trigger(ctx.peal)
    ticking = threading.Thread(target=lambda: tick(ctx.peal), daemon=True)
    ticking.start()
    giver.wait_for(1)
    ctx.peal.put("/v1/integrations/acme", {"provider": "linear", "baseUrl": peer.url, "token": {"source": "static", "value": "new"}}, expect=200)
    late.set()
    ticking.join()
    like(status(ctx.peal), {"status": "active"})
    advance(ctx.peal, "1m")
    like(group(ctx.peal), {"lastError": None, "cursorSetAt": moment(minutes=1)})
    equal((giver.count(), peer.wrongs), (1, []))


if __name__ == "__main__":
    main()
