import { useEffect, useMemo, useState } from "preact/hooks";
import { send, urlOf, type Answer, type Query, type Row } from "../api";
import { count, fill, number, useWords } from "../i18n";
import { Action } from "../parts/action";
import { StateBadge, type Tone } from "../parts/badge";
import { Barred } from "../parts/barred";
import { CopyAs } from "../parts/copy";
import { Facts, Section } from "../parts/detail";
import type { Filter } from "../parts/filter";
import { List } from "../parts/list";
import { useLoad, type Loaded } from "../parts/load";
import { ProblemBox } from "../parts/problem";
import { Time } from "../parts/time";
import { usePlace } from "../router";
import { mayCall, session } from "../session";
import { useStore } from "../store";
import { serverNow, tick } from "../time";
import all from "./audit.words";
import "./audit.css";

type Entry = Row<"/v1/audit">;
type Head = Answer<"/v1/audit/head">;
interface Verdict {
  ok?: boolean;
  rows?: number;
  head?: string;
  firstBad?: { seq: number; problem: string };
  id?: string; // of the operation, where the chain is long
  state?: string;
}

const KINDS = ["Notification.Enqueued", "Notification.Attempt", "Notification.Terminal", "Delivery.Created", "Delivery.Attempt", "Delivery.Terminal", "Operator.retry", "Operator.discard", "Operator.cancel", "Operator.complete", "Operator.hold",
  "Operator.release", "Operator.operation", "Definition.Saved", "Definition.Deleted", "Key.Created", "Key.Changed", "Key.Revoked", "Tenant.Created", "Tenant.Changed", "Tenant.Deleted", "Survey.Published", "Session.Opened", "Session.Closed", "Integration.Changed", "CrossTenant.Read", "Purge", "Other"];
const TONES: Record<string, Tone> = { Success: "good", Enqueued: "calm", Delivered: "good", Completed: "good", Transient: "warn", Permanent: "bad", Unknown: "warn", Parked: "bad", Expired: "warn", Cancelled: "calm", Discarded: "calm" };
const GOOD = new Set(["Success", "Enqueued", "Delivered", "Completed"]);
const HOUR_ROWS = 500; // of the last hour are looked at
const rest = (ms: number) => new Promise((done) => setTimeout(done, ms));

function useFilters(): Filter[] {
  const w = useWords(all);
  const isSystem = useStore(session)?.system ?? false;
  const filters: Filter[] = [
    { name: "kind", label: w.kind, kind: "choice", values: KINDS },
    { name: "status", label: w.status, kind: "choice", values: Object.keys(TONES) },
    { name: "errorsOnly", label: w.errorsOnly, kind: "flag" },
    { name: "channel", label: w.channel, values: () => send<{ items: { key: string }[] }>("GET", "/v1/channels", { query: { limit: 200 } }).then((told) => told.items.map((one) => one.key)) },
    { name: "target", label: w.target },
    { name: "actor", label: w.actor, values: ["engine"] },
    { name: "site", label: w.site },
    { name: "instance", label: w.instance },
    { name: "correlationId", label: w.correlation },
    { name: "delivery", label: w.delivery },
    { name: "from", label: w.from, kind: "time" },
    { name: "to", label: w.to, kind: "time" },
  ];
  if (isSystem) filters.push({ name: "installation", label: w.installation, kind: "flag" });
  return filters;
}

function Tiles(props: { head: Loaded<Head> }) {
  const w = useWords(all);
  const turn = Math.floor(useStore(tick) / 6); // each minute
  const from = useMemo(() => new Date(serverNow() - 3_600_000).toISOString(), [turn]);
  const hour = useLoad<{ items: Entry[]; next: string | null }>(mayCall("GET /v1/audit").may ? "/v1/audit" : null, { query: { from, limit: HOUR_ROWS } });
  const rows = hour.data?.items;
  const bad = rows?.filter((row) => row.status && !GOOD.has(row.status)).length ?? 0;
  const more = hour.data?.next ? w.atLeast : "{n}";
  const head = props.head.data;
  return (
    <ul class="tiles" aria-label={w.tiles}>
      <li class="tile" data-tile="volume"><span>{w.volume}</span><b>{rows ? fill(more, { n: rows.length }) : "–"}</b><span>{head ? fill(w.volumeMore, { n: head.count }) : ""}</span></li>
      <li class="tile" data-tile="rate"><span>{w.rate}</span><b class={bad > 0 ? "is-bad" : ""}>{rows && rows.length > 0 ? number(bad / rows.length, { style: "percent", maximumFractionDigits: 1 }) : "–"}</b><span>{rows ? (rows.length > 0 ? fill(w.rateMore, { bad, all: rows.length }) : w.rateNone) : ""}</span></li>
      <li class="tile" data-tile="backlog"><span>{w.backlog}</span><b>{head ? number(head.waiting) : "–"}</b><span>{w.backlogMore}</span></li>
    </ul>
  );
}

