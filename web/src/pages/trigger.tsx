import { useState } from "preact/hooks";
import type { Answer, Row } from "../api";
import { asPeal } from "../curl";
import { count, fill, useWords } from "../i18n";
import type { PageProps } from "../pages";
import { Action } from "../parts/action";
import { StateBadge } from "../parts/badge";
import { Builder, Conditions } from "../parts/conditions";
import { CopyAs } from "../parts/copy";
import { Detail, Section } from "../parts/detail";
import { Form, type FieldProps, type Value } from "../parts/form";
import { JsonView } from "../parts/json";
import { Known } from "../parts/known";
import { List } from "../parts/list";
import { useLoad } from "../parts/load";
import { Locked, OriginNote } from "../parts/origin";
import { Tabs, tabOf } from "../parts/tabs";
import { Time } from "../parts/time";
import { Versions } from "../parts/versions";
import { Waiting } from "../parts/waiting";
import { go, link, usePlace } from "../router";
import { Try, pathsOf, useEvents } from "./try";
import { listensTo } from "./triggers";
import all from "./trigger.words";

type Trigger = Answer<"/v1/triggers/{id}">;
type TriggerEvent = Row<"/v1/triggers/{id}/events">;
const OF_PROVIDERS = ["type", "integration", "source", "config", "way", "interval", "emitExisting"];

function useLabels(): Record<string, string> {
  const w = useWords(all);
  return {
    id: w.id, eventKind: w.eventKind, channel: w.channel, automation: w.automation, filter: w.filter, enabled: w.enabled, provider: w.provider, type: w.type, integration: w.integration, source: w.source, config: w.config, schedule: w.schedule,
    initialDelay: w.initialDelay, reminders: w.reminders, awaitAnswer: w.awaitAnswer, expireAfter: w.expireAfter, retry: w.retry, cancelOn: w.cancelOn, address: w.address, locale: w.locale, templateId: w.templateId, dedupRecipe: w.dedupRecipe,
    way: w.way, interval: w.interval, emitExisting: w.emitExisting, policy: w.policy, max: w.max, giveUpAfter: w.giveUpAfter, unclassified: w.unclassified, match: w.match,
  };
}

function Edit(props: { trigger: Trigger | null; saved: (trigger: Trigger) => void }) {
  const w = useWords(all);
  const { trigger } = props;
  const [value, setValue] = useState<Value>((trigger as Value | null) ?? {});
  const [mark, setMark] = useState<string | null>(null);
  const kind = value["provider"] ? `${String(value["provider"])}.${String(value["type"] ?? "")}` : String(value["eventKind"] ?? "");
  const { events, isKnown } = useEvents(kind);
  const labels = useLabels();
  const known = (from: string, of: (row: Record<string, unknown>) => unknown) => (field: FieldProps) => <Known {...field} from={from} of={of} label={labels[field.place.split("/").pop()!] ?? field.place} />;
  return (
    <Form
      shape="TriggerBody"
      first={(trigger as Value | null) ?? {}}
      draft={`trigger/${trigger?.id ?? "new"}`}
      save={trigger ? { route: "PUT /v1/triggers/{id}", path: { id: trigger.id }, version: trigger.version } : { route: "POST /v1/triggers" }}
      order={["id", "eventKind", "channel", "filter", "enabled", "provider", ...OF_PROVIDERS, "automation", "schedule", "dedupRecipe", "awaitAnswer", "expireAfter", "cancelOn", "retry", "address", "locale", "templateId"]}
      hide={["kind", ...(value["provider"] ? (value["eventKind"] ? [] : ["eventKind"]) : OF_PROVIDERS.filter((name) => value[name] === undefined))]}
      fixed={trigger ? ["id"] : []}
      labels={labels}
      changed={setValue}
      override={{
        "/eventKind": known("/v1/events", (row) => row["kind"]),
        "/channel": known("/v1/channels", (row) => row["key"]),
        "/automation": known("/v1/automations", (row) => row["id"]),
        "/integration": known("/v1/integrations", (row) => row["id"]),
        "/source": known("/v1/sources", (row) => row["id"]),
        "/cancelOn/kind": () => null,
        "/filter": (field) => <Builder filter={field.value} set={field.set} label={w.conditions} mark={mark} problems={field.problems} paths={pathsOf(events)} />,
        "/cancelOn/filter": (field) => <Builder filter={field.value} set={field.set} place="/cancelOn/filter" label={`${w.cancelOn}: ${w.conditions}`} problems={field.problems} every={w.cancelEvery} />,
      }}
      beside={(now) => <Try kind={kind} filter={now["filter"]} events={events} isKnown={isKnown} mark={setMark} saved={trigger ? { id: trigger.id, version: trigger.version } : null} isChanged={JSON.stringify(now["filter"]) !== JSON.stringify(trigger?.filter)} />}
      saved={(answer) => props.saved(answer as Trigger)}
    />
  );
}

