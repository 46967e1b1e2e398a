"""Hooks of modules: global ones, the old backward hook, registrations. PyTorch writes each log."""

from __future__ import annotations

import pickle
import warnings
from collections import OrderedDict

import pytest

import tiny_torch


class Log(list):
    """What a program under one package has said, without what the packages round otherwise."""

    def __init__(self, torch):
        self.module = torch.nn.modules.module
        nn = torch.nn

        class One(nn.Module):
            def forward(self, x, y=None):
                return x * x

        class Two(nn.Module):
            def forward(self, x):
                return x * 2, x * 3

        class Nested(nn.Module):
            def forward(self, x):
                return [[x * 2], x]

        class Named(nn.Module):
            def forward(self, x):
                return {"n": 1, "a": x * 2}

        class Several(nn.Module):
            def forward(self, x):
                return (x * 2 + 1).exp()

        class Same(nn.Module):
            def forward(self, x):
                return x

        class Fails(nn.Module):
            def forward(self, x):
                raise ValueError("fails")

        self.kinds = One, Two, Nested, Named, Several, Same, Fails

    def say(self, *values):
        self.append(plain(values))

    def hook(self, tag):
        return lambda module, *values: self.say(tag, type(module).__name__, *values)

    def of_all(self, name, hook, **settings):
        return getattr(self.module, f"register_module_{name}")(hook, **settings)

    def attempt(self, call):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                self.say(call())
            except Exception as error:
                self.say(type(error).__name__, str(error))
        for warning in caught:
            self.say(warning.category.__name__, str(warning.message).partition(" See https")[0])


def plain(value):
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, (int, float, str)) or value is None:
        return round(value, 4) if isinstance(value, float) else value
    return type(value).__name__


def first_tensor(torch, value):
    while not isinstance(value, torch.Tensor):
        value = value["a"] if isinstance(value, dict) else value[0]
    return value


def the_old_backward_hook(torch, log):
    One, Two, Nested, Named, Several, Same, _ = log.kinds

    def run(module, *args, hook=None):
        handle = module.register_backward_hook(hook or log.hook("old"))
        first_tensor(torch, module(*args)).sum().backward()
        handle.remove()
        module(*args)
        return args[0].grad

    def x():
        return torch.tensor([1.0, 2.0], requires_grad=True)

    for module in (One(), Two(), Nested(), Named(), Several(), Same(), torch.nn.ReLU()):
        log.attempt(lambda module=module: run(module, x()))
    log.attempt(lambda: run(One(), x(), 1))
    log.attempt(lambda: run(One(), torch.ones(2)))
    log.attempt(lambda: run(Several(), x(), hook=lambda m, gi, go: (gi[0] * 10,)))
    log.attempt(lambda: run(Several(), x(), hook=lambda m, gi, go: gi[0] * 10))
    log.attempt(lambda: run(Several(), x(), hook=lambda m, gi, go: ()))


def the_two_sorts_of_backward_hooks(torch, log):
    One = log.kinds[0]
    module = One()
    log.say(module._is_full_backward_hook)
    module.register_backward_hook(print)
    log.attempt(lambda: module.register_full_backward_hook(print))
    log.say(module._is_full_backward_hook)
    module = One()
    module.register_full_backward_hook(print)
    log.attempt(lambda: module.register_backward_hook(print))
    state = One().__dict__
    del state["_is_full_backward_hook"]
    module.__setstate__(state)


def the_hook_of_a_module_that_is_gone(torch, log):
    module = log.kinds[0]()
    module.register_backward_hook(log.hook("gone"))
    y = module(torch.ones(2, requires_grad=True))
    del module
    log.attempt(lambda: y.sum().backward())


def global_hooks_run_before_a_modules_own(torch, log):
    handles = [
        log.of_all("forward_pre_hook", log.hook("pre of all")),
        log.of_all("forward_pre_hook", lambda module, args: args[0] + 1),
        log.of_all("forward_hook", log.hook("of all")),
        log.of_all("forward_hook", lambda m, args, kwargs, out: out * 2, with_kwargs=True),
        log.of_all("full_backward_pre_hook", log.hook("backward pre of all")),
        log.of_all("full_backward_pre_hook", lambda module, grads: (grads[0] * 2,)),
        log.of_all("full_backward_hook", log.hook("full of all")),
    ]
    module = torch.nn.Sequential(log.kinds[0](), torch.nn.ReLU())
    module.register_forward_pre_hook(log.hook("pre"))
    module.register_forward_pre_hook(log.hook("first pre"), prepend=True)
    module.register_forward_hook(log.hook("post"))
    module.register_full_backward_pre_hook(log.hook("backward pre"))
    module.register_full_backward_hook(log.hook("full"))
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    module(x).sum().backward()
    for handle in handles:
        handle.remove()
    log.say(x.grad, module(x))
    log.attempt(lambda: log.of_all("backward_hook", print))
    log.attempt(lambda: log.of_all("forward_hook", print, prepend=True))


