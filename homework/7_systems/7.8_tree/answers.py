def cases(rng):
    yield "one rank", {"ranks": 1, "root": 0, "value": 7}
    yield "two ranks", {"ranks": 2, "root": 0, "value": 7}
    yield "the other is the root", {"ranks": 2, "root": 1, "value": -1}
    yield "four ranks", {"ranks": 4, "root": 0, "value": 5}
    yield "three ranks", {"ranks": 3, "root": 0, "value": 5}
    yield "a root in the middle", {"ranks": 5, "root": 2, "value": 0}
    for ranks in (8, 11, 16):
        root = int(rng.integers(ranks))
        yield f"{ranks} ranks, root {root}", {"ranks": ranks, "root": root, "value": 3}


def answer(ranks, root, value):
    """By the one who is told: his place less its highest bit, in the round of that bit."""
    sent, times = [[] for _ in range(ranks)], [0] * ranks
    for place in range(1, ranks):
        bit = place.bit_length() - 1
        sent[(place - (1 << bit) + root) % ranks].append((place + root) % ranks)
        times[(place + root) % ranks] = bit + 1
    # a rank that has nobody to send to in a round is ahead of the others
    clocks = [0] * ranks
    for place in range(ranks):
        rank = (place + root) % ranks
        clock = clocks[place]
        times[rank] = clock
        for to in sent[rank]:
            clock += 1
            clocks[(to - root) % ranks] = clock
    return [value] * ranks, sent, times


def why(got, expected, ranks, root, value):
    if got[0] != expected[0]:
        return "every rank answers the root's value"
    for rank, (ours, theirs) in enumerate(zip(got[1], expected[1], strict=True)):
        if ours != theirs:
            return f"rank {rank} of {ranks} sends to {theirs} in this order, with root {root}"
    return "a rank that is told in a round sends from the next one on"
