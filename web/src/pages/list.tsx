import { useRef } from "preact/hooks";
import type { Answer, Row } from "../api";
import { asPeal } from "../curl";
import { fill, number, useWords } from "../i18n";
import type { PageProps } from "../pages";
import { Action } from "../parts/action";
import { Asking } from "../parts/asking";
import { CopyAs } from "../parts/copy";
import { Detail } from "../parts/detail";
import { Form, type Value } from "../parts/form";
import { JsonView } from "../parts/json";
import { List, type Page } from "../parts/list";
import { useLoad, type Loaded } from "../parts/load";
import { Locked, OriginNote } from "../parts/origin";
import { Tabs, tabOf } from "../parts/tabs";
import { Time } from "../parts/time";
import { Versions } from "../parts/versions";
import { Waiting } from "../parts/waiting";
import { go, usePlace } from "../router";
import { listWords } from "./lists.words";

type Shown = Answer<"/v1/lists/{id}">;
type Target = Row<"/v1/lists/{id}/targets">;

// What is shown of the targets are the first 100, and those that are given replace all: so a form leaves them out.
function untargeted(list: Value): Value {
  const { targets: _, ...rest } = list;
  return rest;
}

function Edit(props: { list: Shown | null; saved: (list: Shown) => void }) {
  const { list } = props;
  return (
    <Form
      shape="ListBody"
      first={list ? untargeted(list as Value) : {}}
      draft={`list/${list?.id ?? "new"}`}
      save={list ? { route: "PUT /v1/lists/{id}", path: { id: list.id }, version: list.version } : { route: "POST /v1/lists" }}
      order={["id", "name", "channels", "targets"]}
      fixed={list ? ["id"] : []}
      hide={list ? ["targets"] : []}
      toBody={list ? untargeted : (value) => value}
      saved={(answer) => props.saved(answer as Shown)}
    />
  );
}

// targetsOf reads lines of "address, name, language".
function targetsOf(lines: string): Target[] {
  return lines.split("\n").map((line) => line.split(/[,،;\t]/).map((part) => part.trim())).filter((parts) => parts[0])
    .map(([address = "", name, locale]) => ({ address, ...(name ? { name } : {}), ...(locale ? { locale } : {}) }));
}

function Targets(props: { id: string; changed: () => void }) {
  const w = useWords(listWords);
  const rows = useRef<Loaded<Page<Target>> | null>(null);
  const renew = () => {
    rows.current?.reload();
    props.changed();
  };
  return (
    <List<Target>
      within
      title={w.targets}
      path="/v1/lists/{id}/targets"
      pathValues={{ id: props.id }}
      id={(row) => row.address}
      loaded={(told) => (rows.current = told)}
      actions={
        <Asking route="POST /v1/lists/{id}/targets" path={{ id: props.id }} label={w.add} intro={w.addIntro} primary
          fields={[{ name: "lines", label: w.lines, help: w.linesHelp, isLong: true, isRequired: true }]}
          toBody={(given) => ({ targets: targetsOf(given["lines"] ?? "") })}
          done={renew} />
      }
      columns={[
        { key: "address", label: w.address, cell: (row) => <bdi dir="ltr">{row.address}</bdi> },
        { key: "name", label: w.name, cell: (row) => <bdi>{row.name ?? "–"}</bdi> },
        { key: "locale", label: w.locale, cell: (row) => <bdi dir="ltr">{row.locale ?? "–"}</bdi> },
        {
          key: "out", label: w.takeOut,
          cell: (row) => <Action route="DELETE /v1/lists/{id}/targets" path={{ id: props.id }} query={{ address: row.address }} danger="moderate" ask={fill(w.takeOutAsk, { address: row.address })} done={renew}>{w.takeOut}</Action>,
        },
      ]}
      empty={{ title: w.nobody, text: w.nobodyText }}
    />
  );
}

export default function ListPage({ id }: PageProps) {
  const w = useWords(listWords);
  const { query } = usePlace();
  const isNew = id === "new";
  const found = useLoad<Shown>(isNew ? null : "/v1/lists/{id}", { path: { id } });
  if (isNew)
    return (
      <Detail kind={w.kind} title={w.make} back={["/lists", w.title]}>
        <Edit list={null} saved={(made) => go(`/lists/${encodeURIComponent(made.id)}`)} />
      </Detail>
    );
  if (!found.data) return <Waiting of={found} />;
  const list = found.data;
  const here = `/lists/${encodeURIComponent(list.id)}`;
  const tabs: [string, string][] = [["targets", w.targets], ["edit", w.edit], ["versions", w.versions], ["json", w.json]];
  const tab = tabOf(tabs, query);
  return (
    <Detail
      kind={w.kind}
      title={<bdi dir="ltr">{list.id}</bdi>}
      back={["/lists", w.title]}
      facts={[
        [w.name, <bdi>{list.name ?? "–"}</bdi>],
        [w.channels, <>{list.channels.map((one, n) => <span key={one}>{n > 0 && ", "}<a href={`/channels/${encodeURIComponent(one)}`}><bdi dir="ltr">{one}</bdi></a></span>)}</>],
        [w.count, <span data-count>{number(list.targetCount ?? 0)}</span>],
        [w.showTargets, list.showTargets ? w.yes : w.no],
        [w.version, list.version],
        [w.updated, <Time at={list.updatedAt} />],
        [w.notify, <a href={`/notifications?list=${encodeURIComponent(list.id)}`}>{w.notify}</a>],
      ]}
      actions={
        <>
          <Action route="DELETE /v1/lists/{id}" path={{ id }} danger="severe" name={list.id} ask={w.removeAsk} done={() => go("/lists")}>{w.remove}</Action>
          <CopyAs path="/v1/lists/{id}" options={{ path: { id } }} peal={asPeal(["lists", "show", id])} />
        </>
      }
    >
      <OriginNote origin={list.origin} />
      <Tabs tabs={tabs} label={w.kind} />
      {tab === "targets" && <Targets id={list.id} changed={found.reload} />}
      {tab === "edit" && <Locked origin={list.origin}><Edit key={list.version} list={list} saved={(next) => { found.set(next); go(here); }} /></Locked>}
      {tab === "versions" && <Versions path="/v1/lists/{id}/versions" id={list.id} now={list.version} draft={`list/${list.id}`} page={here} />}
      {tab === "json" && <JsonView value={list} />}
    </Detail>
  );
}
