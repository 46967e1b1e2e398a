import numpy as np

TOLERANCE = 1e-5


def cases(rng):
    def case(*shape, momentum=0.1, samples=False, dtype=np.float32, **others):
        x = (rng.standard_normal(shape) * 2 + 3).astype(dtype)
        mean = rng.standard_normal(shape[1]).astype(dtype)
        var = rng.random(shape[1]).astype(dtype) + dtype(0.5)
        given = {"mean": mean, "var": var, "x": x, "momentum": momentum, "samples": samples}
        return {**given, **others}

    yield "one channel", case(3, 1)
    yield "two channels", case(4, 2)
    yield "half of the way", case(4, 2, momentum=0.5)
    yield "all of the way", case(3, 2, momentum=1.0)
    yield "stands still", case(3, 2, momentum=0.0)
    yield "a line per channel", case(2, 3, 4)
    yield "an image per channel", case(2, 3, 4, 2)
    yield "each sample by itself", case(2, 3, 4, samples=True)
    yield "each image by itself", case(3, 2, 2, 3, samples=True, momentum=0.3)
    yield "no mean", case(4, 2, mean=None)
    yield "no variance", case(4, 2, var=None)
    yield "float64", case(5, 2, 3, dtype=np.float64)


def moved(running, batch, momentum):
    if running is None:
        return None
    return ((1 - momentum) * running.astype(np.float64) + momentum * batch).astype(running.dtype)


def statistics(x, samples, less=1):
    wide = x.astype(np.float64)
    dims = tuple(range(2, x.ndim)) if samples else (0, *range(2, x.ndim))
    mean, var = wide.mean(dims), wide.var(dims, ddof=less)
    return (mean.mean(0), var.mean(0)) if samples else (mean, var)


def answer(mean, var, x, momentum, samples):
    to_mean, to_var = statistics(x, samples)
    new = {"mean": moved(mean, to_mean, momentum), "var": moved(var, to_var, momentum)}
    return {**new, "x": x, "history": False}


def why(got, expected, mean, var, x, momentum, samples):
    def same(a, b):
        return a is not None and b is not None and np.allclose(a, b, 1e-4, 1e-4)

    if got["history"]:
        return "running statistics have no history: take them of x.detach()"
    to_mean = statistics(x, samples)[0]
    if momentum and (same(got["mean"], mean) or same(got["var"], var)):
        return "the tensors of `running` are written in place: r.copy_(...), not r = ..."
    if same(got["mean"], moved(mean, to_mean, 1 - momentum)):
        return "momentum is the share of the batch; 1 - momentum of the old value stays"
    if same(got["var"], moved(var, statistics(x, samples, 0)[1], momentum)):
        return "the running variance is the unbiased one, which divides by n - 1"
    if samples:
        return "with samples: the statistics of each sample over *, then their average over N"
    return "r = (1 - momentum) * r + momentum * s, s over all dims but the channels"
