"""`DataParallel`: with one device, or none but the CPU, the module itself under another name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tiny_torch as torch
from tiny_torch.base.pytree import tree_map
from tiny_torch.nn.modules import Module


def one_device(name: str, device_ids: Sequence[Any] | None) -> list[int]:
    """The GPU that is meant, if there is one; NotImplementedError for more of them."""
    if not torch.cuda.is_available():
        return []
    ids = [0] if device_ids is None else [torch.device(d).index or 0 for d in device_ids]
    if len(ids) > 1:
        raise NotImplementedError(f"{name}: device_ids {ids}: tiny_torch trains on one device")
    return ids


class DataParallel(Module):
    """The module on one device: the same outputs, and keys of the state_dict under "module.".

    Without a GPU `device_ids` is not looked at, as in PyTorch. Raises NotImplementedError for more
    than one GPU.
    https://pytorch.org/docs/stable/generated/torch.nn.DataParallel.html

    >>> import tiny_torch as torch
    >>> net = torch.nn.DataParallel(torch.nn.Linear(2, 1))
    >>> list(net.state_dict()), type(net.module).__name__
    (['module.weight', 'module.bias'], 'Linear')
    """

    module: Module

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.device_ids = one_device("DataParallel", device_ids)
        self.module = module
        if self.device_ids:
            self.dim = dim
            self.output_device = self.device_ids[0] if output_device is None else output_device
            self.module.to(torch.device("cuda", self.device_ids[0]))

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if self.device_ids:
            inputs, kwargs = move((inputs, kwargs), torch.device("cuda", self.device_ids[0]))
        return self.module(*inputs, **kwargs)


def move(tree: Any, device: torch.device) -> Any:
    """Arguments with their tensors on a device, as PyTorch's scatter takes them there."""
    return tree_map(lambda leaf: leaf.to(device) if isinstance(leaf, torch.Tensor) else leaf, tree)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """module(*inputs, **module_kwargs), as `DataParallel` calls it.

    Raises RuntimeError without a GPU, as PyTorch does, NotImplementedError for more than one.
    https://pytorch.org/docs/stable/nn.functional.html#torch.nn.parallel.data_parallel
    """
    if not torch.cuda.is_available():
        raise RuntimeError("device type could not be determined")
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*inputs, **(module_kwargs or {}))


__all__ = ["DataParallel", "data_parallel"]
