"""CIFAR-10 and CIFAR-100: 32x32 colour images in Python's pickles."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from tiny_torch.base.extras import pillow
from tiny_torch.vision.datasets import download
from tiny_torch.vision.datasets.numpy_pickle import load_arrays
from tiny_torch.vision.datasets.vision import TrainOrTest

SHAPE = (3, 32, 32)


class _Meta(NamedTuple):
    """The file with the names of the classes, and their key in it."""

    filename: str
    key: str
    md5: str


class CIFAR10(TrainOrTest):
    """Photographs of ten classes: 50,000 to train on, 10,000 to test on.

    `data` is a NumPy array (N, 32, 32, 3) of uint8, `targets` a list of ints; an item is a PIL
    image and an int, after the transforms. The files are those of the source: the batches in
    `root/cifar-10-batches-py`, or `cifar-10-python.tar.gz` in `root`, which is then unpacked;
    `download=True` fetches that. They are read by an unpickler that admits arrays of bytes, text
    and numbers, and nothing else.
    Raises RuntimeError where files are missing or damaged, ImportError for an item without Pillow.
    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.datasets.CIFAR10.html

    >>> from tiny_torch.datasets import CIFAR10
    >>> CIFAR10("nowhere")
    Traceback (most recent call last):
    RuntimeError: Dataset not found or corrupted. You can use download=True to download it, or put
    cifar-10-python.tar.gz into nowhere
    """

    base_folder = "cifar-10-batches-py"
    url = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    filename = "cifar-10-python.tar.gz"
    tgz_md5 = "c58f30108f718f92721af3b95e74349a"
    train_list = [
        ("data_batch_1", "c99cafc152244af753f735de768cd75f"),
        ("data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"),
        ("data_batch_3", "54ebc095f3ab1f0389bbae665268c751"),
        ("data_batch_4", "634d18415352ddfa80567beed471001a"),
        ("data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"),
    ]
    test_list = [("test_batch", "40351d587109b95175f43aff81a1287e")]
    meta = _Meta("batches.meta", "label_names", "5ff9c542aee3614f3951f8cda6e48888")
    labels_key = "labels"

    def _read(self) -> None:
        if not self._is_intact():
            self._unpack()
        if not self._is_intact():
            raise RuntimeError(
                "Dataset not found or corrupted. You can use download=True to download it, or put "
                f"{self.filename} into {self.root}"
            )
        batches = [self._read_batch(name) for name, _ in self._files()]
        images = np.concatenate([images for images, _ in batches])  # (N, 3, 32, 32)
        self.data = images.transpose(0, 2, 3, 1)
        self.targets = [label for _, labels in batches for label in labels]
        self.classes = self._read_classes()
        self.class_to_idx = {name: label for label, name in enumerate(self.classes)}

    def _files(self) -> list[tuple[str, str]]:
        return self.train_list if self.train else self.test_list

    def _path(self, name: str) -> str:
        return os.path.join(self.root, self.base_folder, name)

    def _is_intact(self) -> bool:
        files = [*self.train_list, *self.test_list, (self.meta.filename, self.meta.md5)]
        return all(download.is_intact(self._path(name), md5) for name, md5 in files)

    def _unpack(self) -> None:
        archive = os.path.join(self.root, self.filename)
        if download.is_intact(archive, self.tgz_md5):
            download.extract(archive, self.root)

    def _read_batch(self, name: str) -> tuple[np.ndarray, list[int]]:
        path = self._path(name)
        entry = load_arrays(path)
        images, labels = entry.get("data"), entry.get(self.labels_key)
        if not isinstance(images, np.ndarray) or images.shape[1:] != (np.prod(SHAPE),):
            raise RuntimeError(f"{path}: its 'data' is no array of rows of {np.prod(SHAPE)} bytes")
        if not isinstance(labels, list) or any(type(label) is not int for label in labels):
            raise RuntimeError(f"{path}: its {self.labels_key!r} is no list of ints")
        if len(images) != len(labels):
            raise RuntimeError(f"{path}: {len(images)} images, but {len(labels)} labels")
        return images.reshape(-1, *SHAPE), labels

    def _read_classes(self) -> list[str]:
        path = self._path(self.meta.filename)
        names = load_arrays(path).get(self.meta.key)
        if not isinstance(names, list) or any(type(name) is not str for name in names):
            raise RuntimeError(f"{path}: its {self.meta.key!r} is no list of names")
        if any(not 0 <= label < len(names) for label in self.targets):
            raise RuntimeError(f"{path}: {len(names)} names, but other labels in the batches")
        return names

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = pillow(type(self).__name__).fromarray(self.data[index])
        return self.transform_sample(image, self.targets[index])

    def __len__(self) -> int:
        return len(self.data)

    def download(self) -> None:
        """Fetches the archive and unpacks it, unless its files are there."""
        if not self._is_intact():
            mirror = self.url.removesuffix(self.filename)
            download.fetch_all([(self.filename, self.tgz_md5)], [mirror], self.root)
            self._unpack()


class CIFAR100(CIFAR10):
    """Photographs of a hundred classes, in `root/cifar-100-python`; otherwise as CIFAR10.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.datasets.CIFAR100.html

    >>> from tiny_torch.datasets import CIFAR100
    >>> CIFAR100.filename
    'cifar-100-python.tar.gz'
    """

    base_folder = "cifar-100-python"
    url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    filename = "cifar-100-python.tar.gz"
    tgz_md5 = "eb9058c3a382ffc7106e4002c42a8d85"
    train_list = [("train", "16019d7e3df5f24257cddd939b257f8d")]
    test_list = [("test", "f0ef6b0ae62326f3e7ffdfab6717acfc")]
    meta = _Meta("meta", "fine_label_names", "7973b15100ade9c7d40fb424638fde48")
    labels_key = "fine_labels"
