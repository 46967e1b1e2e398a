"""Ways to choose what of a parameter is pruned, each the hook that holds it at 0 by a mask.

A pruned parameter `name` is kept as the parameter `name`_orig and the buffer `name`_mask; a hook
multiplies them before each forward, so the attribute `name` is a result that gradients go through.
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from copy import copy
from typing import Any

import tiny_torch as torch
from tiny_torch.tensor import Tensor

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
]


class BasePruningMethod(ABC):
    """A way to choose what is pruned, and the hook that applies its mask.

    A subclass has `compute_mask` and PRUNING_TYPE, which says what an already pruned parameter
    shows to it: "unstructured" the elements left, "structured" the slices left, "global" all.
    Source: PyTorch, torch.nn.utils.prune.BasePruningMethod.

    >>> import tiny_torch as torch
    >>> from tiny_torch.nn.utils import prune
    >>> class EverySecond(prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         mask = default_mask.clone()
    ...         mask.view(-1)[::2] = 0
    ...         return mask
    >>> layer = torch.nn.Linear(3, 2)
    >>> hook = EverySecond.apply(layer, "weight")
    >>> layer.weight_mask
    tensor([[0., 1., 0.],
            [1., 0., 1.]])
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask for `t`, or its scores, given what `default_mask` has pruned before."""

    def apply_mask(self, module: Any) -> Tensor:
        """The module's parameter, times its mask."""
        if not hasattr(self, "_tensor_name"):
            raise AssertionError(f"Module {module} has to be pruned")
        original = getattr(module, self._tensor_name + "_orig")
        return getattr(module, self._tensor_name + "_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune the module's parameter; returns the hook.

        What is pruned goes by `importance_scores`, if given, in place of the parameter. On a pruned
        parameter the masks combine, in a PruningContainer.
        """
        earlier = hooks_of(module, name)
        if len(earlier) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}."
                " Use a PruningContainer."
            )
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        tensor = getattr(module, name)
        if importance_scores is None:
            importance_scores = tensor
        elif importance_scores.shape != tensor.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, "
                f"got {importance_scores.shape} vs {tensor.shape}"
            )

        if not earlier:
            original = module._parameters[name]
            mask = method.compute_mask(importance_scores, torch.ones_like(tensor).detach())
            hook = method
            del module._parameters[name]
            module.register_parameter(name + "_orig", original)
        else:
            (key, old), *_ = earlier.items()
            hook = copy(old) if isinstance(old, PruningContainer) else PruningContainer(old)
            hook.add_pruning_method(method)
            old_mask = getattr(module, name + "_mask").to(dtype=tensor.dtype)
            mask = hook.compute_mask(importance_scores, old_mask.detach().clone())
            del module._forward_pre_hooks[key]
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, hook.apply_mask(module))
        module.register_forward_pre_hook(hook)
        return hook

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Tensor:
        """A pruned copy of a tensor, without any module."""
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError(
                "importance_scores should have the same shape as tensor t, got "
                f"{importance_scores.shape} vs {t.shape}"
            )
        if default_mask is None:
            default_mask = torch.ones_like(t)
        return t * self.compute_mask(importance_scores, default_mask=default_mask)

    def remove(self, module: Any) -> None:
        """Make the pruned tensor an ordinary parameter; what was pruned stays 0."""
        name = self._tensor_name
        pruned = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = pruned.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """The methods that were applied to one parameter, in order.

    Source: PyTorch, torch.nn.utils.prune.PruningContainer.
    """

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1 and not isinstance(args[0], Iterable):
            self._tensor_name = args[0]._tensor_name
            self.add_pruning_method(args[0])
        else:
            for method in args[0] if len(args) == 1 else args:
                self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add one for the same parameter. Raises TypeError, or ValueError for another one's."""
        if method is None:
            return
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """`default_mask` without what the last method prunes of the rest."""
        method = self._pruning_methods[-1]
        kind = method.PRUNING_TYPE
        left: Any
        if kind == "unstructured":
            left = default_mask == 1
        elif kind == "structured":
            dim: int = method.dim  # type: ignore[attr-defined]
            dim %= t.ndim
            others = [d for d in range(t.ndim) if d != dim]
            left = (slice(None),) * dim + (default_mask.sum(dim=others) != 0,)
        elif kind == "global":
            left = (slice(None),) * t.ndim
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
        mask = default_mask.clone()
        mask[left] = method.compute_mask(t[left], default_mask=mask[left]).to(mask.dtype)
        return mask


# ---- ways to choose ------------------------------------------------------------------------------


class Identity(BasePruningMethod):
    """Prunes nothing, but makes the mask. Source: PyTorch, torch.nn.utils.prune.Identity."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """`default_mask` itself."""
        return default_mask

    @classmethod
    def apply(cls, module: Any, name: str) -> BasePruningMethod:  # type: ignore[override]
        """Give the parameter a mask of ones."""
        return super().apply(module, name)


class ElementsByAmount(BasePruningMethod):
    """Prunes `amount` elements, or that fraction; subclasses say which."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        check_amount(amount)
        self.amount = amount

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """`default_mask` without the elements that the method prunes."""
        mask = default_mask.clone()
        count = pruned_count(self.amount, t.nelement())
        if count:
            mask.view(-1)[self._choose(t, count)] = 0
        return mask

    def _choose(self, t: Any, count: int) -> Any:
        """The places of that many elements, in their order."""
        raise NotImplementedError


class RandomUnstructured(ElementsByAmount):
    """Prunes elements at random: `amount` of them, or that fraction.

    Raises ValueError for an amount out of range, TypeError for one that is no number.
    Source: PyTorch, torch.nn.utils.prune.RandomUnstructured.
    """

    def _choose(self, t: Any, count: int) -> Any:
        return torch.topk(torch.rand_like(t).view(-1), k=count).indices

    @classmethod
    def apply(cls, module: Any, name: str, amount: float) -> BasePruningMethod:  # type: ignore[override]
        """Prune elements of the parameter at random."""
        return super().apply(module, name, amount=amount)


class L1Unstructured(ElementsByAmount):
    """Prunes the elements of the smallest magnitude: `amount` of them, or that fraction.

    Raises ValueError for an amount out of range, TypeError for one that is no number.
    Source: PyTorch, torch.nn.utils.prune.L1Unstructured.

    >>> import tiny_torch as torch
    >>> from tiny_torch.nn.utils import prune
    >>> prune.L1Unstructured(amount=2).prune(torch.tensor([3.0, -1.0, 0.5, -2.0]))
    tensor([ 3., -0.,  0., -2.])
    """

    def _choose(self, t: Any, count: int) -> Any:
        return torch.topk(t.detach().abs().reshape(-1), k=count, largest=False).indices

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Any, name: str, amount: float, importance_scores: Any = None
    ) -> BasePruningMethod:
        """Prune the parameter's smallest elements."""
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class RandomStructured(BasePruningMethod):
    """Prunes whole slices along `dim` at random: `amount` of them, or that fraction.

    Raises ValueError for an amount out of range and tensors of one dim, IndexError for the dim.
    Source: PyTorch, torch.nn.utils.prune.RandomStructured.
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        check_amount(amount)
        self.amount = amount
        self.dim = dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """`default_mask` without the slices with the smallest random numbers."""
        count = pruned_slices(t, self.amount, self.dim)
        numbers = torch.rand(t.shape[self.dim])
        return without_slices(default_mask, numbers, count, self.dim)

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Any, name: str, amount: float, dim: int = -1
    ) -> BasePruningMethod:
        """Prune slices of the parameter at random."""
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(BasePruningMethod):
    """Prunes the slices along `dim` with the smallest n-norms: `amount`, or that fraction.

    Raises ValueError for an amount out of range and tensors of one dim, IndexError for the dim.
    Source: PyTorch, torch.nn.utils.prune.LnStructured.

    >>> import tiny_torch as torch
    >>> from tiny_torch.nn.utils import prune
    >>> prune.LnStructured(amount=1, n=2, dim=0).prune(torch.tensor([[3.0, 1.0], [2.0, 2.0]]))
    tensor([[3., 1.],
            [0., 0.]])
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        check_amount(amount)
        self.amount = amount
        self.n = n
        self.dim = dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """`default_mask` without the slices of `t` with the smallest norms."""
        count = pruned_slices(t, self.amount, self.dim)
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        norms = torch.norm(t.detach(), p=self.n, dim=others)
        return without_slices(default_mask, norms, count, self.dim)

    @classmethod
    def apply(  # type: ignore[override]
        cls,
        module: Any,
        name: str,
        amount: float,
        n: Any,
        dim: int,
        importance_scores: Any = None,
    ) -> BasePruningMethod:
        """Prune the parameter's slices with the smallest norms."""
        return super().apply(
            module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores
        )


class CustomFromMask(BasePruningMethod):
    """Prunes where a mask is 0. Source: PyTorch, torch.nn.utils.prune.CustomFromMask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """`default_mask` times the mask. Raises AssertionError for another shape."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape "
                f"{self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module: Any, name: str, mask: Any) -> BasePruningMethod:  # type: ignore[override]
        """Prune the parameter by a mask."""
        return super().apply(module, name, mask=mask)


def check_amount(amount: Any) -> None:
    """Raise PyTorch's errors unless amount is an int >= 0 or a float between 0 and 1."""
    whole = isinstance(amount, numbers.Integral)
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if not 0 <= float(amount) <= (math.inf if whole else 1):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a "
            "non-negative integer"
        )


def pruned_count(amount: Any, size: int) -> int:
    """How many of `size` are pruned. Raises ValueError where there are not so many."""
    if not isinstance(amount, numbers.Integral):
        return round(amount * size)
    if int(amount) > size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to prune={size}"
        )
    return int(amount)


def pruned_slices(t: Any, amount: Any, dim: int) -> int:
    """How many slices along `dim` are pruned. Raises where that cannot be."""
    if t.dim() <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of "
            f"shape {t.shape} with {t.dim()} dims"
        )
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")
    return pruned_count(amount, t.shape[dim])


def without_slices(mask: Any, scores: Any, count: int, dim: int) -> Any:
    """The mask, with 0 in the `count` slices along `dim` that have the smallest scores."""
    if count == 0:
        return mask
    kept = torch.ones_like(scores)
    kept[torch.topk(scores, k=count, largest=False).indices] = 0
    shape = [1] * mask.dim()
    shape[dim] = -1
    return mask * kept.view(shape).to(mask)


def hooks_of(module: Any, name: str) -> dict[int, BasePruningMethod]:
    """The module's pruning hooks of a parameter, by their keys."""
    return {
        key: hook
        for key, hook in module._forward_pre_hooks.items()
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
    }
