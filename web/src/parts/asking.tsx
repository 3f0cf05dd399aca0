import type { ComponentChildren } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import { Problem, randomKey, send, type Options } from "../api";
import { fill, useWords } from "../i18n";
import { announce } from "../status";
import { useWhyNot } from "./action";
import { Copy, CopyAs } from "./copy";
import { Dialog } from "./dialog";
import { partWords } from "./parts.words";
import { ProblemBox } from "./problem";

export interface Asked {
  name: string; // of a member of the body
  label: string;
  help?: string;
  first?: string;
  isRequired?: boolean;
  isLong?: boolean;
  values?: string[]; // one of these
  dir?: "ltr" | "auto";
}

type Values = Record<string, string>;
export interface AskingProps<T> {
  route: string; // "POST /v1/channels/{id}/test"
  path?: Record<string, string>;
  label: string; // of the button, and of the dialog
  intro?: ComponentChildren;
  fields: Asked[];
  toBody?: (values: Values) => unknown; // what was filled in, unless said
  peal?: (values: Values) => string;
  result?: (answer: T) => ComponentChildren; // shown in place of the fields: a secret that is told once
  done?: (answer: T) => void; // once it closes, where there is a result
  primary?: boolean;
  disabled?: string;
}

// Asking is a button that asks for some values and calls a route with them. Refusals stand at their field.
export function Asking<T>(props: AskingProps<T>) {
  const why = useWhyNot(props.route, props.label) || props.disabled || "";
  const [asks, setAsks] = useState(false);
  const id = useId();
  return (
    <span class="action">
      <button type="button" class={props.primary ? "is-primary" : ""} aria-disabled={why ? true : undefined} aria-describedby={why ? id : undefined} onClick={() => !why && setAsks(true)}>
        {props.label}
      </button>
      {why && <span class="why" id={id} role="tooltip">{why}</span>}
      {asks && <Questions {...props} close={() => setAsks(false)} />}
    </span>
  );
}

function Field(props: { asked: Asked; value: string; wrong: string | undefined; set: (value: string) => void }) {
  const w = useWords(partWords);
  const { asked, wrong } = props;
  const id = useId();
  const common = {
    id, name: asked.name, "aria-invalid": wrong ? true : undefined, required: asked.isRequired, dir: asked.dir ?? "auto",
    "aria-describedby": [asked.help ? `${id}-help` : "", wrong ? `${id}-wrong` : ""].filter(Boolean).join(" ") || undefined,
  };
  return (
    <div class="field">
      <label for={id}><span class="field-label">{asked.label} <small class={asked.isRequired ? "required" : "faint"}>{asked.isRequired ? w.required : w.optional}</small></span></label>
      {asked.values ? (
        <select {...common} value={props.value} onChange={(event) => props.set(event.currentTarget.value)}>
          {!asked.isRequired && <option value="">{w.notSet}</option>}
          {asked.values.map((one) => <option key={one} value={one} selected={one === props.value}>{one}</option>)}
        </select>
      ) : asked.isLong ? (
        <textarea {...common} rows={4} value={props.value} onInput={(event) => props.set(event.currentTarget.value)} />
      ) : (
        <input {...common} autocomplete="off" value={props.value} onInput={(event) => props.set(event.currentTarget.value)} />
      )}
      {asked.help && <small class="help" id={`${id}-help`}><bdi>{asked.help}</bdi></small>}
      {wrong && <span class="wrong" id={`${id}-wrong`}><bdi>{wrong}</bdi></span>}
    </div>
  );
}

function Questions<T>(props: AskingProps<T> & { close: () => void }) {
  const w = useWords(partWords);
  const [values, setValues] = useState<Values>(() => Object.fromEntries(props.fields.map((one) => [one.name, one.first ?? ""])));
  const [problem, setProblem] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const [answer, setAnswer] = useState<{ told: T } | null>(null);
  const key = useRef("");
  const [method = "POST", path = ""] = props.route.split(" ");
  const filled = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
  const body = props.toBody ? props.toBody(filled) : filled;
  const options: Options = { body, ...(props.path ? { path: props.path } : {}) };
  const wrongs = problem instanceof Problem ? Object.fromEntries(problem.errors.map((one) => [one.path.split("/").pop() ?? "", one.message])) : {};
  const isFull = props.fields.every((one) => !one.isRequired || values[one.name]);
  const close = () => {
    props.close();
    if (answer) props.done?.(answer.told);
  };
  const start = async (event: Event) => {
    event.preventDefault();
    if (isBusy || !isFull) return;
    key.current ||= randomKey();
    setBusy(true);
    setProblem(null);
    try {
      const told = await send<T>(method, path, { ...options, key: key.current });
      announce(fill(w.done, { action: props.label }));
      if (props.result) return setAnswer({ told });
      props.close();
      props.done?.(told);
    } catch (refused) {
      if (refused instanceof Problem && refused.status >= 400 && refused.status < 500) key.current = "";
      setProblem(refused);
    } finally {
      setBusy(false);
    }
  };
  const change = (name: string, value: string) => {
    key.current = "";
    setValues((before) => ({ ...before, [name]: value }));
  };
  return (
    <Dialog title={props.label} close={close}>
      {answer ? (
        <div data-result>{props.result!(answer.told)}</div>
      ) : (
        <form onSubmit={(event) => void start(event)} noValidate>
          {props.intro && <p>{props.intro}</p>}
          {props.fields.map((one) => <Field key={one.name} asked={one} value={values[one.name] ?? ""} wrong={wrongs[one.name]} set={(value) => change(one.name, value)} />)}
          <ProblemBox problem={problem} />
          <div class="dialog-foot">
            <CopyAs method={method} path={path} options={options} {...(props.peal ? { peal: props.peal(filled) } : {})} />
            <button type="button" onClick={close}>{w.cancel}</button>
            <button type="submit" class="is-primary" disabled={!isFull} aria-busy={isBusy}>{isBusy ? w.working : props.label}</button>
          </div>
        </form>
      )}
    </Dialog>
  );
}

// Secret is one that is told this once, to be copied.
export function Secret(props: { value: string; says: string }) {
  return (
    <>
      <p class="note">{props.says}</p>
      <p class="command"><code data-secret><bdi dir="ltr">{props.value}</bdi></code> <Copy text={props.value} /></p>
    </>
  );
}
