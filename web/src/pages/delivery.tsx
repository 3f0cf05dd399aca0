import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { Problem, type Answer, type Row } from "../api";
import { asPeal } from "../curl";
import { count, fill, number, useWords } from "../i18n";
import { useLive } from "../live";
import type { PageProps } from "../pages";
import { prefs } from "../prefs";
import { link } from "../router";
import { mayCall, session } from "../session";
import { useStore } from "../store";
import { serverNow, shown, span, tick } from "../time";
import { Action } from "../parts/action";
import { StateBadge } from "../parts/badge";
import { Copy, CopyAs } from "../parts/copy";
import { Detail, Section, type Fact } from "../parts/detail";
import { JsonView } from "../parts/json";
import { useLoad } from "../parts/load";
import { partWords } from "../parts/parts.words";
import { ProblemBox } from "../parts/problem";
import { Table } from "../parts/table";
import { Time } from "../parts/time";
import { deliveryWords } from "./delivery.words";
import "./delivery.css";

type Delivery = Answer<"/v1/deliveries/{id}"> & { test?: boolean };
type Attempt = Row<"/v1/deliveries/{id}/attempts">;
type AuditRow = Row<"/v1/audit">;
type Captured = Row<"/v1/captured">;
interface Paged<T> {
  items: T[];
  next: string | null;
}
type Words = { [K in keyof (typeof deliveryWords)["en"]]: string };

const LIVE = ["pending", "sending", "retrying", "waiting"];
const FINAL = ["delivered", "completed", "expired", "cancelled", "discarded"];

function isAhead(at: string | null): boolean {
  return !!at && Date.parse(at) > serverNow();
}

// sentence says what is to be known first: where it stands, and since or until when.
function sentence(w: Words, one: Delivery): string {
  const at = (time: string | null) => (time ? shown(Date.parse(time)) : "–");
  switch (one.state) {
    case "pending":
      return isAhead(one.dueAt) ? fill(w.sPending, { time: at(one.dueAt) }) : fill(w.sDue, { time: at(one.dueAt) });
    case "sending":
      return w.sSending;
    case "retrying":
      return fill(w.sRetrying, { time: at(one.dueAt) });
    case "waiting":
      return one.dueAt && one.remindersRemaining > 0 ? fill(w.sWaitingUntil, { time: at(one.dueAt) }) : w.sWaiting;
    case "parked":
      return fill(w.sParked, { time: at(one.endedAt), tried: count(w.tried, one.attemptCount) });
    case "delivered":
      return fill(w.sDelivered, { time: at(one.endedAt ?? one.lastSentAt) });
    case "completed":
      return fill(w.sCompleted, { time: at(one.endedAt) });
    case "expired":
      return fill(w.sExpired, { time: at(one.endedAt) });
    case "cancelled":
      return fill(w.sCancelled, { time: at(one.endedAt) });
    default:
      return fill(w.sDiscarded, { time: at(one.endedAt) });
  }
}

interface Step {
  label: ComponentChildren;
  at: string | null;
  is: "past" | "now" | "ahead";
}

// steps is the way that it took, and what comes where that is known.
function steps(w: Words, one: Delivery, attempts: Attempt[]): Step[] {
  const way: Step[] = [{ label: w.pMade, at: one.triggeredAt, is: "past" }];
  const first = attempts[0];
  const tries = attempts.filter((attempt) => attempt.outcome !== "delivered").length;
  const isOver = FINAL.includes(one.state) || one.state === "parked";
  if (one.state === "pending") way.push({ label: <StateBadge state="pending" />, at: one.dueAt, is: "now" });
  if (first) way.push({ label: w.pSending, at: first.startedAt, is: "past" });
  if (tries > 1 || (tries === 1 && !isOver)) way.push({ label: `${w.pRetrying} (${number(Math.max(attempts.length - 1, 1))})`, at: attempts[1]?.startedAt ?? null, is: "past" });
  if (one.state === "retrying" || one.state === "sending" || one.state === "waiting") way.push({ label: <StateBadge state={one.state} />, at: one.state === "waiting" ? one.lastSentAt : one.dueAt, is: "now" });
  if (isOver) way.push({ label: <StateBadge state={one.state} />, at: one.endedAt, is: "now" });
  else way.push({ label: <StateBadge state="delivered" tone="calm" />, at: null, is: "ahead" });
  return way;
}

