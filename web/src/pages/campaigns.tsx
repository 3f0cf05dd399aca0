import type { Row } from "../api";
import { number, useWords } from "../i18n";
import { StateBadge } from "../parts/badge";
import { Go } from "../parts/go";
import { List } from "../parts/list";
import { Time } from "../parts/time";
import all from "./campaigns.words";

type Campaign = Row<"/v1/campaigns">;

export default function Campaigns() {
  const w = useWords(all);
  return (
    <List<Campaign>
      title={w.title}
      intro={w.intro}
      path="/v1/campaigns"
      id={(row) => row.id}
      href={(row) => `/campaigns/${row.id}`}
      peal={["campaigns"]}
      actions={<Go route="POST /v1/campaigns" href="/campaigns/new">{w.make}</Go>}
      columns={[
        { key: "id", label: w.campaign, kind: "main", cell: (row) => <bdi dir="ltr">{row.id}</bdi> },
        { key: "trigger", label: w.trigger, cell: (row) => <a href={`/triggers/${encodeURIComponent(row.trigger)}`}><bdi dir="ltr">{row.trigger}</bdi></a> },
        { key: "from", label: w.from, cell: (row) => (row.list ? <a href={`/lists/${encodeURIComponent(row.list)}`}><bdi>{row.list}</bdi></a> : w.file) },
        { key: "state", label: w.state, cell: (row) => <><StateBadge state={row.state} /> {row.dryRun && <small>{w.dryRun}</small>}</> },
        { key: "rows", label: w.rows, kind: "number", cell: (row) => number(row.rows) },
        { key: "created", label: w.created, kind: "number", cell: (row) => number(row.created) },
        { key: "skipped", label: w.skipped, kind: "number", cell: (row) => number(row.skipped) },
        { key: "failed", label: w.failed, kind: "number", cell: (row) => number(row.failed) },
        { key: "started", label: w.started, cell: (row) => <Time at={row.createdAt} /> },
      ]}
      empty={{ title: w.emptyTitle, text: w.emptyText, command: "peal campaigns send people.csv --trigger TRIGGER --dry-run" }}
    />
  );
}
