"""What can be seen from outside: /metrics, as Prometheus would read it."""
import pathlib
import re
import subprocess
import threading

from harness import Cluster, equal, eventually, main, only
from steps import advance, ingest, make_tenant, make_trigger, make_user, settle, visit

DOCS = pathlib.Path(__file__).parents[2] / "docs" / "metrics.md"
OF_SITES = {"peal_site_backlog"}  # only `peal site` tells of it
SAMPLE = re.compile(r"^([a-z_]+)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Scrape:
    """One answer of /metrics: samples by name, each with its labels and value."""

    def __init__(self, peal):
        self.text = peal.get("/metrics", expect=200).text
        self.samples = []
        for line in self.text.splitlines():
            if not line.startswith("#"):
                name, labels, value = SAMPLE.match(line).groups()
                self.samples.append((name, dict(LABEL.findall(labels or "")), float(value)))

    def sum(self, name, **labels):
        return sum(value for found, has, value in self.samples
                   if found == name and labels.items() <= has.items())

    def families(self):
        return set(re.findall(r"^# TYPE (\S+) ", self.text, re.M))

    def labels(self):
        return {label for _, has, _ in self.samples for label in has}


def documented():
    """The names of docs/metrics.md, with their labels."""
    rows = re.findall(r"^\| ((?:peal|process)_\w+) \| \w+ \| \w* \| ([\w,]*) \|", DOCS.read_text(), re.M)
    return {name: set(filter(None, labels.split(","))) for name, labels in rows}


def check_with_promtool(text):
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True,
                          text=True, timeout=60)
    equal((done.returncode, done.stdout + done.stderr), (0, ""), text)


def make_traffic(ctx):
    """Something of everything: delivered, retried, parked, refused, unmatched, in two tenants."""
    receiver = ctx.receiver()
    receiver.answer(status=500)
    ctx.peal.post("/v1/channels", {"key": "http:out", "type": "http", "config": {
        "url": receiver.url}}, expect=201)
    make_trigger(ctx.peal, "sent")
    make_trigger(ctx.peal, "failing", channel="http:out")
    make_trigger(ctx.peal, "lost", channel="http:nowhere")
    owner = make_tenant(ctx.peal, "acme")
    make_trigger(owner, "own")
    for who in (ctx.peal, owner):
        ingest(who, visit(), visit())
    settle(ctx.peal)
    ctx.peal.get("/v1/nothing")
    ctx.peal.with_key(None).get("/v1/deliveries")
    return owner


def test_prometheus_can_read_it(ctx):
    owner = make_traffic(ctx)
    for who in (ctx.peal, owner, ctx.peal.with_key(None)):
        check_with_promtool(Scrape(who).text)


def test_it_is_what_the_document_says(ctx):
    make_traffic(ctx)
    known, whole = documented(), Scrape(ctx.peal)
    equal(whole.families(), set(known) - OF_SITES)
    for name, labels, _ in whole.samples:
        family = name if name in known else name.rsplit("_", 1)[0]
        equal(set(labels) - {"le"}, known[family], name)


def test_without_a_key_nobody_is_named(ctx):
    owner = make_traffic(ctx)
    anyone = Scrape(ctx.peal.with_key(None))
    equal(anyone.labels() & {"tenant", "channel"}, set())
    for word in ("acme", "http:out", "http:nowhere", "memory:default"):
        assert word not in anyone.text, word
    equal(anyone.sum("peal_deliveries"), 8)
    theirs = Scrape(owner)
    equal({has["tenant"] for _, has, _ in theirs.samples if "tenant" in has}, {"acme"})
    equal(theirs.sum("peal_deliveries"), 2)
    equal(theirs.sum("peal_channel_attempts_total", channel="memory:default"), 2)
    equal(Scrape(ctx.peal.with_key("pk_" + "x" * 40)).labels() & {"tenant", "channel"}, set())


