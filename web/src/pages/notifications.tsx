import { useEffect, useRef, useState } from "preact/hooks";
import { send, type Answer, type Query, type Row } from "../api";
import { count, fill, number, useWords } from "../i18n";
import { useLive } from "../live";
import { StateBadge } from "../parts/badge";
import { BulkButton } from "../parts/bulk";
import { CopyAs } from "../parts/copy";
import type { Filter } from "../parts/filter";
import { List } from "../parts/list";
import { useLoad } from "../parts/load";
import { ProblemBox } from "../parts/problem";
import { Table } from "../parts/table";
import { Time } from "../parts/time";
import { usePlace } from "../router";
import { mayCall } from "../session";
import { useStore } from "../store";
import { span, tick } from "../time";
import all from "./notifications.words";
import "./notifications.css";

type Notification = Row<"/v1/notifications">;
type Kpis = Answer<"/v1/kpis">;
type Figures = Omit<Kpis, "bySite" | "exact">;
type Words = { [K in keyof (typeof all)["en"]]: string };

const IDS_MAX = 1000;

function useFilters(): Filter[] {
  const w = useWords(all);
  const named = (path: string, member: string) => () => send<{ items: Record<string, string>[] }>("GET", path, { query: { limit: 200 } }).then((told) => told.items.map((one) => one[member] ?? ""));
  return [
    { name: "status", label: w.status, kind: "choice", values: ["Pending", "Retrying", "Delivered", "Parked", "Discarded"] },
    { name: "q", label: w.q },
    { name: "list", label: w.list, values: named("/v1/lists", "id") },
    { name: "site", label: w.site, values: named("/v1/sites", "site") },
    { name: "type", label: w.type, values: ["email", "sms", "teams", "slack", "http", "memory"] },
    { name: "stuck", label: w.stuck, kind: "flag" },
    { name: "from", label: w.from, kind: "time" },
    { name: "to", label: w.to, kind: "time" },
  ];
}

const oldestOf = (w: Words, one: Figures) => (one.oldestPendingSeconds > 0 ? span(one.oldestPendingSeconds * 1000) : w.none);

// Tiles are the figures of N12: in all, and of each site.
function Tiles() {
  const w = useWords(all);
  const kpis = useLoad<Kpis>(mayCall("GET /v1/kpis").may ? "/v1/kpis" : null, { query: { kind: "notification" } });
  const turns = useStore(tick);
  useEffect(() => {
    if (turns % 2 === 1) kpis.reload();
  }, [turns]);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  useLive("delivery", () => {
    timer.current ||= window.setTimeout(() => {
      timer.current = 0;
      kpis.reload();
    }, 2000);
  });
  const told = kpis.data;
  const figure = (n: number | undefined) => (n === undefined ? "–" : told && !told.exact ? fill(w.atLeast, { n }) : number(n));
  const sites = told?.bySite ?? [];
  return (
    <section aria-label={w.tiles} class="notification-figures">
      <ul class="tiles">
        <li><a class="tile" href="/notifications?status=Pending" data-tile="depth"><span>{w.depth}</span><b>{figure(told?.queueDepth)}</b><span>{told && told.scheduled > 0 ? fill(w.hScheduled, { n: told.scheduled }) : w.hDepth}</span></a></li>
        <li><a class="tile" href="/notifications?stuck=true" data-tile="stuck"><span>{w.stuckTile}</span><b class={told && told.stuck > 0 ? "is-bad" : ""}>{figure(told?.stuck)}</b><span>{w.hStuck}</span></a></li>
        <li><a class="tile" href="/notifications?status=Parked" data-tile="parked"><span>{w.parked}</span><b class={told && told.parked > 0 ? "is-bad" : ""}>{figure(told?.parked)}</b><span>{w.hParked}</span></a></li>
        <li><a class="tile" href="/notifications?status=Delivered" data-tile="delivered"><span>{w.delivered}</span><b>{figure(told?.deliveredLastInterval)}</b></a></li>
        <li><a class="tile" href="/notifications?status=Pending" data-tile="oldest"><span>{w.oldest}</span><b>{told && told.oldestPendingSeconds > 0 ? span(told.oldestPendingSeconds * 1000) : "–"}</b><span>{told && told.oldestPendingSeconds === 0 ? w.none : ""}</span></a></li>
      </ul>
      <ProblemBox problem={kpis.problem} again={kpis.reload} />
      {sites.length > 0 && (
        <details>
          <summary>{w.bySite} ({number(sites.length)})</summary>
          <Table plain caption={w.bySite} rows={sites} id={(row) => row.site ?? ""} columns={[
            { key: "site", label: w.site, cell: (row) => (row.site ? <a href={`/notifications?site=${encodeURIComponent(row.site)}`}><bdi dir="ltr">{row.site}</bdi></a> : w.siteHere) },
            { key: "depth", label: w.depth, kind: "number", cell: (row) => number(row.queueDepth) },
            { key: "stuck", label: w.stuckTile, kind: "number", cell: (row) => number(row.stuck) },
            { key: "parked", label: w.parked, kind: "number", cell: (row) => number(row.parked) },
            { key: "delivered", label: w.delivered, kind: "number", cell: (row) => number(row.deliveredLastInterval) },
            { key: "oldest", label: w.oldest, cell: (row) => oldestOf(w, row) },
          ]} />
          <CopyAs path="/v1/kpis" options={{ query: { kind: "notification" } }} />
        </details>
      )}
    </section>
  );
}

