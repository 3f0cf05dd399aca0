import { useEffect, useState } from "preact/hooks";
import type { Row } from "../api";
import { asPeal } from "../curl";
import { fill, useWords } from "../i18n";
import { Action } from "../parts/action";
import { StateBadge } from "../parts/badge";
import { Barred } from "../parts/barred";
import { Copy } from "../parts/copy";
import { List, type Page } from "../parts/list";
import type { Loaded } from "../parts/load";
import { Time } from "../parts/time";
import { session } from "../session";
import { useStore } from "../store";
import all from "./tenants.words";
import "./keys.css";

type Tenant = Row<"/v1/tenants">;

function Make(props: { made: (tenant: Tenant) => void }) {
  const w = useWords(all);
  const [id, setId] = useState("");
  const [name, setName] = useState("");
  const fields = (
    <>
      <p>{w.makeText}</p>
      <label class="field">
        <span>{w.id}</span>
        <input name="id" dir="ltr" required autocomplete="off" value={id} onInput={(event) => setId(event.currentTarget.value)} />
        <small class="help">{w.idHelp}</small>
      </label>
      <label class="field">
        <span>{w.name}</span>
        <input name="name" dir="auto" autocomplete="off" value={name} onInput={(event) => setName(event.currentTarget.value)} />
        <small class="help">{w.nameHelp}</small>
      </label>
    </>
  );
  return (
    <Action<Tenant> route="POST /v1/tenants" primary body={() => (name.trim() ? { id, name: name.trim() } : { id })} ask={fields} done={(made) => { setId(""); setName(""); props.made(made); }}>{w.make}</Action>
  );
}

function Rename(props: { row: Tenant; done: () => void }) {
  const w = useWords(all);
  const [name, setName] = useState(props.row.name);
  useEffect(() => setName(props.row.name), [props.row.name]);
  return (
    <Action route="PATCH /v1/tenants/{id}" path={{ id: props.row.id }} body={() => ({ name: name.trim() })} done={props.done}
      ask={<label class="field"><span>{w.name}</span><input name="name" dir="auto" required autocomplete="off" value={name} onInput={(event) => setName(event.currentTarget.value)} /></label>}>
      {w.rename}
    </Action>
  );
}

function Tenants() {
  const w = useWords(all);
  const who = useStore(session);
  const [list, setList] = useState<Loaded<Page<Tenant>> | null>(null);
  const [made, setMade] = useState<Tenant | null>(null);
  const reload = () => list?.reload();
  const command = made ? asPeal(["keys", "create"], { role: "admin", tenant: made.id, name: `${made.id} admin` }) : "";
  return (
    <List<Tenant>
      title={w.title}
      intro={w.intro}
      path="/v1/tenants"
      id={(row) => row.id}
      href={(row) => `/keys?tenant=${encodeURIComponent(row.id)}`}
      loaded={setList}
      peal={["tenants"]}
      actions={<Make made={(tenant) => { setMade(tenant); reload(); }} />}
      above={made && <div class="note command" role="status"><span>{fill(w.made, { name: made.name })}</span> <code><bdi dir="ltr">{command}</bdi></code> <Copy text={command} /></div>}
      columns={[
        { key: "id", label: w.id, cell: (row) => <><bdi dir="ltr">{row.id}</bdi> {row.id === who?.tenant && <StateBadge state="own">{w.yours}</StateBadge>}</> },
        { key: "name", label: w.name, cell: (row) => <bdi>{row.name}</bdi> },
        { key: "created", label: w.created, cell: (row) => <Time at={row.createdAt} /> },
        { key: "keys", label: w.keys, cell: (row) => <a href={`/keys?tenant=${encodeURIComponent(row.id)}`}>{w.keys}<span class="off-screen"> {row.id}</span></a> },
        {
          key: "actions", label: w.actions, cell: (row) => (
            <span class="row-actions">
              <Rename row={row} done={reload} />
              <Action route="DELETE /v1/tenants/{id}" path={{ id: row.id }} danger="severe" name={row.id} ask={w.removeAsk} done={reload} {...(row.id === "default" ? { disabled: w.stays } : {})}>{w.remove}</Action>
            </span>
          ),
        },
      ]}
      empty={{ title: w.emptyTitle, text: w.emptyText, command: "peal tenants create acme --name 'Acme Ltd'" }}
    />
  );
}

export default function TenantsPage() {
  const w = useWords(all);
  return <Barred route="GET /v1/tenants" page={w.title}><Tenants /></Barred>;
}
