"""optim: state dicts, files that move between PyTorch and us, resumed trainings, copies."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
from cases.optim_cases import (
    FULL,
    SHAPES,
    TOLERANCE,
    assert_close,
    assert_equal,
    case_id,
    parameters,
    step_with_gradients,
    trained,
    values,
)

import tiny_torch as torch
from tiny_torch import optim

try:
    import torch as oracle
except ImportError:
    oracle = None

against_torch = pytest.mark.torch
skip_without_torch = pytest.mark.skipif(oracle is None, reason="PyTorch is not installed")


def with_torch(test):
    return against_torch(skip_without_torch(test))


full_cases = pytest.mark.parametrize(("name", "options"), FULL, ids=case_id)


def moved(lib, state_dict, to):
    """A state dict through a file of `lib`, read by `to`."""
    file = io.BytesIO()
    lib.save(state_dict, file)
    file.seek(0)
    return to.load(file)


@with_torch
@full_cases
def test_state_dicts_have_pytorchs_keys_in_pytorchs_order(name, options):
    ours = trained(torch, name, options, steps=1).state_dict()
    theirs = trained(oracle, name, options, steps=1).state_dict()
    assert list(ours) == list(theirs)
    assert [list(group) for group in ours["param_groups"]] == [
        list(group) for group in theirs["param_groups"]
    ]
    assert ours["param_groups"] == theirs["param_groups"]
    assert list(ours["state"]) == list(theirs["state"])
    for key, state in ours["state"].items():
        assert list(state) == list(theirs["state"][key])
        for part, tensor in state.items():
            other = theirs["state"][key][part]
            assert str(tensor.dtype).split(".")[1] == str(other.dtype).split(".")[1]
            assert tuple(tensor.shape) == tuple(other.shape)


@with_torch
@full_cases
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_training_goes_on_alike_in_both_libraries(name, options, dtype):
    for first, second in [(torch, oracle), (oracle, torch)]:
        begun = trained(first, name, options, dtype, steps=3)
        runs = []
        for lib in (first, second):
            params = [
                lib.nn.Parameter(lib.from_numpy(p.detach().numpy().copy()))
                for p in begun.param_groups[0]["params"]
            ]
            resumed = getattr(lib.optim, name)(params)
            resumed.load_state_dict(moved(first, begun.state_dict(), lib))
            for step in range(3, 6):
                step_with_gradients(lib, resumed, step)
            runs.append(values(resumed))
        # PyTorch rounds ASGD's rate to float32 although it has loaded it as float64
        assert_close(*runs, TOLERANCE["float32" if name == "ASGD" else dtype])


@full_cases
def test_a_resumed_training_gives_the_same_bits(name, options):
    whole = trained(torch, name, options, steps=6)
    begun = trained(torch, name, options, steps=3)
    params = [torch.nn.Parameter(p.detach().clone()) for p in begun.param_groups[0]["params"]]
    resumed = getattr(optim, name)(params)
    resumed.load_state_dict(moved(torch, begun.state_dict(), torch))
    assert resumed.param_groups[0]["lr"] == begun.param_groups[0]["lr"]
    for step in range(3, 6):
        step_with_gradients(torch, resumed, step)
    assert_equal(values(whole), values(resumed))


def test_loading_casts_states_to_the_parameters_dtype_but_not_their_step():
    saved = trained(torch, "Adam", {}, "float32", steps=1).state_dict()
    optimizer = optim.Adam(parameters(torch, "float64"))
    optimizer.load_state_dict(saved)
    state = optimizer.state[optimizer.param_groups[0]["params"][0]]
    assert state["exp_avg"].dtype is torch.float64
    assert state["step"].dtype is torch.float32


def test_loading_leaves_the_given_dict_as_it_was():
    begun = trained(torch, "SGD", {"momentum": 0.9}, steps=1)
    saved = begun.state_dict()
    saved["state"]["unknown"] = "kept"
    optimizer = optim.SGD(parameters(torch), lr=0.5)
    optimizer.load_state_dict(saved)
    optimizer.param_groups[0]["lr"] = 7.0
    assert saved["param_groups"][0]["lr"] == 1e-3
    assert saved["param_groups"][0]["params"] == list(range(len(SHAPES)))
    assert optimizer.state["unknown"] == "kept"


def test_a_step_that_was_saved_as_a_number_becomes_a_tensor():
    for name in ("Adam", "RMSprop", "NAdam", "ASGD"):
        saved = trained(torch, name, {}, steps=2).state_dict()
        for state in saved["state"].values():
            for key in state.keys() & {"step", "mu_product", "eta", "mu"}:
                state[key] = state[key].item()
        optimizer = getattr(optim, name)(parameters(torch))
        optimizer.load_state_dict(saved)
        steps = [optimizer.state[p]["step"] for p in optimizer.param_groups[0]["params"]]
        assert all(step.item() == 2.0 and step.dtype is torch.float32 for step in steps)


def test_the_step_counts_in_float64_where_that_is_the_default():
    torch.set_default_dtype(torch.float64)
    try:
        optimizer = trained(torch, "Adam", {}, steps=2)
    finally:
        torch.set_default_dtype(torch.float32)
    state = optimizer.state[optimizer.param_groups[0]["params"][0]]
    assert state["step"].dtype is torch.float64 and state["step"].item() == 2.0


def through_pickle(optimizer):
    return pickle.loads(pickle.dumps(optimizer))


@full_cases
@pytest.mark.parametrize("copied", [copy.deepcopy, through_pickle])
def test_copies_train_on_alike_and_apart(name, options, copied):
    optimizer = trained(torch, name, options, steps=2)
    twin = copied(optimizer)
    assert type(twin) is type(optimizer) and repr(twin) == repr(optimizer)
    assert twin.param_groups[0]["params"][0] is not optimizer.param_groups[0]["params"][0]
    before = values(optimizer)
    step_with_gradients(torch, twin, 2)
    assert_equal(before, values(optimizer))
    step_with_gradients(torch, optimizer, 2)
    assert_equal(values(optimizer), values(twin))
    twin.register_step_post_hook(lambda *arguments: None)


@with_torch
@full_cases
def test_repr_is_pytorchs(name, options):
    texts = [repr(trained(lib, name, options, steps=0)) for lib in (torch, oracle)]
    assert texts[0] == texts[1]
