"""Which op first made NaN, and which made inf of finite values: what anomaly detection tells.

An op that meets NaN passes it on and is of no interest: looked for is the op whose result has NaN
where no input has, or inf where all inputs are finite. A number such as -inf, the usual filling of
masks, is an input, too.
"""

from __future__ import annotations

import linecache
import math
import sys
from collections.abc import Callable, Iterable
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.op_mode import IN_PLACE, VIEW, OpMode
from tiny_torch.autograd.places import ModulePaths, Place
from tiny_torch.base.modes import thread

NAN, INF = "nan", "inf"


class Origins(OpMode):
    """Looks at the results of all ops; on the stack of modes while anomaly detection is on.

    What it has found is forgotten as the next forward begins: it was harmless.
    """

    def __init__(self, check_forward: bool) -> None:
        self.check_forward = check_forward
        self.found: dict[str, str] = {}  # what is told of the first NaN and the first inf
        self.backward_has_run = False

    def forward(self, call: Callable, op: Any, arguments: tuple, kind: str) -> Any:
        if self.backward_has_run and thread.running is None:
            self.found = {}
            self.backward_has_run = False
        if kind == VIEW:
            return call(op, arguments)
        inputs = [getattr(argument, "array", argument) for argument in arguments]
        if kind == IN_PLACE and has_floats(inputs[0]):
            inputs[0] = inputs[0].clone()  # what is about to be written over
        result = call(op, arguments)
        outputs = [getattr(r, "array", r) for r in (result if type(result) is tuple else (result,))]
        made = self.made_by(inputs, outputs)
        if made is not None:
            place = Place(sys._getframe(1))
            head = f"{op.__name__} in forward, {place_text(place)}"
            lines = [*describe_values("input", inputs), *describe_values("output", outputs)]
            self.note(op.__name__, made, head, lines)
        return result

    def backward(self, call: Callable, node: Any, grad: Any, needs: Any) -> Any:
        self.backward_has_run = True
        saved = node.saved if type(node.saved) is tuple else ()  # else packed by hooks
        results = call(node, grad, needs)
        grads, outputs = arrays_of(grad), arrays_of(results)
        made = self.made_by([*grads, *saved], outputs)
        if made is not None:
            place = node.metadata.get("place_")
            at = "made without anomaly detection" if place is None else place_text(place)
            lines = [
                *describe_values("gradient of output", grads),
                *describe_values("saved value", saved),
                *describe_values("gradient of input", outputs),
            ]
            self.note(node.name(), made, f"{node.name()} in backward of an op {at}", lines)
        return results

    def made_by(self, inputs: Iterable[Any], outputs: Iterable[Any]) -> tuple[str, int] | None:
        """(NAN or INF, in which output), if an op has made them; None if not, or not the first."""
        if len(self.found) == 2:
            return None
        for i, output in enumerate(outputs):
            if is_finite(output):
                continue
            if has_nan(output):
                if NAN not in self.found and not any(map(has_nan, inputs)):
                    return NAN, i
            elif INF not in self.found and all(map(is_finite, inputs)):
                return INF, i
        return None

    def note(self, name: str, made: tuple[str, int], head: str, lines: list[str]) -> None:
        """Remembers it, or raises at once."""
        kind, output = made
        text = "\n  ".join([f"{kind} was first made by {head}", *lines])
        if self.check_forward:
            raise RuntimeError(origin_text(name, kind, output, text))
        self.found[kind] = text

    def first_origin(self) -> str:
        """Tells of the first NaN, and of the first inf if it came before."""
        told = []
        for kind, text in self.found.items():
            told.append(text)
            if kind == NAN:
                break
        return "\n".join(told)


def origin_text(name: str, kind: str, output: int, told: str) -> str:
    """PyTorch's words, and after them what is known of the values' origin."""
    first = f"Function '{name}' returned {kind} values in its {output}th output."
    return f"{first}\n{told}" if told else first


def arrays_of(gradients: Any) -> list[Any]:
    """The arrays of a gradient, or of a tuple of gradients."""
    several = gradients if isinstance(gradients, tuple | list) else (gradients,)
    return [getattr(gradient, "array", gradient) for gradient in several]


def has_floats(value: Any) -> bool:
    """Whether it is an array of floats that has numbers to look at; tensors are ends of edges."""
    dtype = getattr(value, "dtype", None)
    return (
        isinstance(dtype, _core.dtype)
        and not isinstance(value, _core.TensorBase)
        and dtype.is_floating_point
        and value.device != "meta"
        and math.prod(value.shape) > 0
    )


def elements_of(array: Any) -> Any:
    """The elements that an array holds: of a sparse one its values."""
    return array.values if array.strides is None else array


def is_finite(value: Any) -> bool:
    if has_floats(value):
        return elements_of(value).isfinite().all(None, False).item()
    if isinstance(value, tuple):
        return all(map(is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def has_nan(value: Any) -> bool:
    if has_floats(value):
        return elements_of(value).ne(elements_of(value)).any(None, False).item()
    if isinstance(value, tuple):
        return any(map(has_nan, value))
    return isinstance(value, float) and math.isnan(value)


# ---- words --------------------------------------------------------------------------------------


def place_text(place: Place) -> str:
    """The module, the line and its text."""
    module = ModulePaths().path(place.modules)
    file, _, number = place.line.rpartition(":")
    source = linecache.getline(file, int(number)).strip() if number.isdigit() else ""
    text = f"in module {module}" if module else "outside of modules"
    return f"{text}, at {place.line or 'no line of yours'}{f': {source}' if source else ''}"


def describe_values(role: str, values: Iterable[Any]) -> list[str]:
    """A line for each value that an op computes with: "input 0: float32 [3], from -1 to 2"."""
    lines = []
    for i, value in enumerate(values):
        if hasattr(value, "dtype"):
            lines.append(f"{role} {i}: {described_array(value)}")
        elif isinstance(value, int | float):
            lines.append(f"{role} {i}: {value}")
    return lines


def described_array(array: Any) -> str:
    dtype, shape = str(array.dtype).rpartition(".")[2], list(array.shape)
    parts = [f"{dtype} {shape}"]
    if not has_floats(array):
        return parts[0]
    array = elements_of(array)
    finite = array.masked_select(array.isfinite())
    nans = array.ne(array).sum(None, False).item()
    infs = math.prod(array.shape) - math.prod(finite.shape) - nans
    if math.prod(finite.shape):
        low, high = finite.amin(None, False).item(), finite.amax(None, False).item()
        parts.append(f"from {low:.4g} to {high:.4g}")
    parts += [f"{count} {kind}" for count, kind in ((nans, NAN), (infs, INF)) if count]
    return ", ".join(parts)
