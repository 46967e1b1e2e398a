"""A checkpointed call without a reentrant backward: its first run, and its second."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import tiny_torch as torch
from tiny_torch.autograd import enable_grad
from tiny_torch.autograd.apply import apply_many
from tiny_torch.autograd.graph import Node, Op, edge_of, saved_tensors_hooks
from tiny_torch.autograd.hooks import innermost_backward
from tiny_torch.tensor import Tensor
from tiny_torch.utils.checkpoint.log import Log, comparison
from tiny_torch.utils.checkpoint.surroundings import Surroundings

Contexts = tuple[AbstractContextManager, AbstractContextManager]


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function saved other tensors than the first."""


class AllIsThere(BaseException):
    """Ends a second run early. No Exception, which the function might catch."""


def noop_context_fn() -> Contexts:
    return contextlib.nullcontext(), contextlib.nullcontext()


class Keep(Op):
    """Keeps tensors as an op that saved them does: checked for writes, and under the saved hooks
    of a checkpoint around this one. Its first input requires grad, so that it is recorded."""

    @staticmethod
    def forward(mark: Any, *arrays: Any) -> Any:
        return mark.clone(), arrays

    @staticmethod
    def backward(saved: Any, grad: Any, needs: Any) -> Any:
        return (grad, *(None for _ in saved))


class Arguments:
    """A call's arguments, of which the tensors can be had again, detached from their history."""

    def __init__(self, args: tuple):
        self.places = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
        self.others = [None if isinstance(arg, Tensor) else arg for arg in args]
        tensors = [args[i] for i in self.places]
        self.need_grad = [tensor.requires_grad for tensor in tensors]
        mark = torch.empty(0, requires_grad=True)
        self.kept: Node = edge_of(apply_many(Keep, (mark, *tensors)))[0]

    def again(self) -> list[Any]:
        args = list(self.others)
        tensors = self.kept.unpack(True)
        for place, tensor, need in zip(self.places, tensors, self.need_grad, strict=True):
            args[place] = tensor.requires_grad_() if need else tensor
        return args


def metadata_of(tensor: Tensor) -> tuple:
    array = tensor.array
    return array.shape, array.dtype, array.device


def kind_in_words(kind: tuple) -> str:
    shape, dtype, device = kind
    return str({"shape": torch.Size(shape), "dtype": dtype, "device": torch.device(str(device))})


CHECKS: dict[str, Callable[[Tensor], Any]] = {"default": metadata_of, "none": lambda tensor: None}

TIP = (
    "\nTip: to see the ops of both runs, pass `debug=True` to `torch.utils.checkpoint.checkpoint`, "
    "or use `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):`."
)


class Region:
    """A checkpointed call: the kinds of the tensors that its ops saved, in their order, and how to
    run it again."""

    def __init__(
        self,
        run_again: Callable[[], Any],
        check: Callable,
        early_stop: bool,
        logs: tuple[Log, Log] | None,
    ):
        self.run_again = run_again
        self.check = check
        self.early_stop = early_stop
        self.logs = logs  # for errors
        self.kinds: list[Any] = []
        self.finished = False  # the first run
        # The values that each running backward has not asked for yet. They go with it.
        self.values: Any = weakref.WeakKeyDictionary()

    def hooks(self) -> saved_tensors_hooks:
        """For the first run: of a saved tensor its number stays."""
        return saved_tensors_hooks(self.pack, self.unpack)

    def pack(self, tensor: Tensor) -> int:
        self.kinds.append(self.check(tensor))
        return len(self.kinds) - 1

    def unpack(self, number: int) -> Tensor:
        backward = innermost_backward()
        values = {} if backward is None else self.values.setdefault(backward, {})
        if number not in values:
            try:
                values.update(self.compute())
            except CheckpointError as error:
                if self.logs is None:
                    raise
                raise CheckpointError(f"{comparison(self.logs)}\n\n{error}") from error
        return values.pop(number)

    def compute(self) -> dict[int, Tensor]:
        """All that was saved, by number."""
        values: dict[int, Tensor] = {}
        kinds, count = self.kinds, 0

        def keep(tensor: Tensor) -> Tensor:
            nonlocal count
            if count < len(kinds):
                values[count] = tensor
            elif self.finished:
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation "
                    f"than during the original forward pass.\n{TIP}"
                )
            count += 1
            if self.early_stop and count == len(kinds):
                raise AllIsThere
            return tensor

        hooks = saved_tensors_hooks(keep, lambda kept: kept)
        with contextlib.suppress(AllIsThere), hooks, enable_grad():
            self.run_again()
        if count < len(kinds):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the "
                f"original forward and recomputation.\nNumber of tensors saved during forward: "
                f"{len(kinds)}\nNumber of tensors saved during recomputation: {count}.\n{TIP}"
            )
        wrong = "".join(
            f"tensor at position {k}:\nsaved metadata: {kind_in_words(kinds[k])}\n"
            f"recomputed metadata: {kind_in_words(self.check(tensor))}\n"
            for k, tensor in values.items()
            if self.check(tensor) != kinds[k]
        )
        if wrong:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have "
                f"different metadata than during the forward pass.\n{wrong}.\n{TIP}"
            )
        return values


def record_call(
    function: Callable,
    args: tuple,
    kwargs: dict,
    preserve_rng_state: bool,
    contexts: Contexts,
    check: Callable,
    debug: bool,
    early_stop: bool,
) -> Any:
    """The call under a region's hooks."""
    before = Surroundings(preserve_rng_state)
    arguments = Arguments(args)
    logs = (Log(), Log()) if debug else None
    first, second = logs or noop_context_fn()

    def run_again() -> None:
        given = arguments.again()
        with before.again(), contexts[1], second:
            function(*given, **kwargs)

    region = Region(run_again, check, early_stop, logs)
    returned = False
    with region.hooks(), contexts[0], first:
        result = function(*args, **kwargs)
        returned = True
    if not returned:
        raise RuntimeError(
            "torch.utils.checkpoint: the forward context provided by context_fn suppressed an "
            "exception raised during the checkpointed forward. This is not supported because "
            "checkpoint cannot return a value for a failed forward."
        )
    region.finished = True
    return result
