"""W15: what happens, live: server-sent events with Last-Event-ID and no gap."""
import json
import os
import pathlib
import re
import socket
import subprocess
import threading
import time

from harness import PATIENCE, equal, eventually, like, main, only, slow
from postgres import program
from server import is_sanitized
from sse import Stream
from steps import KIND, advance, ingest, ingest_one, make_tenant, make_trigger, make_user, moment, settle, visit


def post(peal, kind="order.paid", **members):
    return peal.post("/v1/events", {"kind": kind, "payload": {}, **members}, expect=202).json["eventId"]


def test_events_and_deliveries_as_they_happen(ctx):
    make_trigger(ctx.peal)
    stream = Stream(ctx.peal)
    event = post(ctx.peal)  # that nobody listens to
    frame = stream.next()
    equal((frame.event, frame.data["id"], frame.data["kind"]), ("event", event, "order.paid"))
    assert set(frame.data) == {"id", "kind", "time"}, frame
    delivery = ingest_one(ctx.peal)
    settle(ctx.peal)
    frames = stream.take(3)  # in any order of their writers: the clock stands
    taken, = [frame for frame in frames if frame.event == "event"]
    equal(taken.data["kind"], KIND)
    moves = {frame.data["state"]: frame.data for frame in frames if frame.event == "delivery"}
    like(moves["pending"], {"id": delivery})
    like(moves["delivered"], {"id": delivery, "attempt": 1})
    assert all("time" in move for move in moves.values()), moves
    equal([frame.id for frame in frames], list(range(frames[0].id, frames[0].id + 3)))


def test_kinds(ctx):
    make_trigger(ctx.peal)
    events, moves = Stream(ctx.peal, "?kinds=event"), Stream(ctx.peal, "?kinds=delivery")
    ingest(ctx.peal, visit(), visit())
    settle(ctx.peal)
    equal([frame.event for frame in events.take(2)], ["event"] * 2)
    equal({frame.data["state"] for frame in moves.take(4)}, {"pending", "delivered"})
    for kinds in ("nothing", "event,", "event,moves", "EVENT"):
        equal(Stream(ctx.peal, f"?kinds={kinds}").status, 200 if kinds == "event," else 422)
    equal(Stream(ctx.peal, "?kind=event").status, 422)


def test_who_comes_back_misses_nothing(ctx):
    stream = Stream(ctx.peal)
    seen = [post(ctx.peal) for _ in range(3)]
    frames = stream.take(2)
    stream.close()
    seen += [post(ctx.peal) for _ in range(3)]
    again = Stream(ctx.peal, last=frames[-1].id)
    frames += again.take(4)
    ctx.peal.restart()
    watch = Stream(ctx.peal)
    seen.append(post(ctx.peal))
    watch.next()  # it has its number: who begins now is not told of it
    frames += Stream(ctx.peal, f"?lastEventId={frames[-1].id}").take(1)
    equal(Stream(ctx.peal, "?lastEventId=0", last=frames[-2].id).next().id, frames[-1].id, "the header goes before")
    equal(sorted(frame.data["id"] for frame in frames), sorted(seen))
    equal([frame.id for frame in frames], list(range(frames[0].id, frames[0].id + len(seen))))


def test_from_the_beginning_in_many_pages(ctx):
    first = Stream(ctx.peal).last
    ids = []
    for _ in range(4):
        ids += [item["eventId"] for item in ingest(ctx.peal, *[visit() for _ in range(500)])["items"]]
    frames = Stream(ctx.peal, "?kinds=event", last=first).take(len(ids))
    equal(sorted(frame.data["id"] for frame in frames), sorted(ids))  # one moment: in any order of its writers
    equal(len({frame.id for frame in frames}), len(ids))


def test_what_is_not_a_number(ctx):
    for last in ("x", "-1", "1.5", "9" * 30):
        equal(Stream(ctx.peal, last=last).status, 400)
    stream = Stream(ctx.peal)
    post(ctx.peal)
    at = stream.next().id  # the last there is: what the start itself did has its numbers, too
    for ahead in (10**12, at + 1):  # of another store, or of this one before it was put back
        stream = Stream(ctx.peal, last=ahead)
        gap = stream.next()
        equal((gap.event, gap.data), ("gap", {"from": None, "to": ahead}))
    event = post(ctx.peal)
    equal(stream.next().data["id"], event)