function Said(props: { verdict: Verdict; at: number }) {
  const w = useWords(all);
  const { verdict } = props;
  if (verdict.ok === undefined) return <p class="loading" aria-busy="true">{w.verifying}</p>;
  const bad = verdict.firstBad;
  const problems: Record<string, string> = { changed: w.changed, missing: w.missing, reordered: w.reordered, cut: w.cut };
  return (
    <div class={`verdict ${verdict.ok ? "is-whole" : "is-broken"}`} role="status" data-verdict={verdict.ok ? "ok" : "broken"}>
      <p class="verdict-word"><span aria-hidden="true">{verdict.ok ? "✓" : "✕"}</span> {verdict.ok ? w.whole : fill(w.broken, { seq: bad?.seq ?? 0 })}</p>
      <p>{verdict.ok ? count(w.wholeText, verdict.rows ?? 0, { rows: verdict.rows ?? 0 }) : fill(w.brokenText, { problem: problems[bad?.problem ?? ""] ?? bad?.problem ?? "" })}</p>
      <p class="faint">{w.verifiedAt} <Time at={props.at} /></p>
    </div>
  );
}

// Chain is the end of the chain, and whether it is whole.
function Chain(props: { head: Loaded<Head>; isInstallation: boolean }) {
  const w = useWords(all);
  const [verdict, setVerdict] = useState<{ told: Verdict; at: number } | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const query: Query = props.isInstallation ? { installation: true } : {};
  useEffect(() => setVerdict(null), [props.isInstallation]);
  // A long chain is verified by an operation, which is waited for.
  const running = verdict && verdict.told.ok === undefined ? verdict.told.id : undefined;
  useEffect(() => {
    let isHere = true;
    const wait = async (id: string) => {
      for (let ms = 200; isHere; ms = Math.min(ms * 1.5, 2000)) {
        const told = await send<Verdict>("GET", "/v1/operations/{id}", { path: { id } });
        if (isHere && told.ok !== undefined) return setVerdict({ told, at: serverNow() });
        await rest(ms);
      }
    };
    if (running) wait(running).catch((why) => isHere && setProblem(why));
    return () => void (isHere = false);
  }, [running]);
  const head = props.head.data;
  const place = (at: { seq: number; hash: string }) => <>{fill(w.rowN, { n: at.seq })} <small><bdi dir="ltr"><code>{at.hash}</code></bdi></small></>;
  return (
    <Section title={w.head} id="chain" actions={
      <>
        <Action<Verdict> route="GET /v1/audit/verify" query={query} primary done={(told) => { setProblem(null); setVerdict({ told, at: serverNow() }); props.head.reload(); }}>{w.verify}</Action>
        <CopyAs path="/v1/audit/verify" options={{ query }} peal={`peal audit verify${props.isInstallation ? " --installation" : ""}`} />
      </>
    }>
      {verdict && <Said verdict={verdict.told} at={verdict.at} />}
      <ProblemBox problem={problem ?? props.head.problem} />
      {head && (
        <details>
          <summary>{w.headRow}: {number(head.seq)} · <bdi dir="ltr"><code>{head.head.slice(0, 16)}…</code></bdi></summary>
          <p class="faint">{w.headText}</p>
          <Facts facts={[[w.headRow, number(head.seq)], [w.headHash, <bdi dir="ltr"><code>{head.head}</code></bdi>], [w.outside, place(head.outside)], [w.anchor, place(head.anchor)]]} />
        </details>
      )}
    </Section>
  );
}

function Export(props: { query: Query }) {
  const w = useWords(all);
  const { may, roles } = mayCall("GET /v1/audit/export");
  if (may) return <a class="button" href={urlOf("/v1/audit/export", { query: props.query })} download="audit.ndjson" title={w.exportText} data-export>{w.export}</a>;
  return (
    <span class="action">
      <button type="button" aria-disabled="true" aria-describedby="why-export" data-export>{w.export}</button>
      <span class="why" id="why-export" role="tooltip">{fill(w.exportNeeds, { roles: roles.join(w.or) })}</span>
    </span>
  );
}

