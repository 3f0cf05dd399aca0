"""M1 with N5: a notification that an application asks for inside its own PostgreSQL transaction."""
import json
import uuid

from harness import equal, like, main, only
from steps import deliveries, make_tenant, make_trigger, tick
from test_notification_lists import make_list, targets
from test_notifications import notifications, notify as post, shown
from test_outbox import emit, make_role, outbox, quoted, refused, row, sql


def notify(list="ops", subject="Fire", body="It burns.", **named):
    given = [quoted(list), "NULL" if subject is None else quoted(subject), quoted(body)]
    given += [f"{name} => {quoted(json.dumps(value) if isinstance(value, dict) else value)}"
              for name, value in named.items()]
    return f"peal.notify({', '.join(given)})"


@only("postgres")
def test_a_commit_notifies_once_and_a_rollback_nobody(ctx):
    make_list(ctx.peal, targets=targets(2))
    [_, id] = sql(ctx, f"""BEGIN; SELECT {notify(body='rolled back')}; ROLLBACK;
                           BEGIN; SELECT {notify(type='memory', type_data={'html': '<b>!</b>', 'n': None})}; COMMIT;""")
    tick(ctx.peal)
    like(row(ctx.peal, id), {"kind": "notify", "source": "sql", "eventType": "notification", "status": "Published",
                             "reason": None, "attemptCount": 0})
    [made] = notifications(ctx.peal)
    equal(made["id"], id)
    like(shown(ctx.peal, id), {"list": "ops", "subject": "Fire", "body": "It burns.", "type": "memory",
                               "typeData": {"html": "<b>!</b>", "n": None}, "status": "Delivered", "source": None,
                               "siteEnqueuedAt": None, "targetCounts": {"all": 2, "delivered": 2, "refused": 0}})


@only("postgres")
def test_it_is_what_a_post_makes(ctx):
    """One reading for both doors: but for ids and times the two cannot be told apart."""
    make_list(ctx.peal, targets=targets(1))
    ids = [post(ctx.peal, subject="Fire", type="memory", typeData={"html": "x"})["id"],
           *sql(ctx, f"SELECT {notify(type='memory', type_data={'html': 'x'})};"),
           post(ctx.peal)["id"], *sql(ctx, f"SELECT {notify(subject=None)};")]
    tick(ctx.peal)
    apart = {"id", "deliveryId", "createdAt", "lastAttemptAt", "deliveredAt", "resolvedTargets"}
    first, second, third, fourth = ({name: value for name, value in shown(ctx.peal, id).items() if name not in apart}
                                    for id in ids)
    equal(first, second)
    equal(third, fourth)


@only("postgres")
def test_the_same_id_twice_is_one_whichever_way_it_comes(ctx):
    make_list(ctx.peal, targets=targets(1))
    both, posted = str(uuid.uuid4()), post(ctx.peal)["id"]
    calls = [notify(id=both), notify(id=both, body="another"), notify(id=posted), notify(id=str(uuid.UUID(int=0)))]
    ids = sql(ctx, "".join(f"SELECT {call};" for call in calls))
    tick(ctx.peal)
    equal(ids[:3], [both, both, posted])
    assert ids[3] != str(uuid.UUID(int=0)), ids
    equal(post(ctx.peal, id=both)["duplicate"], True)
    equal({one["id"] for one in notifications(ctx.peal)}, set(ids))
    equal({one["status"] for one in outbox(ctx.peal)}, {"Published"})
    equal((shown(ctx.peal, both)["body"], len(deliveries(ctx.peal))), ("It burns.", 3))


