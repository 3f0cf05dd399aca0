import { useRef, useEffect } from "preact/hooks";
import type { Answer, Row } from "../api";
import { asPeal } from "../curl";
import { fill, useWords } from "../i18n";
import { useLive } from "../live";
import type { PageProps } from "../pages";
import { Action } from "../parts/action";
import { StateBadge } from "../parts/badge";
import { CopyAs } from "../parts/copy";
import { Detail, Section } from "../parts/detail";
import { JsonView } from "../parts/json";
import { List } from "../parts/list";
import { useLoad } from "../parts/load";
import { Waiting } from "../parts/waiting";
import { Time } from "../parts/time";
import all from "./notifications.words";
import "./notifications.css";

type Notification = Answer<"/v1/notifications/{id}">;
type Target = Row<"/v1/notifications/{id}/targets">;

function Targets(props: { id: string; turn: string }) {
  const w = useWords(all);
  return (
    <List<Target>
      key={props.turn}
      within
      title={w.targets}
      path="/v1/notifications/{id}/targets"
      pathValues={{ id: props.id }}
      id={(row) => String(row.address ?? "")}
      columns={[
        { key: "address", label: w.address, cell: (row) => <bdi dir="ltr">{row.address}</bdi> },
        { key: "name", label: w.name, cell: (row) => <bdi>{(row as { name?: string | null }).name ?? "–"}</bdi> },
        { key: "outcome", label: w.outcome, cell: (row) => (row.outcome ? <StateBadge state={row.outcome} /> : <span class="faint">{w.waiting}</span>) },
        { key: "reason", label: w.reason, cell: (row) => row.reason ?? "–" },
        { key: "at", label: w.at, cell: (row) => <Time at={row.at} /> },
      ]}
      empty={{ title: w.noTargets, text: w.noTargetsText }}
    />
  );
}

export default function NotificationPage({ id }: PageProps) {
  const w = useWords(all);
  const found = useLoad<Notification>("/v1/notifications/{id}", { path: { id } });
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const row = found.data;
  useLive("delivery", (fact) => {
    if (fact.data["id"] !== row?.deliveryId) return;
    timer.current ||= window.setTimeout(() => {
      timer.current = 0;
      found.reload();
    }, 500);
  });
  if (!row) return <Waiting of={found} />;
  const isParked = row.status === "Parked";
  const why = isParked ? {} : { disabled: w.onlyParked };
  const counts = row.targetCounts;
  const source = row.source as { site?: string; instance?: string; script?: string } | null;
  const sentence = [counts && counts.all > 0 ? fill(w.of, { delivered: counts.delivered, all: counts.all }) : "", counts?.refused ? fill(w.refused, { n: counts.refused }) : "", counts?.optedOut ? fill(w.optedOut, { n: counts.optedOut }) : "", row.reason && row.status !== "Delivered" ? fill(w.why, { reason: row.reason }) : ""].filter(Boolean).join(" · ");
  const hasData = row.typeData && Object.keys(row.typeData as object).length > 0;
  return (
    <Detail
      kind={w.one}
      title={row.subject ?? w.noSubject}
      back={["/notifications", w.title]}
      state={<StateBadge state={row.status ?? ""} />}
      sentence={sentence}
      actions={
        <>
          <Action route="POST /v1/notifications/{id}/retry" path={{ id }} primary reason="optional" ask={w.retryAsk} done={found.reload} {...why}>{w.retry}</Action>
          <Action route="POST /v1/notifications/{id}/discard" path={{ id }} danger="moderate" reason="required" ask={w.discardAsk} done={found.reload} {...why}>{w.discard}</Action>
          <CopyAs path="/v1/notifications/{id}" options={{ path: { id } }} peal={asPeal(["notify", "status", id])} />
        </>
      }
      facts={[
        [w.list, <a href={`/lists/${encodeURIComponent(row.list ?? "")}`}><bdi dir="ltr">{row.list}</bdi></a>],
        [w.channel, row.channel ? <a href={`/channels/${encodeURIComponent(row.channel)}`}><bdi dir="ltr">{row.channel}</bdi></a> : "–"],
        [w.type, row.type ?? "–"],
        [w.created, <Time at={row.createdAt} />],
        !!row.siteEnqueuedAt && [w.siteAt, <Time at={row.siteEnqueuedAt} />],
        source && [w.source, <bdi dir="ltr">{[source.site, source.instance, source.script].filter(Boolean).join(" / ")}</bdi>],
        [w.lastAttempt, <Time at={row.lastAttemptAt} />],
        !!row.nextAttemptAt && [w.next, <Time at={row.nextAttemptAt} />],
        !!row.deliveredAt && [w.deliveredAt, <Time at={row.deliveredAt} />],
        [w.tries, row.retryCount],
        !!row.lastError && [w.error, <bdi>{row.lastError}</bdi>],
        [w.delivery, <a href={`/deliveries/${row.deliveryId}`}>{w.deliveryLink}</a>],
      ]}
    >
      <Section title={w.body} id="body"><p class="notification-body card"><bdi>{row.body}</bdi></p></Section>
      {hasData && <Section title={w.data}><JsonView value={row.typeData} /></Section>}
      <Targets id={id} turn={`${row.status} ${row.retryCount} ${counts?.delivered} ${counts?.refused}`} />
    </Detail>
  );
}
