import type { Row } from "../api";
import { useWords } from "../i18n";
import { StateBadge } from "../parts/badge";
import { Go } from "../parts/go";
import { List } from "../parts/list";
import all from "./channels.words";

type Channel = Row<"/v1/channels">;

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
        { key: "type", label: w.type, cell: (row) => row.type },
        { key: "state", label: w.state, cell: (row) => <StateBadge state={row.enabled === false ? "disabled" : "enabled"} /> },
        { key: "concurrency", label: w.concurrency, kind: "number", cell: (row) => row.concurrency ?? "–" },
        { key: "rate", label: w.rate, kind: "number", cell: (row) => (row.rate ? <bdi dir="ltr">{row.rate.max} / {row.rate.per}</bdi> : w.noRate) },
        { key: "timeout", label: w.timeout, kind: "number", cell: (row) => row.timeout ?? "–" },
      ]}
      empty={{ title: w.emptyTitle, text: w.emptyText, command: "peal apply channels.yaml" }}
    />
  );
}
