"""What a student hands in."""

# task 1.1, right
STRIDES = """
def contiguous_strides(shape):
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))
"""
