"""Takes out of a student's process what does a task, so that nothing that runs there finds it.

A Python function keeps its name, and its code is replaced where it lies: in every module, class,
closure and frame at once. A kernel's entry in the tables of C++ is replaced, through which every
call goes. Both raise, and say why. What a solution may call is left: elementwise ops, sums,
products, copies and views, without what `lacks` of task.md names, and with what `keeps` does.
"""

from __future__ import annotations

import gc
from types import CodeType, FunctionType
from typing import Any

from tiny_torch import _core
from tiny_torch.tools.homework.task import Task

# Modules that make wholes of these: layers, losses, optimizers, derivatives of functions, and the
# framework again in plain Python.
WHOLES = (
    "amp", "base.reference", "distributions", "func", "functions.nn", "metrics", "nn",
    "ops.nn", "optim", "reference", "tools.export", "utils", "vision",
)  # fmt: skip
FAMILIES = {  # of kernels, as Backend has them
    "attention", "batch_norm", "conv", "cross_entropy", "ctc", "embedding", "fold", "layer_norm",
    "losses", "optim", "pool", "recurrent", "resample", "softmax",
}  # fmt: skip
KERNELS = {"logaddexp", "logaddexp2", "logsumexp"}  # of other families


def take_out(task: Task, whole: bool) -> None:
    """Before the student's code is there; `whole`: more of the framework than its arrays is."""
    why = f"homework {task.number} asks you to write this, or does without it"
    names = set(_core.kernels())
    refused = KERNELS | {name for name in names if name.endswith("_loss")}
    if not whole:  # nobody differentiates
        refused |= {name for name in names if name.endswith("_backward")}
    _core.refuse_kernels(FAMILIES - set(task.keeps), refused, set(task.keeps), why)
    if not whole:
        return
    doing = functions_of(task.solution()) if not task.stands_alone else []
    for function in [x for x in gc.get_objects() if isinstance(x, FunctionType)]:
        first, _, inner = f"{function.__module__}.{function.__qualname__}".partition(".")
        if first == "tiny_torch" and (
            is_of(inner, task.lacks) or (is_of(inner, WHOLES) and not is_of(inner, task.keeps))
        ):
            doing.append(function)
    for function in doing:
        function.__code__ = refusing(function.__code__, why)
        function.__defaults__ = function.__kwdefaults__ = None
    for public in [x for x in gc.get_objects() if isinstance(x, _core.Function)]:
        if public.quick and public.__wrapped__ in doing:
            public.quick = None  # which answers without the function


def is_of(name: str, modules: tuple[str, ...]) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def functions_of(thing: Any) -> list[FunctionType]:
    """A function itself, or that which a decorated one or a class holds."""
    if isinstance(thing, type):
        return [inner for x in vars(thing).values() for inner in functions_of(x)]
    thing = getattr(thing, "__func__", thing)
    thing = getattr(thing, "__wrapped__", thing)
    return [thing] if isinstance(thing, FunctionType) else []


def refusing(code: CodeType, why: str) -> CodeType:
    """Code that raises, and can stand in a function of this one's closure."""
    names: dict[str, Any] = {}
    exec(f"def refused(*_, **__): raise RuntimeError({why!r})", names)
    new: CodeType = names["refused"].__code__
    return new.replace(co_freevars=code.co_freevars, co_name=code.co_name)
