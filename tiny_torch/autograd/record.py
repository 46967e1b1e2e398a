"""What a profiler has this thread write down: rows of `_core.enter` and `_core.leave`.

A row is (start, end, what, form, hint, sequence, arguments, stack, before, after): times in ns, an
op class or a name, one of the forms below, dims of the first two arguments, the number of the
node, shapes and dtypes, where Python was, bytes in use. C++ writes those of ops
(autograd/record.h), the engine those of nodes; tiny_torch/autograd/_profiler reads them once all
is over. While nobody records, `enter` answers None, and `leave(None)` does nothing.
"""

from __future__ import annotations

import functools
import re
import sys
from typing import Any

from tiny_torch import _core
from tiny_torch.base.modes import RECORDED, module_of, thread

# Op classes as their calls were: ordinary, results that are views, in place, into `out`. Then
# names of nodes in backward and of `record_function` blocks; modules; a user's Functions by name.
ORDINARY, VIEW, IN_PLACE, OUT, BACKWARD, RANGE, MODULE, FUNCTION = range(8)

start_record = _core.start_record
stop_record = _core.stop_record
enter = _core.enter
leave = _core.leave
# {op class: its node's name, and `factors`}, where the name does not depend on the node.
told: dict[Any, tuple[str, slice]] = {}
# {an op's `cost`, if it is a product: where its two factors stand among the inputs}
MATMULS = {"product": slice(2), "linear": slice(2), "sum of a product": slice(1, 3)}
PRODUCTS = {**MATMULS, "convolution": slice(2), "transposed convolution": slice(2)}
ALL = slice(None)


def enter_node(node: Any, grad: Any) -> Any:
    """The row of a node whose backward begins. Named now: afterwards the node is freed.

    Its hint is how many inputs want their gradient; of a product, how many factors, since each is
    a product again.
    """
    found = told.get(node.op)
    if found is None:
        op = node.op
        found = node_name(node), PRODUCTS.get(op.cost, ALL)
        if isinstance(op, type) and not callable(op.node_name):  # type: ignore[attr-defined]
            told[op] = found
    name, factors = found
    edges = node.edges[factors]
    row = enter(name, BACKWARD, node.sequence, len(edges) - edges.count(None))
    if thread.see_node is not None:
        thread.see_node(node, grad)
    return row


def enter_range(name: str) -> Any:
    """A row of a name alone."""
    return enter(name, RANGE, -1)


def enter_write(op: Any, inputs: tuple) -> Any:
    """The row of an op that writes in place."""
    return enter(op, IN_PLACE, -1, inputs)


def enter_accumulation() -> Any:
    """The row of a gradient that is added to a leaf's."""
    return enter("torch::autograd::AccumulateGrad", BACKWARD, -1)


# ---- calls of modules ---------------------------------------------------------------------------

_plain_calls: dict[type, Any] = {}  # {recordable class: its own __call__}
_watching: set[Any] = set()  # profiles that want to see modules


def recordable(kind: type) -> type:
    """Marks a class whose calls are rows while a profile wants to see modules."""
    _plain_calls[kind] = kind.__call__
    return kind


def _recording(plain: Any) -> Any:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        row = enter(self, MODULE, -1)
        try:
            return plain(self, *args, **kwargs)
        finally:
            leave(row)

    return call


def watch_modules(profile: Any, wanted: bool) -> None:
    """Whether a profile wants to see modules; where none does, calls stay plain."""
    (_watching.add if wanted else _watching.discard)(profile)
    while True:
        seen = bool(_watching)
        for kind, plain in _plain_calls.items():
            kind.__call__ = _recording(plain) if seen else plain  # type: ignore[method-assign]
        if seen == bool(_watching):  # else another thread, or a handler, has changed it meanwhile
            return


module_of[RECORDED] = sys.modules[__name__]


# ---- PyTorch's names of nodes and of ops' functions: what the op's class says, or its own -----
#
# A node's name is chosen when asked for, from what the node holds: so it costs nothing while
# recording. What backward has freed can no longer tell; then the most common name is given.

# {our function that draws: PyTorch's}
SAMPLERS = {"bernoulli_tensor_": "bernoulli", "random_range_": "random"}


def node_name(node: Any) -> str:
    """PyTorch's name of a node."""
    op = node.op
    name = op.node_name
    if callable(name):
        saved = node.saved
        name = name(saved if type(saved) is tuple and saved != ("freed",) else (), node)
    return name or f"{op.__name__}Backward0"


@functools.cache
def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().rstrip("_")


def aten_name(op: Any, in_place: bool = False, hint: int = 99) -> str:
    """PyTorch's name of an op: "aten::mm". What it has no function for keeps its own.

    `hint` is 10 times the dims of the first argument, plus those of the second, or the length of
    the tuple that stands there.
    """
    first, second = divmod(hint, 10)
    name = getattr(op, "aten", None) or SAMPLERS.get(op.__name__) or snake_case(op.__name__)
    if callable(name):
        name = name(first, second)
    name = name.format(second=second, spatial=first - 2)
    return f"aten::{name}{'_' * in_place}"
