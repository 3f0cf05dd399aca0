import type { Row } from "../api";
import { number, useWords } from "../i18n";
import { Go } from "../parts/go";
import { List } from "../parts/list";
import { Time } from "../parts/time";
import { listWords } from "./lists.words";

type Listed = Row<"/v1/lists">;

export default function Lists() {
  const w = useWords(listWords);
  return (
    <List<Listed>
      title={w.title}
      intro={w.intro}
      path="/v1/lists"
      id={(row) => row.id}
      href={(row) => `/lists/${encodeURIComponent(row.id)}`}
      peal={["lists"]}
      actions={<Go route="POST /v1/lists" href="/lists/new">{w.make}</Go>}
      columns={[
        { key: "id", label: w.id, kind: "main", cell: (row) => <bdi dir="ltr">{row.id}</bdi> },
        { key: "name", label: w.name, cell: (row) => <bdi>{row.name ?? "–"}</bdi> },
        { key: "channels", label: w.channels, cell: (row) => <bdi dir="ltr">{row.channels.join(", ")}</bdi> },
        { key: "count", label: w.count, kind: "number", cell: (row) => number(row.targetCount ?? 0) },
        { key: "updated", label: w.updated, cell: (row) => <Time at={row.updatedAt} /> },
      ]}
      empty={{ title: w.nothing, text: w.nothingText, command: "peal lists create -f ops.json" }}
    />
  );
}
