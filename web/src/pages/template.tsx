import { useEffect, useRef, useState } from "preact/hooks";
import { send, type Answer } from "../api";
import { asPeal } from "../curl";
import { directionOf } from "../direction";
import { count, fill, useWords } from "../i18n";
import type { PageProps } from "../pages";
import { Action } from "../parts/action";
import { StateBadge } from "../parts/badge";
import { Builder } from "../parts/conditions";
import { CopyAs } from "../parts/copy";
import { Detail, Facts } from "../parts/detail";
import { Form, JsonField, type FieldProps, type Value } from "../parts/form";
import { Html } from "../parts/html";
import { JsonView } from "../parts/json";
import { Known } from "../parts/known";
import { useLoad } from "../parts/load";
import { Locked, OriginNote } from "../parts/origin";
import { ProblemBox } from "../parts/problem";
import { Tabs, tabOf } from "../parts/tabs";
import { Time } from "../parts/time";
import { Versions } from "../parts/versions";
import { Waiting } from "../parts/waiting";
import { go, link, usePlace } from "../router";
import { shown } from "../time";
import { smsOf } from "./sms";
import { pathsOf, useEvents, useSettled, type Event } from "./try";
import all from "./template.words";
import "../parts/author.css";

type Template = Answer<"/v1/templates/{id}">;
type Previewed = Answer<"/v1/templates/preview", "post">;

function useLabels(): Record<string, string> {
  const w = useWords(all);
  return {
    id: w.id, name: w.name, eventType: w.eventType, channel: w.channel, language: w.language, active: w.active, subject: w.subject, body: w.body, format: w.format, missing: w.missing, scope: w.scope, path: w.path, value: w.value, provider: w.provider, params: w.params, "/provider/template": w.providerTemplate,
    declares: w.declares, address: w.address, locale: w.locale, dedupRecipe: w.dedupRecipe, schedule: w.schedule, initialDelay: w.initialDelay, reminders: w.reminders, retry: w.retry, cancelOn: w.cancelOn, policy: w.policy, interval: w.interval, max: w.max, giveUpAfter: w.giveUpAfter, unclassified: w.unclassified, match: w.match, eventKind: w.eventKind,
  };
}

// Body is the text, in the direction of its language, with the placeholders that recent events have a value for.
function Body(props: FieldProps & { names: string[] }) {
  const w = useWords(all);
  const field = useRef<HTMLTextAreaElement>(null);
  const text = String(props.value ?? "");
  const wrong = props.problems[props.place];
  const insert = (name: string) => {
    const at = field.current?.selectionStart ?? text.length;
    const end = field.current?.selectionEnd ?? at;
    props.set(`${text.slice(0, at)}{{${name}}}${text.slice(end)}`);
    field.current?.focus();
  };
  return (
    <div class="field">
      <label for="body"><span class="field-label">{w.body}</span></label>
      <textarea id="body" ref={field} name="/body" rows={Math.min(Math.max(text.split("\n").length + 1, 8), 30)} dir={directionOf(props.whole["language"])} lang={String(props.whole["language"] ?? "")} value={text} aria-invalid={wrong ? true : undefined} aria-describedby="body-help"
        onInput={(event) => props.set(event.currentTarget.value || undefined)} />
      <small class="help" id="body-help"><bdi>{w.bodyHelp}</bdi></small>
      {props.names.length > 0 && (
        <span class="placeholders">
          <small class="faint">{w.insert}</small>
          {props.names.slice(0, 12).map((name) => <button key={name} type="button" class="small" onClick={() => insert(name)}><bdi dir="ltr">{name}</bdi></button>)}
        </span>
      )}
      {wrong && <span class="wrong"><bdi>{wrong}</bdi></span>}
    </div>
  );
}

function Sms(props: { text: string }) {
  const w = useWords(all);
  const sms = smsOf(props.text);
  return (
    <p class="faint" data-sms={sms.parts}>
      {count(w.segments, sms.parts)} · {count(w.characters, [...props.text].length)} · {sms.odd ? fill(w.ucs, { letter: `\u2068${sms.odd}\u2069`, n: sms.each }) : fill(w.gsm, { n: sms.each })}
    </p>
  );
}

