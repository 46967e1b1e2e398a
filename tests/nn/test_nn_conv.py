"""The convolution family against PyTorch: values, strides, gradients, modules, errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from helpers import all_failures, check, compare

import tiny_torch

pytest.importorskip("torch")
import torch as theirs

pytestmark = pytest.mark.torch
BOTH = (tiny_torch, theirs)


def draw(shape, seed, dtype="float32"):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def laid_out(package, array, layout):
    """A leaf of these numbers: contiguous, channels last, or as every second of a bigger one."""
    x = package.from_numpy(array.copy())
    if layout == "last" and x.ndim in (4, 5):
        form = package.channels_last if x.ndim == 4 else package.channels_last_3d
        x = x.contiguous(memory_format=form)
    if layout == "strided":
        x = package.stack([x, x], -1)[..., 0]
    return x.requires_grad_()


def results(package, function, arrays, layouts, settings):
    """The value, and the gradients of a weighted sum of it."""
    inputs = [laid_out(package, a, layout) for a, layout in zip(arrays, layouts, strict=False)]
    y = getattr(package.nn.functional, function)(*inputs, **settings)
    weights = np.cos(np.arange(y.numel(), dtype="float64")).reshape(tuple(y.shape))
    grad = package.from_numpy(weights).to(y.dtype)
    return [y, *package.autograd.grad(y, inputs, grad)]


def compared(function, arrays, layouts=("plain",) * 3, strides=True, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(
            f"{function} {[a.shape for a in arrays]} {layouts} {settings}",
            lambda: results(tiny_torch, function, arrays, layouts, settings),
            lambda: results(theirs, function, arrays, layouts, settings),
            ulps=256,
            strides=strides,
        )


# function, input, weight, settings
CASES = [
    ("conv1d", (2, 3, 9), (4, 3, 3), {}),
    ("conv1d", (3, 9), (4, 3, 3), {"padding": 2, "stride": 2}),
    ("conv1d", (2, 4, 40), (6, 4, 3), {"padding": 4, "dilation": 4}),
    ("conv1d", (2, 4, 900), (6, 4, 3), {"padding": 1}),
    ("conv1d", (2, 4, 9), (6, 2, 3), {"padding": "same", "groups": 2}),
    ("conv1d", (2, 4, 9), (4, 1, 4), {"padding": "same", "groups": 4}),
    ("conv2d", (2, 3, 8, 9), (5, 3, 3, 2), {}),
    ("conv2d", (3, 8, 9), (5, 3, 3, 2), {"padding": (1, 2)}),
    ("conv2d", (2, 3, 8, 9), (5, 3, 3, 2), {"padding": "same"}),
    ("conv2d", (2, 3, 8, 9), (5, 3, 3, 2), {"padding": "valid", "stride": (2, 1)}),
    ("conv2d", (2, 3, 11, 12), (5, 3, 3, 3), {"padding": 1, "stride": 2, "dilation": 2}),
    ("conv2d", (2, 3, 11, 12), (5, 3, 3, 3), {"padding": 5, "stride": 3, "dilation": (1, 3)}),
    ("conv2d", (2, 20, 7, 7), (17, 20, 3, 3), {"padding": 1}),
    ("conv2d", (2, 48, 5, 5), (40, 48, 3, 3), {"padding": 1}),  # more than a block of k
    ("conv2d", (2, 20, 3, 32), (13, 20, 3, 3), {"padding": 1}),  # rows of whole vectors
    ("conv2d", (2, 240, 5, 7), (300, 240, 3, 3), {"padding": 1}),  # more weights than pixels
    ("conv2d", (3, 40, 4, 4), (70, 40, 1, 1), {"stride": 2}),
    ("conv2d", (40, 8, 1, 1), (9, 8, 3, 3), {"padding": 1}),
    ("conv2d", (5, 8, 2, 2), (9, 8, 5, 5), {"padding": 2}),
    ("conv2d", (2, 6, 8, 9), (9, 2, 3, 3), {"groups": 3, "padding": 1}),
    ("conv2d", (2, 6, 8, 40), (6, 1, 3, 3), {"groups": 6, "padding": 1}),
    ("conv2d", (2, 20, 8, 9), (20, 4, 3, 3), {"groups": 5, "padding": 1}),
    ("conv2d", (2, 32, 8, 9), (32, 8, 3, 3), {"groups": 4, "stride": 2, "dilation": 2}),
    ("conv2d", (2, 6, 8, 9), (12, 1, 3, 3), {"groups": 6, "stride": 2, "dilation": 2}),
    ("conv2d", (1, 1, 28, 28), (6, 1, 5, 5), {}),
    ("conv2d", (0, 3, 8, 9), (5, 3, 3, 2), {}),
    ("conv3d", (2, 3, 4, 5, 6), (4, 3, 2, 3, 3), {"padding": 1, "stride": (1, 2, 1)}),
    ("conv3d", (3, 4, 5, 6), (4, 3, 2, 3, 3), {"dilation": (1, 2, 2)}),
    ("conv3d", (2, 4, 4, 5, 6), (8, 1, 2, 3, 3), {"groups": 4, "padding": 1}),
    ("conv3d", (2, 2, 3, 40, 30), (3, 2, 2, 3, 3), {"padding": 1, "stride": (1, 1, 2)}),
    ("conv3d", (3, 3, 2, 16, 15), (5, 3, 2, 3, 3), {"padding": (0, 1, 1)}),  # y has one d, x two
    ("conv_transpose1d", (2, 3, 9), (3, 4, 3), {}),
    ("conv_transpose1d", (3, 9), (3, 4, 5), {"stride": 3, "padding": 2, "output_padding": 1}),
    ("conv_transpose2d", (2, 3, 5, 6), (3, 4, 3, 3), {}),
    ("conv_transpose2d", (2, 3, 5, 6), (3, 4, 4, 4), {"stride": 2, "padding": 1}),
    ("conv_transpose2d", (2, 3, 5, 6), (3, 4, 2, 2), {"stride": 3, "output_padding": (2, 1)}),
    ("conv_transpose2d", (2, 3, 5, 6), (3, 4, 3, 3), {"dilation": 3, "output_padding": 2}),
    ("conv_transpose2d", (3, 40, 1, 1), (40, 30, 4, 4), {}),
    ("conv_transpose2d", (2, 6, 5, 6), (6, 2, 3, 3), {"groups": 3, "stride": 2}),
    ("conv_transpose2d", (2, 6, 5, 6), (6, 1, 3, 3), {"groups": 6, "stride": 2, "padding": 1}),
    ("conv_transpose2d", (6, 5, 6), (6, 2, 3, 3), {"groups": 6}),
    ("conv_transpose3d", (2, 3, 3, 4, 5), (3, 4, 2, 3, 3), {"stride": 2, "padding": 1}),
    ("conv_transpose3d", (3, 3, 4, 5), (3, 4, 2, 3, 3), {"stride": (1, 2, 3)}),
]


@pytest.mark.parametrize("function, x, w, settings", CASES)
def test_values_strides_and_gradients(function, x, w, settings):
    outputs = w[1] * settings.get("groups", 1) if "transpose" in function else w[0]
    arrays = [draw(x, 0), draw(w, 1), draw((outputs,), 2)]
    # PyTorch has other strides where nothing is in them, where a gradient comes from a padded copy,
    # and in three dims of a single small sample.
    even = settings.get("padding") == "same" and any(size % 2 == 0 for size in w[2:])
    strides = x[0] != 0 and not even and not (len(w) == 5 and len(x) == 4)
    with all_failures() as each:
        for layouts in [("plain",) * 2, ("last",) * 2, ("plain", "last"), ("strided",) * 2]:
            with each:
                compared(function, arrays[:2], layouts, strides, **settings)
        with each:
            compared(function, arrays, strides=strides, **settings)
        with each:
            compared(function, [a.astype("float64") for a in arrays], strides=strides, **settings)


@pytest.mark.parametrize("function, x, w, settings", CASES[::4])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.filterwarnings("ignore:Using padding")
def test_halves(function, x, w, settings, dtype):
    outputs = w[1] * settings.get("groups", 1) if "transpose" in function else w[0]
    arrays = [draw(x, 0), draw(w, 1), draw((outputs,), 2)]
    pair = []
    for package in BOTH:
        inputs = [package.from_numpy(a).to(getattr(package, dtype)) for a in arrays]
        pair.append(getattr(package.nn.functional, function)(*inputs, **settings))
    compare(*pair, function, ulps=32)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
@pytest.mark.parametrize("settings", [{}, {"padding": 1, "stride": 2}, {"padding": (2, 0)}])
def test_integers_follow_the_definition(settings, dtype):
    x = np.arange(54).reshape(3, 2, 3, 3).astype(dtype)
    w = np.arange(24).reshape(3, 2, 2, 2).astype(dtype)
    check(
        f"{dtype} {settings}",
        *[lambda p=p: p.conv2d(p.from_numpy(x), p.from_numpy(w), **settings) for p in BOTH],
    )


@pytest.mark.parametrize("seed", range(12))
def test_random_settings(seed):
    """Any combination of sizes; three dims at most, every path of the kernels now and then."""
    rng = np.random.default_rng(seed)
    with all_failures() as each:
        for _ in range(6):
            dims = int(rng.integers(1, 4))
            groups = int(rng.choice([1, 1, 2, 4]))
            inputs, outputs = int(rng.choice([1, 2, 17])), int(rng.choice([1, 3, 34]))

            def pick(low, high, count=dims):
                return tuple(int(v) for v in rng.integers(low, high, count))

            size = pick(5, (60, 20, 9)[dims - 1])
            settings = {"stride": pick(1, 4), "padding": pick(0, 3), "dilation": pick(1, 3)}
            x = draw((*pick(1, 4, 1), inputs * groups, *size), seed, "float64")
            w = draw((outputs * groups, inputs, *pick(1, 4)), seed + 1, "float64")
            taps, dilation = w.shape[2:], settings["dilation"]
            reach = [d * (k - 1) + 1 for d, k in zip(dilation, taps, strict=True)]
            if any(r > s + 2 * p for r, s, p in zip(reach, size, settings["padding"], strict=True)):
                continue
            with each:
                compared(f"conv{dims}d", [x, w], groups=groups, **settings)


def test_nan_and_infinity_stay_where_they_are_seen():
    x, w = draw((1, 2, 6, 40), 0), draw((3, 2, 3, 3), 1)
    x[0, 1, 2, 3], x[0, 0, 5, 39] = np.nan, np.inf
    compared("conv2d", [x, w], padding=1)
    compared("conv2d", [x, w], ("last", "last"), padding=1, stride=2)


def test_expanded_and_permuted_inputs():
    x, w = draw((1, 1, 5, 6), 0), draw((3, 4, 3, 3), 1)
    pair = []
    for package in BOTH:
        a = package.from_numpy(x).expand(2, 4, 5, 6)
        b = package.from_numpy(w).permute(0, 1, 3, 2)
        pair.append(package.conv2d(a, b))
    compare(*pair, "expanded", ulps=64)


@pytest.mark.parametrize(
    "function, x, w, settings",
    [
        ("conv1d", (2, 2, 5), (3, 2, 3), {"padding": 1, "stride": 2}),
        ("conv2d", (1, 4, 4, 3), (4, 2, 2, 2), {"groups": 2, "dilation": 2}),
        ("conv2d", (1, 2, 4, 3), (2, 1, 2, 2), {"groups": 2}),
        ("conv3d", (1, 1, 3, 2, 3), (2, 1, 2, 1, 2), {"padding": (0, 1, 0)}),
        ("conv_transpose2d", (1, 2, 3, 3), (2, 2, 3, 3), {"stride": 2, "padding": 1}),
        ("conv_transpose1d", (1, 4, 3), (4, 1, 3), {"groups": 2, "output_padding": 0}),
    ],
)
def test_gradcheck_twice(function, x, w, settings):
    inputs = [tiny_torch.from_numpy(draw(s, i, "float64")) for i, s in enumerate((x, w))]
    outputs = w[1] * settings.get("groups", 1) if "transpose" in function else w[0]
    inputs.append(tiny_torch.from_numpy(draw((outputs,), 3, "float64")))
    for tensor in inputs:
        tensor.requires_grad_()
    call = lambda *args: getattr(tiny_torch, function)(*args, **settings)  # noqa: E731
    assert tiny_torch.autograd.gradcheck(call, inputs)
    assert tiny_torch.autograd.gradgradcheck(call, inputs)


@pytest.mark.parametrize("layout", ["plain", "last"])
@pytest.mark.parametrize(
    "x, w, settings",
    [
        ((9, 16, 20, 20), (40, 16, 3, 3), {"padding": 1}),
        ((9, 1, 40, 40), (16, 1, 5, 5), {}),
        ((9, 32, 20, 20), (32, 1, 3, 3), {"groups": 32, "stride": 2}),
        ((9, 48, 20, 20), (48, 4, 3, 3), {"groups": 12, "padding": 1}),
        ((9, 3, 40, 40), (64, 3, 3, 3), {"padding": 1}),
        ((2, 240, 5, 7), (300, 240, 3, 3), {"padding": 1}),
        ((3, 48, 40, 40), (64, 48, 1, 1), {}),
    ],
)
def test_same_bits_for_any_number_of_threads(x, w, settings, layout):
    threads, seen = tiny_torch.get_num_threads(), []
    try:
        for number in (1, 2, 3):
            tiny_torch.set_num_threads(number)
            arrays = [draw(x, 0), draw(w, 1)]
            made = results(tiny_torch, "conv2d", arrays, (layout, layout), settings)
            seen.append([t.numpy(force=True).tobytes() for t in made])
    finally:
        tiny_torch.set_num_threads(threads)
    assert seen[0] == seen[1] == seen[2]


@pytest.mark.parametrize(
    "x, w, settings",
    [
        ((3, 40, 9, 9), (33, 40, 3, 3), {"padding": 1}),
        ((3, 40, 9, 9), (33, 40, 3, 3), {"stride": 2}),
        ((3, 40, 9, 20), (40, 1, 3, 3), {"padding": 1, "groups": 40}),
        ((3, 2, 9, 20), (8, 2, 3, 3), {"padding": 1}),
        ((3, 3, 9, 20), (64, 3, 3, 3), {"padding": 1}),
        ((3, 48, 9, 20), (48, 4, 3, 3), {"groups": 12, "padding": 1}),
        ((3, 48, 9, 20), (48, 8, 3, 3), {"groups": 6, "stride": 2}),
        ((3, 40, 4, 4), (33, 40, 4, 4), {}),
        ((3, 40, 9, 9), (33, 40, 1, 1), {}),
        ((3, 300, 9, 9), (33, 300, 1, 1), {}),
        ((3, 300, 9, 20), (33, 300, 1, 1), {}),
        ((3, 40, 40, 64), (1, 40, 1, 1), {}),
        ((3, 300, 9, 1), (2, 300, 1, 1), {}),
        ((3, 300, 9, 9), (1, 300, 1, 1), {}),
    ],
)
def test_layout_changes_no_bit(x, w, settings):
    seen = []
    for layout in ("plain", "last"):
        arrays = [draw(x, 0), draw(w, 1)]
        seen.append(results(tiny_torch, "conv2d", arrays, (layout, layout), settings))
    for plain, last in zip(*seen, strict=True):
        assert last.is_contiguous(memory_format=tiny_torch.channels_last)
        assert (plain == last).all()


@pytest.mark.parametrize("size", [(40, 64), (9, 9), (200, 1), (1, 200), (4, 9, 9)])
@pytest.mark.parametrize("channels", [40, 300])
def test_single_taps_over_parts_of_images(size, channels):
    convolve = tiny_torch.conv2d if len(size) == 2 else tiny_torch.conv3d
    w = tiny_torch.from_numpy(draw((33, channels) + (1,) * len(size), 1))
    bias = tiny_torch.from_numpy(draw((33,), 2))
    larger = (2, channels, *[n + 3 for n in size])
    part = tiny_torch.from_numpy(draw(larger, 0))[(..., *[slice(1, n + 1) for n in size])]
    y = convolve(part, w, bias)
    assert (y == convolve(part.contiguous(), w, bias)).all()
    expected = tiny_torch.einsum("nc...,oc->no...", part.double(), w.double().flatten(1))
    expected += bias.double().view(-1, *[1] * len(size))
    tiny_torch.testing.assert_close(y.double(), expected, rtol=0, atol=1e-4)


# ------------------------------------------------------------------------------------------ pad

PADS = [
    ((1, 4), (1, 2)), ((1, 2, 4), (1, 2)), ((2, 2, 3, 4), (1, 2, 1, 0)), ((2, 3, 4), (1, 2, 1, 1)),
    ((1, 2, 3, 4, 3), (1, 1, 2, 1, 1, 0)), ((2, 3, 4, 3), (1, 1, 2, 1, 1, 0)), ((1, 2, 4), (-1, 1)),
    ((1, 2, 4), (0, 0)), ((1, 2, 4), (-1, -1)), ((0, 2, 4), (1, 1)), ((1, 0, 4), (1, 1)),
    ((1, 2, 0), (1, 1)), ((1, 2, 4), (4, 0)), ((1, 2, 4), (5, 0)), ((1, 2, 4), (-3, -3)),
    ((2, 4), (1, 1, 1, 1)), ((4,), (1, 1)), ((1, 2, 3, 4), (1, 2)), ((1, 2, 4), (1, 1, 1)),
    ((), (1, 1)), ((2, 3, 40), (3, 2)), ((2, 2, 5, 40), (3, -1, 2, 4)), ((1, 2, 4), (-3, 1)),
]  # fmt: skip


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_pad(mode):
    with all_failures() as each:
        for shape, sides in PADS:
            with each:
                compared("pad", [draw(shape, 0)], strides=False, pad=sides, mode=mode)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_pad_keeps_the_memory_format(mode):
    x, y = (p.ones(1, 2, 3, 4).contiguous(memory_format=p.channels_last) for p in BOTH)
    ours = tiny_torch.nn.functional.pad(x, (1, 2, 1, 0), mode)
    compare(ours, theirs.nn.functional.pad(y, (1, 2, 1, 0), mode), mode)


def test_pad_copies_signs_of_zeros():
    x = tiny_torch.tensor([[-0.0, -0.0, 1.0, -0.0]])
    for mode in ("reflect", "replicate", "circular"):
        for sides in ((1, 2), (3, 0), (-3, 3), (0, -3)):
            y = tiny_torch.nn.functional.pad(x, sides, mode)
            assert (y.signbit() == (y == 0)).all()


@pytest.mark.parametrize("value", [None, 1.0])
@pytest.mark.parametrize("dtype", ["bool", "int16", "int32", "int64", "uint8", "float16"])
@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular", "foo"])
def test_pad_of_other_dtypes(mode, dtype, value):
    def padded(package):
        x = package.ones(1, 2, 3, dtype=getattr(package, dtype))
        return package.nn.functional.pad(x, (1, 1), mode, value)

    check(f"{mode} {dtype} {value}", *[lambda p=p: padded(p) for p in BOTH])


# --------------------------------------------------------------------------------------- modules

MODULES = [
    lambda nn: nn.Conv1d(3, 6, 3),
    lambda nn: nn.Conv1d(3, 6, 3, stride=2, padding=1, bias=False),
    lambda nn: nn.Conv2d(3, 6, 3, padding="same"),
    lambda nn: nn.Conv2d(3, 6, (3, 2), (2, 1), (1, 0), (1, 2)),
    lambda nn: nn.Conv2d(3, 6, 3, padding="valid", groups=3),
    lambda nn: nn.Conv2d(3, 6, 3, padding=(1, 2), padding_mode="reflect"),
    lambda nn: nn.Conv2d(3, 6, (3, 2), padding="same", padding_mode="circular"),
    lambda nn: nn.Conv3d(3, 6, 2, padding=1, padding_mode="replicate"),
    lambda nn: nn.ConvTranspose1d(3, 6, 3, 2, 1, 1),
    lambda nn: nn.ConvTranspose2d(3, 6, 4, 2, 1, bias=False),
    lambda nn: nn.ConvTranspose2d(3, 6, 3, stride=2, groups=3, dilation=2),
    lambda nn: nn.ConvTranspose3d(3, 6, 2, (1, 2, 2)),
]


@pytest.mark.parametrize("build", MODULES)
def test_modules(build):
    made = []
    for package in BOTH:
        package.manual_seed(5)
        made.append(build(package.nn))
    ours, other = made
    assert repr(ours) == repr(other)
    assert list(ours.state_dict()) == list(other.state_dict())
    for key, value in other.state_dict().items():
        assert ours.state_dict()[key].tolist() == value.tolist()
    for name in ("stride", "padding", "dilation", "output_padding", "kernel_size", "transposed",
                 "groups", "padding_mode", "in_channels", "out_channels",
                 "_reversed_padding_repeated_twice"):  # fmt: skip
        assert list(np.atleast_1d(getattr(ours, name))) == list(np.atleast_1d(getattr(other, name)))
    dims = ours.weight.ndim - 2
    x = draw((2, 3, *(7, 6, 5)[:dims]), 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(
            repr(ours),
            lambda: ours(tiny_torch.from_numpy(x)),
            lambda: other(theirs.from_numpy(x)),
            ulps=64,
        )


LAZY = [
    ("LazyConv1d", (4, 3), {}),
    ("LazyConv2d", (4, 3), {"padding": "same", "groups": 2}),
    ("LazyConv3d", (4, (1, 2, 2)), {"bias": False}),
    ("LazyConvTranspose1d", (4, 3), {"stride": 2, "groups": 2}),
    ("LazyConvTranspose2d", (4, 3), {"dilation": 2}),
    ("LazyConvTranspose3d", (4, 2), {"output_padding": 0}),
    ("LazyConv2d", (4, 3), {"groups": 4}),
]


@pytest.mark.parametrize("name, args, settings", LAZY)
def test_lazy_modules(name, args, settings):
    dims = int(name[-2])

    def made(package):
        package.manual_seed(2)
        layer = getattr(package.nn, name)(*args, **settings)
        y = layer(package.from_numpy(draw((2, 6, 5, 5, 5)[: dims + 2], 0)))
        assert type(layer).__name__ == name.removeprefix("Lazy")
        return [y, *layer.parameters()]

    check(name, *[lambda p=p: made(p) for p in BOTH], ulps=64)


@pytest.mark.parametrize(
    "size", [[9, 11], [10, 12], [2, 6, 10, 11], [11, 11], [8, 11], [10], [6, 10, 11]]
)
def test_output_size(size):
    def made(package):
        x = package.ones(2, 3, 5, 6)
        return package.ones(package.nn.ConvTranspose2d(3, 6, 3, 2, 1)(x, size).shape)

    check(str(size), *[lambda p=p: made(p) for p in BOTH])


BAD_MODULES = [
    lambda nn: nn.Conv2d(3, 6, 3, groups=0),
    lambda nn: nn.Conv2d(3, 6, 3, groups=2),
    lambda nn: nn.Conv2d(2, 3, 3, groups=2),
    lambda nn: nn.Conv2d(3, 6, 3, padding="foo"),
    lambda nn: nn.Conv2d(3, 6, 3, stride=2, padding="same"),
    lambda nn: nn.Conv2d(3, 6, 3, padding_mode="foo"),
    lambda nn: nn.ConvTranspose2d(3, 6, 3, padding_mode="reflect"),
    lambda nn: nn.Conv2d(3, 6, -1),
    lambda nn: nn.Conv2d(3, 6),
]


@pytest.mark.parametrize("build", BAD_MODULES)
def test_errors_of_constructors(build):
    check("constructor", *[lambda p=p: build(p.nn).in_channels for p in BOTH])


# x, w and b stand for an input (2, 4, 5, 5), a weight (6, 4, 3, 3) and a bias (6)
ERRORS = [
    "conv2d(x, w[:, :3])", "conv2d(x[0, 0], w)", "conv2d(x[0, 0, 0], w)", "conv2d(x[None], w)",
    "conv2d(x, w[0])", "conv2d(x.double(), w)", "conv2d(x, w, b.double())", "conv2d(x.long(), w)",
    "conv2d(x, w, b[:5])", "conv2d(x, w, b[None])", "conv2d(x, w, groups=3)",
    "conv2d(x, w, groups=0)", "conv2d(x, w, groups=-1)", "conv2d(x, w[:5, :2], groups=2)",
    "conv2d(x, w, stride=0)", "conv2d(x, w, stride=-1)", "conv2d(x, w, padding=-1)",
    "conv2d(x, w, dilation=0)", "conv2d(x[..., :2], w)", "conv2d(x, w, stride=(1, 2, 3))",
    "conv2d(x, w, stride=(2,))", "conv2d(x, w, stride=1.5)", "conv2d(x, w, stride=[2, 1])",
    "conv2d(x, w, stride='a')", "conv2d(x, w, padding='foo')", "conv2d(x, w, None, 2, 'same')",
    "conv2d(x, None)", "conv2d([1], w)", "conv2d(x, w, [1])", "conv2d(x[:, :, :0], w)",
    "conv2d(x[:, :, :0], w, padding=2)", "conv2d(x, w[:0])", "conv2d(x, w[:, :, :0])",
    "conv2d(x, w, stride=True)", "conv2d(x, w, groups=1.0)", "conv2d(x.bool(), w.bool())",
    "conv1d(x[0], w[:, :3, 0])", "conv1d(x, w[:, :, 0])", "conv3d(x[0], w[:, :, None])",
    "conv_transpose2d(x, w)", "conv_transpose2d(x, w[:4], b)", "conv_transpose2d(x, w[:4], b[:4])",
    "conv_transpose2d(x, w[:4], stride=2, output_padding=2)",
    "conv_transpose2d(x, w[:4], stride=2, output_padding=-1)",
    "conv_transpose2d(x, w[:4], padding=4)", "conv_transpose2d(x, w[:4], padding=-1)",
    "conv_transpose2d(x, w[:4], groups=3)", "conv_transpose2d(x, w[:4], padding='same')",
    "conv_transpose2d(x[:, :, :0], w[:4])", "conv_transpose2d(x, w[:4], dilation=0)",
    "conv_transpose2d(x, w[:4], stride=0)", "conv_transpose2d(x[:0], w[:4])",
    "conv_transpose2d(x.bool(), w[:4].bool())", "conv_transpose2d(x.int(), w[:4].int())",
    "conv_transpose2d(x.long(), w[:4].long())",
]  # fmt: skip


@pytest.mark.parametrize("call", ERRORS)
def test_errors(call):
    def result(package):
        x, w, b = (package.from_numpy(draw(s, 0)) for s in ((2, 4, 5, 5), (6, 4, 3, 3), (6,)))
        return eval("F." + call, {"x": x, "w": w, "b": b, "F": package.nn.functional})

    check(call, *[lambda p=p: result(p) for p in BOTH], ulps=64)


def test_channels_of_a_transposed_convolution():
    with pytest.raises(RuntimeError, match=r"Given transposed=1, .* to have 3 channels, but got 5"):
        tiny_torch.nn.ConvTranspose2d(3, 4, 3)(tiny_torch.ones(1, 5, 8, 8))


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_a_stride_beyond_all_leaves_one_window(dims):
    x = tiny_torch.ones(2, 3, *(5, 4, 6)[:dims], requires_grad=True)
    w = tiny_torch.ones(2, 3, *[2] * dims, requires_grad=True)
    conv = getattr(tiny_torch, f"conv{dims}d")
    y = conv(x, w, stride=2**63 - 1)
    assert y.shape[2:] == (1,) * dims and (y == 3 * 2**dims).all()
    dx, dw = tiny_torch.autograd.grad(y.sum(), [x, w])
    assert dx.sum() == 2 * w.numel() and (dw == 2).all()


def test_names_of_nodes():
    for package in BOTH:
        x, w = (
            package.ones(1, 2, 3, 3, requires_grad=True),
            package.ones(2, 2, 2, 2, requires_grad=True),
        )
        y = package.conv2d(x, w)
        (g,) = package.autograd.grad(y.sum(), x, create_graph=True)
        names = [y, g, package.conv_transpose2d(x, w), package.conv2d(x[0], w)]
        assert [t.grad_fn.name() for t in names] == [
            "ConvolutionBackward0", "ConvolutionBackwardBackward0", "ConvolutionBackward0",
            "SqueezeBackward1",
        ]  # fmt: skip


def test_not_on_ref():
    with pytest.raises(NotImplementedError, match=r"\[conv\] is not implemented on ref"):
        tiny_torch.conv2d(*(tiny_torch.ones(1, 1, 3, 3, device="ref") for _ in range(2)))
