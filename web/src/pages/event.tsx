import "./event.css";
import { useEffect, useRef, useState } from "preact/hooks";
import { Problem, send, type Answer, type Row } from "../api";
import { asPeal } from "../curl";
import { count, fill, locale, number, useWords } from "../i18n";
import { useLive } from "../live";
import type { PageProps } from "../pages";
import { Action } from "../parts/action";
import { StateBadge } from "../parts/badge";
import { CopyAs } from "../parts/copy";
import { Detail, Facts, Section } from "../parts/detail";
import { JsonView } from "../parts/json";
import { useLoad, type Loaded } from "../parts/load";
import { ProblemBox } from "../parts/problem";
import { Rule } from "../parts/rule";
import { Table } from "../parts/table";
import { Time } from "../parts/time";
import { Waiting } from "../parts/waiting";
import { prefs } from "../prefs";
import { go, usePlace } from "../router";
import { useStore } from "../store";
import { local, span, utc } from "../time";
import all from "./event.words";

type Event = Answer<"/v1/events/{id}">;
type Explanation = Answer<"/v1/events/{id}/explain">;
type Decision = Explanation["decisions"][number];
type Moment = Row<"/v1/events/{id}/timeline">;
type Delivery = Row<"/v1/deliveries">;
type W = { [K in keyof (typeof all)["en"]]: string };

interface Pages<T> {
  items: T[];
  next: string | null;
  more: () => void;
  problem: unknown;
}

// useMore reads a list page by page: what comes with "show more" is put behind what is there.
function useMore<T, A>(first: Loaded<A>, path: string, id: string, itemsOf: (page: A) => T[], nextOf: (page: A) => string | null): Pages<T> {
  const [rest, setRest] = useState<A[]>([]);
  const [problem, setProblem] = useState<unknown>(null);
  useEffect(() => setRest([]), [first.data]);
  const pages = first.data ? [first.data, ...rest] : [];
  const last = pages[pages.length - 1];
  const next = last ? nextOf(last) : null;
  const more = () =>
    void send<A>("GET", path, { path: { id }, query: { limit: 200, cursor: next } }).then((page) => setRest((before) => [...before, page]), setProblem);
  return { items: pages.flatMap(itemsOf), next, more, problem };
}

function short(id: string): string {
  return `…${id.slice(-6)}`;
}

// ltr keeps an address or an id whole within a sentence that may be Arabic.
function ltr(text: string): string {
  return `\u2066${text}\u2069`;
}

// Clock is the time of day, with the day where that is another than before.
function Clock(props: { at: string; before: string | undefined }) {
  const { time } = useStore(prefs);
  const at = Date.parse(props.at);
  const zone = time === "utc" ? { timeZone: "UTC" } : {};
  const day = (text: string) => new Intl.DateTimeFormat(locale(), { dateStyle: "medium", ...zone }).format(Date.parse(text));
  const exact = new Intl.DateTimeFormat(locale(), { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3, hourCycle: "h23", ...zone }).format(at);
  return (
    <time dateTime={new Date(at).toISOString()} title={`${local(at)} · ${utc(at)}`}>
      {(props.before === undefined || day(props.before) !== day(props.at)) && `${day(props.at)} `}{exact}{time === "utc" && "Z"}
    </time>
  );
}

function DeliveryLink(props: { id: string; label: string }) {
  return <a href={`/deliveries/${props.id}`}>{props.label} <bdi dir="ltr" class="code">{short(props.id)}</bdi></a>;
}

function toneOf(moment: Moment): string {
  const { outcome, state } = moment.detail;
  if (moment.what === "attempt") return outcome === "delivered" ? "is-good" : outcome === "permanent" ? "is-bad" : "is-warn";
  if (moment.what === "ended") return state === "delivered" || state === "completed" ? "is-good" : state === "parked" || state === "expired" ? "is-bad" : "";
  return "";
}

