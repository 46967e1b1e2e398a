"""The CTC loss: all alignments of a target to a sequence, summed by dynamic programming."""

from __future__ import annotations

from tiny_torch.autograd.graph import Op
from tiny_torch.devices import array_module
from tiny_torch.ops.common import refuse_tensors


class CtcLoss(Op):
    """(T, N, C) -> (N); alpha, of which backward is made, is kept beside the input.

    The inputs' times and the targets' lengths are lists.
    """

    saves = (0, ~0)

    @staticmethod
    def forward(x, targets, times, lengths, blank, zero_infinity):
        problem = x, targets, times, lengths, blank
        loss, alpha = array_module(x.device).ctc_loss(*problem)
        return loss, (x, loss, alpha, targets, times, lengths, blank, zero_infinity)

    @staticmethod
    def backward(saved, grad, needs):
        refuse_tensors("_ctc_loss_backward", grad)
        x, loss, alpha, *problem, zero_infinity = saved
        backward = array_module(x.device).ctc_loss_backward
        return backward(grad, x, *problem, loss, alpha, zero_infinity)
