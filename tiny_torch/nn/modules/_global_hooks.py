"""Hooks on all modules at once: on their calls, on backward, on what is registered in them.

Debuggers and profilers use them. They run before a module's own hooks of their kind.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from tiny_torch.base.hooks import RemovableHandle, add_hook
from tiny_torch.nn.modules.module import (
    ON_CALLS,
    _global_buffer_registration_hooks,
    _global_module_registration_hooks,
    _global_parameter_registration_hooks,
)

# PyTorch's names: some tools look into them.
_global_forward_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_forward_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()
_global_forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()
_global_backward_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_backward_hooks: OrderedDict[int, Callable] = OrderedDict()


_global_is_full_backward_hook: bool | None = None


def kind_of_backward(so_far: bool | None, is_full: bool, place: str) -> bool:
    """Whether backward hooks are full ones; who ever had one sort is refused the other."""
    if so_far is not None and so_far is not is_full:
        raise RuntimeError(
            f"Cannot use both regular backward hooks and full backward hooks {place}. "
            "Please use only one of them."
        )
    return is_full


def backward_hooks(module: Any, is_full: bool) -> list[Callable]:
    """Those of one sort that a call of the module minds, in their order."""
    hooks: list[Callable] = []
    if _global_is_full_backward_hook is is_full:
        hooks += _global_backward_hooks.values()
    if module._is_full_backward_hook is is_full:
        hooks += module._backward_hooks.values()
    return hooks


def register_module_buffer_registration_hook(hook: Callable) -> RemovableHandle:
    """Call hook(module, name, buffer) for each buffer that a module gets; an answer replaces it."""
    return add_hook(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable) -> RemovableHandle:
    """Call hook(module, name, child) for each module put into one; an answer replaces it."""
    return add_hook(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable) -> RemovableHandle:
    """Call hook(module, name, param) for each parameter of a module; an answer replaces it."""
    return add_hook(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Callable) -> RemovableHandle:
    """Call hook(module, args) before any module's forward, as `Module.register_forward_pre_hook`.

    >>> import tiny_torch as torch
    >>> from tiny_torch.nn.modules.module import register_module_forward_pre_hook
    >>> with register_module_forward_pre_hook(lambda module, args: print(module)):
    ...     _ = torch.nn.ReLU()(torch.ones(2))
    ReLU()
    """
    return add_hook(_global_forward_pre_hooks, hook, marks=(ON_CALLS,))


def register_module_forward_hook(
    hook: Callable, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call hook(module, args, output) after any module's forward.

    With `with_kwargs` it is hook(module, args, kwargs, output); with `always_call` it also runs
    if forward raises.
    """
    with_marks = (_global_forward_hooks_with_kwargs,) if with_kwargs else ()
    always_marks = (_global_forward_hooks_always_called,) if always_call else ()
    marks = (ON_CALLS, *with_marks, *always_marks)
    return add_hook(_global_forward_hooks, hook, marks=marks)


def register_module_full_backward_pre_hook(hook: Callable) -> RemovableHandle:
    """Call hook(module, grad_output) before any module's backward."""
    return add_hook(_global_backward_pre_hooks, hook, marks=(ON_CALLS,))


def register_module_full_backward_hook(hook: Callable) -> RemovableHandle:
    """Call hook(module, grad_input, grad_output) once the gradients of its inputs are known.

    Raises RuntimeError where `register_module_backward_hook` was ever used.
    """
    return _add_backward_hook(hook, True)


def register_module_backward_hook(hook: Callable) -> RemovableHandle:
    """Call hook(module, grad_input, grad_output) in the last node of any module, the old way.

    Raises RuntimeError where `register_module_full_backward_hook` was ever used.
    """
    return _add_backward_hook(hook, False)


def _add_backward_hook(hook: Callable, is_full: bool) -> RemovableHandle:
    global _global_is_full_backward_hook
    so_far, place = _global_is_full_backward_hook, "as a global Module hook"
    _global_is_full_backward_hook = kind_of_backward(so_far, is_full, place)
    return add_hook(_global_backward_hooks, hook, marks=(ON_CALLS,))
