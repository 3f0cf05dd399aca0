import type { Row } from "../api";
import { useWords } from "../i18n";
import { StateBadge } from "../parts/badge";
import { Go } from "../parts/go";
import { List } from "../parts/list";
import { Time } from "../parts/time";
import all from "./channels.words";

type Channel = Row<"/v1/channels">;

function Health(props: { of: Channel["health"] }) {
  const w = useWords(all);
  const { of } = props;
  if (of?.pausedUntil) return <StateBadge state="paused">{w.paused}</StateBadge>;
  return <StateBadge state={of?.circuit ?? "closed"} />;
}

export default function Channels() {
  const w = useWords(all);
  return (
    <List<Channel>
      title={w.title}
      intro={w.intro}
      path="/v1/channels"
      id={(row) => row.key}
      href={(row) => `/channels/${encodeURIComponent(row.key)}`}
      peal={["channels"]}
      actions={<Go route="POST /v1/channels" href="/channels/new">{w.make}</Go>}
      columns={[
        { key: "key", label: w.key, kind: "main", cell: (row) => <bdi dir="ltr">{row.key}</bdi> },
        { key: "type", label: w.type, cell: (row) => <bdi dir="ltr">{row.type}</bdi> },
        { key: "state", label: w.state, cell: (row) => <StateBadge state={row.enabled === false ? "disabled" : "enabled"} /> },
        { key: "circuit", label: w.circuit, cell: (row) => <Health of={row.health} /> },
        { key: "concurrency", label: w.concurrency, kind: "number", cell: (row) => row.concurrency ?? 32 },
        { key: "rate", label: w.rate, kind: "number", cell: (row) => (row.rate ? <bdi dir="ltr">{row.rate.max} / {row.rate.per}</bdi> : <span class="faint">{w.noRate}</span>) },
        { key: "lastError", label: w.lastError, kind: "wide", cell: (row) => (row.health?.lastError ? <><bdi dir="ltr">{row.health.lastError}</bdi> <small class="faint">{w.since} <Time at={row.health.since} /></small></> : <span class="faint">–</span>) },
      ]}
      empty={{ title: w.emptyTitle, text: w.emptyText, command: "peal channels create -f channel.json" }}
    />
  );
}
