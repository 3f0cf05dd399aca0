import { useRef } from "preact/hooks";
import type { Row } from "../api";
import { number, useWords } from "../i18n";
import { Action } from "../parts/action";
import { BulkButton } from "../parts/bulk";
import { idsNow } from "../parts/fresh";
import { knownIds } from "../parts/known";
import { List } from "../parts/list";
import { Time } from "../parts/time";
import { usePlace } from "../router";
import all from "./dead.words";

type Dead = Row<"/v1/dead">;

export default function DeadLetters() {
  const w = useWords(all);
  const { query } = usePlace();
  const reload = useRef<(() => void) | null>(null);
  const done = () => reload.current?.();
  return (
    <List<Dead>
      title={w.title}
      intro={w.intro}
      path="/v1/dead"
      peal={["dead"]}
      live="delivery"
      isNew={(fact) => fact.data["state"] === "parked" && idsNow("/v1/dead", { job: query.get("job") }).then((ids) => ids.has(String(fact.data["id"])))}
      id={(row) => row.id}
      name={(row) => [row.job, row.entity].filter(Boolean).join(" ")}
      href={(row) => `/deliveries/${row.id}`}
      filters={[{ name: "job", label: w.job, values: () => knownIds("/v1/jobs", (row) => row["name"]) }]}
      loaded={(list) => void (reload.current = list.reload)}
      columns={[
        { key: "failedAt", label: w.failedAt, kind: "main", cell: (row) => <Time at={row.failedAt} /> },
        { key: "job", label: w.job, cell: (row) => row.job ? <a href={`/jobs/${encodeURIComponent(row.job)}`}><bdi dir="ltr">{row.job}</bdi></a> : "–" },
        { key: "entity", label: w.entity, cell: (row) => row.entity ? <bdi dir="ltr">{row.entity}</bdi> : <span class="faint">–</span> },
        { key: "source", label: w.source, cell: (row) => w[row.source] },
        { key: "attempts", label: w.attempts, kind: "number", cell: (row) => number(row.attempts) },
        { key: "error", label: w.error, kind: "wide", cell: (row) => <bdi>{row.lastError ?? "–"}</bdi> },
        {
          key: "actions", label: w.actions,
          cell: (row) => (
            <span class="row">
              <Action route="POST /v1/dead/{id}/retry" path={{ id: row.id }} done={done}>{w.retry}</Action>
              <Action route="POST /v1/dead/{id}/discard" path={{ id: row.id }} danger="moderate" ask={w.discardAsk} reason="optional" done={done}>{w.discard}</Action>
            </span>
          ),
        },
      ]}
      bulk={({ ids }) => (["retry", "discard"] as const).map((action) => <BulkButton key={`${action}${ids.join()}`} action={action} filter={{ ids }} />)}
      empty={{ title: w.none, text: w.noneText, good: true }}
    />
  );
}
