"""nn.Module, Parameter and the containers: registering, walking, hooks, state dicts, errors."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict

import pytest

import tiny_torch as torch
from tiny_torch import nn


def fails(action, error, text):
    """`action` raises this type; its message, which str() of a KeyError would quote, has `text`."""
    with pytest.raises(error) as caught:
        action()
    assert caught.type is error and text in str(caught.value.args[0])


class Net(nn.Module):
    """Parameters, buffers of both kinds, and children."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(2))
        self.body = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer("scratch", torch.zeros(1), persistent=False)

    def forward(self, x):
        return self.body(x * self.scale) + self.mean


STATE_KEYS = ["scale", "mean", "body.0.weight", "body.0.bias", "body.1.weight", "body.1.bias"]
PARAMETER_KEYS = [key for key in STATE_KEYS if key != "mean"]

# ---- Parameter and Buffer -------------------------------------------------------------------


def test_parameter_shares_memory_and_is_a_leaf():
    data = torch.zeros(2)
    p = nn.Parameter(data)
    data.fill_(3.0)
    assert p.tolist() == [3.0, 3.0]
    assert p.is_leaf and p.requires_grad and isinstance(p, torch.Tensor)
    assert type(p * 2) is torch.Tensor and type(p.detach()) is torch.Tensor
    assert nn.Parameter().shape == (0,)
    with torch.no_grad():
        assert nn.Parameter(data).requires_grad
    assert not nn.Parameter(torch.ones(2, dtype=torch.int64), requires_grad=False).requires_grad
    with pytest.raises(RuntimeError, match="floating point"):
        nn.Parameter(torch.ones(2, dtype=torch.int64))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
def test_parameter_copies(duplicate):
    p = nn.Parameter(torch.ones(2), requires_grad=False)
    q = duplicate(p)
    assert type(q) is nn.Parameter and not q.requires_grad and q.tolist() == [1.0, 1.0]
    p.fill_(2.0)
    assert q.tolist() == [1.0, 1.0]


def test_parameter_keeps_attributes_and_text():
    p = nn.Parameter(torch.ones(1))
    p.no_decay = True
    assert pickle.loads(pickle.dumps(p)).no_decay
    assert repr(p) == "Parameter containing:\ntensor([1.], requires_grad=True)"


def test_buffer_is_a_marked_tensor():
    m = nn.Module()
    m.a = nn.Buffer(torch.ones(1))
    m.b = nn.Buffer(torch.ones(1), persistent=False)
    assert isinstance(m.a, nn.Buffer) and not isinstance(torch.ones(1), nn.Buffer)
    assert [name for name, _ in m.named_buffers()] == ["a", "b"] and list(m.state_dict()) == ["a"]


# ---- registering and attributes -------------------------------------------------------------


def test_tree_walks():
    net = Net()
    assert [n for n, _ in net.named_parameters()] == PARAMETER_KEYS
    assert [n for n, _ in net.named_parameters("net", recurse=False)] == ["net.scale"]
    assert [n for n, _ in net.named_buffers()] == ["mean", "scratch"]
    assert [n for n, _ in net.named_modules()] == ["", "body", "body.0", "body.1"]
    assert [n for n, _ in net.named_children()] == ["body"]
    assert len(list(net.parameters())) == 5 and len(list(net.buffers())) == 2
    assert [type(m) for m in net.modules()] == [Net, nn.Sequential, nn.Linear, nn.Linear]


def test_shared_members_appear_once():
    shared = nn.Linear(2, 2)
    net = nn.Sequential(shared, shared)
    assert len(list(net.parameters())) == 2 and len(list(net.children())) == 1
    assert len(list(net.named_parameters(remove_duplicate=False))) == 4
    assert [n for n, _ in net.named_modules(remove_duplicate=False)] == ["", "0", "1"]


