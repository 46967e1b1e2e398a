START = "start = min(max(start + size if start < 0 else start, 0), size)"
STOP = "stop = min(max(stop + size if stop < 0 else stop, start), size)"
COUNT = "count = -(-(stop - start) // step)  # rounded up"
MUTANTS = {
    "rounded down": (COUNT, "count = (stop - start) // step"),
    "the step is left out of the stride": ("layout.stride_of_step(stride, step, count)", "stride"),
    "the offset moves by elements": ("self.offset + start * stride", "self.offset + start"),
    "the offset moves by new strides": (
        "self.offset + start * stride",
        "self.offset + start * stride * min(step, 9)",
    ),
    "the offset of the array is left out": ("self.offset + start * stride", "start * stride"),
    "a start from the end is clipped first": (START, "start = min(max(start, 0), size)"),
    "a stop beyond the end": (
        STOP,
        STOP.replace("min(max(", "max(").replace("start), size)", "start)"),
    ),
    "a stop before the start": (STOP, STOP.replace(", start), size)", ", 0), size)")),
    "always dim 0": ("d = wrap_dim(dim, self.ndim)", "d = wrap_dim(dim, self.ndim) * 0"),
    "a step of 0 goes through": ("if step <= 0", "if step < 0"),
    "a copy": ("return self._view(", "return self.contiguous().clone()._view("),
}
