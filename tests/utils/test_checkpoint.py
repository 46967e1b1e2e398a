"""Activation checkpointing: the plain run's gradients, bit by bit; what is kept, what is told."""

import copy
import gc
import importlib
import pickle
import weakref

import pytest

import tiny_torch
from tiny_torch import _core
from tiny_torch.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential


def utils_of(torch):
    return importlib.import_module(f"{torch.__name__}.utils.checkpoint")


def network(torch, dropout=0.5):
    torch.manual_seed(0)
    nn = torch.nn
    blocks = [nn.Sequential(nn.Linear(8, 8), nn.Dropout(dropout), nn.Tanh()) for _ in range(6)]
    return nn.Sequential(*blocks)


def gradients(torch, model, run):
    """The loss, and the gradients of the input and of the parameters."""
    torch.manual_seed(1)
    x = torch.randn(4, 8, requires_grad=True)
    for parameter in model.parameters():
        parameter.grad = None
    loss = run(x).square().sum()
    loss.backward()
    return [loss.item(), *[p.grad.tolist() for p in (x, *model.parameters()) if p.grad is not None]]


def inner(x):
    return (x.sin() * x).exp()


NETWORKS = {
    "one": lambda c, m, r: lambda x: c.checkpoint(m, x, use_reentrant=r),
    "each block": lambda c, m, r: (
        lambda x: [x := c.checkpoint(block, x, use_reentrant=r) for block in m][-1]
    ),
    "segments": lambda c, m, r: lambda x: c.checkpoint_sequential(m, 3, x, use_reentrant=r),
    "segments that do not divide": lambda c, m, r: (
        lambda x: c.checkpoint_sequential(list(m), 4, x, use_reentrant=r)
    ),
    "one segment": lambda c, m, r: lambda x: c.checkpoint_sequential(m, 1, x, use_reentrant=r),
    "nested": lambda c, m, r: (
        lambda x: c.checkpoint(
            lambda x: m[3:](c.checkpoint(m[:3], x, use_reentrant=r)), x, use_reentrant=r
        )
    ),
}


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_are_those_of_the_plain_run(torch, name, reentrant):
    model = network(torch)
    run = NETWORKS[name](utils_of(torch), model, reentrant)
    plain = gradients(torch, model, model)
    assert gradients(torch, model, run) == plain


def test_random_numbers_go_on_where_the_plain_run_leaves_them(torch):
    model = network(torch)

    def drawn_after(run):
        gradients(torch, model, run)
        return torch.rand(3).tolist()

    point = utils_of(torch).checkpoint
    plain = drawn_after(model)
    assert drawn_after(lambda x: point(model, x, use_reentrant=False)) == plain


def test_without_the_random_state_dropout_differs(torch):
    model = network(torch)
    plain = gradients(torch, model, model)
    for preserve in (True, False):
        found = gradients(
            torch,
            model,
            lambda x, p=preserve: utils_of(torch).checkpoint(
                model, x, use_reentrant=False, preserve_rng_state=p
            ),
        )
        assert (found == plain) is preserve


