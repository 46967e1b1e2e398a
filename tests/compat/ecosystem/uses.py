"""Uses of packages written for PyTorch, by name, and what they share.

python uses.py einops                             # one use: prints what it answered, as JSON
python -m tiny_torch run uses.py einops           # the same on tiny_torch

A use is a function without arguments that answers tensors and numbers, in float64: losses of some
steps, gradients, what was computed. It imports its package itself. The files beside this one hold
them by kind; `test_ecosystem.py` compares, `docs/make_ecosystem.py` writes the page.
"""

import importlib
import io
import json
import os
import sys
import warnings
from contextlib import redirect_stdout

import torch
from torch import nn

KINDS = ("layers", "models", "optimizers", "probability", "sciences", "tools", "training")
USES = {}


def use(package):
    """Lists a function as the use of a package, by the package's name on PyPI."""

    def enter(function):
        USES[package] = function
        return function

    return enter


def normal(*shape):
    """Normal numbers, (*shape)."""
    return torch.randn(*shape)


def small_net(inputs=4, outputs=1):
    """Linear(inputs, 8), Tanh, Linear(8, outputs)."""
    return nn.Sequential(nn.Linear(inputs, 8), nn.Tanh(), nn.Linear(8, outputs))


def fit(net, loss, optimizer=None, steps=3):
    """The losses of some steps: `loss()` answers a scalar."""
    optimizer = optimizer or torch.optim.SGD(net.parameters(), lr=0.01)
    losses = []
    for _ in range(steps):

        def closure():
            optimizer.zero_grad()
            value = loss()
            value.backward(create_graph=getattr(optimizer, "create_graph", False))
            return value

        losses.append(closure())
        optimizer.step()
    return losses


def losses_of(net, x):
    """The losses of some steps whose loss is the mean square of net(x)."""
    return fit(net, lambda: net(x).square().mean())


def flat(answer):
    """Numbers and texts of an answer, one after the other."""
    if isinstance(answer, torch.Tensor):
        answer = answer.detach().tolist()
    if isinstance(answer, dict):
        answer = list(answer.items())
    if hasattr(answer, "tolist"):  # NumPy's
        answer = answer.tolist()
    if isinstance(answer, (list, tuple)):
        return [leaf for part in answer for leaf in flat(part)]
    if not isinstance(answer, (int, float, str)):
        raise TypeError(f"a use answers tensors, numbers and texts, not {type(answer)}")
    return [answer]


def main(package):
    for kind in KINDS:
        importlib.import_module(kind)
    warnings.simplefilter("ignore")
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    with redirect_stdout(io.StringIO()):  # packages greet
        answer = flat(USES[package]())
    print(json.dumps(answer))


if __name__ == "__main__":
    sys.modules["uses"] = sys.modules["__main__"]  # which the files beside import
    os.environ.setdefault("KERAS_BACKEND", "torch")
    main(sys.argv[1])
