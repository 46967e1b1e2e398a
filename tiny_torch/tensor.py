"""Tensor: an array, and its place in the graph.

What a tensor computes stands in ops/, and is attached to the class there (ops/methods.py). Here are
its own parts: memory, gradient, history, and how it meets Python.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tiny_torch import _core
from tiny_torch.autograd.graph import (
    INFERENCE,
    LEAF,
    NO_GRAD,
    View,
    edge_of,
    modes,
    named,
    source_of,
)
from tiny_torch.autograd.hooks import check_assigned, is_retained
from tiny_torch.devices import DEVICES
from tiny_torch.size import Size

wrap = _core.wrap  # (array, edge=None, cls=Tensor): the one way by which an array becomes a tensor
INFERENCE_STAMP = _core.inference_stamp


if TYPE_CHECKING:  # TensorBase, and what ops/methods.py attaches
    from tiny_torch._published import TensorMethods as TensorBase
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

    # The fields, which C++ holds (bindings/tensor.cpp), so that results cost no Python call.
    array: Any  # NDArray, or RefArray on device "ref"
    edge: Any  # where its gradient goes: (node, output), LEAF, or None; of a view: ask edge_of
    _view: View | None
    _grad: Tensor | None

    _hooks: dict  # a leaf's own; not there before the first
    _post_hooks: dict

    __array_priority__ = 1000  # NumPy leaves mixed operators to us

    def __new__(cls, *args, **kwargs):
        from tiny_torch.from_data import legacy_constructor

        return legacy_constructor(cls, *args, **kwargs)

    # ------------------------------------------------------------------------------- memory
    def size(self, dim: int | None = None) -> Any:
        """The shape, or one size of it."""
        if dim is None:
            return self.shape
        shape = self.array.shape
        if type(dim) is int and -len(shape) <= dim < len(shape):
            return shape[dim]
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

    def storage_offset(self) -> int:
        return self.array.offset

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
        return False

    @property
    def is_cpu(self) -> bool:
        return self.array.device == "cpu"

    def is_floating_point(self) -> bool:
        return self.array.dtype.is_floating_point

    # ------------------------------------------------------------------- gradient and history
    # Whether ops on it are recorded. A view does so once its base does; of one from before that, a
    # leaf, no gradient arrives anywhere, as in PyTorch.
    requires_grad = property(_core.requires_grad)

    @requires_grad.setter  # type: ignore[no-redef]
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError("requires_grad must be a bool")
        if value and self.edge is None:
            if self.is_inference() and not modes.bits & INFERENCE:
                raise RuntimeError(
                    "Setting requires_grad=True on inference tensor outside InferenceMode is not "
                    "allowed."
                )
            if not self.array.dtype.is_floating_point:
                raise RuntimeError(
                    "only Tensors of floating point and complex dtype can require gradients"
                )
            self.edge = LEAF
        elif not value and self.edge is not None:
            if self.edge is not LEAF:
                raise RuntimeError(
                    "you can only change requires_grad flags of leaf variables. If you want to use "
                    "a computed variable in a subgraph that doesn't require differentiation use "
                    "var_no_grad = var.detach()."
                )
            self.edge = None

    @requires_grad.deleter  # type: ignore[no-redef]
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad must be a bool")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        if not isinstance(requires_grad, bool):
            raise TypeError(
                "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
                f"{type(requires_grad).__name__}"
            )
        self.requires_grad = requires_grad
        return self

    @property
    def grad_fn(self) -> Any:
        """The node that made it, None for a leaf."""
        edge = edge_of(self)
        return None if edge is None or edge[0] is self else named(edge[0])

    def is_inference(self) -> bool:
        """Whether its memory was made in `inference_mode`."""
        return self.array.stamp == INFERENCE_STAMP

    @property
    def output_nr(self) -> int:
        edge = edge_of(self)
        return 0 if edge is None else edge[1]

    @property
    def is_leaf(self) -> bool:
        edge = edge_of(self)
        return edge is None or edge[0] is self

    @property
    def grad(self) -> Tensor | None:
        """The gradient, once backward has computed it; of a leaf, or after retain_grad."""
        grad = self._grad
        edge = self.edge
        if grad is None and edge is not None and edge is not LEAF and not is_retained(self, edge):
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
                ".grad attribute won't be populated during autograd.backward(). If you indeed want "
                "the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the "
                "non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you "
                "access the leaf Tensor instead.",
                stacklevel=2,
            )
        return grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(
                    "assigned grad expected to be a Tensor or None but got grad of type "
                    f"{type(value).__name__}"
                )
            check_assigned(self, value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Adds the gradient of this tensor to ``.grad`` of the leaves it was computed from.

        ``gradient`` has this tensor's shape; it may be left out if that has one element. Raises
        RuntimeError if nothing requires grad, or the graph was freed.
        https://pytorch.org/docs/stable/generated/torch.Tensor.backward.html

        >>> import tiny_torch as torch
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> (x * x).backward()
        >>> x.grad
        tensor(6.)
        """
        from tiny_torch.autograd import backward

        backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def detach(self) -> Tensor:
        """The same memory without history; writes to either are noticed by both."""
        return wrap(self.array)

    def detach_(self) -> Tensor:
        """Forgets its history; RuntimeError for a view, but of integers, which have none.

        In inference mode it does nothing, as PyTorch's.
        """
        if modes.bits & INFERENCE:
            return self
        if self._view is not None and not self.is_inference():
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using "
                "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
                "True, gradients are views of DDP buckets, and hence detach_() cannot be called "
                "on these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
                "function in torch/optim/optimizer.py as the solution."
            )
        self.edge = None
        return self

    @property
    def data(self) -> Tensor:
        """The same memory, without history and with a version of its own."""
        return wrap(self.array.alias())

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self.edge is not None and not value.array.dtype.is_floating_point:
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point or complex "
                "dtype"
            )
        if self._view is not None and self._view.stamp < 0:
            edge_of(self)
        self.array = value.array.alias()
        if self._view is not None:
            self._view.stamp = self.array.stamp

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Any:
        """Calls ``hook(grad)`` when this tensor's gradient is known; an answer replaces it."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        from tiny_torch.autograd.hooks import add_hook

        return add_hook(self, source_of(self), hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> Any:
        """Calls ``hook(tensor)`` after ``.grad`` of this leaf was added to."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not self.is_leaf:
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors"
            )
        from tiny_torch.autograd.hooks import add_to

        return add_to(self, "_post_hooks", hook)

    def retain_grad(self) -> None:
        """Keeps the gradient of a tensor that is not a leaf in ``.grad``, too."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if not self.is_leaf:
            from tiny_torch.autograd.hooks import retain

            retain(self, edge_of(self))

    @property
    def retains_grad(self) -> bool:
        return is_retained(self, edge_of(self))

    @property
    def _base(self) -> Tensor | None:
        return None if self._view is None else self._view.base

    def _is_view(self) -> bool:
        return self._view is not None

    @property
    def _version(self) -> int:
        """How often its memory was written, also through views and `detach()`."""
        if self.is_inference():
            raise RuntimeError("Inference tensors do not track version counter.")
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
        if isinstance(element, Tensor | int | float | bool):
            equal: Any = self == element
            return bool(equal.any().item())
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}."
        )

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        from tiny_torch.printing import tensor_text

        return tensor_text(self)

    def __format__(self, spec: str) -> str:
        if self.array.ndim == 0 and type(self) is Tensor:
            return self.array.item().__format__(spec)
        return object.__format__(self, spec)

    def __deepcopy__(self, memo: dict) -> Tensor:
        from tiny_torch._serialization.core import deep_copied

        return deep_copied(self, memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        from tiny_torch.serialization import reduce_tensor

        return reduce_tensor(self)


_core.register_classes(Tensor, Size, DEVICES)


def counted_dim(function: str, dim: Any, ndim: int) -> int:
    """A dim of a method, counted from the front."""
    from tiny_torch.ops.public import check_int

    number = check_int(function, "dim", 1, dim)
    if ndim == 0:
        raise IndexError(f"Dimension specified as {number} but tensor has no dimensions")
    return _core.wrap_dim(number, ndim)


__all__ = ["Tensor", "_core", "wrap"]
