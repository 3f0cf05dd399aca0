import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Curve } from "./chart";

// colour is what a name of the theme stands for now: a canvas knows no names.
function colour(name: string): string {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = `var(${name})`;
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

// told is a figure on the axis: milliseconds as the time that they are, others short.
function told(one: number, unit: string): string {
  if (unit !== "ms") return one >= 1000 ? `${one / 1000}k` : String(one);
  return one >= 3_600_000 ? `${+(one / 3_600_000).toFixed(1)} h` : one >= 60_000 ? `${+(one / 60_000).toFixed(1)} min` : one >= 1000 ? `${+(one / 1000).toFixed(1)} s` : `${one} ms`;
}

export function draw(box: HTMLElement, of: { times: number[]; curves: Curve[]; width: number; height: number; clock: (at: number) => string; unit: string }): uPlot {
  const axis = { stroke: colour("--faint"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
  return new uPlot(
    {
      width: of.width,
      height: of.height,
      legend: { show: false },
      cursor: { y: false, points: { size: 6 } },
      scales: { x: { time: true }, y: { range: (_self, _min, max) => [0, Math.max(max ?? 0, 1) * 1.1] } },
      axes: [
        { ...axis, size: 24, values: (_self, at) => at.map(of.clock) },
        { ...axis, size: 52, values: (_self, all) => all.map((one) => told(one, of.unit)) },
      ],
      series: [{}, ...of.curves.map((curve, n) => ({ label: curve.label, stroke: colour(`--curve-${curve.colour ?? (n % 5) + 1}`), width: 1.5, points: { show: curve.values.includes(null), size: 4 }, spanGaps: false }))],
    },
    [of.times, ...of.curves.map((curve) => curve.values)],
    box,
  );
}
