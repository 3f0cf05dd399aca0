#!/usr/bin/env bash
# setup.sh - installs what Peal needs on Debian 12 or 13, saying first what and why.
#
#   tools/setup.sh build         what the program is built from
#   tools/setup.sh test          build, and what the tests run against
#   tools/setup.sh lint          build, and what looks at the code
#   tools/setup.sh client        packages of npm, in build-npm: what a TypeScript client is made and
#                                checked with, and the payloads that GitHub published
#   tools/setup.sh console       what the console is built with
#   tools/setup.sh browser       the same packages, and a browser that looks at the pages of surveys
#   tools/setup.sh fuzz          build, and the fuzzing compiler
#   tools/setup.sh bench         build, and what Peal is measured with and against
#
# When all of it is there already it says so in one line and changes nothing. No service is started.
# To add a package, add a row to the table of its group.
set -euo pipefail

# One row per package: its name, then why it is needed.
packages_of() {
    case "$1" in
        build) cat <<'ROWS'
gcc                   the C compiler
libc6-dev             headers of the C library
make                  the short commands
meson                 the build description
ninja-build           runs the build
pkg-config            finds the libraries below
libmicrohttpd-dev     HTTP in
libgnutls28-dev       TLS in, under libmicrohttpd
libcurl4-openssl-dev  HTTP and SMTP out
libssl-dev            HMAC and SHA-256
libsodium-dev         secrets at rest, passwords
libsqlite3-dev        the embedded store
libpq-dev             the PostgreSQL store
libyaml-dev           configuration files
libcsv-dev            files of campaigns
zlib1g-dev            webhooks that come as gzip
libyyjson-dev         JSON
tzdata                time zones
ROWS
            ;;
        test) cat <<'ROWS'
postgresql            a server that the tests start for themselves
faketime              clocks that differ, for the tests of many nodes
python3               the end-to-end tests
curl                  a second HTTP client
jq                    a worker in the shell
nodejs                the TypeScript client that a test makes
npm                   its packages
sqlite3               looks into the embedded store
prometheus            promtool, which reads the metrics as Prometheus would
postfix               a mail server of the real world
chromium              a browser that looks at the pages of surveys
fonts-noto-core       letters for it, Arabic ones too
ROWS
            ;;
        browser) cat <<'ROWS'
chromium              looks at the pages of surveys
fonts-noto-core       letters for it, Arabic ones too
nodejs                leads it
npm                   installs what does
ROWS
            ;;
        console) cat <<'ROWS'
nodejs                runs the packages below
npm                   installs what web/package.json names
ROWS
            ;;
        client) cat <<'ROWS'
nodejs                runs the packages below
npm                   installs them
ROWS
            ;;
        lint) cat <<'ROWS'
clang-format          layout
clang-tidy            suspicious code
python3               the checks in tools/
ROWS
            ;;
        fuzz) cat <<'ROWS'
clang                 the compiler with libFuzzer
libclang-rt-dev       its run-time libraries
ROWS
            ;;
        bench) cat <<'ROWS'
wrk                   HTTP load
nginx-light           a peer to compare with
redis-server          a peer to compare with
beanstalkd            a peer to compare with
postfix               smtp-source, a peer to compare with, and smtp-sink
nodejs                peers written for Node
npm                   their packages
ROWS
            ;;
        *) return 1 ;;
    esac
}

# Packages of npm, each with its version: a test is the same tomorrow.
npm_packages_of() {
    case "$1" in
        client | test | browser)
            echo openapi-typescript@7.13.0 typescript@5.9.3 @octokit/webhooks-examples@7.6.1 \
                playwright-core@1.65.0 axe-core@4.14.0
            ;;
    esac
}

give_up() { # what, why, try
    printf 'Error: %s\nWhy:   %s\nTry:   %s\n' "$1" "$2" "$3" >&2
    exit 1
}

usage() {
    give_up "setup.sh needs to know what for, not \"${1:-}\"" \
        "each group installs only what it needs" \
        "tools/setup.sh build | console | test | client | lint | fuzz | bench"
}

is_installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# A program that came another way (npm with nodejs, meson with pip) serves as well as its package.
# One call of dpkg-query for all of them keeps "nothing to do" fast.
missing_of() {
    local name known
    known=" $(dpkg-query -W -f='${Package}=${db:Status-Status} ' "$@" 2>/dev/null || true)"
    for name in "$@"; do
        case "$known" in *" $name=installed "*) continue ;; esac
        command -v "$name" >/dev/null 2>&1 || echo "$name"
    done
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@" </dev/null
    elif command -v sudo >/dev/null 2>&1; then
        sudo "$@" </dev/null
    else
        give_up "installing packages needs root" "this user is not root and there is no sudo" \
            "run it as root, or ask for: $missing_line"
    fi
}

write_as_root() { # path; text on standard input
    local text
    text=$(cat)
    printf '%s\n' "$text" >"$scratch/file"
    as_root install -D -m 0644 "$scratch/file" "$1"
}

refresh_lists() {
    as_root apt-get -q update >"$scratch/update.log" 2>&1 && return
    tail -n 5 "$scratch/update.log" >&2
    echo "The package lists could not all be refreshed (above); going on with what there is." >&2
}

has_candidate() {
    [ -n "$(apt-cache madison "$1" 2>/dev/null)" ]
}

