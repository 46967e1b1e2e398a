MUTANTS = {
    "no barrier between two uses of the array": (
        "  __syncthreads();  // the result of an earlier call has been read\n",
        "",
    ),
    "no barrier behind the halves": (
        "half]);\n    __syncthreads();\n",
        "half]);\n",
    ),
    "no maximum": ("most = of_block(most, larger);", "most = 0;"),
    "each thread has a maximum of its own": ("most = of_block(most, larger);", ""),
    "the maximum begins with 0": ("most = -INFINITY", "most = 0"),
    "each thread has a sum of its own": ("total = of_block(total, sum);", ""),
    "a sum of maxima": ("of_block(total, sum)", "of_block(total, larger)"),
    "every row is the first": ("  x += int64_t{blockIdx.x} * size;\n", ""),
    "all rows are written to the first": ("  y += int64_t{blockIdx.x} * size;\n", ""),
    "the last element is left out": (
        "i < size; i += kThreads) y[i]",
        "i + 1 < size; i += kThreads) y[i]",
    ),
    "one element too many": ("i < size; i += kThreads) total", "i <= size; i += kThreads) total"),
    "the least in place of the largest": ("return a > b ? a : b;", "return a < b ? a : b;"),
}
