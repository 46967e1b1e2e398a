REDUCED = "reduced = {d % ndim for d in dims} if dims else range(ndim)"
LAST = "return grad.expand(shape)"
MUTANTS = {
    "expand alone": ("if not keepdim and shape:", "if False:"),
    "the kept dims are reduced": ("1 if d in reduced else n", "n if d in reduced else 1"),
    "negative dims": (REDUCED, "reduced = set(dims) if dims else range(ndim)"),
    "() is no dim": (REDUCED, REDUCED.replace("if dims else", "if dims is not None else")),
    "only one dim": (REDUCED, "reduced = {dims[0] % ndim} if dims else range(ndim)"),
    "the last dims": (REDUCED, "reduced = range(ndim - len(dims or shape), ndim)"),
    "no dims fail": ("if not keepdim and shape:", "if not keepdim:"),
    "not repeated": (LAST, "return grad"),
    "a copy": (LAST, LAST + ".clone()"),
    "a mean's": (LAST, "return (grad / max(count(shape, dims), 1)).expand(shape)"),
}
