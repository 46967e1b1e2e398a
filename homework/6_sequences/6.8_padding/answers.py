import numpy as np


def cases(rng):
    def case(*lengths, more=(), dtype=np.float32, form="list", **options):
        sequences = [rng.integers(1, 50, (n, *more)).astype(dtype) for n in lengths]
        return {"sequences": sequences, "form": form, "options": options}

    yield "one sequence", case(3)
    yield "two of a length", case(2, 2)
    yield "a shorter one", case(3, 1)
    yield "the shorter one first", case(1, 3, 2)
    yield "the batch first", case(3, 1, batch_first=True)
    yield "another value", case(3, 1, padding_value=-7.0)
    yield "at the left", case(3, 1, batch_first=True, padding_side="left")
    yield "at the left, time first", case(1, 4, 2, padding_side="left", padding_value=9)
    yield "vectors", case(2, 3, more=(2,))
    yield "vectors, the batch first", case(2, 3, more=(2,), batch_first=True)
    yield "matrices at the left", case(2, 0, 3, more=(2, 2), padding_side="left")
    yield "an empty sequence", case(0, 2, batch_first=True)
    yield "an empty one at the left", case(0, 2, padding_side="left", padding_value=5)
    yield "integers", case(2, 1, dtype=np.int64, padding_value=3)
    yield "float64", case(2, 1, dtype=np.float64)
    yield "a generator", case(2, 3, form="generator")
    yield "rows of a tensor", case(2, 2, 2, form="tensor", batch_first=True)
    yield "no sequences", case()
    yield "a side that there is not", case(2, 1, padding_side="top")


def answer(sequences, form, options):
    if not sequences:
        raise RuntimeError("there are no sequences")
    side = options.get("padding_side", "right")
    if side not in ("left", "right"):
        raise RuntimeError(f"padding_side is 'left' or 'right', not {side!r}")
    longest, first = max(len(s) for s in sequences), sequences[0]
    value = options.get("padding_value", 0.0)
    shape = (len(sequences), longest, *first.shape[1:])
    padded = np.full(shape, value, first.dtype)
    places = []
    for i, sequence in enumerate(sequences):
        start = 0 if side == "right" else longest - len(sequence)
        places.append((i, slice(start, start + len(sequence))))
        padded[places[-1]] = sequence
    if not options.get("batch_first"):
        padded = padded.swapaxes(0, 1)
    weights = np.arange(1, padded.size + 1, dtype=first.dtype).reshape(padded.shape)
    if not options.get("batch_first"):
        weights = weights.swapaxes(0, 1)
    gradients = [weights[place] for place in places] if first.dtype.kind == "f" else []
    return {"padded": padded, "gradients": gradients, "sequences": sequences}


def why(got, expected, sequences, form, options):
    if not isinstance(got, dict):
        return "no sequences, or an unknown padding_side: the answer is RuntimeError"
    mine, right = got["padded"], expected["padded"]
    if mine.shape != right.shape:
        return "(longest, batch, *), with batch_first (batch, longest, *)"
    if not np.array_equal(mine, right):
        if np.array_equal(np.sort(mine, None), np.sort(right, None)):
            return (
                "every number is there, in another place: step t of sequence i, on the right side"
            )
        return "what a sequence has not is padding_value, and nothing else is"
    if any(not np.array_equal(a, b) for a, b in zip(got["sequences"], sequences, strict=True)):
        return "the result has memory of its own: writing into it changes no sequence"
    return "gradients flow back: each sequence gets those of its own places"
