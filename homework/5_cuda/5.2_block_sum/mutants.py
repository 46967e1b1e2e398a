MUTANTS = {
    "no barrier before the halves": (
        "  parts[thread] = part;\n  __syncthreads();\n",
        "  parts[thread] = part;\n",
    ),
    "no barrier between the halves": ("half];\n    __syncthreads();\n", "half];\n"),
    "a barrier that half of the threads miss": (
        "if (thread < half) parts[thread] += parts[thread + half];\n    __syncthreads();",
        "if (thread >= half) return;\n    parts[thread] += parts[thread + half];\n"
        "    __syncthreads();",
    ),
    "every row is the first": ("x + int64_t{blockIdx.x} * size", "x"),
    "a part is the last of its elements": ("part += row[i]", "part = row[i]"),
    "neighbours first": (
        "int half = kThreads / 2; half > 0; half /= 2",
        "int half = 1; half < kThreads; half *= 2",
    ),
    "only one element each": (
        "for (int i = thread; i < size; i += kThreads)",
        "if (const int i = thread; i < size)",
    ),
    "threads take stretches": (
        "for (int i = thread; i < size; i += kThreads) part += row[i];",
        "const int each = (size + kThreads - 1) / kThreads;\n"
        "  for (int i = thread * each; i < min(size, (thread + 1) * each); ++i) part += row[i];",
    ),
    "the array is one too short": ("parts[kThreads]", "parts[kThreads - 1]"),
    "threads without an element write nothing": (
        "parts[thread] = part;",
        "if (thread < size) parts[thread] = part;",
    ),
}