def test_figures_follow_what_happens(ctx):
    before = Scrape(ctx.peal)
    make_traffic(ctx)
    after = Scrape(ctx.peal)

    def grown(name, **labels):
        return after.sum(name, **labels) - before.sum(name, **labels)

    equal(grown("peal_events_total"), 4)
    equal(grown("peal_deliveries_created_total"), 8)
    equal(grown("peal_ingest_seconds_count"), 2)
    equal(grown("peal_requests_total", method="POST", route="/v1/ingest", status="2xx"), 2)
    equal(grown("peal_requests_total", route="/v1/deliveries", status="4xx"), 1)
    equal(grown("peal_requests_total", route="(others)", status="4xx"), 1)
    equal(grown("peal_attempts_total", type="memory", verdict="delivered"), 4)
    equal(grown("peal_attempts_total", type="http", verdict="transient"), 2)
    equal(grown("peal_attempts_total"), 6)  # without a channel there is no attempt
    equal(grown("peal_channel_attempt_seconds_count", channel="http:out"), 2)
    equal(grown("peal_commit_to_attempt_seconds_count"), 6)
    equal(grown("peal_queue_age_seconds_count"), 8)
    assert grown("peal_commit_seconds_count") >= 8, after.text
    equal(grown("peal_commit_operations_count"), grown("peal_commit_seconds_count"))
    equal(after.sum("peal_deliveries", state="retrying", channel="http:out"), 2)
    equal(after.sum("peal_deliveries", state="parked", channel="http:nowhere"), 2)
    equal(after.sum("peal_store_up"), 1)
    assert after.sum("process_resident_memory_bytes") > 1 << 20, after.text
    assert 5 < after.sum("process_open_fds") < after.sum("process_max_fds"), after.text


def test_what_schedules_do_is_counted(ctx):
    ctx.peal.post("/v1/jobs", {"name": "rates", "cron": "*/15 * * * *", "handler": "memory:default"}, expect=201)
    before = Scrape(ctx.peal)
    advance(ctx.peal, "45m")
    after = Scrape(ctx.peal)
    for name, count in (("fired_total", 3), ("missed_total", 0), ("lag_seconds_count", 3)):
        equal(after.sum(f"peal_schedule_{name}") - before.sum(f"peal_schedule_{name}"), count, name)


def test_the_oldest_send_is_told_by_channel(ctx):
    make_trigger(ctx.peal)
    ctx.peal.post("/v1/hold", {"reason": "a look"}, expect=200)
    ingest(ctx.peal, visit())
    ctx.peal.post("/v1/clock", {"advance": "90s"}, expect=200)
    equal(Scrape(ctx.peal).sum("peal_queue_oldest_seconds", channel="memory:default"), 90)
    equal(Scrape(ctx.peal.with_key(None)).sum("peal_queue_oldest_seconds"), 90)
    ctx.peal.post("/v1/release", expect=200)
    settle(ctx.peal)
    equal(Scrape(ctx.peal).sum("peal_queue_oldest_seconds"), 0)


def test_many_channels_are_summed(ctx):
    """Five hundred lanes are named, whoever asks; the rest are one."""
    lanes, shown = 520, 500
    ctx.peal.post("/v1/hold", {"reason": "a look"}, expect=200)
    for n in range(lanes):
        make_trigger(ctx.peal, f"t{n}", channel=f"memory:c{n}")
    ingest(ctx.peal, visit())
    reader = make_user(ctx.peal, "read")
    for who in (ctx.peal, reader):
        seen = Scrape(who)
        named = {has["channel"] for name, has, _ in seen.samples if name == "peal_deliveries"}
        equal(len(named), shown + 1)
        equal(seen.sum("peal_deliveries", state="pending"), lanes)
        equal(seen.sum("peal_deliveries", state="pending", channel="(others)"), lanes - shown)
        check_with_promtool(seen.text)


@only("postgres")
def test_it_waits_for_nobody(ctx):
    """Reads that stand at a lock keep their threads; the metrics have one of their own."""
    peal = ctx.start(clock="system")
    make_trigger(peal)
    with Cluster.get().locked("peal.delivery", ctx.store_url):
        readers = [threading.Thread(target=peal.get, args=("/v1/deliveries",)) for _ in range(4)]
        for reader in readers:
            reader.start()
        seen = Scrape(peal)
        equal(seen.sum("peal_store_up"), 1)
        # Whatever the store says of deliveries is missing only while it cannot be asked.
        assert "peal_deliveries" in seen.families(), seen.text
    for reader in readers:
        reader.join()


@only("postgres")
def test_it_answers_while_the_store_is_away(ctx):
    cluster = ctx.private_postgres()
    peal = ctx.start(store=cluster.create_database(), clock="system")
    make_trigger(peal)
    cluster.stop()
    seen = eventually(lambda: next((scrape for scrape in [Scrape(peal)]
                                    if scrape.sum("peal_store_up") == 0), None))
    assert "peal_deliveries" not in seen.families(), seen.text
    check_with_promtool(seen.text)


if __name__ == "__main__":
    main()
