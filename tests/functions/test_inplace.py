"""Views, writes in place and versions: facts about PyTorch, each asked of PyTorch, too."""

from __future__ import annotations

import pytest
from helpers import leaf

STALE = "one of the variables needed for gradient computation has been modified by an inplace"
LEAF = "a leaf Variable that requires grad is being used in an in-place operation"
VIEW_OF_LEAF = "a view of a leaf Variable that requires grad is being used in an in-place operation"
SEVERAL = "This view is the output of a function that returns multiple views"
AMBIGUOUS = "Given that this use case is ambiguous and error-prone, it is forbidden"


def ones(torch, *shape):
    """A tensor with a history, so that it may be written; and the leaf that it comes from."""
    x = torch.ones(*shape, requires_grad=True)
    return x, x * 1


# ------------------------------------------------------------------------------------ versions


WRITES = {
    "in place": lambda torch, x: x.add_(1),
    "through a view": lambda torch, x: x[0:1].add_(1),
    "through detach": lambda torch, x: x.detach().add_(1),
    "through a view of detach": lambda torch, x: x.detach()[0:1].add_(1),
    "by assignment": lambda torch, x: x.__setitem__(0, 5.0),
    "by copy_": lambda torch, x: x.copy_(torch.zeros(2)),
    "by zero_": lambda torch, x: x.zero_(),
    "by fill_": lambda torch, x: x.fill_(2.0),
    "by uniform_": lambda torch, x: x.detach().uniform_(),
    "by out=": lambda torch, x: torch.add(torch.ones(2), 1, out=x.detach()),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("saved", ["input", "output", "view", "alias"])
def test_a_saved_value_that_was_written_raises(torch, write, saved):
    _, y = ones(torch, 2)
    written = y
    if saved == "input":
        z = y * y
    elif saved == "output":
        z = written = y.exp()
    elif saved == "view":
        z = y[0:2] * y[0:2]
    else:
        written = y.detach()
        z = leaf(torch, 1.0, 2.0) * written
    write(torch, written)
    with pytest.raises(RuntimeError, match=STALE):
        z.sum().backward()


def test_the_error_says_what_was_written_and_who_had_saved_it(torch):
    _, y = ones(torch, 2)
    z = y.exp()
    z.add_(1)
    with pytest.raises(RuntimeError, match=r"FloatTensor \[2\].*Exp.*anomaly detection"):
        z.sum().backward()


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_what_was_not_saved_may_be_written(torch, write):
    x, y = ones(torch, 2)
    outcomes = [y + 1, y * 2.0, y * torch.ones(2), y / 4.0, y.neg(), y.sum(), y.view(1, 2) * 3.0]
    outcomes.append(torch.lerp(y, torch.ones(2), 0.5))
    outcomes.append(y.reshape(1, 2) @ torch.ones(2, 2))
    weight = leaf(torch, 1.0, 2.0)
    weighted = torch.tensor([3.0, 4.0]) * weight
    write(torch, y)
    write(torch, weight.detach())
    torch.autograd.backward([t.sum() for t in outcomes] + [weighted.sum()])
    assert x.grad.tolist() == [1 + 2 + 1 + 0.25 - 1 + 1 + 3 + 0.5 + 2] * 2
    assert weight.grad.tolist() == [3, 4]


def test_writes_through_data_are_not_noticed(torch):
    x, y = ones(torch, 2)
    z = y * y
    y.data.add_(1)
    z.sum().backward()
    assert x.grad.tolist() == [4, 4] and y.tolist() == [2, 2]


def test_versions_count_the_writes_and_are_shared(torch):
    x = torch.ones(2, 2)
    view, detached, data = x[0], x.detach(), x.data
    assert [t._version for t in (x, view, detached, data)] == [0, 0, 0, 0]
    view.add_(1)
    assert [t._version for t in (x, view, detached, data)] == [1, 1, 1, 0]
    data.add_(1)
    detached.t()[1:] = 3
    assert [t._version for t in (x, view, detached, data)] == [2, 2, 2, 1]
    assert (x * 2)._version == x.clone()._version == 0


WRITES = {
    "x += 1; x *= 2; x /= 2; x -= 1; x **= 2": 5,
    "x[0] = 1; x[x > 0] = 2; x[torch.tensor([0])] = 3; x[0, 0] = x[1, 1]": 4,
    "x.copy_(torch.zeros(2, 2)); x.zero_(); x.fill_(2)": 3,
    "x.relu_(); x.clamp_(0, 1); x.masked_fill_(x > 0, 1); x.index_fill_(0, x[0].long(), 1)": 4,
    "x.normal_(); x.uniform_(); x.bernoulli_(0.5); torch.nn.init.constant_(x, 1)": 4,
    "x.t_(); x.unsqueeze_(0); x.squeeze_(); x.resize_(1)": 4,
    "torch.add(x, x, out=x); x[:1].t().sub_(x[:1].t())": 2,
    "x.requires_grad_(); x.detach().exp(); x.sort(); x.view(-1)": 0,
    "x[:0] = 1": 1,
}


@pytest.mark.parametrize("writes", WRITES)
def test_how_many_writes_a_version_counts(torch, writes):
    x = torch.ones(2, 2)
    exec(writes, {"x": x, "torch": torch})
    assert x._version == WRITES[writes]


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "RMSprop", "Adagrad"])
def test_a_step_of_an_optimizer_is_one_write(torch, optimizer):
    p = torch.nn.Parameter(torch.ones(2))
    steps = getattr(torch.optim, optimizer)([p], 0.1)
    for count in (1, 2, 3):
        (p * p).sum().backward()
        steps.step()
        assert p._version == count


