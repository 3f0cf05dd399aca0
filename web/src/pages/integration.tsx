import type { Answer } from "../api";
import { asPeal } from "../curl";
import { fill, number, useWords } from "../i18n";
import type { PageProps } from "../pages";
import { Action } from "../parts/action";
import { StateBadge } from "../parts/badge";
import { CopyAs } from "../parts/copy";
import { Detail, Facts, Section } from "../parts/detail";
import { Form, type Value } from "../parts/form";
import { JsonView } from "../parts/json";
import { useLoad } from "../parts/load";
import { Locked, OriginNote } from "../parts/origin";
import { Tabs, tabOf } from "../parts/tabs";
import { Time } from "../parts/time";
import { Versions } from "../parts/versions";
import { Waiting } from "../parts/waiting";
import { go, usePlace } from "../router";
import { STATUS } from "./integrations";
import { integrationWords } from "./integrations.words";

type Integration = Answer<"/v1/integrations/{id}">;

function Edit(props: { integration: Integration | null; saved: (integration: Integration) => void }) {
  const { integration } = props;
  return (
    <Form
      shape="IntegrationBody"
      first={(integration as Value | null) ?? {}}
      draft={`integration/${integration?.id ?? "new"}`}
      save={integration ? { route: "PUT /v1/integrations/{id}", path: { id: integration.id }, version: integration.version } : { route: "POST /v1/integrations" }}
      order={["id", "provider", "token", "baseUrl"]}
      fixed={integration ? ["id"] : []}
      saved={(answer) => props.saved(answer as Integration)}
    />
  );
}

function Standing(props: { integration: Integration }) {
  const w = useWords(integrationWords);
  const { pollGroup: group, registration } = props.integration;
  return (
    <>
      <Section title={w.polled}>
        {!group && <p class="faint">{w.notPolled}</p>}
        {group && (
          <Facts facts={[
            [w.every, <bdi dir="ltr">{group.interval}</bdi>],
            [w.triggers, number(group.triggers)],
            [w.last, <Time at={group.lastPolledAt} />],
            [w.next, <Time at={group.nextPollAt} none={w.stopped} />],
            [w.baseline, <Time at={group.cursorSetAt} none={w.noBaseline} />],
            !!group.backoffUntil && [w.backoff, <Time at={group.backoffUntil} />],
          ]} />
        )}
        {group?.lastError && <div class="problem"><p class="problem-text">{w.lastError}</p><p><bdi>{group.lastError}</bdi></p></div>}
      </Section>
      {registration && (
        <Section title={w.watch}>
          <Facts facts={[[w.status, <StateBadge state={registration.status} tone={STATUS[registration.status] ?? "calm"} />], [w.expires, <Time at={registration.expiresAt} />], !!registration.error && [w.lastError, <bdi>{registration.error}</bdi>]]} />
        </Section>
      )}
    </>
  );
}

export default function IntegrationPage({ id }: PageProps) {
  const w = useWords(integrationWords);
  const { query } = usePlace();
  const isNew = id === "new";
  const found = useLoad<Integration>(isNew ? null : "/v1/integrations/{id}", { path: { id } });
  if (isNew)
    return (
      <Detail kind={w.kind} title={w.make} back={["/integrations", w.title]}>
        <Edit integration={null} saved={(made) => go(`/integrations/${encodeURIComponent(made.id)}`)} />
      </Detail>
    );
  if (!found.data) return <Waiting of={found} />;
  const one = found.data;
  const here = `/integrations/${encodeURIComponent(one.id)}`;
  const tabs: [string, string][] = [["state", w.show], ["edit", w.edit], ["versions", w.versions], ["json", w.json]];
  const tab = tabOf(tabs, query);
  const token = (one.token as { source?: string } | undefined)?.source;
  return (
    <Detail
      kind={w.kind}
      title={<bdi dir="ltr">{one.id}</bdi>}
      back={["/integrations", w.title]}
      state={<><StateBadge state={one.status} tone={STATUS[one.status] ?? "calm"} /> {!one.enabled && <StateBadge state="disabled" />}</>}
      sentence={<bdi>{!one.enabled ? w.sOff : one.status === "active" ? w.sActive : fill(w.sBad, { why: one.statusReason ?? one.status })}</bdi>}
      facts={[
        [w.provider, <bdi dir="ltr">{one.provider}</bdi>],
        [w.since, <Time at={one.statusSince} />],
        !!token && [w.token, <bdi dir="ltr">{token}</bdi>],
        !!one.baseUrl && [w.baseUrl, <bdi dir="ltr">{one.baseUrl}</bdi>],
        !!one.connectionId && [w.connection, <bdi dir="ltr">{one.connectionId}</bdi>],
        !!one.installationId && [w.installation, <bdi dir="ltr">{String(one.installationId)}</bdi>],
        [w.version, one.version],
        [w.updated, <Time at={one.updatedAt} />],
      ]}
      actions={
        <>
          <Action route="PATCH /v1/integrations/{id}" path={{ id }} body={{ enabled: !one.enabled }} danger={one.enabled ? "moderate" : "mild"} ask={one.enabled ? w.disableAsk : undefined} done={found.reload}>{one.enabled ? w.disable : w.enable}</Action>
          <Action route="DELETE /v1/integrations/{id}" path={{ id }} danger="severe" name={one.id} ask={w.removeAsk} done={() => go("/integrations")}>{w.remove}</Action>
          <CopyAs path="/v1/integrations/{id}" options={{ path: { id } }} peal={asPeal(["integrations", "show", id])} />
        </>
      }
    >
      <OriginNote origin={one.origin} />
      <Tabs tabs={tabs} label={w.kind} />
      {tab === "state" && <Standing integration={one} />}
      {tab === "edit" && <Locked origin={one.origin}><Edit key={one.version} integration={one} saved={(next) => { found.set(next); go(here); }} /></Locked>}
      {tab === "versions" && <Versions path="/v1/integrations/{id}/versions" id={one.id} now={one.version} draft={`integration/${one.id}`} page={here} />}
      {tab === "json" && <JsonView value={one} />}
    </Detail>
  );
}
