"""M1, M2, M3, M10 and M12: what an application emits inside its own PostgreSQL transaction."""
import json
import subprocess

from harness import equal, eventually, like, main, only
from postgres import program
from steps import deliveries, make_tenant, make_trigger, moment, tick

KIND = "booking.confirmed"
PAYLOAD = {"guestPhone": "+919876543210", "nights": 2}


def url_as(ctx, role):
    return ctx.store_url.replace("postgres@", f"{role}@")


def run_sql(ctx, script, role="postgres"):
    """Runs a script in one session that ends with its first error: (what it printed, what went wrong)."""
    done = subprocess.run([program("psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", url_as(ctx, role)],
                          input=script, capture_output=True, text=True)
    return done.stdout.splitlines(), done.stderr


def sql(ctx, script, role="postgres"):
    out, error = run_sql(ctx, script, role)
    assert not error, f"{script}: {error}"
    return out


def refused(ctx, script, role="postgres"):
    out, error = run_sql(ctx, script, role)
    assert error, f"{script} was not refused: {out}"
    return error


def emit(kind=KIND, payload=None, **named):
    rest = "".join(f", {name} => {value if isinstance(value, int) else quoted(value)}"
                   for name, value in named.items())
    return f"peal.emit({quoted(kind)}, {quoted(json.dumps(payload or PAYLOAD))}::jsonb{rest})"


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def outbox(peal, query=""):
    return peal.get(f"/v1/outbox?limit=500{query}", expect=200).json["items"]


def row(peal, id):
    return peal.get(f"/v1/outbox/{id}", expect=200).json


def make_role(ctx, name):
    """A role that may log in, and nothing else; roles are the cluster's, so its name is this test's."""
    name = f"{name}_{ctx.store_url.rpartition('/')[2]}"
    sql(ctx, f"CREATE ROLE {name} LOGIN")
    ctx.closers.append(lambda: sql(ctx, f"DROP OWNED BY {name} CASCADE; DROP ROLE {name};"))
    return name


@only("postgres")
def test_a_commit_delivers_once(ctx):
    make_trigger(ctx.peal, "confirmed", eventKind=KIND, address="candidate.guestPhone")
    [id] = sql(ctx, f"SELECT {emit(entity='12345', topic='booking.events', correlation_id='c-1', schema_version=3)};")
    tick(ctx.peal)
    [made] = deliveries(ctx.peal)
    like(made, {"eventId": id, "entity": "12345", "state": "delivered", "address": PAYLOAD["guestPhone"]})
    like(row(ctx.peal, id), {"id": id, "source": "sql", "kind": "event", "eventType": KIND, "entity": "12345",
                             "topic": "booking.events", "correlationId": "c-1", "schemaVersion": 3,
                             "payload": PAYLOAD, "status": "Published", "reason": None, "attemptCount": 0,
                             "lastError": None, "createdAt": moment(), "publishedAt": moment()})
    like(ctx.peal.get(f"/v1/events/{id}", expect=200).json,
         {"kind": KIND, "source": "sql", "entity": "12345", "correlationId": "c-1", "payload": PAYLOAD,
          "topic": "booking.events", "schemaVersion": 3, "receivedAt": moment()})


@only("postgres")
def test_a_row_of_a_newer_peal_fails_alone(ctx):
    peal = ctx.peal
    [id] = sql(ctx, f"BEGIN; SELECT {emit()}; UPDATE peal.inbox SET kind = 99; COMMIT;")
    [other] = sql(ctx, f"SELECT {emit()};")
    tick(peal)
    like(row(peal, id), {"kind": None, "status": "Failed", "reason": "unusable"})
    like(row(peal, other), {"kind": "event", "status": "Failed", "reason": "template not found"})
    sql(ctx, "UPDATE peal.inbox SET status = 99, reason = 99;")
    like(row(peal, other), {"status": "Failed", "reason": "unusable"})


@only("postgres")
def test_a_rollback_delivers_nothing(ctx):
    make_trigger(ctx.peal, "confirmed", eventKind=KIND)
    sql(ctx, f"BEGIN; SELECT {emit()}; ROLLBACK; BEGIN; SELECT {emit(entity='kept')}; COMMIT;")
    tick(ctx.peal)
    equal([made["entity"] for made in deliveries(ctx.peal)], ["kept"])
    equal(len(outbox(ctx.peal)), 1)


@only("postgres")
def test_it_is_delivered_within_moments_of_its_commit(ctx):
    """Woken by the application's commit: no second goes by, though nobody asks Peal to look."""
    receiver = ctx.receiver()
    peal = ctx.start(clock="system")
    peal.post("/v1/channels", {"key": "http:out", "type": "http", "config": {"url": receiver.url}}, expect=201)
    make_trigger(peal, "confirmed", eventKind=KIND, channel="http:out")
    for count in range(1, 6):
        sql(ctx, f"SELECT {emit(entity=str(count))};")
        eventually(lambda: receiver.count() == count, seconds=5)


@only("postgres")
def test_one_wake_up_for_each_transaction_and_none_while_somebody_is_awake(ctx):
    """NOTIFY makes commits wait for each other, so it is sent only where it is needed."""
    ctx.peal.stop()
    heard = lambda: [line for line in sql(ctx, f"""LISTEN peal; BEGIN; SELECT {emit()}; SELECT {emit()}; COMMIT;
                                                   SELECT 1;""") if "notification" in line]
    sql(ctx, "SELECT setval('peal.emit_awake', 0);")
    [one] = heard()
    assert '"peal" with payload "inbox"' in one, one
    sql(ctx, f"SELECT setval('peal.emit_awake', {2**62});")
    equal(heard(), [])


@only("postgres")
def test_what_is_emitted_while_peal_is_down(ctx):
    make_trigger(ctx.peal, "confirmed", eventKind=KIND)
    ctx.peal.stop()
    ids = sql(ctx, f"SELECT {emit(entity='1')}; SELECT {emit(entity='2')};")
    peal = ctx.start()
    tick(peal)
    equal({made["eventId"] for made in deliveries(peal)}, set(ids))
    equal({found["status"] for found in outbox(peal)}, {"Published"})


class Session:
    """A session of its own, which outlives its errors."""

    def __init__(self, ctx, role="postgres"):
        self.psql = subprocess.Popen([program("psql"), "-XAtq", "-d", url_as(ctx, role)], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        ctx.closers.append(self.end)

    def ask(self, script):
        """What it printed, errors too."""
        self.psql.stdin.write(f"{script}\n\\echo answered\n")
        self.psql.stdin.flush()
        return "".join(iter(self.psql.stdout.readline, "answered\n"))

    def end(self):
        self.psql.communicate()


def locked(ctx, lock):
    """A session that holds a lock, until it ends."""
    session = Session(ctx)
    equal(session.ask(f"BEGIN; {lock}; SELECT 'locked';").splitlines()[-1], "locked")
    return session


@only("postgres")
def test_a_node_that_is_killed_while_it_drains_loses_and_repeats_nothing(ctx):
    """It dies with rows taken and events half written: the other node delivers each of them, once."""
    receiver, count = ctx.receiver(), 1000
    ctx.peal.stop()
    drains, other = (ctx.start(clock="system") for _ in range(2))
    other.post("/v1/channels", {"key": "http:out", "type": "http", "config": {"url": receiver.url}}, expect=201)
    make_trigger(other, "confirmed", eventKind=KIND, channel="http:out")
    other.sigstop()
    holds = locked(ctx, "LOCK TABLE peal.event IN SHARE MODE")
    sql(ctx, f"SELECT peal.emit('{KIND}', '{{}}', entity => n::text) FROM generate_series(1, {count}) n;")
    eventually(lambda: sql(ctx, "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'peal.event'::regclass;"))
    drains.kill9()
    holds.end()
    other.sigcont()
    eventually(lambda: sql(ctx, "SELECT COUNT(*) FROM peal.ended WHERE state = 5;") == [str(count)], seconds=60)
    equal(sql(ctx, "SELECT status, COUNT(*) FROM peal.inbox GROUP BY status;"), [f"1|{count}"])
    equal(sql(ctx, "SELECT COUNT(*), COUNT(DISTINCT entity) FROM peal.event;"), [f"{count}|{count}"])
    equal(len(receiver.received), count)
    equal(len({one.json["deliveryId"] for one in receiver.received}), count)


DEADLY = """
CREATE FUNCTION public.hang() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END $$;
CREATE TRIGGER deadly BEFORE INSERT ON peal.event FOR EACH ROW WHEN (NEW.entity = 'deadly')
    EXECUTE FUNCTION public.hang();
"""


@only("postgres")
def test_a_row_that_its_process_dies_of_three_times_fails_alone(ctx):
    """Killed whenever it is at that row: a death counts as a try, and the neighbours go on."""
    make_trigger(ctx.peal, "confirmed", eventKind=KIND, schedule={"initialDelay": "1d"})
    ctx.peal.stop()
    sql(ctx, DEADLY)
    locked(ctx, "DO 'BEGIN PERFORM pg_advisory_lock(4711); END'")
    entities = [*map(str, range(10)), "deadly", *map(str, range(10, 20))]
    ids = sql(ctx, "BEGIN;" + "".join(f"SELECT {emit(entity=entity)};" for entity in entities) + "COMMIT;")
    at_it = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = 4711"
    for _ in range(3):
        peal = ctx.start(clock="system")
        eventually(lambda: sql(ctx, at_it + ";"), seconds=20)
        peal.kill9()
        sql(ctx, f"SELECT pg_terminate_backend(pid, 5000) FROM ({at_it}) a;")
    peal = ctx.start(clock="system")
    eventually(lambda: row(peal, ids[10])["status"] == "Failed", seconds=20)
    like(row(peal, ids[10]), {"reason": "fatal", "attemptCount": 3})
    eventually(lambda: sorted(one["status"] for one in outbox(peal)) == ["Failed"] + ["Published"] * 20)
    equal(sorted(one["entity"] for one in deliveries(peal)), sorted(set(entities) - {"deadly"}))


@only("postgres")
def test_nobody_took_it(ctx):
    tick(ctx.peal)
    [id] = sql(ctx, f"SELECT {emit()};")
    tick(ctx.peal)
    like(row(ctx.peal, id), {"status": "Failed", "reason": "template not found",
                             "lastError": "template not found", "publishedAt": None})
    equal([found["id"] for found in outbox(ctx.peal, "&status=Failed")], [id])
    equal(outbox(ctx.peal, "&status=Published"), [])


@only("postgres")
def test_a_replay_decides_anew(ctx):
    """M12: what nobody took is taken once there is a rule for it; what fired does not fire again."""
    tick(ctx.peal)
    ids = sql(ctx, f"SELECT {emit(entity='1')}; SELECT {emit(entity='2')};")
    tick(ctx.peal)
    equal([found["status"] for found in outbox(ctx.peal)], ["Failed", "Failed"])
    make_trigger(ctx.peal, "confirmed", eventKind=KIND)
    like(ctx.peal.post(f"/v1/outbox/{ids[0]}/replay", expect=200).json,
         {"id": ids[0], "status": "Pending", "reason": None, "lastError": None})
    tick(ctx.peal)
    equal([found["status"] for found in outbox(ctx.peal)], ["Failed", "Published"])
    for _ in range(2):
        ctx.peal.post(f"/v1/outbox/{ids[0]}/replay", expect=200)
        tick(ctx.peal)
    equal([(made["eventId"], made["state"]) for made in deliveries(ctx.peal)], [(ids[0], "delivered")])
    make_trigger(ctx.peal, "also", eventKind=KIND)
    ctx.peal.post(f"/v1/outbox/{ids[0]}/replay", expect=200)
    tick(ctx.peal)
    equal(sorted(made["triggerId"] for made in deliveries(ctx.peal)), ["also", "confirmed"])
    begun = ctx.peal.post("/v1/operations", {"action": "replay", "filter": {"status": "Failed"}}, expect=202).json
    ended = eventually(lambda: done(ctx.peal, begun["id"]))
    like(ended, {"action": "replay", "matched": 1, "done": 1, "skipped": 0})
    tick(ctx.peal)
    equal({found["status"] for found in outbox(ctx.peal)}, {"Published"})
    equal(len(deliveries(ctx.peal)), 4)
    ctx.peal.post("/v1/operations", {"action": "replay", "filter": {"status": "Published"}}, expect=422)
    ctx.peal.post("/v1/operations", {"action": "retry", "filter": {"status": "Failed"}}, expect=422)


def done(peal, id):
    shown = peal.get(f"/v1/operations/{id}", expect=200).json
    return shown if shown["state"] == "done" else None


@only("postgres")
def test_the_order_of_one_transaction(ctx):
    """An event calls off what an earlier one made, and cancel() what was emitted before it alone."""
    make_trigger(ctx.peal, "confirmed", eventKind=KIND, schedule={"initialDelay": "1d"},
                 cancelOn={"eventKind": "booking.cancelled", "match": ["event.entity"]})
    sql(ctx, f"""BEGIN; SELECT {emit(entity='a')}; SELECT {emit('booking.cancelled', entity='a')};
                 SELECT {emit('booking.cancelled', entity='b')}; SELECT {emit(entity='b')};
                 SELECT {emit(entity='c')}; SELECT peal.cancel('c'); SELECT {emit(entity='c')}; COMMIT;""")
    tick(ctx.peal)
    equal(sorted((made["entity"], made["state"]) for made in deliveries(ctx.peal)),
          [("a", "cancelled"), ("b", "pending"), ("c", "cancelled"), ("c", "pending")])
    equal({found["status"] for found in outbox(ctx.peal)}, {"Published"})


@only("postgres")
def test_many_at_once(ctx):
    make_trigger(ctx.peal, "confirmed", eventKind=KIND)
    rows = [{"eventType": KIND, "payload": {"n": n}, "entity": str(n), "topic": "t", "correlationId": "c",
             "schemaVersion": 1} for n in range(500)]
    [ids] = sql(ctx, f"SELECT peal.emit_many({quoted(json.dumps(rows))}::jsonb);")
    tick(ctx.peal)
    found = sorted(outbox(ctx.peal), key=lambda found: found["id"])
    equal([one["entity"] for one in found], [str(n) for n in range(500)])
    equal(ids.strip("{}").split(","), [one["id"] for one in found])
    equal(len(deliveries(ctx.peal, "&state=delivered")), 500)
    for wrong in ("{}", "[1]", '[{"eventType":"x","payloads":{}}]', '[{"payload":{}}]'):
        refused(ctx, f"SELECT peal.emit_many('{wrong}'::jsonb);")


@only("postgres")
def test_what_follows_many_comes_behind_them(ctx):
    """Ids are the order, also where the next call comes at once; under either clock."""
    ctx.start()
    ctx.start(store=ctx.new_store_url(), clock="system")
    for peal in ctx.servers:
        ctx.url = peal.store
        sql(ctx, "SELECT peal.allow('postgres', 'default');")
        found, = sql(ctx, f"""
            CREATE FUNCTION pg_temp.overtaken() RETURNS BIGINT LANGUAGE plpgsql AS $$
            DECLARE
                rows JSONB := (SELECT jsonb_agg('{{"eventType":"k"}}'::jsonb) FROM generate_series(1, 10000));
                last UUID := {emit(tenant='default')};
                ids UUID[] := peal.emit_many(rows);
            BEGIN
                last := {emit(tenant='default')};
                RETURN (SELECT count(*) FROM unnest(ids) i WHERE i > last);
            END $$;
            SELECT pg_temp.overtaken();""")
        equal(found, "0")


@only("postgres")
def test_a_callers_way_with_backslashes_changes_nothing(ctx):
    equal(outbox(ctx.peal), [])
    for way in ("on", "off"):
        _, error = run_sql(ctx, f"""SET client_min_messages = error; SET standard_conforming_strings = {way};
                                    SELECT peal.emit('k', jsonb_build_object('card', repeat('1', 80)));""")
        equal(error, "")
        refused(ctx, f"SET standard_conforming_strings = {way}; SELECT peal.emit('k' || chr(7), '{{}}'::jsonb);")


@only("postgres")
def test_who_may_emit(ctx):
    """A role that may only emit: for its tenant, and nothing else at all."""
    acme, other = make_tenant(ctx.peal, "acme"), make_tenant(ctx.peal, "other")
    role, stranger = make_role(ctx, "shop"), make_role(ctx, "stranger")
    sql(ctx, f"SELECT peal.allow('{role}', 'acme');")
    [id] = sql(ctx, f"SELECT {emit(tenant='acme')};", role)
    [also] = sql(ctx, f"SELECT {emit()};", role)  # it has but one
    tick(ctx.peal)
    equal({found["id"] for found in outbox(acme)}, {id, also})
    equal(outbox(ctx.peal), [])
    for named in ("other", "default", "nobody", ""):
        assert "may not emit" in refused(ctx, f"SELECT {emit(tenant=named)};", role)
        assert "may not emit" in refused(ctx, f"SELECT peal.cancel('1', tenant => '{named}');", role)
    other.get(f"/v1/outbox/{id}", expect=404)
    for denied in ("SELECT * FROM peal.inbox", "SELECT * FROM peal.event", "SELECT * FROM peal.tenant",
                   "INSERT INTO peal.emitter VALUES ('x', 1)", "UPDATE peal.emit_state SET payload_max = 0",
                   "SELECT setval('peal.emit_awake', 0)", "SELECT peal.emit_known()",
                   "DELETE FROM peal.inbox", "CREATE TABLE peal.mine (n INT)", f"SELECT peal.allow('{role}', 'other')",
                   f"SELECT peal.disallow('{role}', 'acme')",
                   "SELECT peal.inbox_put(1, 0::smallint, 'x', '{}', NULL, NULL, NULL, NULL, 0, 0)",
                   "SELECT peal.inbox_tenant('other')"):
        assert "permission denied" in refused(ctx, denied + ";", role), denied
    assert "permission denied" in refused(ctx, f"SELECT {emit(tenant='acme')};", stranger)
    sql(ctx, f"SELECT peal.allow('{role}', 'other');")
    assert "several tenants" in refused(ctx, f"SELECT {emit()};", role)
    sql(ctx, f"SELECT peal.disallow('{role}', 'acme');")
    assert "may not emit" in refused(ctx, f"SELECT {emit(tenant='acme')};", role)
    for wrong in (f"'{role}', 'nobody'", "'nobody_at_all', 'acme'"):
        assert "there is no" in refused(ctx, f"SELECT peal.allow({wrong});")


@only("postgres")
def test_a_callers_own_names_change_nothing(ctx):
    """Whatever a caller puts into his search_path, the functions look at their own."""
    role = make_role(ctx, "shop")
    make_tenant(ctx.peal, "acme")
    sql(ctx, f"SELECT peal.allow('{role}', 'acme'); CREATE SCHEMA trap AUTHORIZATION {role};")
    sql(ctx, f"""CREATE FUNCTION trap.pg_has_role(name, name, text) RETURNS boolean LANGUAGE sql AS 'SELECT true';
                 CREATE FUNCTION trap.octet_length(text) RETURNS integer LANGUAGE sql AS 'SELECT 0';""", role)
    refused(ctx, f"SET search_path = trap, pg_catalog; SELECT {emit(tenant='default')};", role)
    refused(ctx, f"SET search_path = trap, pg_catalog; SELECT {emit('x' * 201)};", role)


TRAPS = """
CREATE FUNCTION trap.sprung(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE FUNCTION trap.sprung(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE FUNCTION trap.sprung(bigint, integer) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE FUNCTION trap.octet_length(text) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE FUNCTION trap.convert_to(text, name) RETURNS bytea LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE FUNCTION trap.pg_notify(text, text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE OPERATOR trap.= (FUNCTION = trap.sprung, LEFTARG = text, RIGHTARG = text);
CREATE OPERATOR trap.<> (FUNCTION = trap.sprung, LEFTARG = text, RIGHTARG = text);
CREATE OPERATOR trap.>= (FUNCTION = trap.sprung, LEFTARG = bigint, RIGHTARG = bigint);
CREATE OPERATOR trap.>= (FUNCTION = trap.sprung, LEFTARG = bigint, RIGHTARG = integer);
CREATE DOMAIN trap.text AS integer; CREATE DOMAIN trap.uuid AS integer; CREATE DOMAIN trap.int8 AS boolean;
CREATE TABLE trap.inbox (n INT); CREATE SEQUENCE trap.emit_awake;
"""


@only("postgres")
def test_the_usual_way_keeps_to_the_same_rules(ctx):
    """Under a real clock, for a tenant that is named and allowed, emit() is one statement: as strict, and as blind to
    what its caller's search_path offers."""
    ctx.peal.stop()
    peal = ctx.start(clock="system")
    role = make_role(ctx, "shop")
    for tenant in ("acme", "other"):
        make_tenant(peal, tenant)
    peal.stop()
    sql(ctx, f"SELECT peal.allow('{role}', 'acme'); CREATE SCHEMA trap AUTHORIZATION {role};")
    sql(ctx, TRAPS, role)
    calls = "".join(f"SELECT {emit(entity=str(n), tenant='acme')};" for n in range(50))
    ids = sql(ctx, f"SET search_path = trap, pg_catalog; BEGIN; {calls} COMMIT;", role)
    equal(ids, sorted(ids))
    equal({(id[14], id[19] in "89ab") for id in ids}, {("7", True)})
    for wrong in (emit(tenant="other"), emit(tenant=""), emit("k" * 201, tenant="acme"), emit("", tenant="acme"),
                  emit("a\nb", tenant="acme"), emit(entity="a\tb", tenant="acme"),
                  emit(payload={"n": 10 ** 70}, tenant="acme"), emit(payload={"x": "x" * (1 << 20)}, tenant="acme"),
                  f"peal.emit('{KIND}', '[]', tenant => 'acme')", f"peal.emit('{KIND}', NULL, tenant => 'acme')",
                  f"peal.emit(NULL, '{{}}', tenant => 'acme')"):
        refused(ctx, f"SELECT {wrong};", role)
    equal(sql(ctx, "SELECT entity FROM peal.inbox ORDER BY id;"), [str(n) for n in range(50)])


@only("postgres")
def test_nobody_emits_for_a_tenant_that_is_gone(ctx):
    ctx.peal.post("/v1/tenants", {"id": "acme", "name": "Acme"}, expect=201)
    role = make_role(ctx, "shop")
    sql(ctx, f"SELECT peal.allow('{role}', 'acme');")
    ctx.peal.delete("/v1/tenants/acme", expect=204)
    assert "may not emit" in refused(ctx, f"SELECT {emit(tenant='acme')};", role)
    equal(sql(ctx, "SELECT * FROM peal.emitter;"), [])


def real_clock(ctx, *tenants, **options):
    """A role and a session of it that takes emit()'s usual way, while no node runs."""
    ctx.peal.stop()
    peal = ctx.start(clock="system", **options)
    for tenant in tenants:
        make_tenant(peal, tenant)
    role = make_role(ctx, "shop")
    return peal, role, Session(ctx, role)


@only("postgres")
def test_an_open_session_hears_at_once_who_may_emit(ctx):
    """What a session has planned does not outlive a right, whichever way that is taken."""
    peal, role, shop = real_clock(ctx, "other")
    peal.post("/v1/tenants", {"id": "acme", "name": "Acme"}, expect=201)
    allow, call = f"SELECT peal.allow('{role}', 'acme');", f"SELECT {emit(tenant='acme')};"
    known = lambda: json.loads(sql(ctx, "SELECT peal.emit_known() -> 'roles';")[0])
    takes = [lambda: sql(ctx, f"SELECT peal.disallow('{role}', 'acme');"),
             lambda: sql(ctx, "DELETE FROM peal.emitter;"), lambda: sql(ctx, "TRUNCATE peal.emitter;"),
             lambda: sql(ctx, f"UPDATE peal.emitter SET role = 'x' WHERE role = '{role}' AND id = 'acme';"),
             lambda: peal.delete("/v1/tenants/acme", expect=204)]
    for take in takes:
        sql(ctx, allow + f"SELECT peal.allow('{role}', 'other');")
        equal(set(known()[role]), {"acme", "other"})
        equal(len(shop.ask(call * 7).split()), 7)  # PostgreSQL keeps a plan from the sixth on
        take()
        assert "may not emit" in shop.ask(call)
        assert "acme" not in known().get(role, {}), known()
    sql(ctx, f"BEGIN; SELECT peal.disallow('{role}', 'other'); ROLLBACK;")
    equal(len(shop.ask(f"SELECT {emit(tenant='other')};").split()), 1)


@only("postgres")
def test_who_may_emit_changes_one_by_one(ctx):
    """Two who change it at once wait for each other; one who cannot see the other's change is refused."""
    peal, role, shop = real_clock(ctx, "acme", "other")
    sql(ctx, f"SELECT peal.allow('{role}', 'acme');")
    call = f"SELECT {emit(tenant='acme')};"
    equal(len(shop.ask(call).split()), 1)
    blind, first, second = (Session(ctx) for _ in range(3))
    blind.ask("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT COUNT(*) FROM peal.emitter;")
    first.ask(f"BEGIN; SELECT peal.disallow('{role}', 'acme');")
    second.psql.stdin.write(f"SELECT peal.allow('{role}', 'other');\n")
    second.psql.stdin.flush()
    eventually(lambda: sql(ctx, "SELECT 1 FROM pg_locks WHERE NOT granted;"))
    first.ask("COMMIT;")
    second.ask("")
    equal(json.loads(sql(ctx, "SELECT peal.emit_known() -> 'roles';")[0]).keys(), {role})
    assert "could not serialize" in blind.ask(f"SELECT peal.allow('{role}', 'default');")
    assert "may not emit" in shop.ask(call)
    equal(len(shop.ask(f"SELECT {emit(tenant='other')};").split()), 1)


@only("postgres")
def test_an_open_session_hears_of_another_limit_and_clock(ctx):
    peal, role, shop = real_clock(ctx, "acme")
    sql(ctx, f"SELECT peal.allow('{role}', 'acme');")
    call = f"SELECT {emit(payload={'x': 'x' * 3000}, tenant='acme')};"
    equal(len(shop.ask(call * 7).split()), 7)
    peal.stop()
    peal = ctx.start(clock="system", args=["--payload-max", "2K"])
    assert "payload may have 2048 bytes" in shop.ask(call)
    peal.stop()
    peal = ctx.start()  # with a manual clock: its time, not the real one
    id = shop.ask(f"SELECT {emit(entity='m', tenant='acme')};").strip()
    [at] = sql(ctx, f"SELECT received_at = manual_now FROM peal.inbox, peal.emit_state WHERE id = '{id}';")
    equal(at, "t")


@only("postgres")
def test_what_cannot_become_an_event_is_refused_at_the_call(ctx):
    make_trigger(ctx.peal, "confirmed", eventKind=KIND)
    limit = 1 << 20
    text = "x" * (limit - len('{"x":""}'))
    nested = lambda depth: "[" * (depth - 1) + "]" * (depth - 1)
    good = [emit(payload={"x": text}), emit("k" * 200), emit(entity="e" * 200), emit(topic="t" * 200),
            f"peal.emit('{KIND}', '{{\"a\":{nested(32)}}}')", f"peal.emit('{KIND}', '{{\"n\":{'9' * 64}}}')",
            f"peal.emit('{KIND}', '{{\"s\":\"{'9' * 100}\"}}')"]
    bad = [emit(payload={"x": text + "x"}), emit("k" * 201), emit(""), emit(entity="e" * 201),
           emit(topic="t" * 201), emit(correlation_id="c" * 201), emit("a\nb"), emit(entity="a\tb"),
           "peal.emit(NULL, '{}')", f"peal.emit('{KIND}', NULL)", f"peal.emit('{KIND}', '[]')",
           f"peal.emit('{KIND}', '1')", f"peal.emit('{KIND}', '{{\"a\":{nested(33)}}}')",
           f"peal.emit('{KIND}', '{{\"n\":{'9' * 65}}}')", f"peal.emit('{KIND}', '{{\"n\":1e70}}')",
           "peal.cancel(NULL)", "peal.cancel('')"]
    for one in good:
        sql(ctx, f"SELECT {one};")
    for one in bad:
        refused(ctx, f"SELECT {one};")
    tick(ctx.peal)
    found = outbox(ctx.peal)
    equal(len(found), len(good))
    equal({one["reason"] for one in found}, {None, "template not found"})  # none is unusable
    equal(len([one for one in found if one["eventType"] == "k" * 200]), 1)


if __name__ == "__main__":
    main()
