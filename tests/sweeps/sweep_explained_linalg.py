"""Why decompositions and solutions differ: of matrices that do not determine them, above all."""

EXPLAINED: list[tuple[str, str, str, str]] = [
    (
        r"torch\.linalg\.cond",
        r"float32\[5, 5\]\)  broadcast",
        r"such as \[inf\], not \[[\d.]+e\+\d\d\]",
        "a matrix of equal rows is singular; PyTorch's smallest singular value is 1e-30, not 0",
    ),
    (
        r"torch\.linalg\.cond",
        r"float32\[5, 5\]\)  broadcast",
        r"^gradient: .* such as \[(-?inf|nan), (-?inf|nan), (-?inf|nan)\], not \[(-?inf|nan),",
        "a matrix of equal rows is singular: errors of rounding, which differ by machine, say "
        "where its gradient is infinite and where NaN",
    ),
    (
        r"torch\.linalg\.(svdvals|matrix_norm)",
        r"(float32\[[52], [52]\]\)|'nuc', .*) +broadcast",
        "^gradient: ",
        "a matrix of equal rows has singular values that are 0: their vectors, of which the "
        "gradient is made, are not unique",
    ),
    (
        r"torch\.(linalg|Tensor)\.qr",
        r"float32\[[52], [52]\]\)  broadcast",
        "values, such as",
        "a matrix of equal rows does not determine the later columns of Q; PyTorch's are made of "
        "rounding errors",
    ),
    (
        r"torch\.Tensor\.qr",
        "special values",
        r"^1 of \d+ values, such as \[nan\], not",
        "how far a NaN of the input spreads is LAPACK's choice; ours reaches every element",
    ),
    (
        r"torch\.linalg\.solve_triangular",
        r"float32\[3, 3\], float32\[3, 1\]\) upper=False .* broadcast",
        r"1 of 3 values, such as \[nan\], not \[-inf\]",
        "a diagonal with zeros: 0 / 0, or a rounding error / 0",
    ),
    (
        r"torch\.(linalg\.lu|linalg\.lu_factor_ex|lu|Tensor\.lu)",
        " broadcast",
        "^(second )?gradient: ",
        "a matrix of equal rows is singular: an LU of it has no gradient",
    ),
    (
        r"torch\.(lu|Tensor\.lu)",
        " broadcast",
        "values, such as",
        "a matrix of equal rows is singular; PyTorch's later pivots are rounding errors",
    ),
    (
        r"torch\.linalg\.(lu_factor|tensorsolve)",
        " broadcast",
        r"^raised (RuntimeError|_LinAlgError)\(.*(U\[2,2\] is zero|singular)",
        "a matrix of equal rows is singular; PyTorch divides by rounding errors",
    ),
    (
        r"torch\.linalg\.solve_ex",
        " broadcast",
        "^(second )?gradient: ",
        "a matrix of equal rows is singular: PyTorch's gradients are of rounding errors",
    ),
    (
        r"torch\.(Tensor\.)?cholesky_(solve|inverse)",
        " broadcast",
        "^gradient: ",
        "a factor of equal rows is nearly singular: gradients above 1e7 are of rounding errors",
    ),
    (
        r"torch\.(Tensor\.)?lu_solve",
        "special values",
        "^gradient: of leaf 0: ",
        "how far a NaN spreads over the factors depends on the order of products",
    ),
    (
        r"torch\.(Tensor\.)?geqrf",
        " (broadcast|special values)",
        "values, such as",
        "columns of rounding errors, or of NaN, are LAPACK's choice",
    ),
    (
        r"torch\.linalg\.lstsq",
        "driver='gels' broadcast",
        "raised _LinAlgError.*does not have fu",
        "the driver needs full rank, and a matrix of equal rows has not; PyTorch divides rounding "
        "errors",
    ),
    (
        r"torch\.linalg\.lstsq",
        "driver='gels' out empty",
        r"strides \(1, 3\), not \(1, 4\)",
        "where `out` is empty, PyTorch leaves LAPACK's room for residuals below each column",
    ),
]
