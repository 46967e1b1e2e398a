"""Facts about views, copies and writes through them, each a bug that others had."""

from __future__ import annotations

from copy import deepcopy

import pytest
from cases.op_cases import packed

import tiny_torch
from tiny_torch import nn


def test_a_slice_of_a_slice_counts_both_offsets():
    x = tiny_torch.arange(10)
    assert x[2:][3:][1].item() == 6
    assert x[2:][3:].storage_offset() == 5
    assert x.view(2, 5)[1][2:].tolist() == [7, 8, 9]


def test_views_share_memory_and_copies_do_not():
    x = tiny_torch.zeros(2, 3)
    x.t()[0, 1] = 5.0
    assert x[1, 0].item() == 5.0
    for copy in (x.clone(), x.repeat(1, 1), x.flip(0), x.t().contiguous(), x.double()):
        copy.zero_()
    assert x[1, 0].item() == 5.0


def test_reshape_is_a_view_where_it_can_be():
    x = tiny_torch.zeros(2, 3, requires_grad=True) * 1
    assert x.reshape(3, 2)._base is x
    assert x.t().reshape(6)._base is None


def test_view_inplace_leaves_other_tensors_alone():
    x = tiny_torch.arange(6).view(2, 3)
    y = x.detach()
    assert y.t_() is y
    assert tuple(y.shape) == (3, 2) and tuple(x.shape) == (2, 3)
    y.unsqueeze_(0)
    assert tuple(y.shape) == (1, 3, 2)
    y.squeeze_(0).transpose_(0, 1)
    assert y.tolist() == x.tolist()


def test_view_inplace_is_recorded():
    a = tiny_torch.arange(6, dtype=tiny_torch.float32).view(2, 3).requires_grad_()
    b = a * 1
    b.t_()
    weights = tiny_torch.arange(6, dtype=tiny_torch.float32).view(3, 2)
    (b * weights).sum().backward()
    assert a.grad.tolist() == weights.t().tolist()
    with pytest.raises(RuntimeError, match="leaf Variable"):
        a.t_()