function What(props: { moment: Moment; w: W }) {
  const { moment, w } = props;
  const { detail } = moment;
  const rule = detail.rule && <Rule rule={detail.rule} />;
  const delivery = detail.deliveryId && <DeliveryLink id={detail.deliveryId} label={w.delivery} />;
  if (moment.what === "received") return <><b>{w.tReceived}</b> {detail.source && fill(w.tFrom, { source: ltr(detail.source) })}</>;
  if (moment.what === "verified") return <><b>{w.tVerified}</b> <bdi dir="ltr">{[detail.provider, detail.externalId].filter(Boolean).join(" ")}</bdi></>;
  if (moment.what === "drained") return <b>{w.tDrained}</b>;
  if (moment.what === "decided") return <>{rule} <b>{w.tMatched}</b>: {delivery}</>;
  if (moment.what === "planned") {
    const isAtOnce = detail.dueAt && Date.parse(detail.dueAt) - Date.parse(moment.at) < 1000;
    return (
      <>
        <b>{w.tPlanned}</b> {fill(w.tTo, { address: ltr(detail.address ?? "–"), channel: ltr(detail.channel ?? "–") })}, {isAtOnce ? w.tAtOnce : <>{fill(w.tDue, { time: "" })} <Time at={detail.dueAt} /></>}: {delivery}
      </>
    );
  }
  if (moment.what === "attempt") {
    const outcome = detail.outcome ?? "unknown";
    const took = detail.finishedAt ? Date.parse(detail.finishedAt) - Date.parse(moment.at) : null;
    return (
      <>
        <b>{fill(w.tAttempt, { n: detail.number ?? 0 })}</b>: {w[outcome as "delivered"] ?? outcome} {detail.reason && <bdi dir="ltr" class="code">{detail.reason}{detail.code ? ` ${detail.code}` : ""}</bdi>} {took !== null && <span class="faint">{fill(w.tTook, { time: ltr(span(took)) })}</span>} {delivery}
        {detail.detail && <bdi class="said">{detail.detail}</bdi>}
      </>
    );
  }
  return <><b>{w.tEnded}</b>: <StateBadge state={detail.state ?? "?"} /> {detail.reason && <bdi dir="ltr" class="code">{detail.reason}</bdi>} {delivery}{detail.note && <bdi class="said">{detail.note}</bdi>}</>;
}

// Timeline tells all that happened in one order; rules that did not match are one line, which leads to why.
function Timeline(props: { moments: Pages<Moment>; w: W; id: string }) {
  const { w, moments } = props;
  const sorted = moments.items.map((one, n) => ({ one, n })).sort((a, b) => Date.parse(a.one.at) - Date.parse(b.one.at) || a.n - b.n).map(({ one }) => one);
  const misses = sorted.filter((one) => one.what === "decided" && one.detail.outcome !== "created");
  const shown = sorted.filter((one) => one === misses[0] || !misses.includes(one));
  const start = sorted[0] ? Date.parse(sorted[0].at) : 0;
  return (
    <Section title={w.timeline} id="timeline" actions={<CopyAs path="/v1/events/{id}/timeline" options={{ path: { id: props.id } }} peal={asPeal(["events", "timeline", props.id])} />}>
      <p class="intro">{w.timelineText}</p>
      <ol class="timeline">
        {shown.map((one, n) => (
          <li key={n} class={toneOf(one)} data-what={one.what}>
            <span class="offset">{n === 0 ? w.start : <bdi dir="ltr">+{span(Date.parse(one.at) - start)}</bdi>}</span>
            <span class="what">{one === misses[0] ? <>{count(w.tMissed, misses.length)} – <a href="#why">{w.why}</a></> : <What moment={one} w={w} />}</span>
            <Clock at={one.at} before={shown[n - 1]?.at} />
          </li>
        ))}
      </ol>
      {moments.next && <p><button type="button" onClick={moments.more}>{w.more}</button></p>}
      <ProblemBox problem={moments.problem} />
    </Section>
  );
}

function Made(props: { deliveries: Loaded<{ items: Delivery[]; next: string | null }>; id: string; w: W }) {
  const { w } = props;
  const page = props.deliveries.data;
  return (
    <Section title={w.matched} id="made" actions={page && page.items.length > 0 && <a href={`/deliveries?event=${props.id}`}>{w.deliveriesOf}</a>}>
      <ProblemBox problem={props.deliveries.problem} again={props.deliveries.reload} />
      {page && page.items.length === 0 && <p class="faint">{w.matchedNone}</p>}
      {page && page.items.length > 0 && (
        <Table<Delivery> plain caption={w.matched} rows={page.items} id={(row) => row.id} href={(row) => `/deliveries/${row.id}`}
          columns={[
            { key: "id", label: w.deliveryId, kind: "main", cell: (row) => <bdi dir="ltr" class="code">{short(row.id)}</bdi> },
            { key: "rule", label: w.rule, cell: (row) => <><Rule rule={row.rule} /> <small class="faint">{fill(w.version, { n: row.rule.version })}</small></> },
            { key: "state", label: w.state, cell: (row) => <><StateBadge state={row.state} />{row.reason && <small class="faint"> <bdi dir="ltr">{row.reason}</bdi></small>}</> },
            { key: "channel", label: w.channel, cell: (row) => <bdi dir="ltr">{row.channel ?? "–"}</bdi> },
            { key: "address", label: w.address, cell: (row) => <bdi dir="ltr">{row.address ?? "–"}</bdi> },
            { key: "attempts", label: w.attempts, kind: "number", cell: (row) => number(row.attemptCount) },
            { key: "due", label: w.due, cell: (row) => <Time at={row.endedAt ? null : row.dueAt} /> },
          ]} />
      )}
    </Section>
  );
}

