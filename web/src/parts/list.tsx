import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Query } from "../api";
import { asPeal } from "../curl";
import { count, fill, useWords } from "../i18n";
import { useLive, type LiveFact, type LiveKind } from "../live";
import { go, link, setQuery, usePlace } from "../router";
import { CopyAs } from "./copy";
import { Empty } from "./empty";
import { FilterBar, type Filter } from "./filter";
import { useLoad, type Loaded } from "./load";
import { partWords } from "./parts.words";
import { ProblemBox } from "./problem";
import { Table, type Column } from "./table";

export interface Page<T> {
  items: T[];
  next: string | null;
  complete: boolean;
}

export interface ListProps<T> {
  title: string;
  intro?: ComponentChildren; // one line below the title
  path: string; // of the API
  pathValues?: Record<string, string>;
  query?: Query; // fixed part of the API's query
  filters?: Filter[];
  params?: (query: URLSearchParams) => Query; // from the URL to the API, where names differ
  columns: Column<T>[];
  id: (row: T) => string;
  name?: (row: T) => string;
  href?: (row: T) => string | null;
  empty: { title: string; text?: ComponentChildren; command?: string; good?: boolean };
  live?: LiveKind;
  liveToo?: LiveKind; // another kind of fact that tells of new rows
  isNew?: (fact: LiveFact, rows: T[]) => boolean | Promise<boolean>; // whether a fact is a row that is not shown yet; else rows are renewed in place
  actions?: ComponentChildren; // at the head
  above?: ComponentChildren; // between the head and the filter: tabs, tiles
  bulk?: (picked: { ids: string[]; rows: T[]; clear: () => void; reload: () => void }) => ComponentChildren;
  peal?: string[]; // words of the command, such as ["deliveries"]; filters are its flags
  limit?: number;
  within?: boolean; // a list within a page: h2, no paging of the page's own cursor
  loaded?: (list: Loaded<Page<T>>) => void;
  arrange?: (rows: T[]) => T[]; // another order of the rows of a page
}

