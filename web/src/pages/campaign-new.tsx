// A campaign is begun: a file with its columns, or a list; tried first, then sent.
import { useEffect, useId, useState } from "preact/hooks";
import { randomKey, send, type Answer } from "../api";
import { fill, number, useWords } from "../i18n";
import { useWhyNot } from "../parts/action";
import { CopyAs } from "../parts/copy";
import { Detail } from "../parts/detail";
import { Dialog } from "../parts/dialog";
import { useKnown } from "../parts/known";
import { partWords } from "../parts/parts.words";
import { ProblemBox } from "../parts/problem";
import { Table } from "../parts/table";
import { asPeal } from "../curl";
import { go, usePlace } from "../router";
import all from "./campaign.words";
import "./campaign.css";

type Begun = Answer<"/v1/campaigns", "post">;
type Whole = Answer<"/v1/campaigns/{id}">;
const SIGNS = { comma: ",", semicolon: ";", tab: "\t", bar: "|" } as const;
type Sign = keyof typeof SIGNS;
const MEMBERS = ["address", "locale", "customerRef"] as const;
type Member = (typeof MEMBERS)[number];

// parted reads one line of a file: enough to show which columns it has. The server reads the file.
export function parted(line: string, sign: string): string[] {
  const found: string[] = [];
  let at = 0;
  while (at <= line.length) {
    const quoted = /^\s*"((?:[^"]|"")*)"\s*/.exec(line.slice(at));
    if (quoted) {
      found.push(quoted[1]!.replace(/""/g, '"'));
      at += quoted[0].length + 1;
      continue;
    }
    const end = line.indexOf(sign, at);
    found.push(line.slice(at, end < 0 ? line.length : end).trim());
    if (end < 0) break;
    at = end + 1;
  }
  return found;
}

export function signOf(line: string): Sign {
  const counts = (Object.keys(SIGNS) as Sign[]).map((name) => [name, line.split(SIGNS[name]).length] as const);
  return counts.reduce((best, one) => (one[1] > best[1] ? one : best))[0];
}

interface Head {
  columns: string[];
  row: string[];
  sign: Sign;
}

async function headOf(file: File, said?: Sign): Promise<Head> {
  const text = (await file.slice(0, 65536).text()).replace(/^\uFEFF/, "");
  const [first = "", second = ""] = text.split(/\r\n|\n|\r/);
  const sign = said ?? signOf(first);
  return { columns: parted(first, SIGNS[sign]), row: parted(second, SIGNS[sign]), sign };
}

function Columns(props: { head: Head; map: Partial<Record<Member, string>>; set: (map: Partial<Record<Member, string>>) => void }) {
  const w = useWords(all);
  const { head, map } = props;
  const roleOf = (column: string): Member | "payload" => MEMBERS.find((one) => (map[one] ?? one) === column) ?? "payload";
  const choose = (column: string, role: Member | "payload") => {
    const next = { ...map };
    const before = roleOf(column);
    if (before !== "payload") delete next[before];
    if (role !== "payload") next[role] = column;
    props.set(next);
  };
  return (
    <Table
      caption={w.columns}
      plain
      rows={head.columns.map((name, n) => ({ name, sample: head.row[n] ?? "", n }))}
      id={(row) => String(row.n)}
      columns={[
        { key: "name", label: w.column, cell: (row) => <bdi>{row.name || "–"}</bdi> },
        { key: "sample", label: w.firstRow, kind: "wide", cell: (row) => <bdi>{row.sample}</bdi> },
        {
          key: "becomes", label: w.becomes,
          cell: (row) => (
            <select aria-label={`${row.name}: ${w.becomes}`} value={roleOf(row.name)} onChange={(event) => choose(row.name, event.currentTarget.value as Member | "payload")}>
              {([...MEMBERS, "payload"] as const).filter((one) => one !== "payload" || !(MEMBERS as readonly string[]).includes(row.name) || roleOf(row.name) === "payload").map((one) => <option key={one} value={one} selected={one === roleOf(row.name)}>{one === "payload" ? `${w.payload}.${row.name}` : w[one]}</option>)}
            </select>
          ),
        },
      ]}
    />
  );
}

