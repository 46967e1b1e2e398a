"""Data as the apps take it, whatever framework computes: tiny_torch.datasets reads the files."""

import argparse
import sys
from pathlib import Path
from typing import Any, NamedTuple

import common
import numpy as np
from framework import torch

from tiny_torch import datasets

SETS: dict[str, Any] = {
    "digits": datasets.Digits,
    "mnist": datasets.MNIST,
    "fashion-mnist": datasets.FashionMNIST,
    "cifar10": datasets.CIFAR10,
    "cifar100": datasets.CIFAR100,
}
GREY = ("digits", "mnist", "fashion-mnist")


class Images(NamedTuple):
    """Pictures from 0 to 1 of shape (N, C, H, W), their classes (N,), and the classes' names."""

    train_x: Any
    train_y: Any
    test_x: Any
    test_y: Any
    names: list[str]


def add_options(parser: common.Parser) -> None:
    """Where the files of data sets lie."""
    parser.add_argument("--root", type=Path, default=Path("data"), help="files; default: data")
    parser.add_argument("--download", action="store_true", help="fetch missing files into --root")


def opened(args: argparse.Namespace, make: Any, **keywords: Any) -> Any:
    """A data set; ends the program in one line where its files are missing or damaged."""
    try:
        return make(args.root, download=args.download, **keywords)
    except (RuntimeError, OSError, ImportError) as error:
        sys.exit(f"--data {args.data}: {' '.join(str(error).split())}; --download fetches files")


def load_images(args: argparse.Namespace) -> Images:
    """The pictures that --data names, as tensors on --device."""
    found: list[Any] = []
    for train in (True, False):
        if args.data == "digits":
            part = datasets.Digits(train=train)
        else:
            part = opened(args, SETS[args.data], train=train)
        pixels = np.asarray(part.data, np.float32) / (16 if args.data == "digits" else 255)
        pixels = pixels[:, None] if pixels.ndim == 3 else pixels.transpose(0, 3, 1, 2)
        labels = np.asarray(part.targets, np.int64)
        for array in (np.ascontiguousarray(pixels), labels):
            found.append(torch.from_numpy(array).to(args.device))
    return Images(found[0], found[1], found[2], found[3], [str(name) for name in part.classes])


def penn_treebank(args: argparse.Namespace) -> tuple[Any, Any, Any]:
    """The word numbers of PTB's training and test texts, and the words."""
    train, test = (opened(args, datasets.PTB, split=split) for split in ("train", "test"))
    return np.asarray(train.data), np.asarray(test.data), list(train.vocabulary.tokens)
