SUM = "gradient = gradient.sum(dims, True)"
DIMS = "dims = tuple(range(lead)) + tuple("
CAST = 'return gradient.to(dtype) if hasattr(gradient, "array") else gradient.astype(dtype)'
MUTANTS = {
    "the mean": (SUM, "gradient = gradient.mean(dims, True, None)"),
    "no sum over dims of 1": (SUM, "gradient = gradient.sum(tuple(range(lead)), True)"),
    "no sum over missing dims": (DIMS, "dims = tuple("),
    "the missing dims are the last": (DIMS, "dims = tuple(range(-lead, 0)) + tuple("),
    "no keepdim": (SUM, "gradient = gradient.sum(dims, False)"),
    "leading sizes of 1 stay": ("if lead:", "if False:"),
    "no cast": ("if gradient.dtype is dtype:", "if True:"),
    "cast first": (
        "if gradient.shape != shape:",
        "if gradient.dtype is not dtype and not hasattr(gradient, 'array'):\n"
        "        gradient = gradient.astype(dtype)\n"
        "    if gradient.shape != shape:",
    ),
    "tensors are cast as arrays": (CAST, "return gradient.astype(dtype)"),
    "a copy where nothing is to do": (
        "if gradient.dtype is dtype:\n        return gradient",
        "if gradient.dtype is dtype:\n        return gradient * 1",
    ),
    "the largest in place of the sum": (SUM, "gradient = gradient.amax(dims, True, None)"),
}
