"""Activation checkpointing: what a function's ops save for backward is thrown away, and computed
again when backward asks for it. Memory for time (Chen et al. 2016, "Training Deep Nets with
Sublinear Memory Cost").

``use_reentrant=False`` records the function as always, under hooks (autograd/saved.py) that keep a
number in place of each saved tensor; the first number that backward unpacks runs the function
again, and its ops' saved tensors, in the same order, are the values. ``use_reentrant=True`` runs
the function without recording; its backward records it anew, and runs a backward inside.
https://pytorch.org/docs/stable/checkpoint.html
"""

from __future__ import annotations

import contextlib
import itertools
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import tiny_torch as torch
from tiny_torch.autograd import Function, enable_grad, no_grad
from tiny_torch.autograd.apply import apply_many
from tiny_torch.autograd.graph import Node, Op, edge_of, saved_tensors_hooks
from tiny_torch.autograd.op_mode import OpMode
from tiny_torch.modes import thread
from tiny_torch.nn import Module, Sequential
from tiny_torch.tensor import Tensor

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "checkpoint",
    "checkpoint_sequential",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]

Contexts = tuple[AbstractContextManager, AbstractContextManager]


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function saved other tensors than the first."""


class AllIsThere(BaseException):
    """Ends a second run early. No Exception, which the function might catch."""


def noop_context_fn() -> Contexts:
    return contextlib.nullcontext(), contextlib.nullcontext()


# ------------------------------------------------------------------------------------ switches

early_stop_everywhere: bool | None = None
debug_everywhere: bool | None = None


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Whether the second runs end once all is there, whatever `early_stop` the calls inside say.

    https://pytorch.org/docs/stable/checkpoint.html#torch.utils.checkpoint.set_checkpoint_early_stop
    """
    global early_stop_everywhere
    before, early_stop_everywhere = early_stop_everywhere, enable
    try:
        yield
    finally:
        early_stop_everywhere = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Whether errors tell the ops of both runs, whatever `debug` the calls inside say.

    https://pytorch.org/docs/stable/checkpoint.html#torch.utils.checkpoint.set_checkpoint_debug_enabled
    """
    global debug_everywhere
    before, debug_everywhere = debug_everywhere, enabled
    try:
        yield
    finally:
        debug_everywhere = before


# --------------------------------------------------------------- without a reentrant backward


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


def kind_of(tensor: Tensor) -> dict[str, Any]:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


CHECKS: dict[str, Callable[[Tensor], Any]] = {"default": kind_of, "none": lambda tensor: None}

TIP = (
    "\nTip: to see the ops of both runs, pass `debug=True` to `torch.utils.checkpoint.checkpoint`, "
    "or use `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):`."
)


class Log(OpMode):
    """The ops that ran, and the lines of the user's that called them."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __enter__(self) -> Log:
        self.lines.clear()
        return super().__enter__()

    def forward(self, call: Callable, op: Any, arguments: tuple, kind: str) -> Any:
        shapes = [tuple(a.shape) if isinstance(a, Tensor) else a for a in arguments]
        ours = str(Path(torch.__file__).parent)
        frames = [f for f in traceback.extract_stack() if not f.filename.startswith(ours)]
        where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "?"
        self.lines.append(f"{op.__name__}{tuple(shapes)}  # {where}")
        return call(op, arguments)


def told(logs: tuple[Log, Log]) -> str:
    """The ops of both runs, with a mark where they differ first."""
    first, second = (log.lines for log in logs)
    pairs = enumerate(itertools.zip_longest(first, second))
    differs = next((i for i, (a, b) in pairs if a != b), None)

    def listed(title: str, lines: list[str]) -> str:
        marked = [f"{'>' if i == differs else ' '} {i:4} {line}" for i, line in enumerate(lines)]
        return "\n".join([f"{title}:", *marked])

    return "\n\n".join(
        [
            listed("Operations executed during the original forward", first),
            listed("Operations executed during recomputation", second),
        ]
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
        backward = thread.backward and thread.backward()
        values = {} if backward is None else self.values.setdefault(backward, {})
        if number not in values:
            try:
                values.update(self.compute())
            except CheckpointError as error:
                if self.logs is None:
                    raise
                raise CheckpointError(f"{told(self.logs)}\n\n{error}") from error
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
            f"tensor at position {k}:\nsaved metadata: {kinds[k]}\n"
            f"recomputed metadata: {self.check(tensor)}\n"
            for k, tensor in values.items()
            if self.check(tensor) != kinds[k]
        )
        if wrong:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have "
                f"different metadata than during the forward pass.\n{wrong}.\n{TIP}"
            )
        return values


def recorded(
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
    state = torch.get_rng_state() if preserve_rng_state else None
    arguments = Arguments(args)
    logs = (Log(), Log()) if debug else None
    first, second = logs or noop_context_fn()

    def run_again() -> None:
        given = arguments.again()
        with torch.random.fork_rng(enabled=state is not None), contexts[1], second:
            if state is not None:
                torch.set_rng_state(state)
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


# ------------------------------------------------------------------ with a reentrant backward


class CheckpointFunction(Function):
    """``apply(function, preserve_rng_state, *args)``: the reentrant form of `checkpoint`."""

    @staticmethod
    def forward(ctx: Any, function: Callable, preserve_rng_state: bool, *args: Any) -> Any:
        if not any(isinstance(arg, Tensor) and arg.requires_grad for arg in args):
            warnings.warn(
                "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2
            )
        ctx.function = function
        ctx.state = torch.get_rng_state() if preserve_rng_state else None
        ctx.others = [None if isinstance(arg, Tensor) else arg for arg in args]
        ctx.places = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.places])
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        backward = thread.backward and thread.backward()
        if backward is not None and backward.inputs is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward(). To resolve this error, you can "
                "either set use_reentrant=False, or call .backward() without passing the `inputs` "
                "argument."
            )
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[place] = tensor.detach().requires_grad_(tensor.requires_grad)
        with torch.random.fork_rng(enabled=ctx.state is not None), enable_grad():
            if ctx.state is not None:
                torch.set_rng_state(ctx.state)
            outputs = ctx.function(*args)
        outputs = outputs if isinstance(outputs, tuple | list) else (outputs,)
        pairs = [
            (output, grad)
            for output, grad in zip(outputs, grads, strict=True)
            if isinstance(output, Tensor) and output.requires_grad
        ]
        if not pairs:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        torch.autograd.backward([output for output, _ in pairs], [grad for _, grad in pairs])
        return (None, None, *[arg.grad if isinstance(arg, Tensor) else None for arg in args])


# ---------------------------------------------------------------------------------- what is public


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
        return checkpointed(function, settings)
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
    debug = debug if debug_everywhere is None else debug_everywhere
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
    early_stop = early_stop if early_stop_everywhere is None else early_stop_everywhere
    check = CHECKS[determinism_check]
    return recorded(function, args, kwargs, preserve_rng_state, contexts, check, debug, early_stop)


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


def checkpointed(module: Module, settings: dict[str, Any]) -> Module:
    """A module with this one's __dict__, hence its parameters, hooks and submodules."""
    twin = empty_twin(type(module), settings)
    object.__setattr__(twin, "__dict__", module.__dict__)
    return twin


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
