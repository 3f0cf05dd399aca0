import "./plan.css";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Answer } from "../api";
import { asPeal } from "../curl";
import { count, fill, locale, number, useWords } from "../i18n";
import { useLive } from "../live";
import { Action } from "../parts/action";
import { CopyAs } from "../parts/copy";
import { Empty } from "../parts/empty";
import { FilterBar, type Filter } from "../parts/filter";
import { knownIds } from "../parts/known";
import { useLoad } from "../parts/load";
import { ProblemBox } from "../parts/problem";
import { Table } from "../parts/table";
import { link, setQuery, usePlace } from "../router";
import { announce } from "../status";
import { inZone, serverNow } from "../time";
import { yourZone, zones } from "./cron";
import { dayOf, instantOf } from "./zoned";
import all from "./plan.words";

type Outlook = Answer<"/v1/plan">;
type Day = Outlook["days"][number];
type Sends = Day["channels"][number];
type W = { [K in keyof (typeof all)["en"]]: string };

const NAMES = ["channel", "trigger", "entity"] as const;
const FORTNIGHT = 14 * 86_400_000;
const QUIET = 15_000; // between two looks while facts come

// secondsOf reads a span of the API: 1h2m3s.
function secondsOf(text: string): number {
  const units: Record<string, number> = { w: 604_800, d: 86_400, h: 3600, m: 60, s: 1 };
  return [...text.matchAll(/(\d+)([wdhms])/g)].reduce((sum, [, n, unit]) => sum + Number(n) * units[unit!]!, 0);
}

function dayText(day: string, style: "long" | "short"): string {
  const options: Intl.DateTimeFormatOptions = style === "long" ? { weekday: "long", day: "numeric", month: "long" } : { weekday: "short", day: "numeric" };
  return new Intl.DateTimeFormat(locale(), { ...options, timeZone: "UTC" }).format(Date.parse(`${day}T00:00:00Z`));
}

function clockAt(at: string, zone: string): string {
  return new Intl.DateTimeFormat(locale(), { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: zone }).format(Date.parse(at));
}

function hourText(hour: number): string {
  return `${String(hour).padStart(2, "0")}:00`;
}

interface Slots {
  outlook: Outlook;
  href: (day: string, from: number, to: number, channel?: string) => string; // the deliveries of some hours
  most: number; // of one hour of all
  counted: number; // up to this moment all are counted
  told: (n: number, until: number) => string; // a number, or that it is the least
}

function Hours(props: { day: Day; of: Slots; w: W }) {
  const { day, of, w } = props;
  return (
    <ol class="plan-hours" aria-label={fill(w.hours, { day: dayText(day.day, "long") })}>
      {day.hours.map((n, hour) => {
        const text = fill(w.hour, { from: hourText(hour), to: hourText(hour + 1), n: of.told(n, instantOf(day.day, hour + 1, of.outlook.zone)) });
        return (
          <li key={hour}>
            {n > 0 ? (
              <a class="slot" href={of.href(day.day, hour, hour + 1)} aria-label={text} title={text} data-hour={hour} data-count={n}>
                <span class="fill" style={{ blockSize: `${Math.round((100 * n) / of.most)}%` }} />
              </a>
            ) : (
              <span class="slot" />
            )}
            <small class="tick" aria-hidden="true">{hour % 6 === 0 ? String(hour).padStart(2, "0") : ""}</small>
          </li>
        );
      })}
    </ol>
  );
}

function Channels(props: { day: Day; of: Slots; w: W }) {
  const { day, of, w } = props;
  const isOver = (row: Sends) => !!row.peak?.lasts && secondsOf(row.peak.lasts) > 60;
  return (
    <Table<Sends> plain caption={`${w.channel}: ${dayText(day.day, "long")}`} rows={day.channels} id={(row) => row.channel}
      columns={[
        { key: "channel", label: w.channel, cell: (row) => row.channel === "other" ? w.other : <a href={of.href(day.day, 0, 24, row.channel)}><bdi dir="ltr">{row.channel}</bdi></a> },
        { key: "count", label: w.count, kind: "number", cell: (row) => of.told(row.count, instantOf(day.day, 24, of.outlook.zone)) },
        { key: "peak", label: w.peak, cell: (row) => row.peak ? fill(w.peakAt, { n: row.peak.count, time: clockAt(row.peak.at, of.outlook.zone) }) : "–" },
        {
          key: "capacity", label: w.capacity,
          cell: (row) => row.limitPerSecond === null ? <span class="faint">{w.noLimit}</span> : (
            <span class={isOver(row) ? "wrong" : ""}>{fill(w.limit, { n: row.limitPerSecond })}{row.peak?.lasts && <>: {fill(w.lasts, { time: row.peak.lasts })}{isOver(row) && ` – ${w.tooMany}`}</>}</span>
          ),
        },
      ]} />
  );
}

