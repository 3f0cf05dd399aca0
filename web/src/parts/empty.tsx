import type { ComponentChildren } from "preact";
import { useWords } from "../i18n";
import { Copy } from "./copy";
import { partWords } from "./parts.words";

// Empty says why there is nothing, and what to do next. good: nothing is what one hopes for.
export function Empty(props: { title: string; text?: ComponentChildren; command?: string; good?: boolean; children?: ComponentChildren }) {
  const w = useWords(partWords);
  return (
    <div class={`empty${props.good ? " is-good" : ""}`}>
      <p class="empty-title">{props.good && <span aria-hidden="true">✓ </span>}{props.title}</p>
      {props.text && <p>{props.text}</p>}
      {props.command && (
        <p class="command">
          <span>{w.tryCommand}</span> <code><bdi dir="ltr">{props.command}</bdi></code> <Copy text={props.command} />
        </p>
      )}
      {props.children}
    </div>
  );
}
