"""The part of Module that changes its mode and its parameters' dtype, device and gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.autograd import no_grad
from tiny_torch.autograd.history import zero_without_history
from tiny_torch.base.modes import outside_of_program
from tiny_torch.nn.parameter import Parameter
from tiny_torch.tensor import Tensor

_M = TypeVar("_M", bound="Conversion")


class Conversion:
    """A part of Module: train and eval, `requires_grad_`, `zero_grad`, `to` and its short forms."""

    if TYPE_CHECKING:
        _parameters: dict[str, Parameter | None]
        _buffers: dict[str, Tensor | None]
        children: Callable[[], Iterator[Any]]
        parameters: Callable[[], Iterator[Parameter]]

    training: bool

    def train(self: _M, mode: bool = True) -> _M:
        """Set `training` here and in all submodules; ValueError unless `mode` is a bool."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: _M) -> _M:
        """The same as `train(False)`."""
        return self.train(False)

    def requires_grad_(self: _M, requires_grad: bool = True) -> _M:
        """Set `requires_grad` of all parameters."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with 0 in place."""
        if _core.is_recording():
            return outside_of_program(Conversion.zero_grad, self, set_to_none)
        for param in self.parameters():
            if param.grad is None:
                continue
            if set_to_none:
                param.grad = None
            else:
                zero_without_history(param.grad)

    def _apply(self: _M, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> _M:
        """Replace every parameter's and gradient's data, and every buffer, by fn of it.

        Parameters stay the same objects, so an optimizer that holds them goes on working.
        """
        if recurse:
            for module in self.children():
                module._apply(fn)
        for param in self._parameters.values():
            if param is None:
                continue
            for tensor in (param, param.grad):
                if tensor is not None:
                    with no_grad():
                        converted = fn(tensor)
                    if converted is not tensor:
                        tensor.data = converted
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self: _M, *args: Any, **kwargs: Any) -> _M:
        """Move parameters and buffers to a device, floating ones to a dtype, 4-d ones to a format.

        to(device, dtype, non_blocking), to(dtype, non_blocking), to(tensor, non_blocking), each
        with `memory_format`. Raises TypeError for a dtype that is not floating.

        >>> import tiny_torch as torch
        >>> torch.nn.Linear(2, 3).to(torch.float64).weight.dtype
        torch.float64
        """
        target = arguments_of_to(*args, **kwargs)
        dtype = target.pop("dtype", None)
        memory_format = target.pop("memory_format", None)
        if dtype is not None and not dtype.is_floating_point:
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, "
                f"but got desired dtype={dtype}"
            )

        def convert(tensor: Tensor) -> Tensor:
            options = dict(target)
            if dtype is not None and tensor.is_floating_point():
                options["dtype"] = dtype
            if memory_format is not None and tensor.ndim in (4, 5):
                options["memory_format"] = memory_format
            target_type = options.get("device", tensor.device).type
            if tensor.device.type == "meta" != target_type:
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use "
                    "torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving module "
                    "from meta to a different device."
                )
            return tensor.to(**options) if options else tensor

        return self._apply(convert)

    def type(self: _M, dst_type: Any) -> _M:
        """Cast all parameters and buffers to `dst_type`."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self: _M) -> _M:
        """Cast all floating parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self: _M) -> _M:
        """Cast all floating parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self: _M) -> _M:
        """Cast all floating parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self: _M) -> _M:
        """Cast all floating parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def cpu(self: _M) -> _M:
        """Move all parameters and buffers to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self: _M, device: Any = None) -> _M:
        """Move all parameters and buffers to a GPU."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def to_empty(self: _M, *, device: Any, recurse: bool = True) -> _M:
        """Move parameters and buffers to a device without copying their values."""
        return self._apply(lambda tensor: torch.empty_like(tensor, device=device), recurse)

    def share_memory(self: _M) -> _M:
        """Move parameters and buffers to shared memory."""
        return self._apply(lambda tensor: tensor.share_memory_())


def arguments_of_to(*args: Any, memory_format: Any = None, **named: Any) -> dict[str, Any]:
    """The arguments of `to` in any of its three forms, by name; only those that were given."""
    first = args[0] if args else None
    if isinstance(first, Tensor):
        forms: tuple[str, ...] = ("tensor", "non_blocking")
    elif isinstance(first, torch.dtype):
        forms = ("dtype", "non_blocking")
    else:
        forms = ("device", "dtype", "non_blocking")
    given = dict(zip(forms, args, strict=False))
    unknown = set(named) - {"device", "dtype", "non_blocking", "tensor"}
    twice = set(given) & set(named)
    given.update(named)
    dtype = given.get("dtype")
    bad_dtype = dtype is not None and not isinstance(dtype, torch.dtype)
    if len(args) > len(forms) or unknown or twice or bad_dtype:
        kinds = [type(value).__name__ for value in args]
        kinds += [f"{key}={type(value).__name__}" for key, value in named.items()]
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({', '.join(kinds)})"
        )
    other = given.pop("tensor", None)
    if other is not None:
        given.update(device=other.device, dtype=other.dtype)
    if given.get("device") is not None:
        given["device"] = torch.device(given["device"])
    if memory_format is not None:
        given["memory_format"] = memory_format
    return {key: value for key, value in given.items() if value is not None and value is not False}
