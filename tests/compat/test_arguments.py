"""Arguments of another kind, in each place of a fitting call (argument_calls.py)."""

from __future__ import annotations

import numpy as np
import pytest
from argument_calls import Package, changed, flags, tensors

import tiny_torch

pytestmark = pytest.mark.torch


def report(found: list[tuple]) -> str:
    return "\n".join(" | ".join(parts) for parts in found)


FLAGS = (
    "1", "0", "2", "None", "'x'", "np.bool_(True)", "np.bool_(False)", "torch.tensor(True)",
    "torch.tensor(1)",
)  # fmt: skip
# Flags that a stand-in, an old name or Python code of PyTorch reads otherwise.
OTHER_FLAGS = (
    "embedding_bag",  # which looks only at some of them, by the shape of the input
    "use_separate_proj_weight", "is_causal",  # which ask for other arguments
    "torch.func.", "autograd.functional", "torch.normal(", "assert_close",
)  # fmt: skip


def test_a_flag_is_true_or_false(oracle):
    """An int, None, a string or a tensor in a flag's place is taken or refused as by PyTorch."""
    ours, theirs, found = Package(tiny_torch), Package(oracle), []
    count = 0
    for call, place in flags():
        for value in FLAGS:
            text = changed(call, place, value)
            if any(word in text for word in OTHER_FLAGS):
                continue
            count += 1
            kinds = ours.run(text)[0], theirs.run(text)[0]
            if kinds[0] != kinds[1]:
                found.append((text, *kinds))
    assert not found, report(found)
    assert count > 1000


WRONG = ("'abc'", "[1.5, 2.5]", "['a']", "None", "3", "2.5", "np.ones(3)", "object()")
OTHER_TENSORS = (  # of several signatures, which take more, or PyTorch's own words of another type
    "nn.GRU", "cumulative_trapezoid", "new_tensor", "result_type", "clamp_m", "torch.normal(",
    "pack_padded_sequence(x, ", "torch.func.", "x.to(", "distributions", "init.",
    "unpad_sequence(np.ones",
)  # fmt: skip


def test_what_is_no_tensor_is_refused(oracle):
    """By a TypeError; else as PyTorch, whose own code met an AttributeError inside."""
    ours, theirs, found = Package(tiny_torch), Package(oracle), []
    count = 0
    for call, place in tensors():
        for value in WRONG:
            text = changed(call, place, value)
            if any(word in text for word in OTHER_TENSORS):
                continue
            count += 1
            kind, (wanted, said) = ours.run(text)[0], theirs.run(text)
            if kind not in ("TypeError", wanted) and "is not callable" not in said:
                found.append((text, kind, wanted))
    assert not found, report(found)
    assert count > 2000


TRUTHS = """
F.mse_loss(x, x + 1, size_average=0)
F.mse_loss(x, x + 1, size_average=np.bool_(False))
F.l1_loss(x, x + 1, reduce=0)
F.cross_entropy(m, k[0, :4], reduce=torch.tensor(0))
nn.L1Loss(size_average=0)(x, x + 1)
nn.NLLLoss(reduce=np.bool_(False))(m, k[0, :4])
nn.MSELoss(torch.tensor(0.0))(x, x + 1)
nn.CrossEntropyLoss(m, k)
nn.MSELoss(m, n)
nn.NLLLoss('abc')
nn.Parameter(x, 1)
nn.Parameter(x, None)
x.mean(2, 3)
F.batch_norm(x, None, w[:4])
F.batch_norm(x, w[:4], None, training=True)
""".strip().split("\n")


@pytest.mark.parametrize("text", TRUTHS)
def test_truth_of_old_flags(oracle, text):
    """`size_average` and `reduce` are read by their truth, which some tensors do not have."""
    (kind, ours), (wanted, theirs) = Package(tiny_torch).run(text), Package(oracle).run(text)
    assert kind == wanted
    if kind == "taken":
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5)
    else:
        assert ours.startswith(theirs)
