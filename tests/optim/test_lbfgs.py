"""optim.LBFGS: losses, parameters and states compared with PyTorch's on two small problems."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from cases.optim_cases import case_id

import tiny_torch


def rosenbrock(lib):
    w = lib.nn.Parameter(lib.tensor([-1.2, 1.0, 0.7, -0.3], dtype=lib.float64))
    return [w], lambda: sum(100 * (w[i + 1] - w[i] ** 2) ** 2 + (1 - w[i]) ** 2 for i in range(3))


def network(lib):
    rng = np.random.default_rng(0)
    x, y, *weights = (
        lib.from_numpy(rng.standard_normal(size)) for size in [(20, 6), (20, 2), (6, 5), 5, (5, 2)]
    )
    params = [lib.nn.Parameter(weight) for weight in weights]
    first, bias, second = params
    return params, lambda: ((lib.tanh(x @ first + bias) @ second - y) ** 2).mean()


def closure_of(optimizer, loss_of):
    def closure():
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        return loss

    return closure


def trained(lib, problem, options, steps=3):
    params, loss_of = problem(lib)
    optimizer = lib.optim.LBFGS(params, **options)
    closure = closure_of(optimizer, loss_of)
    return [optimizer.step(closure).item() for _ in range(steps)], params, optimizer


def flat(state):
    """The numbers of a state, whatever holds them."""
    if isinstance(state, list):
        return [x for item in state for x in flat(item)]
    if state is None:
        return []
    return np.asarray(state).reshape(-1).tolist()


CASES = [
    {},
    {"lr": 0.1},
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "history_size": 2, "max_iter": 5},
    {"lr": 0.01, "max_iter": 4, "max_eval": 3},
    {"line_search_fn": "strong_wolfe", "max_iter": 1},
    {"line_search_fn": "strong_wolfe", "max_eval": 2},
    {"line_search_fn": "strong_wolfe", "tolerance_grad": 0.5},
    {"tolerance_change": 0.1},
]


@pytest.mark.parametrize("problem", [rosenbrock, network])
@pytest.mark.parametrize("options", CASES, ids=case_id)
def test_steps_are_pytorchs(oracle, problem, options):
    losses, params, optimizer = trained(tiny_torch, problem, options)
    their_losses, their_params, theirs = trained(oracle, problem, options)
    np.testing.assert_allclose(losses, their_losses, rtol=1e-8)
    for ours, other in zip(params, their_params, strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), other.detach().numpy(), atol=1e-5)
    state, their_state = (o.state_dict()["state"][0] for o in (optimizer, theirs))
    assert list(state) == list(their_state)
    assert (state["func_evals"], state["n_iter"]) == (
        their_state["func_evals"],
        their_state["n_iter"],
    )
    for key in state:
        np.testing.assert_allclose(flat(state[key]), flat(their_state[key]), rtol=1e-3, atol=1e-5)
    assert repr(optimizer) == repr(theirs)


@pytest.mark.parametrize("options", [CASES[1], CASES[3]], ids=case_id)
def test_training_goes_on_alike_in_both_libraries(oracle, tmp_path, options):
    for first, second in [(tiny_torch, oracle), (oracle, tiny_torch)]:
        _, params, begun = trained(first, network, options)
        first.save(begun.state_dict(), tmp_path / "state.pt")
        new_params, loss_of = network(second)
        resumed = second.optim.LBFGS(new_params)
        resumed.load_state_dict(second.load(tmp_path / "state.pt"))
        with second.no_grad():
            for new, old in zip(new_params, params, strict=True):
                new.copy_(second.from_numpy(old.detach().numpy()))
        resumed.step(closure_of(resumed, loss_of))
        _, expected, _ = trained(first, network, options, steps=4)
        for ours, other in zip(new_params, expected, strict=True):
            np.testing.assert_allclose(ours.detach().numpy(), other.detach().numpy(), atol=1e-8)


def test_a_parameter_without_a_gradient_stays():
    a, b = (tiny_torch.nn.Parameter(tiny_torch.ones(2)) for _ in range(2))
    optimizer = tiny_torch.optim.LBFGS([a, b])
    optimizer.step(closure_of(optimizer, lambda: (a**2).sum()))
    assert b.tolist() == [1.0, 1.0] and a.abs().max() < 1e-3


def test_a_copy_trains_on_alike():
    params, loss_of = network(tiny_torch)
    optimizer = tiny_torch.optim.LBFGS(params, lr=0.1)
    twin = copy.deepcopy(optimizer)
    optimizer.step(closure_of(optimizer, loss_of))
    twins = twin.param_groups[0]["params"]
    assert twins[0] is not params[0]
    loss = closure_of(twin, lambda: sum((p**2).sum() for p in twins))
    assert twin.step(loss) > twin.step(loss)


def test_errors(torch):
    w = torch.nn.Parameter(torch.ones(2))
    for options in ({"lr": -1.0}, {"lr": torch.ones(2)}):
        with pytest.raises(ValueError, match=r"lr|learning rate"):
            torch.optim.LBFGS([w], **options)
    with pytest.raises(ValueError, match="doesn't support per-parameter options"):
        torch.optim.LBFGS([{"params": w}, {"params": torch.ones(2)}])
    optimizer = torch.optim.LBFGS([w], line_search_fn="armijo")
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        optimizer.step(closure_of(optimizer, lambda: (w**2).sum()))
    with pytest.raises(TypeError):
        optimizer.step()


# loss of (w, number of evaluations so far): NaN or infinite, at once or later
BROKEN = {
    "sqrt": lambda w, count: (w - 1).sqrt().sum(),
    "inverse": lambda w, count: (1 / w).sum(),
    "nan at first": lambda w, count: (w**2).sum() * float("nan"),
    "nan later": lambda w, count: ((w - 2) ** 2).sum() * (float("nan") if count > 2 else 1.0),
    "inf": lambda w, count: ((w - 2) ** 2).sum() * (float("inf") if count > 2 else 1.0),
    "constant": lambda w, count: (w * 0).sum(),
}
OPTIONS = [
    {},
    {"lr": 0.1, "history_size": 2},
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "tolerance_change": 0.0, "max_iter": 5},
    {"tolerance_grad": -1.0, "max_iter": 3},
]


@pytest.mark.parametrize("options", OPTIONS, ids=case_id)
@pytest.mark.parametrize("loss", BROKEN)
@pytest.mark.filterwarnings("ignore")
def test_losses_that_break_leave_pytorchs_state(oracle, loss, options):
    def run(lib):
        start = lib.tensor([3.0, 0.5], dtype=lib.float64)
        w = lib.nn.Parameter(start)
        optimizer = lib.optim.LBFGS(
            [lib.nn.Parameter(lib.zeros(0, dtype=lib.float64)), w], **options
        )
        count = 0

        def closure():
            nonlocal count
            optimizer.zero_grad()
            count += 1
            value = BROKEN[loss](w, count)
            value.backward()
            return value

        results = []
        for _ in range(3):
            results.append(optimizer.step(closure).item())
        state = optimizer.state_dict()["state"][0]
        return results, count, w.tolist(), list(state), [flat(value) for value in state.values()]

    ours, theirs = run(tiny_torch), run(oracle)
    assert ours[1] == theirs[1] and ours[3] == theirs[3]
    for a, b in zip([ours[0], ours[2], *ours[4]], [theirs[0], theirs[2], *theirs[4]], strict=True):
        a, b = ([float("nan") if x is None else x for x in row] for row in (a, b))
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


def test_a_closure_that_raises_leaves_pytorchs_state(torch):
    w = torch.nn.Parameter(torch.tensor([3.0, -1.0]))
    optimizer = torch.optim.LBFGS([w], max_iter=3)
    count = 0

    def closure():
        nonlocal count
        count += 1
        if count == 5:
            raise KeyError
        optimizer.zero_grad()
        loss = (w**4).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    kept = optimizer.state[w]["prev_flat_grad"]
    with pytest.raises(KeyError):
        optimizer.step(closure)
    assert optimizer.state[w]["prev_flat_grad"] is kept
    assert optimizer.state[w]["n_iter"] == 3 and torch.equal(kept, w.grad)
