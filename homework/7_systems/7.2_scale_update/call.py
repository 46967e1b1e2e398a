def call(student, found, **start):
    """The scale and the steps after each iteration, from what each has found."""
    scale, steps, seen = start.pop("scale"), start.pop("steps"), []
    for found_inf in found:
        scale, steps = student(scale, steps, found_inf, **start)
        seen.append((scale, steps))
    return seen
