import type { Answer } from "../api";
import { asPeal } from "../curl";
import { useRef } from "preact/hooks";
import { fill, useWords } from "../i18n";
import { useLive } from "../live";
import type { PageProps } from "../pages";
import { Action } from "../parts/action";
import { StateBadge } from "../parts/badge";
import { CopyAs } from "../parts/copy";
import { Asking, Secret } from "../parts/asking";
import { Detail, Facts, Section } from "../parts/detail";
import { Form, Members, type FieldProps, type Value } from "../parts/form";
import { JsonView } from "../parts/json";
import { useLoad } from "../parts/load";
import { Locked, OriginNote } from "../parts/origin";
import { optionsOf, resolved, schemaNamed } from "../parts/schema";
import { Tabs, tabOf } from "../parts/tabs";
import { Time } from "../parts/time";
import { Versions } from "../parts/versions";
import { Waiting } from "../parts/waiting";
import { go, usePlace } from "../router";
import all from "./channel.words";

type Channel = Answer<"/v1/channels/{id}">;

// typeOf is the channel type whose settings a shape has.
function typeOf(shape: { title?: string }): string {
  const name = (shape.title ?? "").replace(/Config$/, "").toLowerCase();
  return name === "dialog" ? "360dialog" : name;
}

// Config is drawn by the shape of the channel's type: HttpConfig for http.
function Config(props: FieldProps) {
  const w = useWords(all);
  const type = String(props.whole["type"] ?? "");
  const shapes = optionsOf(resolved(props.schema));
  const own = shapes.find((one) => typeOf(one) === type);
  return (
    <fieldset>
      <legend>{w.config}</legend>
      {own ? (
        <Members schema={own} value={(props.value as Value | undefined) ?? {}} set={(next) => props.set(Object.keys(next).length ? next : undefined)} place="/config" problems={props.problems} whole={props.whole} form={{}} />
      ) : (
        <small class="help">{w.typeFirst}</small>
      )}
    </fieldset>
  );
}

// Type is chosen from the types whose settings the document knows.
function Type(props: FieldProps & { label?: string }) {
  const w = useWords(all);
  const names = optionsOf(schemaNamed("ChannelConfigBody") ?? {}).map(typeOf).filter(Boolean);
  return (
    <div class="field">
      <label for="type">{w.type}</label>
      <input id="type" name="/type" list="types" value={String(props.value ?? "")} aria-invalid={props.problems["/type"] ? true : undefined} autocomplete="off"
        onInput={(event) => props.set(event.currentTarget.value || undefined)} />
      <datalist id="types">{names.map((one) => <option key={one} value={one} />)}</datalist>
      {props.problems["/type"] && <span class="wrong">{props.problems["/type"]}</span>}
    </div>
  );
}

function Edit(props: { channel: Channel | null; saved: (channel: Channel) => void }) {
  const { channel } = props;
  return (
    <Form
      shape="ChannelBody"
      first={(channel as Value | null) ?? {}}
      draft={`channel/${channel?.key ?? "new"}`}
      save={channel ? { route: "PUT /v1/channels/{id}", path: { id: channel.key }, version: (channel as { version?: number }).version ?? null } : { route: "POST /v1/channels" }}
      order={["key", "type", "config", "enabled"]}
      fixed={channel ? ["key"] : []}
      override={{ "/config": (field) => <Config {...field} />, "/type": (field) => <Type {...field} /> }}
      saved={(answer) => props.saved(answer as Channel)}
    />
  );
}

interface SecretSet {
  set: boolean;
  rotatedAt?: string;
  previousUntil?: string | null;
}

// secretsOf are the members of a channel's settings that are told by no more than that they are set.
function secretsOf(channel: Channel): [string, SecretSet][] {
  return Object.entries((channel.config ?? {}) as Record<string, unknown>).filter((one): one is [string, SecretSet] => typeof one[1] === "object" && one[1] !== null && "set" in one[1]);
}

function sentence(w: { [K in keyof (typeof all)["en"]]: string }, channel: Channel): string {
  const { health } = channel;
  if (channel.enabled === false) return w.sOff;
  if (health?.circuit === "open") return fill(w.sOpen, { n: health.failures });
  if (health?.circuit === "half-open") return w.sHalf;
  return health?.pausedUntil ? w.sPaused : w.sFine;
}

function Test(props: { id: string; done: () => void }) {
  const w = useWords(all);
  return (
    <Asking<{ deliveryId: string }>
      route="POST /v1/channels/{id}/test" path={{ id: props.id }} label={w.test} intro={w.testIntro} primary
      fields={[
        { name: "target", label: w.target, help: w.targetHelp, dir: "ltr" },
        { name: "subject", label: w.subject },
        { name: "body", label: w.body, isLong: true },
      ]}
      peal={(given) => asPeal(["channels", "test", props.id, ...(given["target"] ? [given["target"]] : [])], { subject: given["subject"], body: given["body"] })}
      result={(told) => <><p>{w.testSent}</p><p><a class="button is-primary" href={`/deliveries/${told.deliveryId}`}>{w.openDelivery}</a></p></>}
      done={props.done}
    />
  );
}

