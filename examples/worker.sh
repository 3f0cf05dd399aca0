#!/bin/sh
# worker.sh - a worker in the shell, with curl and jq.
#
#     PEAL_URL=http://127.0.0.1:7325 PEAL_KEY=pk_… ./worker.sh worker:rates
#
# It claims work and waits for it, does it in work(), sends heartbeats meanwhile, and reports what
# became of it. On SIGTERM it finishes what it has and ends. Put your own work into work().
set -u
handler=$1
lease=${LEASE:-60}
stopping=

# The key goes by a file descriptor: what stands on a command line, everybody on the machine sees.
post() { # path body
    curl --silent --show-error --max-time 90 --header @- --header 'Content-Type: application/json' \
        --write-out '\n%{http_code}' --data "$2" "$PEAL_URL/v1/work/$1" <<HEAD
Authorization: Bearer $PEAL_KEY
HEAD
}

# report tells until it is heard: the same report twice is answered as repeated.
report() { # what members
    body=$(jq --null-input --argjson fence "$fence" --argjson members "$2" '{fence: $fence} + $members')
    while :; do
        status=$(post "$id/$1" "$body" | tail -n 1)
        case $status in
        2??) return 0 ;;
        429 | 5?? | 000 | '') sleep 1 ;; # Peal is away; the lease decides how long that may be
        *) echo "$id: $1 was refused ($status)" >&2; return 1 ;; # 409: it is somebody else's now
        esac
    done
}

progress() { report progress "$(jq --null-input --arg message "$1" '{message: $message}')"; }

beat() { while sleep $((lease / 3 > 0 ? lease / 3 : 1)); do report heartbeat "{\"lease\":\"${lease}s\"}" || return; done; }

# work does one item, given as JSON. What it prints is the message; 100 says that trying again
# cannot help, every other failure is worth another try.
work() {
    progress "working on $(printf %s "$1" | jq --compact-output .payload)"
    reason=$(printf %s "$1" | jq --raw-output '.payload.fail // empty')
    [ -z "$reason" ] || { echo "$reason"; return 1; }
    reason=$(printf %s "$1" | jq --raw-output '.payload.refuse // empty')
    [ -z "$reason" ] || { echo "$reason"; return 100; }
    sleep "$(printf %s "$1" | jq '.payload.seconds // 0')"
    echo "done in the shell"
}

run() { # item
    id=$(printf %s "$1" | jq --raw-output .id)
    fence=$(printf %s "$1" | jq .fence)
    beat &
    heart=$!
    said=$(work "$1")
    code=$?
    kill "$heart" 2>/dev/null
    case $code in
    0) report "done" "$(jq --null-input --arg said "$said" '{message: $said}')" ;;
    100) report fail "$(jq --null-input --arg said "$said" '{error: $said, permanent: true}')" ;;
    *) report fail "$(jq --null-input --arg said "$said" '{error: $said}')" ;;
    esac
}

trap 'stopping=yes' TERM
ask=$(jq --null-input --arg handler "$handler" --arg lease "${lease}s" --arg worker "shell-$$" \
    '{handler: $handler, max: 1, wait: "2s", lease: $lease, worker: $worker}')
while [ -z "$stopping" ]; do
    answer=$(post claim "$ask")
    if [ "$(printf %s "$answer" | tail -n 1)" != 200 ]; then
        sleep 1 # away, stopping, or the handler is not there yet
        continue
    fi
    item=$(printf %s "$answer" | sed '$d' | jq --compact-output '.items[0] // empty')
    [ -z "$item" ] || run "$item"
done
