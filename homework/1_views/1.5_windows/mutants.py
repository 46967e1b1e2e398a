COUNT = "windows = (length - size) // step + 1"
STRIDE = "layout.stride_of_step(stride, step, windows)"
LAST = "return self._view((*shape, size), (*strides, stride), self.offset)"
MUTANTS = {
    "one window too few": (COUNT, "windows = (length - size) // step"),
    "one window too many": (COUNT, "windows = -(-(length - size) // step) + 1"),
    "windows side by side only": (COUNT, "windows = length // size"),
    "windows one stride apart": (STRIDE, "stride"),
    "inner steps of 1": (LAST, LAST.replace("(*strides, stride)", "(*strides, 1)")),
    "both strides stepped": (LAST, LAST.replace("(*strides, stride)", "(*strides, stride * step)")),
    "no offset": (LAST, LAST.replace("self.offset", "0")),
    "the inner dim beside its dim": (
        LAST,
        "return self._view((*shape[:d + 1], size, *shape[d + 1:]),"
        " (*strides[:d + 1], stride, *strides[d + 1:]), self.offset)",
    ),
    "a copy": (LAST, LAST + ".contiguous().clone()"),
    "a window too large": ("if size > length", "if size > length + 1"),
}
