import numpy as np

TOLERANCE = 1e-5
THREADS = 256


def cases(rng):
    def case(n):
        return {"x": rng.standard_normal(n).astype(np.float32)}

    yield "256 ones", {"x": np.ones(THREADS, np.float32)}
    yield "a block", case(THREADS)
    yield "one element", case(1)
    yield "a block that is not full", case(100)
    yield "two blocks", case(2 * THREADS)
    yield "three blocks, the last not full", case(2 * THREADS + 1)
    yield "no elements", case(0)
    yield "an inf on the way", {"x": np.float32([1, 2, np.inf, 3])}
    yield "many blocks", case(9000)
    yield "as many blocks as a block has threads, and one more", case(THREADS * THREADS + 1)
    for _ in range(2):
        yield "any", case(int(rng.integers(1, 5000)))


def answer(x):
    return {"y": x.astype(np.float64).cumsum().astype(np.float32), "bytes_of_a_thread": 640}


def why(got, expected, x):
    if got["bytes_of_a_thread"] > expected["bytes_of_a_thread"]:
        return (
            f"a thread reads and writes {got['bytes_of_a_thread']} bytes, "
            f"{expected['bytes_of_a_thread']} are enough: the threads of a block share the work"
        )
    got, expected = got["y"], expected["y"]
    wrong = np.flatnonzero(~np.isclose(got, expected, rtol=1e-3, atol=1e-3))
    first = int(wrong[0])
    if np.isnan(got[first]):
        return f"y[{first}] is nan: not written, or made of what is not written"
    if first >= THREADS:
        block = first // THREADS
        return f"block {block} is the first that is wrong: it adds the sum of all before, no more"
    if np.allclose(got[1:THREADS], expected[: min(THREADS, x.size) - 1], rtol=1e-3, atol=1e-3):
        return "y[i] has x[i], too: the sum is inclusive"
    return f"y[{first}] is the first that is wrong: the sum of x[0] to x[{first}]"
