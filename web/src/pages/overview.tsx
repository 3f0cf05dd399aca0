import type { ComponentChildren } from "preact";
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import type { Answer, Row } from "../api";
import { asPeal } from "../curl";
import { count, fill, language, number, useWords } from "../i18n";
import { useLive } from "../live";
import { link, usePlace } from "../router";
import { mayCall, readSession, session } from "../session";
import { useStore } from "../store";
import { serverNow, shown, span, tick } from "../time";
import { Action } from "../parts/action";
import { StateBadge } from "../parts/badge";
import { Chart } from "../parts/chart";
import { CopyAs } from "../parts/copy";
import { Section } from "../parts/detail";
import { Empty } from "../parts/empty";
import { later } from "../parts/later";
import { useLoad, type Loaded } from "../parts/load";
import { ProblemBox } from "../parts/problem";
import { Table } from "../parts/table";
import { Time } from "../parts/time";
import { overviewWords } from "./overview.words";
import "./overview.css";

const BulkButton = later(() => import("../parts/bulk").then((part) => part.BulkButton));

type Kpis = Answer<"/v1/kpis">;
type Curves = Answer<"/v1/curves">;
type Planned = Row<"/v1/deliveries">;
type Cause = Row<"/v1/causes">;
type Channel = Row<"/v1/channels"> & { enabled?: boolean; health?: { circuit: string; since: string | null; nextProbeAt: string | null; lastError: string | null; pausedUntil: string | null } };
interface Site {
  site: string;
  lastSeenAt: string | null;
  silentSeconds: number | null;
}
interface Paged<T> {
  items: T[];
  next: string | null;
  complete?: boolean;
}
type Words = { [K in keyof (typeof overviewWords)["en"]]: string };

const SILENT = 300; // seconds without a word from a site
const RANGES = { "1h": { ms: 3_600_000, step: "1m" }, "24h": { ms: 86_400_000, step: "5m" }, "7d": { ms: 7 * 86_400_000, step: "1h" } } as const;
type Range = keyof typeof RANGES;

// apart keeps what is written from left to right together within Arabic.
const apart = (text: string) => (language() === "ar" ? `\u2068${text}\u2069` : text);
const sum = (values: (number | null)[]) => values.reduce<number>((all, one) => all + (one ?? 0), 0);

function usePaged<T>(route: string, query: Record<string, string | number | boolean> = {}): Loaded<Paged<T>> {
  return useLoad<Paged<T>>(mayCall(`GET ${route}`).may ? route : null, { query });
}

