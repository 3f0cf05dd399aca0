"""W1 to W15 together: webhooks, polls, brokers, integrations, triggers, workers and the stream, where they meet."""
import base64
import datetime
import hashlib
import hmac
import json

import poll_steps as polls
from harness import equal, eventually, like, main
from sse import Stream
from steps import advance, clock, deliveries, make_tenant, make_user, moment, settle, tick
from test_inbox import explain, issue, row, rows
from test_integrations import Stranger, auth, forward, github, installation, make, make_source, send, show
from test_trigger_events import claim, events, make_automation, make_feed, make_worker, one

SECRET = "between the provider and us"  # of every source here, as make_source has it


def bugs(peal, id="bugs", **members):
    """A trigger of opened issues that runs the automation."""
    return make_feed(peal, id, provider="github", type="issues", config={"actions": ["opened"]}, **members)


def reprocess(peal, id):
    peal.post(f"/v1/inbox/{id}/reprocess", expect=200)
    tick(peal)
    return row(peal, id)


def keys(peal, id="bugs"):
    """What a trigger ran for, newest first."""
    return [found["dedupKey"] for found in events(peal, id) if found["deliveryId"]]


def all_events(peal):
    return peal.get("/v1/events", expect=200).json["items"]


def test_a_trigger_of_an_integration_hears_of_that_one_alone(ctx):
    peal = ctx.peal
    make_automation(peal)
    for id in ("acme-gh", "other-gh"):
        make(peal, id, provider="github")
    bugs(peal, integration="acme-gh")
    ours, theirs, nobodys = (make_source(peal, id, "github", **members) for id, members in (
        ("ours", {"integration": "acme-gh"}), ("theirs", {"integration": "other-gh"}), ("nobodys", {})))
    for url in (theirs, nobodys):
        missed = github(peal, url, "issues", issue())
        like(missed, {"status": "completed", "reason": "no-trigger"})
        [decision] = explain(peal, missed["id"])["decisions"]
        like(decision, {"triggerId": "bugs", "outcome": "filtered", "path": "/integration"})
    equal(deliveries(peal), [])
    taken = github(peal, ours, "issues", issue())
    like(taken, {"status": "completed", "reason": None})
    settle(peal)
    [run] = deliveries(peal)
    like(run, {"eventId": taken["id"], "triggerId": "bugs", "state": "delivered"})
    equal(keys(peal), ["github:1:opened"])
    # What is another integration's is no trigger event of its own, not even a skipped one.
    shown = peal.get("/v1/triggers/bugs", expect=200).json["recentEvents"]
    equal([[row["eventId"] for row in found] for found in (events(peal, "bugs"), shown)], [[taken["id"]]] * 2)


def test_a_shared_source_runs_what_is_anothers_there_and_nothing_here(ctx):
    peal, other = ctx.peal, make_tenant(ctx.peal, "other")
    for tenant, id in ((peal, "ours"), (other, "theirs")):
        make(tenant, id, provider="github")
        make_automation(tenant)
        bugs(tenant)
    shared = make_source(peal, "nango", "nango", shared=True)
    send(peal, shared, auth("c-7", tags={"tenant": "other", "integration": "theirs"}))
    equal(show(other, "theirs")["connectionId"], "c-7")
    opened = {"X-GitHub-Event": "issues"}
    came = send(peal, shared, forward("c-7", issue()), **opened)
    like(came, {"source": "nango", "status": "completed", "reason": None,
                "error": "its events are of another tenant's integration: theirs of tenant other"})
    # Who reads the source's tenant alone is told no name.
    reader = make_user(peal, "read")
    for seen in (row(reader, came["id"]), rows(reader)[0], explain(reader, came["id"])["inbox"]):
        equal(seen["error"], "its events are of another tenant's integration")
    settle(peal)
    [event] = all_events(other)
    like(event, {"kind": "github.issues", "topic": "theirs"})
    [run] = deliveries(other)
    like(run, {"eventId": event["id"], "triggerId": "bugs", "state": "delivered"})
    equal(keys(other), ["github:1:opened"])
    # The row is the source's; what it became is theirs, and neither sees the other's.
    equal((all_events(peal), deliveries(peal), keys(peal), rows(other)), ([], [], [], []))
    other.get(f"/v1/inbox/{came['id']}", expect=404)
    peal.get(f"/v1/events/{event['id']}", expect=404)
    told = explain(peal, came["id"])
    like(told, {"decisions": [], "inbox": {"id": came["id"], "status": "completed"}})
    assert "of another tenant's integration: theirs of tenant other" in told["note"], told
    assert "tenant other" not in explain(reader, came["id"])["note"]
    unknown = send(peal, shared, forward("c-9", issue(2)), **opened)
    like(unknown, {"status": "completed", "reason": "no-connection"})
    # What is not shared reaches its own tenant only, whatever it names.
    stranger = make_tenant(peal, "stranger")
    own = make_source(stranger, "mine", "nango")
    like(send(Stranger(stranger, peal), own, forward("c-7", issue(3)), **opened),
         {"status": "completed", "reason": "no-connection"})
    equal((keys(other), all_events(peal), all_events(stranger)), (["github:1:opened"], [], []))


