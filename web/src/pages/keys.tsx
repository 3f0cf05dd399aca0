import { useEffect, useState } from "preact/hooks";
import { send, type Row } from "../api";
import { fill, useWords } from "../i18n";
import { Action } from "../parts/action";
import { StateBadge } from "../parts/badge";
import { Barred } from "../parts/barred";
import { Copy } from "../parts/copy";
import { Dialog } from "../parts/dialog";
import { List, type Page } from "../parts/list";
import type { Loaded } from "../parts/load";
import { Time } from "../parts/time";
import { usePlace } from "../router";
import { session } from "../session";
import { useStore } from "../store";
import all from "./keys.words";
import "./keys.css";

type Key = Row<"/v1/keys">;
type Words = { [K in keyof (typeof all)["en"]]: string };
interface Draft {
  tenant: string;
  role: string;
  name: string;
  site: string;
  handlers: string;
  expires: string; // as the field has it
}

// A field of the browser has no zone: it is the person's own.
const toField = (at: string | null) => (at ? new Date(Date.parse(at) - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16) : "");
const fromField = (text: string) => (text ? new Date(text).toISOString() : null);
const blank: Draft = { tenant: "", role: "", name: "", site: "", handlers: "", expires: "" };
const draftOf = (key: Key): Draft => ({ ...blank, role: key.role, name: key.name ?? "", site: key.site ?? "", handlers: (key.handlers ?? []).join(", "), expires: toField(key.expiresAt ?? null) });

function bodyOf(draft: Draft, before?: Key): Record<string, unknown> {
  const handlers = draft.role === "worker" ? draft.handlers.split(",").map((one) => one.trim()).filter(Boolean) : [];
  // An expiry that was not touched stays as it is, to the second.
  const expiresAt = before && draft.expires === toField(before.expiresAt ?? null) ? (before.expiresAt ?? null) : fromField(draft.expires);
  const body: Record<string, unknown> = { role: draft.role, name: draft.name.trim() || null, site: draft.role === "site" ? draft.site.trim() || null : null, handlers: handlers.length ? handlers : null, expiresAt };
  if (before) return body;
  if (draft.tenant) body["tenant"] = draft.tenant;
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}

function rolesOf(w: Words): [string, string][] {
  return [["read", w.read], ["operator", w.operator], ["author", w.author], ["admin", w.admin], ["ingest", w.ingest], ["worker", w.worker], ["site", w.siteRole], ["audit-export", w.auditExport], ["operations", w.operations]];
}

function Fields(props: { draft: Draft; set: (draft: Draft) => void; tenants: string[] }) {
  const w = useWords(all);
  const { draft } = props;
  const put = (name: keyof Draft) => (event: Event) => props.set({ ...draft, [name]: (event.currentTarget as HTMLInputElement).value });
  const purpose = rolesOf(w).find(([role]) => role === draft.role)?.[1];
  return (
    <div class="key-fields">
      <label class="field">
        <span>{w.role}</span>
        <select name="role" required value={draft.role} onChange={put("role")} aria-describedby="role-help">
          <option value="">{w.choose}</option>
          {rolesOf(w).map(([role]) => <option key={role} value={role}>{role}</option>)}
        </select>
        <small class="help" id="role-help">{purpose ?? ""}</small>
      </label>
      <label class="field">
        <span>{w.name}</span>
        <input name="name" dir="auto" maxLength={100} autocomplete="off" value={draft.name} onInput={put("name")} />
        <small class="help">{w.nameHelp}</small>
      </label>
      {draft.role === "site" && (
        <label class="field">
          <span>{w.site}</span>
          <input name="site" dir="ltr" required autocomplete="off" value={draft.site} onInput={put("site")} />
          <small class="help">{w.siteHelp}</small>
        </label>
      )}
      {draft.role === "worker" && (
        <label class="field">
          <span>{w.handlers}</span>
          <input name="handlers" dir="ltr" autocomplete="off" value={draft.handlers} placeholder="worker:rates, worker:mail" onInput={put("handlers")} />
          <small class="help">{w.handlersHelp}</small>
        </label>
      )}
      <label class="field">
        <span>{w.expiresAt}</span>
        <input name="expires" type="datetime-local" value={draft.expires} onInput={put("expires")} />
        <small class="help">{w.expiresHelp}</small>
      </label>
      {props.tenants.length > 0 && (
        <label class="field">
          <span>{w.tenant}</span>
          <select name="tenant" value={draft.tenant} onChange={put("tenant")}>
            <option value="">{w.tenantHelp}</option>
            {props.tenants.map((one) => <option key={one} value={one}>{one}</option>)}
          </select>
        </label>
      )}
    </div>
  );
}

function Make(props: { tenants: string[]; made: (key: Key) => void }) {
  const w = useWords(all);
  const { query } = usePlace();
  const tenant = query.get("tenant") ?? ""; // whose keys are shown
  const [draft, setDraft] = useState(blank);
  useEffect(() => setDraft((before) => ({ ...before, tenant })), [tenant]);
  return (
    <Action<Key> route="POST /v1/keys" primary body={() => bodyOf(draft)} ask={<><p>{w.makeText}</p><Fields draft={draft} set={setDraft} tenants={props.tenants} /></>}
      done={(key) => { setDraft({ ...blank, tenant }); props.made(key); }}>
      {w.make}
    </Action>
  );
}