function Way(props: { one: Delivery; attempts: Attempt[] }) {
  const w = useWords(deliveryWords);
  return (
    <ol class="way" aria-label={w.path}>
      {steps(w, props.one, props.attempts).map((step, n) => (
        <li key={n} class={`is-${step.is}`} aria-current={step.is === "now" ? "step" : undefined}>
          <span class="way-what">{step.label}</span>
          <span class="way-at faint">{step.is === "ahead" ? w.notYet : <Time at={step.at} />}</span>
        </li>
      ))}
    </ol>
  );
}

function Actions(props: { one: Delivery; done: () => void }) {
  const w = useWords(deliveryWords);
  const { one } = props;
  const not = (isFit: boolean, text: string, action: string) => (isFit ? "" : fill(text, { action, state: one.state }));
  const isParked = one.state === "parked";
  const isLive = LIVE.includes(one.state);
  const common = { path: { id: one.id }, done: props.done };
  return (
    <>
      <Action {...common} route="POST /v1/deliveries/{id}/retry" primary={isParked} ask={w.askRetry} reason="optional" disabled={not(isParked, w.onlyParked, w.retry)}>{w.retry}</Action>
      <Action {...common} route="POST /v1/deliveries/{id}/discard" danger="moderate" ask={w.askDiscard} reason="required" disabled={not(isParked, w.onlyParked, w.discard)}>{w.discard}</Action>
      <Action {...common} route="POST /v1/deliveries/{id}/cancel" danger="moderate" ask={w.askCancel} reason="optional" disabled={not(isLive, w.onlyLive, w.cancel)}>{w.cancel}</Action>
      <Action {...common} route="POST /v1/deliveries/{id}/complete" ask={w.askComplete} reason="optional" disabled={not(isLive || isParked, w.onlyOpen, w.complete)}>{w.complete}</Action>
    </>
  );
}

function took(attempt: Attempt): string {
  if (!attempt.startedAt || !attempt.finishedAt) return "–";
  return span(Date.parse(attempt.finishedAt) - Date.parse(attempt.startedAt));
}

const OUTCOMES: Record<string, "good" | "warn" | "bad" | "calm"> = { delivered: "good", transient: "warn", permanent: "bad", unknown: "warn", elsewhere: "calm" };

function Attempts(props: { rows: Attempt[] }) {
  const w = useWords(deliveryWords);
  if (props.rows.length === 0) return <p class="faint">{w.noAttempts}</p>;
  return (
    <Table<Attempt>
      plain
      caption={w.attempts}
      rows={props.rows}
      id={(row) => `${row.send}-${row.number}`}
      columns={[
        { key: "number", label: w.number, kind: "number", cell: (row) => number(row.number) },
        { key: "send", label: w.send, kind: "number", cell: (row) => number(row.send) },
        { key: "started", label: w.started, cell: (row) => <Time at={row.startedAt} /> },
        { key: "took", label: w.took, kind: "number", cell: (row) => <bdi dir="ltr">{took(row)}</bdi> },
        { key: "outcome", label: w.outcome, cell: (row) => <StateBadge state={row.outcome} tone={OUTCOMES[row.outcome] ?? "calm"} /> },
        { key: "code", label: w.code, kind: "number", cell: (row) => row.code ?? <span class="faint">–</span> },
        { key: "answer", label: w.answer, kind: "wide", cell: (row) => <><a href={`/docs/states#reasons-of-attempts-and-states`}><code><bdi dir="ltr">{row.reason ?? "–"}</bdi></code></a> {row.detail && <bdi>{row.detail}</bdi>}</> },
        { key: "providerId", label: w.providerId, cell: (row) => (row.providerId ? <code><bdi dir="ltr">{row.providerId}</bdi></code> : <span class="faint">–</span>) },
        { key: "node", label: w.node, cell: (row) => <bdi dir="ltr">{row.node ?? "–"}</bdi> },
      ]}
    />
  );
}

function Requests(props: { id: string; turn: string }) {
  const w = useWords(deliveryWords);
  const taken = useLoad<Paged<Captured>>(mayCall("GET /v1/captured").may ? "/v1/captured" : null, { query: { delivery: props.id, limit: 20 } });
  const seen = useRef(props.turn);
  if (seen.current !== props.turn) {
    seen.current = props.turn;
    queueMicrotask(taken.reload);
  }
  const rows = taken.data?.items ?? [];
  if (rows.length === 0) return <p class="faint">{w.requestNone}</p>;
  return (
    <>
      <p class="faint">{w.requestText}</p>
      {rows.map((row) => (
        <details key={`${row.send}-${row.attempt}`} class="request" open={rows.length === 1}>
          <summary>{fill(w.attempt, { n: row.attempt })} · {fill(w.sendNumber, { n: row.send })} · <Time at={row.at} /></summary>
          {row.url && <p>{w.url}: <code><bdi dir="ltr">{row.url}</bdi></code></p>}
          <JsonView value={row.body} label={fill(w.attempt, { n: row.attempt })} />
        </details>
      ))}
    </>
  );
}