// begin sends the file, or the list; dryRun only reads.
async function begin(given: { file: File | null; list: string; trigger: string; map: Partial<Record<Member, string>>; columns: string[]; sign: Sign | null; key: string }, dryRun: boolean): Promise<Begun> {
  const query: Record<string, string | boolean> = { trigger: given.trigger, dryRun };
  if (!given.file) return send<Begun>("POST", "/v1/campaigns", { query, body: { list: given.list }, key: given.key });
  for (const member of MEMBERS) {
    const column = given.map[member];
    if (column && column !== member) query[`map.${member}`] = column;
  }
  if (given.sign) query["delimiter"] = given.sign;
  return send<Begun>("POST", "/v1/campaigns", { query, body: given.file, type: "text/csv", key: given.key });
}

// useDone follows a campaign to its end.
function useDone(id: string): Whole | null {
  const [told, setTold] = useState<Whole | null>(null);
  useEffect(() => {
    setTold(null);
    if (!id) return;
    let timer = 0;
    const ask = () =>
      void send<Whole>("GET", "/v1/campaigns/{id}", { path: { id } }).then(
        (now) => {
          setTold(now);
          if (now.state === "running" || now.state === "uploading") timer = window.setTimeout(ask, 700);
        },
        () => (timer = window.setTimeout(ask, 2000)),
      );
    ask();
    return () => clearTimeout(timer);
  }, [id]);
  return told;
}

