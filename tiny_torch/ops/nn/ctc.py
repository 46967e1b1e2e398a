"""The CTC loss: all alignments of a target to a sequence, summed by dynamic programming."""

from __future__ import annotations

from tiny_torch.autograd.graph import Op, run
from tiny_torch.base.devices import array_module
from tiny_torch.ops.common import no_derivative


class CtcLoss(Op):
    """(T, N, C) -> (N); alpha, of which backward is made, is kept beside the input.

    The inputs' times and the targets' lengths are lists.
    """

    saves = (0, ~0)
    autocast = "float32 on cpu"

    @staticmethod
    def forward(x, targets, times, lengths, blank, zero_infinity):
        problem = x, targets, times, lengths, blank
        loss, alpha = array_module(x.device).ctc_loss(*problem)
        return loss, (x, loss, alpha, targets, times, lengths, blank, zero_infinity)

    @staticmethod
    def backward(saved, grad, needs):
        return run(CtcLossBackward, grad, *saved)


class CtcLossBackward(Op):
    arity = 4  # the incoming gradient, x, loss, alpha

    @staticmethod
    def forward(grad, x, loss, alpha, *problem):
        *problem, zero_infinity = problem
        backward = array_module(x.device).ctc_loss_backward
        return backward(grad, x, *problem, loss, alpha, zero_infinity), ()

    backward = no_derivative("_ctc_loss_backward")