@only("postgres")
def test_a_list_that_is_not_there_fails_its_row_alone(ctx):
    make_list(ctx.peal, targets=targets(1))
    make_trigger(ctx.peal, "confirmed", eventKind="booking.confirmed")
    post(ctx.peal, list="gone")  # which has a number from now on, and still no definition
    _, event, lost, also, kept, elsewhere = sql(ctx, f"""BEGIN; SELECT 1; SELECT {emit()}; SELECT {notify('nobody')};
        SELECT {notify('gone')}; SELECT {notify()}; SELECT {notify(type='pigeon')}; COMMIT;""")
    tick(ctx.peal)
    equal([(id, row(ctx.peal, id)["status"]) for id in (event, lost, also, kept, elsewhere)],
          [(event, "Published"), (lost, "Failed"), (also, "Failed"), (kept, "Published"), (elsewhere, "Published")])
    like(row(ctx.peal, lost), {"reason": "list not found", "lastError": 'there is no list "nobody"'})
    ctx.peal.get(f"/v1/notifications/{lost}", expect=404)
    like(shown(ctx.peal, elsewhere), {"status": "Parked", "reason": "no-channel"})  # as where it is posted
    make_list(ctx.peal, id="nobody", targets=targets(1))
    for _ in range(2):  # the second time it has fired
        ctx.peal.post(f"/v1/outbox/{lost}/replay", expect=200)
        tick(ctx.peal)
        equal((row(ctx.peal, lost)["status"], shown(ctx.peal, lost)["status"]), ("Published", "Delivered"))
    equal(len(deliveries(ctx.peal, "&list=nobody")), 1)


@only("postgres")
def test_what_is_no_notification_is_refused_at_the_call(ctx):
    make_list(ctx.peal, targets=targets(1))
    good = [notify(subject="s" * 2000), notify(body="b" * 1_000_000), notify(type="t" * 50), notify(subject=""),
            notify(subject="a\r\nBcc: x", body="two\nlines")]
    bad = [notify(list=""), notify(list="l" * 101), notify(list="a b"), notify(list="ops\n"), notify(body=""),
           notify(body="b" * (1 << 20)), notify(subject="s" * 2001), notify(type="t" * 51), notify(type=""),
           notify(id="no"), "peal.notify(NULL, 's', 'b')", "peal.notify('ops', 's', NULL)",
           "peal.notify('ops', 's', 'b', type_data => '[]')", "peal.notify('ops', 's', 'b', type_data => 'null')",
           "peal.notify('ops', 's', 'b', type_data => '{\"a\":" + "[" * 32 + "]" * 32 + "}')"]
    for one in good:
        sql(ctx, f"SELECT {one};")
    for one in bad:
        refused(ctx, f"SELECT {one};")
    tick(ctx.peal)
    equal([one["status"] for one in outbox(ctx.peal)], ["Published"] * len(good))


@only("postgres")
def test_who_may_notify(ctx):
    """As with emit: who was allowed, for that tenant's lists alone."""
    acme, other = make_tenant(ctx.peal, "acme"), make_tenant(ctx.peal, "other")
    for tenant in (acme, other):
        make_list(tenant, targets=targets(1))
    role, stranger = make_role(ctx, "shop"), make_role(ctx, "stranger")
    sql(ctx, f"SELECT peal.allow('{role}', 'acme');")
    ids = sql(ctx, f"SELECT {notify()}; SELECT {notify(tenant='acme')};", role)
    for named in ("other", "default", "nobody", ""):
        assert "may not emit" in refused(ctx, f"SELECT {notify(tenant=named)};", role)
    assert "permission denied" in refused(ctx, f"SELECT {notify(tenant='acme')};", stranger)
    sql(ctx, f"CREATE SCHEMA trap AUTHORIZATION {role};")
    sql(ctx, "CREATE FUNCTION trap.octet_length(text) RETURNS integer LANGUAGE sql AS 'SELECT 0';", role)
    refused(ctx, f"SET search_path = trap, pg_catalog; SELECT {notify(subject='s' * 2001)};", role)
    tick(ctx.peal)
    equal({one["id"] for one in notifications(acme)}, set(ids))
    equal((notifications(other), notifications(ctx.peal)), ([], []))


@only("postgres")
def test_one_wake_up_for_all_of_a_transaction(ctx):
    ctx.peal.stop()
    sql(ctx, "SELECT setval('peal.emit_awake', 0);")
    heard = sql(ctx, f"LISTEN peal; BEGIN; SELECT {notify()}; SELECT {emit()}; SELECT {notify()}; COMMIT; SELECT 1;")
    equal(len([line for line in heard if "notification" in line]), 1)


if __name__ == "__main__":
    main()
