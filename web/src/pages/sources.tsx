import type { Row } from "../api";
import { useWords } from "../i18n";
import { StateBadge } from "../parts/badge";
import { Go } from "../parts/go";
import { List } from "../parts/list";
import { Time } from "../parts/time";
import { sourceWords } from "./sources.words";

type Source = Row<"/v1/sources">;

export default function Sources() {
  const w = useWords(sourceWords);
  return (
    <List<Source>
      title={w.title}
      intro={w.intro}
      path="/v1/sources"
      id={(row) => row.id}
      href={(row) => `/sources/${encodeURIComponent(row.id)}`}
      peal={["sources"]}
      actions={<Go route="POST /v1/sources" href="/sources/new">{w.make}</Go>}
      columns={[
        { key: "id", label: w.id, kind: "main", cell: (row) => <bdi dir="ltr">{row.id}</bdi> },
        { key: "provider", label: w.provider, cell: (row) => <bdi dir="ltr">{row.provider}</bdi> },
        { key: "state", label: w.state, cell: (row) => <StateBadge state={row.enabled ? "enabled" : "disabled"} /> },
        { key: "where", label: w.where, kind: "id", cell: (row) => (row.url ? <bdi dir="ltr">{row.url}</bdi> : w.table) },
        { key: "integration", label: w.integration, cell: (row) => <bdi dir="ltr">{row.integration ?? "–"}</bdi> },
        { key: "updated", label: w.updated, cell: (row) => <Time at={row.updatedAt} /> },
      ]}
      empty={{ title: w.nothing, text: w.nothingText, command: "peal hooks send --provider github" }}
    />
  );
}
