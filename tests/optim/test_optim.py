"""optim: facts about optimisers, their groups, states, files and hooks.

What stands under the mark `torch` compares numbers, state dicts and texts with PyTorch.
"""

from __future__ import annotations

import numpy as np
import pytest
from cases.optim_cases import (
    CASES,
    ERRORS,
    FULL,
    FUSED,
    NOT_CAPTURABLE,
    TENSOR_LR,
    TOLERANCE,
    assert_close,
    assert_equal,
    case_id,
    make,
    parameters,
    step_with_a_wrong_hook,
    step_with_gradients,
    trained,
    values,
)

import tiny_torch as torch
from tiny_torch import optim
from tiny_torch.optim.optimizer import required

try:
    import torch as oracle
except ImportError:
    oracle = None

against_torch = pytest.mark.torch
skip_without_torch = pytest.mark.skipif(oracle is None, reason="PyTorch is not installed")


def with_torch(test):
    return against_torch(skip_without_torch(test))


all_cases = pytest.mark.parametrize(("name", "options"), CASES, ids=case_id)
all_errors = pytest.mark.parametrize(
    ("action", "error", "text"), ERRORS, ids=[text or error.__name__ for _, error, text in ERRORS]
)
full_cases = pytest.mark.parametrize(("name", "options"), FULL, ids=case_id)


def fails(action, error, text):
    with pytest.raises(error) as caught:
        action()
    assert caught.type is error and text in str(caught.value)


# ---- the algorithms -------------------------------------------------------------------------


@with_torch
@all_cases
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("foreach", [False, True])
def test_ten_steps_are_pytorchs(name, options, dtype, foreach):
    ours = trained(torch, name, {**options, "foreach": foreach}, dtype)
    for theirs_foreach in (False, True):
        theirs = trained(oracle, name, {**options, "foreach": theirs_foreach}, dtype)
        # PyTorch's foreach computes ASGD's rates in float32, its loop in float64
        rounded = name == "ASGD" and theirs_foreach
        assert_close(values(ours), values(theirs), TOLERANCE["float32" if rounded else dtype])


@all_cases
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_foreach_gives_the_bits_of_the_loop(name, options, dtype):
    loop = trained(torch, name, {**options, "foreach": False}, dtype)
    assert_equal(values(loop), values(trained(torch, name, {**options, "foreach": True}, dtype)))
    assert_equal(values(loop), values(trained(torch, name, options, dtype)))


@with_torch
@full_cases
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_go_through_the_loop(name, options, dtype):
    def train(lib):
        params = [
            p.detach().to(getattr(lib, dtype)) for p in parameters(lib, shapes=[(5,), (2, 3)])
        ]
        optimizer = getattr(lib.optim, name)(params, **options)
        for step in range(3):
            rng = np.random.default_rng(step)
            for p in params:
                grad = lib.from_numpy(rng.standard_normal(tuple(p.shape)).astype("float32"))
                p.grad = (grad + grad.sign() * 0.1).to(p.dtype)
            optimizer.step()
        states = [value for p in params for value in optimizer.state[p].values()]
        assert all(p.dtype is getattr(lib, dtype) for p in params)
        return [tensor.float().numpy() for tensor in params + states]

    assert_close(train(torch), train(oracle), 0.01 if dtype == "float16" else 0.06)


def test_foreach_and_fused_choose_the_way(monkeypatch):
    looped = []
    update = optim.Adam._update
    monkeypatch.setattr(
        optim.Adam, "_update", lambda *arguments: looped.append(1) or update(*arguments)
    )
    for options, loops in [
        ({}, False),
        ({"foreach": True}, False),
        ({"foreach": False}, True),
        ({"fused": True}, False),
        ({"fused": False}, True),
        ({"foreach": True, "fused": False}, False),
        ({"foreach": False, "fused": True}, False),
        ({"lr": torch.tensor(0.1)}, True),
    ]:
        looped.clear()
        trained(torch, "Adam", options, steps=2)
        assert bool(looped) == loops, options


