"""A value depends on its inputs: not on its place, the layout or the number of threads.

And what threads must survive: a fork, a small number of them, a large one.
"""

import os
import signal

import numpy as np
import pytest
from helpers import layouts, same_bits

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.nn import functional as F

SHAPES = [
    *[(3,), (1000,), (70, 300), (5, 7, 11), (3, 100_000), (40_000, 3)],
    # Short rows, narrow columns, many chunks.
    *[(900, 10), (70, 5, 96), (40, 50, 20), (33, 65), (300_000,)],
]


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def draw(shape, dtype=np.float32, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


REDUCE = {
    "sum": lambda x: [x.sum(), *(x.sum(d) for d in range(x.ndim))],
    "mean": lambda x: [x.mean(), *(x.mean(d, keepdim=True) for d in range(x.ndim))],
    "prod": lambda x: [(x * 0.5).prod(0)],
    "amax": lambda x: [x.amax(), *(x.amax(d) for d in range(x.ndim))],
    "max": lambda x: [part for d in range(x.ndim) for part in x.max(d)],
    "logsumexp": lambda x: [x.logsumexp(tuple(range(x.ndim))), x.logsumexp(0)],
    "norm": lambda x: [x.norm(), *(x.norm(dim=d) for d in range(x.ndim))],
    "sum of two dims": lambda x: [x.sum(tuple({0, x.ndim - 1}))],
}
ELEMENTWISE = ["exp", "tanh", "sigmoid", "erf", "sin", "log1p", "rsqrt", "expm1"]


@pytest.mark.parametrize("name", REDUCE)
@pytest.mark.parametrize("shape", SHAPES)
def test_reductions_have_the_same_bits_in_every_layout_and_number_of_threads(name, shape):
    x = draw(shape)
    torch.set_num_threads(1)
    expected = REDUCE[name](x)
    for n in (1, 2, 3, 8):
        torch.set_num_threads(n)
        for other in layouts(x):
            for got, want in zip(REDUCE[name](other), expected, strict=True):
                assert same_bits(got, want), (n, other.stride())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape", [*SHAPES, (5000, 300)])
def test_sums_of_halves_are_those_of_float32(dtype, shape):
    x = draw(shape).to(getattr(torch, dtype))
    for other in layouts(x):
        for got, want in zip(REDUCE["sum"](other), REDUCE["sum"](x.float()), strict=True):
            assert same_bits(got.float(), want.to(x.dtype).float())


@pytest.mark.parametrize("shape", [*SHAPES, (20, 9000)])
def test_sums_of_bools(shape):
    x = draw(shape) > 0
    for other in layouts(x):
        for got, want in zip(REDUCE["sum"](other), REDUCE["sum"](x.long()), strict=True):
            assert got.dtype == torch.int64 and same_bits(got, want)


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_elementwise_values_do_not_depend_on_their_place(name, dtype):
    x = draw((1001,), dtype).abs()
    expected = getattr(x, name)()
    for other in layouts(x):
        assert same_bits(getattr(other, name)(), expected)
    for start in (1, 2, 3, 5, 31, 997):
        assert same_bits(getattr(x[start:], name)(), expected[start:])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int64", "int32", "uint8"])
def test_conversions_do_not_depend_on_their_place(dtype):
    """Whole vectors and what is left of a row; every kind of NaN."""
    bits = np.random.default_rng(0).integers(0, 2**32, 1001, dtype=np.uint32)
    bits[::7] = bits[::7] & 0x007FFFFF | 0x7F800000
    x = torch.from_numpy(bits.view(np.float32))

    def converted(values):
        result = values.to(getattr(torch, dtype)).contiguous()
        return result.view(torch.int16) if dtype == "bfloat16" else result  # NumPy has none

    expected, back = converted(x), x.to(getattr(torch, dtype)).float()
    for other in layouts(x):
        assert same_bits(converted(other), expected)
    for start in (1, 2, 3, 5, 31, 997):
        assert same_bits(converted(x[start:]), expected[start:])
        assert same_bits(x.to(getattr(torch, dtype))[start:].float(), back[start:])


INDEXED = {
    "gather": lambda x, rows, at: x.gather(1, at),
    "scatter": lambda x, rows, at: x.scatter(1, at, x * 2),
    "scatter_add": lambda x, rows, at: x.scatter_add(1, at, x),
    "scatter_add of dim 0": lambda x, rows, at: x.scatter_add(0, at % len(x), x),
    "scatter_reduce": lambda x, rows, at: x.scatter_reduce(1, at, x, "prod", include_self=False),
    "index_select": lambda x, rows, at: x.index_select(0, rows),
    "index_add": lambda x, rows, at: x.index_add(0, rows, x),
    "index_add of dim 1": lambda x, rows, at: x.index_add(1, at[0], x),
    "index_put": lambda x, rows, at: x.index_put((rows,), x),
    "index_put accumulating": lambda x, rows, at: x.index_put((rows,), x, accumulate=True),
    "x[i, j]": lambda x, rows, at: x[rows[:, None], at],
    "x[i, j] += y": lambda x, rows, at: x.index_put((rows[:, None], at), x, accumulate=True),
    "take": lambda x, rows, at: x.take(at),
    "put": lambda x, rows, at: x.put(at, x, accumulate=True),
    "masked_select": lambda x, rows, at: x[x > 0],
    "masked_scatter": lambda x, rows, at: x.masked_scatter(x > 0, -x),
    "masked_fill": lambda x, rows, at: x.masked_fill(x > 0, 3),
    "nonzero": lambda x, rows, at: (x > 0).nonzero(),
    "flip and roll": lambda x, rows, at: x.flip((0, 1)).roll((3, 5), (0, 1)),
    "triangles": lambda x, rows, at: x.tril(2) - x.triu(-1),
    "argmax": lambda x, rows, at: x.argmax(1),
}


@pytest.mark.parametrize("name", INDEXED)
@pytest.mark.parametrize("shape", [(300, 400), (20_000, 5), (3, 50_000)])
def test_indexing_has_the_same_bits_for_any_number_of_threads(name, shape):
    x, random = draw(shape), np.random.default_rng(1)
    rows = torch.from_numpy(random.integers(0, shape[0], shape[0]))
    at = torch.from_numpy(random.integers(0, shape[1], shape))
    torch.set_num_threads(1)
    expected = INDEXED[name](x, rows, at)
    for n in (2, 3, 8):
        torch.set_num_threads(n)
        assert same_bits(INDEXED[name](x, rows, at), expected), n


def classes_of(x):
    return torch.arange(len(x)) % x.shape[-1]


# Over lines along the last dim: (x, weight, bias) -> a result of x's shape, or one per line.
ALONG_LINES = {
    "layer_norm": lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b),
    "layer_norm without weights": lambda x, w, b: F.layer_norm(x, x.shape[-1:]),
    "rms_norm": lambda x, w, b: F.rms_norm(x, x.shape[-1:], w),
    "softmax": lambda x, w, b: x.softmax(-1),
    "log_softmax": lambda x, w, b: x.log_softmax(-1),
    "logsumexp": lambda x, w, b: x.logsumexp(-1),
    "cross_entropy": lambda x, w, b: F.cross_entropy(
        x.flatten(0, -2), classes_of(x.flatten(0, -2)), label_smoothing=0.1
    ),
}


