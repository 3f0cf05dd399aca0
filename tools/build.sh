#!/usr/bin/env bash
# build.sh - configures a build folder on first use and builds it.
#
#   tools/build.sh FOLDER [meson options] [-- targets]        all targets when none is named
set -euo pipefail

folder=$1
shift
options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    options+=("$1")
    shift
done
[ $# -eq 0 ] || shift

if [ ! -f "$folder/build.ninja" ]; then
    said=$(meson setup "$folder" "${options[@]}" 2>&1) || {
        printf '%s\n' "$said" >&2
        printf 'Error: %s could not be configured\nWhy:   meson said so above\nTry:   %s\n' \
            "$folder" "tools/setup.sh build, then make clean and make again" >&2
        exit 1
    }
fi
exec ninja -C "$folder" --quiet "$@"