def test_second_derivatives(torch):
    point = utils_of(torch).checkpoint
    x = torch.tensor([0.3, -1.2, 2.0], dtype=torch.float64, requires_grad=True)

    def second(function):
        (first,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
        return torch.autograd.grad(first.square().sum(), x)[0].tolist()

    outer = lambda x: point(inner, x.cos(), use_reentrant=False).tanh()  # noqa: E731
    plain = second(lambda x: inner(x.cos()).tanh())
    assert second(outer) == plain
    assert second(lambda x: point(outer, x, use_reentrant=False)) == plain


def test_backward_twice_and_through_parts(torch):
    point = utils_of(torch).checkpoint
    x = torch.tensor([0.3, -1.2], requires_grad=True)
    y = point(inner, x, use_reentrant=False)
    (one,) = torch.autograd.grad(y[0], x, retain_graph=True)
    (two,) = torch.autograd.grad(y[1], x, retain_graph=True)
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == (one + two).tolist()
    y.sum().backward()
    with pytest.raises(RuntimeError, match=r"second time|different metadata|already been freed"):
        y.sum().backward()


def test_nested_structures_and_keywords(torch):
    def function(pair, *, more):
        return {"sum": pair[0].exp() * more["w"].sin(), "list": [pair[1] ** 2]}

    def run(call):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        w = torch.tensor([3.0, 4.0], requires_grad=True)
        out = call(function, (x, x * 2), more={"w": w})
        (out["sum"].sum() + out["list"][0].sum()).backward()
        return x.grad.tolist(), w.grad.tolist()

    point = utils_of(torch).checkpoint
    plain = run(lambda f, *args, **kwargs: f(*args, **kwargs))
    assert run(lambda f, *a, **k: point(f, *a, use_reentrant=False, **k)) == plain


def test_how_often_the_function_runs(torch):
    utils = utils_of(torch)
    seen = []

    def function(x):
        seen.append("begin")
        y = x.exp()
        seen.append("saved")
        y.sum()
        seen.append("end")
        return y

    def runs(early_stop=True, switch=None, **options):
        seen.clear()
        x = torch.ones(2, requires_grad=True)
        with utils.set_checkpoint_early_stop(switch) if switch is not None else torch.enable_grad():
            y = utils.checkpoint(function, x, use_reentrant=False, early_stop=early_stop, **options)
        y.sum().backward()
        return seen[3:]

    assert runs() == ["begin"]  # exp saved all that there is
    assert runs(early_stop=False) == ["begin", "saved", "end"]
    assert runs(switch=False) == ["begin", "saved", "end"]
    assert runs(early_stop=False, switch=True) == ["begin"]


def test_nothing_is_recomputed_without_gradients(torch):
    point = utils_of(torch).checkpoint
    calls = []

    def function(x):
        calls.append(torch.is_grad_enabled())
        return x.exp()

    with torch.no_grad():
        assert not point(function, torch.ones(1), use_reentrant=False).requires_grad
    assert calls == [False]


def changing(torch, *functions):
    """A function that is another each time."""
    left = list(functions)
    return lambda x: left.pop(0)(x)


DIFFERENCES = {
    "fewer": ((lambda x: x.exp().exp(), lambda x: x.exp()), "different number of tensors"),
    "other shapes": ((lambda x: x.exp(), lambda x: x[:1].exp()), "different metadata"),
    "other dtypes": ((lambda x: x.exp(), lambda x: x.double().exp()), "different metadata"),
    "more": (
        (lambda x: x.exp(), lambda x: x.exp().exp()),
        "trying to save more tensors during recomputation",
    ),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_another_second_run_is_told(torch, name):
    functions, message = DIFFERENCES[name]
    utils = utils_of(torch)
    x = torch.ones(2, requires_grad=True)
    y = utils.checkpoint(
        changing(torch, *functions), x, use_reentrant=False, early_stop=name != "more"
    )
    with pytest.raises(utils.CheckpointError, match=message) as caught:
        y.sum().backward()
    assert "debug=True" in str(caught.value)


def test_debug_tells_the_ops_of_both_runs(torch):
    utils = utils_of(torch)
    function = changing(torch, *DIFFERENCES["fewer"][0])
    x = torch.ones(2, requires_grad=True)
    y = utils.checkpoint(function, x, use_reentrant=False, debug=True)
    with pytest.raises(utils.CheckpointError) as caught:
        y.sum().backward()
    text = str(caught.value).lower()
    assert "operations executed during the original forward" in text
    assert "operations executed during recomputation" in text
    assert text.count("exp") >= 3


def test_an_input_written_between_is_told(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = utils_of(torch).checkpoint(inner, y, use_reentrant=False)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_the_reentrant_form_wants_a_whole_backward(torch):
    x = torch.ones(2, requires_grad=True)
    y = utils_of(torch).checkpoint(inner, x, use_reentrant=True)
    with pytest.raises(RuntimeError, match=r"incompatible with \.grad"):
        torch.autograd.grad(y.sum(), x)
    z = utils_of(torch).checkpoint(lambda x: x.detach(), x, use_reentrant=True)
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        z.sum().backward()


WRONG = {
    "check": (lambda c, x: c.checkpoint(inner, x, use_reentrant=False, determinism_check="all")),
    "keywords": lambda c, x: c.checkpoint(inner, x, use_reentrant=True, y=1),
    "context": lambda c, x: c.checkpoint(inner, x, use_reentrant=True, context_fn=lambda: None),
    "debug": lambda c, x: c.checkpoint(inner, x, use_reentrant=True, debug=True),
    "both": lambda c, x: c.checkpoint(
        inner,
        x,
        use_reentrant=False,
        debug=True,
        context_fn=lambda: c.noop_context_fn(),
    ),
    "sequential": lambda c, x: c.checkpoint_sequential([inner], 1, x, use_reentrant=False, y=1),
    "too many": lambda c, x: c.checkpoint_sequential([inner], 2, x, use_reentrant=False),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(torch, name):
    with pytest.raises(ValueError) as caught:
        WRONG[name](utils_of(torch), torch.ones(1, requires_grad=True))
    assert caught.type is ValueError


def test_warnings(torch):
    x = torch.ones(1, requires_grad=True)
    utils = utils_of(torch)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        utils.checkpoint(inner, x)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        utils.checkpoint_sequential([inner, inner], 2, x)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        utils.checkpoint(inner, torch.ones(1), use_reentrant=True)


def test_contexts_of_both_runs(torch):
    seen = []

    class Seen:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            seen.append(self.name)

        def __exit__(self, *exception):
            seen.append("end of " + self.name)

    x = torch.ones(2, requires_grad=True)
    y = utils_of(torch).checkpoint(
        inner, x, use_reentrant=False, context_fn=lambda: (Seen("first"), Seen("second"))
    )
    assert seen == ["first", "end of first"]
    y.sum().backward()
    assert seen[2:] == ["second", "end of second"]


def test_hooks_see_the_gradients_once(torch):
    seen = []

    def function(x):
        y = x.exp()
        y.register_hook(lambda grad: seen.append(grad.tolist()))
        return y.sin()

    x = torch.zeros(2, requires_grad=True)
    utils_of(torch).checkpoint(function, x, use_reentrant=False).sum().backward()
    assert len(seen) == 1


# ------------------------------------------------------------------------- not in PyTorch


def test_a_module_without_inputs_is_answered_checkpointed():
    model = network(tiny_torch)
    plain = gradients(tiny_torch, model, model)
    names = list(model.state_dict())
    for k in range(len(model)):
        model[k] = checkpoint(model[k])
    assert list(model.state_dict()) == names
    assert isinstance(model[0], tiny_torch.nn.Sequential)
    assert repr(model[0]) == repr(network(tiny_torch)[0])
    assert gradients(tiny_torch, model, model) == plain
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert type(twin[0]).__mro__[1] is type(model[0]).__mro__[1]
        assert gradients(tiny_torch, twin, twin) == plain
    model.eval()
    assert not model[0][1].training


def test_the_root_of_the_number_of_segments():
    model = network(tiny_torch)
    plain = gradients(tiny_torch, model, model)

    def run(x):
        return checkpoint_sequential(model, "sqrt", x, use_reentrant=False)

    assert gradients(tiny_torch, model, run) == plain


def peak_of(run):
    """The most bytes of arrays alive within a call, beside those before."""
    _core.reset_peak_memory()
    before = _core.memory_statistics()["allocated"]
    run()
    return _core.memory_statistics()["peak_allocated"] - before


def test_the_peak_of_64_layers():
    """Of width 64, batch 4,096: a layer keeps 1 MiB of tanh's output."""
    layers = [tiny_torch.nn.Sequential(tiny_torch.nn.Linear(64, 64), tiny_torch.nn.Tanh())] * 64
    model = tiny_torch.nn.Sequential(*layers)
    x = tiny_torch.randn(4096, 64)
    model(x).sum().backward()  # gradients are there

    def checkpointed():
        checkpoint_sequential(model, "sqrt", x, use_reentrant=False).sum().backward()

    plain, less = peak_of(lambda: model(x).sum().backward()), peak_of(checkpointed)
    layer = x.nbytes
    assert plain >= 64 * layer
    assert less <= plain * 2 * 8 / 64 + 3 * layer


def test_gradients_stand_where_recomputed_values_were():
    x = tiny_torch.zeros(2**18, requires_grad=True)
    function = tiny_torch.nn.Sequential(*[tiny_torch.nn.Tanh() for _ in range(4)])
    loss = (checkpoint(function, x, use_reentrant=False) * tiny_torch.ones(2**18)).sum()
    peak = peak_of(loss.backward) / x.nbytes
    assert 4 <= peak < 4.1  # the four values


def test_errors_are_runtime_errors():
    assert issubclass(CheckpointError, RuntimeError)


def test_nothing_of_a_call_is_left_behind():
    """Neither its saved values, nor what a backward over a part did not ask for."""
    x = tiny_torch.ones(2, requires_grad=True)
    marks = []

    def function(x):
        y = x.exp()
        marks.append(weakref.ref(y))
        return tiny_torch.stack([y.sin(), y.cos()])

    out = checkpoint(function, x, use_reentrant=False)
    out[0].sum().backward(retain_graph=True)
    gc.collect()
    assert [mark() for mark in marks] == [None] * len(marks)
