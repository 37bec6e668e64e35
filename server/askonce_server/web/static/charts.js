// The charts, drawn by uPlot, which `index.html` loads before this.

import { h, key } from "./dom.js";
import { count, rate, span, time } from "./format.js";

const uPlot = window.uPlot;
const BUCKET = 5;
const LEAST_SECONDS = 60;
const charts = new Set();

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** A chart in `element`, as wide as it. `options` returns uPlot's; it is asked anew whenever the theme changes. */
class Chart {
  constructor(element, height, options) {
    this.element = element;
    this.height = height;
    this.options = options;
    charts.add(this);
    new ResizeObserver(() => this.plot?.setSize({ width: element.clientWidth, height })).observe(element);
  }

  draw(data) {
    this.data = data;
    if (this.plot) this.plot.setData(data);
    else this.make();
  }

  make() {
    this.plot?.destroy();
    const fixed = { width: this.element.clientWidth || 300, height: this.height, legend: { show: false } };
    this.plot = new uPlot({ ...fixed, ...this.options() }, this.data, this.element);
  }
}

/** Draws everything in the colours of the theme that is set now. */
export function recolour() {
  for (const chart of charts) if (chart.plot) chart.make();
}

function axis(more) {
  const line = { stroke: colour("grid"), width: 1 };
  const font = '11px system-ui, "DejaVu Sans", sans-serif';
  return { stroke: colour("muted"), grid: line, ticks: { show: false }, font, gap: 6, ...more };
}

const OUTCOMES = [
  ["hits", "hit", "hit"],
  ["misses", "miss", "miss"],
  ["bypasses", "bypass", "bypass"],
  ["refreshes", "refresh", "refresh"],
];

/** Decisions per second by outcome, one on top of the other. */
export class Pace {
  constructor(element, legend, said) {
    this.said = said;
    this.values = OUTCOMES.map(([, name]) => {
      const value = h("b", null, "0");
      legend.append(h("span", null, key(name), `${name} `, value));
      return value;
    });
    this.when = h("span", null);
    legend.append(this.when);
    this.chart = new Chart(element, 208, () => this.options());
  }

  /** `up` is how many seconds the server runs: before that there was nothing. */
  draw(pace, up) {
    const skip = (BUCKET - (pace.first % BUCKET)) % BUCKET;
    const times = [];
    const rows = OUTCOMES.map(() => []);
    const before = pace.hits.length - Math.max(up, LEAST_SECONDS);
    const from = skip + Math.max(0, Math.floor((before - skip) / BUCKET)) * BUCKET;
    for (let at = from; at + BUCKET <= pace.hits.length; at += BUCKET) {
      times.push(pace.first + at);
      OUTCOMES.forEach(([name], row) => {
        let sum = 0;
        for (let second = at; second < at + BUCKET; second += 1) sum += pace[name][second];
        rows[row].push(sum / BUCKET);
      });
    }
    this.rows = rows;
    this.times = times;
    const stacked = rows.map((_, row) => times.map((_, at) => rows.slice(0, row + 1).reduce((sum, one) => sum + one[at], 0)));
    this.chart.draw([times, ...stacked.reverse()]);
    this.tell(this.chart.plot.cursor.idx);
    const most = Math.max(...stacked[0]);
    this.said.textContent = `Each step is ${BUCKET} s. The most in one was ${rate(most)} per second.`;
  }

  tell(at) {
    const last = at ?? this.times.length - 1;
    this.values.forEach((value, row) => (value.textContent = rate(this.rows[row][last] ?? 0)));
    this.when.textContent = `at ${time(this.times[last] * 1000)}`;
  }

