"""Facts of what ops do to each other: programs of a line that print the same in both packages.

The last statement is an expression; of an exception, its type counts.
"""

# ruff: noqa: E501 -- a program is one line

from __future__ import annotations

import ast
import warnings

import numpy as np
import pytest

import tiny_torch

GRADIENTS = """
x = torch.tensor([0.5, nan, inf], requires_grad=True); [grad(getattr(torch, f)(x), x, torch.tensor([inf, nan, 1]))[0] for f in ('sign', 'sgn', 'floor', 'ceil', 'trunc', 'round', 'frac')]
x = torch.tensor([0.5, nan, inf], requires_grad=True); grad(x.round(decimals=1), x, torch.tensor([inf, nan, 1]))
x = torch.tensor([0.5, 2, 3], requires_grad=True); grad(torch.div(x, x, rounding_mode='floor'), x, torch.tensor([inf, nan, 1]))
x = torch.tensor([0.5, 2, 3], requires_grad=True); grad(x ** 0, x, torch.tensor([inf, nan, 1]))
x = torch.tensor([2.0, 3], requires_grad=True); g = grad((x ** 2).sum(), x, create_graph=True)[0]; h = grad(g.sum(), x, create_graph=True)[0]; g, h, grad(h.sum(), x)
x = torch.tensor([0.5, 2, 3], requires_grad=True); y = x * 1; y.eq_(1); grad(y, x, torch.tensor([inf, nan, 1]))
x = torch.tensor([-0.5, 2, 4], requires_grad=True); grad(x.ceil().log10().sum(), x)
x = torch.tensor([1.8, 0, -1], requires_grad=True); grad(torch.xlogy(x, torch.tensor([0, 3, 0])), x, torch.zeros(3))
x = torch.tensor([1.8, 0, -1], requires_grad=True); [grad(torch.xlogy(x, k).sum(), x)[0] for k in (0, 2, 0.5, -1)]
x = torch.tensor([1.8, 0, -1], requires_grad=True); [grad(torch.xlogy(k, x).sum(), x)[0] for k in (0, 2, 0.5, -1)]
x = torch.tensor([1.8, 0, -1], requires_grad=True); grad(torch.xlogy(x, torch.tensor([0.0, -1, 2])).sum(), x)
x = torch.tensor([1.8, 0, -1], requires_grad=True); y = x * 1; y.xlogy_(0.5); grad(y.sum(), x)
x = torch.tensor([1000.0, -inf, 2], requires_grad=True); y = torch.tensor([-1000.0, 1, inf], requires_grad=True); [grad(f(x, y).sum(), (x, y)) for f in (torch.logaddexp, torch.logaddexp2)]
x = torch.tensor([[1.0, 3, 3], [0, 2, -1]], requires_grad=True); [grad(getattr(x, f)(), x, torch.tensor(inf))[0] for f in ('max', 'min', 'median', 'nanmedian')]
""".strip().split("\n")

WRITES = """
x = torch.tensor([1.5, 2, 3], requires_grad=True); y = x * 1; z = y.round(); y.add_(1); grad(z.sum(), x)
x = torch.tensor([1.5, 2, 3], requires_grad=True); y = x * 1; z = y.deg2rad() + y.rad2deg(); y.add_(1); grad(z.sum(), x)
x = torch.tensor([1.5, 2, 3], requires_grad=True); y = torch.logaddexp(x, x * 2); y.mul_(2); grad(y.sum(), x)
x = torch.tensor([0.5, 0.2, 0.3], requires_grad=True); y = x.erfinv(); y.mul_(2); grad(y.sum(), x)
x = torch.ones(3, requires_grad=True); v = torch.zeros(3, dtype=torch.int64); v[...] = x; v, v.requires_grad, v.is_leaf
x = torch.ones(3, requires_grad=True); v = torch.zeros(3, dtype=torch.bool); v[0] = x[1]; v.numpy()
x = torch.ones(3, requires_grad=True); v = torch.zeros(3, dtype=torch.int64); v[1:].copy_(x[:2]); v, v.requires_grad
x = torch.ones(3, requires_grad=True) * 2; v = x.view(torch.int32); v[0] = 0; v.requires_grad, x.requires_grad
""".strip().split("\n")

