import type { Row } from "../api";
import { fill, useWords } from "../i18n";
import { StateBadge } from "../parts/badge";
import { kindOf } from "../parts/conditions";
import { Go } from "../parts/go";
import { List } from "../parts/list";
import { link } from "../router";
import all from "./triggers.words";

type Trigger = Row<"/v1/triggers">;

export function listensTo(trigger: { eventKind?: string | undefined; provider?: string | undefined; type?: string | undefined }): string {
  return trigger.provider ? `${trigger.provider}.${trigger.type ?? "*"}` : (trigger.eventKind ?? "–");
}

// leaves counts the conditions of a filter.
function leaves(node: unknown): number {
  const kind = kindOf(node);
  if (kind === "leaf" || kind === "raw") return 1;
  const of = node as Record<string, unknown>;
  return kind === "not" ? leaves(of["not"]) : (of[kind] as unknown[]).reduce((sum: number, one) => sum + leaves(one), 0);
}

export default function Triggers() {
  const w = useWords(all);
  return (
    <List<Trigger>
      title={w.title}
      intro={w.intro}
      path="/v1/triggers"
      id={(row) => row.id}
      href={(row) => `/triggers/${encodeURIComponent(row.id)}`}
      peal={["triggers"]}
      actions={<Go route="POST /v1/triggers" href="/triggers/new">{w.make}</Go>}
      columns={[
        { key: "id", label: w.trigger, kind: "main", cell: (row) => <bdi dir="ltr">{row.id}</bdi> },
        { key: "listens", label: w.listens, cell: (row) => <bdi dir="ltr">{listensTo(row)}</bdi> },
        { key: "does", label: w.does, cell: (row) => (row.automation ? <a href={`/automations/${encodeURIComponent(row.automation)}`}><bdi dir="ltr">{row.automation}</bdi></a> : row.channel ? <a href={`/channels/${encodeURIComponent(row.channel)}`}><bdi dir="ltr">{row.channel}</bdi></a> : "–") },
        { key: "conditions", label: w.conditions, kind: "number", cell: (row) => (row.filter === undefined ? w.always : leaves(row.filter)) },
        { key: "pending", label: w.pending, kind: "number", cell: (row) => (row.pendingCount ? <a href={link("/deliveries", { trigger: row.id, state: "pending" })}>{row.pendingCount}</a> : (row.pendingCount ?? "–")) },
        { key: "state", label: w.state, cell: (row) => <><StateBadge state={row.enabled === false ? "disabled" : "enabled"} /> {row.survey && <small>{fill(w.ofSurvey, { id: row.survey })}</small>}{row.origin && <small>{w.fromFile}</small>}</> },
        { key: "version", label: w.version, kind: "number", cell: (row) => row.version },
      ]}
      empty={{ title: w.emptyTitle, text: w.emptyText, command: "peal init" }}
    />
  );
}
