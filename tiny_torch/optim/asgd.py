"""ASGD: gradient descent that keeps the average of the parameters beside them."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.optim._foreach import (
    ForeachOptimizer,
    check_lr,
    check_not_negative,
    new_number,
    number,
    scalar,
)
from tiny_torch.optim.optimizer import Group, Params
from tiny_torch.tensor import Tensor

__all__ = ["ASGD"]


class ASGD(ForeachOptimizer):
    """Averaged stochastic gradient descent: the state "ax" is the mean of the parameters since t0.

    `params`: parameters or groups. The step t has the rate lr / (1 + lambd * lr * t) ** alpha, by
    which the parameters also shrink, times `lambd`. `foreach`: see `ForeachOptimizer`.

    Raises ValueError for negative options; NotImplementedError for `capturable`. Source: PyTorch,
    torch.optim.ASGD; Polyak and Juditsky 1992, "Acceleration of Stochastic Approximation by
    Averaging".

    >>> import tiny_torch as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.ASGD([w], lr=0.25, lambd=0)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000, 1.0000], requires_grad=True)
    """

    _numbers = ("step", "eta", "mu")
    _kernel = staticmethod(_core.foreach_asgd)
    _kernel_states = ("ax", "eta", "mu", "step")
    _kernel_options = ("lr", "lambd", "alpha", "t0", "weight_decay", "maximize")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _begin(self, state: dict[str, Any], param: Tensor, group: Group) -> None:
        state["step"] = new_number(0, group)
        state["eta"] = new_number(scalar(group["lr"]), group)
        state["mu"] = new_number(1, group)
        state["ax"] = torch.zeros_like(param)

    def _change(self, param: Any, grad: Any, state: dict[str, Any], group: Group) -> None:
        lr, lambd = scalar(group["lr"]), group["lambd"]
        eta, mu = state["eta"].item(), state["mu"].item()
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])

        param.mul_(1 - lambd * eta).add_(grad, alpha=-eta)
        if mu == 1:
            state["ax"].copy_(param)
        else:
            state["ax"].add_(param.sub(state["ax"]).mul_(mu))

        step = state["step"].item()
        state["eta"].fill_(number(lr / (1 + lambd * lr * step) ** group["alpha"]))
        state["mu"].fill_(1 / max(1, step - group["t0"]))
