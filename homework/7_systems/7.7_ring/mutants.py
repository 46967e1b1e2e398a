SUM = "segments[theirs] += exchange(right, segments[ours], left)"
TAKE = "segments[theirs][:] = exchange(right, segments[ours], left)"
MUTANTS = {
    "nothing is added": (SUM, SUM.replace(" +=", "[:] =")),
    "the sums are added again": (TAKE, SUM),
    "to the left": ("right, left = (rank + 1) % ranks, (rank - 1) % ranks",
                    "left, right = (rank + 1) % ranks, (rank - 1) % ranks"),
    "a round too few": ("for step in range(1, ranks):", "for step in range(1, ranks - 1):"),
    "no second half": (TAKE, "pass"),
    "the sum stands at the neighbour": ("range(1, ranks):", "range(ranks - 1):"),
    "another array": (TAKE, TAKE.replace("[:]", "")),
}  # fmt: skip
