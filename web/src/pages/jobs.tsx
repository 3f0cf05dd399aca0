import { useEffect, useRef } from "preact/hooks";
import type { Row } from "../api";
import { count, number, useWords } from "../i18n";
import { useLive } from "../live";
import { StateBadge } from "../parts/badge";
import { Go } from "../parts/go";
import { List } from "../parts/list";
import { Time } from "../parts/time";
import all from "./jobs.words";

type Job = Row<"/v1/jobs">;

const QUIET = 2000; // between two looks while facts come
const BADGES = { "Never run": "queued", Running: "running", Succeeded: "done", Failed: "failed" } as const;

// Result is how the last run went.
export function Result(props: { result: keyof typeof BADGES | undefined }) {
  const w = useWords(all);
  const result = props.result ?? "Never run";
  return <StateBadge state={BADGES[result]}>{w[result]}</StateBadge>;
}

// Switch is whether it fires: on, paused with why, or hindered.
export function Switch(props: { job: Pick<Job, "enabled" | "fault"> }) {
  const w = useWords(all);
  if (!props.job.enabled) return <StateBadge state="paused">{w.paused}</StateBadge>;
  return props.job.fault ? <StateBadge state="failed">{w.fault}</StateBadge> : <StateBadge state="enabled" />;
}

export default function Jobs() {
  const w = useWords(all);
  const reload = useRef<(() => void) | null>(null);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  // A run moves no row of this list, but what stands in it.
  useLive("delivery", () => {
    timer.current ||= window.setTimeout(() => {
      timer.current = 0;
      reload.current?.();
    }, QUIET);
  });
  return (
    <List<Job>
      title={w.title}
      intro={w.intro}
      path="/v1/jobs"
      id={(row) => row.name}
      href={(row) => `/jobs/${encodeURIComponent(row.name)}`}
      peal={["jobs"]}
      loaded={(list) => void (reload.current = list.reload)}
      actions={<Go route="POST /v1/jobs" href="/jobs/new">{w.make}</Go>}
      columns={[
        { key: "name", label: w.name, kind: "main", cell: (row) => <bdi dir="ltr">{row.name}</bdi> },
        { key: "schedule", label: w.schedule, cell: (row) => row.cron ? <><bdi dir="ltr" class="code">{row.cron}</bdi> <small class="faint"><bdi dir="ltr">{row.zone}</bdi></small></> : <span class="faint">{w.noSchedule}</span> },
        { key: "state", label: w.state, cell: (row) => <><Switch job={row} />{(row.reason ?? row.fault) && <small class="faint"> <bdi>{row.enabled ? row.fault : row.reason}</bdi></small>}</> },
        { key: "last", label: w.last, cell: (row) => <><Result result={row.lastResult} />{row.lastRunAt && <> <Time at={row.lastRunAt} /></>}</> },
        { key: "next", label: w.next, cell: (row) => <Time at={row.nextRunAt} /> },
        { key: "dead", label: w.dead, kind: "number", cell: (row) => row.dead ? <a href={`/dead?job=${encodeURIComponent(row.name)}`} title={count(w.deadLetters, row.dead)}>{number(row.dead)}</a> : <span class="faint">0</span> },
        { key: "handler", label: w.handler, cell: (row) => <bdi dir="ltr">{row.handler}</bdi> },
      ]}
      empty={{ title: w.empty, text: w.emptyText, command: "peal jobs create rates --cron '15 12 * * *' --zone Europe/Warsaw --handler http:rates" }}
    />
  );
}
