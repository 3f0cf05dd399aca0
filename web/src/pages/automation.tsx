import { useEffect, useState } from "preact/hooks";
import { send, type Answer, type Row } from "../api";
import { asPeal } from "../curl";
import { count, fill, number, useWords } from "../i18n";
import type { PageProps } from "../pages";
import { Action } from "../parts/action";
import { StateBadge } from "../parts/badge";
import { CopyAs } from "../parts/copy";
import { Detail, type Fact } from "../parts/detail";
import { Dialog } from "../parts/dialog";
import { Empty } from "../parts/empty";
import { Form, JsonField, type Value } from "../parts/form";
import { JsonView } from "../parts/json";
import { Known } from "../parts/known";
import { List } from "../parts/list";
import { useLoad } from "../parts/load";
import { Locked, OriginNote } from "../parts/origin";
import { ProblemBox } from "../parts/problem";
import { Table } from "../parts/table";
import { Tabs, tabOf } from "../parts/tabs";
import { Time } from "../parts/time";
import { Versions } from "../parts/versions";
import { Waiting } from "../parts/waiting";
import { go, usePlace } from "../router";
import { useSettled } from "./try";
import all from "./automation.words";
import "./automation.css";

type Automation = Answer<"/v1/automations/{id}">;
type Run = Row<"/v1/automations/{id}/runs">;
type Schedule = NonNullable<Automation["schedules"]>[number];
type Told = Answer<"/v1/cron/preview", "post">;
type Ran = Answer<"/v1/automations/{id}/run", "post">;
const SOURCES = { manual: "manual", schedule: "schedule", trigger: "trigger" } as const;

function useLabels(): Record<string, string> {
  const w = useWords(all);
  return { id: w.id, name: w.name, handler: w.handler, enabled: w.enabled, payload: w.payload, maxRetries: w.maxRetries, timeout: w.timeout, schedules: w.schedules, cron: w.cron, zone: w.zone, missed: w.missed, missedWindow: w.missedWindow, overlap: w.overlap };
}

// Cron says what an expression means while it is written, and when it is due next, there and here.
function Cron(props: { cron: string; zone: string }) {
  const w = useWords(all);
  const asked = useSettled({ cron: props.cron, zone: props.zone });
  const [told, setTold] = useState<Told | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  useEffect(() => {
    if (!asked.cron) return setTold(null);
    const stop = new AbortController();
    send<Told>("POST", "/v1/cron/preview", { body: { cron: asked.cron, ...(asked.zone ? { zone: asked.zone } : {}) }, signal: stop.signal }).then(
      (answer) => {
        setTold(answer);
        setProblem(null);
      },
      (why: Error) => why.name !== "AbortError" && (setTold(null), setProblem(why)),
    );
    return () => stop.abort();
  }, [JSON.stringify(asked)]);
  if (!props.cron) return null;
  return (
    <div class="cron" data-cron={told ? "ok" : problem ? "wrong" : ""}>
      <ProblemBox problem={problem} />
      {told && (
        <>
          <p><strong>{w.means}:</strong> <bdi>{told.explain}</bdi></p>
          {told.warnings.map((one) => <p class="note" key={one}><bdi>{one}</bdi></p>)}
          <ol aria-label={w.nextTimes}>{told.items.map((one) => <li key={one.at}><bdi dir="ltr">{one.local}</bdi> · {w.here}: <Time at={one.at} /></li>)}</ol>
        </>
      )}
    </div>
  );
}

// ScheduleForm edits one schedule in its place; the others stay as they are.
function ScheduleForm(props: { automation: Automation; schedule: Schedule | null; close: () => void; saved: (automation: Automation) => void }) {
  const w = useWords(all);
  const { automation, schedule } = props;
  const [name, setName] = useState(schedule?.name ?? "");
  const [value, setValue] = useState<Value>((schedule as Value | null) ?? {});
  return (
    <Dialog title={schedule ? `${w.schedules}: ${schedule.name}` : w.addSchedule} close={props.close} wide>
      {!schedule && (
        <label class="field">
          <span>{w.scheduleName}</span>
          <input name="schedule" dir="ltr" autocomplete="off" value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
      )}
      <Cron cron={String(value["cron"] ?? "")} zone={String(value["zone"] ?? "")} />
      <Form
        shape="AutomationScheduleBody"
        first={(schedule as Value | null) ?? {}}
        draft={`automation/${automation.id}/${schedule?.name ?? "new"}`}
        save={{ route: "PUT /v1/automations/{id}/schedules/{schedule}", path: { id: automation.id, schedule: name }, version: automation.version }}
        order={["cron", "zone", "enabled", "missed", "missedWindow", "overlap"]}
        hide={["name"]}
        labels={useLabels()}
        changed={setValue}
        toBody={(now) => ({ ...now, name })}
        saved={(answer) => props.saved(answer as unknown as Automation)}
      />
    </Dialog>
  );
}

