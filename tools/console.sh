#!/usr/bin/env bash
# console.sh - builds the console and the documents' pages into web/dist, which the program embeds.
#
#   tools/console.sh        installs what web/package.json names, then builds; quick when nothing changed
#
# Without npm it says so and changes nothing: the program is built all the same, with a page that says how.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v npm >/dev/null 2>&1; then
    echo "The console is not built: there is no npm (tools/setup.sh console installs it)."
    exit 0
fi
cd web
if ! cmp -s package.json node_modules/.installed; then
    npm install --loglevel=error --no-fund --no-audit </dev/null
    cp package.json node_modules/.installed
fi
stamp=$(find . ../docs ../ARCHITECTURE.md ../README.md ../STYLE.md ../CHANGES.md -path ./node_modules -prune -o -path ./dist -prune -o -type f ! -name schema.d.ts -print0 |
    sort -z | xargs -0 sha256sum | sha256sum | cut -c 1-64)
[ "$(cat node_modules/.built 2>/dev/null)" != "$stamp" ] || [ ! -f dist/index.html ] || exit 0
npx --no-install vite build --logLevel warn
[ ! -f docs.mjs ] || node docs.mjs
echo "$stamp" >node_modules/.built
