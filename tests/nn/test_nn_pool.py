"""Pooling against PyTorch: values, positions, strides, gradients, modules, errors."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from helpers import all_failures, check, compare

import tiny_torch

pytest.importorskip("torch")
import torch as theirs

pytestmark = pytest.mark.torch
BOTH = (tiny_torch, theirs)


def draw(shape, seed=0, dtype="float32"):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def laid_out(package, array, layout):
    """A leaf of these numbers: contiguous, channels last, turned, or every second of a bigger."""
    x = package.from_numpy(array.copy())
    if layout == "last" and x.ndim in (4, 5):
        form = package.channels_last if x.ndim == 4 else package.channels_last_3d
        x = x.contiguous(memory_format=form)
    if layout == "strided":
        x = package.stack([x, x], -1)[..., 0]
    if layout == "turned":
        x = x.transpose(-1, -2).contiguous().transpose(-1, -2)
    return x.requires_grad_()


def results(package, function, array, layout, settings):
    """What the function answers, and the gradient of a weighted sum of the first of it."""
    x = laid_out(package, array, layout)
    y = getattr(package.nn.functional, function)(x, **settings)
    first = y[0] if isinstance(y, tuple) else y
    weights = np.cos(np.arange(first.numel(), dtype="float64")).reshape(tuple(first.shape))
    grad = package.from_numpy(weights).to(first.dtype)
    return [y, *package.autograd.grad(first, x, grad)]


def compared(function, array, layout="plain", strides=True, ulps=64, **settings):
    check(
        f"{function} {array.shape} {layout} {settings}",
        lambda: results(tiny_torch, function, array, layout, settings),
        lambda: results(theirs, function, array, layout, settings),
        ulps=ulps,
        strides=strides,
    )


WINDOWS = {
    1: [{"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1}, {"kernel_size": 9},
        {"kernel_size": 4, "stride": 3, "padding": 2, "ceil_mode": True},
        {"kernel_size": 2, "stride": 3, "ceil_mode": True}, {"kernel_size": 3, "stride": 1}],
    2: [{"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1}, {"kernel_size": 1},
        {"kernel_size": (3, 2), "stride": (2, 1), "padding": (1, 0)}, {"kernel_size": (2, 4)},
        {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True}, {"kernel_size": 3},
        {"kernel_size": 2, "stride": 3}, {"kernel_size": 5, "stride": 1, "padding": 2},
        {"kernel_size": 2, "stride": 2, "padding": 1, "ceil_mode": True}],
    3: [{"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1},
        {"kernel_size": (1, 2, 3), "stride": (1, 2, 1), "padding": (0, 1, 1), "ceil_mode": True}],
}  # fmt: skip
SHAPES = {
    1: [(2, 3, 9), (3, 40), (0, 3, 9)],
    2: [(2, 3, 8, 9), (3, 9, 40), (2, 20, 6, 8), (0, 2, 6, 8), (1, 70, 6, 6)],
    3: [(2, 3, 4, 5, 6), (3, 5, 4, 20)],
}


@pytest.mark.parametrize("layout", ["plain", "last", "strided", "turned"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_max_pool(dims, layout):
    with all_failures() as each:
        for seed, shape in enumerate(SHAPES[dims]):
            for settings in WINDOWS[dims]:
                for more in ({}, {"return_indices": True}, {"return_indices": True, "dilation": 2}):
                    with each:
                        if dims == 3 and layout == "last" and len(shape) == 4:
                            continue  # which PyTorch refuses
                        x = draw(shape, seed).round(1)  # with equal elements
                        compared(f"max_pool{dims}d", x, layout, shape[0] != 0, **settings, **more)


@pytest.mark.parametrize("layout", ["plain", "last", "strided", "turned"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_avg_pool(dims, layout):
    with all_failures() as each:
        for seed, shape in enumerate(SHAPES[dims]):
            for settings in WINDOWS[dims]:
                options = [{}, {"count_include_pad": False}]
                options += [{"divisor_override": 5}] if dims > 1 else []
                for more in options:
                    with each:
                        x = draw(shape, seed)
                        compared(f"avg_pool{dims}d", x, layout, shape[0] != 0, **settings, **more)


SIZES = {1: [1, 3, 9, 20], 2: [1, 3, (5, 1), (None, 4), (20, 11), (1, 1)], 3: [1, 2, (3, None, 1)]}


@pytest.mark.parametrize("layout", ["plain", "last", "strided", "turned"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_adaptive(dims, layout):
    with all_failures() as each:
        for seed, shape in enumerate(SHAPES[dims]):
            for size in SIZES[dims]:
                strides = shape[0] > 1 and size not in (1, (1, 1))
                with each:
                    x = draw(shape, seed)
                    compared(f"adaptive_avg_pool{dims}d", x, layout, strides, output_size=size)
                with each:
                    settings = {"output_size": size, "return_indices": True}
                    compared(f"adaptive_max_pool{dims}d", x, layout, strides, **settings)


def test_large_windows():
    """Positions of more than a byte, and sums of long rows."""
    with all_failures() as each:
        for layout in ("plain", "last"):
            with each:
                x = draw((2, 3, 40, 41))
                compared("max_pool2d", x, layout, kernel_size=20, return_indices=True)
                compared("adaptive_max_pool2d", x, layout, False, output_size=1)
                compared("adaptive_avg_pool2d", x, layout, False, output_size=1)
                compared("avg_pool2d", x, layout, kernel_size=(3, 40))
        compared("max_pool1d", draw((3, 2, 700)), kernel_size=700)
        compared("avg_pool1d", draw((3, 2, 700)), kernel_size=300, stride=100)


def test_nan_and_infinity():
    x = draw((2, 3, 8, 40)).round(0)
    x[0, 1, 2:5, 3:6], x[1, 0, 5, 39], x[1, 1] = np.nan, np.inf, -np.inf
    with all_failures() as each:
        for layout in ("plain", "last"):
            for settings in WINDOWS[2]:
                with each:
                    compared("max_pool2d", x, layout, return_indices=True, **settings)
                with each:
                    compared("avg_pool2d", x, layout, **settings)
            with each:
                compared("adaptive_max_pool2d", x, layout, output_size=3, return_indices=True)


def test_one_window_of_any_stride(torch):
    x = torch.arange(30.0).view(5, 6).t()
    assert torch.nn.functional.max_pool1d(x, 5, 2**62).tolist() == x.amax(1, True).tolist()


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int64", "int32", "uint8"])
@pytest.mark.parametrize("function", ["max_pool1d", "max_pool2d", "avg_pool1d", "avg_pool2d",
                                      "adaptive_avg_pool2d", "adaptive_max_pool2d"])  # fmt: skip
def test_dtypes(function, dtype):
    x = (draw((2, 3, 8, 9)) * 20).round(0).__abs__()
    if function.endswith("1d"):
        x = x[0]
    settings = {"output_size": 3} if "adaptive" in function else {"kernel_size": 3}

    def pooled(package):
        y = package.from_numpy(x).to(getattr(package, dtype))
        return getattr(package.nn.functional, function)(y, **settings)

    check(f"{function} {dtype}", *[lambda p=p: pooled(p) for p in BOTH], ulps=2)


@pytest.mark.parametrize(
    "function, shape, settings",
    [
        ("max_pool1d", (2, 2, 7), {"kernel_size": 3, "stride": 2}),
        ("max_pool2d", (1, 2, 4, 4), {"kernel_size": 2}),
        ("max_pool2d", (2, 5, 5), {"kernel_size": 3, "stride": 2, "padding": 1}),
        ("max_pool3d", (1, 1, 3, 4, 4), {"kernel_size": 2, "ceil_mode": True}),
        ("adaptive_max_pool2d", (1, 2, 5, 4), {"output_size": (2, 3)}),
        ("avg_pool1d", (2, 2, 7), {"kernel_size": 3, "stride": 2, "count_include_pad": False}),
        ("avg_pool2d", (1, 2, 5, 4), {"kernel_size": 3, "padding": 1}),
        ("avg_pool3d", (1, 1, 3, 4, 4), {"kernel_size": 2, "divisor_override": 3}),
        ("adaptive_avg_pool2d", (1, 2, 5, 4), {"output_size": (2, 3)}),
        ("adaptive_avg_pool2d", (1, 2, 5, 4), {"output_size": 1}),
    ],
)
@pytest.mark.parametrize("layout", ["plain", "last"])
def test_gradcheck_twice(function, shape, settings, layout):
    x = laid_out(tiny_torch, draw(shape, 3, "float64"), layout)
    call = lambda x: getattr(tiny_torch.nn.functional, function)(x, **settings)  # noqa: E731
    assert tiny_torch.autograd.gradcheck(call, x)
    assert tiny_torch.autograd.gradgradcheck(call, x)


def test_same_bits_for_any_number_of_threads():
    form = tiny_torch.channels_last
    threads, seen = tiny_torch.get_num_threads(), []
    try:
        for number in (1, 2, 3):
            tiny_torch.set_num_threads(number)
            seen.append([])
            for x in (draw((9, 16, 20, 20)), draw((2, 90, 30, 30))):
                plain = tiny_torch.from_numpy(x)
                for leaf in (plain, plain.contiguous(memory_format=form)):
                    leaf.requires_grad_()
                    for pool in (tiny_torch.nn.MaxPool2d(3, 2, 1), tiny_torch.nn.AvgPool2d(3, 1)):
                        y = pool(leaf)
                        (grad,) = tiny_torch.autograd.grad(y.square().sum(), leaf)
                        seen[-1] += [t.numpy(force=True).tobytes() for t in (y, grad)]
    finally:
        tiny_torch.set_num_threads(threads)
    assert seen[0] == seen[1] == seen[2]


def test_layout_changes_no_bit():
    x = draw((2, 19, 40, 41))
    with all_failures() as each:
        for name, setting in (("avg_pool2d", 3), ("avg_pool2d", 20), ("adaptive_avg_pool2d", 1),
                              ("adaptive_avg_pool2d", 2), ("avg_pool2d", (3, 40))):  # fmt: skip
            pool = getattr(tiny_torch.nn.functional, name)
            values = [pool(laid_out(tiny_torch, x, layout), setting)
                      for layout in ("plain", "last", "strided", "turned")]  # fmt: skip
            with each:
                assert all((v == values[0]).all() for v in values[1:]), (name, setting)


@pytest.mark.parametrize("channels", [1, 5, 16, 21, 70])
def test_layout_changes_no_bit_of_a_gradient(channels):
    """Whatever vectors channels or pixels come to, and whichever of input and gradient they are."""
    calls = {
        "max_pool2d 2": lambda F, x: F.max_pool2d(x, 2),
        "max_pool2d 3": lambda F, x: F.max_pool2d(x, 3, 2, 1),
        "avg_pool2d 2": lambda F, x: F.avg_pool2d(x, 2),
        "avg_pool2d 3": lambda F, x: F.avg_pool2d(x, 3, 2, 1),
        "avg_pool2d 1": lambda F, x: F.avg_pool2d(x, 1, 3),
        "adaptive_avg_pool2d 1": lambda F, x: F.adaptive_avg_pool2d(x, 1),
        "nearest": lambda F, x: F.interpolate(x, scale_factor=2),
        "bilinear": lambda F, x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    }
    with all_failures() as each:
        for size in ((6, 8), (5, 9), (4, 24), (18, 4), (2, 31)):
            x = draw((2, channels, *size))
            for name, call in calls.items():
                seen = set()
                for layout, other in product(("plain", "last"), repeat=2):
                    leaf = laid_out(tiny_torch, x, layout).requires_grad_()
                    y = call(tiny_torch.nn.functional, leaf)
                    weights = laid_out(tiny_torch, draw(y.shape), other)
                    (grad,) = tiny_torch.autograd.grad(y, leaf, weights)
                    seen.add(tuple(t.numpy(force=True).tobytes() for t in (y, grad)))
                with each:
                    assert len(seen) == 1, (name, size)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(37, 9, 20, 22), (2, 3, 120, 150), (0, 3, 8, 8), (5, 8, 8)])
def test_halves_are_computed_in_float32(shape, dtype):
    """Some images at a time, rounded once."""
    calls = {
        "max_pool2d": lambda F, x: F.max_pool2d(x, 3, 2, 1),
        "avg_pool2d": lambda F, x: F.avg_pool2d(x, 3, 2, 1),
        "adaptive_avg_pool2d": lambda F, x: F.adaptive_avg_pool2d(x, 1),
        "adaptive_max_pool2d": lambda F, x: F.adaptive_max_pool2d(x, 3),
    }
    half = getattr(tiny_torch, dtype)
    with all_failures() as each:
        for (name, call), layout in product(calls.items(), ("plain", "last")):
            x, seen = laid_out(tiny_torch, draw(shape), layout).to(half), []
            for leaf in (x, x.float()):
                leaf = leaf.detach().requires_grad_()
                y = call(tiny_torch.nn.functional, leaf)
                weights = tiny_torch.from_numpy(draw(y.shape)).to(half).to(leaf.dtype)
                (grad,) = tiny_torch.autograd.grad(y, leaf, weights)
                seen.append([t.to(half).float().numpy(force=True) for t in (y, grad)])
                seen[-1] += [y.stride(), grad.stride()]
            with each:
                for ours, wide in zip(*seen, strict=True):
                    np.testing.assert_array_equal(ours, wide, f"{name} {layout}")


def test_expanded_input_and_gradient():
    with all_failures() as each:
        for name, setting in (("max_pool2d", 2), ("avg_pool2d", 2), ("adaptive_avg_pool2d", 1)):
            pair = []
            for package in BOTH:
                x = package.from_numpy(draw((1, 1, 6, 40))).expand(2, 3, 6, 40).requires_grad_()
                y = getattr(package.nn.functional, name)(x, setting)
                y.sum().backward()
                pair.append([y, x.grad])
            with each:
                compare(pair[0][0], pair[1][0], name, ulps=64)
                compare(pair[0][1], pair[1][1], name)


MODULES = [
    lambda nn: nn.MaxPool1d(3), lambda nn: nn.MaxPool2d((3, 2), (2, 1), ceil_mode=True),
    lambda nn: nn.MaxPool2d(3, 2, 1, return_indices=True), lambda nn: nn.MaxPool3d(2, dilation=2),
    lambda nn: nn.AvgPool1d(3, padding=1), lambda nn: nn.AvgPool2d((2, 3), divisor_override=2),
    lambda nn: nn.AvgPool3d(2, 1, count_include_pad=False, ceil_mode=True),
    lambda nn: nn.AdaptiveMaxPool1d(3), lambda nn: nn.AdaptiveMaxPool2d((3, None), True),
    lambda nn: nn.AdaptiveMaxPool3d(2), lambda nn: nn.AdaptiveAvgPool1d(2),
    lambda nn: nn.AdaptiveAvgPool2d((1, 1)), lambda nn: nn.AdaptiveAvgPool3d((2, 3, None)),
]  # fmt: skip


@pytest.mark.parametrize("build", MODULES)
def test_modules(build):
    ours, other = (build(package.nn) for package in BOTH)
    assert repr(ours) == repr(other)
    own = {k: v for k, v in vars(other).items() if not k.startswith("_")}
    assert {k: v for k, v in vars(ours).items() if not k.startswith("_")} == own
    dims = int(type(ours).__name__[-2])
    x = draw((2, 3, *(8, 7, 6)[:dims]))
    check(
        repr(ours),
        lambda: ours(tiny_torch.from_numpy(x)),
        lambda: other(theirs.from_numpy(x)),
        strides=False,
        ulps=64,
    )


# x stands for an input (2, 3, 8, 8)
ERRORS = [
    "max_pool2d(x, (2,))", "max_pool2d(x, [2, 2, 2])", "max_pool2d(x, 0)", "max_pool2d(x, -2)",
    "max_pool2d(x, 2, padding=2)", "max_pool2d(x, 2, -1)", "max_pool2d(x, 2, 0)",
    "max_pool2d(x, 9)", "max_pool2d(x, 2, dilation=0)", "max_pool2d(x[0, 0], 2)",
    "max_pool2d(x[:0], 2)", "max_pool2d(x[:, :0], 2)", "max_pool2d(x[:, :, :0], 2)",
    "max_pool2d(x.bool(), 2)", "max_pool2d(x, 2.5)", "max_pool2d(x, 'a')", "max_pool2d(x, None)",
    "max_pool2d(None, 2)", "max_pool2d(x, True)", "max_pool2d(x, 2, padding=-1)",
    "max_pool2d(x, 3, ceil_mode=1)", "max_pool2d(x, 2, stride=[])", "max_pool2d(x)",
    "max_pool1d(x, 2)", "max_pool1d(x[0], 2)", "max_pool1d(x[0, 0], 2)", "max_pool1d(x[0], 9)",
    "max_pool1d(x[0], 2, padding=2)", "max_pool1d(x[0], (2, 2))", "max_pool1d(x[:0, 0], 2)",
    "max_pool1d(x[:, :0, 0], 2)", "max_pool1d(x[0, :, :0], 2)", "max_pool1d(x[0].int(), 2)",
    "max_pool1d(x[0], 2, stride=0)", "max_pool1d(x[0], 0)", "max_pool3d(x, 2)",
    "max_pool3d(x[0], 2)", "max_pool3d(x[0, 0], 2)", "avg_pool3d(x[0, 0], 2)",
    "avg_pool2d(x, 2, padding=2)", "avg_pool2d(x, 2, divisor_override=0)",
    "avg_pool2d(x, 2, divisor_override=-3)", "avg_pool2d(x, 2, divisor_override=2.5)",
    "avg_pool2d(x.long(), 2)", "avg_pool2d(x.int(), 2)", "avg_pool2d(x, 2.5)",
    "avg_pool2d(x[:, :0], 2)", "avg_pool2d(x[:, :, :0], 2)", "avg_pool2d(x, 2, padding=-1)",
    "avg_pool2d(x, 3, ceil_mode=None)", "avg_pool2d(x, 3, count_include_pad=0)",
    "avg_pool1d(x, 2)", "avg_pool1d(x[0], 2, padding=2)", "avg_pool1d(x[0, 0], 2)",
    "avg_pool1d(x[0, 0, 0], 2)", "avg_pool1d(x[0], 2, divisor_override=2)",
    "adaptive_avg_pool2d(x, -1)", "adaptive_avg_pool2d(x, (1, 2, 3))", "adaptive_avg_pool2d(x, 0)",
    "adaptive_avg_pool2d(x.long(), 2)", "adaptive_avg_pool2d(x[0, 0], 2)",
    "adaptive_avg_pool2d(x[:0], 2)", "adaptive_avg_pool2d(x[:, :0], 2)",
    "adaptive_avg_pool2d(x[:, :, :0], 2)", "adaptive_avg_pool2d(x, (2,))",
    "adaptive_avg_pool2d(x, 2.5)", "adaptive_avg_pool2d(x, None)",
    "adaptive_avg_pool1d(x[0], None)", "adaptive_avg_pool1d(x[0], [2, 2])",
    "adaptive_avg_pool1d(x[0], (2,))", "adaptive_max_pool2d(x, 0)", "adaptive_max_pool2d(x, -1)",
    "adaptive_max_pool2d(x.long(), 2)", "adaptive_max_pool2d(x[:, :, :0], 2)",
    "adaptive_max_pool1d(x[0], None)", "adaptive_max_pool2d(x[:, :0], 2)",
]  # fmt: skip


@pytest.mark.parametrize("call", ERRORS)
def test_errors(call):
    def result(package):
        x = package.from_numpy(draw((2, 3, 8, 8)))
        return eval("F." + call, {"x": x, "F": package.nn.functional})

    check(call, *[lambda p=p: result(p) for p in BOTH], strides=False, ulps=64)


def test_names_of_nodes():
    for package in BOTH:
        F = package.nn.functional
        x = package.ones(1, 2, 4, 4, requires_grad=True)
        results = [F.max_pool2d(x, 2), F.max_pool1d(x[0], 2), F.avg_pool2d(x, 2),
                   F.avg_pool3d(x, 2), F.adaptive_avg_pool2d(x, 2), F.adaptive_max_pool2d(x, 2),
                   F.max_pool2d(x, 2, return_indices=True)[0]]  # fmt: skip
        assert [y.grad_fn.name() for y in results] == [
            "MaxPool2DWithIndicesBackward0", "SqueezeBackward1", "AvgPool2DBackward0",
            "AvgPool3DBackward0", "AdaptiveAvgPool2DBackward0", "AdaptiveMaxPool2DBackward0",
            "MaxPool2DWithIndicesBackward0",
        ]  # fmt: skip


def test_what_torch_has():
    for package in BOTH:
        x = package.arange(12.0).reshape(1, 2, 6)
        assert package.max_pool1d(x, 3).tolist() == [[[2, 5], [8, 11]]]
        assert package.max_pool2d(x, (2, 3)).tolist() == [[[8, 11]]]
        assert package.avg_pool1d(x, 3).tolist() == [[[1, 4], [7, 10]]]
        with pytest.raises(TypeError):
            package.max_pool2d(x, 2, 2, 0, 1, False, True)


def test_not_on_ref():
    with pytest.raises(NotImplementedError, match=r"\[pool\] is not implemented on ref"):
        tiny_torch.nn.functional.max_pool2d(tiny_torch.ones(1, 1, 4, 4, device="ref"), 2)


def test_an_average_over_no_windows_has_a_gradient_of_zeros():  # PyTorch refuses backward
    x = tiny_torch.ones(2, 3, 4, 5, requires_grad=True)
    tiny_torch.nn.functional.adaptive_avg_pool2d(x, 0).sum().backward()
    assert x.grad.shape == x.shape
    assert not x.grad.any()


IN_EACH_DIM = ["max_pool2d", "avg_pool2d", "adaptive_max_pool2d", "max_unpool2d", "conv2d"]


@pytest.mark.parametrize("name", IN_EACH_DIM)
@pytest.mark.parametrize("keyword", ["_dims", "size"])
def test_other_keywords_are_refused_by_the_name_that_was_called(name, keyword):
    words = rf"^{name}\(\) got an unexpected keyword argument '{keyword}'"
    x = tiny_torch.ones(2, 8, 8)
    arguments = {"conv2d": (x, x), "max_unpool2d": (x, x.long(), 2)}.get(name, (x, 2))
    with pytest.raises(TypeError, match=words):
        getattr(tiny_torch.nn.functional, name)(*arguments, **{keyword: 1})
