import { useId, useState } from "preact/hooks";
import { fill, useWords } from "../i18n";
import { setQuery, usePlace } from "../router";
import { partWords } from "./parts.words";

export interface Filter {
  name: string; // in the URL, and of the API unless List says otherwise
  label: string;
  kind?: "text" | "choice" | "time" | "flag";
  values?: string[] | (() => Promise<string[]>); // of a choice; what a text is completed with
  labels?: Record<string, string>; // of values
}

// FilterBar keeps its state in the URL: name:value in one field, or chosen from a list; what holds stands below as chips.
export function FilterBar(props: { filters: Filter[] }) {
  const w = useWords(partWords);
  const { query } = usePlace();
  const [name, setName] = useState(props.filters[0]?.name ?? "");
  const [value, setValue] = useState("");
  const [known, setKnown] = useState<Record<string, string[]>>({});
  const id = useId();
  const chosen = props.filters.find((one) => one.name === name) ?? props.filters[0];
  if (!chosen) return null;
  const valuesOf = (filter: Filter): string[] => (filter.kind === "flag" ? ["true", "false"] : Array.isArray(filter.values) ? filter.values : (known[filter.name] ?? []));
  const labelOf = (filter: Filter, one: string) => filter.labels?.[one] ?? (filter.kind === "flag" ? (one === "true" ? w.yes : w.no) : one);
  const choose = (next: string) => {
    if (next !== name) setValue("");
    setName(next);
    const filter = props.filters.find((one) => one.name === next);
    if (filter && typeof filter.values === "function" && !known[next])
      filter.values().then(
        (found) => setKnown((before) => ({ ...before, [next]: found })),
        () => undefined,
      );
  };
  // What is typed as name:value is taken at its word.
  const apply = (event: Event) => {
    event.preventDefault();
    const typed = /^([\w.]+):(.+)$/.exec(value.trim());
    const named = typed && props.filters.find((one) => one.name === typed[1]);
    const filter = named ?? chosen;
    const text = (named ? typed[2]! : value).trim();
    if (!text) return;
    setQuery({ [filter.name]: filter.kind === "time" ? new Date(text).toISOString() : text });
    setValue("");
  };
  const set = props.filters.filter((one) => query.get(one.name));
  const isChoice = chosen.kind === "flag" || chosen.kind === "choice";
  return (
    <form class="filter" role="search" aria-label={w.filter} onSubmit={apply}>
      <label>
        <span class="off-screen">{w.field}</span>
        <select value={name} onChange={(event) => choose(event.currentTarget.value)} data-filter>
          {props.filters.map((one) => (
            <option key={one.name} value={one.name} selected={one.name === name}>{one.label}</option>
          ))}
        </select>
      </label>
      <label class="grow">
        <span class="off-screen">{w.value}</span>
        {isChoice ? (
          <select
            value={value}
            name="value"
            onFocus={() => choose(name)}
            onChange={(event) => {
              const next = event.currentTarget.value;
              setValue("");
              if (next) setQuery({ [chosen.name]: next });
            }}
          >
            <option value="">{w.choose}</option>
            {valuesOf(chosen).map((one) => <option key={one} value={one}>{labelOf(chosen, one)}</option>)}
          </select>
        ) : (
          <>
            <input name="value" type={chosen.kind === "time" ? "datetime-local" : "text"} step={1} value={value} list={`${id}-known`} placeholder={chosen.kind === "time" ? "" : chosen.label}
              autocomplete="off" onFocus={() => choose(name)} onInput={(event) => setValue(event.currentTarget.value)} />
            <datalist id={`${id}-known`}>{valuesOf(chosen).map((one) => <option key={one} value={one} />)}</datalist>
          </>
        )}
      </label>
      {!isChoice && <button type="submit">{w.apply}</button>}
      {set.length > 0 && (
        <ul class="chips">
          {set.map((one) => (
            <li key={one.name}>
              <button type="button" class="chip" onClick={() => setQuery({ [one.name]: null })} aria-label={fill(w.remove, { name: `${one.label}: ${query.get(one.name)}` })}>
                <span>{one.label}: <bdi>{labelOf(one, query.get(one.name)!)}</bdi></span> <span aria-hidden="true">×</span>
              </button>
            </li>
          ))}
          <li><button type="button" class="plain" onClick={() => setQuery(Object.fromEntries(props.filters.map((one) => [one.name, null])))}>{w.clearFilter}</button></li>
        </ul>
      )}
    </form>
  );
}
