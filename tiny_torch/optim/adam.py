"""Adam: steps along the running mean of the gradient, divided by its running root mean square."""

from __future__ import annotations

from typing import Any, ClassVar

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.optim._foreach import (
    ForeachOptimizer,
    check_betas,
    check_fused,
    check_not_negative,
    decay,
    number,
    scalar,
)
from tiny_torch.optim.optimizer import Group, Params
from tiny_torch.tensor import Tensor

__all__ = ["Adam"]

_TENSOR_LR = "lr as a Tensor is not supported for capturable=False and foreach=True"


class Adam(ForeachOptimizer):
    """Adam, optionally with AMSGrad, and with weight decay in the gradient or beside it.

    `params`: parameters or groups. `lr` is a float or a Tensor of one element, `betas` are two
    floats or two such Tensors: what the running averages of the gradient and of its square keep at
    each step. `amsgrad` divides by the largest average so far. `decoupled_weight_decay` shrinks
    the parameter itself (AdamW). `foreach`, `fused` and `capturable`: see `ForeachOptimizer`.

    Raises ValueError for options out of range. Source: PyTorch, torch.optim.Adam; Kingma and Ba
    2014, arXiv 1412.6980; Reddi et al. 2018, "On the Convergence of Adam and Beyond".

    >>> import tiny_torch as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.Adam([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000, 1.5000], requires_grad=True)
    """

    _later_options: ClassVar[dict[str, Any]] = {
        **ForeachOptimizer._later_options,
        "amsgrad": False,
        "decoupled_weight_decay": False,
        "fused": None,
    }
    _capturable = True
    _kernel = staticmethod(_core.foreach_adam)
    _kernel_states = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step")
    _kernel_options = ("lr", "betas", "eps", "weight_decay", "decoupled_weight_decay", "maximize")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if isinstance(lr, Tensor):
            if foreach and not capturable:
                raise ValueError(_TENSOR_LR)
            if lr.numel() != 1:
                raise ValueError("Tensor lr must be 1-element")
        check_not_negative("learning rate", lr)
        check_not_negative("epsilon value", eps)
        pair: tuple[Any, Any] = betas
        check_betas(pair)
        check_not_negative("weight_decay value", weight_decay)
        if not any(all(isinstance(beta, kind) for beta in pair) for kind in (float, Tensor)):
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(pair):
            if isinstance(beta, Tensor):
                if foreach and not capturable:
                    raise ValueError(
                        f"betas[{i}] as a Tensor is not supported for capturable=False "
                        "and foreach=True"
                    )
                if beta.numel() != 1:
                    raise ValueError(f"Tensor betas[{i}] must be 1-element")
        defaults = {
            "lr": lr,
            "betas": tuple(scalar(beta) for beta in betas),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def _absent_states(self, group: Group) -> tuple[str, ...]:
        return () if group["amsgrad"] else ("max_exp_avg_sq",)

    def _check(self, group: Group) -> None:
        super()._check(group)
        if group["foreach"] and isinstance(group["lr"], Tensor):
            raise RuntimeError(_TENSOR_LR)

    def _check_gradient(self, grad: Any) -> None:
        if grad.is_sparse:  # AdamW is an Adam, and PyTorch's says that name, too
            raise RuntimeError(
                "Adam does not support sparse gradients, please consider SparseAdam instead"
            )

    def _change(self, param: Any, grad: Any, state: dict[str, Any], group: Group) -> None:
        lr = scalar(group["lr"])
        beta1, beta2 = group["betas"]
        step = state["step"] if group["capturable"] else state["step"].item()
        grad = decay(param, grad, group, lr)

        exp_avg = state["exp_avg"].lerp_(grad, number(1 - beta1))
        exp_avg_sq = state["exp_avg_sq"]
        exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=number(1 - beta2))
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            exp_avg_sq = largest.copy_(torch.maximum(largest.clone(), exp_avg_sq))

        # after t steps the averages, which began at 0, are too small by the factors 1 - beta^t
        step_size = lr / (1 - beta1**step)
        correction = (1 - beta2**step) ** 0.5
        if group["capturable"]:  # these are on the GPU: no number for addcdiv_ to multiply with
            size = -step_size
            param.addcdiv_(exp_avg, (exp_avg_sq.sqrt() / (correction * size)) + group["eps"] / size)
            return
        denominator = (exp_avg_sq.sqrt() / correction).add_(group["eps"])
        param.addcdiv_(exp_avg, denominator, value=-number(step_size))