def test_attributes_go_to_the_right_table():
    net = Net()
    net.scale = None
    assert net.scale is None and "scale" in net._parameters
    net.mean = torch.ones(2)
    assert net._buffers["mean"].tolist() == [1.0, 1.0]
    net.body = nn.Identity()
    assert isinstance(net.get_submodule("body"), nn.Identity)
    net.mean = nn.Parameter(torch.ones(2))
    assert "mean" in net._parameters and "mean" not in net._buffers
    del net.mean, net.body
    assert not hasattr(net, "mean") and not hasattr(net, "body")
    net.plain = 3
    del net.plain
    assert "scratch" in dir(net) and "0" not in dir(nn.Sequential(nn.ReLU()))


class Unready(nn.Module):
    def __init__(self, action):
        action(self)


NON_LEAF = "Cannot assign non-leaf Tensor to parameter 'p'"
REGISTER_ERRORS = [
    (lambda m: m.missing, AttributeError, "'Net' object has no attribute 'missing'"),
    (lambda m: delattr(m, "missing"), AttributeError, "missing"),
    (lambda m: setattr(m, "scale", torch.ones(1)), TypeError, "as parameter 'scale' "),
    (lambda m: setattr(m, "scale", 1), TypeError, "cannot assign 'int' as parameter 'scale'"),
    (lambda m: setattr(m, "body", 1), TypeError, "cannot assign 'int' as child module 'body'"),
    (lambda m: setattr(m, "mean", "x"), TypeError, "cannot assign 'str' as buffer 'mean'"),
    (lambda m: m.register_buffer("a.b", None), KeyError, 'buffer name can\'t contain "."'),
    (lambda m: m.register_buffer("", None), KeyError, 'buffer name can\'t be empty string ""'),
    (lambda m: m.register_buffer(1, None), TypeError, "buffer name should be a string. Got int"),
    (lambda m: m.register_buffer("body", None), KeyError, "attribute 'body' already exists"),
    (lambda m: m.register_buffer("b", 1), TypeError, "cannot assign 'int' object to buffer 'b'"),
    (lambda m: m.register_parameter("a.b", None), KeyError, 'parameter name can\'t contain "."'),
    (lambda m: m.register_parameter("", None), KeyError, "parameter name can't be empty"),
    (lambda m: m.register_parameter("mean", None), KeyError, "attribute 'mean' already exists"),
    (lambda m: m.register_parameter("p", 1), TypeError, "torch.nn.Parameter or None required"),
    (lambda m: m.add_module("x", 1), TypeError, "int is not a Module subclass"),
    (lambda m: m.add_module(1, nn.ReLU()), TypeError, "module name should be a string. Got int"),
    (lambda m: m.add_module("a.b", nn.ReLU()), KeyError, 'can\'t contain ".", got: a.b'),
    (lambda m: m.add_module("", nn.ReLU()), KeyError, "module name can't be empty string"),
    (lambda m: m.register_module("mean", None), KeyError, "attribute 'mean' already exists"),
    (lambda m: m.get_submodule("body.7"), AttributeError, "Sequential has no attribute `7`"),
    (lambda m: m.get_submodule("scale"), AttributeError, "`scale` is not an nn.Module"),
    (lambda m: m.get_parameter("mean"), AttributeError, "`mean` is not an nn.Parameter"),
    (lambda m: m.get_buffer("body.0.weight"), AttributeError, "`weight` is not a buffer"),
    (lambda m: m.set_submodule("", nn.ReLU()), ValueError, "without a target name"),
    (lambda m: m.set_submodule("body", 1), ValueError, "`module` is not an nn.Module, found"),
    (lambda m: m.set_submodule("body.7", nn.ReLU(), True), AttributeError, "no attribute `7`"),
    (lambda m: m.set_submodule("mean", nn.ReLU()), AttributeError, "`mean` is not an nn.Module"),
    (lambda m: m.train(1), ValueError, "training mode is expected to be boolean"),
    (lambda m: m.to(torch.int64), TypeError, "only accepts floating point or complex dtypes"),
    (lambda m: m.to("cpu", torch.float64, False, 1), TypeError, "invalid combination"),
    (lambda m: m.get_extra_state(), RuntimeError, "extra_state"),
    (lambda m: m.set_extra_state(1), RuntimeError, "extra_state"),
    (lambda m: nn.Module()(1), NotImplementedError, 'Module [Module] is missing the required "for'),
    (lambda m: nn.Module(1), TypeError, "__init__() takes 1 positional argument but 2 were given"),
    (lambda m: nn.Module(a=1), TypeError, "__init__() got an unexpected keyword argument 'a'"),
    (
        lambda m: Unready(lambda u: setattr(u, "p", nn.Parameter(torch.ones(1)))),
        AttributeError,
        "cannot assign parameters before Module.__init__() call",
    ),
    (
        lambda m: Unready(lambda u: setattr(u, "m", nn.ReLU())),
        AttributeError,
        "cannot assign module before Module.__init__() call",
    ),
    (
        lambda m: Unready(lambda u: u.register_buffer("b", None)),
        AttributeError,
        "cannot assign buffer before Module.__init__() call",
    ),
]


