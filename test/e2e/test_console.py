"""The console's frame: what is served, signing in, keys, the one stream, and how every page looks."""
import gzip
import os
import re
import socket

from console import drive, fetch, need_console, pages
from harness import equal, eventually, main, only
from server import ROOT
from steps import make_channel, make_user

POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; "
          "frame-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
FIRST_LOAD_MAX = 60 * 1024
PICTURES = "PEAL_TEST_PICTURES"  # a folder that keeps them, for whoever wants to see
QUIET = {"refused": [], "elsewhere": [], "errors": []}


def views():
    return re.findall(r'VIEW\("([^"]+)"\)', (ROOT / "src" / "api" / "routes.c").read_text(encoding="utf-8"))


def filled(path):
    return path.replace("{id}", "01975e3c-7a4b-7000-8000-2c9d3f5b1a60")


def test_every_page_is_served_without_a_key(ctx):
    equal(sorted(pages()), sorted(views()))
    bodies = set()
    for path in views():
        status, headers, body = fetch(ctx.peal, filled(path))
        equal((status, headers["Content-Type"], headers["Content-Security-Policy"], headers["X-Content-Type-Options"]),
              (200, "text/html; charset=utf-8", POLICY, "nosniff"), path)
        bodies.add(body)
    equal(len(bodies), 1)
    documented = ctx.peal.get("/openapi.json", expect=200).json["paths"]
    equal([path for path in views() if path in documented], [])


def test_assets_are_kept_forever_and_packed_where_that_is_taken(ctx):
    need_console(ctx.peal)
    _, headers, body = fetch(ctx.peal, "/")
    equal(headers["Cache-Control"], "no-cache")
    status, again, _ = fetch(ctx.peal, "/", {"If-None-Match": headers["ETag"]})
    equal((status, *(again[name] for name in ("ETag", "Cache-Control", "Vary"))), (304, headers["ETag"], "no-cache", "Accept-Encoding"))
    names = re.findall(r'(?:src|href)="(/console/[^"]+)"', body.decode())
    assert len(names) >= 3, names
    for name in names:
        _, plain, whole = fetch(ctx.peal, name)
        _, packed, part = fetch(ctx.peal, name, {"Accept-Encoding": "br, gzip;q=0.8"})
        equal((packed["Content-Encoding"], gzip.decompress(part)), ("gzip", whole))
        equal((plain["Content-Encoding"], plain["Cache-Control"]), (None, "public, max-age=31536000, immutable"))
        equal(plain["ETag"], packed["ETag"])
    for weight in ("0", "0.", "0.0", "0.00", "0.000"):
        equal(fetch(ctx.peal, names[0], {"Accept-Encoding": f"gzip;q={weight}"})[1]["Content-Encoding"], None, weight)
    equal(fetch(ctx.peal, names[0], {"Accept-Encoding": "gzip;q=0.001"})[1]["Content-Encoding"], "gzip")
    for name in ("nothing.js", "index.html", "docs%2Findex.html", "..%2Findex.html"):
        equal(fetch(ctx.peal, f"/console/{name}")[0], 404, name)  # the page is never kept for ever


def test_who_signs_in_is_where_he_wanted_to_be(ctx):
    make_channel(ctx.peal, "memory:own")
    told = drive(ctx, "console_frame", part="signing")
    first_load = told.pop("bytes")
    assert 0 < first_load < FIRST_LOAD_MAX, first_load
    equal(told, {"asked": "/signin?back=%2Fchannels%3Fx%3D1", "wrong": "This key is not known, was revoked or has expired.",
                 "then": "/channels?x=1", "cookie": [["peal_session", True, "Strict"]], "back": "Channels", "fragment": "",
                 "out": "/signin?back=%2Fchannels%3Fx%3D1", "cookieThen": 0, **QUIET})


def test_keys_lead_everywhere_and_can_be_switched_off(ctx):
    make_channel(ctx.peal, "memory:own")
    equal(drive(ctx, "console_frame", part="keyboard"), {"help": "Keyboard", "afterOff": 0, "first": "skip"})


def streams(peal):
    text = fetch(peal, "/metrics")[2].decode()
    return int(float(re.search(r"^peal_streams(?:\{[^}]*\})? (\S+)$", text, re.M)[1]))


def one_stream(peal):
    eventually(lambda: streams(peal) == 1, seconds=30)
    return streams(peal)


def test_ten_tabs_have_one_stream(ctx):
    told = drive(ctx, "console_frame", part="stream",
                 actions={"streams": lambda: one_stream(ctx.peal), "one_again": lambda: one_stream(ctx.peal)})
    equal(told, {"streams": 1, "after": 1})


def test_it_says_when_it_is_not_live(ctx):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    peal = ctx.start(listen=f"127.0.0.1:{port}")
    told = drive(ctx, "console_frame", peal=peal, part="stale", actions={"kill": peal.kill9, "start": peal.start})
    equal(told, {"stale": "Not live"})


def test_a_session_that_ended_leads_back(ctx):
    def revoke():
        for key in ctx.peal.get("/v1/keys", expect=200).json["items"]:
            if key["sessionOf"]:
                ctx.peal.delete(f"/v1/keys/{key['id']}", expect=204)

    told = drive(ctx, "console_frame", part="ended", actions={"revoke": revoke})
    equal(told, {"asked": "/signin?back=%2Fchannels&ended=1", "said": "Your session has ended. Sign in to go on where you were.",
                 "then": "/channels"})


def test_who_may_not_act_sees_why(ctx):
    make_channel(ctx.peal, "memory:own")
    told = drive(ctx, "console_frame", part="viewer", viewer=make_user(ctx.peal, "read").key)
    equal(told, {"disabled": "true", "why": "Delete needs the role author or admin", "dialogs": 0})


def test_a_channel_is_made_changed_and_deleted(ctx):
    told = drive(ctx, "console_frame", part="channel",
                 actions={"change": lambda: ctx.peal.patch("/v1/channels/http:bi", {"concurrency": 5}, expect=200).status})
    equal(told, {"invalid": "/config/url", "draft": "http:bi", "stale": "Somebody else has changed it meanwhile.", **QUIET})
    ctx.peal.get("/v1/channels/http:bi", expect=404)


def look(ctx, paths, few=False):
    told = drive(ctx, "console_frame", part="looks", few=few, paths=[filled(path) for path in paths], pictures=os.environ.get(PICTURES), seconds=400)
    equal(told, {"wrong": [], **QUIET})


@only("sqlite")
def test_nobody_complains_of_any_page(ctx):
    make_channel(ctx.peal, "memory:own")
    look(ctx, [path for path in pages() if path not in ("/signin", "/channels/{id}") and "{id}" not in path] + ["/channels/memory:own", "/channels/new"])


@only("sqlite")
def test_nor_of_pages_of_what_is_not_there(ctx):
    look(ctx, [path for path in pages() if "{id}" in path], few=True)


if __name__ == "__main__":
    main()