function Rotate(props: { channel: Channel; done: () => void }) {
  const w = useWords(all);
  const names = secretsOf(props.channel).map(([name]) => name);
  if (names.length === 0) return null;
  return (
    <Asking<{ value?: string; previousUntil: string | null }>
      route="POST /v1/channels/{id}/rotate" path={{ id: props.channel.key }} label={w.rotate} intro={w.rotateIntro}
      fields={[
        { name: "secret", label: w.which, values: names, isRequired: true, first: names[0]!, dir: "ltr" },
        { name: "value", label: w.value, help: w.valueHelp, dir: "ltr" },
        { name: "overlap", label: w.overlap, help: w.overlapHelp, dir: "ltr" },
      ]}
      peal={(given) => asPeal(["channels", "rotate", props.channel.key, given["secret"] ?? ""], { overlap: given["overlap"] })}
      result={(told) => (
        <>
          {told.value ? <Secret value={told.value} says={w.told} /> : <p>{w.taken}</p>}
          {told.previousUntil && <p class="faint">{w.until} <Time at={told.previousUntil} /></p>}
        </>
      )}
      done={props.done}
    />
  );
}

function Standing(props: { channel: Channel }) {
  const w = useWords(all);
  const { channel } = props;
  const { health } = channel;
  const secrets = secretsOf(channel);
  const retry = channel.retry ? Object.entries(channel.retry).filter(([, value]) => value !== null).map(([name, value]) => `${name} ${value}`).join(", ") : w.ofChannel;
  return (
    <>
      <Section title={w.health}>
        <Facts facts={[
          [w.circuit, <StateBadge state={health?.circuit ?? "closed"} />],
          !!health?.since && [w.since, <Time at={health.since} />],
          [w.failures, health?.failures ?? 0],
          !!health?.nextProbeAt && [w.probe, <Time at={health.nextProbeAt} />],
          !!health?.pausedUntil && [w.paused, <Time at={health.pausedUntil} />],
        ]} />
        {health?.lastError && <div class="problem"><p class="problem-text">{w.lastError}</p><p data-error><bdi dir="ltr">{health.lastError}</bdi></p></div>}
        <p><a href={`/deliveries?channel=${encodeURIComponent(channel.key)}`}>{w.deliveries}</a> · <a href={`/deliveries?channel=${encodeURIComponent(channel.key)}&state=parked`}>{w.parked}</a></p>
      </Section>
      <Section title={w.limits}>
        <Facts facts={[
          [w.concurrency, channel.concurrency ?? fill(w.fallback, { value: "32" })],
          [w.rate, channel.rate ? <bdi dir="ltr">{channel.rate.max} / {channel.rate.per}</bdi> : w.noRate],
          [w.timeout, channel.timeout ? <bdi dir="ltr">{channel.timeout}</bdi> : fill(w.fallback, { value: "15s" })],
          [w.retry, <bdi>{retry}</bdi>],
          [w.ordered, channel.ordered ? w.yes : w.no],
        ]} />
      </Section>
      {secrets.length > 0 && (
        <Section title={w.secrets}>
          <Facts facts={secrets.map(([name, one]) => [name, <>{w.setAt} <Time at={one.rotatedAt} /></>])} />
        </Section>
      )}
    </>
  );
}

export default function ChannelPage({ id }: PageProps) {
  const w = useWords(all);
  const { query } = usePlace();
  const isNew = id === "new";
  const found = useLoad<Channel>(isNew ? null : "/v1/channels/{id}", { path: { id } });
  const timer = useRef(0);
  // What is sent may open or close its circuit: it is looked at again, once in two seconds at most.
  useLive(isNew ? undefined : "delivery", () => {
    timer.current ||= window.setTimeout(() => {
      timer.current = 0;
      found.reload();
    }, 2000);
  });
  if (isNew)
    return (
      <Detail kind={w.kind} title={w.make} back={["/channels", w.title]}>
        <Edit channel={null} saved={(made) => go(`/channels/${encodeURIComponent(made.key)}`)} />
      </Detail>
    );
  if (!found.data) return <Waiting of={found} />;
  const channel = found.data;
  const isOff = channel.enabled === false;
  const here = `/channels/${encodeURIComponent(channel.key)}`;
  const tabs: [string, string][] = [["facts", w.show], ["edit", w.edit], ["versions", w.versions], ["json", w.json]];
  const tab = tabOf(tabs, query);
  return (
    <Detail
      kind={w.kind}
      title={<bdi dir="ltr">{channel.key}</bdi>}
      back={["/channels", w.title]}
      state={<><StateBadge state={isOff ? "disabled" : "enabled"} /> {channel.health && channel.health.circuit !== "closed" && <StateBadge state={channel.health.circuit} />}</>}
      sentence={sentence(w, channel)}
      facts={[[w.type, <bdi dir="ltr">{channel.type}</bdi>], [w.version, channel.version], [w.updated, <Time at={channel.updatedAt} />]]}
      actions={
        <>
          <Test id={id} done={found.reload} />
          <Rotate channel={channel} done={found.reload} />
          <Action route="PATCH /v1/channels/{id}" path={{ id }} body={{ enabled: isOff }} danger={isOff ? "mild" : "moderate"} ask={isOff ? undefined : w.disableAsk} done={found.reload}>
            {isOff ? w.enable : w.disable}
          </Action>
          <Action route="DELETE /v1/channels/{id}" path={{ id }} danger="severe" name={channel.key} ask={w.removeAsk} done={() => go("/channels")}>{w.remove}</Action>
          <CopyAs path="/v1/channels/{id}" options={{ path: { id } }} peal={asPeal(["channels", "show", id])} />
        </>
      }
    >
      <OriginNote origin={channel.origin} />
      <Tabs tabs={tabs} label={w.kind} />
      {tab === "facts" && <Standing channel={channel} />}
      {tab === "edit" && <Locked origin={channel.origin}><Edit key={channel.version} channel={channel} saved={(next) => { found.set(next); go(here); }} /></Locked>}
      {tab === "versions" && <Versions path="/v1/channels/{id}/versions" id={channel.key} now={channel.version} draft={`channel/${channel.key}`} page={here} />}
      {tab === "json" && <JsonView value={channel} />}
    </Detail>
  );
}
