"""X6: the whole program runs on a clock that a test moves."""
from harness import equal, like, main, only
from steps import (advance, clock, delivery, ingest, ingest_one, make_trigger, make_user, moment,
                   sends, set_clock, visit)


def test_the_clock_stands_where_it_was_started(ctx):
    equal(ctx.peal.get("/v1/clock", expect=200).json, {"now": moment(), "mode": "manual"})
    equal(clock(ctx.peal), moment())


def test_the_clock_is_advanced(ctx):
    like(advance(ctx.peal, "24h"), {"now": moment(days=1)})
    like(advance(ctx.peal, "1d12h30s"), {"now": moment(days=2, hours=12, seconds=30)})
    equal(clock(ctx.peal), moment(days=2, hours=12, seconds=30))


def test_advancing_by_nothing_does_what_is_due_now(ctx):
    make_trigger(ctx.peal)
    ids = [item["deliveries"][0]["deliveryId"]
           for item in ingest(ctx.peal, *(visit() for _ in range(200)))["items"]]
    like(advance(ctx.peal, "0s"), {"now": moment()})
    equal([delivery(ctx.peal, id)["state"] for id in ids], ["delivered"] * len(ids))


def test_the_clock_goes_on_where_it_stood_before_a_restart(ctx):
    advance(ctx.peal, "5d")
    ctx.peal.restart(clock="manual")
    equal(clock(ctx.peal), moment(days=5))


@only("sqlite")
def test_the_clock_moves_again_right_after_a_kill(ctx):
    make_trigger(ctx.peal, schedule={"initialDelay": "1d"})
    id = ingest_one(ctx.peal)
    ctx.peal.kill9()
    ctx.peal.start()
    advance(ctx.peal, "2d")
    equal(sends(ctx.peal, id), [(1, moment(days=1))])


def test_the_clock_is_set_ahead_and_everything_on_the_way_is_done(ctx):
    make_trigger(ctx.peal, schedule={"initialDelay": "1d", "reminders": ["1d", "1d"]})
    id = ingest_one(ctx.peal)
    like(set_clock(ctx.peal, moment(days=10)), {"now": moment(days=10)})
    equal(sends(ctx.peal, id), [(n, moment(days=n)) for n in (1, 2, 3)])


def test_the_clock_is_set_back_and_nothing_happens(ctx):
    make_trigger(ctx.peal, schedule={"initialDelay": "1d"})
    id = ingest_one(ctx.peal)
    like(set_clock(ctx.peal, moment(days=-30)), {"now": moment(days=-30)})
    equal(clock(ctx.peal), moment(days=-30))
    equal(sends(ctx.peal, id), [])
    set_clock(ctx.peal, moment(days=1))
    equal(sends(ctx.peal, id), [(1, moment(days=1))])


def test_two_deliveries_go_out_each_at_its_own_instant(ctx):
    make_trigger(ctx.peal, "early", schedule={"initialDelay": "1h"})
    early = ingest_one(ctx.peal)
    ctx.peal.delete("/v1/triggers/early")
    make_trigger(ctx.peal, "late", schedule={"initialDelay": "3h"})
    late = ingest_one(ctx.peal)
    advance(ctx.peal, "1d")
    equal((sends(ctx.peal, early), sends(ctx.peal, late)),
          ([(1, moment(hours=1))], [(1, moment(hours=3))]))


def test_a_request_that_makes_no_sense_moves_nothing(ctx):
    wrong = [{}, {"advance": "soon"}, {"advance": -1}, {"advance": "-1d"}, {"set": "tomorrow"},
             {"set": moment(days=1), "advance": "1d"}, {"advance": "1d", "sped": 2}]
    for body in wrong:
        response = ctx.peal.post("/v1/clock", body)
        equal(response.status, 422, body)
    equal(ctx.peal.post("/v1/clock", raw=b"soon").status, 400)
    equal(clock(ctx.peal), moment())


@only("sqlite")
def test_the_clock_is_refused_under_the_real_clock(ctx):
    peal = ctx.start(clock="system")
    equal(peal.get("/v1/clock", expect=200).json["mode"], "system")
    for body in ({"advance": "1h"}, {"set": "2030-01-01T00:00:00Z"}):
        response = peal.post("/v1/clock", body)
        equal(response.status, 409, response.text)
        assert "--clock manual" in response.text, response.text


def test_only_the_first_key_moves_the_clock(ctx):
    equal(ctx.peal.with_key(None).post("/v1/clock", {"advance": "1h"}).status, 401)
    for role in ("admin", "operator", "ingest", "read"):
        equal(make_user(ctx.peal, role).post("/v1/clock", {"advance": "1h"}).status, 403, role)
    equal(clock(ctx.peal), moment())


def test_a_delivery_made_after_the_clock_moved_is_stamped_with_it(ctx):
    make_trigger(ctx.peal, schedule={"initialDelay": "1h"})
    advance(ctx.peal, "7d")
    like(delivery(ctx.peal, ingest_one(ctx.peal)),
         {"triggeredAt": moment(days=7), "dueAt": moment(days=7, hours=1)})


if __name__ == "__main__":
    main()
