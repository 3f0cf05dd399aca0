import { useEffect, useRef, useState } from "preact/hooks";
import { api, Problem, type Answer, type Row } from "../api";
import { asPeal } from "../curl";
import { count, fill, number, useWords } from "../i18n";
import { useLive } from "../live";
import type { PageProps } from "../pages";
import { Action } from "../parts/action";
import { StateBadge } from "../parts/badge";
import { CopyAs } from "../parts/copy";
import { Detail, Section } from "../parts/detail";
import { Form, type Value } from "../parts/form";
import { JsonView } from "../parts/json";
import { Known } from "../parts/known";
import { List } from "../parts/list";
import { useLoad } from "../parts/load";
import { Locked, OriginNote } from "../parts/origin";
import { ProblemBox } from "../parts/problem";
import { Table } from "../parts/table";
import { Tabs, tabOf } from "../parts/tabs";
import { Time } from "../parts/time";
import { Versions } from "../parts/versions";
import { Waiting } from "../parts/waiting";
import { go, usePlace } from "../router";
import { announce } from "../status";
import { local, serverNow, span } from "../time";
import { clockOf, CronField, yourZone, ZoneField, type Preview } from "./cron";
import { Result, Switch } from "./jobs";
import all from "./job.words";

type Job = Answer<"/v1/jobs/{id}">;
type Execution = Row<"/v1/jobs/{name}/executions">;
type Deferred = Row<"/v1/jobs/{name}/deferred">;

const QUIET = 2000; // between two looks while facts come
const BACKFILL_MAX = 1000;

function Edit(props: { job: Job | null; saved: (job: Job) => void }) {
  const w = useWords(all);
  const { job } = props;
  return (
    <Form
      shape="JobBody"
      first={(job as Value | null) ?? {}}
      draft={`job/${job?.name ?? "new"}`}
      save={job ? { route: "PUT /v1/jobs/{id}", path: { id: job.name }, version: job.version } : { route: "POST /v1/jobs" }}
      order={["name", "handler", "cron", "zone", "enabled", "reason", "payload", "maxRetries", "missed", "missedWindow", "overlap", "timeout"]}
      fixed={job ? ["name"] : []}
      labels={{ "/name": w.labelName, "/enabled": w.enabled, "/reason": w.reason, "/payload": w.payload, "/maxRetries": w.maxRetries, "/missed": w.missed, "/missedWindow": w.missedWindow, "/overlap": w.overlap, "/timeout": w.timeout }}
      override={{
        "/cron": (field) => <CronField {...field} />,
        "/zone": (field) => <ZoneField {...field} />,
        "/handler": (field) => <Known {...field} from="/v1/channels" of={(row) => row["key"]} label={w.handler} isRequired />,
      }}
      saved={(answer) => props.saved(answer as Job)}
    />
  );
}

// RunNow asks for one run; an entity and a payload of its own may be given.
function RunNow(props: { job: Job; done: (delivery: string) => void }) {
  const w = useWords(all);
  const [entity, setEntity] = useState("");
  const [payload, setPayload] = useState("");
  const body = () => {
    const made: Value = {};
    if (entity.trim()) made["entity"] = entity.trim();
    if (payload.trim()) made["payload"] = parsed(payload);
    return made;
  };
  return (
    <Action<{ deliveryId: string }>
      route="POST /v1/jobs/{name}/trigger"
      path={{ name: props.job.name }}
      body={body}
      primary
      ask={
        <>
          <p>{w.runAsk}</p>
          <label class="field"><span>{w.entity}</span><input name="entity" dir="ltr" value={entity} maxLength={200} onInput={(event) => setEntity(event.currentTarget.value)} /><small class="help">{w.entityHelp}</small></label>
          <label class="field"><span>{w.payload}</span><textarea name="payload" class="code" dir="ltr" rows={4} spellcheck={false} value={payload} placeholder={JSON.stringify(props.job.payload)} onInput={(event) => setPayload(event.currentTarget.value)} /><small class="help">{w.payloadHelp}</small></label>
        </>
      }
      done={(answer) => {
        setEntity("");
        setPayload("");
        props.done(answer.deliveryId);
      }}
    >
      {w.run}
    </Action>
  );
}

