"""Convolutions against their definition where numbers are not finite: no padding meets them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helpers import all_failures

import tiny_torch


def draw(shape, seed):
    return np.random.default_rng(seed).standard_normal(shape)


def leaf(array, last):
    """Channels come last in memory, or the elements are in order."""
    x = tiny_torch.from_numpy(array.copy())
    if last and x.ndim > 3:
        form = tiny_torch.channels_last if x.ndim == 4 else tiny_torch.channels_last_3d
        x = x.contiguous(memory_format=form)
    return x.requires_grad_()


def sums_of_products(x, w, y, result, stride, padding, dilation, groups):
    """One of x, w and y from the others: all products of the definition, tap by tap."""
    x, w, y = (a * (0 if name == result else 1.0) for name, a in zip("xwy", (x, w, y), strict=True))
    out = {"x": x, "w": w, "y": y}[result]
    settings = list(zip(x.shape[2:], y.shape[2:], stride, padding, dilation, strict=True))
    for tap in np.ndindex(*w.shape[2:]):
        pixels = [  # of y, of which this tap is inside of x
            [p for p in range(m) if 0 <= p * s - pad + t * d < n]
            for (n, m, s, pad, d), t in zip(settings, tap, strict=True)
        ]
        for p in itertools.product(*pixels):
            q = tuple(
                i * s - pad + t * d
                for i, (_, _, s, pad, d), t in zip(p, settings, tap, strict=True)
            )
            for o in range(len(w)):
                c = o // (len(w) // groups) * w.shape[1] + np.arange(w.shape[1])
                at_x, at_w, at_y = (
                    (slice(None), c, *q),
                    (o, slice(None), *tap),
                    (slice(None), o, *p),
                )
                if result == "y":
                    out[at_y] += (x[at_x] * w[at_w]).sum(1)
                if result == "x":
                    out[at_x] += y[at_y][:, None] * w[at_w]
                if result == "w":
                    out[at_w] += (x[at_x] * y[at_y][:, None]).sum(0)
    return out


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize(
    "x, w, settings",
    [
        ((2, 3, 9), (4, 3, 3), {"padding": (2,)}),
        ((1, 2, 7, 9), (20, 2, 3, 3), {"padding": (1, 1)}),
        ((1, 20, 6, 5), (3, 20, 3, 2), {"padding": (1, 1), "stride": (2, 1), "dilation": (2, 1)}),
        ((2, 8, 6, 6), (8, 4, 3, 3), {"padding": (2, 1), "groups": 2}),
        ((1, 32, 5, 5), (32, 1, 3, 3), {"padding": (1, 1), "groups": 32}),
        ((1, 2, 4, 3, 5), (3, 2, 2, 3, 3), {"padding": (1, 1, 2), "stride": (1, 2, 2)}),
    ],
)
def test_what_is_not_finite_meets_no_padding(x, w, settings, bad, last):
    """Each of input, weight and gradient of the result in turn has one such number."""
    dims = len(x) - 2
    settings = {"stride": (1,) * dims, "dilation": (1,) * dims, "groups": 1, **settings}
    arrays = {"x": draw(x, 0), "w": draw(w, 1)}
    conv = getattr(tiny_torch, f"conv{dims}d")
    shape = conv(*map(tiny_torch.from_numpy, arrays.values()), **settings).shape
    arrays["y"] = draw(tuple(shape), 2)
    with all_failures() as each:
        for name in arrays:
            given = {n: a.copy() for n, a in arrays.items()}
            given[name].reshape(-1)[given[name].size // 3] = bad
            leaves = {n: leaf(a, last) for n, a in given.items()}
            y = conv(leaves["x"], leaves["w"], **settings)
            to_x, to_w = tiny_torch.autograd.grad(y, (leaves["x"], leaves["w"]), leaves["y"])
            for result, got in {"x": to_x, "w": to_w, "y": y}.items():
                if result != name:
                    want = sums_of_products(*given.values(), result, **settings)
                    with each:
                        np.testing.assert_allclose(got.detach().numpy(), want, 1e-9, 1e-9)
