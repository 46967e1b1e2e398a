"""Layer, RMS, batch, group, instance and local response norm: values, gradients, state, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tiny_torch
from tiny_torch.nn import functional as F

TOLERANCE = {"float32": 2e-5, "float64": 1e-10, "bfloat16": 5e-2}
SHAPES = [
    (4, 6, 5, 7),
    (8, 6),
    (33, 70),
    (67, 1031),
    (4, 6, 9),
    (2, 32, 16, 16),
    (2, 3, 4, 5, 6),
    (3, 128, 3, 3),
    (2, 6, 100, 101),
]
LAYOUTS = ["contiguous", "channels_last", "permuted", "expanded"]


def draw(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def laid_out(m, x, layout):
    if layout == "channels_last" and x.ndim == 4:
        return x.to(memory_format=m.channels_last)
    if layout == "permuted":
        return x.transpose(0, -1).contiguous().transpose(0, -1)
    return x


def tensor(m, values, dtype, layout="contiguous", grad=True):
    x = laid_out(m, m.from_numpy(values.copy()).to(getattr(m, dtype)), layout)
    return x.detach().requires_grad_(grad)


def close(ours, theirs, bound, where, strides=False):
    assert tuple(ours.shape) == tuple(theirs.shape), where
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1], where
    assert not strides or ours.stride() == theirs.stride(), (where, ours.stride(), theirs.stride())
    a, b = ours.detach().double().numpy(), theirs.detach().double().numpy()
    scale = np.abs(b[np.isfinite(b)]).max(initial=1.0)
    assert np.allclose(a, b, rtol=bound, atol=bound * scale, equal_nan=True), (where, a, b)


def dims_of(shape):
    return shape[-1:] if len(shape) < 4 else shape[-2:]


def groups_of(channels):
    return next(n for n in (3, 4, 2, 1) if channels % n == 0 and channels > 2 * n)


# name -> (shape of weight and bias, the call: f, x, weight, bias, running mean and variance)
CALLS = {
    "batch_norm": lambda f, x, w, b, m, v: f.batch_norm(x, m, v, w, b, True, 0.3),
    "evaluated": lambda f, x, w, b, m, v: f.batch_norm(x, m, v, w, b, False, 0.3, 1e-3),
    "untracked": lambda f, x, w, b, m, v: f.batch_norm(x, None, None, w, b, True),
    "group_norm": lambda f, x, w, b, m, v: f.group_norm(x, groups_of(x.shape[1]), w, b),
    "instance_norm": lambda f, x, w, b, m, v: f.instance_norm(x, m, v, w, b, True, 0.3),
    "instance_norm evaluated": lambda f, x, w, b, m, v: f.instance_norm(x, m, v, w, b, False),
    "layer_norm": lambda f, x, w, b, m, v: f.layer_norm(x, dims_of(x.shape), w, b),
    "rms_norm": lambda f, x, w, b, m, v: f.rms_norm(x, dims_of(x.shape), w),
}


def results(m, name, shape, layout, dtype, affine):
    """Output, gradients of input, weight and bias, running statistics."""
    x = tensor(m, draw(0, *shape) * 2 + 3, dtype, layout)
    if layout == "expanded":
        x = tensor(m, draw(0, *shape[:-1], 1), dtype).expand(shape).detach().requires_grad_()
    rows = name in ("layer_norm", "rms_norm")
    size = dims_of(shape) if rows else shape[1:2]
    weight = tensor(m, draw(1, *size), dtype) if affine else None
    bias = tensor(m, draw(2, *size), dtype) if affine and name != "rms_norm" else None
    mean = tensor(m, draw(3, shape[1]), dtype, grad=False)
    var = tensor(m, draw(4, shape[1]) ** 2 + 0.5, dtype, grad=False)
    y = CALLS[name](m.nn.functional, x, weight, bias, mean, var)
    # PyTorch's own instance norm gets the gradient of a batch of one wrong in channels_last
    plain = name.startswith("instance") or layout == "expanded"
    y.backward(tensor(m, draw(5, *shape), dtype, "contiguous" if plain else layout, grad=False))
    return y, x.grad, *(None if p is None else p.grad for p in (weight, bias)), mean, var


def check(oracle, name, shape, layout, dtype, affine):
    if name.startswith("instance") and len(shape) == 2:
        return
    both = [results(m, name, shape, layout, dtype, affine) for m in (tiny_torch, oracle)]
    for k, (ours, theirs) in enumerate(zip(*both, strict=True)):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            close(ours, theirs, TOLERANCE[dtype], (name, shape, layout, dtype, affine, k), k == 0)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CALLS)
def test_norms(oracle, name, layout):
    for shape in SHAPES if layout != "expanded" else SHAPES[:3]:
        # one value, repeated: its variance is 0, and gradients are as large as 1 / sqrt(eps)
        if layout == "expanded" and name not in ("batch_norm", "evaluated", "untracked"):
            continue
        for affine in (True, False):
            check(oracle, name, shape, layout, "float32", affine)
    check(oracle, name, (4, 6, 5, 7), layout, "float64", True)


@pytest.mark.parametrize("name", CALLS)
def test_halves_are_computed_in_float32(name):
    shape = (4, 6, 5, 7)
    wide = results(tiny_torch, name, shape, "contiguous", "bfloat16", True)
    assert all(r is None or r.dtype is tiny_torch.bfloat16 for r in wide)
    x = tensor(tiny_torch, draw(0, *shape) * 2 + 3, "bfloat16", grad=False)
    ones = tiny_torch.ones(6)
    for mixed in (F.batch_norm(x, ones, ones, ones, ones, True), F.group_norm(x, 2, ones, ones)):
        assert mixed.dtype is tiny_torch.bfloat16
    expected = F.group_norm(x.float(), 2).to(tiny_torch.bfloat16)
    assert bool((F.group_norm(x, 2) == expected).all())
    assert bool((F.layer_norm(x, (7,)) == F.layer_norm(x.float(), (7,)).to(x.dtype)).all())


@pytest.mark.parametrize("layout", ["contiguous", "channels_last"])
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("affine", [True, False])
def test_second_derivatives(name, layout, affine):
    x = tensor(tiny_torch, draw(0, 2, 6, 2, 2), "float64", layout)
    size = (2, 2) if name in ("layer_norm", "rms_norm") else (6,)
    parameters = [tensor(tiny_torch, draw(k, *size), "float64") for k in (1, 2)] if affine else []

    def call(x, weight=None, bias=None):
        mean, var = tiny_torch.zeros(6).double(), tiny_torch.ones(6).double() * 2
        return CALLS[name](F, x, weight, bias, mean, var)

    if name == "rms_norm":
        parameters = parameters[:1]
    if name == "instance_norm evaluated" and layout == "contiguous":
        return
    assert tiny_torch.autograd.gradcheck(call, (x, *parameters), atol=1e-4)
    assert tiny_torch.autograd.gradgradcheck(call, (x, *parameters), atol=1e-4)


def test_accuracy_far_from_zero():
    values = draw(0, 8, 4, 64, 64) + 1000
    exact = tiny_torch.from_numpy(values).float().double()
    for layout in ("contiguous", "channels_last"):
        x = laid_out(tiny_torch, exact.float(), layout)
        for norm in (
            lambda x: F.batch_norm(x, None, None, training=True),
            lambda x: F.group_norm(x, 2),
            lambda x: F.layer_norm(x, (64, 64)),
        ):
            assert (norm(x) - norm(exact)).abs().max() < 2e-4


@pytest.mark.parametrize("momentum", [0.1, 0.7, None])
@pytest.mark.parametrize("name", ["BatchNorm2d", "InstanceNorm2d"])
def test_running_statistics(oracle, name, momentum):
    if name == "InstanceNorm2d" and momentum is None:
        return
    modules = [getattr(m.nn, name)(3, momentum=momentum, track_running_stats=True, affine=True)
               for m in (tiny_torch, oracle)]  # fmt: skip
    for step in range(5):
        outputs = []
        for m, module in zip((tiny_torch, oracle), modules, strict=True):
            module.train(step < 4)
            outputs.append(module(tensor(m, draw(step, 4, 3, 5, 5) + step, "float32")))
        close(*outputs, 1e-5, step)
        ours, theirs = (module.state_dict() for module in modules)
        assert list(ours) == list(theirs)
        for key in ours:
            close(ours[key], theirs[key], 1e-6, (step, key))


def test_modules(oracle):
    for make, shape in (
        (lambda n: n.BatchNorm1d(4), (5, 4)),
        (lambda n: n.BatchNorm1d(4, eps=1e-3, affine=False), (5, 4, 3)),
        (lambda n: n.BatchNorm2d(4, momentum=None, bias=False), (5, 4, 3, 2)),
        (lambda n: n.BatchNorm2d(4, track_running_stats=False), (5, 4, 3, 2)),
        (lambda n: n.BatchNorm3d(4), (5, 4, 3, 2, 2)),
        (lambda n: n.InstanceNorm1d(4), (4, 6)),
        (lambda n: n.InstanceNorm2d(4, affine=True), (5, 4, 3, 2)),
        (lambda n: n.InstanceNorm3d(4, track_running_stats=True), (4, 3, 2, 2)),
        (lambda n: n.LayerNorm(4), (3, 4)),
        (lambda n: n.LayerNorm((3, 4), bias=False), (2, 3, 4)),
        (lambda n: n.LayerNorm([4], elementwise_affine=False), (3, 4)),
        (lambda n: n.RMSNorm(4, eps=1e-3), (3, 4)),
        (lambda n: n.RMSNorm(4, elementwise_affine=False), (3, 4)),
        (lambda n: n.GroupNorm(2, 4), (3, 4, 5)),
        (lambda n: n.GroupNorm(2, 4, affine=False), (3, 4)),
        (lambda n: n.LocalResponseNorm(3, alpha=0.5, k=2.0), (3, 7, 5, 2)),
        (lambda n: n.LocalResponseNorm(2), (3, 7, 5)),
        (lambda n: n.LocalResponseNorm(20), (3, 7, 5)),
    ):
        ours, theirs = make(tiny_torch.nn), make(oracle.nn)
        assert repr(ours) == repr(theirs) and ours._version == theirs._version
        assert list(ours.state_dict()) == list(theirs.state_dict())
        for module, m in ((ours, tiny_torch), (theirs, oracle)):
            for k, p in enumerate(module.parameters()):
                assert bool((p == (1 - k % 2)).all())
                p.data = tensor(m, draw(k, *p.shape), "float32", grad=False)
        for training in (True, False):
            x, z = (tensor(m, draw(9, *shape), "float32") for m in (tiny_torch, oracle))
            y, w = (module.train(training)(a) for module, a in ((ours, x), (theirs, z)))
            close(y, w, 1e-5, repr(ours), True)
            y.square().sum().backward(), w.square().sum().backward()
            close(x.grad, z.grad, 1e-4, repr(ours))
            for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
                close(p.grad, q.grad, 1e-4, repr(ours))


def test_state_of_old_files():
    module = tiny_torch.nn.BatchNorm1d(2)
    state = module.state_dict()
    del state["num_batches_tracked"], state._metadata
    module.load_state_dict(state)
    with pytest.raises(RuntimeError, match="Unexpected running stats"):
        tiny_torch.nn.InstanceNorm1d(2).load_state_dict(state)


def test_number_of_channels_without_weights(torch):
    with pytest.warns(UserWarning, match="does not match num_features"):
        torch.nn.InstanceNorm1d(3)(torch.rand(2, 4, 5))


def test_empty(oracle):
    for m in (tiny_torch, oracle):
        f, ones = m.nn.functional, m.ones(3)
        for x in (m.zeros(0, 3), m.zeros(2, 3, 0), m.zeros(0, 3, 2, 2)):
            for y in (
                f.batch_norm(x, ones, ones, ones, ones, True),
                f.batch_norm(x, ones, ones),
                f.group_norm(x, 3, ones, ones) if x.ndim > 2 else x,
                f.layer_norm(x, x.shape[1:]),
            ):
                assert tuple(y.shape) == tuple(x.shape)
        assert bool((ones == 1).all())
        x = m.zeros(0, 3, 2, requires_grad=True)
        weight = m.ones(3, requires_grad=True)
        f.batch_norm(x, None, None, weight, training=True).sum().backward()
        assert weight.grad.tolist() == [0.0, 0.0, 0.0] and tuple(x.grad.shape) == (0, 3, 2)


def test_a_response_over_more_channels_than_memory_holds():
    x = tiny_torch.ones(1, 3, 2)
    assert F.local_response_norm(x, 2**40, alpha=2.0**40, beta=1.0).tolist() == [[[0.25] * 2] * 3]


NUMBERS = {  # a number that may be a tensor of no dims
    "layer_norm": lambda F, x, number: F.layer_norm(x, (4,), eps=number),
    "rms_norm": lambda F, x, number: F.rms_norm(x, (4,), eps=number),
    "group_norm": lambda F, x, number: F.group_norm(x, 2, eps=number),
    "batch_norm": lambda F, x, number: F.batch_norm(x, None, None, training=True, eps=number),
    "instance_norm": lambda F, x, number: F.instance_norm(x[None], eps=number),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_may_be_a_tensor(oracle, name):
    results = []
    for m in (tiny_torch, oracle):
        x = tensor(m, draw(0, 3, 4), "float32", grad=False)
        results += [NUMBERS[name](m.nn.functional, x, e) for e in (0.5, m.tensor(0.5))]
    assert results[0].equal(results[1])
    close(results[1], results[3], 1e-6, name)


@pytest.mark.parametrize("options", [{}, {"p": 1}, {"dim": (0, 1)}, {"dim": -1, "eps": 2.0}])
def test_normalize(oracle, options):
    pair = [tensor(m, draw(0, 3, 4, 2), "float32") for m in (tiny_torch, oracle)]
    outputs = [m.nn.functional.normalize(x, **options)
               for m, x in zip((tiny_torch, oracle), pair, strict=True)]  # fmt: skip
    close(*outputs, 1e-6, options)
    for y in outputs:
        (y * y * y).sum().backward()
    close(pair[0].grad, pair[1].grad, 1e-5, options)


ERRORS = {
    "one value": lambda m, F, x, o: F.batch_norm(x[:1, :, 0], None, None, training=True),
    "one value of a group": lambda m, F, x, o: F.group_norm(x[:1, :2, 0], 2),
    "one spatial element": lambda m, F, x, o: F.instance_norm(x[:, :, :1]),
    "no spatial dims": lambda m, F, x, o: F.instance_norm(x[:, :, 0]),
    "no running mean": lambda m, F, x, o: F.batch_norm(x, None, None),
    "no running variance": lambda m, F, x, o: F.batch_norm(x, o, None),
    "running mean of 2": lambda m, F, x, o: F.batch_norm(x, o[:2], o),
    "running variance of 2": lambda m, F, x, o: F.batch_norm(x, o, o[:2]),
    "weight of 2": lambda m, F, x, o: F.batch_norm(x, o, o, o[:2]),
    "bias of 2": lambda m, F, x, o: F.batch_norm(x, o, o, o, o[:2]),
    "one dim": lambda m, F, x, o: F.batch_norm(x[0, 0], o, o),
    "one dim in training": lambda m, F, x, o: F.batch_norm(x[0, 0], None, None, training=True),
    "integers": lambda m, F, x, o: F.batch_norm(x.long(), o, o),
    "weight of float64": lambda m, F, x, o: F.batch_norm(x, o, o, o.double()),
    "input of float64": lambda m, F, x, o: F.batch_norm(x.double(), o, o, training=True),
    "eps of 0": lambda m, F, x, o: F.batch_norm(x, o, o, training=True, eps=0),
    "eps below 0": lambda m, F, x, o: F.batch_norm(x, o, o, eps=-1.0),
    "running mean requires grad": lambda m, F, x, o: F.batch_norm(x, o.clone().requires_grad_(), o),
    "input a number": lambda m, F, x, o: F.batch_norm(1.0, o, o),
    "weight a list": lambda m, F, x, o: F.batch_norm(x, o, o, [1, 2, 3, 4]),
    "only one running": lambda m, F, x, o: F.instance_norm(x, o, None),
    "no statistics at all": lambda m, F, x, o: F.instance_norm(x, use_input_stats=False),
    "integers, instance": lambda m, F, x, o: F.instance_norm(x.long()),
    "3 groups": lambda m, F, x, o: F.group_norm(x, 3),
    "no groups": lambda m, F, x, o: F.group_norm(x, 0),
    "-1 groups": lambda m, F, x, o: F.group_norm(x, -1),
    "one dim, groups": lambda m, F, x, o: F.group_norm(x[0, 0], 2),
    "group weight of 2": lambda m, F, x, o: F.group_norm(x, 2, o[:2]),
    "group bias of 2": lambda m, F, x, o: F.group_norm(x, 2, o, o[:2]),
    "group integers": lambda m, F, x, o: F.group_norm(x.long(), 2),
    "group weight of float64": lambda m, F, x, o: F.group_norm(x, 2, o.double()),
    "normalized_shape": lambda m, F, x, o: F.layer_norm(x, (2,)),
    "normalized_shape empty": lambda m, F, x, o: F.layer_norm(x, ()),
    "normalized_shape a number": lambda m, F, x, o: F.layer_norm(x, 5),
    "normalized_shape of 0-d": lambda m, F, x, o: F.layer_norm(x[0, 0, 0], (1,)),
    "layer weight": lambda m, F, x, o: F.layer_norm(x, (5,), o),
    "layer bias": lambda m, F, x, o: F.layer_norm(x, (5,), None, o),
    "layer integers": lambda m, F, x, o: F.layer_norm(x.long(), (5,)),
    "layer weight of float64": lambda m, F, x, o: F.layer_norm(x, (5,), m.ones(5).double()),
    "rms shape": lambda m, F, x, o: F.rms_norm(x, (2,)),
    "rms shape empty": lambda m, F, x, o: F.rms_norm(x, ()),
    "rms weight": lambda m, F, x, o: F.rms_norm(x, (5,), o),
    "rms integers": lambda m, F, x, o: F.rms_norm(x.long(), (5,)),
    "response of 2 dims": lambda m, F, x, o: F.local_response_norm(x[0], 2),
    "response of size 0": lambda m, F, x, o: F.local_response_norm(x, 0),
    "normalize integers": lambda m, F, x, o: F.normalize(x.long()),
    "normalize dim": lambda m, F, x, o: F.normalize(o),
    "module of 3 dims": lambda m, F, x, o: m.nn.BatchNorm2d(4)(x),
    "module of 2 dims": lambda m, F, x, o: m.nn.BatchNorm3d(4)(x),
    "module of 4 dims": lambda m, F, x, o: m.nn.BatchNorm1d(4)(x[None]),
    "channels of the module": lambda m, F, x, o: m.nn.BatchNorm1d(5)(x),
    "instance module": lambda m, F, x, o: m.nn.InstanceNorm2d(4)(x[0]),
    "instance channels": lambda m, F, x, o: m.nn.InstanceNorm1d(5, affine=True)(x),
    "group module": lambda m, F, x, o: m.nn.GroupNorm(3, 4),
    "channels of the group module": lambda m, F, x, o: m.nn.GroupNorm(3, 6)(x),
}  # fmt: skip


WITH_TEXTS = {  # of these the message is PyTorch's, too
    "running mean of 2", "running variance of 2", "weight of 2", "bias of 2", "3 groups",
    "group weight of 2", "channels of the module", "channels of the group module",
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(oracle, name):
    found = []
    for m in (tiny_torch, oracle):
        x, o = m.arange(40.0).reshape(2, 4, 5), m.ones(4)
        with pytest.raises(Exception) as caught:
            ERRORS[name](m, m.nn.functional, x, o)
        found.append((caught.type, str(caught.value) if name in WITH_TEXTS else ""))
    assert found[0] == found[1]


def test_statistics_written_before_backward(torch):
    x, mean, var = torch.rand(4, 3), torch.zeros(3), torch.ones(3)
    y = torch.nn.functional.batch_norm(x.requires_grad_(), mean, var)
    mean.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_same_bits_for_any_number_of_threads():
    before, seen = tiny_torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            tiny_torch.set_num_threads(threads)
            for layout in ("contiguous", "channels_last"):
                for name in CALLS:
                    done = results(tiny_torch, name, (5, 12, 40, 41), layout, "float32", True)
                    seen.append([None if r is None else r.tolist() for r in done])
    finally:
        tiny_torch.set_num_threads(before)
    third = len(seen) // 3
    assert seen[:third] == seen[third : 2 * third] == seen[2 * third :]


def test_names_of_nodes(torch):
    x, f = torch.rand(2, 4, 3, 3, requires_grad=True), torch.nn.functional
    for y, name in (
        (f.batch_norm(x, None, None, training=True), "NativeBatchNormBackward0"),
        (f.layer_norm(x, (3,)), "NativeLayerNormBackward0"),
        (f.group_norm(x, 2), "NativeGroupNormBackward0"),
        (f.instance_norm(x), "ViewBackward0"),
    ):
        assert y.grad_fn.name() == name


def test_on_ref():
    values = draw(0, 3, 4, 5)
    for name in CALLS:
        done = []
        for device in ("cpu", "ref"):
            x = tiny_torch.from_numpy(values).float().to(device).detach().requires_grad_()
            mean, var = (make(4).to(device) for make in (tiny_torch.zeros, tiny_torch.ones))
            y = CALLS[name](F, x, None, None, mean, var)
            (y * y * y).sum().backward()
            done.append([t.detach().cpu().numpy() for t in (y, x.grad, mean, var)])
        for ours, theirs in zip(*done, strict=True):
            assert np.allclose(ours, theirs, atol=1e-4), name


def test_names_in_torch_itself(torch):
    x = torch.rand(2, 4)
    assert bool((torch.layer_norm(x, (4,)) == torch.nn.functional.layer_norm(x, (4,))).all())
    assert bool((torch.group_norm(x, 2) == torch.nn.functional.group_norm(x, 2)).all())


def test_strides_that_look_like_several_formats(oracle):
    for m in (tiny_torch, oracle):
        f, last = m.nn.functional, m.channels_last
        x = m.rand(4, 6, 8, 8).to(memory_format=last)
        one, pixel = m.rand(4, 1, 3, 3).to(memory_format=last), m.rand(4, 6, 1, 1)
        mixed = m.rand(17, 2, 2, 3).permute(0, 2, 1, 3).to(memory_format=last)[..., :1]
        seen = [
            [y.stride() for y in (f.batch_norm(a, None, None, training=True), f.group_norm(a, 1))]
            for a in (x, x[:, :, ::2], x[:, :4], x[..., :1], x[:, :1], one, pixel,
                      pixel.to(memory_format=last), mixed)
        ]  # fmt: skip
        seen.append([f.instance_norm(a).stride() for a in (x, one, x[:, :1])])
        if m is tiny_torch:
            ours = seen
    assert ours == seen


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_batch_norm_of_many_halves_has_the_bits_of_float32(dtype, training):
    """Some channels at a time, the last part smaller."""
    tiny_torch.manual_seed(0)
    given = tiny_torch.randn(4, 37, 300, 100).to(getattr(tiny_torch, dtype))
    weight, bias, grad = tiny_torch.randn(37), tiny_torch.randn(37), tiny_torch.randn_like(given)

    def run(x, grad):
        x, w, b = (leaf.detach().clone().requires_grad_() for leaf in (x, weight, bias))
        mean, variance = tiny_torch.arange(37.0), tiny_torch.arange(37.0) + 1
        y = F.batch_norm(x, mean, variance, w, b, training=training)
        y.backward(grad)
        return y.detach(), x.grad, w.grad, b.grad, mean, variance

    for got, want in zip(run(given, grad), run(given.float(), grad.float()), strict=True):
        assert tiny_torch.equal(got, want.to(got.dtype))
