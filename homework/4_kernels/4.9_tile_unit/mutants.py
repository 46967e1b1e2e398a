MUTANTS = {
    "B is not woven": (
        "pairs[(p / 2 * columns + j) * 2 + p % 2] = b[p * n + j]",
        "pairs[p * columns + j] = b[p * n + j]",
    ),
    "pairs the wrong way round": ("+ p % 2]", "+ 1 - p % 2]"),
    "A's rows are not padded": ("lines.begin() + i * depth", "lines.begin() + i * k"),
    "a stride in elements": ("tile_load(4, of_a, 2 * depth)", "tile_load(4, of_a, depth)"),
    "sums go on from tile to tile": ("for (int t = 0; t < 4; ++t) tile_zero(t);", ""),
    "the lower tiles multiply the upper rows": ("of_a + kTile * depth", "of_a"),
    "the second tile of B begins in the middle": ("of_b + 2 * kTile", "of_b + kTile"),
    "one step alone": ("p < depth; p += kStep", "p < std::min(depth, kStep); p += kStep"),
    "each product loads for itself": (
        "tile_dot(1, 4, 7);",
        "tile_load(4, of_a, 2 * depth);\n        tile_dot(1, 4, 7);",
    ),
    "whole blocks are written at the border": ("std::min(kBlock, m - i)", "kBlock"),
    "tiles change places": (
        "&sums[t / 2 * kTile][t % 2 * kTile]",
        "&sums[t % 2 * kTile][t / 2 * kTile]",
    ),
}
