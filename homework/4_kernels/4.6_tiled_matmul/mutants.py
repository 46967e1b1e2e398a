MUTANTS = {
    "C does not begin with 0": ("  std::fill(c, c + m * n, 0.0f);\n", ""),
    "the last block of products replaces the others": (
        "j < kColumns; ++j) c[i * n + j] += sum[i][j]",
        "j < kColumns; ++j) c[i * n + j] = sum[i][j]",
    ),
    "only whole blocks of products": ("p < k; p += kDepth", "p + kDepth <= k; p += kDepth"),
    "only whole tiles": (
        "          part_of_tile(from, with, to, depth, k, n, rows, columns);",
        "          continue;",
    ),
    "whole tiles at the right border, too": (
        "if (rows == kRows && columns == kColumns)",
        "if (rows == kRows)",
    ),
    "whole tiles at the lower border, too": (
        "if (rows == kRows && columns == kColumns)",
        "if (columns == kColumns)",
    ),
    "each block begins with the first products": ("a + i * k + p,", "a + i * k,"),
    "A's rows are as long as B's": ("a + i * k + p,", "a + i * n + p,"),
    "whole blocks at the end, too": ("std::min(kDepth, k - p)", "kDepth"),
}
