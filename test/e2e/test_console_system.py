"""The console's pages of the system: keys with their sessions, tenants, nodes, sites, settings."""
import os

from console import drive
from harness import equal, main, only
from steps import advance, make_tenant, make_user
from test_sites import forward, row

PICTURES = "PEAL_TEST_PICTURES"  # a folder that keeps them, for whoever wants to see
QUIET = {"refused": [], "elsewhere": [], "errors": []}


def keys(peal):
    return peal.get("/v1/keys", expect=200).json["items"]


def who(peal, key):
    """Whose key it is, as it says itself; None for one that is refused."""
    answer = peal.with_key(key).get("/v1/session")
    return {name: answer.json[name] for name in ("tenant", "role", "name")} if answer.status == 200 else None


def id_of(peal, name):
    return next(key["id"] for key in keys(peal) if key["name"] == name and not key["sessionOf"])


def session_of(peal, name):
    return next(key["id"] for key in keys(peal) if key["sessionOf"] == id_of(peal, name))


def test_a_key_is_made_shown_once_changed_and_revoked(ctx):
    told = drive(ctx, "console_system", part="keys",
                 actions={"who": lambda key: who(ctx.peal, key), "id_of": lambda name: id_of(ctx.peal, name),
                          "key": lambda id: ctx.peal.get(f"/v1/keys/{id}", expect=200).json})
    changed = told.pop("changed")
    equal({name: changed[name] for name in ("role", "name", "site", "handlers")},
          {"role": "worker", "name": "robot", "site": None, "handlers": ["worker:rates", "worker:mail"]})
    assert changed["expiresAt"].startswith("2035-01-0"), changed  # untouched, whatever the browser's zone
    own = {"tenant": "default", "role": "site", "name": "plant"}
    equal(told, {"mine": 1, "under": 1, "needed": True, "works": own, "gone": True, "limits": True, "unnamed": True, "refused": None, **QUIET})


def test_a_session_that_is_ended_is_ended_in_the_other_browser(ctx):
    told = drive(ctx, "console_system", part="ended", other=make_user(ctx.peal, "operator").key,
                 actions={"session_of": lambda name: session_of(ctx.peal, name), "id_of": lambda name: id_of(ctx.peal, name)})
    equal(told, {"led": "/signin", "again": "Channels", "out": "/signin"})


def test_a_tenant_is_made_renamed_given_a_key_and_deleted(ctx):
    def revoke():
        for key in ctx.peal.get("/v1/keys?tenant=acme", expect=200).json["items"]:
            ctx.peal.delete(f"/v1/keys/{key['id']}", expect=204)

    told = drive(ctx, "console_system", part="tenants", actions={"who": lambda key: who(ctx.peal, key), "revoke": revoke})
    equal(told, {"refused": "/id", "next": "peal keys create --role admin --tenant acme --name 'acme admin'", "tenant": "acme",
                 "stays": "The tenant default always exists", "kept": "tenant acme still has 1 key", **QUIET})
    ctx.peal.get("/v1/tenants/acme", expect=404)


def test_nodes_and_sites_are_seen_as_they_are(ctx):
    made = {}

    def site():
        made["site"] = make_user(ctx.peal, "site")

    told = drive(ctx, "console_system", part="nodes",
                 actions={"site": site, "forward": lambda: len(forward(made["site"], row(1), row(2))["rows"]), "silence": lambda: advance(ctx.peal, "10m") and None})
    equal(told, {"one": [["1", "alive", True]], "none": "No sites", "site": ["plant-7", "never"], "silent": ["10 min", "not told", "2"],
                 "note": "1 site has been silent", **QUIET})


def test_settings_say_where_they_come_from_and_outbound_is_held_there(ctx):
    held = lambda: ctx.peal.get("/readyz", expect=200).json["held"]
    told = drive(ctx, "console_system", part="settings", actions={"held": held, "clock": lambda: ctx.peal.get("/v1/clock", expect=200).json["now"]})
    equal(told, {"secret": ["secret, not shown", "environment PEAL_ADMIN_KEY"], "usual": ["false", "default"], "shown": False, "store": ctx.store,
                 "band": told["band"], "held": True, "released": False, "hours": 6, "same": True, **QUIET})
    assert "Outbound is held" in told["band"], told


def test_who_may_not_look_sees_why(ctx):
    told = drive(ctx, "console_system", part="viewer", viewer=make_user(ctx.peal, "read").key)
    equal(told["/keys"], ["Keys: not with this key", "It needs the role admin; you are signed in as read. Somebody with the role admin makes such a key:"])
    equal(told["/tenants"][0], "Tenants: not with this key")
    assert told["/tenants"][1].startswith("It needs the system right, which read does not have."), told
    equal((told["outbound"], told["clock"], told["settings"]),
          ("Hold outbound needs the system right", "Advance the clock needs the system right", "Values: not with this key"))
    equal((told["/nodes"], told["/sites"]), ("Nodes", "Sites"))


@only("sqlite")
def test_they_look_well(ctx):
    make_tenant(ctx.peal, "acme")
    forward(make_user(ctx.peal, "site"), row(1))
    told = drive(ctx, "console_system", part="looks", seconds=400, paths=["/keys", "/tenants", "/nodes", "/sites", "/settings"], pictures=os.environ.get(PICTURES))
    equal(told, {"wrong": [], **QUIET})


if __name__ == "__main__":
    main()
