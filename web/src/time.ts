// Times as a person wants to read them. What is relative goes by the server's clock, which may be a manual one.
import { locale } from "./i18n";
import { prefs } from "./prefs";
import { store } from "./store";

let ahead = 0; // of the server before this browser, in ms

export function setClock(now: string): void {
  ahead = Date.parse(now) - Date.now();
  tick.set(tick.get() + 1); // what is shown already is told anew
}

export function serverNow(): number {
  return Date.now() + ahead;
}

// tick moves every ten seconds while somebody looks.
export const tick = store(0);
setInterval(() => {
  if (!document.hidden) tick.set(tick.get() + 1);
}, 10_000);

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000],
];

export function relative(at: number, now = serverNow()): string {
  const distance = at - now;
  const [unit, length] = UNITS.find(([, length]) => Math.abs(distance) >= length) ?? ["second", 1000];
  return new Intl.RelativeTimeFormat(locale(), { numeric: "auto", style: "short" }).format(Math.round(distance / length), unit);
}

function stamp(at: number, zone?: string, seconds = true): string {
  const options: Intl.DateTimeFormatOptions = { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  if (seconds) options.second = "2-digit";
  if (zone) options.timeZone = zone;
  return new Intl.DateTimeFormat(locale(), options).format(at);
}

export function local(at: number): string {
  return stamp(at);
}

export function utc(at: number): string {
  return new Date(at).toISOString().replace("T", " ").replace(/\.\d+Z$/, "Z");
}

export function inZone(at: number, zone: string): string {
  return stamp(at, zone);
}

// shown is a moment as the person chose to read them.
export function shown(at: number): string {
  const { time } = prefs.get();
  return time === "relative" ? relative(at) : time === "local" ? local(at) : utc(at);
}

// span is a length of time in ms: "320 ms", "4.2 s", "3 min", "2 h 5 min".
export function span(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  const hours = Math.floor(ms / 3_600_000);
  if (hours < 48) return `${hours} h ${Math.round((ms % 3_600_000) / 60_000)} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}
