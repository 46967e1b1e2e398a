"""What op classes say of themselves is what its readers know."""

from __future__ import annotations

import re

from tiny_torch.amp.policies import FUNCTIONS, policy_key
from tiny_torch.autograd._profiler.costs import COSTS
from tiny_torch.autograd.graph import Op
from tiny_torch.autograd.record import aten_name
from tiny_torch.ops.nn.padding import CIRCULAR, REFLECT, REPLICATE, PadFromInput
from tiny_torch.ops.nn.pool import AdaptiveAvgPool, AvgPool, MaxPool, MaxPoolWithIndices


def ops():
    found = [Op]
    for op in found:
        found += op.__subclasses__()
    return [op for op in found if op.__module__.startswith("tiny_torch.")]


def test_words_are_known():
    for op in ops():
        assert op.cost in ("", *COSTS), op
        assert callable(op.autocast) or op.autocast in ("", *FUNCTIONS), op
        assert re.fullmatch(r"aten::\w+", aten_name(op, False, 43)), op


def test_policies_that_follow_from_the_arguments():
    for op in (MaxPool, MaxPoolWithIndices, AvgPool, AdaptiveAvgPool):
        said = [policy_key(op, (None, (2,) * dims, None)) for dims in (1, 2, 3)]
        assert said == ["", "", "float32 on cpu"]
    listed = [
        (mode, dims)
        for mode in (REFLECT, REPLICATE, CIRCULAR)
        for dims in (1, 2, 3)
        if policy_key(PadFromInput, (None, mode, ((0,) * dims,), False))
    ]
    assert listed == [(REFLECT, 1), (REFLECT, 2), *[(REPLICATE, dims) for dims in (1, 2, 3)]]


def test_an_op_in_place_has_the_name_of_pytorchs_function():
    op = next(op for op in ops() if op.__name__ == "HardtanhInPlace")
    assert aten_name(op, True) == "aten::hardtanh_"
