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
    once_differentiable = torch.autograd.function.once_differentiable
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


DOUBLE = {"forward": lambda ctx, x: x * 2, "backward": lambda ctx, grad: grad * 2}


@pytest.mark.parametrize("name", ["forward", "backward", "setup_context", "vjp", "jvp", "vmap"])
def test_what_a_subclass_does_not_define_raises(torch, name):
    arguments = {"setup_context": 3, "vmap": 3}.get(name, 2)
    with pytest.raises(NotImplementedError):
        getattr(torch.autograd.Function, name)(*range(arguments))
    assert torch.autograd.Function.generate_vmap_rule is False


def test_missing_and_double_definitions(torch):
    x = leaf(torch, 1.0)
    with pytest.raises(NotImplementedError):
        make(torch).apply(x)
    y = make(torch, forward=DOUBLE["forward"]).apply(x)
    with pytest.raises(NotImplementedError):
        y.backward()
    make(torch, forward=DOUBLE["forward"], vjp=DOUBLE["backward"]).apply(x).backward()
    assert x.grad.tolist() == [2]
    with pytest.raises(RuntimeError, match="Implementing both"):
        make(torch, **DOUBLE, vjp=DOUBLE["backward"]).apply(x).backward()


def test_keywords_reach_forward(torch):
    user = make(
        torch,
        forward=lambda ctx, x, factor=1: x * factor,
        backward=lambda ctx, grad: (grad, None),
    )
    assert user.apply(leaf(torch, 1.0), factor=3).tolist() == [3]
    assert user.apply(x=leaf(torch, 1.0)).grad_fn.name() == "UserBackward"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (lambda torch, g: torch.ones(3, 2), [3, 3]),
        (lambda torch, g: torch.ones(2).double(), [1, 1]),
        (lambda torch, g: torch.ones(2).long(), [1, 1]),
        (lambda torch, g: (g, None, None), [1, 1]),
        (lambda torch, g: torch.ones(3), "invalid gradient at index 0 - got \\[3\\]"),
        (lambda torch, g: torch.ones(1), "expected shape compatible with \\[2\\]"),
        (lambda torch, g: torch.ones(()), "invalid gradient at index 0 - got \\[\\]"),
        (lambda torch, g: 3.0, "expected Variable or None \\(got float\\)"),
        (lambda torch, g: [g], "expected Variable or None \\(got list\\)"),
        (lambda torch, g: (g, g), "incorrect number of gradients"),
        (lambda torch, g: (), "incorrect number of gradients"),
    ],
)
def test_the_gradient_that_backward_answers_is_checked(torch, answer, expected):
    x = leaf(torch, 1.0, 2.0)
    user = make(torch, forward=DOUBLE["forward"], backward=lambda ctx, g: answer(torch, g))
    y = user.apply(x)
    if isinstance(expected, str):
        with pytest.raises(RuntimeError, match=expected):
            y.backward(torch.ones(2))
    else:
        y.backward(torch.ones(2))
        assert x.grad.tolist() == expected and x.grad.dtype is torch.float32


def test_outputs_that_are_not_tensors_pass(torch):
    seen = []

    def backward(ctx, *grads):
        seen.append([g if g is None else g.tolist() for g in grads])
        return grads[0]

    user = make(torch, forward=lambda ctx, x: (x * 2, 3, None), backward=backward)
    y, *others = user.apply(leaf(torch, 1.0))
    assert others == [3, None]
    y.backward()
    assert seen == [[[1.0], None, None]]
    for result in (3, None, (), [1]):
        assert make(torch, forward=lambda ctx, x, r=result: r).apply(leaf(torch, 1.0)) == result


def marking(name, *marked):
    def forward(ctx, x):
        getattr(ctx, name)(*marked or (x,))
        return x * 1

    return forward


def test_wrong_marks(torch):
    x = leaf(torch, 1.0) * 1
    for forward, text in (
        (marking("mark_dirty"), "Some elements marked as dirty"),
        (marking("mark_dirty", 3), "mark_dirty can only accept"),
        (marking("mark_non_differentiable", 3), "mark_non_differentiable only accepts"),
    ):
        with pytest.raises(RuntimeError, match=text):
            make(torch, forward=forward).apply(x)
    for value in (1, None, "a"):
        with pytest.raises(TypeError, match="set_materialize_grads"):
            make(torch, forward=marking("set_materialize_grads", value)).apply(x)