function Who(props: { row: Entry }) {
  const w = useWords(all);
  const { actor, actorName } = props.row;
  if (!actor) return <>–</>;
  return <a class="audit-who" href={`/audit?actor=${encodeURIComponent(actor)}`} title={actor}>{actor === "engine" ? w.engine : <bdi>{actorName ?? `${actor.slice(0, 8)}…`}</bdi>}</a>;
}

function Detail(props: { row: Entry }) {
  const w = useWords(all);
  const { row } = props;
  const told = (row.detail ?? {}) as { attempt?: number; reason?: string; code?: number; providerId?: string; text?: string };
  const line = [told.attempt ? fill(w.attempt, { n: told.attempt }) : "", told.reason ?? "", told.code ? fill(w.code, { n: String(told.code) }) : ""].filter(Boolean).join(" · ");
  const facts: [string, string | null | undefined][] = [[w.providerId, told.providerId], [w.site, row.site], [w.instance, row.instance], [w.correlation, row.correlationId], [w.eventId, row.eventId], [w.hash, row.hash]];
  return (
    <div class="audit-detail">
      {line && <span><bdi>{line}</bdi></span>}
      {told.text && <span class="audit-text"><bdi>{told.text}</bdi></span>}
      <details>
        <summary>{w.more}<span class="off-screen"> {row.seq}</span></summary>
        <dl class="audit-more">{facts.map(([label, value]) => value && <div key={label}><dt>{label}</dt><dd><bdi dir="ltr"><code>{value}</code></bdi></dd></div>)}</dl>
      </details>
    </div>
  );
}

function Rows(props: { filters: Filter[] }) {
  const w = useWords(all);
  return (
    <List<Entry>
      title={w.page}
      within
      path="/v1/audit"
      filters={props.filters}
      id={(row) => String(row.seq)}
      peal={["audit"]}
      columns={[
        { key: "seq", label: w.seq, kind: "number", cell: (row) => row.seq },
        { key: "at", label: w.at, cell: (row) => <Time at={row.at} /> },
        { key: "kind", label: w.kind, cell: (row) => (row.kind ? <bdi dir="ltr">{row.kind}</bdi> : <span class="faint">{w.unreadable}</span>) },
        { key: "status", label: w.status, cell: (row) => row.status && <StateBadge state={row.status} tone={TONES[row.status] ?? "calm"} /> },
        { key: "actor", label: w.actor, cell: (row) => <Who row={row} /> },
        { key: "delivery", label: w.delivery, cell: (row) => (row.deliveryId ? <a href={`/deliveries/${row.deliveryId}`}><bdi dir="ltr" class="nowrap">{row.deliveryId.slice(0, 13)}…</bdi></a> : "–") },
        { key: "channel", label: w.channel, cell: (row) => (row.channel ? <bdi dir="ltr">{row.channel}</bdi> : "–") },
        { key: "target", label: w.target, cell: (row) => (row.target ? <bdi dir="ltr" class="nowrap">{row.target}</bdi> : "–") },
        { key: "detail", label: w.detail, kind: "wide", cell: (row) => <Detail row={row} /> },
      ]}
      empty={{ title: w.emptyTitle, text: w.emptyText, command: "peal audit" }}
    />
  );
}

export default function AuditPage() {
  const w = useWords(all);
  const { query } = usePlace();
  const filters = useFilters();
  const isInstallation = query.get("installation") === "true";
  const head = useLoad<Head>(mayCall("GET /v1/audit/head").may ? "/v1/audit/head" : null, { query: isInstallation ? { installation: true } : {} });
  const asked: Query = Object.fromEntries(filters.flatMap((one) => (query.get(one.name) ? [[one.name, query.get(one.name)]] : [])));
  return (
    <div class="audit">
      <div class="head">
        <div>
          <h1>{w.title}</h1>
          <p class="intro">{w.intro}</p>
        </div>
        <div class="head-actions"><Export query={asked} /></div>
      </div>
      <Tiles head={head} />
      <Chain head={head} isInstallation={isInstallation} />
      <Barred route="GET /v1/audit" page={w.page} within><Rows filters={filters} /></Barred>
    </div>
  );
}
