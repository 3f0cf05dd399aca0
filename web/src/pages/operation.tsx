import { useEffect, useRef } from "preact/hooks";
import { Problem } from "../api";
import { asPeal } from "../curl";
import { fill, number, useWords } from "../i18n";
import type { PageProps } from "../pages";
import { link } from "../router";
import { announce } from "../status";
import { span } from "../time";
import { Action } from "../parts/action";
import { StateBadge } from "../parts/badge";
import type { OperationShown } from "../parts/bulk";
import { FilterWords } from "../parts/filterwords";
import { CopyAs } from "../parts/copy";
import { Detail, Section } from "../parts/detail";
import { useLoad } from "../parts/load";
import { partWords } from "../parts/parts.words";
import { ProblemBox } from "../parts/problem";
import { Time } from "../parts/time";
import { operationWords } from "./operations.words";
import "./delivery.css";

const OVER = ["done", "cancelled"];

function listOf(one: OperationShown): string | null {
  if (!["retry", "discard", "cancel"].includes(one.action)) return null;
  const query: Record<string, string> = {};
  for (const [name, value] of Object.entries(one.filter)) if (!Array.isArray(value)) query[name] = String(value);
  return Object.keys(query).length > 0 ? link("/deliveries", query) : null;
}

// useRenewed asks again while it goes on: soon while it runs, seldom while it rests.
function useRenewed(one: OperationShown | null, isBusy: boolean, reload: () => void): void {
  useEffect(() => {
    if (!one || isBusy || OVER.includes(one.state)) return;
    const timer = setTimeout(reload, one.state === "paused" ? 3000 : 700);
    return () => clearTimeout(timer);
  }, [one, isBusy]);
}

function Progress(props: { one: OperationShown }) {
  const w = useWords(operationWords);
  const { one } = props;
  const through = one.done + one.skipped + one.failed;
  return (
    <div class="operation">
      {one.matched === null ? <progress aria-label={w.progress} /> : <progress aria-label={w.progress} max={Math.max(one.matched, 1)} value={one.dryRun || one.matched === 0 ? Math.max(one.matched, 1) : through} />}
      <dl class="tiles">
        {([["matched", one.matched], ["done", one.done], ["skipped", one.skipped], ["failed", one.failed]] as const).map(([name, value]) => (
          <div key={name} class="tile" data-count={name}>
            <dt>{w[name]}</dt>
            <dd>{value === null ? "–" : number(value)}</dd>
          </div>
        ))}
      </dl>
      <p class="faint">{w.skippedHelp}</p>
    </div>
  );
}

export default function OperationPage({ id }: PageProps) {
  const w = useWords(operationWords);
  const p = useWords(partWords);
  const known = w as Record<string, string>;
  const loaded = useLoad<OperationShown>("/v1/operations/{id}", { path: { id } });
  const one = loaded.data;
  const before = useRef<string | null>(null);
  useRenewed(one, loaded.isBusy, loaded.reload);
  useEffect(() => {
    if (one && before.current && before.current !== one.state && one.state === "done") announce(`${known[one.action] ?? one.action}: ${w.isDone}`);
    before.current = one?.state ?? null;
  }, [one?.state]);
  if (loaded.problem instanceof Problem && loaded.problem.status === 404) return <Detail kind={w.kind} title={w.gone} back={["/operations", w.back]} />;
  if (!one) return loaded.problem ? <ProblemBox problem={loaded.problem} again={loaded.reload} /> : <p class="loading" aria-busy="true">{p.loading}</p>;
  const isOver = OVER.includes(one.state);
  const says = one.dryRun && isOver ? w.dry : { counting: w.counting, running: fill(w.running, { done: one.done + one.skipped + one.failed, matched: one.matched ?? 0 }), paused: w.paused, done: w.isDone, cancelled: w.cancelled }[one.state];
  const shown = listOf(one);
  const sample = one.sample ?? [];
  const isPaused = one.state === "paused";
  const common = { path: { id }, done: loaded.set };
  return (
    <Detail
      kind={w.kind}
      title={known[one.action] ?? one.action}
      back={["/operations", w.back]}
      state={<StateBadge state={one.state} />}
      sentence={says}
      actions={<CopyAs path="/v1/operations/{id}" options={{ path: { id } }} peal={asPeal(["operations", "show", id])} />}
      facts={[
        [w.which, <FilterWords filter={one.filter} />],
        [w.reason, <bdi>{one.reason ?? "–"}</bdi>],
        [w.created, <Time at={one.createdAt} />],
        [w.finished, <Time at={one.finishedAt} />],
        one.finishedAt ? [w.took, <bdi dir="ltr">{span(Date.parse(one.finishedAt) - Date.parse(one.createdAt))}</bdi>] : null,
        [w.id, <code><bdi dir="ltr">{one.id}</bdi></code>],
      ]}
    >
      {!isOver && (
        <div class="action-row" role="group" aria-label={p.actions}>
          {isPaused ? (
            <Action<OperationShown> {...common} route="POST /v1/operations/{id}/resume" primary>{w.resume}</Action>
          ) : (
            <Action<OperationShown> {...common} route="POST /v1/operations/{id}/pause">{w.pause}</Action>
          )}
          <Action<OperationShown> {...common} route="POST /v1/operations/{id}/cancel" danger="moderate" ask={w.askEnd}>{w.end}</Action>
        </div>
      )}
      <ProblemBox problem={loaded.problem} again={loaded.reload} />
      <Section title={w.progress}><Progress one={one} /></Section>
      {sample.length > 0 && (
        <Section title={w.sample}>
          <ul class="bulk-sample">{sample.map((sampled) => <li key={sampled}><a href={`/deliveries/${sampled}`}><bdi dir="ltr">{sampled}</bdi></a></li>)}</ul>
        </Section>
      )}
      <p>
        {shown && <><a href={shown}>{w.show}</a> · </>}
        <a href={link("/audit", { kind: "Operator.operation" })}>{w.record}</a>
      </p>
    </Detail>
  );
}
