"""How a node is set up, which nodes there are, and which sites hand on to it."""
import json

from harness import equal, eventually, like, main, only
from server import ADMIN_KEY
from site_peer import Site
from steps import make_tenant, make_user, moment
from test_sites import forward, row


def settings(peal):
    told = peal.get("/v1/settings", expect=200).json
    return told, {one["name"]: one for one in told["items"]}


def test_each_setting_says_where_it_comes_from(ctx):
    file = ctx.folder / "peal.yaml"
    file.write_text("# a comment\nkeep: 30d\npayload-max: 2M\nbody-max: 8M\n")
    peal = ctx.start(args=("--config", file, "--body-max", "16M"),
                     env={"PEAL_PAYLOAD_MAX": "3M", "PEAL_HOST_CONCURRENCY": "7"})
    told, items = settings(peal)
    equal(items["keep"], {"name": "keep", "value": "30d", "origin": f"{file}:2", "isSecret": False})
    equal((items["payload-max"]["value"], items["payload-max"]["origin"]), ("3M", "env PEAL_PAYLOAD_MAX"))
    equal((items["body-max"]["value"], items["body-max"]["origin"]), ("16M", "flag"))
    equal((items["host-concurrency"]["value"], items["host-concurrency"]["origin"]), ("7", "env PEAL_HOST_CONCURRENCY"))
    equal((items["bodies-max"]["value"], items["bodies-max"]["origin"]), ("256M", "default"))
    equal((items["adopt"]["value"], items["adopt"]["origin"]), ("false", "default"))
    equal((items["exec-dir"]["value"], items["exec-dir"]["origin"]), (None, "default"))


def test_secrets_are_never_shown(ctx):
    told, items = settings(ctx.peal)
    like(items["admin-key"], {"value": None, "origin": "env PEAL_ADMIN_KEY", "isSecret": True})
    assert ctx.peal.key not in json.dumps(told)
    assert "@" not in items["store"]["value"], items["store"]


def test_facts_of_the_store(ctx):
    told, items = settings(ctx.peal)
    like(told, {"store": {"kind": ctx.store}, "node": 1})
    store = told["store"]
    equal(items["store"]["value"], store["place"])
    assert store["schema"] >= 1 and store["bytes"] > 10000, store
    equal(store["walBytes"] is None, ctx.store == "postgres")
    assert store["version"].startswith({"sqlite": "SQLite 3", "postgres": "PostgreSQL 1"}[ctx.store]), store


def test_settings_need_the_system_right(ctx):
    equal(make_user(ctx.peal, "admin").get("/v1/settings").status, 403)


def test_a_node_tells_of_itself(ctx):
    node, = ctx.peal.get("/v1/nodes", expect=200).json["items"]
    version = ctx.peal.get("/openapi.json", expect=200).json["info"]["version"]
    like(node, {"number": 1, "state": "alive", "isThis": True, "version": version, "leases": 0})
    assert abs(node["clockOffsetMs"]) < 60000, node
    ctx.peal.restart()
    new, old = ctx.peal.get("/v1/nodes", expect=200).json["items"]
    like(new, {"number": 2, "state": "alive", "isThis": True})
    like(old, {"number": 1, "state": "left", "isThis": False})
    page = ctx.peal.get("/v1/nodes?limit=1", expect=200).json
    equal([one["number"] for one in page["items"]], [2])
    rest = ctx.peal.get(f"/v1/nodes?limit=1&cursor={page['next']}", expect=200).json
    equal(([one["number"] for one in rest["items"]], rest["next"]), ([1], None))


def test_a_node_that_was_killed_is_dead(ctx):
    ctx.peal.get("/v1/nodes", expect=200)
    ctx.peal.kill9()
    ctx.peal.start()
    states = eventually(lambda: [one["state"] for one in ctx.peal.get("/v1/nodes", expect=200).json["items"]]
                        if "dead" in ctx.peal.get("/v1/nodes", expect=200).text else None, 30)
    equal(states, ["alive", "dead"])


