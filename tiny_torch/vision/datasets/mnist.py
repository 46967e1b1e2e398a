"""MNIST and the sets that took its format: 28x28 grey images of ten classes."""

from __future__ import annotations

import os
import warnings
from typing import Any

from tiny_torch.base.extras import pillow
from tiny_torch.vision.datasets import download
from tiny_torch.vision.datasets.idx import read_idx
from tiny_torch.vision.datasets.vision import TrainOrTest

NAMES = """
train-images-idx3-ubyte.gz train-labels-idx1-ubyte.gz
t10k-images-idx3-ubyte.gz t10k-labels-idx1-ubyte.gz
"""


def files_of(digests: str) -> list[tuple[str, str]]:
    """The four files by name, each with its MD5 digest."""
    return list(zip(NAMES.split(), digests.split(), strict=True))


def warn_old_name(old: str, new: str) -> Any:
    """A property that warns of its old name."""

    def read(self: Any) -> Any:
        warnings.warn(f"{old} has been renamed {new}", stacklevel=2)
        return getattr(self, new)

    return property(read, doc=f"`{new}`; deprecated: warns.")


class MNIST(TrainOrTest):
    """Handwritten digits: 60,000 images to train on, 10,000 to test on.

    `data` is (N, 28, 28) uint8, `targets` (N,) int64; an item is a PIL image of mode "L" and an
    int, after the transforms. The files are those of the source, unpacked or as `.gz`, in
    `root/MNIST/raw`; `download=True` fetches what is missing.
    Raises RuntimeError where files are missing or damaged, ImportError for an item without Pillow.
    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.datasets.MNIST.html

    >>> from tiny_torch.datasets import MNIST
    >>> MNIST("nowhere", train=False)
    Traceback (most recent call last):
    RuntimeError: Dataset not found. You can use download=True to download it, or put
    t10k-images-idx3-ubyte.gz, t10k-labels-idx1-ubyte.gz into nowhere/MNIST/raw
    """

    mirrors = [
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "http://yann.lecun.com/exdb/mnist/",
    ]
    resources = files_of(
        "f68b3c2dcbeaaa9fbdd348bbdeb94873 d53e105ee54ea40749a09fcbcd1e9432 "
        "9fb629c4189551a2d022fa330f9573f3 ec29112dd5afa0611ce80d1b7f02629c"
    )
    classes = [
        *("0 - zero", "1 - one", "2 - two", "3 - three", "4 - four"),
        *("5 - five", "6 - six", "7 - seven", "8 - eight", "9 - nine"),
    ]

    def _read(self) -> None:
        packed = [name for name, _ in (self.resources[:2] if self.train else self.resources[2:])]
        paths = [self._path(name) for name in packed]
        if None in paths:
            raise RuntimeError(
                "Dataset not found. You can use download=True to download it, or put "
                f"{', '.join(packed)} into {self.raw_folder}"
            )
        images, labels = read_idx(paths[0], (28, 28)), read_idx(paths[1], ())
        if len(images) != len(labels):
            raise RuntimeError(
                f"{paths[0]} has {len(images)} images, {paths[1]} {len(labels)} labels"
            )
        if len(labels) and int(labels.max()) >= len(self.classes):
            raise RuntimeError(
                f"{paths[1]}: label {int(labels.max())}, but {len(self.classes)} classes"
            )
        self.data, self.targets = images, labels.long()

    def _path(self, packed: str) -> Any:
        """Where a file is, unpacked or not; None where it is not."""
        path = os.path.join(self.raw_folder, packed)
        return next((p for p in (path.removesuffix(".gz"), path) if os.path.isfile(p)), None)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = pillow(type(self).__name__).fromarray(self.data[index].numpy())
        return self.transform_sample(image, int(self.targets[index]))

    def __len__(self) -> int:
        return len(self.data)

    @property
    def raw_folder(self) -> str:
        """The folder of the original files."""
        return os.path.join(self.root, type(self).__name__, "raw")

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The label of each class by its name."""
        return {name: label for label, name in enumerate(self.classes)}

    train_data, test_data = warn_old_name("train_data", "data"), warn_old_name("test_data", "data")
    train_labels = warn_old_name("train_labels", "targets")
    test_labels = warn_old_name("test_labels", "targets")

    def download(self) -> None:
        """Fetches what is missing, both for training and for testing, and unpacks it."""
        missing = [(name, md5) for name, md5 in self.resources if self._path(name) is None]
        download.fetch_all(missing, self.mirrors, self.raw_folder)
        for name, _ in missing:
            download.unpack(os.path.join(self.raw_folder, name))


class FashionMNIST(MNIST):
    """Articles of clothing in MNIST's format, in `root/FashionMNIST/raw`.

    Shapes, files and errors as of MNIST.
    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.datasets.FashionMNIST.html

    >>> from tiny_torch.datasets import FashionMNIST
    >>> FashionMNIST.classes[9]
    'Ankle boot'
    """

    mirrors = ["http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"]
    resources = files_of(
        "8d4fb7e6c68d591d4c3dfef9ec88bf0d 25c81989df183df01b3e8a0aad5dffbe "
        "bef4ecab320f06d8554ea6380940ec79 bb300cfdad3c16e7a12a480ee83cd310"
    )
    classes = [
        *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
        *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
    ]


class KMNIST(MNIST):
    """Handwritten hiragana in MNIST's format, in `root/KMNIST/raw`.

    Shapes, files and errors as of MNIST.
    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.datasets.KMNIST.html

    >>> from tiny_torch.datasets import KMNIST
    >>> KMNIST.classes[:3]
    ['o', 'ki', 'su']
    """

    mirrors = ["http://codh.rois.ac.jp/kmnist/dataset/kmnist/"]
    resources = files_of(
        "bdb82020997e1d708af4cf47b453dcf7 e144d726b3acfaa3e44228e80efcd344 "
        "5c965bf0a639b31b8f53240b1b52f4d7 7320c461ea6c1c855c0b718fb2a4b134"
    )
    classes = ["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"]
