import { number, useWords } from "../i18n";
import { local } from "../time";
import type { BulkFilter } from "./bulk";
import { bulkDialogWords } from "./bulkdialog.words";
import "./bulk.css";

// FilterWords says a filter as a person reads it.
export function FilterWords(props: { filter: BulkFilter }) {
  const w = useWords(bulkDialogWords);
  const known = w as Record<string, string>;
  const parts = Object.entries(props.filter).filter(([name]) => name !== "ids");
  const ids = props.filter["ids"];
  if (parts.length === 0 && !Array.isArray(ids)) return <span>{w.everything}</span>;
  return (
    <ul class="chips filter-words">
      {parts.map(([name, value]) => (
        <li key={name} class="chip is-said">
          {known[name] ?? name}: <bdi>{value === true ? "✓" : name === "from" || name === "to" ? local(Date.parse(String(value))) : String(value)}</bdi>
        </li>
      ))}
      {Array.isArray(ids) && <li class="chip is-said">{w.ids}: {number(ids.length)}</li>}
    </ul>
  );
}
