"use strict";
// The schedule of C += A·B by tiles: one tile of each matrix is held; what changes is loaded.
// A problem is { n, tile, order }, as { n: 12, tile: { i: 4, j: 4, k: 4 }, order: "ijk" }.
const AXES = { A: "ik", B: "kj", C: "ij" }; // rows and columns of each matrix

/** Tiles of an axis as [start, stop]; the last may be smaller. */
function cuts(n, size) {
  return Array.from({ length: Math.ceil(n / size) }, (_, at) => [
    at * size,
    Math.min(n, (at + 1) * size),
  ]);
}

/** What each step loads and stores, in elements; the last entry only stores the last tile of C. */
function schedule({ n, tile, order }) {
  const parts = { i: cuts(n, tile.i), j: cuts(n, tile.j), k: cuts(n, tile.k) };
  const held = {};
  const started = new Set();
  const steps = [];
  const length = ([start, stop]) => stop - start;
  const nest = [...order].reduce(
    (outer, axis) => outer.flatMap((at) => parts[axis].map((_, i) => ({ ...at, [axis]: i }))),
    [{}],
  );
  let stored = 0;
  for (const at of nest) {
    const ranges = { i: parts.i[at.i], j: parts.j[at.j], k: parts.k[at.k] };
    const step = { at, ranges, A: 0, B: 0, C: 0, store: 0, kept: [] };
    for (const [name, [row, column]] of Object.entries(AXES)) {
      const key = `${at[row]} ${at[column]}`;
      const size = length(ranges[row]) * length(ranges[column]);
      if (held[name] === key) step.kept.push(name);
      else {
        held[name] = key;
        if (name === "C") {
          step.store = stored;
          stored = size;
          step.C = started.has(key) ? size : 0;
          started.add(key);
        } else step[name] = size;
      }
    }
    steps.push(step);
  }
  return [...steps, { at: null, ranges: null, A: 0, B: 0, C: 0, store: stored, kept: [] }];
}

/** Elements moved by the first steps, and multiply-adds done. */
function totals(steps) {
  const sums = { A: 0, B: 0, C: 0, store: 0, multiplies: 0 };
  for (const step of steps) {
    for (const name of ["A", "B", "C", "store"]) sums[name] += step[name];
    if (!step.ranges) continue;
    const sizes = Object.values(step.ranges).map(([start, stop]) => stop - start);
    sums.multiplies += sizes.reduce((a, b) => a * b);
  }
  return { ...sums, moved: sums.A + sums.B + sums.C + sums.store };
}
const moved = (problem) => totals(schedule(problem));
const needed = ({ n, tile }) => {
  const [i, j, k] = [..."ijk"].map((axis) => Math.min(n, tile[axis]));
  return { A: i * k, B: k * j, C: i * j };
};
/** Operations for each byte that is moved. */
const intensity = (sums) => (2 * sums.multiplies) / (4 * sums.moved);
