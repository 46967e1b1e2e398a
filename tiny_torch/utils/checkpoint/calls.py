"""`checkpoint` itself: of a function, or of a module once and for all; its switches."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import tiny_torch as torch
from tiny_torch.base.modes import Setting
from tiny_torch.nn import Module
from tiny_torch.utils.checkpoint.reentrant import CheckpointFunction
from tiny_torch.utils.checkpoint.region import CHECKS, Contexts, noop_context_fn, record_call
from tiny_torch.utils.checkpoint.selective import chosen


class Everywhere:
    """What calls do whatever they say themselves; None: what they say."""

    early_stop: bool | None = None
    debug: bool | None = None


def set_checkpoint_early_stop(enable: bool) -> Setting:
    """Whether the second runs end once all is there, whatever `early_stop` the calls inside say.

    https://pytorch.org/docs/stable/checkpoint.html#torch.utils.checkpoint.set_checkpoint_early_stop
    """
    return Setting(Everywhere, "early_stop", enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> Setting:
    """Whether errors tell the ops of both runs, whatever `debug` the calls inside say.

    https://pytorch.org/docs/stable/checkpoint.html#torch.utils.checkpoint.set_checkpoint_debug_enabled
    """
    return Setting(Everywhere, "debug", enabled)


def checkpoint(
    function: Callable,
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, whose activations are computed again in backward, not kept.

    `preserve_rng_state=False` lets random numbers differ between the runs; `context_fn()` answers
    two context managers, for the first run and for the second; `determinism_check` is "default"
    (shapes, dtypes and devices of the saved tensors must be the same) or "none"; `debug` tells the
    ops of both runs where they differ; `early_stop` ends the second run once all is there.
    `use_reentrant=False` is recommended; without a word it is True, as in PyTorch, with a warning.
    A module without inputs is answered as one whose calls are checkpointed (not in PyTorch):
    ``self.block = checkpoint(self.block)``; it shares parameters, buffers and state_dict's names.
    Raises CheckpointError in backward where the second run saves other tensors than the first.
    https://pytorch.org/docs/stable/checkpoint.html#torch.utils.checkpoint.checkpoint

    >>> import tiny_torch as torch
    >>> from tiny_torch.utils.checkpoint import checkpoint
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> checkpoint(lambda x: (x * x).exp().sum(), x, use_reentrant=False).backward()
    >>> x.grad
    tensor([  5.4366, 218.3926])
    """
    preserve_rng_state = kwargs.pop("preserve_rng_state", True)
    if isinstance(function, Module) and not args and not kwargs:
        settings = {
            "use_reentrant": bool(use_reentrant), "context_fn": context_fn, "debug": debug,
            "determinism_check": determinism_check, "early_stop": early_stop,
            "preserve_rng_state": preserve_rng_state,
        }  # fmt: skip
        return checkpoint_module(function, settings)
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
            "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an "
            "exception. use_reentrant=False is recommended, but if you need to preserve the "
            "current default behavior, you can pass use_reentrant=True. Refer to docs for more "
            "details on the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError(
                "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
            )
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    context_fn = chosen(context_fn)
    debug = debug if Everywhere.debug is None else Everywhere.debug
    if debug and context_fn is not noop_context_fn:
        raise ValueError(
            "debug=True is incompatible with non-default context_fn passed to checkpoint"
        )
    if determinism_check not in CHECKS:
        raise ValueError(
            f"determinism_check should be one of {list(CHECKS)}, but got {determinism_check}"
        )
    contexts = context_fn()
    if not torch.is_grad_enabled():
        return function(*args, **kwargs)
    early_stop = early_stop if Everywhere.early_stop is None else Everywhere.early_stop
    check = CHECKS[determinism_check]
    return record_call(
        function, args, kwargs, preserve_rng_state, contexts, check, debug, early_stop
    )


class Checkpointed(Module):
    """Mixed into a module's class: its calls are checkpointed."""

    checkpoint_settings: dict[str, Any]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return checkpoint(super().forward, *args, **self.checkpoint_settings, **kwargs)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return empty_twin, (type(self).__bases__[1], self.checkpoint_settings), self.__dict__


def empty_twin(kind: type[Module], settings: dict[str, Any]) -> Module:
    """A module of the class without attributes, checkpointed."""
    attributes = {"checkpoint_settings": settings, "__module__": kind.__module__}
    twin: Any = type(kind.__name__, (Checkpointed, kind), attributes)
    return twin.__new__(twin)


def checkpoint_module(module: Module, settings: dict[str, Any]) -> Module:
    """A module with this one's __dict__, hence its parameters, hooks and submodules."""
    twin = empty_twin(type(module), settings)
    object.__setattr__(twin, "__dict__", module.__dict__)
    return twin
