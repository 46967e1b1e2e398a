"use strict";
// A convolution along one axis is a list of [output, input, tap]; in two dimensions, of pairs.
// A problem is { transposed, size, kernel, stride, padding, dilation, outputPadding }, the same
// for both axes.

function outputSize({ transposed, size, kernel, stride, padding, dilation, outputPadding }) {
  const span = dilation * (kernel - 1) + 1; // inputs from the first tap to the last
  return transposed
    ? (size - 1) * stride - 2 * padding + span + outputPadding
    : Math.floor((size + 2 * padding - span) / stride) + 1;
}

/** Why PyTorch refuses a problem, or null. */
function refusal(problem) {
  const { transposed, size, kernel, stride, padding, dilation, outputPadding } = problem;
  const span = dilation * (kernel - 1) + 1;
  if (!transposed && size + 2 * padding < span) {
    return `the kernel spans ${span} pixels, the padded input has only ${size + 2 * padding}`;
  }
  if (transposed && outputPadding >= Math.max(stride, dilation)) {
    return `output padding ${outputPadding} must be smaller than stride or dilation`;
  }
  if (transposed && outputSize(problem) < 1) {
    return "no output is left after the padding is cut off";
  }
  return null;
}

/** [output, input, tap] along one axis; an input outside 0 … size − 1 is padding. */
function links(problem) {
  const { transposed, size, kernel, stride, padding, dilation } = problem;
  const found = [];
  const count = outputSize(problem);
  for (let a = 0; a < (transposed ? size : count); a++) {
    for (let tap = 0; tap < kernel; tap++) {
      const b = a * stride - padding + tap * dilation;
      if (!transposed) found.push([a, b, tap]);
      else if (b >= 0 && b < count) found.push([b, a, tap]);
    }
  }
  return found;
}

const crossed = (rows, columns) =>
  rows.flatMap((row) => columns.map((column) => [0, 1, 2].map((n) => [row[n], column[n]])));
const inside = ({ size }, [row, column]) => row >= 0 && row < size && column >= 0 && column < size;

/** Taps of an output: { input: [row, column], tap: [row, column], inside }. */
function tapsOf(problem, [row, column]) {
  const all = links(problem);
  const along = (o) => all.filter((link) => link[0] === o);
  return crossed(along(row), along(column)).map(([, input, tap]) => ({
    input,
    tap,
    inside: inside(problem, input),
  }));
}

/** Outputs that an input reaches, and through which tap: { output, tap }. */
function reachOf(problem, [row, column]) {
  const all = links(problem);
  const along = (i) => all.filter((link) => link[1] === i);
  return crossed(along(row), along(column)).map(([output, , tap]) => ({ output, tap }));
}

const square = (n, make) =>
  Array.from({ length: n }, (_, r) => Array.from({ length: n }, (_, c) => make(r, c)));

function convolve(problem, x, w) {
  return square(outputSize(problem), (r, c) =>
    tapsOf(problem, [r, c]).reduce(
      (sum, { input, tap, inside }) =>
        inside ? sum + w[tap[0]][tap[1]] * x[input[0]][input[1]] : sum,
      0,
    ),
  );
}

/** im2col: a row for each output, a column for each tap; the input's [row, column], or null: a zero.
 *  Transposed, it is a row for each input that says to which output each tap adds (col2im). */
function unrolled(problem) {
  const { transposed, size, kernel } = problem;
  const n = transposed ? size : outputSize(problem);
  return square(n, (r, c) => {
    const row = new Array(kernel * kernel).fill(null);
    const place = ([u, v], at) => {
      row[u * kernel + v] = at;
    };
    if (transposed) reachOf(problem, [r, c]).forEach(({ output, tap }) => place(tap, output));
    else {
      tapsOf(problem, [r, c]).forEach(({ input, tap, inside }) => {
        if (inside) place(tap, input);
      });
    }
    return row;
  }).flat();
}

/** Pairs of input and output channels that weights connect, and the shape of the weight. */
function channelsOf({ inputs, outputs, groups, kernel, transposed }) {
  const pairs = [];
  for (let i = 0; i < inputs; i++) {
    for (let o = 0; o < outputs; o++) {
      if (Math.floor(i / (inputs / groups)) === Math.floor(o / (outputs / groups))) {
        pairs.push([i, o]);
      }
    }
  }
  const shape = transposed
    ? [inputs, outputs / groups, kernel, kernel]
    : [outputs, inputs / groups, kernel, kernel];
  return { pairs, shape };
}
