"""M1, M3: Peal drains an outbox table in the application's own database, PostgreSQL or SQLite."""
import contextlib
import pathlib
import sqlite3

from harness import Cluster, equal, eventually, like, main, only
from steps import deliveries, make_tenant, make_trigger, make_user

KIND = "booking.confirmed"
COLUMNS = {"id": "id", "eventType": "event_type", "payload": "payload_json", "entity": "entity_id",
           "topic": "topic", "status": "status", "lastError": "last_error"}
TABLE = """CREATE TABLE outbox_message (id INTEGER PRIMARY KEY, event_type TEXT, payload_json TEXT, entity_id TEXT,
           topic TEXT, status TEXT DEFAULT 'Pending', last_error TEXT)"""


class Application:
    """Somebody else's database, with a table that Peal is to drain."""

    def __init__(self, ctx, table=TABLE, kind=None):
        self.ctx = ctx
        self.kind = kind or ctx.store
        self.folder = ctx.folder / "app"
        self.folder.mkdir(exist_ok=True)
        if self.kind == "sqlite":
            self.store = f"sqlite:{self.folder}/shop.db"
        else:
            self.store = ctx.new_store_url()
        self.sql(table)

    def sql(self, statement):
        if self.kind == "postgres":
            return Cluster.get().query(statement, self.store)
        with contextlib.closing(sqlite3.connect(self.store.removeprefix("sqlite:"))) as db:
            with db:
                return [[str(value) for value in row] for row in db.execute(statement)]

    def write(self, id, kind=KIND, payload='{"nights": 2}', entity=None):
        quote = lambda text: "NULL" if text is None else "'" + str(text).replace("'", "''") + "'"
        self.sql(f"INSERT INTO outbox_message (id, event_type, payload_json, entity_id, topic)"
                 f" VALUES ({id}, {quote(kind)}, {quote(payload)}, {quote(entity or id)}, 'booking.events')")

    def statuses(self):
        return [row[0] for row in self.sql("SELECT status FROM outbox_message ORDER BY id")]


def start(ctx, **options):
    return ctx.start(args=["--table-source-dir", str(ctx.folder / "app")], **options)


def make_source(peal, app, id="shop-outbox", expect=201, **config):
    body = {"id": id, "provider": "table", "config": {"store": app.store, "table": "outbox_message",
                                                      "columns": COLUMNS, "pollEvery": "1s", **config}}
    return peal.post("/v1/sources", body, expect=expect).json


def settled(app, expected):
    return eventually(lambda: app.statuses() == expected, seconds=20)


def test_rows_become_events_once_and_are_told(ctx):
    app = Application(ctx)
    peal = start(ctx)
    make_trigger(peal, "confirmed", eventKind=KIND)
    app.write(1, entity="a")
    made = make_source(peal, app)
    like(made, {"id": "shop-outbox", "provider": "table", "enabled": True, "version": 1})
    settled(app, ["Published"])
    app.write(2, entity="b")
    app.write(3, kind="nobody.listens")
    app.write(4, payload="not JSON")
    app.write(5, payload="[1]")
    app.write(6, kind=None)
    app.write(7, payload=None)
    settled(app, ["Published", "Published", "Failed", "Failed", "Failed", "Failed", "Failed"])
    equal(app.sql("SELECT last_error FROM outbox_message WHERE id = 3"), [["template not found"]])
    rows = peal.get("/v1/outbox?limit=500", expect=200).json["items"]
    equal(sorted((row["entity"], row["status"], row["reason"]) for row in rows),
          [("3", "Failed", "template not found"), ("4", "Failed", "unusable"), ("5", "Failed", "unusable"),
           ("6", "Failed", "unusable"), ("7", "Failed", "unusable"), ("a", "Published", None), ("b", "Published", None)])
    like(rows[-1], {"source": "shop-outbox", "topic": "booking.events", "eventType": KIND})
    equal(sorted(one["entity"] for one in deliveries(peal)), ["a", "b"])


