"""What is no list of parameters, no group, no state: refused as PyTorch refuses it, by all."""

from __future__ import annotations

import copy
import importlib
import re
import warnings

import pytest

import tiny_torch

OPTIMIZERS = (
    "ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "NAdam",
    "RAdam", "RMSprop", "Rprop", "SGD",
)  # fmt: skip


class Maker:
    """Makes one kind of optimizer of a package."""

    def __init__(self, torch, name):
        self.torch, self.name = torch, name

    def param(self, *shape):
        p = self.torch.ones(*(shape or (2, 2)), requires_grad=True)
        p.grad = self.torch.ones_like(p)
        return p

    def make(self, params, **options):
        return getattr(self.torch.optim, self.name)(params, **options)

    def one(self):
        return self.make([self.param()])

    def step(self, optimizer):
        closure = (lambda: self.torch.tensor(1.0)) if self.name == "LBFGS" else None
        optimizer.step(closure)
        return optimizer

    def loaded(self, **changes):
        """An optimizer that loads its own state dict, some of whose parts are others."""
        optimizer = self.one()
        optimizer.load_state_dict({**optimizer.state_dict(), **changes})
        return optimizer

    def groups(self, **changes):
        return [{**self.one().state_dict()["param_groups"][0], **changes}]


def same_group_again(m):
    optimizer = m.one()
    optimizer.add_param_group({"params": optimizer.param_groups[0]["params"]})


def without(m, part, key):
    optimizer = m.one()
    state = copy.deepcopy(m.step(m.one()).state_dict())
    state[part][0].pop(key, None)
    optimizer.load_state_dict(state)
    return m.step(optimizer)


def step_without(m, key):
    optimizer = m.one()
    del optimizer.param_groups[0][key]
    return optimizer


def twice(m, of_groups):
    p = m.param()
    m.make([{"params": [p]}, {"params": [p]}] if of_groups else [p, p])