def test_what_is_not_kept_any_more_is_told(ctx):
    stream = Stream(ctx.peal)
    post(ctx.peal)
    old = stream.next().id
    post(ctx.peal)
    stream.next()
    stream.close()
    eventually(lambda: sealed(ctx.peal))  # the audit needs them too
    ctx.peal.restart(clock=f"manual={moment(days=8)}")  # a node tidies up when it starts
    kept = post(ctx.peal)

    def gone():
        late = Stream(ctx.peal, "?kinds=event", last=old)
        frame = late.next()
        late.close()
        return frame.event == "gap"
    eventually(gone)
    late = Stream(ctx.peal, "?kinds=event", last=old)
    gap = late.next()
    equal(gap.data["from"], old + 1)
    equal(gap.id, gap.data["to"])
    equal(late.next().data["id"], kept)


def sealed(peal):
    return "\npeal_audit_backlog 0\n" in peal.get("/metrics").text


def test_a_hole_in_the_numbers_is_told_and_nothing_behind_it_is_lost(ctx):
    """One that is gone, and more than are told at once."""
    for many in (1, 300):
        stream = Stream(ctx.peal, "?kinds=event")
        post(ctx.peal)
        before = stream.next().id
        ingest(ctx.peal, *[visit() for _ in range(many)])
        stream.take(many)
        after = post(ctx.peal)
        last = stream.next()
        equal((last.data["id"], last.id), (after, before + many + 1))
        stream.close()
        eventually(lambda: sealed(ctx.peal))
        ctx.sql(f"DELETE FROM sequence WHERE first > {before} AND first < {last.id} AND tenant ="
                " (SELECT tenant FROM tenant WHERE id = 'default')")
        again = Stream(ctx.peal, "?kinds=event", last=before)
        gap, kept = again.take(2)
        equal((gap.event, gap.id, gap.data), ("gap", before + many, {"from": before + 1, "to": before + many}))
        equal((kept.event, kept.id, kept.data["id"]), ("event", last.id, after))
        again.close()


def test_what_cannot_be_read_is_gone_and_what_comes_then_is_told(ctx):
    stream = Stream(ctx.peal)
    first, lost = post(ctx.peal), post(ctx.peal)
    before, last = stream.take(2)
    equal((before.data["id"], last.data["id"]), (first, lost))
    stream.close()
    eventually(lambda: sealed(ctx.peal))
    ctx.sql(f"UPDATE journal SET facts = NULL WHERE EXISTS (SELECT 1 FROM sequence s WHERE s.first = {last.id} AND"
            " s.writer = journal.writer AND s.n = journal.n AND s.tenant = (SELECT tenant FROM tenant WHERE id = 'default'))")
    again = Stream(ctx.peal, last=before.id)
    like(again.next().data, {"from": last.id, "to": last.id})
    event = post(ctx.peal)
    like(again.next().data, {"id": event})


def test_rights_and_walls(ctx):
    acme = make_tenant(ctx.peal, "acme")
    ours, theirs = Stream(make_user(ctx.peal, "read")), Stream(acme)
    mine, other = post(ctx.peal), post(acme)
    equal(ours.next().data["id"], mine)
    equal(theirs.next().data["id"], other)
    for role in ("ingest", "worker", "site"):
        equal(Stream(make_user(ctx.peal, role)).status, 403)
    equal(Stream(ctx.peal.with_key("pk_none")).status, 401)
    equal(Stream(make_user(ctx.peal, "read"), "?kinds=hook").status, 403)
    equal(Stream(make_user(ctx.peal, "author"), "?kinds=hook").status, 200)


def test_the_stream_of_a_key_that_is_gone_ends(ctx):
    made = ctx.peal.post("/v1/keys", {"role": "read", "name": "eyes"}, expect=201).json
    stream = Stream(ctx.peal.with_key(made["key"]))
    ctx.peal.delete(f"/v1/keys/{made['id']}", expect=204)
    last, = stream.rest()
    equal((last.event, last.data["code"]), ("end", "forbidden"))


def test_the_stream_of_a_key_that_expires_ends(ctx):
    made = ctx.peal.post("/v1/keys", {"role": "read", "name": "eyes", "expiresAt": moment(hours=1)}, expect=201).json
    stream = Stream(ctx.peal.with_key(made["key"]))
    advance(ctx.peal, "2h")
    post(ctx.peal)
    last, = stream.rest()
    equal((last.event, last.data["code"]), ("end", "forbidden"))


def test_a_stop_ends_streams(ctx):
    stream = Stream(ctx.peal)
    stopping = threading.Thread(target=ctx.peal.stop)
    stopping.start()
    last, = stream.rest()
    equal((last.event, last.data["code"]), ("end", "stopping"))
    stopping.join()
    equal(ctx.peal.process.wait(seconds=30), 0)


