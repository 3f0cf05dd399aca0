import { Copy } from "./copy";

function parts(text: string): { kind: string; text: string }[] {
  const found: { kind: string; text: string }[] = [];
  const pattern = /("(?:\\.|[^"\\])*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g;
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > at) found.push({ kind: "", text: text.slice(at, match.index) });
    if (match[1] !== undefined) {
      found.push({ kind: match[2] ? "json-key" : "json-text", text: match[1] });
      if (match[2]) found.push({ kind: "", text: match[2] });
    } else found.push({ kind: match[3] !== undefined ? "json-word" : "json-number", text: match[0] });
    at = match.index + match[0].length;
  }
  found.push({ kind: "", text: text.slice(at) });
  return found;
}

// JsonView shows a value as JSON, to be read and copied. A text that is JSON is shown as what it holds.
export function JsonView(props: { value: unknown; label?: string }) {
  let value = props.value;
  if (typeof value === "string")
    try {
      value = JSON.parse(value);
    } catch {
      // shown as the text that it is
    }
  const text = typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "null");
  return (
    <div class="json">
      <Copy text={text} />
      <pre dir="ltr" tabIndex={0} role="region" aria-label={props.label ?? "JSON"}>
        <code>{text.length > 200_000 ? text : parts(text).map((one, n) => (one.kind ? <span key={n} class={one.kind}>{one.text}</span> : one.text))}</code>
      </pre>
    </div>
  );
}
