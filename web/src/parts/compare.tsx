import { useWords } from "../i18n";
import { partWords } from "./parts.words";

interface Line {
  sign: " " | "+" | "-";
  text: string;
}

// compareLines is the shortest way from one text to the other, line by line.
export function compareLines(before: string, after: string): Line[] {
  const a = before.split("\n");
  const b = after.split("\n");
  if (a.length * b.length > 4_000_000) return [...a.map((text): Line => ({ sign: "-", text })), ...b.map((text): Line => ({ sign: "+", text }))];
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--) lengths[i]![j] = a[i] === b[j] ? lengths[i + 1]![j + 1]! + 1 : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!);
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ sign: " ", text: a[i++]! });
      j++;
    } else if (i < a.length && (j === b.length || lengths[i + 1]![j]! >= lengths[i]![j + 1]!)) lines.push({ sign: "-", text: a[i++]! });
    else lines.push({ sign: "+", text: b[j++]! });
  }
  return lines;
}

export function Compare(props: { before: string; after: string; beforeLabel?: string; afterLabel?: string }) {
  const w = useWords(partWords);
  if (props.before === props.after) return <p class="faint">{w.same}</p>;
  const said = { "+": w.added, "-": w.removed, " ": "" };
  return (
    <div class="compare">
      <p class="faint">− {props.beforeLabel ?? w.before_} · + {props.afterLabel ?? w.after}</p>
      <pre dir="ltr" tabIndex={0} role="region" aria-label={`${props.beforeLabel ?? w.before_} → ${props.afterLabel ?? w.after}`}>
        {compareLines(props.before, props.after).map((line, n) => (
          <span key={n} class={line.sign === "+" ? "line is-added" : line.sign === "-" ? "line is-removed" : "line"}>
            <span aria-hidden="true">{line.sign} </span>
            {said[line.sign] && <span class="off-screen">{said[line.sign]}: </span>}
            {line.text + "\n"}
          </span>
        ))}
      </pre>
    </div>
  );
}