OUT = """
torch.arange(3, out=torch.ones(3, requires_grad=True))
torch.linspace(0, 1, 3, out=torch.ones(3, requires_grad=True))
torch.zeros(3, out=torch.ones(3, requires_grad=True))
torch.rand(3, out=torch.ones(3, requires_grad=True))
torch.sum(torch.ones(2), 0, out=torch.ones((), requires_grad=True))
torch.cumsum(torch.ones(3, requires_grad=True), 0, out=torch.ones(3))
p = torch.ones(3, requires_grad=True); torch.cumsum(p.detach(), 0, out=p.data); p
p = torch.ones(3, requires_grad=True); torch.set_grad_enabled(False); torch.cumsum(p, 0, out=p)
p = torch.ones(3, requires_grad=True); torch.set_grad_enabled(False); torch.cat([p, p], out=p * 2)
p = torch.ones(3, requires_grad=True); torch.set_grad_enabled(False); torch.stack([p, p], out=torch.ones(0))
p = torch.ones(4, requires_grad=True); torch.set_grad_enabled(False); torch.manual_seed(0); torch.rand(4, out=p).detach()
""".strip().split("\n")

ODD = """
m = nn.Linear(1, 1); m._register_load_state_dict_pre_hook(lambda state, prefix, *rest: state.update(weight=state.pop('w'))); m.load_state_dict({'w': torch.ones(1, 1), 'bias': torch.ones(1)}), m.weight
x = torch.ones(3); del x[0]
torch.ones(2).sum(dim='a')
torch.ones(0, 0).max(1)
torch.meshgrid(torch.arange(2), torch.arange(3), indexing=None)
torch.empty(3, 0, 1, dtype=torch.int64) % torch.arange(6), torch.empty(0, dtype=torch.int64) // 0
torch.empty(0, dtype=torch.int64).fmod_(0)
torch.ones(2, dtype=torch.int64) % 0
x = torch.ones(2, 3, 4); y = F.pad(x, (-1, 0)); y.zero_(); x.sum(), y.stride(), F.pad(x, (1, 1, -1, -1)).stride()
x = torch.ones(1, 2, 4, 4).to(memory_format=torch.channels_last); F.pad(x, (-1, 0)).stride()
x = torch.ones(4).as_strided((1, 1, 4), (9, 9, 1)); x.view(1, 1, 4).stride(), x.reshape(1, 1, 4).stride(), x.view_as(x).stride()
x = torch.ones(2, 4)[:, None, ::2]; x.view(2, 1, 2).stride(), torch.empty(0, 3).t().view(3, 0).stride()
""".strip().split("\n")
WARNINGS = """
float(torch.ones(1, requires_grad=True))
torch.no_grad()(float)(torch.ones(1, requires_grad=True))
'%.3f' % torch.ones((), requires_grad=True)
torch.ones((), requires_grad=True).item(), int(torch.ones((), requires_grad=True)), float(torch.ones(1))
torch.ones(2, 3, 4).T
torch.ones(3).T
torch.ones(2, 3).T
torch.ones(()).T
torch.meshgrid(torch.arange(2), torch.arange(3))
torch.meshgrid(torch.arange(2), torch.arange(3), indexing='xy')
""".strip().split("\n")


def outcome(module, program):
    """What the last expression prints, or its exception."""
    names = {"torch": module, "nn": module.nn, "F": module.nn.functional, "np": np}
    names.update(grad=module.autograd.grad, inf=float("inf"), nan=float("nan"))
    tree = ast.parse(program)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(ast.Module(tree.body[:-1], []), "<program>", "exec"), names)
            value = eval(compile(ast.Expression(tree.body[-1].value), "<program>", "eval"), names)
            return str(value).replace("tiny_torch", "torch")
    except Exception as error:
        return type(error).__name__
    finally:
        module.set_grad_enabled(True)


@pytest.mark.parametrize("program", GRADIENTS + WRITES + OUT + ODD)
def test_between(oracle, program):
    assert outcome(tiny_torch, program) == outcome(oracle, program)


def warned(module, program):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        eval(program, {"torch": module})
    return [(w.category, str(w.message).split(" (Triggered")[0]) for w in caught]


@pytest.mark.parametrize("program", WARNINGS)
def test_warnings(oracle, program):
    oracle.set_warn_always(True)  # else PyTorch tells of some once in a process
    assert warned(tiny_torch, program) == warned(oracle, program)
    oracle.set_warn_always(False)
