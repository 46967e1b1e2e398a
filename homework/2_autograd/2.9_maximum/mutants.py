SHARE = "return Amax.share(at, x, grad, dims, keepdim)"
FOUND = "found = run(Cast, at, x.dtype)\n    passed = spread(grad, shape, dims, keepdim)\n    "
MUTANTS = {
    "all to each of a tie": (SHARE, FOUND + "return found * passed"),
    "a share over all elements": (SHARE, FOUND + "return found * passed / found.sum((), True)"),
    "a share of the dims' elements": (
        SHARE,
        FOUND + "return found * passed / max(count(shape, dims), 1)",
    ),
    "counted along the first dim alone": (
        SHARE,
        FOUND + "return found * passed / found.sum(dims and dims[:1], True)",
    ),
    "everywhere": (SHARE, FOUND + "return passed / found.sum(dims, True)"),
    "all but the largest": ("at = x ==", "at = x !="),
    "what the result lacks is put in front": (
        "at = x == spread(y, shape, dims, keepdim)",
        "at = x == y.expand(shape)",
    ),
    "grad is not spread": (SHARE, FOUND + "return found * grad / found.sum(dims, True)"),
    "the maximum times grad": (SHARE, FOUND + "return x * found * passed"),
}
