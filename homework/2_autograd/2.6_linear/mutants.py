TO_X = "to_x = grad @ weight if needs[0] else None"
TO_WEIGHT = "to_weight = product(needs[1], transposed(flat), rows_of(x))"
TO_BIAS = "to_bias = flat.sum((0,), False)"
MUTANTS = {
    "weight transposed": (TO_X, TO_X.replace("weight if", "transposed(weight) if")),
    "the sign": (TO_X, TO_X.replace("grad @", "-grad @")),
    "always x's": (TO_X, "to_x = grad @ weight"),
    "the gradient of weight transposed": (TO_WEIGHT, "to_weight = transposed(rows_of(x)) @ flat"),
    "the batch is not summed": (
        TO_WEIGHT,
        "to_weight = (transposed(grad) @ x if x.ndim > 1 else transposed(flat) @ rows_of(x))",
    ),
    "only the last of a batch": (
        TO_WEIGHT,
        "to_weight = transposed(flat) @ rows_of(x)\n"
        "        while x.ndim > 2 and x.shape[0]:\n"
        "            x, grad = x.select(0, -1), grad.select(0, -1)\n"
        "            to_weight = transposed(grad) @ x",
    ),
    "the mean over rows": (
        TO_WEIGHT,
        "to_weight = (transposed(flat) @ rows_of(x)) / max(flat.shape[0], 1)",
    ),
    "bias over the last dim": (TO_BIAS, "to_bias = flat.sum((1,), False)"),
    "bias over the first dim alone": (TO_BIAS, "to_bias = grad.sum((0,), False)"),
    "bias as a row": (TO_BIAS, "to_bias = flat.sum((0,), True)"),
    "weight's in the place of x's": (
        "return to_x, to_weight, to_bias",
        "return to_weight, to_x, to_bias",
    ),
}
