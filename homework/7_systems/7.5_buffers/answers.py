def cases(rng):
    yield "no buffers", {"buffers": []}
    yield "one", {"buffers": [(8, 0, 1)]}
    yield "one after the other", {"buffers": [(8, 0, 1), (8, 2, 3)]}
    yield "at the same time", {"buffers": [(8, 0, 1), (8, 0, 1)]}
    yield "one's last step is the other's first", {"buffers": [(8, 0, 1), (8, 1, 2)]}
    yield "one within another's life", {"buffers": [(8, 0, 5), (4, 2, 3)]}
    yield "the larger first", {"buffers": [(4, 0, 2), (8, 1, 3)]}
    yield "a chain", {"buffers": [(100, 0, 1), (50, 1, 2), (100, 2, 3), (50, 3, 4)]}
    yield "equal sizes in turn", {"buffers": [(4, 2, 3), (4, 0, 2), (4, 1, 4)]}
    yield "a gap that fits", {"buffers": [(9, 0, 1), (8, 0, 9), (7, 1, 9), (5, 3, 4)]}
    yield (
        "a gap that is too small",
        {"buffers": [(6, 0, 1), (8, 0, 9), (7, 0, 9), (5, 3, 4), (6, 2, 3)]},
    )
    yield "a gap between two", {"buffers": [(10, 0, 9), (8, 0, 3), (7, 0, 9), (6, 5, 6), (2, 5, 7)]}
    yield "one ends below another that begins lower", {
        "buffers": [(10, 0, 0), (4, 1, 2), (3, 2, 2), (2, 0, 2)],
    }  # fmt: skip
    for count in (5, 10, 20, 40):
        first = rng.integers(0, 12, count)
        last = first + rng.integers(0, 6, count)
        rows = zip(rng.integers(1, 9, count), first, last, strict=True)
        yield f"{count} buffers", {"buffers": [tuple(int(n) for n in row) for row in rows]}


def answer(buffers):
    placed = {}
    for k in sorted(range(len(buffers)), key=lambda k: (-buffers[k][0], k)):
        size = buffers[k][0]
        alive = {j: at for j, at in placed.items() if together(buffers[j], buffers[k])}
        candidates = sorted({0, *(at + buffers[j][0] for j, at in alive.items())})
        placed[k] = next(
            at for at in candidates
            if all(at + size <= other or other + buffers[j][0] <= at for j, other in alive.items())
        )  # fmt: skip
    return [placed[k] for k in range(len(buffers))]


def together(one, other):
    return max(one[1], other[1]) <= min(one[2], other[2])


def why(got, expected, buffers):
    if not isinstance(got, list) or len(got) != len(buffers):
        return "an offset per buffer, in the order of the list"
    for k, one in enumerate(buffers):
        for j, other in enumerate(buffers[:k]):
            apart = got[k] + one[0] <= got[j] or got[j] + other[0] <= got[k]
            if together(one, other) and not apart:
                return f"buffers {j} and {k} are in use at the same step, and overlap"
    return "no two overlap; the order is: the largest first, each at the lowest offset that is free"