function Targets(props: { rows: NonNullable<Delivery["targets"]> }) {
  const w = useWords(deliveryWords);
  return (
    <Section title={w.targets}>
      <Table
        plain
        caption={w.targets}
        rows={props.rows}
        id={(row) => row.address}
        columns={[
          { key: "address", label: w.address, cell: (row) => <bdi dir="ltr">{row.address}</bdi> },
          { key: "name", label: w.name, cell: (row) => <bdi>{row.name ?? "–"}</bdi> },
          { key: "outcome", label: w.outcome, cell: (row) => (row.outcome ? <StateBadge state={row.outcome} tone={OUTCOMES[row.outcome] ?? "calm"} /> : <span class="faint">{w.none}</span>) },
          { key: "code", label: w.code, kind: "number", cell: (row) => row.code ?? "–" },
          { key: "answer", label: w.answer, kind: "wide", cell: (row) => <><code><bdi dir="ltr">{row.reason ?? ""}</bdi></code> <bdi>{row.detail ?? ""}</bdi></> },
          { key: "at", label: w.at, cell: (row) => <Time at={row.at} /> },
        ]}
      />
    </Section>
  );
}

function Record(props: { id: string; turn: string }) {
  const w = useWords(deliveryWords);
  const rows = useLoad<Paged<AuditRow>>(mayCall("GET /v1/audit").may ? "/v1/audit" : null, { query: { delivery: props.id, limit: 50 } });
  const seen = useRef(props.turn);
  if (seen.current !== props.turn) {
    seen.current = props.turn;
    setTimeout(rows.reload, 1500); // it is sealed a moment later
  }
  return (
    <Section title={w.audit} actions={<a href={link("/audit", { delivery: props.id })}>{w.audit}</a>}>
      <ProblemBox problem={rows.problem} />
      {rows.data && rows.data.items.length === 0 && <p class="faint">{w.auditNone}</p>}
      {rows.data && rows.data.items.length > 0 && (
        <Table<AuditRow>
          plain
          caption={w.audit}
          rows={rows.data.items}
          id={(row) => String(row.seq)}
          columns={[
            { key: "at", label: w.at, cell: (row) => <Time at={row.at} /> },
            { key: "what", label: w.what, cell: (row) => <bdi dir="ltr">{row.kind ?? "–"}</bdi> },
            { key: "status", label: w.status, cell: (row) => <bdi dir="ltr">{row.status ?? "–"}</bdi> },
            { key: "actor", label: w.actor, cell: (row) => (row.actor === "engine" ? w.engine : <a href="/keys"><bdi>{row.actorName || row.actor?.slice(0, 13) || "–"}</bdi></a>) },
            { key: "detail", label: w.detail, kind: "wide", cell: (row) => <bdi>{[row.detail?.reason, row.detail?.code, row.detail?.text].filter(Boolean).join(" · ") || "–"}</bdi> },
          ]}
        />
      )}
    </Section>
  );
}

interface Moment {
  what: string;
  detail: { deliveryId?: string; note?: string | null };
}

// useNote is what a person said when he ended it.
function useNote(one: Delivery | null): string {
  const told = useLoad<Paged<Moment>>(one && FINAL.includes(one.state) && one.reason === "by-operator" ? "/v1/events/{id}/timeline" : null, { path: { id: one?.eventId ?? "" }, query: { limit: 500 } });
  return told.data?.items.filter((moment) => moment.detail.deliveryId === one?.id && moment.detail.note).at(-1)?.detail.note ?? "";
}

interface Health {
  circuit: string;
  nextProbeAt: string | null;
  lastError: string | null;
  pausedUntil: string | null;
}