@pytest.mark.parametrize("action, error, text", REGISTER_ERRORS)
def test_module_errors(action, error, text):
    fails(lambda: action(Net()), error, text)


def test_paths():
    net = Net()
    assert net.get_submodule("") is net and net.get_submodule("body.0") is net.body[0]
    assert net.get_parameter("body.0.bias") is net.body[0].bias
    assert net.get_buffer("mean") is net.mean
    net.set_submodule("body.0", nn.Identity())
    net.set_submodule("extra", nn.ReLU())
    assert isinstance(net.body[0], nn.Identity) and isinstance(net.extra, nn.ReLU)


# ---- modes and conversion -------------------------------------------------------------------


def test_modes():
    net = Net()
    assert net.training and not net.eval().body[0].training and net.train().body[0].training
    assert not any(p.requires_grad for p in net.requires_grad_(False).parameters())
    seen = []
    net.apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["Linear", "Linear", "Sequential", "Net"]


def test_zero_grad():
    net = Net()
    net(torch.ones(1, 2)).sum().backward()
    grad = net.scale.grad
    net.zero_grad(set_to_none=False)
    assert net.scale.grad is grad and grad.tolist() == [0.0, 0.0]
    net.zero_grad()
    assert net.scale.grad is None


CONVERSIONS = [
    lambda m: m.double(),
    lambda m: m.to(torch.float64),
    lambda m: m.to("cpu", torch.float64),
    lambda m: m.to(dtype=torch.float64, device="cpu"),
    lambda m: m.to(torch.ones(1, dtype=torch.float64)),
]


@pytest.mark.parametrize("convert", CONVERSIONS)
def test_conversion_keeps_parameters_and_integers(convert):
    net = Net()
    net.register_buffer("steps", torch.zeros(1, dtype=torch.int64))
    net(torch.ones(1, 2)).sum().backward()
    weight, grad = net.body[0].weight, net.body[0].weight.grad
    assert convert(net) is net
    assert net.body[0].weight is weight and weight.grad is grad
    assert {weight.dtype, grad.dtype, net.mean.dtype} == {torch.float64}
    assert net.steps.dtype == torch.int64
    assert net.float().scale.dtype == torch.float32 and net.cpu() is net
    assert net.to_empty(device="cpu").scale.shape == (2,)


# ---- state dicts ----------------------------------------------------------------------------


def test_state_dict():
    net = Net()
    state = net.state_dict()
    assert list(state) == STATE_KEYS and type(state) is OrderedDict
    assert list(state._metadata) == ["", "body", "body.0", "body.1"]
    assert state._metadata["body.0"] == {"version": 1}
    assert not state["scale"].requires_grad and net.state_dict(keep_vars=True)["scale"] is net.scale
    state["scale"].fill_(5.0)
    assert net.scale.tolist() == [5.0, 5.0]
    assert list(nn.Linear(1, 1).state_dict(prefix="a.")) == ["a.weight", "a.bias"]
    with pytest.warns(FutureWarning, match="Positional args"):
        assert list(nn.Linear(1, 1).state_dict(OrderedDict(), "b.")) == ["b.weight", "b.bias"]


def test_load_state_dict():
    a, b = Net(), Net()
    result = a.load_state_dict(b.state_dict())
    assert repr(result) == "<All keys matched successfully>"
    assert result == ([], []) and result.missing_keys == []
    for p, q in zip(a.parameters(), b.parameters(), strict=False):
        assert p is not q and p.tolist() == q.tolist()
    result = a.load_state_dict({"scale": torch.zeros(2), "new": torch.zeros(1)}, strict=False)
    assert result.unexpected_keys == ["new"] and result.missing_keys == STATE_KEYS[1:]
    assert repr(result).startswith("_IncompatibleKeys(missing_keys=['mean', ")


