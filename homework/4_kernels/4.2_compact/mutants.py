MUTANTS = {
    "as it lies in memory": ("y[i] = x[place];", "y[i] = x[i];"),
    "the first dim is the fastest": (
        "for (int d = dims - 1; d >= 0; --d) {",
        "for (int d = 0; d < dims; ++d) {",
    ),
    "a dim too short": ("++index[d] < shape[d]", "++index[d] + 1 < shape[d]"),
    "a dim too long": ("++index[d] < shape[d]", "index[d]++ < shape[d]"),
    "a dim is not begun anew": ("      place -= index[d] * strides[d];\n", ""),
    "a dim of no elements has one": ("count *= shape[d]", "count *= shape[d] ? shape[d] : 1"),
    "only two dims": (
        "for (int d = dims - 1; d >= 0; --d) {",
        "for (int d = dims - 1; d >= 0 && d > dims - 3; --d) {",
    ),
}