// useWaits says what holds up one that is to be sent: what the API tells, that all is held, or how its channel stands.
function useWaits(w: Words, one: Delivery | null): string {
  const held = useStore(session)?.held ?? false;
  const asks = one && one.channel && ["pending", "retrying"].includes(one.state) && mayCall("GET /v1/channels/{id}").may;
  const channel = useLoad<{ health?: Health }>(asks ? "/v1/channels/{id}" : null, { path: { id: one?.channel ?? "" } });
  if (!one || !["pending", "retrying"].includes(one.state)) return "";
  const health = channel.data?.health;
  const at = (time: string | null) => (time ? shown(Date.parse(time)) : "–");
  if (one.waits) return one.waits;
  if (held) return w.waitsHeld;
  if (health && health.circuit !== "closed") return fill(w.waitsCircuit, { channel: one.channel ?? "", time: at(health.nextProbeAt), why: health.lastError ?? "" });
  return health?.pausedUntil ? fill(w.waitsPaused, { channel: one.channel ?? "", time: at(health.pausedUntil) }) : "";
}

function ruleLink(one: Delivery): ComponentChildren {
  const { kind, id } = one.rule as { kind: string; id: string | null };
  const pages: Record<string, string> = { trigger: "/triggers/", job: "/jobs/", automation: "/automations/", template: "/templates/", survey: "/surveys/" };
  const root = pages[kind];
  return root && id ? <a href={root + encodeURIComponent(id)}><bdi dir="ltr">{id}</bdi></a> : <bdi dir="ltr">{id ?? kind}</bdi>;
}

function facts(w: Words, one: Delivery): Fact[] {
  return [
    [w.recipient, <bdi dir="ltr">{one.address ?? "–"}</bdi>],
    [w.channel, one.channel ? <a href={`/channels/${encodeURIComponent(one.channel)}`}><bdi dir="ltr">{one.channel}</bdi></a> : "–"],
    [w.trigger, <>{ruleLink(one)} <span class="faint">{fill(w.version, { n: one.triggerVersion })}</span></>],
    [w.event, <><a href={`/events/${one.eventId}`}><bdi dir="ltr">{(one.triggeredBy ?? one.eventId).replace(/^event:/, "")}</bdi></a></>],
    [w.triggered, <Time at={one.triggeredAt} />],
    one.locale ? [w.locale, <bdi dir="ltr">{one.locale}</bdi>] : null,
    one.customerRef ? [w.customerRef, <bdi dir="ltr">{one.customerRef}</bdi>] : null,
    one.entity ? [w.entity, <a href={link("/deliveries", { entity: one.entity })}><bdi dir="ltr">{one.entity}</bdi></a>] : null,
    one.site ? [w.site, <a href={link("/deliveries", { site: one.site })}><bdi dir="ltr">{one.site}</bdi></a>] : null,
    one.surveyId ? [w.survey, <><a href={`/surveys/${encodeURIComponent(one.surveyId)}`}><bdi dir="ltr">{one.surveyId}</bdi></a> <span class="faint">{fill(w.version, { n: one.surveyVersion ?? 0 })}</span></>] : null,
    one.reason ? [w.reason, <code><bdi dir="ltr">{one.reason}</bdi></code>] : null,
    [w.id, <><code><bdi dir="ltr">{one.id}</bdi></code> <Copy text={one.id} /></>],
    [w.publicId, <code><bdi dir="ltr">{one.publicId}</bdi></code>],
  ];
}

interface Schedule {
  initialDelay?: string;
  reminders?: string[];
}

// Steps are what its trigger's version plans: the first send, then reminders; those that are sent, the next one with its
// time as the calendar moved it, and those to come.
function Steps(props: { one: Delivery }) {
  const w = useWords(deliveryWords);
  const { one } = props;
  const route = "/v1/triggers/{id}/versions/{version}";
  const made = useLoad<{ definition: { schedule?: Schedule } }>(one.triggerId && mayCall(`GET ${route}`).may ? route : null, { path: { id: one.triggerId ?? "", version: one.triggerVersion } });
  const schedule = made.data?.definition.schedule;
  const reminders = schedule?.reminders ?? [];
  if (!made.data) return null;
  const isOpen = LIVE.includes(one.state);
  const isUnderWay = ["sending", "retrying", "parked"].includes(one.state);
  const sent = isUnderWay ? Math.max(one.send - 1, 0) : one.lastSentAt ? one.send : 0;
  const next = isOpen && (one.dueAt || one.state === "sending") ? sent + 1 : 0;
  const state = (step: number) => (step <= sent ? w.stepSent : step === next ? null : next && step > next ? w.stepToCome : w.stepOff);
  return (
    <ol class="steps" aria-label={w.steps}>
      {[schedule?.initialDelay ?? null, ...reminders].map((wait, n) => (
        <li key={n} data-step={n + 1} aria-current={n + 1 === next ? "step" : undefined}>
          <strong>{n === 0 ? w.firstSend : fill(w.reminder, { n })}</strong> <span class="faint">{wait ? fill(n === 0 ? w.afterEvent : w.afterSend, { time: wait }) : w.atOnce}</span>
          <span>{state(n + 1) ?? <>{w.nextAt} <Time at={one.dueAt} /></>}</span>
        </li>
      ))}
    </ol>
  );
}

