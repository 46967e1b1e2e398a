"""`ReduceOp`: how collectives combine, and what each does to two rows."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from typing import Any

import tiny_torch as torch
from tiny_torch.distributed.rows import Flat


class ReduceOp(enum.IntEnum):
    """How collectives combine what the ranks have.

    SUM, PRODUCT, MIN, MAX of all dtypes; AVG of floating ones; BAND, BOR, BXOR of others. By NCCL,
    AVG of integers, too, none of the last three, and `_make_nccl_premul_sum(factor)`.
    https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.ReduceOp
    """

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"

    def __repr__(self) -> str:
        return f"<{self}: {int(self)}>"

    @classmethod
    def _missing_(cls, value: object) -> Any:
        raise TypeError(f"ReduceOp: {value!r} is none; there are {', '.join(cls.__members__)}")


@dataclasses.dataclass(frozen=True)
class PremulSum:
    """NCCL's sum of what each rank multiplies by a factor of its own."""

    factor: float
    name = "PREMUL_SUM"


def make_nccl_premul_sum(factor: float | torch.Tensor) -> PremulSum:
    """A ReduceOp for NCCL: the sum of what each rank has, times its factor.

    A tensor must have one element. RuntimeError where it has not.
    """
    return PremulSum(float(factor))


setattr(ReduceOp, "RedOpType", ReduceOp)  # noqa: B010 -- PyTorch's name of the enumeration's type

COMBINE: dict[ReduceOp, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    ReduceOp.SUM: torch.Tensor.add_,
    ReduceOp.AVG: torch.Tensor.add_,
    ReduceOp.PRODUCT: torch.Tensor.mul_,
    ReduceOp.MIN: lambda a, b: torch.minimum(a, b, out=a),
    ReduceOp.MAX: lambda a, b: torch.maximum(a, b, out=a),
    ReduceOp.BAND: torch.Tensor.bitwise_and_,
    ReduceOp.BOR: torch.Tensor.bitwise_or_,
    ReduceOp.BXOR: torch.Tensor.bitwise_xor_,
}
BITWISE = (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
SCALAR_TYPES = {
    torch.bool: "Bool", torch.uint8: "Byte", torch.int8: "Char", torch.int16: "Short",
    torch.int32: "Int", torch.int64: "Long",
}  # fmt: skip


def check_op(op: Any, dtype: torch.dtype) -> ReduceOp:
    """The op; TypeError for what is none, RuntimeError for a dtype that it does not combine."""
    if op is ReduceOp.PREMUL_SUM or isinstance(op, PremulSum):
        raise RuntimeError("Cannot use ReduceOp.PREMUL_SUM with Gloo")
    if not isinstance(op, ReduceOp):
        raise TypeError(f"op must be a torch.distributed.ReduceOp, got {op!r}")
    if op in BITWISE and dtype.is_floating_point:
        raise RuntimeError(f"Cannot use ReduceOp.{op.name} with non-integral dtype")
    if op is ReduceOp.AVG and not dtype.is_floating_point:
        raise RuntimeError(
            "result type Float can't be cast to the desired output type "
            f"{SCALAR_TYPES.get(dtype, dtype)}"
        )
    return op


def conclude(op: ReduceOp, total: Flat, ranks: int) -> None:
    """Makes the average of a sum, if that was asked for."""
    if op is ReduceOp.AVG:
        total.elements.div_(ranks)
