"""The files of a SQLite store: who may read them, who may use them, what if they are taken away."""
import os
import pathlib

from harness import equal, main, only, run_peal
from steps import KIND, ingest, ingest_one, make_trigger, settle, visit


def path_of(ctx):
    return pathlib.Path(ctx.peal.store.removeprefix("sqlite:"))


def modes(folder):
    return {path.name: oct(path.stat().st_mode & 0o777) for path in folder.iterdir()
            if ".db" in path.name}


def check_ends(ctx):
    """Nothing is acknowledged any more, and the program ends and says why."""
    try:
        answer = ctx.peal.post("/v1/ingest", {"eventKind": KIND, "items": [visit()]})
        assert answer.status >= 500, answer
    except OSError:  # it ended before it answered
        pass
    equal(ctx.peal.process.wait(seconds=30), 1)
    assert "deleted or replaced" in ctx.peal.log(), ctx.peal.log()


@only("sqlite")
def test_a_deleted_store_acknowledges_nothing(ctx):
    make_trigger(ctx.peal)
    ingest_one(ctx.peal)
    for path in ctx.folder.glob("*.db*"):
        path.unlink()
    check_ends(ctx)


@only("sqlite")
def test_a_replaced_store_acknowledges_nothing(ctx):
    make_trigger(ctx.peal)
    path = path_of(ctx)
    other = ctx.folder / "other"
    other.write_bytes(path.read_bytes())
    other.rename(path)
    check_ends(ctx)


@only("sqlite")
def test_a_deleted_wal_acknowledges_nothing(ctx):
    make_trigger(ctx.peal)
    path_of(ctx).with_name(path_of(ctx).name + "-wal").unlink()
    check_ends(ctx)


def check_refused(ctx, name):
    ran = run_peal("serve", "--store", f"sqlite:{name}", "--listen", "127.0.0.1:0",
                   env={"HOME": str(ctx.folder)}, cwd=ctx.folder)
    assert ran.code != 0 and "in use by another Peal" in ran.err, ran
    settle(ctx.peal)


@only("sqlite")
def test_a_second_process_is_refused_by_whatever_name(ctx):
    path = path_of(ctx) if ctx.peal else None
    symbolic, hard = ctx.folder / "symbolic", ctx.folder / "hard"
    symbolic.symlink_to(path)
    os.link(path, hard)
    for name in (path, symbolic, hard):
        check_refused(ctx, name)


@only("sqlite")
def test_the_files_are_their_owners_alone(ctx):
    before = os.umask(0)
    try:
        make_trigger(ctx.peal)
    finally:
        os.umask(before)
    ingest(ctx.peal, visit())
    found = modes(ctx.folder)
    assert len(found) >= 4, found
    equal(set(found.values()), {"0o600"}, str(found))


@only("sqlite")
def test_files_that_others_could_read_are_tightened(ctx):
    make_trigger(ctx.peal)
    ctx.peal.kill9()
    for path in ctx.folder.glob("*.db*"):
        path.chmod(0o644)
    doctor = run_peal("doctor", "--store", ctx.peal.store, cwd=ctx.folder,
                      env={"HOME": str(ctx.folder)})
    assert "others can read" in doctor.out, doctor.out
    ctx.peal.start()
    assert "file.tightened" in ctx.peal.log(), ctx.peal.log()
    equal(set(modes(ctx.folder).values()), {"0o600"})


@only("sqlite")
def test_a_master_key_that_others_can_read_is_told(ctx):
    key = ctx.write("given.key", "ab" * 32 + "\n")
    key.chmod(0o644)
    peal = ctx.start(args=["--master-key-file", str(key)])
    assert "key.readable" in peal.log(), peal.log()
    doctor = run_peal("doctor", "--store", peal.store, "--master-key-file", key, cwd=ctx.folder,
                      env={"HOME": str(ctx.folder)})
    assert "others can read" in doctor.out, doctor.out


@only("sqlite")
def test_migrate_makes_files_of_its_owner_alone(ctx):
    before = os.umask(0)
    try:
        equal(run_peal("migrate", "--store", "sqlite:made.db", cwd=ctx.folder).code, 0)
    finally:
        os.umask(before)
    equal(set(modes(ctx.folder).values()), {"0o600"})


if __name__ == "__main__":
    main()
