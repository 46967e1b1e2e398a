TO_WEIGHT = "product(needs[1], transpose_last(flat), rows_of(x))"
TO_BIAS = "flat.sum((0,), False)"
MUTANTS = {
    "the weight's gradient transposed": (TO_WEIGHT, "transpose_last(rows_of(x)) @ flat"),
    "the weight transposed": ("grad @ weight", "grad @ transpose_last(weight)"),
    "the mean over rows": (TO_BIAS, TO_BIAS + " / flat.shape[0]"),
    "one row of the bias": (TO_BIAS, "flat.select(0, 0)"),
    "the bias keeps its dim": (TO_BIAS, "flat.sum((0,), True)"),
    "the first leading dim alone": (TO_BIAS, "grad.sum((0,), False)"),
    "the sign": (TO_WEIGHT, "-" + TO_WEIGHT),
    "always a bias": ("if needs[2]:", "if True:"),
    "x and weight changed": ("x, weight = saved", "weight, x = saved"),
}