@only("postgres")
def test_each_node_knows_the_others(ctx):
    one, two = [ctx.start(clock="system") for _ in range(2)]
    for node, this in ((one, 1), (two, 2)):
        items = node.get("/v1/nodes", expect=200).json["items"]
        equal([(item["number"], item["state"], item["isThis"]) for item in items],
              [(2, "alive", this == 2), (1, "alive", this == 1)])
    equal(two.stop(), 0)
    equal([item["state"] for item in one.get("/v1/nodes", expect=200).json["items"]], ["left", "alive"])


def sites(peal):
    return {one["site"]: one for one in peal.get("/v1/sites", expect=200).json["items"]}


def test_a_site_is_known_by_its_key_and_then_by_what_it_hands_on(ctx):
    site = make_user(ctx.peal, "site")
    like(sites(ctx.peal), {"plant-7": {"lastSeenAt": None, "silentSeconds": None, "received": 0, "keyId": None,
                                       "backlog": None, "version": None, "clockSkewMs": None}})
    forward(site, row(1), row(2))
    ctx.peal.post("/v1/clock", {"advance": "90s"}, expect=200)
    told = sites(ctx.peal)["plant-7"]
    like(told, {"lastSeenAt": moment(), "silentSeconds": 90, "received": 2, "backlog": None})
    keys = {key["id"]: key["role"] for key in ctx.peal.get("/v1/keys", expect=200).json["items"]}
    equal(keys[told["keyId"]], "site")
    equal(make_tenant(ctx.peal, "acme").get("/v1/sites", expect=200).json["items"], [])


def test_what_a_site_tells_of_itself_is_kept(ctx):
    site = make_user(ctx.peal, "site")
    now = ctx.peal.get("/v1/clock", expect=200).json["now"]
    site.get(f"/v1/site?version=9.9&backlog=17&now={now}", expect=200)
    like(sites(ctx.peal), {"plant-7": {"version": "9.9", "backlog": 17, "clockSkewMs": 0, "toldAt": moment(),
                                       "received": 0, "silentSeconds": 0}})
    ctx.peal.post("/v1/clock", {"advance": "10s"}, expect=200)
    forward(site, row())
    forward(site, row(), row())
    like(sites(ctx.peal)["plant-7"], {"version": "9.9", "backlog": 17, "received": 3, "silentSeconds": 0})


def test_a_running_site_tells_of_itself(ctx):
    """Held, it has what it took in; released, it has handed that on."""
    key = ctx.peal.post("/v1/keys", {"role": "site", "site": "plant-7"}, expect=201).json["key"]
    site = Site(ctx, f"http://{ctx.peal.host}", key)
    ctx.servers.append(site)
    told = eventually(lambda: sites(ctx.peal)["plant-7"]["toldAt"] and sites(ctx.peal)["plant-7"])
    version = ctx.peal.get("/openapi.json", expect=200).json["info"]["version"]
    like(told, {"version": version, "backlog": 0, "received": 0})
    admin = site.with_key(ADMIN_KEY)
    admin.post("/v1/hold", {"reason": "to count"}, expect=200)
    for n in range(3):
        site.with_key(None).post("/v1/events", {"kind": "boiler.hot", "payload": {"n": n}}, expect=202)
    site.restart()
    eventually(lambda: sites(ctx.peal)["plant-7"]["backlog"] == 3)
    site.with_key(ADMIN_KEY).post("/v1/release", expect=200)
    eventually(lambda: sites(ctx.peal)["plant-7"]["received"] == 3 and sites(ctx.peal)["plant-7"]["backlog"] == 0)


def test_the_commands(ctx):
    run = lambda *words: ctx.peal.cli(*words).out
    make_user(ctx.peal, "site")
    assert "alive" in run("nodes"), run("nodes")
    assert "plant-7" in run("sites"), run("sites")
    assert "payload-max" in run("settings") and "default" in run("settings")
    made = ctx.peal.post("/v1/operations", {"action": "retry", "filter": {}}, expect=202).json["id"]
    eventually(lambda: "done" in run("operations"))
    assert made in run("operations", "show", made)
    equal(ctx.peal.cli("operations", "pause", made).code, 5)


if __name__ == "__main__":
    main()
