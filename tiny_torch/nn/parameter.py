"""`Parameter` and `Buffer`: the two kinds of Tensor that a Module registers by itself.

Of both there is a kind whose shape is not known yet: see modules/lazy.py.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, TypeVar

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.base.arguments import check_bool
from tiny_torch.tensor import Tensor, wrap

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]

_P = TypeVar("_P", bound="Parameter")


def _make(data: Tensor, cls: type[_P], requires_grad: bool) -> _P:
    """A new leaf of class `cls` on the memory of `data`: nothing is copied."""
    _core.refuse_pytorchs(data)
    if not isinstance(data, Tensor):
        data = data.detach()  # which what is no tensor lacks, PyTorch says
    check_bool("_make_subclass", "require_grad", 3, requires_grad)
    if requires_grad and not data.is_floating_point():
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    made: Any = wrap(data.array, None, cls)
    made.requires_grad = requires_grad
    return made


class Parameter(Tensor):
    """A Tensor that a Module registers as trainable when it is assigned as an attribute.

    `data` may have any shape and dtype and shares its memory with the Parameter; without it the
    Parameter is empty, of shape (0,). `requires_grad` holds even under `no_grad`.

    Raises RuntimeError where `requires_grad` is asked of an integer or bool tensor.
    Source: PyTorch, torch.nn.parameter.Parameter.

    >>> import tiny_torch as torch
    >>> torch.nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ()

    def __new__(cls: type[_P], data: Tensor | None = None, requires_grad: bool = True) -> _P:
        return _make(torch.empty(0) if data is None else data, cls, requires_grad)

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        """Everything is done in `__new__`; this keeps Tensor's own constructor from running."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        # Hooks are not saved; the empty OrderedDict stands for them in PyTorch's file format.
        arguments: tuple[Any, ...] = (self.data, self.requires_grad, OrderedDict())
        if not self.__dict__:
            return _rebuild_parameter, arguments
        return _rebuild_parameter_with_state, (*arguments, self.__dict__)


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Parameter:
    """What unpickling a Parameter calls, with the arguments of PyTorch's function of this name."""
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(
    data: Tensor, requires_grad: bool, backward_hooks: Any, state: dict[str, Any]
) -> Parameter:
    """The same for a Parameter that carries attributes of its own."""
    made = Parameter(data, requires_grad)
    made.__dict__.update(state)
    return made


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

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        source = torch.empty(0) if data is None else data
        made: Any = source.detach().requires_grad_(source.requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made


class _NoArray:
    """Stands where a tensor has its array: whoever asks anything of that gets the ValueError."""

    __slots__ = ("memory", "owner")

    def __init__(self, memory: Any, owner: str) -> None:
        self.memory, self.owner = memory, owner  # of no elements; the class of the tensor

    def __getattr__(self, *asked: Any) -> Any:
        raise ValueError(
            f"Attempted to use an uninitialized parameter or buffer, a {self.owner}. Call "
            "`forward` with a dummy batch to initialize the parameters of a lazy module first."
        )


for _name in vars(_core.NDArray).keys() - vars(object).keys():
    if _name.startswith("__"):  # an operator, for which Python does not ask __getattr__
        setattr(_NoArray, _name, _NoArray.__getattr__)


class UninitializedTensorMixin:
    """A tensor without a shape: it has a dtype and a device, and may be moved between those.

    `materialize` gives it its shape and its final class. Until then ops on it raise ValueError,
    `shape` RuntimeError.
    """

    __slots__ = ()
    cls_to_become: Any
    requires_grad: Any
    array: Any

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        made = _make(torch.empty(0, device=device, dtype=dtype), cls.cls_to_become, requires_grad)
        made.array = _NoArray(made.array, cls.__name__)
        made.__class__ = cls
        return made

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        """Everything is done in `__new__`."""

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Memory of that shape, of its own device and dtype unless others are given."""
        memory = torch.empty(shape, device=device or self.device, dtype=dtype or self.dtype)
        self.array = memory.array
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one. Call `forward` to initialize the parameters before accessing their "
            "attributes."
        )

    @property
    def data(self) -> Tensor:
        return wrap(self.array.memory)

    @data.setter
    def data(self, value: Tensor) -> None:
        self.array = _NoArray(value.data.array, type(self).__name__)

    dtype = property(lambda self: self.array.memory.dtype)
    device = property(lambda self: self.data.device)

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    def to(self, *args: Any, **kwargs: Any) -> Any:
        moved = self.data.to(*args, **kwargs)
        return type(self)(self.requires_grad, moved.device, moved.dtype)

    def detach(self) -> Any:
        return self

    def share_memory_(self) -> Any:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
            "initialize the parameters before calling `module.share_memory()`."
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), (self.requires_grad,)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


for _name in ("half", "float", "double", "bfloat16", "cpu"):
    _convert = getattr(Tensor, _name)
    setattr(
        UninitializedTensorMixin,
        _name,
        lambda self, _convert=_convert: self.to(_convert(self.data).dtype),
    )


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A Parameter whose shape is not known yet.

    Source: PyTorch, torch.nn.parameter.UninitializedParameter.

    >>> import tiny_torch as torch
    >>> weight = torch.nn.UninitializedParameter()
    >>> weight
    <UninitializedParameter>
    >>> weight.materialize((2, 3))
    >>> weight.shape
    torch.Size([2, 3])
    """

    __slots__ = ()
    cls_to_become = Parameter


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet.

    Source: PyTorch, torch.nn.parameter.UninitializedBuffer.
    """

    __slots__ = ()
    cls_to_become = Tensor

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None) -> Any:
        return super().__new__(cls, requires_grad, device, dtype)


def is_lazy(param: Any) -> bool:
    """Whether its shape is not known yet."""
    return isinstance(param, UninitializedTensorMixin)
