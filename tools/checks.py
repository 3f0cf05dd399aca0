#!/usr/bin/env python3
"""checks.py - house rules that no compiler knows: a row each, over every file of the project.

A line may be excused with a comment that says why: "checks: allow <rule>, because …".

    tools/checks.py
"""
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

CODE = (".c", ".h", ".py", ".sh", ".sql", ".ts", ".tsx", ".build")
LINES_MAX = 900
OF_A_STORE = re.compile(r"\.(db|db-wal|db-shm|epoch|key|spool)$")


class Rule(NamedTuple):
    name: str
    pattern: re.Pattern
    applies: object  # path -> bool
    message: str


def is_code(path):
    return path.endswith(CODE) or path in ("Makefile", ".ci/run")


def is_test(path):
    return path.startswith("test/") and is_code(path)


def is_source(path):
    return path.startswith("src/") and path.endswith((".c", ".h"))


def holds_no_sql(path):
    return is_source(path) and not path.startswith("src/store/")


def is_written_document(path):
    return path == "README.md" or path.startswith("docs/") and path != "docs/commands.md"  # which is printed


# The patterns are written so that they do not match themselves.
RULES = [
    Rule("mark", re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b"), is_code,
         "say it in an issue, not in the code"),
    Rule("sleep", re.compile(r"\b(u|nano|time\.)?sle" r"ep\s*\("), is_test,
         "tests wait for a condition, they do not sleep"),
    Rule("cast", re.compile(r'"[^"]*\w::[a-z]'), is_source,
         "one text serves both databases: no :: casts"),
    Rule("sql", re.compile(r'"[^"]*\b(SELECT|INSERT INTO|DELETE FROM|UPDATE \w+ SET|CREATE TABLE)\b'), holds_no_sql,
         "statements belong in src/store/"),
    Rule("path", re.compile(r"(?<![\w}])(/wor" r"k|/ro" r"ot|/home/\w+)/"), lambda path: True,
         "no path of one machine belongs in the project"),
    Rule("typed", re.compile(r"^    (\$ )?(build/)?(peal|curl) "), is_written_document,
         "commands stand in a block ```sh or ```console, which test/e2e/test_docs_commands.py runs"),
]


def files_that_git_knows():
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None  # no git here, or not its clone
    return listed.stdout.splitlines()


def files_on_disk():
    return [path.as_posix() for path in pathlib.Path(".").rglob("*")
            if not re.match(r"(\.git|build[^/]*|peal-data|web/node_modules)/|.*__pycache__", path.as_posix())]


def project_files():
    listed = files_that_git_knows() or files_on_disk()
    return sorted(path for path in listed if pathlib.Path(path).is_file())


def read_text(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def file_problems(path):
    if OF_A_STORE.search(path):
        yield f"{path}:1: a store and its keys do not belong in the project"
    lines = read_text(path).splitlines()
    if is_code(path) and len(lines) > LINES_MAX:
        yield f"{path}:{LINES_MAX}: {len(lines)} lines; split it, {LINES_MAX} is the limit"
    rules = [rule for rule in RULES if rule.applies(path)]
    for number, line in enumerate(lines, 1):
        for rule in rules:
            if rule.pattern.search(line) and f"checks: allow {rule.name}" not in line:
                yield f"{path}:{number}: {rule.message}"


def document_problems(files):
    """A block says what it holds (test/e2e/documents.py), and docs/index.md names every document once."""
    for path in filter(is_written_document, files):
        fences = [(number, line) for number, line in enumerate(read_text(path).splitlines(), 1) if line.startswith("```")]
        for number, line in fences[::2]:
            if line == "```":
                yield f"{path}:{number}: say what the block holds: sh or console, which are run, or text, json, yaml …"
    named = re.findall(r"^- \[[^\]]+\]\(([a-z-]+\.md)\)", read_text("docs/index.md"), re.M)
    for name in (path.removeprefix("docs/") for path in files if re.fullmatch(r"docs/[a-z-]+\.md", path)):
        if name != "index.md" and named.count(name) != 1:
            yield f"docs/index.md:1: it names {name} {named.count(name)} times, not once; its part is Tutorial, How-to, Reference or Explanation"


def main():
    files = project_files()
    problems = [problem for path in files for problem in file_problems(path)] + list(document_problems(files))
    print("\n".join(problems) if problems else f"checks: {len(files)} files follow the house rules")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
