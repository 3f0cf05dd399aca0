"""How others reach Peal: TLS and its renewal, proxies and whom they speak for, plain text only where
it is said, and room for those who look after it when all connections are taken."""
import contextlib
import http.client
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess

from harness import equal, eventually, main, only, run_peal
from process import Process
from server import ADMIN_KEY, LISTENING, peal_program
from steps import make_user, make_trigger

BUSY = (503, "busy")


def openssl(folder, *words):
    subprocess.run(["openssl", *map(str, words)], cwd=folder, check=True, capture_output=True)


class Authority:
    """A certificate authority of the test's own."""

    def __init__(self, folder):
        self.folder = folder
        self.file = folder / "ca.crt"
        openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-nodes", "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=test CA", "-days", 30)

    def issue(self, name, serial=1, days=90, names="DNS:localhost,IP:127.0.0.1"):
        """Makes NAME.crt and NAME.key for this machine; returns the options that name them."""
        extensions = self.folder / "extensions"
        extensions.write_text(f"subjectAltName={names}\n")
        openssl(self.folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        openssl(self.folder, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey",
                "ca.key", "-set_serial", serial, "-days", days, "-extfile", extensions, "-out",
                f"{name}.crt")
        (self.folder / f"{name}.key").chmod(0o600)
        return ["--tls-cert", self.folder / f"{name}.crt", "--tls-key", self.folder / f"{name}.key"]

    def context(self):
        return ssl.create_default_context(cafile=str(self.file))

    def get(self, peal, path="/livez"):
        with contextlib.closing(self.connect(peal)) as connection:
            return ask(connection, path)

    def connect(self, peal):
        return http.client.HTTPSConnection(peal.host, timeout=20, context=self.context())

    def serial(self, peal):
        host, port = peal.host.split(":")
        with socket.create_connection((host, int(port)), timeout=20) as plain:
            with self.context().wrap_socket(plain, server_hostname=host) as wrapped:
                return int(wrapped.getpeercert()["serialNumber"], 16)


def ask(connection, path, key=ADMIN_KEY):
    connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
    answer = connection.getresponse()
    return answer.status, answer.read()


def curl(*words):
    return subprocess.run(["curl", "-sS", "--max-time", "20", *map(str, words)], capture_output=True,
                          text=True)


@only("sqlite")
def test_tls_is_spoken_and_nothing_else(ctx):
    authority = Authority(ctx.folder)
    peal = ctx.start(args=authority.issue("one"))
    assert peal.url.startswith("https://"), peal.url
    done = curl("--cacert", authority.file, "-w", "%{http_code}", f"{peal.url}/livez")
    equal((done.returncode, done.stdout[-3:]), (0, "200"), done.stderr)
    equal(curl(f"{peal.url}/livez").returncode, 60, "an unknown authority")
    assert curl(f"http://{peal.host}/livez").returncode != 0, "plain text is not answered"
    for version, is_spoken in (("1.1", False), ("1.2", True), ("1.3", True)):
        done = curl("--cacert", authority.file, f"--tlsv{version}", "--tls-max", version,
                    "--ciphers", "DEFAULT:@SECLEVEL=0", f"{peal.url}/livez")
        equal(done.returncode == 0, is_spoken, f"TLS {version}: {done.stderr}")


@only("sqlite")
def test_bodies_and_refusals_go_over_tls(ctx):
    authority = Authority(ctx.folder)
    peal = ctx.start(args=authority.issue("one"))
    large = ctx.write("large.json", '{"kind":"k","payload":{"n":"' + "x" * 900_000 + '"}}')
    over = ctx.write("over.json", " " * (40 << 20))
    usual = ["--cacert", authority.file, "-w", "%{http_code}", "-o", ctx.folder / "answer",
             "-H", f"Authorization: Bearer {ADMIN_KEY}", "-H", "Content-Type: application/json"]
    for file, chunked, status in ((large, False, "202"), (large, True, "202"), (over, False, "413"),
                                  (over, True, "413")):
        words = ["-H", "Transfer-Encoding: chunked"] if chunked else []
        done = curl(*usual, *words, "--data-binary", f"@{file}", f"{peal.url}/v1/events")
        equal(done.stdout, status, f"{file.name} {chunked}: {done.stderr}")
    with contextlib.closing(authority.connect(peal)) as connection:  # one connection, many requests
        for _ in range(50):
            equal(ask(connection, "/v1/events")[0], 200)


@only("sqlite")
def test_the_command_line_trusts_whom_it_is_told_to(ctx):
    authority = Authority(ctx.folder)
    peal = ctx.start(args=authority.issue("one"))
    words = ["events", "--url", peal.url, "--key", ADMIN_KEY]
    ran = run_peal(*words)
    equal((ran.code, "--ca FILE" in ran.err), (6, True), ran.err)
    equal(run_peal(*words, "--ca", authority.file).code, 0)
    equal(run_peal(*words, env={"PEAL_CA": str(authority.file)}).code, 0)
    equal(run_peal(*words, "--ca", ctx.folder / "none").code, 6)


@only("sqlite")
def test_certificates_that_cannot_be_used_end_the_start(ctx):
    authority = Authority(ctx.folder)
    one, two = authority.issue("one"), authority.issue("two")
    open_key, empty = ctx.folder / "open.key", ctx.write("empty", "")
    shutil.copy(one[3], open_key)
    open_key.chmod(0o644)
    pipe = ctx.folder / "pipe"
    os.mkfifo(pipe, 0o600)
    cases = [
        (["--tls-cert", pipe, *one[2:]], "not a regular file"),
        ([*one[:2], "--tls-key", pipe], "not a regular file"),
        ([*one[:2], *two[2:]], "not the certificate's"),
        (["--tls-cert", ctx.folder / "none", *one[2:]], "cannot read the certificate"),
        ([*one[:2], "--tls-key", ctx.folder / "none"], "cannot read the certificate's key"),
        ([*one[:2], "--tls-key", open_key], "everybody"),
        (["--tls-cert", empty, *one[2:]], "cannot be used"),
        (one[:2], "come together"),
        ([*one, "--plain"], "exclude"),
        (["--behind-proxy", "10.0.0.0/33"], "not an address or a range"),
    ]
    for args, why in cases:
        ran = run_peal("serve", "--store", f"sqlite:{ctx.folder}/x.db", "--listen", "127.0.0.1:0",
                       *args)
        equal((ran.code, why in ran.err), (2, True), f"{why}: {ran.err}")


@only("sqlite")
def test_a_renewed_certificate_is_presented_without_a_restart(ctx):
    authority = Authority(ctx.folder)
    peal = ctx.start(args=authority.issue("one", serial=1))
    with contextlib.closing(authority.connect(peal)) as connection:
        equal(ask(connection, "/livez")[0], 200)
        equal(authority.serial(peal), 1)
        authority.issue("one", serial=2)  # in the place of the first
        eventually(lambda: authority.serial(peal) == 2)
        equal(ask(connection, "/livez")[0], 200, "a connection that was open goes on")
        ctx.write("one.crt", "broken")
        peal.process.send(signal.SIGHUP)
        assert peal.process.err.wait_for("tls.not_renewed", seconds=15), peal.log()
        equal(authority.serial(peal), 2, "the one before stays")
        authority.issue("one", serial=3)
        peal.process.send(signal.SIGHUP)
        eventually(lambda: authority.serial(peal) == 3)
        equal(ask(connection, "/livez")[0], 200)


@only("sqlite")
def test_a_pipe_in_the_place_of_a_certificate_holds_up_nothing(ctx):
    """Nobody writes to it: whoever waits for its text waits for ever."""
    authority = Authority(ctx.folder)
    peal = ctx.start(args=authority.issue("one", serial=1))
    for serial, name in ((2, "one.crt"), (3, "one.key")):
        (ctx.folder / name).unlink()
        os.mkfifo(ctx.folder / name, 0o600)
        peal.process.send(signal.SIGHUP)
        said = f"{name} is not a regular file"
        assert peal.process.err.wait_for(said, seconds=15), peal.log()
        equal(authority.serial(peal), serial - 1, "the one before stays")
        (ctx.folder / name).unlink()
        authority.issue("one", serial=serial)
        peal.process.send(signal.SIGHUP)
        eventually(lambda serial=serial: authority.serial(peal) == serial)


@only("sqlite")
def test_sighup_without_tls_ends_nothing(ctx):
    ctx.peal.process.send(signal.SIGHUP)
    equal(ctx.peal.get("/livez").status, 200)


@only("sqlite")
def test_the_doctor_says_when_a_certificate_ends(ctx):
    authority = Authority(ctx.folder)
    store = ["--store", ctx.store_url]
    for days, finding in ((90, "ok"), (3, "warn"), (-1, "FAIL")):
        if days < 0 and "-not_before" in openssl_help():
            continue
        ran = run_peal("doctor", *store, *authority.issue("one", days=days))
        line = next(line for line in ran.out.splitlines() if "certificate:" in line)
        assert re.match(rf"{finding} +certificate: localhost, until 2.*\(", line), line


def openssl_help():
    """Newer versions refuse to make what has ended already."""
    return subprocess.run(["openssl", "x509", "-help"], capture_output=True, text=True).stderr


@contextlib.contextmanager
def serving(ctx, *args, env=None):
    given = {"PATH": os.environ["PATH"], "HOME": str(ctx.folder), "PEAL_ADMIN_KEY": ADMIN_KEY}
    process = Process([peal_program(), "serve", "--store", f"sqlite:{ctx.folder}/own.db",
                       *map(str, args)], cwd=ctx.folder, env={**given, **(env or {})})
    try:
        assert process.out.wait_for(LISTENING, seconds=30), process.err.text()
        yield process
    finally:
        process.kill()


@only("sqlite")
def test_plain_text_beyond_this_machine_has_to_be_asked_for(ctx):
    for listen in ("0.0.0.0:0", "[::]:0"):
        ran = run_peal("serve", "--store", f"sqlite:{ctx.folder}/x.db", "--listen", listen)
        equal(ran.code, 2)
        for word in ("Error: ", "Why: ", "Try: --tls-cert FILE --tls-key FILE", "--behind-proxy",
                     "--plain"):
            assert word in ran.err, ran.err
    settings = ctx.write("peal.yaml", "listen: 0.0.0.0:0\nplain: true\n")
    tls = Authority(ctx.folder).issue("one")
    beyond = ["--listen", "0.0.0.0:0"]
    for args, env in (([*beyond, "--plain"], {}), (beyond, {"PEAL_PLAIN": "true"}),
                      (["--config", settings], {}), ([*beyond, "--behind-proxy", "10.0.0.2"], {}),
                      ([*beyond, *tls], {}),
                      (beyond, {"PEAL_TLS_CERT": str(tls[1]), "PEAL_TLS_KEY": str(tls[3])})):
        with serving(ctx, *args, env=env):
            pass
    ran = run_peal("serve", *beyond, env={"PEAL_PLAIN": "perhaps"})
    equal((ran.code, "true or false" in ran.err), (2, True), ran.err)


@only("sqlite")
def test_who_guesses_keys_is_slowed_down_and_nobody_else(ctx):
    """Behind a proxy, by the client that it speaks for; an IPv6 network is one client."""
    peal = ctx.start(args=["--behind-proxy", "127.0.0.1"])
    guesser = peal.with_key("pk_guess")

    def guess(client):
        return guesser.get("/v1/events", headers={"X-Forwarded-For": client})

    for client, others in (("203.0.113.9", ("203.0.113.10", "2001:db8::1")),
                           ("2001:db8:0:1::1", ("2001:db8:0:2::1", "203.0.113.10"))):
        statuses = [guess(f"1.2.3.4, {client}").status for _ in range(30)]
        equal(sorted(set(statuses)), [401, 429], client)
        assert statuses.index(429) >= 20, statuses
        refused = guess(client)
        equal((refused.status, refused.json["code"]), (429, "too-many-requests"))
        assert int(refused.headers["Retry-After"]) > 0
        equal([guess(other).status for other in others], [401, 401], client)
        equal(peal.get("/v1/events", headers={"X-Forwarded-For": client}).status, 200,
              "a key that is known gets through")
    equal(guess("2001:db8:0:1:ffff::2").status, 429, "a neighbour in the same network")


@only("sqlite")
def test_a_client_without_a_proxy_is_not_believed(ctx):
    guesser = ctx.peal.with_key("pk_guess")
    statuses = {guesser.get("/v1/events", headers={"X-Forwarded-For": "203.0.113.9"}).status
                for _ in range(40)}
    equal(statuses, {401}, "this machine is not counted")


@only("sqlite")
def test_health_and_operators_get_in_when_all_connections_are_taken(ctx):
    peal = ctx.start(files_max=256)  # which makes few connections
    make_trigger(peal)
    ingester, operator = make_user(peal, "ingest"), make_user(peal, "operator")
    host, port = peal.host.split(":")
    with contextlib.ExitStack() as stack:
        taken = []
        for _ in range(150):  # slow ones, many more than there is room for
            slow = stack.enter_context(socket.create_connection((host, int(port)), timeout=20))
            slow.sendall(b"GET /livez HT")
            taken.append(slow)
            if len(taken) % 25 == 0:
                equal(peal.get("/livez").status, 200)
        for path in ("/livez", "/readyz", "/metrics", "/v1/deliveries"):
            for _ in range(5):
                equal(peal.get(path).status, 200, path)
        equal(operator.get("/v1/deliveries").status, 200)
        answer = ingester.post("/v1/events", {"kind": "k"})
        equal((answer.status, answer.json["code"]), BUSY)
        assert answer.headers["Retry-After"], "it is told when to come again"
        counted = r'peal_requests_total{method="POST",route="/v1/events",status="5xx"} 1\n'
        assert re.search(counted, peal.get("/metrics").text), "and counted"
        taken[0].sendall(b"TP/1.1\r\nHost: x\r\n\r\n")
        assert taken[0].recv(100).startswith(b"HTTP/1.1 200"), "they keep their place"
    eventually(lambda: ingester.post("/v1/events", {"kind": "k"}).status == 202)


if __name__ == "__main__":
    main()
