"""What the tables of cases share: tensors of any layout in both packages, and their comparison."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases.op_cases import DEVICES, FLOATS, HALVES, LAYOUTS, numbers

import tiny_torch

CONTIGUOUS = ("contiguous",) * 3
# Where tests/cuda runs what CUDA's kernels have: "cuda" on a GPU (benchmarks/gpu.sh).
CUDA = os.environ.get("TINY_TORCH_TEST_DEVICE", "cuda-emulated")
DTYPE_NAMES = {np.dtype(name): name for name in ("bool", "uint8", "int32", "int64")}
EPSILON = {
    name: float(tiny_torch.finfo(getattr(tiny_torch, name)).eps) for name in (*HALVES, *FLOATS)
}


def make(
    module: Any,
    values: np.ndarray,
    shape: tuple,
    layout: str,
    device: str = "cpu",
    dtype: str | None = None,
) -> Any:
    """A tensor of `module` that shows some of `values` (flat) in a layout, converted to `dtype`."""
    strides, offset = LAYOUTS[layout](shape)
    flat = module.from_numpy(values.copy())
    if dtype is not None:
        flat = flat.to(getattr(module, dtype))
    if device != "cpu" and module is tiny_torch:
        flat = flat.to(device)
    return flat.as_strided(shape, strides, offset)


def extent(shape: tuple, layout: str) -> int:
    """How many elements of memory a layout spans."""
    strides, offset = LAYOUTS[layout](shape)
    reach = sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    return offset + 1 + max(reach, 0)


def operands(module, domains, shapes, layouts, dtypes, device="cpu", seed=0) -> list:
    """One tensor per domain; the same numbers for both packages."""
    return [
        make(
            module,
            numbers(domain, dtype, extent(shape, layout), seed + i),
            shape,
            layout,
            device,
            dtype,
        )
        for i, (domain, shape, layout, dtype) in enumerate(
            zip(domains, shapes, layouts, dtypes, strict=True)
        )
    ]


def array_of(tensor: Any) -> np.ndarray:
    if dtype_name(tensor) == "bfloat16":  # which NumPy does not have
        tensor = tensor.float()
    return np.asarray(tensor.numpy(force=True))


def dtype_name(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.").removeprefix("tiny_torch.")


def flatten(result: Any) -> list:
    """The tensors of a result: it may be one, a tuple of them, None, or a number."""
    if isinstance(result, tuple | list):
        return [leaf for part in result for leaf in flatten(part)]
    return [result]


def outcome(function: Callable[[], Any]) -> tuple[Exception | None, list]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return None, flatten(function())
        except Exception as error:
            return error, []


def agreed(call: Callable[[str], Any]) -> tuple[list, list]:
    """What a function of the device answers on CUDA and on the CPU, where neither raises.

    Else both raise the same; but for a wrong index, which CUDA tells of when somebody waits.
    """
    error, found = outcome(lambda: call(CUDA))
    expected_error, expected = outcome(lambda: call("cpu"))
    later, _ = outcome(lambda: tiny_torch.ones((), device=CUDA).item())
    if later is None:
        assert repr(error).replace(f"torch.{CUDA}.", "torch.") == repr(expected_error)
    else:
        assert "device-side assert triggered\nindex" in str(later) and error is None
        assert isinstance(expected_error, (IndexError, RuntimeError))
    return ([], []) if later or error else (found, expected)


def closeness(ours: np.ndarray, theirs: np.ndarray, ulps: float, dtype: str) -> np.ndarray:
    """Where the values of a dtype agree: exactly for integers, NaN equal to NaN."""
    with np.errstate(all="ignore"):
        same = (ours == theirs) | ((ours != ours) & (theirs != theirs))
        if ours.dtype.kind != "f" or same.all():
            return same
        scale = np.abs(theirs)
        if ulps > 16:  # sums cancel: their error is that of the largest term
            finite = scale[np.isfinite(scale)]
            scale = scale + (finite.max() if finite.size else 0) + 1
        error = np.abs(ours.astype("float64") - theirs)
        return same | (error <= ulps * EPSILON[dtype] * scale)


def compare(ours: Any, theirs: Any, where: str, ulps: float = 4, strides: bool = True) -> None:
    """Fails unless two tensors agree in dtype, shape, strides and values."""
    if ours is None or theirs is None or not hasattr(theirs, "dtype"):
        assert (ours is None) == (theirs is None), f"{where}: {ours} instead of {theirs}"
        assert ours == theirs, f"{where}: {ours} instead of {theirs}"
        return
    assert dtype_name(ours) == dtype_name(theirs), (
        f"{where}: dtype {ours.dtype}, not {theirs.dtype}"
    )
    assert tuple(ours.shape) == tuple(theirs.shape), f"{where}: {ours.shape}, not {theirs.shape}"
    if strides:
        pair = tuple(ours.stride()), tuple(theirs.stride())
        assert pair[0] == pair[1], f"{where}: strides {pair[0]}, not {pair[1]}"
    values, expected = array_of(ours), array_of(theirs)
    close = closeness(values, expected, ulps, dtype_name(ours))
    if not close.all():
        wrong = ~close
        at = np.argwhere(wrong)[:3]
        pytest.fail(
            f"{where}: {int(wrong.sum())} of {wrong.size} values differ, such as "
            f"{values[wrong][:3]} instead of {expected[wrong][:3]} at {at.tolist()}"
        )


def check(where: str, ours: Callable[[], Any], theirs: Callable[[], Any], **tolerance: Any) -> None:
    """Fails unless both give the same tensors, or raise the same type of exception."""
    error, expected = outcome(theirs)
    our_error, results = outcome(ours)
    skip_if_not_on_ref(our_error)
    if error is None and our_error is not None:
        raise AssertionError(f"{where}: raised {our_error!r}") from our_error
    if error is not None:
        assert our_error is not None, f"{where}: nothing raised, PyTorch says {error!r}"
        kinds = type(our_error), type(error)
        assert kinds[0] is kinds[1], f"{where}: raised {our_error!r}, PyTorch {error!r}"
        return
    assert len(results) == len(expected), f"{where}: {len(results)} results, not {len(expected)}"
    for ours_part, theirs_part in zip(results, expected, strict=True):
        compare(ours_part, theirs_part, where, **tolerance)


def skip_if_not_on_ref(error: Exception | None) -> None:
    """Skips where `ref` refused a method that its closed list does not have."""
    refused = re.search(r"\[(\w+)\] is not implemented on ref", str(error))
    if refused:
        from tiny_torch import reference

        assert refused[1] not in reference.METHODS, error
        pytest.skip(str(error))


@contextlib.contextmanager
def all_failures():
    """Collects the failures of many checks, to raise them as one."""
    failures: list[str] = []

    class Collect:
        def __enter__(self):
            return self

        def __exit__(self, kind, error, trace):
            if kind is not None and issubclass(kind, AssertionError | pytest.fail.Exception):
                failures.append(str(error).split("\n")[0])
                return True
            return None

    try:
        yield Collect()
    except pytest.skip.Exception:
        if not failures:
            raise
    if failures:
        pytest.fail(f"{len(failures)} failures:\n" + "\n".join(failures[:12]), pytrace=False)


def leaf(torch, *values, **options):
    """A 1-d tensor of the values that requires grad."""
    return torch.tensor(values, requires_grad=True, **options)


def on_intel():
    """Whether PyTorch draws some of its random numbers by MKL here."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        return "GenuineIntel" in cpuinfo.read_text()
    return "Intel" in platform.processor()


