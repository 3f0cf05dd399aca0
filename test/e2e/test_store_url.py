"""Stores that are refused at the start, and how."""
from harness import Cluster, equal, main, once, only, run_peal


@only("postgres")
def test_a_database_in_another_encoding_is_refused(ctx):
    cluster = Cluster.get()
    name = ctx.store_url.rpartition("/")[2] + "_latin"
    cluster.query(f"CREATE DATABASE {name} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'"
                  " TEMPLATE template0")
    ctx.closers.append(lambda: cluster.drop_database(cluster.url_of(name)))
    for command in ("serve", "migrate", "doctor"):
        ran = run_peal(command, "--store", cluster.url_of(name), cwd=ctx.folder,
                       env={"HOME": str(ctx.folder), "PEAL_LISTEN": "127.0.0.1:0"})
        assert ran.code != 0, ran
        assert "LATIN1" in ran.out + ran.err and "UTF8" in ran.out + ran.err, ran


@once
def test_a_mistyped_store_does_not_print_its_password(ctx):
    for command in ("serve", "migrate", "doctor"):
        ran = run_peal(command, "--store", "postgrse://peal:hunter2@db/peal", cwd=ctx.folder,
                       env={"HOME": str(ctx.folder), "PEAL_LISTEN": "127.0.0.1:0"})
        assert ran.code != 0, ran
        assert "sqlite:PATH" in ran.out + ran.err, ran
        equal("hunter2" in ran.out + ran.err, False, ran.err)


if __name__ == "__main__":
    main()