def test_a_write_before_saving_does_no_harm(torch):
    x, y = ones(torch, 2)
    y.add_(1)
    y.mul_(3.0)
    (y * y).sum().backward()
    assert x.grad.tolist() == [36, 36]


def test_an_op_that_saves_its_own_output_may_write_it_in_place(torch):
    x, y = ones(torch, 2)
    y.exp_().sum().backward()
    assert x.grad.tolist() == pytest.approx([2.7182817] * 2)


def test_an_op_in_place_of_its_own_other_operand(torch):
    x, y = ones(torch, 2)
    y.add_(y)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]
    _, y = ones(torch, 2)
    y.mul_(y)
    with pytest.raises(RuntimeError, match=STALE):
        y.sum().backward()
    _, z = ones(torch, 2)
    z[0:1].mul_(z[1:2])
    with pytest.raises(RuntimeError, match=STALE):
        z.sum().backward()


def test_data_setter_keeps_identity_and_history(torch):
    x = leaf(torch, 1.0, 2.0)
    x.mark = True
    other = torch.ones(3, dtype=torch.float64)
    y = x * x
    x.data = other
    assert x.is_leaf and x.requires_grad and x.mark and x.dtype is torch.float64
    other.add_(1)
    assert x.tolist() == [2, 2, 2] and x.data_ptr() == other.data_ptr()
    x.data = torch.tensor([5.0, 6.0])
    y.sum().backward()  # reads the new data
    assert x.grad.tolist() == [10, 12]
    _, z = ones(torch, 2)
    view = z[0:1]
    view.data = torch.zeros(3)
    assert view.tolist() == [0, 0, 0] and view.grad_fn is not None


def test_detach_shares_memory_and_not_shape(torch):
    x = torch.ones(2, 3)
    d = x.detach()
    d.t_() if hasattr(d, "t_") else None
    d.add_(1)
    assert x.shape == (2, 3) and x.tolist() == [[2] * 3] * 2 and not d._is_view()
    y = leaf(torch, 1.0) * 1
    assert y.detach_() is y and y.is_leaf and not y.requires_grad


# ------------------------------------------------------------------- writes that are refused


