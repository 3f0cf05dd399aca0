import { useWords } from "../i18n";
import all from "./unbuilt.words";

export function Unbuilt() {
  const w = useWords(all);
  return (
    <div class="empty">
      <h1>{w.unbuilt}</h1>
      <p>{w.unbuiltText}</p>
    </div>
  );
}