const REASONS = { manual: "r_manual", filter_mismatch: "r_filter_mismatch", automation_disabled: "r_automation_disabled", run_create_failed: "r_run_create_failed" } as const;

function Made(props: { id: string }) {
  const w = useWords(all);
  return (
    <List<TriggerEvent>
      within
      title={w.events}
      intro={w.eventsIntro}
      path="/v1/triggers/{id}/events"
      pathValues={{ id: props.id }}
      id={(row) => row.id}
      peal={["triggers", "events", props.id]}
      live="delivery"
      isNew={(fact) => fact.data["triggerId"] === props.id || (fact.data["rule"] as { id?: string } | undefined)?.id === props.id}
      columns={[
        { key: "event", label: w.event, kind: "main", cell: (row) => <a href={`/events/${row.eventId}`}>{row.title ? <bdi>{row.title}</bdi> : <bdi dir="ltr">{row.eventId}</bdi>}</a> },
        { key: "received", label: w.received, cell: (row) => <Time at={row.receivedAt} /> },
        { key: "status", label: w.status, cell: (row) => <StateBadge state={row.status} /> },
        { key: "reason", label: w.reason, cell: (row) => (row.skipReason ? (row.skipReason in REASONS ? w[REASONS[row.skipReason as keyof typeof REASONS]] : row.skipReason) : "–") },
        { key: "delivery", label: w.delivery, kind: "id", cell: (row) => (row.deliveryId ? <a href={`/deliveries/${row.deliveryId}`}><bdi dir="ltr">{row.deliveryId}</bdi></a> : "–") },
        { key: "skip", label: w.skip, cell: (row) => (row.status === "queued" ? <Skip id={row.id} /> : "–") },
      ]}
      empty={{ title: w.eventsEmpty, text: w.eventsEmptyText }}
    />
  );
}

// Skip says at once that it is skipped; the list is told by the stream, or when it is asked again.
function Skip(props: { id: string }) {
  const w = useWords(all);
  const [isDone, setDone] = useState(false);
  if (isDone) return <StateBadge state="skipped" />;
  return <Action route="POST /v1/trigger-events/{id}/skip" path={{ id: props.id }} danger="moderate" ask={w.skipAsk} done={() => setDone(true)}>{w.skip}</Action>;
}

function Rule(props: { trigger: Trigger; mark: string | null }) {
  const w = useWords(all);
  const { trigger } = props;
  return (
    <>
      <dl class="facts">
        <div><dt>{w.listens}</dt><dd><a href={link("/events", { type: listensTo(trigger) })}><bdi dir="ltr">{listensTo(trigger)}</bdi></a></dd></div>
        {trigger.channel && <div><dt>{w.channel}</dt><dd><a href={`/channels/${encodeURIComponent(trigger.channel)}`}><bdi dir="ltr">{trigger.channel}</bdi></a></dd></div>}
        {trigger.automation && <div><dt>{w.automation}</dt><dd><a href={`/automations/${encodeURIComponent(trigger.automation)}`}><bdi dir="ltr">{trigger.automation}</bdi></a></dd></div>}
        {trigger.integration && <div><dt>{w.integration}</dt><dd><a href={`/integrations/${encodeURIComponent(trigger.integration)}`}><bdi dir="ltr">{trigger.integration}</bdi></a></dd></div>}
        {trigger.source && <div><dt>{w.source}</dt><dd><a href={`/sources/${encodeURIComponent(trigger.source)}`}><bdi dir="ltr">{trigger.source}</bdi></a></dd></div>}
        <div><dt>{w.firstSend}</dt><dd>{trigger.schedule?.initialDelay ? <bdi dir="ltr">+{trigger.schedule.initialDelay}</bdi> : w.atOnce}</dd></div>
        {trigger.schedule?.reminders && trigger.schedule.reminders.length > 0 && <div><dt>{w.reminders}</dt><dd><bdi dir="ltr">{trigger.schedule.reminders.map((one) => `+${one}`).join(", ")}</bdi></dd></div>}
        {trigger.expireAfter && <div><dt>{w.expires}</dt><dd>{trigger.expireAfter}</dd></div>}
        {trigger.dedupRecipe && <div><dt>{w.dedup}</dt><dd><bdi dir="ltr">{trigger.dedupRecipe.join(", ")}</bdi></dd></div>}
        {trigger.cancelOn && <div><dt>{w.cancelOn}</dt><dd><bdi dir="ltr">{trigger.cancelOn.eventKind} ({trigger.cancelOn.match.join(", ")})</bdi></dd></div>}
        <div><dt>{w.pending}</dt><dd><a href={link("/deliveries", { trigger: trigger.id })}>{trigger.pendingCount ?? "–"}</a></dd></div>
        <div><dt>{w.version}</dt><dd>{trigger.version}</dd></div>
        <div><dt>{w.updated}</dt><dd><Time at={trigger.updatedAt} /></dd></div>
      </dl>
      {trigger.config && <Section title={w.config}>{props.mark?.startsWith("/config") && <p class="condition is-marked" data-condition={props.mark}><code><bdi dir="ltr">{props.mark}</bdi></code></p>}<JsonView value={trigger.config} label={w.config} /></Section>}
      <Section title={w.conditions}><Conditions filter={trigger.filter} mark={props.mark} /></Section>
    </>
  );
}