def by_name(cases):
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases])


on_devices = pytest.mark.parametrize("device", DEVICES)


def gradients(module, case, inputs, device):
    """(results, first gradients, second gradients) with fixed weights."""
    xs = [x.detach().requires_grad_() for x in operands(module, *inputs, device)]
    results = [r for r in flatten(case(module, *xs)) if is_float(r)]
    if not results:
        return [], []
    weights = [weight(module, r, i).requires_grad_() for i, r in enumerate(results)]
    first = module.autograd.grad(
        results, xs, weights, create_graph=True, allow_unused=True, materialize_grads=True
    )
    recorded = [(g, weight(module, g, 7 + i)) for i, g in enumerate(first) if g.requires_grad]
    if not recorded:
        return first, []
    grads, seconds = zip(*recorded, strict=True)
    return first, module.autograd.grad(grads, (*xs, *weights), seconds, allow_unused=True)


def is_float(result):
    return hasattr(result, "is_floating_point") and result.is_floating_point()


def weight(module, like, seed):
    dtype = dtype_name(like)
    values = numbers("real", dtype, max(like.numel(), 1), 100 + seed)
    return make(module, values, tuple(like.shape), "contiguous", str(like.device), dtype)


def zero_if_none(gradient, like):
    return like.detach() * 0 if gradient is None else gradient


def layouts(x):
    """The same values and shape in other strides."""
    yield x.clone()
    if x.ndim > 1:
        order = tuple(reversed(range(x.ndim)))
        yield x.permute(order).contiguous().permute(order)
    wide = tiny_torch.zeros(*x.shape[:-1], 2 * x.shape[-1], dtype=x.dtype)
    wide[..., ::2] = x
    yield wide[..., ::2]
    flat = tiny_torch.zeros(x.numel() + 1, dtype=x.dtype)
    flat[1:] = x.reshape(-1)
    yield flat[1:].view(x.shape)


def same_bits(a, b):
    return a.shape == b.shape and array_of(a).tobytes() == array_of(b).tobytes()
