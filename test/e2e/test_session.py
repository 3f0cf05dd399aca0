"""The console's session: a key of a key, named by a cookie."""
import re

from harness import equal, eventually, like, main, only
from server import Client
from sse import Stream
from steps import advance, make_tenant, make_user, moment

CONSOLE = {"Peal-Console": "1"}


class Browser(Client):
    """Sends the cookie as a browser does, and no key; what it asks comes from the console's own page."""

    def __init__(self, peal, cookie):
        super().__init__(peal.host, None, peal.exchanges)
        self.cookie = cookie

    def request(self, method, path, body=None, *, headers=None, **rest):
        own = CONSOLE if method not in ("GET", "HEAD") else {}
        return super().request(method, path, body, headers={"Cookie": self.cookie, **own, **(headers or {})}, **rest)

    def bare(self, method, path, body=None, headers=None, **rest):
        """Without the console's header."""
        return super().request(method, path, body, headers={"Cookie": self.cookie, **(headers or {})}, **rest)


def cookie_of(answer):
    return answer.headers["Set-Cookie"].split(";")[0]


def sign_in(who, node=None):
    answer = who.post("/v1/session", expect=201)
    browser = Browser(node or who, cookie_of(answer))
    browser.told = answer.json
    return browser


def refused(answer, status, code):
    equal((answer.status, answer.json and answer.json["code"]), (status, code))


def is_over(browser):
    refused(browser.get("/v1/session"), 401, "no-key")
    refused(browser.post("/v1/hold", {"reason": "x"}), 401, "no-key")


def test_a_session_from_its_first_to_its_last_call(ctx):
    answer = ctx.peal.post("/v1/session", expect=201)
    equal(re.sub(r"ps_[0-9A-Za-z]{43}", "SECRET", answer.headers["Set-Cookie"]),
          "peal_session=SECRET; HttpOnly; SameSite=Strict; Path=/")
    assert "ps_" not in str(answer.json), "the secret is in the cookie alone"
    browser = Browser(ctx.peal, cookie_of(answer))
    told = browser.get("/v1/session", expect=200).json
    equal(told, answer.json)
    like(told, {"tenant": "default", "role": "admin", "system": True, "held": False, "dev": False,
                "createdAt": moment(), "expiresAt": moment(hours=12)})
    equal(told["routes"]["POST /v1/deliveries/{id}/retry"], {"may": True, "roles": ["operator", "admin"]})
    equal(told["routes"]["POST /v1/hold"], {"may": True, "roles": ["system"]})
    equal(browser.post("/v1/hold", {"reason": "x"}, expect=200).json["held"], True)
    equal(browser.get("/v1/session", expect=200).json["held"], True)
    gone = browser.delete("/v1/session", expect=204)
    equal(gone.headers["Set-Cookie"], "peal_session=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0")
    is_over(browser)


def test_who_may_do_what_is_told_as_it_is(ctx):
    for role in ("read", "ingest", "worker", "audit-export", "operations"):
        browser = sign_in(make_user(ctx.peal, role))
        like(browser.told, {"role": role, "system": False})
        routes = browser.told["routes"]
        for path in ("/v1/deliveries", "/v1/keys", "/v1/tenants", "/v1/audit/head", "/v1/session"):
            equal(browser.get(path).status == 200, routes[f"GET {path}"]["may"], f"{role} {path}")
        equal(browser.post("/v1/hold", {"reason": "x"}).status, 403)
    paths = ctx.peal.get("/openapi.json").json["paths"]
    wanted = {f"{method.upper()} {path}": told["x-peal-roles"] for path, methods in paths.items()
              for method, told in methods.items() if path.startswith("/v1/")}
    shown = sign_in(ctx.peal).told["routes"]
    equal({name: sorted(wanted[name]) for name in shown}, {name: sorted(row["roles"]) for name, row in shown.items()})
    equal({name for name in wanted if wanted[name]} - set(shown) - {"POST /v1/site/rows"}, set())