def test_a_layout_that_the_kernel_cannot_walk_goes_through_the_loop():
    def train(foreach):
        base = torch.arange(24.0).reshape(4, 6)
        dense = torch.nn.Parameter(base.clone().t())  # strides (1, 6), as its gradient's below
        sparse = torch.nn.Parameter(base[:, ::2])
        turned = torch.nn.Parameter(base.clone())
        optimizer = optim.Adam([dense, sparse, turned], lr=0.1, foreach=foreach)
        for _ in range(3):
            dense.grad = torch.ones(4, 6).t() * 2
            sparse.grad = torch.ones(4, 3)
            turned.grad = (torch.arange(24.0) + 1).reshape(6, 4).t()
            optimizer.step()
        return optimizer, base

    (loop, base), (foreach, same) = train(False), train(None)
    assert_equal(values(loop), values(foreach))
    assert_equal([base.numpy()], [same.numpy()])


def test_parameters_of_several_dtypes_in_one_group():
    def train(foreach):
        params = parameters(torch, "float32") + parameters(torch, "float64")
        return trained(torch, "Adam", {"foreach": foreach}, params=params)

    assert_equal(values(train(False)), values(train(True)))


@pytest.mark.parametrize("size", [2, 50_000])
def test_parameters_that_share_memory_are_updated_one_after_the_other(size):
    def train(foreach):
        memory = torch.ones(3 * size)
        pair = [torch.nn.Parameter(memory[: 2 * size]), torch.nn.Parameter(memory[size:])]
        optimizer = optim.SGD(pair, lr=0.5, weight_decay=1.0, foreach=foreach)
        for param in pair:
            param.grad = torch.ones(2 * size)
        optimizer.step()
        return memory.numpy()

    expected = np.repeat([0.0, -0.5, 0.0], size)
    assert_equal([expected, expected], [train(False), train(True)])


def test_foreach_gives_the_bits_of_the_loop_at_every_number_of_steps():
    def train(foreach):
        params = parameters(torch, "float64", shapes=[()] * 400)
        # with this beta the root that C's sqrt and Python's ** 0.5 take differs 13 times in 400
        options = {"lr": 1e3, "betas": (0.9, 0.911), "foreach": foreach}
        optimizer = trained(torch, "Adam", options, steps=1, params=params)
        for number, param in enumerate(params):
            optimizer.state[param]["step"] += number
        step_with_gradients(torch, optimizer, 1)
        return values(optimizer)

    assert_equal(train(False), train(True))


def test_threads_change_no_bit():
    def train(threads):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        params = parameters(torch, shapes=[(50001,), (3,), (70003,)])
        optimizer = trained(torch, "Adam", {"amsgrad": True}, steps=3, params=params)
        torch.set_num_threads(before)
        return values(optimizer)

    assert_equal(train(1), train(2))
    assert_equal(train(1), train(3))


@with_torch
@full_cases
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_a_tensor_lr_gives_pytorchs_steps(name, options, dtype):
    shared = {key: value for key, value in options.items() if key != "lr"}
    runs = [
        trained(lib, name, {**shared, "lr": lib.tensor([0.1])}, dtype) for lib in (torch, oracle)
    ]
    assert_close(*map(values, runs), TOLERANCE[dtype])


@full_cases
def test_fused_is_foreach(name, options):
    if name in FUSED:
        fused = trained(torch, name, {**options, "fused": True})
        assert_equal(values(fused), values(trained(torch, name, options)))


@with_torch
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop"])
@pytest.mark.parametrize("shape", [(), (1,)])
def test_the_learning_rate_may_be_a_tensor(name, shape):
    ours = trained(torch, name, {"lr": torch.full(shape, 0.1)})
    theirs = trained(oracle, name, {"lr": oracle.full(shape, 0.1)})
    assert_close(values(ours), values(theirs), 1e-6)


@with_torch
def test_betas_may_be_tensors():
    betas = [(lib.tensor(0.5), lib.tensor(0.7)) for lib in (torch, oracle)]
    ours = trained(torch, "Adam", {"betas": betas[0]})
    theirs = trained(oracle, "Adam", {"betas": betas[1]})
    assert_close(values(ours), values(theirs), 1e-6)


# ---- a step ---------------------------------------------------------------------------------


def test_a_step_descends_and_returns_the_closures_loss():
    w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    optimizer = optim.SGD([w], lr=0.25)
    assert optimizer.step() is None
    assert w.tolist() == [1.0, 2.0]

    def closure():
        assert torch.is_grad_enabled()
        optimizer.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert optimizer.step(closure).item() == 5.0
    assert w.tolist() == [0.5, 1.0]


def test_without_a_gradient_a_parameter_and_its_state_stay():
    a, b = parameters(torch, shapes=[(2,), (2,)])
    optimizer = optim.Adam([a, b])
    before = b.tolist()
    a.grad = torch.ones(2)
    optimizer.step()
    assert b.tolist() == before and b not in optimizer.state and a in optimizer.state


