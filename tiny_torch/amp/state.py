"""What a thread's autocast is set to, and the mode that casts: PyTorch's functions that say so.

`autocast` (autocast_mode.py) sets and restores this; a program may do so itself.
"""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

from tiny_torch import _core
from tiny_torch.amp.policies import (
    AS_GIVEN,
    BANNED,
    LOWER,
    POLICIES,
    ROUNDED,
    WIDEST,
    function_key,
    policy_key,
    seen_on,
)
from tiny_torch.autograd.op_mode import ORDINARY, OpMode, place_on_stack
from tiny_torch.base.arguments import wrong_kind
from tiny_torch.base.devices import OF_PYTORCH, device, not_here
from tiny_torch.base.modes import NO_GRAD, WATCHED, Scope, modes
from tiny_torch.tensor import Tensor

DEFAULTS = {
    "cpu": _core.bfloat16,
    **dict.fromkeys(("cuda", "cuda-emulated", "ipu", "mps", "mtia", "xpu"), _core.float16),
    **dict.fromkeys(("hpu", "maia", "xla"), _core.bfloat16),
}  # on those that are not here it can be set, as in PyTorch, and casts nothing
HALVES = (_core.float16, _core.bfloat16)
SAFER = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
    "In this case, combine the two layers using "
    "torch.nn.functional.binary_cross_entropy_with_logits\n"
    "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
    "safe to autocast."
)


class Casts(OpMode):
    """Casts the inputs of the ops that policies.py lists, on the devices that are enabled."""

    casts = True

    def __init__(self, enabled: set[str], dtypes: dict[str, Any]) -> None:
        self.enabled = enabled  # State's
        self.dtypes = dtypes

    def takes_whole(self, name: str, arguments: tuple) -> bool:
        where = device_among(arguments)
        return where in self.enabled and function_key(name, arguments) in POLICIES[where]

    def forward(self, call: Callable, op: Any, arguments: tuple, kind: str) -> Any:
        if kind is not ORDINARY:  # PyTorch casts for no form that writes into a tensor
            return call(op, arguments)
        where = device_among(arguments)
        if where not in self.enabled:
            return call(op, arguments)
        key = policy_key(op, arguments)
        policy = POLICIES[where].get(key)
        if policy in (None, AS_GIVEN):
            return call(op, arguments)
        if key == "LSTM" and where == "cpu":
            _, x, sizes, _, weights, biases, *_ = arguments
            if len(weights) == 2 + 2 * biases:  # no projection
                if not sizes or not sizes[0] or sizes[0] != sizes[-1]:
                    return call(op, arguments)  # several lengths, or none, have another kernel
                self.check_lstm(x)
        if policy == BANNED:
            raise RuntimeError(SAFER)
        dtype = _core.float32
        if policy == LOWER:
            dtype = self.dtypes[where]
        elif policy == WIDEST:
            dtype = widest(arguments, where)
        elif hasattr(op, "in_float32") and (wide := op.in_float32(*arguments)) is not None:
            self.note(arguments[0], dtype, op.__name__)
            return call(wide, arguments)
        result = call(op, tuple([self.cast(x, dtype, where, op.__name__) for x in arguments]))
        if policy == ROUNDED:
            return self.cast(result, self.dtypes[where], where, op.__name__)
        return result

    def note(self, x: Tensor, dtype: Any, name: str) -> None:
        for log in state.logs:
            log[name, str(x.dtype), str(dtype)] += 1

    def check_lstm(self, x: Tensor) -> None:
        """PyTorch's kernel of the CPU has no float16, but on the newest machines."""
        if self.dtypes["cpu"] is _core.float16 and x.dtype not in (_core.float16, _core.float64):
            raise RuntimeError(
                "could not create a primitive descriptor for the LSTM forward propagation "
                "primitive: autocast on the cpu has no float16 for it; take bfloat16"
            )

    def cast(self, x: Any, dtype: Any, where: str, name: str) -> Any:
        if not isinstance(x, Tensor):
            if isinstance(x, (tuple, list)):
                return type(x)([self.cast(part, dtype, where, name) for part in x])
            return x
        if x.array.dtype in (dtype, _core.float64) or not is_eligible(x, where):
            return x
        self.note(x, dtype, name)
        if not (
            state.cache_enabled
            and x.requires_grad
            and x.is_leaf
            and dtype is self.dtypes[where]
            and x.dtype is _core.float32
        ):
            return x.to(dtype)
        return cast_once(x, dtype)


