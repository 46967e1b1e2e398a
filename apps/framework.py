"""`torch` as every app uses it: tiny_torch, or PyTorch after `--framework torch`.

Classes derive from `nn.Module` as an app is imported, so the choice is made here, before options
are read. The parser of common.py knows the option, too, and refuses names that are neither.
"""

import importlib
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

NAMES = ("tiny_torch", "torch")


def chosen(arguments: list[str]) -> str:
    """The framework that the command line asks for.

    >>> chosen(["--epochs", "3", "--framework", "torch"]), chosen(["--framework=torch"]), chosen([])
    ('torch', 'torch', 'tiny_torch')
    """
    asked = [value for name, value in pairwise(arguments) if name == "--framework"]
    asked += [text.partition("=")[2] for text in arguments if text.startswith("--framework=")]
    return asked[-1] if asked and asked[-1] in NAMES else NAMES[0]


NAME = chosen(sys.argv[1:])
if TYPE_CHECKING:
    import tiny_torch as torch
    from tiny_torch import nn
    from tiny_torch.nn import functional as F
else:
    try:
        torch = importlib.import_module(NAME)
        nn = torch.nn
        F = importlib.import_module(f"{NAME}.nn.functional")
        importlib.import_module(f"{NAME}.utils.checkpoint")
    except ModuleNotFoundError as error:
        sys.exit(f"--framework {NAME}: no module {error.name}; pip install {NAME}")
