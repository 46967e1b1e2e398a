"""Creation, conversions, memory, NumPy, DLPack and devices answer as PyTorch does."""

import array
import copy
import decimal
import fractions
import pickle
import re
import warnings

import numpy as np
import pytest
from interop_cases import FACTS

import tiny_torch

# Facts in which we mean to differ, and why.
DIFFERENT = {
    "y.to(True)": "PyTorch takes it for a dtype",
    "y.to('cpu:0') is y": "there is one CPU, whatever its number",
    "torch.tensor([np.bool_(True),1])": "NumPy's bools are bools",
    "torch.asarray(y,device='cuda')": "AssertionError, as everywhere else",
    "np.array(x,copy=False)": "our __array__ knows copy=",
    "x.__dlpack__(dl_device=(2,0))": "BufferError, as the standard has it",
}

FACT_LIST = [
    pytest.param(fact, id=f"{family}: {fact}")
    for family, text in FACTS.items()
    for fact in text.strip().splitlines()
]


class WithArray:
    def __init__(self, a):
        self.a = a

    def __array__(self, dtype=None, copy=None):
        return self.a


class Sequence:
    def __len__(self):
        return 2

    def __getitem__(self, i):
        if i > 1:
            raise IndexError
        return i * 1.5


class WithInterface:
    def __init__(self, a):
        self.__array_interface__ = a.__array_interface__


def names(torch):
    """What the facts speak of, made anew for each."""
    read_only = np.arange(3.0)
    read_only.flags.writeable = False
    return {
        **{"torch": torch, "np": np, "array": array, "copy": copy, "pickle": pickle},
        **{"decimal": decimal, "fractions": fractions, "Arr": WithArray, "Seq": Sequence},
        "AI": WithInterface,
        "x": torch.tensor([1.0, 2.0]),
        "n": np.array([3.0, 4.0]),
        "ro": read_only,
        "i": torch.tensor([1, 2]),
        "y": torch.zeros(2, 3),
        "g": torch.ones(2, 3, requires_grad=True),
        "image": torch.zeros(2, 3, 4, 5),
        "volume": torch.zeros(2, 3, 4, 5, 6),
        "cl": torch.channels_last,
        "cf": torch.contiguous_format,
        "f64": torch.float64,
    }


def described(value):
    """An answer as text, without addresses and the name of the package."""
    if isinstance(value, tuple | list):
        return [described(v) for v in value]
    text = repr(value)
    if hasattr(value, "stride") and hasattr(value, "grad_fn"):
        text += f" {tuple(value.stride())}"
    return re.sub(r"0x[0-9a-f]+", "0x", text).replace("tiny_torch", "torch")


def answer(torch, fact):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return described(eval(fact, names(torch)))
        except Exception as error:
            return type(error).__name__


@pytest.mark.parametrize("fact", FACT_LIST)
def test_facts(fact, oracle):
    ours, theirs = answer(tiny_torch, fact), answer(oracle, fact)
    assert ours != theirs if fact in DIFFERENT else ours == theirs
