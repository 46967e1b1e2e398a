"""Random images, for programs that are tried before their data is there."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch.vision.datasets.vision import Transform, VisionDataset
from tiny_torch.vision.transforms.functional import to_pil_image


class FakeData(VisionDataset):
    """Random images and labels; item i is the same each time, and draws nothing from the program.

    An item is a PIL image of `image_size` (C, H, W) and an int below `num_classes`, after the
    transforms. Raises IndexError behind the end, ImportError for an item without Pillow.
    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.datasets.FakeData.html

    >>> from tiny_torch.datasets import FakeData
    >>> FakeData(size=3)
    Dataset FakeData
        Number of datapoints: 3
    """

    def __init__(
        self,
        size: int = 1000,
        image_size: tuple[int, int, int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        random_offset: int = 0,
    ) -> None:
        super().__init__(transform=transform, target_transform=target_transform)
        self.size, self.image_size, self.num_classes = size, image_size, num_classes
        self.random_offset = random_offset

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if not 0 <= index < len(self):
            raise IndexError(f"{type(self).__name__} index out of range")
        generator = torch.Generator().manual_seed(index + self.random_offset)
        image = torch.randn(*self.image_size, generator=generator)
        target = torch.randint(0, self.num_classes, (1,), generator=generator)
        return self.transform_sample(to_pil_image(image), int(target.item()))

    def __len__(self) -> int:
        return self.size
