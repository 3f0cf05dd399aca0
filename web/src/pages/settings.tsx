import { useEffect, useState } from "preact/hooks";
import type { Answer } from "../api";
import { count, fill, number, useWords } from "../i18n";
import { Action } from "../parts/action";
import { StateBadge } from "../parts/badge";
import { Barred } from "../parts/barred";
import { CopyAs } from "../parts/copy";
import { Facts, Section } from "../parts/detail";
import { useLoad } from "../parts/load";
import { ProblemBox } from "../parts/problem";
import { Table } from "../parts/table";
import { Time } from "../parts/time";
import { setQuery, usePlace } from "../router";
import { mayCall, readSession, session } from "../session";
import { announce } from "../status";
import { useStore } from "../store";
import { local, setClock, utc } from "../time";
import all from "./settings.words";
import "./settings.css";

type Settings = Answer<"/v1/settings">;
type Setting = Settings["items"][number];
interface Held {
  held: boolean;
  reason: string | null;
  inFlight?: number | null;
}
interface Clock {
  now: string;
  mode: string;
}

// size of so many bytes, as a person reads it.
function size(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let n = bytes, at = 0;
  for (; n >= 1024 && at < units.length - 1; at++) n /= 1024;
  return `${number(n, { maximumFractionDigits: n < 10 && at > 0 ? 1 : 0 })} ${units[at]}`;
}

function Origin(props: { origin: string }) {
  const w = useWords(all);
  const { origin } = props;
  if (origin === "default") return <span class="faint">{w.byDefault}</span>;
  if (origin === "flag") return <span>{w.flag}</span>;
  if (origin.startsWith("env ")) return <span>{w.env} <bdi dir="ltr"><code>{origin.slice(4)}</code></bdi></span>;
  return <span>{w.file} <bdi dir="ltr"><code>{origin}</code></bdi></span>;
}

function Values() {
  const w = useWords(all);
  const { query } = usePlace();
  const found = useLoad<Settings>("/v1/settings");
  const isOnly = query.get("only") === "true";
  const told = found.data;
  if (!told) return found.problem ? <ProblemBox problem={found.problem} again={found.reload} /> : <p class="loading" aria-busy="true">…</p>;
  const { store } = told;
  const rows = told.items.filter((one) => !isOnly || one.origin !== "default");
  return (
    <>
      <Section title={w.store} id="store">
        <Facts facts={[[w.store, store.kind], [w.place, <bdi dir="ltr"><code>{store.place}</code></bdi>], [w.storeVersion, <bdi dir="ltr">{store.version}</bdi>], [w.schema, number(store.schema)], [w.bytes, <bdi dir="ltr">{size(store.bytes)}</bdi>],
          store.walBytes != null && [w.wal, <bdi dir="ltr">{size(store.walBytes)}</bdi>], [w.build, <bdi dir="ltr">{told.build}</bdi>], [w.node, number(told.node)]]} />
      </Section>
      <Section title={w.values} id="values" actions={
        <>
          <label class="row"><input type="checkbox" name="only" checked={isOnly} onChange={(event) => setQuery({ only: event.currentTarget.checked ? "true" : null }, { replace: true })} /> {w.only}</label>
          <CopyAs path="/v1/settings" peal="peal settings" />
        </>
      }>
        <Table<Setting> caption={w.values} rows={rows} id={(row) => row.name} columns={[
          { key: "name", label: w.name, kind: "main", cell: (row) => <bdi dir="ltr"><code>{row.name}</code></bdi> },
          { key: "value", label: w.value, kind: "wide", cell: (row) => (row.value != null ? <bdi dir="ltr"><code>{row.value}</code></bdi> : <span class="faint">{row.isSecret && row.origin !== "default" ? w.secret : w.notSet}</span>) },
          { key: "origin", label: w.origin, cell: (row) => <Origin origin={row.origin} /> },
        ]} />
      </Section>
    </>
  );
}

// Outbound: whether anything is sent; to hold it and to release it is the system's right.
function Outbound() {
  const w = useWords(all);
  const held = useStore(session)?.held ?? false;
  const [told, setTold] = useState<Held | null>(null);
  const done = (answer: Held) => {
    setTold(answer);
    void readSession().catch(() => undefined);
  };
  return (
    <Section title={w.outbound} id="outbound" actions={
      held ? (
        <Action<Held> route="POST /v1/release" danger="moderate" primary ask={w.releaseAsk} done={done}>{w.release}</Action>
      ) : (
        <Action<Held> route="POST /v1/hold" danger="moderate" reason="required" ask={w.holdAsk} done={done}>{w.hold}</Action>
      )
    }>
      <p data-held={String(held)}><StateBadge state={held ? "held" : "ok"}>{held ? w.heldNow : w.sends}</StateBadge></p>
      {held && told?.reason && <p>{fill(w.why, { reason: told.reason })}</p>}
      {held && !!told?.inFlight && <p>{count(w.inFlight, told.inFlight)}</p>}
    </Section>
  );
}

function ClockSection() {
  const w = useWords(all);
  const found = useLoad<Clock>(mayCall("GET /v1/clock").may ? "/v1/clock" : null);
  const [by, setBy] = useState("1h");
  useEffect(() => {
    if (found.data) setClock(found.data.now);
  }, [found.data]);
  const clock = found.data;
  if (!clock) return <ProblemBox problem={found.problem} />;
  const isManual = clock.mode === "manual";
  const at = Date.parse(clock.now);
  return (
    <Section title={w.clock} id="clock" actions={
      isManual && (
        <Action<Clock> route="POST /v1/clock" primary body={() => ({ advance: by.trim() })} done={(next) => { found.set(next); setClock(next.now); announce(fill(w.moved, { time: local(Date.parse(next.now)) })); }}
          ask={<><p>{w.advanceAsk}</p><label class="field"><span>{w.by}</span><input name="by" dir="ltr" required autocomplete="off" value={by} onInput={(event) => setBy(event.currentTarget.value)} /><small class="help">{w.byHelp}</small></label></>}>
          {w.advance}
        </Action>
      )
    }>
      <Facts facts={[[w.now, <time dateTime={clock.now} data-now><bdi dir="ltr">{isManual ? utc(at) : local(at)}</bdi></time>], [w.mode, isManual ? w.manual : w.systemClock]]} />
    </Section>
  );
}

export default function SettingsPage() {
  const w = useWords(all);
  const who = useStore(session);
  return (
    <article class="settings">
      <div class="head">
        <div>
          <h1>{w.title}</h1>
          <p class="intro">{w.intro}</p>
        </div>
      </div>
      {who && (
        <Facts facts={[[w.version, <bdi dir="ltr">{who.version}</bdi>], [w.tenant, <bdi dir="ltr">{who.tenant}</bdi>], [w.role, <><bdi dir="ltr">{who.role}</bdi>{who.system && ` · ${w.right}`}</>], [w.key, <bdi>{who.name ?? who.keyId}</bdi>], [w.until, <Time at={who.expiresAt} />]]} />
      )}
      <Outbound />
      <ClockSection />
      <Barred route="GET /v1/settings" page={w.values} within><Values /></Barred>
    </article>
  );
}
