"""Windows of signals, next to PyTorch's numbers."""

import numpy as np
import pytest

import tiny_torch

WINDOWS = ("hann", "hamming", "bartlett", "blackman", "kaiser")
# The bounds are a few roundings of PyTorch's own: a half is rounded after each step.
BOUNDS = {"float64": 1e-14, "float32": 3e-6, "float16": 1e-2, "bfloat16": 8e-2}


def values(torch, name, count, dtype, *arguments):
    window = getattr(torch, f"{name}_window")(count, *arguments, dtype=getattr(torch, dtype))
    assert str(window.dtype) == f"torch.{dtype}"
    return window.double().numpy()


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("name", WINDOWS)
def test_values(oracle, name, dtype):
    for count in (0, 1, 2, 3, 10, 101):
        for periodic in ((), (True,), (False,)):
            ours, theirs = (values(t, name, count, dtype, *periodic) for t in (tiny_torch, oracle))
            np.testing.assert_allclose(ours, theirs, 0, BOUNDS[dtype])


@pytest.mark.parametrize(
    "name, coefficients", [("hamming", (0.5, 0.3)), ("hamming", (1,)), ("kaiser", (5,))]
)
def test_coefficients(oracle, name, coefficients):
    ours, theirs = (
        values(t, name, 9, "float64", False, *coefficients) for t in (tiny_torch, oracle)
    )
    np.testing.assert_allclose(ours, theirs, 0, 1e-14)


def test_integer_dtypes_are_named():
    with pytest.raises(RuntimeError, match=r"hann_window expects floating point .*dtype=long int,"):
        tiny_torch.hann_window(4, dtype=tiny_torch.int64)
    with pytest.raises(RuntimeError, match="requires non-negative window_length, got window_leng"):
        tiny_torch.kaiser_window(-1)


def test_range_says_that_it_is_deprecated():
    with pytest.warns(UserWarning, match="torch.range is deprecated"):
        tiny_torch.range(0, 1)