export default function TriggerPage({ id }: PageProps) {
  const w = useWords(all);
  const { query, hash } = usePlace();
  const isNew = id === "new";
  const found = useLoad<Trigger>(isNew ? null : "/v1/triggers/{id}", { path: { id } });
  const page = `/triggers/${encodeURIComponent(id)}`;
  if (isNew)
    return (
      <Detail kind={w.kind} title={w.make} back={["/triggers", w.title]}>
        <Edit trigger={null} saved={(made) => go(`/triggers/${encodeURIComponent(made.id)}`)} />
      </Detail>
    );
  if (!found.data) return <Waiting of={found} />;
  const trigger = found.data;
  const tabs: [string, string][] = [["rule", w.rule], ["edit", w.edit], ["events", w.events], ["versions", w.versions], ["json", w.json]];
  const tab = tabOf(tabs, query);
  const isOn = trigger.enabled !== false;
  const whole = trigger.automation ? fill(w.sentenceRun, { kind: listensTo(trigger), automation: trigger.automation }) : fill(w.sentence, { kind: listensTo(trigger), channel: trigger.channel ?? "–" });
  return (
    <Detail
      kind={w.kind}
      title={<bdi dir="ltr">{trigger.id}</bdi>}
      back={["/triggers", w.title]}
      state={<StateBadge state={isOn ? "enabled" : "disabled"} />}
      sentence={<>{whole} {trigger.pendingCount !== undefined && count(w.pendingSentence, trigger.pendingCount)}</>}
      actions={
        <>
          {!trigger.survey && (
            <>
              <Action route="PATCH /v1/triggers/{id}" path={{ id }} body={{ enabled: !isOn }} danger={isOn ? "moderate" : "mild"} ask={isOn ? w.disableAsk : undefined} done={found.reload}>{isOn ? w.disable : w.enable}</Action>
              <Action route="DELETE /v1/triggers/{id}" path={{ id }} danger="severe" name={trigger.id} ask={w.removeAsk} done={() => go("/triggers")}>{w.remove}</Action>
            </>
          )}
          <CopyAs path="/v1/triggers/{id}" options={{ path: { id } }} peal={asPeal(["triggers", "show", id])} />
        </>
      }
    >
      {trigger.survey ? <p class="note">{fill(w.ofSurvey, { id: trigger.survey })} <a href={link(`/surveys/${encodeURIComponent(trigger.survey)}`, { tab: "edit" })}>{w.toSurvey}</a></p> : tab !== "edit" && <OriginNote origin={trigger.origin} />}
      <Tabs tabs={tabs.filter(([name]) => name !== "edit" || !trigger.survey)} label={w.kind} />
      {tab === "rule" && <Rule trigger={trigger} mark={hash ? decodeURIComponent(hash) : null} />}
      {tab === "edit" && !trigger.survey && (
        <Locked origin={trigger.origin}>
          <Edit key={trigger.version} trigger={trigger} saved={(next) => { found.set({ ...trigger, ...next }); found.reload(); }} />
        </Locked>
      )}
      {tab === "events" && <Made id={id} />}
      {tab === "versions" && <Versions path="/v1/triggers/{id}/versions" id={id} now={trigger.version} draft={`trigger/${id}`} page={page} edit={!trigger.survey} />}
      {tab === "json" && <JsonView value={trigger} label={w.json} />}
    </Detail>
  );
}
