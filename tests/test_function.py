"""autograd.Function: a user's op, each fact asked of PyTorch, too."""

from __future__ import annotations

import pytest
from helpers import leaf


def make(torch, **methods):
    """A Function subclass of static methods."""
    statics = {name: staticmethod(method) for name, method in methods.items()}
    return type("User", (torch.autograd.Function,), statics)


def test_forward_and_backward(torch):
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        assert not torch.is_grad_enabled()
        return x * x * factor

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * ctx.factor * grad, None

    x = leaf(torch, 1.0, 2.0)
    y = make(torch, forward=forward, backward=backward).apply(x, 3)
    assert y.requires_grad and y.grad_fn.name() == "UserBackward"
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.sum().backward()


def test_backward_is_differentiated_in_turn(torch):
    user = make(
        torch,
        forward=lambda ctx, x: (ctx.save_for_backward(x), x**3)[1],
        backward=lambda ctx, grad: grad * 3 * ctx.saved_tensors[0] ** 2,
    )
    x = leaf(torch, 2.0)
    (first,) = torch.autograd.grad(user.apply(x), x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    assert (first.tolist(), second.tolist()) == ([12.0], [12.0])


def test_a_saved_output_keeps_its_history(torch):
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    user = make(torch, forward=forward, backward=lambda ctx, grad: grad * ctx.saved_tensors[0])
    x = leaf(torch, 0.5)
    (first,) = torch.autograd.grad(user.apply(x), x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    assert second.item() == pytest.approx(first.item())


def test_several_outputs_and_their_missing_gradients(torch):
    seen = []

    def backward(ctx, *grads):
        seen.append([None if g is None else g.tolist() for g in grads])
        return grads[0], None

    def forward(ctx, x, materialize):
        ctx.set_materialize_grads(materialize)
        return x * 1, x * 2

    user = make(torch, forward=forward, backward=backward)
    for materialize in (True, False):
        x = leaf(torch, 1.0)
        user.apply(x, materialize)[0].backward()
    assert seen == [[[1.0], [0.0]], [[1.0], None]]


def test_marks(torch):
    def forward(ctx, x, y):
        x.mul_(2)
        ctx.mark_dirty(x)
        order = y.argmax()
        rest = y + 1
        ctx.mark_non_differentiable(rest)
        return x, order, rest

    def backward(ctx, grad, *others):
        return grad * 2, grad * 0

    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    z = x * 1
    out, order, rest = make(torch, forward=forward, backward=backward).apply(z, y)
    assert out is z and z.tolist() == [2.0, 4.0]
    assert not order.requires_grad and not rest.requires_grad
    z.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert y.grad.tolist() == [0.0, 0.0]


def test_setup_context(torch):
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    user = make(
        torch,
        forward=lambda x: x * x,
        setup_context=setup_context,
        backward=lambda ctx, grad: grad * 2 * ctx.saved_tensors[0],
    )
    x = leaf(torch, 3.0)
    user.apply(x).backward()
    assert x.grad.tolist() == [6.0]


def test_needs_input_grad(torch):
    seen = []

    def backward(ctx, grad):
        seen.append(ctx.needs_input_grad)
        return grad, None, None

    user = make(torch, forward=lambda ctx, x, y, n: x + y, backward=backward)
    user.apply(leaf(torch, 1.0), torch.ones(1), 5).backward()
    assert seen == [(True, False, False)]


def test_without_grad_nothing_is_recorded(torch):
    user = make(torch, forward=lambda ctx, x: x * 2, backward=lambda ctx, grad: grad)
    with torch.no_grad():
        assert not user.apply(leaf(torch, 1.0)).requires_grad
    assert not user.apply(torch.ones(1)).requires_grad


def test_once_differentiable(torch):
    if torch.__name__ == "torch":
        from torch.autograd.function import once_differentiable
    else:
        from tiny_torch.autograd.function import once_differentiable

    user = make(
        torch,
        forward=lambda ctx, x: (ctx.save_for_backward(x), x * x)[1],
        backward=once_differentiable(lambda ctx, grad: grad * 2 * ctx.saved_tensors[0]),
    )
    x, weight = leaf(torch, 3.0), leaf(torch, 1.0)
    (first,) = torch.autograd.grad(user.apply(x), x, weight, create_graph=True)
    assert first.tolist() == [6.0]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.backward()


def test_errors(torch):
    user = make(torch, forward=lambda ctx, x: x * 2, backward=lambda ctx, grad: (grad, grad))
    with pytest.raises(RuntimeError, match="incorrect number of gradients"):
        user.apply(leaf(torch, 1.0)).backward()
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        user()
    saves = make(torch, forward=lambda ctx, x: (ctx.save_for_backward(3), x)[1], backward=None)
    with pytest.raises(TypeError, match="save_for_backward can only save variables"):
        saves.apply(leaf(torch, 1.0))


def test_a_saved_input_that_is_written_is_noticed(torch):
    user = make(
        torch,
        forward=lambda ctx, x: (ctx.save_for_backward(x), x * x)[1],
        backward=lambda ctx, grad: grad * ctx.saved_tensors[0],
    )
    x = leaf(torch, 1.0) * 1
    y = user.apply(x)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
