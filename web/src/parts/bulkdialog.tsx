import { useEffect, useRef, useState } from "preact/hooks";
import { Problem, randomKey, send, type Row } from "../api";
import { count, fill, useWords } from "../i18n";
import { go } from "../router";
import { local } from "../time";
import { StateBadge } from "./badge";
import type { BulkAction, BulkDialogProps, BulkFilter, OperationShown } from "./bulk";
import { bulkDialogWords } from "./bulkdialog.words";
import { CopyAs } from "./copy";
import { Dialog } from "./dialog";
import { FilterWords } from "./filterwords";
import { partWords } from "./parts.words";
import { ProblemBox } from "./problem";

// The dialog says which, counts them by a dry run and shows some; what is confirmed is what was shown: up to 1,000 by their
// ids, more by the filter as it stood at the preview.
type Delivery = Row<"/v1/deliveries">;
interface Frozen {
  filter: BulkFilter;
  matched: number;
  sample: Delivery[];
  left: number; // of those that were picked
  at: string | null; // null: by ids
}

const IDS_MAX = 1000;
const KNOWN = new Set(["state", "trigger", "list", "channel", "event", "entity", "cause", "site", "from", "to", "q", "stuck", "ids", "job"]);
const rest = (ms: number) => new Promise((done) => setTimeout(done, ms));

async function dryRun(action: BulkAction, filter: BulkFilter, isHere: () => boolean): Promise<OperationShown> {
  const begun = await send<{ id: string }>("POST", "/v1/operations", { body: { action, filter, dryRun: true } });
  for (let wait = 60; ; wait = Math.min(wait * 1.5, 1000)) {
    const shown = await send<OperationShown>("GET", "/v1/operations/{id}", { path: { id: begun.id } });
    if (shown.state === "done" || shown.state === "cancelled" || !isHere()) return shown;
    await rest(wait);
  }
}

// gather reads the ids that the list shows for the filter; null where they are too many, or cannot be listed so.
async function gather(action: BulkAction, filter: BulkFilter): Promise<string[] | null> {
  const query: Record<string, string | boolean> = {};
  for (const [name, value] of Object.entries(filter)) if (!Array.isArray(value)) query[name] = value;
  if (!query["state"] && action !== "cancel") query["state"] = "parked";
  if (!query["state"] && !query["stuck"]) return null;
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const page: { items: Delivery[]; next: string | null } = await send("GET", "/v1/deliveries", { query: { ...query, limit: 500, cursor } });
    ids.push(...page.items.map((one) => one.id));
    cursor = page.next;
  } while (cursor && ids.length <= IDS_MAX);
  return ids.length > IDS_MAX ? null : ids;
}

async function freeze(action: BulkAction, filter: BulkFilter, words: Record<string, string>, isHere: () => boolean): Promise<Frozen> {
  const picked = Array.isArray(filter["ids"]) ? (filter["ids"] as string[]) : null;
  const ids = picked ?? (await gather(action, filter));
  const told: BulkFilter = {};
  for (const [name, value] of Object.entries(filter)) if (KNOWN.has(name)) told[name] = value;
  if (ids && ids.length === 0) return { filter, matched: 0, sample: [], left: 0, at: null };
  const unknown = Object.keys(filter).find((name) => !KNOWN.has(name));
  if (!ids && unknown) throw new Problem(0, { code: "internal", detail: fill(words["tooMany"] ?? "", { name: words[unknown] ?? unknown }) });
  if (ids) told["ids"] = ids;
  const dry = await dryRun(action, told, isHere);
  if (!ids && !told["to"]) told["to"] = new Date(Date.parse(dry.createdAt) + 1).toISOString();
  const shown = await Promise.allSettled((dry.sample ?? ids?.slice(0, 5) ?? []).map((id) => send<Delivery>("GET", "/v1/deliveries/{id}", { path: { id } })));
  const matched = dry.matched ?? 0;
  return { filter: told, matched, sample: shown.flatMap((one) => (one.status === "fulfilled" ? [one.value] : [])), left: picked ? picked.length - matched : 0, at: ids ? null : dry.createdAt };
}