// gather finds the deliveries of those that the filter shows and that are parked: these, and no others, are acted on.
async function gather(asked: Query): Promise<{ ids: string[]; isMore: boolean }> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const page: { items: Notification[]; next: string | null } = await send("GET", "/v1/notifications", { query: { ...asked, status: "Parked", limit: 500, cursor } });
    ids.push(...page.items.flatMap((one) => (one.deliveryId ? [one.deliveryId] : [])));
    cursor = page.next;
  } while (cursor && ids.length < IDS_MAX);
  return { ids: ids.slice(0, IDS_MAX), isMore: !!cursor || ids.length > IDS_MAX };
}

function Matching(props: { asked: Query }) {
  const w = useWords(all);
  const [found, setFound] = useState<{ ids: string[]; isMore: boolean } | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const name = JSON.stringify(props.asked);
  useEffect(() => setFound(null), [name]);
  const look = async () => {
    setBusy(true);
    setProblem(null);
    try {
      setFound(await gather(props.asked));
    } catch (why) {
      setProblem(why);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div class="matching" data-matching={found?.ids.length}>
      <button type="button" onClick={() => void look()} aria-busy={isBusy}>{isBusy ? w.gathering : w.allMatching}</button>
      {found && (
        <span role="status">{found.ids.length ? count(w.gathered, found.ids.length) : w.noneParked} {found.isMore && w.tooMany}</span>
      )}
      {found && found.ids.length > 0 && (
        <>
          <BulkButton action="retry" filter={{ ids: found.ids }} primary />
          <BulkButton action="discard" filter={{ ids: found.ids }} />
        </>
      )}
      <ProblemBox problem={problem} />
    </div>
  );
}

export default function Notifications() {
  const w = useWords(all);
  const { query } = usePlace();
  const filters = useFilters();
  const asked: Query = Object.fromEntries(filters.flatMap((one) => (query.get(one.name) ? [[one.name, query.get(one.name)]] : [])));
  const site = (row: Notification) => (row.source as { site?: string } | null)?.site;
  return (
    <List<Notification>
      title={w.title}
      intro={w.intro}
      path="/v1/notifications"
      filters={filters}
      id={(row) => row.deliveryId ?? row.id}
      name={(row) => row.subject ?? row.id}
      href={(row) => `/notifications/${row.id}`}
      live="delivery"
      liveToo="event"
      isNew={(fact) => fact.kind === "event" && fact.data["kind"] === "notification" && Object.keys(asked).length === 0}
      above={<><Tiles /><Matching asked={asked} /></>}
      bulk={(picked) => (
        <>
          <BulkButton action="retry" filter={{ ids: picked.ids }} primary />
          <BulkButton action="discard" filter={{ ids: picked.ids }} />
        </>
      )}
      columns={[
        { key: "status", label: w.status, cell: (row) => <StateBadge state={row.status ?? ""} /> },
        { key: "subject", label: w.subject, kind: "main", cell: (row) => <bdi class="notification-subject">{row.subject ?? w.noSubject}</bdi> },
        { key: "list", label: w.list, cell: (row) => <bdi dir="ltr">{row.list}</bdi> },
        { key: "channel", label: w.channel, cell: (row) => (row.channel ? <bdi dir="ltr">{row.channel}</bdi> : "–") },
        { key: "site", label: w.site, cell: (row) => (site(row) ? <bdi dir="ltr">{site(row)}</bdi> : "–") },
        { key: "taken", label: w.taken, cell: (row) => <Time at={row.createdAt} /> },
        { key: "next", label: w.next, cell: (row) => <Time at={row.nextAttemptAt} /> },
        { key: "error", label: w.error, kind: "wide", cell: (row) => (row.status !== "Delivered" && (row.lastError || row.reason) ? <bdi>{row.lastError ?? row.reason}</bdi> : "–") },
      ]}
      empty={{ title: w.emptyTitle, text: w.emptyText, command: "peal notify ops --subject Boiler --body 'It is hot'" }}
    />
  );
}
