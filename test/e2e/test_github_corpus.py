"""W2: every payload that GitHub published, through the door: what it becomes is as published."""
import hashlib
import hmac
import json
import subprocess
from datetime import datetime

from harness import PATIENCE, Skip, equal, main
from server import ROOT
from steps import settle

SECRET = "It's a Secret to Everybody"
PAYLOADS = "build-npm/node_modules/@octokit/webhooks-examples/api.github.com/index.json"


def published():
    done = subprocess.run([ROOT / "tools" / "setup.sh", "client"], capture_output=True, text=True,
                          timeout=300 * PATIENCE)
    if done.returncode != 0:
        raise Skip(f"the npm packages cannot be installed: {done.stderr.strip()[-300:]}")
    for kind in json.loads((ROOT / PAYLOADS).read_text()):
        for body in kind["examples"]:
            # Whose account it is, is not asked here: nobody made an integration for it.
            yield kind["name"], {name: value for name, value in body.items() if name != "installation"}


def at(value, path):
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def time(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def numbered(body, item):
    return f"{at(body, 'repository.full_name')}#{item['number']}"


def title_of_checks(item):
    return f"{item['app']['name']}: {item['conclusion'] or item['status']}"


# By type: title, url, external id and time, each as research and GitHub's documents have them.
WANTED = {
    "issues": lambda body, it: (it["title"], it["html_url"], numbered(body, it),
                                body["action"] == "closed" and it["closed_at"] or it["updated_at"]),
    "pull_request": lambda body, it: (it["title"], it["html_url"], numbered(body, it),
                                      body["action"] == "closed" and (it["merged_at"] or it["closed_at"])
                                      or it["updated_at"]),
    "push": lambda body, _: ((at(body, "head_commit.message") or body["ref"]).split("\n")[0], body["compare"],
                             body["after"], at(body, "head_commit.timestamp")),
    "check_suite": lambda body, it: (title_of_checks(it),
                                     f"{body['repository']['html_url']}/commit/{it['head_sha']}/checks",
                                     str(it["id"]), it["updated_at"]),
    "check_run": lambda _, it: (it["name"], it["html_url"], str(it["id"]), it["completed_at"] or it["started_at"]),
    "workflow_run": lambda body, it: (it.get("display_title") or it["name"] or body["workflow"]["name"],
                                      it["html_url"], str(it["id"]), it["updated_at"]),
}
ITEMS = {"issues": "issue", "push": None}


def told_apart(name, body, item):
    """What a payload is about: two that agree in it are the same happening, however they came."""
    if name == "push":
        return body["ref"], body["after"], at(body, "repository.pushed_at")
    if body["action"] in ("opened", "created"):
        return item["id"], body["action"]
    with_whom = [at(body, f"{one}.id") for one in ("label", "assignee", "requested_reviewer", "requested_team")]
    return item["id"], body["action"], WANTED[name](body, item)[3], next(filter(None, with_whom), None)


def send(peal, url, name, body, delivery):
    raw = json.dumps(body).encode()
    signature = "sha256=" + hmac.new(SECRET.encode(), raw, hashlib.sha256).hexdigest()
    headers = {"X-GitHub-Event": name, "X-GitHub-Delivery": delivery, "X-Hub-Signature-256": signature,
               "Content-Type": "application/json"}
    return peal.with_key(None).request("POST", url, raw=raw, headers=headers, expect=200).json["id"]


def test_every_published_payload_becomes_what_is_published(ctx):
    peal, sent = ctx.peal, []
    url = peal.post("/v1/sources", {"id": "gh", "provider": "github", "secret": SECRET}, expect=201).json["url"]
    for number, (name, body) in enumerate(published()):
        sent.append((send(peal, url, name, body, f"d-{number}"), name, body))
    settle(peal)
    [[undone]] = ctx.sql("SELECT COUNT(*) FROM inbox WHERE processed_at IS NULL OR status <> 1")
    equal(int(undone), 0, "each is read, and none has failed")
    keys = {}
    for id, name, body in sent:
        if name not in WANTED:
            peal.get(f"/v1/events/{id}", expect=404)
            continue
        event = peal.get(f"/v1/events/{id}", expect=200).json
        item = body[ITEMS.get(name, name)] if ITEMS.get(name, name) else body
        title, link, external, when = WANTED[name](body, item)
        payload = event["payload"]
        equal(event["kind"], f"github.{name}")
        equal((payload["title"], payload["url"], payload["externalId"]), (title.strip(), link, external), name)
        if when:
            equal(time(payload["occurredAt"]), time(when), name)
        equal(payload["raw"], body)
        assert payload["dedupKey"].startswith("github:"), payload["dedupKey"]
        keys.setdefault(payload["dedupKey"], set()).add(told_apart(name, body, item))
    # What has one key is one thing, and what is one thing has one key.
    equal([told for told in keys.values() if len(told) > 1], [])
    equal(len(keys), len(set().union(*keys.values())))


if __name__ == "__main__":
    main()
