"""What datasets of images share: a place, transforms, and what they print."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from tiny_torch.utils.data import Dataset

Transform = Callable[[Any], Any]
Place = str | os.PathLike[str]


def hanging(head: str, value: object) -> list[str]:
    """The lines of a value's repr behind `head`, below each other."""
    first, *rest = repr(value).splitlines()
    return [head + first, *(" " * len(head) + line for line in rest)]


class StandardTransform:
    """A transform of the input and one of the target, as one of both.

    >>> StandardTransform(str.upper, None)("a", 1)
    ('A', 1)
    """

    def __init__(
        self, transform: Transform | None = None, target_transform: Transform | None = None
    ) -> None:
        self.transform = transform
        self.target_transform = target_transform

    def __call__(self, input: Any, target: Any) -> tuple[Any, Any]:
        if self.transform is not None:
            input = self.transform(input)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return input, target

    def __repr__(self) -> str:
        lines = [type(self).__name__]
        if self.transform is not None:
            lines += hanging("Transform: ", self.transform)
        if self.target_transform is not None:
            lines += hanging("Target transform: ", self.target_transform)
        return "\n".join(lines)


class VisionDataset(Dataset[Any]):
    """A dataset of images in the folder `root`; subclasses define `__getitem__` and `__len__`.

    `transforms` takes input and target together; `transform` and `target_transform` take one each.
    Raises ValueError for both kinds at once.
    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.datasets.VisionDataset.html

    >>> from tiny_torch.datasets import VisionDataset
    >>> class Squares(VisionDataset):
    ...     def __getitem__(self, index):
    ...         return self.transform_sample(index, index**2)
    ...     def __len__(self):
    ...         return 3
    >>> Squares("squares", target_transform=float)[2]
    (2, 4.0)
    >>> Squares("squares")
    Dataset Squares
        Number of datapoints: 3
        Root location: squares
    """

    def __init__(
        self,
        root: Place | None = None,
        transforms: Callable[[Any, Any], tuple[Any, Any]] | None = None,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
    ) -> None:
        separate = transform is not None or target_transform is not None
        if transforms is not None and separate:
            raise ValueError(
                "Only transforms or transform/target_transform can be passed as argument"
            )
        self.root: Any = os.path.expanduser(root) if isinstance(root, str) else root
        self.transform = transform
        self.target_transform = target_transform
        if separate:
            transforms = StandardTransform(transform, target_transform)
        self.transforms = transforms

    def transform_sample(self, input: Any, target: Any) -> tuple[Any, Any]:
        """A sample, after this dataset's transforms as they are now."""
        return StandardTransform(self.transform, self.target_transform)(input, target)

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define __getitem__")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} does not define __len__")

    def __repr__(self) -> str:
        body = [f"Number of datapoints: {len(self)}"]
        if self.root is not None:
            body.append(f"Root location: {self.root}")
        body += self.extra_repr().splitlines()
        if self.transforms is not None:
            body += repr(self.transforms).splitlines()
        return "\n".join([f"Dataset {type(self).__name__}", *("    " + line for line in body)])

    def extra_repr(self) -> str:
        """Further lines of the repr."""
        return ""


class TrainOrTest(VisionDataset):
    """A dataset of two parts, which `train` chooses; subclasses define `download` and `_read`."""

    def __init__(
        self,
        root: Place,
        train: bool = True,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        if download:
            self.download()
        self._read()

    def download(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not define download")

    def _read(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not define _read")

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"
