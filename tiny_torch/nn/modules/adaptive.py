"""`AdaptiveLogSoftmaxWithLoss`: softmax over very many classes, rare ones in clusters."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tiny_torch.functions.nn.losses import refuse_several_targets
from tiny_torch.nn import functional as F
from tiny_torch.nn.modules.container import ModuleList, Sequential
from tiny_torch.nn.modules.linear import Linear
from tiny_torch.nn.modules.module import Module
from tiny_torch.tensor import Tensor

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])  # the name that PyTorch gives it


class AdaptiveLogSoftmaxWithLoss(Module):
    """log_softmax of classes ordered by frequency, and the loss of targets.

    The head has the classes below cutoffs[0], and one entry for each cluster of rarer classes. A
    cluster's classes are told apart by a tail, whose projection is div_value times smaller than the
    one before. Input (N, in_features) or (in_features), target (N) or (); the answer is (output,
    loss): the log-probability of each target, and minus their mean. Raises ValueError unless the
    cutoffs rise within [1, n_classes - 1], RuntimeError where sizes do not fit and for targets out
    of range.
    Source: PyTorch, torch.nn.AdaptiveLogSoftmaxWithLoss; Grave et al. 2017.

    >>> import tiny_torch as torch
    >>> model = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 100, cutoffs=[10, 40])
    >>> model(torch.ones(3, 16), torch.tensor([0, 20, 99])).output.shape
    torch.Size([3])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if len(cutoffs) == 0:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(set(cutoffs))
            or cutoffs[0] <= 0
            or cutoffs[-1] > n_classes - 1
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
                "order, where each value is between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        options = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for i, (first, end) in enumerate(pairwise(self.cutoffs), 1):
            hidden = int(in_features // div_value**i)
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, bias=False, **options),
                    Linear(hidden, end - first, bias=False, **options),
                )
            )

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.head.reset_parameters()
        clusters: Any = self.tail
        for projection, output in clusters:
            projection.reset_parameters()
            output.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> Any:
        """Features and class numbers -> (output, loss)."""
        _check(input_, target_)
        batched = target_.ndim > 0
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        entry = target.clone()  # of the head: the class, or its cluster's
        output = input.new_zeros(len(target))
        seen = int((target < self.shortlist_size).logical_and(target >= 0).sum())
        for i, (first, end) in enumerate(pairwise(self.cutoffs)):
            rows = ((target >= first) & (target < end)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            seen += rows.numel()
            entry.index_fill_(0, rows, self.shortlist_size + i)
            log_probs = F.log_softmax(self.tail[i](input.index_select(0, rows)), dim=1)
            within = (target[rows] - first).unsqueeze(1)
            output = output.index_copy(0, rows, log_probs.gather(1, within).squeeze(1))
        if seen != len(target):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        head = F.log_softmax(self.head(input), dim=1)
        output = output + head.gather(1, entry.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _all_log_probs(self, input: Tensor, head_output: Tensor) -> Tensor:
        head = F.log_softmax(head_output, dim=1)
        result = input.new_empty((len(head), self.n_classes))
        result[:, : self.shortlist_size] = head[:, : self.shortlist_size]
        for i, (first, end) in enumerate(pairwise(self.cutoffs)):
            within = F.log_softmax(self.tail[i](input), dim=1)
            result[:, first:end] = within + head[:, self.shortlist_size + i].unsqueeze(1)
        return result

    def log_prob(self, input: Tensor) -> Tensor:
        """(N, in_features) -> the log-probabilities of all classes (N, n_classes)."""
        return self._all_log_probs(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """(N, in_features) -> the most probable classes (N); clusters are looked at if chosen."""
        head_output = self.head(input)
        output = head_output.argmax(dim=1)
        rare = output >= self.shortlist_size
        if rare.any():
            output[rare] = self._all_log_probs(input[rare], head_output[rare]).argmax(dim=1)
        return output


def _check(input: Tensor, target: Tensor) -> None:
    refuse_several_targets(target)
    if target.ndim == 1 and input.size(0) != target.size(0):
        raise RuntimeError("Input and target should have the same size in the batch dimension.")
    if input.ndim != target.ndim + 1:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found "
            f"inputs with size {input.shape}"
        )
