import type { Row } from "../api";
import { useWords } from "../i18n";
import { StateBadge, type Tone } from "../parts/badge";
import { Go } from "../parts/go";
import { List } from "../parts/list";
import { Time } from "../parts/time";
import { integrationWords } from "./integrations.words";

type Integration = Row<"/v1/integrations">;
export const STATUS: Record<string, Tone> = { active: "good", failed: "bad", suspended: "warn", revoked: "bad" };

export default function Integrations() {
  const w = useWords(integrationWords);
  return (
    <List<Integration>
      title={w.title}
      intro={w.intro}
      path="/v1/integrations"
      id={(row) => row.id}
      href={(row) => `/integrations/${encodeURIComponent(row.id)}`}
      peal={["integrations"]}
      actions={<Go route="POST /v1/integrations" href="/integrations/new">{w.make}</Go>}
      columns={[
        { key: "id", label: w.id, kind: "main", cell: (row) => <bdi dir="ltr">{row.id}</bdi> },
        { key: "provider", label: w.provider, cell: (row) => <bdi dir="ltr">{row.provider}</bdi> },
        { key: "status", label: w.status, cell: (row) => <StateBadge state={row.status} tone={STATUS[row.status] ?? "calm"} /> },
        { key: "since", label: w.since, cell: (row) => <Time at={row.statusSince} /> },
        { key: "enabled", label: w.enabled, cell: (row) => (row.enabled ? w.yes : w.no) },
        { key: "reason", label: w.reason, kind: "wide", cell: (row) => <bdi>{row.statusReason ?? "–"}</bdi> },
      ]}
      empty={{ title: w.nothing, text: w.nothingText, command: "peal integrations create -f acme.json" }}
    />
  );
}