REFUSED = {
    "leaf": (lambda t, x, y: x.add_(1), LEAF),
    "leaf by item": (lambda t, x, y: x.__setitem__(0, 1.0), LEAF),
    "leaf by copy_": (lambda t, x, y: x.copy_(t.ones(2, 2)), LEAF),
    "leaf by zero_": (lambda t, x, y: x.zero_(), LEAF),
    "leaf by eq_": (lambda t, x, y: x.eq_(1), LEAF),
    "view of leaf": (lambda t, x, y: x[0].add_(1), VIEW_OF_LEAF),
    "view of view of leaf": (lambda t, x, y: x.view(4)[0:2].mul_(2), VIEW_OF_LEAF),
    "leaf that is a view": (lambda t, x, y: t.ones(2)[0:1].requires_grad_().mul_(2), VIEW_OF_LEAF),
    "view older than its leaf's flag": (lambda t, x, y: older_view(t).mul_(2), VIEW_OF_LEAF),
    "unbind": (
        lambda t, x, y: y.unbind(0)[1].add_(1),
        f"Output 1 of Unbind.* is a view.*{SEVERAL}",
    ),
    "split": (lambda t, x, y: y.split(1)[1].add_(1), f"Output 1 of Split.* is a view.*{SEVERAL}"),
    "iteration": (lambda t, x, y: next(iter(y)).add_(1), SEVERAL),
    "view of unbind": (lambda t, x, y: y.unbind(0)[0].view(1, 2).add_(1), SEVERAL),
    "no_grad": (
        lambda t, x, y: made_under(t.no_grad(), y).add_(1),
        "A view was created in no_grad mode and is being modified inplace with grad mode enabled. "
        + AMBIGUOUS,
    ),
    "view of no_grad": (lambda t, x, y: made_under(t.no_grad(), y).view(-1).add_(1), AMBIGUOUS),
    "no_grad of leaf": (lambda t, x, y: made_under(t.no_grad(), x).add_(1), AMBIGUOUS),
    "inference_mode": (
        lambda t, x, y: made_under(t.inference_mode(), y).add_(1),
        "A view was created in inference mode and is being modified inplace in normal mode. "
        + AMBIGUOUS,
    ),
    "expanded": (
        lambda t, x, y: y[0:1].expand(3, 2).add_(1),
        "unsupported operation: more than one element of the written-to tensor refers to a single",
    ),
    "int with float": (lambda t, x, y: t.ones(2).long().add_(1.5), "can't be cast to"),
    "larger shape": (lambda t, x, y: y[0].add_(t.ones(3, 2)), "doesn't match the broadcast shape"),
}


def made_under(mode, base):
    with mode:
        return base[0]


def older_view(torch):
    base = torch.ones(2, 2)
    view = base[0]
    base.requires_grad_()
    return view


@pytest.mark.parametrize(("write", "text"), REFUSED.values(), ids=REFUSED)
def test_refused_writes_change_nothing(torch, write, text):
    x, y = ones(torch, 2, 2)
    version = y._version
    with pytest.raises(RuntimeError, match=f"(?s){text}"):
        write(torch, x, y)
    assert x.tolist() == y.tolist() == [[1, 1], [1, 1]] and y._version == version
    y.sum().backward()
    assert x.grad.tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("write", [key for key in REFUSED if "leaf" in key or "no_grad" in key])
def test_without_grad_they_are_allowed(torch, write):
    x, y = ones(torch, 2, 2)
    with torch.no_grad():
        REFUSED[write][0](torch, x, y)


@pytest.mark.parametrize("how", ["unbind", "no_grad"])
@pytest.mark.parametrize("quietly", [False, True])
def test_views_that_a_write_to_the_base_leaves_without_a_gradient(torch, how, quietly):
    _, y = ones(torch, 2, 2)
    view = y.unbind(0)[0] if how == "unbind" else made_under(torch.no_grad(), y)
    if quietly:
        with torch.no_grad():
            y.mul_(2)
    else:
        y.mul_(2)
    with pytest.raises(
        RuntimeError, match="its base or another view of its base has been modified"
    ):
        view.grad_fn  # noqa: B018
    with pytest.raises(
        RuntimeError, match="its base or another view of its base has been modified"
    ):
        view * 2
    with torch.no_grad():
        assert (view * 2).tolist() == [4, 4]
    assert view.requires_grad and "grad_fn=<Invalid>" in repr(view)


