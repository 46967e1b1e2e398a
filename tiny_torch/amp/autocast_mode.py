"""`autocast`, and what lets a user's Function run under it. What is cast: policies.py, state.py."""

from __future__ import annotations

import functools
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.amp import state
from tiny_torch.base.arguments import wrong_kind
from tiny_torch.base.devices import device
from tiny_torch.base.modes import Scope
from tiny_torch.tensor import Tensor

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]


def is_autocast_available(device_type: str) -> bool:
    """Whether there is an autocast for this type of device.

    >>> import tiny_torch as torch
    >>> torch.amp.is_autocast_available("cpu")
    True
    """
    if not isinstance(device_type, str):
        raise wrong_kind("_is_autocast_available", "device_type", "str", device_type, 1)
    return device_type in state.DEFAULTS or device(device_type).type in state.DEFAULTS


def autocast_decorator(autocast_instance: autocast, func: Callable) -> Callable:
    """The function, called within the block."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return _core.within(autocast_instance, func, *args, **kwargs)

    return wrapper


class autocast(Scope):
    """Within it products are computed in half precision, and what needs range in float32.

    A context manager and a decorator, of one thread. `device_type` is "cpu", "cuda" or
    "cuda-emulated"; `dtype` bfloat16 or float16, by default `get_autocast_dtype`'s; another dtype
    warns and disables. Parameters stay float32, and so do their gradients; a parameter's cast is
    made once until the outermost block ends, unless `cache_enabled` is False: again only after a
    write. Backward belongs outside of the block. With `log` the block counts its casts:
    ``casts[op, from, to]``, which `report` prints.
    https://pytorch.org/docs/stable/amp.html#torch.autocast

    >>> import tiny_torch as torch
    >>> net = torch.nn.Linear(2, 1)
    >>> with torch.autocast("cpu", log=True) as block:
    ...     y = net(torch.ones(3, 2))
    >>> y.dtype, net.weight.dtype
    (torch.bfloat16, torch.float32)
    >>> print(block.report())
    Linear: 3 of torch.float32 to torch.bfloat16
    """

    def __init__(
        self,
        device_type: str,
        dtype: Any = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
        *,
        log: bool = False,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device_type
        self.fast_dtype = torch.get_autocast_dtype(device_type) if dtype is None else dtype
        if not is_autocast_available(device_type):
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{device_type}'"
            )
        self._cache_enabled = (
            torch.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        )
        self._enabled = enabled and self._is_possible()
        self.casts: Counter = Counter()
        self._log = log

    def _is_possible(self) -> bool:
        """Whether the device is there and can compute in the dtype; else it warns."""
        if self.device == "cuda":
            if not torch.cuda.is_available():
                warnings.warn(
                    "CUDA is not available or torch_xla is imported. Disabling autocast.",
                    stacklevel=3,
                )
                return False
        elif self.fast_dtype not in state.HALVES:
            name = self.device.upper()
            warnings.warn(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
                stacklevel=3,
            )
            return False
        return True

    def current(self) -> tuple:
        where, nesting, logs = self.device, state.state.nesting, len(state.state.logs)
        before = torch.is_autocast_enabled(where), torch.get_autocast_dtype(where)
        return *before, torch.is_autocast_cache_enabled(), nesting, logs

    def begin(self) -> autocast:
        torch.set_autocast_enabled(self.device, self._enabled)
        torch.set_autocast_dtype(self.device, self.fast_dtype)
        torch.autocast_increment_nesting()
        torch.set_autocast_cache_enabled(self._cache_enabled)
        if self._log:
            state.state.logs.append(self.casts)
        return self

    def restore(self, before: tuple) -> None:
        enabled, dtype, cache_enabled, state.state.nesting, logs = before
        del state.state.logs[logs:]
        if state.state.nesting == 0:
            torch.clear_autocast_cache()
        torch.set_autocast_enabled(self.device, enabled)
        torch.set_autocast_dtype(self.device, dtype)
        torch.set_autocast_cache_enabled(cache_enabled)

    def __call__(self, func: Callable) -> Callable:
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. "
                "Did you mean to use autocast as a context manager? For example:\n"
                "    with torch.autocast(device_type=...):\n"
                "        output = model(input)"
            )
        return autocast_decorator(self, func)

    def report(self) -> str:
        """The casts that a block with `log` has counted: a line per op and pair of dtypes."""
        return "\n".join(
            f"{op}: {count} of {before} to {after}"
            for (op, before, after), count in self.casts.most_common()
        )


def _cast(value: Any, device_type: str, dtype: Any) -> Any:
    """Floats of a device, in containers too, in another dtype; float64 stays."""
    if isinstance(value, Tensor):
        eligible = state.is_eligible(value, device_type) and value.dtype is not torch.float64
        return value.to(dtype) if eligible else value
    if isinstance(value, (str, bytes, np.ndarray)):
        return value
    if isinstance(value, Mapping):
        return {
            _cast(key, device_type, dtype): _cast(item, device_type, dtype)
            for key, item in value.items()
        }
    if isinstance(value, Iterable):
        items = (_cast(item, device_type, dtype) for item in value)
        return type(value)(items) if isinstance(value, (list, tuple)) else items
    return value


def _require_name(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def custom_fwd(fwd: Callable | None = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorates forward of a Function: with `cast_inputs`, it gets inputs of that dtype.

    It then runs without autocast; outside of a block nothing is cast.
    https://pytorch.org/docs/stable/amp.html#torch.amp.custom_fwd

    >>> import tiny_torch as torch
    >>> class Product(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu")
    ...     def forward(ctx, a, b):
    ...         ctx.save_for_backward(a, b)
    ...         return a.mm(b)
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         a, b = ctx.saved_tensors
    ...         return grad.mm(b.t()), a.t().mm(grad)
    >>> a = torch.ones(2, 2, requires_grad=True)
    >>> with torch.autocast("cpu"):
    ...     y = Product.apply(a, torch.ones(2, 2))
    >>> y.float().sum().backward()
    >>> y.dtype, a.grad.dtype
    (torch.bfloat16, torch.float32)
    """
    _require_name(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        ctx, enabled = args[0], torch.is_autocast_enabled(device_type)
        ctx._dtype = torch.get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = enabled and cast_inputs is None
        if cast_inputs is None or not enabled:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            args, kwargs = [_cast(given, device_type, cast_inputs) for given in (args, kwargs)]
            return fwd(*args, **kwargs)

    return wrapper


def custom_bwd(bwd: Callable | None = None, *, device_type: str) -> Any:
    """Decorates backward of a Function: it runs under the autocast that its forward had.

    https://pytorch.org/docs/stable/amp.html#torch.amp.custom_bwd
    """
    _require_name(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(*args, **kwargs)

    return wrapper
