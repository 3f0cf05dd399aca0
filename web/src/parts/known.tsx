import { useEffect, useId, useState } from "preact/hooks";
import { send } from "../api";
import { useWords } from "../i18n";
import type { FieldProps } from "./form";
import { partWords } from "./parts.words";

const asked = new Map<string, Promise<string[]>>();

// ids asks once a page for what a list of the API has: channels by their keys, kinds of recent events.
export function knownIds(path: string, of: (row: Record<string, unknown>) => unknown): Promise<string[]> {
  const found = asked.get(path);
  if (found) return found;
  const told = send<{ items: Record<string, unknown>[] }>("GET", path, { query: { limit: 100 } }).then((page) => [...new Set(page.items.map((row) => String(of(row) ?? "")).filter(Boolean))]);
  asked.set(path, told);
  const forget = () => setTimeout(() => asked.delete(path), 5000);
  told.then(forget, forget);
  return told;
}

export function useKnown(path: string, of: (row: Record<string, unknown>) => unknown): string[] {
  const [known, setKnown] = useState<string[]>([]);
  useEffect(() => {
    let isHere = true;
    knownIds(path, of).then((all) => isHere && setKnown(all), () => undefined);
    return () => void (isHere = false);
  }, [path]);
  return known;
}

// Known is a field that is completed with what there is; anything else may be written.
export function Known(props: FieldProps & { from: string; of: (row: Record<string, unknown>) => unknown; label: string; isRequired?: boolean; only?: boolean }) {
  const w = useWords(partWords);
  const known = useKnown(props.from, props.of);
  const id = useId();
  const wrong = props.problems[props.place];
  const help = props.schema.description;
  const described = [help ? `${id}-help` : "", wrong ? `${id}-wrong` : ""].filter(Boolean).join(" ") || undefined;
  return (
    <div class="field">
      <label for={id}><span class="field-label">{props.label} {props.isRequired && <small class="required">{w.required}</small>}</span></label>
      <input id={id} name={props.place} dir="ltr" list={`${id}-known`} value={String(props.value ?? "")} autocomplete="off" aria-invalid={wrong ? true : undefined} aria-describedby={described}
        onInput={(event) => props.set(event.currentTarget.value || undefined)} />
      <datalist id={`${id}-known`}>{known.map((one) => <option key={one} value={one} />)}</datalist>
      {help && <small class="help" id={`${id}-help`}><bdi>{help}</bdi></small>}
      {wrong && <span class="wrong" id={`${id}-wrong`}><bdi>{wrong}</bdi></span>}
    </div>
  );
}
