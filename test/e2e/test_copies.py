"""Restored, copied and swapped databases: known by their epoch, and held (store/epoch.h)."""
import shutil
import sqlite3

from harness import Peal, equal, eventually, like, main, only
from steps import advance, deliveries, ingest_one, make_trigger, settle


def make_http(ctx, peal):
    """A trigger whose visits go to the receiver that is answered."""
    receiver = ctx.receiver()
    peal.post("/v1/channels", {"key": "http:out", "type": "http",
                               "config": {"url": receiver.url}}, expect=201)
    make_trigger(peal, channel="http:out")
    return receiver


def readiness(peal):
    return peal.with_key(None).get("/readyz", expect=200).json


def check_held(peal, receiver, sent, *words):
    """It takes events in, has sent no more than before, and says why and what to do."""
    told = eventually(lambda: (one := readiness(peal))["held"] and one)
    for word in ("peal release", *words):
        assert word in told["reasons"][0], told
    ingest_one(peal)
    advance(peal, "2d")
    equal(receiver.count(), sent)
    assert peal.process.err.find("store.doubted"), peal.log()


def check_released(peal, receiver, count):
    """Released, it is the one that sends, also after a restart."""
    equal(peal.cli("release").code, 0)
    settle(peal)
    receiver.wait_for(count)
    peal.restart()
    equal(readiness(peal)["held"], False)


def sqlite_path(peal):
    return peal.store.removeprefix("sqlite:")


def back_up(peal, path):
    """As `sqlite3 peal.db .backup` does it: from a store in use."""
    source, target = sqlite3.connect(sqlite_path(peal)), sqlite3.connect(path)
    source.backup(target)
    target.close()
    source.close()


def restore_by_copy(backup, path):
    for tail in ("-wal", "-shm"):
        (path.parent / (path.name + tail)).unlink(missing_ok=True)
    shutil.copyfile(backup, path)  # the same inode, born when it was


def restore_by_sqlite(backup, path):
    source, target = sqlite3.connect(backup), sqlite3.connect(path)
    source.backup(target)
    target.close()
    source.close()


def check_restored_file(ctx, restore):
    receiver = make_http(ctx, ctx.peal)
    ingest_one(ctx.peal)
    backup = ctx.folder / "backup"
    ctx.peal.post("/v1/hold", {"reason": "backup"}, expect=200)
    ingest_one(ctx.peal)
    back_up(ctx.peal, backup)
    ctx.peal.post("/v1/release", expect=200)
    receiver.wait_for(2)
    settle(ctx.peal)
    ctx.peal.stop()
    restore(backup, ctx.folder / sqlite_path(ctx.peal))
    ctx.peal.start()
    check_held(ctx.peal, receiver, 2, "older")
    check_released(ctx.peal, receiver, 4)


@only("sqlite")
def test_a_backup_copied_over_the_file_is_held(ctx):
    check_restored_file(ctx, restore_by_copy)


@only("sqlite")
def test_a_backup_restored_into_the_file_is_held(ctx):
    check_restored_file(ctx, restore_by_sqlite)


@only("sqlite")
def test_a_file_whose_epoch_is_gone_is_held(ctx):
    receiver = make_http(ctx, ctx.peal)
    ctx.peal.stop()
    epoch = ctx.folder / (sqlite_path(ctx.peal) + ".epoch")
    equal(epoch.stat().st_mode & 0o777, 0o600)
    epoch.unlink()
    ctx.peal.start()
    check_held(ctx.peal, receiver, 0, "does not know")
    check_released(ctx.peal, receiver, 1)


@only("sqlite")
def test_who_adopts_a_store_vouches_for_it(ctx):
    receiver = make_http(ctx, ctx.peal)
    ctx.peal.stop()
    (ctx.folder / (sqlite_path(ctx.peal) + ".epoch")).unlink()
    ctx.peal.args.append("--adopt")
    ctx.peal.start()
    equal(readiness(ctx.peal)["held"], False)
    ingest_one(ctx.peal)
    settle(ctx.peal)
    equal(receiver.count(), 1)


def test_starts_stops_and_crashes_are_no_copies(ctx):
    receiver = make_http(ctx, ctx.peal)
    for count in range(1, 4):
        ctx.peal.restart()
        ctx.peal.kill9()
        ctx.peal.start()
        ingest_one(ctx.peal)
        settle(ctx.peal)
        equal((receiver.count(), readiness(ctx.peal)["held"]), (count, False))


def test_a_hold_of_an_operator_makes_no_new_epoch(ctx):
    make_http(ctx, ctx.peal)
    ctx.peal.post("/v1/hold", {"reason": "for the night"}, expect=200)
    ctx.peal.restart()
    assert "for the night" in ctx.peal.get("/readyz").json["reasons"][0]
    ctx.peal.post("/v1/release", expect=200)
    ctx.peal.restart()
    equal(readiness(ctx.peal)["held"], False)


