#!/usr/bin/env bash
# fuzz.sh - builds test/fuzz/fuzz_*.c with clang and runs each for a while on its corpus.
#
#   FUZZ_SECONDS=60 tools/fuzz.sh [name …]
#
# Fuzzed is what reads bytes from outside and needs no store: base/, domain/, net/, providers/, surveys/ and the CSV of intake/, from a Meson
# build with coverage for libFuzzer. A crash ends the run and leaves its input in build-fuzz/.
set -euo pipefail

seconds=${FUZZ_SECONDS:-60}
build="build-fuzz"
sanitizers=address,undefined
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

shopt -s nullglob
if [ $# -gt 0 ]; then
    sources=("${@/#/test/fuzz/fuzz_}")
    sources=("${sources[@]/%/.c}")
else
    sources=(test/fuzz/fuzz_*.c)
fi
[ "${#sources[@]}" -gt 0 ] || { echo "There is no test/fuzz/fuzz_*.c to run."; exit 0; }

said=$(CC=clang tools/build.sh "$build" -Db_sanitize="$sanitizers" -Db_lundef=false \
    -Dwerror=false -Dc_args=-fsanitize=fuzzer-no-link -- \
    src/libsurveys.a src/libintake.a src/libproviders.a src/libnet.a src/libdomain.a src/libbase.a 2>&1) || { printf '%s\n' "$said" >&2; exit 1; }
archives="$build/src/libsurveys.a $build/src/libintake.a $build/src/libproviders.a $build/src/libnet.a $build/src/libdomain.a $build/src/libbase.a"
libraries="$(pkg-config --libs yyjson openssl libsodium zlib libcurl gnutls libmicrohttpd yaml-0.1) -lcsv"

for source in "${sources[@]}"; do
    name=$(basename "$source" .c)
    corpus="$build/corpus/$name"
    seeds="test/fuzz/corpus/${name#fuzz_}"
    mkdir -p "$corpus" "$seeds"
    # shellcheck disable=SC2086 # lists of words
    clang -g -O1 -std=gnu17 -D_GNU_SOURCE -fsanitize="fuzzer,$sanitizers" -Isrc -Itest/fuzz \
        "$source" -o "$build/$name" \
        -Wl,--start-group $archives -Wl,--end-group $libraries -lpthread
    echo "$name: $seconds s"
    "$build/$name" -max_total_time="$seconds" -artifact_prefix="$build/$name-" \
        -print_final_stats=1 "$corpus" "$seeds" 2>"$build/$name.log" || {
        tail -n 60 "$build/$name.log"
        printf 'Error: %s found something\nWhy:   the report is above and in %s\nTry:   %s\n' \
            "$name" "$build/$name.log" "$build/$name $build/$name-crash-…"
        exit 1
    }
    grep -E 'stat::number_of_executed_units' "$build/$name.log" || true
done
