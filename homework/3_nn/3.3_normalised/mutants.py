RIGHT = "return x * ((x * x).mean(dims, keepdim=True) + eps).rsqrt()"
CENTRED = "x = x - x.mean(dims, keepdim=True)"
MUTANTS = {
    "eps beside the root": (RIGHT, "return x / ((x * x).mean(dims, keepdim=True).sqrt() + eps)"),
    "the variance, not its root": (RIGHT, "return x / ((x * x).mean(dims, keepdim=True) + eps)"),
    "n - 1": (RIGHT, "return x * (x.var(dims, keepdim=True) + eps).rsqrt()"),
    "the mean of all": (CENTRED, "x = x - x.mean()"),
    "always centred": ("if centered:", "if True:"),
    "the sign of the mean": (CENTRED, CENTRED.replace("x - x", "x + x")),
    "squares before the mean is subtracted": (
        CENTRED,
        "m = x.mean(dims, keepdim=True)\n"
        "        v = (x * x).mean(dims, keepdim=True) - m * m\n"
        "        return (x - m) * (v + eps).rsqrt()",
    ),
    "halves as halves": ("x.dtype.itemsize == 2", "False"),
    "statistics without history": (RIGHT, RIGHT.replace("(x * x)", "(x.detach() ** 2)")),
}
