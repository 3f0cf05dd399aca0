// A rule tried on stored events, as it is written: which of them its conditions let through, and which condition held one back.
import { useEffect, useState } from "preact/hooks";
import { Problem, send, type Answer, type Row } from "../api";
import { fill, useWords } from "../i18n";
import { StateBadge } from "../parts/badge";
import { Facts } from "../parts/detail";
import { JsonField } from "../parts/form";
import { JsonView } from "../parts/json";
import type { Page } from "../parts/list";
import { useLoad } from "../parts/load";
import { ProblemBox } from "../parts/problem";
import { Time } from "../parts/time";
import { usePlace } from "../router";
import all from "./trigger.words";
import "../parts/author.css";

export type Event = Row<"/v1/events">;
type Verdict = Answer<"/v1/filters/test", "post">;
type Dry = Answer<"/v1/triggers/{id}/test", "post">;
const OWN = "own";

// useSettled gives a value once it has not changed for a while.
export function useSettled<T>(value: T, wait = 250): T {
  const text = JSON.stringify(value);
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), wait);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

// pathsOf are the paths that conditions can name, of some events.
export function pathsOf(events: Event[]): string[] {
  const found = new Set<string>();
  const walk = (value: unknown, path: string, depth: number) => {
    if (typeof value !== "object" || value === null || depth > 6) return void found.add(path);
    for (const [name, one] of Object.entries(value).slice(0, 50)) walk(one, `${path}.${name}`, depth + 1);
  };
  for (const event of events) {
    walk(event.payload ?? {}, "candidate", 0);
    if (event.recipient) walk(event.recipient, "recipient", 0);
  }
  found.delete("candidate");
  return [...found].slice(0, 200).sort();
}

export function useEvents(kind: string): { events: Event[]; isKnown: boolean } {
  const settled = useSettled(kind);
  const list = useLoad<Page<Event>>(settled ? "/v1/events" : null, { query: { kind: settled, limit: 10 } });
  const wanted = usePlace().query.get("event");
  const one = useLoad<Event>(wanted ? "/v1/events/{id}" : null, { path: { id: wanted ?? "" } });
  const rows = settled ? (list.data?.items ?? []) : [];
  const first = one.data && (!settled || one.data.kind === settled) ? [one.data] : [];
  return { events: [...first, ...rows.filter((row) => row.id !== first[0]?.id)], isKnown: !settled || !!list.data };
}

async function judge(filter: unknown, of: { eventId: string } | { event: unknown }, signal: AbortSignal): Promise<Verdict> {
  if (filter === undefined) return { matches: true, explain: null };
  return send<Verdict>("POST", "/v1/filters/test", { body: { filter, ...of }, signal });
}

function Why(props: { verdict: Verdict }) {
  const w = useWords(all);
  const { explain } = props.verdict;
  if (!explain) return <p data-verdict="yes"><StateBadge state="ok">{w.matches}</StateBadge></p>;
  return (
    <div data-verdict="no">
      <StateBadge state="failed">{w.matchesNot}</StateBadge>
      <Facts
        facts={[
          [w.wanted, <code><bdi dir="ltr">{explain.predicate}</bdi></code>],
          [w.seen, explain.seen === undefined || explain.seen === null ? w.missing : <code><bdi dir="ltr">{JSON.stringify(explain.seen)}</bdi></code>],
          !!explain.wouldMatchIf && [w.wouldMatchIf, <bdi dir="ltr">{explain.wouldMatchIf}</bdi>],
        ]}
      />
    </div>
  );
}

const OUTCOMES = { created: "made", filtered: "filtered", disabled: "disabled", duplicate: "duplicate", failed: "failed" } as const;

function DryRun(props: { id: string; version: number; isChanged: boolean; of: { eventId: string } | { event: unknown } }) {
  const w = useWords(all);
  const [dry, setDry] = useState<Dry | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const name = JSON.stringify(props.of);
  useEffect(() => {
    setDry(null);
    setProblem(null);
  }, [name, props.version]);
  const run = () => send<Dry>("POST", "/v1/triggers/{id}/test", { path: { id: props.id }, body: props.of }).then(setDry, setProblem);
  return (
    <section data-dry={dry ? dry.decision.outcome : ""}>
      <p><button type="button" onClick={() => void run()}>{w.dryRun}</button> <small class="faint">{fill(w.dryRunOf, { version: String(props.version) })}. {props.isChanged && w.dryRunUnsaved}</small></p>
      <ProblemBox problem={problem} />
      {dry && (
        <>
          <Facts
            facts={[
              [w.outcome, <>{w[OUTCOMES[dry.decision.outcome]]}</>],
              dry.plan.length > 0 && [w.sends, <ol class="plan">{dry.plan.map((one) => <li key={one.send}><Time at={one.at} /></li>)}</ol>],
              !!dry.expiresAt && [w.expiresAt, <Time at={dry.expiresAt} />],
              !!dry.message?.address && [w.to, <bdi dir="ltr">{dry.message.address}</bdi>],
              !!dry.stops && [w.stops, <><StateBadge state={dry.stops.state} /> <bdi>{dry.stops.detail ?? dry.stops.reason}</bdi></>],
            ]}
          />
          {dry.note && <p class="note"><bdi>{dry.note}</bdi></p>}
          {dry.callsOff && <p class="note">{w.callsOff}</p>}
          {dry.message && <JsonView label={w.message} value={dry.message.body} />}
        </>
      )}
    </section>
  );
}