def test_load_state_dict_assign():
    net, given = nn.Linear(2, 2), nn.Linear(2, 2).double().state_dict()
    net.weight.requires_grad_(False)
    net.load_state_dict(given, assign=True)
    assert type(net.weight) is nn.Parameter and net.weight.dtype == torch.float64
    assert not net.weight.requires_grad and net.bias.requires_grad
    given["weight"].zero_()
    assert net.weight.abs().sum().item() == 0


def test_load_state_dict_errors():
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like, got <class 'list'>"):
        nn.ReLU().load_state_dict([])
    state = {"weight": torch.ones(3, 2), "x.y": torch.ones(1), "bias": 4}
    with pytest.raises(RuntimeError) as caught:
        nn.Linear(2, 2).load_state_dict(state)
    assert str(caught.value) == (
        "Error(s) in loading state_dict for Linear:\n"
        '\tUnexpected key(s) in state_dict: "x.y". \n'
        "\tsize mismatch for weight: copying a param with shape torch.Size([3, 2]) from checkpoint,"
        " the shape in current model is torch.Size([2, 2]).\n"
        '\tWhile copying the parameter named "bias", expected torch.Tensor or Tensor-like object '
        "from checkpoint but received <class 'int'>"
    )
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "weight", "bias". '):
        nn.Linear(2, 2).load_state_dict({})


def test_extra_state():
    class Counter(nn.Module):
        n = 3

        def get_extra_state(self):
            return self.n

        def set_extra_state(self, state):
            self.n = state

    a, b = nn.Sequential(Counter()), nn.Sequential(Counter())
    a[0].n = 8
    assert a.state_dict() == {"0._extra_state": 8}
    b.load_state_dict(a.state_dict())
    assert b[0].n == 8
    assert b.load_state_dict({}, strict=False).missing_keys == ["0._extra_state"]


def test_state_dict_hooks():
    net, calls = nn.Linear(1, 1), []
    handles = [
        net.register_state_dict_pre_hook(lambda m, prefix, keep: calls.append(("pre", prefix))),
        net.register_state_dict_post_hook(lambda m, state, *rest: state.update(more=1)),
        net.register_load_state_dict_pre_hook(lambda m, state, *rest: state.pop("more")),
        net.register_load_state_dict_post_hook(lambda m, keys: calls.append(("post", keys))),
    ]
    state = net.state_dict()
    assert list(state) == ["weight", "bias", "more"] and calls == [("pre", "")]
    net.load_state_dict(state)
    assert calls[1] == ("post", ([], [])) and "more" in state
    for handle in handles:
        handle.remove()
    assert list(net.state_dict()) == ["weight", "bias"]
    whole = nn.Sequential(net)
    for module in (whole, net):  # the root's answer counts, as in PyTorch
        module._register_state_dict_hook(
            lambda m, state, prefix, rest: {prefix + "new": len(state)}
        )
    assert whole.state_dict() == {"new": 2} and net.state_dict() == {"new": 2}
    net.register_state_dict_post_hook(lambda *args: 1)
    with pytest.raises(RuntimeError, match="must return None"):
        net.state_dict()


# ---- hooks ----------------------------------------------------------------------------------


def test_forward_hooks_in_order():
    net, calls = nn.Identity(), []
    net.register_forward_pre_hook(lambda m, args: calls.append("pre") or (args[0] + 1))
    net.register_forward_pre_hook(lambda m, args: calls.append("first"), prepend=True)
    net.register_forward_hook(lambda m, args, out: calls.append("post") or out * 10)
    with net.register_forward_hook(lambda m, args, out: calls.append("last")):
        assert net(1) == 20
    assert calls == ["first", "pre", "post", "last"]
    calls.clear()
    net(1)
    assert calls == ["first", "pre", "post"]