// parsed is JSON, or the text that is none: the server says what is wrong with it.
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function stampOf(text: string): string | null {
  const at = new Date(text);
  return text && !Number.isNaN(at.getTime()) ? at.toISOString() : null;
}

// forField is a moment as a field of date and time wants it, in the browser's zone.
function forField(at: number): string {
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

interface Range {
  from: string | null;
  to: string | null;
}

// RangeFields are asked for in the dialog; what the schedule names between them is told at once.
function RangeFields(props: { job: Job; range: { current: Range } }) {
  const w = useWords(all);
  const { job, range } = props;
  const [from, setFrom] = useState(() => forField(serverNow() - 86_400_000));
  const [to, setTo] = useState(() => forField(serverNow()));
  const [times, setTimes] = useState<string[] | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  range.current = { from: stampOf(from), to: stampOf(to) };
  useEffect(() => {
    const { from: a, to: b } = range.current;
    setTimes(null);
    if (!job.cron || !a || !b) return;
    const stop = new AbortController();
    const before = new Date(Date.parse(a) - 1).toISOString(); // the preview begins after its from
    api.post("/v1/cron/preview", { body: { cron: job.cron, zone: job.zone, from: before, count: BACKFILL_MAX }, signal: stop.signal }).then(
      (told) => {
        setProblem(null);
        setTimes((told as Preview).items.map((one) => one.at).filter((at) => Date.parse(at) <= Date.parse(b)));
      },
      (why: Error) => why.name !== "AbortError" && setProblem(why),
    );
    return () => stop.abort();
  }, [from, to]);
  const [first, last] = [times?.[0], times?.[times.length - 1]];
  return (
    <>
      <p>{w.backfillAsk}</p>
      <div class="pair">
        <label class="field"><span>{w.from}</span><input type="datetime-local" name="from" value={from} onInput={(event) => setFrom(event.currentTarget.value)} /></label>
        <label class="field"><span>{w.to}</span><input type="datetime-local" name="to" value={to} onInput={(event) => setTo(event.currentTarget.value)} /></label>
      </div>
      <ProblemBox problem={problem} />
      {times && (
        <p role="status" data-times={times.length}>
          <strong>{times.length === 0 ? w.backfillNone : times.length >= BACKFILL_MAX ? w.backfillMany : count(w.backfillCount, times.length)}</strong>{" "}
          {first && last && <span class="faint">{w.first}: {local(Date.parse(first))}. {w.lastOne}: {local(Date.parse(last))}.</span>}
        </p>
      )}
    </>
  );
}

function Backfill(props: { job: Job; done: (text: string) => void }) {
  const w = useWords(all);
  const range = useRef<Range>({ from: null, to: null });
  return (
    <Action<{ made: number; repeated: number }>
      route="POST /v1/jobs/{name}/backfill"
      path={{ name: props.job.name }}
      body={() => range.current}
      danger="moderate"
      {...(props.job.cron ? {} : { disabled: w.noCron })}
      ask={<RangeFields job={props.job} range={range} />}
      done={(told) => props.done(fill(w.backfillDone, { made: told.made, repeated: told.repeated }))}
    >
      {w.backfill}
    </Action>
  );
}

function NextFive(props: { job: Job }) {
  const w = useWords(all);
  const { job } = props;
  const next = useLoad<Preview>(job.cron ? "/v1/jobs/{name}/next" : null, { path: { name: job.name }, query: { count: 5 } });
  useEffect(() => next.reload(), [job.version, job.nextRunAt]);
  if (!job.cron) return null;
  if (!next.data) return <Waiting of={next} within />;
  const told = next.data;
  return (
    <Section title={w.nextFive} id="next" actions={<CopyAs path="/v1/jobs/{name}/next" options={{ path: { name: job.name } }} peal={asPeal(["jobs", "next", job.name])} />}>
      <p class="intro"><bdi>{told.explain}</bdi></p>
      {told.warnings.map((one) => <p key={one} class="note"><bdi>{one}</bdi></p>)}
      {told.items.length === 0 ? (
        <p class="faint">{w.noNext}</p>
      ) : (
        <div class="job-times">
          <Table plain caption={w.nextFive} rows={told.items} id={(row) => row.at}
            columns={[
              { key: "zone", label: fill(w.inZone, { zone: job.zone }), cell: (row) => <bdi dir="ltr" class="nowrap">{clockOf(row.local)}</bdi> },
              { key: "yours", label: fill(w.inYours, { zone: yourZone() }), cell: (row) => local(Date.parse(row.at)) },
              { key: "when", label: w.when, cell: (row) => <Time at={row.at} /> },
            ]} />
        </div>
      )}
    </Section>
  );
}

function Progress(props: { of: Execution["progress"] }) {
  const w = useWords(all);
  if (props.of.length === 0) return null;
  return (
    <details class="progress">
      <summary>{count(w.progress, props.of.length)}</summary>
      <ul>{props.of.map((one, n) => <li key={n}><Time at={one.at} /> <bdi>{one.message}</bdi></li>)}</ul>
    </details>
  );
}

function History(props: { name: string; turn: number }) {
  const w = useWords(all);
  const reload = useRef<(() => void) | null>(null);
  useEffect(() => {
    if (props.turn > 0) reload.current?.();
  }, [props.turn]);
  return (
    <List<Execution>
      within
      title={w.history}
      intro={w.historyText}
      path="/v1/jobs/{name}/executions"
      pathValues={{ name: props.name }}
      limit={20}
      peal={["jobs", "executions", props.name]}
      id={(row) => row.executionId}
      href={(row) => `/deliveries/${row.executionId.slice(0, 36)}`}
      loaded={(list) => void (reload.current = list.reload)}
      columns={[
        { key: "result", label: w.result, cell: (row) => row.succeeded === null ? <StateBadge state="running">{w.running}</StateBadge> : row.succeeded ? <StateBadge state="done">{w.succeeded}</StateBadge> : <StateBadge state="failed">{w.failed}</StateBadge> },
        { key: "source", label: w.source, cell: (row) => <>{w[row.source]}{row.backfill && <small class="faint"> {w.backfilled}</small>}</> },
        { key: "for", label: w.scheduledFor, kind: "main", cell: (row) => <Time at={row.scheduledFor} /> },
        { key: "started", label: w.startedAt, cell: (row) => <Time at={row.startedAt} /> },
        { key: "took", label: w.took, kind: "number", cell: (row) => row.startedAt && row.completedAt ? <bdi dir="ltr">{span(Date.parse(row.completedAt) - Date.parse(row.startedAt))}</bdi> : "–" },
        { key: "retry", label: w.retry, kind: "number", cell: (row) => number(row.retry) },
        { key: "entity", label: w.entity, cell: (row) => row.entity ? <bdi dir="ltr">{row.entity}</bdi> : <span class="faint">–</span> },
        { key: "message", label: w.message, kind: "wide", cell: (row) => <><bdi>{row.message ?? "–"}</bdi><Progress of={row.progress} /></> },
      ]}
      empty={{ title: w.noHistory, text: w.noHistoryText, command: asPeal(["jobs", "trigger", props.name]) }}
    />
  );
}

function PutOff(props: { name: string }) {
  const w = useWords(all);
  const reload = useRef<(() => void) | null>(null);
  return (
    <List<Deferred>
      within
      title={w.deferredTitle}
      intro={w.deferredText}
      path="/v1/jobs/{name}/deferred"
      pathValues={{ name: props.name }}
      peal={["deferred", "list", props.name]}
      id={(row) => row.id}
      href={(row) => `/deliveries/${row.id}`}
      loaded={(list) => void (reload.current = list.reload)}
      columns={[
        { key: "entity", label: w.entity, kind: "main", cell: (row) => <bdi dir="ltr">{row.entity}</bdi> },
        { key: "state", label: w.state, cell: (row) => <StateBadge state={row.state} /> },
        { key: "runAt", label: w.runAt, cell: (row) => <Time at={row.runAt} /> },
        { key: "asked", label: w.asked, cell: (row) => <Time at={row.createdAt} /> },
        { key: "off", label: w.callOff, cell: (row) => <Action route="DELETE /v1/jobs/{name}/deferred" path={{ name: props.name }} query={{ entity: row.entity }} danger="moderate" ask={fill(w.callOffAsk, { entity: row.entity })} done={() => reload.current?.()}>{w.callOff}</Action> },
      ]}
      empty={{ title: w.noDeferred, text: w.noDeferredText, command: asPeal(["defer", props.name, "order:12345", "--in", "15m"]) }}
    />
  );
}

function Said(props: { job: Job; told: string; started: string }) {
  const w = useWords(all);
  const { job } = props;
  return (
    <>
      {!job.enabled && <p class="note"><bdi>{job.reason ? fill(w.pausedBecause, { reason: job.reason }) : w.pausedNoReason}</bdi></p>}
      {job.fault && <p class="note"><bdi>{fill(w.fault, { why: job.fault })}</bdi></p>}
      {(job.warnings ?? []).map((one) => <p key={one} class="note"><bdi>{one}</bdi></p>)}
      <OriginNote origin={job.origin} />
      {props.told && <p role="status">{props.told}</p>}
      {props.started && <p role="status">{w.started} <a href={`/deliveries/${props.started}`}>{w.runLink}</a></p>}
    </>
  );
}

function Runs(props: { job: Job; turn: number }) {
  const w = useWords(all);
  const { job } = props;
  return (
    <>
      <dl class="facts">
        <div><dt>{w.last}</dt><dd><Result result={job.lastResult} /> <Time at={job.lastRunAt} none="" /></dd></div>
        <div><dt>{w.next}</dt><dd><Time at={job.nextRunAt} /></dd></div>
        {job.cron && <div><dt>{w.cron}</dt><dd><bdi dir="ltr" class="code">{job.cron}</bdi> <bdi dir="ltr" class="faint">{job.zone}</bdi></dd></div>}
        <div><dt>{w.handler}</dt><dd><a href={`/channels/${encodeURIComponent(job.handler)}`}><bdi dir="ltr">{job.handler}</bdi></a></dd></div>
        <div><dt>{w.dead}</dt><dd>{job.dead ? <a href={`/dead?job=${encodeURIComponent(job.name)}`}>{number(job.dead)}</a> : w.none}</dd></div>
        <div><dt>{w.retries}</dt><dd>{number(job.maxRetries)}</dd></div>
        <div><dt>{w.missed}</dt><dd><bdi dir="ltr">{job.missed}{job.missedWindow ? ` ${job.missedWindow}` : ""}</bdi></dd></div>
        <div><dt>{w.overlap}</dt><dd><bdi dir="ltr">{job.overlap}</bdi></dd></div>
        <div><dt>{w.timeout}</dt><dd>{job.timeout ? <bdi dir="ltr">{job.timeout}</bdi> : w.channels}</dd></div>
        {((job.missedCount ?? 0) > 0 || (job.skippedCount ?? 0) > 0) && <div><dt>{w.notRun}</dt><dd>{fill(w.notRunText, { missed: job.missedCount ?? 0, skipped: job.skippedCount ?? 0 })} <Time at={job.lastMissedAt} none="" /></dd></div>}
      </dl>
      <NextFive job={job} />
      <div class="section"><History name={job.name} turn={props.turn} /></div>
    </>
  );
}

// useNews looks at the job again when something moves, and counts when a run of it did.
function useNews(id: string, reload: () => void, job: Job | null): number {
  const timer = useRef(0);
  const [turn, setTurn] = useState(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  useLive("delivery", () => {
    if (timer.current) return;
    timer.current = window.setTimeout(() => {
      timer.current = 0;
      reload();
    }, QUIET);
  });
  const state = job ? [job.lastResult, job.lastRunAt, job.dead].join() : "";
  const before = useRef("");
  useEffect(() => {
    if (before.current && state && before.current !== state) setTurn((n) => n + 1);
    before.current = state;
  }, [id, state]);
  return turn;
}

export default function JobPage({ id }: PageProps) {
  const w = useWords(all);
  const { query } = usePlace();
  const isNew = id === "new";
  const found = useLoad<Job>(isNew ? null : "/v1/jobs/{id}", { path: { id } });
  const [told, setTold] = useState("");
  const [started, setStarted] = useState("");
  const turn = useNews(id, found.reload, found.data);
  const to = (job: Job) => `/jobs/${encodeURIComponent(job.name)}`;
  if (isNew)
    return (
      <Detail kind={w.kind} title={w.make} sentence={w.makeText} back={["/jobs", w.title]}>
        <Edit job={null} saved={(made) => go(to(made))} />
      </Detail>
    );
  // History outlives the definition.
  if (found.problem instanceof Problem && found.problem.status === 404)
    return (
      <Detail kind={w.kind} title={<bdi dir="ltr">{id}</bdi>} back={["/jobs", w.title]}>
        <ProblemBox problem={found.problem} />
        <History name={id} turn={0} />
      </Detail>
    );
  if (!found.data) return <Waiting of={found} />;
  const job = found.data;
  const tabs: [string, string][] = [["runs", w.runs], ["deferred", w.deferred], ["edit", w.edit], ["versions", w.versions], ["json", w.json]];
  const tab = tabOf(tabs, query);
  return (
    <Detail
      kind={w.kind}
      title={<bdi dir="ltr">{job.name}</bdi>}
      back={["/jobs", w.title]}
      state={<Switch job={job} />}
      {...(job.cron ? {} : { sentence: w.onDemand })}
      actions={
        <>
          <RunNow job={job} done={(delivery) => { setStarted(delivery); found.reload(); }} />
          {job.enabled ? (
            <Action route="POST /v1/jobs/{name}/disable" path={{ name: id }} danger="moderate" ask={w.pauseAsk} reason="required" done={found.reload}>{w.pause}</Action>
          ) : (
            <Action route="POST /v1/jobs/{name}/enable" path={{ name: id }} done={found.reload}>{w.resume}</Action>
          )}
          <Backfill job={job} done={(text) => { setTold(text); announce(text); found.reload(); }} />
          <Action route="DELETE /v1/jobs/{id}" path={{ id }} danger="severe" name={job.name} ask={w.removeAsk} done={() => go("/jobs")}>{w.remove}</Action>
          <CopyAs path="/v1/jobs/{id}" options={{ path: { id } }} peal={asPeal(["jobs", "show", id])} />
        </>
      }
    >
      <Said job={job} told={told} started={started} />
      <Tabs tabs={tabs} label={w.kind} />
      {tab === "runs" && <Runs job={job} turn={turn} />}
      {tab === "deferred" && <PutOff name={job.name} />}
      {tab === "edit" && <Locked origin={job.origin}><Edit key={job.version} job={job} saved={(next) => { found.set(next); go(to(next)); }} /></Locked>}
      {tab === "versions" && <Versions path="/v1/jobs/{id}/versions" id={job.name} now={job.version} draft={`job/${job.name}`} page={to(job)} />}
      {tab === "json" && <JsonView value={job} />}
    </Detail>
  );
}