def test_a_death_between_our_commit_and_theirs_makes_no_second_event(ctx):
    """The table says Pending though the inbox has the row: the next turn tells it, and makes nothing."""
    app = Application(ctx)
    peal = start(ctx)
    make_trigger(peal, "confirmed", eventKind=KIND)
    make_source(peal, app)
    app.write(1)
    settled(app, ["Published"])
    app.sql("UPDATE outbox_message SET status = 'Pending'")
    settled(app, ["Published"])
    peal.kill9()
    app.sql("UPDATE outbox_message SET status = 'Pending'")
    app.write(2)
    peal = start(ctx)
    settled(app, ["Published", "Published"])
    equal(len(deliveries(peal)), 2)
    equal(len(peal.get("/v1/outbox", expect=200).json["items"]), 2)


def test_a_replay_is_told_to_the_table(ctx):
    """M12: what nobody took is taken once there is a rule for it; what fails again says why again."""
    app = Application(ctx)
    peal = start(ctx)
    make_source(peal, app)
    for id in (1, 2, 3):
        app.write(id, kind="nobody.listens" if id == 2 else KIND)
    settled(app, ["Failed"] * 3)
    make_trigger(peal, "confirmed", eventKind=KIND)
    app.sql("UPDATE outbox_message SET last_error = 'seen' WHERE id = 2")
    peal.post("/v1/operations", {"action": "replay", "filter": {"status": "Failed"}}, expect=202)
    settled(app, ["Published", "Failed", "Published"])
    eventually(lambda: app.sql("SELECT COUNT(*) FROM outbox_message WHERE last_error = 'template not found'") == [["1"]])
    equal(app.sql("SELECT id FROM outbox_message WHERE last_error IS NOT NULL"), [["2"]])
    eventually(lambda: ctx.sql("SELECT * FROM inbox_retell") == [])
    equal(len(deliveries(peal)), 2)


def test_order_and_many(ctx):
    app = Application(ctx)
    peal = start(ctx)
    make_trigger(peal, "confirmed", eventKind=KIND, schedule={"initialDelay": "1d"})
    values = ",".join(f"({n}, '{KIND}', '{{}}', '{n}')" for n in range(1, 1001))
    app.sql(f"INSERT INTO outbox_message (id, event_type, payload_json, entity_id) VALUES {values}")
    make_source(peal, app)
    settled(app, ["Published"] * 1000)
    made = sorted(deliveries(peal), key=lambda one: one["id"])
    equal([int(one["entity"]) for one in made], list(range(1, 1001)))


def test_what_is_too_large_fails_alone(ctx):
    app = Application(ctx)
    peal = start(ctx)
    make_trigger(peal, "confirmed", eventKind=KIND)
    for id in (1, 2, 3):
        app.write(id)
    much = "repeat('y', {})" if ctx.store == "postgres" else "replace(hex(zeroblob({})), '00', 'y')"
    for id, size in ((1, 20 << 20), (2, 1 << 20)):  # the second is read, and still no event
        text = "'{\"x\":\"' || " + much.format(size) + " || '\"}'"
        app.sql(f"UPDATE outbox_message SET payload_json = {text} WHERE id = {id}")
    make_source(peal, app)
    settled(app, ["Failed", "Failed", "Published"])
    equal(len(deliveries(peal)), 1)


@only("sqlite")
def test_a_file_that_takes_the_place_of_another(ctx):
    """A restored or compacted file is another one, at the same path."""
    app = Application(ctx)
    peal = start(ctx)
    make_trigger(peal, "confirmed", eventKind=KIND)
    make_source(peal, app)
    app.write(1)
    settled(app, ["Published"])
    path = pathlib.Path(app.store.removeprefix("sqlite:"))
    path.rename(path.with_suffix(".old"))
    app.sql(TABLE)
    app.write(2)
    settled(app, ["Published"])
    equal(len(deliveries(peal)), 2)


