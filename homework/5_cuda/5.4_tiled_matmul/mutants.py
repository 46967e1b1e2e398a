MUTANTS = {
    "no barrier before the products": ("    __syncthreads();  // the tiles are there\n", ""),
    "no barrier behind the products": ("    __syncthreads();  // all have done with them\n", ""),
    "threads outside of C are gone": (
        "  float sum = 0;",
        "  if (row >= m) return;\n  float sum = 0;",
    ),
    "only the last tiles count": ("++i) sum +=", "++i) sum ="),
    "B's tile is read across": ("b_tile[i][x]", "b_tile[x][i]"),
    "A's rows are as long as B's": ("a[row * k +", "a[row * n +"),
    "every tile is the first": ("b[(first + y) * n", "b[y * n"),
    "B's columns end nowhere": ("first + y < k && column < n", "first + y < k"),
    "A's columns end nowhere": ("row < m && first + x < k", "row < m"),
    "C's rows end nowhere": ("if (row < m && column < n) c", "if (column < n) c"),
    "whole tiles only": ("first < k;", "first + kTile <= k;"),
    "rows and columns in exchange": (
        "row = blockIdx.y * kTile + y, column = blockIdx.x",
        "row = blockIdx.x * kTile + y, column = blockIdx.y",
    ),
    "B's tile is not used": (
        "sum += a_tile[y][i] * b_tile[i][x]",
        "sum += first + i < k && column < n ? a_tile[y][i] * b[(first + i) * n + column] : 0",
    ),
}
