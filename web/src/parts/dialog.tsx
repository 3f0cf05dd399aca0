import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { frameWords } from "../frame.words";
import { useWords } from "../i18n";

// Dialog takes the focus, and gives it back when it closes. Escape and a click beside it close it.
export function Dialog(props: { title: string; close: () => void; children: ComponentChildren; wide?: boolean }) {
  const w = useWords(frameWords);
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = element.current!;
    const before = document.activeElement as HTMLElement | null;
    if (!dialog.open) dialog.showModal();
    return () => {
      dialog.close();
      before?.focus?.();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={props.wide ? "is-wide" : ""}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        props.close();
      }}
      onClick={(event) => event.target === element.current && props.close()}
    >
      <div class="dialog-body">
        <div class="dialog-head">
          <h2 id={id}>{props.title}</h2>
          <button type="button" class="plain" onClick={props.close}>{w.close}</button>
        </div>
        {props.children}
      </div>
    </dialog>
  );
}