def cast_once(x: Tensor, dtype: Any) -> Tensor:
    """A leaf's cast, made once; again where the leaf was written or its history is now wanted."""
    found = state.cache.get(id(x))
    if found is not None:
        _, version, cast = found
        fresh = version == x.array.writes and cast.dtype is dtype
        if fresh and (cast.requires_grad or modes.bits & NO_GRAD):
            return cast
    cast = x.to(dtype)
    state.cache[id(x)] = (x, x.array.writes, cast)  # x too, so that its id stays its own
    return cast


def is_eligible(x: Any, where: str) -> bool:
    return isinstance(x, Tensor) and x.dtype.is_floating_point and x.array.device == where


def device_among(arguments: Any) -> str | None:
    """The device type of the first tensor."""
    for x in arguments:
        if isinstance(x, Tensor):
            return x.array.device
        if isinstance(x, (tuple, list)):
            found = device_among(x)
            if found is not None:
                return found
    return None


def is_cast_on(x: Tensor) -> bool:
    """Whether autocast sees the ops on x's device."""
    return isinstance(x, Tensor) and x.array.device in state.enabled


def widest(arguments: Any, where: str, dtype: Any = None) -> Any:
    """float32 from the first input on that is that, until then the block's dtype.

    RuntimeError for the other half before any float32, as in PyTorch.
    """
    lower = state.dtypes[where]
    dtype = dtype or lower
    for x in arguments:
        if isinstance(x, (tuple, list)):
            dtype = widest(x, where, dtype)
        elif not is_eligible(x, where) or x.dtype is _core.float64:
            continue
        elif x.dtype is _core.float32:
            dtype = x.dtype
        elif x.dtype is not lower and dtype is lower:
            raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return dtype


class State(threading.local):
    """This thread's settings."""

    def __init__(self) -> None:
        self.enabled: set[str] = set()
        self.dtypes: dict[str, Any] = dict(DEFAULTS)
        self.cache_enabled = True
        self.nesting = 0
        self.cache: dict[int, tuple[Tensor, int, Tensor]] = {}
        self.logs: list[Counter] = []
        self.mode = Casts(self.enabled, self.dtypes)


state = State()


class OwnCasts(Scope):
    """Within it no cast is found that was made before, and none is there afterwards."""

    def current(self) -> dict:
        return dict(state.cache)

    def begin(self) -> None:
        state.cache.clear()

    def restore(self, before: dict) -> None:
        state.cache.clear()
        state.cache.update(before)


def kind_of_casts() -> tuple | None:
    """Equal where autocast does the same to a call; None where more than that watches its ops."""
    if not modes.bits & WATCHED:
        return ()
    if modes.op_modes != (state.mode,) or state.logs:
        return None
    return (*sorted(state.enabled), *state.dtypes.values(), state.cache_enabled)


def settings() -> list[dict[str, Any]]:
    """Arguments of `autocast` blocks, one inside the other, that set this thread as it is."""
    return [
        {
            "device_type": where,
            "dtype": state.dtypes[where],
            "enabled": where in state.enabled,
            "cache_enabled": state.cache_enabled,
        }
        for where in POLICIES
    ]


# ---- PyTorch's functions ------------------------------------------------------------------------


def known_device_type(function: str, device_type: Any, text: str) -> str:
    """The name of a type of device that autocast knows."""
    if not isinstance(device_type, str):
        raise wrong_kind(function, "device_type", "str", device_type, 1)
    if device_type not in DEFAULTS:
        device(device_type)  # raises where it names none
        if device_type in OF_PYTORCH:
            raise not_here(device_type)
        raise RuntimeError(text)
    return device_type


