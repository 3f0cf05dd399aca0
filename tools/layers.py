#!/usr/bin/env python3
"""layers.py - checks that every include points downward and every outside library has one home.

The first table is DESIGN.md's "who may include whom". PURE folders include next to nothing from
outside, PRIVATE headers stay in their folder. The last table names the only places that may include
an outside library's header; a header in neither table nor the C library is refused, so that a new
dependency is a decision somebody writes down here.

    tools/layers.py [SOURCE FOLDER]
"""
import pathlib
import re
import sys

MAY = {
    "base": set(),
    "domain": {"base"},
    "net": {"base"},
    "store": {"base", "domain"},
    "providers": {"base", "domain"},
    "channels": {"base", "domain", "net", "providers"},
    "intake": {"base", "domain", "net", "store", "providers"},
    "engine": {"base", "domain", "net", "store", "channels", "providers", "intake"},
    "surveys": {"base", "domain", "store"},
    "lib": set(),
    "cli": {"base", "domain", "net", "lib", "providers", "channels"},
}
MAY["api"] = set(MAY) - {"cli", "lib"}
MAY["app"] = set(MAY)

# Folders that decide and touch nothing: all that they may include from outside.
PURE = {"domain", "providers"}
PURE_HEADERS = {"ctype.h", "inttypes.h", "limits.h", "math.h", "stdarg.h", "stdbool.h", "stdint.h",
                "string.h"}
# Headers that only their own folder includes: how it is made, not what it offers.
PRIVATE = {
    "api": {"channel_config.h", "handlers.h", "query.h", "served.h"},
    "engine": {"duty.h", "state.h", "sweep.h", "unpack.h", "watch.h", "window.h"},
    "lib": {"local.h", "text.h"},
    "net": {"deadline.h", "guard.h", "wire.h"},
    "providers": {"linear.h", "providers.h", "read.h", "when.h"},
    "store": {"columns.h", "dedup.h", "op.h", "part.h", "ring.h", "waiting.h", "sqlite/file.h",
              "postgres/settings.h"},
}

# Outside header (or its folder, ending in /) -> the files or folders that may include it.
ONLY_IN = {
    "sqlite3.h": ["store/sqlite/"],
    "libpq-fe.h": ["store/postgres/"],
    "curl/": ["net/curl/"],
    "gnutls/": ["net/tls.c"],
    "microhttpd.h": ["net/server.c"],
    "yyjson.h": ["base/json.c"],
    "openssl/": ["base/crypto.c"],
    "zlib.h": ["base/gzip.c"],
    "sodium.h": ["base/crypto.c"],
    "peal.h": ["lib/example.c"],
    "sys/random.h": ["base/random.c", "lib/peal.c"],
    "sanitizer/": ["base/arena.c"],
    "yaml.h": ["base/yaml.c"],
    "csv.h": ["intake/csv.c"],
    "time.h": ["base/clock.c", "base/banned.h", "lib/peal.c"],
}

C_LIBRARY = re.compile(
    r"(assert|ctype|dirent|dlfcn|endian|errno|fcntl|fnmatch|getopt|glob|grp|inttypes|libgen|limits"
    r"|locale|malloc|math|netdb|poll|pthread|pwd|sched|semaphore|setjmp|signal|spawn|stdalign|stdarg"
    r"|stdatomic|stdbool|stddef|stdint|stdio|stdlib|stdnoreturn|string|strings|syslog|termios"
    r"|threads|unistd|wchar)\.h$|(sys|arpa|netinet|net|linux)/"
)
LOOK_AT_A_CLOCK = ("base/clock.c", "lib/peal.c")  # the latter knows nothing of Peal's own
CLOCK_CALL = re.compile(r"\b(time|clock_gettime|gettimeofday|timespec_get|ftime)\s*\(")
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')
COMMENT_OR_TEXT = re.compile(r'//.*|/\*.*?\*/|"(?:\\.|[^"\\])*"')


def home_is_allowed(file, places):
    return any(file.startswith(p) if p.endswith("/") else file == p for p in places)


def only_in(header):
    for name, places in ONLY_IN.items():
        if header == name or (name.endswith("/") and header.startswith(name)):
            return places
    return None


def own_include_problem(file, header):
    folder, target = file.split("/")[0], header.split("/")[0]
    if "/" not in header:
        return f'write "{folder}/…": includes start at src/'
    if target not in MAY:
        return f"{target}/ is not a folder of DESIGN.md's table"
    if target != folder and target not in MAY[folder]:
        return f"{folder}/ may not include {target}/"
    if target != folder and header.split("/", 1)[1] in PRIVATE.get(target, ()):
        return f"{header} is private to {target}/"
    return None


def outside_include_problem(file, header):
    folder = file.split("/")[0]
    if folder in PURE and header not in PURE_HEADERS:
        return f"{folder}/ is pure: it may not include <{header}>"
    places = only_in(header)
    if places is not None:
        is_home = home_is_allowed(file, places)
        return None if is_home else f"<{header}> belongs in {', '.join(places)}"
    return None if C_LIBRARY.match(header) else f"<{header}> is in no table of tools/layers.py"


def line_problem(file, line):
    include = INCLUDE.match(line)
    if include and include[1] == '"':
        return own_include_problem(file, include[2])
    if include:
        return outside_include_problem(file, include[2])
    if file not in LOOK_AT_A_CLOCK and CLOCK_CALL.search(COMMENT_OR_TEXT.sub("", line)):
        return "only base/clock.c looks at a clock"
    return None


def file_problems(root, path):
    file = path.relative_to(root).as_posix()
    if file.split("/")[0] not in MAY:
        return [f"{path}:1: {file.split('/')[0]}/ is not a folder of DESIGN.md's table"]
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        problem = line_problem(file, line)
        if problem:
            found.append(f"{path}:{number}: {problem}")
    return found


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "src")
    files = sorted([*root.rglob("*.c"), *root.rglob("*.h")])
    problems = [problem for path in files for problem in file_problems(root, path)]
    print("\n".join(problems) if problems else f"layers: {len(files)} files include only downward")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
