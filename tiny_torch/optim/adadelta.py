"""Adadelta: steps whose size follows from the steps before, not from a learning rate."""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.optim._foreach import ForeachOptimizer, check_lr, check_not_negative, number
from tiny_torch.optim.optimizer import Group, Params
from tiny_torch.tensor import Tensor

__all__ = ["Adadelta"]


class Adadelta(ForeachOptimizer):
    """Adadelta: the gradient times the ratio of two root mean squares, of steps and of gradients.

    `params`: parameters or groups. `rho` is what the running mean squares keep at each step; `eps`
    is added to them under the roots; `lr` scales the step. `foreach`: see `ForeachOptimizer`.

    Raises ValueError for options out of range; NotImplementedError for `capturable`. Source:
    PyTorch, torch.optim.Adadelta; Zeiler 2012, arXiv 1212.5701.

    >>> import tiny_torch as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.Adadelta([w], eps=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([-0.4907,  0.0482], requires_grad=True)
    """

    _kernel = staticmethod(_core.foreach_adadelta)
    _kernel_states = ("square_avg", "acc_delta", "step")
    _kernel_options = ("lr", "rho", "eps", "weight_decay", "maximize")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative("epsilon value", eps)
        check_not_negative("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _change(self, param: Any, grad: Any, state: dict[str, Any], group: Group) -> None:
        rho, eps = group["rho"], group["eps"]
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])

        square_avg = state["square_avg"].mul_(rho).addcmul_(grad, grad, value=1 - rho)
        acc_delta = state["acc_delta"]
        delta = (acc_delta + eps).sqrt() / (square_avg + eps).sqrt() * grad
        acc_delta.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        param.add_(delta, alpha=-number(group["lr"]))