// List is a page that lists: filter in the URL, pages by cursor, rows that wait instead of jumping in.
export function List<T>(props: ListProps<T>) {
  const w = useWords(partWords);
  const { path, query, state } = usePlace();
  const [picked, setPicked] = useState<string[]>([]);
  const [fresh, setFresh] = useState<Set<string>>(new Set());
  const cursorName = props.within ? `${props.path.split("/").pop()}Cursor` : "cursor";
  const filters = props.filters ?? [];
  const asked: Query = { ...props.query };
  if (props.params) Object.assign(asked, props.params(query));
  else for (const filter of filters) if (query.get(filter.name)) asked[filter.name] = query.get(filter.name);
  const cursor = query.get(cursorName);
  const whole: Query = { ...asked, limit: props.limit ?? 50, cursor };
  const list = useLoad<Page<T>>(props.path, { path: props.pathValues ?? {}, query: whole });
  const rows = list.data ? (props.arrange ? props.arrange(list.data.items) : list.data.items) : [];
  const isFiltered = filters.some((one) => query.get(one.name));
  useEffect(() => {
    setPicked([]);
    setFresh(new Set());
  }, [JSON.stringify(whole)]);
  useEffect(() => props.loaded?.(list), [list.data]);

  // Rows are renewed in place at most once a second, and not while some are picked.
  const timer = useRef(0);
  const isPicking = useRef(false);
  isPicking.current = picked.length > 0;
  useEffect(() => () => clearTimeout(timer.current), []);
  const latest = useRef(rows);
  latest.current = rows;
  const told = (fact: LiveFact) => {
    const id = String(fact.data["id"] ?? "");
    const isShown = latest.current.some((row) => props.id(row) === id);
    const wait = () => !cursor && id && setFresh((before) => (before.has(id) ? before : new Set(before).add(id)));
    const isNew = fact.kind === "gap" || (!isShown && (props.isNew ? props.isNew(fact, latest.current) : true));
    if (isNew === true) return void wait();
    if (isNew) return void isNew.then((yes) => yes && !latest.current.some((row) => props.id(row) === id) && wait(), () => undefined);
    if (!isShown || timer.current) return;
    timer.current = window.setTimeout(() => {
      timer.current = 0;
      if (!isPicking.current) renewShown();
    }, 1000);
  };
  useLive(props.live, told);
  useLive(props.liveToo, told);
  const renewShown = () => {
    if (!list.data) return;
    const shown = new Set(latest.current.map(props.id));
    keep.current = shown;
    list.reload();
  };
  const keep = useRef<Set<string> | null>(null);
  // What came with a renewal but was not shown before waits as well.
  const visible = keep.current && !cursor ? rows.filter((row) => keep.current!.has(props.id(row))) : rows;
  const showFresh = () => {
    keep.current = null;
    setFresh(new Set());
    list.reload();
  };
  useEffect(() => void (keep.current = null), [JSON.stringify(whole)]);

  const back = (state["cursors"] as (string | null)[] | undefined) ?? [];
  const toPage = (to: string | null, cursors: (string | null)[]) => {
    const next = new URLSearchParams(query);
    if (to) next.set(cursorName, to);
    else next.delete(cursorName);
    go(link(path, next), { state: { cursors } });
  };
  const toggle = (id: string) => setPicked((before) => (before.includes(id) ? before.filter((one) => one !== id) : [...before, id]));
  const selection = props.bulk ? { ids: picked, toggle, set: setPicked } : undefined;
  const pickedRows = visible.filter((row) => picked.includes(props.id(row)));
  const flags = Object.fromEntries(Object.entries(asked).map(([name, value]) => [name, value === undefined || value === null ? null : String(value)]));
  const Head = props.within ? "h2" : "h1";
  return (
    <section class="list">
      <div class="head">
        <div>
          <Head>{props.title}</Head>
          {props.intro && <p class="intro">{props.intro}</p>}
        </div>
        <div class="head-actions">
          {props.actions}
          <CopyAs path={props.path} options={{ path: props.pathValues ?? {}, query: asked }} {...(props.peal ? { peal: asPeal(props.peal, flags) } : {})} />
        </div>
      </div>
      {props.above}
      {filters.length > 0 && <FilterBar filters={filters} />}
      <div class="list-bar" aria-live="off">
        {picked.length > 0 && props.bulk && (
          <div class="bulk">
            <span>{fill(w.selected, { n: picked.length })}</span>
            {props.bulk({ ids: picked, rows: pickedRows, clear: () => setPicked([]), reload: list.reload })}
            <button type="button" class="plain" onClick={() => setPicked([])}>{w.clear}</button>
          </div>
        )}
        {fresh.size > 0 && <button type="button" class="fresh" onClick={showFresh}>{count(w.newRows, fresh.size)}</button>}
      </div>
      <ProblemBox problem={list.problem} again={list.reload} />
      {!list.data && !list.problem && <p class="loading" aria-busy="true">{w.loading}</p>}
      {list.data && visible.length === 0 && !cursor && list.data.next === null &&
        (isFiltered ? (
          <Empty title={w.hiddenTitle} text={w.hiddenText}>
            <button type="button" onClick={() => setQuery(Object.fromEntries(filters.map((one) => [one.name, null])))}>{w.clearFilter}</button>
          </Empty>
        ) : (
          <Empty {...props.empty} />
        ))}
      {list.data && visible.length > 0 && (
        <Table caption={props.title} columns={props.columns} rows={visible} id={props.id} plain={!!props.within} {...(props.href ? { href: props.href } : {})} {...(props.name ? { name: props.name } : {})} {...(selection ? { selection } : {})} />
      )}
      {list.data && (
        <nav class="pager" aria-label={`${props.title}: ${w.pages}`}>
          <span class="faint">{count(w.rows, visible.length)}</span>
          {!list.data.complete && <span class="faint">{w.incomplete}</span>}
          <button type="button" class="plain" onClick={showFresh}>{w.refresh}</button>
          {cursor && back.length > 0 && <button type="button" onClick={() => toPage(back[back.length - 1] ?? null, back.slice(0, -1))}>{w.before}</button>}
          {cursor && back.length === 0 && <button type="button" onClick={() => toPage(null, [])}>{w.first}</button>}
          {list.data.next && <button type="button" onClick={() => toPage(list.data!.next, [...back, cursor])}>{w.next}</button>}
        </nav>
      )}
    </section>
  );
}
