"""One call that seeds everything that draws random numbers in a training script.

PyTorch has none. People know the name from Lightning (`lightning.seed_everything`); it is kept here
beside data loading, whose workers it reaches.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import tiny_torch as torch


def seed_everything(seed: int) -> int:
    """Seeds Python's `random`, NumPy's global generator, and torch's on every device; answers seed.

    A DataLoader's workers follow: each is seeded, in all three packages, from a number that the
    loader draws from torch's generator, so the augmentations of a run repeat, too. Not seeded are
    generators of your own (`np.random.default_rng()`, `torch.Generator()`), and the order of sets
    of text, which Python draws at its start (PYTHONHASHSEED).

    Raises TypeError for what is no int, ValueError outside [0, 2^32), which is NumPy's range.
    Source: https://lightning.ai/docs/pytorch/stable/common/trainer.html#reproducibility

    >>> import tiny_torch as torch
    >>> torch.utils.seed_everything(1)
    1
    >>> x = torch.rand(3)
    >>> torch.equal(x, torch.rand(3)), torch.utils.seed_everything(1), torch.equal(x, torch.rand(3))
    (False, 1, True)
    """
    seed = _require_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    return seed


def _require_seed(seed: Any) -> int:
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise TypeError(f"seed_everything expected an int, but got {type(seed).__name__}")
    seed = seed.__index__()
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed_everything: {seed} is not within [0, 2^32), NumPy's range")
    return seed