def test_a_session_keeps_to_its_site_and_handlers(ctx):
    made = ctx.peal.post("/v1/keys", {"role": "site", "site": "north"}, expect=201).json["key"]
    browser = sign_in(ctx.peal.with_key(made))
    equal(browser.get("/v1/deliveries?site=south").status, 403)
    made = ctx.peal.post("/v1/keys", {"role": "worker", "handlers": ["worker:a"]}, expect=201).json["key"]
    browser = sign_in(ctx.peal.with_key(made))
    equal(browser.post("/v1/work/claim", {"handler": "worker:b"}).status, 403)


def test_what_changes_something_needs_the_header(ctx):
    browser = sign_in(ctx.peal)
    for method, path in (("POST", "/v1/release"), ("PATCH", "/v1/channels/x"), ("DELETE", "/v1/session"),
                         ("PUT", "/v1/channels/x"), ("POST", "/v1/session")):
        refused(browser.bare(method, path, {} if method != "DELETE" else None), 403, "console-header-missing")
        refused(browser.bare(method, path, headers={"Peal-Console": "0"}), 403, "console-header-missing")
        for site in ("cross-site", "same-site", "none", "Same-Origin", ""):
            refused(browser.bare(method, path, headers={**CONSOLE, "Sec-Fetch-Site": site}), 403, "cross-site")
    browser.post("/v1/release", headers={"Sec-Fetch-Site": "same-origin"}, expect=200)
    for site, status in (("same-origin", 200), ("none", 200), ("cross-site", 403), ("same-site", 403)):
        equal(browser.bare("GET", "/v1/keys", headers={"Sec-Fetch-Site": site}).status, status, site)
    equal(browser.bare("HEAD", "/v1/keys").status, 200)
    ctx.peal.post("/v1/release", headers={"Sec-Fetch-Site": "cross-site"}, expect=200)  # a key is no cookie


def test_a_key_goes_before_a_cookie(ctx):
    browser = sign_in(ctx.peal)
    reader = make_user(ctx.peal, "read")
    told = reader.get("/v1/session", headers={"Cookie": browser.cookie}, expect=200).json
    like(told, {"role": "read", "id": None})
    refused(reader.post("/v1/hold", {"reason": "x"}, headers={"Cookie": browser.cookie, **CONSOLE}), 403, "forbidden")
    wrong = ctx.peal.with_key("pk_wrong")
    refused(wrong.get("/v1/session", headers={"Cookie": browser.cookie}), 401, "no-key")
    like(browser.get("/v1/session", headers={"Authorization": "Basic YTpi"}, expect=200).json, {"role": "admin"})


def test_neither_stands_for_the_other(ctx):
    browser = sign_in(ctx.peal)
    secret = browser.cookie.split("=")[1]
    refused(ctx.peal.with_key(secret).get("/v1/keys"), 401, "no-key")
    refused(Browser(ctx.peal, f"peal_session={ctx.peal.key}").get("/v1/keys"), 401, "no-key")
    refused(browser.post("/v1/session"), 403, "forbidden")
    refused(ctx.peal.delete("/v1/session"), 404, "not-found")


def test_cookies_as_strangers_send_them(ctx):
    good = sign_in(ctx.peal).cookie
    for cookie, status in ((f"a=1; {good}; b=2", 200), (f"a; ;=; =x;{good}", 200), (f"a=b=c;\t{good} ;", 200),
                           (f"{good}; {good}", 401), (f"{good}; peal_session=x", 401), (good + "x", 401),
                           (good[:-1], 401), (good.upper(), 401), ("peal_session", 401), ("peal_session=", 401),
                           (f'{good.split("=")[0]}="{good.split("=")[1]}"', 401), (f"x{good}", 401), (f"a=1, {good}", 401),
                           ("; ".join(f"c{n}=v" for n in range(199)) + "; " + good, 200),
                           ("; ".join(f"c{n}=v" for n in range(200)) + "; " + good, 401),
                           ("peal_session=" + "x" * 9000, 401)):
        equal(Browser(ctx.peal, cookie).get("/v1/session").status, status, cookie[:80])


def test_it_ends_after_twelve_hours(ctx):
    browser = sign_in(ctx.peal)
    advance(ctx.peal, "11h")
    browser.get("/v1/session", expect=200)
    advance(ctx.peal, "1h")
    is_over(browser)
    equal([row["sessionOf"] for row in ctx.peal.get("/v1/keys").json["items"]], [None])


