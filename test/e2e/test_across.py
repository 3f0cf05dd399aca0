"""M11: the role operations looks across tenants by naming one, and each look is audited. A site's
key looks at what its own site handed on."""
import json

from harness import equal, like, main, only
from steps import ADDRESS, deliveries, ingest, make_tenant, make_trigger, make_user, settle, visit

NO_SUCH_ID = "01975e3c-7a4b-7000-8000-2c9d3f5b1a60"


def prepare(ctx):
    """Two tenants with a delivery each; answers acme's administrator and its event and delivery."""
    acme = make_tenant(ctx.peal, "acme")
    for who in (ctx.peal, acme):
        make_trigger(who)
        ingest(who, visit())
    settle(ctx.peal)
    [made] = deliveries(acme)
    return acme, made


def paths_of(made):
    event, id = made["eventId"], made["id"]
    return ["/v1/deliveries", f"/v1/deliveries/{id}", f"/v1/deliveries/{id}/attempts", "/v1/events",
            f"/v1/events/{event}", f"/v1/events/{event}/explain", f"/v1/events/{event}/timeline",
            "/v1/outbox", "/v1/messages", "/v1/kpis"]


def looks(ctx, who):
    """What the audit tells of looks from outside, and whose they were."""
    settle(ctx.peal)
    rows = who.get("/v1/audit?kind=CrossTenant.Read&limit=500", expect=200).json["items"]
    return [row["detail"]["text"] for row in rows], {row["actor"] for row in rows}


def test_operations_sees_the_tenant_that_it_names(ctx):
    acme, made = prepare(ctx)
    watcher = make_user(ctx.peal, "operations")
    for path in paths_of(made):
        told, own = watcher.get(f"{path}?tenant=acme", expect=200), acme.get(path, expect=200)
        equal(shape_of(told.json), shape_of(own.json), path)
        assert ADDRESS not in told.text, f"{path}: addresses are masked"
    [row] = watcher.get("/v1/deliveries?tenant=acme&state=delivered", expect=200).json["items"]
    like(row, {"id": made["id"], "tenant": "acme", "address": "***01"})
    [own] = watcher.get("/v1/deliveries", expect=200).json["items"]
    equal(own["tenant"], "default")
    equal(watcher.get(f"/v1/deliveries/{made['id']}").status, 404)


def test_the_commands_name_it_too(ctx):
    _, made = prepare(ctx)
    watcher = make_user(ctx.peal, "operations")
    event, id = made["eventId"], made["id"]
    asked = [("deliveries",), ("deliveries", "show", id), ("deliveries", "attempts", id), ("events",),
             ("events", "show", event), ("events", "timeline", event), ("why", event), ("messages",),
             ("outbox",), ("kpi",)]
    for words in asked:
        ran = ctx.peal.cli(*words, "--tenant", "acme", "--key", watcher.key)
        equal((ran.code, ran.err if ran.code else ""), (0, ""), " ".join(words))
    [row] = json.loads(ctx.peal.cli("deliveries", "--tenant", "acme", "--json", "--key", watcher.key).out)["items"]
    equal(row["id"], id)


def shape_of(value):
    """What a value is, without its texts: some of them are masked."""
    if isinstance(value, dict):
        return {name: shape_of(each) for name, each in value.items()}
    return [shape_of(each) for each in value] if isinstance(value, list) else type(value)


def test_each_look_is_told_to_the_tenant_that_was_looked_at(ctx):
    acme, made = prepare(ctx)
    watcher = make_user(ctx.peal, "operations")
    equal(looks(ctx, acme), ([], set()))
    for path in paths_of(made):
        watcher.get(f"{path}?tenant=acme", expect=200)
    equal(watcher.get(f"/v1/deliveries/{NO_SUCH_ID}?tenant=acme").status, 404)
    equal(watcher.get("/v1/deliveries/%22%3c?tenant=acme").status, 404)
    told, actors = looks(ctx, acme)
    equal(len(told), len(paths_of(made)) + 2)
    assert {"GET /v1/deliveries by a key of default", "GET /v1/kpis by a key of default",
            f"GET /v1/deliveries/{{id}} {made['id']} by a key of default"} <= set(told), told
    [watchers] = [key["id"] for key in ctx.peal.get("/v1/keys").json["items"]
                  if key["role"] == "operations"]
    equal(actors, {watchers})
    watcher.get("/v1/deliveries", expect=200)
    watcher.get("/v1/deliveries?tenant=default", expect=200)
    equal(looks(ctx, ctx.peal), ([], set()), "who looks at its own looks across nothing")
    assert acme.get("/v1/audit/verify", expect=200).json["ok"]


