"""`checkpoint_sequential`: functions one after the other, in segments."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import tiny_torch as torch
from tiny_torch.nn import Sequential
from tiny_torch.utils.checkpoint.budget import Segment, segments_within
from tiny_torch.utils.checkpoint.calls import checkpoint

# What was chosen for a Sequential, by what it depends on.
chosen_before: Any = weakref.WeakKeyDictionary()


def checkpoint_sequential(
    functions: Sequential | Sequence[Callable],
    segments: int | str | None,
    input: Any,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """The functions, one after the other on `input`, in checkpointed segments but for the last.

    `segments` is how many of them; "sqrt" (not in PyTorch) is about the root of the functions'
    number: the least memory, if all take the same. Takes `preserve_rng_state`, as `checkpoint`.
    Where `segments` is None, `memory` (not in PyTorch), such as "300MB", is what activations and
    their gradients may take: functions are measured on `input`, a Sequential's once for each shape,
    and those segments are checkpointed that compute least again. Raises ValueError for a budget
    that is too little.
    https://pytorch.org/docs/stable/checkpoint.html#torch.utils.checkpoint.checkpoint_sequential

    >>> import tiny_torch as torch
    >>> from tiny_torch.utils.checkpoint import checkpoint_sequential
    >>> layers = [torch.exp, torch.sin, torch.neg, torch.exp]
    >>> x = torch.tensor(0.0, requires_grad=True)
    >>> checkpoint_sequential(layers, 2, x, use_reentrant=False).backward()
    >>> x.grad
    tensor(-0.2329)
    >>> checkpoint_sequential(layers, None, x, use_reentrant=False, memory="1KB").backward()
    >>> x.grad
    tensor(-0.4658)
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be "
            "passed explicitly. In version 2.9 we will raise an exception if use_reentrant is not "
            "passed. use_reentrant=False is recommended, but if you need to preserve the current "
            "default behavior, you can pass use_reentrant=True. Refer to docs for more details on "
            "the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve_rng_state = kwargs.pop("preserve_rng_state", True)
    memory = kwargs.pop("memory", None)
    if segments is not None and memory is not None:
        raise ValueError("checkpoint_sequential: give either segments or memory, not both")
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if isinstance(functions, Sequential) else functions
    if memory is None:
        chosen = even(segments, len(steps))
    else:
        chosen = budget_segments(functions, steps, memory, input)
    for start, stop, again in chosen:
        run = in_turn(steps[start:stop])
        if again:
            input = checkpoint(
                run, input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state
            )
        else:
            input = run(input)
    return input


def in_turn(steps: Sequence[Callable]) -> Callable:
    def run(input: Any) -> Any:
        for step in steps:
            input = step(input)
        return input

    return run


def even(segments: Any, count: int) -> list[Segment]:
    """As many segments of one size, of which the last takes the rest, too."""
    parts = max(1, round(count**0.5)) if segments == "sqrt" else index(segments)
    if not 1 <= parts <= count:
        kind = ValueError if parts else ZeroDivisionError  # PyTorch's
        raise kind(
            f"checkpoint_sequential: segments are between 1 and {count}, the number of functions, "
            f"but got {parts}"
        )
    size = count // parts
    starts = range(0, size * (parts - 1), size)
    last = Segment(size * (parts - 1), count, False)
    return [*(Segment(start, start + size, True) for start in starts), last]


def budget_segments(
    functions: Any, steps: Sequence[Callable], memory: Any, input: Any
) -> list[Segment]:
    """Those of a budget; none where nothing is recorded."""
    if not torch.is_grad_enabled():
        return [Segment(0, len(steps), False)]
    if not isinstance(functions, Sequential):
        return segments_within(steps, input, memory)
    known = chosen_before.setdefault(functions, {})
    key = (
        memory,
        *(getattr(input, name, None) for name in ("shape", "dtype", "device")),
        *((id(module), module.training) for module in functions.modules()),
    )
    if key not in known:
        known[key] = segments_within(steps, input, memory)
    return known[key]
