import { useWords } from "../i18n";
import type { Loaded } from "./load";
import { partWords } from "./parts.words";
import { ProblemBox } from "./problem";

// Waiting stands for a page whose thing is not there: it is being fetched, or could not be. within: a part of one.
export function Waiting(props: { of: Pick<Loaded<unknown>, "problem" | "reload">; within?: boolean }) {
  const w = useWords(partWords);
  if (props.of.problem) return <ProblemBox problem={props.of.problem} again={props.of.reload} page={!props.within} />;
  return <p class="loading" aria-busy="true">{w.loading}</p>;
}