def test_forward_hooks_with_kwargs():
    class Add(nn.Module):
        def forward(self, x, y=0):
            return x + y

    net = Add()
    pre = net.register_forward_pre_hook(lambda m, a, k: (a, {"y": 5}), with_kwargs=True)
    net.register_forward_hook(lambda m, a, k, out: (out, k["y"]), with_kwargs=True)
    assert net(1, y=2) == (6, 5)
    pre.remove()
    assert net(1, y=2) == (3, 2) and not net._forward_pre_hooks_with_kwargs
    net.register_forward_pre_hook(lambda m, a, k: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match=r"forward pre-hook must return None or a tuple of"):
        net(1)


def test_always_called_hook_sees_a_failed_forward():
    net, seen = nn.Module(), []
    net.register_forward_hook(lambda m, a, out: seen.append("plain"))
    net.register_forward_hook(lambda m, a, out: seen.append(out), always_call=True)
    net.register_forward_hook(lambda m, a, out: 1 / 0, always_call=True)
    with pytest.warns(UserWarning, match="silenced"), pytest.raises(NotImplementedError):
        net(1)
    assert seen == [None]


def test_full_backward_hooks():
    net, seen = nn.Linear(2, 1, bias=False), []
    torch.nn.init.constant_(net.weight, 3.0)
    net.register_full_backward_pre_hook(lambda m, g: (g[0] * 2,))
    net.register_full_backward_hook(lambda m, gi, go: seen.append((gi[0].tolist(), go[0].tolist())))
    net.register_full_backward_hook(lambda m, gi, go: (gi[0] + 1,))
    x = torch.ones(1, 2, requires_grad=True)
    (net(x) + x.sum()).sum().backward()
    assert seen == [([[6.0, 6.0]], [[2.0]])]
    assert x.grad.tolist() == [[8.0, 8.0]] and net.weight.grad.tolist() == [[2.0, 2.0]]


def test_full_backward_hook_sees_all_inputs_and_outputs():
    class Two(nn.Module):
        def forward(self, x, label, y):
            return x * y, label, y * 2

    net, seen = Two(), []
    net.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go)))
    x, y = torch.full((1,), 3.0, requires_grad=True), torch.full((1,), 4.0)
    out, label, _unused = net(x, "name", y)
    out.backward(torch.ones(1))
    ((grad_input, grad_output),) = seen
    assert label == "name" and x.grad.tolist() == [4.0]
    assert grad_input[0].tolist() == [4.0] and grad_input[1] is None
    assert grad_input[2].tolist() == [0.0]
    assert grad_output[0].tolist() == [1.0] and grad_output[1:] == (None, None)


def test_full_backward_hook_without_inputs_that_need_grad():
    net, seen = nn.Linear(1, 1), []
    net.register_full_backward_hook(lambda m, gi, go: seen.append(gi))
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        net(torch.ones(1, 1)).sum().backward()
    assert seen == [(None,)] and net.weight.grad.tolist() == [[1.0]]
    with torch.no_grad():
        assert not net(torch.ones(1, 1)).requires_grad


@pytest.mark.parametrize("kind", ["pre", "full"])
def test_backward_hook_of_wrong_length(kind):
    net = nn.Identity()
    if kind == "pre":
        net.register_full_backward_pre_hook(lambda m, g: (g[0], None))
    else:
        net.register_full_backward_hook(lambda m, gi, go: (gi[0], None))
    x = torch.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"invalid number of grad_.*, got 2, but expected 1"):
        net(x).sum().backward()


def shout(module, args, output):
    module.calls = getattr(module, "calls", 0) + 1


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_module_copies(duplicate):
    net = Net()
    net.handle = net.register_forward_hook(shout)
    twin = duplicate(net)
    twin(torch.ones(1, 2))
    assert twin.calls == 1 and not hasattr(net, "calls")
    twin.handle.remove()
    twin(torch.ones(1, 2))
    assert twin.calls == 1 and len(net._forward_hooks) == 1
    assert twin.scale is not net.scale and list(twin.state_dict()) == STATE_KEYS
    old = dict(net.__dict__)
    del old["_load_state_dict_post_hooks"]
    twin.__setstate__(old)
    assert twin._load_state_dict_post_hooks == {}