def test_zero_grad():
    (w,) = parameters(torch, shapes=[(2,)])
    optimizer = optim.SGD([w])
    grad = w.grad = torch.ones(2)
    optimizer.zero_grad(set_to_none=False)
    assert w.grad is grad and grad.tolist() == [0.0, 0.0]
    w.grad = (w * 2).detach() * w
    assert w.grad.grad_fn is not None
    optimizer.zero_grad(set_to_none=False)
    assert w.grad.grad_fn is None and not w.grad.requires_grad
    optimizer.zero_grad()
    assert w.grad is None


def test_a_step_makes_what_was_saved_for_backward_stale():
    for foreach in (False, True):
        (w,) = parameters(torch, shapes=[(2,)])
        loss = (w * w).sum()
        w.grad = torch.ones(2)
        optim.SGD([w], lr=0.1, foreach=foreach).step()
        fails(loss.backward, RuntimeError, "modified by an inplace operation")


def test_a_step_records_no_history():
    for foreach in (False, True):
        (w,) = parameters(torch, shapes=[(2,)])
        optimizer = trained(torch, "SGD", {"momentum": 0.9, "foreach": foreach}, params=[w])
        assert w.is_leaf and w.requires_grad
        assert not optimizer.state[w]["momentum_buffer"].requires_grad


# ---- groups ---------------------------------------------------------------------------------


def test_groups_have_their_own_options():
    a, b, c = parameters(torch, shapes=[(2,), (3,), (4,)])
    optimizer = optim.SGD([{"params": a}, {"params": [b], "lr": 0.5}], lr=0.1)
    optimizer.add_param_group({"params": iter([c]), "momentum": 0.9})
    assert [len(group["params"]) for group in optimizer.param_groups] == [1, 1, 1]
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.5, 0.1]
    assert [group["momentum"] for group in optimizer.param_groups] == [0, 0, 0.9]
    for param in (a, b, c):
        param.grad = torch.ones_like(param)
    before = [param.detach().clone() for param in (a, b, c)]
    optimizer.step()
    moved = [(old - new).mean().item() for old, new in zip(before, (a, b, c), strict=True)]
    np.testing.assert_allclose(moved, [0.1, 0.5, 0.1], rtol=1e-5)


def test_named_parameters():
    model = torch.nn.Linear(2, 3)
    optimizer = optim.SGD(model.named_parameters())
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimizer.param_groups[0]["params"][1] is model.bias
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]
    unnamed = optim.SGD(model.parameters()).state_dict()
    optimizer.load_state_dict(unnamed)
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]


@pytest.mark.parametrize("size", [2, 50_000])
@pytest.mark.parametrize("foreach", [False, True])
def test_a_duplicate_parameter_warns_and_is_updated_twice(size, foreach):
    w = torch.nn.Parameter(torch.ones(size))
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optimizer = optim.SGD([w, w], lr=0.25, foreach=foreach)
    w.grad = torch.ones(size)
    optimizer.step()
    assert_equal([w.detach().numpy()], [np.full(size, 0.5)])
    assert optimizer.state_dict()["param_groups"][0]["params"] == [1, 1]


# ---- errors ---------------------------------------------------------------------------------


@all_errors
def test_errors(action, error, text):
    fails(lambda: action(torch), error, text)


@with_torch
@all_errors
def test_errors_are_pytorchs(action, error, text):
    messages = []
    for lib in (torch, oracle):
        with pytest.raises(error) as caught:
            action(lib)
        assert caught.type is error
        messages.append(str(caught.value).replace("tiny_torch", "torch"))
    if action is not step_with_a_wrong_hook:  # its message shows the address of a function
        assert messages[0] == messages[1]


@pytest.mark.parametrize("name", NOT_CAPTURABLE)
def test_what_is_not_implemented_says_so(name):
    fails(lambda: make(name, capturable=True)(torch), NotImplementedError, "capturable=True")
    group = {"params": torch.ones(2), "capturable": True}
    fails(lambda: getattr(optim, name)([group]), NotImplementedError, "capturable=True")


# ---- history through the steps --------------------------------------------------------------


