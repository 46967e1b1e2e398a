"""The graph and the engine: facts about PyTorch's autograd, each asked of PyTorch, too."""

from __future__ import annotations

import copy

import pytest
from helpers import leaf

FREED = "Trying to backward through the graph a second time"


# ------------------------------------------------------------------------------ leaves and flags


def test_leaves_and_what_is_made_of_them(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    constant = torch.ones(2)
    facts = [(t.is_leaf, t.requires_grad, t.grad_fn is None, t.output_nr) for t in (x, y, constant)]
    assert facts == [(True, True, True, 0), (False, True, False, 0), (True, False, True, 0)]
    assert x.grad is None and not x.long().requires_grad and not (x > 1).requires_grad
    assert not x.detach().requires_grad and not x.data.requires_grad


def test_requires_grad_is_for_leaves_of_floating_point(torch):
    with pytest.raises(RuntimeError, match=r"only Tensors of floating point.*require gradients"):
        torch.ones(2, dtype=torch.int64).requires_grad_()
    with pytest.raises(RuntimeError, match=r"only Tensors of floating point.*require gradients"):
        torch.ones(2, dtype=torch.int64).requires_grad = True
    y = leaf(torch, 1.0) * 2
    assert y.requires_grad_() is y
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf"):
        y.requires_grad = False
    x = leaf(torch, 1.0)
    assert not x.requires_grad_(False).requires_grad


def test_numpy_only_without_grad(torch):
    x = leaf(torch, 1.0)
    with pytest.raises(RuntimeError, match="Can't call numpy\\(\\) on Tensor that requires grad"):
        x.numpy()
    with torch.no_grad():
        assert x.numpy()[0] == 1
    assert x.detach().numpy()[0] == 1


def test_a_leaf_that_no_longer_requires_grad_gets_none(torch):
    for stop in (lambda x: x.detach_(), lambda x: x.requires_grad_(False)):
        x, w = leaf(torch, 1.0), leaf(torch, 2.0)
        y = x * w
        stop(x)
        y.backward()
        assert x.grad is None and w.grad.tolist() == [1]
    x = leaf(torch, 1.0)
    y = x * 2
    x.detach_().mul_(leaf(torch, 3.0))
    with pytest.raises(RuntimeError, match="leaf variable has been moved into the graph interior"):
        y.backward()


def test_deepcopy_keeps_what_shares_memory(torch):
    base = torch.arange(6.0)
    copied = copy.deepcopy(
        {"base": base, "row": base.view(2, 3)[1], "odd": base[1::2], "p": [base]}
    )
    assert copied["p"][0] is copied["base"]
    copied["base"].mul_(10)
    assert copied["row"].tolist() == [30, 40, 50] and copied["odd"].tolist() == [10, 30, 50]
    assert copied["odd"].stride() == (2,) and copied["odd"].storage_offset() == 1
    assert base.tolist() == [0, 1, 2, 3, 4, 5]
    parameter = torch.nn.Parameter(torch.ones(2))
    one, other = copy.deepcopy([parameter, parameter.data])
    other.zero_()
    assert one.tolist() == [1, 1]  # a Parameter is copied alone
    assert copy.deepcopy(torch.empty(0, 2)).shape == (0, 2)
    storage, tensor = copy.deepcopy([base.untyped_storage(), base[3:]])
    assert storage == tensor.untyped_storage() != copy.copy(storage) and base[3] == 3


def test_deepcopy_copies_leaves_with_their_attributes_and_not_their_hooks(torch):
    x = leaf(torch, 1.0, 2.0)
    x.no_decay = True
    calls = []
    x.register_hook(lambda g: calls.append("hook"))
    x.register_post_accumulate_grad_hook(lambda p: calls.append("post"))
    x.sum().backward()
    y, z = copy.deepcopy([x, x])
    assert y is z and y.is_leaf and y.requires_grad and y.no_decay
    assert y.grad.tolist() == [1, 1] and y.grad is not x.grad and y.data_ptr() != x.data_ptr()
    y.sum().backward()
    assert calls == ["hook", "post"] and y.grad.tolist() == [2, 2] and x.grad.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(x * 2)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (lambda torch, x: 3, TypeError, "assigned grad expected to be a Tensor or None"),
        (lambda torch, x: x, RuntimeError, "can't assign Variable as its own grad"),
        (lambda torch, x: torch.ones(2).double(), RuntimeError, "a gradient with dtype"),
        (lambda torch, x: torch.ones(3), RuntimeError, "gradient of size '.3.' to a tensor of"),
    ],
)
def test_setting_grad_checks(torch, value, error, text):
    x = leaf(torch, 1.0, 2.0)
    with pytest.raises(error, match=text):
        x.grad = value(torch, x)
    x.grad = torch.ones(2)
    x.sum().backward()
    assert x.grad.tolist() == [2, 2]
    x.grad = None
    assert x.grad is None