  options() {
    const series = OUTCOMES.map(([, , name]) => ({ width: 0, fill: colour(name), points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) }));
    return {
      series: [{}, ...series.reverse()],
      scales: { y: { range: (_, __, most) => [0, Math.max(1, most * 1.08)] } },
      axes: [
        axis({ size: 26, space: 70, values: [[60, "{HH}:{mm}", null, null, null, null, null, null, 0], [1, "{HH}:{mm}:{ss}", null, null, null, null, null, null, 0]] }),
        axis({ size: 46, values: (_, splits) => splits.map((split) => (split >= 10 || Number.isInteger(split) ? count(split) : split)) }),
      ],
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      hooks: { setCursor: [(plot) => this.times && this.tell(plot.cursor.idx)] },
    };
  }
}

/** How durations of hits and misses are spread, each as its share. */
export class Spread {
  constructor(element) {
    this.chart = new Chart(element, 112, () => this.options());
  }

  draw(durations) {
    this.bounds = durations.bounds_us;
    const shares = ["hit", "miss"].map((what) => {
      const all = durations[what].reduce((sum, one) => sum + one, 0);
      return durations[what].map((one) => (all ? (one / all) * 100 : 0));
    });
    const places = durations.hit.map((_, at) => at);
    this.chart.draw([[...places, places.length], ...shares.map((share) => [...share, 0])]);
  }

  options() {
    const marks = [100, 1_000, 10_000, 100_000, 1_000_000];
    const series = ["hit", "miss"].map((name) => ({
      stroke: colour(name), fill: `${colour(name)}33`, width: 1.5, points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }),
    }));
    return {
      series: [{}, ...series],
      scales: { x: { time: false, range: () => [0, this.bounds.length + 1] }, y: { range: (_, __, most) => [0, Math.max(most, 1) * 1.1] } },
      axes: [
        axis({
          size: 26,
          splits: () => marks.map((mark) => this.bounds.indexOf(mark) + 1),
          values: (_, splits) => splits.map((split) => span(this.bounds[split - 1] / 1e6)),
        }),
        axis({ size: 40, space: 34, values: (_, splits) => splits.map((split) => `${split}%`) }),
      ],
      cursor: { show: false },
    };
  }
}

/** Similarities of one rule's candidates by zone, with its thresholds. */
export class Similarity {
  constructor(element) {
    this.chart = new Chart(element, 150, () => this.options());
  }

  draw(semantic) {
    this.semantic = semantic;
    const step = (1 - semantic.lowest) / semantic.bins;
    const begins = semantic.above.map((_, at) => semantic.lowest + at * step);
    this.chart.draw([begins, semantic.below, semantic.gray, semantic.above]);
  }

  options() {
    const bars = uPlot.paths.bars({ size: [0.86, 40], align: 1 });
    const series = ["bypass", "miss", "hit"].map((name) => ({ fill: colour(name), width: 0, points: { show: false }, paths: bars }));
    return {
      padding: [18, 14, 0, 0],
      series: [{}, ...series],
      scales: { x: { time: false, range: () => [this.semantic.lowest, 1] }, y: { range: (_, __, most) => [0, Math.max(most, 4) * 1.1] } },
      axes: [
        axis({ size: 26, values: (_, splits) => splits.map((split) => split.toFixed(1)), incrs: [0.1] }),
        axis({ size: 46, space: 36, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5, 1e6, 1e7, 1e8], values: (_, splits) => splits.map(count) }),
      ],
      cursor: { show: false },
      hooks: { draw: [(plot) => this.thresholds(plot)] },
    };
  }

  thresholds(plot) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = colour("text");
    ctx.lineWidth = devicePixelRatio;
    ctx.font = `${11 * devicePixelRatio}px system-ui, "DejaVu Sans", sans-serif`;
    ctx.textAlign = "center";
    for (const value of [this.semantic.low_threshold, this.semantic.threshold]) {
      if (value < this.semantic.lowest) continue;
      const x = plot.valToPos(value, "x", true);
      ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.fillText(String(value), x, bbox.top - 5 * devicePixelRatio);
    }
    ctx.restore();
  }
}
