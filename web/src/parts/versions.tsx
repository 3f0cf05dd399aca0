// What a definition ever said: its versions, two of them compared, and any of them to go on from.
import type { Answer } from "../api";
import { keepDraft } from "../drafts";
import { fill, useWords } from "../i18n";
import { go, link, setQuery, usePlace } from "../router";
import { Compare } from "./compare";
import type { Page } from "./list";
import { useLoad } from "./load";
import { ProblemBox } from "./problem";
import { Table } from "./table";
import { Time } from "./time";
import { Waiting } from "./waiting";
import all from "./author.words";
import "./author.css";

// What was saved has a moment and who did it; what a survey published has the moment alone.
type Saved = Answer<"/v1/triggers/{id}/versions">["items"][number];
type Version = Partial<Saved> & { version: number; publishedAt?: string };
interface Whole {
  definition?: Record<string, unknown>;
  survey?: Record<string, unknown>;
}

function text(of: Whole | null): string {
  return of ? JSON.stringify(of.definition ?? of.survey, null, 2) : "";
}

export interface VersionsProps {
  path: string; // "/v1/triggers/{id}/versions", of the kind
  id: string;
  now: number | null;
  draft: string; // what its form calls its draft
  from?: number | null; // the version that an edit begins from; now unless said
  page: string;
  tab?: string;
  edit?: boolean;
}

export function Versions(props: VersionsProps) {
  const w = useWords(all);
  const { query } = usePlace();
  const list = useLoad<Page<Version>>(props.path, { path: { id: props.id }, query: { limit: 100 } });
  const rows = list.data?.items ?? [];
  const after = Number(query.get("after") ?? rows[0]?.version ?? 0);
  const before = Number(query.get("before") ?? rows.find((one) => one.version < after)?.version ?? 0);
  const one = useLoad<Whole>(before ? `${props.path}/{version}` : null, { path: { id: props.id, version: before } });
  const other = useLoad<Whole>(after ? `${props.path}/{version}` : null, { path: { id: props.id, version: after } });
  if (!list.data) return <Waiting of={list} />;
  const choice = (name: "before" | "after", value: number) => (
    <label class="field">
      <span>{w[name]}</span>
      <select value={String(value)} name={name} onChange={(event) => setQuery({ [name]: event.currentTarget.value }, { replace: true })}>
        {rows.map((row) => <option key={row.version} value={String(row.version)} selected={row.version === value}>{w.version} {row.version}</option>)}
      </select>
    </label>
  );
  const editFrom = (version: number) => {
    const found = version === after ? other.data : version === before ? one.data : null;
    if (!found) return;
    keepDraft(props.draft, found.definition ?? found.survey ?? {}, props.from ?? props.now);
    go(link(props.page, { tab: "edit" }));
  };
  return (
    <>
      {rows.length > 1 ? (
        <>
          <div class="versions-pick">
            {choice("before", before)}
            {choice("after", after)}
            {props.edit !== false && before > 0 && <button type="button" onClick={() => editFrom(before)}>{w.editFrom}: {before}</button>}
          </div>
          {one.data && other.data && <Compare before={text(one.data)} after={text(other.data)} beforeLabel={`${w.version} ${before}`} afterLabel={`${w.version} ${after}`} />}
          <ProblemBox problem={one.problem ?? other.problem} />
        </>
      ) : (
        <p class="faint">{w.onlyOne}</p>
      )}
      <Table<Version>
        caption={w.versions}
        plain
        rows={rows}
        id={(row) => String(row.version)}
        columns={[
          { key: "version", label: w.version, kind: "number", cell: (row) => <>{row.version}{row.version === props.now && <> · {w.now}</>}</> },
          { key: "at", label: w.at, cell: (row) => <Time at={row.at ?? row.publishedAt} /> },
          { key: "actor", label: w.actor, kind: "id", cell: (row) => (row.actor ? <bdi dir="ltr">{row.actor}</bdi> : row.publishedAt ? "–" : w.itself) },
          { key: "origin", label: w.origin, cell: (row) => (row.origin ? <bdi dir="ltr">{row.origin.file ?? row.origin.set}</bdi> : "–") },
          {
            key: "compare", label: w.compare,
            cell: (row) => {
              const prior = rows.find((each) => each.version < row.version);
              return prior ? <a href={link(props.page, { tab: props.tab ?? "versions", before: prior.version, after: row.version })} aria-label={fill(w.comparing, { before: String(prior.version), after: String(row.version) })}>{w.compareWith}</a> : "–";
            },
          },
        ]}
      />
    </>
  );
}
