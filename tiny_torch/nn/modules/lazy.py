"""Modules that learn from their first input how large their parameters are.

Until then they have parameters and buffers without a shape, which are attached to parameter.py.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.functions import methods  # noqa: F401 -- which gives Tensor its own
from tiny_torch.nn import parameter
from tiny_torch.nn.modules import linear
from tiny_torch.nn.modules.linear import Linear
from tiny_torch.tensor import Tensor, wrap

__all__ = [
    "LazyModuleMixin",
]


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
        memory = torch.empty(0, device=device, dtype=dtype)
        made = parameter._make_subclass(cls.cls_to_become, memory, requires_grad)
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
    is_cuda = property(lambda self: self.data.is_cuda)

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

    def __repr__(self, **contents: Any) -> str:
        return f"<{type(self).__name__}>"


for _name in ("half", "float", "double", "bfloat16", "cpu"):
    _convert = getattr(Tensor, _name)
    setattr(
        UninitializedTensorMixin,
        _name,
        lambda self, _convert=_convert: self.to(_convert(self.data).dtype),
    )


class UninitializedParameter(UninitializedTensorMixin, parameter.Parameter):  # type: ignore[misc]
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
    cls_to_become = parameter.Parameter


class UninitializedBuffer(UninitializedTensorMixin, Tensor):  # type: ignore[misc]
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


for _public in (UninitializedTensorMixin, UninitializedParameter, UninitializedBuffer, is_lazy):
    _public.__module__ = parameter.__name__  # where PyTorch has it
    setattr(parameter, _public.__name__, _public)


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
