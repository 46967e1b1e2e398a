MUTANTS = {
    "no barrier between reading and writing": ("    __syncthreads();  // all have read\n", ""),
    "no barrier behind writing": ("    __syncthreads();  // all have written\n", ""),
    "no barrier before the first step": (": 0;\n  __syncthreads();\n", ": 0;\n"),
    "the sums begin with the element before": (
        "if (i < n) y[i] = sums[thread];",
        "if (i < n) y[i] = thread ? sums[thread - 1] : 0;",
    ),
    "distances grow by one": ("distance *= 2", "distance += 1"),
    "one step too few": ("distance < kThreads;", "distance < kThreads / 2;"),
    "x before the beginning": ("thread >= distance ?", "thread + 1 >= distance ?"),
    "x behind the end": ("i < n ? x[i] : 0", "x[i]"),
    "y behind the end": ("if (i < n) y[i] = sums", "y[i] = sums"),
    "the total of the first block": ("totals[blockIdx.x] =", "totals[0] ="),
    "the block's own total is added": ("sums[blockIdx.x - 1]", "sums[blockIdx.x]"),
    "offsets replace": ("y[i] += sums[blockIdx.x - 1]", "y[i] = sums[blockIdx.x - 1]"),
    "a thread without an element is gone": (
        "sums[thread] = i < n ? x[i] : 0;",
        "if (i >= n) return;\n  sums[thread] = x[i];",
    ),
}