function Edit(props: { row: Key; done: () => void }) {
  const w = useWords(all);
  const { row } = props;
  const [draft, setDraft] = useState(() => draftOf(row));
  useEffect(() => setDraft(draftOf(row)), [JSON.stringify(row)]);
  return (
    <Action route="PATCH /v1/keys/{id}" path={{ id: row.id }} body={() => bodyOf(draft, row)} ask={<Fields draft={draft} set={setDraft} tenants={[]} />} done={props.done} {...(row.system ? { disabled: w.noSystem } : {})}>
      {w.edit}
    </Action>
  );
}

function End(props: { row: Key; done: () => void }) {
  const w = useWords(all);
  const who = useStore(session);
  const { row } = props;
  if (row.sessionOf)
    return (
      <Action route="DELETE /v1/keys/{id}" path={{ id: row.id }} danger="moderate" ask={<><p>{w.endAsk}</p>{row.id === who?.id && <p class="note">{w.endOwn}</p>}</>} done={props.done}>{w.end}</Action>
    );
  return (
    <Action route="DELETE /v1/keys/{id}" path={{ id: row.id }} danger="severe" name={row.name ?? row.id} ask={<><p>{w.revokeAsk}</p>{row.id === who?.keyId && <p class="note">{w.revokeOwn}</p>}</>} done={props.done}>{w.revoke}</Action>
  );
}

// underKeys puts each session below its key, where that is on the page.
function underKeys(rows: Key[]): Key[] {
  const ids = new Set(rows.map((row) => row.id));
  const heads = rows.filter((row) => !row.sessionOf || !ids.has(row.sessionOf));
  return heads.flatMap((head) => [head, ...rows.filter((row) => row.sessionOf === head.id)]);
}

function Once(props: { text: string; close: () => void }) {
  const w = useWords(all);
  return (
    <Dialog title={w.once} close={props.close}>
      <p class="note">{w.onceText}</p>
      <p class="command"><code class="once"><bdi dir="ltr">{props.text}</bdi></code> <Copy text={props.text} /></p>
      <div class="dialog-foot"><button type="button" class="is-primary" onClick={props.close}>{w.kept}</button></div>
    </Dialog>
  );
}

function tenantsKnown(): Promise<string[]> {
  return send<{ items: { id: string }[] }>("GET", "/v1/tenants", { query: { limit: 500 } }).then((told) => told.items.map((one) => one.id));
}

function Keys() {
  const w = useWords(all);
  const who = useStore(session);
  const [list, setList] = useState<Loaded<Page<Key>> | null>(null);
  const [once, setOnce] = useState<string | null>(null);
  const [tenants, setTenants] = useState<string[]>([]);
  const isSystem = who?.system ?? false;
  useEffect(() => {
    if (isSystem) tenantsKnown().then(setTenants, () => undefined);
  }, [isSystem]);
  const reload = () => list?.reload();
  const nameOf = (key: Key | undefined, id: string) => key?.name ?? id;
  return (
    <>
      <List<Key>
        title={w.title}
        intro={w.intro}
        path="/v1/keys"
        id={(row) => row.id}
        name={(row) => row.name ?? row.id}
        arrange={underKeys}
        loaded={setList}
        peal={["keys"]}
        filters={isSystem ? [{ name: "tenant", label: w.tenant, kind: "choice", values: tenants }] : []}
        actions={<Make tenants={tenants} made={(key) => { setOnce(key.key ?? null); reload(); }} />}
        columns={[
          {
            key: "name", label: w.name, kind: "main", cell: (row) => (
              <span class={`key-name${row.sessionOf ? " is-session" : ""}`}>
                <span><bdi>{row.sessionOf ? fill(w.sessionOf, { name: nameOf(list?.data?.items.find((one) => one.id === row.sessionOf), row.sessionOf) }) : (row.name ?? w.noName)}</bdi>{" "}
                  {row.id === who?.id && <StateBadge state="session" tone="good">{w.yours}</StateBadge>} {row.system && !row.sessionOf && <StateBadge state="system" tone="busy">{w.system}</StateBadge>}
                </span>
                <small class="faint"><bdi dir="ltr">{row.id}</bdi></small>
              </span>
            ),
          },
          { key: "role", label: w.role, cell: (row) => <bdi dir="ltr">{row.role}</bdi> },
          { key: "limits", label: w.limits, cell: (row) => (row.site ? <>{w.site}: <bdi dir="ltr">{row.site}</bdi></> : row.handlers?.length ? <bdi dir="ltr">{row.handlers.join(", ")}</bdi> : w.everything) },
          { key: "created", label: w.created, cell: (row) => <Time at={row.createdAt} /> },
          { key: "expires", label: w.expires, cell: (row) => <Time at={row.expiresAt} none={w.never} /> },
          { key: "actions", label: w.actions, cell: (row) => <span class="row-actions">{!row.sessionOf && <Edit row={row} done={reload} />}<End row={row} done={reload} /></span> },
        ]}
        empty={{ title: w.emptyTitle, text: w.emptyText, command: "peal keys create --role read --name NAME" }}
      />
      {once && <Once text={once} close={() => setOnce(null)} />}
    </>
  );
}

export default function KeysPage() {
  const w = useWords(all);
  return <Barred route="GET /v1/keys" page={w.title}><Keys /></Barred>;
}
