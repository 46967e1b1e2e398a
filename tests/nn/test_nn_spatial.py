"""Interpolation, unfold and fold, shuffles of channels, against PyTorch."""

from __future__ import annotations

import warnings

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


def results(package, function, array, layout, settings):
    """The value, and the gradient of a weighted sum of it."""
    x = package.from_numpy(array.copy())
    if layout == "last" and x.ndim in (4, 5):
        form = package.channels_last if x.ndim == 4 else package.channels_last_3d
        x = x.contiguous(memory_format=form)
    if layout == "strided":
        x = package.stack([x, x], -1)[..., 0]
    x.requires_grad_()
    y = getattr(package.nn.functional, function)(x, **settings)
    weights = np.cos(np.arange(y.numel(), dtype="float64")).reshape(tuple(y.shape))
    return [y, *package.autograd.grad(y, x, package.from_numpy(weights).to(y.dtype))]


def compared(function, array, layout="plain", ulps=64, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(
            f"{function} {array.shape} {array.dtype} {layout} {settings}",
            lambda: results(tiny_torch, function, array, layout, settings),
            lambda: results(theirs, function, array, layout, settings),
            ulps=ulps,
        )


SIZES = [
    {"size": (7, 11)}, {"size": (3, 4)}, {"size": (5, 6)}, {"size": (10, 12)}, {"size": (1, 2)},
    {"scale_factor": 2}, {"scale_factor": (1.7, 0.6)}, {"scale_factor": 0.37},
    {"scale_factor": 2.3, "recompute_scale_factor": True},
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layout", ["plain", "last", "strided"])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic", "area"])
def test_interpolate_of_images(mode, layout, dtype):
    with all_failures() as each:
        for size in SIZES:
            for corners in (None, True) if mode.startswith("bi") else (None,):
                with each:
                    settings = {"mode": mode, "align_corners": corners, **size}
                    compared("interpolate", draw((2, 3, 5, 6), 0, dtype), layout, **settings)


@pytest.mark.parametrize("corners", [None, True])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
def test_antialias(mode, corners):
    with all_failures() as each:
        for layout in ("plain", "last"):
            for size in SIZES:
                with each:
                    settings = {"mode": mode, "align_corners": corners, **size}
                    x = draw((2, 3, 25, 16))
                    compared("interpolate", x, layout, antialias=True, **settings)


@pytest.mark.parametrize("layout", ["plain", "last", "strided"])
def test_interpolate_of_lines_and_volumes(layout):
    with all_failures() as each:
        for mode in ("nearest", "nearest-exact", "linear", "area"):
            for size in ({"size": 11}, {"size": 4}, {"scale_factor": 1.7}):
                with each:
                    compared("interpolate", draw((2, 3, 9)), layout, mode=mode, **size)
        for mode in ("nearest", "nearest-exact", "trilinear", "area"):
            for size in ({"size": (7, 11, 4)}, {"size": 3}, {"scale_factor": (0.5, 1.5, 2)}):
                with each:
                    compared("interpolate", draw((2, 3, 4, 5, 6)), layout, mode=mode, **size)


def test_positions_of_many_sizes():
    """Where an output falls between two elements depends on the rounding."""
    with all_failures() as each:
        for size in range(1, 60, 7):
            for out in range(1, 150, 13):
                for mode in ("nearest", "nearest-exact", "linear"):
                    with each:
                        compared("interpolate", draw((1, 1, size)), size=out, mode=mode)


@pytest.mark.parametrize(
    "mode, dtype",
    [
        ("nearest", "uint8"),
        *(
            (m, d)
            for m in ("nearest", "bilinear")
            for d in ("float16", "bfloat16", "int64", "bool")
        ),
    ],
)
def test_dtypes(mode, dtype):
    def resampled(package):
        x = package.from_numpy((draw((2, 3, 5, 6)) * 9).round(0).__abs__())
        x = x.to(getattr(package, dtype))
        return package.nn.functional.interpolate(x, (8, 9), mode=mode)

    check(f"{mode} {dtype}", *[lambda p=p: resampled(p) for p in BOTH], ulps=4)


# PyTorch's weights are integers of at most 16 bits, so that a tie may be rounded down.
@pytest.mark.parametrize("layout", ["contiguous_format", "channels_last"])
@pytest.mark.parametrize("corners", [None, True])
@pytest.mark.parametrize(
    "mode, antialias",
    [("bilinear", False), ("bilinear", True), ("bicubic", False), ("bicubic", True)],
)
def test_bytes(mode, antialias, corners, layout):
    settings = {"mode": mode, "antialias": antialias, "align_corners": corners}
    array = np.random.default_rng(0).integers(0, 256, (2, 3, 11, 13), dtype=np.uint8)
    for size in ({"size": (3, 8)}, {"size": (20, 13)}, {"scale_factor": (1.7, 0.6)}):
        ours, other = (
            p.nn.functional.interpolate(
                p.from_numpy(array).contiguous(memory_format=getattr(p, layout)), **size, **settings
            )
            for p in BOTH
        )
        assert str(ours.dtype) == str(other.dtype)
        assert ours.stride() == other.stride()
        apart = np.abs(ours.numpy().astype(int) - other.numpy().astype(int))
        assert apart.max() <= 2
        assert (apart > 0).mean() < 0.1


