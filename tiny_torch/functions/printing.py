"""Text of tensors, as PyTorch prints them."""

from __future__ import annotations

import math
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.graph import edge_of
from tiny_torch.functions.public import function, method
from tiny_torch.tensor import Tensor


class Options:
    precision = 4
    threshold: float = 1000
    edgeitems = 3
    linewidth: float = 80
    sci_mode: bool | None = None


options = Options()


@function
def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """How tensors are printed. https://pytorch.org/docs/stable/generated/torch.set_printoptions.html"""
    # A tensor as a number of digits would be printed to print it.
    precision = None if precision is None else precision.__index__()
    edgeitems = None if edgeitems is None else edgeitems.__index__()
    profiles = {
        "default": (4, 1000, 3, 80),
        "short": (2, 1000, 2, 80),
        "full": (4, math.inf, 3, 80),
    }
    if profile in profiles:  # PyTorch ignores others
        (options.precision, options.threshold, options.edgeitems, options.linewidth) = profiles[
            profile
        ]
    for name, value in (
        ("precision", precision),
        ("threshold", threshold),
        ("edgeitems", edgeitems),
        ("linewidth", linewidth),
    ):
        if value is not None:
            setattr(options, name, value)
    options.sci_mode = sci_mode


class Format:
    """One format for all elements that are shown.

    What it is, and how wide, follows from the finite ones but 0; the others are wider, if need be.
    """

    def __init__(self, values: list, floating: bool):
        self.floating = floating
        self.integers = True  # floats that all have integer values, printed as "1."
        self.scientific = False
        self.width = 1
        if floating:
            values = [v for v in values if math.isfinite(v) and v != 0]
            if not values:
                return
            largest, smallest = max(map(abs, values)), min(map(abs, values))
            self.integers = all(v == math.ceil(v) for v in values)
            wide = largest / smallest > 1000.0 or largest > 1.0e8 or smallest < 1.0e-4
            self.scientific = wide if options.sci_mode is None else options.sci_mode
        self.width = max((len(self.text(v)) for v in values), default=1)

    def text(self, value: Any) -> str:
        if not self.floating:
            return str(value)
        if self.scientific:
            return f"{value:.{options.precision}e}"
        if self.integers:
            return f"{value:.0f}" + ("." if math.isfinite(value) else "")
        return f"{value:.{options.precision}f}"

    def pad(self, value: Any) -> str:
        return self.text(value).rjust(self.width)


def vector_text(values: list, form: Format, indent: int) -> str:
    """One row; `values` has an Ellipsis where elements are left out."""
    per_line = max(1, int((options.linewidth - indent) // (form.width + 2)))
    left_out = " ..." if len(values) > 1 else "..."
    texts = [left_out if v is ... else form.pad(v) for v in values]
    lines = [texts[i : i + per_line] for i in range(0, len(texts), per_line)] or [[]]
    return "[" + (",\n" + " " * (indent + 1)).join(", ".join(line) for line in lines) + "]"


def nested_text(data: Any, ndim: int, form: Format, indent: int) -> str:
    if ndim == 0:
        return form.pad(data)
    if ndim == 1:
        return vector_text(data, form, indent)
    rows = ["..." if row is ... else nested_text(row, ndim - 1, form, indent + 1) for row in data]
    return "[" + ("," + "\n" * (ndim - 1) + " " * (indent + 1)).join(rows) + "]"


def cut(array: Any, edge: int) -> Any:
    """Nested lists of an array's elements, only the first and last few along each dim."""
    if array.ndim == 0:
        return array.item()
    size = array.shape[0]
    if size <= 2 * edge:
        return [cut(array.select(0, i), edge) for i in range(size)]
    first = [cut(array.select(0, i), edge) for i in range(edge)]
    last = [cut(array.select(0, i), edge) for i in range(size - edge, size)]
    return [*first, ..., *last]


def elements_in(data: Any) -> list:
    if data is ...:
        return []
    return [leaf for row in data for leaf in elements_in(row)] if isinstance(data, list) else [data]


def elements_text(array: Any, indent: int) -> str:
    summarised = array.size > options.threshold
    data = cut(array, options.edgeitems) if summarised else array.tolist()
    form = Format(elements_in(data), array.dtype.is_floating_point)
    return nested_text(data, array.ndim, form, indent)


def history_text(tensor: Tensor) -> list[str]:
    try:
        edge = edge_of(tensor)
    except RuntimeError:  # a view that a write has left without a gradient
        return ["grad_fn=<Invalid>"]
    if edge is None:
        return []
    return [
        "requires_grad=True"
        if edge[0] is tensor
        else f"grad_fn=<{edge[0].name().rpartition('::')[2]}>"
    ]


def with_suffixes(text: str, suffixes: list[str], indent: int, own_line: bool = False) -> str:
    """The text and what follows it, in lines; `own_line`: the first begins one."""
    length = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if own_line or length + len(suffix) + 2 > options.linewidth:
            text += ",\n" + " " * indent + suffix
            length = indent + len(suffix)
            own_line = False
        else:
            text += ", " + suffix
            length += len(suffix) + 2
    return text


@method("__repr__")
def tensor_text(tensor: Tensor, *, tensor_contents: str | None = None) -> str:
    """What repr(tensor) says; `tensor_contents` in the place of its elements, if given."""
    kind = type(tensor).__name__
    prefix = "tensor(" if kind in ("Tensor", "Parameter") else f"{kind}("
    array = tensor.array
    suffixes = []
    if array.device != "cpu":
        suffixes.append(f"device='{tensor.device}'")
    common = (_core.get_default_dtype(), _core.int64, _core.bool)
    if array.device == "meta":
        suffixes.append(f"size={tuple(array.shape)}")
        if array.dtype is not _core.get_default_dtype():
            suffixes.append(f"dtype={array.dtype}")
        body = "..."
    elif array.size == 0:
        if array.ndim != 1:
            suffixes.append(f"size={tuple(array.shape)}")
        if array.dtype is not _core.get_default_dtype():
            suffixes.append(f"dtype={array.dtype}")
        body = "[]"
    else:
        if options.edgeitems == 0:
            suffixes.append(f"size={tuple(array.shape)}")
        if array.dtype not in common:
            suffixes.append(f"dtype={array.dtype}")
        body = tensor_contents or elements_text(array, len(prefix))
    suffixes += history_text(tensor)
    text = with_suffixes(prefix + body, suffixes, len(prefix))
    marked = kind != "Parameter" and getattr(tensor, "_is_param", False)  # of a user's class
    return f"Parameter({text}))" if marked else text + ")"
