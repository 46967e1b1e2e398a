"""max_unpool, lp_pool, affine_grid, grid_sample and the layers of padding, against PyTorch."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest
from helpers import all_failures, check

import tiny_torch

pytest.importorskip("torch")
import torch as theirs

pytestmark = pytest.mark.torch
BOTH = (tiny_torch, theirs)


def draw(shape, seed=0, dtype="float32"):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def compared(where, function, *arrays, ulps=64, strides=True):
    """function(package, *leaves): its value, and the gradients of a weighted sum of it."""

    def results(package):
        leaves = [package.from_numpy(a.copy()).requires_grad_() for a in arrays]
        y = function(package, *leaves)
        weights = np.cos(np.arange(y.numel(), dtype="float64")).reshape(tuple(y.shape))
        weights = package.from_numpy(weights).to(y.dtype)
        return [y, *package.autograd.grad(y, leaves, weights, allow_unused=True)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(where, *[lambda p=p: results(p) for p in BOTH], ulps=ulps, strides=strides)


@pytest.mark.parametrize("dims, shape, settings, size", [
    (1, (2, 3, 9), {"kernel_size": 2}, None), (1, (3, 9), {"kernel_size": 2}, (9,)),
    (2, (2, 3, 8, 9), {"kernel_size": 2}, None), (2, (3, 8, 9), {"kernel_size": 2}, (8, 9)),
    (2, (2, 3, 8, 9), {"kernel_size": 3, "stride": 2, "padding": 1}, (2, 3, 8, 9)),
    (3, (2, 3, 4, 5, 6), {"kernel_size": 2}, (4, 5, 6)),
    (3, (3, 4, 6, 6), {"kernel_size": (2, 3, 2)}, None),
])  # fmt: skip
def test_max_unpool(dims, shape, settings, size):
    def there_and_back(package, x):
        F = package.nn.functional
        pooled = getattr(F, f"max_pool{dims}d")(x, return_indices=True, **settings)
        return getattr(F, f"max_unpool{dims}d")(*pooled, output_size=size, **settings)

    compared(f"{shape} {settings}", there_and_back, draw(shape))


@pytest.mark.parametrize("norm", [1, 2, 3.5, float("inf"), -float("inf")])
def test_lp_pool(norm):
    with all_failures() as each:
        for more in ({}, {"stride": 1}, {"ceil_mode": True}):
            for name, shape in (
                ("lp_pool1d", (2, 3, 9)),
                ("lp_pool2d", (2, 3, 7, 9)),
                ("lp_pool3d", (2, 3, 4, 5, 3)),
                ("lp_pool3d", (3, 4, 5, 3)),
            ):
                with each:
                    compared(
                        f"{name} {norm} {more}",
                        lambda p, x, n=name, m=more: getattr(p.nn.functional, n)(x, norm, 2, **m),
                        np.abs(draw(shape)),
                    )


@pytest.mark.parametrize("corners", [True, False, None])
def test_affine_grid(corners):
    with all_failures() as each:
        for shape, size in [((2, 2, 3), (2, 3, 4, 5)), ((2, 2, 3), (2, 3, 1, 5)),
                            ((2, 3, 4), (2, 3, 4, 5, 2))]:  # fmt: skip
            with each:
                compared(
                    f"{size}",
                    lambda p, x, s=size: p.nn.functional.affine_grid(x, s, corners),
                    draw(shape),
                    strides=False,
                )


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample(mode, padding):
    shapes = [((2, 3, 5, 6), (2, 4, 7, 2)), ((1, 2, 1, 6), (1, 4, 7, 2)),
              ((2, 3, 4, 5, 6), (2, 3, 2, 5, 3))]  # fmt: skip
    with all_failures() as each:
        for (shape, grid), corners, dtype in product(
            shapes, (True, False, None), ("float32", "float64")
        ):
            with each:
                compared(
                    f"{shape} {corners} {dtype}",
                    lambda p, x, g, c=corners: p.nn.functional.grid_sample(x, g, mode, padding, c),
                    draw(shape, 0, dtype),
                    draw(grid, 1, dtype),
                    ulps=512,
                    strides=False,
                )


def test_grid_sample_far_away_and_exactly_on_elements():
    grid = np.array([[[[-1, -1], [1, 1], [0, 0], [5, 5], [-1e9, 1e9], [1, -3]]]], dtype="float32")
    with all_failures() as each:
        for mode, padding in product(("bilinear", "nearest"), ("zeros", "border", "reflection")):
            with each:
                call = lambda p, x, m=mode, q=padding: p.nn.functional.grid_sample(  # noqa: E731
                    x, p.from_numpy(grid), m, q, True
                )
                compared(f"{mode} {padding}", call, draw((1, 2, 3, 3)), strides=False)


@pytest.mark.parametrize("dims, mode", [(2, "bilinear"), (2, "nearest"), (2, "bicubic"),
                                        (3, "bilinear"), (3, "nearest")])  # fmt: skip
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grid_sample_at_no_number(dims, mode, padding):
    """Of bilinear images the value alone: for the gradient PyTorch reads memory that is not its."""
    x = draw((1, 2, 2, 3, 4) if dims == 3 else (1, 2, 3, 4))
    with all_failures() as each:
        for bad, at, corners in product((np.nan, np.inf, -np.inf), range(dims), (False, True)):
            grid = np.full((1, *(1,) * (dims - 1), 2, dims), 0.3, "float32")
            grid[..., 0, at] = bad

            def sampled(p, x, g=None, grid=grid, corners=corners):
                g = p.from_numpy(grid) if g is None else g
                return p.nn.functional.grid_sample(x, g, mode, padding, corners)

            with each:
                if dims == 2 and mode == "bilinear":
                    values = [sampled(p, p.from_numpy(x)) for p in BOTH]
                    check(f"{bad} {at} {corners}", *[lambda v=v: v for v in values], ulps=64)
                else:
                    compared(f"{bad} {at} {corners}", sampled, x, grid)


def test_gradient_of_grid_sample_at_no_number():
    x = tiny_torch.ones(1, 1, 3, 3, requires_grad=True)
    grid = tiny_torch.tensor([[[[np.nan, 0.0]]]], requires_grad=True)
    y = tiny_torch.nn.functional.grid_sample(x, grid, padding_mode="border", align_corners=True)
    y.sum().backward()
    assert x.grad[0, 0].tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]
    assert grid.grad[0, 0, 0].tolist() == [0, 0]


@pytest.mark.parametrize("function", ["max_unpool2d", "lp_pool2d", "grid_sample"])
def test_gradcheck_twice(function):
    F = tiny_torch.nn.functional
    x = tiny_torch.from_numpy(np.abs(draw((1, 2, 4, 4), 3, "float64"))).requires_grad_()
    grid = tiny_torch.from_numpy(draw((1, 3, 2, 2), 4, "float64") / 2).requires_grad_()
    calls = {
        "max_unpool2d": lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
        "lp_pool2d": lambda x: F.lp_pool2d(x, 2, 2),
        "grid_sample": lambda x: F.grid_sample(x, grid, align_corners=False),
    }
    assert tiny_torch.autograd.gradcheck(calls[function], x)
    assert tiny_torch.autograd.gradgradcheck(calls[function], x)


PADS = [f"{kind}{dims}d" for kind in ("CircularPad", "ConstantPad", "ReflectionPad",
        "ReplicationPad", "ZeroPad") for dims in (1, 2, 3)]  # fmt: skip


@pytest.mark.parametrize("name", PADS)
def test_layers_of_padding(name):
    dims, value = int(name[-2]), (2.5,) if "Constant" in name else ()
    with all_failures() as each:
        for padding in (1, (1, 0, 2, 1, 0, 1)[: 2 * dims], [1] * (2 * dims), 0):
            ours, other = (getattr(p.nn, name)(padding, *value) for p in BOTH)
            assert repr(ours) == repr(other)
            assert ours.padding == other.padding
            for shape in ((2, 3, 4, 3, 5)[: 2 + dims], (3, 4, 3, 5)[: 1 + dims], (2,)):
                with each:
                    x = draw(shape)
                    pairs = ((ours, tiny_torch.from_numpy(x)), (other, theirs.from_numpy(x)))
                    calls = [lambda m=m, x=x: m(x) for m, x in pairs]
                    check(f"{ours} {shape}", *calls, strides=False)


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
@pytest.mark.parametrize("last", [False, True])
def test_constant_padding(last, dtype):
    """Values, strides, names of nodes and gradients, of what is put on and what is cut off."""
    with all_failures() as each:
        for shape, pad in product(
            ((2, 3, 4, 5), (2, 1, 3, 3), (0, 3, 4, 4)),
            ((), (1, 0), (-1, 2), (-1, -1), (-2, 1, 0, -1), (1, 2, 0, 0, 3, 1), (-4, -4)),
        ):
            results = []
            for package in BOTH:
                x = package.arange(float(np.prod(shape))).reshape(shape)
                x = x.to(getattr(package, dtype))
                if last:
                    x = x.contiguous(memory_format=package.channels_last)
                if x.is_floating_point():
                    x.requires_grad_()
                try:
                    y = package.nn.functional.pad(x, pad, value=2.5)
                except RuntimeError:
                    results.append("RuntimeError")
                    continue
                facts = [tuple(y.shape), y.stride(), y.tolist(), y.grad_fn and y.grad_fn.name()]
                if y.requires_grad:
                    facts.append(package.autograd.grad(y.square().sum(), x)[0].tolist())
                results.append(facts)
            with each:
                assert results[0] == results[1], (shape, pad)


MODULES = [
    lambda nn: nn.MaxUnpool1d(2), lambda nn: nn.MaxUnpool2d((2, 3), 2, 1),
    lambda nn: nn.MaxUnpool3d(2, (1, 2, 3)), lambda nn: nn.LPPool1d(2, 3),
    lambda nn: nn.LPPool2d(1.5, (3, 2), stride=2, ceil_mode=True),
    lambda nn: nn.LPPool3d(2, (2, 3, 2), 1),
]  # fmt: skip


@pytest.mark.parametrize("build", MODULES)
def test_modules(build):
    ours, other = (build(package.nn) for package in BOTH)
    assert repr(ours) == repr(other)
    own = {k: v for k, v in vars(other).items() if not k.startswith("_")}
    assert {k: v for k, v in vars(ours).items() if not k.startswith("_")} == own
    if hasattr(ours, "norm_type"):
        x = np.abs(draw((2, 3, 7, 8, 4)[: 2 + int(type(ours).__name__[-2])]))
        pairs = ((ours, tiny_torch.from_numpy(x)), (other, theirs.from_numpy(x)))
        check(repr(ours), *[lambda m=m, x=x: m(x) for m, x in pairs], ulps=64)


def test_unpooling_layers():
    for package in BOTH:
        pool = package.nn.MaxPool2d(2, return_indices=True)
        x = package.arange(30.0).reshape(1, 1, 5, 6)
        y = package.nn.MaxUnpool2d(2)(*pool(x), output_size=x.size())
        assert y.shape == x.shape
        assert y.sum().item() == pool(x)[0].sum().item()


# x (2, 3, 4, 4), i its positions of pooling by 2 of (2, 3, 8, 8), g a grid (2, 5, 5, 2)
ERRORS = [
    "max_unpool2d(x, i, 2, output_size=(20, 20))", "max_unpool2d(x, i, 2, output_size=(8,))",
    "max_unpool2d(x, i.int(), 2)", "max_unpool2d(x, i[:1], 2)", "max_unpool2d(x, i + 99, 2)",
    "max_unpool2d(x, i - 99, 2)", "max_unpool2d(x[0, 0], i[0, 0], 2)", "max_unpool2d(x, i, 2, 0)",
    "max_unpool2d(x[:, :, :0], i[:, :, :0], 2)", "max_unpool2d(x[:0], i[:0], 2)",
    "max_unpool3d(x[None], i[None], 2)", "max_unpool3d(x, i, 2)",
    "lp_pool2d(x, 2, 9)", "lp_pool2d(x, 2, 0)", "lp_pool1d(x, 2, 2)",
    "lp_pool3d(x, 2, 9)", "lp_pool3d(x[0, 0], 2, 2)",
    "grid_sample(x, g)", "grid_sample(x, g, 'foo')", "grid_sample(x, g, 'nearest', 'foo')",
    "grid_sample(x[:1], g)", "grid_sample(x, g[..., :1])", "grid_sample(x, g[0])",
    "grid_sample(x.double(), g)", "grid_sample(x[:, :, :0], g)", "grid_sample(x[0], g[0])",
    "grid_sample(x.long(), g.long())", "grid_sample(x[None], g[None], 'bicubic')",
    "affine_grid(x, (1, 1, 2, 2))", "affine_grid(x[0, :2, :2, :3], (1, 1, 2))",
    "affine_grid(x[0, :2, :2, :3], (2, 1, 0, 2))", "affine_grid(x[0, :2, :2, :3], (2, 1, 3, 2))",
    "affine_grid(x.long()[0, :2, :2, :3], (2, 1, 3, 2))",
]  # fmt: skip


@pytest.mark.parametrize("call", ERRORS)
def test_errors(call):
    def result(package):
        F = package.nn.functional
        x, i = F.max_pool2d(package.from_numpy(draw((2, 3, 8, 8))), 2, return_indices=True)
        g = package.from_numpy(draw((2, 5, 5, 2), 1))
        return eval("F." + call, {"x": x, "i": i, "g": g, "F": F})

    check(call, *[lambda p=p: result(p) for p in BOTH], strides=False, ulps=128)
