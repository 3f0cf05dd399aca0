import type { Answer } from "../api";
import { asPeal } from "../curl";
import { useWords } from "../i18n";
import type { PageProps } from "../pages";
import { Action } from "../parts/action";
import { StateBadge } from "../parts/badge";
import { CopyAs } from "../parts/copy";
import { Detail } from "../parts/detail";
import { Form, Members, type FieldProps, type Value } from "../parts/form";
import { JsonView } from "../parts/json";
import { useLoad } from "../parts/load";
import { optionsOf, resolved, schemaNamed } from "../parts/schema";
import { Tabs, tabOf } from "../parts/tabs";
import { Time } from "../parts/time";
import { Waiting } from "../parts/waiting";
import { go, usePlace } from "../router";
import all from "./channel.words";

type Channel = Answer<"/v1/channels/{id}">;

// Config is drawn by the shape of the channel's type: HttpConfig for http.
function Config(props: FieldProps) {
  const w = useWords(all);
  const type = String(props.whole["type"] ?? "");
  const shapes = optionsOf(resolved(props.schema));
  const own = shapes.find((one) => one.title?.toLowerCase() === `${type.replace(/[^a-z0-9]/g, "")}config`);
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
  const names = optionsOf(schemaNamed("ChannelConfigBody") ?? {}).map((one) => (one.title ?? "").replace(/Config$/, "").toLowerCase()).filter(Boolean);
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

export default function ChannelPage({ id }: PageProps) {
  const w = useWords(all);
  const { query } = usePlace();
  const isNew = id === "new";
  const found = useLoad<Channel>(isNew ? null : "/v1/channels/{id}", { path: { id } });
  if (isNew)
    return (
      <Detail kind={w.kind} title={w.make} back={["/channels", w.title]}>
        <Edit channel={null} saved={(made) => go(`/channels/${encodeURIComponent(made.key)}`)} />
      </Detail>
    );
  if (!found.data) return <Waiting of={found} />;
  const channel = found.data as Channel & { version?: number; updatedAt?: string; createdAt?: string; origin?: string | null };
  const tabs: [string, string][] = [["facts", w.show], ["edit", w.edit], ["json", w.json]];
  const tab = tabOf(tabs, query);
  return (
    <Detail
      kind={w.kind}
      title={<bdi dir="ltr">{channel.key}</bdi>}
      back={["/channels", w.title]}
      state={<StateBadge state={channel.enabled === false ? "disabled" : "enabled"} />}
      actions={
        <>
          <Action route="PATCH /v1/channels/{id}" path={{ id }} body={{ enabled: channel.enabled === false }} danger={channel.enabled === false ? "mild" : "moderate"} ask={channel.enabled === false ? undefined : w.disableAsk} done={found.reload}>
            {channel.enabled === false ? w.enable : w.disable}
          </Action>
          <Action route="DELETE /v1/channels/{id}" path={{ id }} danger="severe" name={channel.key} ask={w.removeAsk} done={() => go("/channels")}>{w.remove}</Action>
          <CopyAs path="/v1/channels/{id}" options={{ path: { id } }} peal={asPeal(["channels", id])} />
        </>
      }
    >
      <Tabs tabs={tabs} label={w.kind} />
      {tab === "facts" && (
        <dl class="facts">
          <div><dt>{w.type}</dt><dd>{channel.type}</dd></div>
          <div><dt>{w.version}</dt><dd>{channel.version ?? "–"}</dd></div>
          <div><dt>{w.updated}</dt><dd><Time at={channel.updatedAt} /></dd></div>
          <div><dt>{w.concurrency}</dt><dd>{channel.concurrency ?? "–"}</dd></div>
          <div><dt>{w.rate}</dt><dd>{channel.rate ? <bdi dir="ltr">{channel.rate.max} / {channel.rate.per}</bdi> : "–"}</dd></div>
          <div><dt>{w.timeout}</dt><dd>{channel.timeout ?? "–"}</dd></div>
        </dl>
      )}
      {tab === "edit" && <Edit key={channel.version} channel={channel} saved={(next) => { found.set(next); go(`/channels/${encodeURIComponent(next.key)}`); }} />}
      {tab === "json" && <JsonView value={channel} />}
    </Detail>
  );
}