UNDONE = {
    "sqlite": ["CREATE TRIGGER undone BEFORE UPDATE ON outbox_message BEGIN SELECT RAISE(IGNORE); END"],
    "postgres": ["CREATE FUNCTION undone() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
                 "CREATE TRIGGER undone BEFORE UPDATE ON outbox_message FOR EACH ROW EXECUTE FUNCTION undone()"],
}


def test_a_table_that_undoes_every_mark_is_told_of_and_waits(ctx):
    """More rows than a turn takes: the first would come again at once, for ever."""
    app = Application(ctx)
    peal = start(ctx)
    make_trigger(peal, "confirmed", eventKind=KIND)
    for statement in UNDONE[ctx.store]:
        app.sql(statement)
    values = ", ".join(f"({id}, '{KIND}', '{{}}', '{id}')" for id in range(1, 251))
    app.sql(f"INSERT INTO outbox_message (id, event_type, payload_json, entity_id) VALUES {values}")
    make_source(peal, app)
    assert peal.process.err.wait_for("event=source.fails .*no row could be marked", 20), peal.log()
    equal(set(app.statuses()), {"Pending"})
    app.sql("DROP TRIGGER undone" + (" ON outbox_message" if ctx.store == "postgres" else ""))
    settled(app, ["Published"] * 250)
    eventually(lambda: peal.process.err.find("event=source.back"))
    equal(sum("event=source.fails" in line for line in peal.process.err.lines), 1)
    eventually(lambda: len(peal.get("/v1/outbox?limit=500", expect=200).json["items"]) == 250)


def test_a_text_that_the_store_cannot_hold_fails_alone(ctx):
    """A SQLite file holds any bytes, and PostgreSQL, where Peal's store may be, does not."""
    app = Application(ctx, kind="sqlite")
    peal = start(ctx)
    make_trigger(peal, "confirmed", eventKind=KIND)
    for id in (1, 2, 3, 4):
        app.write(id)
    app.sql("UPDATE outbox_message SET entity_id = CAST(x'ff' AS TEXT) WHERE id = 1")
    app.sql("UPDATE outbox_message SET payload_json = x'7bff7d' WHERE id = 2")
    app.sql("UPDATE outbox_message SET event_type = CAST(x'6100' AS TEXT) WHERE id = 3")
    make_source(peal, app)
    settled(app, ["Failed", "Failed", "Failed", "Published"])


@only("sqlite")
def test_ids_that_no_row_is_found_by(ctx):
    """They wait, and the log says why: nothing is taken for a row that it is not."""
    app = Application(ctx, TABLE.replace("id INTEGER PRIMARY KEY", "id"))
    peal = start(ctx)
    app.write(1)
    make_source(peal, app)
    eventually(lambda: "no row is found by its id" in peal.log())
    equal(app.statuses(), ["Pending"])
    equal(peal.get("/v1/outbox", expect=200).json["items"], [])


@only("postgres")
def test_a_column_that_does_not_take_the_error(ctx):
    app = Application(ctx, TABLE.replace("last_error TEXT", "last_error VARCHAR(5)"))
    peal = start(ctx)
    make_trigger(peal, "confirmed", eventKind=KIND)
    app.write(1, payload="not JSON")
    app.write(2)
    make_source(peal, app)
    settled(app, ["Failed", "Published"])


@only("postgres")
def test_a_row_that_still_waits_is_not_told(ctx):
    app = Application(ctx)
    peal = start(ctx)
    make_trigger(peal, "confirmed", eventKind=KIND)
    make_source(peal, app)
    app.write(1)
    settled(app, ["Published"])
    Cluster.get().query("UPDATE peal.inbox SET status = 0, next_at = 9000000000000000", ctx.store_url)
    app.sql("UPDATE outbox_message SET status = 'Pending'")
    app.write(2)
    settled(app, ["Pending", "Published"])
    Cluster.get().query("UPDATE peal.inbox SET next_at = NULL WHERE status = 0", ctx.store_url)
    settled(app, ["Published", "Published"])