def test_a_connection_that_is_bound_later_has_what_came_before(ctx):
    peal, other = ctx.peal, make_tenant(ctx.peal, "other")
    make(other, "theirs", provider="github")
    make_automation(other)
    bugs(other)
    shared = make_source(peal, "nango", "nango", shared=True)
    early = send(peal, shared, forward("c-7", issue()), **{"X-GitHub-Event": "issues"})
    like(early, {"reason": "no-connection"})
    send(peal, shared, auth("c-7", tags={"tenant": "other", "integration": "theirs"}))
    for _ in range(2):
        like(reprocess(peal, early["id"]), {"status": "completed", "reason": None})
        equal((keys(other), len(all_events(other)), all_events(peal)), (["github:1:opened"], 1, []))


def linear_hook(peal, url, issue, action):
    """Sends what Linear does of an issue, now by the clock."""
    now = int(datetime.datetime.fromisoformat(clock(peal).replace("Z", "+00:00")).timestamp() * 1000)
    data = {**issue, "labels": issue["labels"]["nodes"]}
    body = json.dumps({"action": action, "type": "Issue", "data": data, "url": issue["url"],
                       "createdAt": issue["updatedAt"], "webhookTimestamp": now}).encode()
    signature = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    id = peal.with_key(None).request("POST", url, raw=body, expect=200, headers={
        "Content-Type": "application/json", "Linear-Signature": signature, "Linear-Event": "Issue"}).json["id"]
    tick(peal)
    return row(peal, id)


def test_an_issue_of_linear_by_both_ways_is_one_run(ctx):
    """Once the webhook comes first, once the poll."""
    peal = ctx.peal
    peer = polls.linear(ctx)
    peer.put(1, moment(hours=-1))
    make_automation(peal)
    make_feed(peal, "bugs", provider="linear", type="issue", integration="acme", way="polling")
    url = make_source(peal, "lin", "linear", integration="acme")
    tick(peal)
    changed = peer.issues[peer.put(1, moment(seconds=10), created=moment(hours=-1))]
    like(linear_hook(peal, url, changed, "update"), {"status": "completed", "reason": None})
    updates = [f"linear:{changed['id']}:update:{moment(seconds=10)}"]
    equal(keys(peal), updates)
    advance(peal, "1m")
    equal((keys(peal), len(deliveries(peal))), (updates, 1))
    changed = peer.issues[peer.put(1, moment(seconds=70), created=moment(hours=-1))]
    made = peer.issues[peer.put(2, moment(seconds=80))]
    advance(peal, "1m")
    equal(len(keys(peal)), 3)
    linear_hook(peal, url, changed, "update")
    linear_hook(peal, url, made, "create")
    equal(keys(peal)[:2], [f"linear:{made['id']}:create", f"linear:{changed['id']}:update:{moment(seconds=70)}"])
    equal(len(deliveries(peal)), 3)
    equal({event["source"] for event in all_events(peal)}, {"lin", "poll"})
    equal(peer.wrongs, [])


