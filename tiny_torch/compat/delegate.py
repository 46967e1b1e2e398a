"""A function whose calls go to what a backend made of it: `torch.compile(backend=function)`.

The backend is called as PyTorch's, once per kind of arguments: ``backend(module, inputs)`` answers
what runs in the module's place. Nothing is traced: the module calls the function, and cannot say
what that does.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Any

from tiny_torch import _core
from tiny_torch.base.arguments import is_tensor
from tiny_torch.base.layouts import strided
from tiny_torch.base.modes import modes
from tiny_torch.base.pytree import tree_flatten, tree_unflatten
from tiny_torch.fx import WHY, GraphModule
from tiny_torch.nn import Module
from tiny_torch.program import compiled
from tiny_torch.tensor import Tensor

CONSTANTS = (str, bytes, bool, complex, type(None), _core.dtype)


class TorchDynamoException(RuntimeError):
    """What goes wrong in `compile` itself."""


class BackendCompilerFailed(TorchDynamoException):
    """A backend of `torch.compile` has raised an error, which is its `__cause__`."""


class Call(GraphModule):
    """A function, called by the tensors among its arguments, as a backend gets it.

    It answers a tuple: the tensors of the result that are none of those. The other arguments are
    the latest call's. While that lasts, given its tensors, the function gets its very lists and
    dicts, and may change them; else copies.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        Module.__init__(self)
        self.__dict__["function"] = function  # which is no module of this one if it is a module
        self.arguments: Any = None
        self.result: Any = None

    def take(self, args: tuple, kwargs: dict) -> list[Tensor]:
        """Begins a call; answers the tensors among its arguments."""
        leaves, spec = tree_flatten((args, kwargs))
        tensors = [x for x in leaves if is_tensor(x)]
        places = [k for k, x in enumerate(leaves) if is_tensor(x)]
        self.arguments = args, kwargs, tensors
        self.rest = [None if is_tensor(x) else x for x in leaves], places, spec
        return tensors

    def drop(self) -> None:
        """Ends the call: its tensors are no longer kept."""
        self.arguments = None

    def forward(self, *tensors: Any) -> tuple:
        """The function's result for these tensors in the places of the arguments'."""
        others, places, spec = self.rest
        if len(tensors) != len(places):
            raise TypeError(f"forward() takes {len(places)} tensors, got {len(tensors)}")
        if self.arguments is not None and all(map(is_, tensors, self.arguments[2])):
            args, kwargs, _ = self.arguments
        else:
            leaves = list(others)
            for k, tensor in zip(places, tensors, strict=True):
                leaves[k] = tensor
            args, kwargs = tree_unflatten(leaves, spec)
        results, structure = tree_flatten(self.function(*args, **kwargs))
        given = {id(t): k for k, t in enumerate(tensors)}
        outputs = [x for x in results if is_tensor(x) and id(x) not in given]
        # (place among the tensors given, whether it is an output, what it is besides) of each
        parts = [(given.get(id(x)), is_tensor(x), None if is_tensor(x) else x) for x in results]
        self.result = structure, parts
        return tuple(outputs)

    def answer(self, tensors: list[Tensor], outputs: Any) -> Any:
        """What the function answered for these tensors, with these outputs in its place."""
        if self.result is None:
            raise NotImplementedError(
                "torch.compile: what the backend answered has not called the module that it was "
                f"given, so the result's structure is unknown: {WHY}"
            )
        structure, parts = self.result
        leaves, count = [], 0
        for place, is_output, value in parts:
            if place is not None:
                value = tensors[place]
            elif is_output:
                value = outputs[count]
                count += 1
            leaves.append(value)
        return tree_unflatten(leaves, structure)


class Case:
    """Arguments of one kind: what they have in common, and what runs for them."""

    def __init__(self, kind: tuple, numbers: list, free: set[int], call: Call) -> None:
        self.kind, self.numbers, self.call = kind, numbers, call
        # Places of numbers that may be others. PyTorch keeps 0 and 1, which broadcast.
        self.free = {k for k in free if not is_special(numbers[k])}
        self.run: Any = None

    def fits(self, kind: tuple, numbers: list) -> bool:
        return kind == self.kind and all(
            n == m or (k in self.free and not is_special(n))
            for k, (n, m) in enumerate(zip(numbers, self.numbers, strict=True))
        )