def old_backward_hooks_of_all(torch, log):
    handle = log.of_all("backward_hook", log.hook("old of all"))
    log.attempt(lambda: log.of_all("full_backward_hook", print))
    module = torch.nn.Sequential(log.kinds[0](), torch.nn.ReLU())
    module.register_backward_hook(log.hook("old"))
    module[1].register_full_backward_hook(log.hook("full"))
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    log.attempt(lambda: module(x).sum().backward())
    log.say(x.grad)
    log.attempt(lambda: torch.nn.ReLU()(x).sum().backward())  # which is gone by then
    handle.remove()
    log.attempt(lambda: log.of_all("full_backward_hook", print))


def hooks_that_are_always_called(torch, log):
    module = log.kinds[-1]()
    module.register_forward_hook(log.hook("own"), always_call=True)
    with (
        log.of_all("forward_hook", log.hook("of all"), always_call=True),
        log.of_all("forward_hook", log.hook("never")),
        log.of_all("forward_hook", lambda *args: 1 / 0, always_call=True),
    ):
        log.attempt(lambda: module(torch.ones(1)))
    log.attempt(lambda: module(torch.ones(1)))


def hooks_on_what_is_registered(torch, log):
    nn = torch.nn
    with (
        log.of_all("buffer_registration_hook", log.hook("buffer")),
        log.of_all("module_registration_hook", log.hook("module")),
        log.of_all(
            "parameter_registration_hook", lambda m, name, p: log.say(type(m).__name__, name)
        ),
        log.of_all("parameter_registration_hook", lambda m, name, p: nn.Parameter(p * 0 + 7)),
    ):
        net = nn.Sequential(nn.PReLU(), nn.BatchNorm1d(1))
        net.add_module("x", None)
        net.x = nn.ReLU()
        net.x = None
        net[1].bias = None
        net[1].bias = nn.Parameter(torch.ones(1))
        net.b = nn.Buffer(torch.ones(1))
        net.b = torch.ones(2)
        net.register_buffer("z", None)
        net.register_module("k", nn.ReLU())
    net.k = nn.PReLU()
    log.say(dict(net.state_dict()))
    with log.of_all("module_registration_hook", lambda module, name, child: nn.Tanh()):
        log.say(repr(nn.Sequential(nn.ReLU())))


PROGRAMS = [
    the_old_backward_hook,
    the_two_sorts_of_backward_hooks,
    the_hook_of_a_module_that_is_gone,
    global_hooks_run_before_a_modules_own,
    old_backward_hooks_of_all,
    hooks_that_are_always_called,
    hooks_on_what_is_registered,
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_hooks_as_in_pytorch(oracle, monkeypatch, program):
    logs = []
    for torch in (oracle, tiny_torch):
        log = Log(torch)
        home = tiny_torch.nn.modules._parts.calling if torch is tiny_torch else log.module
        monkeypatch.setattr(home, "_global_is_full_backward_hook", None)
        program(torch, log)
        logs.append(log)
    assert logs[1] == logs[0] and logs[0]


def test_a_module_that_was_not_made_says_so_when_called():
    class Module(tiny_torch.nn.Module):
        def __init__(self):
            pass

        def forward(self, x):
            return x

    with pytest.raises(AttributeError, match="'Module' object has no attribute '_backward_hooks'"):
        Module()(1)


def test_handles_of_ones_own_dicts(torch):
    Handle = torch.utils.hooks.RemovableHandle
    hooks, more, most = OrderedDict(), OrderedDict(), OrderedDict()
    for extra in (None, more, [more, most]):
        handle = Handle(hooks, extra_dict=extra)
        for table in (hooks, more, most):
            table[handle.id] = print
        handle.remove()
        assert not hooks and handle.hooks_dict_ref() is hooks
        assert handle.id in more or extra is not None
        assert handle.id in most or isinstance(extra, list)
    handle.id += 1000
    later, *_ = pickle.loads(pickle.dumps((handle, hooks, more, most)))
    assert Handle(hooks).id > later.id  # or a hook of another program would be overwritten