function planFacts(w: Words, one: Delivery): Fact[] {
  const isNext = LIVE.includes(one.state) && !!one.dueAt && (one.state !== "waiting" || one.remindersRemaining > 0);
  return [
    [w.send, one.send === 0 ? "–" : one.send === 1 ? `1 (${w.first})` : `${number(one.send)} (${fill(w.reminder, { n: one.send - 1 })})`],
    [w.nextSend, isNext ? <Time at={one.dueAt} /> : "–"],
    [w.remindersLeft, number(one.remindersRemaining)],
    [w.expires, <Time at={one.expiresAt} />],
    [w.lastSent, <Time at={one.lastSentAt} />],
    one.openedAt ? [w.opened, <Time at={one.openedAt} />] : null,
    one.dedupHash ? [w.dedup, <code class="cut"><bdi dir="ltr">{one.dedupHash.slice(0, 16)}…</bdi></code>] : null,
  ];
}

export default function DeliveryPage({ id }: PageProps) {
  const w = useWords(deliveryWords);
  const p = useWords(partWords);
  useStore(tick);
  useStore(prefs);
  const loaded = useLoad<Delivery>("/v1/deliveries/{id}", { path: { id } });
  const tried = useLoad<Paged<Attempt>>("/v1/deliveries/{id}/attempts", { path: { id }, query: { limit: 100 } });
  const again = () => {
    loaded.reload();
    tried.reload();
  };
  useLive("delivery", (fact) => {
    if (fact.kind === "gap" || fact.data["id"] === id) again();
  });
  const one = loaded.data;
  const note = useNote(one);
  const waits = useWaits(w, one);
  if (loaded.problem instanceof Problem && loaded.problem.status === 404)
    return <Detail kind={w.kind} title={w.gone} back={["/deliveries", w.back]} sentence={w.goneText} />;
  if (!one) return loaded.problem ? <ProblemBox problem={loaded.problem} again={again} /> : <p class="loading" aria-busy="true">{p.loading}</p>;
  const attempts = [...(tried.data?.items ?? [])].sort((a, b) => a.number - b.number);
  const turn = `${one.state}/${one.attemptCount}/${one.send}`;
  return (
    <Detail
      kind={w.kind}
      title={<bdi dir="ltr">{one.triggerId ?? one.rule.id ?? one.publicId}</bdi>}
      back={["/deliveries", w.back]}
      state={<><StateBadge state={one.state} />{one.test && <> <StateBadge state="test">{w.test}</StateBadge></>}</>}
      sentence={<>
        {sentence(w, one)}
        {note && <> <strong class="why-line">{fill(w.noted, { note })}</strong></>}
        {one.lastError && one.state !== "delivered" && <> <span class="why-line">{fill(w.because, { why: one.lastError })}</span></>}
        {waits && <> <strong class="why-line">{fill(w.waitsFor, { what: waits })}</strong></>}
      </>}
      actions={<CopyAs path="/v1/deliveries/{id}" options={{ path: { id } }} peal={asPeal(["deliveries", "show", id])} />}
      facts={facts(w, one)}
    >
      <div class="action-row" role="group" aria-label={p.actions}><Actions one={one} done={again} /></div>
      <ProblemBox problem={loaded.problem} again={again} />
      <Section title={w.path}><Way one={one} attempts={attempts} /></Section>
      <Section title={w.plan}>
        <Steps one={one} />
        <dl class="facts">{planFacts(w, one).map((fact) => fact && <div key={fact[0]}><dt>{fact[0]}</dt><dd>{fact[1]}</dd></div>)}</dl>
      </Section>
      <Section title={w.attempts}>
        <ProblemBox problem={tried.problem} again={tried.reload} />
        <Attempts rows={attempts} />
      </Section>
      {one.targets && one.targets.length > 0 && <Targets rows={one.targets} />}
      <Section title={w.request}><Requests id={id} turn={turn} /></Section>
      <Section title={w.payload} actions={<a href={`/events/${one.eventId}`}>{w.timeline}</a>}><JsonView value={one.payload} label={w.payload} /></Section>
      <Record id={id} turn={turn} />
    </Detail>
  );
}
