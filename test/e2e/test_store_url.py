"""Stores and settings that are refused at the start, and what is told of a store that fails."""
from harness import Cluster, equal, main, once, only, run_peal
from steps import make_trigger


def refusal(ctx, command, url):
    """What a command says that does not take the URL."""
    ran = run_peal(command, "--store", url, cwd=ctx.folder,
                   env={"HOME": str(ctx.folder), "PEAL_LISTEN": "127.0.0.1:0"})
    assert ran.code != 0, ran
    return ran.out + ran.err


@only("postgres")
def test_a_database_in_another_encoding_is_refused(ctx):
    cluster = Cluster.get()
    name = ctx.store_url.rpartition("/")[2] + "_latin"
    cluster.query(f"CREATE DATABASE {name} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'"
                  " TEMPLATE template0")
    ctx.closers.append(lambda: cluster.drop_database(cluster.url_of(name)))
    for command in ("serve", "migrate", "doctor"):
        said = refusal(ctx, command, cluster.url_of(name))
        assert "LATIN1" in said and "UTF8" in said and "request" not in said, said


@once
def test_a_master_key_that_is_none_is_refused_as_a_setting(ctx):
    key = ctx.write("bad.key", "not hex\n")
    ran = run_peal("serve", "--master-key-file", key, cwd=ctx.folder,
                   env={"HOME": str(ctx.folder), "PEAL_LISTEN": "127.0.0.1:0"})
    equal(ran.code, 2)
    assert "Error: Peal cannot work with this setup" in ran.err, ran


@only("postgres")
def test_what_the_database_says_is_for_the_log(ctx):
    make_trigger(ctx.peal)
    with Cluster.get().locked("peal.event", ctx.store_url):
        told = ctx.peal.post("/v1/events", {"kind": "a"}, seconds=60, expect=503).json
    equal((told["code"], told["detail"]),
          ("busy", "too much is waiting, or a table is locked; try again"))
    assert "lock timeout" in ctx.peal.log(), ctx.peal.log()


@only("postgres")
def test_settings_in_the_url_hold_or_are_refused(ctx):
    """The tables are in schema peal: a search_path that says otherwise must not pass silently."""
    for options in ("-c%20search_path%3Dpublic", "--Search-Path%3Dpublic",
                    "-c%20work_mem%3D8MB%20-cjit%3Don"):
        for command in ("serve", "migrate", "doctor"):
            said = refusal(ctx, command, f"{ctx.store_url}?options={options}")
            assert "Peal sets that itself" in said, said
            assert ("jit" if "jit" in options else "search_path") in said, said
    said = refusal(ctx, "migrate", f"{ctx.store_url}?options=-c%20no_such_setting%3D1")
    assert 'unrecognized configuration parameter "no_such_setting"' in said, said
    ctx.start(store=f"{ctx.store_url}?options=-c%20work_mem%3D8MB").get("/v1/events", expect=200)


def packed_by(ctx, options=""):
    """How the server packs the payload of an event that is worth it."""
    peal = ctx.start(store=ctx.store_url + options)
    event = peal.post("/v1/events", {"kind": "long", "payload": {"text": "again " * 1000}}, expect=202).json["eventId"]
    peal.stop()
    [[by]] = Cluster.get().query(f"SELECT pg_column_compression(payload) FROM event WHERE id = '{event}'",
                                 ctx.store_url)
    return by


@only("postgres")
def test_payloads_are_packed_by_lz4_unless_somebody_chose(ctx):
    cluster, name = Cluster.get(), ctx.store_url.rpartition("/")[2]
    [[can]] = cluster.query("SELECT 'lz4' = ANY (enumvals) FROM pg_settings WHERE name = 'default_toast_compression'")
    equal(packed_by(ctx), "lz4" if can == "t" else "pglz")
    equal(packed_by(ctx, "?options=-c%20default_toast_compression%3Dpglz"), "pglz")
    cluster.query(f"ALTER DATABASE {name} SET default_toast_compression = pglz")
    equal(packed_by(ctx), "pglz")


@once
def test_a_mistyped_store_does_not_print_its_password(ctx):
    for command in ("serve", "migrate", "doctor"):
        said = refusal(ctx, command, "postgrse://peal:hunter2@db/peal")
        assert "sqlite:PATH" in said and "hunter2" not in said, said


if __name__ == "__main__":
    main()
