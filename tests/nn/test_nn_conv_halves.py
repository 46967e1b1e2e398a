"""Convolutions of halves: sums in float32, rounded once; bfloat16 by pairs or tiles where there are
any."""

import pytest
from helpers import same_bits

import tiny_torch as torch
from tiny_torch import _core

F = torch.nn.functional
CASES = [  # x, w, stride, padding, dilation, groups
    ((2, 3, 9, 11), (8, 3, 3, 3), 1, 1, 1, 1),
    ((3, 16, 8, 8), (33, 16, 3, 3), 1, 1, 1, 1),
    ((4, 64, 16, 16), (70, 64, 3, 3), 2, 1, 1, 1),
    ((1, 5, 20, 20), (7, 5, 5, 5), 2, 2, 2, 1),
    ((5, 130, 4, 4), (40, 130, 3, 3), 1, 1, 1, 1),
    ((4, 32, 7, 7), (16, 32, 1, 1), 1, 0, 1, 1),
    ((4, 32, 7, 7), (16, 32, 1, 1), 2, 0, 1, 1),
    ((2, 6, 4, 4), (20, 6, 4, 4), 1, 0, 1, 1),
    ((2, 8, 10, 10), (12, 4, 3, 3), 1, 1, 1, 2),
    ((2, 8, 10, 10), (8, 1, 3, 3), 1, 1, 1, 8),
    ((3, 1, 12, 12), (1, 1, 3, 3), 1, 0, 1, 1),
    ((2, 9, 40), (11, 9, 5), 2, 3, 1, 1),
    ((3, 7, 5, 6, 7), (10, 7, 2, 3, 3), 1, 1, 1, 1),
    ((3, 10, 5, 6, 7), (17, 10, 2, 3, 3), (1, 2, 1), 1, (2, 1, 1), 1),
    ((2, 40, 13, 35), (50, 40, 3, 2), (3, 1), (2, 0), 1, 1),
    ((1, 8, 90, 100), (9, 8, 3, 3), 1, 1, 1, 1),
    ((1, 33, 3), (16, 33, 3), 1, 1, 1, 1),
    ((40, 8, 2, 2), (8, 8, 2, 2), 2, 1, 1, 1),
]


def draw(shape, dtype, seed):
    torch.manual_seed(seed)
    return torch.randn(shape).to(dtype)


def run(x, w, bias, grad, settings):
    x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
    conv = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[x.ndim]
    y = conv(x, w, bias, *settings)
    y.backward(grad(y))
    return y.detach(), x.grad, w.grad


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("form", [torch.contiguous_format, torch.channels_last], ids=str)
@pytest.mark.parametrize("x_shape, w_shape, settings", [(x, w, s) for x, w, *s in CASES])
def test_results_and_gradients_are_those_of_float64_rounded(
    x_shape, w_shape, settings, form, dtype
):
    if form is torch.channels_last and len(x_shape) != 4:
        form = torch.contiguous_format
    x, w, bias = draw(x_shape, dtype, 0), draw(w_shape, dtype, 1), draw(w_shape[:1], dtype, 2)
    x = x.to(memory_format=form)

    def grad(y):
        return draw(tuple(y.shape), dtype, 3).to(y.dtype)

    results = run(x, w, bias, grad, settings)
    exact = run(x.double(), w.double(), bias.double(), grad, settings)
    sizes = run(x.double().abs(), w.double().abs(), bias.double().abs(), lambda y: grad(y).abs(),
                settings)  # fmt: skip
    rounding = 2.0**-8 if dtype is torch.bfloat16 else 2.0**-11
    for result, want, size in zip(results, exact, sizes, strict=True):
        assert result.dtype == dtype and result.stride() == want.stride()
        bound = rounding * want.abs() + 2e-5 * size + 2.0**-24
        assert ((result.double() - want).abs() <= bound).all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_the_bits_are_those_of_any_number_of_threads(dtype):
    x, w = draw((8, 48, 14, 14), dtype, 0), draw((50, 48, 3, 3), dtype, 1)
    before, results = torch.get_num_threads(), []
    for threads in (1, 2, 5):
        torch.set_num_threads(threads)
        results.append(run(x, w, None, lambda y: torch.ones_like(y), (1, 1)))
    torch.set_num_threads(before)
    for result in results:
        assert all(same_bits(a.float(), b.float()) for a, b in zip(result, results[0], strict=True))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("value", ["inf", "nan"])
def test_padding_stays_zero_next_to_a_weight_that_is_not_finite(dtype, value):
    x, w = torch.ones(1, 3, 4, 4, dtype=dtype), torch.ones(2, 3, 3, 3, dtype=dtype)
    w[0, 2, 0, 0] = float(value)
    result, expected = (F.conv2d(a, b, padding=1) for a, b in ((x, w), (x.float(), w.float())))
    assert result.float().nan_to_num(7.0, 9.0).tolist() == expected.nan_to_num(7.0, 9.0).tolist()


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 1e-39, -1e-39])
def test_a_special_value_is_seen_by_its_neighbours_alone(value):
    """At the end of a row and of an image: those that follow it in memory do not see it."""
    x, w = draw((2, 16, 5, 6), torch.bfloat16, 0), draw((20, 16, 3, 3), torch.bfloat16, 1)
    is_small = abs(value) < 1
    if is_small and _core.instruction_set == "v4bf16":
        pytest.skip("products of pairs count subnormals as 0")
    if is_small:
        x.zero_()
    x[0, 15, 1, 5] = x[0, 3, 4, 5] = value
    scale = 2.0**100 if is_small else 1.0  # of weights that show it
    results = run(x, w * scale, None, lambda y: torch.ones_like(y), (1, 1))
    wide = run(x.float(), w.float() * scale, None, lambda y: torch.ones_like(y), (1, 1))
    for result, want in zip(results, wide, strict=True):
        result, want = result.float(), want.to(torch.bfloat16).float()
        assert (result.isfinite() == want.isfinite()).all()
        finite = want.isfinite()
        size = want[finite].abs().max()
        assert size > 0
        assert (result[finite] - want[finite]).abs().max() <= 2.0**-7 * size


def test_a_transposed_convolution():
    x, w = draw((3, 20, 5, 5), torch.bfloat16, 0), draw((20, 13, 4, 4), torch.bfloat16, 1)
    want = F.conv_transpose2d(x.double(), w.double(), stride=2, padding=1)
    result = F.conv_transpose2d(x, w, stride=2, padding=1)
    assert ((result.double() - want).abs() <= 2.0**-8 * want.abs() + 1e-3).all()
