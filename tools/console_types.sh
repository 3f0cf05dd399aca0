#!/usr/bin/env bash
# console_types.sh - writes web/src/schema.d.ts from the document that the program prints of its API.
#
#   tools/console_types.sh build/peal
set -euo pipefail
program=$(realpath "$1")
cd "$(dirname "$0")/../web"
scratch=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$scratch"' EXIT
: >"$scratch/log"
PEAL_STATE_DIR="$scratch" "$program" serve --store "sqlite:$scratch/peal.db" --listen 127.0.0.1:0 >"$scratch/log" 2>&1 &
server=$!
url=
for _ in $(seq 600); do
    url=$(sed -n 's/^listening on \(http[^ ]*\).*/\1/p' "$scratch/log")
    [ -z "$url" ] || break
    kill -0 "$server" 2>/dev/null || { cat "$scratch/log" >&2; exit 1; }
    sleep 0.1
done
[ -n "$url" ] || { echo "console_types.sh: the program does not listen" >&2; exit 1; }
curl -fsS "$url/openapi.json" >"$scratch/openapi.json"
[ -d node_modules ] || npm install --loglevel=error --no-fund --no-audit </dev/null
npx --no-install openapi-typescript "$scratch/openapi.json" -o "$scratch/schema.d.ts" >/dev/null
cmp -s "$scratch/schema.d.ts" src/schema.d.ts || cp "$scratch/schema.d.ts" src/schema.d.ts
