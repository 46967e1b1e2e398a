"""`load(weights_only=False)`: whole modules and optimizers, ours and PyTorch's; pickle_module."""

from __future__ import annotations

import io
import pickle
import types
import warnings

import numpy as np
import pytest

import tiny_torch
from tiny_torch.exchange.trusting import load_pickle


def saved(torch, value, **options):
    file = io.BytesIO()
    torch.save(value, file, **options)
    return file.getvalue()


def loaded(data, **options):
    return tiny_torch.load(io.BytesIO(data), weights_only=False, **options)


def of_torch(x):
    return tiny_torch.from_numpy(x.detach().numpy().copy())


MODULES = {
    "Linear": lambda nn: (nn.Linear(3, 2), (4, 3)),
    "Sequential": lambda nn: (
        nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Dropout(), nn.Softmax(-1), nn.GELU()),
        (4, 3),
    ),
    "Conv2d": lambda nn: (nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect"), (1, 2, 5, 5)),
    "same": lambda nn: (nn.Conv1d(2, 3, 3, padding="same"), (1, 2, 5)),
    "ConvTranspose2d": lambda nn: (nn.ConvTranspose2d(2, 3, 3), (1, 2, 5, 5)),
    "BatchNorm2d": lambda nn: (nn.BatchNorm2d(2), (2, 2, 3, 3)),
    "LayerNorm": lambda nn: (nn.LayerNorm(3), (2, 3)),
    "LSTM": lambda nn: (nn.LSTM(3, 4, 2, bidirectional=True), (2, 1, 3)),
    "GRU": lambda nn: (nn.GRU(3, 4), (2, 1, 3)),
    "LSTMCell": lambda nn: (nn.LSTMCell(3, 4), (2, 3)),
    "Transformer": lambda nn: (nn.TransformerEncoderLayer(4, 2, 8), (2, 3, 4)),
    "pools": lambda nn: (nn.Sequential(nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1)), (1, 1, 4, 4)),
    "Upsample": lambda nn: (nn.Upsample(scale_factor=2), (1, 1, 2, 2)),
    "weight_norm": lambda nn: (nn.utils.weight_norm(nn.Linear(3, 2)), (4, 3)),
}


@pytest.mark.parametrize("name", MODULES)
def test_whole_modules(oracle, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of weight_norm, which is deprecated
        theirs, shape = MODULES[name](oracle.nn)
    theirs.eval()
    x = oracle.randn(shape)
    expected = theirs(x)
    ours = loaded(saved(oracle, theirs))
    again = loaded(saved(tiny_torch, ours))
    for module in (ours, again):
        assert type(module).__module__.startswith("tiny_torch.nn") and repr(module) == repr(theirs)
        assert list(module.state_dict()) == list(theirs.state_dict())
        result = module(of_torch(x))
        if isinstance(result, tuple):
            result, expected_first = result[0], expected[0]
        else:
            expected_first = expected
        np.testing.assert_allclose(
            result.detach().numpy(), expected_first.detach().numpy(), atol=1e-5
        )
        module.train().double().zero_grad()


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "LBFGS"])
def test_whole_optimizers_and_their_parameters(oracle, name):
    def closure_of(params, optimizer):
        def closure():
            optimizer.zero_grad()
            loss = (params[0] ** 2).sum()
            loss.backward()
            return loss

        return closure

    params = [oracle.nn.Parameter(oracle.ones(3))]
    theirs = getattr(oracle.optim, name)(params, lr=0.1)
    schedule = oracle.optim.lr_scheduler.StepLR(theirs, 1)
    theirs.step(closure_of(params, theirs))
    schedule.step()
    new_params, ours, new_schedule = loaded(saved(oracle, (params, theirs, schedule)))
    assert ours.param_groups[0]["params"][0] is new_params[0] and repr(ours) == repr(theirs)
    assert new_schedule.optimizer is ours and new_schedule.get_last_lr() == schedule.get_last_lr()
    theirs.step(closure_of(params, theirs))
    ours.step(closure_of(new_params, ours))
    np.testing.assert_allclose(
        new_params[0].detach().numpy(), params[0].detach().numpy(), rtol=1e-5
    )


