"""Adafactor: Adam's second moments, of a matrix kept as one column and one row."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch.base.docstrings import own_methods
from tiny_torch.optim._foreach import check_at_least, new_number, number, scalar
from tiny_torch.optim._loop import LoopOptimizer
from tiny_torch.optim._whole import WholeOptimizer
from tiny_torch.optim.optimizer import Group, Params
from tiny_torch.tensor import Tensor

__all__ = ["Adafactor"]


class Adafactor(WholeOptimizer, LoopOptimizer):
    """Adafactor: the memory of a matrix's second moments is a row and a column.

    `params`: parameters or groups. The step t keeps 1 - t**beta2_decay of the old moments. Its size
    is that of the parameter (its root mean square, or `eps[1]` if that is smaller) times
    min(lr, 1 / sqrt(t)); an update whose root mean square exceeds `d` is scaled down to it.
    `eps[0]` bounds the divisors from below (None: the dtype's epsilon). The weight decay is
    decoupled.
    The loop over the parameters is the only way, which every `foreach` takes.

    Raises ValueError for options out of their range.
    Source: PyTorch, torch.optim.Adafactor; Shazeer and Stern 2018, "Adafactor: Adaptive Learning
    Rates with Sublinear Memory Cost", arXiv 1804.04235.

    >>> import tiny_torch as torch
    >>> w = torch.tensor([[1.0, 2.0]], requires_grad=True)
    >>> optimizer = torch.optim.Adafactor([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([[0.2094, 1.2094]], requires_grad=True)
    >>> {key: tuple(value.shape) for key, value in optimizer.state[w].items()}
    {'step': (), 'row_var': (1, 1), 'col_var': (1, 2)}
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        check_at_least(0.0, "Learning rate", lr)
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None:
            check_at_least(0.0, "epsilon1", eps[0])
        check_at_least(0.0, "epsilon2", eps[1])
        check_at_least(1.0, "Clipping threshold d", d)
        check_at_least(0.0, "weight_decay", weight_decay)
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _update(self, param: Any, grad: Any, group: Group) -> None:
        state = self.state[param] or self._begin(param, group)
        state["step"] += 1
        step = state["step"].item()
        lr, (eps1, eps2), d = scalar(group["lr"]), group["eps"], group["d"]
        if eps1 is None:
            eps1 = torch.finfo(param.dtype).eps

        size = max(eps2, _rms(param)) * min(lr, 1 / step**0.5)
        if group["weight_decay"] != 0:
            param.mul_(1 - lr * group["weight_decay"])

        gained = step ** group["beta2_decay"]
        squares = grad * grad
        if grad.dim() > 1:
            row, column = state["row_var"], state["col_var"]
            row.lerp_(squares.mean(-1, keepdim=True), gained)
            column.lerp_(squares.mean(-2, keepdim=True), gained)
            variance = row @ column / row.mean(-2, keepdim=True).clamp(min=eps1)
        else:
            variance = state["variance"].lerp_(squares, gained)
        update = grad / variance.sqrt().clamp(min=eps1)
        param.add_(update, alpha=number(-size / max(1.0, _rms(update) / d)))

    def _begin(self, param: Any, group: Group) -> dict[str, Any]:
        """A parameter's first state; its order is that of PyTorch's files."""
        state = self.state[param]
        state["step"] = new_number(0, group)
        if param.dim() > 1:
            *batch, rows, columns = param.shape
            state["row_var"] = param.new_zeros((*batch, rows, 1))
            state["col_var"] = param.new_zeros((*batch, 1, columns))
        else:
            state["variance"] = torch.zeros_like(param)
        return state


def _rms(x: Any) -> float:
    """The root mean square of all elements; 0 for none, as nothing is scaled by it."""
    return x.norm().item() / max(x.numel(), 1) ** 0.5


own_methods(Adafactor, "step")
