"use strict";
// Row-major matrices behind each other in memory, and a set-associative cache with LRU eviction.
// A problem is { program: product | sum, order, n, pad, line, sets, ways }; sizes are in elements.
const PROGRAMS = {
  product: {
    matrices: { A: "ik", B: "kj", C: "ij" },
    orders: ["ijk", "ikj", "jik", "jki", "kij", "kji"],
  },
  sum: { matrices: { A: "ij" }, orders: ["ij", "ji"] },
};
const namesOf = ({ program }) => Object.keys(PROGRAMS[program].matrices);

/** First address of each matrix: each begins with a line. */
function bases({ program, n, pad, line }) {
  const size = Math.ceil((n * (n + pad)) / line) * line;
  return Object.fromEntries(
    Object.keys(PROGRAMS[program].matrices).map((name, at) => [name, at * size]),
  );
}

/** All accesses, in order: { name, row, column, address }. */
function trace(problem) {
  const { program, order, n, pad } = problem;
  const base = bases(problem);
  const found = [];
  const at = {};
  const matrices = Object.entries(PROGRAMS[program].matrices);
  (function loop(depth) {
    if (depth < order.length) {
      for (let value = 0; value < n; value++) {
        at[order[depth]] = value;
        loop(depth + 1);
      }
      return;
    }
    for (const [name, [first, second]] of matrices) {
      const row = at[first];
      const column = at[second];
      found.push({ name, row, column, address: base[name] + row * (n + pad) + column });
    }
  })(0);
  return found;
}

/** A cache: `access` says whether an address hits. Sets list their lines, the latest used first. */
function makeCache({ line, sets, ways }) {
  const contents = Array.from({ length: sets }, () => []);
  return {
    contents,
    access(address) {
      const wanted = Math.floor(address / line);
      const set = contents[wanted % sets];
      const at = set.indexOf(wanted);
      if (at >= 0) set.splice(at, 1);
      set.unshift(wanted);
      const evicted = set.length > ways ? set.pop() : null;
      return { isHit: at >= 0, evicted };
    },
  };
}

/** For each access hit, cold, capacity or conflict. */
function verdicts(problem, accesses = trace(problem)) {
  const { line, sets, ways } = problem;
  const cache = makeCache(problem);
  const seen = new Set();
  const associative = makeCache({ line, sets: 1, ways: sets * ways });
  return accesses.map(({ address }) => {
    const { isHit } = cache.access(address);
    const wouldHit = associative.access(address).isHit;
    const isFirst = seen.size !== seen.add(Math.floor(address / line)).size;
    if (isHit) return "hit";
    return isFirst ? "cold" : wouldHit ? "conflict" : "capacity";
  });
}

/** { name: { hit, cold, capacity, conflict } }. */
function counts(problem) {
  const accesses = trace(problem);
  const found = {};
  for (const name of namesOf(problem)) found[name] = { hit: 0, cold: 0, capacity: 0, conflict: 0 };
  verdicts(problem, accesses).forEach((verdict, at) => {
    found[accesses[at].name][verdict] += 1;
  });
  return found;
}

/** How far each matrix's address moves when the innermost index grows by one. */
function innermostSteps({ program, order, n, pad }) {
  const axis = order.at(-1);
  return Object.fromEntries(
    Object.entries(PROGRAMS[program].matrices).map(([name, [row, column]]) => [
      name,
      (row === axis ? n + pad : 0) + (column === axis ? 1 : 0),
    ]),
  );
}
