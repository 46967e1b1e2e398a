"""Notes figures of weights, gradients and activations while a training runs.

Only iterations that are sampled pay: the hooks of modules are there during these alone, between
them an optimizer's step runs two hooks that compare numbers. The figures are computed on arrays
(figures.py), so no random number is drawn, nothing is recorded for backward or cast, and the
training's bits are those of a training without.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from os import PathLike
from typing import Any

from tiny_torch.autograd._profiler.files import write_whole
from tiny_torch.autograd.places import Place
from tiny_torch.base.modes import Scope
from tiny_torch.nn import Module
from tiny_torch.nn.parameter import is_lazy
from tiny_torch.optim import Optimizer
from tiny_torch.tensor import Tensor
from tiny_torch.utils.monitor.figures import Figures, figures_of, norm_of
from tiny_torch.utils.monitor.page import watch_page
from tiny_torch.utils.monitor.table import Row, as_csv

WEIGHT, GRADIENT, ACTIVATION = "weight", "gradient", "activation"


class Watch(Scope):
    """What `watch` answers: `rows` of figures, and the files that are made of them.

    `iteration` is the number of iterations that have ended. Hooks are gone after `close`, or at
    the end of the ``with``.
    """

    def __init__(self, model: Module, optimizers: tuple[Optimizer, ...], every: int) -> None:
        self.rows: list[Row] = []
        self.iteration = 0
        self._model = model
        self._optimizers = optimizers
        self._every = every
        self._closed = False
        self._figures: dict[tuple[str, str], Figures] = {}  # of this iteration, by kind and name
        self._ratios: dict[str, float | None] = {}
        self._before: dict[int, Any] = {}  # {id of a parameter: its array before the step}
        self._module_handles: list[Any] = []
        self._step_handles = [
            handle
            for optimizer in optimizers
            for handle in (
                optimizer.register_step_pre_hook(self._before_step),
                optimizer.register_step_post_hook(self._after_step),
            )
        ]
        self._watch_modules()

    def begin(self) -> Watch:
        if self._closed:
            raise RuntimeError("a watch that is closed does not open again: watch() makes another")
        return self

    def restore(self, before: None) -> None:
        self.close()

    def close(self) -> None:
        """Takes all hooks away; keeps what an iteration that has not ended has shown so far."""
        if self._closed:
            return
        self._closed = True
        self._keep()
        self._before = {}
        for handle in (*self._step_handles, *self._module_handles):
            handle.remove()

    def step(self) -> None:
        """Ends an iteration, where no optimizer does: after backward, before gradients are freed.

        Raises RuntimeError if there is an optimizer, or the watch is closed.
        """
        if self._optimizers:
            raise RuntimeError("step: an iteration ends with the step of the watched optimizer")
        if self._closed:
            raise RuntimeError("step: the watch is closed")
        self._end()

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Writes all rows, under their fields' names; nothing where it cannot be written whole.

        Raises OSError where writing fails, FileNotFoundError where there is no such folder.
        """
        write_whole(path, as_csv(self.rows))

    def to_html(self, path: str | PathLike[str]) -> None:
        """Writes a page that needs no other file: curves of each layer. Raises as `to_csv` does."""
        root = type(self._model).__name__
        paths = [name or root for name, _ in self._model.named_modules()]
        write_whole(path, watch_page(self.rows, paths, root, self._every))

    # ---- what hooks note ---------------------------------------------------------------------

    def _is_sampled(self) -> bool:
        return self.iteration % self._every == 0

    def _watch_modules(self) -> None:
        """Hooks on the modules while an iteration is sampled, and only then."""
        for handle in self._module_handles:
            handle.remove()
        self._module_handles = []
        if self._is_sampled():
            for path, module in self._model.named_modules():
                if not list(module.children()) or list(module.parameters(recurse=False)):
                    hook = Hook(self, module, path or type(module).__name__)
                    self._module_handles.append(module.register_forward_hook(hook))

    def _note(self, kind: str, name: str, tensor: Any) -> None:
        if is_measured(tensor):
            self._figures[kind, name] = figures_of(tensor.array)

    def _note_call(self, path: str, output: Any) -> None:
        """A module's outputs; those of several calls in an iteration count together."""
        if not self._model.training or Place(sys._getframe()).backward:
            return
        for name, tensor in tensors_of(output, path):
            before = self._figures.get((ACTIVATION, name))
            self._note(ACTIVATION, name, tensor)
            if before is not None and is_measured(tensor):
                self._figures[ACTIVATION, name] = before.merge(self._figures[ACTIVATION, name])

    def _before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if self._is_sampled():
            self._before = {}
            for name, parameter in self._held_by(optimizer):
                self._note(WEIGHT, name, parameter)
                self._note(GRADIENT, name, parameter.grad)
                if parameter.requires_grad:
                    self._before[id(parameter)] = parameter.array.clone()

    def _after_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if self._is_sampled():
            for name, parameter in self._held_by(optimizer):
                if (GRADIENT, name) not in self._figures:  # a closure has computed it
                    self._note(GRADIENT, name, parameter.grad)
                before = self._before.pop(id(parameter), None)
                if before is not None and (WEIGHT, name) in self._figures:
                    update = norm_of(parameter.array.sub(before))
                    self._ratios[name] = ratio(update, self._figures[WEIGHT, name].norm)
        if optimizer is self._optimizers[-1]:
            self._end()

    def _held_by(self, optimizer: Optimizer) -> Iterator[tuple[str, Tensor]]:
        """The model's parameters that it steps, by name."""
        held = {id(p) for group in optimizer.param_groups for p in group["params"]}
        return ((n, p) for n, p in self._parameters() if id(p) in held)

    def _parameters(self) -> Iterator[tuple[str, Tensor]]:
        return ((n, p) for n, p in self._model.named_parameters() if not is_lazy(p))

    def _end(self) -> None:
        """An iteration ends: the rest of it is noted, and the next begins."""
        if self._is_sampled():
            for name, parameter in self._parameters():
                if (WEIGHT, name) not in self._figures:  # no optimizer holds it
                    self._note(WEIGHT, name, parameter)
                    self._note(GRADIENT, name, parameter.grad)
            self._keep()
        self.iteration += 1
        self._watch_modules()

    def _keep(self) -> None:
        """Makes rows of this iteration's figures, in the model's order."""
        places = {name: i for i, (name, _) in enumerate(self._model.named_parameters())}
        order = {WEIGHT: 0, GRADIENT: 1, ACTIVATION: 2}
        found = sorted(
            self._figures.items(), key=lambda item: (order[item[0][0]], places.get(item[0][1], 0))
        )
        for (kind, name), figures in found:
            update = self._ratios.get(name) if kind == WEIGHT else None
            self.rows.append(Row.of(self.iteration, kind, name, figures, update))
        self._figures, self._ratios = {}, {}


