"""Hooks, retain_grad and grad modes: facts about PyTorch, each asked of PyTorch, too."""

from __future__ import annotations

import gc
import weakref

import pytest
from helpers import leaf

# --------------------------------------------------------------------------------------- hooks


@pytest.mark.parametrize("on_leaf", [True, False])
def test_hooks_run_in_order_and_each_may_replace_the_gradient(torch, on_leaf):
    x = leaf(torch, 1.0, 2.0)
    y = x if on_leaf else x + 0
    seen = []
    first = y.register_hook(lambda g: seen.append(("first", g.tolist())) or g * 10)
    y.register_hook(lambda g: seen.append(("second", g.tolist())))
    (y * 2).sum().backward()
    assert seen == [("first", [2, 2]), ("second", [20, 20])] and x.grad.tolist() == [20, 20]
    first.remove()
    first.remove()
    seen.clear()
    (y * 2).sum().backward()
    assert seen == [("second", [2, 2])]
    with y.register_hook(lambda g: g * 0):
        x.grad = None
        (y * 2).sum().backward()
        assert x.grad.tolist() == [0, 0]
    x.grad = None
    (y * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_a_hook_sees_the_whole_gradient_once(torch):
    x = leaf(torch, 1.0)
    y = x * 1
    seen = []
    for t in (x, y):
        t.register_hook(lambda g: seen.append(g.tolist()))
    (y * 2 + y * 3 + y * y + x).sum().backward()
    assert seen == [[7], [8]]


@pytest.mark.parametrize("on_leaf", [True, False])
@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (lambda torch: 3, TypeError, "expected Variable, but hook returned 'int'"),
        (
            lambda torch: torch.ones(3),
            RuntimeError,
            "hook '<lambda>' has changed the size of value",
        ),
        (
            lambda torch: torch.ones(2).double(),
            RuntimeError,
            "hook '<lambda>' has changed the type",
        ),
    ],
)
def test_what_a_hook_answers_is_checked(torch, on_leaf, answer, error, text):
    x = leaf(torch, 1.0, 2.0)
    y = x if on_leaf else x * 1
    y.register_hook(lambda g: answer(torch))
    with pytest.raises(error, match=text):
        y.sum().backward()


def test_hooks_of_one_output_of_several(torch):
    x = leaf(torch, 1.0, 2.0, 3.0)
    a, b, _ = (x * 1).unbind(0)
    seen = []
    b.register_hook(lambda g: seen.append(g.item()) or g * 5)
    (a * 2 + b * 3).backward()
    assert seen == [3] and x.grad.tolist() == [2, 15, 0]


def test_hooks_run_in_grad_too_before_the_answer(torch):
    x = leaf(torch, 1.0)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: g + 1)
    assert torch.autograd.grad(y.sum(), x, retain_graph=True)[0].tolist() == [21]
    assert torch.autograd.grad(y.sum(), y)[0].tolist() == [10]


def test_hooks_under_create_graph_are_differentiated(torch):
    x = leaf(torch, 2.0)
    y = x * 1
    y.register_hook(lambda g: g * x)
    (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    assert g.tolist() == [8]  # 2 y x
    assert torch.autograd.grad(g, x)[0].tolist() == [4 + 4 * 2]  # through x, and y and its hook


def test_post_accumulate_hooks_run_after_grad_is_there(torch):
    x = leaf(torch, 1.0)
    order = []
    x.register_post_accumulate_grad_hook(lambda p: order.append(("post", p is x, p.grad.tolist())))
    x.register_hook(lambda g: order.append("hook"))
    torch.autograd.grad(x.sum(), x)
    assert order == ["hook"]
    (x * 3).sum().backward()
    assert order[1:] == ["hook", ("post", True, [3])]

    def step(p):
        with torch.no_grad():
            p.sub_(p.grad)
        p.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    (x * 3).sum().backward()
    assert x.tolist() == [1 - 6] and x.grad is None
    handle.remove()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3]


def test_after_a_write_in_place_hooks_stay_with_the_old_value(torch):
    x = leaf(torch, 1.0, 1.0)
    y = x * 1
    seen = []
    y.register_hook(lambda g: seen.append(("old", g.tolist())))
    y.mul_(3)
    y.register_hook(lambda g: seen.append(("new", g.tolist())))
    (y * 2).sum().backward()
    assert seen == [("new", [2, 2]), ("old", [6, 6])]


def test_hooks_of_a_base_and_a_view_that_is_written(torch):
    x = leaf(torch, 1.0, 1.0)
    z = x * 1
    v = z[0:1]
    seen = []
    z.register_hook(lambda g: seen.append(("z", g.tolist())))
    v.register_hook(lambda g: seen.append(("v", g.tolist())))
    v.mul_(3)
    (z * 2).sum().backward()
    assert seen == [("z", [6, 2])]


