"""torch.testing against PyTorch's: verdicts, exceptions and their texts, made tensors."""

import re
import warnings
from collections import OrderedDict
from functools import partial

import numpy as np
import pytest
from helpers import compare, outcome

import tiny_torch

INF, NAN = float("inf"), float("nan")


def t(m, *values, **options):
    return m.tensor(list(values), **options)


# (actual, expected, options): equal or not, the verdict is PyTorch's
PAIRS = {
    "equal": lambda m: (t(m, 1.0, 2.0), t(m, 1.0, 2.0), {}),
    "one differs": lambda m: (t(m, 1.0, 2.0), t(m, 1.0, 2.1), {}),
    "within": lambda m: (t(m, 1.0, 2.0), t(m, 1.0, 2.000001), {}),
    "float64": lambda m: (t(m, 1.0, dtype=m.float64), t(m, 1.000001, dtype=m.float64), {}),
    "2-d": lambda m: (m.zeros(2, 3), m.arange(6.0).view(2, 3), {}),
    "integers": lambda m: (t(m, 1, 2, 3), t(m, 1, 5, 3), {}),
    "uint8": lambda m: (t(m, 1, 255, dtype=m.uint8), t(m, 1, 0, dtype=m.uint8), {}),
    "bools": lambda m: (t(m, True, False), t(m, True, True), {}),
    "0-d": lambda m: (m.tensor(1.0), m.tensor(2.0), {}),
    "0-d integer": lambda m: (m.tensor(1), m.tensor(0), {}),
    "expected 0": lambda m: (t(m, 1.0, 0.0), t(m, 0.0, 0.0), {}),
    "nan": lambda m: (t(m, NAN, 1.0), t(m, NAN, 1.0), {}),
    "equal nan": lambda m: (t(m, NAN, 1.0), t(m, NAN, 1.0), {"equal_nan": True}),
    "nan 0-d": lambda m: (m.tensor(NAN), m.tensor(NAN), {}),
    "inf": lambda m: (t(m, INF, 1.0), t(m, INF, 1.0), {}),
    "other inf": lambda m: (t(m, INF, 1.0), t(m, -INF, 1.0), {}),
    "empty": lambda m: (m.zeros(0, 3), m.zeros(0, 3), {}),
    "tolerances": lambda m: (t(m, 1.0, 2.0), t(m, 1.0, 2.1), {"rtol": 0, "atol": 0.2}),
    "no tolerance": lambda m: (t(m, 1.0, 2.0), t(m, 1.0, 2.00001), {"rtol": 0, "atol": 0}),
    "one tolerance": lambda m: (t(m, 1.0), t(m, 1.0), {"rtol": 0.1}),
    "other tolerance": lambda m: ([t(m, 1.0)], [t(m, 1.0)], {"atol": 0.1}),
    "shape": lambda m: (m.zeros(2), m.zeros(3), {}),
    "broadcast": lambda m: (m.zeros(2, 1), m.zeros(2, 2), {}),
    "dtype": lambda m: (m.zeros(2), m.zeros(2, dtype=m.float64), {}),
    "dtypes apart": lambda m: (t(m, 1.0), t(m, 1), {"check_dtype": False}),
    "dtypes apart differ": lambda m: (t(m, 1.0), t(m, 2), {"check_dtype": False}),
    "stride": lambda m: (m.zeros(2, 3), m.zeros(3, 2).t(), {"check_stride": True}),
    "strides apart": lambda m: (m.zeros(2, 3), m.zeros(3, 2).t(), {}),
    "leaf": lambda m: (t(m, 1.0, requires_grad=True), t(m, 1.0), {}),
    "parameter": lambda m: (m.nn.Parameter(t(m, 1.0)), t(m, 1.0), {}),
    "strict parameter": lambda m: (
        m.nn.Parameter(t(m, 1.0)),
        t(m, 1.0),
        {"allow_subclasses": False},
    ),
    "numbers": lambda m: (1.0, 1.0 + 1e-12, {}),
    "numbers differ": lambda m: (1, 2, {}),
    "number types": lambda m: (1, 1.0, {}),
    "number types apart": lambda m: (1, 1.0, {"check_dtype": False}),
    "numbers nan": lambda m: (NAN, NAN, {"equal_nan": True}),
    "numbers inf": lambda m: (INF, 1.0, {}),
    "complex": lambda m: (1j, 2j, {}),
    "NumPy numbers": lambda m: (np.float64(1.0), 1.0, {}),
    "true and one": lambda m: (True, 1, {}),
    "booleans": lambda m: (True, False, {}),
    "NumPy boolean": lambda m: (np.bool_(True), True, {}),
    "None": lambda m: (None, None, {}),
    "None and number": lambda m: (None, 0, {}),
    "strings": lambda m: ("a", "a", {}),
    "array": lambda m: (np.ones(2), np.ones(2), {}),
    "array differs": lambda m: (np.ones(2), np.zeros(2), {}),
    "array and tensor": lambda m: (np.ones(2), m.ones(2), {}),
    "number and tensor": lambda m: (1.0, m.tensor(1.0), {}),
    "list": lambda m: ([m.ones(2), 1.0], (m.ones(2), 1.0), {}),
    "list differs": lambda m: ([m.ones(2), 1.0], (m.ones(2), 2.0), {}),
    "lengths": lambda m: ([1.0], [1.0, 2.0], {}),
    "nested lengths": lambda m: ({"a": [[1.0]]}, {"a": [[1.0, 2.0]]}, {}),
    "mapping": lambda m: ({"b": 1, "a": m.ones(1)}, OrderedDict(a=m.ones(1), b=1), {}),
    "mapping differs": lambda m: ({"a": [1, {"c": 2}]}, {"a": [1, {"c": 3}]}, {}),
    "keys": lambda m: ({"a": 1, "b": 1}, {"a": 1, "c": 1}, {}),
    "mapping and list": lambda m: ({"a": 1}, [1], {}),
    "first of two": lambda m: ([1, 2], [2, 3], {}),
    "structure before values": lambda m: ([1, None], [2, "a"], {}),
    "message": lambda m: (1, 2, {"msg": "other"}),
    "message made": lambda m: ([1], [2], {"msg": lambda text: f"<{text}>"}),
    "message of a structure": lambda m: ([1], [2, 3], {"msg": "other"}),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_assert_close(oracle, name):
    verdicts = []
    for m in (tiny_torch, oracle):
        actual, expected, options = PAIRS[name](m)
        error, _ = outcome(partial(m.testing.assert_close, actual, expected, **options))
        verdicts.append(error)
    assert type(verdicts[0]) is type(verdicts[1]), verdicts
    if not isinstance(verdicts[1], RuntimeError | type(None)):
        texts = [re.sub(r"\b(tiny_)?torch\.(tensor\.)?", "", str(error)) for error in verdicts]
        assert texts[0] == texts[1]


MADE = {
    "float32": ((3, 4), {}),
    "float64": ((3, 4), {}),
    "int64": ((50,), {}),
    "int32": (([5, 6],), {}),
    "uint8": ((40,), {}),
    "bool": ((40,), {}),
    "int16": ((40,), {}),
    "float16": ((40,), {}),
}
OPTIONS = {
    "plain": {},
    "bounds": {"low": 1, "high": 3},
    "wide": {"low": -INF, "high": INF},
    "low": {"low": 2.5},
    "no zero": {"exclude_zero": True, "low": 0, "high": 2},
    "noncontiguous": {"noncontiguous": True},
    "reversed": {"low": 3, "high": 1},
    "nan": {"low": NAN},
    "outside": {"low": 1e30, "high": 1e31},
    "requires grad": {"requires_grad": True},
    "same": {"low": 1, "high": 1},
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("dtype", MADE)
def test_make_tensor(oracle, dtype, options):
    shape, _ = MADE[dtype]
    made = []
    for m in (tiny_torch, oracle):
        if not hasattr(m, dtype):
            pytest.skip(f"no {dtype}")
        m.manual_seed(3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made.append(
                outcome(
                    lambda m=m: m.testing.make_tensor(
                        *shape, dtype=getattr(m, dtype), device="cpu", **OPTIONS[options]
                    )
                )
            )
    (our_error, ours), (error, theirs) = made
    assert type(our_error) is type(error), f"{our_error!r}, PyTorch {error!r}"
    for mine, its in zip(ours, theirs, strict=True):
        compare(mine, its, dtype, ulps=0)
        assert mine.requires_grad == its.requires_grad
