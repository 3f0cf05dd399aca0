"""J2, X2: when a cron expression is due, on the command line and by a route."""
import json
import os
import shutil

from harness import equal, like, main, once, run_peal
from server import ROOT
from steps import advance

LINES = (ROOT / "test" / "cases" / "cron.tsv").read_text().splitlines()
CASES = [dict(zip(("kind", "fields", "expr", "zone", "inclusive", "from", "expect"), line.split("\t")))
         for line in LINES if not line.startswith("#")]
SAMPLE = 9  # every so manieth case: the unit test has all of them


def cases(kind):
    chosen = [case for case in CASES if case["kind"] == kind][::SAMPLE]
    assert len(chosen) >= 10
    return chosen


def cron_next(*arguments):
    ran = run_peal("cron", "next", *arguments)
    return ran.code, ran.out.split()


def words_for(case):
    return ["--zone", case["zone"], "--from", case["from"],
            *(["--seconds"] if case["fields"] == "6" and case["expr"][0] != "@" else []),
            *(["--inclusive"] if case["inclusive"] == "1" else [])]


def preview(peal, expect=200, **body):
    return peal.post("/v1/cron/preview", body, expect=expect).json


@once
def test_the_command_line_agrees_with_the_published_cases(ctx):
    for case in cases("next"):
        expected = [] if case["expect"] == "NULL" else [case["expect"]]
        equal(cron_next(case["expr"], *words_for(case)), (0, expected), case)


@once
def test_the_command_line_names_the_field_that_is_wrong(ctx):
    for case in cases("invalid"):
        ran = run_peal("cron", "next", case["expr"], *(["--seconds"] if case["fields"] == "6" else []))
        equal((ran.code, ran.out), (2, ""), case)
        assert case["expect"] in ran.err, (case, ran.err)


@once
def test_an_expression_that_begins_with_a_dash_is_no_option(ctx):
    for expression in ("-1 * * * *", "- * * * *"):
        ran = run_peal("cron", "next", expression)
        equal(ran.code, 2)
        assert "Minutes" in ran.err, ran.err


@once
def test_several_times_stand_one_a_line(ctx):
    night = ["--zone", "Europe/Berlin", "--from", "2026-10-25T00:00:00+02:00"]
    equal(cron_next("30 2 * * *", "--count", "2", *night),
          (0, ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]))
    equal(cron_next("30 2-3 * * *", "--count", "3", *night),
          (0, ["2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-25T03:30:00+01:00"]))
    equal(cron_next("0 0 30 2 *", "--count", "1000"), (0, []))
    equal(len(cron_next("@every_minute", "--count", "1000")[1]), 1000)


@once
def test_the_command_line_explains_and_warns(ctx):
    ran = run_peal("cron", "next", "0 0 13 * 5", "--explain", "--from", "2026-01-01T00:00:00Z")
    equal((ran.code, ran.out.splitlines()),
          (0, ["At 00:00, on the 13th where that is Friday. Clocks in UTC never change.",
               "2026-02-13T00:00:00+00:00"]))
    assert "both" in ran.err, ran.err
    ran = run_peal("cron", "next", "0 0 13 * 5", "--json", "--from", "2026-01-01T00:00:00Z")
    like(json.loads(ran.out), {"items": [{"at": "2026-02-13T00:00:00.000Z", "local": "2026-02-13T00:00:00+00:00"}]})


@once
def test_bad_options_are_refused(ctx):
    for words in (["--count", "0"], ["--count", "1001"], ["--count", "x"], ["--from", "yesterday"],
                  ["--zone", "Mars/Olympus"], ["--zone", "../../etc/passwd"], ["--zone", ""],
                  ["--zone", "right/Europe/Berlin"]):
        equal(cron_next("* * * * *", *words), (2, []), words)
    equal(cron_next("* * * * *", "--seconds"), (2, []))
    equal(cron_next(), (2, []))


@once
def test_a_damaged_zone_is_refused_and_nothing_else_happens(ctx):
    """Whatever lies in the folder of zones: cut off, overlong, a folder, a pipe that nobody writes to."""
    whole = ctx.write("Whole", "")
    folder = whole.parent
    shutil.copyfile("/usr/share/zoneinfo/Europe/Berlin", whole)
    data = whole.read_bytes()
    (folder / "Cut").write_bytes(data[:len(data) // 2])
    (folder / "Long").write_bytes(data + b"x" * 1_000_000)
    (folder / "Zeros").write_bytes(bytes(5000))
    (folder / "Noise").write_bytes(data[:44] + bytes(range(256)) * 20)
    (folder / "Empty").write_bytes(b"")
    (folder / "Folder").mkdir()
    os.mkfifo(folder / "Pipe")
    for name in ("Cut", "Long", "Zeros", "Noise", "Empty", "Folder", "Pipe", "Missing"):
        ran = run_peal("cron", "next", "* * * * *", "--zone", name, env={"TZDIR": folder})
        equal((ran.code, ran.out), (2, ""), name)
        assert name in ran.err, ran.err
    ran = run_peal("cron", "next", "0 12 1 7 *", "--zone", "Whole", env={"TZDIR": folder})
    assert ran.code == 0 and ran.out.endswith("-07-01T12:00:00+02:00\n"), ran


def test_a_preview_is_what_comes(ctx):
    answer = preview(ctx.peal, cron="30 2 * * *", zone="Europe/Berlin", count=2, **{"from": "2026-03-28T12:00:00Z"})
    equal(answer, {
        "items": [{"at": "2026-03-29T01:00:00.000Z", "local": "2026-03-29T03:00:00+02:00"},
                  {"at": "2026-03-30T00:30:00.000Z", "local": "2026-03-30T02:30:00+02:00"}],
        "explain": "At 02:30, every day. Clocks in Europe/Berlin next change on 2026-03-29, from 02:00 to 03:00: "
                   "what falls between comes once, at 03:00.",
        "warnings": []})


def test_a_preview_begins_now_and_has_five_times_in_utc(ctx):
    before = preview(ctx.peal, cron="@yearly")["items"]
    equal(len(before), 5)
    assert all(one["local"].endswith("-01-01T00:00:00+00:00") for one in before), before
    advance(ctx.peal, "366d")
    equal(preview(ctx.peal, cron="@yearly")["items"][0], before[1])


def test_a_preview_of_what_never_comes_is_empty(ctx):
    answer = preview(ctx.peal, cron="0 0 31 4 *", count=1000)
    equal((answer["items"], answer["warnings"]), ([], []))
    equal(len(preview(ctx.peal, cron="0 0 13 * 5")["warnings"]), 1)


def test_a_preview_names_what_is_wrong(ctx):
    refused = preview(ctx.peal, 422, cron="* 25 * * *", zone="Mars/Olympus")
    equal([(one["path"], one["code"]) for one in refused["errors"]], [("/cron", "bad-cron"), ("/zone", "bad-zone")])
    assert "Hours" in refused["errors"][0]["message"], refused
    for body in ({}, {"cron": 5}, {"cron": ""}, {"cron": "* " * 300},
                 {"cron": "* * * * *", "zone": "../UTC"}, {"cron": "* * * * *", "zone": "U" * 70},
                 {"cron": "* * * * *", "count": 0}, {"cron": "* * * * *", "count": 1001},
                 {"cron": "* * * * *", "from": "now"}, {"cron": "* * * * *", "unknown": 1}):
        preview(ctx.peal, 422, **body)
    preview(ctx.peal, 400, cron="* * * *\u0000*")


if __name__ == "__main__":
    main()