function Schedules(props: { automation: Automation; changed: (automation?: Automation) => void }) {
  const w = useWords(all);
  const { automation } = props;
  const [edits, setEdits] = useState<Schedule | "new" | null>(null);
  const rows = automation.schedules ?? [];
  return (
    <>
      <p><button type="button" onClick={() => setEdits("new")}>{w.addSchedule}</button></p>
      {rows.length === 0 ? (
        <Empty title={w.noSchedules} text={w.noSchedulesText} />
      ) : (
        <Table<Schedule>
          caption={w.schedules}
          plain
          rows={rows}
          id={(row) => row.name ?? row.cron}
          columns={[
            { key: "name", label: w.schedules, cell: (row) => <><bdi dir="ltr">{row.name}</bdi> {row.enabled === false && <StateBadge state="disabled" />}</> },
            { key: "cron", label: w.cron, cell: (row) => <code><bdi dir="ltr">{row.cron}</bdi></code> },
            { key: "zone", label: w.zone, cell: (row) => <bdi dir="ltr">{row.zone ?? "UTC"}</bdi> },
            { key: "missed", label: w.missed, cell: (row) => row.missed ?? "once" },
            { key: "overlap", label: w.overlap, cell: (row) => row.overlap ?? "skip" },
            {
              key: "actions", label: w.editSchedule,
              cell: (row) => (
                <span class="item-actions">
                  <button type="button" class="small" onClick={() => setEdits(row)}>{w.editSchedule}</button>
                  <Action route="DELETE /v1/automations/{id}/schedules/{schedule}" path={{ id: automation.id, schedule: row.name ?? "" }} danger="moderate" ask={w.removeScheduleAsk} done={() => props.changed()}>{w.removeSchedule}</Action>
                </span>
              ),
            },
          ]}
        />
      )}
      {edits && <ScheduleForm automation={automation} schedule={edits === "new" ? null : edits} close={() => setEdits(null)} saved={(next) => { setEdits(null); props.changed(next); }} />}
    </>
  );
}

function RunNow(props: { id: string; payload: unknown; done: (ran: Ran) => void }) {
  const w = useWords(all);
  const [payload, setPayload] = useState<unknown>(props.payload ?? {});
  const [entity, setEntity] = useState("");
  return (
    <Action<Ran>
      route="POST /v1/automations/{id}/run"
      path={{ id: props.id }}
      body={() => ({ payload: payload ?? {}, ...(entity ? { entity } : {}) })}
      primary
      ask={
        <>
          <p>{w.runAsk}</p>
          <label class="field"><span>{w.entity}</span><input name="entity" dir="auto" value={entity} onInput={(event) => setEntity(event.currentTarget.value)} /></label>
          <div class="field"><span class="field-label">{w.payload}</span><JsonField value={payload} set={setPayload} label={w.payload} rows={5} /></div>
        </>
      }
      done={props.done}
    >
      {w.run}
    </Action>
  );
}

function Edit(props: { automation: Automation | null; saved: (automation: Automation) => void }) {
  const { automation } = props;
  const labels = useLabels();
  return (
    <Form
      shape="AutomationBody"
      first={(automation as Value | null) ?? {}}
      draft={`automation/${automation?.id ?? "new"}`}
      save={automation ? { route: "PUT /v1/automations/{id}", path: { id: automation.id }, version: automation.version } : { route: "POST /v1/automations" }}
      order={["id", "name", "handler", "enabled", "maxRetries", "timeout", "payload", "schedules"]}
      fixed={automation ? ["id"] : []}
      labels={labels}
      override={{ "/handler": (field) => <Known {...field} from="/v1/channels" of={(row) => row["key"]} label={labels["handler"]!} isRequired /> }}
      saved={(answer) => props.saved(answer as unknown as Automation)}
    />
  );
}

function Runs(props: { id: string; turn: number }) {
  const w = useWords(all);
  return (
    <List<Run>
      key={props.turn}
      within
      title={w.runs}
      path="/v1/automations/{id}/runs"
      pathValues={{ id: props.id }}
      id={(row) => row.runId}
      href={(row) => `/deliveries/${row.runId}`}
      peal={["automations", "runs", props.id]}
      live="delivery"
      isNew={(fact) => (fact.data["rule"] as { id?: string } | undefined)?.id === props.id}
      columns={[
        { key: "run", label: w.runId, kind: "main", cell: (row) => <bdi dir="ltr">{row.runId}</bdi> },
        { key: "source", label: w.source, cell: (row) => <>{w[SOURCES[row.source]]} {row.triggerId && <a href={`/triggers/${encodeURIComponent(row.triggerId)}`}><bdi dir="ltr">{row.triggerId}</bdi></a>}</> },
        { key: "status", label: w.status, cell: (row) => <StateBadge state={row.status} /> },
        { key: "attempts", label: w.attempts, kind: "number", cell: (row) => number(row.attempts) },
        { key: "created", label: w.created, cell: (row) => <Time at={row.createdAt} /> },
        { key: "ended", label: w.ended, cell: (row) => <Time at={row.endedAt} /> },
      ]}
      empty={{ title: w.runsEmpty, text: w.runsEmptyText, command: asPeal(["automations", "run", props.id]) }}
    />
  );
}

