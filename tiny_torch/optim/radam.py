"""RAdam: Adam that starts without its denominator, until that is known well enough."""

from __future__ import annotations

from typing import Any, ClassVar

from tiny_torch import _core
from tiny_torch.optim._foreach import (
    ForeachOptimizer,
    check_options,
    decay,
    scalar,
)
from tiny_torch.optim.optimizer import Group, Params
from tiny_torch.tensor import Tensor

__all__ = ["RAdam"]


class RAdam(ForeachOptimizer):
    """Adam that follows the average alone until the mean square rests on enough gradients.

    `params`: parameters or groups. `lr`, `betas`, `eps`, `weight_decay`, `decoupled_weight_decay`:
    as Adam's. `foreach`: see `ForeachOptimizer`.

    Raises ValueError for options out of range; NotImplementedError for `capturable`. Source:
    PyTorch, torch.optim.RAdam; Liu et al. 2019, "On the Variance of the Adaptive Learning Rate and
    Beyond", arXiv 1908.03265.

    >>> import tiny_torch as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.RAdam([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000, 1.0000], requires_grad=True)
    """

    _later_options: ClassVar[dict[str, Any]] = {
        **ForeachOptimizer._later_options,
        "decoupled_weight_decay": False,
    }
    _kernel = staticmethod(_core.foreach_radam)
    _kernel_states = ("exp_avg", "exp_avg_sq", "step")
    _kernel_options = ("lr", "betas", "eps", "weight_decay", "decoupled_weight_decay", "maximize")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(lr, betas, eps, weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _change(self, param: Any, grad: Any, state: dict[str, Any], group: Group) -> None:
        lr = scalar(group["lr"])
        beta1, beta2 = group["betas"]
        step = state["step"].item()
        grad = decay(param, grad, group, lr)

        exp_avg = state["exp_avg"].lerp_(grad, 1 - beta1)
        exp_avg_sq = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        correction = 1 - beta2**step
        change = exp_avg / (1 - beta1**step) * lr

        # how many gradients the mean square is made of: in the end, and by now
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * beta2**step / correction
        if length > 5:
            rectifier = (length - 4) * (length - 2) * longest
            rectifier /= (longest - 4) * (longest - 2) * length
            scale = correction**0.5 / (exp_avg_sq.sqrt() + group["eps"])
            change = change * scale * rectifier**0.5
        param.sub_(change)