# --------------------------------------------------------------------- CopySlices, AsStrided


def test_a_write_through_a_view_reaches_the_base(torch):
    x, z = ones(torch, 2, 2)
    z[0].add_(1)
    z[0].mul_(3)
    (z * z).sum().backward()  # (3 (x + 1))^2 above, x^2 below
    assert z.tolist() == [[6, 6], [1, 1]] and x.grad.tolist() == [[36, 36], [2, 2]]


def test_a_write_renews_base_and_all_views(torch):
    x, z = ones(torch, 2, 2)
    v, w = z[0], z.view(-1)
    names = [t.grad_fn for t in (z, v, w)]
    v.mul_(3)
    assert all(t.grad_fn is not old for t, old in zip((z, v, w), names, strict=True))
    assert v.grad_fn is v.grad_fn and v._base is z and w._base is z and w[0:2]._base is z
    total = (z * 1.0).sum() + (v * 10.0).sum() + (w * 100.0).sum()
    total.backward()
    assert x.grad.tolist() == [[333, 333], [101, 101]]


def test_a_base_without_history_takes_that_of_what_is_written_to_it(torch):
    s = leaf(torch, 1.0, 2.0)
    z = torch.zeros(2, 2)
    v = z[0]
    w = z[1]
    z[0].copy_(s)
    assert [t.requires_grad for t in (z, v, w)] == [True, True, True]
    assert not any(t.is_leaf for t in (z, v, w))
    ((v * 3).sum() + z.sum() + w.sum()).backward()
    assert s.grad.tolist() == [4, 4]


def test_a_leaf_that_is_a_view_and_a_write_beside_it(torch):
    z = torch.zeros(2, 2)
    v = z[0].requires_grad_()
    assert v.is_leaf
    z.add_(1)
    assert v.is_leaf and v.requires_grad
    z[1].mul_(leaf(torch, 2.0, 3.0))
    assert not v.is_leaf and v.grad_fn is not None


def test_broadcast_and_promoted_operands_of_a_write_through_a_view(torch):
    x, z = ones(torch, 2, 3)
    s = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    t = torch.full((3,), 3.0, dtype=torch.float64).requires_grad_()
    z[0].mul_(s)
    z[:, 0:1].mul_(leaf(torch, 5.0))
    z[1].mul_(t)
    z.sum().backward()
    assert s.grad.dtype is torch.float64 and s.grad.shape == () and s.grad.item() == 7
    assert t.grad.tolist() == [5, 1, 1] and t.grad.dtype is torch.float64
    assert x.grad.dtype is torch.float32 and x.grad.tolist() == [[10, 2, 2], [15, 3, 3]]


def test_strange_views_of_strange_bases(torch):
    x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
    z = (x * 1).permute(2, 0, 1)  # the base is x * 1
    z[1:3].transpose(0, 2)[1:, :, 0].mul_(10.0)
    z.diagonal(0, 0, 1).add_(100.0)
    weight = torch.arange(24.0).reshape(4, 2, 3)
    (z * weight).sum().backward()
    factor = torch.ones(4, 2, 3)
    factor[1:3].transpose(0, 2)[1:, :, 0].mul_(10.0)
    assert x.grad.tolist() == (weight * factor).permute(1, 2, 0).tolist()


def test_a_base_whose_memory_has_gaps_or_order(torch):
    for base in (torch.ones(4, 6)[::2, 1:4].detach(), torch.ones(3, 2).t()[1:].detach()):
        s = leaf(torch, 2.0)
        z = base  # a base: detach is not a view of something with a gradient
        z[0].mul_(s)
        assert z.requires_grad
        (z * z).sum().backward()
        assert s.grad.item() == pytest.approx(2 * 2 * z.shape[1])


