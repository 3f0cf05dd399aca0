import { send, type Row } from "../api";
import { useWords } from "../i18n";
import type { LiveFact } from "../live";
import { idsNow } from "../parts/fresh";
import { List } from "../parts/list";
import { Time } from "../parts/time";
import { usePlace } from "../router";
import all from "./events.words";

type Event = Row<"/v1/events">;

const GLIMPSE = 90;

// glimpse is the beginning of a payload: enough to know an event again.
function glimpse(payload: unknown): string {
  const text = JSON.stringify(payload) ?? "";
  return text.length > GLIMPSE ? `${text.slice(0, GLIMPSE)}…` : text;
}

// kinds are those that triggers listen to.
async function kinds(): Promise<string[]> {
  const page = await send<{ items: { eventKind?: string }[] }>("GET", "/v1/triggers", { query: { limit: 200 } });
  return [...new Set(page.items.map((one) => one.eventKind ?? "").filter(Boolean))].sort();
}

export default function Events() {
  const w = useWords(all);
  const { query } = usePlace();
  const params = (asked: URLSearchParams) => ({ kind: asked.get("type"), source: asked.get("source"), entity: asked.get("entity"), q: asked.get("q"), from: asked.get("from"), to: asked.get("to") });
  // A fact of the stream says an event's kind and no more: with another filter the list is asked whether it belongs here.
  const isOpen = !["source", "entity", "q", "from", "to"].some((name) => query.get(name));
  const isNew = (fact: LiveFact) => {
    if (query.get("type") && query.get("type") !== fact.data["kind"]) return false;
    return isOpen || idsNow("/v1/events", params(query)).then((ids) => ids.has(String(fact.data["id"])));
  };
  return (
    <List<Event>
      title={w.title}
      intro={w.intro}
      path="/v1/events"
      peal={["events"]}
      live="event"
      isNew={isNew}
      params={params}
      id={(row) => row.id}
      name={(row) => row.kind}
      href={(row) => `/events/${row.id}`}
      filters={[
        { name: "type", label: w.kind, values: kinds },
        { name: "source", label: w.source },
        { name: "entity", label: w.entity },
        { name: "q", label: w.q },
        { name: "from", label: w.from, kind: "time" },
        { name: "to", label: w.to, kind: "time" },
      ]}
      columns={[
        { key: "received", label: w.received, cell: (row) => <Time at={row.receivedAt} /> },
        { key: "kind", label: w.kind, kind: "main", cell: (row) => <bdi dir="ltr">{row.kind}</bdi> },
        { key: "source", label: w.source, cell: (row) => <bdi dir="ltr">{row.source ?? "–"}</bdi> },
        { key: "entity", label: w.entity, cell: (row) => (row.entity ? <bdi dir="ltr">{row.entity}</bdi> : <span class="faint">–</span>) },
        { key: "payload", label: w.payload, kind: "wide", cell: (row) => <bdi dir="ltr" class="code faint">{glimpse(row.payload)}</bdi> },
      ]}
      empty={{ title: w.nothing, text: w.nothingText, command: `peal emit user.signed-up --recipient ada@example.org --data '{"plan":"pro"}'` }}
    />
  );
}
