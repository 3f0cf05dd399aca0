// A filter as a person reads and builds it, with its JSON beside. The value is the filter itself: whatever the builder does
// not know it shows as JSON and leaves as it is.
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { fill, useWords } from "../i18n";
import { JsonField } from "./form";
import { useJsonText } from "./jsontext";
import all from "./author.words";
import "./author.css";

export type Node = Record<string, unknown>;
export const OPS = ["==", "!=", "<", "<=", ">", ">=", "in", "contains", "startsWith", "endsWith", "exists"] as const;
type Op = (typeof OPS)[number];
type Kind = "leaf" | "all" | "any" | "not" | "raw";

function isObject(value: unknown): value is Node {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function kindOf(node: unknown): Kind {
  if (!isObject(node)) return "raw";
  const names = Object.keys(node);
  if (names.length === 1 && Array.isArray(node["all"])) return "all";
  if (names.length === 1 && Array.isArray(node["any"])) return "any";
  if (names.length === 1 && "not" in node) return "not";
  const isLeaf = names.every((name) => ["path", "questionId", "op", "value"].includes(name)) && OPS.includes(node["op"] as Op) && typeof (node["path"] ?? node["questionId"]) === "string";
  return isLeaf && !("path" in node && "questionId" in node) ? "leaf" : "raw";
}

const fresh = (name: "path" | "questionId"): Node => ({ [name]: "", op: "==", value: "" });

function shownValue(value: unknown): string {
  return value === undefined ? "" : JSON.stringify(value);
}

// sentence is a condition in the words of the API: candidate.total > 150.
export function sentence(node: Node): string {
  return `${String(node["path"] ?? node["questionId"] ?? "")} ${String(node["op"])} ${shownValue(node["value"])}`.trim();
}

// Conditions shows a filter, each condition under its place in the rule, so that others can point at it.
export function Conditions(props: { filter: unknown; place?: string; mark?: string | null }) {
  const w = useWords(all);
  const place = props.place ?? "/filter";
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (props.mark) box.current?.querySelector<HTMLElement>(".is-marked")?.scrollIntoView({ block: "center" });
  }, [props.mark]);
  if (props.filter === undefined || props.filter === null) return <p class="faint">{w.every}</p>;
  return (
    <div class="conditions" ref={box}>
      <Shown node={props.filter} place={place} mark={props.mark ?? null} />
    </div>
  );
}

function Shown(props: { node: unknown; place: string; mark: string | null }) {
  const w = useWords(all);
  const kind = kindOf(props.node);
  const node = props.node as Node;
  const isMarked = props.mark === props.place;
  const mark = isMarked && <strong class="marked">◂ {w.failing}</strong>;
  if (kind === "leaf" || kind === "raw")
    return (
      <p class={`condition${isMarked ? " is-marked" : ""}`} id={props.place} data-condition={props.place}>
        <code><bdi dir="ltr">{kind === "leaf" ? sentence(node) : JSON.stringify(node)}</bdi></code> {mark}
      </p>
    );
  const parts = kind === "not" ? [node["not"]] : (node[kind] as unknown[]);
  return (
    <div class={`group${isMarked ? " is-marked" : ""}`} id={props.place} data-condition={props.place}>
      <p class="group-head">{w[kind]} {mark}</p>
      {parts.length === 0 && <p class="faint">{w.none}</p>}
      <ul>
        {parts.map((one, n) => (
          <li key={n}><Shown node={one} place={kind === "not" ? `${props.place}/not` : `${props.place}/${kind}/${n}`} mark={props.mark} /></li>
        ))}
      </ul>
    </div>
  );
}

interface EditProps {
  node: unknown;
  set: (node: unknown) => void; // undefined takes it away
  place: string;
  mark: string | null;
  problems: Record<string, string>;
  known: string; // id of the list of paths
  leaf: "path" | "questionId";
}

type ValueKind = "text" | "number" | "yesno" | "nothing" | "list";
function valueKind(value: unknown): ValueKind {
  return Array.isArray(value) ? "list" : typeof value === "number" ? "number" : typeof value === "boolean" ? "yesno" : value === null ? "nothing" : "text";
}

function turned(value: unknown, kind: ValueKind): unknown {
  const one = Array.isArray(value) ? value[0] : value;
  if (kind === "list") return Array.isArray(value) ? value : one === undefined || one === "" || one === null ? [] : [one];
  if (kind === "number") return Number.isFinite(Number(one)) ? Number(one) : 0;
  if (kind === "yesno") return one !== "false" && one !== false;
  return kind === "nothing" ? null : one === null || one === undefined ? "" : String(one);
}

