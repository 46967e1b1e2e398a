"""Modules that learn from their first input how large their parameters are."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from tiny_torch.nn.modules import linear
from tiny_torch.nn.modules.linear import Linear
from tiny_torch.nn.parameter import UninitializedParameter, is_lazy
from tiny_torch.tensor import Tensor

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Goes before the module's class: parameters are UninitializedParameters until the first call.

    A subclass defines `initialize_parameters`, with forward's arguments, which materializes them;
    then the module becomes a `cls_to_become`. Loading a state_dict materializes them, too.
    Source: PyTorch, torch.nn.modules.lazy.LazyModuleMixin.
    """

    cls_to_become: type | None = None

    if TYPE_CHECKING:
        _parameters: dict[str, Any]
        _buffers: dict[str, Any]
        register_forward_pre_hook: Any
        register_load_state_dict_pre_hook: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self.register_load_state_dict_pre_hook(_materialize_for)
        self._initialize_hook = self.register_forward_pre_hook(_infer, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Materialize the parameters for an input."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer of this module has no shape yet."""
        own = itertools.chain(self._parameters.values(), self._buffers.values())
        return any(is_lazy(tensor) for tensor in own)


def _infer(module: Any, args: tuple, kwargs: dict) -> None:
    module.initialize_parameters(*args, **kwargs)
    if module.has_uninitialized_params():
        raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
    for name in ("_initialize_hook", "_load_hook"):
        getattr(module, name).remove()
        delattr(module, name)
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become


def _materialize_for(module: Any, state_dict: Any, prefix: str, *rest: Any) -> None:
    for name, tensor in (*module._parameters.items(), *module._buffers.items()):
        loaded = state_dict.get(prefix + name)
        if is_lazy(tensor) and loaded is not None and not is_lazy(loaded):
            tensor.materialize(loaded.shape)


class LazyLinear(LazyModuleMixin, Linear):
    """Linear whose in_features are the size of its first input's last dim.

    Source: PyTorch, torch.nn.LazyLinear.

    >>> import tiny_torch as torch
    >>> layer = torch.nn.LazyLinear(2)
    >>> layer(torch.ones(5, 3)).shape, layer
    (torch.Size([5, 2]), Linear(in_features=3, out_features=2, bias=True))
    """

    cls_to_become = Linear
    weight: UninitializedParameter
    bias: UninitializedParameter

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, as soon as they have a shape."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """A weight for each element of the input's last dim."""
        size = input.shape[-1]
        if self.has_uninitialized_params():
            self.in_features = size
            self.weight.materialize((self.out_features, size))
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
            self.reset_parameters()
        elif self.in_features == 0:  # its state was loaded
            if size != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {size} is not equal to in_features from "
                    f"self.weight: {self.weight.shape[-1]}"
                )
            self.in_features = size


LazyLinear.__module__ = linear.__name__  # where PyTorch has it
linear.LazyLinear = LazyLinear  # type: ignore[misc]
