"""Which gradients are one object, with what hooks have set on it: facts about PyTorch, too."""

from __future__ import annotations

import pytest
from helpers import leaf

PASSES_ON = {
    "add": lambda t, x: x + 1,
    "add of a tensor": lambda t, x: x.add(t.ones(2), alpha=2),
    "sub": lambda t, x: x - t.ones(2),
    "clone": lambda t, x: x.clone(),
    "expand": lambda t, x: x.expand(2),
    "mul": lambda t, x: x * 1,
    "view": lambda t, x: x.view(2),
    "broadcast": lambda t, x: x + t.ones(1, 2),
}


@pytest.mark.parametrize("op", PASSES_ON)
def test_which_ops_pass_the_very_gradient_on(torch, op):
    x = leaf(torch, 1.0, 2.0)
    y = PASSES_ON[op](torch, x)
    marks = []
    y.register_hook(lambda g: setattr(g, "mark", 1))
    x.register_hook(lambda g: marks.append(hasattr(g, "mark")))
    y.sum().backward()
    assert marks == [op not in ("mul", "view", "broadcast")]
    assert not hasattr(x.grad, "mark")


def test_one_gradient_is_one_object_for_all_hooks(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x.exp()
    seen = []
    answers = [torch.full((2,), float(i)) for i in range(3)]
    y.register_hook(seen.append)
    y.register_hook(seen.append)
    y.register_hook(lambda g: answers[0])
    y.register_hook(seen.append)
    y.grad_fn.register_prehook(lambda grads: seen.append(grads[0]))
    y.grad_fn.register_prehook(lambda grads: (answers[1],))
    y.grad_fn.register_hook(lambda ins, outs: seen.append(outs[0]) or (answers[2],))
    y.grad_fn.register_hook(lambda ins, outs: seen.extend([outs[0], ins[0]]))
    x.register_hook(seen.append)
    (g,) = torch.autograd.grad(y.sum(), x)
    assert seen[0] is seen[1]
    assert seen[2] is seen[3] is answers[0] and seen[4] is seen[5] is answers[1]
    assert seen[6] is seen[7] is g is answers[2]


def test_the_gradient_that_was_given_is_the_one_that_hooks_see(torch):
    x, given, seen = leaf(torch, 1.0, 2.0), torch.ones(2), []
    a, b = x.exp(), x.sin()
    z = a + b
    for t in (z, a, b):
        t.register_hook(seen.append)
    (g,) = torch.autograd.grad(z, z, given, retain_graph=True)
    z.backward(given)
    assert g is given and all(s is given for s in seen) and len(seen) == 4
    assert x.grad is not given


def test_a_sum_of_gradients_is_a_new_object(torch):
    x, marks = leaf(torch, 1.0, 2.0), []
    m = x.exp()
    y = m + 1
    y.register_hook(lambda g: setattr(g, "mark", 1))
    m.register_hook(lambda g: marks.append(hasattr(g, "mark")))
    (y * 2 + m * 3).sum().backward()
    assert marks == [False]


def test_a_function_gets_and_gives_the_objects_that_hooks_see(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            seen.append(grad)
            seen.append(grad * 2)
            return seen[-1]

    x, seen = leaf(torch, 1.0, 2.0), []
    m = x.exp()
    y = Double.apply(m)
    y.register_hook(seen.append)
    m.register_hook(seen.append)
    y.grad_fn.register_prehook(lambda grads: seen.append(grads[0]))
    y.grad_fn.register_hook(lambda ins, outs: seen.extend([outs[0], ins[0]]))
    Double.apply(y).sum().backward()
    # the outer one's; tensor hook, prehook, the inner one's, its answer, its hook, m's hook
    assert [next(i for i, s in enumerate(seen) if s is t) for t in seen] == [
        0, 1, 1, 1, 1, 5, 1, 5, 5,
    ]  # fmt: skip


def test_hooks_of_modules_see_one_object(torch):
    seen = []

    def note(name):
        return lambda module, *grads: seen.append((name, *[g[0] for g in grads]))

    first, second = torch.nn.Linear(2, 2), torch.nn.Sigmoid()
    first.register_full_backward_pre_hook(note("pre"))
    first.register_full_backward_hook(note("first"))
    second.register_full_backward_hook(note("second"))
    x = leaf(torch, 1.0, 2.0)
    x.register_hook(lambda g: seen.append(("leaf", g)))
    second(first(x)).sum().backward()
    (_, between, _), (_, out), (_, into, out_again), (_, last) = seen
    assert between is out is out_again and into is last


def test_a_hook_may_write_the_gradient_or_replace_its_data(torch):
    x = leaf(torch, 1.0, 1.0)
    y = x * 2
    y.register_hook(lambda g: setattr(g.mul_(10), "mark", 1))
    x.register_hook(lambda g: setattr(g, "data", g + 1))
    y.backward(torch.ones(2)[:, None].sum(1))
    assert x.grad.tolist() == [21, 21]


def test_a_gradient_that_hooks_have_let_go_is_moved_into_grad(torch):
    x, places = leaf(torch, *[1.0] * 64), []
    x.register_hook(lambda g: places.append(g.data_ptr()))
    (x * 2).backward(torch.ones(64))
    assert x.grad.data_ptr() == places[0]
