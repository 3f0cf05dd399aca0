import { asPeal } from "../curl";
import { urlOf, type Answer } from "../api";
import { fill, useWords } from "../i18n";
import type { PageProps } from "../pages";
import { Copy, CopyAs } from "../parts/copy";
import { Detail, Facts } from "../parts/detail";
import { JsonView } from "../parts/json";
import { useLoad } from "../parts/load";
import { Table } from "../parts/table";
import { Tabs, tabOf } from "../parts/tabs";
import { Time } from "../parts/time";
import { Waiting } from "../parts/waiting";
import { usePlace } from "../router";
import { capturedWords } from "./captured.words";
import "./captured.css";

type Message = Answer<"/v1/captured/{id}">;
const TO_SHOWN = 5;

// Text is what a phone shows, or a chat.
function Text(props: { message: Message }) {
  const { message } = props;
  const isChat = ["teams", "slack"].includes(message.type ?? "");
  return (
    <div class={isChat ? "message-card" : "bubble"} dir="auto" data-text>
      {message.subject && !message.html && <p><strong>{message.subject}</strong></p>}
      {message.text}
    </div>
  );
}

function Source(props: { text: string; label: string }) {
  return (
    <div class="json source">
      <Copy text={props.text} />
      <pre dir="ltr" tabIndex={0} role="region" aria-label={props.label} data-source>{props.text}</pre>
    </div>
  );
}

function Request(props: { message: Message }) {
  const w = useWords(capturedWords);
  const { request } = props.message;
  if (!request) return <p class="faint">{w.noRequest}</p>;
  const headers = Object.entries((request.headers ?? {}) as Record<string, string>);
  return (
    <>
      <p class="faint">{w.secrets}</p>
      <Facts facts={[!!request.url && [w.url, <code><bdi dir="ltr">{request.url}</bdi></code>]]} />
      {headers.length > 0 && (
        <Table plain caption={w.headers} rows={headers} id={(row) => row[0]}
          columns={[
            { key: "header", label: w.header, cell: (row) => <code><bdi dir="ltr">{row[0]}</bdi></code> },
            { key: "value", label: w.value, kind: "wide", cell: (row) => <code><bdi dir="ltr">{row[1]}</bdi></code> },
          ]} />
      )}
      <h2>{w.body}</h2>
      <JsonView value={request.body ?? ""} label={w.body} />
    </>
  );
}

export default function MessagePage({ id }: PageProps) {
  const w = useWords(capturedWords);
  const { query } = usePlace();
  const asked = { path: { id }, query: { attempt: query.get("attempt") } };
  const found = useLoad<Message>("/v1/captured/{id}", asked);
  if (!found.data) return <Waiting of={found} />;
  const message = found.data;
  const isMail = message.type === "email" && !!message.request?.body;
  const tabs: [string, string][] = [];
  if (message.html) tabs.push(["html", w.asHtml]);
  if (message.text) tabs.push(["text", w.asText]);
  if (isMail) tabs.push(["source", w.source]);
  if (message.request && !isMail) tabs.push(["request", w.request]);
  tabs.push(["data", w.data]);
  const tab = tabOf(tabs, query);
  const rest = message.to.length - TO_SHOWN;
  return (
    <Detail
      kind={w.kind}
      title={<bdi>{message.subject ?? message.channel ?? w.gone}</bdi>}
      back={["/captured", w.title]}
      sentence={w.note}
      actions={
        <>
          <a class="button" href={`/deliveries/${id}`}>{w.open}</a>
          <CopyAs path="/v1/captured/{id}" options={asked} peal={asPeal(["captured", "show", id])} />
        </>
      }
      facts={[
        [w.at, <Time at={message.at} />],
        [w.channel, message.channel ? <a href={`/channels/${encodeURIComponent(message.channel)}`}><bdi dir="ltr">{message.channel}</bdi></a> : w.gone],
        !!message.from && [w.from, <bdi dir="ltr">{message.from}</bdi>],
        [w.to, message.to.length ? <><bdi dir="ltr">{message.to.slice(0, TO_SHOWN).join(", ")}</bdi> {rest > 0 && fill(w.more, { n: rest })}</> : "–"],
        [w.attempt, `${message.attempt} (${w.send} ${message.send})`],
        !!message.url && [w.link, <bdi dir="ltr">{message.url}</bdi>],
      ]}
    >
      <Tabs tabs={tabs} label={w.shown} keep={["attempt"]} />
      {tab === "html" && (
        <>
          <p class="faint">{w.closed}</p>
          <iframe class="mail" title={w.frame} sandbox="" src={urlOf("/v1/captured/{id}/html", asked)} />
        </>
      )}
      {tab === "text" && <Text message={message} />}
      {tab === "source" && <Source text={message.request!.body!} label={w.source} />}
      {tab === "request" && <Request message={message} />}
      {tab === "data" && <JsonView value={message.body} label={w.data} />}
    </Detail>
  );
}
