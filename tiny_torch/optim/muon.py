"""Muon: momentum whose matrix is made nearly orthogonal before it is applied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tiny_torch as torch
from tiny_torch.base.docstrings import own_methods
from tiny_torch.optim._foreach import check_at_least, number
from tiny_torch.optim._loop import LoopOptimizer
from tiny_torch.optim._whole import WholeOptimizer
from tiny_torch.optim.optimizer import Group, Params
from tiny_torch.tensor import Tensor

__all__ = ["Muon"]

RATES: dict[str, Callable[[int, int], float]] = {  # what lr is multiplied by, by adjust_lr_fn
    "original": lambda rows, columns: max(1.0, rows / columns) ** 0.5,
    "match_rms_adamw": lambda rows, columns: 0.2 * max(rows, columns) ** 0.5,
}


class Muon(WholeOptimizer, LoopOptimizer):
    """Muon: every singular value of a matrix's momentum is brought near 1, so all directions move.

    `params`: matrices, such as the weights of hidden layers, or groups of them; other parameters go
    to an optimizer such as AdamW. `ns_steps` Newton-Schulz iterations with `ns_coefficients`, in
    bfloat16, make the momentum nearly orthogonal; `eps` bounds the norm that divides it first.
    `adjust_lr_fn` is what the shape does to lr: "original" (also None) times
    sqrt(max(1, rows / columns)), "match_rms_adamw" times 0.2 * sqrt(max(rows, columns)). The weight
    decay is decoupled.

    Raises ValueError for options out of their range and parameters that are no matrices.
    Source: PyTorch, torch.optim.Muon; Jordan 2024, "Muon: An optimizer for hidden layers in neural
    networks"; Liu et al. 2025, "Muon is Scalable for LLM Training", arXiv 2502.16982.

    >>> import tiny_torch as torch
    >>> w = torch.eye(2, requires_grad=True)
    >>> optimizer = torch.optim.Muon([w], lr=0.5, weight_decay=0)
    >>> (w * torch.tensor([[0.0, 5.0], [1.0, 0.0]])).sum().backward()
    >>> optimizer.step()
    >>> w.detach().round(decimals=1)
    tensor([[ 1.0000, -0.3000],
            [-0.4000,  1.0000]])
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        check_at_least(0.0, "Learning rate", lr)
        check_at_least(0.0, "momentum", momentum)
        check_at_least(0.0, "weight decay", weight_decay)
        if adjust_lr_fn is not None and adjust_lr_fn not in RATES:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                if param.dim() != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with size: "
                        f"{param.size()}"
                    )

    def _update(self, param: Any, grad: Any, group: Group) -> None:
        if grad.dim() != 2:  # of a group that came later
            raise ValueError("Param gradient must be a 2D matrix")
        state = self.state[param]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(grad)
        momentum = group["momentum"]
        average = state["momentum_buffer"].lerp_(grad, 1 - momentum)
        direction = orthogonal(
            grad.lerp(average, momentum) if group["nesterov"] else average,
            group["ns_coefficients"],
            group["ns_steps"],
            group["eps"],
        )
        lr = number(group["lr"])
        param.mul_(1 - lr * group["weight_decay"])
        param.add_(direction, alpha=-lr * RATES[group["adjust_lr_fn"] or "original"](*param.shape))


def orthogonal(matrix: Any, coefficients: Sequence[float], steps: int, eps: float) -> Any:
    """A matrix in bfloat16 with the same singular vectors, and singular values near 1.

    An iteration takes each singular value s to a*s + b*s**3 + c*s**5.
    """
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    rows, columns = matrix.shape
    x = matrix.bfloat16()
    if rows > columns:  # the product with its transpose is the smaller one
        x = x.T
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if rows > columns else x


own_methods(Muon, "step")
