"""The sampler for training in several processes."""

from __future__ import annotations

from collections.abc import Iterator, Sized

import tiny_torch as torch
from tiny_torch.utils.data.sampler import Sampler


class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th index of a permutation, from the `rank`-th on.

    All ranks get equally many: the permutation is continued from its start, or cut (`drop_last`).
    `set_epoch` changes the order, which otherwise is the same in each epoch.
    What is left out of `num_replicas` and `rank` is the process group's. Raises ValueError where
    there is none, and for a rank that is out of range.
    Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler

    >>> from tiny_torch.utils.data import DistributedSampler
    >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None:
            num_replicas = torch.distributed.get_world_size()
        if rank is None:
            rank = torch.distributed.get_rank()
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        full, rest = divmod(len(dataset), num_replicas)
        self.num_samples = full + (rest > 0 and not drop_last)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        indices = list(range(count))
        if self.shuffle:
            generator = torch.Generator().manual_seed(self.seed + self.epoch)
            indices = torch.randperm(count, generator=generator).tolist()
        return iter(
            [indices[i % count] for i in range(self.rank, self.total_size, self.num_replicas)]
        )

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Makes the next iterations use the order of that epoch."""
        self.epoch = epoch
