"""J3 away from central: runs that are put off through libpeal, a site's spool and the command line."""
import ctypes
import json

from harness import equal, eventually, like, main, run_peal
from steps import captured, moment, tick
from test_deferred import cancel, defer, make_checkout, pending
from test_libpeal import BUILD
from test_sites import drained, events, forward, joined, make_user, outcomes, row

OK, INVALID = 0, 1


class Deferral(ctypes.Structure):
    _fields_ = [(name, ctypes.c_char_p) for name in ("job", "entity", "run_at", "delay", "payload")] + [
        ("replaces", ctypes.c_bool)]


class Library:
    """libpeal inside this process."""

    def __init__(self, store):
        self.calls = ctypes.CDLL(str(BUILD / "src" / "lib" / "libpeal.so.0"))
        self.calls.peal_open.restype = ctypes.c_void_p
        self.calls.peal_defer.argtypes = [ctypes.c_void_p, ctypes.POINTER(Deferral), ctypes.c_char_p]
        self.calls.peal_cancel_deferred.argtypes = [ctypes.c_void_p] + [ctypes.c_char_p] * 3
        self.peal = self.calls.peal_open(str(store).encode())

    def defer(self, entity, expect=OK, id=b"", job=b"payment-timeout", **members):
        told = ctypes.create_string_buffer(id, 37)
        given = {"delay": b"15m"} if not members.keys() & {"delay", "run_at"} else {}
        asked = Deferral(job=job, entity=entity.encode(), **given, **members)
        equal(self.calls.peal_defer(self.peal, asked, told), expect)
        return told.value

    def cancel(self, entity, expect=OK, job=b"payment-timeout"):
        told = ctypes.create_string_buffer(37)
        equal(self.calls.peal_cancel_deferred(self.peal, job, entity.encode(), told), expect)


def entities(peal):
    return sorted(one["entity"] for one in pending(peal))


def test_a_program_at_a_site_puts_runs_off_whether_or_not_the_site_runs(ctx):
    site, _ = joined(ctx)
    make_checkout(ctx.peal)
    library = Library(site.path)
    library.defer("live", payload=b'{"order": 1}')
    library.defer("paid")
    library.defer("moved")
    eventually(lambda: entities(ctx.peal) == ["live", "moved", "paid"])
    site.stop()
    library.cancel("paid")
    library.defer("spooled")
    again = library.defer("moved", replaces=True, delay=b"2h")
    library.defer("moved", replaces=True, delay=b"2h", id=again)  # the same again is no second
    library.defer("never")
    library.cancel("never")
    site.start()
    drained(site)
    eventually(lambda: entities(ctx.peal) == ["live", "moved", "spooled"])
    equal(len([one for one in events(ctx.peal) if one["source"] == "deferred"]), 6)


def test_what_can_never_be_handed_over_is_told(ctx):
    site, _ = joined(ctx)
    library = Library(site.path)
    library.defer("x", INVALID, delay=b"1m", run_at=b"2026-05-14T05:27:34Z")
    library.defer("", INVALID)
    library.defer("x", INVALID, delay=b"")
    library.defer("x", INVALID, delay=b"soon")
    library.defer("x", INVALID, job=b"a b")
    library.defer("x", INVALID, payload=b"[1]")
    library.defer("x\n", INVALID)
    library.defer("e" * 201, INVALID)
    library.cancel("", INVALID)
    library.cancel("x", INVALID, job=b"")
    site.stop()
    library.defer("x", delay=b"soon")  # nobody is there to say so
    library.defer("fine")
    site.start()
    drained(site)
    equal(entities(ctx.peal), ["fine"])


def test_central_takes_deferrals_of_sites_once_and_in_their_order(ctx):
    make_checkout(ctx.peal)
    site = make_user(ctx.peal, "site")
    body = {"job": "payment-timeout", "entity": "a", "delay": "15m"}
    rows = [row(kind="defer", body=body), row(kind="defer-cancel", body={"job": "payment-timeout", "entity": "a"}),
            row(kind="defer", body={**body, "entity": "b"}), row(kind="defer", body={**body, "entity": "b", "replace": True}),
            row(kind="defer", body={**body, "runAt": moment()}), row(kind="defer-cancel", body=body)]
    equal(outcomes(forward(site, *rows)), ["accepted"] * 4 + ["rejected"] * 2)
    # It was taken in at the site 12 minutes ago, from when its delay counts.
    equal([(one["entity"], one["runAt"]) for one in pending(ctx.peal)], [("b", "2026-05-14T05:15:00.000Z")])
    equal(outcomes(forward(site, *rows[:4])), ["duplicate"] * 4)
    equal(entities(ctx.peal), ["b"])
    without = {name: value for name, value in row(kind="defer", body=body).items() if name != "enqueuedAt"}
    equal(outcomes(forward(site, without)), ["accepted"])


def test_the_command_line_defers_lists_and_cancels(ctx):
    make_checkout(ctx.peal)
    made = ctx.peal.cli("defer", "payment-timeout", "12345", "--in", "15m", "--data", '{"order":12345}')
    equal((made.code, made.out.endswith(f" runs at {moment(minutes=15)}\n")), (0, True), made)
    again = ctx.peal.cli("defer", "payment-timeout", "12345", "--at", moment(hours=1), "--replace", "--json")
    equal(json.loads(again.out)["runAt"], moment(hours=1))
    shown = ctx.peal.cli("deferred", "list", "payment-timeout")
    assert "12345" in shown.out and "pending" in shown.out and moment(hours=1) in shown.out, shown
    equal(len(json.loads(ctx.peal.cli("deferred", "list", "payment-timeout", "--json").out)["items"]), 1)
    defer(ctx.peal, "a/b")
    equal(ctx.peal.cli("deferred", "cancel", "payment-timeout", "a/b").out, "1 cancelled\n")
    equal(ctx.peal.cli("deferred", "cancel", "payment-timeout", "12345", "--json").out, '{"cancelled":1}\n')
    equal(ctx.peal.cli("deferred", "list", "payment-timeout").err, "No deferred runs.\n")
    for words in (["payment-timeout"], ["payment-timeout", "x"], ["payment-timeout", "x", "--in", "1m", "--at", moment()],
                  ["payment-timeout", "x", "--in", "1m", "--data", "{"]):
        equal(ctx.peal.cli("defer", *words).code, 2, words)
    assert "delay" in ctx.peal.cli("defer", "payment-timeout", "x", "--in", "soon").err


def test_the_command_line_hands_over_to_a_site(ctx):
    site, _ = joined(ctx)
    make_checkout(ctx.peal)
    for entity in ("a", "b"):
        given = run_peal("defer", "payment-timeout", entity, "--in", "15m", "--site", site.path)
        equal((given.code, len(given.out)), (0, 37), given)
    equal(run_peal("deferred", "cancel", "payment-timeout", "b", "--site", site.path).code, 0)
    drained(site)
    equal(entities(ctx.peal), ["a"])


if __name__ == "__main__":
    main()
