import { useState } from "preact/hooks";
import { asCurl } from "../curl";
import type { Options } from "../api";
import { useWords } from "../i18n";
import { announce } from "../status";
import { partWords } from "./parts.words";

// copyText works on plain http too, where the clipboard of modern browsers is not to be had.
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "off-screen";
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

export function Copy(props: { text: string; label?: string }) {
  const w = useWords(partWords);
  const [isDone, setDone] = useState(false);
  const copy = () =>
    void copyText(props.text).then(() => {
      setDone(true);
      announce(w.copied);
      setTimeout(() => setDone(false), 2000);
    });
  return (
    <button type="button" class="small" onClick={copy} title={props.text}>
      {isDone ? w.copied : (props.label ?? w.copy)}
    </button>
  );
}

// CopyAs gives what the page shows as commands; peal is the whole command line, where there is one.
export function CopyAs(props: { method?: string; path: string; options?: Pick<Options, "path" | "query" | "body">; peal?: string }) {
  const w = useWords(partWords);
  return (
    <span class="copy-as">
      <Copy label={w.copyCurl} text={asCurl(props.method ?? "GET", props.path, props.options)} />
      {props.peal && <Copy label={w.copyPeal} text={props.peal} />}
    </span>
  );
}
