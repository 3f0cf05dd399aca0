import type { ComponentChildren } from "preact";
import { language } from "../i18n";
import { stateWords } from "./parts.words";

export type Tone = "calm" | "good" | "busy" | "warn" | "bad";
const TONES: Record<string, [Tone, string]> = {
  delivered: ["good", "✓"], completed: ["good", "✓"], done: ["good", "✓"], ok: ["good", "✓"], enabled: ["good", "●"], alive: ["good", "●"], closed: ["good", "●"], fired: ["good", "✓"], answered: ["good", "✓"],
  sending: ["busy", "▸"], running: ["busy", "▸"], due: ["busy", "▸"], pending: ["calm", "○"], scheduled: ["calm", "○"], queued: ["calm", "○"],
  retrying: ["warn", "↻"], paused: ["warn", "‖"], "half-open": ["warn", "◐"], held: ["warn", "‖"],
  parked: ["bad", "!"], failed: ["bad", "✕"], dead: ["bad", "✕"], open: ["bad", "!"], refused: ["bad", "✕"],
  success: ["good", "✓"], enqueued: ["calm", "○"], transient: ["warn", "↻"], unknown: ["warn", "?"], expired: ["warn", "–"], permanent: ["bad", "✕"],
  discarded: ["calm", "–"], cancelled: ["calm", "–"], suppressed: ["calm", "–"], skipped: ["calm", "–"], disabled: ["calm", "–"], left: ["calm", "–"],
};

// StateBadge says a state by a word, a sign and a colour; a state it does not know is calm.
export function StateBadge(props: { state: string; tone?: Tone; children?: ComponentChildren }) {
  const [tone, sign] = TONES[props.state.toLowerCase()] ?? ["calm", "·"];
  const text = props.children ?? (language() === "ar" ? stateWords.ar[props.state.toLowerCase()] : undefined) ?? props.state;
  return (
    <span class={`badge is-${props.tone ?? tone}`} data-state={props.state}>
      <span aria-hidden="true">{sign}</span> {text}
    </span>
  );
}