def test_writes_that_forget_what_was_there(torch):
    x, z = ones(torch, 3)
    z[0] = 5.0
    z[1:2].zero_()
    (z * z).sum().backward()
    assert x.grad.tolist() == [0, 0, 2]
    x, z = ones(torch, 3)
    z.eq_(1.0)
    (z * 2 + x).sum().backward()
    assert x.grad.tolist() == [1, 1, 1]
    x, z = ones(torch, 3)
    z[0:2].ge_(1.0)
    z.sum().backward()
    assert x.grad.tolist() == [0, 0, 1]


def test_writes_through_views_can_be_differentiated_twice(torch):
    x = torch.ones(2, 2, requires_grad=True)
    z = x * 1
    z[0].mul_(x[1])
    z[:, 1].exp_()
    (g,) = torch.autograd.grad((z**2).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad((g * g).sum(), x)
    # f = a^2 c^2 + exp(2 b d) + c^2 + exp(2 d), of x = ((a, b), (c, d))
    e2 = 7.3890561
    # its gradient is (2, 2 e2, 4, 4 e2); its Hessian [[2, 4], [4, 4]] and e2 [[4, 6], [6, 8]]
    assert g.reshape(-1).tolist() == pytest.approx([2, 2 * e2, 4, 4 * e2])
    hessian_ac, hessian_bd = [[2, 4], [4, 4]], [[4 * e2, 6 * e2], [6 * e2, 8 * e2]]
    ac = [2 * (row[0] * 2 + row[1] * 4) for row in hessian_ac]
    bd = [2 * (row[0] * 2 * e2 + row[1] * 4 * e2) for row in hessian_bd]
    assert h.reshape(-1).tolist() == pytest.approx([ac[0], bd[0], ac[1], bd[1]], rel=1e-5)


def test_a_write_outside_grad_mode_keeps_the_history(torch):
    x, z = ones(torch, 2)
    v = z[0:1]
    with torch.no_grad():
        z.mul_(5)
    assert z.grad_fn is not None
    (z.sum() + v.sum()).backward()
    assert x.grad.tolist() == [2, 1]


def test_views_of_a_leaf_after_an_optimisers_step(torch):
    x = torch.ones(2, 2, requires_grad=True)
    v = x[0]
    with torch.no_grad():
        x.mul_(2)
    v.sum().backward()
    assert x.grad.tolist() == [[1, 1], [0, 0]] and v.tolist() == [2, 2]


def test_draws_have_no_gradient_to_what_they_replace(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.uniform_()
    assert y.requires_grad
    (y * y).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.normal_()
    y = x.exp()  # whose backward needs the values that are replaced
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.normal_().sum().backward()
    fills = "normal_() uniform_() exponential_() random_() random_(3) geometric_(0.5) log_normal_()"
    assert [eval(f"(x * 1).{fill}.grad_fn.name()", {"x": x})[:6] for fill in fills.split()] == [
        *("Normal", "Unifor", "Expone", "Random", "Random", "Geomet", "LogNor")
    ]


@pytest.mark.parametrize("write", ["mul_(1)", "add_(1)", "masked_fill_(v > 5, 0)", "zero_()"])
def test_a_write_through_a_view_that_overlaps_itself(torch, write):
    x = torch.ones(4, requires_grad=True)
    v = (x * 1).unfold(0, 3, 1)  # two rows, of which two elements are the same
    eval(f"v.{write}", {"v": v})
    v.sum().backward()
    assert x.grad.tolist() == ([0] * 4 if write == "zero_()" else [1, 2, 2, 1])


def test_fill_with_an_element_of_itself(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    y.fill_(y[1])
    assert y.tolist() == [2, 2]
    y.sum().backward()
    assert x.grad.tolist() == [0, 2]


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_a_shape_that_changes_unrecorded_still_has_its_gradient(torch, mode):
    x = torch.tensor(3.0, requires_grad=True)
    y = x * 2
    with getattr(torch, mode)():
        y.unsqueeze_(0)
    y[0] = y[0] * 5
    (y * torch.tensor([7.0])).sum().backward()
    assert x.grad.item() == 70
