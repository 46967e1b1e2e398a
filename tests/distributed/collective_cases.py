"""The table of collectives: what each rank calls, and by NumPy what it must get.

A case is (call, fact). call(lib, rank, n, x) is written for both packages; `x` is the rank's
tensor of shape (2 n, 3). fact(xs, rank) takes all ranks' tensors as arrays.
"""

import numpy as np

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["int8", "uint8", "int32", "int64"]
DTYPES = [*FLOATS, *INTEGERS, "int16", "bool"]


def inputs(rank, n, dtype):
    """Small integers, whose sums and products are exact in every dtype."""
    x = (np.arange(6 * n).reshape(2 * n, 3) * 7 + 5 * rank) % 3
    return x % 2 if dtype == "bool" else x


REDUCERS = {
    "SUM": np.add, "PRODUCT": np.multiply, "MIN": np.minimum, "MAX": np.maximum,
    "BAND": np.bitwise_and, "BOR": np.bitwise_or, "BXOR": np.bitwise_xor,
}  # fmt: skip


def combined(xs, op):
    if op == "AVG":
        return combined(xs, "SUM") / len(xs)
    total = xs[0]
    for x in xs[1:]:
        total = REDUCERS[op](total, x)
    return total


def all_reduce(op):
    def call(lib, rank, n, x):
        lib.distributed.all_reduce(x, getattr(lib.distributed.ReduceOp, op))
        return [x]

    return call, lambda xs, rank: [combined(xs, op)]


def reduce(op, root):
    def call(lib, rank, n, x):
        lib.distributed.reduce(x, root % n, getattr(lib.distributed.ReduceOp, op))
        return [x] if rank == root % n else []

    return call, lambda xs, rank: [combined(xs, op)] if rank == root % len(xs) else []


def reduce_scatter(op, single):
    def call(lib, rank, n, x):
        dist, out, by = lib.distributed, x.new_zeros(2, 3), getattr(lib.distributed.ReduceOp, op)
        if single:
            dist.reduce_scatter_tensor(out, x, by)
        else:
            dist.reduce_scatter(out, list(x.chunk(n)), by)
        return [out, x]

    return call, lambda xs, rank: [combined(xs, op)[2 * rank : 2 * rank + 2], xs[rank]]


def broadcast(root):
    def call(lib, rank, n, x):
        lib.distributed.broadcast(x, root % n)
        return [x]

    return call, lambda xs, rank: [xs[root % len(xs)]]


def all_gather(lib, rank, n, x):
    out = [lib.zeros_like(x) for _ in range(n)]
    lib.distributed.all_gather(out, x)
    return out


def all_gather_into_tensor(lib, rank, n, x):
    out = x.new_zeros(2 * n * n, 3)
    lib.distributed.all_gather_into_tensor(out, x)
    return [out]


def gather(lib, rank, n, x):
    out = [lib.zeros_like(x) for _ in range(n)] if rank == n - 1 else None
    lib.distributed.gather(x, out, n - 1)
    return out or []


def scatter(lib, rank, n, x):
    out = x.new_zeros(2, 3)
    lib.distributed.scatter(out, list(x.chunk(n)) if rank == 0 else None, 0)
    return [out]


def all_to_all(lib, rank, n, x):
    out = [x.new_zeros(2, 3) for _ in range(n)]
    lib.distributed.all_to_all(out, list(x.chunk(n)))
    return out


def all_to_all_single(lib, rank, n, x):
    out = lib.zeros_like(x)
    lib.distributed.all_to_all_single(out, x)
    return [out]


def uneven(lib, rank, n, x):
    """Rank r sends r + 1 rows to the first and the rest, one each, to the others."""
    sizes = [rank + 1, *[1] * (n - 1)]
    sends = x[: sum(sizes)].clone()
    receives = [s + 1 for s in range(n)] if rank == 0 else [1] * n
    out = x.new_zeros(sum(receives), 3)
    lib.distributed.all_to_all_single(out, sends, receives, sizes)
    return [out]