def test_a_handle_keeps_no_graph_alive(torch):
    gc.disable()
    try:
        x = leaf(torch, 1.0)
        y = x * 1
        handles = [t.register_hook(print) for t in (x, y)]
        handles.append(x.register_post_accumulate_grad_hook(print))
        dead = [weakref.ref(x), weakref.ref(y)]
        del x, y
        assert [ref() for ref in dead] == [None, None]
        for handle in handles:
            handle.remove()
    finally:
        gc.enable()


def test_backward_inside_a_hook(torch):
    """The engine is re-entrant: on the same leaf, the same graph, and in itself."""
    x, w = leaf(torch, 2.0), leaf(torch, 3.0)
    y = x * x
    depth = []

    def hook(g):
        if len(depth) < 5:
            depth.append(1)
            with torch.enable_grad():
                inner = w * w
                inner.register_hook(hook)
                inner.backward(g.detach())
                (x * w).backward(inputs=[w])

    y.register_hook(hook)
    (y * w).backward()
    # 2 w g at each of five depths: g = 3, then every gradient is passed on; x w five times; y once
    assert x.grad.tolist() == [12] and w.grad.tolist() == [5 * 6 * 3 + 5 * 2 + 4]


def test_hooks_of_a_node(torch):
    x = leaf(torch, 2.0)
    y = x * x
    order = []

    def after(grad_inputs, grad_outputs):
        order.append(("after", [g.item() for g in grad_inputs], [g.item() for g in grad_outputs]))
        return tuple(g * 10 for g in grad_inputs)

    def before(grad_outputs):
        order.append(("before", [g.item() for g in grad_outputs]))
        return tuple(g * 2 for g in grad_outputs)

    handles = [y.grad_fn.register_hook(after), y.grad_fn.register_prehook(before)]
    y.register_hook(lambda g: order.append(("tensor", g.item())))
    y.retain_grad()
    y.backward(retain_graph=True)
    assert order == [("tensor", 1), ("before", [1]), ("after", [4, 4], [2])]
    assert x.grad.tolist() == [80] and y.grad.tolist() == [1]
    for handle in handles:
        handle.remove()
    x.grad = None
    y.backward(retain_graph=True)
    assert x.grad.tolist() == [4]
    for register in (y.grad_fn.register_hook, y.grad_fn.register_prehook):
        with register(lambda *grads: 3), pytest.raises(TypeError, match="expected tuple"):
            y.backward(retain_graph=True)


def test_hooks_of_a_node_see_what_leaves_it(torch):
    x, seen = leaf(torch, 2.0), []
    z = torch.ones(2) * x
    z.grad_fn.register_hook(lambda ins, outs: seen.append((ins[0], ins[1].tolist())))
    z.sum().backward()
    (first,) = torch.autograd.grad((x * x).sum(), x, create_graph=True)
    first.grad_fn.register_hook(lambda ins, outs: tuple(g and g * 5 for g in ins))
    assert seen[0][0] is None and torch.autograd.grad(first, x)[0].tolist() == [10]


def test_next_functions(torch):
    x = leaf(torch, 2.0)
    y = x * torch.ones(1)
    (node, number), nothing = y.grad_fn.next_functions
    assert node.name() == "torch::autograd::AccumulateGrad" and node.variable is x and number == 0
    assert nothing == (None, 0) and node.next_functions == () and node.metadata == {}
    assert node is node and node == y.grad_fn.next_functions[0][0]
    assert (y + 1).grad_fn.next_functions == ((y.grad_fn, 0), (None, 0))
    node.register_prehook(lambda grads: (grads[0] * 3,))
    y.backward()
    assert x.grad.tolist() == [3]


def test_a_gradient_edge_holds_the_node_that_grad_fn_shows(torch):
    x = leaf(torch, 2.0)
    edge_of = torch.autograd.graph.get_gradient_edge
    y = x * 3
    before, shown, after = edge_of(y), y.grad_fn, edge_of(y)
    assert before.node is shown is after.node and after.output_nr == 0
    assert type(shown).__name__ == "MulBackward0" and edge_of(x).node.variable is x
    (g,) = torch.autograd.grad((y * y).sum(), after, retain_graph=True)
    assert g.tolist() == [12]
    h = y * x  # an input that edges lead to, after its node was looked at
    (g,) = torch.autograd.grad(h, x, create_graph=True)
    assert torch.autograd.grad(g, x)[0].tolist() == [6]


# ------------------------------------------------------------------------------------ retain_grad


