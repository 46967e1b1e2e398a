"""Gradients checked against differences: gradcheck of first, gradgradcheck of second ones.

Central differences give the Jacobian d output[j] / d input[i] column by column, backward gives it
row by row, and both must agree; in fast mode only along one random direction each (u^T J v). Inputs
should be float64: with eps = 1e-6 a float32 has no digits left. Not here: forward mode, batched
gradients, sparse and complex tensors; asking for them raises NotImplementedError.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.autograd.gradients import grad
from tiny_torch.tensor import Tensor


class GradcheckError(RuntimeError):
    """The gradients differ, or backward breaks a rule."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether backward of ``func(*inputs)`` agrees with differences: |a - n| <= atol + rtol * |n|.

    `inputs`: a tensor or a sequence of arguments, of which one at least is a tensor (float64, any
    shape) that requires grad. Each output's gradient is asked for alone, so `check_undefined_grad`
    changes nothing. Raises GradcheckError where they differ (False if not `raise_exception`),
    ValueError where no input requires grad.
    https://pytorch.org/docs/stable/generated/torch.autograd.gradcheck.gradcheck.html

    >>> import tiny_torch as torch
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.log, x)
    True
    """
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
        )
    if check_batched_grad or check_forward_ad:
        raise NotImplementedError("gradcheck: batched gradients and forward mode")
    if not check_backward_ad:
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    check = Check(func, as_arguments(inputs), eps, atol, rtol)
    try:
        check.inputs_are_fit()
        check.outputs_are_tensors()
        check.jacobians_agree(fast_mode)
        check.backward_repeats(nondet_tol)
        check.backward_is_linear(check_grad_dtypes)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """gradcheck of the gradient itself: of second derivatives, by inputs and `grad_outputs`.

    `grad_outputs` (one per output that requires grad, of its shape) are drawn from (-1, 1) unless
    given. Arguments and exceptions are gradcheck's.
    https://pytorch.org/docs/stable/generated/torch.autograd.gradcheck.gradgradcheck.html

    >>> import tiny_torch as torch
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(torch.log, x)
    True
    """
    if check_fwd_over_rev:
        raise NotImplementedError("gradgradcheck: forward mode")
    if not check_rev_over_rev:
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    arguments = as_arguments(inputs)
    if grad_outputs is None:
        outputs = differentiable(func(*arguments))
        weights = tuple([random_like(y, gen_non_contig_grad_outputs) for y in outputs])
    else:
        weights = as_arguments(grad_outputs)

    def gradient(*both: Any) -> tuple:
        first, last = both[: len(arguments)], both[len(arguments) :]
        wanted = [x for x in first if isinstance(x, Tensor) and x.requires_grad]
        found = grad(
            differentiable(func(*first)), wanted, last, create_graph=True, allow_unused=True
        )
        return tuple([g for g in found if g is not None])

    return gradcheck(
        gradient,
        (*arguments, *weights),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
    )


def as_arguments(inputs: Any) -> tuple:
    return tuple(inputs) if isinstance(inputs, Sequence) else (inputs,)


def differentiable(outputs: Any) -> tuple[Tensor, ...]:
    """The outputs that require grad; AttributeError where one is no tensor."""
    return tuple([y for y in as_arguments(outputs) if y.requires_grad])


def random_like(y: Tensor, strided: bool) -> Tensor:
    """Numbers from (-1, 1) that require grad; every second element of their memory if `strided`."""
    memory = y.new_empty((*y.shape, 2) if strided else y.shape, device="cpu")
    memory = memory.uniform_(-1, 1).to(y.device)
    return (memory.select(-1, 0) if strided else memory).detach().requires_grad_()


def flat(x: Tensor | None, like: Tensor) -> np.ndarray:
    """The elements in row-major order, as a copy; zeros for None."""
    if x is None:
        return np.zeros(like.numel())
    return np.array(x.detach().double().numpy(force=True)).reshape(-1)


class Check:
    """One function at one point."""

    def __init__(self, func, arguments: tuple, eps: float, atol: float, rtol: float):
        self.func = func
        self.arguments = arguments
        self.eps = eps
        self.atol = atol
        self.rtol = rtol
        self.inputs = [x for x in arguments if isinstance(x, Tensor) and x.requires_grad]

    def outputs_are_tensors(self) -> None:
        differentiable(self.func(*self.arguments))

    def inputs_are_fit(self) -> None:
        if not self.inputs:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of "
                "them have requires_grad=True."
            )
        for i, x in enumerate(self.inputs):
            if x.dtype is not _core.float64:
                warnings.warn(
                    f"Input #{i} requires gradient and is not a double precision floating point or "
                    "complex. This check will likely fail if all the inputs are not of double "
                    "precision floating point or complex. ",
                    stacklevel=3,
                )
            pairs = zip(x.array.shape, x.array.strides, strict=True)
            if any(size > 1 and step == 0 for size, step in pairs):
                raise RuntimeError(
                    f"The {i}th input has a dimension with stride 0. gradcheck only supports "
                    "inputs that are non-overlapping to be able to compute the numerical gradients "
                    "correctly. You should call .contiguous on the input before passing it to "
                    "gradcheck."
                )

    # ------------------------------------------------------------------------- by differences
    def values(self) -> list[np.ndarray]:
        outputs = as_arguments(self.func(*self.arguments))
        chosen = [y for y in outputs if isinstance(y, Tensor) and y.is_floating_point()]
        return [flat(y, y) for y in chosen]

    def difference(self, x: Tensor, direction: np.ndarray) -> list[np.ndarray]:
        """d output / d x along a direction (flat), for each output."""
        before = flat(x, x)

        def outputs_at(values: np.ndarray) -> list[np.ndarray]:
            set_elements(x, values)
            return self.values()

        try:
            return central_difference(outputs_at, before, direction, self.eps)
        finally:
            set_elements(x, before)

    # --------------------------------------------------------------------------- by backward
    def backward(self, output: Tensor, weight: np.ndarray) -> list[Tensor | None]:
        """The gradient of one output, weighted (flat), with respect to each input."""
        seed = output.detach().clone()
        set_elements(seed, weight)
        return list(grad(output, self.inputs, seed, retain_graph=True, allow_unused=True))

    def outputs(self) -> list[Tensor]:
        """The floating point outputs; those that do not require grad have gradient zero."""
        outputs = as_arguments(self.func(*self.arguments))
        return [y for y in outputs if isinstance(y, Tensor) and y.is_floating_point()]

    # ------------------------------------------------------------------------------ the checks
    def jacobians_agree(self, fast: bool) -> None:
        random = np.random.default_rng(0)
        for i, x in enumerate(self.inputs):
            across = np.eye(x.numel())
            if fast:
                across = unit(random, x.numel())
            columns = [self.difference(x, direction) for direction in across]
            for j, y in enumerate(self.outputs()):  # anew: what was saved has been written since
                along = unit(random, y.numel()) if fast else np.eye(y.numel())
                numerical = np.array([c[j] for c in columns]).reshape(len(across), y.numel())
                numerical = numerical @ along.T  # (directions of x, directions of y)
                analytical = np.zeros_like(numerical)
                if y.requires_grad:
                    for k, weight in enumerate(along):
                        analytical[:, k] = across @ flat(self.backward(y, weight)[i], x)
                # One number then stands for all: it is as large as the sum of the directions.
                atol = self.atol * (across.sum() * along.sum() if fast else 1)
                if not np.allclose(analytical, numerical, self.rtol, atol, equal_nan=True):
                    raise GradcheckError(
                        f"Jacobian mismatch for output {j} with respect to input {i},\n"
                        f"numerical:{numerical}\nanalytical:{analytical}\n"
                    )

    def backward_repeats(self, tolerance: float) -> None:
        random = np.random.default_rng(1)
        for y in self.outputs():
            if not y.requires_grad:
                continue
            weight = random.random(y.numel())
            pairs = zip(
                self.backward(y, weight), self.backward(y, weight), self.inputs, strict=True
            )
            for first, second, x in pairs:
                difference = np.abs(flat(first, x) - flat(second, x))
                if np.any(difference > tolerance):
                    raise GradcheckError(
                        "Backward is not reentrant, i.e., running backward with same input and "
                        "grad_output multiple times gives different values, although analytical "
                        "gradient matches numerical gradient. The tolerance for nondeterminism "
                        f"was {tolerance}."
                    )

    def backward_is_linear(self, check_dtypes: bool) -> None:
        for y in self.outputs():
            if not y.requires_grad:
                continue
            for x, gradient in zip(self.inputs, self.backward(y, np.zeros(y.numel())), strict=True):
                if gradient is None:
                    continue
                if np.any(flat(gradient, x) != 0):
                    raise GradcheckError("backward not multiplied by grad_output")
                if check_dtypes and gradient.dtype is not x.dtype:
                    raise GradcheckError("grad is incorrect type")
                if gradient.shape != x.shape:
                    raise GradcheckError("grad is incorrect size")


def central_difference(
    function: Callable[[np.ndarray], list[np.ndarray]],
    x: np.ndarray,
    direction: np.ndarray,
    eps: float,
) -> list[np.ndarray]:
    """d function(x) / d x along a direction, for each of the function's outputs."""
    above = function(x + eps * direction)
    below = function(x - eps * direction)
    return [(a - b) / (2 * eps) for a, b in zip(above, below, strict=True)]


def unit(random: np.random.Generator, size: int) -> np.ndarray:
    """One random direction of positive numbers, as a row."""
    row = random.random((1, size))
    return row / max(float(np.linalg.norm(row)), 1e-300)


def set_elements(x: Tensor, values: np.ndarray) -> None:
    """Sets the elements, in row-major order, past autograd."""
    array = x.array
    for position, index in enumerate(itertools.product(*map(range, array.shape))):
        offset = array.offset + sum(i * s for i, s in zip(index, array.strides, strict=True))
        array.as_strided((), (), offset).copy_(float(values[position]))