// readList takes JSON, or values between commas.
function readList(text: string): unknown[] {
  try {
    const told = JSON.parse(text) as unknown;
    if (Array.isArray(told)) return told;
  } catch {
    // values between commas
  }
  return text.split(",").map((one) => one.trim()).filter(Boolean);
}

function ListValue(props: { value: unknown[]; set: (value: unknown[]) => void; label: string }) {
  const w = useWords(all);
  const [text, setText] = useState(() => JSON.stringify(props.value));
  const last = useRef(JSON.stringify(props.value));
  useEffect(() => {
    const now = JSON.stringify(props.value);
    if (now === last.current) return;
    last.current = now;
    setText(now);
  }, [props.value]);
  return (
    <input dir="ltr" class="code" aria-label={props.label} title={w.listHelp} placeholder={`["a","b"]`} value={text}
      onInput={(event) => {
        setText(event.currentTarget.value);
        const value = readList(event.currentTarget.value);
        last.current = JSON.stringify(value);
        props.set(value);
      }}
      onBlur={() => setText(last.current)} />
  );
}

function ValueEdit(props: { node: Node; set: (node: Node) => void; name: string }) {
  const w = useWords(all);
  const { node } = props;
  const op = node["op"] as Op;
  const value = node["value"];
  const put = (next: unknown) => props.set({ ...node, value: next });
  const kind = valueKind(value);
  const label = `${props.name}: ${w.value}`;
  if (op === "exists" || kind === "yesno")
    return (
      <>
        <select aria-label={label} value={String(value)} onChange={(event) => put(event.currentTarget.value === "true")}>
          <option value="true" selected={value !== false}>true</option>
          <option value="false" selected={value === false}>false</option>
        </select>
        {op !== "exists" && <KindOf kind={kind} set={(next) => put(turned(value, next))} name={props.name} />}
      </>
    );
  return (
    <>
      {kind === "list" && <ListValue value={value as unknown[]} set={put} label={label} />}
      {kind === "nothing" && <input aria-label={label} readOnly value="null" />}
      {kind === "number" && <input dir="ltr" type="number" step="any" aria-label={label} value={String(value)} onInput={(event) => put(event.currentTarget.value === "" ? 0 : Number(event.currentTarget.value))} />}
      {kind === "text" && <input dir="auto" aria-label={label} value={String(value ?? "")} onInput={(event) => put(event.currentTarget.value)} />}
      {op !== "in" && <KindOf kind={kind} set={(next) => put(turned(value, next))} name={props.name} />}
    </>
  );
}

function KindOf(props: { kind: ValueKind; set: (kind: ValueKind) => void; name: string }) {
  const w = useWords(all);
  return (
    <select class="value-kind" aria-label={`${props.name}: ${w.as}`} value={props.kind} onChange={(event) => props.set(event.currentTarget.value as ValueKind)}>
      {(["text", "number", "yesno", "nothing", ...(props.kind === "list" ? (["list"] as const) : [])] as const).map((one) => <option key={one} value={one} selected={one === props.kind}>{w[one]}</option>)}
    </select>
  );
}

function Leaf(props: EditProps) {
  const w = useWords(all);
  const node = props.node as Node;
  const where = "questionId" in node ? "questionId" : "path";
  const name = fill(w.conditionN, { place: props.place });
  const toOp = (op: Op) => {
    const value = node["value"];
    if (op === "exists") props.set({ ...node, op, value: typeof value === "boolean" ? value : true });
    else if (op === "in") props.set({ ...node, op, value: turned(value, "list") });
    else props.set({ ...node, op, value: Array.isArray(value) ? turned(value, typeof value[0] === "number" ? "number" : "text") : value === undefined || node["op"] === "exists" ? "" : value });
  };
  return (
    <div class="leaf">
      <input dir="ltr" class="code" list={props.known} aria-label={`${name}: ${w.path}`} placeholder={props.leaf === "path" ? "candidate.total" : "rate"} value={String(node[where])} autocomplete="off"
        onInput={(event) => props.set({ ...node, [where]: event.currentTarget.value })} />
      <select aria-label={`${name}: ${w.op}`} value={String(node["op"])} onChange={(event) => toOp(event.currentTarget.value as Op)}>
        {OPS.map((op) => <option key={op} value={op} selected={op === node["op"]}>{w[op]}{/^[a-z]/.test(op) ? "" : ` (${op})`}</option>)}
      </select>
      <ValueEdit node={node} set={props.set} name={name} />
    </div>
  );
}

