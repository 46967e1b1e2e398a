"""`Parameter` and `Buffer`: the two kinds of Tensor that a Module registers by itself.

Of both there is a kind whose shape is not known yet, which `modules/lazy.py` attaches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.base.arguments import check_bool
from tiny_torch.tensor import Tensor, wrap

if TYPE_CHECKING:
    from tiny_torch.nn.modules.lazy import UninitializedBuffer, UninitializedParameter, is_lazy

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]

_P = TypeVar("_P", bound="Parameter")


disabled = _core._disabled_torch_function_impl


def _make_subclass(cls: Any, data: Any, require_grad: bool = False) -> Any:
    """A new leaf of class `cls` on the memory of `data`: nothing is copied."""
    _core.refuse_pytorchs(data)
    if not isinstance(data, Tensor):
        data = data.detach()  # which what is no tensor lacks, PyTorch says
    check_bool("_make_subclass", "require_grad", 3, require_grad)
    return disabled(_leaf, (), (cls, data, require_grad))


def _leaf(cls: Any, data: Tensor, requires_grad: bool) -> Any:
    if requires_grad and not data.is_floating_point():
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    made: Any = wrap(data.array, None, cls)
    made.requires_grad = requires_grad
    return made


Tensor._make_subclass = staticmethod(_make_subclass)  # type: ignore[attr-defined]


class _ParameterMeta(type(Tensor)):  # type: ignore[misc]
    """A tensor of a user's class stays of it as a parameter, so `isinstance` looks for a mark."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        marked = cls is Parameter and isinstance(instance, Tensor)
        return marked and getattr(instance, "_is_param", False)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A Tensor that a Module registers as trainable when it is assigned as an attribute.

    `data` may have any shape and dtype and shares its memory with the Parameter; without it the
    Parameter is empty, of shape (0,). `requires_grad` holds even under `no_grad`. A tensor of a
    class of its own keeps that class.

    Raises RuntimeError where `requires_grad` is asked of an integer or bool tensor.
    Source: PyTorch, torch.nn.parameter.Parameter.

    >>> import tiny_torch as torch
    >>> torch.nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ()
    __torch_function__ = disabled  # results are plain tensors: autograd/overrides.py

    def __new__(cls: type[_P], data: Tensor | None = None, requires_grad: bool = True) -> _P:
        given: Any = torch.empty(0) if data is None else data
        if cls is not Parameter or type(given) is Tensor or not _core.has_override(given):
            return _make_subclass(cls, given, requires_grad)
        made = given.detach().requires_grad_(requires_grad)
        if type(made) is not type(given):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(given).__name__} requires "
                "that detach() returns an instance of the same type, but return type "
                f"{type(made).__name__} was found instead. To use the type as a Parameter, please "
                "correct the detach() semantics defined by its __torch_dispatch__() "
                "implementation."
            )
        made._is_param = True
        return made

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        """Everything is done in `__new__`; this keeps Tensor's own constructor from running."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self, **contents: Any) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + super().__repr__(**contents)


_core.register_parameter(Parameter)


class _BufferMeta(type(Tensor)):  # type: ignore[misc]
    """A buffer stays an ordinary Tensor with a mark on it, so `isinstance` looks for the mark."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A Tensor that a Module registers as untrained state when it is assigned as an attribute.

    `data` may have any shape and dtype and shares its memory with the buffer. The result's type is
    Tensor itself. `persistent` says whether `state_dict` holds it.

    Source: PyTorch, torch.nn.parameter.Buffer.

    >>> import tiny_torch as torch
    >>> module = torch.nn.Module()
    >>> module.count = torch.nn.Buffer(torch.zeros(2))
    >>> list(module.state_dict())
    ['count']
    """

    persistent: bool
    __torch_function__ = disabled

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        source = torch.empty(0) if data is None else data
        made: Any = source.detach().requires_grad_(source.requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made
