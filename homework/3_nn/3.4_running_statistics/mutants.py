RIGHT = "statistic.copy_((1 - momentum) * statistic + momentum * batch)"
BIASED = "x.var(dims)"
MUTANTS = {
    "a new tensor": (RIGHT, RIGHT.replace("statistic.copy_", "statistic = ")),
    "momentum keeps": (RIGHT, "statistic.copy_(momentum * statistic + (1 - momentum) * batch)"),
    "the sum decays not": (RIGHT, "statistic.copy_(statistic + momentum * batch)"),
    "the biased variance": (BIASED, "x.var(dims, correction=0)"),
    "the deviation": (BIASED, "x.std(dims)"),
    "the first dim alone": ("(0, *range(2, x.ndim))", "(0,)"),
    "all samples at once": (
        "tuple(range(2, x.ndim)) if samples else (0, *range(2, x.ndim))",
        "(0, *range(2, x.ndim))",
    ),
    "with history": ("with no_grad():", "if True:"),
    "no statistic is None": ("if statistic is not None:", "if True:"),
}