def test_a_write_through_one_view_renews_all():
    a = tiny_torch.ones(2, 2, requires_grad=True)
    z = a * 1
    v = z[0]
    w = z.view(-1)
    v.mul_(3)
    assert z.tolist() == [[3, 3], [1, 1]] and w.tolist() == [3, 3, 1, 1]
    for tensor in (z, v, w):
        assert tensor.grad_fn is not None
    (w * tiny_torch.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert a.grad.tolist() == [[3, 6], [3, 4]]


def test_a_recorded_write_makes_an_earlier_view_require_grad():
    s = tiny_torch.ones(2, requires_grad=True)
    z = tiny_torch.zeros(2, 2)
    v = z[0]
    assert not v.requires_grad
    z[0].copy_(s)
    assert v.requires_grad and z.requires_grad
    (v * 3).sum().backward()
    assert s.grad.tolist() == [3, 3]


def test_a_view_with_shared_elements_is_renewed_with_their_sum():
    a = tiny_torch.ones(4, requires_grad=True)
    z = a * 1
    windows = z.unfold(0, 2, 1)
    z.mul_(2)
    windows.sum().backward()
    assert a.grad.tolist() == [2, 4, 4, 2]


def test_as_strided_adds_the_gradients_of_shared_elements():
    a = tiny_torch.ones(4, requires_grad=True)
    a.as_strided((3, 2), (1, 1)).sum().backward()
    assert a.grad.tolist() == [1, 2, 2, 1]


@pytest.mark.parametrize(
    "of, shape, strides, offset",
    [
        (lambda x: x[7:10], (5,), (1,), 6),  # begins before, and ends after, what has a gradient
        (lambda x: x[7:10], (3, 2), (1, 1), 6),
        (lambda x: x[7:10], (2,), (1,), 0),  # shows nothing of it
        (lambda x: x[2:10:2], (5,), (1,), 1),
        (lambda x: x[:3].expand(2, 3), (2,), (1,), 1),  # whose elements share one gradient
    ],
)
def test_gradients_of_as_strided_beyond_its_input(oracle, of, shape, strides, offset):
    def gradients(m):
        x = of(m.arange(12.0)).detach().requires_grad_()
        y = x.as_strided(shape, strides, offset)
        weights = m.arange(1.0, 1 + y.numel()).view(shape)
        (first,) = m.autograd.grad((y * y * weights).sum(), x, create_graph=True)
        (second,) = m.autograd.grad((first * m.arange(1.0, 1 + x.numel()).view(x.shape)).sum(), x)
        return first.tolist(), second.tolist()

    assert gradients(tiny_torch) == gradients(oracle)


@pytest.mark.parametrize(
    "shape, strides, offset",
    [
        ((5,), (1,), 0),  # begins before its base, memory[3:7]
        ((6,), (1,), 5),  # ends after it
        ((4, 3), (3, 1), 0),  # both
        ((3,), (4,), 1),  # a part of it, and of what is around it
        ((2,), (1,), 9),  # shows nothing of it
    ],
)
def test_gradients_of_a_write_that_reaches_beyond_its_base(shape, strides, offset):
    def base_after(w):
        base = tiny_torch.arange(12.0, dtype=tiny_torch.float64)[3:7].detach()
        base *= w[:4] + 1
        view = base.as_strided(shape, strides, offset)
        view.mul_(w[: view.numel()].view(shape))
        return base * base

    w = tiny_torch.arange(1.0, 13.0, dtype=tiny_torch.float64).requires_grad_()
    assert tiny_torch.autograd.gradcheck(base_after, w)
    assert tiny_torch.autograd.gradgradcheck(base_after, w)


@pytest.mark.parametrize(
    "several", [lambda z: z.unbind(), lambda z: z.split(1), lambda z: z.chunk(2)]
)
def test_outputs_of_one_op_may_not_be_written(several):
    z = tiny_torch.ones(2, 2, requires_grad=True) * 1
    with pytest.raises(RuntimeError, match="multiple views"):
        several(z)[0].add_(1)


def test_writes_on_leaves_and_their_views_raise():
    a = tiny_torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        a[0].add_(1)
    with pytest.raises(RuntimeError, match="a leaf Variable"):
        a.zero_()
    z = a * 1
    with tiny_torch.no_grad():
        v = z[0]
    with pytest.raises(RuntimeError, match="no_grad mode"):
        v.add_(1)


def test_only_used_outputs_of_split_need_a_gradient():
    a = tiny_torch.ones(6, requires_grad=True)
    first, _, third = a.split(2)
    (first.sum() + 2 * third.sum()).backward()
    assert a.grad.tolist() == [1, 1, 0, 0, 2, 2]


def test_iterating_and_unpacking():
    a, b = tiny_torch.arange(4).view(2, 2)
    assert a.tolist() == [0, 1] and b.tolist() == [2, 3]
    assert [int(v) for v in tiny_torch.arange(3)] == [0, 1, 2]


def test_a_cast_gives_its_gradient_back_in_the_first_dtype():
    a = tiny_torch.ones(2, requires_grad=True)
    (a.double() * 2).sum().backward()
    assert a.grad.dtype is tiny_torch.float32 and a.grad.tolist() == [2, 2]
    assert not a.long().requires_grad
    assert a.float() is a and a.to("cpu") is a and a.to(a) is a


def test_cat_of_channels_last_is_channels_last():
    x = tiny_torch.arange(120).view(2, 4, 5, 3).permute(0, 3, 1, 2)
    assert tiny_torch.cat((x, x), 1).stride() == (120, 1, 30, 6)
    assert tiny_torch.stack((x, x)).stride() == (120, 60, 1, 15, 3)


@pytest.mark.parametrize("dim", range(5))
@pytest.mark.parametrize(
    "of",
    [
        lambda x: x,
        lambda x: x[:, :2],  # with gaps
        lambda x: x[..., ::2],
        lambda x: x[:1, :, :1],  # contiguous as well
        lambda x: x.permute(3, 1, 0, 2),
        lambda x: x.reshape(2, 3, 2, 2, 5).permute(0, 4, 3, 1, 2),
        lambda x: x.permute(0, 2, 3, 1).reshape(2, 2, 2, 5, 3).permute(0, 4, 1, 2, 3),
    ],
)
def test_strides_of_cat_and_stack(oracle, of, dim):
    def strides(m):
        x = of(m.arange(120.0).view(2, 4, 5, 3).permute(0, 3, 1, 2))
        return m.cat((x, x), dim % x.ndim).stride(), m.stack((x, x), dim).stride()

    assert strides(tiny_torch) == strides(oracle)


def test_parameters_take_part_in_views():
    p = nn.Parameter(tiny_torch.ones(2, 3))
    (p.t()[1:] * 2).sum().backward()
    assert p.grad.tolist() == [[0, 2, 2], [0, 2, 2]]


def test_packed_layouts_are_what_the_names_say():
    assert packed((2, 3, 4)) == tiny_torch.zeros(2, 3, 4).stride()


@pytest.mark.parametrize("view", ["slice", "unbind", "split"])
def test_views_of_a_base_that_was_written_and_detached(torch, view):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    z = x * 1
    v = {"slice": lambda: z[:2], "unbind": lambda: z.unbind()[0], "split": lambda: z.split(2)[0]}[
        view
    ]()
    z[0:1].mul_(3)
    z.detach_()
    if view == "slice":
        assert v.requires_grad and v.grad_fn.next_functions == ((None, 0),)
        v.sum().backward()
        assert x.grad is None
    else:
        with pytest.raises(RuntimeError, match="multiple views"):
            v.grad_fn  # noqa: B018


RESHAPES = {
    "t_": lambda z: z.t_(),
    "transpose_": lambda z: z.transpose_(0, 1),
    "squeeze_": lambda z: z.squeeze_(0),
    "unsqueeze_": lambda z: z.unsqueeze_(0),
    "as_strided_": lambda z: z.as_strided_((2, 1), (1, 2)),
    "detach().t_": lambda z: z.detach().t_(),
}


@pytest.mark.parametrize("reshape", RESHAPES.values(), ids=RESHAPES)
@pytest.mark.parametrize("mode", ["enable_grad", "no_grad", "inference_mode"])
def test_a_reshape_in_place_makes_saved_values_stale(torch, reshape, mode):
    x = torch.tensor([[1.0, 2.0]], requires_grad=True)
    z = x * 1
    y = z * z
    with getattr(torch, mode)():
        reshape(z)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    version = x._version
    with pytest.raises(IndexError):
        z.detach().transpose_(5, 0)
    assert x._version == version


def test_resize_makes_saved_values_stale(torch):
    x, w = torch.ones(4), torch.ones(4, requires_grad=True)
    y = x * w
    x.resize_(4)
    y.sum().backward(retain_graph=True)
    x.resize_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_reshape_in_place_renews_views(torch):
    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    z = x * 1
    v = z[0]
    seen = []
    v.register_hook(seen.append)
    z.t_()
    assert v.grad_fn.name() == "AsStridedBackward0" and v.tolist() == [1, 2, 3]
    z.register_hook(lambda g: g * 2)  # v is one of z's elements now
    (v * torch.tensor([1.0, 2.0, 3.0])).sum().backward(retain_graph=True)
    assert x.grad.tolist() == [[2, 4, 6], [0, 0, 0]] and not seen
    v.mul_(2)
    x.grad = None
    (z * torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])).sum().backward()
    assert x.grad.tolist() == [[4, 12, 20], [4, 8, 12]]


