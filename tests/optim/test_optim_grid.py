"""State after ten steps over a grid of hyper-parameters, of every optimiser, against PyTorch's."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from cases.optim_cases import assert_close, parameters, trained, values

import tiny_torch

pytestmark = pytest.mark.torch
GRID = {
    "SGD": {"momentum": (0, 0.9), "dampening": (0, 0.5), "nesterov": (False, True)},
    "Adam": {"betas": ((0.9, 0.999), (0.3, 0.7)), "eps": (1e-8, 0.1), "amsgrad": (False, True)},
    "AdamW": {"betas": ((0.9, 0.999), (0.3, 0.7)), "eps": (1e-8, 0.1), "amsgrad": (False, True)},
    "NAdam": {"betas": ((0.9, 0.999), (0.3, 0.7)), "momentum_decay": (4e-3, 0.5)},
    "RAdam": {"betas": ((0.9, 0.999), (0.3, 0.7)), "eps": (1e-8, 0.1)},
    "Adamax": {"betas": ((0.9, 0.999), (0.3, 0.7)), "eps": (1e-8, 0.1)},
    "RMSprop": {"alpha": (0.99, 0.4), "momentum": (0, 0.9), "centered": (False, True)},
    "Adagrad": {"lr_decay": (0, 0.5), "initial_accumulator_value": (0, 0.1)},
    "Adadelta": {"rho": (0.9, 0.3), "eps": (1e-6, 0.1)},
    "Rprop": {"etas": ((0.5, 1.2), (0.3, 3.0)), "step_sizes": ((1e-6, 50), (0.05, 0.5))},
    "ASGD": {"lambd": (1e-4, 0.1), "alpha": (0.75, 0.3), "t0": (1e6, 3)},
}
COMMON = {"lr": (0.01, 0.1), "weight_decay": (0, 0.1), "maximize": (False, True)}
SHAPES = [(3,), (4, 5), (), (0,)]


def settings(name):
    options = {**COMMON, **GRID[name]}
    if name == "Rprop":
        del options["weight_decay"]
    for choice in product(*options.values()):
        made = dict(zip(options, choice, strict=True))
        if made.get("nesterov") and (not made["momentum"] or made["dampening"]):
            continue  # ValueError
        if name == "RMSprop" and made["centered"]:
            made["eps"] = 0.1  # where the variance is a difference of rounding errors
        yield made


@pytest.mark.parametrize("foreach", [None, False, True])
@pytest.mark.parametrize("name", GRID)
def test_state_after_ten_steps(oracle, name, foreach):
    for options in settings(name):
        states = []
        for lib in (oracle, tiny_torch):
            # PyTorch's foreach computes ASGD's rates in float32, its loop in float64
            way = False if lib is oracle and name == "ASGD" else foreach
            made = parameters(lib, "float64", shapes=SHAPES)
            states.append(values(trained(lib, name, {**options, "foreach": way}, params=made)))
        assert_close(states[1], states[0], 1e-10)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
@pytest.mark.parametrize("history", [1, 2, 100])
@pytest.mark.parametrize("lr", [1, 0.1])
def test_lbfgs_after_ten_steps(oracle, lr, history, search):
    ends = []
    for lib in (oracle, tiny_torch):
        params = list(parameters(lib, "float64", shapes=[(3,), (2, 2)]))
        optimizer = lib.optim.LBFGS(
            params, lr, max_iter=2, history_size=history, line_search_fn=search
        )

        def closure(lib=lib, params=params, optimizer=optimizer):
            optimizer.zero_grad()
            loss = sum(((p - 0.5) ** 4).sum() + (p * p).sum() * 0.1 for p in params)
            loss.backward()
            return loss

        losses = [float(optimizer.step(closure).detach()) for _ in range(10)]
        state = optimizer.state[params[0]]
        counts = [state["func_evals"], state["n_iter"]]
        ends.append([np.array(losses + counts), *[p.detach().numpy().copy() for p in params]])
    assert_close(ends[1], ends[0], 1e-6)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *[(name, {"betas": (0.9, 0.9, 0.9)}) for name in ("Adam", "Adamax", "NAdam", "RAdam")],
        ("Rprop", {"etas": (0.5, 1.2, 1.2)}),
        ("Rprop", {"step_sizes": (1e-6, 50, 50)}),
    ],
)
def test_a_pair_of_three_is_refused_as_by_pytorch(oracle, name, options):
    for lib in (tiny_torch, oracle):
        with pytest.raises(ValueError, match="too many values to unpack"):
            trained(lib, name, options)


# "maximize" and its like are asked for their truth
OPTIONS = [
    (name, option)
    for name, options in GRID.items()
    for option in ("lr", *options, "eps", "weight_decay", "maximize", "foreach")
    if name != "Rprop" or option not in ("eps", "weight_decay")
]


@pytest.mark.parametrize("value", ["a", None, 10**400])
@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_an_option_that_is_no_number_is_used_or_refused_as_by_pytorch(oracle, name, option, value):
    ends = []
    for lib in (tiny_torch, oracle):
        (param,) = params = [lib.nn.Parameter(lib.ones(2))]
        param.grad = lib.ones(2)
        optimizer = getattr(lib.optim, name)(params)
        optimizer.param_groups[0][option] = value
        try:
            optimizer.step()
            ends.append(param.tolist())
        except (TypeError, ValueError, OverflowError, AssertionError) as error:
            assert "foreach" not in str(error) and "NDArray" not in str(error)
            ends.append(type(error))
    assert ends[0] == (ends[1] if isinstance(ends[1], type) else pytest.approx(ends[1]))


@pytest.mark.parametrize(
    ("name", "option"), [("Adamax", "eps"), ("Adadelta", "rho"), ("SGD", "momentum")]
)
def test_any_option_may_be_a_tensor(oracle, name, option):
    ours, theirs = (trained(lib, name, {option: lib.tensor(0.5)}) for lib in (tiny_torch, oracle))
    assert_close(values(ours), values(theirs), 1e-6)