def test_others_may_not_name_a_tenant(ctx):
    acme, made = prepare(ctx)
    users = [make_user(ctx.peal, role) for role in ("admin", "operator", "author", "read")]
    for path in paths_of(made):
        for who in (ctx.peal, *users):
            answer = who.get(f"{path}?tenant=acme")
            equal((answer.status, answer.json["code"]), (403, "forbidden"), path)
    watcher = make_user(ctx.peal, "operations")
    for path in paths_of(made):
        equal(watcher.get(f"{path}?tenant=nobody").status, 404, path)
        equal(watcher.get(f"{path}?tenant=x&tenant=acme").status, 422, path)
    equal(watcher.get(f"/v1/deliveries?tenant={'x' * 5000}").status, 422)
    equal(watcher.get("/v1/deliveries?tenant=acme&q=770").status, 403)
    for path in ("/v1/keys", "/v1/triggers", "/v1/audit", "/v1/tenants"):
        equal(watcher.get(path).status, 403, path)
    equal(looks(ctx, acme), (["GET /v1/deliveries by a key of default"], looks(ctx, acme)[1]))


def test_the_role_is_granted_with_the_system_right_only(ctx):
    acme = make_tenant(ctx.peal, "acme")
    body = {"role": "operations", "name": "eyes"}
    for who in (acme, make_user(ctx.peal, "admin")):
        answer = who.post("/v1/keys", body)
        equal((answer.status, answer.json["code"]), (403, "forbidden"))
        made = who.post("/v1/keys", {"role": "read", "name": "eyes"}, expect=201).json["id"]
        equal(who.patch(f"/v1/keys/{made}", {"role": "operations"}).status, 403)
        equal(who.put(f"/v1/keys/{made}", body).status, 403)
    equal(ctx.peal.patch(f"/v1/keys/{made}", {"role": "operations"}, expect=200).json["role"],
          "operations")
    equal(ctx.peal.post("/v1/keys", {**body, "tenant": "acme"}, expect=201).json["tenant"], "acme")


@only("postgres")
def test_a_look_is_answered_where_it_cannot_be_told(ctx):
    """A database that takes no writes still shows what it has."""
    acme, made = prepare(ctx)
    watcher = make_user(ctx.peal, "operations")
    settle(ctx.peal)
    ctx.sql("CREATE FUNCTION peal.refuse() RETURNS trigger LANGUAGE plpgsql AS"
            " 'BEGIN RAISE EXCEPTION ''no''; END'")
    ctx.sql("CREATE TRIGGER refuse BEFORE INSERT ON peal.journal FOR EACH ROW"
            " EXECUTE FUNCTION peal.refuse()")
    equal(watcher.get(f"/v1/deliveries/{made['id']}?tenant=acme", expect=200).json["id"], made["id"])
    assert ctx.peal.process.err.wait_for("look.untold", 10), ctx.peal.log()
    ctx.sql("DROP TRIGGER refuse ON peal.journal")
    watcher.get("/v1/kpis?tenant=acme", expect=200)
    equal(looks(ctx, acme)[0], ["GET /v1/kpis by a key of default"])


def test_a_site_sees_its_own_deliveries(ctx):
    make_trigger(ctx.peal, eventKind="order")
    sites = [ctx.peal.with_key(ctx.peal.post("/v1/keys", {"role": "site", "site": name}, expect=201)
                               .json["key"]) for name in ("north", "south")]
    for n, site in enumerate(sites, 1):
        body = {"kind": "order", "recipient": {"address": ADDRESS}}
        sent = {"id": NO_SUCH_ID[:-1] + str(n), "kind": "event", "body": body}
        equal(site.post("/v1/site/forward", {"rows": [sent]}, expect=200).json["rows"][0]["outcome"],
              "accepted")
    settle(ctx.peal)
    of = {row["site"]: row["id"] for row in deliveries(ctx.peal)}
    for site, own, other in ((sites[0], "north", "south"), (sites[1], "south", "north")):
        equal([row["id"] for row in deliveries(site)], [of[own]])
        equal([row["id"] for row in deliveries(site, f"&site={own}")], [of[own]])
        equal(site.get(f"/v1/deliveries?site={other}").status, 403)
        like(site.get(f"/v1/deliveries/{of[own]}", expect=200).json,
             {"address": "***01", "state": "delivered"})
        equal(len(site.get(f"/v1/deliveries/{of[own]}/attempts", expect=200).json["items"]), 1)
        for path in (f"/v1/deliveries/{of[other]}", f"/v1/deliveries/{of[other]}/attempts"):
            equal(site.get(path).status, 404, path)


if __name__ == "__main__":
    main()
