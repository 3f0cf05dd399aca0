"""The documents as pages: web/docs.mjs refuses what leads nowhere, and a browser finds nothing to complain of."""
import http.client
import http.server
import shutil
import threading

from harness import Skip, equal, main, once, only
from server import ROOT
from test_survey_browser import ask, modules, run

MARKED = ROOT / "web" / "node_modules" / "marked"
CLOSELY = ["index", "tutorial", "howto-survey", "channels", "cron", "errors", "outbox", "surveys", "architecture"]  # between them all that there is
POLICY = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'"


def build(ctx, root=ROOT):
    """Makes the pages of a project; answers what it said, and their folder."""
    if not MARKED.exists():
        raise Skip("what the pages are made with is not installed (tools/console.sh)")
    out = ctx.folder / "pages"
    return run("node", ROOT / "web" / "docs.mjs", root, out), out


def small_project(ctx, **documents):
    """A project of a few documents, whose contents name them."""
    root = ctx.folder / "project"
    (root / "docs").mkdir(parents=True)
    names = "\n".join(f"- [{name}]({name}.md)" for name in ("a", "b"))
    index = f"# All\n\n## Tutorial\n\n## How-to\n\n## Reference\n\n{names}\n\n## Explanation\n\n- [How](../ARCHITECTURE.md)\n"
    texts = {"docs/index": index, "ARCHITECTURE": "# How\n", "docs/a": "# A\n\n## First part\n", "docs/b": "# B\n\n[a](a.md#first-part)\n"}
    for name, text in {**texts, **documents}.items():
        (root / f"{name}.md").write_text(text)
    return root


@once
def test_the_pages_are_made(ctx):
    done, out = build(ctx)
    equal(done.returncode, 0, done.stderr)
    names = {path.stem for path in (ROOT / "docs").glob("*.md")} | {"architecture"}
    equal({path.stem for path in out.glob("*.html")}, names)
    page = (out / "jobs.html").read_text()
    for text in ('<html lang="en">', 'href="/docs/cron"', 'href="/docs/jobs" aria-current="page"', 'id="what-a-run-is"', 'href="#main"'):
        assert text in page, f"{text} in {page[:3000]}"
    assert "<script" not in page and "style=" not in page and ".md" not in page, "a script, a style or a link to a file"
    errors = (out / "errors.html").read_text()
    assert '<a id="not-found">' in errors, "what a problem's type leads to"


@once
def test_comments_are_on_no_page(ctx):
    done, out = build(ctx)
    equal(done.returncode, 0, done.stderr)
    assert not [path.name for path in out.glob("*.html") if "<!--" in path.read_text()]


@once
def test_a_small_project_is_made(ctx):
    done, out = build(ctx, small_project(ctx))
    equal(done.returncode, 0, done.stderr)
    assert 'href="/docs/a#first-part"' in (out / "b.html").read_text()


@once
def test_what_leads_nowhere_is_refused(ctx):
    for document, text, complaint in (
            ("docs/b", "# B\n\n[a](c.md)\n", "docs/b.md: the link to c.md leads to no file"),
            ("docs/b", "# B\n\n[a](a.md#second)\n", "docs/b.md: the link to a.md#second leads to no heading"),
            ("docs/b", "# B\n\n[b](#nowhere)\n", "leads to no heading of docs/b.md"),
            ("docs/c", "# C\n", "it names docs/c.md 0 times"),
            ("docs/b", "# B\n\n# B again\n", "the only heading of the first level; it has 2"),
            ("docs/b", "# B\n\n<b>loud</b>\n", "HTML that is neither"),
            ("README", "# P\n\n[a](docs/z.md)\n", "README.md: the link to docs/z.md leads to no file")):
        root = small_project(ctx, **{document: text})
        done, out = build(ctx, root)
        equal(done.returncode, 1, f"{document}: {text}")
        assert complaint in done.stderr, f"{complaint} in {done.stderr}"
        assert not out.exists(), "nothing is written"
        shutil.rmtree(root)


@only("sqlite")
def test_peal_serves_them(ctx):
    """To anybody, without a key; what a problem calls its type is a place in one of them."""
    connection = http.client.HTTPConnection(ctx.peal.host, timeout=30)
    ctx.closers.append(connection.close)

    def get(path):
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()

    if get("/docs")[0] != 200:
        raise Skip("this program was built without the pages (make console)")
    for path, kind, text in (("/docs", "text/html", "Five minutes with Peal"), ("/docs/jobs", "text/html", 'id="what-a-run-is"'),
                             ("/docs/style.css", "text/css", "color-scheme"), ("/docs/errors", "text/html", '<a id="not-found">')):
        status, headers, body = get(path)
        equal((status, headers["Content-Type"].partition(";")[0]), (200, kind), path)
        assert text in body, f"{text} in {path}"
        assert "unsafe" not in headers["Content-Security-Policy"]
    equal(get("/docs/no-such-page")[0], 404)
    assert get("/v1/no-such-path")[2].startswith('{"type":"/docs/errors#not-found"')


class Pages(http.server.BaseHTTPRequestHandler):
    """Serves the folder as Peal does: /docs, /docs/NAME, and the stylesheet."""
    folder = None

    def do_GET(self):
        name = self.path.removeprefix("/docs").strip("/") or "index"
        file = self.folder / (name if name.endswith(".css") else f"{name}.html")
        body = file.read_bytes() if file.exists() else b""
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/css" if name.endswith(".css") else "text/html; charset=utf-8")
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@once
def test_a_browser_has_nothing_to_complain_of(ctx):
    done, out = build(ctx)
    equal(done.returncode, 0, done.stderr)
    packages = modules()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("These", (Pages,), {"folder": out}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    ctx.closers.append(server.server_close)
    ctx.closers.append(server.shutdown)
    names = ["index", *sorted(path.stem for path in out.glob("*.html") if path.stem != "index")]
    job = {"root": f"http://127.0.0.1:{server.server_address[1]}/docs", "names": names, "closely": CLOSELY}
    equal(ask("docs.mjs", packages, job), {"refused": [], "found": {}})


if __name__ == "__main__":
    main()
