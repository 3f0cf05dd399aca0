"""The console's campaigns and automations: a file tried and sent, a run by hand, schedules said in words."""
import os
import socket

from console import drive
from harness import equal, eventually, like, main, only
from steps import make_user

PICTURES = "PEAL_TEST_PICTURES"  # a folder that keeps them, for whoever wants to see
QUIET = {"refused": [], "elsewhere": [], "errors": []}
FILE = "mail;locale;code\nada@example.org;en;1\n;en;2\nbob@example.org;ar;3\n"


def seed(peal):
    peal.post("/v1/triggers", {"id": "promo", "eventKind": "promo", "channel": "memory:default"}, expect=201)
    peal.post("/v1/lists", {"id": "vip", "channels": ["memory:default"], "targets": [{"address": "eve@example.org"}]}, expect=201)


def begin(peal, client):
    """A campaign that stays under way: its file has not come to its end."""
    part = "address\n" + "".join(f"a{n:06}@example.org\n" for n in range(40_000))
    client.sendall((f"POST /v1/campaigns?trigger=promo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {peal.key}\r\nContent-Type: text/csv\r\n"
                    f"Transfer-Encoding: chunked\r\n\r\n{len(part):x}\r\n{part}\r\n").encode())
    return eventually(lambda: [one["id"] for one in peal.get("/v1/campaigns", expect=200).json["items"] if one["state"] == "uploading"])[0]


def test_a_campaign_is_tried_and_sent_and_an_automation_run(ctx):
    peal = ctx.peal
    seed(peal)
    host, port = peal.host.split(":")
    with socket.create_connection((host, int(port))) as client:
        told = drive(ctx, "console_campaigns", file=FILE, reader=make_user(peal, "read").key, actions={
            "begin": lambda: begin(peal, client),
            "ran": lambda id: peal.get(f"/v1/deliveries/{id}", expect=200).json["id"] == id,
            "schedules": lambda: [[one["name"], one["cron"], one["zone"]] for one in peal.get("/v1/automations/sync", expect=200).json.get("schedules", [])]})
    like(told["sent"], {"isAsked": "Say which column is the address.", "lines": ["3"], "made": ["2", "0", "1"], "failures": 1})
    assert told["sent"]["dry"].startswith("The dry run: 2 would be made, 0 skipped, 1 failed."), told["sent"]
    equal(told["list"], ["1", "0", "0"])
    equal(told["stopped"], 4)  # the dry run, the file, the list, the one that was stopped
    equal(told["automated"], {"runs": 1, "ran": True})
    like(told["scheduled"], {"first": [["nightly", "0 3 * * *", "Europe/Warsaw"]], "left": []})
    assert "03:00" in told["scheduled"]["words"] or "3:00" in told["scheduled"]["words"], told["scheduled"]
    equal(told["left"], 0)
    equal(told["why"], "Send needs the role operator or admin")
    like(told, QUIET)


@only("sqlite")
def test_their_pages_look_well(ctx):
    peal = ctx.peal
    seed(peal)
    made = peal.request("POST", "/v1/campaigns?trigger=promo&map.address=mail&dryRun=true", raw=FILE.encode(), headers={"Content-Type": "text/csv"}, expect=202).json["id"]
    peal.post("/v1/automations", {"id": "triage", "name": "Triage", "handler": "memory:default", "schedules": [{"name": "nightly", "cron": "0 3 * * *"}]}, expect=201)
    peal.post("/v1/automations/triage/run", {}, expect=202)
    equal(drive(ctx, "console_campaigns", part="looks", campaign=made, pictures=os.environ.get(PICTURES, "")), {"wrong": []})


if __name__ == "__main__":
    main()