function Part(props: EditProps) {
  const w = useWords(all);
  const kind = kindOf(props.node);
  const node = props.node as Node;
  const isMarked = props.mark === props.place;
  const wrong = Object.entries(props.problems).filter(([place]) => place === props.place || ((kind === "leaf" || kind === "raw") && place.startsWith(`${props.place}/`)));
  const list = kind === "all" || kind === "any" ? (node[kind] as unknown[]) : [];
  const put = (next: unknown[]) => props.set({ [kind]: next });
  return (
    <div class={`part is-${kind}${isMarked ? " is-marked" : ""}`} data-part={props.place}>
      <div class="part-head">
        {(kind === "all" || kind === "any") && (
          <select aria-label={`${fill(w.conditionN, { place: props.place })}: ${w.op}`} value={kind} onChange={(event) => props.set({ [event.currentTarget.value]: list })}>
            <option value="all" selected={kind === "all"}>{w.all}</option>
            <option value="any" selected={kind === "any"}>{w.any}</option>
          </select>
        )}
        {kind === "not" && <span class="group-head">{w.not}</span>}
        {kind === "leaf" && <Leaf {...props} />}
        {kind === "raw" && <span class="faint">{w.raw}</span>}
        <span class="item-actions">
          {kind === "not" ? <button type="button" class="small" onClick={() => props.set(node["not"])}>{w.affirm}</button> : <button type="button" class="small" onClick={() => props.set({ not: props.node })} title={w.negate} aria-label={`${w.negate}: ${props.place}`}>¬</button>}
          <button type="button" class="small" onClick={() => props.set(undefined)} title={w.remove} aria-label={`${w.remove}: ${props.place}`}>×</button>
        </span>
      </div>
      {isMarked && <strong class="marked">{w.failing}</strong>}
      {wrong.map(([place, text]) => <span class="wrong" key={place}><bdi>{text}</bdi></span>)}
      {kind === "raw" && <JsonField value={props.node} set={props.set} label={fill(w.conditionN, { place: props.place })} />}
      {kind === "not" && <Part {...props} node={node["not"]} place={`${props.place}/not`} set={(next) => props.set(next === undefined ? undefined : { not: next })} />}
      {(kind === "all" || kind === "any") && (
        <>
          {list.length === 0 && <p class="faint">{w.none}</p>}
          {list.map((one, n) => (
            <Part key={n} {...props} node={one} place={`${props.place}/${kind}/${n}`} set={(next) => put(next === undefined ? list.filter((_, at) => at !== n) : list.map((old, at) => (at === n ? next : old)))} />
          ))}
          <span class="item-actions">
            <button type="button" class="small" data-add={props.place} onClick={() => put([...list, fresh(props.leaf)])}>{w.addCondition}</button>
            <button type="button" class="small" onClick={() => put([...list, { [kind === "all" ? "any" : "all"]: [fresh(props.leaf)] }])}>{w.addGroup}</button>
          </span>
        </>
      )}
    </div>
  );
}

export interface BuilderProps {
  filter: unknown;
  set: (filter: unknown) => void;
  place?: string;
  label: string;
  mark?: string | null; // the condition that decided
  problems?: Record<string, string>;
  paths?: string[]; // that are known
  leaf?: "path" | "questionId";
  every?: string; // what no filter means
}

// Builder edits a filter: conditions on one side, its JSON on the other.
export function Builder(props: BuilderProps) {
  const w = useWords(all);
  const id = useId();
  const place = props.place ?? "/filter";
  const leaf = props.leaf ?? "path";
  const { text, wrong, write } = useJsonText(props.filter, props.set);
  const top = kindOf(props.filter);
  return (
    <fieldset class="builder" data-builder={place}>
      <legend>{props.label}</legend>
      <datalist id={id}>{(props.paths ?? []).map((one) => <option key={one} value={one} />)}</datalist>
      <div class="builder-views">
        <div class="builder-tree" aria-label={w.builder} role="group">
          {wrong ? (
            <p class="note">{w.mend}</p>
          ) : props.filter === undefined ? (
            <>
              <p class="faint">{props.every ?? w.every}</p>
              <span><button type="button" class="small" data-add={place} onClick={() => props.set(fresh(leaf))}>{w.addCondition}</button></span>
            </>
          ) : (
            <>
              <Part node={props.filter} set={props.set} place={place} mark={props.mark ?? null} problems={props.problems ?? {}} known={id} leaf={leaf} />
              {top !== "all" && top !== "any" && <span><button type="button" class="small" data-add={place} onClick={() => props.set({ all: [props.filter, fresh(leaf)] })}>{w.addCondition}</button></span>}
            </>
          )}
        </div>
        <label class="builder-json">
          <span class="faint">{w.jsonBeside}</span>
          <textarea dir="ltr" class="code" spellcheck={false} rows={Math.min(Math.max(text.split("\n").length, 4), 20)} value={text} aria-invalid={wrong ? true : undefined} onInput={(event) => write(event.currentTarget.value)} />
          {wrong && <span class="wrong" role="alert">{wrong}</span>}
        </label>
      </div>
    </fieldset>
  );
}
