"""Adagrad: steps divided by the root of the sum of all squared gradients so far."""

from __future__ import annotations

from typing import Any, ClassVar

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.optim._foreach import (
    ForeachOptimizer,
    check_fused,
    check_lr,
    check_not_negative,
    new_number,
    number,
)
from tiny_torch.optim.optimizer import Group, Params
from tiny_torch.tensor import Tensor

__all__ = ["Adagrad"]


class Adagrad(ForeachOptimizer):
    """Adagrad: what has seen large gradients moves in ever smaller steps.

    `params`: parameters or groups. The step t has the rate lr / (1 + (t - 1) * lr_decay); the sums
    begin at `initial_accumulator_value`; `eps` is added to the root. `foreach` and `fused`: see
    `ForeachOptimizer`.

    A sparse gradient changes the rows alone that it has. Raises ValueError for negative options,
    RuntimeError for weight_decay with a sparse gradient.
    Source: PyTorch, torch.optim.Adagrad; Duchi, Hazan and Singer 2011, "Adaptive Subgradient
    Methods for Online Learning and Stochastic Optimization".

    >>> import tiny_torch as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.Adagrad([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000, 1.5000], requires_grad=True)
    """

    _later_options: ClassVar[dict[str, Any]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "fused": None,
    }
    _kernel = staticmethod(_core.foreach_adagrad)
    _kernel_states = ("sum", "step")
    _kernel_options = ("lr", "lr_decay", "eps", "weight_decay", "maximize")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_not_negative("lr_decay value", lr_decay)
        check_not_negative("weight_decay value", weight_decay)
        check_not_negative("initial_accumulator_value value", initial_accumulator_value)
        check_not_negative("epsilon value", eps)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        for group in self.param_groups:
            for param in group["params"]:
                self._state_of(param, group)

    def share_memory(self) -> None:
        """Move the sums to memory that other processes can share."""
        for group in self.param_groups:
            for param in group["params"]:
                self._state_of(param, group)["sum"].share_memory_()

    def _begin(self, state: dict[str, Any], param: Tensor, group: Group) -> None:
        state["step"] = new_number(0, group)
        state["sum"] = torch.full_like(param, group["initial_accumulator_value"])

    def _check_gradient(self, grad: Any) -> None:
        """Takes both layouts."""

    def _change(self, param: Any, grad: Any, state: dict[str, Any], group: Group) -> None:
        lr = group["lr"] / (1 + (state["step"].item() - 1) * group["lr_decay"])
        if grad.is_sparse:  # of a row that was not used nothing changes
            if group["weight_decay"] != 0:
                raise RuntimeError("weight_decay option is not compatible with sparse gradients")
            grad = grad.coalesce()
            places, values = grad.indices().unbind(0), grad.values()
            squares = state["sum"].index_put_(places, values * values, accumulate=True)[places]
            step = values / squares.sqrt().add_(group["eps"])
            param.index_put_(places, step * -number(lr), accumulate=True)
            return
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])
        squares = state["sum"].addcmul_(grad, grad)
        param.addcdiv_(grad, squares.sqrt() + group["eps"], value=-number(lr))
