// Where one is: the URL, and nothing else. Links are ordinary links; a click on one that leads to a page of the console
// changes the URL without loading anything again.
import { store, useStore } from "./store";
import { findPage } from "./pages";

export interface Place {
  path: string;
  query: URLSearchParams;
  hash: string;
  state: Record<string, unknown>;
}

function read(): Place {
  return {
    path: location.pathname,
    query: new URLSearchParams(location.search),
    hash: location.hash.slice(1),
    state: (history.state as Record<string, unknown> | null) ?? {},
  };
}

export const place = store<Place>(read());

export function go(url: string, options: { replace?: boolean; state?: Record<string, unknown> } = {}): void {
  const state = options.state ?? {};
  if (options.replace) history.replaceState(state, "", url);
  else history.pushState(state, "", url);
  place.set(read());
}

export function usePlace(): Place {
  return useStore(place);
}

// link is a path with a query: empty values are left out.
export function link(path: string, query: Record<string, string | number | boolean | null | undefined> | URLSearchParams = {}): string {
  const search = query instanceof URLSearchParams ? query : new URLSearchParams();
  if (!(query instanceof URLSearchParams))
    for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== null && value !== "") search.set(name, String(value));
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}

// setQuery changes some of the query; null takes a name away. Another filter begins at the first page.
export function setQuery(change: Record<string, string | null>, options: { replace?: boolean; keepCursor?: boolean } = {}): void {
  const now = place.get();
  const query = new URLSearchParams(now.query);
  for (const [name, value] of Object.entries(change))
    if (value === null || value === "") query.delete(name);
    else query.set(name, value);
  if (!options.keepCursor) query.delete("cursor");
  go(link(now.path, query), options.replace ? { replace: true } : {});
}

function clicked(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const anchor = (event.target as Element | null)?.closest?.("a");
  if (!anchor || anchor.target || anchor.hasAttribute("download") || anchor.origin !== location.origin) return;
  const url = new URL(anchor.href);
  if (url.pathname === location.pathname && url.search === location.search && url.hash) return; // within the page
  if (!findPage(url.pathname)) return;
  event.preventDefault();
  go(url.pathname + url.search + url.hash);
}

export function startRouter(): void {
  window.addEventListener("popstate", () => place.set(read()));
  document.addEventListener("click", clicked);
}