# ------------------------------------------------------------------------------------- backward


def test_depth_and_sharing_cost_linear_time(torch):
    x = leaf(torch, 1.0)
    z = x
    for _ in range(100_000):
        z = z + 1
    z.backward()
    del z
    assert x.grad.tolist() == [1]
    z = x.double()
    for _ in range(64):
        z = z + z
    z.backward()
    assert x.grad.tolist() == [1 + 2.0**64]


def test_second_backward_accumulates(torch):
    x = leaf(torch, 2.0)
    for _ in range(3):
        (x * x).backward()
    assert x.grad.tolist() == [12]
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [20]


def test_second_backward_of_a_freed_graph_raises(torch):
    x = leaf(torch, 1.0, 2.0)
    functional = torch.nn.functional
    makers = [
        lambda: x * x,
        lambda: x.exp(),
        lambda: (x * 1)[0:1].mul_(x[1:]),
        lambda: (x * 1).mul_(x),
        lambda: x * 2,  # the number is saved, too
        lambda: x / 2,
        lambda: (x + 1).mul_(2),
        lambda: torch.div(x, 2, rounding_mode="floor"),
        lambda: torch.sgn(x),
        lambda: functional.pad(x[None], (1, 1), "reflect"),
        lambda: functional.pad(x[None], (1, 1), "circular"),
        lambda: functional.avg_pool2d(x[None, None], (1, 2)),
    ]
    for make in makers:
        y = make().sum()
        y.backward()
        with pytest.raises(RuntimeError, match=FREED):
            y.backward()


def test_second_backward_of_a_graph_that_saved_nothing(torch):
    functional = torch.nn.functional
    x = leaf(torch, 1.0, 2.0)
    makers = [
        lambda: x + x,
        lambda: 2 - x,
        lambda: x.sign(),
        lambda: x[1:].expand(3),
        lambda: functional.adaptive_avg_pool2d(x[None, None], 1),
        lambda: x.index_add(0, torch.tensor([0]), torch.ones(1)),
    ]
    for make in makers:
        z, x.grad = make().sum(), None
        z.backward()
        once = x.grad.clone()
        z.backward()
        assert torch.equal(x.grad, 2 * once)


def test_a_graph_freed_in_part_raises_only_there(torch):
    x = leaf(torch, 1.0)
    y = x.exp()
    (y + 1).backward()
    with pytest.raises(RuntimeError, match=FREED):
        (y + 2).backward()


@pytest.mark.parametrize(
    ("action", "error", "text"),
    [
        (lambda t, x: t.ones(()).backward(), RuntimeError, "element 0 of tensors does not require"),
        (lambda t, x: (x * 1).backward(), RuntimeError, "grad can be implicitly created only for"),
        (lambda t, x: x.backward(t.ones(3)), RuntimeError, "Mismatch in shape: grad_output.0. has"),
        (lambda t, x: x.backward(3), TypeError, "int"),
        (
            lambda t, x: t.autograd.backward([x, x], [t.ones(2)]),
            RuntimeError,
            "got 2 tensors and 1 gradients",
        ),
        (lambda t, x: x.sum().backward(inputs=[]), RuntimeError, "`inputs` argument to `backward"),
        (lambda t, x: x.sum().backward(inputs=[t.ones(1)]), RuntimeError, "can't retain_grad on"),
        (lambda t, x: t.autograd.grad(x.sum(), []), RuntimeError, "`inputs` argument to `grad"),
        (
            lambda t, x: t.autograd.grad(x.sum(), t.ones(1)),
            RuntimeError,
            "One of the differentiated Tensors does not require grad",
        ),
        (
            lambda t, x: t.autograd.grad(x.sum(), [x, leaf(t, 1.0)]),
            RuntimeError,
            "differentiated Tensor at index 1 appears to not have been used in the graph",
        ),
        (
            lambda t, x: t.autograd.grad(x.sum(), x, materialize_grads=True, allow_unused=False),
            ValueError,
            "Expected allow_unused to be True or not passed when materialize_grads=True",
        ),
        (
            lambda t, x: t.ones(1).retain_grad(),
            RuntimeError,
            "can't retain_grad on Tensor that has",
        ),
        (lambda t, x: t.ones(1).register_hook(print), RuntimeError, "cannot register a hook on a"),
        (
            lambda t, x: t.ones(1).register_post_accumulate_grad_hook(print),
            RuntimeError,
            "cannot register a hook on a tensor that doesn't require gradient",
        ),
        (
            lambda t, x: (x * 1).register_post_accumulate_grad_hook(print),
            RuntimeError,
            "post accumulate grad hooks cannot be registered on non-leaf tensors",
        ),
        (lambda t, x: (x * 1)[0].detach_(), RuntimeError, "Can't detach views in-place. Use deta"),
        (
            lambda t, x: setattr(x, "data", 3),
            TypeError,
            "Variable data has to be a tensor, but got",
        ),
        (
            lambda t, x: setattr(x, "data", t.ones(2).long()),
            RuntimeError,
            "data set to a tensor that requires gradients must be floating point",
        ),
    ],
)
def test_errors(torch, action, error, text):
    with pytest.raises(error, match=text):
        action(torch, leaf(torch, 1.0, 2.0))


