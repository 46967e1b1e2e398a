"use strict";
// An expression becomes nodes in the order in which Python evaluates it; backward runs over them.

/** Each op: its value, its local derivatives, and how those are written. y is the value. */
const OPS = {
  add: { sign: "+", value: (a, b) => a + b, local: () => [1, 1], said: ["1", "1"] },
  sub: { sign: "−", value: (a, b) => a - b, local: () => [1, -1], said: ["1", "−1"] },
  mul: { sign: "×", value: (a, b) => a * b, local: (a, b) => [b, a], said: ["right", "left"] },
  div: {
    sign: "÷",
    value: (a, b) => a / b,
    local: (a, b) => [1 / b, -a / (b * b)],
    said: ["1 / right", "−left / right²"],
  },
  pow: {
    sign: "**",
    value: (a, b) => a ** b,
    local: (a, b, y) => [b === 0 ? 0 : b * a ** (b - 1), y * Math.log(a)],
    said: ["right · left**(right − 1)", "y · log(left)"],
  },
  neg: { sign: "neg", value: (a) => -a, local: () => [-1], said: ["−1"] },
  exp: { sign: "exp", value: Math.exp, local: (a, b, y) => [y], said: ["y"] },
  log: { sign: "log", value: Math.log, local: (a) => [1 / a], said: ["1 / x"] },
  tanh: { sign: "tanh", value: Math.tanh, local: (a, b, y) => [1 - y * y], said: ["1 − y²"] },
  relu: {
    sign: "relu",
    value: (a) => (a > 0 ? a : 0),
    local: (a) => [a > 0 ? 1 : 0],
    said: ["1 if x > 0 else 0"],
  },
  sigmoid: {
    sign: "sigmoid",
    value: (a) => 1 / (1 + Math.exp(-a)),
    local: (a, b, y) => [y * (1 - y)],
    said: ["y · (1 − y)"],
  },
};
const FUNCTIONS = ["tanh", "exp", "log", "relu", "sigmoid"];
const BINARY = { "+": "add", "-": "sub", "*": "mul", "/": "div", "**": "pow" };

function tokens(text) {
  const found = [];
  const next = /\s*(?:(\d+\.?\d*|\.\d+)|([A-Za-z_]\w*)|(\*\*|[-+*\/().=;]))/y;
  while (next.lastIndex < text.trimEnd().length) {
    const at = next.lastIndex;
    const match = next.exec(text);
    if (!match) throw new Error(`cannot read "${text.slice(at).trim()[0]}" at character ${at + 1}`);
    found.push(match[1] !== undefined ? Number(match[1]) : (match[2] ?? match[3]));
  }
  return found;
}

/** The nodes of a text: { kind: leaf | number | op, inputs, ... }, in the order of evaluation. */
function parse(text) {
  const rest = tokens(text);
  const nodes = [];
  const named = {};
  const isName = (token) => typeof token === "string" && /^\w/.test(token);
  const add = (node) => nodes.push({ inputs: [], ...node }) - 1;
  const take = (token) => (rest[0] === token ? (rest.shift(), true) : false);
  const expect = (token) => {
    if (!take(token)) {
      throw new Error(`expected "${token}" ${rest.length ? `before "${rest[0]}"` : "at the end"}`);
    }
  };
  const op = (name, ...inputs) => {
    if (inputs.some((i) => nodes[i].kind !== "number")) {
      return add({ kind: "op", op: name, inputs });
    }
    return add({ kind: "number", value: OPS[name].value(...inputs.map((i) => nodes[i].value)) });
  };
  function primary() {
    const token = rest.shift();
    if (typeof token === "number") return add({ kind: "number", value: token });
    if (token === "(") {
      const inner = sum();
      expect(")");
      return inner;
    }
    if (!isName(token)) {
      throw new Error(
        `expected a value ${token === undefined ? "at the end" : `instead of "${token}"`}`,
      );
    }
    if (rest[0] === "(") {
      if (!FUNCTIONS.includes(token)) {
        throw new Error(`no function ${token}: there are ${FUNCTIONS.join(", ")}`);
      }
      rest.shift();
      const inner = sum();
      expect(")");
      return op(token, inner);
    }
    if (!Object.hasOwn(named, token)) named[token] = add({ kind: "leaf", name: token });
    return named[token];
  }
  function postfix() {
    let value = primary();
    while (take(".")) {
      const name = rest.shift();
      if (!FUNCTIONS.includes(name)) {
        throw new Error(`no method ${name}: there are ${FUNCTIONS.join(", ")}`);
      }
      expect("(");
      expect(")");
      value = op(name, value);
    }
    return value;
  }
  function power() {
    const base = postfix();
    return take("**") ? op("pow", base, unary()) : base;
  }
  function unary() {
    return take("-") ? op("neg", unary()) : power();
  }
  const chained = (operand, signs) => () => {
    let left = operand();
    while (signs.includes(rest[0])) left = op(BINARY[rest.shift()], left, operand());
    return left;
  };
  const factor = chained(unary, ["*", "/"]);
  const sum = chained(factor, ["+", "-"]);
  let root;
  do {
    const name = isName(rest[0]) && rest[1] === "=" ? rest.splice(0, 2)[0] : null;
    root = sum();
    if (name) named[name] = root;
  } while (take(";") && rest.length);
  if (rest.length) throw new Error(`did not expect "${rest[0]}"`);
  if (nodes[root].kind !== "op") throw new Error("the last line needs an op on a variable");
  return { nodes, root };
}

