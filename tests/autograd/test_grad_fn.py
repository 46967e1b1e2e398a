"""What grad_fn is called: PyTorch's names, also where one op of ours is several of its own."""

from __future__ import annotations

import pytest
from helpers import leaf

import tiny_torch

RESULTS = {
    "sums": lambda t, x, v, s, b, m: [x.sum(), x.sum(0), x.mean(), x.mean((0, 1)), x.prod(1)],
    "extremes": lambda t, x, v, s, b, m: [x.max(), x.min(), x.amax(), x.max(0)[0]],
    "products": lambda t, x, v, s, b, m: [
        x @ x, x @ v, v @ x, v @ v, b @ b, t.bmm(b, b), x.mv(v), v.dot(v), b @ x,
    ],
    "linear layers": lambda t, x, v, s, b, m: [
        t.nn.functional.linear(*a) for a in ((x, x), (x, x, v), (b, x), (b, x, v), (v, x), (x, v))
    ],
    "powers": lambda t, x, v, s, b, m: [x**2, x**x, 2**x, x.square(), x**s, s.detach() ** x],
    "with a number or a tensor": lambda t, x, v, s, b, m: [
        x % 2, x % x, x.fmod(2), x.fmod(x), x.clamp(0, 1), x.clamp(s, s), x.clamp(max=s),
        x.clamp(s), x.lerp(x, 0.5), x.lerp(x, s), x.masked_fill(m, 1.0), x.masked_fill(m, s),
    ],
    "copies": lambda t, x, v, s, b, m: [
        x.double(), x.t().contiguous(), x.clone(), x.t().reshape(-1), x.reshape(-1), x.norm(),
    ],
    "squeezes": lambda t, x, v, s, b, m: [x.squeeze(), x[None].squeeze(0), x[None].squeeze(-3)],
    "written": lambda t, x, v, s, b, m: [
        (x * 1).copy_(x), (x * 1).fill_(2), (x * 1).mul_(x), (x * 1)[0].mul_(2)._base,
        (x * 1).sub_(1), (x * 1).pow_(x),
    ],
    "written views": lambda t, x, v, s, b, m: [(x * 1)[0].mul_(2), (x * 1).unbind()[0]],
}  # fmt: skip


@pytest.mark.parametrize("case", RESULTS)
def test_names(oracle, case):
    def results(torch):
        x = leaf(torch, 0.1, 0.2, 0.3, 0.4).detach().reshape(2, 2).clone().requires_grad_()
        v, s, b = leaf(torch, 0.5, 0.6), torch.tensor(0.5, requires_grad=True), torch.stack([x, x])
        m = torch.tensor([[True, False], [True, True]])
        return RESULTS[case](torch, x, v, s, b, m)

    for ours, theirs in zip(results(tiny_torch), results(oracle), strict=True):
        assert ours.grad_fn.name() == theirs.grad_fn.name()
        printed = [repr(t).rpartition("grad_fn=")[2].rstrip(")") for t in (ours, theirs)]
        assert printed[0] == printed[1]


def test_a_name_after_backward(torch):
    x = leaf(torch, 1.0, 2.0).reshape(1, 2)
    y = (x @ x.t()).sum()
    node = y.grad_fn.next_functions[0][0]
    y.backward()
    assert node.name() == "MmBackward0" and y.grad_fn.name() == "SumBackward0"
