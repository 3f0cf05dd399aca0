"""The console's page of the audit: filters, figures, verify, export, and the rights of each."""
import os
from urllib.parse import quote

from console import drive
from harness import equal, main, only
from steps import act, deliveries, ingest, make_channel, make_trigger, make_user, settle, visit
from test_audit import audit

PICTURES = "PEAL_TEST_PICTURES"  # a folder that keeps them, for whoever wants to see
QUIET = {"refused": [], "elsewhere": [], "errors": []}


def make_history(peal):
    """One delivery that arrives, and one that is parked and given up."""
    make_channel(peal, "memory:broken", answer="permanent")
    make_trigger(peal, "well")
    make_trigger(peal, "badly", channel="memory:broken")
    ingest(peal, visit())
    settle(peal)
    lost, = deliveries(peal, "&state=parked")
    act(peal, lost["id"], "discard", {"reason": "nobody wants it"})
    settle(peal)
    return lost["id"]


def test_it_is_filtered_and_says_its_figures(ctx):
    lost = make_history(ctx.peal)
    rows = audit(ctx.peal)
    bad = [row for row in rows if row["status"] not in ("Success", "Enqueued", "Delivered", "Completed")]
    told = drive(ctx, "console_audit", part="filters",
                 filters={"kind": "Delivery.Attempt", "status": "Permanent", "errorsOnly": "true", "channel": "memory:broken", "delivery": lost,
                          "target": deliveries(ctx.peal)[0]["address"], "actor": "engine", "instance": "nobody", "correlationId": "nobody"})
    signed_in = len(audit(ctx.peal)) - len(rows)  # rows that came with the browser
    share = float(told.pop("rate").rstrip("%"))
    assert 0 < share <= 100 * len(bad) / len(rows) + 0.1, (share, len(bad), len(rows))
    assert len(rows) <= int(told.pop("volume")) <= len(rows) + signed_in, told
    expect = {name: audit(ctx.peal, query)[::-1] for name, query in {
        "kind": "&kind=Delivery.Attempt", "status": "&status=Permanent", "errorsOnly": "&errorsOnly=true", "channel": "&channel=memory:broken",
        "delivery": f"&delivery={lost}", "target": f"&target={quote(deliveries(ctx.peal)[0]['address'])}", "actor": "&actor=engine"}.items()}
    for name, found in expect.items():
        assert found, name
        equal(told.pop(name), [f"{row['kind']} {row['status']}" for row in found], name)
    equal(told, {"backlog": "0", "instance": [], "correlationId": [], "who": "given at the start", "why": "by-operator", "his": True,
                 "hidden": "The filter hides everything", **QUIET})


def test_the_chain_is_verified_exported_and_found_broken(ctx):
    make_history(ctx.peal)
    row = next(row["seq"] for row in audit(ctx.peal) if row["kind"] == "Operator.discard")

    def break_it():
        """Takes the block of rows away that the discard is in."""
        block = f"FROM {'peal.' if ctx.store == 'postgres' else ''}audit WHERE tenant = 1 AND first <= {row} AND seq >= {row}"
        (first,), = ctx.sql(f"SELECT first {block}")
        ctx.sql(f"DELETE {block}")
        return int(first)

    head = ctx.peal.get("/v1/audit/head", expect=200).json
    told = drive(ctx, "console_audit", part="chain", actions={"break": break_it})
    rows = int(told.pop("whole").split()[0])
    assert rows >= head["count"], (rows, head)
    equal((len(told.pop("head")), told.pop("exported")), (64, ["Operator.discard"]))
    equal(told, {"broken": True, "problem": "That row is missing", **QUIET})


def test_reading_and_exporting_are_rights_of_their_own(ctx):
    make_history(ctx.peal)
    told = drive(ctx, "console_audit", part="rights", reader=make_user(ctx.peal, "read").key, exporter=make_user(ctx.peal, "audit-export").key)
    equal(told, {"export": "Export needs the role audit-export or admin", "verify": True, "list": "The list of rows: not with this key", "exported": True})


@only("sqlite")
def test_it_looks_well(ctx):
    make_history(ctx.peal)
    equal(drive(ctx, "console_audit", part="looks", pictures=os.environ.get(PICTURES)), {"wrong": [], **QUIET})


if __name__ == "__main__":
    main()
