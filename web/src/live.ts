// What happens, as it happens: one stream for all tabs of a browser. A tab that is seen leads: it says so in the browser's
// storage every two seconds, reads the stream and passes on what it reads; when it is hidden or closed another leads. Tabs
// that nobody sees read nothing. The stream is read by fetch, for its signs of life are comments, which EventSource hides.
import { useEffect, useRef } from "preact/hooks";
import { prefs } from "./prefs";
import { session } from "./session";
import { store } from "./store";

export type LiveKind = "event" | "delivery" | "hook";
export interface LiveFact {
  kind: LiveKind | "gap";
  data: Record<string, unknown>;
}
export interface LiveState {
  is: "off" | "connecting" | "live" | "stale" | "paused";
  at: number; // of the last sign of life
}

type Wire = { tag: "fact"; fact: LiveFact } | { tag: "alive"; at: number } | { tag: "down"; at: number } | { tag: "bye" };

const LEADER = "peal.live";
const BEAT = 2000;
const LOST = 3 * BEAT; // a leader that is silent for so long is gone
const SETTLE = 150; // for two that claim at once
const STALE = 10_000; // without a stream
const QUIET = 25_000; // a stream has a sign of life each 15 s

export const liveState = store<LiveState>({ is: "off", at: 0 });
const own = Math.random().toString(36).slice(2);
const listeners = new Set<(fact: LiveFact) => void>();
const channel = new BroadcastChannel("peal.live");
let reading: AbortController | null = null;
let isLeader = false;
let lastId = "";
let downSince = 0;

function leaderNow(): { id: string; at: number } | null {
  try {
    return JSON.parse(localStorage.getItem(LEADER) ?? "null") as { id: string; at: number } | null;
  } catch {
    return null;
  }
}

function tell(message: Wire): void {
  channel.postMessage(message);
  hear(message);
}

function hear(message: Wire): void {
  if (message.tag === "fact") for (const told of [...listeners]) told(message.fact);
  if (message.tag === "alive") {
    downSince = 0;
    liveState.set({ is: "live", at: message.at });
  }
  if (message.tag === "down") downSince ||= message.at;
  if (message.tag === "bye") setTimeout(turn, Math.random() * SETTLE);
}

channel.onmessage = (event: MessageEvent<Wire>) => {
  if (wants()) hear(event.data);
};

function frame(text: string): void {
  let kind = "";
  const data: string[] = [];
  for (const line of text.split("\n")) {
    if (line.startsWith("event:")) kind = line.slice(6).trim();
    if (line.startsWith("data:")) data.push(line.slice(5).trim());
    if (line.startsWith("id:")) lastId = line.slice(3).trim();
  }
  if (!kind || kind === "end" || data.length === 0) return;
  try {
    tell({ tag: "fact", fact: { kind: kind as LiveKind, data: JSON.parse(data.join("\n")) as Record<string, unknown> } });
  } catch {
    // Half a frame tells nothing; the next one is whole.
  }
}

function kinds(): string {
  const role = session.get()?.role;
  return role === "admin" || role === "operator" || role === "author" ? "event,delivery,hook" : "event,delivery";
}

async function read(stop: AbortController): Promise<void> {
  const headers: Record<string, string> = { "Peal-Console": "1" };
  if (lastId) headers["Last-Event-ID"] = lastId;
  const answer = await fetch(`/v1/stream?kinds=${kinds()}`, { headers, signal: stop.signal, credentials: "same-origin" });
  if (!answer.ok || !answer.body) throw new Error(String(answer.status));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let quiet = 0;
  const watch = () => {
    clearTimeout(quiet);
    quiet = window.setTimeout(() => stop.abort(), QUIET);
  };
  try {
    tell({ tag: "alive", at: Date.now() });
    for (;;) {
      watch();
      const { value, done } = await reader.read();
      if (done) return;
      tell({ tag: "alive", at: Date.now() });
      const parts = (rest + value.replace(/\r\n/g, "\n")).split("\n\n");
      rest = parts.pop() ?? "";
      parts.forEach(frame);
    }
  } finally {
    clearTimeout(quiet);
  }
}

async function lead(): Promise<void> {
  for (let wait = 500; isLeader; wait = Math.min(wait * 2, 5000)) {
    reading = new AbortController();
    const began = Date.now();
    try {
      await read(reading);
    } catch {
      // Whatever it was, it is tried again; staleness is told meanwhile.
    }
    downSince ||= Date.now();
    channel.postMessage({ tag: "down", at: downSince } satisfies Wire);
    if (Date.now() - began > 5000) wait = 500;
    if (isLeader) await new Promise((done) => setTimeout(done, wait));
  }
}

function wants(): boolean {
  return !!session.get() && prefs.get().live && !document.hidden;
}

function stepDown(): void {
  const isOurs = leaderNow()?.id === own; // also where it was only claimed
  if (isOurs) localStorage.removeItem(LEADER);
  if (!isLeader && !isOurs) return;
  isLeader = false;
  reading?.abort();
  channel.postMessage({ tag: "bye" } satisfies Wire);
}

function claim(): void {
  localStorage.setItem(LEADER, JSON.stringify({ id: own, at: Date.now() }));
  setTimeout(() => {
    if (!wants() || leaderNow()?.id !== own || isLeader) return;
    isLeader = true;
    void lead();
  }, SETTLE);
}

function judge(): void {
  const state = liveState.get();
  if (!session.get()) return liveState.set({ is: "off", at: 0 });
  if (!prefs.get().live) return liveState.set({ ...state, is: "paused" });
  if (state.is === "off" || state.is === "paused") {
    downSince = Date.now();
    return liveState.set({ is: "connecting", at: state.at });
  }
  if (state.is === "live" && Date.now() - state.at > STALE + 15_000) downSince ||= state.at;
  if (state.is !== "stale" && downSince && Date.now() - downSince >= STALE) liveState.set({ is: "stale", at: state.at });
}

function turn(): void {
  judge();
  if (!wants()) return stepDown();
  const leader = leaderNow();
  if (isLeader && leader && leader.id !== own && Date.now() - leader.at < LOST) return stepDown();
  if (isLeader) localStorage.setItem(LEADER, JSON.stringify({ id: own, at: Date.now() }));
  else if (!leader || Date.now() - leader.at > LOST) claim();
}

export function startLive(): void {
  setInterval(turn, BEAT);
  document.addEventListener("visibilitychange", turn);
  window.addEventListener("pagehide", stepDown);
  session.watch(turn);
  prefs.watch(turn);
  turn();
}

// useLive calls told for facts of a kind, while the view is shown.
export function useLive(kind: LiveKind | undefined, told: (fact: LiveFact) => void): void {
  const latest = useRef(told);
  latest.current = told;
  useEffect(() => {
    if (!kind) return;
    const listener = (fact: LiveFact) => {
      if (fact.kind === kind || fact.kind === "gap") latest.current(fact);
    };
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, [kind]);
}
