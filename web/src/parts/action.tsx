import type { ComponentChildren } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import { randomKey, send, type Options } from "../api";
import { fill, useWords } from "../i18n";
import { mayCall, session } from "../session";
import { announce } from "../status";
import { useStore } from "../store";
import { CopyAs } from "./copy";
import { Dialog } from "./dialog";
import { partWords } from "./parts.words";
import { ProblemBox } from "./problem";

// useWhyNot says why a route may not be called by who is signed in; "" when it may.
export function useWhyNot(route: string, action: string): string {
  const w = useWords(partWords);
  useStore(session);
  const { may, roles } = mayCall(route);
  if (may) return "";
  return roles.includes("system") ? fill(w.needsSystem, { action }) : fill(w.needsRole, { action, roles: roles.join(w.or) });
}

export interface ActionProps<T> {
  route: string; // "POST /v1/deliveries/{id}/retry", as the session names it
  path?: Record<string, string | number>;
  query?: Options["query"];
  body?: unknown | (() => unknown);
  version?: string | number | null;
  children: string; // what the button says
  danger?: "mild" | "moderate" | "severe";
  name?: string; // what a severe one has to be confirmed with
  ask?: ComponentChildren; // what the dialog says; also with mild, where a reason is asked for
  reason?: "optional" | "required"; // asked for, and sent as body.reason
  primary?: boolean;
  disabled?: string; // why not, beside rights
  done?: (answer: T) => void;
}

// Action is a button that calls a route. It is disabled, and says why, where the role may not; dangers are confirmed; what
// the server refuses is shown where the button is. A second click, and a try again, are the same call (Idempotency-Key).
export function Action<T = unknown>(props: ActionProps<T>) {
  const w = useWords(partWords);
  const label = props.children;
  const why = useWhyNot(props.route, label) || props.disabled || "";
  const [asks, setAsks] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const [reason, setReason] = useState("");
  const [typed, setTyped] = useState("");
  const key = useRef("");
  const id = useId();
  const [method = "POST", path = ""] = props.route.split(" ");
  const danger = props.danger ?? "mild";
  const needsDialog = danger !== "mild" || !!props.reason || !!props.ask;
  const body = () => {
    const given = typeof props.body === "function" ? (props.body as () => unknown)() : props.body;
    return reason ? { ...((given as object | undefined) ?? {}), reason } : given;
  };
  const options = (): Options => {
    const made: Options = { version: props.version ?? null };
    if (props.path) made.path = props.path;
    if (props.query) made.query = props.query;
    const sent = body();
    if (sent !== undefined) made.body = sent;
    return made;
  };
  const call = async () => {
    if (isBusy) return;
    key.current ||= randomKey();
    setBusy(true);
    setProblem(null);
    try {
      const answer = await send<T>(method, path, { ...options(), key: key.current });
      key.current = "";
      setAsks(false);
      setReason("");
      setTyped("");
      announce(fill(w.done, { action: label }));
      props.done?.(answer);
    } catch (told) {
      const status = (told as { status?: number }).status ?? 0;
      if (status >= 400 && status < 500) key.current = "";
      setProblem(told);
    } finally {
      setBusy(false);
    }
  };
  const press = () => {
    if (why) return;
    setProblem(null);
    if (needsDialog) setAsks(true);
    else void call();
  };
  const mayConfirm = (props.reason !== "required" || reason.trim() !== "") && (danger !== "severe" || typed === props.name);
  const tone = danger === "severe" ? "is-danger" : props.primary ? "is-primary" : "";
  return (
    <span class="action">
      <button type="button" class={tone} aria-disabled={why ? true : undefined} aria-describedby={why ? id : undefined} aria-busy={isBusy} onClick={press}>
        {isBusy ? w.working : label}
      </button>
      {why && <span class="why" id={id} role="tooltip">{why}</span>}
      {!asks && <ProblemBox problem={problem} />}
      {asks && (
        <Dialog title={label} close={() => setAsks(false)}>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              if (mayConfirm) void call();
            }}
          >
            {props.ask ? <div class="ask">{props.ask}</div> : <p>{w.sure}</p>}
            {props.reason && (
              <label class="field">
                <span>{w.reason} <small>{props.reason === "required" ? w.required : w.optional}</small></span>
                <input name="reason" value={reason} maxLength={1000} required={props.reason === "required"} onInput={(event) => setReason(event.currentTarget.value)} />
              </label>
            )}
            {danger === "severe" && (
              <label class="field">
                <span>{fill(w.typeName, { name: props.name ?? "" })}</span>
                <input name="confirm" autocomplete="off" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
              </label>
            )}
            <ProblemBox problem={problem} />
            <div class="dialog-foot">
              <CopyAs method={method} path={path} options={options()} />
              <button type="button" onClick={() => setAsks(false)}>{w.cancel}</button>
              <button type="submit" class={danger === "mild" ? "is-primary" : "is-danger"} disabled={!mayConfirm || isBusy} aria-busy={isBusy}>
                {isBusy ? w.working : label}
              </button>
            </div>
          </form>
        </Dialog>
      )}
    </span>
  );
}
