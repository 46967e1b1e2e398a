"""The part of Module that runs hooks around its forward and backward."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tiny_torch.base.hooks import RemovableHandle, add_hook
from tiny_torch.nn.modules import _global_hooks as hooks_of_all
from tiny_torch.nn.modules._backward_gates import BackwardGates
from tiny_torch.nn.modules._global_hooks import backward_hooks, kind_of_backward
from tiny_torch.nn.modules._last_node_hooks import add_to_last_node


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
        pending = {**hooks_of_all._global_forward_hooks_always_called}
        pending.update(self._forward_hooks_always_called)
        pre_hooks = (
            *hooks_of_all._global_backward_pre_hooks.values(),
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
        return [*hooks_of_all._global_forward_hooks.items(), *self._forward_hooks.items()]

    def _run_pre_hooks(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        hooks = hooks_of_all._global_forward_pre_hooks
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
        if (
            key in self._forward_hooks_with_kwargs
            or key in hooks_of_all._global_forward_hooks_with_kwargs
        ):
            return hook(self, args, kwargs, result)
        return hook(self, args, result)

    def _run_after_error(
        self, key: int, hook: Callable, args: Any, kwargs: Any, result: Any
    ) -> Any:
        """Run a hook that is always called while an exception is under way; its own is silenced."""
        try:
            changed = self._run_forward_hook(key, hook, args, kwargs, result)
        except Exception as error:
            of_all = "global " if key in hooks_of_all._global_forward_hooks else ""
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
