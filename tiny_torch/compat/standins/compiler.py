"""`torch.compile` and `torch.compiler`: functions and modules as programs (tiny_torch/program).

https://pytorch.org/docs/stable/torch.compiler_api.html
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from tiny_torch import _core
from tiny_torch.compat.delegate import Delegate, TorchDynamoException
from tiny_torch.compat.refused import refusing
from tiny_torch.nn import Module
from tiny_torch.program import Compiled, compiled

BACKENDS = ("cudagraphs", "inductor", "openxla", "tvm")  # what PyTorch lists
HIDDEN = ("aot_eager", "eager", "onnxrt", "tensorrt")  # and takes without listing them
GRAPHED = ("reduce-overhead", "max-autotune")  # modes
MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
STANCES = (
    "default", "eager_then_compile", "aot_eager_then_compile", "force_eager",
    "eager_on_recompile", "fail_on_recompile",
)  # fmt: skip


class InvalidBackend(TorchDynamoException):
    """`compile` was asked for a backend that PyTorch has not either."""


class OptimizedModule(Module):
    """What `compile` makes of a module: the same module, whose state_dict begins "_orig_mod."."""

    _orig_mod: Module

    def __init__(self, mod: Module, call: Callable[..., Any] | None = None) -> None:
        super().__init__()
        self._modules["_orig_mod"] = mod
        self.__dict__["_call"] = call or mod

    @property
    def training(self) -> bool:
        return self._orig_mod.training

    @training.setter
    def training(self, mode: bool) -> None:
        if "_orig_mod" in vars(self).get("_modules", ()):
            self._orig_mod.training = mode

    @property
    def dynamo_ctx(self) -> Callable[..., Any]:
        """What runs in the place of the module's calls; packages ask whether there is one."""
        return self.__dict__["_call"]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__["_call"](*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return super().__getattr__(name)
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(type(self)) or "_orig_mod" not in vars(self).get("_modules", ()):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __bool__(self) -> bool:
        return True


def check_arguments(name: str, backend: Any, mode: Any, options: Any) -> None:
    """PyTorch's refusals of arguments of `compile`."""
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if backend is not None and not isinstance(backend, str):
        return  # it says what it takes
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    if options is not None and not isinstance(options, dict):
        raise TypeError(f"{name}: options must be a dict, got {type(options).__name__}")
    if backend is None:
        return
    if backend not in (*BACKENDS, *HIDDEN):
        raise InvalidBackend(
            f"Invalid backend: {backend!r}, see `torch._dynamo.list_backends()` for available "
            "backends."
        )


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """The module or function, of which recorded programs run where they fit: the same bits.

    The first call with arguments of a kind runs and records it, as does the first backward; later
    ones run without Python (`tiny_torch.program.Compiled`). What a program cannot repeat runs as it
    is written, or raises RuntimeError with `fullgraph`. A module comes as PyTorch's
    `OptimizedModule`, with the original as `_orig_mod` and its keys in the state_dict. `backend`
    "eager" runs everything as it is written; the others are about code that is not generated here;
    a wrong one raises as in PyTorch. With a `mode` of "reduce-overhead" or "max-autotune", or the
    option "triton.cudagraphs", what runs on a GPU is one CUDA graph, where it can be captured.
    `options` turn passes on or off by their names (docs/program.md), and other keys and modes mean
    nothing here. Each shape has a recording of its own; floats among the arguments are inputs of a
    recording from their second value on, at once with `dynamic`, never if it is False. A `backend`
    that is a function is given a module that calls `model`, and the tensors among the arguments,
    once per kind of arguments; what it answers is called instead (compat/delegate.py). Without
    `model`, a decorator.
    https://pytorch.org/docs/stable/generated/torch.compile.html

    >>> import tiny_torch as torch
    >>> @torch.compile
    ... def square(x):
    ...     return x * x
    >>> square(torch.tensor(3.0)), square(torch.tensor(4.0))
    (tensor(9.), tensor(16.))
    """
    check_arguments("compile", backend, mode, options)
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
            options=options, name=name, disable=disable, recompile_limit=recompile_limit,
            isolate_recompiles=isolate_recompiles, shapes_spec=shapes_spec,
        )  # fmt: skip
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if disable:
        return model
    if isinstance(model, OptimizedModule):
        return model
    program: Any = model
    if backend is not None and not isinstance(backend, str):
        given = {"mode": mode if mode != "default" else None, "options": options}
        settings = {key: value for key, value in given.items() if value}
        program = Delegate(model, backend, dynamic, settings)
    elif backend != "eager":
        names = _core.Passes.names
        passes = {key: bool(on) for key, on in (options or {}).items() if key in names}
        graphs = mode in GRAPHED or bool((options or {}).get("triton.cudagraphs"))
        program = Compiled(
            model, fullgraph=fullgraph, passes=passes, graphs=graphs, dynamic=dynamic
        )
    if isinstance(model, Module):
        return OptimizedModule(model, program)
    if isinstance(model, types.MethodType):  # copies of its object get programs of their own
        return program

    @functools.wraps(model, updated=())
    def run(*args: Any, **kwargs: Any) -> Any:
        return program(*args, **kwargs)

    run._torchdynamo_orig_callable = model  # type: ignore[attr-defined]
    return run


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """A function that no program contains: what calls it runs as it is written. Or a decorator.

    AssertionError for what cannot be called.
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if not callable(fn):
        raise AssertionError("fn must be callable")

    @functools.wraps(fn, updated=())
    def run(*args: Any, **kwargs: Any) -> Any:
        _core.refuse_recording("calls what compiler.disable marks")
        return fn(*args, **kwargs)

    return run


def identity_decorator(name: str) -> Callable[[Any], Any]:
    """A decorator of that name which answers the function itself."""

    def decorate(fn: Any) -> Any:
        return fn

    decorate.__name__ = decorate.__qualname__ = name
    decorate.__doc__ = "The function itself: nothing is compiled."
    return decorate


allow_in_graph = identity_decorator("allow_in_graph")
assume_constant_result = identity_decorator("assume_constant_result")
nested_compile_region = identity_decorator("nested_compile_region")


def substitute_in_graph(
    original_fn: Any, *, can_constant_fold_through: bool = False, skip_signature_check: bool = False
) -> Callable[[Any], Any]:
    """A decorator that answers the function itself: there is no graph to put it into."""
    return lambda function: function


class set_stance:
    """What compiled functions do from now on, within a `with`, or in a decorated function.

    "force_eager" runs them as they are written; "eager_on_recompile" does so where no recording
    fits, and "fail_on_recompile" raises RuntimeError there; the others record. RuntimeError for a
    stance that PyTorch does not know. https://pytorch.org/docs/stable/torch.compiler_api.html
    """

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: Any = None,
    ) -> None:
        if stance not in STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{stance}'")
        if force_backend is not None:
            if not isinstance(force_backend, str):
                raise NotImplementedError("set_stance: force_backend must be a name")
            check_arguments("set_stance", force_backend, None, None)
        self.stance, self.before = stance, compiled.stance.name
        compiled.stance.name = stance

    def __enter__(self) -> None:
        compiled.stance.name = self.stance

    def __exit__(self, *exception: Any) -> None:
        compiled.stance.name = self.before

    def __call__(self, function: Callable[..., Any]) -> Any:
        compiled.stance.name = self.before

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with set_stance(self.stance):
                return function(*args, **kwargs)

        return run


def is_compiling() -> bool:
    """Whether a compiled function runs to be recorded."""
    return _core.is_recording()


def is_dynamo_compiling() -> bool:
    """Whether a compiled function runs to be recorded."""
    return _core.is_recording()


def is_exporting() -> bool:
    """False: nothing is exported."""
    return False


def reset() -> None:
    """Forgets all recordings."""
    compiled.reset()


def cudagraph_mark_step_begin() -> None:
    """Marks a step for graphs that `compile` would record, which are none."""


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The names that `compile` takes as `backend`, as PyTorch lists them; all run eagerly."""
    return sorted(BACKENDS if exclude_tags else (*BACKENDS, *HIDDEN))


WHY = "torch.compile keeps recordings in memory, and generates no code"
wrap_numpy = refusing("torch.compiler.wrap_numpy", WHY)
save_cache_artifacts = refusing("torch.compiler.save_cache_artifacts", WHY)
load_cache_artifacts = refusing("torch.compiler.load_cache_artifacts", WHY)

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable",
    "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "load_cache_artifacts",
    "nested_compile_region", "reset", "save_cache_artifacts", "set_stance", "substitute_in_graph",
    "wrap_numpy",
]  # fmt: skip
