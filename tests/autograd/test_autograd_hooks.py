"""Hooks and retain_grad: facts about PyTorch, each asked of PyTorch, too."""

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


def test_a_callback_waits_for_its_own_backward_though_another_ran_inside(torch):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            seen.append("inner")
            queue_callback(lambda: seen.append("end of the inner"))
            return grad * 2

    def hook(grad):
        with torch.enable_grad():
            Twice.apply(leaf(torch, 1.0)).sum().backward()
        queue_callback(lambda: seen.append("end"))
        seen.append("hook")

    seen = []
    queue_callback = torch.autograd.Variable._execution_engine.queue_callback
    x = leaf(torch, 1.0)
    x.register_hook(lambda grad: seen.append("leaf"))
    y = x * 3
    y.register_hook(hook)
    y.sum().backward()
    assert seen == ["inner", "end of the inner", "hook", "leaf", "end"]
    with pytest.raises(RuntimeError, match="only be installed during backward pass"):
        queue_callback(seen.clear)


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


# ------------------------------------------------------------------- gradients that are not there


def first_only(torch):
    """A Function of the package whose second input gets no gradient."""

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, grad):
            return grad, None

    return Function.apply


OTHERS = "can't replace a None gradient with a non-None value"
# (what is registered, as a function of the tensor, on a leaf; its error, or None)
HOOKS_OF_NONE = {
    "hook": (lambda torch, y, say: y.register_hook(lambda g: say(g)), None),
    "hook that answers": (lambda torch, y, say: y.register_hook(lambda g: torch.ones(2)), OTHERS),
    "hook that answers a number": (lambda torch, y, say: y.register_hook(lambda g: 3), OTHERS),
    "retain_grad": (lambda torch, y, say: say(None) or y.retain_grad(), None),
}
HOOKS_OF_NODE = {
    "prehook": (lambda torch, node, say: node.register_prehook(lambda g: say(*g)), None),
    "prehook that answers": (
        lambda torch, node, say: node.register_prehook(lambda g: (torch.ones(2),)),
        OTHERS,
    ),
    "node's hook": (lambda torch, node, say: node.register_hook(lambda gi, g: say(*gi, *g)), None),
    "node's hook that answers": (
        lambda torch, node, say: node.register_hook(lambda gi, g: (torch.ones(2),) * len(gi)),
        OTHERS,
    ),
    "node's hook that answers None": (
        lambda torch, node, say: say(None) or node.register_hook(lambda gi, g: (None,) * len(gi)),
        None,
    ),
}


@pytest.mark.parametrize("on_leaf", [True, False])
@pytest.mark.parametrize("name", HOOKS_OF_NONE)
def test_hooks_are_called_where_there_is_no_gradient(torch, name, on_leaf):
    check_hook_of_none(torch, *HOOKS_OF_NONE[name], on_leaf, lambda y: y)


@pytest.mark.parametrize("name", HOOKS_OF_NODE)
def test_hooks_of_nodes_are_called_where_there_is_no_gradient(torch, name):
    check_hook_of_none(torch, *HOOKS_OF_NODE[name], False, lambda y: y.grad_fn)


def check_hook_of_none(torch, register, error, on_leaf, owner):
    x, leaf_of_y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    y = leaf_of_y if on_leaf else leaf_of_y * 1
    seen = []
    register(torch, owner(y), lambda *values: seen.extend(values))
    run = lambda: first_only(torch)(x, y).sum().backward()  # noqa: E731
    if error is None:
        run()
        assert seen and set(seen) == {None} and leaf_of_y.grad is None
    else:
        with pytest.raises(RuntimeError, match=error):
            run()


