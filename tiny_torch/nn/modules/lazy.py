"""Modules that learn from their first input how large their parameters are."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from tiny_torch.nn.parameter import is_lazy

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
