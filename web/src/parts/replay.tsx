import { useEffect, useRef, useState } from "preact/hooks";
import { Problem, randomKey, send } from "../api";
import { count, useWords } from "../i18n";
import { go } from "../router";
import { useWhyNot } from "./action";
import type { OperationShown } from "./bulk";
import { CopyAs } from "./copy";
import { Dialog } from "./dialog";
import { FilterWords } from "./filterwords";
import { partWords } from "./parts.words";
import { ProblemBox } from "./problem";
import { replayWords } from "./replay.words";

// ReplayAll decides anew all rows of the inbox, or of the outbox, that failed and that the filter names: an operation, whose
// rows are counted first.
type ReplayFilter = Record<string, string>;

async function counted(filter: ReplayFilter, isHere: () => boolean): Promise<OperationShown> {
  const begun = await send<{ id: string }>("POST", "/v1/operations", { body: { action: "replay", filter, dryRun: true } });
  for (let wait = 60; ; wait = Math.min(wait * 1.5, 1000)) {
    const shown = await send<OperationShown>("GET", "/v1/operations/{id}", { path: { id: begun.id } });
    if (shown.state === "done" || !isHere()) return shown;
    await new Promise((done) => setTimeout(done, wait));
  }
}

function ReplayDialog(props: { filter: ReplayFilter; close: () => void }) {
  const w = useWords(replayWords);
  const p = useWords(partWords);
  const [dry, setDry] = useState<OperationShown | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const key = useRef(randomKey());
  useEffect(() => {
    let isHere = true;
    counted(props.filter, () => isHere).then((told) => isHere && setDry(told), (why) => isHere && setProblem(why));
    return () => void (isHere = false);
  }, []);
  const matched = dry?.matched ?? 0;
  const filter = dry && !props.filter["to"] ? { ...props.filter, to: new Date(Date.parse(dry.createdAt) + 1).toISOString() } : props.filter;
  const body = { action: "replay", filter };
  const start = async (event: Event) => {
    event.preventDefault();
    if (isBusy || matched === 0) return;
    setBusy(true);
    try {
      const told = await send<{ id: string }>("POST", "/v1/operations", { body, key: key.current });
      props.close();
      go(`/operations/${told.id}`);
    } catch (why) {
      if (why instanceof Problem && why.status >= 400 && why.status < 500) key.current = randomKey();
      setProblem(why);
      setBusy(false);
    }
  };
  return (
    <Dialog title={w.label} close={props.close}>
      <form onSubmit={(event) => void start(event)}>
        <h3>{w.which}</h3>
        <FilterWords filter={{ status: "Failed", ...props.filter }} />
        {!dry && !problem && <p class="loading" aria-busy="true">{w.counting}</p>}
        {dry && <p data-matched={matched}><strong>{matched === 0 ? w.none : count(w.will, matched)}</strong></p>}
        {matched > 0 && <p class="faint">{w.again} {w.frozen}</p>}
        <ProblemBox problem={problem} />
        <div class="dialog-foot">
          <CopyAs method="POST" path="/v1/operations" options={{ body }} />
          <button type="button" onClick={props.close}>{p.cancel}</button>
          <button type="submit" class="is-primary" disabled={matched === 0} aria-busy={isBusy}>{w.start}</button>
        </div>
      </form>
    </Dialog>
  );
}

export function ReplayAll(props: { filter: Record<string, string | null> }) {
  const w = useWords(replayWords);
  const why = useWhyNot("POST /v1/operations", w.label);
  const [asks, setAsks] = useState(false);
  const filter = Object.fromEntries(Object.entries(props.filter).filter((one): one is [string, string] => !!one[1]));
  return (
    <span class="action">
      <button type="button" aria-disabled={why ? true : undefined} aria-describedby={why ? "why-replay" : undefined} onClick={() => !why && setAsks(true)}>{w.label}</button>
      {why && <span class="why" id="why-replay" role="tooltip">{why}</span>}
      {asks && <ReplayDialog filter={filter} close={() => setAsks(false)} />}
    </span>
  );
}