export default function AutomationPage({ id }: PageProps) {
  const w = useWords(all);
  const { query } = usePlace();
  const isNew = id === "new";
  const found = useLoad<Automation>(isNew ? null : "/v1/automations/{id}", { path: { id } });
  const [ran, setRan] = useState<string[]>([]);
  if (isNew)
    return (
      <Detail kind={w.kind} title={w.make} back={["/automations", w.title]}>
        <Edit automation={null} saved={(made) => go(`/automations/${encodeURIComponent(made.id)}`)} />
      </Detail>
    );
  if (!found.data) return <Waiting of={found} />;
  const automation = found.data;
  const tabs: [string, string][] = [["runs", w.runs], ["schedules", w.schedules], ["edit", w.edit], ["versions", w.versions], ["json", w.json]];
  const tab = tabOf(tabs, query);
  const isOn = automation.enabled !== false;
  const changed = (next?: Automation) => {
    if (next) found.set({ ...automation, ...next });
    found.reload();
  };
  const facts: Fact[] = [
    [w.handler, <a href={`/channels/${encodeURIComponent(automation.handler)}`}><bdi dir="ltr">{automation.handler}</bdi></a>],
    [w.last, <>{automation.lastResult && w[automation.lastResult]} {automation.lastRunAt && <Time at={automation.lastRunAt} />}</>],
    [w.next, <Time at={automation.nextRunAt} />],
    [w.triggers, automation.triggers?.length ? <>{automation.triggers.map((one) => <a key={one} href={`/triggers/${encodeURIComponent(one)}`}><bdi dir="ltr">{one}</bdi> </a>)}</> : w.noTriggers],
    !!automation.missedCount && [w.missedCount, <>{number(automation.missedCount)} · <Time at={automation.lastMissedAt} /></>],
    !!automation.skippedCount && [w.skippedCount, number(automation.skippedCount)],
    [w.version, <>{automation.version} · <Time at={automation.updatedAt} /></>],
  ];
  return (
    <Detail
      kind={w.kind}
      title={<bdi>{automation.name ?? automation.id}</bdi>}
      back={["/automations", w.title]}
      state={<StateBadge state={isOn ? "enabled" : "disabled"} />}
      sentence={<><bdi>{fill(w.sentence, { handler: automation.handler })}</bdi> {automation.lastResult && fill(w.lastSentence, { result: w[automation.lastResult] })} {!!automation.dead && <a href="/dead">{count(w.deadSentence, automation.dead)}</a>}</>}
      actions={
        <>
          <RunNow id={id} payload={automation.payload} done={(told) => { setRan([told.deliveryId, ...ran]); found.reload(); }} />
          <Action route="PATCH /v1/automations/{id}" path={{ id }} body={{ enabled: !isOn }} danger={isOn ? "moderate" : "mild"} ask={isOn ? w.disableAsk : undefined} done={found.reload}>{isOn ? w.disable : w.enable}</Action>
          <Action route="DELETE /v1/automations/{id}" path={{ id }} danger="severe" name={automation.id} ask={w.removeAsk} done={() => go("/automations")}>{w.remove}</Action>
          <CopyAs path="/v1/automations/{id}" options={{ path: { id } }} peal={asPeal(["automations", "show", id])} />
        </>
      }
      facts={facts}
    >
      {ran[0] && <p class="note" data-ran={ran[0]}>{w.started} <a href={`/deliveries/${ran[0]}`}><bdi dir="ltr">{ran[0]}</bdi></a></p>}
      {automation.fault && <p class="note"><strong>{w.fault}</strong> <bdi>{automation.fault}</bdi></p>}
      {tab !== "edit" && <OriginNote origin={automation.origin} />}
      <Tabs tabs={tabs} label={w.kind} />
      {tab === "runs" && <Runs id={id} turn={ran.length} />}
      {tab === "schedules" && <Schedules automation={automation} changed={changed} />}
      {tab === "edit" && (
        <Locked origin={automation.origin}>
          <Edit key={automation.version} automation={automation} saved={(next) => changed(next)} />
        </Locked>
      )}
      {tab === "versions" && <Versions path="/v1/automations/{id}/versions" id={id} now={automation.version} draft={`automation/${id}`} page={`/automations/${encodeURIComponent(id)}`} />}
      {tab === "json" && <JsonView value={automation} label={w.json} />}
    </Detail>
  );
}
