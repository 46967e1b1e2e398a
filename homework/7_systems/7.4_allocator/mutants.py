ROUND = "max(UNIT, (size + UNIT - 1) // UNIT * UNIT)"
MUTANTS = {
    "the first that fits": ("min(fitting)", "min(fitting, key=lambda pair: pair[1])"),
    "the largest": ("min(fitting)", "max(fitting)"),
    "the last of those that fit best": (
        "min(fitting)",
        "min(fitting, key=lambda pair: (pair[0], -pair[1]))",
    ),
    "sizes as they are": (ROUND, "size"),
    "rounded down": (ROUND, "max(UNIT, size // UNIT * UNIT)"),
    "a whole unit more": (ROUND, "size // UNIT * UNIT + UNIT"),
    "no bytes, no block": (ROUND, "(size + UNIT - 1) // UNIT * UNIT"),
    "the rest is lost": ("if held > size:", "if False:"),
    "the right neighbour stays apart": ("elif address + size == other:", "elif False:"),
    "the left neighbour stays apart": (
        "if other + held == address:",
        "if False:",
    ),
    "twice free": (
        '            raise ValueError(f"{address} is not allocated")',
        "            return",
    ),
}