def push(peal, url, token=SECRET, expect=200):
    """Sends what Cloud Pub/Sub does when a mailbox changed."""
    data = base64.b64encode(json.dumps({"emailAddress": "me@example.com", "historyId": 1007}).encode()).decode()
    return peal.with_key(None).post(f"{url}?token={token.replace(' ', '+')}", {
        "message": {"data": data, "messageId": "2070443601311540", "publishTime": moment()},
        "subscription": "projects/p/subscriptions/s"}, expect=expect).json


def test_a_push_of_gmail_has_the_mail_run_at_once(ctx):
    peal = ctx.peal
    peer = polls.gmail(ctx)
    make_automation(peal)
    make_feed(peal, "mails", provider="gmail", type="message", integration="box", interval="1d", way="polling")
    url = make_source(peal, "push", "gmail", integration="box")
    tick(peal)
    like(polls.group(peal), {"lastPolledAt": moment(), "nextPollAt": moment(days=1)})
    peer.add("a1", polls.ms(), subject="The answer")
    push(peal, url, token="somebody else", expect=401)
    tick(peal)
    equal(keys(peal, "mails"), [])
    id = push(peal, url)["id"]
    tick(peal)
    like(row(peal, id), {"status": "completed", "reason": "no-event"})
    eventually(lambda: tick(peal) and keys(peal, "mails") == ["gmail:a1"])
    [run] = deliveries(peal)
    like(run, {"triggerId": "mails", "state": "delivered"})
    like(polls.group(peal), {"lastPolledAt": moment(), "nextPollAt": moment(days=1)})
    push(peal, url)  # Pub/Sub says it again
    tick(peal)
    equal((len(deliveries(peal)), len(all_events(peal)), peer.wrongs), (1, 1, []))


def test_a_push_that_nango_forwards_polls_the_mailbox_of_its_connection(ctx):
    peal, other = ctx.peal, make_tenant(ctx.peal, "other")
    peer = polls.gmail(ctx)  # the source's tenant has a mailbox of the same name
    with_place = {"id": "box", "provider": "gmail", "baseUrl": peer.url, "token": {"source": "static", "value": "ya29.secret"}}
    for tenant in (peal, other):
        make_automation(tenant)
        make_feed(tenant, "mails", provider="gmail", type="message", integration="box", interval="1d", way="polling")
    other.post("/v1/integrations", with_place, expect=201)
    shared = make_source(peal, "nango", "nango", shared=True)
    send(peal, shared, {**auth("c-7", tags={"tenant": "other", "integration": "box"}), "provider": "google-mail"})
    equal(show(other, "box")["connectionId"], "c-7")
    eventually(lambda: tick(peal) and [polls.group(tenant)["lastPolledAt"] for tenant in (peal, other)] == [moment()] * 2)
    advance(peal, "1h")
    peer.add("a1", polls.ms(), subject="The answer")
    data = base64.b64encode(json.dumps({"emailAddress": "me@example.com", "historyId": 1007}).encode()).decode()
    pushed = {"from": "google-mail", "type": "forward", "providerConfigKey": "mail",
              "payload": {"message": {"data": data, "messageId": "2070443601311540"}}}
    like(send(peal, shared, {**pushed, "connectionId": "c-9"}),
         {"status": "completed", "reason": "no-connection", "error": "no integration has this connection"})
    like(send(peal, shared, {**pushed, "connectionId": "c-7"}), {"status": "completed", "reason": "no-event"})
    eventually(lambda: tick(peal) and keys(other, "mails") == ["gmail:a1"])
    like(polls.group(other), {"lastPolledAt": moment(hours=1)})
    like(polls.group(peal), {"lastPolledAt": moment()})
    # What is not shared speaks of its own tenant's connections alone.
    own = make_source(peal, "own", "nango")
    like(send(peal, own, {**pushed, "connectionId": "c-7"}), {"reason": "no-connection"})