export function New() {
  const w = useWords(all);
  const p = useWords(partWords);
  const { query } = usePlace();
  const id = useId();
  const [from, setFrom] = useState<"file" | "list">(query.get("list") ? "list" : "file");
  const [file, setFile] = useState<File | null>(null);
  const [head, setHead] = useState<Head | null>(null);
  const [map, setMap] = useState<Partial<Record<Member, string>>>({});
  const [list, setList] = useState(query.get("list") ?? "");
  const [trigger, setTrigger] = useState(query.get("trigger") ?? "");
  const [problem, setProblem] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const [asks, setAsks] = useState(false);
  const [dry, setDry] = useState("");
  const triggers = useKnown("/v1/triggers", (row) => row["id"]);
  const lists = useKnown("/v1/lists", (row) => row["id"]);
  const whyNot = useWhyNot("POST /v1/campaigns", w.send);
  const tried = useDone(dry);
  const address = map.address ?? "address";
  const hasAddress = from === "list" || (!!head && head.columns.includes(address));
  const isReady = !!trigger && (from === "list" ? !!list : !!file && !!head && hasAddress);
  const take = (next: File | null) => {
    setFile(next);
    setMap({});
    setHead(null);
    setDry("");
    if (next) headOf(next).then(setHead, setProblem);
  };
  const call = async (dryRun: boolean) => {
    if (isBusy || !isReady || whyNot) return;
    setBusy(true);
    setProblem(null);
    try {
      const begun = await begin({ file: from === "file" ? file : null, list, trigger, map, columns: head?.columns ?? [], sign: head?.sign ?? null, key: randomKey() }, dryRun);
      if (dryRun) setDry(begun.id);
      else go(`/campaigns/${begun.id}`);
    } catch (why) {
      setProblem(why);
    } finally {
      setBusy(false);
      setAsks(false);
    }
  };
  const dryQuery = { trigger, dryRun: true, ...(from === "file" && map.address ? { "map.address": map.address } : {}) };
  return (
    <Detail kind={w.kind} title={w.make} back={["/campaigns", w.title]}>
      <div class="campaign-form">
        <fieldset>
          <legend>{w.whom}</legend>
          <label class="pick"><input type="radio" name="from" checked={from === "file"} onChange={() => setFrom("file")} /> {w.fromFile}</label>
          <label class="pick"><input type="radio" name="from" checked={from === "list"} onChange={() => setFrom("list")} /> {w.fromList}</label>
          {from === "file" ? (
            <div class="field">
              <label for={`${id}-file`}>{w.file}</label>
              <input id={`${id}-file`} name="file" type="file" accept=".csv,text/csv,text/plain" aria-describedby={`${id}-file-help`} onChange={(event) => take(event.currentTarget.files?.[0] ?? null)} />
              <small class="help" id={`${id}-file-help`}>{w.fileHelp}</small>
            </div>
          ) : (
            <div class="field">
              <label for={`${id}-list`}>{w.list}</label>
              <input id={`${id}-list`} name="list" list={`${id}-lists`} autocomplete="off" value={list} onInput={(event) => setList(event.currentTarget.value)} />
              <datalist id={`${id}-lists`}>{lists.map((one) => <option key={one} value={one} />)}</datalist>
            </div>
          )}
        </fieldset>
        <div class="field">
          <label for={`${id}-trigger`}>{w.trigger}</label>
          <input id={`${id}-trigger`} name="trigger" dir="ltr" list={`${id}-triggers`} autocomplete="off" value={trigger} aria-describedby={`${id}-trigger-help`} onInput={(event) => setTrigger(event.currentTarget.value)} />
          <datalist id={`${id}-triggers`}>{triggers.map((one) => <option key={one} value={one} />)}</datalist>
          <small class="help" id={`${id}-trigger-help`}>{w.triggerHelp}</small>
        </div>
        {from === "file" && head && (
          <div data-columns={head.columns.length}>
            <Columns head={head} map={map} set={(next) => { setMap(next); setDry(""); }} />
            <label class="field">
              <span>{w.delimiter}</span>
              <select name="delimiter" value={head.sign} onChange={(event) => file && void headOf(file, event.currentTarget.value as Sign).then(setHead, setProblem)}>
                {(Object.keys(SIGNS) as Sign[]).map((one) => <option key={one} value={one} selected={one === head.sign}>{w[one]}</option>)}
              </select>
            </label>
            {!hasAddress && <p class="note">{w.noAddress}</p>}
          </div>
        )}
        <ProblemBox problem={problem} />
        {tried && (
          <p class="note" role="status" data-dry={tried.state}>
            {fill(w.lastDry, { created: number(tried.created), skipped: number(tried.skipped), failed: number(tried.failed) })} <a href={`/campaigns/${tried.id}`}>{w.toDry}</a>
          </p>
        )}
        {tried && tried.failures.length > 0 && <Table caption={w.failures} plain rows={tried.failures.slice(0, 20)} id={(row) => String(row.line)} columns={[{ key: "line", label: w.line, kind: "number", cell: (row) => row.line }, { key: "error", label: w.error, kind: "wide", cell: (row) => <bdi>{row.error}</bdi> }]} />}
        <div class="form-foot">
          <button type="button" aria-disabled={!isReady || !!whyNot ? true : undefined} aria-busy={isBusy} title={w.dryRunHelp} onClick={() => void call(true)}>{isBusy ? w.working : w.dryRun}</button>
          <button type="button" class="is-primary" aria-disabled={!isReady || !!whyNot ? true : undefined} onClick={() => isReady && !whyNot && setAsks(true)}>{w.send}</button>
          {whyNot ? <span class="why is-open">{whyNot}</span> : !isReady && <span class="faint">{w.first}</span>}
          <CopyAs method="POST" path="/v1/campaigns" options={{ query: dryQuery, ...(from === "list" ? { body: { list } } : {}) }} peal={asPeal(["campaigns", "send", ...(from === "file" ? [file?.name ?? "people.csv"] : [])], { trigger, ...(from === "list" ? { list } : {}) }) + " --dry-run"} />
        </div>
        {asks && (
          <Dialog title={w.send} close={() => setAsks(false)}>
            <p>{fill(w.sendAsk, { trigger })}</p>
            {tried && tried.state === "done" ? <p>{fill(w.lastDry, { created: number(tried.created), skipped: number(tried.skipped), failed: number(tried.failed) })}</p> : <p class="note">{w.sendUntried}</p>}
            <div class="dialog-foot">
              <button type="button" onClick={() => setAsks(false)}>{p.cancel}</button>
              <button type="button" class="is-primary" aria-busy={isBusy} onClick={() => void call(false)}>{isBusy ? w.working : w.send}</button>
            </div>
          </Dialog>
        )}
      </div>
    </Detail>
  );
}
