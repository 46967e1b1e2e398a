"""Weight normalisation: a weight's length and direction as two parameters, by a hook.

`parametrizations.weight_norm` is the present form; both compute weight = g * v / |v|.
"""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

import tiny_torch as torch
from tiny_torch.nn.modules import Module
from tiny_torch.nn.parameter import Parameter
from tiny_torch.nn.utils.spectral_norm import pop_hook, refuse_second
from tiny_torch.ops.shape.views import wrap_dim
from tiny_torch.tensor import Tensor

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]

M = TypeVar("M", bound=Module)


def norm_except_dim(v: Tensor, pow: float = 2, dim: int = 0) -> Tensor:
    """The norm of each slice of `v` along `dim`, kept as dims of size 1; of all of it for -1."""
    if dim == -1:
        return torch.linalg.vector_norm(v, pow)
    kept = wrap_dim(dim, v.ndim)
    others = [d for d in range(v.ndim) if d != kept]
    return torch.linalg.vector_norm(v, pow, others, keepdim=True) if others else v.abs()


def weight_of(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """The weight with the direction of `v` and the length `g`."""
    return v * (g / norm_except_dim(v, dim=dim))


class WeightNorm:
    """The hook that computes a weight from its length and its direction before each forward."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Tensor:
        """The weight of the module's two parameters."""
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return weight_of(v, g, self.dim)

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Give the module `name`_g and `name`_v, lengths along `dim` and directions, for `name`.

    `dim=None` takes one length for the whole weight. Deprecated: warns, and points to
    `parametrizations.weight_norm`. Raises RuntimeError where it is applied twice.
    Source: PyTorch, torch.nn.utils.weight_norm; Salimans and Kingma 2016, arXiv 1602.07868.
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of "
        "`torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    refuse_second(WeightNorm, "weight_norm", module, name)
    hook = WeightNorm(name, dim)
    weight = getattr(module, name)
    del module._parameters[name]
    length = norm_except_dim(weight.detach(), dim=hook.dim)
    module.register_parameter(name + "_g", Parameter(length))
    module.register_parameter(name + "_v", Parameter(weight.data))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Make the weight an ordinary parameter again.

    Raises ValueError where it has no weight norm.
    Source: PyTorch, torch.nn.utils.remove_weight_norm.
    """
    hook = pop_hook(WeightNorm, "weight_norm", module, name)
    weight = hook.compute_weight(module)
    delattr(module, name)
    del module._parameters[name + "_g"]
    del module._parameters[name + "_v"]
    setattr(module, name, Parameter(weight.data))
    return module
