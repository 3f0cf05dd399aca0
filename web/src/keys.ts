// Shortcuts of single keys. They can be switched off, and never act while a field has the focus or another key is held.
import { prefs } from "./prefs";

type Handler = (event: KeyboardEvent) => boolean | void;
const stack: { keys: Record<string, Handler> }[] = [];
let prefix = "";
let prefixTimer = 0;

function isField(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return !!element?.closest?.("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable=true]");
}

// onKeys has the keys handled until the function that it returns is called. Names: "j", "Enter", "g o". The last to come
// is asked first; one that returns false leaves the key to the others.
export function onKeys(keys: Record<string, Handler>): () => void {
  const entry = { keys };
  stack.push(entry);
  return () => {
    const at = stack.indexOf(entry);
    if (at >= 0) stack.splice(at, 1);
  };
}

function pressed(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || isField(event.target)) return;
  if (!prefs.get().shortcuts && event.key !== "Escape") return;
  if (document.querySelector("dialog[open]") && event.key !== "Escape") return;
  const name = prefix ? `${prefix} ${event.key}` : event.key;
  prefix = "";
  for (const { keys } of [...stack].reverse()) {
    const handler = keys[name];
    if (handler && handler(event) !== false) {
      event.preventDefault();
      return;
    }
  }
  if (event.key === "g") {
    prefix = "g";
    clearTimeout(prefixTimer);
    prefixTimer = window.setTimeout(() => (prefix = ""), 1500);
  }
}

document.addEventListener("keydown", pressed);
