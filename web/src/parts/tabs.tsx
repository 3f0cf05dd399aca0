import { link, usePlace } from "../router";

// Tabs are links, so that each is a URL: ?tab=NAME, the first one without. tabOf is the one that is shown.
export function tabOf(tabs: [string, string][], query: URLSearchParams, name = "tab"): string {
  const wanted = query.get(name);
  return tabs.find(([key]) => key === wanted)?.[0] ?? tabs[0]?.[0] ?? "";
}

export function Tabs(props: { tabs: [string, string][]; label: string; name?: string; keep?: string[] }) {
  const { path, query } = usePlace();
  const name = props.name ?? "tab";
  const now = tabOf(props.tabs, query, name);
  const first = props.tabs[0]?.[0];
  return (
    <nav class="tabs" aria-label={props.label}>
      {props.tabs.map(([key, label]) => {
        const next = new URLSearchParams();
        for (const kept of props.keep ?? []) if (query.get(kept)) next.set(kept, query.get(kept)!);
        if (key !== first) next.set(name, key);
        return (
          <a key={key} href={link(path, next)} aria-current={key === now ? "page" : undefined}>
            {label}
          </a>
        );
      })}
    </nav>
  );
}
