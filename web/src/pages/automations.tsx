import type { Row } from "../api";
import { number, useWords } from "../i18n";
import { StateBadge } from "../parts/badge";
import { Go } from "../parts/go";
import { List } from "../parts/list";
import { Time } from "../parts/time";
import all from "./automations.words";

type Automation = Row<"/v1/automations">;

export default function Automations() {
  const w = useWords(all);
  return (
    <List<Automation>
      title={w.title}
      intro={w.intro}
      path="/v1/automations"
      id={(row) => row.id}
      href={(row) => `/automations/${encodeURIComponent(row.id)}`}
      peal={["automations"]}
      actions={<Go route="POST /v1/automations" href="/automations/new">{w.make}</Go>}
      columns={[
        { key: "id", label: w.automation, kind: "main", cell: (row) => <bdi dir="ltr">{row.id}</bdi> },
        { key: "name", label: w.name, cell: (row) => <bdi>{row.name ?? "–"}</bdi> },
        { key: "handler", label: w.handler, cell: (row) => <a href={`/channels/${encodeURIComponent(row.handler)}`}><bdi dir="ltr">{row.handler}</bdi></a> },
        { key: "schedules", label: w.schedules, kind: "number", cell: (row) => row.schedules?.length ?? 0 },
        { key: "last", label: w.last, cell: (row) => <>{row.lastResult && <StateBadge state={row.lastResult} tone={row.lastResult === "Failed" ? "bad" : row.lastResult === "Succeeded" ? "good" : "calm"}>{w[row.lastResult]}</StateBadge>} {row.lastRunAt && <Time at={row.lastRunAt} />}</> },
        { key: "next", label: w.next, cell: (row) => <Time at={row.nextRunAt} /> },
        { key: "dead", label: w.dead, kind: "number", cell: (row) => (row.dead ? <a href="/dead">{number(row.dead)}</a> : (row.dead ?? "–")) },
        { key: "state", label: w.state, cell: (row) => <StateBadge state={row.enabled === false ? "disabled" : "enabled"} /> },
      ]}
      empty={{ title: w.emptyTitle, text: w.emptyText, command: `echo '{"id":"triage","handler":"memory:default"}' | peal automations create -f -` }}
    />
  );
}