def _key(function: str, device_type: Any) -> str:
    return known_device_type(
        function,
        device_type,
        "unknown device type for autocast in get_autocast_dispatch_key_from_device_type",
    )


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether ops on this type of device are cast, in this thread.

    >>> import tiny_torch as torch
    >>> with torch.autocast("cpu"):
    ...     print(torch.is_autocast_enabled("cpu"))
    True
    """
    if device_type in OF_PYTORCH and device_type not in DEFAULTS:
        return False
    return _key("is_autocast_enabled", device_type) in state.enabled


def set_autocast_enabled(device_type: Any, enabled: Any = None) -> None:
    """Casts ops on this type of device, or no longer: ``set_autocast_enabled("cpu", True)``."""
    position = 2
    if enabled is None:
        device_type, enabled, position = "cuda", device_type, 1
    where = _key("set_autocast_enabled", device_type)
    if not isinstance(enabled, bool):
        raise wrong_kind("set_autocast_enabled", "enabled", "bool", enabled, position)
    (state.enabled.add if enabled else state.enabled.discard)(where)
    here = state.enabled & POLICIES.keys()
    state.mode.sees = frozenset().union(*map(seen_on, here))
    place_on_stack(state.mode, bool(here))


def get_autocast_dtype(device_type: str) -> Any:
    """The dtype that products are computed in: bfloat16 on the CPU, float16 elsewhere, or as set.

    >>> import tiny_torch as torch
    >>> torch.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    return state.dtypes[
        known_device_type("get_autocast_dtype", device_type, "unsupported scalarType")
    ]


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Sets what `get_autocast_dtype` answers, in this thread."""
    if not isinstance(device_type, str):
        raise wrong_kind("set_autocast_dtype", "device_type", "str", device_type, 1)
    where = device_type if device_type in DEFAULTS else device(device_type).type
    if where in OF_PYTORCH and where not in DEFAULTS:
        raise not_here(where)
    if not isinstance(dtype, _core.dtype):
        raise wrong_kind("set_autocast_dtype", "dtype", "torch.dtype", dtype, 2)
    state.dtypes[where] = dtype


def is_autocast_cache_enabled() -> bool:
    """Whether the casts of leaves that require grad are kept until the outermost block ends."""
    return state.cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Keeps the casts of leaves that require grad, or no longer."""
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {type(enabled).__name__})")
    state.cache_enabled = enabled


def clear_autocast_cache() -> None:
    """Forgets the casts of leaves that were kept."""
    state.cache.clear()


def autocast_increment_nesting() -> int:
    """One more block is open; answers how many are."""
    state.nesting += 1
    return state.nesting


def autocast_decrement_nesting() -> int:
    """One block is closed; answers how many are still open."""
    state.nesting -= 1
    return state.nesting


def _warn(old: str, new: str) -> None:
    warnings.warn(
        f"torch.{old} is deprecated. Please use torch.{new} instead.",
        DeprecationWarning,
        stacklevel=3,
    )


def is_autocast_cpu_enabled() -> bool:
    """Deprecated: ``is_autocast_enabled("cpu")``."""
    _warn("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Deprecated: ``set_autocast_enabled("cpu", enabled)``."""
    _warn("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> Any:
    """Deprecated: ``get_autocast_dtype("cpu")``."""
    _warn("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: Any) -> None:
    """Deprecated: ``set_autocast_dtype("cpu", dtype)``."""
    _warn("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> Any:
    """Deprecated: ``get_autocast_dtype("cuda")``."""
    _warn("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: Any) -> None:
    """Deprecated: ``set_autocast_dtype("cuda", dtype)``."""
    _warn("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)


FUNCTIONS: dict[str, Any] = {
    function.__name__: function
    for function in (
        is_autocast_enabled,
        set_autocast_enabled,
        get_autocast_dtype,
        set_autocast_dtype,
        is_autocast_cache_enabled,
        set_autocast_cache_enabled,
        clear_autocast_cache,
        autocast_increment_nesting,
        autocast_decrement_nesting,
        is_autocast_cpu_enabled,
        set_autocast_cpu_enabled,
        get_autocast_cpu_dtype,
        set_autocast_cpu_dtype,
        get_autocast_gpu_dtype,
        set_autocast_gpu_dtype,
    )
}