def test_it_ends_with_its_key(ctx):
    made = ctx.peal.post("/v1/keys", {"role": "admin", "expiresAt": moment(hours=2)}, expect=201).json
    browser = sign_in(ctx.peal.with_key(made["key"]))
    equal(browser.told["expiresAt"], moment(hours=2))
    ctx.peal.patch(f"/v1/keys/{made['id']}", {"expiresAt": moment(hours=1)}, expect=200)
    equal(browser.get("/v1/session").json["expiresAt"], moment(hours=1))
    advance(ctx.peal, "1h")
    is_over(browser)
    made = ctx.peal.post("/v1/keys", {"role": "admin"}, expect=201).json
    browser = sign_in(ctx.peal.with_key(made["key"]))
    ctx.peal.delete(f"/v1/keys/{made['id']}", expect=204)
    is_over(browser)


def test_it_has_the_role_that_its_key_has_by_now(ctx):
    made = ctx.peal.post("/v1/keys", {"role": "admin"}, expect=201).json
    browser = sign_in(ctx.peal.with_key(made["key"]))
    browser.get("/v1/keys", expect=200)
    refused(browser.patch(f"/v1/keys/{made['id']}", {"role": "read"}), 409, "conflict")  # its own
    ctx.peal.patch(f"/v1/keys/{made['id']}", {"role": "read"}, expect=200)
    refused(browser.get("/v1/keys"), 403, "forbidden")
    equal(browser.get("/v1/session", expect=200).json["role"], "read")


def test_the_cookie_is_for_tls_alone_where_that_is_spoken(ctx):
    peal = ctx.start(args=("--behind-proxy", "127.0.0.1/32"))
    for scheme, end in (("https", "Path=/; Secure"), ("http", "Path=/"), (None, "Path=/")):
        said = {"X-Forwarded-Proto": scheme} if scheme else {}
        answer = peal.post("/v1/session", headers={"X-Forwarded-For": "192.0.2.7", **said}, expect=201)
        assert answer.headers["Set-Cookie"].endswith(f"SameSite=Strict; {end}"), (scheme, answer.headers)


def test_it_is_listed_and_revoked_as_a_key(ctx):
    browser = sign_in(ctx.peal)
    id, key = browser.told["id"], browser.told["keyId"]
    row, = [row for row in ctx.peal.get("/v1/keys").json["items"] if row["sessionOf"]]
    like(row, {"id": id, "sessionOf": key, "role": "admin", "system": True, "expiresAt": moment(hours=12)})
    equal(ctx.peal.get(f"/v1/keys/{id}", expect=200).json, row)
    refused(ctx.peal.patch(f"/v1/keys/{id}", {"expiresAt": None}), 409, "conflict")
    refused(ctx.peal.delete(f"/v1/keys/{key}"), 409, "conflict")  # a session is no key of the system
    ran = ctx.peal.cli("keys", "list")
    assert re.search(rf"^{id} .* {key}$", ran.out, re.M), ran
    equal(ctx.peal.cli("keys", "revoke", id).code, 0)
    is_over(browser)
    equal(ctx.peal.get(f"/v1/keys/{id}").status, 404)


def test_other_tenants_see_nothing_of_it(ctx):
    acme = make_tenant(ctx.peal, "acme")
    browser, other = sign_in(acme), make_user(ctx.peal, "admin")
    id = browser.told["id"]
    like(browser.get("/v1/session").json, {"tenant": "acme"})
    for method in ("GET", "DELETE", "PATCH"):
        equal(other.request(method, f"/v1/keys/{id}", {"name": "x"} if method == "PATCH" else None).status, 404, method)
    equal(browser.get("/v1/keys?tenant=default").status, 404)
    equal(browser.get(f"/v1/keys/{sign_in(ctx.peal).told['id']}").status, 404)
    browser.get("/v1/session", expect=200)


def test_a_tenant_goes_with_its_sessions(ctx):
    acme = make_tenant(ctx.peal, "acme")
    browser = sign_in(acme)
    for row in ctx.peal.get("/v1/keys?tenant=acme").json["items"]:
        if not row["sessionOf"]:
            ctx.peal.delete(f"/v1/keys/{row['id']}", expect=204)
    is_over(browser)
    ctx.peal.delete("/v1/tenants/acme", expect=204)


