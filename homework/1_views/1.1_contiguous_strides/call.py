def call(student, shape):
    given = tuple(shape)
    strides = student(shape)
    if tuple(shape) != given:
        raise ValueError(f"the argument has been changed, from {list(given)} to {shape}")
    return strides
