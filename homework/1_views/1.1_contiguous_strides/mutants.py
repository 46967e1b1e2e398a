BODY = "return packed_strides(shape, range(len(shape) - 1, -1, -1))"
MUTANTS = {
    "column-major order": (BODY, "return packed_strides(shape, range(len(shape)))"),
    "its own size, too": (
        BODY,
        "steps = packed_strides(shape, range(len(shape) - 1, -1, -1))\n"
        "    return tuple(step * max(n, 1) for step, n in zip(steps, shape))",
    ),
    "an empty dim makes strides of 0": (
        BODY,
        "return packed_strides(shape, range(len(shape) - 1, -1, -1), 0)",
    ),
    "a list in place of a tuple": (
        BODY,
        "return list(packed_strides(shape, range(len(shape) - 1, -1, -1)))",
    ),
    "the last dim's stride is left out": (BODY, BODY + "[:-1]"),
}
