"""L-BFGS: Newton's method with a Hessian guessed from the last few gradients.

All parameters are handled as one vector x; d is the direction of search and t the length of a step
along it. Everything is small beside the evaluations of the closure, so there is no kernel for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tiny_torch as torch
from tiny_torch.autograd import enable_grad, no_grad
from tiny_torch.optim._foreach import check_lr, scalar
from tiny_torch.optim._whole import WholeOptimizer
from tiny_torch.optim.optimizer import Params
from tiny_torch.tensor import Tensor

__all__ = ["LBFGS"]


@dataclass
class _Point:
    """The loss at x + t d, its gradient there, and its slope along d."""

    t: Any
    loss: float
    grad: Any
    slope: Any


class LBFGS(WholeOptimizer):
    """Limited-memory BFGS, for small problems without noise; the closure may be called many times.

    `params`: parameters, in one group. A call of `step` makes at most `max_iter` iterations and
    `max_eval` evaluations (1.25 * max_iter by default), of length `lr`, or as a line search for the
    strong Wolfe conditions finds (`line_search_fn="strong_wolfe"`). It stops earlier where no
    gradient exceeds `tolerance_grad`, or neither a step nor the change of the loss
    `tolerance_change`. `history_size` is how many pairs of steps and gradients are kept.

    Raises ValueError for a negative lr and for several groups.
    Source: PyTorch, torch.optim.LBFGS; Nocedal and Wright, "Numerical Optimization", 2006.

    >>> import tiny_torch as torch
    >>> w = torch.tensor([3.0, -1.0], requires_grad=True)
    >>> optimizer = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - torch.tensor([1.0, 2.0])) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure)
    tensor(13., grad_fn=<SumBackward0>)
    >>> w
    tensor([1.0000, 2.0000], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Make several iterations; returns the loss that `closure` computed first.

        Raises RuntimeError for another `line_search_fn` than "strong_wolfe" or None.
        """
        closure = enable_grad()(closure)
        group = self.param_groups[0]
        lr, max_iter, max_eval = scalar(group["lr"]), group["max_iter"], group["max_eval"]
        tolerance_grad, tolerance_change = group["tolerance_grad"], group["tolerance_change"]

        # what there is belongs to all parameters; it is kept as the first one's state
        state = self.state[group["params"][0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        first_loss = closure()
        loss = float(first_loss)
        evaluations = 1
        state["func_evals"] += 1
        grad = self._flat_grad()
        if grad.abs().max() <= tolerance_grad:
            return first_loss

        d, t = state.get("d"), state.get("t")
        memory = {key: state.get(key) for key in ("old_dirs", "old_stps", "ro", "H_diag")}
        previous_grad, previous_loss = state.get("prev_flat_grad"), state.get("prev_loss")
        for iteration in range(1, max_iter + 1):
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                memory = {"old_dirs": [], "old_stps": [], "ro": [], "H_diag": 1}
                d = grad.neg()
                t = min(1.0, 1.0 / grad.abs().sum()) * lr
            else:
                _remember(memory, grad.sub(previous_grad), d.mul(t), group["history_size"])
                d = _direction(memory, grad, state.setdefault("al", [None] * group["history_size"]))
                t = lr
            # In place, as the state has it: also what a closure that raises leaves is PyTorch's.
            previous_grad = grad.clone() if previous_grad is None else previous_grad.copy_(grad)
            previous_loss = loss

            slope = grad.dot(d)
            if slope > -tolerance_change:
                break
            used = 0
            if group["line_search_fn"] is not None:
                if group["line_search_fn"] != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                start = _Point(0, loss, grad, slope)
                point, used = _strong_wolfe(
                    self._evaluator(closure, d), t, start, d.abs().max(), max_eval - evaluations
                )
                loss, grad, t = point.loss, point.grad, point.t
                self._move(t, d)
            else:
                self._move(t, d)
                if iteration != max_iter:  # the next call of `step` begins with an evaluation
                    loss, used = float(closure()), 1
                    grad = self._flat_grad()
            evaluations += used
            state["func_evals"] += used

            if (
                evaluations >= max_eval
                or grad.abs().max() <= tolerance_grad
                or d.mul(t).abs().max() <= tolerance_change
                or abs(loss - previous_loss) < tolerance_change
            ):
                break

        state.update(d=d, t=t, **memory, prev_flat_grad=previous_grad, prev_loss=previous_loss)
        return first_loss

    def _flat_grad(self) -> Any:
        params = self.param_groups[0]["params"]
        return torch.cat(
            [
                (torch.zeros_like(p) if p.grad is None else p.grad.to_dense()).reshape(-1)
                for p in params
            ]
        )

    def _move(self, t: Any, d: Any) -> None:
        """x += t d."""
        params = self.param_groups[0]["params"]
        for param, part in zip(params, d.split([p.numel() for p in params]), strict=True):
            param.add_(part.view(param.shape), alpha=t)

    def _evaluator(self, closure: Callable[[], Any], d: Any) -> Callable[[Any], _Point]:
        """The function that looks at the point x + t d, and leaves x as it is."""
        params = self.param_groups[0]["params"]
        x = [param.clone() for param in params]

        def evaluate(t: Any) -> _Point:
            self._move(t, d)
            loss = float(closure())
            grad = self._flat_grad()
            for param, value in zip(params, x, strict=True):
                param.copy_(value)
            return _Point(t, loss, grad, grad.dot(d))

        return evaluate


def _remember(memory: dict[str, Any], y: Any, s: Any, size: int) -> None:
    """Keep that the gradient changed by y over the step s, if the loss is convex between them."""
    ys = y.dot(s)
    if not ys > 1e-10:  # nor where it is NaN
        return
    if len(memory["old_dirs"]) == size:
        for key in ("old_dirs", "old_stps", "ro"):
            memory[key].pop(0)
    memory["old_dirs"].append(y)
    memory["old_stps"].append(s)
    memory["ro"].append(1.0 / ys)
    memory["H_diag"] = ys / y.dot(y)


def _direction(memory: dict[str, Any], grad: Any, al: list[Any]) -> Any:
    """Minus the inverse Hessian times the gradient, by two loops over the memory; `al` is room."""
    ys, ss, ro = memory["old_dirs"], memory["old_stps"], memory["ro"]
    q = grad.neg()
    for i in reversed(range(len(ys))):
        al[i] = ss[i].dot(q) * ro[i]
        q.add_(ys[i], alpha=-al[i])
    r = q.mul(memory["H_diag"])
    for i in range(len(ys)):
        r.add_(ss[i], alpha=al[i] - ys[i].dot(r) * ro[i])
    return r


def _cubic_minimum(a: _Point, b: _Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic through two losses and slopes is least, within `bounds` (by default a, b)."""
    if a.t > b.t:
        a, b = b, a
    low, high = bounds or (a.t, b.t)
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    d2 = square.sqrt()
    t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(t, low), high)