class Net(tiny_torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = tiny_torch.nn.Linear(2, 2)
        self.twin = self.layer

    def forward(self, x):
        return self.layer(x)


def test_a_users_module_keeps_what_it_shares():
    net = Net()
    again = loaded(saved(tiny_torch, {"net": net, "weight": net.layer.weight}))
    assert type(again["net"]) is Net and again["net"].twin is again["net"].layer
    assert again["weight"] is again["net"].layer.weight
    assert tiny_torch.equal(again["net"](tiny_torch.ones(1, 2)), net(tiny_torch.ones(1, 2)))


def test_the_safe_loader_stays_the_default_and_names_both_ways_out():
    with pytest.raises(pickle.UnpicklingError, match=r"add_safe_globals.*`weights_only=False`"):
        tiny_torch.load(io.BytesIO(saved(tiny_torch, Net())))


@pytest.mark.parametrize("home", ["torch.nn.modules.linear", "torch.of.nowhere", "torch"])
def test_a_class_of_pytorchs_that_we_lack(home):
    with pytest.raises(AttributeError, match=f"'NotThere' of module '{home}'"):
        load_pickle(f"c{home}\nNotThere\n.".encode(), None, pickle, {})


def test_another_pickle_module():
    seen = []

    class Pickler(pickle._Pickler):
        def save(self, obj, *rest, **options):
            seen.append(type(obj))
            return super().save(obj, *rest, **options)

    class Unpickler(pickle._Unpickler):
        def __init__(self, file, **options):
            seen.append(options)
            super().__init__(file, **options)

    module = types.SimpleNamespace(Pickler=Pickler, Unpickler=Unpickler, __name__="mine")
    value = {"x": tiny_torch.ones(2), "net": Net()}
    data = saved(tiny_torch, value, pickle_module=module)
    assert Net in seen
    again = tiny_torch.load(io.BytesIO(data), pickle_module=module, errors="ignore")
    assert seen[-1] == {"encoding": "utf-8", "errors": "ignore"} and again["x"].tolist() == [1, 1]
    assert type(again["net"]) is Net
    with pytest.raises(NotImplementedError, match="not one in Python"):
        saved(tiny_torch, value, pickle_module=types.SimpleNamespace(
            Pickler=pickle.Pickler, __name__="mine"))  # fmt: skip
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        tiny_torch.load(io.BytesIO(data), pickle_module=module, weights_only=True)


def test_map_location_of_whole_modules():
    data = saved(tiny_torch, tiny_torch.nn.Linear(2, 1))
    assert loaded(data, map_location="ref").weight.device.type == "ref"
    places = []
    loaded(data, map_location=lambda storage, place: places.append(place))
    assert places == ["cpu", "cpu"]


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("left", [4, 20, 0.5, 0.9, -1])
def test_a_truncated_file_is_probably_corrupt(torch, weights_only, left):
    data = saved(torch, {"weight": torch.ones(100)})
    data = data[: int(left * len(data)) if type(left) is float else left]
    with pytest.raises(RuntimeError, match="corrupt"):
        torch.load(io.BytesIO(data), weights_only=weights_only)


def local_function():
    def inner():
        pass

    return inner


def local_class():
    class Inner:
        pass

    return Inner


@pytest.mark.parametrize("made", [local_function, local_class, lambda: lambda: 0])
def test_local_objects_are_refused(torch, made):
    with pytest.raises(AttributeError, match=r"^Can't (pickle|get) local object .*<locals>"):
        saved(torch, {"a": made()})


@pytest.mark.parametrize(
    "given", [{"foo": 1}, {"errors": "strict"}, {"foo": 1, "encoding": "ascii"}]
)
@pytest.mark.filterwarnings("ignore:pickle_load_args only works")
def test_arguments_that_no_unpickler_takes(torch, given):
    data = saved(torch, [1])
    with pytest.raises(TypeError, match=r"'(foo|errors)'"):
        torch.load(io.BytesIO(data), **given)
    if "foo" in given:
        with pytest.raises(TypeError, match="'foo'"):
            torch.load(io.BytesIO(data), weights_only=False, **given)
