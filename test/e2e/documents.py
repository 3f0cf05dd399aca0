"""documents.py - the commands of the documents, and a desk at which somebody types them.

A fence says what its block is:

    sh        run, statement by statement, in one shell for each document. Behind `# →` stands what one prints
    console   a line that begins with `$ ` is run (`> ` goes on with it); what follows is what it prints: each line among others, in
              this order. Ids and times are like any other, blanks like one blank, and … is whatever there is
    sql       run by psql in the store's own database, on PostgreSQL
    others    text, json, yaml, http, c …: not run

A statement succeeds, unless `# exit status N` says otherwise. One that only looks is asked again until it says what it should:
what it looks at may be on its way. An id that was printed may be typed: it is the one that was printed here. `localhost:7325` is wherever the document's server listens.

Comments above a block say more of it, and are on no page: `<!-- not run: WHY -->`; `<!-- on postgres -->`, `<!-- on sqlite -->`;
`<!-- beside -->` (a server in another terminal: it goes on until the document ends). `<!-- first: … -->` holds commands that the
document takes for granted. At its beginning `<!-- server: WORDS -->` says how its server is started (`peal dev` unless said;
`own`: by a block of the document), and `<!-- run by test_x.py -->` that another test runs it.
"""
import functools
import os
import pathlib
import re
import select
import subprocess
from typing import NamedTuple

from postgres import program
from process import Deadline, Process
from server import PASSED_ON, ROOT, peal_program

RUN = ("sh", "console", "sql")
KNOWN = (*RUN, "text", "json", "yaml", "http", "c", "csv")
TOLD = re.compile(r"\s# → (.*)$")
STATUS = re.compile(r"# exit status (\d+)")
LOOKS = re.compile(r"(build/)?peal (captured|causes|clock show|dead|deferred list|deliveries|events|health|inbox|jobs|kpi|messages|notify status|outbox|"
                   r"poll-groups|surveys (responses|results)|campaigns show|triggers (events|show)|why)\b"
                   r"(?! (cancel|complete|create|delete|disable|discard|enable|replay|reprocess|retry|set|trigger))"
                   r"|curl (?!.*(-X|-d|--data)\b)|cat ")
VARIES = re.compile(r"(…)|([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})|(\d{4}-\d\d-\d\dT[0-9:.]+Z)")
HERE = r"(localhost|127\.0\.0\.1):7325"


class Block(NamedTuple):
    kind: str
    line: int
    text: str
    notes: tuple

    def note(self, word):
        """What the comment says behind the word; '' for the word alone, None where there is no such comment."""
        found = [note[len(word):].lstrip(": ") for note in self.notes if re.match(rf"{word}\b", note)]
        return found[0] if found else None


class Document:
    """A Markdown file, as blocks."""

    def __init__(self, path):
        self.path, self.name = path, path.relative_to(ROOT).as_posix()
        self.blocks, self.notes = [], []
        self.bare = []  # lines of fences that do not say what they hold
        self.read(path.read_text().splitlines())

    def read(self, lines):
        at, notes = 0, []
        while at < len(lines):
            line, end = lines[at], at + 1
            if line.startswith("```"):
                while not lines[end].startswith("```"):
                    end += 1
                kind, text = line[3:].strip(), "\n".join(lines[at + 1:end])
                if kind not in KNOWN:
                    self.bare.append(at + 1)
                self.blocks.append(Block(kind, at + 2, text, tuple(notes)))
                notes, end = [], end + 1
            elif line.startswith("<!--"):
                while "-->" not in lines[end - 1]:
                    end += 1
                note = "\n".join(lines[at:end]).removeprefix("<!--").removesuffix("-->").strip()
                if note.startswith("first:"):
                    self.blocks.append(Block("sh", at + 1, note.removeprefix("first:").strip("\n"), ()))
                else:
                    notes.append(note)
                    self.notes.append(note)
            elif line.strip():
                notes = []
            at = end

    def note(self, word):
        return Block("", 0, "", tuple(self.notes)).note(word)

    def commands(self):
        return [block for block in self.blocks if block.kind in RUN]

    def excused(self):
        return [block for block in self.commands() if block.note("not run")]

    def runnable(self):
        return [block for block in self.commands() if not block.note("not run")]


def documents():
    return [Document(path) for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))]


class Statement(NamedTuple):
    text: str
    said: tuple  # lines that it prints, or ()
    status: int


def is_whole(text):
    read = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True)
    return read.returncode == 0 and not read.stderr and not text.endswith("\\\n")


def make_statement(lines, said=()):
    edges = f"{lines[0]}\n{lines[-1]}"
    told, status = TOLD.search(lines[0]) or TOLD.search(lines[-1]), STATUS.search(edges)
    return Statement("\n".join(lines), (f"…{told[1]}…",) if told else tuple(said), int(status[1]) if status else 0)


@functools.lru_cache(None)
def statements_of_sh(text):
    found, lines = [], []
    for line in text.splitlines():
        if not lines and (not line.strip() or line.startswith("#")):
            continue
        lines.append(line)
        if is_whole("\n".join(lines) + "\n"):
            found.append(make_statement(lines))
            lines = []
    assert not lines, f"a statement without an end: {lines}"
    return found


def statements_of_console(text):
    found, lines, said = [], [], []
    for line in [*text.splitlines(), "$ "]:
        if line.startswith("$ "):
            if lines:
                found.append(make_statement(lines, [one for one in said if one.strip()]))
            lines, said = [line[2:]], []
        elif line.startswith("> ") and not said:
            lines.append(line[2:])
        else:
            said.append(line)
    return found


