import { useState } from "preact/hooks";
import { api, type Row } from "../api";
import { number, useWords } from "../i18n";
import { useLive } from "../live";
import { StateBadge } from "../parts/badge";
import { Section } from "../parts/detail";
import { List } from "../parts/list";
import { ReplayAll } from "../parts/replay";
import { Table } from "../parts/table";
import { Time } from "../parts/time";
import { usePlace } from "../router";
import { inboxWords } from "./inbox.words";

type Hook = Row<"/v1/inbox">;
interface Refused {
  n: number;
  source: string;
  provider: string;
  verdict: string;
  size: number;
  time: string;
}
const KEPT = 20;

// What was refused is kept nowhere: it is shown to who watches.
function RefusedNow() {
  const w = useWords(inboxWords);
  const [rows, setRows] = useState<Refused[]>([]);
  useLive("hook", (fact) => {
    if (fact.kind === "gap" || fact.data["id"]) return;
    setRows((before) => [{ ...(fact.data as unknown as Refused), n: (before[0]?.n ?? 0) + 1 }, ...before].slice(0, KEPT));
  });
  if (rows.length === 0) return null;
  return (
    <Section title={w.refused} id="refused">
      <Table plain caption={w.refused} rows={rows} id={(row) => String(row.n)}
        columns={[
          { key: "at", label: w.at, cell: (row) => <Time at={row.time} /> },
          { key: "source", label: w.source, cell: (row) => <a href={`/sources/${encodeURIComponent(row.source)}`}><bdi dir="ltr">{row.source}</bdi></a> },
          { key: "verdict", label: w.verdict, cell: (row) => <a href={`/docs/errors#${row.verdict}`}><StateBadge state="refused"><bdi dir="ltr">{row.verdict}</bdi></StateBadge></a> },
          { key: "size", label: w.size, kind: "number", cell: (row) => number(row.size) },
        ]} />
    </Section>
  );
}

export default function Inbox() {
  const w = useWords(inboxWords);
  const { query } = usePlace();
  return (
    <>
      <List<Hook>
        title={w.title}
        intro={w.intro}
        path="/v1/inbox"
        live="hook"
        isNew={(fact) => fact.data["id"] !== null}
        id={(row) => row.id}
        name={(row) => `${row.source} ${row.receivedAt}`}
        href={(row) => `/inbox/${row.id}`}
        peal={["inbox"]}
        actions={<ReplayAll filter={{ side: "inbox", source: query.get("source"), provider: query.get("provider"), from: query.get("from"), to: query.get("to") }} />}
        filters={[
          { name: "status", label: w.status, kind: "choice", values: ["pending", "processing", "completed", "failed"] },
          { name: "source", label: w.source, values: async () => (await api.get("/v1/sources", { query: { limit: 200 } })).items.map((one) => one.id) },
          { name: "provider", label: w.provider, kind: "choice", values: async () => (await api.get("/v1/providers")).items.map((one) => one.id) },
          { name: "from", label: w.from, kind: "time" },
          { name: "to", label: w.to, kind: "time" },
        ]}
        columns={[
          { key: "status", label: w.status, cell: (row) => <StateBadge state={row.status} /> },
          { key: "received", label: w.received, kind: "main", cell: (row) => <Time at={row.receivedAt} /> },
          { key: "source", label: w.source, cell: (row) => <bdi dir="ltr">{row.source}</bdi> },
          { key: "provider", label: w.provider, cell: (row) => <bdi dir="ltr">{row.provider}</bdi> },
          { key: "external", label: w.external, kind: "id", cell: (row) => <bdi dir="ltr">{row.externalId ?? "–"}</bdi> },
          { key: "size", label: w.size, kind: "number", cell: (row) => number(row.size) },
          { key: "became", label: w.became, kind: "wide", cell: (row) => (row.reason ? <><code><bdi dir="ltr">{row.reason}</bdi></code> <bdi>{row.error}</bdi></> : row.status === "completed" ? w.fine : "–") },
        ]}
        empty={{ title: w.nothing, text: w.nothingText, command: "peal hooks send --provider github" }}
      />
      <RefusedNow />
    </>
  );
}
