import numpy as np

TOLERANCE = 1e-5


def cases(rng):
    def case(*lead, queries=2, keys=2, width=3, mask=None, causal=False, scale=0.5, size=1.0,
             dtype=np.float32):  # fmt: skip
        q = (rng.standard_normal((*lead, queries, width)) * size).astype(dtype)
        k = rng.standard_normal((*lead, keys, width)).astype(dtype)
        grad = rng.standard_normal((*lead, queries, keys)).astype(dtype)
        mask = None if mask is None else np.asarray(mask)
        return {"q": q, "k": k, "mask": mask, "causal": causal, "scale": scale, "grad": grad}

    none = -np.inf
    yield "one query", case(queries=1)
    yield "two queries", case()
    yield "more keys than queries", case(keys=4)
    yield "heads and a batch", case(2, 3, keys=3)
    yield "causal", case(queries=3, keys=3, causal=True)
    yield "causal, more keys", case(queries=2, keys=4, causal=True)
    yield "causal, more queries", case(queries=4, keys=2, causal=True)
    yield "a bool mask", case(mask=[[True, False], [True, True]])
    yield "a mask that is added", case(mask=np.array([[0, -2], [1, 0]], np.float32))
    yield "a mask of -inf", case(mask=np.array([[0, none], [0, 0]], np.float32))
    yield "a mask for all queries", case(2, queries=3, mask=[[True, False]])
    yield "a mask per image", case(2, 2, mask=np.array([[[[True, False]]], [[[True, True]]]]))
    yield "a query that sees no key", case(mask=[[False, False], [True, True]])
    yield "none by a mask of -inf", case(mask=np.array([[0, 1], [none, none]], np.float32))
    yield "large scores", case(size=1000.0)
    yield "float64", case(2, causal=True, dtype=np.float64)
    yield "no queries", case(queries=0)
    yield "many", case(2, 4, queries=12, keys=12, width=8, causal=True)


def shares(q, k, mask, causal, scale, dim=-1):
    scores = scale * (q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2))
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    most = scores.max(dim, keepdims=True, initial=-np.inf)
    raised = np.exp(scores - np.where(np.isfinite(most), most, 0))
    total = raised.sum(dim, keepdims=True)
    return raised / np.where(total == 0, 1, total)


def answer(q, k, mask, causal, scale, grad):
    p, passed = shares(q, k, mask, causal, scale), grad.astype(np.float64)
    to_scores = p * (passed - (p * passed).sum(-1, keepdims=True)) * scale
    to_q = to_scores @ k.astype(np.float64)
    to_k = to_scores.swapaxes(-1, -2) @ q.astype(np.float64)
    gradients = [to_q.astype(q.dtype), to_k.astype(q.dtype)]
    return {"shares": p.astype(q.dtype), "gradients": gradients, "mask": mask}


def why(got, expected, q, k, mask, causal, scale, grad):
    mine, right = got["shares"], expected["shares"]
    if mine.shape != right.shape:
        return "a row per query, a column per key: (*, L, S)"

    def same(values):
        return np.allclose(mine, values, 1e-3, 1e-4)

    if same(right):
        if any(g is not None and np.isnan(g).any() for g in got["gradients"]):
            return "blind rows: no row of only -inf may enter the softmax, or gradients are nan"
        return "the shares are right; gradients flow to q and k, and the mask is not changed"
    blind = right.sum(-1) == 0
    if mask is not None and (np.isnan(mine[blind]) | (mine[blind] != 0)).any():
        return "a query that sees no key has shares of 0"
    if mask is not None and mask.dtype == bool and same(shares(q, k, ~mask, causal, scale)):
        return "a bool mask is True where a key may be seen"
    if same(shares(q, k, mask, causal, scale, -2)):
        return "softmax goes along the keys: each query's row sums to 1"
    if same(shares(q, k, mask, causal, 1.0)):
        return "scores are scale * (q @ kᵀ)"
    if causal:
        return "causal: query i sees the keys j <= i, counted from the first of both"
    return "softmax(scale * (q @ kᵀ) + mask) along the keys"
