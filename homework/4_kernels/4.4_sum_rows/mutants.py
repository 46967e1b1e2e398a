FOLD = "for (int lane = 0; lane < half; ++lane) part[lane] += part[lane + half];"
TAIL = "for (; i < size; ++i) part[i % 8] += x[i];"
MUTANTS = {
    "the rest is left out": (TAIL, ""),
    "the rest goes into the first": (TAIL, TAIL.replace("part[i % 8]", "part[0]")),
    "one running sum": ("part[lane] += x[i + lane]", "part[0] += x[i + lane]"),
    "four partial sums": ("part[lane] += x[i + lane]", "part[lane % 4] += x[i + lane]"),
    "neighbours are added first": (
        "for (int half = 4; half > 0; half /= 2)\n      " + FOLD,
        "for (int step = 1; step < 8; step *= 2)\n"
        "      for (int lane = 0; lane < 8; lane += 2 * step) part[lane] += part[lane + step];",
    ),
    "the parts in turn": (
        "for (int half = 4; half > 0; half /= 2)\n      " + FOLD,
        "for (int lane = 1; lane < 8; ++lane) part[0] += part[lane];",
    ),
    "the parts of all rows": (
        "  for (int64_t r = 0; r < rows; ++r, x += size) {\n    float part[8] = {};",
        "  float part[8] = {};\n  for (int64_t r = 0; r < rows; ++r, x += size) {",
    ),
    "in double": ("float part[8] = {}", "double part[8] = {}"),
}
