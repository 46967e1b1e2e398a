"""NAdam: Adam whose momentum looks a step ahead, as Nesterov's does."""

from __future__ import annotations

from typing import Any, ClassVar

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.optim._foreach import (
    ForeachOptimizer,
    check_not_negative,
    check_options,
    decay,
    new_number,
    number,
    scalar,
)
from tiny_torch.optim.optimizer import Group, Params
from tiny_torch.tensor import Tensor

__all__ = ["NAdam"]


class NAdam(ForeachOptimizer):
    """Adam with Nesterov's momentum: the step follows the running average as it will be next.

    `params`: parameters or groups. `lr`, `betas`, `eps`, `weight_decay`, `decoupled_weight_decay`:
    as Adam's. The momentum grows from beta1 / 2 towards beta1, at a rate that `momentum_decay`
    sets. `foreach`: see `ForeachOptimizer`.

    Raises ValueError for options out of range; NotImplementedError for `capturable`. Source:
    PyTorch, torch.optim.NAdam; Dozat 2016, "Incorporating Nesterov Momentum into Adam".

    >>> import tiny_torch as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.NAdam([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.4718, 1.4718], requires_grad=True)
    """

    _later_options: ClassVar[dict[str, Any]] = {
        **ForeachOptimizer._later_options,
        "decoupled_weight_decay": False,
    }
    _numbers = ("step", "mu_product")
    _kernel = staticmethod(_core.foreach_nadam)
    _kernel_states = ("exp_avg", "exp_avg_sq", "mu_product", "step")
    _kernel_options = (
        "lr",
        "betas",
        "eps",
        "weight_decay",
        "momentum_decay",
        "decoupled_weight_decay",
        "maximize",
    )

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(lr, betas, eps, weight_decay)
        check_not_negative("momentum_decay value", momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _begin(self, state: dict[str, Any], param: Tensor, group: Group) -> None:
        state["step"] = new_number(0, group)
        state["mu_product"] = new_number(1, group)
        state["exp_avg"] = torch.zeros_like(param)
        state["exp_avg_sq"] = torch.zeros_like(param)

    def _change(self, param: Any, grad: Any, state: dict[str, Any], group: Group) -> None:
        lr = scalar(group["lr"])
        beta1, beta2 = group["betas"]
        step = state["step"].item()
        grad = decay(param, grad, group, lr)

        exp_avg = state["exp_avg"].lerp_(grad, 1 - beta1)
        exp_avg_sq = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        denominator = exp_avg_sq.div(1 - beta2**step).sqrt() + group["eps"]

        # the momentum of this step belongs to the gradient, that of the next one to the average
        mu, mu_next = (
            beta1 * (1.0 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (step, step + 1)
        )
        state["mu_product"] *= mu
        product = state["mu_product"].item()
        of_grad = -lr * (1.0 - mu) / (1.0 - product)
        of_average = -lr * mu_next / (1.0 - product * mu_next)
        param.addcdiv_(grad, denominator, value=number(of_grad))
        param.addcdiv_(exp_avg, denominator, value=number(of_average))
