"""scikit-learn's handwritten digits, which come with that package: nothing is downloaded."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch.base.extras import optional
from tiny_torch.vision.datasets.vision import Transform, VisionDataset

GREYS = 16  # the level of white
SEED = 0


class Digits(VisionDataset):
    """1,797 handwritten digits of 8x8 grey levels: 80 % to train on, 20 % to test on.

    `data` is (N, 8, 8) uint8 with levels 0 to 16, `targets` (N,) int64; an item is a float32
    tensor (1, 8, 8) with levels 0 to 1 and an int, after the transforms. The split is a fixed
    permutation: it does not depend on the seed of the program.
    Raises ModuleNotFoundError where scikit-learn is missing.
    Source: https://archive.ics.uci.edu/dataset/80

    >>> from tiny_torch.datasets import Digits
    >>> train, test = Digits(), Digits(train=False)
    >>> len(train), len(test), train[0][0].shape
    (1437, 360, torch.Size([1, 8, 8]))
    """

    classes = [str(digit) for digit in range(10)]
    class_to_idx = {name: label for label, name in enumerate(classes)}

    def __init__(
        self,
        train: bool = True,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
    ) -> None:
        super().__init__(transform=transform, target_transform=target_transform)
        self.train = train
        digits = optional("sklearn.datasets", "scikit-learn", "apps", "Digits").load_digits()
        order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(SEED))
        split = len(order) * 4 // 5
        part = order[:split] if train else order[split:]
        self.data = torch.from_numpy(digits.images).to(torch.uint8)[part]
        self.targets = torch.from_numpy(digits.target).long()[part]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = self.data[index].unsqueeze(0) / GREYS
        return self.transform_sample(image, int(self.targets[index]))

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"
