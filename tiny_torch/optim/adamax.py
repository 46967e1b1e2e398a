"""Adamax: Adam with the largest gradient of late in the place of the root mean square."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.optim._foreach import (
    ForeachOptimizer,
    check_options,
    number,
)
from tiny_torch.optim.optimizer import Group, Params
from tiny_torch.tensor import Tensor

__all__ = ["Adamax"]


class Adamax(ForeachOptimizer):
    """Adam divided by an infinity norm: the largest |gradient| so far, which fades by beta2.

    `params`: parameters or groups. `lr`, `betas`, `weight_decay`: as Adam's; `eps` is added to
    each |gradient|. `foreach`: see `ForeachOptimizer`.

    Raises ValueError for options out of range; NotImplementedError for `capturable`. Source:
    PyTorch, torch.optim.Adamax; Kingma and Ba 2014, arXiv 1412.6980.

    >>> import tiny_torch as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.Adamax([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000, 1.5000], requires_grad=True)
    """

    _kernel = staticmethod(_core.foreach_adamax)
    _kernel_states = ("exp_avg", "exp_inf", "step")
    _kernel_options = ("lr", "betas", "eps", "weight_decay", "maximize")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_options(lr, betas, eps, weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _change(self, param: Any, grad: Any, state: dict[str, Any], group: Group) -> None:
        beta1, beta2 = group["betas"]
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])

        exp_avg = state["exp_avg"].lerp_(grad, 1 - beta1)
        exp_inf = state["exp_inf"]
        exp_inf.copy_(torch.maximum(exp_inf * beta2, grad.abs() + group["eps"]))
        step_size = group["lr"] / (1 - beta1 ** state["step"].item())
        param.addcdiv_(exp_avg, exp_inf, value=-number(step_size))
