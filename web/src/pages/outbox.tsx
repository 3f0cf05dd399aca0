import type { Row } from "../api";
import { number, useWords } from "../i18n";
import { StateBadge, type Tone } from "../parts/badge";
import { List } from "../parts/list";
import { ReplayAll } from "../parts/replay";
import { Time } from "../parts/time";
import { usePlace } from "../router";
import { outboxWords } from "./outbox.words";

type Emitted = Row<"/v1/outbox">;
export const TONES: Record<string, Tone> = { Pending: "calm", Published: "good", Failed: "bad" };

export default function Outbox() {
  const w = useWords(outboxWords);
  const { query } = usePlace();
  return (
    <List<Emitted>
      title={w.title}
      intro={w.intro}
      path="/v1/outbox"
      id={(row) => row.id}
      name={(row) => `${row.eventType ?? row.kind ?? ""} ${row.createdAt}`}
      href={(row) => `/outbox/${row.id}`}
      peal={["outbox"]}
      actions={<ReplayAll filter={{ side: "outbox", from: query.get("from"), to: query.get("to") }} />}
      filters={[
        { name: "status", label: w.status, kind: "choice", values: ["Pending", "Published", "Failed"] },
        { name: "from", label: w.from, kind: "time" },
        { name: "to", label: w.to, kind: "time" },
      ]}
      columns={[
        { key: "status", label: w.status, cell: (row) => <StateBadge state={row.status} tone={TONES[row.status] ?? "calm"} /> },
        { key: "created", label: w.created, kind: "main", cell: (row) => <Time at={row.createdAt} /> },
        { key: "source", label: w.source, cell: (row) => <bdi dir="ltr">{row.source}</bdi> },
        { key: "what", label: w.what, cell: (row) => <bdi dir="ltr">{row.kind ?? "–"}</bdi> },
        { key: "eventType", label: w.eventType, cell: (row) => <bdi dir="ltr">{row.eventType ?? "–"}</bdi> },
        { key: "entity", label: w.entity, cell: (row) => <bdi dir="ltr">{row.entity ?? "–"}</bdi> },
        { key: "tries", label: w.tries, kind: "number", cell: (row) => number(row.attemptCount) },
        { key: "became", label: w.became, kind: "wide", cell: (row) => <bdi>{row.lastError ?? row.reason ?? "–"}</bdi> },
      ]}
      empty={{ title: w.nothing, text: w.nothingText, command: "psql -c \"SELECT peal.emit('order.paid', '{}')\"" }}
    />
  );
}
