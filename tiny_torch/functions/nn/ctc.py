"""ctc_loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.arguments import is_int
from tiny_torch.functions.common import check_tensors, require_float
from tiny_torch.functions.creation.from_data import tensor
from tiny_torch.functions.nn.losses import checked_reduction
from tiny_torch.ops.nn.ctc import CtcLoss
from tiny_torch.ops.nn.losses import reduce_loss
from tiny_torch.tensor import Tensor


@as_one
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """-log of the probability that the classes of T times, blanks and repeats left out, spell it.

    Log-probabilities (T, N, C) as log_softmax makes them, or (T, C); targets (N, S), or all
    (sum(target_lengths)) behind each other; the lengths, two tensors or two sequences of ints, (N)
    or (). "mean" divides each by its target's length first. A target that does not fit into its
    time has an infinite loss, which with `zero_infinity` is 0. The gradient is that of what
    log_softmax was made of. Raises RuntimeError where sizes, lengths or the blank do not fit.
    Source: PyTorch, nn.functional.ctc_loss; Graves et al. 2006.

    >>> import tiny_torch as torch
    >>> even = torch.zeros(2, 1, 3).log_softmax(2)  # a blank and two letters
    >>> torch.nn.functional.ctc_loss(even, torch.tensor([[1]]), (2,), (1,)).exp()  # -1, 1-, 11
    tensor(3.)
    """
    reduction = checked_reduction(reduction)
    check_tensors("ctc_loss", {"log_probs": log_probs, "targets": targets})
    if isinstance(input_lengths, Tensor) is not isinstance(target_lengths, Tensor):
        raise TypeError(
            "ctc_loss(): input_lengths and target_lengths must both be tensors or both sequences "
            f"of ints, not {type(input_lengths).__name__} and {type(target_lengths).__name__}"
        )
    require_float("ctc_loss", log_probs)
    batched = log_probs.ndim == 3
    if log_probs.ndim == 2:
        log_probs = log_probs.unsqueeze(1)
    if log_probs.ndim != 3:
        raise RuntimeError(f"ctc_loss: expected log_probs of 3 dims, got {log_probs.ndim}")
    lengths = _lengths("input_lengths", input_lengths), _lengths("target_lengths", target_lengths)
    _check_sizes(log_probs, targets, *lengths, blank)
    loss = apply(CtcLoss, log_probs, targets.long().array, *lengths, blank, bool(zero_infinity))
    if zero_infinity:
        loss = loss.masked_fill(loss.detach() == math.inf, 0.0)
    if reduction == "mean":
        divisors = [max(n, 1) for n in lengths[1]]
        return (loss / tensor(divisors, dtype=loss.dtype, device=loss.device)).mean()
    return reduce_loss(loss if batched or reduction == "sum" else loss.squeeze(0), reduction)


def _lengths(name: str, lengths: Any) -> list[int]:
    if isinstance(lengths, Tensor):
        if lengths.is_floating_point() or lengths.dtype == _core.bool:
            raise RuntimeError(f"{name} must be integral")
        return lengths.reshape(-1).tolist()
    if not isinstance(lengths, Sequence) or not all(map(is_int, lengths)):
        raise TypeError(f"ctc_loss(): {name} must be a tensor or a sequence of ints")
    return [n.__index__() for n in lengths]


def _check_sizes(
    log_probs: Tensor, targets: Tensor, times: list[int], lengths: list[int], blank: int
) -> None:
    total, batch, classes = log_probs.shape
    if log_probs.numel() == 0:
        raise RuntimeError("log_probs tensor must not be empty")
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    for name, values in (("input_lengths", times), ("target_lengths", lengths)):
        if len(values) != batch:
            raise RuntimeError(f"{name} must be of size batch_size")
        if min(values) < 0:
            raise RuntimeError(
                f"Expected {name} to have value at least 0, but got value {min(values)}"
            )
    if max(times) > total:
        raise RuntimeError(
            f"Expected input_lengths to have value at most {total}, but got value {max(times)}"
        )
    longest, together = max(lengths), sum(lengths)
    fits = (
        targets.numel() == together
        if targets.ndim == 1
        else targets.ndim == 2 and targets.shape[0] == batch and targets.shape[1] >= longest
    )
    if not fits:
        raise RuntimeError(
            f"ctc_loss: expected targets of shape [{together}], or [{batch}, at least {longest}], "
            f"but got {list(targets.shape)}"
        )
