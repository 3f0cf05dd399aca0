import { useEffect } from "preact/hooks";
import type { Answer, Row } from "../api";
import { asPeal } from "../curl";
import { useWords } from "../i18n";
import type { PageProps } from "../pages";
import { Action } from "../parts/action";
import { Asking, Secret } from "../parts/asking";
import { StateBadge } from "../parts/badge";
import { Copy, CopyAs } from "../parts/copy";
import { Detail, Section } from "../parts/detail";
import { Form, type Value } from "../parts/form";
import { JsonView } from "../parts/json";
import type { Page } from "../parts/list";
import { useLoad } from "../parts/load";
import { Locked, OriginNote } from "../parts/origin";
import { Table } from "../parts/table";
import { Tabs, tabOf } from "../parts/tabs";
import { Time } from "../parts/time";
import { Versions } from "../parts/versions";
import { Waiting } from "../parts/waiting";
import { go, link, usePlace } from "../router";
import { sourceWords } from "./sources.words";

type Source = Answer<"/v1/sources/{id}">;
type Hook = Row<"/v1/inbox">;

// The secret of one that was just made, until its page is left: nobody tells it again.
const toldOnce = new Map<string, string>();

function Edit(props: { source: Source | null; saved: (source: Source) => void }) {
  const { source } = props;
  return (
    <Form
      shape="SourceBody"
      first={(source as Value | null) ?? {}}
      draft={`source/${source?.id ?? "new"}`}
      save={source ? { route: "PUT /v1/sources/{id}", path: { id: source.id }, version: source.version } : { route: "POST /v1/sources" }}
      order={["id", "provider"]}
      fixed={source ? ["id"] : []}
      saved={(answer) => props.saved(answer as Source)}
    />
  );
}

function isUnsigned(source: Source): boolean {
  return (source.config as { kind?: string } | undefined)?.kind === "none";
}

// curlOf is a command that posts an example as the provider does; where its signing is not one line, peal does it.
function curlOf(source: Source, url: string): string {
  const body = `'{"hello":"world"}'`;
  if (source.provider === "generic" && isUnsigned(source)) return `curl -sS '${url}' -H 'Content-Type: application/json' -d ${body}`;
  const sum = `$(printf %s "$BODY" | openssl dgst -sha256 -hmac "$SECRET" -hex | sed 's/.* //')`;
  if (source.provider === "github") return `BODY=${body}\ncurl -sS '${url}' -H 'Content-Type: application/json' -H 'X-GitHub-Event: ping' -H "X-GitHub-Delivery: $(date +%s)" -H "X-Hub-Signature-256: sha256=${sum}" -d "$BODY"`;
  return `peal hooks send --provider ${source.provider} --source ${source.id} --to '${url}' --secret "$SECRET"`;
}

function Seen(props: { source: Source }) {
  const w = useWords(sourceWords);
  const last = useLoad<Page<Hook>>("/v1/inbox", { query: { source: props.source.id, limit: 5 } });
  const rows = last.data?.items ?? [];
  return (
    <Section title={w.seen} actions={<a href={link("/inbox", { source: props.source.id })}>{w.allSeen}</a>}>
      <div data-seen>
        {last.data && rows.length === 0 && <p class="faint">{w.never}</p>}
        {!last.data && <Waiting of={last} />}
        {rows.length > 0 && (
          <Table<Hook> plain caption={w.seen} rows={rows} id={(row) => row.id} href={(row) => `/inbox/${row.id}`}
            columns={[
              { key: "received", label: w.received, kind: "main", cell: (row) => <Time at={row.receivedAt} /> },
              { key: "status", label: w.status, cell: (row) => <StateBadge state={row.status} /> },
              { key: "became", label: w.became, kind: "wide", cell: (row) => (row.reason ? <><code><bdi dir="ltr">{row.reason}</bdi></code> <bdi>{row.error}</bdi></> : "–") },
            ]} />
        )}
      </div>
    </Section>
  );
}

