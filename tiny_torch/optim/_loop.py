"""The step of an optimizer that changes one parameter after the other, as Adafactor and Muon do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tiny_torch.autograd.grad_mode import enable_grad, no_grad
from tiny_torch.optim.optimizer import Group, Optimizer


class LoopOptimizer(Optimizer):
    """An optimizer whose `_update` changes one parameter by its gradient."""

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; returns what `closure` does."""
        loss = None if closure is None else enable_grad()(closure)()
        with no_grad():
            for group in self.param_groups:
                for param in group["params"]:
                    if param.grad is not None:
                        grad = -param.grad if group.get("maximize") else param.grad
                        self._check_gradient(grad)
                        self._update(param, grad, group)
        return loss

    def _update(self, param: Any, grad: Any, group: Group) -> None:
        """What a subclass defines."""
        raise NotImplementedError
