import numpy as np

TOLERANCE = 0.0  # whole numbers


def case(rng, ranks, lengths):
    return {"rows": rng.integers(-9, 10, (ranks, sum(lengths))).astype(float), "lengths": lengths}


def cases(rng):
    yield "one rank", case(rng, 1, [3])
    yield "two ranks", case(rng, 2, [1, 1])
    yield "three ranks", case(rng, 3, [2, 2, 2])
    yield "four ranks, segments of several lengths", case(rng, 4, [3, 3, 2, 2])
    yield "fewer numbers than ranks", case(rng, 4, [1, 1, 0, 0])
    for ranks in (5, 7):
        yield f"{ranks} ranks", case(rng, ranks, [int(n) for n in rng.integers(1, 9, ranks)])


def answer(rows, lengths):
    ranks = len(rows)
    total = rows.sum(0)
    sent = []
    for rank in range(ranks):
        order = [(rank - step) % ranks for step in (*range(1, ranks), *range(ranks - 1))]
        sent.append([((rank + 1) % ranks, lengths[segment]) for segment in order])
    return [total] * ranks, sent


def why(got, expected, rows, lengths):
    if any(not np.array_equal(row, rows.sum(0)) for row in got[0]):
        return "afterwards every rank has the sums of all segments, in the arrays that it was given"
    if any(to != (rank + 1) % len(rows) for rank, row in enumerate(got[1]) for to, _ in row):
        return "a rank sends to its right neighbour only"
    return "rank r begins with segment r - 1, and each rank sends 2 (n - 1) segments in all"
