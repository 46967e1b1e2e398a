"""Rprop: steps that look at the sign of the gradient only."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.optim._foreach import ForeachOptimizer, check_lr, new_number, number
from tiny_torch.optim.optimizer import Group, Params
from tiny_torch.tensor import Tensor

__all__ = ["Rprop"]


class Rprop(ForeachOptimizer):
    """Rprop: each element has a step size of its own, which grows while its gradient's sign stays.

    `params`: parameters or groups. Step sizes begin at `lr`; they are multiplied by etas[1] where
    the sign stayed and by etas[0] where it changed (and that element waits), within `step_sizes`.
    For gradients of the whole data set, not of batches. `foreach`: see `ForeachOptimizer`.

    Raises ValueError for options out of range; NotImplementedError for `capturable`. Source:
    PyTorch, torch.optim.Rprop; Riedmiller and Braun 1993, "A direct adaptive method for faster
    backpropagation learning: The RPROP algorithm".

    >>> import tiny_torch as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.Rprop([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000, 1.5000], requires_grad=True)
    """

    _kernel = staticmethod(_core.foreach_rprop)
    _kernel_states = ("prev", "step_size", "step")
    _kernel_options = ("etas", "step_sizes", "maximize")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _begin(self, state: dict[str, Any], param: Tensor, group: Group) -> None:
        state["step"] = new_number(0, group)
        state["prev"] = torch.zeros_like(param)
        state["step_size"] = torch.full_like(param, number(group["lr"]))

    def _change(self, param: Any, grad: Any, state: dict[str, Any], group: Group) -> None:
        eta_minus, eta_plus = group["etas"]

        agreement = grad * state["prev"]
        stays, turns = agreement > 0, agreement < 0
        factor = torch.ones_like(grad).masked_fill_(stays, eta_plus).masked_fill_(turns, eta_minus)
        smallest, largest = group["step_sizes"]
        step_size = state["step_size"].mul_(factor).clamp_(smallest, largest)
        grad = state["prev"].copy_(grad.masked_fill(turns, 0))
        param.addcmul_(grad.sign(), step_size, value=-1)
