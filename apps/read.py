"""What the apps take as options: numbers within bounds, and devices, read from a command line."""

import argparse
import math
from collections.abc import Callable

import framework
from framework import torch


def whole(least: int, most: int = 2**31 - 1) -> Callable[[str], int]:
    """A whole number from `least` to `most`, read from an option."""

    def read(text: str) -> int:
        if not least <= (number := int(text)) <= most:
            raise argparse.ArgumentTypeError(f"{text} is not from {least} to {most}")
        return number

    read.__name__ = "whole number"  # as argparse calls what is none
    return read


def positive(text: str) -> float:
    """A finite number above 0, read from an option."""
    if not 0 < (number := float(text)) < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no positive number")
    return number


positive.__name__ = "number"


def between(least: float, most: float) -> Callable[[str], float]:
    """A number from `least` to `most`, read from an option."""

    def read(text: str) -> float:
        if not least <= (number := float(text)) <= most:
            raise argparse.ArgumentTypeError(f"{text} is not from {least:g} to {most:g}")
        return number

    read.__name__ = "number"
    return read


def fraction(text: str) -> float:
    """A number above 0, and at most 1, read from an option."""
    if not 0 < (number := float(text)) <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0, and at most 1")
    return number


fraction.__name__ = "number"


def device(name: str) -> str:
    """A device's name, where a tensor can be made."""
    try:
        torch.zeros(1, device=name).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        why = str(error).splitlines()[0]
        if name.partition(":")[0] == "cuda" and framework.NAME == "tiny_torch":
            why += "; cuda-emulated runs CUDA's kernels on this processor, slowly"
        raise argparse.ArgumentTypeError(why) from None
    return name
