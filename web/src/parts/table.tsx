import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { fill, useWords } from "../i18n";
import { onKeys } from "../keys";
import { go } from "../router";
import { partWords } from "./parts.words";

export interface Column<T> {
  key: string;
  label: string;
  cell: (row: T) => ComponentChildren;
  kind?: "number" | "id" | "main" | "wide"; // main: the one that opens the row
}

export interface Selection {
  ids: string[];
  toggle: (id: string) => void;
  set: (ids: string[]) => void;
}

export interface TableProps<T> {
  caption: string;
  columns: Column<T>[];
  rows: T[];
  id: (row: T) => string;
  href?: (row: T) => string | null;
  selection?: Selection;
  name?: (row: T) => string; // of a row, for who cannot see it
  plain?: boolean; // no keys: a small table within a page
}

// Table is a table: with a caption, headers, and rows that j, k, x and Enter move in.
export function Table<T>(props: TableProps<T>) {
  const w = useWords(partWords);
  const [at, setAt] = useState(-1);
  const body = useRef<HTMLTableSectionElement>(null);
  const latest = useRef({ at, props });
  latest.current = { at, props };
  const { selection } = props;
  const move = (by: number) => {
    const { at: from, props: now } = latest.current;
    const next = Math.min(Math.max(from + by, 0), now.rows.length - 1);
    setAt(next);
    const row = body.current?.rows[next];
    (row?.querySelector<HTMLElement>("a, input, button") ?? row)?.focus();
    row?.scrollIntoView({ block: "nearest" });
  };
  useEffect(() => {
    if (props.plain) return;
    return onKeys({
      j: () => move(1),
      k: () => move(-1),
      x: () => {
        const { at: here, props: now } = latest.current;
        const row = now.rows[here];
        if (!row || !now.selection) return false;
        now.selection.toggle(now.id(row));
        return true;
      },
      Enter: (event) => {
        const { at: here, props: now } = latest.current;
        const row = now.rows[here];
        const to = row && now.href?.(row);
        if (!to || (event.target as HTMLElement).closest("a, button, summary")) return false;
        go(to);
        return true;
      },
    });
  }, [props.plain]);
  const nameOf = props.name ?? props.id;
  const all = props.rows.map(props.id);
  return (
    <div class="table-box" tabIndex={0} role="region" aria-label={props.caption}>
      <table>
        <caption class="off-screen">{props.caption}</caption>
        <thead>
          <tr>
            {selection && (
              <th scope="col" class="check">
                <input type="checkbox" aria-label={w.selectAll} checked={all.length > 0 && all.every((one) => selection.ids.includes(one))}
                  onChange={(event) => selection.set(event.currentTarget.checked ? all : [])} />
              </th>
            )}
            {props.columns.map((column) => <th key={column.key} scope="col" class={column.kind ?? ""}>{column.label}</th>)}
          </tr>
        </thead>
        <tbody ref={body}>
          {props.rows.map((row, n) => {
            const id = props.id(row);
            const to = props.href?.(row);
            return (
              <tr key={id} data-id={id} class={`${n === at ? "is-at" : ""}${selection?.ids.includes(id) ? " is-selected" : ""}`} onFocusCapture={() => setAt(n)}>
                {selection && (
                  <td class="check">
                    <input type="checkbox" aria-label={fill(w.select, { name: nameOf(row) })} checked={selection.ids.includes(id)} onChange={() => selection.toggle(id)} />
                  </td>
                )}
                {props.columns.map((column, c) => {
                  const opens = to && (column.kind === "main" || (c === 0 && !props.columns.some((one) => one.kind === "main")));
                  return <td key={column.key} class={column.kind ?? ""}>{opens ? <a href={to}>{column.cell(row)}</a> : column.cell(row)}</td>;
                })}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
