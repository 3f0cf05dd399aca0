"""J2, J9: a year in each of twelve awkward zones: no occurrence twice, none missed.

What is expected comes from cron_oracle.py, which knows nothing of Peal.
"""
import datetime

from cron_oracle import UTC, occurrences
from harness import equal, main, once, only, run_peal
from job_steps import executions, make_job, time_of
from test_cron import CASES

# Each with the year in which it is awkward, and how.
ZONES = (
    ("America/New_York", 2026),      # at 2:00, both ways
    ("Europe/Warsaw", 2026),         # at 1:00 UTC
    ("Australia/Lord_Howe", 2026),   # by half an hour
    ("Africa/Casablanca", 2026),     # for Ramadan, the other way
    ("Pacific/Apia", 2011),          # a day is skipped
    ("Asia/Beirut", 2023),           # at midnight
    ("America/Sao_Paulo", 2018),     # at midnight, in the south
    ("Asia/Tehran", 2022),           # for the last time, by half hours from UTC
    ("Antarctica/Troll", 2026),      # by two hours
    ("America/St_Johns", 2011),      # at one minute past midnight, until November
    ("Europe/Dublin", 2026),         # standard time is that of summer
    ("Pacific/Chatham", 2026),       # at 2:45
    ("Asia/Pyongyang", 2018),        # by half an hour, once, ahead
    ("Asia/Kathmandu", 2026),        # never: 5:45 ahead
)
CRONS = ("0 * * * *", "30 2 * * *", "0 0 * * *", "*/15 * * * *", "15 1,2,3 * * *", "30 0-3 * * *",
         "0 9 * * FRIL", "59 23 L * *", "0 2 1W * *", "45 */2 * * 0", "0 12 13 * 5", "30 3 * 3,9-11 SUN#1",
         "30 59 1 * * *")
COUNT = 1000  # that peal cron next tells at once
MICROSECOND = datetime.timedelta(microseconds=1)


def year_of(year):
    return datetime.datetime(year, 1, 1, tzinfo=UTC), datetime.datetime(year + 1, 1, 1, tzinfo=UTC)


def told_by_peal(expression, zone, begin, end):
    """The year's times, page by page, each asked for from the one before."""
    found, seconds = [begin], ["--seconds"] if len(expression.split()) == 6 else []
    while True:
        ran = run_peal("cron", "next", expression, "--zone", zone, "--from", found[-1].isoformat(), "--count", COUNT,
                       *seconds)
        equal(ran.code, 0, ran.err)
        page = [datetime.datetime.fromisoformat(line).astimezone(UTC) for line in ran.out.split()]
        found += page
        if len(page) < COUNT or page[-1] > end:
            return [at for at in found[1:] if at <= end]


def check_same(found, expected, about):
    """Says what is missing and what is too many, rather than both lists."""
    missing, extra = sorted(set(expected) - set(found)), sorted(set(found) - set(expected))
    assert not missing and not extra, f"{about}: missing {missing[:5]}, too many {extra[:5]}"
    equal(len(found), len(expected), f"{about}: twice")


def near_cases():
    """Of the published ones: those that one need not look through all seconds of many days for."""
    for case in CASES:
        if case["kind"] != "next" or case["expect"] == "NULL" or case["expr"][0] == "@":
            continue
        begin, expected = (datetime.datetime.fromisoformat(case[name]) for name in ("from", "expect"))
        has_few = len(case["expr"].split()) == 5 or case["expr"].split()[0].isdigit()
        if has_few and expected - begin < datetime.timedelta(days=40):
            yield case, begin, expected


@once
def test_the_oracle_agrees_with_the_published_cases(ctx):
    """A judge is to be judged first."""
    tried = 0
    for case, begin, expected in near_cases():
        after = begin - MICROSECOND if case["inclusive"] == "1" else begin
        equal(occurrences(case["expr"], case["zone"], after, expected)[:1], [expected], case)
        tried += 1
    assert tried > 200, tried


@once
def test_a_year_of_every_expression_in_every_zone(ctx):
    for zone, year in ZONES:
        for expression in CRONS:
            begin, end = year_of(year)
            check_same(told_by_peal(expression, zone, begin, end), occurrences(expression, zone, begin, end),
                       f"{expression} in {zone}")


NIGHTLY, HOURLY = ("30 2 * * *", "0 0 * * *"), ("0 * * * *", "*/15 1-3 * * *", *CRONS[1:3])


def make_jobs(peal, zones, crons):
    jobs = {f"{zone}-{number}".replace("/", "-"): (expression, zone)
            for zone in zones for number, expression in enumerate(crons)}
    for name, (expression, zone) in jobs.items():
        make_job(peal, name, cron=expression, zone=zone, overlap="allow")
    return jobs


def check_stretch(ctx, zones, crons, begin, days, store=None):
    """All that falls due in so many days is run for its own moment, at that moment, once."""
    peal = ctx.start(store=store, clock=f"manual={begin:%Y-%m-%dT%H:%M:%SZ}")
    end = begin + datetime.timedelta(days=days)
    jobs = make_jobs(peal, zones, crons)
    peal.post("/v1/clock", {"advance": f"{days}d"}, expect=200, seconds=240)
    for name, (expression, zone) in jobs.items():
        ran = executions(peal, name)
        check_same(sorted(time_of(one["scheduledFor"]) for one in ran), occurrences(expression, zone, begin, end),
                   f"{expression} in {zone}")
        late = [one for one in ran if one["startedAt"] != one["scheduledFor"]]
        assert not late, f"{expression} in {zone}: {late[:3]}"
    equal(peal.stop(), 0)


def at(text):
    return datetime.datetime.fromisoformat(text).replace(tzinfo=UTC)


@only("sqlite")
def test_a_year_of_nights_in_every_zone_through_the_program(ctx):
    for year in sorted({year for _, year in ZONES}):
        zones = [zone for zone, its_year in ZONES if its_year == year]
        check_stretch(ctx, zones, NIGHTLY, at(f"{year}-01-01"), 365, store=f"sqlite:{ctx.folder}/{year}.db")


def test_a_day_that_is_skipped_through_the_program(ctx):
    check_stretch(ctx, ["Pacific/Apia", "UTC"], HOURLY, at("2011-12-28"), 5)


def test_clocks_that_are_set_at_midnight_through_the_program(ctx):
    check_stretch(ctx, ["America/Sao_Paulo", "Asia/Pyongyang"], HOURLY, at("2018-11-02T12:00:00"), 3)


def test_the_clocks_of_spring_through_the_program(ctx):
    check_stretch(ctx, ["Europe/Warsaw", "Antarctica/Troll", "Europe/Dublin"], HOURLY, at("2026-03-28"), 2)


def test_the_clocks_of_autumn_through_the_program(ctx):
    check_stretch(ctx, ["Europe/Warsaw", "Antarctica/Troll", "America/New_York"], HOURLY, at("2026-10-24T12:00:00"), 2)


def test_half_an_hour_through_the_program(ctx):
    check_stretch(ctx, ["Australia/Lord_Howe", "Pacific/Chatham"], HOURLY, at("2026-04-04"), 2)


if __name__ == "__main__":
    main()