CALLS = {
    "a tensor": lambda m: m.make(m.param()),
    "None": lambda m: m.make(None),
    "a number": lambda m: m.make(3),
    "a string": lambda m: m.make("ab"),
    "nothing": lambda m: m.make([]),
    "a generator of nothing": lambda m: m.make(p for p in ()),
    "nothing given": lambda m: getattr(m.torch.optim, m.name)(),
    "a group": lambda m: m.make({"params": [m.param()]}),
    "a set": lambda m: m.make({m.param()}),
    "numbers": lambda m: m.make([1, 2]),
    "Nones": lambda m: m.make([None]),
    "lists": lambda m: m.make([[m.param()], [m.param()]]),
    "a module": lambda m: m.make(m.torch.nn.Linear(1, 1)),
    "a non-leaf": lambda m: m.make([m.param() * 2]),
    "integers": lambda m: m.make([m.torch.ones(2, 2, dtype=m.torch.int64)]),
    "no gradient": lambda m: m.make([m.torch.ones(2, 2)]),
    "one twice": lambda m: twice(m, of_groups=False),
    "one in two groups": lambda m: twice(m, of_groups=True),
    "a group without params": lambda m: m.make([{"lr": 0.1}]),
    "an empty group": lambda m: m.make([{}]),
    "params=None": lambda m: m.make([{"params": None}]),
    "params=3": lambda m: m.make([{"params": 3}]),
    "params=[]": lambda m: m.make([{"params": []}]),
    "params=set": lambda m: m.make([{"params": {m.param()}}]),
    "params=tensor": lambda m: m.make([{"params": m.param()}]),
    "params=string": lambda m: m.make([{"params": "abc"}]),
    "a group, then a tensor": lambda m: m.make([{"params": [m.param()]}, m.param()]),
    "a tensor, then a group": lambda m: m.make([m.param(), {"params": [m.param()]}]),
    "names": lambda m: m.make((name, m.param()) for name in "ab"),
    "some names": lambda m: m.make([("a", m.param()), m.param()]),
    "later names": lambda m: m.make([m.param(), ("a", m.param())]),
    "numbers as names": lambda m: m.make([(1, m.param())]),
    "names alone": lambda m: m.make([("a",)]),
    "names of numbers": lambda m: m.make([("a", 3)]),
    "names after tensors": lambda m: m.make([(m.param(), "a")]),
    "names in one group": lambda m: m.make([{"params": [("a", m.param())]}, {"params": m.param()}]),
    "names in the other": lambda m: m.make([{"params": m.param()}, {"params": [("a", m.param())]}]),
    "an unknown option": lambda m: m.make([m.param()], nothing=3),
    "lr=-1": lambda m: m.make([m.param()], lr=-1),
    "lr of two": lambda m: m.make([m.param()], lr=m.torch.ones(2)),
    "weight_decay=-1": lambda m: m.make([m.param()], weight_decay=-1),
    "betas=0.9": lambda m: m.make([m.param()], betas=0.9),
    "betas=None": lambda m: m.make([m.param()], betas=None),
    "eps=-1": lambda m: m.make([m.param()], eps=-1),
    "momentum=-1": lambda m: m.make([m.param()], momentum=-1),
    "foreach and fused": lambda m: m.make([m.param()], foreach=True, fused=True),
    "a group's lr=-1": lambda m: m.make([{"params": [m.param()], "lr": -1}]),
    "add a list": lambda m: m.one().add_param_group([m.param()]),
    "add a tensor": lambda m: m.one().add_param_group(m.param()),
    "add None": lambda m: m.one().add_param_group(None),
    "add {}": lambda m: m.one().add_param_group({}),
    "add nothing": lambda m: m.one().add_param_group(),
    "add the same": same_group_again,
    "add names": lambda m: m.one().add_param_group({"params": [("a", m.param())]}),
    "load None": lambda m: m.one().load_state_dict(None),
    "load a list": lambda m: m.one().load_state_dict([1]),
    "load {}": lambda m: m.one().load_state_dict({}),
    "load no state": lambda m: m.one().load_state_dict({"param_groups": m.groups()}),
    "load no groups": lambda m: m.one().load_state_dict({"state": {}}),
    "load two groups": lambda m: m.loaded(param_groups=m.groups() * 2),
    "load two parameters": lambda m: m.loaded(param_groups=m.groups(params=[0, 1])),
    "load groups of nothing": lambda m: m.loaded(param_groups=[{"lr": 1}]),
    "load None for groups": lambda m: m.loaded(param_groups=None),
    "load None for state": lambda m: m.loaded(state=None),
    "load another state": lambda m: m.step(m.loaded(state={0: {"x": 1}})),
    "load a state without its step": lambda m: without(m, "state", "step"),
    "load a group without its lr": lambda m: without(m, "param_groups", "lr"),
    "step without lr": lambda m: m.step(step_without(m, "lr")),
    "zero_grad without params": lambda m: step_without(m, "params").zero_grad(),
    "state_dict without params": lambda m: step_without(m, "params").state_dict(),
    "repr without params": lambda m: repr(step_without(m, "params")),
    "a number for closure": lambda m: m.one().step(3),
    "too many arguments": lambda m: m.one().step(None, None),
    "no hook": lambda m: m.one().register_step_pre_hook(),
}


def answer(call, torch, name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call(Maker(torch, name))
            text = "fine"
        except Exception as error:
            text = f"{type(error).__name__}: {error}".replace("tiny_torch", "torch")
    return re.sub(r"0x\w+", "", text), {str(warning.message) for warning in caught}


@pytest.mark.parametrize("call", CALLS)
def test_wrong_parameters_and_states(oracle, call):
    for name in OPTIMIZERS:
        theirs, ours = (answer(CALLS[call], torch, name) for torch in (oracle, tiny_torch))
        assert ours == theirs, name


def test_hooks_on_the_steps_of_all_optimizers(torch):
    module = importlib.import_module(f"{torch.__name__}.optim.optimizer")
    seen = []

    def say(name):
        return lambda optimizer, args, kwargs: seen.append((name, type(optimizer).__name__))

    sgd, adam = (getattr(torch.optim, n)([torch.ones(1)]) for n in ("SGD", "Adam"))
    sgd.register_step_pre_hook(say("own before"))
    sgd.register_step_post_hook(say("own after"))
    with (
        module.register_optimizer_step_pre_hook(say("before")),
        module.register_optimizer_step_post_hook(say("after")),
    ):
        sgd.step()
        adam.step()
    adam.step()
    assert seen == [
        ("before", "SGD"), ("own before", "SGD"), ("own after", "SGD"), ("after", "SGD"),
        ("before", "Adam"), ("after", "Adam"),
    ]  # fmt: skip
    with (
        module.register_optimizer_step_pre_hook(lambda *args: 3),
        pytest.raises(RuntimeError, match=r"must return None or a tuple of \(new_args, new_kwargs"),
    ):
        adam.step()
