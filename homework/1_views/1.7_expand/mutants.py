REPEATED = "strides[d] = 0\n    for"
MUTANTS = {
    "the old stride stays": (REPEATED, "pass\n    for"),
    "a stride of 1 repeats": (REPEATED, "strides[d] = 1\n    for"),
    "dims meet at the first one": (
        "[0] * lead + list(own_strides)",
        "list(own_strides) + [0] * lead",
    ),
    "-1 stays in the shape": ("return tuple(sizes)", "return tuple(wanted)"),
    "every size can be repeated": ("if size != 1:", "if size == 0:"),
    "a new dim of -1 has size 1": ("if d < lead and n == -1:", "if False:"),
    "a size of -1 gets stride 0": (
        "for d, n in reversed(",
        "strides = [s if n > 1 else 0 for n, s in zip(wanted, strides)]\n    for d, n in reversed(",
    ),
    "too few dims": ("if lead < 0:", "if lead < -1:"),
}
