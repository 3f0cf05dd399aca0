import { useEffect, useState } from "preact/hooks";
import type { Row } from "../api";
import { fill, number, useWords } from "../i18n";
import { StateBadge } from "../parts/badge";
import { Barred } from "../parts/barred";
import { List, type Page } from "../parts/list";
import type { Loaded } from "../parts/load";
import { Time } from "../parts/time";
import { useStore } from "../store";
import { span, tick } from "../time";
import all from "./nodes.words";

type Node = Row<"/v1/nodes">;
const DRIFT = 1000; // ms

function Nodes() {
  const w = useWords(all);
  const [list, setList] = useState<Loaded<Page<Node>> | null>(null);
  const turns = useStore(tick);
  useEffect(() => {
    if (turns) list?.reload();
  }, [turns]);
  const alive = (list?.data?.items ?? []).filter((one) => one.state === "alive");
  const here = alive.find((one) => one.isThis);
  const isMixed = new Set(alive.map((one) => one.version)).size > 1;
  const isOff = alive.some((one) => Math.abs(one.clockOffsetMs ?? 0) > DRIFT);
  const clock = (ms: number) => (Math.abs(ms) < 50 ? w.onTime : fill(ms > 0 ? w.ahead : w.behind, { time: span(Math.abs(ms)) }));
  return (
    <List<Node>
      title={w.title}
      intro={w.intro}
      path="/v1/nodes"
      id={(row) => String(row.number)}
      loaded={setList}
      peal={["nodes"]}
      above={<>{isMixed && <p class="note">{w.mixed}</p>}{isOff && <p class="note">{w.drift}</p>}</>}
      columns={[
        { key: "number", label: w.number, kind: "main", cell: (row) => <>{number(row.number)} {row.isThis && <StateBadge state="this" tone="busy">{w.here}</StateBadge>}</> },
        { key: "name", label: w.name, cell: (row) => <bdi dir="ltr">{row.name}</bdi> },
        { key: "state", label: w.state, cell: (row) => <StateBadge state={row.state ?? ""} /> },
        { key: "started", label: w.started, cell: (row) => <Time at={row.startedAt} /> },
        { key: "beat", label: w.beat, cell: (row) => <Time at={row.beatAt} /> },
        { key: "version", label: w.version, cell: (row) => <><bdi dir="ltr">{row.version ?? "–"}</bdi> {row.state === "alive" && here && row.version !== here.version && <small class="faint">{w.older}</small>}</> },
        { key: "clock", label: w.clock, cell: (row) => (row.state === "alive" && row.clockOffsetMs != null ? clock(row.clockOffsetMs) : "–") },
        { key: "leases", label: w.leases, kind: "number", cell: (row) => <span title={w.leasesHelp}>{number(row.leases)}</span> },
      ]}
      empty={{ title: w.emptyTitle, text: w.emptyText, command: "peal nodes" }}
    />
  );
}

export default function NodesPage() {
  const w = useWords(all);
  return <Barred route="GET /v1/nodes" page={w.title}><Nodes /></Barred>;
}