# The first Debian entry of this machine with its suite replaced, so that whatever mirror and keys
# the machine uses are used here too.
trixie_from_deb822() { # file
    awk -v codename="$codename" '
        BEGIN { RS = ""; FS = "\n" }
        $0 ~ "(^|\n)Types:[^\n]*deb" && $0 ~ "(^|\n)Suites:[ \t]*" codename "([ \t\n]|$)" {
            for (i = 1; i <= NF; i++) {
                if ($i ~ /^#/) continue
                if ($i ~ /^Types:/) $i = "Types: deb"
                if ($i ~ /^Suites:/) $i = "Suites: trixie"
                print $i
            }
            exit
        }' "$1"
}

trixie_from_list() { # file
    sed -n "s/^\(deb [^#]*[[:space:]]\)$codename\([[:space:]]\)/\1trixie\2/p" "$1" | head -n 1
}

add_trixie_for_yyjson() {
    local file entry=
    cat <<TEXT
This Debian ($codename) has no libyyjson-dev; Debian 13 (trixie) has. Peal adds the trixie suite of
the Debian source this machine already uses, pinned so that nothing but libyyjson comes from it:
  /etc/apt/sources.list.d/peal-trixie.*  and  /etc/apt/preferences.d/peal-yyjson
TEXT
    for file in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/*.sources; do
        [ -f "$file" ] || continue
        entry=$(trixie_from_deb822 "$file")
        [ -n "$entry" ] || continue
        write_as_root /etc/apt/sources.list.d/peal-trixie.sources <<<"$entry"
        break
    done
    if [ -z "$entry" ] && [ -f /etc/apt/sources.list ]; then
        entry=$(trixie_from_list /etc/apt/sources.list)
        [ -z "$entry" ] || write_as_root /etc/apt/sources.list.d/peal-trixie.list <<<"$entry"
    fi
    [ -n "$entry" ] || give_up "libyyjson-dev cannot be found" \
        "no source entry for $codename was found in /etc/apt to copy" \
        "install libyyjson-dev 0.10 or newer by hand, then run this again"
    write_as_root /etc/apt/preferences.d/peal-yyjson <<'PIN'
Package: *
Pin: release n=trixie
Pin-Priority: -1

Package: libyyjson*
Pin: release n=trixie
Pin-Priority: 100
PIN
    refresh_lists
}

# The tests start PostgreSQL themselves: the distribution's own cluster would only take the port.
keep_postgres_from_starting() {
    local file=/etc/postgresql-common/createcluster.d/peal.conf
    { is_installed postgresql-common || [ -e "$file" ]; } && return
    echo "PostgreSQL's own cluster is not created: $file"
    write_as_root "$file" <<<"create_main_cluster = false"
}

# Packages such as nginx start their service when installed; this stops that for the moment.
keep_services_from_starting() {
    [ ! -e /usr/sbin/policy-rc.d ] || return 0
    printf '#!/bin/sh\nexit 101\n' >"$scratch/policy"
    as_root install -m 0755 "$scratch/policy" /usr/sbin/policy-rc.d
    policy_is_ours=yes
}

tidy_up() {
    [ "${policy_is_ours:-no}" = no ] || as_root rm -f /usr/sbin/policy-rc.d
    rm -rf "$scratch"
}

tell_what_and_why() {
    local name why
    echo "Peal needs these Debian packages for \"$group\"; they will be installed with apt-get:"
    while read -r name why; do
        case " $missing_line " in *" $name "*) printf '  %-21s %s\n' "$name" "$why" ;; esac
    done <<<"$rows"
}

install_missing() {
    local name
    refresh_lists
    case " $missing_line " in
        *" libyyjson-dev "*) has_candidate libyyjson-dev || add_trixie_for_yyjson ;;
    esac
    for name in $missing_line; do
        has_candidate "$name" || give_up "there is no package \"$name\"" \
            "the package lists of this machine do not have it" \
            "check /etc/apt/sources.list.d and run apt-get update; this is for Debian 12 and 13"
    done
    case " $missing_line " in *" postgresql "*) keep_postgres_from_starting ;; esac
    keep_services_from_starting
    # shellcheck disable=SC2086 # a list of names, one word each
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends \
        $missing_line >"$scratch/install.log" 2>&1 || {
        tail -n 30 "$scratch/install.log" >&2
        give_up "the packages could not be installed" "apt-get failed; its last lines are above" \
            "apt-get install $missing_line"
    }
    echo "Installed."
}

# The folder has a list of what was installed, so that a second run has nothing to do.
install_npm_packages() {
    local folder packages
    packages=$(npm_packages_of "$group")
    folder=$(cd "$(dirname "$0")/.." && pwd)/build-npm
    [ -n "$packages" ] && [ "$(cat "$folder/installed" 2>/dev/null)" != "$packages" ] || return 0
    mkdir -p "$folder"
    echo "npm installs $packages into build-npm"
    # shellcheck disable=SC2086 # a list of names, one word each
    npm install --loglevel=error --no-fund --no-audit --prefix "$folder" $packages </dev/null ||
        give_up "the npm packages could not be installed" "npm failed; its last lines are above" \
            "npm install --prefix build-npm $packages"
    echo "$packages" >"$folder/installed"
}

group=${1:-}
[ $# -eq 1 ] || usage "$*"
own_rows=$(packages_of "$group") || usage "$group"
rows=$own_rows
[ "$group" = build ] || [ "$group" = client ] || [ "$group" = browser ] || [ "$group" = console ] || rows="$(packages_of build)"$'\n'"$own_rows"
names=$(cut -d ' ' -f 1 <<<"$rows" | sort -u)

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "This is not a Debian machine: please see to the equivalents of ${names//$'\n'/ }"
    exit 0
fi
# shellcheck disable=SC2086 # names are single words
missing_line=$(missing_of $names | paste -s -d ' ')
if [ -z "$missing_line" ]; then
    install_npm_packages
    echo "Set up for $group: nothing to install."
    exit 0
fi
scratch=$(mktemp -d)
trap tidy_up EXIT
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-unknown}")
tell_what_and_why
install_missing
install_npm_packages