function Preview(props: { action: BulkAction; frozen: Frozen }) {
  const w = useWords(bulkDialogWords);
  const { frozen } = props;
  const says = { retry: w.willRetry, discard: w.willDiscard, cancel: w.willCancel }[props.action];
  if (frozen.matched === 0) return <p data-matched="0">{w.nothing}</p>;
  return (
    <div data-matched={frozen.matched}>
      <p class="bulk-count"><strong>{count(says, frozen.matched)}</strong></p>
      <p class="faint">{frozen.at ? fill(w.frozenAt, { time: local(Date.parse(frozen.at)) }) : w.frozen}</p>
      {frozen.left > 0 && <p>{count(w.leftOut, frozen.left)}</p>}
      {frozen.sample.length > 0 && (
        <>
          <h3>{w.sample}</h3>
          <ul class="bulk-sample">
            {frozen.sample.map((one) => (
              <li key={one.id}>
                <StateBadge state={one.state} /> <bdi dir="ltr">{one.address ?? one.id}</bdi> <span class="faint"><bdi dir="ltr">{one.triggerId ?? one.rule.id}</bdi> · <bdi dir="ltr">{one.channel}</bdi></span>
              </li>
            ))}
            {frozen.matched > frozen.sample.length && <li class="faint">{fill(w.more, { n: frozen.matched - frozen.sample.length })}</li>}
          </ul>
        </>
      )}
    </div>
  );
}

export function BulkDialog(props: BulkDialogProps) {
  const w = useWords(bulkDialogWords);
  const p = useWords(partWords);
  const [frozen, setFrozen] = useState<Frozen | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const [reason, setReason] = useState("");
  const [isBusy, setBusy] = useState(false);
  const key = useRef(randomKey());
  const begun = useRef(false);
  useEffect(() => {
    let isHere = true;
    freeze(props.action, props.filter, w, () => isHere).then(
      (told) => isHere && setFrozen(told),
      (why) => isHere && setProblem(why),
    );
    return () => void (isHere = false);
  }, []);
  const needsReason = props.action === "discard";
  const may = !!frozen && frozen.matched > 0 && (!needsReason || reason.trim() !== "");
  const body = { action: props.action, filter: frozen?.filter ?? props.filter, ...(reason.trim() ? { reason: reason.trim() } : {}) };
  const start = async (event: Event) => {
    event.preventDefault();
    if (!may || begun.current) return; // a second click is nothing
    begun.current = true;
    setBusy(true);
    setProblem(null);
    try {
      const told = await send<{ id: string }>("POST", "/v1/operations", { body, key: key.current });
      props.close();
      go(`/operations/${told.id}`);
    } catch (why) {
      begun.current = false;
      if (why instanceof Problem && why.status >= 400 && why.status < 500) key.current = randomKey();
      setProblem(why);
      setBusy(false);
    }
  };
  return (
    <Dialog title={props.label} close={props.close} wide>
      <form onSubmit={(event) => void start(event)} class="bulk-dialog">
        <h3>{w.which}</h3>
        <FilterWords filter={props.filter} />
        {frozen ? <Preview action={props.action} frozen={frozen} /> : !problem && <p class="loading" aria-busy="true">{w.looking}</p>}
        {frozen && frozen.matched > 0 && (
          <label class="field">
            <span>{p.reason} <small>{needsReason ? p.required : p.optional}</small></span>
            <input name="reason" value={reason} maxLength={500} required={needsReason} onInput={(event) => setReason(event.currentTarget.value)} />
            {needsReason && <small class="faint">{w.needReason}</small>}
          </label>
        )}
        <ProblemBox problem={problem} />
        <div class="dialog-foot">
          {frozen && frozen.matched > 0 && <CopyAs method="POST" path="/v1/operations" options={{ body }} />}
          <button type="button" onClick={props.close}>{p.cancel}</button>
          <button type="submit" class={props.action === "retry" ? "is-primary" : "is-danger"} disabled={!may || isBusy} aria-busy={isBusy} data-start>
            {isBusy ? p.working : props.label}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
