"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from tiny_torch import _core
from tiny_torch.optim._foreach import (
    ForeachOptimizer,
    arrays,
    check_fused,
    check_lr,
    check_not_negative,
    number,
)
from tiny_torch.optim.optimizer import Group, Params
from tiny_torch.tensor import Tensor

__all__ = ["SGD"]


class SGD(ForeachOptimizer):
    """Stochastic gradient descent, optionally with momentum, weight decay and Nesterov's step.

    `params`: parameters or groups. `lr` is a float or a Tensor of one element. With `momentum` the
    step follows a running sum of gradients, whose new member is scaled by 1 - `dampening` except
    for the first. `maximize` climbs. `foreach` and `fused`: see `ForeachOptimizer`.

    Raises ValueError for negative options and for `nesterov` without momentum or with dampening.
    Source: PyTorch, torch.optim.SGD; Sutskever et al. 2013, "On the importance of initialization
    and momentum in deep learning".

    >>> import tiny_torch as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000, 1.0000], requires_grad=True)
    """

    _later_options: ClassVar[dict[str, Any]] = {
        "nesterov": False,
        "maximize": False,
        "foreach": None,
        "differentiable": False,
        "fused": False,
    }
    _numbers = ()

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_not_negative("momentum value", momentum)
        check_not_negative("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def _update(self, param: Any, grad: Any, group: Group) -> None:
        momentum, weight_decay = group["momentum"], number(group["weight_decay"])
        step = -grad if group["maximize"] else grad
        if weight_decay != 0:
            step = step.add(param, alpha=weight_decay)
        if momentum != 0:
            state = self.state[param]
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = step.detach().clone()
            else:
                buffer.mul_(momentum).add_(step, alpha=1 - group["dampening"])
            step = step.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        param.add_(step, alpha=-number(group["lr"]))

    def _update_all(self, params: list[Any], grads: list[Any], group: Group) -> Iterable[int]:
        buffers: list[Any] = []
        if group["momentum"] != 0:
            states = [self.state[param] for param in params]
            if any(state.get("momentum_buffer") is None for state in states):
                return range(len(params))  # the first step, in which the loop makes the buffers
            buffers = [state["momentum_buffer"].array for state in states]
        return _core.foreach_sgd(
            arrays(params),
            arrays(grads),
            buffers,
            group["lr"],
            group["momentum"],
            group["dampening"],
            group["weight_decay"],
            group["nesterov"],
            group["maximize"],
        )
