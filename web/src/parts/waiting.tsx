import { useWords } from "../i18n";
import type { Loaded } from "./load";
import { partWords } from "./parts.words";
import { ProblemBox } from "./problem";

// Waiting stands where something is asked for and not there yet: it says so, or why not.
export function Waiting(props: { of: Pick<Loaded<unknown>, "problem" | "reload"> }) {
  const w = useWords(partWords);
  if (props.of.problem) return <ProblemBox problem={props.of.problem} again={props.of.reload} />;
  return <p class="loading" aria-busy="true">{w.loading}</p>;
}
