import type { Answer } from "../api";
import { asPeal } from "../curl";
import { fill, number, useWords } from "../i18n";
import type { PageProps } from "../pages";
import { Action } from "../parts/action";
import { StateBadge } from "../parts/badge";
import { CopyAs } from "../parts/copy";
import { Detail, Section } from "../parts/detail";
import { JsonView } from "../parts/json";
import { useLoad } from "../parts/load";
import { Time } from "../parts/time";
import { Waiting } from "../parts/waiting";
import { TONES } from "./outbox";
import { outboxWords } from "./outbox.words";

type Emitted = Answer<"/v1/outbox/{id}">;

export default function EmittedPage({ id }: PageProps) {
  const w = useWords(outboxWords);
  const found = useLoad<Emitted>("/v1/outbox/{id}", { path: { id } });
  if (!found.data) return <Waiting of={found} />;
  const row = found.data;
  const says = row.status === "Pending" ? w.sPending : row.status === "Published" ? w.sPublished : fill(w.sFailed, { why: row.lastError ?? row.reason ?? "" });
  const text = (value: string | null) => <bdi dir="ltr">{value ?? "–"}</bdi>;
  return (
    <Detail
      kind={w.kind}
      title={<bdi dir="ltr">{row.eventType ?? row.kind ?? row.id}</bdi>}
      back={["/outbox", w.title]}
      state={<StateBadge state={row.status} tone={TONES[row.status] ?? "calm"} />}
      sentence={<bdi>{says}</bdi>}
      facts={[
        [w.source, row.source === "sql" ? text("sql") : <a href={`/sources/${encodeURIComponent(row.source)}`}>{text(row.source)}</a>],
        [w.what, text(row.kind)],
        [w.entity, text(row.entity)],
        [w.topic, text(row.topic)],
        [w.correlation, text(row.correlationId)],
        row.schemaVersion !== null && [w.schema, number(row.schemaVersion)],
        [w.created, <Time at={row.createdAt} />],
        !!row.publishedAt && [w.published, <Time at={row.publishedAt} />],
        !!row.nextAttemptAt && [w.next, <Time at={row.nextAttemptAt} />],
        row.attemptCount > 0 && [w.tries, number(row.attemptCount)],
        !!row.reason && [w.reason, <code>{text(row.reason)}</code>],
        row.status === "Published" && row.kind === "event" && [w.event, <a href={`/events/${row.id}`}>{text(row.id)}</a>],
      ]}
      actions={
        <>
          <Action route="POST /v1/outbox/{id}/replay" path={{ id }} danger="moderate" ask={w.replayAsk} done={found.reload}>{w.replay}</Action>
          <CopyAs path="/v1/outbox/{id}" options={{ path: { id } }} peal={asPeal(["outbox", "show", id])} />
        </>
      }
    >
      <Section title={w.payload}><JsonView value={row.payload} label={w.payload} /></Section>
    </Detail>
  );
}
