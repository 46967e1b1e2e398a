"""A recorded step: what each layer computes, how large it is, and what it hands on."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tiny_torch as torch
from tiny_torch.utils import memory


@dataclass(frozen=True)
class Layer:
    """Seconds of its forward and backward; bytes of its parameters and of its output.

    `sizes` are the bytes of each parameter; if left out, there is one.
    """

    name: str
    forward: float
    backward: float
    parameters: int
    output: int
    sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(self.sizes) or (self.parameters,))


@dataclass(frozen=True)
class Step:
    """A step of one process: layers in the order of forward, the optimizer, memory.

    `activations` are the bytes that backward needs besides parameters; `state` is how many bytes
    the optimizer keeps for each byte of parameters (2 of Adam, 0 of plain SGD).
    """

    layers: tuple[Layer, ...]
    optimizer: float
    activations: int
    state: float

    @property
    def parameters(self) -> int:
        """Bytes of all parameters."""
        return sum(layer.parameters for layer in self.layers)

    @property
    def forward(self) -> float:
        """Seconds of the whole forward."""
        return sum(layer.forward for layer in self.layers)

    @property
    def backward(self) -> float:
        """Seconds of the whole backward."""
        return sum(layer.backward for layer in self.layers)

    @property
    def seconds(self) -> float:
        """Seconds of the whole step."""
        return self.forward + self.backward + self.optimizer

    def save(self, path: Path) -> None:
        """Writes it as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1))

    @staticmethod
    def load(path: Path) -> Step:
        """Reads what `save` wrote; ValueError for another file."""
        try:
            facts = json.loads(path.read_text())
            return Step(**{**facts, "layers": tuple(Layer(**layer) for layer in facts["layers"])})
        except (TypeError, KeyError, json.JSONDecodeError) as error:
            raise ValueError(f"{path} is no recorded step: {error}") from error


class Watch:
    """Notes when layers end their forwards and their gradients are there."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.layers = {
            name: module
            for name, module in model.named_modules()
            if any(True for _ in module.parameters(recurse=False))
        }
        self.ended: dict[str, float] = {}
        self.graded: dict[str, float] = {}
        self.outputs: dict[str, int] = {}
        self.handles: list[Any] = []
        for name, module in self.layers.items():
            self.handles.append(module.register_forward_hook(self.on_forward(name)))
            for parameter in module.parameters(recurse=False):
                if parameter.requires_grad:
                    hook = parameter.register_post_accumulate_grad_hook(self.on_gradient(name))
                    self.handles.append(hook)

    def on_forward(self, name: str) -> Callable[..., None]:
        def note(module: Any, args: Any, output: Any) -> None:
            self.ended[name] = time.perf_counter()
            if isinstance(output, torch.Tensor):
                self.outputs[name] = output.numel() * output.element_size()

        return note

    def on_gradient(self, name: str) -> Callable[..., None]:
        def note(parameter: torch.Tensor) -> None:
            self.graded[name] = time.perf_counter()

        return note

    def close(self) -> None:
        for handle in self.handles:
            handle.remove()


def spans(ends: dict[str, float], begin: float) -> dict[str, float]:
    """How long each took, by when each ended."""
    found = {}
    for name, end in sorted(ends.items(), key=lambda item: item[1]):
        found[name], begin = end - begin, end
    return found


def record_step(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    loss_of: Callable[[torch.nn.Module], torch.Tensor],
    repeats: int = 5,
) -> Step:
    """The step that `loss_of(model)` begins: medians of some, after one that is not counted.

    A layer is a module with parameters of its own; what others compute counts to the layer that
    follows, in forward and in backward. One whose parameters another uses, as attention does its
    output's, has a backward only. ValueError where none has run.

    >>> import tiny_torch as torch
    >>> from tiny_torch.distributed.simulate import record_step
    >>> net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    >>> adam = torch.optim.Adam(net.parameters())
    >>> step = record_step(net, adam, lambda net: net(torch.ones(2, 4)).sum())
    >>> [(layer.name, layer.parameters, layer.output) for layer in step.layers], step.state
    ([('0', 160, 64), ('2', 36, 8)], 2.0)
    """
    watch = Watch(model)
    forwards, backwards, optimizing = [], [], []
    for _ in range(repeats + 1):
        optimizer.zero_grad()
        watch.ended.clear()
        watch.graded.clear()
        begin = time.perf_counter()
        loss = loss_of(model)
        middle = time.perf_counter()
        loss.backward()
        end = time.perf_counter()
        optimizer.step()
        done = time.perf_counter()
        forwards.append(spans(watch.ended, begin))
        backwards.append(spans(watch.graded, middle))
        optimizing.append(done - end)
    watch.close()
    del loss
    activations = activations_of(model, optimizer, loss_of)
    order = list(forwards[-1])
    if not order:
        raise ValueError("record_step: no module with parameters has run")
    graded = list(backwards[-1])
    for i, name in enumerate(graded):
        if name not in order:  # backward comes to it behind the one that it follows here
            order.insert(order.index(graded[i - 1]) if i else len(order), name)

    def median(runs: list[dict[str, float]], name: str) -> float:
        return statistics.median(run.get(name, 0.0) for run in runs[1:])

    layers = tuple(
        Layer(
            name,
            median(forwards, name),
            median(backwards, name),
            sum(p.nbytes for p in watch.layers[name].parameters(recurse=False)),
            watch.outputs.get(name, 0),
            tuple(p.nbytes for p in watch.layers[name].parameters(recurse=False)),
        )
        for name in order
    )
    parameters = sum(layer.parameters for layer in layers)
    kept_by = optimizer.state.values()
    state = sum(t.nbytes for s in kept_by for t in s.values() if is_row(t))
    return Step(layers, statistics.median(optimizing[1:]), activations, state / parameters)


def activations_of(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    loss_of: Callable[[torch.nn.Module], torch.Tensor],
) -> int:
    """The most bytes that a forward has taken, beside what was there before."""
    optimizer.zero_grad()
    with memory.record(holders=False) as before:
        pass
    with memory.record(holders=False) as recording:
        loss_of(model)
    return recording.peak[0] - before.peak[0]


def is_row(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.ndim > 0
