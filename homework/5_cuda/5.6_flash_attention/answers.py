import numpy as np

TOLERANCE = 1e-4
SIZE, BLOCK = 32, 64


def cases(rng):
    def case(heads, queries, keys):
        q, k, v = (
            rng.standard_normal((heads, n, SIZE)).astype(np.float32) for n in (queries, keys, keys)
        )
        return {"q": q, "k": k, "v": v, "scale": SIZE**-0.5}

    yield "one key", case(1, BLOCK, 1)
    yield "two keys", case(1, BLOCK, 2)
    yield "32 keys", case(1, BLOCK, 32)
    yield "64 keys", case(1, BLOCK, 64)
    yield "two blocks of queries", case(1, 2 * BLOCK, 32)
    yield "two heads", case(2, BLOCK, 32)
    yield "a query, and a block's other threads", case(1, 1, 40)
    yield "45 keys", case(1, BLOCK, 45)
    large = case(1, BLOCK, 40)
    large |= {"q": np.rint(large["q"] * 200), "k": np.rint(large["k"]), "scale": 0.125}
    yield "large scores", large  # that float32 has
    ordered = case(1, BLOCK, 70)
    ordered["k"] = np.sort(ordered["k"], 1)
    ordered["q"] = np.abs(ordered["q"])
    yield "each score is larger than the one before", ordered
    yield "more keys than a block's shared memory holds", case(1, 8, 500)
    for _ in range(2):
        yield "any", case(*(int(rng.integers(1, most)) for most in (4, 140, 140)))


def answer(q, k, v, scale):
    powers = exponentials(q, k, scale)
    out = powers / powers.sum(-1, keepdims=True) @ v.astype(np.float64)
    heads, queries = q.shape[:2]
    blocks = -(-queries // BLOCK)
    return {
        "out": out.astype(np.float32),
        "bytes_read": 4 * heads * SIZE * (queries + 2 * k.shape[1] * blocks),
        "bytes_of_a_thread": 1088 * k.shape[1] + 2048,
    }


def exponentials(q, k, scale):
    scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(1, 2) * scale
    return np.exp(scores - scores.max(-1, keepdims=True))


def why(got, expected, q, k, v, scale):
    wrong = ~np.isclose(got["out"], expected["out"], rtol=1e-3, atol=1e-3)
    if not wrong.any() and got["bytes_read"] > expected["bytes_read"]:
        return (
            f"the kernel reads {got['bytes_read']} bytes of global memory, "
            f"{expected['bytes_read']} are enough: each query "
            "once, each key and value once for a block"
        )
    if got["bytes_of_a_thread"] > expected["bytes_of_a_thread"]:
        return (
            f"a thread reads and writes {got['bytes_of_a_thread']} bytes, "
            f"{expected['bytes_of_a_thread']} are enough: the threads of a block share the work"
        )
    if np.isnan(got["out"]).any():
        return "nan: not written, or -inf - -inf, or an exponential that is inf"
    heads = np.flatnonzero(wrong.any((1, 2)))
    if heads[0] > 0:
        return f"head {heads[0]} is the first that is wrong: where do its q, k, v and out begin?"
    if np.allclose(got["out"], exponentials(q, k, scale) @ v, rtol=1e-3, atol=1e-3):
        return "the sum of the exponentials is missing: out = o / l"
    if np.allclose(got["out"], answer(q, k, v, 1.0)["out"], rtol=1e-3, atol=1e-3):
        return "the scores are multiplied by scale"
    if k.shape[1] > 1:
        return "when the maximum grows, what has been summed shrinks: by exp(old - new)"
    return "with one key its share is 1, and out is its value"
