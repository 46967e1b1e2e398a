"""SparseAdam: Adam of the rows alone that a sparse gradient has."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch.optim._foreach import check_betas, check_lr, number
from tiny_torch.optim._loop import LoopOptimizer
from tiny_torch.optim.optimizer import Group, Params
from tiny_torch.tensor import Tensor

__all__ = ["SparseAdam"]


class SparseAdam(LoopOptimizer):
    """Adam whose moments of a row move when the row has a gradient.

    For weights of `nn.Embedding(..., sparse=True)`: a step costs what the rows used cost. `params`:
    parameters or groups. `lr` is a float or a Tensor of one element. `maximize` climbs.

    Raises ValueError for options out of range and for sparse parameters, RuntimeError for a dense
    gradient. Source: PyTorch, torch.optim.SparseAdam; Kingma and Ba 2014, "Adam: A Method for
    Stochastic Optimization".

    >>> import tiny_torch as torch
    >>> table = torch.nn.Embedding(4, 2, sparse=True)
    >>> optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.1)
    >>> before = table.weight.detach().clone()
    >>> table(torch.tensor([2])).sum().backward()
    >>> optimizer.step()
    >>> (table.weight != before).any(1)
    tensor([False, False,  True, False])
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_lr(lr)
        for name, value in (("learning rate", lr), ("epsilon value", eps)):
            if not value > 0.0:
                raise ValueError(f"Invalid {name}: {value}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        sparse = [
            [place, i]
            for place, group in enumerate(self.param_groups)
            for i, param in enumerate(group["params"])
            if param.is_sparse
        ]
        if sparse:
            raise ValueError(
                f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors"
            )

    def _check_gradient(self, grad: Any) -> None:
        if not grad.is_sparse:
            raise RuntimeError(
                "SparseAdam does not support dense gradients, please consider Adam instead"
            )

    def _update(self, param: Any, grad: Any, group: Group) -> None:
        state = self.state[param]
        if not state:
            state["step"] = 0
            state["exp_avg"] = torch.zeros_like(param, memory_format=torch.preserve_format)
            state["exp_avg_sq"] = torch.zeros_like(param, memory_format=torch.preserve_format)
        state["step"] += 1
        grad = grad.coalesce()
        if grad._nnz() == 0:
            return
        first, second = group["betas"]
        places = grad.indices().unbind(0)
        values = grad.values()
        moment, square = state["exp_avg"], state["exp_avg_sq"]
        moment_of_rows = moment[places].lerp(values, 1 - first)
        square_of_rows = square[places].lerp(values * values, 1 - second)
        moment[places] = moment_of_rows
        square[places] = square_of_rows
        count = state["step"]
        rate = number(group["lr"]) * (1 - second**count) ** 0.5 / (1 - first**count)
        step = moment_of_rows / square_of_rows.sqrt().add_(group["eps"])
        param.index_put_(places, step * -rate, accumulate=True)
