"""`checkpoint_sequential`: functions one after the other, in segments."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from tiny_torch.nn import Sequential
from tiny_torch.utils.checkpoint.calls import checkpoint


def checkpoint_sequential(
    functions: Sequential | Sequence[Callable],
    segments: int | str,
    input: Any,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """The functions, one after the other on `input`, in checkpointed segments but for the last.

    `segments` is how many of them; "sqrt" (not in PyTorch) is about the root of the functions'
    number: the least memory, if all take the same. Takes `preserve_rng_state`, as `checkpoint`.
    https://pytorch.org/docs/stable/checkpoint.html#torch.utils.checkpoint.checkpoint_sequential

    >>> import tiny_torch as torch
    >>> from tiny_torch.utils.checkpoint import checkpoint_sequential
    >>> layers = [torch.exp, torch.sin, torch.neg, torch.exp]
    >>> x = torch.tensor(0.0, requires_grad=True)
    >>> checkpoint_sequential(layers, 2, x, use_reentrant=False).backward()
    >>> x.grad
    tensor(-0.2329)
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
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if isinstance(functions, Sequential) else functions
    count = max(1, round(len(steps) ** 0.5)) if segments == "sqrt" else int(segments)
    size = len(steps) // count

    def segment(start: int, stop: int) -> Callable:
        def run(input: Any) -> Any:
            for step in steps[start:stop]:
                input = step(input)
            return input

        return run

    start = 0
    for start in range(size, size * count, size):
        input = checkpoint(
            segment(start - size, start),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve_rng_state,
        )
    return segment(start, len(steps))(input)
