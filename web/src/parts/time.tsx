import { prefs } from "../prefs";
import { useStore } from "../store";
import { local, shown, tick, utc } from "../time";

// Time is a moment as the person chose to read it, with the exact ones beside it.
export function Time(props: { at: string | number | null | undefined; none?: string }) {
  useStore(tick);
  useStore(prefs);
  if (props.at === null || props.at === undefined || props.at === "") return <span class="faint">{props.none ?? "–"}</span>;
  const at = typeof props.at === "number" ? props.at : Date.parse(props.at);
  if (Number.isNaN(at)) return <bdi>{String(props.at)}</bdi>;
  return (
    <time dateTime={new Date(at).toISOString()} title={`${local(at)} · ${utc(at)}`}>
      {shown(at)}
    </time>
  );
}