def test_a_key_has_a_hundred_at_most(ctx):
    browsers = [sign_in(ctx.peal) for _ in range(101)]
    is_over(browsers[0])
    browsers[1].get("/v1/session", expect=200)
    equal(len([row for row in ctx.peal.get("/v1/keys?limit=500").json["items"] if row["sessionOf"]]), 100)


def rows(ctx):
    return ctx.sql("SELECT COUNT(*) FROM {}api_key WHERE parent IS NOT NULL".format(
        "peal." if ctx.store == "postgres" else ""))


def test_what_ended_is_gone_a_day_later(ctx):
    closed, open = sign_in(ctx.peal), sign_in(ctx.peal)
    closed.delete("/v1/session", expect=204)
    advance(ctx.peal, "23h")
    ctx.peal.post("/v1/tick", expect=200)
    equal(int(rows(ctx)[0][0]), 2)
    advance(ctx.peal, "2h")
    eventually(lambda: ctx.peal.post("/v1/tick", expect=200) and int(rows(ctx)[0][0]) == 1)
    is_over(closed)
    is_over(open)
    advance(ctx.peal, "12h")
    eventually(lambda: ctx.peal.post("/v1/tick", expect=200) and int(rows(ctx)[0][0]) == 0)


def test_it_outlives_the_server_and_is_stored_as_a_hash(ctx):
    browser = sign_in(ctx.peal)
    secret = browser.cookie.split("=")[1]
    kept = ctx.sql("SELECT * FROM {}api_key".format("peal." if ctx.store == "postgres" else ""))
    assert secret not in str(kept) and secret[3:] not in str(kept), "only its hash is kept"
    ctx.peal.restart()
    browser.host = ctx.peal.host
    like(browser.get("/v1/session", expect=200).json, {"id": browser.told["id"]})


def test_the_audit_names_it(ctx):
    made = ctx.peal.post("/v1/keys", {"role": "author", "name": "Ada"}, expect=201).json
    browser = sign_in(ctx.peal.with_key(made["key"]))
    browser.post("/v1/channels", {"key": "memory:x", "type": "memory"}, expect=201)
    browser.delete("/v1/session", expect=204)
    told = f"{browser.told['id']} of {made['id']} Ada"

    def look():
        items = ctx.peal.get("/v1/audit", expect=200).json["items"]
        seen = {row["kind"]: row for row in items}
        return seen if "Session.Closed" in seen else None
    seen = eventually(look)
    for kind, actor in (("Session.Opened", made["id"]), ("Session.Closed", browser.told["id"])):
        assert told in str(seen[kind]), seen[kind]
        equal(seen[kind]["actor"], actor)
        equal(seen[kind]["actorName"], "Ada")
    saved = ctx.peal.get(f"/v1/audit?actor={browser.told['id']}", expect=200).json["items"]
    assert "Definition.Saved" in {row["kind"] for row in saved}, saved


def test_the_stream_ends_with_the_session(ctx):
    for end in (lambda one: one.delete("/v1/session", expect=204), lambda one: advance(ctx.peal, "12h")):
        browser = sign_in(ctx.peal)
        stream = Stream(browser, headers={"Authorization": "", "Cookie": browser.cookie,
                                          "Sec-Fetch-Site": "same-origin"})
        equal(stream.status, 200)
        end(browser)
        frame = stream.next()
        while frame.data.get("code") != "forbidden":
            frame = stream.next()


@only("postgres")
def test_it_ends_on_every_node(ctx):
    one, two = ctx.start(clock="system"), ctx.start(clock="system")
    made = one.post("/v1/keys", {"role": "admin"}, expect=201).json
    first, second, third = (sign_in(one.with_key(made["key"]), two) for _ in range(3))
    for browser in (first, second, third):
        browser.get("/v1/session", expect=200)
    first.host = one.host
    first.delete("/v1/session", expect=204)
    first.host = two.host
    is_over(first)
    one.delete(f"/v1/keys/{second.told['id']}", expect=204)
    is_over(second)
    one.delete(f"/v1/keys/{made['id']}", expect=204)
    is_over(third)


if __name__ == "__main__":
    main()