// WhyNot is the table of rules that looked at the event and let it be.
function WhyNot(props: { missed: Decision[]; decisions: Pages<Decision>; id: string; w: W; open: boolean }) {
  const { w, missed } = props;
  if (missed.length === 0) return null;
  const text = props.decisions.next ? fill(w.unmatchedMore, { n: missed.length }) : count(w.unmatched, missed.length);
  return (
    <details class="why-not section" id="why" open={props.open}>
      <summary>{text}</summary>
      <Table<Decision> plain caption={text} rows={missed} id={(row) => `${row.rule.kind}/${row.rule.id}/${row.rule.version}`}
        columns={[
          { key: "rule", label: w.rule, cell: (row) => <><Rule rule={row.rule} place={row.path ?? null} /> <small class="faint">{fill(w.version, { n: row.rule.version })}</small></> },
          { key: "verdict", label: w.verdict, cell: (row) => <>{w[row.reason === "matched" ? "matchedReason" : row.reason] ?? row.reason}{row.deliveryId && <> – <DeliveryLink id={row.deliveryId} label={w.holder} /></>}</> },
          { key: "condition", label: w.condition, cell: (row) => row.predicate ? <><bdi dir="ltr" class="code">{row.predicate}</bdi>{row.path && <small class="faint"> {fill(w.at, { path: "" })}<bdi dir="ltr" class="code">{row.path}</bdi></small>}</> : <span class="faint">–</span> },
          { key: "seen", label: w.seen, cell: (row) => "seen" in row ? <bdi dir="ltr" class="code">{JSON.stringify(row.seen) ?? "–"}</bdi> : <span class="faint">–</span> },
          { key: "would", label: w.would, cell: (row) => row.wouldMatchIf ? <bdi dir="ltr" class="code would">{row.wouldMatchIf}</bdi> : <span class="faint">–</span> },
          { key: "tester", label: w.testerColumn, cell: (row) => row.rule.kind === "trigger" && row.rule.id ? <a href={`/triggers/${encodeURIComponent(row.rule.id)}?tab=edit&event=${props.id}`}>{w.tester}</a> : null },
        ]} />
      {props.decisions.next && <p><button type="button" onClick={props.decisions.more}>{w.more}</button></p>}
      <ProblemBox problem={props.decisions.problem} />
      <p class="copies"><CopyAs path="/v1/events/{id}/explain" options={{ path: { id: props.id } }} peal={asPeal(["why", props.id])} /></p>
    </details>
  );
}

function Hook(props: { inbox: NonNullable<Explanation["inbox"]>; w: W; done: () => void }) {
  const { inbox, w } = props;
  return (
    <Section title={w.hook} id="hook"
      actions={
        <>
          <Action route="POST /v1/inbox/{id}/reprocess" path={{ id: inbox.id }} danger="moderate" ask={w.reprocessAsk} done={props.done}>{w.reprocess}</Action>
          <a href={`/inbox/${inbox.id}`}>{w.openHook}</a>
        </>
      }>
      <Facts facts={[
        [w.source, <a href={`/sources/${encodeURIComponent(inbox.source)}`}><bdi dir="ltr">{inbox.source}</bdi></a>],
        [w.provider, <bdi dir="ltr">{inbox.provider}</bdi>],
        [w.externalId, <bdi dir="ltr">{inbox.externalId ?? "–"}</bdi>],
        [w.status, <StateBadge state={inbox.status} />],
        inbox.reason || inbox.error ? [w.error, <bdi>{inbox.error ?? inbox.reason}</bdi>] : null,
        [w.size, fill(w.bytes, { n: inbox.size })],
        [w.received, <Time at={inbox.receivedAt} />],
      ]} />
    </Section>
  );
}

// again is the event as it would be posted once more: what the API gives, without what only the first one is.
function again(event: Event): unknown {
  const { kind, source, entity, correlationId, payload, recipient } = event;
  return Object.fromEntries(Object.entries({ kind, source, entity, correlationId, payload, recipient }).filter(([, value]) => value !== null && value !== undefined));
}

function sentenceOf(w: W, made: number, missed: number, isMore: boolean): string {
  const told = made === 0 ? w.madeNone : count(w.made, made);
  return fill(w.sentence, { made: told, missed: missed === 0 ? "" : isMore ? fill(w.missedMore, { n: missed }) : count(w.missed, missed) }).trim();
}

