"""CelebA: faces of celebrities, from the files that its authors give away."""

from __future__ import annotations

import os
from typing import Any

import tiny_torch as torch
from tiny_torch.base.extras import pillow
from tiny_torch.vision.datasets.vision import Place, Transform, VisionDataset

SPLITS = {"train": 0, "valid": 1, "test": 2, "all": None}
TARGETS = ("attr", "identity", "bbox", "landmarks")


def check_word(argument: str, value: Any, words: Any) -> None:
    """ValueError, in torchvision's words, for what is none of `words`."""
    if not isinstance(value, str):
        raise ValueError(f"Expected type str for argument {argument}, but got type {type(value)}.")
    if value not in words:
        valid = ", ".join(words)
        raise ValueError(
            f"Unknown value '{value}' for argument {argument}. Valid values are {{{valid}}}."
        )


class CelebA(VisionDataset):
    """Aligned photographs of faces; `target_type` says what the target is.

    "attr": 40 attributes, 0 or 1; "identity": a person's number; "bbox": x, y, width and height in
    the original photograph; "landmarks": five points. A list of these gives a tuple, an empty one
    None. `split` is "train", "valid", "test" or "all". An item is a PIL image and its target.
    The files are those of the source, in `root/celeba`: the folder `img_align_celeba` (unzipped),
    `list_attr_celeba.txt`, `identity_CelebA.txt`, `list_bbox_celeba.txt`,
    `list_landmarks_align_celeba.txt` and `list_eval_partition.txt`.
    Raises RuntimeError where files are missing or damaged, ValueError for other words, ImportError
    for an item without Pillow, NotImplementedError for `download=True` where files are missing.
    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.datasets.CelebA.html

    >>> from tiny_torch.datasets import CelebA
    >>> CelebA("nowhere")
    Traceback (most recent call last):
    RuntimeError: Dataset not found or corrupted: nowhere/celeba lacks img_align_celeba
    """

    base_folder = "celeba"
    images = "img_align_celeba"
    lists = (
        *("list_attr_celeba.txt", "identity_CelebA.txt", "list_bbox_celeba.txt"),
        *("list_landmarks_align_celeba.txt", "list_eval_partition.txt"),
    )

    def __init__(
        self,
        root: Place,
        split: str = "train",
        target_type: list[str] | str = "attr",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = split
        self.target_type = target_type if isinstance(target_type, list) else [target_type]
        if not self.target_type and target_transform is not None:
            raise RuntimeError("target_transform is specified but target_type is empty")
        if download:
            self.download()
        missing = self._missing()
        if missing:
            folder = os.path.join(self.root, self.base_folder)
            raise RuntimeError(f"Dataset not found or corrupted: {folder} lacks {missing[0]}")
        check_word("split", split.lower() if isinstance(split, str) else split, SPLITS)
        names, parts, _ = self._read("list_eval_partition.txt", 1)
        for name in names:
            if os.path.basename(name) != name:
                raise RuntimeError(
                    f"{self._path('list_eval_partition.txt')}: {name} is no file's name"
                )
        chosen = SPLITS[split.lower()]
        kept = [i for i, (part,) in enumerate(parts) if chosen in (None, part)]

        def table(file: str, columns: int, head: bool = False) -> tuple[torch.Tensor, list[str]]:
            rows_of, rows, header = self._read(file, columns, head)
            if rows_of != names:
                raise RuntimeError(f"{self._path(file)}: its images are not list_eval_partition's")
            flat = [number for i in kept for number in rows[i]]
            return torch.tensor(flat, dtype=torch.int64).view(len(kept), -1 if kept else 0), header

        self.filename = [names[i] for i in kept]
        self.identity, _ = table("identity_CelebA.txt", 1)
        self.bbox, _ = table("list_bbox_celeba.txt", 4, head=True)
        self.landmarks_align, _ = table("list_landmarks_align_celeba.txt", 10, head=True)
        attributes, self.attr_names = table("list_attr_celeba.txt", 0, head=True)
        self.attr = (attributes + 1) // 2  # from -1 and 1

    def _path(self, name: str) -> str:
        return os.path.join(self.root, self.base_folder, name)

    def _missing(self) -> list[str]:
        folder = [] if os.path.isdir(self._path(self.images)) else [self.images]
        return folder + [name for name in self.lists if not os.path.isfile(self._path(name))]

    def _read(
        self, file: str, columns: int, head: bool = False
    ) -> tuple[list[str], list[list[int]], list[str]]:
        """Names of images, their numbers, and what two lines at the head call the columns."""
        path = self._path(file)
        with open(path) as text:
            lines = [line.split() for line in text if line.strip()]
        header = lines[1] if head and len(lines) > 1 else []
        lines = lines[2:] if head else lines
        columns = columns or len(header)
        try:
            numbers = [list(map(int, line[1:])) for line in lines]
        except ValueError as error:
            raise RuntimeError(f"{path}: {error}") from None
        for i, row in enumerate(numbers):
            if len(row) != columns:
                raise RuntimeError(f"{path}: {lines[i][0]} has {len(row)} numbers, not {columns}")
        return [line[0] for line in lines], numbers, header

    def download(self) -> None:
        """Nothing where all files are there; else NotImplementedError says where they come from."""
        if self._missing():
            raise NotImplementedError(
                "CelebA(download=True): its files lie on Google Drive, which wants a browser. Put "
                f"{self.images} (unzipped), {', '.join(self.lists)} from "
                f"https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html into {self._path('')}"
            )

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image: Any = pillow("CelebA").open(
            os.path.join(self._path(self.images), self.filename[index])
        )
        found = []
        for kind in self.target_type:
            check_word("target_type", kind, TARGETS)
            if kind == "identity":
                found.append(self.identity[index, 0])
            else:
                rows = self.landmarks_align if kind == "landmarks" else getattr(self, kind)
                found.append(rows[index])
        if self.transform is not None:
            image = self.transform(image)
        if not found:
            return image, None
        target = tuple(found) if len(found) > 1 else found[0]
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target

    def __len__(self) -> int:
        return len(self.filename)

    def extra_repr(self) -> str:
        return f"Target type: {self.target_type}\nSplit: {self.split}"
