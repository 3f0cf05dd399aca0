#!/usr/bin/env bash
# lint.sh - everything that looks at the code without running it; all of it, then the verdict.
#
#   tools/lint.sh BUILD FOLDER     (needs its compile_commands.json)
#   tools/lint.sh --format         lays the files out instead
set -uo pipefail

c_files() {
    find src test bench -type f \( -name '*.c' -o -name '*.h' \) 2>/dev/null | sort
}

if [ "${1:-}" = --format ]; then
    c_files | xargs -r clang-format -i
    exit
fi

build=${1:-build}
failed=()
check() { # name, command…
    local name=$1
    shift
    "$@" || failed+=("$name")
}

layout() {
    local differing
    differing=$(c_files | xargs -r -n 1 -P "$(nproc)" sh -c \
        'clang-format --dry-run -Werror "$1" 2>/dev/null || echo "  $1"' _ | sort)
    [ -n "$differing" ] || { echo "layout: as .clang-format says"; return; }
    printf 'layout: these files are laid out otherwise; make format mends them\n%s\n' "$differing"
    return 1
}

# clang-tidy reads the compile commands of gcc, which has options that clang has not.
tidy() {
    mkdir -p "$build/tidy"
    sed 's/ -ftrivial-auto-var-init=[a-z]*//g; s/ -Werror / -Wno-unknown-warning-option /g' \
        "$build/compile_commands.json" >"$build/tidy/compile_commands.json"
    find src -name '*.c' | sort |
        xargs -r -n 4 -P "$(nproc)" \
            clang-tidy -p "$build/tidy" --quiet --warnings-as-errors='*' 2>/dev/null &&
        echo "clang-tidy: nothing found"
}

check layout layout
check layers tools/layers.py
check headers tools/headers.py
check "house rules" tools/checks.py
check clang-tidy tidy

if [ "${#failed[@]}" -gt 0 ]; then
    printf 'lint failed:'
    printf ' %s;' "${failed[@]}"
    printf ' see above\n'
    exit 1
fi
echo "lint: clean"
