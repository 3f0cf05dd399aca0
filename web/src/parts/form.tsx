import type { ComponentChildren } from "preact";
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { Problem, send, randomKey } from "../api";
import { dropDraft, keepDraft, readDraft } from "../drafts";
import { count, fill, useWords } from "../i18n";
import { announce } from "../status";
import { useWhyNot } from "./action";
import { CopyAs } from "./copy";
import { useJsonText } from "./jsontext";
import { partWords } from "./parts.words";
import { ProblemBox } from "./problem";
import { optionsOf, readDocument, resolved, schemaNamed, type Schema } from "./schema";
import { Time } from "./time";

export type Value = Record<string, unknown>;
export interface FieldProps {
  schema: Schema;
  value: unknown;
  set: (value: unknown) => void; // undefined takes the member away
  place: string; // JSON pointer
  problems: Record<string, string>;
  whole: Value;
}
export type FieldOverride = (props: FieldProps) => ComponentChildren;

export interface FormProps {
  shape: string; // "ChannelBody": a component of the OpenAPI document
  first: Value; // what it begins with: {} for a new one, the thing as it is for an edit
  save: { route: string; path?: Record<string, string>; version?: string | number | null }; // "POST /v1/channels", "PUT /v1/channels/{id}"
  draft: string; // name of its draft, such as channel/http:bi
  saved: (answer: Value) => void;
  labels?: Record<string, string>; // of members, by their JSON pointer: "/config/url"
  override?: Record<string, FieldOverride>; // members drawn by the page, by their JSON pointer
  order?: string[]; // members that come first; others follow as the shape has them
  hide?: string[];
  fixed?: string[]; // members that cannot be changed any more, such as the id
  beside?: (value: Value, set: (value: Value) => void) => ComponentChildren; // a preview
  toBody?: (value: Value) => unknown;
  changed?: (value: Value) => void;
}

// pick leaves of a shown thing what its body may say.
function pick(value: Value, schema: Schema): Value {
  const names = Object.keys(schema.properties ?? {});
  return Object.fromEntries(Object.entries(value).filter(([name, one]) => names.includes(name) && one !== null && one !== undefined));
}

function Label(props: { text: string; schema: Schema; isRequired: boolean; for?: string }) {
  const w = useWords(partWords);
  return (
    <span class="field-label">
      {props.text} {props.isRequired && <small class="required">{w.required}</small>}
    </span>
  );
}

function isSecretSet(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0 && !Array.isArray(value) && ("set" in value || "isSet" in value);
}

// JsonField is for what no other field can hold: any JSON.
export function JsonField(props: { value: unknown; set: (value: unknown) => void; label: string; rows?: number; describedBy?: string | undefined }) {
  const { text, wrong, write } = useJsonText(props.value, props.set);
  return (
    <>
      <textarea dir="ltr" class="code" spellcheck={false} rows={props.rows ?? Math.min(Math.max(text.split("\n").length, 3), 24)} value={text} aria-label={props.label} aria-invalid={!!wrong} aria-describedby={props.describedBy}
        onInput={(event) => write(event.currentTarget.value)} />
      {wrong && <span class="wrong" role="alert">{wrong}</span>}
    </>
  );
}

interface AnyProps extends FieldProps {
  label: string;
  isRequired: boolean;
  form: Pick<FormProps, "labels" | "override" | "fixed">;
}