function Rendered(props: { told: Previewed; template: Value }) {
  const w = useWords(all);
  const { told, template } = props;
  const [isSource, setSource] = useState(false);
  const dir = directionOf(template["language"]);
  const isHtml = template["format"] === "html";
  const isSms = /^(sms|whatsapp|memory)/.test(String(template["channel"] ?? "")) && !isHtml && !told.subject;
  return (
    <>
      {told.warnings.length > 0 ? (
        <ul class="note" data-warnings={told.warnings.length}>
          {told.warnings.map((one, n) => <li key={n}>{one.placeholder !== null && <code><bdi dir="ltr">{`{{${one.placeholder}}}`}</bdi></code>} <bdi>{one.message}</bdi></li>)}
        </ul>
      ) : (
        <p class="faint" data-warnings="0">✓ {w.warningsNone}</p>
      )}
      {told.subject !== null && <p class="message-subject" dir={dir} data-subject><bdi>{told.subject}</bdi></p>}
      {told.body !== null && isHtml && !isSource && <Html html={told.body} dir={dir} label={w.rendered} />}
      {told.body !== null && (!isHtml || isSource) && <pre class={`message-text${isSms ? " bubble" : ""}`} dir={isSource ? "ltr" : dir} tabIndex={0} role="region" aria-label={w.preview} data-body>{told.body || w.nothing}</pre>}
      {isHtml && <p><button type="button" class="small" aria-pressed={isSource} onClick={() => setSource(!isSource)}>{w.source}</button> <small class="faint">{w.images}</small></p>}
      {told.provider && <><h3>{w.providerShown}</h3><JsonView value={told.provider} label={w.providerShown} /></>}
      {!isHtml && !told.subject && told.body && <Sms text={told.body} />}
    </>
  );
}

const OWN = "own";

function Preview(props: { template: Value; events: Event[]; isKnown: boolean }) {
  const w = useWords(all);
  const [chosen, setChosen] = useState("");
  const [own, setOwn] = useState<unknown>({});
  const from = chosen === OWN || props.events.length === 0 ? OWN : (props.events.find((one) => one.id === chosen) ?? props.events[0])!.id;
  const asked = useSettled({ template: props.template, ...(from === OWN ? { data: own ?? {} } : { eventId: from }) });
  const [told, setTold] = useState<Previewed | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const isReady = props.isKnown && !!asked.template["channel"] && !!asked.template["eventType"] && ["subject", "body", "provider"].some((name) => asked.template[name] !== undefined);
  useEffect(() => {
    if (!isReady) return setTold(null);
    const stop = new AbortController();
    send<Previewed>("POST", "/v1/templates/preview", { body: asked, signal: stop.signal }).then(
      (answer) => {
        setTold(answer);
        setProblem(null);
      },
      (why: Error) => why.name !== "AbortError" && setProblem(why),
    );
    return () => stop.abort();
  }, [JSON.stringify(asked), isReady]);
  return (
    <section class="try" aria-label={w.preview}>
      <h2>{w.preview}</h2>
      <p class="faint">{w.previewHelp}</p>
      <label class="field">
        <span>{w.data}</span>
        <select name="data" value={from} onChange={(event) => setChosen(event.currentTarget.value)}>
          {props.events.map((one) => <option key={one.id} value={one.id} selected={one.id === from}>{fill(w.dataEvent, { time: shown(Date.parse(one.receivedAt ?? "")) })} – {JSON.stringify(one.payload).slice(0, 60)}</option>)}
          <option value={OWN} selected={from === OWN}>{w.dataOwn}</option>
        </select>
      </label>
      {from === OWN && <JsonField value={own} set={setOwn} label={w.dataJson} rows={4} />}
      {from === OWN && props.isKnown && props.events.length === 0 && <p class="faint">{w.noData}</p>}
      {!isReady && <p class="faint">{w.sayMore}</p>}
      <ProblemBox problem={problem} />
      {isReady && told && !problem && <Rendered told={told} template={props.template} />}
    </section>
  );
}