WINDOWS = [
    {"kernel_size": 2}, {"kernel_size": 3, "padding": 1}, {"kernel_size": (3, 2), "stride": 2},
    {"kernel_size": 2, "dilation": (2, 3), "padding": (1, 2)}, {"kernel_size": (5, 9)},
    {"kernel_size": 3, "stride": (2, 3), "padding": 2, "dilation": 2}, {"kernel_size": 1},
    {"kernel_size": 2, "dilation": 2**62, "padding": 2**61},
    {"kernel_size": 2, "stride": 2**61, "padding": 2**61}, {"kernel_size": 2, "stride": 2**63 - 1},
]  # fmt: skip


@pytest.mark.parametrize("layout", ["plain", "last", "strided"])
def test_unfold_and_fold(layout):
    with all_failures() as each:
        for shape in ((2, 3, 6, 9), (3, 6, 9), (0, 3, 6, 9)):
            for windows in WINDOWS:
                x = draw(shape)
                with each:
                    compared("unfold", x, layout, **windows)
                columns = tiny_torch.nn.functional.unfold(tiny_torch.from_numpy(x), **windows)
                with each:
                    y = draw(tuple(columns.shape), 1)
                    compared("fold", y, layout, output_size=(6, 9), **windows)


@pytest.mark.parametrize("function, setting", [
    ("pixel_shuffle", {"upscale_factor": 2}), ("pixel_shuffle", {"upscale_factor": 1}),
    ("pixel_unshuffle", {"downscale_factor": 2}), ("channel_shuffle", {"groups": 4}),
    ("channel_shuffle", {"groups": 3}),
])  # fmt: skip
def test_shuffles(function, setting):
    with all_failures() as each:
        for layout in ("plain", "last", "strided"):
            shapes = [(2, 12, 4, 6), (12, 4, 6), (1, 4, 4, 2)]
            shapes += [] if layout == "last" else [(2, 2, 12, 4, 6)]  # which PyTorch refuses
            for shape in shapes:
                with each:
                    compared(function, draw(shape), layout, **setting)


@pytest.mark.parametrize("function, shape, settings", [
    ("interpolate", (1, 2, 3, 4), {"size": (5, 3), "mode": "bilinear"}),
    ("interpolate", (1, 2, 3, 4), {"size": (5, 3), "mode": "bicubic"}),
    ("interpolate", (1, 2, 3, 4), {"size": (5, 3)}),
    ("unfold", (1, 2, 4, 4), {"kernel_size": 2, "stride": 2, "padding": 1}),
    ("fold", (1, 4, 9), {"output_size": 4, "kernel_size": 2}),
    ("pixel_shuffle", (1, 4, 2, 2), {"upscale_factor": 2}),
    ("channel_shuffle", (1, 4, 2, 2), {"groups": 2}),
])  # fmt: skip
def test_gradcheck_twice(function, shape, settings):
    x = tiny_torch.from_numpy(draw(shape, 3, "float64")).requires_grad_()
    call = lambda x: getattr(tiny_torch.nn.functional, function)(x, **settings)  # noqa: E731
    assert tiny_torch.autograd.gradcheck(call, x)
    assert tiny_torch.autograd.gradgradcheck(call, x)


MODULES = [
    lambda nn: nn.Upsample(scale_factor=2), lambda nn: nn.Upsample((5, 7), mode="bilinear"),
    lambda nn: nn.Upsample(scale_factor=(1, 2.5), mode="bicubic", align_corners=True),
    lambda nn: nn.UpsamplingNearest2d(scale_factor=3), lambda nn: nn.UpsamplingBilinear2d((9, 8)),
    lambda nn: nn.Unfold(2, padding=1), lambda nn: nn.Fold((5, 5), 2),
    lambda nn: nn.PixelShuffle(2), lambda nn: nn.PixelUnshuffle(2), lambda nn: nn.ChannelShuffle(4),
]  # fmt: skip


@pytest.mark.parametrize("build", MODULES)
def test_modules(build):
    ours, other = (build(package.nn) for package in BOTH)
    assert repr(ours) == repr(other)
    own = {k: v for k, v in vars(other).items() if not k.startswith("_")}
    assert {k: v for k, v in vars(ours).items() if not k.startswith("_")} == own
    x = draw((2, 4, 16) if type(ours).__name__ == "Fold" else (2, 8, 4, 6))
    pairs = ((ours, tiny_torch.from_numpy(x)), (other, theirs.from_numpy(x)))
    check(repr(ours), *[lambda m=m, x=x: m(x) for m, x in pairs], ulps=64)


