"""Data as the apps take it: NumPy arrays, whatever framework computes."""

import argparse
from typing import Any, NamedTuple

import numpy as np
from framework import torch
from sklearn.datasets import load_digits

IMAGES = ("digits",)


class Images(NamedTuple):
    """Pictures from 0 to 1 of shape (N, C, H, W), their classes (N,), and the classes' names."""

    train_x: Any
    train_y: Any
    test_x: Any
    test_y: Any
    names: list[str]


def load_images(args: argparse.Namespace) -> Images:
    """The pictures that --data names, as tensors on --device."""
    digits = load_digits()  # 1797 of 8x8, grey levels 0-16
    pixels = (digits.images[:, None] / 16).astype(np.float32)
    order = np.random.RandomState(0).permutation(len(pixels))
    train, test = order[: len(order) * 4 // 5], order[len(order) * 4 // 5 :]
    labels = digits.target.astype(np.int64)
    return Images(
        *pair(pixels[train], labels[train], args.device),
        *pair(pixels[test], labels[test], args.device),
        [str(i) for i in range(10)],
    )


def pair(pixels: np.ndarray, labels: np.ndarray, device: str) -> tuple[Any, Any]:
    return torch.from_numpy(pixels).to(device), torch.from_numpy(labels).to(device)
