def call(student, own, own_strides, wanted):
    result = student(own, own_strides, wanted)
    if not isinstance(result, tuple) or len(result) != 2 or len(result[0]) != len(result[1]):
        return result
    shape, strides = result
    return shape, tuple([0 if n == 1 else s for n, s in zip(shape, strides, strict=True)])
