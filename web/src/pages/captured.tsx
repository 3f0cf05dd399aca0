import { useEffect, useRef, useState } from "preact/hooks";
import { api, type Row } from "../api";
import { useWords } from "../i18n";
import { useLive } from "../live";
import { List, type Page } from "../parts/list";
import type { Loaded } from "../parts/load";
import { Time } from "../parts/time";
import { usePlace } from "../router";
import { capturedWords } from "./captured.words";
import "./captured.css";

type Captured = Row<"/v1/captured">;
const SENT = ["delivered", "waiting", "completed"];

// plain is what a text says without its tags; an element that is never shown reads them.
function plain(text: string): string {
  return /<[a-z!/]/i.test(text) ? (new DOMParser().parseFromString(text, "text/html").body.textContent ?? "").trim() : text;
}

// said is what a row says, in short: its subject, else its text, else its event.
export function said(body: unknown): string {
  const one = (body ?? {}) as Record<string, unknown>;
  for (const part of [one, (one["payload"] ?? {}) as Record<string, unknown>])
    for (const name of ["subject", "text", "body"]) if (typeof part[name] === "string" && part[name]) return plain(String(part[name])).slice(0, 200);
  return String(one["type"] ?? "");
}

// A fact does not say by which channel a delivery went: whether it was captured is asked, once a second at most.
function useFresh(): [boolean, () => void] {
  const [isFresh, setFresh] = useState(false);
  const waits = useRef(0);
  useEffect(() => () => clearTimeout(waits.current), []);
  useLive("delivery", (fact) => {
    const id = String(fact.data["id"] ?? "");
    if (!id || waits.current || isFresh || !SENT.includes(String(fact.data["state"]))) return;
    waits.current = window.setTimeout(() => {
      waits.current = 0;
      api.get("/v1/captured", { query: { delivery: id, limit: 1 } }).then(
        (told) => told.items.length > 0 && setFresh(true),
        () => undefined,
      );
    }, 300);
  });
  return [isFresh, () => setFresh(false)];
}

export default function CapturedPage() {
  const w = useWords(capturedWords);
  const { query } = usePlace();
  const [isFresh, seen] = useFresh();
  const list = useRef<Loaded<Page<Captured>> | null>(null);
  const show = () => {
    seen();
    list.current?.reload();
  };
  return (
    <List<Captured>
      title={w.title}
      intro={w.intro}
      path="/v1/captured"
      query={{ newest: true }}
      params={(asked) => ({ newest: true, channel: asked.get("channel"), delivery: asked.get("delivery") })}
      filters={[
        { name: "channel", label: w.channel, values: async () => (await api.get("/v1/channels", { query: { limit: 200 } })).items.map((one) => one.key) },
        { name: "delivery", label: w.delivery },
      ]}
      id={(row) => `${row.deliveryId}.${row.attempt}`}
      name={(row) => `${row.channel ?? ""} ${row.address ?? ""}`}
      href={(row) => `/captured/${row.deliveryId}?attempt=${row.attempt}`}
      peal={["captured", "--newest"]}
      loaded={(told) => (list.current = told)}
      above={isFresh && !query.get("cursor") && <p><button type="button" class="fresh" onClick={show}>{w.fresh}</button></p>}
      columns={[
        { key: "at", label: w.at, kind: "main", cell: (row) => <Time at={row.at} /> },
        { key: "channel", label: w.channel, cell: (row) => <bdi dir="ltr">{row.channel ?? "–"}</bdi> },
        { key: "to", label: w.to, cell: (row) => <bdi dir="ltr">{row.address ?? "–"}</bdi> },
        { key: "what", label: w.what, kind: "wide", cell: (row) => <span class="said" dir="auto">{said(row.body)}</span> },
        { key: "send", label: w.send, kind: "number", cell: (row) => row.send },
        { key: "attempt", label: w.attempt, kind: "number", cell: (row) => row.attempt },
      ]}
      empty={{ title: w.nothing, text: w.nothingText, command: "peal emit order.paid --recipient ada@example.org" }}
    />
  );
}
