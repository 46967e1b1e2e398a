MUTANTS = {
    "B is taken transposed": ("b[p * b_row + j * b_col]", "b[p * b_col + j * b_row]"),
    "A lies in row-major order": ("a[i * a_row + p * a_col]", "a[i * k + p]"),
    "B lies in row-major order": ("b[p * b_row + j * b_col]", "b[p * n + j]"),
    "C's rows are as long as A's": ("c[i * n + j]", "c[i * k + j]"),
    "one sum for all": ("float sum = 0;", "static float sum = 0;"),
    "the last product is left out": ("p < k; ++p", "p + 1 < k; ++p"),
    "one product too many": ("p < k; ++p", "p <= k; ++p"),
    "a sum of no products is not written": ("c[i * n + j] = sum", "if (k) c[i * n + j] = sum"),
    "adds to what C holds": ("c[i * n + j] = sum", "c[i * n + j] += sum"),
}