# x stands for an input (2, 3, 8, 8), c for columns (2, 12, 16)
ERRORS = [
    "interpolate(x)", "interpolate(x, 4, 2)", "interpolate(x, (4,))", "interpolate(x, 2.5)",
    "interpolate(x, (4, 2.5))", "interpolate(x, scale_factor=(2,))", "interpolate(x, 0)",
    "interpolate(x, 4, align_corners=True)", "interpolate(x, 4, mode='linear')",
    "interpolate(x, 4, mode='foo')", "interpolate(x[0], 4, mode='bilinear')",
    "interpolate(x[0, 0], 4)", "interpolate(x, 4, recompute_scale_factor=True)",
    "interpolate(x, 4, antialias=True)", "interpolate(x[None], 4, mode='bicubic')",
    "interpolate(x, 4, mode='lanczos')", "interpolate(x, -2)", "interpolate(x[:, :0], 4)",
    "interpolate(x[:0], 4)", "interpolate(x[:, :, :0], 4)", "interpolate(x, scale_factor=0.01)",
    "interpolate(x.long(), 4)", "interpolate(x, scale_factor='a')",
    "interpolate(x, 4, mode='area')",
    "unfold(x, 3)", "unfold(x[0, 0], 3)", "unfold(x, 9)", "unfold(x, 3, stride=0)", "unfold(x, 0)",
    "unfold(x, 3, padding=-1)", "unfold(x, 3, dilation=0)", "unfold(x, (3, 2, 1))",
    "unfold(x, (3,))", "unfold(x.long(), 3)", "unfold(x[:, :0], 3)", "unfold(x[:, :, :0], 3)",
    "unfold(x, 2.5)", "unfold(None, 2)", "fold(c[0, 0], 8, 2, stride=2)", "fold(c, 8, 2)",
    "fold(c, 8, 5)", "fold(c, (8, 8, 8), 2, stride=2)", "fold(c[:, :11], 8, 2, stride=2)",
    "fold(c[:, :0], 8, 2, stride=2)", "fold(c, 8, 2, stride=0)", "fold(c, 0, 2, stride=2)",
    "fold(c.long(), 8, 2, stride=2)", "fold(c, 8, 2, padding=-1)", "fold(c, 8, 2, dilation=0)",
    "pixel_shuffle(x, 2)", "pixel_shuffle(x, 0)", "pixel_shuffle(x[0, 0], 2)",
    "pixel_shuffle(x, 2.0)", "pixel_shuffle(None, 2)", "pixel_unshuffle(x, 3)",
    "pixel_unshuffle(x, 0)", "pixel_unshuffle(x[0, 0], 2)", "channel_shuffle(x, 2)",
    "channel_shuffle(x, 0)", "channel_shuffle(x[0, 0], 2)", "channel_shuffle(x, 1.0)",
]  # fmt: skip


@pytest.mark.parametrize("call", ERRORS)
def test_errors(call):
    def result(package):
        x, c = (package.from_numpy(draw(s)) for s in ((2, 3, 8, 8), (2, 12, 16)))
        return eval("F." + call, {"x": x, "c": c, "F": package.nn.functional})

    check(call, *[lambda p=p: result(p) for p in BOTH], strides=False, ulps=64)


@pytest.mark.parametrize("mode", ["linear", "bilinear", "trilinear", "bicubic", "nearest"])
@pytest.mark.parametrize("ndim", [2, 3, 4, 5, 6])
def test_a_mode_names_the_dims_that_it_needs(mode, ndim):
    said = [
        raised(lambda p=p: p.nn.functional.interpolate(p.ones([2] * ndim), None, 2, mode))
        for p in BOTH
    ]
    assert said[0] == said[1]


def raised(call):
    try:
        call()
    except NotImplementedError as error:
        return str(error)


def test_shuffled_channels_of_which_there_are_none():
    x = tiny_torch.ones(2, 0, 3, requires_grad=True)
    tiny_torch.nn.functional.channel_shuffle(x, 2).sum().backward()
    assert x.grad.shape == x.shape


def test_names_of_nodes():
    for package in BOTH:
        F = package.nn.functional
        x = package.ones(1, 4, 4, 4, requires_grad=True)
        results = [F.interpolate(x, 3), F.interpolate(x, 3, mode="bilinear", antialias=True),
                   F.interpolate(x[0], 3, mode="linear"), F.unfold(x, 2),
                   F.fold(x[0].flatten(1)[None, :, :4], 3, 2),
                   F.pixel_shuffle(x, 2), F.channel_shuffle(x, 2)]  # fmt: skip
        assert [y.grad_fn.name() for y in results] == [
            "UpsampleNearest2DBackward0", "UpsampleBilinear2DAaBackward0",
            "UpsampleLinear1DBackward0", "Im2ColBackward0", "Col2ImBackward0",
            "PixelShuffleBackward0", "ChannelShuffleBackward0",
        ]  # fmt: skip
