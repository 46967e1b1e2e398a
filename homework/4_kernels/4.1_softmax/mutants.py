MUTANTS = {
    "no maximum": ("std::exp(x[i] - most)", "std::exp(x[i])"),
    "the maximum begins with 0": ("T most = x[0]", "T most = 0"),
    "one sum for all rows": (
        "T most = x[0], sum = 0;",
        "static T sum = 0;\n    T most = x[0];",
    ),
    "one element too many": ("for (int64_t i = 1; i < size;", "for (int64_t i = 1; i <= size;"),
    "the last element is left out": (
        "i < size; ++i) y[i] /= sum",
        "i + 1 < size; ++i) y[i] /= sum",
    ),
}