def is_special(number: float) -> bool:
    return type(number) is int and number in (0, 1)


def call_kind(leaves: list, spec: Any) -> tuple[tuple, list]:
    """What calls of one kind have in common, and the numbers in which they may differ."""
    kind: list[Any] = [repr(spec), modes.bits, _core.get_default_dtype()]
    numbers: list[Any] = []
    for x in leaves:
        if is_tensor(x):
            dense = x.layout is strided and x.is_contiguous()
            kind.append((type(x), x.dtype, str(x.device), x.requires_grad, x.ndim, dense))
            numbers += x.shape
        elif type(x) in (int, float):
            kind.append(type(x))
            numbers.append(x)
        else:
            kind.append((type(x), x if isinstance(x, CONSTANTS) else id(x)))
    return tuple(kind), numbers


class Delegate:
    """`function`, for whose calls there run what `backend` makes of them.

    Sizes and numbers that vary make a new kind of arguments: each time if `dynamic` is False, once
    if it is None, never if it is True. `settings` are further arguments of the backend. After
    `compiled.LIMIT` kinds the function runs as it is written.
    """

    def __init__(
        self, function: Callable[..., Any], backend: Any, dynamic: bool | None, settings: dict
    ) -> None:
        self.function, self.backend = function, backend
        self.dynamic, self.settings = dynamic, settings
        self.forget()
        compiled.every.add(self)

    def forget(self) -> None:
        """Drops what the backend made."""
        self.cases: list[Case] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        stance = compiled.stance.name
        if stance == "force_eager" or _core.is_recording():
            return self.function(*args, **kwargs)
        kind, numbers = call_kind(*tree_flatten((args, kwargs)))
        case = next((case for case in self.cases if case.fits(kind, numbers)), None)
        if case is None:
            if stance == "fail_on_recompile":
                raise RuntimeError(compiled.RECOMPILES)
            if stance == "eager_on_recompile" or len(self.cases) >= compiled.LIMIT:
                return self.function(*args, **kwargs)
            case = Case(kind, numbers, self.free(kind, numbers), Call(self.function))
        tensors = case.call.take(args, kwargs)
        try:
            if case.run is None:
                case.run = self.compile(case.call, list(tensors))
                self.cases.append(case)
            return case.call.answer(tensors, case.run(*tensors))
        finally:
            case.call.drop()

    def free(self, kind: tuple, numbers: list) -> set[int]:
        """Places of numbers that will not tell a kind from another."""
        if self.dynamic is not None:
            return set(range(len(numbers))) if self.dynamic else set()
        varied: set[int] = set()
        for case in self.cases:
            if case.kind[0] == kind[0]:  # the same structure of arguments
                pairs = enumerate(zip(numbers, case.numbers, strict=True))
                varied |= case.free | {k for k, (n, m) in pairs if n != m}
        return varied

    def compile(self, call: Call, tensors: list[Tensor]) -> Callable[..., Any]:
        """What the backend makes of a call; BackendCompilerFailed where it raises."""
        try:
            run = self.backend(call, tensors, **self.settings)
            if not callable(run):
                raise AssertionError("compiler_fn did not return callable")
        except IndexError:
            raise  # as in PyTorch, for dims out of range
        except Exception as error:
            name = getattr(self.backend, "__name__", str(self.backend))
            raise BackendCompilerFailed(
                f"backend={name!r} raised:\n{type(error).__name__}: {error}"
            ) from error
        return run


class CompileCounter:
    """A backend that counts in `frame_count` how often it is asked, and answers what it is given.

    NotImplementedError for `op_count`.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.frame_count = 0

    def __call__(self, gm: GraphModule, example_inputs: list[Tensor]) -> Callable[..., Any]:
        self.frame_count += 1
        return gm.forward

    @property
    def op_count(self) -> int:
        raise NotImplementedError(f"CompileCounter.op_count is not in tiny_torch: {WHY}")