def test_a_view_that_is_reshaped_in_place(torch):
    x = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], requires_grad=True)
    z = x * 1
    v = z.view(2, 3)
    before = z.grad_fn
    v.t_()
    assert z.grad_fn is before and v.shape == (3, 2)
    with torch.no_grad():
        v.unsqueeze_(0)
    assert v.grad_fn.name() == "AsStridedBackward0" and z.grad_fn is before
    v[0, :, 1].mul_(10)
    (z * z.detach()).sum().backward()
    assert x.grad.tolist() == [1, 2, 3, 400, 500, 600]


def test_a_view_that_wrote_keeps_its_history_when_the_base_is_detached(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    z = x * 1
    v, other = z.view(2), z.view(2)
    v.mul_(3)
    z.retain_grad()
    z.detach_()
    (v * v + other.detach()).sum().backward()
    assert x.grad.tolist() == [18, 36] and z.grad.tolist() == [6, 12]
    assert other.grad_fn.next_functions == ((None, 0),)


def test_retain_grad_of_a_base_stays_where_a_view_wrote(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    z = x * 1
    v = z[0:1]
    v.mul_(3)
    z.retain_grad()
    assert not v.retains_grad and z.retains_grad
    z.mul_(2)
    z.retain_grad()
    (v.sum() + z.sum()).backward()
    assert z.grad.tolist() == [2, 1] and v.tolist() == [6] and x.grad.tolist() == [12, 2]


def test_new_data_for_a_view_that_wrote(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    z = x * 1
    v = z[0:1]
    v.mul_(3)
    v.data = torch.tensor([5.0])
    v.sum().backward()
    assert x.grad.tolist() == [3, 0]


def older_view(torch):
    base = torch.arange(6.0).view(2, 3).clone()
    view = base[1]
    base.requires_grad_()
    return base, view


USES = {
    "product": lambda t, v: v * 3,
    "product of two": lambda t, v: v @ t.ones(3),
    "view": lambda t, v: v.view(3, 1),
    "index": lambda t, v: v[0],
    "cat": lambda t, v: t.cat([v, v]),
    "fused": lambda t, v: v.softmax(0),
    "linear": lambda t, v: t.nn.functional.linear(v, t.ones(2, 3)),
}


@pytest.mark.parametrize("use", USES)
def test_of_a_view_from_before_its_base_required_grad_no_gradient_arrives(torch, use):
    base, view = older_view(torch)
    assert view.requires_grad and view.is_leaf and view.grad_fn is None
    y = USES[use](torch, view)
    assert y.requires_grad and not y.is_leaf
    (y.sum() + base.sum() * 2).backward()
    assert view.grad is None and base.grad.tolist() == [[2] * 3] * 2


def test_a_view_from_before_its_base_required_grad_is_like_a_leaf(torch):
    base, view = older_view(torch)
    view.sum().backward()
    view.retain_grad()
    view.register_hook(print)
    assert not view.retains_grad and deepcopy(view).requires_grad
    with pytest.raises(RuntimeError, match="not have been used in the graph"):
        torch.autograd.grad(view.sum(), view)
    with pytest.raises(RuntimeError, match="automatic differentiation"):
        torch.add(torch.ones(3), 1, out=view)
    with torch.no_grad():
        view.add_(1)  # shows the base anew
    (view * 3).sum().backward()
    assert base.grad.tolist() == [[0] * 3, [3] * 3]


def test_a_view_without_a_size():
    with pytest.raises(TypeError, match='missing 1 required positional arguments: "size"'):
        tiny_torch.ones(2, 3).view()
