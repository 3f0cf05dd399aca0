import { useEffect, useState } from "preact/hooks";
import type { Row } from "../api";
import { count, fill, number, useWords } from "../i18n";
import { StateBadge } from "../parts/badge";
import { Barred } from "../parts/barred";
import { List, type Page } from "../parts/list";
import type { Loaded } from "../parts/load";
import { Time } from "../parts/time";
import { mayCall } from "../session";
import { useStore } from "../store";
import { span, tick } from "../time";
import all from "./sites.words";

type Site = Row<"/v1/sites">;
const SILENT = 300; // seconds

function Sites() {
  const w = useWords(all);
  const [list, setList] = useState<Loaded<Page<Site>> | null>(null);
  const turns = useStore(tick);
  useEffect(() => {
    if (turns) list?.reload();
  }, [turns]);
  const silent = (list?.data?.items ?? []).filter((one) => (one.silentSeconds ?? 0) > SILENT).length;
  const state = (row: Site) =>
    row.silentSeconds === null || row.silentSeconds === undefined ? <StateBadge state="never" tone="calm">{w.never}</StateBadge>
    : row.silentSeconds > SILENT ? <StateBadge state="silent" tone="warn">{w.isSilent}</StateBadge> : <StateBadge state="heard" tone="good">{w.heard}</StateBadge>;
  const clock = (ms: number) => (Math.abs(ms) < 1000 ? w.onTime : fill(ms > 0 ? w.ahead : w.behind, { time: span(Math.abs(ms)) }));
  const to = (row: Site) => encodeURIComponent(row.site);
  return (
    <List<Site>
      title={w.title}
      intro={w.intro}
      path="/v1/sites"
      id={(row) => row.site}
      href={(row) => `/deliveries?site=${to(row)}`}
      loaded={setList}
      peal={["sites"]}
      above={silent > 0 && <p class="note" role="status">{count(w.silentNote, silent)}</p>}
      columns={[
        { key: "site", label: w.site, kind: "main", cell: (row) => <bdi dir="ltr">{row.site}</bdi> },
        { key: "state", label: w.state, cell: state },
        { key: "seen", label: w.seen, cell: (row) => <Time at={row.lastSeenAt} none={w.never} /> },
        { key: "silent", label: w.silent, cell: (row) => (row.silentSeconds == null ? "–" : <bdi dir="ltr">{row.silentSeconds ? span(row.silentSeconds * 1000) : "0 s"}</bdi>) },
        { key: "backlog", label: w.backlog, kind: "number", cell: (row) => (row.backlog == null ? <span class="faint">{w.unknown}</span> : number(row.backlog)) },
        { key: "received", label: w.received, kind: "number", cell: (row) => number(row.received ?? 0) },
        { key: "version", label: w.version, cell: (row) => (row.version ? <bdi dir="ltr">{row.version}</bdi> : <span class="faint">{w.unknown}</span>) },
        { key: "skew", label: w.skew, cell: (row) => (row.clockSkewMs == null ? "–" : clock(row.clockSkewMs)) },
        { key: "links", label: w.links, cell: (row) => <><a href={`/notifications?site=${to(row)}`}>{w.notifications}<span class="off-screen"> {row.site}</span></a>{row.keyId && mayCall("GET /v1/keys").may && <> · <a href="/keys">{w.key}<span class="off-screen"> {row.site}</span></a></>}</> },
      ]}
      empty={{ title: w.emptyTitle, text: w.emptyText, command: "peal keys create --role site --site plant-7 --name 'plant 7'" }}
    />
  );
}

export default function SitesPage() {
  const w = useWords(all);
  return <Barred route="GET /v1/sites" page={w.title}><Sites /></Barred>;
}
