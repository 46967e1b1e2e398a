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


# ------------------------------------------------------------------------- torch.signal.windows
SIGNAL_WINDOWS = [
    ("bartlett", {}), ("blackman", {}), ("cosine", {}), ("exponential", {}), ("gaussian", {}),
    ("hamming", {}), ("hann", {}), ("kaiser", {}), ("nuttall", {}),
    ("exponential", {"tau": 2.5}), ("exponential", {"center": 1.5, "sym": False}),
    ("gaussian", {"std": 0.7}), ("general_cosine", {"a": [0.4, 0.6]}),
    ("general_cosine", {"a": (0.3, 0.3, 0.2, 0.2)}), ("general_hamming", {"alpha": 0.7}),
    ("kaiser", {"beta": 0.0}), ("kaiser", {"beta": 3.5}),
]  # fmt: skip


@pytest.mark.parametrize("name, options", SIGNAL_WINDOWS)
def test_signal_windows(oracle, name, options):
    symmetries = [{}, {"sym": False}] if "sym" not in options else [{}]
    for count in (0, 1, 2, 3, 10, 101):
        for symmetry in symmetries:
            made = {**options, **symmetry}
            ours, theirs = (
                getattr(torch.signal.windows, name)(count, **made, dtype=torch.float64)
                for torch in (tiny_torch, oracle)
            )
            assert ours.requires_grad is False and ours.dtype is tiny_torch.float64
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), 0, 1e-14)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "float32", "bfloat16"])
def test_lengths_of_signal_windows_may_be_tensors(oracle, dtype):
    for name in ("bartlett", "hann", "kaiser", "blackman"):
        ours, theirs = (
            getattr(torch.signal.windows, name)(torch.tensor(1, dtype=getattr(torch, dtype)))
            for torch in (tiny_torch, oracle)
        )
        assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize(
    "text",
    [
        "bartlett(-1)", "hann(-1)", "hamming(-1)", "blackman(-1)", "gaussian(-1, std=-1)",
        "bartlett(5, dtype=torch.float16)", "hann(5, dtype=torch.int64)",
        "kaiser(5, layout=torch.sparse_coo)", "kaiser(5, beta=-1)", "gaussian(5, std=0)",
        "exponential(5, tau=0)", "exponential(5, center=2)", "exponential(5, tau=-1, center=1)",
        "general_cosine(5, a=[])", "general_cosine(5, a=3)", "cosine()", "cosine(5, 5)",
        "bartlett(torch.tensor(-1))",
    ],
)  # fmt: skip
def test_signal_windows_refuse(oracle, text):
    said = []
    for torch in (tiny_torch, oracle):
        with pytest.raises((TypeError, ValueError)) as caught:
            eval(f"torch.signal.windows.{text}", {"torch": torch})
        said.append((caught.type, str(caught.value)))
    assert said[0] == said[1]