def test_an_input_marked_as_non_differentiable_keeps_its_history(torch):
    def forward(ctx, x):
        ctx.mark_non_differentiable(x)
        return x

    x = leaf(torch, 1.0) * 1
    y = make(torch, forward=forward).apply(x)
    assert y is not x and not y.requires_grad and x.grad_fn.name() == "MulBackward0"


def doubled(ctx, x):
    x.mul_(2)
    ctx.mark_dirty(x)
    return x


def test_views_that_forward_writes(torch):
    user = make(torch, forward=doubled, backward=lambda ctx, g: g * 5)
    x = leaf(torch, 1.0, 2.0)
    z = x * 1
    v = z[:1]
    assert user.apply(v) is v
    z.sum().backward()
    assert z.tolist() == [2, 2] and x.grad.tolist() == [5, 1]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad has been used"):
        user.apply(leaf(torch, 1.0))
    with pytest.raises(RuntimeError, match="is the output of a function"):
        user.apply((leaf(torch, 1.0, 2.0) * 1).unbind()[0])


@pytest.mark.parametrize(
    ("forward", "text"),
    [
        (lambda ctx, x: x, "inside a custom Function"),
        (lambda ctx, x: x[:1], "inside a custom Function"),
        (lambda ctx, x: (x[:1], x[1:]), "returns multiple views"),
        (lambda ctx, x: x * 2, None),
        (lambda ctx, x: (x * 2, x * 3), None),
        (lambda ctx, x: x.detach(), None),
    ],
)
def test_writing_to_what_forward_returned(torch, forward, text):
    y = make(torch, forward=forward).apply(leaf(torch, 1.0, 2.0) * 1)
    y = y[0] if isinstance(y, tuple) else y
    if text is None:
        assert not y._is_view() and y.add_(1).grad_fn.name() == "AddBackward0"
    else:
        assert y._is_view() and y.grad_fn.name() == "UserBackward"
        with pytest.raises(RuntimeError, match=text):
            y.add_(1)


def test_what_ctx_and_node_show(torch):
    seen = []

    def forward(ctx, x, y, power=1):
        ctx.save_for_backward(x, None, x * 3)
        ctx.power = power
        seen.append((ctx.needs_input_grad, ctx.saved_tensors))
        return x * y

    def backward(ctx, grad):
        seen.append(ctx.saved_tensors[0])
        return grad, None

    x = leaf(torch, 1.0)
    user = make(torch, forward=forward, backward=backward)
    with torch.no_grad():
        user.apply(x, torch.ones(1))
    y = user.apply(x, torch.ones(1))
    assert seen == [((True, False), ())] * 2
    node = y.grad_fn
    assert node.needs_input_grad == (True, False)
    assert node.power == 1 and len(node.next_functions) == 2
    with pytest.raises(AttributeError):
        node.another  # noqa: B018
    assert len(user.apply(x, torch.ones(1), 2).grad_fn.next_functions) == 2  # 2 is no tensor
    del seen[2:]
    assert node.saved_tensors[0].is_leaf and node.saved_tensors[1] is None
    assert node.saved_tensors[2].tolist() == [3] and not node.saved_tensors[2].requires_grad
    y.backward()
    assert seen[2] is x
    with pytest.raises(RuntimeError, match="second time"):
        node.saved_tensors  # noqa: B018
    with pytest.raises(AttributeError):
        (x * 1).grad_fn.saved_tensors  # noqa: B018


def test_a_call_leaves_nothing_behind():
    import gc
    import weakref

    import tiny_torch

    class Held:
        pass

    def forward(ctx, x):
        ctx.held = held.pop()
        ctx.save_for_backward(x)
        return x * 2

    gc.disable()
    try:
        held = [Held()]
        alive = weakref.ref(held[0])
        y = make(tiny_torch, forward=forward, backward=DOUBLE["backward"]).apply(
            leaf(tiny_torch, 1.0)
        )
        assert alive() is not None
        y.backward()
        del y
        assert alive() is None
    finally:
        gc.enable()
