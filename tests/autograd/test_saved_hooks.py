"""saved_tensors_hooks and save_on_cpu: facts about PyTorch, each asked of PyTorch, too."""

from __future__ import annotations

import pytest
from helpers import leaf


def test_hooks_on_what_is_saved(torch):
    order = []

    def pack(x):
        order.append(("pack", x.tolist()))
        return x.tolist()

    def unpack(values):
        order.append("unpack")
        return torch.tensor(values)

    x = leaf(torch, 2.0, 3.0)
    hooks = torch.autograd.graph.saved_tensors_hooks
    with hooks(pack, unpack):
        y = x.exp() * x
        with hooks(lambda v: v * 0, lambda v: v):
            z = x * x
    y.sum().backward()
    assert sorted(order[:3]) == sorted(("pack", v.tolist()) for v in (x, x.exp(), x.exp()))
    assert order[3:] == ["unpack"] * 3
    assert x.grad.tolist() == (x.exp() * (x + 1)).tolist()
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()
    x.grad = None
    z.sum().backward()
    assert x.grad.tolist() == [0, 0]
    with hooks(lambda v: v, lambda v: 3):
        z = x * x
    with pytest.raises(TypeError, match="expected to be a Tensor"):
        z.sum().backward()
    with torch.autograd.graph.save_on_cpu():
        (first,) = torch.autograd.grad((x * x * x).sum(), x, create_graph=True)
    assert torch.autograd.grad(first.sum(), x)[0].tolist() == [12, 18]


def test_a_pack_hook_sees_leaves_themselves_and_what_other_inputs_came_of(torch):
    seen = []
    x, w = leaf(torch, 2.0, 3.0), torch.nn.Parameter(torch.ones(2))
    with torch.autograd.graph.saved_tensors_hooks(lambda v: seen.append(v) or v, lambda v: v):
        y = (x * 3).sin() * w  # who skips parameters asks for their class
    assert any(v is w for v in seen)
    names = {v.grad_fn.name() for v in seen if v.grad_fn is not None}
    assert "MulBackward0" in names and names <= {"MulBackward0", "SinBackward0"}
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx(((x * 3).cos() * 3).tolist())


def test_hooks_are_disabled(torch):
    graph = torch.autograd.graph
    hooks = graph.saved_tensors_hooks(lambda v: v, lambda v: v)

    def refused(text):
        return pytest.raises(RuntimeError, match=f"^{text}$")

    disable = graph.disable_saved_tensors_hooks
    with disable("outer"):
        with disable("inner"), refused("inner"), hooks:
            pass
        with refused("outer"), graph.save_on_cpu():
            pass
        assert leaf(torch, 1.0).exp().grad_fn._saved_result.tolist() == pytest.approx([2.718282])
    with hooks, refused("around"), disable("around"):
        pass
    with hooks:
        leaf(torch, 1.0).exp().sum().backward()
    with pytest.raises(TypeError), disable(3):
        pass


def test_a_pack_hook_must_not_write(torch):
    x = leaf(torch, 1.0, 2.0)
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda v: v.mul_(2), lambda v: v)
    with hooks, pytest.raises(RuntimeError, match="pack hook is modifying its input in place"):
        x.exp()


@pytest.mark.parametrize("pinned", [False, True])
def test_saved_on_the_cpu(torch, pinned):
    x = leaf(torch, 1.0, 2.0)
    with torch.autograd.graph.save_on_cpu(pin_memory=pinned):
        y = x.cos() * x
    y.sum().backward()
    grad = x.cos() - x.sin() * x
    assert x.grad.tolist() == pytest.approx(grad.tolist())
    kept = leaf(torch, 1.0).exp()
    with torch.autograd.graph.save_on_cpu(pin_memory=pinned):
        z = kept.exp().sin()
    assert torch.autograd.grad(z.sum(), kept)[0].shape == (1,)


def test_values_that_hooks_made_are_not_the_callers_to_lose(torch):
    """A gradient may be written over what an unpack hook answers only if nobody else has it."""
    kept = []

    def unpack(values):
        kept.append(torch.tensor(values))
        return kept[-1]

    x = torch.zeros(2**15, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda v: v.tolist(), unpack):
        y = x.tanh() + 1
    y.sum().backward()
    assert len(kept) == 1 and not kept[0].any()
    assert x.grad.all()


def test_saved_hooks_around_a_function_of_the_users(torch):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            return 3 * grad * ctx.saved_tensors[0] ** 2

    x = leaf(torch, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda v: v.item(), lambda v: torch.tensor([v])):
        y = Cube.apply(x)
    y.backward()
    assert x.grad.tolist() == [12]
