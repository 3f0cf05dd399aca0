"""The workers in examples/: each does its work, fails, refuses, keeps its lease and ends well."""
import os
import pathlib
import shutil

from harness import Skip, equal, eventually, like, main
from process import Process
from steps import attempts, delivery, ingest, make_trigger, make_user

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
NEEDS = {"worker.sh": ("sh", "curl", "jq"), "worker.py": ("python3",), "worker.mjs": ("node",)}
HANDLER = "worker:rates"


def begin(ctx, name, lease=60):
    """Starts Peal and the worker; the key may claim and report, and nothing else."""
    for program in NEEDS[name]:
        if not shutil.which(program):
            raise Skip(f"{program} is not there")
    peal = ctx.start(clock="system")
    peal.post("/v1/channels", {"key": HANDLER, "type": "worker"}, expect=201)
    make_trigger(peal, channel=HANDLER, retry={"policy": "fixed", "interval": "1s", "max": 1})
    env = {**os.environ, "PEAL_URL": f"http://{peal.host}", "LEASE": str(lease),
           "PEAL_KEY": make_user(peal, "worker").key}
    worker = Process([str(EXAMPLES / name), HANDLER], env=env)
    ctx.closers.append(worker.kill)
    return peal, worker


def ask(peal, **payload):
    item = {"payload": payload, "recipient": {"address": "+964 770 000 0001"}}
    return ingest(peal, item)["items"][0]["deliveries"][0]["deliveryId"]


def ends_as(peal, id, state):
    eventually(lambda: delivery(peal, id)["state"] == state, 60)
    return attempts(peal, id)


def works(ctx, name, said):
    peal, worker = begin(ctx, name)
    like(ends_as(peal, ask(peal), "delivered"), [{"outcome": "delivered", "detail": said}])
    like(ends_as(peal, ask(peal, refuse="no such currency"), "parked"),
         [{"outcome": "permanent", "detail": "no such currency"}])
    like(ends_as(peal, ask(peal, fail="no 'rates' \"today\"\n"), "parked"),
         [{"outcome": "transient", "detail": "no 'rates' \"today\""}] * 2)
    worker.send(15)
    equal(worker.wait(60), 0)


def outlives_its_lease(ctx, name):
    """Work that takes longer than the lease stays one worker's; it is finished before the end."""
    peal, worker = begin(ctx, name, lease=1 if name != "worker.sh" else 2)
    id = ask(peal, seconds=4)
    eventually(lambda: delivery(peal, id)["state"] == "sending", 60)
    worker.send(15)
    like(ends_as(peal, id, "delivered"), [{"outcome": "delivered"}])
    equal(worker.wait(60), 0)
    ctx.stop_servers()
    equal(int(ctx.sql("SELECT COUNT(*) FROM progress")[0][0]), 1)


def test_the_shell_works(ctx):
    works(ctx, "worker.sh", "done in the shell")


def test_python_works(ctx):
    works(ctx, "worker.py", "done in Python")


def test_node_works(ctx):
    works(ctx, "worker.mjs", "done in Node")


def test_the_shell_outlives_its_lease(ctx):
    outlives_its_lease(ctx, "worker.sh")


def test_python_outlives_its_lease(ctx):
    outlives_its_lease(ctx, "worker.py")


def test_node_outlives_its_lease(ctx):
    outlives_its_lease(ctx, "worker.mjs")


if __name__ == "__main__":
    main()
