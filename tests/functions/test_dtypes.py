"""The dtypes: PyTorch's facts of each, also of those that no tensor has, and what refuses these."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tiny_torch

DTYPES = sorted(n for n, d in vars(tiny_torch).items() if isinstance(d, tiny_torch.dtype))
HELD = {
    *("bool", "uint8", "int8", "int16", "int32", "int64", "short", "int", "long"),
    *("float16", "bfloat16", "float32", "float64", "half", "float", "double"),
}
FACTS = """
repr(d)
str(d)
d.itemsize
d.is_floating_point
d.is_complex
d.is_signed
d.to_real()
d.to_complex()
torch.iinfo(d)
[getattr(torch.iinfo(d), name) for name in ("bits", "max", "min", "dtype")]
torch.finfo(d).bits, torch.finfo(d).dtype
torch.finfo(d).eps, torch.finfo(d).resolution
torch.finfo(d).max, torch.finfo(d).min, torch.finfo(d).tiny, torch.finfo(d).smallest_normal
torch.finfo(d) == torch.finfo(d.to_real())
isinstance(d, torch.dtype), type(d) is torch.dtype
hash(d) == hash(copy.copy(d)), d == d, d == torch.float32, d != None
pickle.loads(pickle.dumps(d)) is d
copy.deepcopy([d])[0] is d
d.__reduce__()
""".strip().split("\n")


def outcome(package, name, fact):
    """What an expression says of a dtype, or its error."""
    names = {"torch": package, "d": getattr(package, name), "copy": copy, "pickle": pickle}
    try:
        return str(eval(fact, names))
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.torch
@pytest.mark.parametrize("name", DTYPES)
def test_facts_of_dtypes(oracle, name):
    for fact in FACTS:
        if name != "float4_e2m1fn_x2" or "finfo" not in fact:
            assert outcome(tiny_torch, name, fact) == outcome(oracle, name, fact), fact


@pytest.mark.torch
def test_every_dtype_of_pytorch_has_its_name(oracle):
    assert [n for n in dir(oracle) if isinstance(getattr(oracle, n), oracle.dtype)] == DTYPES


def test_limits_that_nothing_knows():
    for limits, name in ((tiny_torch.finfo, "float4_e2m1fn_x2"), (tiny_torch.iinfo, "qint8")):
        with pytest.raises(NotImplementedError, match=f"(?i)for '{name}'"):
            limits(getattr(tiny_torch, name))


# What makes a tensor of a dtype d, or promotes it.
MADE = """
torch.zeros(2, dtype=d)
torch.empty(0, dtype=d)
torch.empty(2, dtype=d, device='meta')
torch.empty(2, dtype=d, device='ref')
torch.full((2,), 1, dtype=d)
torch.arange(3, dtype=d)
torch.linspace(0, 1, 3, dtype=d)
torch.logspace(0, 1, 3, dtype=d)
torch.eye(2, dtype=d)
torch.rand(2, dtype=d)
torch.randint(3, (2,), dtype=d)
torch.randperm(3, dtype=d)
torch.tensor([1], dtype=d)
torch.tensor([], dtype=d)
torch.as_tensor(np.ones(2), dtype=d)
torch.asarray([1.5], dtype=d)
torch.scalar_tensor(1, dtype=d)
torch.frombuffer(bytearray(b'12345678' * 2), dtype=d)
torch.zeros_like(x, dtype=d)
x.new_zeros(2, dtype=d)
x.new_tensor([1], dtype=d)
x.new_full((2,), 1, dtype=d)
x.to(d)
x.to('meta', d)
x.to(dtype=d, copy=True)
torch.ones(2, device='ref').to(d)
x.type(d)
x.view(d)
x.sum(dtype=d)
x.cumsum(0, dtype=d)
x.softmax(0, dtype=d)
torch.promote_types(d, torch.float32)
torch.promote_types(torch.float32, d)
torch.can_cast(d, torch.float32)
torch.can_cast(torch.float32, d)
torch.set_default_dtype(d)
torch.nn.Linear(2, 2, dtype=d)
torch.nn.BatchNorm1d(2, dtype=d)
torch.nn.Linear(2, 2).type(d)
""".strip().split("\n")


@pytest.mark.parametrize("program", MADE)
def test_no_tensor_is_made_of_a_dtype_that_is_a_name(program):
    for name in sorted({*DTYPES} - HELD):
        d = getattr(tiny_torch, name)
        names = {"torch": tiny_torch, "np": np, "d": d, "x": tiny_torch.ones(4)}
        with pytest.raises(NotImplementedError, match=rf"tiny_torch has no tensors of {d}$"):
            eval(program, names)
    assert tiny_torch.get_default_dtype() is tiny_torch.float32


@pytest.mark.parametrize("name", ["complex64", "float8_e5m2", "uint16"])
def test_layers_stay_as_they_are(name):
    layer, d = tiny_torch.nn.Linear(2, 2), getattr(tiny_torch, name)
    with pytest.raises((NotImplementedError, TypeError), match=str(d)):
        layer.to(d)
    assert layer.weight.dtype is tiny_torch.float32