def test_a_database_that_is_away_stops_nobody(ctx):
    app = Application(ctx)
    peal = start(ctx)
    make_trigger(peal, "confirmed", eventKind=KIND)
    make_source(peal, app, "no-table", table="there_is_none")
    make_source(peal, app, "no-column", columns={**COLUMNS, "topic": "nowhere"})
    if ctx.store == "postgres":
        peal.post("/v1/sources", {"id": "away", "provider": "table",
                                  "config": {"store": "postgres://nobody@127.0.0.1:1/none", "table": "t"}}, expect=201)
    make_source(peal, app)
    app.write(1)
    settled(app, ["Published"])
    equal(len(deliveries(peal)), 1)


def test_a_source_that_is_disabled_changed_or_deleted(ctx):
    app = Application(ctx)
    peal = start(ctx)
    make_trigger(peal, "confirmed", eventKind=KIND)
    make_source(peal, app)
    app.write(1)
    settled(app, ["Published"])
    peal.patch("/v1/sources/shop-outbox", {"enabled": False}, expect=200)
    peal.patch("/v1/sources/shop-outbox", {"enabled": True, "config": {"pollEvery": "2s"}}, expect=200)
    app.write(2)
    settled(app, ["Published", "Published"])
    peal.delete("/v1/sources/shop-outbox", expect=204)
    equal(peal.get("/v1/sources", expect=200).json["items"], [])


def test_it_takes_the_system_right_and_secrets_stay_secret(ctx):
    app = Application(ctx)
    peal = start(ctx)
    make_tenant(peal, "acme")
    for role in ("admin", "author", "operator"):
        make_source(make_user(peal, role), app, expect=403)
    place = "postgres://shop@127.0.0.1:1/shop"
    refused = [{"store": "mysql://x"}, {"store": "postgres://shop:secret@127.0.0.1/x"}, {"store": f"{place}?password=x"},
               {"store": "sqlite:/etc/passwd"}, {"store": f"sqlite:{ctx.folder}/app/../peal-0.db"},
               {"table": None}, {"columns": {"unknown": "x"}}, {"pollEvery": "0s"}]
    for wrong in refused:
        make_source(peal, app, expect=422, **wrong)
    make_source(peal, app, "sealed", store=place, password="hush-hush")
    shown = peal.get("/v1/sources/sealed", expect=200)
    like(shown.json["config"]["password"], {"set": True})
    assert "hush-hush" not in shown.text
    equal([row for row in ctx.sql("SELECT body FROM definition_version") if "hush-hush" in str(row)], [])


def test_rows_of_another_tenant(ctx):
    app = Application(ctx)
    peal = start(ctx)
    acme = make_tenant(peal, "acme")
    make_trigger(acme, "confirmed", eventKind=KIND)
    make_source(peal, app, tenant="acme")
    app.write(1)
    settled(app, ["Published"])
    equal((len(deliveries(acme)), len(deliveries(peal))), (1, 0))
    equal(len(acme.get("/v1/outbox", expect=200).json["items"]), 1)
    equal(peal.get("/v1/outbox", expect=200).json["items"], [])


@only("postgres")
def test_two_nodes_at_one_table(ctx):
    app = Application(ctx)
    first, second = start(ctx, clock="system"), start(ctx, clock="system")
    make_trigger(first, "confirmed", eventKind=KIND)
    make_source(first, app)
    for n in range(1, 301):
        if n % 100 == 0:
            values = ",".join(f"({k}, '{KIND}', '{{}}', '{k}')" for k in range(n - 99, n + 1))
            app.sql(f"INSERT INTO outbox_message (id, event_type, payload_json, entity_id) VALUES {values}")
    settled(app, ["Published"] * 300)
    first.kill9()
    app.write(301)
    settled(app, ["Published"] * 301)
    equal(sorted(int(one["entity"]) for one in deliveries(second)), list(range(1, 302)))


if __name__ == "__main__":
    main()
