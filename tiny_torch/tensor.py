"""Tensor: an array, and its place in the graph.

Here are its own parts: memory, and how it meets Python. The rest stands in the rows above, and is
attached to the class there (functions/methods.py): gradient and history in autograd/history.py,
what a tensor computes in ops/, its text in printing.py, how it is pickled in exchange/plain.py.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tiny_torch import _core
from tiny_torch.base.arguments import check_bool, counted_dim
from tiny_torch.base.devices import DEVICES
from tiny_torch.base.modes import INFERENCE, NO_GRAD, modes
from tiny_torch.base.size import Size

wrap = _core.wrap  # (array, edge=None, cls=Tensor): the one way by which an array becomes a tensor
INFERENCE_STAMP = _core.inference_stamp

if TYPE_CHECKING:  # TensorBase, and what functions/methods.py attaches
    from tiny_torch.functions._published import TensorMethods as TensorBase
else:
    TensorBase = _core.TensorBase


class Tensor(TensorBase):
    """An n-dimensional array that records how it was computed.

    >>> import tiny_torch as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])

    https://pytorch.org/docs/stable/tensors.html
    """

    __module__ = "tiny_torch"  # where it is public, as its repr says

    __slots__ = ("__dict__", "__weakref__")

    # The fields, which C++ holds (autograd/tensor.cpp), so that results cost no Python call.
    array: Any  # NDArray, or RefArray on device "ref"
    edge: Any  # where its gradient goes: (node, output), LEAF, or None; of a view: ask edge_of
    _view: _core.View | None
    _grad: Tensor | None

    _hooks: dict | None  # a leaf's own, once there was one
    _post_hooks: dict | None
    _latest: list | None  # [array, name of the edge], once `.data` was set: what nodes read then

    __array_priority__ = 1000  # NumPy leaves mixed operators to us

    # ------------------------------------------------------------------------------- memory
    def size(self, dim: int | None = None) -> Any:
        """The shape, or one size of it."""
        if dim is None:
            return self.shape
        shape = self.array.shape
        try:
            if type(dim) is int:
                return shape[dim]
        except IndexError:
            pass  # counted_dim raises it in PyTorch's words
        return shape[counted_dim("size", dim, len(shape))]

    def dim(self) -> int:
        return self.array.ndim

    ndimension = dim

    def numel(self) -> int:
        return self.array.size

    nelement = numel

    def stride(self, dim: int | None = None) -> Any:
        """Strides in elements, or one of them."""
        strides = self.array.strides
        return strides if dim is None else strides[counted_dim("stride", dim, len(strides))]

    def element_size(self) -> int:
        return self.array.itemsize

    @property
    def itemsize(self) -> int:
        return self.array.itemsize

    @property
    def nbytes(self) -> int:
        return self.array.itemsize * self.array.size

    def data_ptr(self) -> int:
        return self.array.data_ptr

    @property
    def is_cuda(self) -> bool:
        return self.array.device == "cuda"

    @property
    def is_cpu(self) -> bool:
        return self.array.device == "cpu"

    def is_floating_point(self) -> bool:
        return self.array.dtype.is_floating_point

    def is_inference(self) -> bool:
        """Whether its memory was made in `inference_mode`."""
        return self.array.stamp == INFERENCE_STAMP

    @property
    def _base(self) -> Tensor | None:
        _core.refuse_given(self.array, "asks whether an argument is a view")
        return None if self._view is None else self._view.base

    @property
    def _version(self) -> int:
        """How often its memory was written, also through views and `detach()`."""
        if self.is_inference():
            raise RuntimeError("Inference tensors do not track version counter.")
        _core.refuse_given(self.array, "asks how often an argument was written")
        return self.array.writes

    # --------------------------------------------------------------------------- meeting Python
    def item(self) -> bool | int | float:
        """The one element as a Python number; RuntimeError if there is not just one."""
        return self.array.item()

    def tolist(self) -> Any:
        """Nested lists of Python numbers; a number for a 0-d tensor."""
        return self.array.tolist()

    def numpy(self, *, force: bool = False) -> Any:
        """A NumPy array on the same memory; of a copy without history if `force`."""
        check_bool("numpy", "force", None, force)
        if force:
            return self.detach().cpu().array.numpy()
        if not modes.bits & NO_GRAD and self.requires_grad:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                "instead."
            )
        self.array.fix_memory()
        return self.array.numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.numpy()
        if copy is False and dtype is not None and array.dtype != dtype:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        result = array if dtype is None else array.astype(dtype, copy=False)
        return result.copy() if copy and result is array else result

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """What NumPy's functions answer for a tensor: a tensor; of bools, one of uint8."""
        return wrap(_core.from_numpy(array.astype("uint8") if array.dtype == bool else array))

    def __len__(self) -> int:
        if self.array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self.array.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if self.array.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __bool__(self) -> bool:
        if self.array.size != 1:
            if self.array.size == 0:
                raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self.array.item())

    def __float__(self) -> float:
        if self.requires_grad and not modes.bits & (NO_GRAD | INFERENCE):
            warnings.warn(
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
                "behavior.\nConsider using tensor.detach() first.",
                stacklevel=2,
            )
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def __complex__(self) -> complex:
        return complex(self._number())

    def _number(self) -> Any:
        if self.array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.array.item()

    def __index__(self) -> int:
        if self.array.size != 1 or self.array.dtype.is_floating_point:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.array.item())

    def __contains__(self, element: Any) -> bool:
        if isinstance(element, Tensor | numbers.Number):
            equal: Any = self == element
            return bool(equal.any().item())
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}."
        )

    __hash__ = object.__hash__

    def __format__(self, spec: str) -> str:
        if self.array.ndim == 0 and type(self) is Tensor:
            return self.array.item().__format__(spec)
        return object.__format__(self, spec)


_core.register_classes(Tensor, Size, DEVICES)

__all__ = ["Tensor", "_core", "wrap"]
