def cases(rng):
    yield "one stage, one microbatch", {"stage": 0, "stages": 1, "microbatches": 1}
    yield "one stage", {"stage": 0, "stages": 1, "microbatches": 3}
    yield "the last of two", {"stage": 1, "stages": 2, "microbatches": 2}
    yield "the first of two", {"stage": 0, "stages": 2, "microbatches": 2}
    for stage in range(3):
        yield f"stage {stage} of three", {"stage": stage, "stages": 3, "microbatches": 4}
    yield "as many as there are stages", {"stage": 0, "stages": 4, "microbatches": 4}
    yield "fewer than there are stages", {"stage": 0, "stages": 4, "microbatches": 2}
    yield "fewer, in the middle", {"stage": 1, "stages": 5, "microbatches": 3}
    yield "fewer, at the end", {"stage": 4, "stages": 5, "microbatches": 3}
    for _ in range(4):
        stages = int(rng.integers(2, 9))
        yield (
            "longer",
            {
                "stage": int(rng.integers(0, stages)),
                "stages": stages,
                "microbatches": int(rng.integers(1, 30)),
            },
        )


def answer(stage, stages, microbatches):
    """Each turn computes what keeps the number of held microbatches at most at its limit."""
    limit, forwards, backwards, order = stages - stage, 0, 0, []
    while backwards < microbatches:
        if forwards < microbatches and forwards - backwards < limit:
            order.append(("F", stage, forwards))
            forwards += 1
        else:
            order.append(("B", stage, backwards))
            backwards += 1
    return order


def why(got, expected, stage, stages, microbatches):
    if not isinstance(got, list) or sorted(got) != sorted(expected):
        return "each microbatch has one forward and one backward at this stage"
    ahead = next((i for i, action in enumerate(got) if action[0] == "B"), len(got))
    right = min(stages - stage, microbatches)
    if ahead != right:
        return f"before the first backward there are {right} forwards, not {ahead}"
    return "after the first forwards a backward and a forward follow each other"
