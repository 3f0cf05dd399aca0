import { number, useWords } from "../i18n";
import { link, usePlace } from "../router";
import { StateBadge } from "../parts/badge";
import type { OperationShown } from "../parts/bulk";
import { FilterWords } from "../parts/filterwords";
import { List } from "../parts/list";
import type { Column } from "../parts/table";
import { Time } from "../parts/time";
import { operationWords } from "./operations.words";

export default function Operations() {
  const w = useWords(operationWords);
  const known = w as Record<string, string>;
  const { path, query } = usePlace();
  const withPreviews = query.get("previews") === "true";
  const columns: Column<OperationShown>[] = [
    { key: "state", label: w.state, cell: (one) => <StateBadge state={one.state} /> },
    { key: "what", label: w.what, kind: "main", cell: (one) => <>{known[one.action] ?? one.action}{one.dryRun && ` (${w.preview})`}</> },
    { key: "which", label: w.which, kind: "wide", cell: (one) => <FilterWords filter={one.filter} /> },
    { key: "matched", label: w.matched, kind: "number", cell: (one) => (one.matched === null ? "–" : number(one.matched)) },
    { key: "done", label: w.done, kind: "number", cell: (one) => number(one.done) },
    { key: "skipped", label: w.skipped, kind: "number", cell: (one) => number(one.skipped) },
    { key: "failed", label: w.failed, kind: "number", cell: (one) => number(one.failed) },
    { key: "reason", label: w.reason, cell: (one) => <bdi>{one.reason ?? "–"}</bdi> },
    { key: "created", label: w.created, cell: (one) => <Time at={one.createdAt} /> },
  ];
  return (
    <List<OperationShown>
      title={w.title}
      intro={w.intro}
      path="/v1/operations"
      query={withPreviews ? {} : { dryRun: false }}
      actions={<a href={link(path, { previews: withPreviews ? null : "true" })}>{withPreviews ? w.hidePreviews : w.showPreviews}</a>}
      columns={columns}
      id={(one) => one.id}
      name={(one) => `${known[one.action] ?? one.action} ${one.createdAt}`}
      href={(one) => `/operations/${one.id}`}
      empty={{ title: w.emptyTitle, text: w.emptyText, command: "peal deliveries retry --state parked --channel CHANNEL" }}
      peal={["operations"]}
    />
  );
}
