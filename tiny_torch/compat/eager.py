"""What `compile` does without a compiler: it looks at its arguments, and says once what it is."""

from __future__ import annotations

from typing import Any

from tiny_torch.compat.saying import say_once

BACKENDS = ("cudagraphs", "inductor", "openxla", "tvm")  # what PyTorch lists
HIDDEN = ("aot_eager", "eager", "onnxrt", "tensorrt")  # and takes without listing them
MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")


class InvalidBackend(RuntimeError):
    """`compile` was asked for a backend that PyTorch has not either."""


def check(name: str, backend: Any, mode: Any, options: Any) -> None:
    """PyTorch's refusals of arguments of `compile`, and ours of a backend that is a function."""
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    if options is not None and not isinstance(options, dict):
        raise TypeError(f"{name}: options must be a dict, got {type(options).__name__}")
    if not isinstance(backend, str):
        raise NotImplementedError(
            f"{name}: backend must be a name; tiny_torch traces no graph for {backend!r} to take"
        )
    if backend not in (*BACKENDS, *HIDDEN):
        raise InvalidBackend(
            f"Invalid backend: {backend!r}, see `torch._dynamo.list_backends()` for available "
            "backends."
        )


def say_so() -> None:
    """Warns once that nothing is compiled."""
    say_once("torch.compile", "runs the program as it is: tiny_torch has no compiler", 4)
