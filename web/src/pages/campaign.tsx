import { useEffect } from "preact/hooks";
import type { Answer, Row } from "../api";
import { asPeal } from "../curl";
import { fill, number, useWords } from "../i18n";
import type { PageProps } from "../pages";
import { Action } from "../parts/action";
import { StateBadge } from "../parts/badge";
import { CopyAs } from "../parts/copy";
import { Detail } from "../parts/detail";
import { List } from "../parts/list";
import { useLoad } from "../parts/load";
import { Time } from "../parts/time";
import { Waiting } from "../parts/waiting";
import { link } from "../router";
import { New } from "./campaign-new";
import all from "./campaign.words";
import "./campaign.css";

type Campaign = Answer<"/v1/campaigns/{id}">;
type Failure = Row<"/v1/campaigns/{id}/failures">;

function Shown(props: { id: string }) {
  const w = useWords(all);
  const { id } = props;
  const found = useLoad<Campaign>("/v1/campaigns/{id}", { path: { id } });
  const campaign = found.data;
  const isUnderWay = campaign?.state === "running" || campaign?.state === "uploading";
  useEffect(() => {
    if (!isUnderWay) return;
    const timer = setTimeout(found.reload, 1000);
    return () => clearTimeout(timer);
  }, [campaign, isUnderWay]);
  if (!campaign) return <Waiting of={found} />;
  const { rows, done, created, skipped, failed } = campaign;
  const counts = { rows: number(Math.max(rows, done)), done: number(done), created: number(created), skipped: number(skipped), failed: number(failed) };
  return (
    <Detail
      kind={w.kind}
      title={<bdi dir="ltr">{campaign.id}</bdi>}
      back={["/campaigns", w.title]}
      state={<><StateBadge state={campaign.state} /> {campaign.dryRun && <StateBadge state="test">{w.dryRun}</StateBadge>}</>}
      sentence={<span role="status">{fill(campaign.dryRun ? w.sentenceDry : w.sentence, counts)}</span>}
      actions={
        <>
          {isUnderWay && <Action route="POST /v1/campaigns/{id}/stop" path={{ id }} danger="moderate" ask={w.stopAsk} done={found.reload}>{w.stop}</Action>}
          <a class="button" href={link("/campaigns/new", { trigger: campaign.trigger, list: campaign.list })}>{campaign.dryRun ? w.sendNow : w.again}</a>
          <CopyAs path="/v1/campaigns/{id}" options={{ path: { id } }} peal={asPeal(["campaigns", "show", id])} />
        </>
      }
      facts={[
        [w.trigger, <a href={`/triggers/${encodeURIComponent(campaign.trigger)}`}><bdi dir="ltr">{campaign.trigger}</bdi></a>],
        [w.from, campaign.list ? <a href={`/lists/${encodeURIComponent(campaign.list)}`}><bdi>{campaign.list}</bdi></a> : w.aFile],
        [w.started, <Time at={campaign.createdAt} />],
        [w.finished, <Time at={campaign.finishedAt} />],
      ]}
    >
      <progress aria-label={w.progress} max={Math.max(rows, done, 1)} value={done} />
      <div class="tiles" data-campaign={campaign.state}>
        <div class="tile"><b>{counts.rows}</b><span>{w.rows}</span></div>
        <a class="tile" href={link("/deliveries", { trigger: campaign.trigger })}><b data-created={created}>{counts.created}</b><span>{campaign.dryRun ? w.wouldCreate : w.created}</span></a>
        <div class="tile"><b data-skipped={skipped}>{counts.skipped}</b><span>{w.skipped}: {w.skippedHelp}</span></div>
        <div class="tile"><b data-failed={failed}>{counts.failed}</b><span>{w.failed}</span></div>
      </div>
      <List<Failure>
        key={`${campaign.state}${failed}`}
        within
        title={w.failures}
        path="/v1/campaigns/{id}/failures"
        pathValues={{ id }}
        id={(row) => String(row.line)}
        columns={[
          { key: "line", label: w.line, kind: "number", cell: (row) => row.line },
          { key: "error", label: w.error, kind: "wide", cell: (row) => <bdi>{row.error}</bdi> },
        ]}
        empty={{ title: w.noFailures, good: true }}
      />
    </Detail>
  );
}

export default function CampaignPage({ id }: PageProps) {
  return id === "new" ? <New /> : <Shown id={id} />;
}
