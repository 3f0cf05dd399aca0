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
import { Table } from "../parts/table";
import { Time } from "../parts/time";
import { Waiting } from "../parts/waiting";
import { inboxWords } from "./inbox.words";

type Hook = Answer<"/v1/inbox/{id}">;

function sentence(w: { [K in keyof (typeof inboxWords)["en"]]: string }, hook: Hook): string {
  const why = hook.error ?? hook.reason ?? "";
  if (hook.status === "pending") return w.sPending;
  if (hook.status === "processing") return w.sProcessing;
  if (hook.status === "failed") return fill(w.sFailed, { why });
  return hook.reason ? fill(w.sQuiet, { why }) : w.sCompleted;
}

export default function HookPage({ id }: PageProps) {
  const w = useWords(inboxWords);
  const found = useLoad<Hook>("/v1/inbox/{id}", { path: { id } });
  if (!found.data) return <Waiting of={found} />;
  const hook = found.data;
  const body = hook.body ?? hook.bodyBase64;
  return (
    <Detail
      kind={w.kind}
      title={<bdi dir="ltr">{hook.externalId ?? hook.id}</bdi>}
      back={["/inbox", w.title]}
      state={<StateBadge state={hook.status} />}
      sentence={<bdi>{sentence(w, hook)}</bdi>}
      facts={[
        [w.source, <a href={`/sources/${encodeURIComponent(hook.source)}`}><bdi dir="ltr">{hook.source}</bdi></a>],
        [w.provider, <bdi dir="ltr">{hook.provider}</bdi>],
        [w.received, <Time at={hook.receivedAt} />],
        [w.processed, <Time at={hook.processedAt} />],
        [w.size, number(hook.size)],
        [w.contentType, <bdi dir="ltr">{hook.contentType ?? "–"}</bdi>],
        hook.attempts > 0 && [w.attempts, number(hook.attempts)],
        !!hook.reason && [w.became, <code><bdi dir="ltr">{hook.reason}</bdi></code>],
        hook.status === "completed" && !hook.reason && [w.event, <a href={`/events/${hook.id}`}><bdi dir="ltr">{hook.id}</bdi></a>],
      ]}
      actions={
        <>
          <Action route="POST /v1/inbox/{id}/reprocess" path={{ id }} ask={w.reprocessAsk} danger="moderate" done={found.reload}>{w.reprocess}</Action>
          <CopyAs path="/v1/inbox/{id}" options={{ path: { id } }} peal={asPeal(["inbox", "show", id])} />
        </>
      }
    >
      <Section title={w.body}>
        {hook.bodyBase64 && <p class="faint">{w.base64}</p>}
        {body ? <JsonView value={body} label={w.body} /> : <p class="faint">{w.noBody}</p>}
      </Section>
      <Section title={w.headers}>
        <p class="faint">{w.credentials}</p>
        <Table plain caption={w.headers} rows={Object.entries(hook.headers as Record<string, string>)} id={(row) => row[0]}
          columns={[
            { key: "header", label: w.header, cell: (row) => <code><bdi dir="ltr">{row[0]}</bdi></code> },
            { key: "value", label: w.value, kind: "wide", cell: (row) => <bdi dir="ltr">{row[1]}</bdi> },
          ]} />
      </Section>
    </Detail>
  );
}