export interface TryProps {
  kind: string;
  filter: unknown;
  events: Event[];
  isKnown: boolean;
  saved: { id: string; version: number } | null;
  isChanged: boolean;
  mark: (place: string | null) => void;
}

export function Try(props: TryProps) {
  const w = useWords(all);
  const wanted = usePlace().query.get("event");
  const filter = useSettled(props.filter);
  const [verdicts, setVerdicts] = useState<Record<string, Verdict>>({});
  const [unfinished, setUnfinished] = useState<unknown>(null);
  const [chosen, setChosen] = useState(wanted ?? "");
  const [own, setOwn] = useState<unknown>({ payload: {}, recipient: {} });
  const settledOwn = useSettled(own);
  const ids = props.events.map((one) => one.id).join();
  useEffect(() => {
    const stop = new AbortController();
    const asks: [string, Promise<Verdict>][] = props.events.map((event) => [event.id, judge(filter, { eventId: event.id }, stop.signal)]);
    if (settledOwn && chosen === OWN) asks.push([OWN, judge(filter, { event: settledOwn }, stop.signal)]);
    Promise.all(asks.map(async ([id, ask]) => [id, await ask] as const)).then(
      (told) => {
        setVerdicts(Object.fromEntries(told));
        setUnfinished(null);
      },
      (why: Error) => {
        if (why.name === "AbortError") return;
        stop.abort();
        setVerdicts({});
        setUnfinished(why);
      },
    );
    return () => stop.abort();
  }, [JSON.stringify(filter), ids, JSON.stringify(settledOwn), chosen === OWN]);
  const verdict = verdicts[chosen];
  useEffect(() => props.mark(verdict?.explain?.path ?? null), [verdict?.explain?.path]);
  const event = props.events.find((one) => one.id === chosen);
  const judged = props.events.filter((one) => verdicts[one.id]);
  return (
    <section class="try" aria-label={w.tried}>
      <h2>{w.tried}</h2>
      <p class="faint">{w.triedHelp}</p>
      {unfinished !== null && (
        <p class="note" data-unfinished>
          {w.notFinished}{" "}
          {unfinished instanceof Problem && unfinished.errors.length > 0 ? unfinished.errors.map((one) => <bdi key={one.path} dir="ltr">{one.path} {one.message} </bdi>) : <bdi>{(unfinished as Error).message}</bdi>}
        </p>
      )}
      {!props.kind && <p class="faint">{w.noKind}</p>}
      {props.kind && props.isKnown && props.events.length === 0 && <p class="faint">{w.noEvents} <code><bdi dir="ltr">peal emit {props.kind} --data '{"{}"}'</bdi></code></p>}
      {judged.length > 0 && <p role="status" data-matched={judged.filter((one) => verdicts[one.id]!.matches).length}>{fill(w.matched, { n: judged.filter((one) => verdicts[one.id]!.matches).length, all: judged.length })}</p>}
      <ul class="try-list">
        {props.events.map((one) => {
          const told = verdicts[one.id];
          return (
            <li key={one.id}>
              <button type="button" class={`try-row${told ? (told.matches ? " is-yes" : " is-no") : ""}`} aria-pressed={chosen === one.id} data-event={one.id} data-matches={told ? String(told.matches) : ""} onClick={() => setChosen(chosen === one.id ? "" : one.id)}>
                <span class="sign" aria-hidden="true">{told ? (told.matches ? "✓" : "✕") : "·"}</span>
                <span class="off-screen">{told ? (told.matches ? w.matches : w.matchesNot) : ""}</span>
                <Time at={one.receivedAt} />
                <span class="brief"><bdi dir="ltr">{JSON.stringify(one.payload)}</bdi></span>
              </button>
            </li>
          );
        })}
        <li>
          <button type="button" class={`try-row${verdicts[OWN] && chosen === OWN ? (verdicts[OWN].matches ? " is-yes" : " is-no") : ""}`} aria-pressed={chosen === OWN} onClick={() => setChosen(chosen === OWN ? "" : OWN)}>
            <span class="sign" aria-hidden="true">{verdicts[OWN] && chosen === OWN ? (verdicts[OWN].matches ? "✓" : "✕") : "+"}</span> {w.own}
          </button>
        </li>
      </ul>
      {chosen === OWN && <JsonField value={own} set={setOwn} label={w.ownLabel} rows={6} />}
      {verdict && <Why verdict={verdict} />}
      {(event || (chosen === OWN && !!settledOwn)) &&
        (props.saved ? <DryRun id={props.saved.id} version={props.saved.version} isChanged={props.isChanged} of={event ? { eventId: event.id } : { event: settledOwn }} /> : <p class="faint">{w.saveFirst}</p>)}
      {event && (
        <details>
          <summary><a href={`/events/${event.id}`}>{w.payload} <bdi dir="ltr">{event.id}</bdi></a></summary>
          <JsonView value={{ payload: event.payload, recipient: event.recipient }} label={w.payload} />
        </details>
      )}
    </section>
  );
}