# PostgreSQL: a cluster is copied with everything that names it.


def copy_cluster(cluster, to):
    """As pg_basebackup or a snapshot of the disk does it: same identifier, same numbers."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(cluster.folder / "data", to, symlinks=True)
    if cluster.user:
        for path in (to, *to.rglob("*")):
            shutil.chown(path, cluster.user, cluster.user)


def restore_cluster(cluster, backup):
    data = cluster.folder / "data"
    shutil.rmtree(data)
    backup.rename(data)


@only("postgres")
def test_a_copied_cluster_is_held(ctx):
    cluster = ctx.private_postgres()
    peal = ctx.start(store=cluster.create_database())
    receiver = make_http(ctx, peal)
    peal.post("/v1/hold", {"reason": "copied now"}, expect=200)
    ingest_one(peal)
    peal.post("/v1/release", expect=200)
    receiver.wait_for(1)
    settle(peal)
    peal.stop()
    cluster.stop()
    staging = ctx.private_postgres()
    staging.stop()
    shutil.rmtree(staging.folder / "data")
    copy_cluster(cluster, staging.folder / "data")
    staging.start()
    copy = ctx.start(store=staging.url_of(peal.store.rpartition("/")[2]))
    check_held(copy, receiver, 1, "does not know")
    check_released(copy, receiver, 2)
    cluster.start()
    peal.start()
    equal(readiness(peal)["held"], False, "the original goes on")


@only("postgres")
def test_a_database_swapped_under_a_running_node_is_held(ctx):
    cluster = ctx.private_postgres()
    peal = ctx.start(store=cluster.create_database())
    receiver = make_http(ctx, peal)
    peal.post("/v1/hold", {"reason": "copied now"}, expect=200)
    ingest_one(peal)
    cluster.stop("immediate")
    backup = cluster.folder / "backup"
    copy_cluster(cluster, backup)
    cluster.start()
    eventually(lambda: peal.post("/v1/release").status == 200)
    receiver.wait_for(1)
    settle(peal)
    make_trigger(peal, id="later")  # so that definitions differ, too
    cluster.stop("immediate")
    restore_cluster(cluster, backup)
    cluster.start()
    eventually(lambda: peal.with_key(None).get("/readyz").status == 200)
    check_held(peal, receiver, 1, "older")
    equal(peal.get("/v1/triggers/later").status, 404, "what is there now is told")
    check_released(peal, receiver, 3)


@only("postgres")
def test_a_new_node_joins_while_one_that_knows_lives(ctx):
    url = ctx.store_url
    first = ctx.start(store=url, clock="system")
    receiver = make_http(ctx, first)
    other = ctx.folder / "other"
    other.mkdir()
    second = Peal(url, other, clock="system")
    ctx.servers.append(second)
    equal(readiness(second)["held"], False)
    first.stop()
    second.restart()
    equal(readiness(second)["held"], False, "it knows the database now")
    second.stop()
    shutil.rmtree(other / ".local")
    second.start()
    like(readiness(second), {"held": True})
    assert "does not know" in readiness(second)["reasons"][0]
    equal(second.cli("release").code, 0)
    first.start()
    equal(readiness(first)["held"], False, "one that knows the new epoch lives")
    ingest_one(first)
    receiver.wait_for(1)


@only("postgres")
def test_the_state_folder_can_be_chosen(ctx):
    folder = ctx.folder / "state"
    ctx.start(args=["--state-dir", str(folder)])
    files = list(folder.iterdir())
    equal([(one.name[:6], one.stat().st_mode & 0o777) for one in files if "epoch" in one.name],
          [("epoch-", 0o600)])
    equal(folder.stat().st_mode & 0o777, 0o700)


def test_the_doctor_tells_a_copy(ctx):
    make_http(ctx, ctx.peal)
    ctx.peal.stop()
    for path in [*ctx.folder.glob("*.epoch"), *ctx.folder.glob(".local/state/peal/epoch-*")]:
        path.unlink()
    ran = ctx.peal.cli("doctor", "--store", ctx.store_url)
    assert "does not know" in ran.out, ran.out
    ctx.peal.start()
    equal(ctx.peal.cli("release").code, 0)
    ran = ctx.peal.cli("doctor", "--store", ctx.store_url)
    assert "not held" in ran.out, ran.out


def test_deliveries_wait_in_a_held_store(ctx):
    ctx.peal.stop()
    for path in [*ctx.folder.glob("*.epoch"), *ctx.folder.glob(".local/state/peal/epoch-*")]:
        path.unlink()
    ctx.peal.start()
    make_trigger(ctx.peal)
    ingest_one(ctx.peal)
    settle(ctx.peal)
    equal(len(deliveries(ctx.peal, "&state=pending")), 1)


if __name__ == "__main__":
    main()
