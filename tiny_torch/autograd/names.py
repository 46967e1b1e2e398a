"""The names of nodes as PyTorch prints them, where ours stand for several of its functions.

Chosen when asked for, from what the node holds: so they cost nothing while recording. What backward
has freed can no longer tell; then the most common name is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def by_dims(name: str) -> Callable:
    """The number in the name says whether all elements were reduced (0), or dims (1)."""
    return lambda saved, node: f"{name}Backward{int(node.constants[:1] not in ((), (None,)))}"


def by_number(name: str, with_number: int, *places: int) -> Callable:
    """Whether none of the operands at these places of what is saved is a tensor."""

    def choose(saved, node):
        number = not any(hasattr(saved[place], "shape") for place in places if place < len(saved))
        return f"{name}Backward{with_number if number else 1 - with_number}"

    return choose


def of_pow(saved: tuple, node: Any) -> str:
    base, exponent = saved[:2] if len(saved) > 1 else (None, None)
    if isinstance(base, int | float):
        return "PowBackward2"
    return f"PowBackward{int(hasattr(exponent, 'shape'))}"


def of_matmul(saved: tuple, node: Any) -> str:
    ndims = tuple(map(len, saved[2:4])) if len(saved) > 3 else (2, 2)
    names: dict = {(1, 1): "DotBackward0", (2, 1): "MvBackward0", (2, 2): "MmBackward0"}
    names[(1, 2)] = "SqueezeBackward4"
    return names.get(ndims, "UnsafeViewBackward0")


def of_linear(saved: tuple, node: Any) -> str:
    x = saved[0] if saved else None
    ndim = 2 if x is None else x.ndim
    if node.edges[2] is not None:  # with a bias
        return "AddmmBackward0" if ndim == 2 else "ViewBackward0"
    return {1: "SqueezeBackward4", 2: "MmBackward0"}.get(ndim, "UnsafeViewBackward0")


def of_masked_fill(saved: tuple, node: Any) -> str:
    return f"MaskedFillBackward{int(len(saved) > 2 and saved[2] is not None)}"


def of_squeeze(saved: tuple, node: Any) -> str:
    ((_, (dims,)),) = node.constants[0]
    return f"SqueezeBackward{int(len(dims) == 1)}"  # which squeeze() of one dim of size 1 is, too


def of_lines(ndim: int, reduction: int) -> str:
    if ndim <= 2:
        return "NllLossBackward0"
    return "ViewBackward0" if ndim != 4 and reduction == 0 else "NllLoss2DBackward0"


def of_nll_loss(saved: tuple, node: Any) -> str:
    return of_lines(len(saved[3]) if saved else 2, node.constants[1])


def of_cross_entropy(saved: tuple, node: Any) -> str:
    _, reduction, _, smoothing = node.constants
    if saved and saved[1].dtype.is_floating_point:
        return "DivBackward1" if reduction == 1 else "NegBackward0"
    return "AddBackward0" if smoothing else of_lines(saved[0].ndim if saved else 2, reduction)


def of_copy(saved: tuple, node: Any) -> str:
    return "FillBackward2" if saved[:1] == (None,) else "torch::autograd::CopyBackwards"


def of_pool(kind: str, suffix: str = "") -> Callable:
    """For so many dims; PyTorch adds a dim of size 1 to a single one, and takes it away."""

    def choose(saved, node):
        size, settings = node.constants
        if len(size) == 1:
            return "SqueezeBackward1"
        if not settings[0]:
            return f"Adaptive{kind}Pool{len(size)}DBackward0"
        return f"{kind}Pool{len(size)}D{suffix}Backward0"

    return choose


def of_l1_loss(saved: tuple, node: Any) -> str:
    return {"mean": "MeanBackward0", "sum": "SumBackward0"}.get(node.constants[0], "AbsBackward0")


def of_interpolate(saved: tuple, node: Any) -> str:
    size, (kind, _, antialias, *_) = node.constants
    linear = ("Linear", "Bilinear", "Trilinear")[len(size) - 1]
    name = ("Nearest", "NearestExact", linear, "Bicubic", "Lanczos")[kind]
    return f"Upsample{name}{len(size)}D{'Aa' if antialias else ''}Backward0"


def of_pad_from_input(saved: tuple, node: Any) -> str:
    kind, plan, _ = node.constants
    name = ("ReflectionPad", "ReplicationPad", None)[kind]
    return f"{name}{len(plan[0])}DBackward0" if name else "torch::autograd::CopySlices"


NAMES: dict[str, str | Callable] = {
    "AdaptiveAvgPool": of_pool("Avg"),
    "AvgPool": of_pool("Avg"),
    "Cast": "ToCopyBackward0",
    "Clamp": by_number("Clamp", 1, 1, 2),
    "Contiguous": "CloneBackward0",
    "ConvolutionInput": "ConvolutionBackwardBackward0",
    "ConvolutionTranspose": "ConvolutionBackward0",
    "ConvolutionWeight": "ConvolutionBackwardBackward0",
    "Copy": of_copy,
    "CopyIntoView": of_copy,
    "CopySlices": "torch::autograd::CopySlices",
    "CrossEntropy": of_cross_entropy,
    "Fill": "FillBackward2",
    "FromGather": "ScatterAddBackward0",
    "FromIndexSelect": "IndexAddBackward0",
    "FromMaskedSelect": "MaskedScatterBackward0",
    "FromTake": "PutBackward0",
    "Fmod": by_number("Fmod", 0, 1),
    "HardtanhInPlace": "HardtanhBackward0",
    "InLayout": "CloneBackward0",
    "LeakyReluInPlace": "LeakyReluBackward0",
    "L1Loss": of_l1_loss,
    "Interpolate": of_interpolate,
    "Lerp": by_number("Lerp", 0, 2),
    "Linear": of_linear,
    "MaskedFill": of_masked_fill,
    "Matmul": of_matmul,
    "MatmulDot": "DotBackward0",
    "MatmulMv": "MvBackward0",
    "Mean": by_dims("Mean"),
    "MaxPool": of_pool("Max", "WithIndices"),
    "MaxPoolWithIndices": of_pool("Max", "WithIndices"),
    "MaxOfAll": "MaxBackward1",
    "MinOfAll": "MinBackward1",
    "NllLoss": of_nll_loss,
    "Norm2": "LinalgVectorNormBackward0",
    "NotDifferentiable": "torch::autograd::Error",
    "PadFromInput": of_pad_from_input,
    "Pow": of_pow,
    "Prod": by_dims("Prod"),
    "Remainder": by_number("Remainder", 0, 1),
    "Reshape": "UnsafeViewBackward0",
    "RmsNorm": "MulBackward0",
    "RoundTo": "RoundBackward1",
    "Rows": "StackBackward0",
    "Square": "PowBackward0",
    "Squeeze": of_squeeze,
    "Selu": "EluBackward0",
    "Sum": by_dims("Sum"),
    "Unrelated": lambda saved, node: f"{node.constants[0]}Backward0",
}


def name_of(node: Any) -> str:
    """PyTorch's name of a node."""
    op = node.op
    name = NAMES.get(op.__name__)
    if name is None or op.suffix == "Backward":  # a user's Function has its own
        return op.__name__ + op.suffix
    if isinstance(name, str):
        return name
    saved = node.saved
    return name(saved if type(saved) is tuple and saved != ("freed",) else (), node)
