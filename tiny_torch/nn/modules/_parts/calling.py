"""The part of Module that runs hooks around its forward and backward, and hooks on all modules.

Those run before a module's own hooks of their kind; debuggers and profilers use them.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tiny_torch.base.hooks import RemovableHandle, add_hook
from tiny_torch.nn.modules import module as module_file
from tiny_torch.nn.modules._parts.backward_gates import BackwardGates, add_to_last_node
from tiny_torch.nn.modules.module import ON_CALLS

# PyTorch's names: some tools look into them.
_global_forward_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_forward_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()
_global_forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()
_global_backward_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_backward_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_buffer_registration_hooks = module_file.buffer_registration_hooks
_global_module_registration_hooks = module_file.module_registration_hooks
_global_parameter_registration_hooks = module_file.parameter_registration_hooks
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
    return add_hook(module_file.buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable) -> RemovableHandle:
    """Call hook(module, name, child) for each module put into one; an answer replaces it."""
    return add_hook(module_file.module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable) -> RemovableHandle:
    """Call hook(module, name, param) for each parameter of a module; an answer replaces it."""
    return add_hook(module_file.parameter_registration_hooks, hook)


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


class Calling:
    """A part of Module: a call with hooks of forward and backward around it."""

    if TYPE_CHECKING:
        forward: Callable[..., Any]
        _backward_pre_hooks: OrderedDict[int, Callable]
        _backward_hooks: OrderedDict[int, Callable]
        _forward_hooks: OrderedDict[int, Callable]
        _forward_hooks_with_kwargs: OrderedDict[int, bool]
        _forward_hooks_always_called: OrderedDict[int, bool]
        _forward_pre_hooks: OrderedDict[int, Callable]
        _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
        _is_full_backward_hook: bool | None

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Pre-hooks, input gate, forward, hooks, output gate, in this order; global ones first."""
        result = None
        pending = {**_global_forward_hooks_always_called}
        pending.update(self._forward_hooks_always_called)
        pre_hooks = (
            *_global_backward_pre_hooks.values(),
            *self._backward_pre_hooks.values(),
        )
        full, of_last_node = backward_hooks(self, True), backward_hooks(self, False)
        try:
            args, kwargs = self._run_pre_hooks(args, kwargs)
            gates = None
            if full or pre_hooks:
                gates = BackwardGates(self, pre_hooks, full)
                args = gates.around_inputs(args)
            result = self.forward(*args, **kwargs)
            for key, hook in self._all_forward_hooks():
                pending.pop(key, None)
                changed = self._run_forward_hook(key, hook, args, kwargs, result)
                result = result if changed is None else changed
            if gates is not None:
                result = gates.around_outputs(result)
            if of_last_node:
                add_to_last_node(self, of_last_node, args, result)
            return result
        except Exception:
            for key, hook in self._all_forward_hooks():
                if key in pending:
                    result = self._run_after_error(key, hook, args, kwargs, result)
            raise

    def _all_forward_hooks(self) -> list[tuple[int, Callable]]:
        return [*_global_forward_hooks.items(), *self._forward_hooks.items()]

    def _run_pre_hooks(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        hooks = _global_forward_pre_hooks
        for key, hook in (*hooks.items(), *self._forward_pre_hooks.items()):
            if key in self._forward_pre_hooks_with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is None:
                    continue
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError(
                        "forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                        f"but got {changed}."
                    )
                args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        return args, kwargs

    def _run_forward_hook(
        self, key: int, hook: Callable, args: Any, kwargs: Any, result: Any
    ) -> Any:
        if key in self._forward_hooks_with_kwargs or key in _global_forward_hooks_with_kwargs:
            return hook(self, args, kwargs, result)
        return hook(self, args, result)

    def _run_after_error(
        self, key: int, hook: Callable, args: Any, kwargs: Any, result: Any
    ) -> Any:
        """Run a hook that is always called while an exception is under way; its own is silenced."""
        try:
            changed = self._run_forward_hook(key, hook, args, kwargs, result)
        except Exception as error:
            of_all = "global " if key in _global_forward_hooks else ""
            warnings.warn(
                f"{of_all}module forward hook with ``always_call=True`` raised an exception that "
                f"was silenced as another error was raised in forward: {error}",
                stacklevel=4,
            )
            return result
        return result if changed is None else changed

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call hook(module, args) before forward; what it returns replaces the arguments.

        With `with_kwargs` it is hook(module, args, kwargs) and returns None or (args, kwargs).
        """
        marks = (self._forward_pre_hooks_with_kwargs,) if with_kwargs else ()
        return add_hook(self._forward_pre_hooks, hook, prepend, marks)

    def register_forward_hook(
        self,
        hook: Callable,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call hook(module, args, output) after forward; what it returns replaces the output.

        With `with_kwargs` it is hook(module, args, kwargs, output); with `always_call` it also runs
        if forward raises.
        """
        with_marks = (self._forward_hooks_with_kwargs,) if with_kwargs else ()
        always_marks = (self._forward_hooks_always_called,) if always_call else ()
        return add_hook(self._forward_hooks, hook, prepend, with_marks + always_marks)

    def register_full_backward_pre_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call hook(module, grad_output) before the module's backward.

        The tuple it returns, if any, takes the place of the gradients of the outputs.
        """
        return add_hook(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call hook(module, grad_input, grad_output) once the gradients of the inputs are known.

        The tuple it returns, if any, takes the place of the gradients of the positional inputs.
        Raises RuntimeError where `register_backward_hook` was ever used.
        """
        return self._add_backward_hook(hook, True, prepend)

    def register_backward_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(module, grad_input, grad_output) in the last node of forward.

        Deprecated: grad_input is what that node hands on, not what the module's inputs get. Raises
        RuntimeError where `register_full_backward_hook` was ever used.
        """
        return self._add_backward_hook(hook, False, False)

    def _add_backward_hook(self, hook: Callable, is_full: bool, prepend: bool) -> RemovableHandle:
        so_far, place = self._is_full_backward_hook, "on a single Module"
        self._is_full_backward_hook = kind_of_backward(so_far, is_full, place)
        return add_hook(self._backward_hooks, hook, prepend)


for _name, _value in list(globals().items()):  # where PyTorch has them
    if _name.startswith(("_global_", "register_module_")):
        setattr(module_file, _name, _value)
