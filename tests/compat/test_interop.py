"""Creation, conversions, memory, NumPy, DLPack and devices answer as PyTorch does."""

import array
import copy
import decimal
import fractions
import pickle
import re
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from cases.interop_cases import FACTS

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


def test_devices_that_only_pytorch_has(oracle):
    for name in ("mps", "xla"):
        assert oracle.device(name).type == name
        with pytest.raises(NotImplementedError, match=f"device '{name}' is not in tiny_torch"):
            tiny_torch.ones(2, device=name)
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda, cuda-emulated, meta, ref"):
        tiny_torch.device("mta")


# What is asked of ours with a tensor of PyTorch's (r of 2, s of (2, 2)) among its arguments.
OF_PYTORCH = """
    torch.add(x, r); torch.add(r, x); x + r; r + x; x - r; r * x; x == r; r == x; x < r; x ** r
    x @ s; s @ y; x.add_(r); x.copy_(r); torch.where(x > 0, r, x); torch.maximum(x, r)
    torch.tensor(r); torch.tensor([r, r]); torch.as_tensor(r); torch.from_numpy(r); torch.exp(r)
    torch.cat([x, r]); torch.stack([r]); torch.einsum('i,i', x, r); torch.zeros_like(r); y.mm(s)
    F.linear(r, y); F.linear(x, s); F.relu(r); F.softmax(r, 0); F.mse_loss(x, r); F.dropout(r)
    F.conv1d(s[None], y[None]); F.cross_entropy(y, r); F.batch_norm(s, None, None, training=True)
    nn.Linear(2, 2)(r); nn.Sequential(nn.Linear(2, 2))(s); nn.Embedding(2, 2)(r); nn.LayerNorm(2)(r)
    nn.LSTM(2, 2)(s); nn.BatchNorm1d(2)(s); nn.Parameter(r); x.to(r); torch.optim.SGD([r], lr=0.1)
    nn.Linear(2, 2).load_state_dict({"weight": s, "bias": r}); x.__setitem__(0, r); x.type_as(r)
"""


@pytest.mark.parametrize("call", re.split(r";|\n", OF_PYTORCH.strip()))
def test_tensors_of_pytorch_are_named(oracle, call):
    scope = {"torch": tiny_torch, "nn": tiny_torch.nn, "F": tiny_torch.nn.functional}
    scope.update(x=tiny_torch.ones(2), y=tiny_torch.ones(2, 2))
    scope.update(r=oracle.ones(2), s=oracle.ones(2, 2))
    with pytest.raises(TypeError, match=r"PyTorch's Tensor \(tiny_torch.from_dlpack makes it one"):
        eval(call.strip(), scope)


def test_a_number_of_pytorchs_is_a_tensor_too(oracle):
    with pytest.raises(TypeError, match="from_dlpack"):
        tiny_torch.ones(2) + oracle.tensor(3)


def test_a_list_of_arrays_warns_once():
    """As PyTorch does, to which such a list is slow."""
    code = (
        "import warnings, numpy as np, tiny_torch as torch\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    for _ in range(3): torch.tensor([np.ones(3), np.ones(3)])\n"
        "print([str(w.message)[:33] for w in caught], caught[0].filename)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "['Creating a tensor from a list of '] <string>\n"


def test_large_unsigned_integers_are_refused():
    for dtype in ("uint16", "uint32", "uint64"):
        for make in (tiny_torch.tensor, tiny_torch.from_numpy, tiny_torch.as_tensor):
            with pytest.raises(TypeError, match=rf"numpy.{dtype}.*Convert larger unsigned"):
                make(np.ones(3, dtype))
        number = np.dtype(dtype).type(3)
        for make in (tiny_torch.tensor, tiny_torch.as_tensor, tiny_torch.asarray):
            for data in (number, [number], (1, number), [[number], [1.5]]):
                with pytest.raises(TypeError, match=rf"numpy.{dtype}.*Convert larger unsigned"):
                    make(data)
        assert tiny_torch.tensor([number], dtype=tiny_torch.int64) == 3
        assert tiny_torch.full((2,), number).tolist() == (tiny_torch.ones(2) * number).tolist()


def test_many_small_arrays_are_read_at_once():
    """Not one number after the other: a hundred times as slow."""
    rows = [np.full(41, i, "float32") for i in range(20_000)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        together = tiny_torch.tensor(rows)
        spent = time.perf_counter() - start
    assert spent < 1
    assert (together.numpy() == np.stack(rows)).all()


def test_frombuffer_keeps_the_filters_of_warnings():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(2):  # a place warns once, unless the filters have been changed meanwhile
            warnings.warn("the script's", stacklevel=1)
            tiny_torch.frombuffer(b"ab", dtype=tiny_torch.uint8)
    assert [str(warning.message)[:16] for warning in caught] == ["the script's", "The given buffer"]