def test_several_roots_and_a_root_that_is_a_leaf(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x.sum()
    torch.autograd.backward([y, y, x * x, x], [None, torch.tensor(3.0), torch.ones(2), x.detach()])
    assert x.grad.tolist() == [1 + 3 + 2 + 1, 1 + 3 + 4 + 2]
    torch.autograd.backward([])


def test_a_gradient_is_cast_to_the_root(torch):
    x = leaf(torch, 1.0)
    weight = torch.tensor(2.0, dtype=torch.float64)
    x.sum().backward(weight)
    assert x.grad.dtype is torch.float32 and x.grad.tolist() == [2]
    assert torch.autograd.grad(x.sum(), x, weight)[0].dtype is torch.float32


@pytest.mark.parametrize("shapes", [((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 3)), ((0, 1), (3,))])
@pytest.mark.parametrize("operation", ["add", "mul", "div", "pow", "maximum"])
def test_broadcast_and_promoted_operands_get_gradients_of_their_own_shape_and_dtype(
    torch, shapes, operation
):
    x = torch.full(shapes[0], 2.0).requires_grad_()
    y = torch.full(shapes[1], 2.0, dtype=torch.float64).requires_grad_()
    getattr(torch, operation)(x, y).sum().backward()
    for t in (x, y):
        assert (t.grad.shape, t.grad.dtype) == (t.shape, t.dtype)
    z = torch.ones(2, 3).requires_grad_() * 1
    z.retain_grad()
    w = z * 1
    w.mul_(torch.full((3,), 2.0, dtype=torch.float64)).sum().backward()
    assert z.grad.dtype is torch.float32 and z.grad.tolist() == [[2, 2, 2]] * 2


def test_unused_outputs_and_paths_without_gradient(torch):
    x = leaf(torch, 3.0, 1.0)
    values, indices = x.max(0)
    assert not indices.requires_grad
    (values * x.detach().max(0)[0]).backward()
    assert x.grad.tolist() == [3, 0]
    _, b = (x * 1).unbind(0)
    x.grad = None
    b.backward()
    assert x.grad.tolist() == [0, 1]


# ------------------------------------------------------------------------------ grad, and inputs


def test_grad_of_leaves_and_of_what_is_between(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    z = y * y
    found = torch.autograd.grad(z.sum(), [x, y, z, y])
    assert [g.tolist() for g in found] == [[8, 16], [4, 8], [1, 1], [4, 8]]
    assert x.grad is None and y.grad is None
    assert torch.autograd.grad(x, x, torch.ones(2))[0].tolist() == [1, 1]


def test_grad_with_several_leaves_of_different_shapes(torch):
    x, y, z = leaf(torch, 1.0, 2.0), leaf(torch, 3.0), leaf(torch, 1.0, 2.0, 3.0)
    total = (x * y).sum() + z.sum()
    found = torch.autograd.grad(total, [z, y, x])
    assert [g.tolist() for g in found] == [[1, 1, 1], [3], [3, 3]]


def test_grad_unused(torch):
    x, y = leaf(torch, 1.0), leaf(torch, 1.0, 2.0)
    assert torch.autograd.grad(x.sum(), [y], allow_unused=True) == (None,)
    found = torch.autograd.grad(x.sum(), [x, y], materialize_grads=True)
    assert [g.tolist() for g in found] == [[1], [0, 0]]


def test_grad_runs_only_what_leads_to_the_inputs(torch):
    x, y = leaf(torch, 1.0), leaf(torch, 1.0)
    ran = []
    a, b = x * 2, y * 2
    a.register_hook(lambda g: ran.append("a"))
    b.register_hook(lambda g: ran.append("b"))
    y.register_hook(lambda g: ran.append("y"))
    torch.autograd.grad((a + b).sum(), [x])
    assert ran == ["a"] and x.grad is None and y.grad is None


def test_a_leaf_reached_by_two_ways_of_which_one_has_no_gradient(torch):
    x = leaf(torch, 2.0, 3.0)
    values, _ = (x * 2).max(0)
    dead = (x * 1).unbind(0)[1] * 0.0
    alive, _ = (x * x).unbind(0)
    assert torch.autograd.grad(alive + dead + values, x)[0].tolist() == [4, 2]


def test_backward_with_inputs(torch):
    x, y = leaf(torch, 1.0), leaf(torch, 1.0)
    z = x * 2 + y
    w = z * 3
    w.backward(inputs=[x, z])
    assert (x.grad.tolist(), y.grad, z.grad.tolist()) == ([6], None, [3])
    (x * y).backward(inputs=y)
    assert (x.grad.tolist(), y.grad.tolist()) == ([6], [1])


# --------------------------------------------------------------------- accumulation, ownership


def test_the_callers_gradient_is_never_owned(torch):
    x, y = leaf(torch, 1.0, 1.0), leaf(torch, 1.0, 1.0)
    g = torch.ones(2)
    for run in range(3):
        x.backward(g)
        (y + x).backward(g)
        assert g.tolist() == [1, 1]
        assert x.grad.tolist() == [2 + 2 * run] * 2
    assert len({t.data_ptr() for t in (g, x.grad, y.grad)}) == 3


@pytest.mark.parametrize("create_graph", [False, True])
def test_no_two_leaves_share_a_gradient(torch, create_graph):
    x, y = leaf(torch, 1.0, 1.0), leaf(torch, 1.0, 1.0)
    z = x + y
    z.retain_grad()
    w = z + 0
    w.retain_grad()
    g = torch.ones(2)
    w.backward(g, create_graph=create_graph)
    grads = [x.grad, y.grad, z.grad, w.grad, g]
    assert len({t.data_ptr() for t in grads}) == 5
    with torch.no_grad():
        x.grad.add_(1)
    assert [t.tolist() for t in grads] == [[2, 2]] + [[1, 1]] * 4


def test_a_first_gradient_that_nobody_holds_is_moved_in(torch):
    x = leaf(torch, 1.0, 2.0)
    seen = []
    x.register_hook(lambda g: seen.append(g.data_ptr()))
    (x * x).sum().backward()
    assert x.grad.data_ptr() == seen[0]
    where = x.grad.data_ptr()
    (x * x).sum().backward()  # and later ones are added in place
    assert x.grad.data_ptr() == where and x.grad.tolist() == [4, 8]


def test_a_gradient_that_a_hook_keeps_is_copied(torch):
    x = leaf(torch, 1.0, 2.0)
    kept = []
    handle = x.register_hook(kept.append)
    (x * x).sum().backward()
    handle.remove()
    (x * x).sum().backward()
    assert kept[0].tolist() == [2, 4] and x.grad.tolist() == [4, 8]
    view = []
    y = leaf(torch, 1.0, 2.0)
    y.register_hook(lambda g: view.append(g[:1]))
    (y * y).sum().backward()
    assert y.grad.data_ptr() != view[0].data_ptr()


def test_gradients_are_laid_out_as_their_leaf(torch):
    def strides(x, **options):
        (x.requires_grad_() * 2).sum().backward(**options)
        return x.grad.stride()

    for options in ({}, {"create_graph": True}):
        assert strides(torch.ones(2, 3).t(), **options) == (1, 3)
        assert strides(torch.ones(4, 3)[::2].t(), **options) == (2, 1)
        assert strides(torch.ones(2, 1, 3).permute(2, 0, 1), **options)[:2] == (1, 3)
    y = torch.ones(2, 3).requires_grad_()
    y.sum().backward()  # an expanded scalar
    assert y.grad.stride() == (3, 1)


def test_later_gradients_under_create_graph_are_not_added_in_place(torch):
    x = leaf(torch, 2.0)
    (x**3).backward(create_graph=True)
    first = x.grad
    (x**3).backward(create_graph=True)
    assert x.grad is not first and first.tolist() == [12] and x.grad.tolist() == [24]
    second = torch.autograd.grad(x.grad, x)[0]
    assert second.tolist() == [24]
    x.grad = None  # it holds the graph, which holds x
