import { frameWords } from "../frame.words";
import { useWords } from "../i18n";

export function Unbuilt() {
  const w = useWords(frameWords);
  return (
    <div class="empty">
      <h1>{w.unbuilt}</h1>
      <p>{w.unbuiltText}</p>
    </div>
  );
}
