"""`torch._foreach_add` and its kin: a function of each tensor of a list, as optimizers call them.

Further arguments are lists of as many, or one for all. Ours go through the list: what is fast in
one call of C++ is `torch.optim`'s own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tiny_torch.functions.torch_linalg import vector_norm
from tiny_torch.tensor import Tensor

# Those that are methods, and those that have a form in place, too.
ALONE = "clone max"
IN_PLACE = """
    abs acos add addcdiv addcmul asin atan ceil clamp_max clamp_min copy cos cosh div erf erfc exp
    expm1 floor frac lerp lgamma log log10 log1p log2 maximum minimum mul neg pow reciprocal round
    rsqrt sigmoid sign sin sinh sqrt sub tan tanh trunc zero
"""


def maximum(x: Tensor, other: Any) -> Tensor:
    return x.maximum(other) if isinstance(other, Tensor) else x.clamp_min(other)


def minimum(x: Tensor, other: Any) -> Tensor:
    return x.minimum(other) if isinstance(other, Tensor) else x.clamp_max(other)


def addcmul(x: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any = 1) -> Tensor:
    return x.addcmul(tensor1, tensor2, value=value)


def addcdiv(x: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any = 1) -> Tensor:
    return x.addcdiv(tensor1, tensor2, value=value)


def norm(x: Tensor, ord: Any = 2, dtype: Any = None) -> Tensor:
    return vector_norm(x, ord, dtype=dtype)


def power(base: Any, exponent: Any) -> Tensor:
    return base**exponent


def in_place_form(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The form in place of a function."""

    def call(x: Tensor, *arguments: Any, **options: Any) -> Tensor:
        return x.copy_(function(x, *arguments, **options))

    return call


SCALED = ("addcmul", "addcmul_", "addcdiv", "addcdiv_")  # a value for each may be a tensor
OURS: dict[str, Any] = {
    "maximum": maximum,
    "minimum": minimum,
    "addcmul": addcmul,
    "addcdiv": addcdiv,
}


def foreach(name: str, function: Callable[..., Any], in_place: bool) -> Callable[..., Any]:
    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        first = self if isinstance(self, (list, tuple)) else arguments[0]
        if not first:
            raise RuntimeError("Tensor list must have at least one tensor.")
        columns = []
        for value in (self, *arguments):
            if isinstance(value, Tensor) and value.ndim == 1 and name in SCALED:
                value = value.tolist()
            several = isinstance(value, (list, tuple))
            if several and len(value) != len(first):
                raise RuntimeError(
                    "Tensor lists must have the same number of tensors, got "
                    f"{len(first)} and {len(value)}"
                )
            columns.append(value if several else [value] * len(first))
        results = [function(*row, **options) for row in zip(*columns, strict=True)]
        return self if in_place else tuple(results)

    call.__name__ = call.__qualname__ = f"_foreach_{name}"
    call.__doc__ = f"`{name}` of each tensor of a list."
    return call


def make() -> dict[str, Callable[..., Any]]:
    made = {"norm": foreach("norm", norm, False), "pow": foreach("pow", power, False)}
    for name in [*ALONE.split(), *IN_PLACE.split()]:
        function: Any = OURS.get(name) or getattr(Tensor, name, None)
        if function is not None and name != "copy":
            made.setdefault(name, foreach(name, function, False))
    for name in IN_PLACE.split():
        inside: Any = in_place_form(OURS[name]) if name in OURS else getattr(Tensor, f"{name}_")
        made[f"{name}_"] = foreach(f"{name}_", inside, True)
    return made


FUNCTIONS = {f"_foreach_{name}": function for name, function in make().items()}
globals().update(FUNCTIONS)


# ---- torch.utils._foreach_utils ----------------------------------------------------------------


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The devices whose lists optimizers change by one call."""
    return ["cuda"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """The devices with a kernel for a whole step."""
    return ["cpu", "cuda"]


def _device_has_foreach_support(device: Any) -> bool:
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors: list[Tensor], device: Any) -> bool:
    return _device_has_foreach_support(device) and all(isinstance(t, Tensor) for t in tensors)


def _group_tensors_by_device_and_dtype(
    tensorlistlist: list[list[Tensor | None]], with_indices: bool = False
) -> dict[Any, Any]:
    """{(device, dtype): (lists, indices)}: the lists parted by the tensors of the first."""
    groups: dict[Any, Any] = {}
    for i, row in enumerate(zip(*tensorlistlist, strict=True)):
        first = row[0]
        assert first is not None
        lists, indices = groups.setdefault((first.device, first.dtype), ([[] for _ in row], []))
        for column, value in zip(lists, row, strict=True):
            column.append(value)
        if with_indices:
            indices.append(i)
    return groups
