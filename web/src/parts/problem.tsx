import { Problem } from "../api";
import { fill, useWords } from "../i18n";
import { partWords } from "./parts.words";

// ProblemBox tells what went wrong: the sentence, each part with its place, the code with its way out. page: it is all that
// the page has to show, and so its heading.
export function ProblemBox(props: { problem: unknown; again?: () => void; hideParts?: boolean; page?: boolean }) {
  const w = useWords(partWords);
  if (!props.problem) return null;
  const told = props.problem instanceof Problem ? props.problem : new Problem(0, { code: "internal", detail: String((props.problem as Error).message ?? props.problem) });
  const isAway = told.code === "unreachable";
  const Head = props.page ? "h1" : "p";
  return (
    <div class="problem" role="alert">
      <Head class="problem-text">{isAway ? w.unreachable : told.code === "stale" ? w.stale : <bdi>{told.message}</bdi>}</Head>
      {isAway && <p>{w.unreachableOut}</p>}
      {told.code === "stale" && <p>{w.staleOut}</p>}
      {!props.hideParts && told.errors.length > 0 && (
        <ul>
          {told.errors.map((one) => (
            <li key={one.path + one.code}>
              <code><bdi dir="ltr">{one.path || "/"}</bdi></code> <bdi>{one.message}</bdi>
            </li>
          ))}
        </ul>
      )}
      <p class="problem-foot">
        {!isAway && told.code !== "internal" && <a href={`/docs/errors#${told.code}`}>{fill(w.wayOut, { code: told.code })}</a>}
        {told.requestId && <small>{fill(w.request, { id: "" })}<bdi dir="ltr"><code>{told.requestId}</code></bdi></small>}
        {props.again && <button type="button" onClick={props.again}>{w.reload}</button>}
      </p>
    </div>
  );
}
