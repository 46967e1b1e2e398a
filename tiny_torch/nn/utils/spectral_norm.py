"""Spectral normalisation: a weight divided by its largest singular value, by a hook.

The singular value comes from a power iteration, one or a few steps of it at each forward in
training. `parametrizations.spectral_norm` is the present form.
"""

from __future__ import annotations

from typing import Any, TypeVar

import tiny_torch as torch
from tiny_torch.autograd import no_grad
from tiny_torch.nn import functional as F
from tiny_torch.nn.modules import Module
from tiny_torch.nn.parameter import Parameter
from tiny_torch.tensor import Tensor

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]

M = TypeVar("M", bound=Module)


def check_iterations(n_power_iterations: int) -> None:
    if n_power_iterations <= 0:
        raise ValueError(
            "Expected n_power_iterations to be positive, "
            f"but got n_power_iterations={n_power_iterations}"
        )


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """The weight as a matrix whose rows are its slices along `dim`."""
    if dim != 0:
        weight = weight.permute(dim, *(d for d in range(weight.ndim) if d != dim))
    return weight.reshape(weight.shape[0], -1)


def default_dim(module: Module) -> int:
    """The dim of a weight's outputs: 1 for transposed convolutions, else 0."""
    nn = torch.nn
    transposed = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
    return 1 if isinstance(module, transposed) else 0


class SpectralNorm:
    """The hook that divides a weight by its largest singular value before each forward."""

    _version = 1

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        check_iterations(n_power_iterations)
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Tensor:
        """The divided weight; the iteration changes the module's two vectors."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(torch.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(torch.mv(matrix, v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()  # backward of an earlier forward needs the old ones
        return weight / torch.dot(u, torch.mv(matrix, v))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))

    def save_version(self, module: Any, state: Any, prefix: str, metadata: Any) -> None:
        """The hook of state_dict that PyTorch's files expect."""
        metadata.setdefault("spectral_norm", {})[self.name + ".version"] = self._version


def spectral_norm(
    module: M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> M:
    """Divide the weight by its largest singular value, seen as a matrix with rows along `dim`.

    `dim` is 0 by default, 1 for transposed convolutions. The module gets the parameter `name`_orig
    and the buffers `name`_u and `name`_v. Raises ValueError for a number of iterations below 1 and
    a parameter that is None, RuntimeError where it is applied twice.
    Source: PyTorch, torch.nn.utils.spectral_norm; Miyato et al. 2018, arXiv 1802.05957.

    >>> import tiny_torch as torch
    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(4, 3), n_power_iterations=50)
    >>> _ = layer(torch.ones(1, 4))
    >>> round(torch.linalg.matrix_norm(layer.weight, 2).item(), 3)
    1.0
    """
    refuse_second(SpectralNorm, "spectral_norm", module, name)
    dim = default_dim(module) if dim is None else dim
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    with no_grad():
        height, width = as_matrix(weight, dim).shape
        u = F.normalize(weight.new_empty(height).normal_(0, 1), dim=0, eps=eps)
        v = F.normalize(weight.new_empty(width).normal_(0, 1), dim=0, eps=eps)
    delattr(module, name)
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(name + "_u", u)
    module.register_buffer(name + "_v", v)
    module.register_forward_pre_hook(hook)
    module.register_state_dict_post_hook(hook.save_version)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Make the weight an ordinary parameter again, with its present value.

    Raises ValueError where it has no spectral norm.
    Source: PyTorch, torch.nn.utils.remove_spectral_norm.
    """
    hook = pop_hook(SpectralNorm, "spectral_norm", module, name)
    with no_grad():
        weight = hook.compute_weight(module, do_power_iteration=False)
    for suffix in ("", "_u", "_v", "_orig"):
        delattr(module, name + suffix)
    module.register_parameter(name, Parameter(weight.detach()))
    for key, saver in list(module._state_dict_hooks.items()):
        if getattr(saver, "__self__", None) is hook:
            del module._state_dict_hooks[key]
    return module


def refuse_second(kind: type, what: str, module: Module, name: str) -> None:
    if hook_of(kind, module, name) is not None:
        raise RuntimeError(f"Cannot register two {what} hooks on the same parameter {name}")


def pop_hook(kind: type, what: str, module: Module, name: str) -> Any:
    key = hook_of(kind, module, name)
    if key is None:
        raise ValueError(f"{what} of '{name}' not found in {module}")
    return module._forward_pre_hooks.pop(key)


def hook_of(kind: type, module: Module, name: str) -> int | None:
    """The key of a module's hook of a kind for a parameter; None where there is none."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:  # type: ignore[attr-defined]
            return key
    return None