def pattern(line):
    """A line of a document as an expression, and with it all that varies."""
    text, parts, end = re.sub(" ?… ?", "…", " ".join(line.split())), [], 0
    for match in VARIES.finditer(text):
        parts.append(re.escape(text[end:match.start()]))
        parts.append(".*" if match[1] else r"([0-9a-f-]{36})" if match[2] else r"[0-9TZ:.-]+")
        end = match.end()
    return "".join(parts) + re.escape(text[end:])


def missing(said, out, ids=None):
    """The first line of the document that the output lacks, in the order of both; ids learns which id stands for which."""
    lines = iter(" ".join(line.split()) for line in out.splitlines())
    for wanted in said:
        found = next(filter(None, (re.fullmatch(pattern(wanted), line) for line in lines)), None)
        if not found:
            return wanted
        if ids is not None:
            ids.update(zip((one[0] for one in VARIES.finditer(wanted) if one[2]), found.groups()))
    return None


class Desk:
    """One document is typed in here, in a folder of its own."""

    def __init__(self, ctx, document):
        self.ctx, self.document, self.beside = ctx, document, []
        self.folder = ctx.folder / "desk"
        (self.folder / "build").mkdir(parents=True)
        (self.folder / "build" / "peal").symlink_to(peal_program())
        for name in ("examples", "tools"):
            (self.folder / name).symlink_to(ROOT / name)
        (ctx.folder / ".curlrc").write_text("fail-with-body\n")  # a refusal is no success
        self.host, self.count = "localhost:7325", 0
        self.ids = {}  # what the document calls them, and what they are here
        given = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        path = f"{self.folder}/build:{os.path.dirname(program('pg_dump'))}:{os.environ['PATH']}"
        self.env = {**given, "PATH": path, "HOME": str(ctx.folder), "LC_ALL": "C.UTF-8"}
        if ctx.store == "postgres":
            self.env["PEAL_STORE"] = ctx.store_url
        self.open_shell()
        server = document.note("server") or "peal dev"
        if server != "own" and document.runnable():
            self.start(server)

    def open_shell(self):
        loop = 'set -o pipefail; while IFS= read -r _file; do source "$_file" >"$_file.out" 2>"$_file.err" </dev/null; echo $?; done'
        self.shell = subprocess.Popen(["bash", "-c", loop], cwd=self.folder, env=self.env, text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        self.ctx.closers.append(self.close)

    def close(self):
        for process in self.beside:
            process.kill()
        self.shell.stdin.close()
        self.shell.kill()
        self.shell.wait()
        self.shell.stdout.close()

    def type(self, text):
        """Types a statement; answers its exit status and what it printed."""
        self.count += 1
        file = self.ctx.folder / f"typed-{self.count}"
        text = re.sub(VARIES, lambda match: self.ids.get(match[0], match[0]), re.sub(HERE, self.host, text))
        file.write_text(text + "\n")
        self.shell.stdin.write(f"{file}\n")
        self.shell.stdin.flush()
        ready, _, _ = select.select([self.shell.stdout], [], [], Deadline(60).remaining())
        status = self.shell.stdout.readline().strip() if ready else ""
        out = "".join(pathlib.Path(f"{file}.{end}").read_text(errors="replace") for end in ("out", "err"))
        if not status:
            raise AssertionError(f"{text}\nended the shell, or does not end\n{out}")
        return int(status), out.replace(self.host, "127.0.0.1:7325")

    def start(self, text):
        """Starts a server in another terminal; but for a site it is the one that is asked from then on."""
        text = re.sub(HERE, self.host, text)
        server = re.match(r"(\w+=\S+ )*(build/)?peal (dev|serve|site)\b", text)
        assert server, f"{text}: what goes on in another terminal is a server"
        is_site = server[3] == "site"
        process = Process(["bash", "-c", text], cwd=self.folder, env=self.env if is_site else {**self.env, "PEAL_LISTEN": "127.0.0.1:0"})
        self.beside.append(process)
        listening = process.out.wait_for(r"listening on (\S+)", seconds=30)
        assert listening, f"{text}\n{process.out.text()}\n{process.err.text()}"
        if not is_site:
            self.meet(listening[1])

    def meet(self, url):
        self.host = url.partition("//")[2]
        self.type(f"export PEAL_URL={url}")
        key = self.folder / "peal-data" / "admin.key"
        if key.exists():
            self.type(f"export PEAL_KEY={key.read_text().strip()} PEAL_ADMIN_KEY={key.read_text().strip()}")

    def run_statement(self, statement, place):
        def attempt():
            status, out = self.type(statement.text)
            lacks = missing(statement.said, out, self.ids)
            return status == statement.status and lacks is None, status, out, lacks

        result = attempt()
        if not result[0] and LOOKS.match(statement.text):
            deadline = Deadline(20)
            while not result[0] and not deadline.has_passed():
                result = attempt()
        ok, status, out, lacks = result
        assert ok, f"{place}: {statement.text}\nexit status {status}, not {statement.status}; it lacks {lacks!r} in\n{out}"

    def run_block(self, block):
        place = f"{self.document.name}:{block.line}"
        if (block.note("on") or self.ctx.store) != self.ctx.store:
            return
        if block.kind == "sql":
            if self.ctx.store == "postgres":
                file = self.ctx.write(f"block-{block.line}.sql", block.text)
                self.run_statement(Statement(f"psql -X -q -v ON_ERROR_STOP=1 -d '{self.ctx.store_url}' -f {file}", (), 0), place)
        elif block.note("beside") is not None:
            self.start(block.text)
        else:
            split = statements_of_sh if block.kind == "sh" else statements_of_console
            for statement in split(block.text):
                self.run_statement(statement, place)

    def run(self):
        for block in self.document.runnable():
            self.run_block(block)


def listed(text):
    """The documents that an index names, in their order."""
    return re.findall(r"^- \[[^\]]+\]\(([^)#]+)\)", text, re.M)