function Edit(props: { template: Template | null; saved: (template: Template) => void }) {
  const w = useWords(all);
  const { template } = props;
  const [value, setValue] = useState<Value>((template as Value | null) ?? {});
  const { events, isKnown } = useEvents(String(value["eventType"] ?? ""));
  const labels = useLabels();
  const names = pathsOf(events).map((path) => path.replace(/^candidate\./, ""));
  const known = (from: string, of: (row: Record<string, unknown>) => unknown) => (field: FieldProps) => <Known {...field} from={from} of={of} label={labels[field.place.slice(1)] ?? field.place} isRequired />;
  return (
    <Form
      shape="TemplateBody"
      first={(template as Value | null) ?? {}}
      draft={`template/${template?.id ?? "new"}`}
      save={template ? { route: "PUT /v1/templates/{id}", path: { id: template.id }, version: template.version } : { route: "POST /v1/templates" }}
      order={["id", "eventType", "channel", "language", "subject", "body", "format", "name", "active", "missing", "scope", "provider"]}
      hide={["kind", "eventKind"]}
      fixed={template ? ["id"] : []}
      labels={labels}
      changed={setValue}
      override={{
        "/eventType": known("/v1/events", (row) => row["kind"]),
        "/channel": known("/v1/channels", (row) => row["key"]),
        "/body": (field) => <Body {...field} names={names} />,
        "/cancelOn/kind": () => null,
        "/cancelOn/filter": (field) => <Builder filter={field.value} set={field.set} place="/cancelOn/filter" label={`${w.cancelOn}: ${w.conditions}`} problems={field.problems} every={w.cancelEvery} />,
      }}
      beside={(now) => <Preview template={now} events={events} isKnown={isKnown} />}
      saved={(answer) => props.saved(answer as Template)}
    />
  );
}

export default function TemplatePage({ id }: PageProps) {
  const w = useWords(all);
  const { query } = usePlace();
  const isNew = id === "new";
  const found = useLoad<Template>(isNew ? null : "/v1/templates/{id}", { path: { id } });
  const page = `/templates/${encodeURIComponent(id)}`;
  if (isNew)
    return (
      <Detail kind={w.kind} title={w.make} back={["/templates", w.title]}>
        <Edit template={null} saved={(made) => go(`/templates/${encodeURIComponent(made.id)}`)} />
      </Detail>
    );
  if (!found.data) return <Waiting of={found} />;
  const template = found.data;
  const tabs: [string, string][] = [["edit", w.edit], ["facts", w.facts], ["versions", w.versions], ["json", w.json]];
  const tab = tabOf(tabs, query);
  const isOn = template.active !== false;
  const name = template.name ?? template.id;
  return (
    <Detail
      kind={w.kind}
      title={<bdi dir="ltr">{template.id}</bdi>}
      back={["/templates", w.title]}
      state={<StateBadge state={isOn ? "enabled" : "disabled"} />}
      sentence={<bdi>{fill(w.sentence, { type: template.eventType, name, channel: template.channel })}</bdi>}
      actions={
        <>
          <Action route="PATCH /v1/templates/{id}" path={{ id }} body={{ active: !isOn }} danger={isOn ? "moderate" : "mild"} ask={isOn ? w.disableAsk : undefined} done={found.reload}>{isOn ? w.disable : w.enable}</Action>
          <Action route="DELETE /v1/templates/{id}" path={{ id }} danger="severe" name={template.id} ask={w.removeAsk} done={() => go("/templates")}>{w.remove}</Action>
          <CopyAs path="/v1/templates/{id}" options={{ path: { id } }} peal={asPeal(["templates", "show", id])} />
        </>
      }
    >
      {tab !== "edit" && <OriginNote origin={template.origin} />}
      <Tabs tabs={tabs} label={w.kind} />
      {tab === "facts" && (
        <Facts
          facts={[
            [w.eventType, <a href={link("/events", { type: template.eventType })}><bdi dir="ltr">{template.eventType}</bdi></a>],
            [w.channel, <a href={`/channels/${encodeURIComponent(template.channel)}`}><bdi dir="ltr">{template.channel}</bdi></a>],
            [w.name, <a href={link("/templates", { eventType: template.eventType, channel: template.channel })}><bdi>{name}</bdi></a>],
            [w.language, template.language ?? w.byDefault],
            !!template.scope && [w.scope, <bdi dir="ltr">{template.scope.path} = {JSON.stringify(template.scope.value)}</bdi>],
            [w.version, String(template.version)],
            [w.updated, <Time at={template.updatedAt} />],
          ]}
        />
      )}
      {tab === "edit" && (
        <Locked origin={template.origin}>
          <Edit key={template.version} template={template} saved={(next) => { found.set({ ...template, ...next }); found.reload(); }} />
        </Locked>
      )}
      {tab === "versions" && <Versions path="/v1/templates/{id}/versions" id={id} now={template.version} draft={`template/${id}`} page={page} />}
      {tab === "json" && <JsonView value={template} label={w.json} />}
    </Detail>
  );
}
