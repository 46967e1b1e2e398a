MOVED = "shape, strides = [self.shape[d] for d in order], [self.strides[d] for d in order]"
MUTANTS = {
    "the inverse order": (
        MOVED,
        "order = [order.index(d) for d in range(self.ndim)]\n    " + MOVED,
    ),
    "the old strides": (MOVED, "shape, strides = [self.shape[d] for d in order], self.strides"),
    "contiguous strides": (
        MOVED,
        "shape = [self.shape[d] for d in order]\n    strides = contiguous_strides(shape)",
    ),
    "no offset": ("self._view(shape, strides, self.offset)", "self._view(shape, strides, 0)"),
    "a copy": (
        "return self._view(shape, strides, self.offset)",
        "return self.alias()._view(shape, strides, self.offset).contiguous().clone()",
    ),
    "a dim twice goes through": ("len(set(order)) < len(order)", "False"),
    "a dim and its name from the end": ("len(set(order))", "len(set(dims))"),
    "dims beyond the last wrap around": ("wrap_dim(d, self.ndim) for d", "d % self.ndim for d"),
    "too few dims go through": ("len(dims) != self.ndim", "len(dims) > self.ndim"),
}
