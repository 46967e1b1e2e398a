"use strict";
// Views as arithmetic: { memory, shape, stride, offset }. No view writes; a copy has a new memory.
const product = (numbers) => numbers.reduce((a, b) => a * b, 1);
const rowMajor = (shape) => shape.map((_, d) => product(shape.slice(d + 1)));
const without = (list, d) => list.filter((_, i) => i !== d);
const inserted = (list, d, value) => [...list.slice(0, d), value, ...list.slice(d)];

const range = (shape) => ({
  memory: Array.from({ length: product(shape) }, (_, i) => i),
  shape,
  stride: rowMajor(shape),
  offset: 0,
});
const offsetOf = (view, index) =>
  index.reduce((sum, i, d) => sum + i * view.stride[d], view.offset);
const indices = (shape) =>
  shape.reduce(
    (found, n) => found.flatMap((index) => Array.from({ length: n }, (_, i) => [...index, i])),
    [[]],
  );
const offsets = (view) => indices(view.shape).map((index) => offsetOf(view, index));
const values = (view) => offsets(view).map((o) => view.memory[o]);
const isContiguous = ({ shape, stride }) =>
  shape.every((n, d) => n === 1 || stride[d] === product(shape.slice(d + 1)));
const copied = (view, shape = view.shape) => ({
  memory: values(view),
  shape,
  stride: rowMajor(shape),
  offset: 0,
});

/** Strides that show the same elements in another shape, or null: then only a copy can. */
function viewStrides({ shape, stride }, wanted) {
  const found = new Array(wanted.length);
  let to = wanted.length - 1;
  for (let d = shape.length - 1; d >= 0; d--) {
    const step = stride[d]; // a run of dimensions that are walked as one, by this step
    let run = shape[d];
    while (d > 0 && (shape[d - 1] === 1 || stride[d - 1] === run * step)) run *= shape[--d];
    let covered = 1;
    while (to >= 0 && (covered < run || wanted[to] === 1)) {
      found[to] = covered * step;
      covered *= wanted[to--];
    }
    if (covered !== run) return null;
  }
  return found;
}

/** Each op: a view and its arguments to a view. */
const OPS = {
  slice(view, ...parts) {
    const size = ([start, stop, step]) => Math.ceil((stop - start) / step);
    return {
      ...view,
      shape: view.shape.map((n, d) => (parts[d] ? size(parts[d]) : n)),
      stride: view.stride.map((s, d) => (parts[d] ? s * parts[d][2] : s)),
      offset: offsetOf(
        view,
        parts.map((part) => part[0]),
      ),
    };
  },
  select: (view, d, i) => ({
    ...view,
    shape: without(view.shape, d),
    stride: without(view.stride, d),
    offset: view.offset + i * view.stride[d],
  }),
  permute: (view, ...dims) => ({
    ...view,
    shape: dims.map((d) => view.shape[d]),
    stride: dims.map((d) => view.stride[d]),
  }),
  transpose(view, a, b) {
    const dims = view.shape.map((_, d) => (d === a ? b : d === b ? a : d));
    return OPS.permute(view, ...dims);
  },
  unsqueeze: (view, d) => ({
    ...view,
    shape: inserted(view.shape, d, 1),
    stride: inserted(view.stride, d, d < view.shape.length ? view.shape[d] * view.stride[d] : 1),
  }),
  expand: (view, ...sizes) => ({
    ...view,
    shape: sizes,
    stride: view.stride.map((s, d) => (sizes[d] === view.shape[d] ? s : 0)),
  }),
  unfold: (view, d, size, step) => ({
    ...view,
    shape: [...view.shape.map((n, i) => (i === d ? Math.floor((n - size) / step) + 1 : n)), size],
    stride: [...view.stride.map((s, i) => (i === d ? s * step : s)), view.stride[d]],
  }),
  diagonal: (view) => ({
    ...view,
    shape: [...view.shape.slice(2), Math.min(view.shape[0], view.shape[1])],
    stride: [...view.stride.slice(2), view.stride[0] + view.stride[1]],
  }),
  reshape(view, ...shape) {
    const stride = viewStrides(view, shape);
    return stride ? { ...view, shape, stride } : copied(view, shape);
  },
  contiguous: (view) => (isContiguous(view) ? view : copied(view)),
  flip(view, d) {
    // of a contiguous view: its strides stay
    const backwards = indices(view.shape).map((index) =>
      index.map((i, e) => (e === d ? view.shape[d] - 1 - i : i)),
    );
    return {
      ...view,
      offset: 0,
      memory: backwards.map((index) => view.memory[offsetOf(view, index)]),
    };
  },
};
const apply = (view, [name, ...args]) => OPS[name](view, ...args);
/** x and what each op makes of the one before. */
const chain = (shape, ops) =>
  ops.reduce((views, op) => [...views, apply(views.at(-1), op)], [range(shape)]);

/** A call as Python says it; `shape` is that of the tensor before it. */
function python([name, ...args], shape) {
  if (name === "slice") {
    const parts = args.map(
      ([start, stop, step], d) =>
        `${start || ""}:${stop < shape[d] ? stop : ""}${step > 1 ? `:${step}` : ""}`,
    );
    while (parts.at(-1) === ":") parts.pop();
    return parts.length ? `[${parts.join(", ")}]` : "";
  }
  if (name === "select") return `[${":, ".repeat(args[0])}${args[1]}]`;
  if (name === "transpose" && shape.length === 2) return ".T";
  return `.${name}(${args.join(", ")})`;
}

/** Shapes of `count` elements that are worth a try: one, two and three dimensions. */
function shapesOf(count) {
  const found = [[count]];
  for (const a of [2, 3, 4, 6]) {
    if (count % a || count === a) continue;
    found.push([a, count / a]);
    if (a < 4 && (count / a) % 2 === 0 && count / a > 2) found.push([a, 2, count / a / 2]);
  }
  return found;
}

/** Calls that a view allows, by family. */
function callsOf(view) {
  const { shape } = view;
  const dims = shape.map((_, d) => d);
  const calls = [];
  const add = (...call) => calls.push(call);
  for (const a of dims) for (const b of dims.slice(a + 1)) add("transpose", a, b);
  if (dims.length === 3) {
    add("permute", 2, 0, 1);
    add("permute", 1, 2, 0);
  }
  if (dims.length > 1) dims.filter((d) => shape[d] > 1).forEach((d) => add("select", d, 1));
  if (dims.length === 2 && shape.every((n) => n > 1)) add("diagonal");
  if (dims.length < 3) for (let d = 0; d <= dims.length; d++) add("unsqueeze", d);
  for (const d of dims.filter((e) => shape[e] === 1)) {
    add("expand", ...shape.map((n, e) => (e === d ? 3 : n)));
  }
  if (dims.length < 4) dims.filter((d) => shape[d] >= 3).forEach((d) => add("unfold", d, 2, 1));
  for (const wanted of shapesOf(product(shape))) {
    if (String(wanted) !== String(shape)) add("reshape", ...wanted);
  }
  if (!isContiguous(view)) add("contiguous");
  else if (dims.length) add("flip", 0);
  // what the page has room for
  return calls.filter((call) => product(apply(view, call).shape) <= 48);
}
