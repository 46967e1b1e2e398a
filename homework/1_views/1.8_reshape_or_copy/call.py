def call(student, old, old_strides, shape):
    strides = student(old, old_strides, shape)
    if not isinstance(strides, tuple) or len(strides) != len(shape):
        return strides
    free = [n == 1 or 0 in shape for n in shape]
    return tuple([0 if any_ else s for any_, s in zip(free, strides, strict=True)])
