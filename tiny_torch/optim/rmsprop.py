"""RMSprop: steps divided by the running root mean square of the gradient."""

from __future__ import annotations

from typing import Any, ClassVar

from tiny_torch import _core
from tiny_torch.optim._foreach import ForeachOptimizer, check_lr, check_not_negative, number
from tiny_torch.optim.optimizer import Group, Params
from tiny_torch.tensor import Tensor

__all__ = ["RMSprop"]


class RMSprop(ForeachOptimizer):
    """RMSprop, optionally with momentum and with the variance (`centered`) for the mean square.

    `params`: parameters or groups. `lr` is a float or a Tensor of one element; `alpha` is what the
    running averages keep at each step; `eps` is added to the root. `foreach`: see
    `ForeachOptimizer`.

    Raises ValueError for negative options; NotImplementedError for `capturable`. Source: PyTorch,
    torch.optim.RMSprop; Hinton's lecture 6 of "Neural Networks for Machine Learning"; Graves 2013,
    "Generating Sequences With Recurrent Neural Networks".

    >>> import tiny_torch as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.RMSprop([w], lr=0.05)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000, 1.5000], requires_grad=True)
    """

    _later_options: ClassVar[dict[str, Any]] = {
        **ForeachOptimizer._later_options,
        "momentum": 0,
        "centered": False,
    }
    _kernel = staticmethod(_core.foreach_rmsprop)
    _kernel_states = ("square_avg", "momentum_buffer", "grad_avg", "step")
    _kernel_options = ("lr", "alpha", "eps", "weight_decay", "momentum", "maximize")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative("epsilon value", eps)
        check_not_negative("momentum value", momentum)
        check_not_negative("weight_decay value", weight_decay)
        check_not_negative("alpha value", alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _absent_states(self, group: Group) -> tuple[str, ...]:
        without_momentum = () if group["momentum"] > 0 else ("momentum_buffer",)
        return without_momentum if group["centered"] else (*without_momentum, "grad_avg")

    def _change(self, param: Any, grad: Any, state: dict[str, Any], group: Group) -> None:
        alpha, momentum = group["alpha"], group["momentum"]
        minus_lr = -number(group["lr"])
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])

        variance = state["square_avg"].mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"].lerp_(grad, 1 - alpha)
            variance = variance.addcmul(mean, mean, value=-1)
        deviation = variance.sqrt() + group["eps"]
        if momentum > 0:
            buffer = state["momentum_buffer"].mul_(momentum).addcdiv_(grad, deviation)
            param.add_(buffer, alpha=minus_lr)
        else:
            param.addcdiv_(grad, deviation, value=minus_lr)
