"""Small facts of many names: expressions that in both packages have one value, or one error.

Statements may stand before the expression. Tensors are compared in value, dtype and strides.
"""

# ruff: noqa: E501 -- a fact is one line

from __future__ import annotations

import ast
import warnings

import numpy as np
import pytest

import tiny_torch

FACTS = """
torch.hann_window(-1)
torch.hann_window(1, dtype=torch.int64)
torch.hann_window(0)
torch.hann_window(1)
torch.hann_window(4.0)
torch.hann_window(True)
torch.hann_window(4, periodic=0)
torch.hann_window(3, requires_grad=True).requires_grad
torch.hann_window(3, pin_memory=True)
torch.hamming_window(4, alpha=0.5)
torch.hamming_window(4, True, None)
torch.hamming_window(4, periodic=False, alpha=1).shape
torch.kaiser_window(4, beta=5.0)
torch.kaiser_window(4, True, beta=5).shape
torch.kaiser_window(1, False)
torch.kaiser_window(4, dtype=torch.int32)
torch.bartlett_window(5, False)
torch.bartlett_window(4, dtype=torch.float64)
torch.range(1, 4)
torch.range(4)
torch.range(end=4)
torch.range(0, 1, 0.3)
torch.range(0.1, 0.9, 0.1)
torch.range(1, 1)
torch.range(4, 1)
torch.range(4, 1, -1)
torch.range(1, 4, 0)
torch.range(0, 3, True)
torch.range(0, math.inf)
torch.range(3, math.nan)
torch.range('a', 3)
torch.range(1, 4, dtype=torch.int64)
torch.range(1, 4, dtype=torch.bool)
torch.range(0, 3, dtype=torch.float16)
torch.range(0.5, 3.7, dtype=torch.int64)
torch.range(-2.7, 2.7, dtype=torch.int64)
torch.range(0, 3, 2.5, dtype=torch.int32)
torch.range(torch.tensor(1), 4)
torch.range(1, 4, requires_grad=True)
torch.range(1, 4, out=torch.ones(2))
torch.range(0, 3, out=torch.ones(4, dtype=torch.int32))
torch.range(0, 1e30)
torch.arange(0, 1, 0)
torch.arange(0, 1, 0.5, dtype=torch.int64)
torch.arange(0, 1, 1e-320)
torch.arange(0, 1, 1e-300)
torch.arange(torch.ones((), requires_grad=True))
torch.linspace(torch.tensor(math.nan), 3, 0, dtype=torch.int64)
torch.linspace(torch.tensor(math.nan), 3, 1, dtype=torch.int64)
torch.linspace(3, math.nan, 1, dtype=torch.int32)
torch.linspace(3, math.nan, 2, dtype=torch.uint8)
torch.logspace(0, 1e30, 5, dtype=torch.int64)
torch.linspace(torch.ones((), requires_grad=True), 2, 3)
torch.scalar_tensor(torch.ones((), requires_grad=True))
torch.full((2,), torch.ones((), requires_grad=True))
torch.tensor([torch.tensor([True, False]), torch.tensor([True, True])])
torch.tensor([torch.ones(2), 1.0])
torch.tensor([torch.ones(1), 2.0])
torch.tensor([torch.ones(1), 0.5], dtype=torch.bool)
torch.tensor([torch.ones(2)], dtype=torch.bool)
torch.set_num_threads('a')
torch.set_num_threads(1.5)
torch.set_num_threads(True)
torch.set_num_threads(0)
torch.set_num_threads(num=1)
torch.is_tensor(obj=3)
torch.is_tensor(3)
torch.can_cast(from_=torch.float32, to=torch.int32)
torch.can_cast(torch.int32)
torch.promote_types(type1=torch.float16, type2=torch.int32)
torch.promote_types(torch.int8, 3)
torch.float16.to_real()
torch.set_default_tensor_type('nonsense')
torch.set_default_tensor_type('torch.Nonsense')
torch.set_default_tensor_type('')
torch.set_default_tensor_type('math.pi')
torch.ones(2).__setstate__(())
torch.ones(2).__setstate__((1, 2, 3))
torch.ones(1).expand(3).zero_()
torch.ones(1).expand(3).fill_(2)
torch.ones(2, 1).expand(2, 3).data.fill_(2)
torch.ones(1).expand(3).fill_(torch.tensor(2.0))
torch.ones(1).expand(3).copy_(torch.ones(3))
torch.ones(1).expand(3).add_(1)
torch.ones(0, 1).expand(0, 3).zero_()
torch.ones(1, dtype=torch.bool).expand(3).zero_()
a = torch.ones(2, requires_grad=True); a.sum().backward(); del a.grad; a.grad
a = torch.ones(2); del a.requires_grad
a = torch.ones(2); a.requires_grad = 'a'
a = torch.ones(2); a.requires_grad = 1
a = torch.ones(2, dtype=torch.int32); a.requires_grad = False; a
torch.ones(2).requires_grad_(1)
torch.autograd.Variable(torch.ones(2), requires_grad=True)
torch.autograd.Variable(torch.ones(2), True).requires_grad
torch.autograd.Variable(torch.ones(2, requires_grad=True)).requires_grad
torch.autograd.Variable(torch.ones(2, dtype=torch.int64), requires_grad=True)
torch.autograd.Variable(3)
torch.autograd.Variable()
torch.autograd.Variable(torch.ones(2), requires_grad='a')
isinstance(torch.ones(2), torch.autograd.Variable)
torch.cuda.manual_seed('a')
torch.cuda.manual_seed_all(None)
torch.cuda.set_device('cuda')
torch.cuda.set_device('cpu')
torch.cuda.OutOfMemoryError is torch.OutOfMemoryError
type(torch.backends.cudnn).__name__
torch.backends.cudnn.benchmark = 1
torch.backends.cudnn.enabled = 'a'
a = torch.ones(3, 4).t().requires_grad_(); z = a * 2; z.retain_grad(); (z * z).sum().backward(); z.grad
a = torch.ones(3, 4).t().requires_grad_(); z = a * 2; z.retain_grad(); (z * z).sum().backward(); a.grad
type((torch.ones(2, requires_grad=True) * 2).grad_fn).__name__
type((torch.ones(2, requires_grad=True) * 2).exp().grad_fn.next_functions[0][0]).__name__
isinstance((torch.ones(2, requires_grad=True) * 2).grad_fn, torch.autograd.graph.Node)
a = torch.ones(2, requires_grad=True); z = a.exp(); z.grad_fn; z.sum().backward(); a.grad
torch.gradient(torch.tensor([1.0, 4.0, 9.0]), spacing=None)[0]
torch.gradient(torch.tensor([100, -100, 100, 3], dtype=torch.int8), edge_order=2)[0]
torch.gradient(torch.tensor([0.1, 0.1, 0.1, 0.1]), spacing=0.3, edge_order=2)[0]
torch.gradient(torch.tensor([3, -5, 7, 1]), spacing=(torch.tensor([3, 60, 100, -90], dtype=torch.int8),))[0]
torch.gradient(torch.tensor([3, -5, 7, 1]), spacing=(torch.tensor([0.1, 0.2, 0.4, 0.9]),), edge_order=2)[0]
torch.func.jacrev(lambda a: a.exp())(torch.tensor(1.0))
torch.func.jacfwd(lambda a: a.exp())(torch.tensor(1.0))
torch.func.hessian(lambda a: a.exp())(torch.tensor(1.0))
torch.autograd.gradcheck(lambda a: a * a, torch.ones(2, dtype=torch.bfloat16, requires_grad=True), raise_exception=False)
torch.nn.functional.cross_entropy(torch.randn(3, 2, 4, 4), torch.rand(2, 4, 4))
torch.nn.functional.cross_entropy(torch.randn(3, 2), torch.rand(3))
torch.nn.functional.nll_loss(torch.randn(3, 2), torch.rand(2), torch.ones(3))
torch.func.vjp(torch.sin, torch.ones(2))[1](torch.ones(2), torch.ones(2))
torch.func.vjp(lambda x: (x, x), torch.ones(2))[1]((torch.ones(2), torch.ones(2)), True)
torch.ones(6).unflatten(0, (4, -1))
torch.constant_pad_nd(torch.ones(2, 3), [1, -1, 0, 1], 2)
torch.affine_grid_generator(torch.eye(2, 3)[None], (1, 1, 2, 2), False)
torch.stack([torch.grid_sampler(torch.arange(4.0).view(1, 1, 2, 2), torch.full((1, 1, 1, 2), 0.9), m, p, c) for m in range(3) for p in range(3) for c in (True, False)]).round(decimals=4)
torch.native_layer_norm(torch.arange(6.0).view(2, 3), (3,), None, None, 1e-5)
torch.native_layer_norm(torch.arange(6).view(2, 3).half(), (2, 3), torch.ones(2, 3).half(), None, 1e-5)[1]
m, v = torch.zeros(3), torch.ones(3); (*torch.native_batch_norm(torch.arange(12.0).view(2, 3, 2), None, None, m, v, True, 0.1, 1e-5), m, v)
torch.native_batch_norm(torch.arange(6.0).view(2, 3), None, None, torch.zeros(3), torch.ones(3), False, 0.1, 1e-5)
[torch.native_dropout(torch.arange(3.0), p, train) for p, train in ((0.0, True), (0.5, False), (1.0, None))]
x = torch.arange(6.0).view(2, 3); x.unsafe_split(2, -1)[0].zero_(); torch.unsafe_chunk(x, 2)[1].add_(1); x.unsafe_split_with_sizes(split_sizes=[1, 2], dim=1)[0].mul_(3); x
torch.unsafe_split(torch.ones(3), split_size=-1)
x = torch.arange(3.0); x.__idiv__(2) is x, x
torch.arange(3).__idiv__(2)
torch.nn.functional.pad(torch.ones(2, dtype=torch.uint8), (1, 1), value=-1)
torch.nn.functional.pad(torch.ones(2, dtype=torch.uint8), (1, 1), value=255)
torch.nn.functional.pad(torch.ones(2, dtype=torch.int8), (1, 1), value=128)
torch.nn.functional.pad(torch.ones(2, dtype=torch.int64), (1, 1), value=2**70)
torch.nn.functional.pad(torch.ones(2), (1, 1), value=2**70)
torch.nn.functional.pad(torch.ones(2), (1, 1), value=True)
torch.nn.functional.pad(torch.ones(2), (1, 1), value='1')
torch.linspace(0, 1e39, 3)
torch.linspace(0, 1e39, 1)
torch.linspace(1e39, 0, 0)
torch.linspace(0, 1e39, 3, dtype=torch.float64)
torch.linspace(torch.tensor(1e39, dtype=torch.float64), 3, 3)
torch.linspace(0, 1e6, 3, dtype=torch.float16)
torch.linspace(0, 2**65, 3, dtype=torch.float64)
torch.linspace(-1, 3, 3, dtype=torch.uint8)
torch.linspace(-1.0, 3, 3, dtype=torch.uint8)
torch.logspace(0, 1e39, 3)
torch.logspace(-1, 3, 3, dtype=torch.uint8)
torch.isin(torch.ones(2), True)
torch.isin(False, torch.ones(2, dtype=torch.uint8))
a = torch.zeros(2); a.set_()
a = torch.zeros(2); y = torch.arange(6.0); a.set_(y[2:5]); y.add_(1); a
a = torch.zeros(2); y = torch.arange(6.0); a.set_(y.view(2, 3).t()); a
a = torch.zeros(2); y = torch.arange(6.0); a.set_(y.storage()); a
a = torch.zeros(2); y = torch.arange(6.0); a.set_(y.untyped_storage(), 1, (2, 2)); a
a = torch.zeros(2); y = torch.arange(6.0); a.set_(y.untyped_storage(), 1, (2, 2), (1, 2)); a
a = torch.zeros(2); y = torch.arange(6.0); a.set_(y[1:], 1, (2,), stride=(3,)); a
a = torch.zeros(2); y = torch.arange(6.0); a.set_(y, 5, (3,), (1,)); y.untyped_storage().nbytes() >= 32
a = torch.zeros(2); y = torch.arange(6.0); a.set_(source=y.untyped_storage(), storage_offset=1, size=[]); a
torch.zeros(2).set_(torch.ones(2).untyped_storage(), -1, (2,))
torch.zeros(2).set_(torch.ones(2).untyped_storage(), 0, (-2,))
torch.zeros(2).set_(torch.ones(2).untyped_storage(), 0, (2,), (-1,))
torch.zeros(2).set_(torch.ones(2).untyped_storage(), 0, (2, 1), (1,))
torch.zeros(2).set_(torch.ones(2).untyped_storage(), 1)
torch.zeros(2).set_(torch.arange(4))
torch.zeros(2).set_(torch.arange(4).storage())
torch.zeros(2).set_(torch.arange(4).untyped_storage())
torch.zeros(2).set_(None)
torch.zeros(2).set_(1)
torch.ones(2, requires_grad=True).set_(torch.zeros(3))
a = torch.ones(2, requires_grad=True); a.data.set_(torch.zeros(3)); a
a = torch.zeros(2); a.set_(torch.ones(2, requires_grad=True)); a.requires_grad
a = torch.zeros(2); a.set_(torch.ones(2, requires_grad=True)); a.sum().backward()
a = torch.ones(2, requires_grad=True); b = torch.ones(2); y = (a * b).sum(); b.set_(torch.ones(2)); y.backward()
a = torch.arange(4.0); v = a[1:]; v.set_(torch.zeros(2)); v._base is a
a = torch.arange(4.0); [a.is_set_to(x) for x in (a, a.detach(), a.view(4), a.view(2, 2), a[1:], a.clone())]
torch.ones(2).is_set_to(3)
torch.nn.functional.max_pool2d(torch.arange(16.0).view(1, 1, 4, 4), 2**31 - 1, ceil_mode=True)
torch.nn.functional.max_pool3d(torch.arange(8.0).view(1, 1, 2, 2, 2), 2**31 - 1, ceil_mode=True, return_indices=True)[1]
torch.nn.functional.max_pool2d(torch.arange(16.0).view(1, 1, 4, 4), 2**30, 2**29, 2**29)
torch.nn.functional.max_pool2d(torch.arange(16.0).view(1, 1, 4, 4), 2, 2**31 - 1)
torch.nn.functional.max_pool2d(torch.arange(16.0).view(1, 1, 4, 4), 1, 1, 0, 2**31 - 1)
a = torch.ones(1, 1, 4, 4, requires_grad=True); torch.nn.functional.max_pool2d(a, 2**30, 1, 2**29).sum().backward(); a.grad
a = torch.arange(16.0).view(1, 1, 4, 4).requires_grad_(); torch.nn.functional.max_pool2d(a, (5, 3), (2, 1), (2, 1)).sum().backward(); a.grad
torch.nn.functional.avg_pool2d(torch.arange(16.0).view(1, 1, 4, 4), 2**31 - 1, ceil_mode=True)
torch.nn.functional.avg_pool2d(torch.arange(16.0).view(1, 1, 4, 4), 2**31, ceil_mode=True)
torch.nn.functional.conv2d(torch.ones(1, 3, 4, 4), torch.ones(3, 3, 3, 3), stride=(2**63 - 1, 2), padding=2)
torch.nn.functional.conv3d(torch.ones(1, 1, 4, 4, 4), torch.ones(1, 1, 4, 4, 4), stride=(2, 2**62, 2))
torch.nn.functional.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 1), dilation=2**63 - 1)
torch.nn.functional.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 2), dilation=2**61, padding=2**60, stride=2**59)
torch.nn.functional.conv2d(torch.ones(1, 1, 6, 6), torch.ones(1, 1, 3, 3), None, *[(2**63 - 1) // 3] * 3)
torch.nn.functional.conv1d(torch.ones(1, 1, 4).long(), torch.ones(1, 1, 1).long(), stride=2**62, padding=2**50)
a = torch.arange(4.0).view(1, 1, 4).requires_grad_(); torch.nn.functional.conv1d(a, torch.ones(1, 1, 2), stride=2**40, padding=1).sum().backward(); a.grad
a = torch.ones(1, 1, 2, requires_grad=True); torch.nn.functional.conv1d(torch.arange(4.0).view(1, 1, 4), a, stride=2**40, padding=1).sum().backward(); a.grad
torch.nn.functional.conv_transpose1d(torch.arange(2.0).view(1, 1, 2), torch.ones(1, 1, 3), stride=50, bias=torch.ones(1))
torch.nn.functional.unfold(torch.ones(1, 1, 4, 4), 2, stride=2**62)
torch.chunk(torch.ones(3), 2**62)[1]
torch.nn.functional.pixel_shuffle(torch.ones(1, 4, 2, 2), 2**32)
torch.tensor_split(torch.arange(3), (2**62, 2**63 - 1))
x = torch.tensor([[1., -2.]], requires_grad=True); [y is x for y in (x.real, torch.real(x), x.conj(), torch.conj(x), x.resolve_conj(), torch.resolve_conj(x))]
x = torch.tensor([1, -2]); [y is x for y in (x.resolve_neg(), torch.resolve_neg(x), x.conj_physical(), torch.conj_physical(x))]
torch.conj_physical(torch.ones(2), out=torch.zeros(2))
torch.conj_physical(torch.ones(2), out=torch.zeros(2, dtype=torch.int64))
x = torch.ones(2); x.is_complex(), torch.is_complex(x), x.is_conj(), torch.is_conj(x), x.is_neg(), torch.is_neg(x)
torch.isreal(torch.tensor([[1, math.nan], [math.inf, 0]]).t())
torch.ones(2, requires_grad=True).isreal()
torch.ones(2).imag
torch.imag(torch.ones(2))
hasattr(torch.ones(2), 'imag')
torch.imag(1)
torch.real(1)
torch.conj(1)
torch.isreal(1)
torch.angle(1)
torch.angle(torch.tensor([[1., -2.], [0., -0.], [math.inf, -math.inf]]).t())
torch.angle(torch.tensor([math.nan, 1.])).isnan()
torch.angle(torch.tensor([3, -3, 0]))
torch.tensor([True, False]).angle()
torch.tensor([2, 0], dtype=torch.uint8).angle()
torch.tensor([1., -1.], dtype=torch.float16).angle()
torch.angle(torch.ones(2), out=torch.zeros(2, dtype=torch.float64))
torch.angle(torch.ones(2), out=torch.zeros(2, dtype=torch.int64))
x = torch.tensor([1., -2., 0.], requires_grad=True); y = x.angle(); y.backward(torch.tensor([1., math.inf, math.nan])); type(y.grad_fn).__name__, x.grad
x = torch.ones(2, 3, requires_grad=True); y = x.mH * 2; y.sum().backward(); x.grad
x = torch.arange(24.).view(2, 3, 4); x.adjoint()
x = torch.ones(2, 3); x.H.zero_(); x
x = torch.ones(2, 3, requires_grad=True); type(torch.adjoint(x).grad_fn).__name__, torch.adjoint(x)._base is x
torch.ones(2).adjoint()
torch.adjoint(torch.ones(2))
torch.tensor(3.).adjoint()
torch.tensor(3.).mH
torch.tensor(3.).H
""".strip().split("\n")


def outcome(module, fact):
    """What an expression gives, or the name of its exception."""
    names = {"torch": module, "math": __import__("math")}
    tree = ast.parse(fact)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            last = tree.body[-1]
            if not isinstance(last, ast.Expr):
                exec(compile(tree, "<fact>", "exec"), names)
                return "nothing"
            exec(compile(ast.Module(tree.body[:-1], []), "<fact>", "exec"), names)
            value = eval(compile(ast.Expression(last.value), "<fact>", "eval"), names)
    except Exception as error:
        return type(error).__name__
    if isinstance(value, module.Tensor):
        numbers = value.detach().double().numpy()
        return str(value.dtype), value.stride(), value.requires_grad, np.array(numbers).tolist()
    return str(value)


@pytest.mark.parametrize("fact", FACTS)
def test_facts(oracle, fact):
    assert outcome(tiny_torch, fact) == outcome(oracle, fact)
