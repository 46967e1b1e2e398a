"""Cross-entropy under autocast: that of float32, without a float32 copy of the logits."""

import itertools

import pytest

import tiny_torch as torch
from tiny_torch.utils import memory

F = torch.nn.functional
HALVES = (torch.bfloat16, torch.float16)
SIZES = ((7, 11), (64, 300), (3, 5000), (2, 5, 3), (4, 1, 2))


def logits_of(module, shape, dtype):
    module.manual_seed(0)
    return (module.randn(*shape) * 3).to(dtype).requires_grad_()


def classes_of(module, shape):
    target = module.arange(shape[0]).view(-1, *(1 for _ in shape[2:])).expand(shape[0], *shape[2:])
    target = target * 7 % shape[1]
    target[0] = -100
    return target


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("smoothing", [0, 0.1])
@pytest.mark.parametrize("shape", SIZES, ids=str)
def test_it_has_the_bits_of_a_copy_in_float32(shape, smoothing, dtype):
    target, weight = classes_of(torch, shape), torch.rand(shape[1])
    for reduction, w in itertools.product(("mean", "sum", "none"), (None, weight)):
        options = {"reduction": reduction, "weight": w, "label_smoothing": smoothing}
        x, y = logits_of(torch, shape, dtype), logits_of(torch, shape, dtype)
        with torch.autocast("cpu", dtype=dtype):
            loss = F.cross_entropy(x, target, **options)
        expected = F.cross_entropy(y.float(), target, **options)
        assert loss.dtype == torch.float32 and torch.equal(loss, expected)
        loss.sum().backward()
        expected.sum().backward()
        assert x.grad.dtype == dtype and torch.equal(x.grad, y.grad)


def test_logits_that_lie_across_and_gradients_of_gradients():
    x = logits_of(torch, (5, 9), torch.bfloat16).detach().t().requires_grad_()
    target = torch.arange(9) % 5
    with torch.autocast("cpu"):
        (slope,) = torch.autograd.grad(F.cross_entropy(x, target), x, create_graph=True)
    (wide,) = torch.autograd.grad(F.cross_entropy(x.float(), target), x, create_graph=True)
    torch.testing.assert_close(slope, wide)
    found, expected = (torch.autograd.grad(s.float().square().sum(), x)[0] for s in (slope, wide))
    torch.testing.assert_close(found, expected)


def test_no_copy_of_the_logits_is_made():
    x, target = logits_of(torch, (512, 1000), torch.bfloat16), torch.arange(512)
    with torch.autocast("cpu"), memory.record(holders=False) as recording:
        F.cross_entropy(x * 1, target).backward()
    most = max(block.bytes for block in recording.blocks)
    assert most == x.numel() * 2


@pytest.mark.parametrize("weight", ["float32", "bfloat16", "float64", None])
@pytest.mark.parametrize("half", [True, False])
def test_weights_of_another_dtype_are_taken_where_pytorch_casts_them(oracle, weight, half):
    def call(module):
        x = module.ones(3, 4, dtype=module.bfloat16)
        w = weight and module.full((4,), 2.0, dtype=getattr(module, weight))
        with module.autocast("cpu", enabled=half):
            loss = module.nn.functional.cross_entropy(x, module.tensor([0, 1, 2]), w)
        return str(loss.dtype), loss.item()

    def outcome(module):
        try:
            return call(module)
        except RuntimeError as error:
            return str(error)

    assert outcome(torch) == outcome(oracle)
