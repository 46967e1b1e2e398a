"""assert_close: tensors, numbers and containers of them, compared with tolerances."""

from __future__ import annotations

import cmath
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import tiny_torch as torch
from tiny_torch.tensor import Tensor

# By the dtype's name: (rtol, atol); any other dtype has to be equal.
TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
}
NUMBER_DTYPES: dict[type, str] = {int: "int64", float: "float64", complex: "float64"}


class Mismatch(Exception):
    """The exception that the user is to see, and where in the containers it came about."""

    def __init__(self, kind: type[Exception], text: str, path: tuple = ()) -> None:
        self.kind = kind
        self.text = text
        self.path = path

    def error(self, msg: str | Callable[[str], str] | None = None) -> Exception:
        if isinstance(msg, str):
            return self.kind(msg)
        text = self.text
        if self.path:
            place = "".join(str([key]) for key in self.path)
            text += f"\n\nThe failure occurred for item {place}"
        return self.kind(msg(text) if callable(msg) else text)


class Options(NamedTuple):
    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_stride: bool


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raises unless |actual - expected| <= atol + rtol * |expected| everywhere.

    For tensors and what torch.as_tensor takes, numbers, None, and sequences and mappings of these.
    Shapes, and what `check_...` names, must be the same, too. Tolerances follow from the dtype if
    neither is given. AssertionError for what differs (`msg` is its text, or makes it from the
    default one), TypeError for what cannot be compared, ValueError for one tolerance without the
    other. https://pytorch.org/docs/stable/testing.html#torch.testing.assert_close

    >>> import tiny_torch as torch
    >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.1]))
    Traceback (most recent call last):
    AssertionError: Tensor-likes are not close!
    <BLANKLINE>
    Mismatched elements: 1 / 2 (50.0%)
    Greatest absolute difference: 0.09999990463256836 at index (1,) (up to 1e-05 allowed)
    Greatest relative difference: 0.04761900380253792 at index (1,) (up to 1.3e-06 allowed)
    """
    __tracebackhide__ = True
    options = Options(
        allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_stride
    )
    try:  # what cannot be compared at all comes before what differs, and has no `msg`
        comparisons = [
            (comparison(a, b, options, path), path) for a, b, path in leaves(actual, expected)
        ]
    except Mismatch as mismatch:
        raise mismatch.error() from None
    for compare, path in comparisons:
        try:
            compare()
        except Mismatch as mismatch:
            mismatch.path = path
            raise mismatch.error(msg) from None


def leaves(actual: Any, expected: Any, path: tuple = ()) -> Iterator[tuple]:
    """The pairs within containers, each with its path; Mismatch where the containers differ."""
    if all(isinstance(v, Sequence) and not isinstance(v, str) for v in (actual, expected)):
        if len(actual) != len(expected):
            raise Mismatch(
                AssertionError,
                f"The length of the sequences mismatch: {len(actual)} != {len(expected)}",
                path,
            )
        for i in range(len(actual)):
            yield from leaves(actual[i], expected[i], (*path, i))
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        missing, additional = expected.keys() - actual.keys(), actual.keys() - expected.keys()
        if missing or additional:
            raise Mismatch(
                AssertionError,
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(missing)}\n"
                f"Additional keys in the actual mapping: {sorted(additional)}",
                path,
            )
        for key in actual:
            yield from leaves(actual[key], expected[key], (*path, key))
    else:
        yield actual, expected, path


def comparison(actual: Any, expected: Any, options: Options, path: tuple) -> Callable[[], None]:
    """How the two are to be compared; Mismatch if they cannot be."""
    pair = actual, expected
    if actual is None or expected is None:
        return lambda: compare_identity("None", actual, expected)
    if all(isinstance(v, bool | np.bool_) for v in pair):
        return lambda: compare_identity("Booleans", bool(actual), bool(expected))
    if all(isinstance(v, int | float | complex | np.number) for v in pair):
        a, b = (v.item() if isinstance(v, np.generic) else v for v in pair)
        for value in (a, b):
            if type(value) not in NUMBER_DTYPES:
                raise RuntimeError(f"cannot compare the numbers {a!r} and {b!r}")
        names = NUMBER_DTYPES[type(a)], NUMBER_DTYPES[type(b)]
        number_tolerances = tolerances(names, options, path)
        return lambda: compare_numbers(a, b, number_tolerances, options)
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    if related and (options.allow_subclasses or type(actual) is type(expected)):
        x, y = as_tensor(actual), as_tensor(expected)
        if x is not None and y is not None:
            tensor_tolerances = tolerances(
                (dtype_name(x.dtype), dtype_name(y.dtype)), options, path
            )
            return lambda: compare_tensors(x, y, tensor_tolerances, options)
    raise Mismatch(
        TypeError,
        "No comparison pair was able to handle inputs of type "
        f"{type(actual)} and {type(expected)}.",
        path,
    )


def as_tensor(value: Any) -> Tensor | None:
    try:
        return value if isinstance(value, Tensor) else torch.as_tensor(value)
    except Exception:  # whatever a foreign type raises: it is not like a tensor
        return None


def dtype_name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def tolerances(dtypes: tuple[str, str], options: Options, path: tuple) -> tuple[float, float]:
    """(rtol, atol): those given, or the larger ones of the dtypes."""
    rtol, atol = options.rtol, options.atol
    if (rtol is None) != (atol is None):
        raise Mismatch(
            ValueError,
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
            f"{'rtol' if rtol is None else 'atol'}.",
            path,
        )
    if rtol is not None and atol is not None:
        return rtol, atol
    pairs = [TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
    return max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)


def compare_identity(what: str, actual: Any, expected: Any) -> None:
    if actual is not expected:
        raise Mismatch(AssertionError, f"{what} mismatch: {actual} is not {expected}")


def compare_numbers(a: Any, b: Any, limits: tuple[float, float], options: Options) -> None:
    if options.check_dtype and type(a) is not type(b):
        raise Mismatch(AssertionError, f"The (d)types do not match: {type(a)} != {type(b)}.")
    if a == b or (options.equal_nan and cmath.isnan(a) and cmath.isnan(b)):
        return
    difference = abs(a - b)
    rtol, atol = limits
    if not (cmath.isfinite(difference) and difference <= atol + rtol * abs(b)):
        raise Mismatch(AssertionError, number_text(a, b, limits))


def compare_tensors(x: Tensor, y: Tensor, limits: tuple[float, float], options: Options) -> None:
    attributes: list[tuple[str, Any, Any, bool]] = [("shape", x.shape, y.shape, True)]
    if tuple(x.shape) == tuple(y.shape):
        attributes += [
            ("stride()", x.stride(), y.stride(), options.check_stride),
            ("device", x.device, y.device, options.check_device),
            ("dtype", x.dtype, y.dtype, options.check_dtype),
        ]
    for name, mine, its, wanted in attributes:
        if wanted and mine != its:
            raise Mismatch(
                AssertionError,
                f"The values for attribute '{name}' do not match: {mine} != {its}.",
            )
    x, y = x.detach(), y.detach()
    if x.device != y.device:
        x, y = x.cpu(), y.cpu()
    if x.dtype is not y.dtype:
        dtype = torch.promote_types(x.dtype, y.dtype)
        x, y = x.to(dtype), y.to(dtype)
    rtol, atol = limits
    matches = torch.isclose(x, y, rtol=rtol, atol=atol, equal_nan=bool(options.equal_nan))
    if matches.all():
        return
    if x.ndim == 0:
        raise Mismatch(AssertionError, number_text(x.item(), y.item(), limits))
    raise Mismatch(AssertionError, tensor_text(x, y, matches, limits))


# ---------------------------------------------------------------------------- texts of failures


def headline(what: str, limits: tuple[float, float]) -> str:
    return f"{what} are not {'equal' if limits == (0, 0) else 'close'}!\n\n"


def tolerance_text(limit: float, limits: tuple[float, float]) -> str:
    return "" if limits == (0, 0) else f" (up to {limit} allowed)"


def number_text(a: Any, b: Any, limits: tuple[float, float]) -> str:
    rtol, atol = limits
    difference = abs(a - b)
    ratio = float("inf") if b == 0 else difference / abs(b)
    return (
        headline("Scalars", limits) + f"Expected {b} but got {a}.\n"
        f"Absolute difference: {difference}{tolerance_text(atol, limits)}\n"
        f"Relative difference: {ratio}{tolerance_text(rtol, limits)}"
    )


def tensor_text(x: Tensor, y: Tensor, matches: Tensor, limits: tuple[float, float]) -> str:
    shape, total = tuple(matches.shape), matches.numel()
    matches, x, y = matches.flatten(), x.flatten(), y.flatten()
    if not x.dtype.is_floating_point:
        x, y = x.long(), y.long()
    difference = torch.abs(x - y)
    difference[matches] = 0  # only what does not match counts
    ratio = difference / torch.abs(y)
    ratio[matches] = 0

    wrong = total - int(matches.sum())
    lines = [f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})"]
    measures = ("absolute", difference, limits[1]), ("relative", ratio, limits[0])
    for name, values, limit in measures:
        largest, at = values.max(0)
        index = tuple(int(i) for i in np.unravel_index(int(at), shape))
        lines.append(
            f"Greatest {name} difference: {largest.item()} at index {index}"
            f"{tolerance_text(limit, limits)}"
        )
    return headline("Tensor-likes", limits) + "\n".join(lines)