// Agenda is day by day; days without anything between two are told as one.
function Agenda(props: { of: Slots; w: W; today: string }) {
  const { of, w } = props;
  const parts: { day: Day | null; empty: number }[] = [];
  for (const day of of.outlook.days) {
    const last = parts[parts.length - 1];
    if (day.count > 0) parts.push({ day, empty: 0 });
    else if (last && !last.day) last.empty++;
    else parts.push({ day: null, empty: 1 });
  }
  const tomorrow = new Date(Date.parse(`${props.today}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10);
  return (
    <>
      {parts.map(({ day, empty }, n) =>
        day ? (
          <section key={day.day} class="plan-day" id={`day-${day.day}`} data-day={day.day} data-count={day.count}>
            <div class="plan-day-head">
              <h2>{dayText(day.day, "long")}</h2>
              {day.day === props.today && <span class="faint">{w.today}</span>}
              {day.day === tomorrow && <span class="faint">{w.tomorrow}</span>}
              <strong>{instantOf(day.day, 24, of.outlook.zone) > of.counted ? fill(w.atLeast, { n: day.count }) : count(w.total, day.count)}</strong>
              <a href={of.href(day.day, 0, 24)}>{w.open}</a>
            </div>
            <Hours day={day} of={of} w={w} />
            <Channels day={day} of={of} w={w} />
          </section>
        ) : (
          <p key={`gap-${n}`} class="plan-gap">{count(w.gap, empty)}</p>
        ),
      )}
    </>
  );
}

function Days(props: { of: Slots; w: W }) {
  const { of, w } = props;
  const cell = (day: Day) => (
    <>
      <small>{dayText(day.day, "short")}</small>
      <b>{day.count > 0 ? number(day.count) : "–"}</b>
    </>
  );
  return (
    <ol class="plan-days" aria-label={w.days}>
      {of.outlook.days.map((day) => <li key={day.day}>{day.count > 0 ? <a href={`#day-${day.day}`}>{cell(day)}</a> : <span>{cell(day)}</span>}</li>)}
    </ol>
  );
}

function Bar(props: { zone: string; outlook: Outlook | null; reload: () => void; w: W }) {
  const { w, outlook } = props;
  const { query } = usePlace();
  const known = [...new Set([yourZone(), "UTC", props.zone, ...zones()])];
  const isLater = !!query.get("from");
  const later = () => outlook && setQuery({ from: outlook.to, to: new Date(Date.parse(outlook.to) + FORTNIGHT).toISOString() });
  const earlier = () => {
    if (!outlook) return;
    const from = Date.parse(outlook.from) - FORTNIGHT;
    setQuery(from <= serverNow() ? { from: null, to: null } : { from: new Date(from).toISOString(), to: outlook.from });
  };
  return (
    <div class="plan-bar">
      <label class="field">
        <span>{w.zone}</span>
        <select name="zone" value={props.zone} onChange={(event) => setQuery({ zone: event.currentTarget.value === yourZone() ? null : event.currentTarget.value })}>
          {known.map((one) => <option key={one} value={one} selected={one === props.zone}>{one === yourZone() ? fill(w.yours, { zone: one }) : one}</option>)}
        </select>
      </label>
      <div class="head-actions" role="group" aria-label={w.span}>
        {isLater && <button type="button" onClick={earlier}>{w.earlier}</button>}
        {isLater && <button type="button" onClick={() => setQuery({ from: null, to: null })}>{w.now}</button>}
        <button type="button" onClick={later}>{w.later}</button>
        <button type="button" class="plain" onClick={props.reload}>{w.refresh}</button>
      </div>
    </div>
  );
}

function slotsOf(outlook: Outlook, query: URLSearchParams, w: W): Slots {
  const counted = outlook.countedUntil ? Date.parse(outlook.countedUntil) : Infinity;
  const fixed = Object.fromEntries(NAMES.map((name) => [name, query.get(name)]));
  const href: Slots["href"] = (day, from, to, channel) => {
    const begin = Math.max(instantOf(day, from, outlook.zone), Date.parse(outlook.from));
    const end = Math.min(instantOf(day, to, outlook.zone), Date.parse(outlook.to));
    return link("/deliveries", { ...fixed, ...(channel ? { channel } : {}), dueFrom: new Date(begin).toISOString(), dueTo: new Date(end).toISOString() });
  };
  return {
    outlook,
    href,
    most: Math.max(1, ...outlook.days.flatMap((day) => day.hours)),
    counted,
    told: (n, until) => (until > counted ? fill(w.atLeast, { n }) : number(n)),
  };
}

function CancelEntity(props: { w: W; done: (text: string) => void }) {
  const { w } = props;
  const { query } = usePlace();
  const entity = query.get("entity") ?? "";
  const channel = query.get("channel");
  return (
    <Action<{ cancelled: number; complete: boolean }> route="POST /v1/entities/{id}/cancel" path={{ id: entity }} body={channel ? { channel } : {}} danger="moderate" {...(entity ? {} : { disabled: w.cancelFirst })}
      ask={<p>{fill(w.cancelAsk, { entity })} {channel && fill(w.cancelChannel, { channel })}</p>}
      done={(told) => props.done(count(w.cancelled, told.cancelled) + (told.complete ? "" : ` ${w.cancelMore}`))}>
      {w.cancel}
    </Action>
  );
}

export default function Plan() {
  const w = useWords(all);
  const { query } = usePlace();
  const [told, setTold] = useState("");
  const zone = query.get("zone") ?? yourZone();
  const asked = { zone, from: query.get("from"), to: query.get("to"), ...Object.fromEntries(NAMES.map((name) => [name, query.get(name)])) };
  const found = useLoad<Outlook>("/v1/plan", { query: asked });
  const filters: Filter[] = [
    { name: "channel", label: w.channel, values: () => knownIds("/v1/channels", (row) => row["key"]) },
    { name: "trigger", label: w.trigger, values: () => knownIds("/v1/triggers", (row) => row["id"]) },
    { name: "entity", label: w.entity },
    { name: "from", label: w.from, kind: "time" },
    { name: "to", label: w.to, kind: "time" },
  ];
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const reload = useRef(found.reload);
  reload.current = found.reload;
  useLive("delivery", () => {
    timer.current ||= window.setTimeout(() => {
      timer.current = 0;
      reload.current();
    }, QUIET);
  });
  const outlook = found.data;
  const slots = outlook && slotsOf(outlook, query, w);
  const sum = outlook?.days.reduce((n, day) => n + day.count, 0) ?? 0;
  const isFiltered = filters.some((one) => query.get(one.name));
  return (
    <section>
      <div class="head">
        <div>
          <h1>{w.title}</h1>
          <p class="intro">{w.intro}</p>
        </div>
        <div class="head-actions">
          <CancelEntity w={w} done={(text) => { setTold(text); announce(text); found.reload(); }} />
          <CopyAs path="/v1/plan" options={{ query: asked }} peal={asPeal(["plan"], asked)} />
        </div>
      </div>
      {told && <p role="status" data-told>{told}</p>}
      <FilterBar filters={filters} />
      <Bar zone={zone} outlook={outlook} reload={found.reload} w={w} />
      <ProblemBox problem={found.problem} again={found.reload} />
      {!outlook && !found.problem && <p class="loading" aria-busy="true">…</p>}
      {outlook?.isPartial && <p class="note" data-partial>{fill(w.partial, { time: inZone(Date.parse(outlook.countedUntil ?? outlook.to), outlook.zone) })}</p>}
      {slots && sum === 0 && (isFiltered ? (
        <Empty title={w.hidden} text={w.hiddenText}><button type="button" onClick={() => setQuery(Object.fromEntries(filters.map((one) => [one.name, null])))}>{w.clear}</button></Empty>
      ) : (
        <Empty title={w.nothing} text={w.nothingText} command={`peal emit user.signed-up --recipient ada@example.org --data '{"plan":"pro"}'`} />
      ))}
      {slots && sum > 0 && (
        <>
          <p class="intro" data-sum={sum}><strong>{outlook.isPartial ? fill(w.atLeast, { n: sum }) : count(w.total, sum)}</strong>, {fill(w.between, { from: inZone(Date.parse(outlook.from), outlook.zone), to: inZone(Date.parse(outlook.to), outlook.zone) })}</p>
          <Days of={slots} w={w} />
          <Agenda of={slots} w={w} today={dayOf(serverNow(), outlook.zone)} />
        </>
      )}
    </section>
  );
}