def derivatives(lib, name, options, steps):
    """Of the squares of parameters after some steps by those before, and by the gradients."""
    rng = np.random.default_rng(0)
    start = lib.from_numpy(rng.standard_normal(5)).requires_grad_()
    scale = lib.ones((), dtype=lib.float64, requires_grad=True)
    param = start.clone()
    optimizer = getattr(lib.optim, name)([param], differentiable=True, **options)
    for _ in range(steps):
        param.grad = lib.from_numpy(rng.standard_normal(5)) * scale
        optimizer.step()
    try:
        (param * param).sum().backward()
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error)
        return None
    by_scale = 0.0 if scale.grad is None else scale.grad.item()
    return [param.detach().numpy(), start.grad.numpy(), np.asarray(by_scale)]


@with_torch
@all_cases
@pytest.mark.parametrize("steps", [1, 3])
def test_derivatives_through_steps_are_pytorchs(name, options, steps):
    ours, theirs = (derivatives(lib, name, options, steps) for lib in (torch, oracle))
    assert (ours is None) == (theirs is None)  # the states are written in place
    if ours is not None:
        assert_close(ours, theirs, 1e-5)  # there PyTorch corrects Adam's averages in float32


def test_history_needs_the_loop():
    w = torch.nn.Parameter(torch.ones(2))
    w.grad = torch.ones(2)
    for name in TENSOR_LR:
        made = getattr(optim, name)
        optimizer = made([w], differentiable=True, foreach=True)
        fails(optimizer.step, AssertionError, "_foreach ops don't support autograd")
        optimizer = made([w], lr=torch.tensor(0.1, requires_grad=True), differentiable=True)
        fails(optimizer.step, NotImplementedError, "an option that requires a gradient")
    for name in FUSED:
        action = make(name, differentiable=True, fused=True)
        fails(lambda: action(torch), RuntimeError, "`fused` does not support `differentiable`")  # noqa: B023


# ---- hooks ----------------------------------------------------------------------------------


def test_step_hooks():
    seen = []
    (w,) = parameters(torch, shapes=[(2,)])
    optimizer = optim.SGD([w])

    def pre(optimizer, args, kwargs):
        seen.append(("pre", args[1:], kwargs))
        return (args[0], lambda: seen.append("closure") or 5), {}

    handle = optimizer.register_step_pre_hook(pre)
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(("post", len(args))))
    assert optimizer.step() == 5
    assert seen == [("pre", (), {}), "closure", ("post", 2)]
    handle.remove()
    seen.clear()
    optimizer.step()
    assert seen == [("post", 1)]


def test_hooks_of_one_optimizer_leave_others_alone():
    seen = []
    first, second = make("SGD")(torch), make("SGD")(torch)
    first.register_step_post_hook(lambda *arguments: seen.append(1))
    second.step()
    assert seen == []


def test_state_dict_hooks():
    seen = []
    optimizer = trained(torch, "SGD", {"momentum": 0.9}, steps=1)
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("pre"))
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda o, d: d.update(extra=1))
    optimizer.register_state_dict_post_hook(lambda o, d: {**d, "more": 2})
    saved = optimizer.state_dict()
    assert seen == ["first", "pre"] and list(saved) == ["state", "param_groups", "extra", "more"]


def test_load_state_dict_hooks():
    seen = []
    optimizer = make("SGD")(torch)
    saved = optimizer.state_dict()

    def pre(optimizer, state_dict):
        groups = [{**group, "lr": 0.5} for group in state_dict["param_groups"]]
        return {**state_dict, "param_groups": groups}

    optimizer.register_load_state_dict_pre_hook(pre)
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append(o.param_groups[0]["lr"]))
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append("first"), prepend=True)
    optimizer.load_state_dict(saved)
    assert seen == ["first", 0.5] and saved["param_groups"][0]["lr"] == 1e-3


def test_an_optimizer_of_ones_own_has_hooks_and_files():
    class Signs(optim.Optimizer):
        def __init__(self, params, lr=required):
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for param in group["params"]:
                    self.state[param]["seen"] = self.state[param].get("seen", 0) + 1
                    param.sub_(group["lr"] * param.grad.sign())

    seen = []
    w = torch.nn.Parameter(torch.ones(2))
    w.grad = torch.tensor([3.0, -3.0])
    optimizer = Signs([w], lr=0.5)
    optimizer.register_step_post_hook(lambda *arguments: seen.append(1))
    optimizer.step()
    assert w.tolist() == [0.5, 1.5] and seen == [1]
    assert optimizer.state_dict() == {
        "state": {0: {"seen": 1}},
        "param_groups": [{"lr": 0.5, "params": [0]}],
    }