class Hook:
    """A module's forward hook. Copies of a model, and its pickles, are not watched."""

    def __init__(self, watch: Watch, module: Module, path: str) -> None:
        self.watch = watch
        self.module = module
        self.path = path

    def __call__(self, module: Module, args: Any, output: Any) -> None:
        self.watch._note_call(self.path, output)

    def __reduce__(self) -> Any:
        return Unwatched, ()


class Unwatched:
    """The hook in the copy of a model that is watched: it does nothing."""

    def __call__(self, module: Module, args: Any, output: Any) -> None:
        return None


def tensors_of(output: Any, path: str) -> Iterator[tuple[str, Tensor]]:
    """The tensors that a module answers, by where they stand: "lstm[1][0]"."""
    if isinstance(output, Tensor):
        yield path, output
    elif isinstance(output, dict):
        for key, part in output.items():
            yield from tensors_of(part, f"{path}[{key!r}]")
    elif isinstance(output, tuple | list):
        for i, part in enumerate(output):
            yield from tensors_of(part, f"{path}[{i}]")


def is_measured(tensor: Any) -> bool:
    """Whether it has numbers to look at."""
    return (
        isinstance(tensor, Tensor) and tensor.is_floating_point() and tensor.array.device != "meta"
    )


def ratio(update: float, weight: float) -> float | None:
    """None where there was no weight to compare with."""
    return update / weight if weight else None


def watch(
    model: Module, optimizers: Optimizer | Iterable[Optimizer] | None = None, every: int = 1
) -> Watch:
    """Watches a training from now on, until the ``with`` ends or `Watch.close` is called.

    Each `every`-th iteration, the first of them included, is noted: of all weights, their gradients
    and what modules answer, the norm, mean, standard deviation, share of zeros, smallest and
    largest finite element and the number of others, and how large each weight's update is against
    the weight. Weights are those before the step, gradients those that the step sees.

    An iteration ends with the optimizer's step, of several optimizers that of the last; without
    one call `Watch.step`. A step that a GradScaler skips ends none. Outputs are those of modules
    that have no children or parameters of their own, while the model is in training mode; several
    calls count together, those that a checkpoint repeats do not. A sampled step holds a copy of
    the weights.

    Raises TypeError for what is no Module, Optimizer or int, ValueError for an `every` below 1,
    an optimizer that is listed twice, and optimizers that hold no parameter of a model which has
    some to train. PyTorch has no such tool.

    >>> import tiny_torch as torch
    >>> model = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> with torch.utils.monitor.watch(model, optimizer, every=10) as watched:
    ...     for _ in range(20):
    ...         optimizer.zero_grad()
    ...         model(torch.ones(4, 2)).square().mean().backward()
    ...         optimizer.step()
    >>> [(row.iteration, row.kind, row.name) for row in watched.rows][:3]
    [(0, 'weight', 'weight'), (0, 'weight', 'bias'), (0, 'gradient', 'weight')]
    >>> watched.rows[-1][:4]
    (10, 'activation', 'Linear', 4)
    """
    if not isinstance(model, Module):
        raise TypeError(f"watch: the model must be a torch.nn.Module, not {type(model).__name__}")
    if isinstance(every, bool) or not isinstance(every, int):
        raise TypeError(f"watch: every must be an int, not {type(every).__name__}")
    if every < 1:
        raise ValueError(f"watch: every must be positive, not {every}")
    if optimizers is None:
        listed: tuple[Any, ...] = ()
    else:
        listed = tuple(optimizers) if isinstance(optimizers, Iterable) else (optimizers,)
    for optimizer in listed:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(
                "watch: an optimizer must be a torch.optim.Optimizer, "
                f"not {type(optimizer).__name__}"
            )
    if len(set(map(id, listed))) < len(listed):
        raise ValueError("watch: an optimizer is listed twice")
    held = {id(p) for o in listed for group in o.param_groups for p in group["params"]}
    trained = [id(p) for p in model.parameters() if p.requires_grad]
    if listed and trained and held.isdisjoint(trained):
        raise ValueError("watch: the optimizers hold no parameter of the model")
    return Watch(model, listed, every)