/** Indices of the nodes that the root is made of. */
function reachable({ nodes, root }) {
  const seen = new Set([root]);
  for (const i of seen) nodes[i].inputs.forEach((input) => seen.add(input));
  return [...seen].sort((a, b) => a - b);
}
const opsOf = (graph) => reachable(graph).filter((i) => graph.nodes[i].kind === "op");

/** The value of each node for the leaves' values. */
function forward({ nodes }, leaves) {
  const values = [];
  for (const node of nodes) {
    if (node.kind === "op") values.push(OPS[node.op].value(...node.inputs.map((i) => values[i])));
    else values.push(node.kind === "leaf" ? leaves[node.name] : node.value);
  }
  return values;
}

/** The steps of backward: for each node what arrives, and what it sends to which input. */
function backward(graph, values) {
  const { nodes, root } = graph;
  const order = opsOf(graph).reverse();
  const sums = { [root]: 1 };
  const waiting = {};
  const steps = [];
  for (const i of order) for (const to of nodes[i].inputs) waiting[to] = (waiting[to] ?? 0) + 1;
  for (const i of order) {
    const { op, inputs } = nodes[i];
    const local = OPS[op].local(
      ...inputs.map((input) => values[input]),
      ...(inputs.length === 1 ? [undefined] : []),
      values[i],
    );
    const sent = inputs.flatMap((to, which) => {
      if (nodes[to].kind === "number") return [];
      const before = sums[to] ?? null;
      const product = sums[i] * local[which];
      sums[to] = before === null ? product : before + product;
      waiting[to] -= 1;
      return [
        { to, which, local: local[which], product, before, sum: sums[to], last: waiting[to] === 0 },
      ];
    });
    steps.push({ node: i, grad: sums[i], sent });
  }
  return steps;
}

/** {leaf: gradient}, the value and the order of ops: what the tests compare. */
function gradients(text, leaves) {
  const graph = parse(text);
  const values = forward(graph, leaves);
  const steps = backward(graph, values);
  const grads = {};
  for (const { sent } of steps) {
    for (const { to, sum } of sent) {
      if (graph.nodes[to].kind === "leaf") grads[graph.nodes[to].name] = sum;
    }
  }
  return { value: values[graph.root], grads, order: steps.map(({ node }) => graph.nodes[node].op) };
}

/** Places of the nodes: { layers, places: [layer, position], edges: [from, to, points] }. */
function layout(graph) {
  const { nodes } = graph;
  const shown = reachable(graph);
  const layer = {};
  const users = {};
  for (const i of shown) {
    layer[i] = 1 + Math.max(-1, ...nodes[i].inputs.map((input) => layer[input]));
    for (const input of nodes[i].inputs) (users[input] ??= []).push(i);
  }
  for (const i of shown) {
    if (nodes[i].kind !== "op") layer[i] = Math.min(...users[i].map((user) => layer[user])) - 1;
  }
  const rows = Array.from({ length: layer[graph.root] + 1 }, () => []);
  shown.forEach((i) => rows[layer[i]].push({ key: i, above: [] }));
  const cellOf = Object.fromEntries(rows.flat().map((cell) => [cell.key, cell]));
  const edges = [];
  for (const i of shown) {
    nodes[i].inputs.forEach((input, which) => {
      let cell = cellOf[input];
      const path = [cell];
      for (let at = layer[input] + 1; at <= layer[i]; at++) {
        // empty places keep long edges off other nodes
        const next = at === layer[i] ? cellOf[i] : { above: [] };
        if (next !== cellOf[i]) rows[at].push(next);
        next.above.push(cell);
        path.push((cell = next));
      }
      edges.push({ from: input, to: i, which, path });
    });
  }
  const below = new Map(rows.flat().map((cell) => [cell, []]));
  for (const cell of below.keys()) cell.above.forEach((upper) => below.get(upper).push(cell));
  const number = () =>
    rows.forEach((row) =>
      row.forEach((cell, position) => {
        cell.at = position - (row.length - 1) / 2;
      }),
    );
  number();
  const mean = (cells, otherwise) =>
    cells.length ? cells.reduce((sum, c) => sum + c.at, 0) / cells.length : otherwise;
  for (let sweep = 0; sweep < 8; sweep++) {
    for (const row of sweep % 2 ? rows : [...rows].reverse()) {
      const wish = new Map(
        row.map((cell) => [cell, mean(sweep % 2 ? cell.above : below.get(cell), cell.at)]),
      );
      row.sort((a, b) => wish.get(a) - wish.get(b));
      number();
    }
  }
  rows.forEach((row, at) =>
    row.forEach((cell) => {
      cell.layer = at;
    }),
  );
  const place = (cell) => [cell.layer, cell.at];
  return {
    layers: rows.length,
    widest: Math.max(...rows.map((row) => row.length)),
    places: Object.fromEntries(shown.map((i) => [i, place(cellOf[i])])),
    edges: edges.map(({ path, ...edge }) => ({ ...edge, points: path.map(place) })),
  };
}