function Simple(props: AnyProps & { kind: Schema }) {
  const w = useWords(partWords);
  const { kind, value, set } = props;
  const id = useId();
  const wrong = props.problems[props.place];
  const isFixed = props.form.fixed?.includes(props.place.slice(1)) ?? false;
  const describedBy = [kind.description || props.schema.description ? `${id}-help` : "", wrong ? `${id}-wrong` : ""].filter(Boolean).join(" ") || undefined;
  const common = { id, "aria-describedby": describedBy, "aria-invalid": wrong ? true : undefined, name: props.place, disabled: isFixed };
  let field: ComponentChildren;
  if (kind.type === "boolean")
    field = (
      <select {...common} value={value === undefined ? "" : String(value)} onChange={(event) => set(event.currentTarget.value === "" ? undefined : event.currentTarget.value === "true")}>
        {!props.isRequired && <option value="">{w.notSet}</option>}
        <option value="true" selected={value === true}>{w.yes}</option>
        <option value="false" selected={value === false}>{w.no}</option>
      </select>
    );
  else if (kind.enum)
    field = (
      <select {...common} value={value === undefined ? "" : String(value)} onChange={(event) => set(event.currentTarget.value === "" ? undefined : kind.enum!.find((one) => String(one) === event.currentTarget.value))}>
        <option value="">{props.isRequired ? w.choose : w.notSet}</option>
        {kind.enum.filter((one) => one !== null).map((one) => <option key={one} value={String(one)} selected={one === value}>{String(one)}</option>)}
      </select>
    );
  else if (kind.type === "integer" || kind.type === "number")
    field = (
      <input {...common} type="number" step={kind.type === "integer" ? 1 : "any"} min={kind.minimum} max={kind.maximum} value={value === undefined ? "" : String(value)}
        onInput={(event) => set(event.currentTarget.value === "" ? undefined : Number(event.currentTarget.value))} />
    );
  else if (isSecretSet(value))
    field = (
      <span class="row">
        <input {...common} readOnly value={w.secretKept} />
        <button type="button" onClick={() => set("")}>{w.set}</button>
      </span>
    );
  else if ((kind.maxLength ?? 0) > 3000)
    field = <textarea {...common} rows={5} dir="auto" value={value === undefined ? "" : String(value)} onInput={(event) => set(event.currentTarget.value === "" && !props.isRequired ? undefined : event.currentTarget.value)} />;
  else field = <input {...common} dir="auto" value={value === undefined ? "" : String(value)} maxLength={kind.maxLength} autocomplete="off" onInput={(event) => set(event.currentTarget.value === "" && !props.isRequired ? undefined : event.currentTarget.value)} />;
  const help = kind.description ?? props.schema.description;
  return (
    <div class="field">
      <label for={id}><Label text={props.label} schema={kind} isRequired={props.isRequired} /></label>
      {field}
      {help && <small class="help" id={`${id}-help`}><bdi>{help}</bdi></small>}
      {wrong && <span class="wrong" id={`${id}-wrong`}><bdi>{wrong}</bdi></span>}
    </div>
  );
}

function Group(props: AnyProps & { kind: Schema }) {
  const { kind } = props;
  const value = (props.value as Value | undefined) ?? {};
  return (
    <fieldset>
      <legend>{props.label}</legend>
      {(kind.description ?? props.schema.description) && <small class="help"><bdi>{kind.description ?? props.schema.description}</bdi></small>}
      <Members schema={kind} value={value} place={props.place} problems={props.problems} whole={props.whole} form={props.form}
        set={(next) => props.set(Object.keys(next).length === 0 && !props.isRequired ? undefined : next)} />
      {props.problems[props.place] && <span class="wrong"><bdi>{props.problems[props.place]}</bdi></span>}
    </fieldset>
  );
}