def test_what_came_while_an_app_was_suspended_runs_when_it_is_not(ctx):
    peal = ctx.peal
    make(peal, "acme-gh", provider="github", installationId="41")
    make_automation(peal)
    bugs(peal, integration="acme-gh")
    url = make_source(peal, "gh", "github")
    installation(peal, url, "suspend")
    missed = [github(peal, url, "issues", issue(n), installation={"id": 41}) for n in (1, 2)]
    for held in missed + [reprocess(peal, missed[0]["id"])]:
        like(held, {"status": "completed", "reason": "no-connection", "error": "integration acme-gh is suspended"})
    equal((all_events(peal), deliveries(peal)), ([], []))
    installation(peal, url, "unsuspend")
    for held in missed * 2:
        like(reprocess(peal, held["id"]), {"status": "completed", "reason": None})
    settle(peal)
    equal(keys(peal), ["github:2:opened", "github:1:opened"])
    equal([run["state"] for run in deliveries(peal)], ["delivered"] * 2)


def test_a_worker_handles_a_webhooks_run_and_the_stream_tells_of_it(ctx):
    peal = ctx.peal
    make_worker(peal)
    make_automation(peal, handler="worker:triage")
    bugs(peal)
    url = make_source(peal, "gh", "github")
    worker = make_user(peal, "worker")
    stream = Stream(peal)
    id = github(peal, url, "issues", issue())["id"]
    [work] = claim(worker)
    like(work, {"automation": "triage", "eventKind": "github.issues", "payload": {"dedupKey": "github:1:opened"}})
    path = f"/v1/trigger-events/{work['triggerEventId']}"
    worker.patch(path, {"sessionId": "s-77"}, expect=200)
    worker.patch(path, {"enrichedData": {"files": ["a.c"]}, "analysisResult": {"severity": "high"}}, expect=200)
    for tool in ("search", "label"):
        worker.post(path + "/actions", {"tool": tool, "status": "completed", "input": {"q": tool}, "output": [tool],
                                        "startedAt": moment(), "completedAt": moment(seconds=2)}, expect=201)
    advance(peal, "2s")
    worker.post(f"/v1/work/{work['id']}/done", {"fence": work["fence"]}, expect=200)
    like(one(peal, work["triggerEventId"]), {
        "eventId": id, "triggerId": "bugs", "deliveryId": work["id"], "status": "completed", "skipReason": None,
        "dedupKey": "github:1:opened", "providerEventType": "issues:opened", "title": "Issue 1",
        "sessionId": "s-77", "enrichedData": {"files": ["a.c"]}, "analysisResult": {"severity": "high"},
        "actions": [{"n": 1, "tool": "search", "input": {"q": "search"}, "output": ["search"], "duration": "2s"},
                    {"n": 2, "tool": "label", "input": {"q": "label"}, "output": ["label"], "duration": "2s"}]})
    frames = stream.take(3)
    stream.close()
    equal([frame.id for frame in frames], list(range(frames[0].id, frames[0].id + 3)))
    # Event and run were written at one moment, so in any order; what was done stands behind them.
    begun = {frame.event: frame.data for frame in frames[:2]}
    like(begun["event"], {"id": id, "kind": "github.issues"})
    like(begun["delivery"], {"id": work["id"], "state": "pending"})
    equal(frames[2].event, "delivery")
    like(frames[2].data, {"id": work["id"], "state": "delivered", "time": moment(seconds=2)})


def test_a_trigger_that_is_made_too_late_runs_once_by_reprocessing(ctx):
    peal = ctx.peal
    url = make_source(peal, "gh", "github")
    late = github(peal, url, "issues", issue())
    like(late, {"status": "completed", "reason": "no-trigger"})
    make_automation(peal)
    bugs(peal)
    equal((keys(peal), deliveries(peal)), ([], []))
    for _ in range(2):
        like(reprocess(peal, late["id"]), {"status": "completed", "reason": None, "error": None})
        settle(peal)
        equal((keys(peal), [run["state"] for run in deliveries(peal)]), (["github:1:opened"], ["delivered"]))
        equal([event["id"] for event in all_events(peal)], [late["id"]])
    like(one(peal, events(peal, "bugs")[0]["id"]), {"eventId": late["id"], "status": "completed", "sessionId": None})


if __name__ == "__main__":
    main()
