MUTANTS = {
    "the halves of A's words in exchange": (
        "word_of(a[i * k + p], a[i * k + p + 1])",
        "word_of(a[i * k + p + 1], a[i * k + p])",
    ),
    "B's words go across": ("b[(p + 1) * n + j]", "b[p * n + j + 1]"),
    "rows and words of A in exchange": (
        "row + quad + r % 2 * 8, p = first + (in_quad + r / 2 * 4) * 2",
        "row + quad + r / 2 * 8, p = first + (in_quad + r % 2 * 4) * 2",
    ),
    "quads and lanes in exchange": (
        "quad = threadIdx.x / 4, in_quad = threadIdx.x % 4",
        "quad = threadIdx.x % 8, in_quad = threadIdx.x / 8",
    ),
    "C is laid out as A": (
        "quad + r / 2 * 8, j = column + in_quad * 2 + r % 2",
        "quad + r % 2 * 8, j = column + in_quad * 2 + r / 2",
    ),
    "every step takes the first words": ("p = first + (in_quad + r / 2", "p = (in_quad + r / 2"),
    "words are one half long": ("first + (in_quad + r * 4) * 2,", "first + in_quad + r * 4,"),
    "the sums begin anew": (
        "    mma<Half>(sums",
        "    for (float& sum : sums) sum = 0;\n    mma<Half>(sums",
    ),
    "half of the lanes": (
        "  float sums[4] = {};",
        "  if (threadIdx.x >= 16) return;\n  float sums[4] = {};",
    ),
    "one step too many": ("first < k;", "first <= k;"),
    "no tensor cores": (
        "    mma<Half>(sums, of_a, of_b);\n",
        "    const auto number = [](uint16_t bits) {\n      Half half;\n"
        "      half.bits = bits;\n      return float(half);\n    };\n"
        "    for (int r = 0; r < 4; ++r)\n      for (int p = first; p < first + 16; ++p)\n"
        "        sums[r] += number(a[(row + quad + r / 2 * 8) * k + p]) *\n"
        "                   number(b[p * n + column + in_quad * 2 + r % 2]);\n",
    ),
}
