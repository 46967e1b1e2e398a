def call(student, size, steps):
    """Answers of each step: ("allocate", bytes) or ("free", address)."""
    cache, seen = student(size), []
    for what, number in steps:
        try:
            seen.append(cache.allocate(number) if what == "allocate" else cache.free(number))
        except (MemoryError, ValueError) as error:
            seen.append("MemoryError" if isinstance(error, MemoryError) else "ValueError")
    return seen