def test_hooks_of_a_node_of_several_outputs_see_none_for_those_without_gradient(torch):
    def run(register):
        x = torch.tensor([[1.0, 2.0], [3.0, 0.0]], requires_grad=True)
        rows = x.unbind(0)
        register(rows[0].grad_fn)
        (rows[1] * 2).sum().backward()
        return None if x.grad is None else x.grad.tolist()

    seen = []
    assert run(lambda node: node.register_prehook(seen.extend)) == [[0, 0], [2, 2]]
    assert seen[0] is None and seen[1].tolist() == [2, 2]
    assert run(lambda node: node.register_prehook(lambda g: (None, g[1] / 2))) == [[0, 0], [1, 1]]
    assert run(lambda node: node.register_prehook(lambda g: (None, None))) is None
    for answer, error in (
        (lambda g: (torch.ones(2), torch.ones(2)), OTHERS),
        (lambda g: (g[0],), r"hook '<lambda>' has returned an incorrect number of values \(got 1"),
        (lambda g: (None, torch.ones(3)), "hook '<lambda>' has changed the size of value"),
        (lambda g: (None, g[1].double()), r"\(was torch.FloatTensor got torch.DoubleTensor\)"),
    ):
        with pytest.raises(RuntimeError, match=error):
            run(lambda node, answer=answer: node.register_prehook(answer))


def test_hooks_of_the_node_that_accumulates(torch):
    x = leaf(torch, 1.0, 2.0)
    seen = []
    say = lambda name: lambda *values: seen.append((name, plain(values)))  # noqa: E731
    node = x.expand_as(x).grad_fn.next_functions[0][0]
    node.register_hook(say("after"))
    node.register_prehook(say("before"))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(("post", t.grad.tolist())))
    x.register_hook(say("hook"))
    (x * 3).sum().backward()
    (x * 3).sum().backward()
    three, six = [3, 3], [6, 6]
    assert seen == [
        ("hook", [three]), ("before", [[three]]), ("post", three), ("after", [[], [three]]),
        ("hook", [three]), ("before", [[three]]), ("post", six), ("after", [[], [three]]),
    ]  # fmt: skip
    seen.clear()
    torch.autograd.grad((x * 3).sum(), x)
    assert seen == [("hook", [three])]
    node.register_hook(lambda grad_inputs, grad_outputs: grad_outputs)
    with pytest.raises(RuntimeError, match=r"\(got 1, but expected 0\)"):
        (x * 3).sum().backward()


def plain(values):
    if isinstance(values, tuple):
        return [plain(value) for value in values]
    return values if values is None else values.tolist()


# ------------------------------------------------------------------------ hooks on several tensors


def test_a_hook_on_several_tensors(torch):
    register = torch.autograd.graph.register_multi_grad_hook
    a, b = leaf(torch, 1.0), leaf(torch, 2.0)
    c, d = a * b, a * b
    seen = []
    handle = register((a, b, c, d), lambda grads: seen.append([g is not None for g in grads]))
    first = register((c, torch.ones(1), a), lambda grad: seen.append(grad.tolist()), mode="any")
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=(a,), retain_graph=True)
    (c * 3 + d).sum().backward(retain_graph=True)
    first.remove()
    assert seen == [
        [1], [True, True, True, False],
        [1], [True, False, True, False],
        [3], [True, True, True, True],
    ]  # fmt: skip
    handle.remove()
    handle.remove()
    d.sum().backward(retain_graph=True)
    assert len(seen) == 6
    rows = torch.ones(2, 2, requires_grad=True).unbind(0)
    with register(rows, lambda grads: seen.append(plain(tuple(grads)))):
        rows[0].sum().backward(retain_graph=True)
        (rows[0] + rows[1]).sum().backward(retain_graph=True)
    rows[0].sum().backward()
    assert seen[6:] == [[[1, 1], None], [[1, 1], [1, 1]]]


def test_a_hook_on_several_tensors_that_raises(torch):
    a, b = leaf(torch, 1.0), leaf(torch, 2.0)
    register = torch.autograd.graph.register_multi_grad_hook
    for mode in ("all", "any"):
        seen = []
        with register((a, b), lambda grads, seen=seen: seen.append(1) or 1 / 0, mode=mode):
            for _ in range(2):
                with pytest.raises(ZeroDivisionError):
                    (a * b).sum().backward()
        assert seen == [1, 1]
    with pytest.raises(ValueError, match=r"Expects mode to be one of \('all', 'any'\) but got one"):
        register((a, b), print, mode="one")
    with pytest.raises(AssertionError, match="Expected gradient function to be set"):
        register((a, torch.ones(1)), print)