// useOverview asks for all that is shown, and again when something happened, at most every three seconds.
function useOverview() {
  const all = {
    kpis: useLoad<Kpis>("/v1/kpis"),
    hour: useLoad<Curves>("/v1/curves"),
    causes: usePaged<Cause>("/v1/causes", { limit: 50 }),
    retries: usePaged<Cause>("/v1/causes", { state: "retrying", limit: 50 }),
    sending: usePaged<unknown>("/v1/deliveries", { state: "sending", limit: 100 }),
    channels: usePaged<Channel>("/v1/channels", { limit: 100 }),
    sites: usePaged<Site>("/v1/sites", { limit: 100 }),
    dead: usePaged<unknown>("/v1/dead", { limit: 50 }),
  };
  const again = () => Object.values(all).forEach((one) => one.reload());
  const timer = useRef(0);
  const soon = () => {
    if (timer.current) return;
    timer.current = window.setTimeout(() => {
      timer.current = 0;
      again();
    }, 3000);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  useLive("delivery", soon);
  useLive("event", soon);
  const turns = useStore(tick);
  useEffect(() => {
    if (turns % 3 === 2) again(); // every half a minute, whatever the stream says
  }, [turns]);
  return { ...all, again };
}
type Seen = ReturnType<typeof useOverview>;

interface Need {
  key: string;
  what: string;
  text: ComponentChildren;
  since: string | null;
  count?: string;
  button: ComponentChildren;
  href: string;
  tone: "bad" | "warn";
}

function causeNeeds(w: Words, seen: Seen): Need[] {
  return (seen.causes.data?.items ?? []).map((one) => {
    const href = link("/deliveries", { state: "parked", cause: one.cause });
    return {
      key: `cause-${one.cause}`,
      what: fill(w.cause, { channel: one.channel ?? "–", reason: `${one.reason ?? "–"}${one.code ? ` ${one.code}` : ""}` }),
      text: one.sample,
      since: one.oldest,
      count: count(w.of, one.count),
      button: <BulkButton action="retry" filter={{ state: "parked", cause: one.cause }} label={count(w.retryN, one.count)} primary />,
      href,
      tone: "bad",
    };
  });
}

function channelNeeds(w: Words, seen: Seen): Need[] {
  return (seen.channels.data?.items ?? [])
    .filter((one) => one.health && one.health.circuit !== "closed")
    .map((one) => {
      const href = `/channels/${encodeURIComponent(one.key)}`;
      const probe = one.health?.nextProbeAt ? ` ${fill(w.probe, { time: shown(Date.parse(one.health.nextProbeAt)) })}` : "";
      return {
        key: `channel-${one.key}`, what: fill(w.circuit, { channel: one.key }), text: <>{w.circuitText}{probe} <bdi>{one.health?.lastError}</bdi></>, since: one.health?.since ?? null,
        button: <a class="button is-primary" href={href}>{w.circuitButton}</a>, href, tone: "bad",
      };
    });
}

function otherNeeds(w: Words, seen: Seen, isHeld: boolean): Need[] {
  const needs: Need[] = [];
  const kpis = seen.kpis.data;
  if (isHeld)
    needs.push({ key: "held", what: w.held, text: w.heldText, since: null, href: "/settings", tone: "bad", button: <Action route="POST /v1/release" danger="moderate" ask={w.askRelease} primary done={() => void readSession().catch(() => undefined)}>{w.release}</Action> });
  if (kpis && kpis.stuck > 0)
    needs.push({
      key: "stuck", what: w.stuck, text: count(w.stuckText, kpis.stuck), since: new Date(serverNow() - kpis.oldestPendingSeconds * 1000).toISOString(), count: count(w.of, kpis.stuck),
      href: "/deliveries?stuck=true", tone: "bad", button: <a class="button is-primary" href="/deliveries?stuck=true">{w.open}</a>,
    });
  for (const site of seen.sites.data?.items ?? [])
    if ((site.silentSeconds ?? 0) > SILENT)
      needs.push({
        key: `site-${site.site}`, what: fill(w.silent, { site: site.site }), text: fill(w.silentText, { time: span((site.silentSeconds ?? 0) * 1000) }), since: site.lastSeenAt, href: "/sites", tone: "warn",
        button: <a class="button is-primary" href="/sites">{w.silentButton}</a>,
      });
  const dead = seen.dead.data;
  if (dead && dead.items.length > 0)
    needs.push({
      key: "dead", what: w.dead, text: count(w.deadText, dead.items.length), since: null, count: dead.next ? fill(w.atLeast, { n: dead.items.length }) : number(dead.items.length), href: "/dead", tone: "warn",
      button: <a class="button is-primary" href="/dead">{w.deadButton}</a>,
    });
  return needs;
}

function Attention(props: { needs: Need[]; isKnown: boolean; isPartly: boolean }) {
  const w = useWords(overviewWords);
  return (
    <Section title={w.attention}>
      {props.isPartly && <p class="faint">{w.partly}</p>}
      {!props.isKnown ? <p class="loading" aria-busy="true">{w.looking}</p> : props.needs.length === 0 ? <Empty good title={w.nothing} text={w.nothingText} /> : (
        <ul class="needs">
          {props.needs.map((need) => (
            <li key={need.key} data-need={need.key} class={`card is-${need.tone}`}>
              <div class="need-what">
                <h3><span aria-hidden="true">{need.tone === "bad" ? "!" : "△"}</span> <a href={need.href}><bdi>{need.what}</bdi></a></h3>
                <p><bdi>{need.text}</bdi></p>
              </div>
              <p class="need-facts faint">
                {need.count && <span>{need.count}</span>}
                {need.since && <span>{w.since.split("{time}")[0]}<Time at={need.since} />{w.since.split("{time}")[1]}</span>}
              </p>
              <div class="need-do">{need.button}</div>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

// Tile is a figure with a link to what it counts, and what it means behind "?". What is not known is no 0.
function Tile(props: { name: string; value: string | null; href: string; help: string; more?: ComponentChildren; tone?: "bad" | "warn" | false; label: string }) {
  const w = useWords(overviewWords);
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  return (
    <li class={`tile-box${props.tone ? ` is-${props.tone}` : ""}`}>
      <a class="tile" href={props.href} data-tile={props.name} aria-describedby={isOpen ? id : undefined}>
        <span>{props.label}</span>
        <b>{props.tone && <span aria-hidden="true" class="sign">! </span>}{props.value ?? <span title={w.dash}>–</span>}</b>
        <span class="tile-more">{props.more ?? "\u00a0"}</span>
      </a>
      <button type="button" class="plain tile-help" aria-expanded={isOpen} aria-label={fill(w.help, { name: props.label })} onClick={() => setOpen(!isOpen)}>?</button>
      {isOpen && <p class="tile-text" id={id}>{props.help}</p>}
    </li>
  );
}

function Tiles(props: { seen: Seen }) {
  const w = useWords(overviewWords);
  const { kpis, hour, retries, sending } = props.seen;
  const figures = kpis.data;
  const more = figures && !figures.exact ? "+" : "";
  const lastMinute = hour.data?.received.at(-2);
  const pages = (page: Paged<unknown> | null, n: number) => (page ? `${number(n)}${page.next ? "+" : ""}` : null);
  const tries = retries.data ? sum(retries.data.items.map((one) => one.count)) : 0;
  return (
    <section aria-label={w.tiles}>
      <ul class="tiles">
        <Tile name="received" label={w.tReceived} value={lastMinute === undefined ? null : number(lastMinute)} href="/events" help={w.hReceived} />
        <Tile name="due" label={w.tDue} value={figures ? number(figures.queueDepth) + more : null} href="/deliveries?state=pending" help={w.hDue} more={figures && figures.oldestPendingSeconds > 0 ? fill(w.tOldest, { time: span(figures.oldestPendingSeconds * 1000) }) : undefined} />
        <Tile name="sending" label={w.tSending} value={pages(sending.data, sending.data?.items.length ?? 0)} href="/deliveries?state=sending" help={w.hSending} />
        <Tile name="retrying" label={w.tRetrying} value={pages(retries.data, tries)} href="/deliveries?state=retrying" help={w.hRetrying} />
        <Tile name="stuck" label={w.tStuck} value={figures ? number(figures.stuck) + more : null} href="/deliveries?stuck=true" help={w.hStuck} tone={!!figures && figures.stuck > 0 && "bad"} />
        <Tile name="parked" label={w.tParked} value={figures ? number(figures.parked) : null} href="/deliveries?state=parked" help={w.hParked} tone={!!figures && figures.parked > 0 && "bad"} />
        <Tile name="delivered" label={w.tDelivered} value={hour.data ? number(sum(hour.data.delivered)) : null} href="/deliveries?state=delivered" help={w.hDelivered} />
        <Tile name="scheduled" label={w.tScheduled} value={figures ? number(figures.scheduled) : null} href="/plan" help={w.hScheduled} />
      </ul>
    </section>
  );
}

// useRange asks for the curves of the range in the URL, and again each half a minute.
function useRange(): { range: Range; curves: Loaded<Curves>; query: Record<string, string> } {
  const { query } = usePlace();
  const wanted = query.get("range") as Range | null;
  const range: Range = wanted && wanted in RANGES ? wanted : "1h";
  const turns = Math.floor(useStore(tick) / 3);
  const asked = useMemo((): Record<string, string> => {
    const { ms, step } = RANGES[range];
    return range === "1h" ? { step } : { step, from: new Date(Math.floor((serverNow() - ms) / 300_000) * 300_000).toISOString() };
  }, [range, range === "1h" ? 0 : turns]);
  const curves = useLoad<Curves>("/v1/curves", { query: asked });
  useEffect(() => {
    if (turns > 0) curves.reload();
  }, [turns]);
  return { range, curves, query: asked };
}

function Curved(props: { data: Curves }) {
  const w = useWords(overviewWords);
  const { data } = props;
  const unit = data.step === 60 ? w.perMinute : data.step === 300 ? w.per5 : w.perHour;
  return (
    <div class="columns">
      <Chart title={w.cFlow} unit={unit} times={data.times} curves={[{ label: w.cIn, values: data.received, colour: 2 }, { label: w.cOut, values: data.delivered, colour: 1 }, { label: w.cFailed, values: data.failed, colour: 3 }]} />
      <Chart title={w.cLatency} unit="ms" times={data.times} curves={[{ label: "p50", values: data.latency.p50, colour: 1 }, { label: "p95", values: data.latency.p95, colour: 4 }, { label: "p99", values: data.latency.p99, colour: 3 }]} />
      <Chart title={w.cDepth} times={data.times} curves={[{ label: w.cDepthOne, values: data.depth, colour: 5 }]} />
      {data.failures.length > 0 ? (
        <Chart title={w.cFailures} unit={unit} times={data.times} curves={data.failures.slice(0, 5).map((one) => ({ label: one.channel, values: one.counts }))} />
      ) : (
        <figure class="chart"><figcaption>{w.cFailures}</figcaption><p class="faint">{w.noFailures}</p></figure>
      )}
    </div>
  );
}

function CurveSection() {
  const w = useWords(overviewWords);
  const { path } = usePlace();
  const { range, curves, query } = useRange();
  const last = useRef<Curves | null>(null); // what was shown stays until the next is there
  last.current = curves.data ?? last.current;
  const names: Record<Range, string> = { "1h": w.r1h, "24h": w.r24h, "7d": w.r7d };
  return (
    <Section title={w.curves} actions={<CopyAs path="/v1/curves" options={{ query }} peal={asPeal(["curves"], { step: query["step"], from: query["from"] })} />}>
      <nav class="tabs" aria-label={w.range}>
        {(Object.keys(RANGES) as Range[]).map((one) => <a key={one} href={link(path, { range: one === "1h" ? null : one })} aria-current={one === range ? "page" : undefined} data-range={one}>{names[one]}</a>)}
      </nav>
      <ProblemBox problem={curves.problem} again={curves.reload} />
      {last.current ? <Curved data={last.current} /> : !curves.problem && <p class="loading" aria-busy="true">{w.looking}</p>}
    </Section>
  );
}

function ChannelStrip(props: { channels: Loaded<Paged<Channel>> }) {
  const w = useWords(overviewWords);
  const rows = props.channels.data?.items;
  if (!rows) return null;
  const stateOf = (one: Channel) => (one.enabled === false ? <StateBadge state="disabled">{w.off}</StateBadge> : one.health && one.health.circuit !== "closed" ? <StateBadge state={one.health.circuit === "open" ? "open" : "half-open"} /> : <StateBadge state="ok">{w.ok}</StateBadge>);
  return (
    <Section title={w.channels}>
      {rows.length === 0 ? <Empty title={w.noChannels} text={w.noChannelsText} command="peal apply -f ." /> : (
        <Table<Channel>
          plain
          caption={w.channels}
          rows={rows}
          id={(one) => one.key}
          href={(one) => `/channels/${encodeURIComponent(one.key)}`}
          columns={[
            { key: "key", label: w.channel, kind: "main", cell: (one) => <bdi dir="ltr">{one.key}</bdi> },
            { key: "health", label: w.health, cell: (one) => <>{stateOf(one)} {one.health?.pausedUntil && <span class="faint">{fill(w.pausedUntil, { time: shown(Date.parse(one.health.pausedUntil)) })}</span>}</> },
            { key: "lastError", label: w.lastError, kind: "wide", cell: (one) => (one.health?.lastError ? <bdi>{one.health.lastError}</bdi> : <span class="faint">–</span>) },
          ]}
        />
      )}
    </Section>
  );
}

// Next are the ten that are due next, in that order.
function Next() {
  const w = useWords(overviewWords);
  const from = useMemo(() => new Date(serverNow()).toISOString(), []);
  const planned = usePaged<Planned>("/v1/deliveries", { dueFrom: from, limit: 10 });
  return (
    <Section title={w.next} actions={<a href="/plan">{w.plan}</a>}>
      <ProblemBox problem={planned.problem} again={planned.reload} />
      {planned.data && planned.data.items.length === 0 && <p class="faint">{w.nextNone}</p>}
      {planned.data && planned.data.items.length > 0 && (
        <Table<Planned>
          plain
          caption={w.next}
          rows={planned.data.items}
          id={(one) => one.id}
          href={(one) => `/deliveries/${one.id}`}
          columns={[
            { key: "due", label: w.due, cell: (one) => <Time at={one.dueAt} /> },
            { key: "what", label: w.what, kind: "main", cell: (one) => <bdi dir="ltr">{one.triggerId ?? one.rule.id ?? one.publicId}</bdi> },
            { key: "to", label: w.recipient, cell: (one) => <bdi dir="ltr" class="nowrap">{one.address ?? "–"}</bdi> },
            { key: "channel", label: w.channel, cell: (one) => <bdi dir="ltr" class="nowrap">{one.channel ?? "–"}</bdi> },
          ]}
        />
      )}
    </Section>
  );
}

export default function Overview() {
  const w = useWords(overviewWords);
  const seen = useOverview();
  const held = useStore(session)?.held ?? false;
  const asked = [seen.kpis, seen.causes, seen.channels, seen.sites, seen.dead];
  const isKnown = asked.every((one) => one.data || one.problem || !one.isBusy) && !!(seen.kpis.data || seen.kpis.problem);
  const isPartly = asked.some((one) => one.problem);
  const needs = [...otherNeeds(w, seen, held).filter((one) => one.key === "held"), ...causeNeeds(w, seen), ...channelNeeds(w, seen), ...otherNeeds(w, seen, false)];
  const hour = seen.hour.data;
  const slow = Math.max(-1, ...(hour?.latency.p99 ?? []).map((one) => one ?? -1));
  const sentence = !isKnown
    ? w.looking
    : needs.length > 0
      ? count(w.need, needs.length, { what: needs.slice(0, 3).map((one) => apart(one.what) + (one.count ? ` (${one.count})` : "")).join(" · ") + (needs.length > 3 ? " …" : "") })
      : [isPartly ? w.partly : w.clear, hour ? count(w.deliveredHour, sum(hour.delivered)) : "", slow >= 0 ? fill(w.p99, { time: span(slow) }) : ""].filter(Boolean).join(" ");
  useEffect(() => {
    if (isKnown) document.title = `${sentence} · Peal`;
  }, [sentence, isKnown]);
  const isFresh = isKnown && needs.length === 0 && !!seen.kpis.data && !!hour && seen.kpis.data.queueDepth + seen.kpis.data.scheduled + seen.kpis.data.parked + sum(hour.received) + sum(hour.delivered) === 0;
  return (
    <article class="overview">
      <div class="head">
        <div>
          <h1>{w.title}</h1>
          <p class={`overview-sentence${needs.length > 0 ? " is-bad" : isKnown ? " is-good" : ""}`} data-sentence={isKnown ? "known" : "asked"}>{sentence}</p>
        </div>
        <div class="head-actions"><CopyAs path="/v1/kpis" peal={asPeal(["kpi"])} /></div>
      </div>
      <ProblemBox problem={seen.kpis.problem} again={seen.again} />
      {isFresh && <Empty title={w.start} text={w.startText} command={`peal emit order.paid --data '{"total":249}' --recipient ada@example.com`} />}
      <Attention needs={needs} isKnown={isKnown} isPartly={isPartly} />
      <Tiles seen={seen} />
      <CurveSection />
      <ChannelStrip channels={seen.channels} />
      <Next />
    </article>
  );
}
