import { useRef, useState } from "preact/hooks";
import { send, type Query, type Row } from "../api";
import { fill, number, useWords } from "../i18n";
import { useLive, type LiveFact } from "../live";
import { link, usePlace } from "../router";
import { StateBadge } from "../parts/badge";
import { BulkButton, fits, type BulkAction, type BulkFilter } from "../parts/bulk";
import { bulkWords } from "../parts/bulk.words";
import type { Filter } from "../parts/filter";
import { List } from "../parts/list";
import { useLoad } from "../parts/load";
import type { Column } from "../parts/table";
import { Time } from "../parts/time";
import { deliveriesWords } from "./deliveries.words";

type Delivery = Row<"/v1/deliveries"> & { test?: boolean };
interface Kpis {
  queueDepth: number;
  scheduled: number;
  stuck: number;
  parked: number;
  exact: boolean;
}

const TABS = ["all", "pending", "sending", "retrying", "waiting", "stuck", "parked", "delivered", "completed", "expired", "cancelled", "discarded"] as const;
export const FILTERS = ["state", "stuck", "channel", "trigger", "q", "event", "entity", "cause", "site", "list", "type", "from", "to", "dueFrom", "dueTo"];

function tabNow(query: URLSearchParams): string {
  return query.get("stuck") === "true" ? "stuck" : (query.get("state") ?? "all");
}

// StateTabs are links: each is the list in one state, with what else is filtered kept. Counts stand where the API knows them.
function StateTabs() {
  const w = useWords(deliveriesWords);
  const { path, query } = usePlace();
  const kpis = useLoad<Kpis>("/v1/kpis");
  const timer = useRef(0);
  useLive("delivery", () => {
    if (timer.current) return;
    timer.current = window.setTimeout(() => {
      timer.current = 0;
      kpis.reload();
    }, 1500);
  });
  const now = tabNow(query);
  const known = kpis.data;
  const counts: Record<string, number | undefined> = known ? { parked: known.parked, stuck: known.stuck } : {};
  const to = (tab: string) => {
    const next = new URLSearchParams(query);
    for (const name of ["state", "stuck", "cursor", "cause"]) next.delete(name);
    if (tab === "stuck") next.set("stuck", "true");
    else if (tab !== "all") next.set("state", tab);
    return link(path, next);
  };
  const label = (tab: string) => (tab === "pending" ? w.scheduled : (w as Record<string, string>)[tab]) ?? tab;
  return (
    <nav class="tabs" aria-label={w.states}>
      {TABS.map((tab) => (
        <a key={tab} href={to(tab)} aria-current={tab === now ? "page" : undefined} data-tab={tab} title={tab === "stuck" ? w.helpStuck : undefined}>
          {label(tab)}
          {counts[tab] !== undefined && <> <span class={`count${counts[tab]! > 0 ? " is-some" : ""}`}>{number(counts[tab]!)}{known && !known.exact && tab === "stuck" ? "+" : ""}</span></>}
        </a>
      ))}
    </nav>
  );
}

async function idsOf(path: string, member: string): Promise<string[]> {
  const page = await send<{ items: Record<string, string>[] }>("GET", path, { query: { limit: 100 } });
  return page.items.map((one) => String(one[member] ?? ""));
}

export function filterOf(query: URLSearchParams): BulkFilter {
  const filter: BulkFilter = {};
  for (const name of FILTERS) {
    const value = query.get(name);
    if (value) filter[name] = name === "stuck" ? true : value;
  }
  if (filter["stuck"] && query.get("stuck") === "false") delete filter["stuck"];
  return filter;
}

