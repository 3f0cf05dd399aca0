import type { Row } from "../api";
import { useWords } from "../i18n";
import { StateBadge } from "../parts/badge";
import { Go } from "../parts/go";
import { knownIds } from "../parts/known";
import { List } from "../parts/list";
import all from "./templates.words";

type Template = Row<"/v1/templates">;

export default function Templates() {
  const w = useWords(all);
  return (
    <List<Template>
      title={w.title}
      intro={w.intro}
      path="/v1/templates"
      id={(row) => row.id}
      href={(row) => `/templates/${encodeURIComponent(row.id)}`}
      peal={["templates"]}
      filters={[
        { name: "eventType", label: w.eventType, values: () => knownIds("/v1/events", (row) => row["kind"]) },
        { name: "channel", label: w.channel, values: () => knownIds("/v1/channels", (row) => row["key"]) },
        { name: "active", label: w.active, kind: "flag" },
      ]}
      actions={<Go route="POST /v1/templates" href="/templates/new">{w.make}</Go>}
      columns={[
        { key: "id", label: w.template, kind: "main", cell: (row) => <bdi dir="ltr">{row.id}</bdi> },
        { key: "name", label: w.name, cell: (row) => <bdi>{row.name ?? row.id}</bdi> },
        { key: "eventType", label: w.eventType, cell: (row) => <bdi dir="ltr">{row.eventType}</bdi> },
        { key: "channel", label: w.channel, cell: (row) => <a href={`/channels/${encodeURIComponent(row.channel)}`}><bdi dir="ltr">{row.channel}</bdi></a> },
        { key: "language", label: w.language, cell: (row) => row.language ?? w.byDefault },
        { key: "subject", label: w.subject, kind: "wide", cell: (row) => <bdi>{(row.subject ?? row.body ?? row.provider?.template ?? "").slice(0, 80)}</bdi> },
        { key: "state", label: w.state, cell: (row) => <StateBadge state={row.active === false ? "disabled" : "enabled"} /> },
        { key: "version", label: w.version, kind: "number", cell: (row) => row.version },
      ]}
      empty={{ title: w.emptyTitle, text: w.emptyText, command: "peal template render hello.txt data.json" }}
    />
  );
}