def _strong_wolfe(
    evaluate: Callable[[Any], _Point],
    t: Any,
    start: _Point,
    reach: Any,
    max_trials: int,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
) -> tuple[_Point, int]:
    """A point whose loss is low enough and whose slope is flat enough, and the evaluations used.

    Steps grow until an interval must hold such a point; then the interval shrinks around it.
    `reach` is the largest element of the direction. Nocedal and Wright, algorithms 3.5 and 3.6.
    """

    def too_high(point: _Point) -> bool:
        return point.loss > start.loss + c1 * point.t * start.slope

    def flat(point: _Point) -> bool:
        return abs(point.slope) <= -c2 * start.slope

    previous, point = start, evaluate(t)
    trials, found = 0, False
    bracket = [start, point]
    while trials < max_trials:
        if too_high(point) or (trials > 1 and point.loss >= previous.loss):
            bracket = [previous, point]
            break
        if flat(point):
            return point, trials + 1
        if point.slope >= 0:
            bracket = [previous, point]
            break
        bounds = point.t + 0.01 * (point.t - previous.t), point.t * 10
        t = _cubic_minimum(previous, point, bounds)
        previous, point = point, evaluate(t)
        trials += 1
    if trials == max_trials:
        bracket = [start, point]

    near_end = False  # whether the last trial lay near an end of the interval
    low, high = _by_loss(bracket)
    while not found and trials < max_trials:
        ends = [end.t for end in bracket]
        left, right = min(ends), max(ends)  # if one is NaN, both are the first, as in PyTorch
        if abs(right - left) * reach < tolerance_change:
            break
        t = _cubic_minimum(bracket[0], bracket[1])
        margin = 0.1 * (right - left)
        if not min(right - t, t - left) < margin:  # far from both, or NaN
            near_end = False
        elif near_end or t >= right or t <= left:  # the interval would hardly shrink
            t = right - margin if abs(t - right) < abs(t - left) else left + margin
            near_end = False
        else:
            near_end = True

        point = evaluate(t)
        trials += 1
        if too_high(point) or point.loss >= bracket[low].loss:
            bracket[high] = point
            low, high = _by_loss(bracket)
        else:
            if flat(point):
                found = True
            elif point.slope * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = point
    return bracket[low], trials + 1


def _by_loss(bracket: list[_Point]) -> tuple[int, int]:
    """The positions of the end with the lower loss and of the other."""
    return (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
