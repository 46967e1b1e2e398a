"""The names of ops in PyTorch's tables: "aten::mm" of Mm, and of a product of two matrices."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from tiny_torch.autograd.record import IN_PLACE


def by_dims(name: str) -> Callable[[int, int], str]:
    """For so many spatial dims as the weight has, or the tuple of sizes that stands there."""
    return lambda _, second: f"{name}{second}d"


def of_convolution(name: str) -> Callable[[int, int], str]:
    return lambda x, _: f"{name}{x - 2}d"


def of_matmul(x: int, y: int) -> str:
    """PyTorch's function that does the work."""
    products = {(1, 1): "dot", (2, 1): "mv", (2, 2): "mm", (3, 3): "bmm"}
    return products.get((x, y), "matmul")


# Where the class has another name than PyTorch's function: that, or how it follows from the dims
# of the first argument and of the second (the length of a tuple).
SPECIAL: dict[str, str | Callable[[int, int], str]] = {
    "AdaptiveAvgPool": by_dims("adaptive_avg_pool"),
    "AvgPool": by_dims("avg_pool"),
    "Cast": "to",
    "Col2Im": "col2im",
    "Convolution": of_convolution("conv"),
    "ConvolutionTranspose": of_convolution("conv_transpose"),
    "CopyIntoView": "copy",
    "CrossEntropy": "cross_entropy_loss",
    "Deg2Rad": "deg2rad",
    "DivFloor": "div",
    "DivTrunc": "div",
    "EuclideanDist": "cdist",
    "Fold": "fold",
    "FromGather": "scatter_add",
    "FromIndexSelect": "index_add",
    "GeluTanh": "gelu",
    "HardtanhInPlace": "hardtanh",
    "Im2Col": "im2col",
    "InLayout": "clone",
    "LeakyReluInPlace": "leaky_relu",
    "Log1P": "log1p",
    "Matmul": of_matmul,
    "MatmulDot": "dot",
    "MatmulMv": "mv",
    "MaxOfAll": "max",
    "MaxPool": by_dims("max_pool"),
    "MaxPoolWithIndices": by_dims("max_pool"),
    "MedianOfAll": "median",
    "MinOfAll": "min",
    "NativeBatchNorm": "batch_norm",
    "NativeGroupNorm": "group_norm",
    "NativeLayerNorm": "layer_norm",
    "Normal1": "normal",
    "Normal2": "normal",
    "Normal3": "normal",
    "PreluKernel": "prelu",
    "Rad2Deg": "rad2deg",
    "RoundTo": "round",
    "ScaledDotProductFlashAttentionForCpu": "scaled_dot_product_attention",
    "SelectOne": "select",
    "bernoulli_tensor_": "bernoulli",
    "random_range_": "random",
    "ToCopy": "to",
    "ToDevice": "to",
    "ToInteger": "to",
    "Unique2": "_unique2",
}


@functools.cache
def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().rstrip("_")


def name_of_op(op: Any, form: int, hint: int) -> str:
    """PyTorch's name of a recorded op. What PyTorch has no function for keeps its own."""
    own = op.__name__
    special = SPECIAL.get(own, own)
    if callable(special):
        special = special(*divmod(hint, 10))
    elif special is own:
        special = snake_case(own)
    return f"aten::{special}{'_' * (form == IN_PLACE)}"
