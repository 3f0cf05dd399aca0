"""T13 in a real browser: nothing that axe complains of, nothing wider than the window, in either direction, light and dark."""
import json
import os
import pathlib
import subprocess

from harness import PATIENCE, Skip, equal, main, only
from server import ROOT
from test_survey_page import OTHERS, QUESTIONS, invite, make_survey, responses, send

SCRIPTS = pathlib.Path(__file__).resolve().parent / "browser"
PICTURES = "PEAL_TEST_PICTURES"  # a folder that keeps them, for whoever wants to see


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300 * PATIENCE)


def modules():
    """The packages that tools/setup.sh names; installed now where they are missing."""
    done = run(ROOT / "tools" / "setup.sh", "browser")
    if done.returncode != 0:
        raise Skip(f"the browser cannot be installed: {done.stderr.strip()[-300:]}")
    return ROOT / "build-npm" / "node_modules"


def ask(script, packages, job):
    done = run("node", SCRIPTS / script, packages, json.dumps(job))
    equal(done.returncode, 0, done.stderr)
    return json.loads(done.stdout)


@only("sqlite")
def test_a_browser_has_nothing_to_complain_of(ctx):
    packages, folder = modules(), pathlib.Path(os.environ.get(PICTURES, ctx.folder))
    make_survey(ctx.peal, QUESTIONS + OTHERS)
    for lang, direction in (("en", "ltr"), ("ar", "rtl")):
        url = f"{ctx.peal.url.rstrip('/')}/s/{invite(ctx.peal, lang)['publicId']}"
        for scheme, width in (("light", 360), ("dark", 1280), ("dark", 320)):
            name = f"{lang}-{scheme}-{width}"
            told = ask("survey.mjs", packages, {"url": url, "scheme": scheme, "width": width, "picture": f"{folder}/{name}"})
            equal(told, {"refused": [], "opened": 204, "hidden": ["what"], "first": [], "hiddenThen": [],
                                            "focus": "alert", "wrong": [], "direction": direction}, name)


@only("sqlite")
def test_nor_of_pages_that_ask_nothing(ctx):
    packages, root = modules(), f"{ctx.peal.url.rstrip('/')}/s/"
    make_survey(ctx.peal)
    done, over = invite(ctx.peal), invite(ctx.peal)
    send(ctx.peal, done, [("a.rate", "1"), ("a.complaint", "No")])
    ctx.peal.post(f"/v1/deliveries/{over['deliveryId']}/cancel", expect=200)
    for path, scheme in ((f"{done['publicId']}?lang=ar", "dark"), (over["publicId"], "light"), ("nobody?lang=ar", "light"), ("nobody", "dark")):
        told = ask("survey.mjs", packages, {"url": root + path, "scheme": scheme, "width": 320, "isNote": True})
        equal(told, {"refused": [], "first": []}, path)


@only("sqlite")
def test_a_survey_is_answered_with_the_keyboard_alone(ctx):
    """In the order in which it is read; the focus is always seen; nothing moves for who wants no motion."""
    packages = modules()
    make_survey(ctx.peal, QUESTIONS + OTHERS)
    down, made = "ArrowDown", invite(ctx.peal)
    keys = {"a.rate": [" ", down, down], "a.complaint": [" "], "a.what": list("cold"), "a.which=a": [" "], "a.which=c": [" "],
            "a.likely": [" "] + [down] * 9, "a.spent": list("12.5"), "a.day": list("05142026")}
    told = ask("keyboard.mjs", packages, {"url": f"{ctx.peal.url.rstrip('/')}/s/{made['publicId']}", "keys": keys,
                                          "awaits": {"a.complaint": "what"}})
    equal(told, {"order": ["a.rate", "a.complaint", "a.what", "a.which", "a.more", "a.likely", "a.spent", "a.day", "go"],
                 "unseen": [], "moved": 0, "end": "Many thanks"})
    equal(responses(ctx.peal)[0]["answers"], {"rate": 3, "complaint": "Yes", "what": "cold", "which": ["a", "c"], "likely": 9,
                                              "spent": 12.5, "day": "2026-05-14"})


if __name__ == "__main__":
    main()
