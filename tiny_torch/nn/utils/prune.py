"""`torch.nn.utils.prune`: parameters whose smallest, or random, elements are held at 0.

What is chosen, and how it is held, is in `pruning_methods.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import tiny_torch as torch
from tiny_torch.nn.modules import Module
from tiny_torch.nn.utils.convert_parameters import parameters_to_vector
from tiny_torch.nn.utils.pruning_methods import (
    BasePruningMethod,
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    PruningContainer,
    RandomStructured,
    RandomUnstructured,
    hooks_of,
)
from tiny_torch.nn.utils.pruning_methods import __all__ as _methods

__all__ = [
    *_methods,
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]

M = TypeVar("M", bound=Module)


def identity(module: M, name: str) -> M:
    """Give the parameter `name` a mask that prunes nothing; returns the module.

    Source: PyTorch, torch.nn.utils.prune.identity.

    >>> import tiny_torch as torch
    >>> layer = torch.nn.utils.prune.identity(torch.nn.Linear(3, 1), "weight")
    >>> layer.weight_mask
    tensor([[1., 1., 1.]])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: M, name: str, amount: float) -> M:
    """Prune `amount` elements of the parameter (a float: that fraction) at random.

    Source: PyTorch, torch.nn.utils.prune.random_unstructured.

    >>> import tiny_torch as torch
    >>> layer = torch.nn.utils.prune.random_unstructured(torch.nn.Linear(3, 2), "weight", 0.5)
    >>> layer.weight_mask.sum()
    tensor(3.)
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: M, name: str, amount: float, importance_scores: Any = None) -> M:
    """Prune the `amount` elements (a float: that fraction) of the smallest magnitude or score.

    Source: PyTorch, torch.nn.utils.prune.l1_unstructured; Han et al. 2015, "Learning both Weights
    and Connections for Efficient Neural Networks", arXiv 1506.02626.

    >>> import tiny_torch as torch
    >>> layer = torch.nn.utils.prune.l1_unstructured(torch.nn.Linear(3, 2), "weight", amount=2)
    >>> sorted(layer.state_dict())
    ['bias', 'weight_mask', 'weight_orig']
    >>> int((layer.weight == 0).sum())
    2
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: M, name: str, amount: float, dim: int) -> M:
    """Prune `amount` slices of the parameter along `dim` (a float: that fraction) at random.

    Source: PyTorch, torch.nn.utils.prune.random_structured.

    >>> import tiny_torch as torch
    >>> layer = torch.nn.utils.prune.random_structured(torch.nn.Linear(3, 4), "weight", 1, dim=0)
    >>> layer.weight_mask.sum()
    tensor(9.)
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: M, name: str, amount: float, n: Any, dim: int, importance_scores: Any = None
) -> M:
    """Prune the `amount` slices along `dim` (a float: that fraction) with the smallest n-norms.

    Source: PyTorch, torch.nn.utils.prune.ln_structured; Li et al. 2017, "Pruning Filters for
    Efficient ConvNets", arXiv 1608.08710.

    >>> import tiny_torch as torch
    >>> conv = torch.nn.Conv2d(1, 4, 3)
    >>> layer = torch.nn.utils.prune.ln_structured(conv, "weight", 2, n=1, dim=0)
    >>> layer.weight_mask.sum()
    tensor(18.)
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: M, name: str, mask: Any) -> M:
    """Prune the parameter where `mask` is 0.

    Source: PyTorch, torch.nn.utils.prune.custom_from_mask.

    >>> import tiny_torch as torch
    >>> mask = torch.tensor([0, 1])
    >>> layer = torch.nn.utils.prune.custom_from_mask(torch.nn.Linear(3, 2), "bias", mask)
    >>> layer.bias_mask
    tensor([0., 1.])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune many parameters, pairs (module, name), as if they were one vector.

    `importance_scores`: by such pairs; `kwargs` go to `pruning_method`.
    Raises TypeError for other arguments and for methods that are not unstructured.
    Source: PyTorch, torch.nn.utils.prune.global_unstructured.

    >>> import tiny_torch as torch
    >>> from tiny_torch.nn.utils import prune
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Linear(5, 2))
    >>> pairs = [(layer, "weight") for layer in model]
    >>> prune.global_unstructured(pairs, prune.L1Unstructured, amount=0.5)
    >>> sum(layer.weight_mask.sum() for layer in model)
    tensor(15.)
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    pairs = list(parameters)
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")

    tensors = [getattr(module, name) for module, name in pairs]
    all_scores = [scores.get(pair, t) for pair, t in zip(pairs, tensors, strict=True)]
    masks = [
        getattr(module, name + "_mask", torch.ones_like(t))
        for (module, name), t in zip(pairs, tensors, strict=True)
    ]
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container = PruningContainer(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. '
            f"Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
    whole = container.compute_mask(parameters_to_vector(all_scores), parameters_to_vector(masks))
    parts = whole.split([t.numel() for t in tensors])
    for (module, name), t, part in zip(pairs, tensors, parts, strict=True):
        custom_from_mask(module, name, mask=part.view_as(t))


def remove(module: M, name: str) -> M:
    """Make the pruned parameter an ordinary one, with zeros where it was pruned.

    Raises ValueError where it is not pruned.
    Source: PyTorch, torch.nn.utils.prune.remove.

    >>> import tiny_torch as torch
    >>> from tiny_torch.nn.utils import prune
    >>> layer = prune.remove(prune.identity(torch.nn.Linear(3, 2), "weight"), "weight")
    >>> sorted(layer.state_dict())
    ['bias', 'weight']
    """
    for key, hook in hooks_of(module, name).items():
        hook.remove(module)
        del module._forward_pre_hooks[key]
        return module
    raise ValueError(
        f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
    )


def is_pruned(module: Any) -> bool:
    """Whether the module, or one in it, has a pruned parameter.

    Source: PyTorch, torch.nn.utils.prune.is_pruned.

    >>> import tiny_torch as torch
    >>> torch.nn.utils.prune.is_pruned(torch.nn.Linear(3, 2))
    False
    """
    return any(
        isinstance(hook, BasePruningMethod)
        for child in module.modules()
        for hook in child._forward_pre_hooks.values()
    )