def uneven_fact(xs, rank):
    starts = [0 if rank == 0 else s + rank for s in range(len(xs))]
    counts = [s + 1 if rank == 0 else 1 for s in range(len(xs))]
    return [np.concatenate([x[a : a + c] for x, a, c in zip(xs, starts, counts, strict=True)])]


def around(lib, rank, n, x):
    """Everyone sends to the right, and receives from the left."""
    dist, out = lib.distributed, lib.zeros_like(x)
    if n == 1:
        return [x]
    ops = [dist.P2POp(dist.isend, x, (rank + 1) % n), dist.P2POp(dist.irecv, out, (rank - 1) % n)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    return [out]


def by_tag(lib, rank, n, x):
    """Rank 0 sends two tensors, which rank 1 takes the other way round."""
    dist = lib.distributed
    if rank == 0 and n > 1:
        works = [dist.isend(x[i].clone(), 1, tag=i) for i in range(2)]
        [work.wait() for work in works]
    if rank != 1:
        return []
    out = [lib.zeros_like(x[0]) for _ in range(2)]
    assert dist.recv(out[1], 0, tag=1) == 0 and dist.recv(out[0], 0, tag=0) == 0
    return out


CASES = {
    **{f"broadcast {root}": broadcast(root) for root in range(4)},
    **{f"reduce {op} {root}": reduce(op, root) for op in ("SUM", "MAX") for root in range(3)},
    **{f"all_reduce {op}": all_reduce(op) for op in (*REDUCERS, "AVG")},
    **{f"reduce_scatter {op}": reduce_scatter(op, False) for op in ("SUM", "MIN", "AVG")},
    "reduce_scatter_tensor SUM": reduce_scatter("SUM", True),
    "all_gather": (all_gather, lambda xs, rank: xs),
    "all_gather_into_tensor": (all_gather_into_tensor, lambda xs, rank: [np.concatenate(xs)]),
    "gather": (gather, lambda xs, rank: xs if rank == len(xs) - 1 else []),
    "scatter": (scatter, lambda xs, rank: [xs[0][2 * rank : 2 * rank + 2]]),
    "all_to_all": (all_to_all, lambda xs, rank: [x[2 * rank : 2 * rank + 2] for x in xs]),
    "all_to_all_single": (
        all_to_all_single,
        lambda xs, rank: [np.concatenate([x[2 * rank : 2 * rank + 2] for x in xs])],
    ),
    "uneven": (uneven, uneven_fact),
    "around": (around, lambda xs, rank: [xs[rank - 1]]),
    "by_tag": (by_tag, lambda xs, rank: list(xs[0][:2]) if rank == 1 else []),
}


def fits(name, dtype):
    """Whether a case is asked of a dtype: ReduceOps are not defined for all."""
    if any(op in name for op in ("BAND", "BOR", "BXOR")):
        return dtype not in FLOATS
    return "AVG" not in name or dtype in FLOATS


def run(lib, rank, n, dtypes=DTYPES, device="cpu", fits=fits):
    """{(case, dtype): lists} of this rank."""
    found = {}
    for name, (call, _) in CASES.items():
        for dtype in dtypes:
            if fits(name, dtype):
                x = lib.tensor(inputs(rank, n, dtype).tolist()).to(device, getattr(lib, dtype))
                found[name, dtype] = [t.double().tolist() for t in call(lib, rank, n, x)]
    return found


def check_facts(results, rank, n):
    """Asserts that what a rank of `n` has found, by (name, dtype), is what the cases say."""
    for (name, dtype), result in results.items():
        xs = [inputs(r, n, dtype).astype("bool" if dtype == "bool" else "i8") for r in range(n)]
        facts = CASES[name][1](xs, rank)
        assert len(facts) == len(result), (name, dtype)
        for fact, got in zip(facts, result, strict=True):
            if "AVG" in name:
                np.testing.assert_allclose(got, fact, rtol=1e-2, err_msg=f"{name} {dtype}")
            else:
                assert got == fact.astype("f8").tolist(), (name, dtype, rank)