export default function EventPage({ id }: PageProps) {
  const w = useWords(all);
  const { hash } = usePlace();
  const found = useLoad<Event>("/v1/events/{id}", { path: { id } });
  const explained = useLoad<Explanation>("/v1/events/{id}/explain", { path: { id }, query: { limit: 200 } });
  const told = useLoad<{ items: Moment[]; next: string | null }>("/v1/events/{id}/timeline", { path: { id }, query: { limit: 200 } });
  const deliveries = useLoad<{ items: Delivery[]; next: string | null }>("/v1/deliveries", { query: { event: id, limit: 50 } });
  const decisions = useMore<Decision, Explanation>(explained, "/v1/events/{id}/explain", id, (page) => page.decisions, (page) => page.next);
  const moments = useMore<Moment, { items: Moment[]; next: string | null }>(told, "/v1/events/{id}/timeline", id, (page) => page.items, (page) => page.next);
  const reload = () => {
    explained.reload();
    told.reload();
    deliveries.reload();
  };
  // What moves one of its deliveries is shown within a second.
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const latest = useRef(reload);
  latest.current = reload;
  const own = useRef<string[]>([]);
  own.current = deliveries.data?.items.map((row) => row.id) ?? [];
  useLive("delivery", (fact) => {
    if (timer.current || (fact.kind !== "gap" && !own.current.includes(String(fact.data["id"])))) return;
    timer.current = window.setTimeout(() => {
      timer.current = 0;
      latest.current();
    }, 1000);
  });
  useEffect(() => {
    if (hash && explained.data) document.getElementById(hash)?.scrollIntoView();
  }, [hash, !!explained.data]);

  const event = found.data;
  const inbox = explained.data?.inbox;
  // A webhook that made no event has a story too.
  const isHookOnly = !event && found.problem instanceof Problem && found.problem.status === 404 && !!inbox;
  if (!event && !isHookOnly) return <Waiting of={explained.data || explained.problem ? found : { problem: null, reload: found.reload }} />;
  const missed = decisions.items.filter((one) => one.outcome !== "created");
  const made = deliveries.data?.items.length ?? 0;
  return (
    <Detail
      kind={w.kind}
      title={event ? <bdi dir="ltr">{event.kind}</bdi> : w.hookOnly}
      back={["/events", w.title]}
      sentence={explained.data && deliveries.data && event ? sentenceOf(w, made, missed.length, !!decisions.next) : undefined}
      facts={event ? [
        [w.received, <Time at={event.receivedAt} />],
        event.occurredAt ? [w.occurred, <Time at={event.occurredAt} />] : null,
        [w.source, <bdi dir="ltr">{event.source ?? "–"}</bdi>],
        event.entity ? [w.entity, <a href={`/events?entity=${encodeURIComponent(event.entity)}`}><bdi dir="ltr">{event.entity}</bdi></a>] : null,
        [w.id, <bdi dir="ltr" class="code">{event.id}</bdi>],
        event.correlationId ? [w.correlation, <bdi dir="ltr" class="code">{event.correlationId}</bdi>] : null,
        event.traceparent ? [w.trace, <bdi dir="ltr" class="code">{event.traceparent}</bdi>] : null,
        event.topic ? [w.topic, <bdi dir="ltr">{event.topic}</bdi>] : null,
        event.schemaVersion !== null && [w.schema, number(event.schemaVersion)],
      ] : []}
      actions={
        <>
          {event && (
            <Action<{ eventId: string }> route="POST /v1/events" body={again(event)} danger="moderate" ask={w.againAsk} {...(event.kind === "job" ? { disabled: w.againJob } : {})} done={(answer) => go(`/events/${answer.eventId}`)}>{w.again}</Action>
          )}
          <CopyAs path="/v1/events/{id}" options={{ path: { id } }} peal={asPeal(["events", "show", id])} />
        </>
      }
    >
      {explained.data?.note && <p class="note"><bdi>{explained.data.note}</bdi></p>}
      <ProblemBox problem={explained.problem} again={explained.reload} />
      {inbox && <Hook inbox={inbox} w={w} done={() => { found.reload(); reload(); }} />}
      <ProblemBox problem={told.problem} again={told.reload} />
      <Timeline moments={moments} w={w} id={id} />
      {event && <Made deliveries={deliveries} id={id} w={w} />}
      <WhyNot missed={missed} decisions={decisions} id={id} w={w} open={hash === "why" || made === 0} />
      {event && (
        <div class="columns">
          <Section title={w.payload} id="payload"><JsonView value={event.payload} label={w.payload} /></Section>
          {event.recipient !== null && <Section title={w.recipient} id="recipient"><JsonView value={event.recipient} label={w.recipient} /></Section>}
        </div>
      )}
    </Detail>
  );
}
