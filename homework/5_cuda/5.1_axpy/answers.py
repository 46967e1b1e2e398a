import numpy as np

TOLERANCE = 1e-6


def cases(rng):
    def case(n, blocks, threads):
        x, y = rng.standard_normal((2, n)).astype(np.float32)
        return {"a": 1.5, "x": x, "y": y, "blocks": blocks, "threads": threads}

    yield "a thread, a number", case(1, 1, 1)
    yield "a thread for each of a block", case(4, 1, 4)
    yield "more threads than numbers", case(5, 1, 32)
    yield "two blocks", case(8, 2, 4)
    yield "two turns of one block", case(8, 1, 4)
    yield "two turns of two blocks", case(16, 2, 4)
    yield "a turn that is not full", case(13, 2, 4)
    yield "no numbers", case(0, 2, 32)
    yield "a thread does all", case(9, 1, 1)
    for _ in range(3):
        n, blocks, threads = (int(rng.integers(1, most)) for most in (3000, 9, 129))
        yield "any", case(n, blocks, threads)


def answer(a, x, y, blocks, threads):
    turns = -(-x.size // (blocks * threads))
    found = (y + np.float64(a) * x).astype(np.float32)
    return {"y": found, "bytes_of_a_thread": 24 * turns}


def why(got, expected, a, x, y, blocks, threads):
    if got["bytes_of_a_thread"] > expected["bytes_of_a_thread"]:
        return (
            f"a thread reads and writes {got['bytes_of_a_thread']} bytes, "
            f"{expected['bytes_of_a_thread']} are enough: the threads of a block share the work"
        )
    got, expected = got["y"], expected["y"]
    wrong = ~np.isclose(got, expected, rtol=1e-4, atol=1e-4)
    first, all_threads = int(np.flatnonzero(wrong)[0]), blocks * threads
    if np.array_equal(got[wrong], y[wrong]):
        text = f"y[{first}] is as it was: no thread has come to it"
        return f"{text}; the grid has {all_threads} threads for {x.size}" if first else text
    if np.allclose(got[wrong], y[wrong] + 2 * a * x[wrong], rtol=1e-3, atol=1e-3):
        return f"a x[{first}] is added twice: two threads come to it, or one comes twice"
    if np.allclose(got, a * x, rtol=1e-3, atol=1e-3):
        return "y keeps what it held: a x is added to it"
    return ""
