"""Sites: a Peal elsewhere takes notifications in, keeps them, and hands them on to central."""
from harness import equal, like, main
from steps import make_tenant


def make_key(peal, expect=201, **members):
    return peal.post("/v1/keys", {"role": "site", "site": "plant-7", **members}, expect=expect)


def test_a_key_names_its_site(ctx):
    made = make_key(ctx.peal, name="of a plant").json
    like(made, {"role": "site", "site": "plant-7", "name": "of a plant"})
    like(ctx.peal.get(f"/v1/keys/{made['id']}", expect=200).json, {"site": "plant-7"})
    like(ctx.peal.patch(f"/v1/keys/{made['id']}", {"site": "plant-8"}, expect=200).json,
         {"role": "site", "site": "plant-8"})
    like(ctx.peal.patch(f"/v1/keys/{made['id']}", {"role": "read", "site": None}, expect=200).json,
         {"role": "read", "site": None})
    others = [key for key in ctx.peal.get("/v1/keys", expect=200).json["items"] if key["site"]]
    equal(others, [])


def test_a_site_goes_with_its_role_alone(ctx):
    for members in ({"site": None}, {"role": "read"}, {"site": "no/slash"}, {"site": "x" * 101}):
        like(make_key(ctx.peal, expect=422, **members).json["errors"][0], {"path": "/site"})


def test_two_tenants_may_have_sites_of_one_name(ctx):
    other = make_tenant(ctx.peal, "acme")
    for who in (ctx.peal, other, other):
        like(make_key(who).json, {"site": "plant-7"})


if __name__ == "__main__":
    main()
