import math


def cases(rng):
    def case(size, *steps):
        """Numbers above 0 are allocated; ("free", address) is freed."""
        return {
            "size": size,
            "steps": [("allocate", s) if isinstance(s, int) else s for s in steps],
        }

    def free(address):
        return ("free", address)

    yield "one block", case(2048, 512)
    yield "two blocks", case(2048, 512, 512)
    yield "sizes are rounded up", case(4096, 1, 512, 513, 512)
    yield "no bytes take a block, too", case(2048, 0, 0)
    yield "all of it, and more", case(1024, 1024, 1)
    yield "too much", case(1024, 1025, 1024)
    yield "given back, and taken again", case(1024, 1024, free(0), 700)
    yield "a block is split", case(2048, 2048, free(0), 512, 1024, 512)
    yield "neighbours become one: the left one first", case(
        1024, 512, 512, free(0), free(512), 1024,
    )  # fmt: skip
    yield "the right one first", case(1024, 512, 512, free(512), free(0), 1024)
    yield "a block between two free ones", case(
        1536, 512, 512, 512, free(0), free(1024), free(512), 1536,
    )  # fmt: skip
    yield "the one that fits best", case(
        8192, 2048, 512, 1024, 512, 4096, free(0), free(2560), 1000, 2048,
    )  # fmt: skip
    yield "the first of two that fit as well", case(
        4096, 1024, 512, 1024, 1536, free(1536), free(0), 600, 600,
    )  # fmt: skip
    yield "what is not in use", case(1024, 512, free(512), free(3), free(0), free(0), 1024)
    for _ in range(6):
        yield "many", random_case(rng)


def random_case(rng):
    size, steps, blocks = 512 * 64, [], {}
    for _ in range(60):
        if blocks and rng.random() < 0.45:
            step = ("free", int(rng.choice(list(blocks))))
        else:
            step = ("allocate", int(rng.integers(0, 5000)))
        steps.append(step)
        follow(step, blocks, size)
    return {"size": size, "steps": steps}


def follow(step, blocks, size):
    """What a step gives; `blocks` are {address: the address where it ends} of those in use."""
    what, number = step
    if what == "free":
        return None if blocks.pop(number, None) else "ValueError"
    wanted = 512 * max(1, math.ceil(number / 512))
    ends = [0, *sorted(blocks.values())]
    gaps = [(until - end, end) for end, until in zip(ends, [*sorted(blocks), size], strict=True)]
    gaps = [gap for gap in gaps if gap[0] >= wanted]
    if not gaps:
        return "MemoryError"
    address = min(gaps)[1]
    blocks[address] = address + wanted
    return address


def answer(size, steps):
    blocks = {}
    return [follow(step, blocks, size) for step in steps]


def why(got, expected, size, steps):
    for k, (one, other) in enumerate(zip(got, expected, strict=False)):
        if one == other:
            continue
        where = f"step {k}, {steps[k][0]} {steps[k][1]}: "
        if one == "MemoryError":
            return where + "there is a block: are free neighbours one, and is the rest kept?"
        if other == "ValueError":
            return where + "this address is not in use"
        if other == "MemoryError":
            return where + "no free block is as large as that"
        if any(what == "free" for what, _ in steps[:k]):
            return where + "the smallest free block that is large enough, of these the first"
        return where + "blocks are multiples of 512 bytes, at least 512, one after the other"
    return ""