def test_retain_grad(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    x.retain_grad()
    assert y.retains_grad and not x.retains_grad
    y.register_hook(lambda g: g * 10)  # retain_grad sees what the hooks have left
    z = y * 3
    z.sum().backward(retain_graph=True)
    assert y.grad.tolist() == [30, 30] and x.grad.tolist() == [60, 60]
    z.sum().backward()
    assert y.grad.tolist() == [60, 60] and x.grad.tolist() == [120, 120]


def test_retain_grad_moves_with_a_write_in_place(torch):
    x = leaf(torch, 1.0, 1.0)
    y = x * 1
    y.retain_grad()
    y.mul_(3)
    assert y.retains_grad
    (y * 2).sum().backward()
    assert y.grad.tolist() == [2, 2] and x.grad.tolist() == [6, 6]


@pytest.mark.parametrize("written", ["base", "view"])
def test_retain_grad_of_base_and_view_moves_whichever_is_written(torch, written):
    x = leaf(torch, 1.0, 1.0)
    z = x * 1
    v = z[0:1]
    z.retain_grad()
    v.retain_grad()
    (z if written == "base" else v).mul_(3)
    ((z * 2).sum() + v.sum() * 5).backward()
    assert z.grad.tolist() == [7, 2] and v.grad.tolist() == [5] and v.retains_grad
    assert x.grad.tolist() == ([21, 6] if written == "base" else [21, 2])


# ------------------------------------------------------------------------------------- modes


def test_modes_as_context_managers(torch):
    x = leaf(torch, 1.0)
    states = []

    def note():
        states.append((torch.is_grad_enabled(), (x * 2).requires_grad))

    with torch.no_grad():
        note()
        with torch.enable_grad():
            note()
            with torch.set_grad_enabled(False):
                note()
            note()
        note()
    note()
    assert states == [(on, on) for on in (False, True, False, True, False, True)]
    torch.set_grad_enabled(False)
    note()
    torch.set_grad_enabled(True)
    note()
    assert states[-2:] == [(False, False), (True, True)]


def test_modes_end_with_an_exception(torch):
    for mode in (torch.no_grad, lambda: torch.set_grad_enabled(False), torch.inference_mode):
        with pytest.raises(KeyError), mode():
            raise KeyError
        assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()


def test_modes_as_decorators(torch):
    def state():
        return torch.is_grad_enabled(), torch.is_inference_mode_enabled()

    decorated = [
        (torch.no_grad(), (False, False)),
        (torch.no_grad, (False, False)),
        (torch.enable_grad(), (True, False)),
        (torch.enable_grad, (True, False)),
        (torch.inference_mode(), (False, True)),
        (torch.inference_mode, (False, True)),
        (lambda function: torch.set_grad_enabled(False)(function), (False, False)),
    ]
    for decorator, expected in decorated:
        function = decorator(state)
        assert state() == (True, False)
        assert function() == function() == expected and function.__name__ == "state"
        assert state() == (True, False)

    @torch.no_grad()
    def recursive(n):
        assert not torch.is_grad_enabled()
        return n if n == 0 else recursive(n - 1)

    assert recursive(3) == 0 and torch.is_grad_enabled()


def test_modes_around_generators(torch):
    @torch.no_grad()
    def generator():
        got = yield torch.is_grad_enabled()
        try:
            yield got, torch.is_grad_enabled()
        except ValueError:
            yield "caught", torch.is_grad_enabled()
        return 5

    g = generator()
    seen = [next(g), g.send(3), g.throw(ValueError()), torch.is_grad_enabled()]
    assert seen == [False, (3, False), ("caught", False), True]
    with pytest.raises(StopIteration) as stop:
        next(g)
    assert stop.value.value == 5

    closed = []

    @torch.no_grad()
    def cleaning():
        try:
            yield 1
        finally:
            closed.append(torch.is_grad_enabled())

    g = cleaning()
    next(g)
    g.close()
    assert closed == [False] and torch.is_grad_enabled()

    @torch.no_grad()
    def empty():
        return 7
        yield

    with pytest.raises(StopIteration) as stop:
        next(empty())
    assert stop.value.value == 7 and torch.is_grad_enabled()


def test_inference_mode_and_grad_mode(torch):
    x = leaf(torch, 1.0)
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
        assert not (x * 2).requires_grad
        with torch.enable_grad():
            assert torch.is_grad_enabled() and not (x * 2).requires_grad
        with torch.inference_mode(False):
            assert torch.is_grad_enabled() and (x * 2).requires_grad
    assert torch.is_grad_enabled() and (x * 2).requires_grad


def test_backward_and_its_hooks_run_without_grad_unless_create_graph(torch):
    x = leaf(torch, 2.0)
    modes = []
    y = x * x
    y.register_hook(lambda g: modes.append(torch.is_grad_enabled()))
    y.backward(retain_graph=True)
    torch.autograd.grad(y, x, create_graph=True)
    with torch.no_grad():
        (g,) = torch.autograd.grad(y, x, create_graph=True)
    assert modes == [False, True, True] and g.requires_grad and torch.is_grad_enabled()
    with pytest.raises(KeyError):
        y.register_hook(lambda g: {}["no"])
        y.backward()
    assert torch.is_grad_enabled()
