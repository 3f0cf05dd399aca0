"""console.py - drives the console in Debian's browser: drive(ctx, script, **job) runs browser/SCRIPT.mjs and returns what it found.

A script is `run(async ({ job, open, act }) => …)` of browser/console.mjs. It is given the job, the server's URL and the
admin's key; act("name") runs one of the functions that the test gave as actions, here, and waits for its end.
"""
import http.server
import json
import pathlib
import queue
import re
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

from harness import PATIENCE, Skip
from server import ROOT

SCRIPTS = pathlib.Path(__file__).resolve().parent / "browser"


def modules():
    """The packages that tools/setup.sh names; installed now where they are missing."""
    done = subprocess.run([str(ROOT / "tools" / "setup.sh"), "browser"], capture_output=True, text=True, timeout=600 * PATIENCE)
    if done.returncode != 0:
        raise Skip(f"the browser cannot be installed: {done.stderr.strip()[-300:]}")
    return ROOT / "build-npm" / "node_modules"


def fetch(peal, path, headers=None):
    """A request as a browser makes it, outside of the API's document: (status, headers, bytes)."""
    request = urllib.request.Request(peal.url.rstrip("/") + path, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=60 * PATIENCE) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.headers, refused.read()


def need_console(peal):
    if b"The console is not built" in fetch(peal, "/")[2]:
        raise Skip("the program was built without the console: make console")


def pages():
    """The paths of web/src/pages.ts."""
    return re.findall(r'\{ path: "([^"]+)"', (ROOT / "web" / "src" / "pages.ts").read_text(encoding="utf-8"))


class Actions:
    """Functions of a test that its script may call. They run on the test's own thread: what they start ends with its thread."""

    def __init__(self, functions):
        self.functions = functions
        self.asked = queue.Queue()
        asked = self.asked

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                given = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                answer = queue.Queue()
                asked.put((self.path.strip("/"), json.loads(given or b"[]"), answer))
                status, text = answer.get()
                self.send_response(status)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def serve_one(self):
        """Runs what was asked for, if anything was within a moment."""
        try:
            name, words, answer = self.asked.get(timeout=0.05)
        except queue.Empty:
            return
        try:
            answer.put((200, json.dumps(self.functions[name](*words))))
        except Exception as problem:  # told to the script, which fails with it
            answer.put((500, f"{type(problem).__name__}: {problem}"))

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def drive(ctx, script, peal=None, actions=None, seconds=180, **job):
    """Runs browser/SCRIPT.mjs against a server (ctx.peal unless said) and returns the JSON that it prints."""
    peal = peal or ctx.peal
    need_console(peal)
    packages = modules()
    doing = Actions(actions or {})
    given = {"url": peal.url.rstrip("/"), "key": peal.key, "actions": doing.url, "patience": PATIENCE, "folder": str(ctx.folder), **job}
    limit = time.monotonic() + seconds * PATIENCE
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        running = subprocess.Popen(["node", str(SCRIPTS / f"{script}.mjs"), str(packages), json.dumps(given)], stdout=out, stderr=err, text=True)
        try:
            while running.poll() is None and time.monotonic() < limit:
                doing.serve_one()
        finally:
            running.kill()
            running.wait()
            doing.close()
        out.seek(0)
        err.seek(0)
        assert running.returncode == 0, f"{script}.mjs ended with {running.returncode}: {err.read()[-4000:]}"
        return json.loads(out.read())