export default function Deliveries() {
  const w = useWords(deliveriesWords);
  const b = useWords(bulkWords);
  const { query } = usePlace();
  const [hasRows, setHasRows] = useState(false);
  const state = query.get("state");
  const isStuck = query.get("stuck") === "true";
  const filters: Filter[] = [ // state and stuck are the tabs
    { name: "q", label: w.fQ },
    { name: "channel", label: w.channel, values: () => idsOf("/v1/channels", "key") },
    { name: "trigger", label: w.fTrigger, values: () => idsOf("/v1/triggers", "id") },
    { name: "event", label: w.fEvent },
    { name: "entity", label: w.fEntity },
    { name: "cause", label: w.fCause, values: () => idsOf("/v1/causes", "cause") },
    { name: "site", label: w.fSite },
    { name: "list", label: w.fList, values: () => idsOf("/v1/lists", "id") },
    { name: "type", label: w.fType, values: ["memory", "http", "email", "sms", "whatsapp", "teams", "slack", "exec", "queue"] },
    { name: "from", label: w.fFrom, kind: "time" },
    { name: "to", label: w.fTo, kind: "time" },
    { name: "dueFrom", label: w.fDueFrom, kind: "time" },
    { name: "dueTo", label: w.fDueTo, kind: "time" },
  ];
  const params = (url: URLSearchParams): Query => Object.fromEntries(FILTERS.map((name) => [name, url.get(name)]));
  const columns: Column<Delivery>[] = [
    { key: "state", label: w.state, cell: (one) => <><StateBadge state={one.state} />{one.test && <> <StateBadge state="test">{w.test}</StateBadge></>}</> },
    { key: "what", label: w.what, kind: "main", cell: (one) => <bdi dir="ltr">{one.triggerId ?? one.rule.id ?? one.publicId}</bdi> },
    { key: "recipient", label: w.recipient, cell: (one) => <bdi dir="ltr" class="nowrap">{one.address ?? "–"}</bdi> },
    { key: "channel", label: w.channel, cell: (one) => <bdi dir="ltr" class="nowrap">{one.channel ?? "–"}</bdi> },
    { key: "tries", label: w.tries, kind: "number", cell: (one) => number(one.attemptCount) },
    { key: "when", label: w.when, cell: (one) => <Time at={one.endedAt ?? one.dueAt} /> },
    { key: "made", label: w.made, cell: (one) => <Time at={one.triggeredAt} /> },
    { key: "lastError", label: w.lastError, kind: "wide", cell: (one) => (one.lastError ? <bdi>{one.lastError}</bdi> : <span class="faint">–</span>) },
  ];
  const others = FILTERS.some((name) => query.get(name) && name !== "state" && name !== "stuck");
  const isNew = (fact: LiveFact) => (state ? fact.data["state"] === state : !isStuck) && !others;
  const filter = filterOf(query);
  const may = (action: BulkAction) => (isStuck ? action === "cancel" : fits(action, state));
  // Nobody means every delivery there is by a button beside a list that is not filtered.
  const forAll = others || state || isStuck ? (["retry", "discard", "cancel"] as const).filter(may) : [];
  const labels = { retry: b.retryAll, discard: b.discardAll, cancel: b.cancelAll };
  const empty = others
    ? { title: w.noneState }
    : state === "parked"
      ? { title: w.noneParked, text: w.noneParkedText, good: true }
      : isStuck
        ? { title: w.noneStuck, text: w.noneStuckText, good: true }
        : state
          ? { title: w.noneState }
          : { title: w.emptyTitle, text: w.emptyText, command: `peal emit order.paid --data '{"total":249}' --recipient ada@example.com` };
  return (
    <List<Delivery>
      title={w.title}
      intro={w.intro}
      path="/v1/deliveries"
      filters={filters}
      params={params}
      columns={columns}
      id={(one) => one.id}
      name={(one) => `${one.triggerId ?? one.rule.id} ${one.address ?? ""}`}
      href={(one) => `/deliveries/${one.id}`}
      empty={empty}
      live="delivery"
      isNew={isNew}
      above={<StateTabs />}
      actions={hasRows && forAll.map((action) => <BulkButton key={`${action}${JSON.stringify(filter)}`} action={action} filter={filter} label={labels[action]} />)}
      bulk={({ ids, rows }) =>
        (["retry", "discard", "cancel"] as const).map((action) => {
          const can = rows.some((one) => fits(action, one.state));
          return <BulkButton key={`${action}${ids.join()}`} action={action} filter={{ ids }} disabled={can ? "" : action === "cancel" ? w.cancelNotNow : fill(w.notNow, { action: b[action] })} />;
        })
      }
      peal={["deliveries"]}
      loaded={(list) => setHasRows((list.data?.items.length ?? 0) > 0)}
    />
  );
}
