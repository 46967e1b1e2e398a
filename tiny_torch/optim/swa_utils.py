"""Averages of a model's weights over the training: equally weighted (SWA) or exponential (EMA)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, Literal

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.autograd import no_grad
from tiny_torch.nn import Module
from tiny_torch.nn.modules.batchnorm import BatchNorm
from tiny_torch.optim._schedules.base import Schedule, for_each_group
from tiny_torch.optim.optimizer import Optimizer
from tiny_torch.tensor import Tensor

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Tensors = list[Any] | tuple[Any, ...]


def _lerp_all(averages: Tensors, values: Tensors, weight: float) -> None:
    """averages += weight * (values - averages), in one call of C++ where that is possible."""
    left: Iterable[int] = range(len(averages))
    kinds = {type(getattr(tensor, "array", None)) for tensor in (*averages, *values)}
    if kinds == {_core.NDArray}:
        pairs = [[tensor.array for tensor in tensors] for tensors in (averages, values)]
        left = _core.foreach_lerp(*pairs, weight)
    for i in left:
        averages[i].lerp_(values[i], weight)


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[[Tensors, Tensors, Any], None]:
    """The function that moves averages by 1 - decay towards the model's values, in place.

    Raises ValueError unless 0 <= decay <= 1.
    Source: PyTorch, torch.optim.swa_utils.get_ema_multi_avg_fn.

    >>> import tiny_torch as torch
    >>> average = torch.zeros(2)
    >>> torch.optim.swa_utils.get_ema_multi_avg_fn(0.75)([average], [torch.ones(2)], 1)
    >>> average
    tensor([0.2500, 0.2500])
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list: Tensors, current_param_list: Tensors, _: Any) -> None:
        if torch.is_floating_point(ema_param_list[0]):
            return _lerp_all(ema_param_list, current_param_list, 1 - decay)
        for average, value in zip(ema_param_list, current_param_list, strict=True):
            average.copy_(average * decay + value * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Callable[[Tensors, Tensors, Any], None]:
    """The function that adds one more model to the mean of `num_averaged` ones, in place.

    Source: PyTorch, torch.optim.swa_utils.get_swa_multi_avg_fn.
    """

    @no_grad()
    def swa_update(
        averaged_param_list: Tensors, current_param_list: Tensors, num_averaged: Any
    ) -> None:
        if torch.is_floating_point(averaged_param_list[0]):
            return _lerp_all(averaged_param_list, current_param_list, float(1 / (num_averaged + 1)))
        for average, value in zip(averaged_param_list, current_param_list, strict=True):
            difference = value - average
            if isinstance(num_averaged, Tensor):
                average.addcdiv_(difference, num_averaged + 1)
            else:
                average.add_(difference, alpha=1.0 / (num_averaged + 1))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Any, Any, Any], Any]:
    """As get_ema_multi_avg_fn, for one tensor: the function returns the new average.

    Source: PyTorch, torch.optim.swa_utils.get_ema_avg_fn.
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[[Any, Any, Any], Any]:
    """As get_swa_multi_avg_fn, for one tensor: the function returns the new average.

    Source: PyTorch, torch.optim.swa_utils.get_swa_avg_fn.
    """

    @no_grad()
    def swa_update(averaged_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model that holds the average of its weights, and computes with them.

    `update_parameters(model)` takes the weights of now into the average: an equally weighted one,
    or what `avg_fn` (for a tensor) or `multi_avg_fn` (for lists, in place) makes of it. Buffers are
    averaged too where `use_buffers`, else copied.

    Raises AssertionError where both functions are given. Source: PyTorch,
    torch.optim.swa_utils.AveragedModel; Izmailov et al. 2018, "Averaging Weights Leads to Wider
    Optima and Better Generalization", arXiv 1803.05407.

    >>> import tiny_torch as torch
    >>> model = torch.nn.Linear(1, 1, bias=False)
    >>> average = torch.optim.swa_utils.AveragedModel(model)
    >>> for value in [1.0, 3.0, 5.0]:
    ...     _ = torch.nn.init.constant_(model.weight, value)
    ...     average.update_parameters(model)
    >>> average(torch.ones(1)).item()
    3.0
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[[Any, Any, Any], Any] | None = None,
        multi_avg_fn: Callable[[Tensors, Tensors, Any], None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", torch.tensor(0, dtype=torch.long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model computes."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the weights of `model` into the average; the first ones are copied."""
        averages = [tensor.detach() for tensor in self._average_with(self.module)]
        values = [tensor.detach() for tensor in self._average_with(model)]
        pairs = list(zip(averages, values, strict=False))
        if self.n_averaged == 0:
            for average, value in pairs:
                average.copy_(value)
        elif self.avg_fn is not None:
            for average, value in pairs:
                average.copy_(self.avg_fn(average, value.to(average.device), self.n_averaged))
        else:
            kinds: dict[Any, tuple[list[Any], list[Any]]] = {}
            for average, value in pairs:
                alike = kinds.setdefault((average.device, average.dtype), ([], []))
                alike[0].append(average)
                alike[1].append(value.to(average.device))
            for (_, dtype), alike in kinds.items():
                if self.multi_avg_fn is not None:
                    self.multi_avg_fn(*alike, self.n_averaged)
                elif dtype.is_floating_point:
                    _lerp_all(*alike, 1 / (int(self.n_averaged) + 1))
                else:
                    for average, value in zip(*alike, strict=True):
                        average.copy_(get_swa_avg_fn()(average, value, self.n_averaged))
        if not self.use_buffers:
            for average, value in zip(self.module.buffers(), model.buffers(), strict=True):
                average.detach().copy_(value.detach())
        self.n_averaged += 1

    def _average_with(self, model: Module) -> Iterable[Any]:
        buffers = model.buffers() if self.use_buffers else ()
        return itertools.chain(model.parameters(), buffers)


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Let the batch norms of an averaged model find their statistics, in one pass over the data.

    A batch is a Tensor, or a list or tuple that begins with one.
    Source: PyTorch, torch.optim.swa_utils.update_bn.
    """
    momenta: dict[Any, Any] = {}
    for module in model.modules():
        if isinstance(module, BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None  # all batches alike
    for batch in loader:
        inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(inputs if device is None else inputs.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(Schedule):
    """From each group's rate to `swa_lr`, within `anneal_epochs`, along a cosine or a line.

    Raises ValueError for another strategy than "cos" and "linear" and for negative epochs.
    Source: PyTorch, torch.optim.swa_utils.SWALR.

    >>> import tiny_torch as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
    >>> scheduler = torch.optim.swa_utils.SWALR(
    ...     optimizer, swa_lr=0.2, anneal_epochs=4, anneal_strategy="linear"
    ... )
    >>> rates = []
    >>> for _ in range(5):
    ...     optimizer.step()
    ...     scheduler.step()
    ...     rates += scheduler.get_last_lr()
    >>> [round(rate, 2) for rate in rates]
    [0.8, 0.6, 0.4, 0.2, 0.2]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = for_each_group("swa_lr", optimizer, swa_lr)
        for lr, group in zip(rates, optimizer.param_groups, strict=True):
            group["swa_lr"] = lr
        if anneal_strategy not in ["cos", "linear"]:
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        """How far the rates have gone after `step` steps, from 0 to 1."""
        t = max(0, min(1, step / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def _rates(self) -> list[Any]:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            end = group["swa_lr"]
            start = end if before == 1 else (group["lr"] - before * end) / (1 - before)
            rates.append(end * now + start * (1 - now))
        return rates