function ListField(props: AnyProps & { kind: Schema }) {
  const w = useWords(partWords);
  const all = Array.isArray(props.value) ? (props.value as unknown[]) : [];
  const item = resolved(props.kind.items ?? {});
  const put = (next: unknown[]) => props.set(next.length === 0 && !props.isRequired ? undefined : next);
  const move = (from: number, to: number) => {
    const next = [...all];
    next.splice(to, 0, ...next.splice(from, 1));
    put(next);
  };
  return (
    <fieldset>
      <legend>{props.label}</legend>
      {props.kind.description && <small class="help"><bdi>{props.kind.description}</bdi></small>}
      {all.map((one, n) => (
        <div class="item" key={n}>
          <Any {...props} schema={item} label={`${props.label} ${n + 1}`} isRequired={true} value={one} place={`${props.place}/${n}`} set={(next) => put(all.map((old, at) => (at === n ? next : old)))} />
          <span class="item-actions">
            {n > 0 && <button type="button" class="small" onClick={() => move(n, n - 1)}>{w.up}</button>}
            {n < all.length - 1 && <button type="button" class="small" onClick={() => move(n, n + 1)}>{w.down}</button>}
            <button type="button" class="small" onClick={() => put(all.filter((_, at) => at !== n))}>{w.removeOne}</button>
          </span>
        </div>
      ))}
      <button type="button" class="small" onClick={() => put([...all, item.type === "object" || item.properties ? {} : item.type === "array" ? [] : item.type === "integer" || item.type === "number" ? 0 : ""])}>{w.add}</button>
      {props.problems[props.place] && <span class="wrong"><bdi>{props.problems[props.place]}</bdi></span>}
    </fieldset>
  );
}

function MapField(props: AnyProps & { kind: Schema }) {
  const w = useWords(partWords);
  const all = Object.entries((props.value as Value | undefined) ?? {});
  const item = typeof props.kind.additionalProperties === "object" ? resolved(props.kind.additionalProperties) : {};
  const [name, setName] = useState("");
  const put = (next: [string, unknown][]) => props.set(next.length === 0 && !props.isRequired ? undefined : Object.fromEntries(next));
  const add = () => {
    if (!name.trim()) return;
    put([...all, [name.trim(), item.type === "object" ? {} : ""]]);
    setName("");
  };
  return (
    <fieldset>
      <legend>{props.label}</legend>
      {props.kind.description && <small class="help"><bdi>{props.kind.description}</bdi></small>}
      {all.map(([key, one]) => (
        <div class="item" key={key}>
          <Any {...props} schema={item} label={key} isRequired={true} value={one} place={`${props.place}/${key.replace(/~/g, "~0").replace(/\//g, "~1")}`} set={(next) => put(all.map(([old, was]) => [old, old === key ? next : was]))} />
          <span class="item-actions"><button type="button" class="small" onClick={() => put(all.filter(([old]) => old !== key))}>{w.removeOne}</button></span>
        </div>
      ))}
      <span class="row">
        <input aria-label={`${props.label}: ${w.name}`} placeholder={w.name} value={name} onInput={(event) => setName(event.currentTarget.value)} />
        <button type="button" class="small" onClick={add}>{w.add}</button>
      </span>
    </fieldset>
  );
}

function isPlain(kind: Schema): boolean {
  return !!kind.enum || ["string", "integer", "number", "boolean"].includes(String(kind.type));
}

// Any draws whatever a schema asks for.
function Any(props: AnyProps) {
  const drawn = props.form.override?.[props.place];
  if (drawn) return <>{drawn(props)}</>;
  const kind = resolved(props.schema);
  const options = optionsOf(kind);
  if (options.length > 0) {
    const text = options.find((one) => one.type === "string");
    if (text && (props.value === undefined || typeof props.value === "string" || isSecretSet(props.value))) return <Simple {...props} kind={{ ...text, ...(kind.description ? { description: kind.description } : {}) }} />;
    const list = options.find((one) => one.type === "array");
    if (list && Array.isArray(props.value)) return <ListField {...props} kind={list} />;
    return <Free {...props} />;
  }
  if (isPlain(kind)) return <Simple {...props} kind={kind} />;
  if (kind.type === "array" && kind.items && Object.keys(kind.items).length > 0) return <ListField {...props} kind={kind} />;
  if (kind.properties && Object.keys(kind.properties).length > 0) return <Group {...props} kind={kind} />;
  if (kind.type === "object" && typeof kind.additionalProperties === "object" && isPlain(resolved(kind.additionalProperties))) return <MapField {...props} kind={kind} />;
  if (kind.type === "object" && typeof kind.additionalProperties === "object" && optionsOf(resolved(kind.additionalProperties)).some((one) => one.type === "string")) return <MapField {...props} kind={kind} />;
  return <Free {...props} />;
}

