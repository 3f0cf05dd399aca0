// A cron expression in words: what it means, when it comes next, and what becomes of it when clocks are set.
import { useEffect, useState } from "preact/hooks";
import { api, type Answer } from "../api";
import { fill, useWords } from "../i18n";
import type { FieldProps } from "../parts/form";
import { local } from "../time";
import all from "./job.words";
import "./job.css";

export type Preview = Answer<"/v1/cron/preview", "post">;

const PAUSE = 250; // of typing

// useCron asks what an expression means, once the typing rests.
export function useCron(cron: string, zone: string): { told: Preview | null; problem: unknown; isBusy: boolean } {
  const [state, set] = useState<{ told: Preview | null; problem: unknown; isBusy: boolean }>({ told: null, problem: null, isBusy: false });
  useEffect(() => {
    if (!cron.trim()) return set({ told: null, problem: null, isBusy: false });
    const stop = new AbortController();
    set((before) => ({ ...before, isBusy: true }));
    const timer = setTimeout(() => {
      api.post("/v1/cron/preview", { body: { cron, ...(zone ? { zone } : {}), count: 5 }, signal: stop.signal }).then(
        (told) => set({ told, problem: null, isBusy: false }),
        (why: Error) => why.name !== "AbortError" && set({ told: null, problem: why, isBusy: false }),
      );
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [cron, zone]);
  return state;
}

// Browsers know some zones by names that servers have given up.
const RENAMED: Record<string, string> = {
  "Asia/Calcutta": "Asia/Kolkata", "Asia/Katmandu": "Asia/Kathmandu", "Asia/Rangoon": "Asia/Yangon", "Asia/Saigon": "Asia/Ho_Chi_Minh", "Europe/Kiev": "Europe/Kyiv",
  "Africa/Asmera": "Africa/Asmara", "America/Buenos_Aires": "America/Argentina/Buenos_Aires", "America/Indianapolis": "America/Indiana/Indianapolis", "America/Louisville": "America/Kentucky/Louisville",
  "America/Godthab": "America/Nuuk", "Atlantic/Faeroe": "Atlantic/Faroe", "Pacific/Truk": "Pacific/Chuuk", "Pacific/Ponape": "Pacific/Pohnpei", "Pacific/Enderbury": "Pacific/Kanton",
};

function zoneNamed(name: string): string {
  return RENAMED[name] ?? name;
}

export function yourZone(): string {
  return zoneNamed(Intl.DateTimeFormat().resolvedOptions().timeZone);
}

// clockOf is 2026-05-14T12:15:00+02:00 as it is read.
export function clockOf(text: string): string {
  return text.replace("T", " ").replace(/([+-]\d\d:\d\d|Z)$/, " $1");
}

// CronMeans is what a person reads beside the expression.
export function CronMeans(props: { cron: string; zone: string }) {
  const w = useWords(all);
  const { told, problem, isBusy } = useCron(props.cron, props.zone);
  if (!props.cron.trim()) return null;
  return (
    <div class="cron-means" role="status" data-cron={isBusy ? "busy" : problem ? "wrong" : "told"}>
      {!told && !problem && <span class="faint">{w.cronLooking}</span>}
      {!!problem && <bdi class="wrong">{(problem as Error).message}</bdi>}
      {told && (
        <>
          <bdi>{told.explain}</bdi>
          {told.warnings.map((one) => <p key={one} class="note"><bdi>{one}</bdi></p>)}
          <strong>{w.nextFive}</strong>
          {told.items.length === 0 ? <span>{w.noNext}</span> : <ol>{told.items.map((one) => <li key={one.at}><bdi dir="ltr">{clockOf(one.local)}</bdi> <small class="faint">{fill(w.inYours, { zone: yourZone() })}: {local(Date.parse(one.at))}</small></li>)}</ol>}
        </>
      )}
    </div>
  );
}

// CronField is the expression with what it means below, while it is typed.
export function CronField(props: FieldProps) {
  const w = useWords(all);
  const wrong = props.problems[props.place];
  return (
    <div class="field">
      <label for="cron">{w.cron}</label>
      <input id="cron" name={props.place} dir="ltr" class="code" autocomplete="off" spellcheck={false} value={String(props.value ?? "")} aria-describedby="cron-help" aria-invalid={wrong ? true : undefined}
        onInput={(event) => props.set(event.currentTarget.value || undefined)} />
      <small class="help" id="cron-help">{w.cronHelp}</small>
      {wrong && <span class="wrong"><bdi>{wrong}</bdi></span>}
      <CronMeans cron={String(props.value ?? "")} zone={String(props.whole["zone"] ?? "")} />
    </div>
  );
}

// ZoneField is a zone, completed with those that the browser knows.
export function ZoneField(props: FieldProps) {
  const w = useWords(all);
  const wrong = props.problems[props.place];
  return (
    <div class="field">
      <label for="zone">{w.zone}</label>
      <input id="zone" name={props.place} dir="ltr" list="zones" autocomplete="off" placeholder="UTC" value={String(props.value ?? "")} aria-invalid={wrong ? true : undefined} onInput={(event) => props.set(event.currentTarget.value || undefined)} />
      <datalist id="zones">{zones().map((one) => <option key={one} value={one} />)}</datalist>
      {wrong && <span class="wrong"><bdi>{wrong}</bdi></span>}
    </div>
  );
}

export function zones(): string[] {
  return [...new Set(["UTC", ...Intl.supportedValuesOf("timeZone").map(zoneNamed)])];
}
