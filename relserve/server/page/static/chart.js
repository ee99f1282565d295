// Areas over the last minutes, drawn as SVG.

import { pace } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";
const SPANS_S = [60, 120, 300, 600], WIDTH = 600, HEIGHT = 100, GAP_S = 20;

// How far back the charts reach: as far as there is something to see.
export function reach(series) {
  const oldest = Math.max(...series.map((step) => step.ago_s), 0);
  return SPANS_S.find((span) => span >= oldest - 5) ?? SPANS_S.at(-1);
}

// layers: [[class, step => number | null], ..], each upon the one before; top: what fills the height.
export function draw(place, series, layers, { top = null, label = pace } = {}) {
  const stacked = layers.map(([name], i) => [name, stackOf(series, layers.slice(0, i + 1).map(([, value]) => value))]);
  const most = Math.max(...stacked.flatMap(([, heights]) => heights.map((height) => height ?? 0)), 0);
  const full = top ?? nice(most), span = reach(series);
  const svg = make("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  for (const part of [0.5, 1]) {
    svg.append(make("line", { x1: 0, x2: WIDTH, y1: HEIGHT * (1 - part), y2: HEIGHT * (1 - part), class: "grid" }));
  }
  for (const [name, heights] of stacked.reverse()) {
    for (const run of runsOf(series, heights, full, span)) svg.append(...areaOf(run, name));
  }
  const max = document.createElement("span");
  max.textContent = label(full);
  place.replaceChildren(svg, max);
}

function stackOf(series, values) {
  return series.map((step) => {
    const numbers = values.map((value) => value(step));
    return numbers.some((number) => number === null) ? null : numbers.reduce((a, b) => a + b, 0);
  });
}

// Unbroken stretches: no line across a gap in which nobody looked.
function runsOf(series, heights, full, span) {
  const runs = [];
  let last = Infinity;
  series.forEach((step, i) => {
    if (heights[i] !== null) {
      if (!runs.length || last - step.ago_s > GAP_S) runs.push([]);
      runs.at(-1).push([WIDTH * (1 - step.ago_s / span), HEIGHT * (1 - Math.min(heights[i] / full, 1))]);
      last = step.ago_s;
    }
  });
  return runs;
}

function areaOf(points, name) {
  const line = points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
  const [first, last] = [points[0][0].toFixed(1), points.at(-1)[0].toFixed(1)];
  return [
    make("polygon", { points: `${first},${HEIGHT} ${line} ${last},${HEIGHT}`, class: `area ${name}` }),
    make("polyline", { points: line, class: `line ${name}` }),
  ];
}

function nice(number) {
  if (number <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(number));
  return [1, 2, 3, 5, 10].map((factor) => factor * unit).find((bound) => bound >= number);
}

function make(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
