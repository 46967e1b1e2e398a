"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tiny_torch as torch
from tiny_torch.functions.methods import publish_function
from tiny_torch.tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, one parameter after the other, with their history.

    Raises TypeError for parameters on different devices, ValueError for none of them.
    Source: PyTorch, torch.nn.utils.parameters_to_vector.

    >>> import tiny_torch as torch
    >>> torch.nn.utils.parameters_to_vector(torch.nn.Linear(3, 2).parameters()).shape
    torch.Size([8])
    """
    return torch.cat([parameter.view(-1) for parameter in _on_one_device(parameters)])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Let the parameters be views of `vec`, one after the other.

    Raises TypeError for what is no Tensor and for parameters on different devices, RuntimeError for
    a vector that is too short. Source: PyTorch, torch.nn.utils.vector_to_parameters.

    >>> import tiny_torch as torch
    >>> layer = torch.nn.Linear(2, 1)
    >>> torch.nn.utils.vector_to_parameters(torch.tensor([1.0, 2.0, 3.0]), layer.parameters())
    >>> layer.bias
    Parameter containing:
    tensor([3.], requires_grad=True)
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {torch.typename(vec)}")
    start = 0
    for parameter in _on_one_device(parameters):
        end = start + parameter.numel()
        parameter.data = vec[start:end].view_as(parameter).data
        start = end


def _on_one_device(parameters: Iterable[Any]) -> Iterable[Any]:
    device = None
    for parameter in parameters:
        device = device or parameter.device
        if parameter.device != device:
            raise TypeError(
                "Found two parameters on different devices, this is currently not supported."
            )
        yield parameter


for _name in __all__:
    globals()[_name] = publish_function(__name__, _name, globals()[_name], {})
