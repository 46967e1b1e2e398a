"""PowerSGD: gradients sent as products of two thin matrices.

A gradient M of (n, m) is sent as P of (n, r) and Q of (m, r), with M about P Q': of 1000 x 1000
numbers 2000 are left at r = 1. It is a step of subspace iteration, over all ranks:

    P = sum of M Q       the sum over all ranks of what each has
    P = orthogonal(P)
    Q = mean of M' P
    M = P Q'             what every rank takes for the average

Q is kept for the next step (warm start), and what M has lost is added to the next gradient (error
feedback). Vogels, Karimireddy and Jaggi, 2019: https://arxiv.org/abs/1905.13727
(PyTorch 2.13 also has batched_powerSGD_hook, whose compressed steps raise AssertionError there.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tiny_torch as torch
from tiny_torch.distributed.algorithms.ddp_comm_hooks.default_hooks import average_bucket
from tiny_torch.distributed.errors import refuse

Tensor = torch.Tensor


class PowerSGDState:
    """The hook's options, and what it keeps from step to step.

    Steps before `start_powerSGD_iter` are plain averages. A matrix is compressed where that leaves
    less than 1 / `min_compression_rate` of it. ValueError for `start_powerSGD_iter` <= 1 with error
    feedback or a warm start. NotImplementedError for the other options.
    https://docs.pytorch.org/docs/stable/ddp_comm_hooks.html#powersgd-communication-hook
    """

    def __init__(
        self,
        process_group: Any,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1_000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        refuse(
            "PowerSGDState",
            compression_stats_logging_frequency=(compression_stats_logging_frequency, 10_000),
            batch_tensors_with_same_shape=(batch_tensors_with_same_shape, False),
        )
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is "
                "enabled, because PowerSGD can only be applied after the first two iterations in "
                "DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.rng = np.random.RandomState(random_seed)
        self.error_dict: dict[int, Tensor] = {}  # by the bucket's index
        self.qs: dict[int, list[Tensor]] = {}
        self.iter = 0
        self.total_numel_before_compression = self.total_numel_after_compression = 0

    def maybe_increase_iter(self, bucket: Any) -> None:
        """Counts steps: at the last bucket of each."""
        self.iter += bucket.is_last()

    def compression_stats(self) -> tuple[float, int, int]:
        """How many times smaller what was sent is, and the elements before and after."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return before / after if after else 0, before, after

    def __getstate__(self) -> dict[str, Any]:
        """All but the group, which belongs to its process: the copy has the default one."""
        return {**self.__dict__, "process_group": None}


def powerSGD_hook(state: PowerSGDState, bucket: Any) -> torch.futures.Future[Tensor]:
    """Reduces each matrix of a bucket as two thin ones, and what is too small for that as it is.

    https://docs.pytorch.org/docs/stable/ddp_comm_hooks.html#torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook.powerSGD_hook
    """
    early = state.iter < state.start_powerSGD_iter
    state.maybe_increase_iter(bucket)
    if early:
        return average_bucket(state.process_group, bucket.buffer(), bucket.buffer())
    matrices, rest = [], []
    for gradient in bucket.gradients():
        matrix = gradient.view(gradient.shape[0], -1)
        n, m = matrix.shape
        small = (n + m) * min(n, m, state.matrix_approximation_rank)
        if small * state.min_compression_rate < n * m:
            matrices.append(matrix)
        else:
            rest.append(gradient.view(-1))
            small = n * m
        state.total_numel_before_compression += n * m
        state.total_numel_after_compression += small
    return reduce_thin(state, bucket, matrices, rest)


class Later(torch.futures.Future[Tensor]):
    """A future whose value is made when somebody waits for it.

    Ranks must call collectives in one order. So those that follow from others are called where
    backward waits for its buckets, in their order, and not whenever the first have come.
    """

    def __init__(self, make: Callable[[], Tensor]) -> None:
        super().__init__()
        self.make = make

    def wait(self) -> Tensor:
        """The value."""
        if not self.done():
            self.set_result(self.make())
        return self.value()


def reduce_thin(
    state: PowerSGDState,
    bucket: Any,
    matrices: Sequence[Tensor],
    rest: Sequence[Tensor],
) -> Later:
    """Begins to reduce matrices as thin ones, and `rest` as it is; all are views of the bucket."""
    dist, group = torch.distributed, state.process_group
    index, row = bucket.index(), bucket.buffer()
    ranks, kept = dist.get_world_size(group), None
    if state.use_error_feedback:
        if index in state.error_dict:
            row.add_(state.error_dict[index])
        kept = row.clone()
    qs = directions(state, index, matrices)
    ps = torch.cat([(m @ q).view(-1) for m, q in zip(matrices, qs, strict=True)] or [row[:0]])
    whole = torch.cat([*rest]) if rest else row[:0]
    works: list[Any] = [dist.all_reduce(x, group=group, async_op=True) for x in (whole, ps)]

    def finish() -> Tensor:
        for work in works:
            work.wait()
        for part, mean in zip(rest, (whole / ranks).split([len(r) for r in rest]), strict=True):
            part.copy_(mean)
        columns = [q.shape[1] for q in qs]
        bases = [
            orthogonal(p.view(len(m), r), state.orthogonalization_epsilon)
            for m, r, p in zip(matrices, columns, split_row(ps, matrices, columns, 0), strict=True)
        ]
        thin = [(m.T @ p).view(-1) for m, p in zip(matrices, bases, strict=True)]
        sums = torch.cat(thin or [row[:0]])
        dist.all_reduce(sums, group=group)
        means = [
            q.view(m.shape[1], r)
            for m, r, q in zip(
                matrices, columns, split_row(sums / ranks, matrices, columns, 1), strict=True
            )
        ]
        for m, p, q in zip(matrices, bases, means, strict=True):
            m.copy_(p @ q.T)
        if kept is not None:
            state.error_dict[index] = kept - row
        if state.warm_start:
            state.qs[index] = means
        return row

    return Later(finish)


def split_row(
    row: Tensor, matrices: Sequence[Tensor], columns: Sequence[int], dim: int
) -> tuple[Tensor, ...]:
    """A row cut into what belongs to each matrix: as many columns of its length along a dim."""
    return row.split([m.shape[dim] * r for m, r in zip(matrices, columns, strict=True)])


def directions(state: PowerSGDState, index: int, matrices: Sequence[Tensor]) -> list[Tensor]:
    """Orthogonal columns to begin with: the last step's, or random ones, the same at all ranks."""
    found = state.qs.get(index)
    if found is None:
        generator = torch.Generator().manual_seed(int(state.rng.randint(1_000_000_000)))
        most = state.matrix_approximation_rank
        found = [
            torch.randn(m.shape[1], min(*m.shape, most), dtype=m.dtype, generator=generator)
            .to(m.device)
            for m in matrices
        ]  # fmt: skip
    return [orthogonal(q, state.orthogonalization_epsilon) for q in found]


def orthogonal(matrix: Tensor, epsilon: float) -> Tensor:
    """Orthogonal columns of length 1 that span the same: up to two by hand, more by QR."""
    if matrix.shape[1] > 2:
        return torch.linalg.qr(matrix)[0]
    columns: list[Tensor] = []
    for column in matrix.unbind(1):
        for before in columns:
            column = column - (before @ column) * before
        columns.append(column / (column.norm() + epsilon))
    return torch.stack(columns, 1)


__all__ = ["PowerSGDState", "powerSGD_hook"]