function Free(props: AnyProps) {
  const id = useId();
  return (
    <div class="field">
      <Label text={`${props.label} (JSON)`} schema={props.schema} isRequired={props.isRequired} />
      <JsonField value={props.value} set={props.set} label={props.label} describedBy={props.schema.description ? id : undefined} />
      {props.schema.description && <small class="help" id={id}><bdi>{props.schema.description}</bdi></small>}
      {props.problems[props.place] && <span class="wrong"><bdi>{props.problems[props.place]}</bdi></span>}
    </div>
  );
}

// labelOf turns giveUpAfter into Give up after, unless the page says another.
function labelOf(place: string, name: string, labels?: Record<string, string>): string {
  const said = labels?.[place] ?? labels?.[name];
  if (said) return said;
  const text = name.replace(/([a-z])([A-Z])/g, (_, a: string, b: string) => `${a} ${b.toLowerCase()}`);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function Members(props: { schema: Schema; value: Value; set: (value: Value) => void; place: string; problems: Record<string, string>; whole: Value; form: AnyProps["form"]; order?: string[]; hide?: string[] }) {
  const names = Object.keys(props.schema.properties ?? {}).filter((name) => !props.hide?.includes(name));
  const rank = (name: string) => {
    const at = props.order?.indexOf(name) ?? -1;
    return at >= 0 ? at : 1000 + (props.schema.required?.includes(name) ? 0 : 1000);
  };
  const sorted = names.map((name, n) => ({ name, n })).sort((a, b) => rank(a.name) - rank(b.name) || a.n - b.n);
  return (
    <>
      {sorted.map(({ name }) => {
        const place = `${props.place}/${name}`;
        return (
          <Any key={name} schema={props.schema.properties![name]!} value={props.value[name]} place={place} problems={props.problems} whole={props.whole} form={props.form}
            label={labelOf(place, name, props.form.labels)} isRequired={props.schema.required?.includes(name) ?? false}
            set={(next) => {
              const made = { ...props.value };
              if (next === undefined) delete made[name];
              else made[name] = next;
              props.set(made);
            }} />
        );
      })}
    </>
  );
}

function problemsOf(problem: unknown): Record<string, string> {
  if (!(problem instanceof Problem)) return {};
  return Object.fromEntries(problem.errors.map((one) => [one.path, one.message]));
}

// Form edits a body of the API: fields and JSON are two views of one value. What is not saved is kept as a draft; what the
// server refuses stands at its field.
export function Form(props: FormProps) {
  const w = useWords(partWords);
  const [isKnown, setKnown] = useState(!!schemaNamed(props.shape));
  const [failed, setFailed] = useState<unknown>(null);
  useEffect(() => {
    if (!isKnown) readDocument().then(() => setKnown(true), setFailed);
  }, []);
  if (failed) return <ProblemBox problem={failed} />;
  if (!isKnown) return <p class="loading" aria-busy="true">{w.loading}</p>;
  return <Editor {...props} />;
}

function Editor(props: FormProps) {
  const w = useWords(partWords);
  const schema = useMemo(() => resolved(schemaNamed(props.shape) ?? {}), [props.shape]);
  const first = useMemo(() => pick(props.first, schema), [JSON.stringify(props.first), schema]);
  const kept = useMemo(() => readDraft<Value>(props.draft), [props.draft]);
  const [value, setValue] = useState<Value>(kept?.value ?? first);
  const [fromDraft, setFromDraft] = useState(kept);
  const [view, setView] = useState<"fields" | "json" | "both">("fields");
  const [problem, setProblem] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const key = useRef("");
  const box = useRef<HTMLFormElement>(null);
  const [method = "POST", path = ""] = props.save.route.split(" ");
  const why = useWhyNot(props.save.route, w.save);
  const isChanged = JSON.stringify(value) !== JSON.stringify(first);
  const problems = problemsOf(problem);
  const version = fromDraft?.version ?? props.save.version ?? null;
  const change = (next: Value) => {
    setValue(next);
    key.current = "";
    if (JSON.stringify(next) === JSON.stringify(first)) dropDraft(props.draft);
    else keepDraft(props.draft, next, version);
    props.changed?.(next);
  };
  useEffect(() => props.changed?.(value), []);
  useEffect(() => {
    if (!isChanged) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", warn);
    return () => window.removeEventListener("beforeunload", warn);
  }, [isChanged]);
  const throwAway = () => {
    dropDraft(props.draft);
    setFromDraft(null);
    setValue(first);
    setProblem(null);
    props.changed?.(first);
  };
  const body = props.toBody ? props.toBody(value) : value;
  const save = async (event: Event) => {
    event.preventDefault();
    if (why || isBusy) return;
    key.current ||= randomKey();
    setBusy(true);
    setProblem(null);
    try {
      const answer = await send<Value>(method, path, { ...(props.save.path ? { path: props.save.path } : {}), body, version, key: key.current });
      dropDraft(props.draft);
      setFromDraft(null);
      announce(w.saved);
      props.saved(answer);
    } catch (told) {
      const status = (told as { status?: number }).status ?? 0;
      if (status >= 400 && status < 500) key.current = "";
      setProblem(told);
      setTimeout(() => box.current?.querySelector<HTMLElement>("[aria-invalid]")?.focus(), 0);
    } finally {
      setBusy(false);
    }
  };
  const shownProblems = Object.keys(problems).length;
  return (
    <form class={`form${props.beside ? " has-beside" : ""}`} ref={box} onSubmit={(event) => void save(event)} noValidate data-form={props.shape}>
      <div class="form-main">
        {fromDraft && (
          <p class="note">
            {fill(w.draftKept, { time: "" }).replace(/\s*\.$/, "")} <Time at={fromDraft.at} />.{" "}
            {fromDraft.version !== null && props.save.version !== undefined && String(fromDraft.version) !== String(props.save.version) && fill(w.draftOld, { version: String(fromDraft.version) })}{" "}
            <button type="button" class="small" onClick={throwAway}>{w.discardDraft}</button>
          </p>
        )}
        <div class="views" role="group" aria-label={`${w.fields}, ${w.json}`}>
          {(["fields", "json", "both"] as const).map((one) => (
            <button key={one} type="button" class="small" aria-pressed={view === one} onClick={() => setView(one)}>{w[one]}</button>
          ))}
        </div>
        <div class={`form-views is-${view}`}>
          {view !== "json" && (
            <div class="form-fields">
              <Members schema={schema} value={value} set={change} place="" problems={problems} whole={value} form={props} {...(props.order ? { order: props.order } : {})} {...(props.hide ? { hide: props.hide } : {})} />
            </div>
          )}
          {view !== "fields" && (
            <div class="form-json">
              <JsonField value={value} set={(next) => change((next as Value | undefined) ?? {})} label={w.json} rows={24} />
            </div>
          )}
        </div>
        <ProblemBox problem={problem} />
        {shownProblems > 0 && <p class="wrong">{count(w.problems, shownProblems)}</p>}
        <div class="form-foot">
          <button type="submit" class="is-primary" aria-disabled={why ? true : undefined} aria-busy={isBusy}>{isBusy ? w.working : w.save}</button>
          {why && <span class="why is-open">{why}</span>}
          {isChanged && <span class="faint">{w.unsaved}</span>}
          {isChanged && !fromDraft && <button type="button" class="plain" onClick={throwAway}>{w.discardDraft}</button>}
          <CopyAs method={method} path={path} options={{ path: props.save.path ?? {}, body }} />
        </div>
      </div>
      {props.beside && <div class="form-beside">{props.beside(value, change)}</div>}
    </form>
  );
}
