"""AdamW: Adam whose weight decay shrinks the parameter and stays out of the averages."""

from __future__ import annotations

from typing import Any

from tiny_torch.optim.adam import Adam
from tiny_torch.optim.optimizer import Params
from tiny_torch.tensor import Tensor

__all__ = ["AdamW"]


class AdamW(Adam):
    """Adam with decoupled weight decay: before each step a parameter shrinks by lr * weight_decay.

    Arguments and exceptions are Adam's. Source: PyTorch, torch.optim.AdamW; Loshchilov and Hutter
    2017, "Decoupled Weight Decay Regularization", arXiv 1711.05101.

    >>> import tiny_torch as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.AdamW([w], lr=0.5, weight_decay=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.2500, 1.0000], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