def open_and_never_read(peal, last=None):
    host, port = peal.host.split(":")
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(30)
    client.connect((host, int(port)))
    after = "" if last is None else f"Last-Event-ID: {last}\r\n"
    client.sendall(f"GET /v1/stream?kinds=event HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {peal.key}\r\n{after}\r\n"
                   .encode())
    return client


def streams(peal):
    return int(peal.get("/metrics").text.split("\npeal_streams ")[1].split("\n")[0])


@slow
def test_a_client_that_takes_nothing_is_dropped(ctx):
    """Nothing is kept for it but what its stream has room for; others do not notice."""
    lazy = open_and_never_read(ctx.peal)
    quick = Stream(ctx.peal, "?kinds=event")
    eventually(lambda: streams(ctx.peal) == 2)
    for _ in range(60):
        ingest(ctx.peal, *[visit() for _ in range(1000)])
    quick.take(60000)
    eventually(lambda: streams(ctx.peal) == 1, seconds=30)
    text = b""
    while not text.endswith(b"0\r\n\r\n"):  # the last chunk: it was ended, not cut
        text += lazy.recv(1 << 20) or b"cut"
        assert not text.endswith(b"cut"), text[-300:]
    assert b'event: end\ndata: {"code":"slow"' in text[-300:], text[-300:]
    assert len(text) < 4 << 20, len(text)


@slow
def test_a_quiet_stream_says_that_it_lives_and_where_it_stands(ctx):
    stream, hooks = Stream(ctx.peal, "?kinds=delivery"), Stream(ctx.peal, "?kinds=hook")
    other = Stream(ctx.peal, "?kinds=event")
    post(ctx.peal)  # which it did not ask for, and passes over
    begun = time.monotonic()
    assert stream._frame() is None and stream.comments == 1
    assert 14 < time.monotonic() - begun < 14 + 10 * PATIENCE
    equal(stream.last, other.next().id)
    assert hooks._frame() is None and hooks.comments == 1


def resident(peal):
    return int(pathlib.Path(f"/proc/{peal.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


MOST = 500  # FEED_LISTENERS_MAX of api/feed.h


@slow
@only("sqlite")
def test_so_many_streams_and_no_more(ctx):
    """Each stands at another place, and what is read for one is not kept for it."""
    first = Stream(ctx.peal).last
    for _ in range(20):
        ingest(ctx.peal, *[visit() for _ in range(1000)])
    Stream(ctx.peal, "?kinds=event", last=first).take(20000)
    eventually(lambda: streams(ctx.peal) == 0)
    before = resident(ctx.peal)
    all_of_them = [open_and_never_read(ctx.peal, first + i * 30) for i in range(MOST)]
    eventually(lambda: streams(ctx.peal) == MOST)
    refused = Stream(ctx.peal)
    equal((refused.status, refused.problem["code"]), (503, "busy"))
    grown = resident(ctx.peal) - before
    assert grown < 100 << 20 or is_sanitized(), grown
    all_of_them.pop().close()
    eventually(lambda: Stream(ctx.peal).status == 200)
    for client in all_of_them:
        client.close()


@only("postgres")
def test_what_another_node_did(ctx):
    _, other = ctx.start(clock="system"), ctx.start(clock="system")  # the first is ctx.peal
    stream = Stream(other)
    ids = [post(ctx.peal) for _ in range(3)]
    equal(sorted(frame.data["id"] for frame in stream.take(3)), sorted(ids))
    again = Stream(ctx.peal, last=stream.last - 1)  # and back, where the numbers are the same
    equal(again.next().id, stream.last)


class Subscriber:
    """Somebody in psql who listens; psql tells what it heard behind each statement."""

    def __init__(self, url):
        self.psql = subprocess.Popen([program("psql"), "-XAtq", "-d", url], text=True, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE)
        self.heard = []
        self.say("LISTEN peal")

    def say(self, words):
        self.psql.stdin.write(f"{words}; SELECT 'said';\n")
        self.psql.stdin.flush()
        while (line := self.psql.stdout.readline()) != "said\n":
            self.heard += re.findall(r'"peal" with payload "({.*})"', line)

    def notices(self):
        self.say("SELECT")
        return [json.loads(text) for text in self.heard]


@only("postgres")
def test_subscribers_in_sql_are_notified(ctx):
    acme = make_tenant(ctx.peal, "acme")
    subscriber = Subscriber(ctx.store_url)
    stream = Stream(acme)
    post(acme)
    number = stream.next().id

    def is_told():  # of this number, or of a later one in its place: notices gather, the newest counts
        notices = [one for one in subscriber.notices() if one["tenant"] == "acme"]
        return any(one["number"] >= number for one in notices)

    eventually(is_told)
    subscriber.psql.communicate("")


if __name__ == "__main__":
    main()
