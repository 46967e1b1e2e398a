"""Finding the op whose gradient went wrong: each node remembers where in the program it was made.

One bit of a thread's modes, so that it costs nothing while it is off. (PyTorch's is the process's.)
"""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.op_mode import place_on_stack
from tiny_torch.autograd.origins import Origins, elements_of, origin_text
from tiny_torch.autograd.places import Place
from tiny_torch.base.arguments import check_bool
from tiny_torch.base.modes import ANOMALY, Scope, Setting, modes, module_of, thread

PACKAGE = Path(__file__).parent.parent
# Where ops are recorded: of no interest to who looks for the line that made one.
INNER = (
    str(PACKAGE / "autograd"),
    str(PACKAGE / "ops"),
    str(PACKAGE / "functions"),
    str(PACKAGE / "tensor.py"),
)


class set_detect_anomaly(Scope):
    """Anomaly detection on or off, at once and until the ``with`` ends, if it is used in one.

    With `check_nan`, a gradient that becomes NaN raises RuntimeError, which tells of the first op,
    forward or backward, that has made NaN, and of the one that has made inf of finite values. With
    `check_forward`, which PyTorch has not, such an op raises RuntimeError itself, in forward, too.
    https://pytorch.org/docs/stable/autograd.html#torch.autograd.set_detect_anomaly
    """

    def __init__(self, mode: bool, check_nan: bool = True, *, check_forward: bool = False) -> None:
        check_bool("set_anomaly_enabled", "enabled", 1, mode)
        check_bool("set_anomaly_enabled", "check_nan", 2, check_nan)
        self.before = now()
        looking = mode and (check_nan or check_forward)
        self.switch(ANOMALY if mode else 0, check_nan, Origins(check_forward) if looking else None)

    def current(self) -> tuple:
        return self.before

    def restore(self, before: tuple) -> None:
        self.switch(*before)

    def switch(self, bit: int, check_nan: bool, origins: Origins | None) -> None:
        modes.bits = (modes.bits & ~ANOMALY) | bit
        thread.check_nan = check_nan
        if thread.origins is not None:
            place_on_stack(thread.origins, False)
        thread.origins = origins
        if origins is not None:
            place_on_stack(origins, True)


class detect_anomaly(set_detect_anomaly):
    """While it lasts, an error in backward is preceded by a warning with the op's place in forward.

    The arguments are those of `set_detect_anomaly`.
    https://pytorch.org/docs/stable/autograd.html#torch.autograd.detect_anomaly

    >>> import tiny_torch as torch
    >>> x = torch.tensor([4.0, -1.0])
    >>> with torch.autograd.detect_anomaly(check_forward=True):
    ...     x.sqrt()
    Traceback (most recent call last):
        ...
    RuntimeError: Function 'Sqrt' returned nan values in its 0th output.
    nan was first made by Sqrt in forward, outside of modules, at ...
      input 0: float32 [2], from -1 to 4
      output 0: float32 [2], from 2 to 2, 1 nan
    """

    def __init__(self, check_nan: bool = True, *, check_forward: bool = False) -> None:
        self.check_nan = check_nan
        self.check_forward = check_forward
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging.",
            stacklevel=2,
        )

    def current(self) -> tuple:
        return now()

    def begin(self) -> None:
        super().__init__(True, self.check_nan, check_forward=self.check_forward)


def now() -> tuple:
    """What is set in this thread, as `switch` takes it."""
    return modes.bits & ANOMALY, thread.check_nan, thread.origins


def is_anomaly_enabled() -> bool:
    """Whether this thread's nodes remember where they were made."""
    return bool(modes.bits & ANOMALY)


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly detection raises where a gradient is NaN."""
    return thread.check_nan


def remember(node: Any) -> None:
    """Notes the stack in a new node, and the node whose backward makes it, if one does."""
    frames = traceback.extract_stack()
    while frames and frames[-1].filename.startswith(INNER):
        frames.pop()
    node.metadata["traceback_"] = traceback.format_list(frames)
    if thread.origins is not None:
        node.metadata["place_"] = Place(sys._getframe(1))
    if thread.running is not None:
        node.metadata["parent_"] = thread.running


def call_watched(call: Callable, node: Any, grad: Any, needs: Any) -> Any:
    """``call(node, grad, needs)``, a node's backward, of which an error is explained."""
    return _core.within(Setting(thread, "running", node), call_checked, call, node, grad, needs)


def call_checked(call: Callable, node: Any, grad: Any, needs: Any) -> Any:
    try:
        results = call(node, grad, needs)
        if thread.check_nan:
            check_nan(node, results)
    except Exception:
        explain(node)
        raise
    return results


def explain(node: Any) -> None:
    """The warning that precedes an error in a node's backward."""
    warnings.warn(
        f"Error detected in {node.name()}. {story(node, 'caused the error')}", stacklevel=2
    )
    seen = node.metadata.get("parent_")
    while seen is not None:
        what = "induced the previous calculation"
        warnings.warn(
            f"\n\nPrevious calculation was induced by {seen.name()}. {story(seen, what)}",
            stacklevel=2,
        )
        seen = seen.metadata.get("parent_")


def story(node: Any, what: str) -> str:
    lines = node.metadata.get("traceback_")
    if lines is None:
        return (
            "No forward pass information available. Enable detect anomaly during forward pass for "
            "more information."
        )
    return f"Traceback of forward call that {what}:\n{''.join(lines)}"


def check_nan(node: Any, results: Any) -> None:
    """RuntimeError where a gradient that a node has computed is NaN."""
    for i, result in enumerate(results if type(results) is tuple else (results,)):
        array = getattr(result, "array", result)
        if array is not None and (elements_of(array) != elements_of(array)).any(None, False).item():
            told = "" if thread.origins is None else thread.origins.first_origin()
            raise RuntimeError(origin_text(node.name(), "nan", i, told))


module_of[ANOMALY] = sys.modules[__name__]
__all__ = ["detect_anomaly", "set_detect_anomaly"]
