import { useEffect, useRef, useState } from "preact/hooks";
import { locale, number, useWords } from "../i18n";
import { prefs } from "../prefs";
import { useStore } from "../store";
import { partWords } from "./parts.words";

export interface Curve {
  label: string;
  values: (number | null)[];
  colour?: 1 | 2 | 3 | 4 | 5; // of the theme; in turn unless said
}

export interface ChartProps {
  title: string;
  times: number[]; // unix seconds
  curves: Curve[];
  unit?: string;
  height?: number;
}

function clock(at: number, isLong: boolean): string {
  return new Intl.DateTimeFormat(locale(), { ...(isLong ? { month: "short", day: "numeric" } : {}), hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(at * 1000);
}

// Chart draws curves, and has the same numbers as a table. uPlot is fetched when the first one comes into sight.
export function Chart(props: ChartProps) {
  const w = useWords(partWords);
  const box = useRef<HTMLDivElement>(null);
  const [asTable, setAsTable] = useState(false);
  const chosen = useStore(prefs);
  const isLong = (props.times.at(-1) ?? 0) - (props.times[0] ?? 0) > 36 * 3600;
  useEffect(() => {
    if (asTable || !box.current) return;
    const holder = box.current;
    let plot: { destroy(): void; setSize(size: { width: number; height: number }): void } | null = null;
    let isHere = true;
    const height = props.height ?? 180;
    const watcher = new ResizeObserver(() => plot?.setSize({ width: holder.clientWidth, height }));
    const begin = () => void import("./plot").then(({ draw }) => {
      if (!isHere) return;
      plot = draw(holder, { times: props.times, curves: props.curves, height, width: holder.clientWidth, clock: (at) => clock(at, isLong), unit: props.unit ?? "" });
      watcher.observe(holder);
    });
    const sight = new IntersectionObserver((seen) => {
      if (!seen.some((one) => one.isIntersecting)) return;
      sight.disconnect();
      begin();
    });
    sight.observe(holder);
    return () => {
      isHere = false;
      sight.disconnect();
      watcher.disconnect();
      plot?.destroy();
    };
  }, [asTable, props.times, JSON.stringify(props.curves), chosen]);
  return (
    <figure class="chart">
      <figcaption>
        <span>{props.title}{props.unit ? <small> {props.unit}</small> : null}</span>
        <span class="legend">
          {props.curves.map((curve, n) => (
            <span key={curve.label}><i class={`swatch is-${curve.colour ?? (n % 5) + 1}`} aria-hidden="true" /> {curve.label}</span>
          ))}
        </span>
        <button type="button" class="small" onClick={() => setAsTable(!asTable)}>{asTable ? w.showChart : w.showTable}</button>
      </figcaption>
      {asTable ? (
        <div class="table-box is-short" tabIndex={0} role="region" aria-label={props.title}>
          <table>
            <caption class="off-screen">{props.title}</caption>
            <thead>
              <tr>
                <th scope="col">{w.timeColumn}</th>
                {props.curves.map((curve) => <th key={curve.label} scope="col" class="number">{curve.label}</th>)}
              </tr>
            </thead>
            <tbody>
              {props.times.map((at, n) => (
                <tr key={at}>
                  <th scope="row">{clock(at, isLong)}</th>
                  {props.curves.map((curve) => <td key={curve.label} class="number">{curve.values[n] === null || curve.values[n] === undefined ? "–" : number(curve.values[n])}</td>)}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <div ref={box} class="plot" dir="ltr" role="img" aria-label={`${props.title}. ${props.curves.map((one) => one.label).join(", ")}`} />
      )}
    </figure>
  );
}
