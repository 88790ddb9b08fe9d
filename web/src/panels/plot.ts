// Draws the charts, with uPlot. A script of its own, fetched when somebody looks.
import uPlot from "uplot";

export interface Drawing {
  kind: "bars" | "lines";
  /** Seconds since 1970. */
  at: number[];
  series: { label: string; color: number; values: (number | null)[] }[];
  when(at: number): string;
  value(v: number | null): string;
  atLabel: string;
}

export interface Chart {
  destroy(): void;
}

const height = 220;

/** Draws into box, in its width, and again when that or the colours change. */
export function draw(box: HTMLElement, d: Drawing): Chart {
  let plot = make(box, d);
  const again = () => {
    plot.destroy();
    plot = make(box, d);
  };
  let width = box.clientWidth;
  const size = new ResizeObserver(() => {
    if (box.clientWidth === width) return;
    width = box.clientWidth;
    plot.setSize({ width, height });
  });
  size.observe(box);
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", again);
  return {
    destroy() {
      size.disconnect();
      scheme.removeEventListener("change", again);
      plot.destroy();
    },
  };
}

function make(box: HTMLElement, d: Drawing): uPlot {
  const style = getComputedStyle(box);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const font = `12px ${color("--sans")}`;
  const colors = d.series.map((s) => color(`--series-${s.color}`));
  // Bars stand on each other: the sum of all is drawn first, and each shorter one over it.
  const sums = d.series.map((_, i) => d.at.map((_, k) => d.series.slice(0, i + 1).reduce((n, s) => n + (s.values[k] ?? 0), 0)));
  const bars = d.kind === "bars";
  const shown = bars ? [...d.series.keys()].reverse() : [...d.series.keys()];
  const axis = { stroke: color("--muted"), font, grid: { stroke: color("--line"), width: 1 }, ticks: { show: false } };
  const step = (d.at[1] ?? d.at[0]! + 3600) - d.at[0]!;
  return new uPlot(
    {
      class: d.kind,
      width: box.clientWidth,
      height,
      legend: { markers: { fill: (_u, i) => colors[shown[i - 1] ?? 0]! } },
      padding: [12, 12, 0, 0],
      cursor: { drag: { x: false, y: false }, points: { show: false }, y: false },
      hooks: { setCursor: [(u) => void u.root.classList.toggle("pointed", u.cursor.idx != null)] },
      scales: { x: { time: false, range: () => [d.at[0]! - step * 0.6, d.at[d.at.length - 1]! + step * 0.6] }, y: { range: (_u, _min, max) => [0, Math.max(bars ? 4 : 1, max * 1.1)] } },
      axes: [
        { ...axis, size: 28, grid: { show: false }, space: 64, splits: (u) => every(d.at, Math.max(2, Math.floor(u.width / 72))), values: (_u, at) => at.map(d.when) },
        { ...axis, size: 52, incrs: bars ? [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 10000] : [0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200], values: (_u, v) => v.map(d.value) },
      ],
      series: [
        { label: d.atLabel, value: (_u, v) => (v === null || v === undefined ? "" : d.when(v)) },
        ...shown.map((i) => ({
          label: d.series[i]!.label,
          stroke: colors[i]!,
          width: bars ? 0 : 2,
          ...(bars ? { fill: colors[i]!, paths: uPlot.paths.bars!({ size: [0.7, 48] }) } : { spanGaps: true }),
          points: { show: !bars, size: 8, fill: colors[i]! },
          value: (_u: uPlot, _v: number | null, _s: number, k: number | null) => (k === null || k === undefined ? "" : d.value(d.series[i]!.values[k] ?? null)),
        })),
      ],
    },
    [d.at, ...shown.map((i) => (bars ? sums[i]! : d.series[i]!.values))] as uPlot.AlignedData,
    box,
  );
}

/** At most so many of the times, evenly spread. */
function every(at: readonly number[], most: number): number[] {
  const by = Math.ceil(at.length / most);
  return at.filter((_, i) => i % by === 0);
}
