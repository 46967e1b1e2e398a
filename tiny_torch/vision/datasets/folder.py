"""Samples in a folder for each class: root/cat/1.png, root/dog/2.png."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from tiny_torch.base.extras import pillow
from tiny_torch.vision.datasets.vision import Place, Transform, VisionDataset

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def find_classes(directory: Place) -> tuple[list[str], dict[str, int]]:
    """The names of a folder's folders, sorted, and the label of each.

    Raises FileNotFoundError if there is none.
    """
    with os.scandir(directory) as entries:
        classes = sorted(entry.name for entry in entries if entry.is_dir())
    if not classes:
        raise FileNotFoundError(f"Couldn't find any class folder in {directory}.")
    return classes, {name: label for label, name in enumerate(classes)}


def make_dataset(
    directory: Place,
    class_to_idx: dict[str, int] | None = None,
    extensions: str | tuple[str, ...] | None = None,
    is_valid_file: Callable[[str], bool] | None = None,
    allow_empty: bool = False,
) -> list[tuple[str, int]]:
    """(path, label) of each file below the classes' folders, sorted, folder by folder.

    Files count by their extension or by `is_valid_file`, exactly one of which is given. Raises
    FileNotFoundError for a class without files, unless `allow_empty`.
    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.datasets.DatasetFolder.html
    """
    if class_to_idx is None:
        _, class_to_idx = find_classes(directory)
    elif not class_to_idx:
        raise ValueError("'class_to_index' must have at least one entry to collect any samples.")
    if (extensions is None) == (is_valid_file is None):
        raise ValueError("Both extensions and is_valid_file cannot be None or not None")
    samples, empty = [], []
    for name in sorted(class_to_idx):
        paths = [
            path
            for path in _files_below(os.path.join(os.path.expanduser(directory), name))
            if (is_valid_file(path) if is_valid_file else path.lower().endswith(extensions or ()))
        ]
        samples += [(path, class_to_idx[name]) for path in paths]
        empty += [] if paths else [name]
    if empty and not allow_empty:
        text = f"Found no valid file for the classes {', '.join(empty)}."
        if extensions is not None:
            known = extensions if isinstance(extensions, str) else ", ".join(extensions)
            text += f" Supported extensions are: {known}"
        raise FileNotFoundError(text)
    return samples


def _files_below(folder: str) -> list[str]:
    """The files of a folder and its folders, links among them; none twice on a circle of links."""
    found, seen = [], set()
    for path, folders, files in os.walk(folder, followlinks=True):
        seen.add(os.path.realpath(path))
        folders[:] = [f for f in folders if os.path.realpath(os.path.join(path, f)) not in seen]
        found.append((path, files))
    return [os.path.join(path, name) for path, files in sorted(found) for name in sorted(files)]


def pil_loader(path: Place) -> Any:
    """The PIL image in a file, as RGB."""
    with open(path, "rb") as file:
        return pillow("ImageFolder").open(file).convert("RGB")


class DatasetFolder(VisionDataset):
    """Samples in a folder for each class, read by `loader(path)`.

    `samples` are (path, label), `targets` the labels, `classes` the names of the folders, sorted.
    Raises FileNotFoundError for no class, or for a class without files, unless `allow_empty`.
    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.datasets.DatasetFolder.html

    >>> import os, tempfile
    >>> from tiny_torch.datasets import DatasetFolder
    >>> with tempfile.TemporaryDirectory() as root:
    ...     for name in ["cat", "dog"]:
    ...         os.mkdir(os.path.join(root, name))
    ...         open(os.path.join(root, name, "1.txt"), "w").close()
    ...     dataset = DatasetFolder(root, loader=os.path.basename, extensions=(".txt",))
    >>> dataset.classes, dataset[1]
    (['cat', 'dog'], ('1.txt', 1))
    """

    def __init__(
        self,
        root: Place,
        loader: Callable[[str], Any],
        extensions: tuple[str, ...] | None = None,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.loader = loader
        self.extensions = extensions
        self.classes, self.class_to_idx = self.find_classes(self.root)
        self.samples = self.make_dataset(
            self.root, self.class_to_idx, extensions, is_valid_file, allow_empty
        )
        self.targets = [label for _, label in self.samples]

    make_dataset = staticmethod(make_dataset)

    def find_classes(self, directory: Place) -> tuple[list[str], dict[str, int]]:
        """The classes and their labels; a subclass may choose others."""
        return find_classes(directory)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.samples[index]
        return self.transform_sample(self.loader(path), target)

    def __len__(self) -> int:
        return len(self.samples)


class ImageFolder(DatasetFolder):
    """Images in a folder for each class; an item is a PIL image of mode "RGB" and an int.

    `imgs` are (path, label), `classes` the names of the folders, sorted.
    Raises FileNotFoundError as DatasetFolder, ImportError for an item without Pillow.
    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.datasets.ImageFolder.html

    >>> from tiny_torch.datasets import ImageFolder
    >>> ImageFolder("nowhere")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'nowhere'
    """

    def __init__(
        self,
        root: Place,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        loader: Callable[[str], Any] = pil_loader,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        extensions = IMG_EXTENSIONS if is_valid_file is None else None
        super().__init__(
            root, loader, extensions, transform, target_transform, is_valid_file, allow_empty
        )
        self.imgs = self.samples