function Connect(props: { source: Source }) {
  const w = useWords(sourceWords);
  const { source } = props;
  const secret = toldOnce.get(source.id);
  useEffect(() => () => void toldOnce.delete(source.id), [source.id]);
  if (!source.url)
    return (
      <>
        <p><a href="/outbox">{w.allRows}</a></p>
        <Section title={w.config}><JsonView value={source.config} label={w.config} /></Section>
      </>
    );
  const url = location.origin + source.url;
  const curl = curlOf(source, url);
  return (
    <>
      {secret && <Secret value={secret} says={w.told} />}
      <Section title={w.url}>
        <p class="command"><code data-url><bdi dir="ltr">{url}</bdi></code> <Copy text={url} /></p>
      </Section>
      <Section title={w.curl}>
        <p class="faint">{w.curlText}</p>
        <div class="json"><Copy text={curl} /><pre dir="ltr" tabIndex={0} role="region" aria-label={w.curl} data-curl>{curl}</pre></div>
      </Section>
      <Seen source={source} />
    </>
  );
}

export default function SourcePage({ id }: PageProps) {
  const w = useWords(sourceWords);
  const { query } = usePlace();
  const isNew = id === "new";
  const found = useLoad<Source>(isNew ? null : "/v1/sources/{id}", { path: { id } });
  if (isNew)
    return (
      <Detail kind={w.kind} title={w.make} back={["/sources", w.title]}>
        <Edit source={null} saved={(made) => {
          if (typeof made.secret === "string") toldOnce.set(made.id, made.secret);
          go(`/sources/${encodeURIComponent(made.id)}`);
        }} />
      </Detail>
    );
  if (!found.data) return <Waiting of={found} />;
  const source = found.data;
  const here = `/sources/${encodeURIComponent(source.id)}`;
  const secret = source.secret as { rotatedAt?: string } | undefined;
  const tabs: [string, string][] = [["connect", w.show], ["edit", w.edit], ["versions", w.versions], ["json", w.json]];
  const tab = tabOf(tabs, query);
  return (
    <Detail
      kind={w.kind}
      title={<bdi dir="ltr">{source.id}</bdi>}
      back={["/sources", w.title]}
      state={<StateBadge state={source.enabled ? "enabled" : "disabled"} />}
      sentence={!source.enabled ? w.sOff : !source.url ? w.sTable : isUnsigned(source) ? w.sUnsigned : w.sOn}
      facts={[
        [w.provider, <bdi dir="ltr">{source.provider}</bdi>],
        !!source.integration && [w.integration, <a href={`/integrations/${encodeURIComponent(source.integration)}`}><bdi dir="ltr">{source.integration}</bdi></a>],
        !!source.shared && [w.shared, w.yes],
        !!secret && [w.secretSet, <Time at={secret.rotatedAt} />],
        [w.version, source.version],
        [w.updated, <Time at={source.updatedAt} />],
      ]}
      actions={
        <>
          {source.url && !isUnsigned(source) && (
            <Asking<{ secret: string; previousUntil: string | null }> route="POST /v1/sources/{id}/rotate" path={{ id }} label={w.rotate} intro={w.rotateIntro}
              fields={[{ name: "secret", label: w.secret, help: w.secretHelp, dir: "ltr" }, { name: "overlap", label: w.overlap, help: w.overlapHelp, dir: "ltr" }]}
              peal={(given) => asPeal(["sources", "rotate", id], { overlap: given["overlap"] })}
              result={(told) => <><Secret value={told.secret} says={w.told} />{told.previousUntil && <p class="faint">{w.until} <Time at={told.previousUntil} /></p>}</>}
              done={found.reload} />
          )}
          <Action route="PATCH /v1/sources/{id}" path={{ id }} body={{ enabled: !source.enabled }} danger={source.enabled ? "moderate" : "mild"} ask={source.enabled ? w.disableAsk : undefined} done={found.reload}>{source.enabled ? w.disable : w.enable}</Action>
          <Action route="DELETE /v1/sources/{id}" path={{ id }} danger="severe" name={source.id} ask={w.removeAsk} done={() => go("/sources")}>{w.remove}</Action>
          <CopyAs path="/v1/sources/{id}" options={{ path: { id } }} peal={asPeal(["sources", "show", id])} />
        </>
      }
    >
      <OriginNote origin={source.origin} />
      <Tabs tabs={tabs} label={w.kind} />
      {tab === "connect" && <Connect source={source} />}
      {tab === "edit" && <Locked origin={source.origin}><Edit key={source.version} source={source} saved={(next) => { found.set(next); go(here); }} /></Locked>}
      {tab === "versions" && <Versions path="/v1/sources/{id}/versions" id={source.id} now={source.version} draft={`source/${source.id}`} page={here} />}
      {tab === "json" && <JsonView value={source} />}
    </Detail>
  );
}