@pytest.mark.parametrize("name", ALONG_LINES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize(
    "shape", [(1, 40), (70, 1), (67, 9), (129, 300), (19, 4099), (5, 7, 33), (2, 90, 64)]
)
def test_lines_have_the_same_bits_in_every_layout_and_number_of_threads(name, dtype, shape):
    """Rows, columns, columns that are turned into rows some at a time; the gradients, too."""

    def turned(x):
        yield from layouts(x)
        if x.ndim > 2:
            yield x.transpose(-1, -2).contiguous().transpose(-1, -2)

    def run(x, grad):
        leaves = [t.detach().requires_grad_() for t in (x, weight, bias)]
        y = ALONG_LINES[name](*leaves)
        y.backward(grad if y.shape == grad.shape else None if y.ndim == 0 else grad[..., 0])
        return [y.detach(), *(t.grad for t in leaves if t.grad is not None)]

    x, grad = [draw(shape, seed=seed).to(getattr(torch, dtype)) for seed in (0, 1)]
    weight, bias = [draw(shape[-1:], seed=seed).to(getattr(torch, dtype)) for seed in (2, 3)]
    torch.set_num_threads(1)
    expected = run(x, grad)
    for n in (1, 2, 3):
        torch.set_num_threads(n)
        for k, other in enumerate(turned(x)):
            other_grad = list(turned(grad))[k if n > 1 else 0]
            for got, want in zip(run(other, other_grad), expected, strict=True):
                assert same_bits(got.double(), want.double()), (n, other.stride())


ORDERED = {
    "sort": lambda x: x.sort(-1),
    "sort descending": lambda x: x.sort(-1, descending=True),
    "topk": lambda x: x.topk(x.shape[-1] // 2, -1),
    "topk of few": lambda x: x.topk(1, -1),
    "kthvalue": lambda x: x.kthvalue(x.shape[-1] // 2 + 1, -1),
    "median": lambda x: x.median(-1),
    "mode": lambda x: x.mode(-1),
}


@pytest.mark.parametrize("name", ORDERED)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64", "uint8"])
@pytest.mark.parametrize("shape", [(1, 40), (70, 1), (67, 300), (5, 7, 33), (2, 90, 64)])
def test_order_is_the_same_in_every_layout_and_number_of_threads(name, dtype, shape):
    x = (draw(shape) * 20).abs().to(getattr(torch, dtype))
    torch.set_num_threads(1)
    expected = ORDERED[name](x)
    for n in (1, 2, 3):
        torch.set_num_threads(n)
        for other in layouts(x):
            for got, want in zip(ORDERED[name](other), expected, strict=True):
                assert same_bits(got.double(), want.double()), (n, other.stride())


@pytest.mark.parametrize("m, k, n", [(3, 4, 5), (1, 300, 7), (64, 784, 10), (130, 500, 129)])
def test_matmul_has_the_same_bits_in_every_layout_and_number_of_threads(m, k, n):
    a, b = draw((m, k)), draw((k, n))
    torch.set_num_threads(1)
    expected = a @ b
    for threads in (1, 2, 5):
        torch.set_num_threads(threads)
        for left in layouts(a):
            for right in layouts(b):
                assert same_bits(left @ right, expected)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("shape", [(2, 3, 7, 5), (1, 16, 5, 12), (2, 33, 9, 12)])
def test_average_pools_have_the_same_bits_channels_last(shape, size):
    x = draw(shape)
    last = x.to(memory_format=torch.channels_last)
    pool = F.adaptive_avg_pool2d
    assert np.array_equal(pool(x, size).numpy(), pool(last, size).contiguous().numpy())


def test_a_gradient_does_not_depend_on_the_number_of_threads():
    def gradients(threads):
        torch.set_num_threads(threads)
        torch.manual_seed(0)
        x = torch.randn(300, 200, requires_grad=True)
        w = torch.randn(100, 200, requires_grad=True)
        torch.nn.functional.linear(x, w).tanh().sum().backward()
        return x.grad.numpy().tobytes(), w.grad.numpy().tobytes()

    assert gradients(1) == gradients(2) == gradients(7)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_computes_and_does_not_hang():
    big = draw((1000, 1000))
    expected = (big @ big).sum().item()  # the parent has started its threads
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        alone = torch.get_num_threads() == 1
        result = (big @ big).sum().item()
        os.write(write, b"same" if alone and result == expected else b"differs")
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert os.read(read, 100) == b"same"


def test_set_num_threads_refuses_none():
    with pytest.raises(RuntimeError, match="positive integer"):
        torch.set_num_threads(0)


@pytest.mark.parametrize("isa", ["v1", "V3", "avx"])
def test_an_unknown_instruction_set_is_refused(isa):
    import subprocess
    import sys

    run = subprocess.run(
        [sys.executable, "-c", "import tiny_torch"],
        env={**os.environ, "TINY_TORCH_ISA": isa},
        capture_output=True,
        text=True,
    )
    assert run.returncode != 0
    assert "is not one of v2, v3, v4" in run.stderr or "not supported" in run.stderr


def test_the_chosen_instruction_set_is_the_one_asked_for():
    wanted = os.environ.get("TINY_TORCH_ISA")
    assert _core.instruction_set == (wanted or _core.instruction_set)
