"""`__torch_function__`: who is asked, in which order, about what. The programs print the same under
PyTorch."""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import pickle

import pytest

import tiny_torch
from tiny_torch.compat.standins import _C, overrides

# PyTorch's own examples: https://pytorch.org/docs/stable/notes/extending.html
SCALAR_TENSOR = """
HANDLED = {}
class ScalarTensor:
    def __init__(self, N, value):
        self.N, self.value = N, value
    def __repr__(self):
        return f"ScalarTensor(N={self.N}, value={self.value})"
    def tensor(self):
        return self.value * torch.eye(self.N)
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        ours = all(issubclass(t, (torch.Tensor, ScalarTensor)) for t in types)
        if func not in HANDLED or not ours:
            return NotImplemented
        return HANDLED[func](*args, **(kwargs or {}))
def implements(function):
    return lambda ours: HANDLED.setdefault(function, ours)
def ensure_tensor(data):
    return data.tensor() if isinstance(data, ScalarTensor) else torch.as_tensor(data)
@implements(torch.mean)
def mean(input):
    return float(input.value) / input.N
@implements(torch.add)
def add(input, other):
    try:
        return ScalarTensor(input.N, input.value + other.value)
    except AttributeError:
        return torch.add(ensure_tensor(input), ensure_tensor(other))
s, t = ScalarTensor(2, 2), torch.tensor([[1, 1], [1, 1]])
print(torch.mean(ScalarTensor(5, 2)), torch.add(s, s), torch.add(s, t), torch.add(t, s))
try:
    torch.mul(s, 3)
except TypeError as error:
    print(error)
"""
METADATA_TENSOR = """
class MetadataTensor:
    def __init__(self, data, metadata=None, **kwargs):
        self._t, self.metadata = torch.as_tensor(data, **kwargs), metadata
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        metadatas = tuple(a.metadata for a in args if hasattr(a, "metadata"))
        args = [getattr(a, "_t", a) for a in args]
        return MetadataTensor(func(*args, **(kwargs or {})), metadata=metadatas[0])
m, t = MetadataTensor([[1, 2], [3, 4]], metadata="Silly Walks"), torch.tensor([[1, 2], [1, 2]])
for r in (torch.add(t, m), torch.mul(t, m), torch.nn.functional.relu(m), t + m, torch.max(m)):
    print(r.metadata, r._t)
"""
DIAGONAL_TENSOR = """
T = torch.Tensor
HANDLED = {T.add: "add", T.__getitem__: "[]", T.shape.__get__: "shape", T.matmul: "@",
           T.grad.__set__: "set grad", T.T.__get__: "T"}
class Diagonal(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func in HANDLED:
            print(HANDLED[func], [type(a).__name__ for a in args], kwargs)
        return super().__torch_function__(func, types, args, kwargs)
x = torch.eye(2).as_subclass(Diagonal)
x + 1, 1 + x, torch.ones(2) + x, x[0], x[:, None], x.shape, x @ x, x.T
x.grad = torch.ones(2, 2)
"""
LOGGING_TENSOR = """
class LoggingTensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kinds = [type(a).__name__ for a in args]
        print(func.__name__, [t.__name__ for t in types], kinds, kwargs)
        return super().__torch_function__(func, types, args, kwargs or {})
x = LoggingTensor([1.0, 2.0])
y = x + 1
y += x; y - 1; 2 - y; y / 2; y < 2; abs(y); y[0] = 1; len(y), bool(y.sum()), float(y[0]), y.dtype
y.sum(), torch.stack((x, y), dim=0), y.t(), y.size(0), y.norm(), torch.split(y, 1)
y.requires_grad_()
torch.nn.functional.relu(x), torch.nn.functional.mse_loss(x, x)
torch.nn.functional.linear(x, torch.ones(1, 2)), torch.where(x > 1, x, 0.0), repr(x), y.data
torch.add(torch.ones(2), 1, out=x), x.split(1), torch.cat([x, torch.ones(1)]), torch.nn.ReLU()(x)
"""
TYPES = """
class A(torch.Tensor): pass
class AA(A): pass
class B(torch.Tensor): pass
class Off(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl
def name(x):
    return [name(y) for y in x] if type(x) in (list, tuple) else type(x).__name__
x, plain = torch.arange(6.0).reshape(2, 3).as_subclass(A), torch.ones(3)
for r in (
    x + 1, 1 - x, x @ x.T, x[0], x[x > 2], x.T, x.max(0).values, x.split(1), list(x), x.shape,
    x.clone(),
    x.tolist(), x.numpy(), x.detach(), x.data, torch.sort(x), torch.zeros_like(x), x.new_zeros(2),
    x.int(),
    torch.cat([x, plain[None]]), plain + x, x.as_subclass(AA) + x, torch.nn.Linear(3, 2)(x),
    x.mT.contiguous(),
    torch.nn.functional.dropout(x), torch.tensor(x), A([1.0]), A(2, 3), A(x), x.requires_grad_(),
    x.grad,
    torch.Tensor._make_subclass(AA, plain), torch.nn.Parameter(plain) + 1,
    torch.einsum("ij->i", x),
    plain.as_subclass(Off) + 1, plain.as_subclass(Off).clone(),
    torch.add(plain, 1, out=plain.as_subclass(B)),
):
    print(name(r))
try:
    x + torch.ones(3).as_subclass(B)
except TypeError as error:
    print(error)
print(x, x.int(), plain.as_subclass(Off))
with torch._C.DisableTorchFunctionSubclass():
    print(name(x + 1), name(x.clone()))
y = x.detach().clone(); y += 1; y[0] = 5; y[:, 1] += y[:, 0]
z = torch.ones(2, 3); z[0] = y[1]; z.copy_(y); z += y
print(name(y), y, name(z), z)
w = torch.ones(2, requires_grad=True); v = w.as_subclass(A); loss = (v * 3).sum(); loss.backward()
print(name(loss), name(loss.grad_fn), name(v.grad_fn), name(w.grad), w.grad)
p = torch.ones(2).as_subclass(A).requires_grad_(); (p * p).sum().backward()
print(name(p.grad), p.grad, p.is_leaf)
"""
MODULE = """
class A(torch.Tensor): pass
class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(3).as_subclass(A))
        self.register_buffer("b", torch.ones(3).as_subclass(A))
    def forward(self, x):
        return x * self.w + self.b
m = Scale()
print([(k, type(v).__name__, isinstance(v, torch.nn.Parameter)) for k, v in m.named_parameters()])
print([(k, type(v).__name__) for k, v in m.state_dict().items()], m.w, type(m.w + 1).__name__)
parameters = list(m.parameters())
for optimizer in (torch.optim.SGD(parameters, 0.1, momentum=0.9), torch.optim.Adam(parameters)):
    y = m(torch.ones(3)); y.sum().backward(); optimizer.step(); optimizer.zero_grad()
    print(type(y).__name__, type(m.w).__name__, m.w)
m.load_state_dict(m.state_dict()); m.double()
print(type(m.w).__name__, m.w.dtype)
"""
ORDER = """
class F1:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print("asked", cls.__name__, [t.__name__ for t in types])
        return NotImplemented
class F2(F1): pass
class F3(F1):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, [type(a).__name__ for a in args], sorted(kwargs or {})
F, x = torch.nn.functional, torch.ones(1)
for call in (
    lambda: torch.add(F1(), F2()), lambda: torch.add(F2(), F1()), lambda: torch.add(F1(), F3()),
    lambda: torch.add(F1(), F1()), lambda: torch.cat([F1(), x, F3()]),
    lambda: torch.stack((x, F3()), dim=0),
    lambda: x + F3(), lambda: x * F1(), lambda: F3() + x, lambda: x.add(F3()), lambda: x[F3()],
    lambda: x // F1(),
    lambda: x[0, F3()], lambda: F.linear(x, F3()), lambda: F.dropout(F3(), p=0.1),
    lambda: F.relu(F1()),
    lambda: F.cross_entropy(F3(), F3(), reduction="sum"), lambda: torch.einsum("i", F3()),
    lambda: torch.add(x, x, out=F3()), lambda: torch.add(input=F3(), other=1),
    lambda: torch.nn.Linear(1, 1)(F3()),
    lambda: torch.nn.ReLU()(F3()), lambda: x == F1(), lambda: torch.tensor(F3()),
    lambda: x.to(F3()),
    lambda: torch.meshgrid(F3(), indexing="ij"), lambda: torch.norm(F3()),
    lambda: torch.split(F1(), 1),
    lambda: F.mse_loss(x, F1()),
):
    try:
        print(call())
    except Exception as error:
        print(type(error).__name__, error)
"""
MODES = """
from torch.overrides import BaseTorchFunctionMode, TorchFunctionMode
class Count(TorchFunctionMode):
    def __init__(self):
        self.seen = []
    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.__name__)
        return func(*args, **(kwargs or {}))
class Sub(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return (torch.sub if func is torch.add else func)(*args, **(kwargs or {}))
class Declines(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return NotImplemented
with Count() as outer, BaseTorchFunctionMode(), Count() as inner:
    x = torch.ones(2)
    x + 1, x.sum(), x.shape, torch.nn.functional.relu(x), x[0], x.T, torch.stack([x, x]), x.grad
    x[0] = 2; x.requires_grad = True; torch.tensor(1.0); torch.zeros(2); x.clone()
    torch.is_tensor(x), torch.manual_seed(0)
print(outer.seen, inner.seen == outer.seen)
with Sub():
    print(torch.add(torch.ones(1), 5.0), torch.ones(1) + 5)
    with Sub():
        print(torch.add(torch.ones(1), 5.0))
try:
    with Count() as mode:
        raise KeyError
except KeyError:
    torch.ones(1)
print(mode.seen)
with Count() as mode:
    with torch._C.DisableTorchFunction():
        torch.ones(1) + 1
    with torch._C.DisableTorchFunctionSubclass():
        torch.ones(1) + 2
print(mode.seen)
x = torch.ones(1)
with Declines():
    for call in (lambda: torch.add(x, 1), lambda: torch.nn.functional.relu(x)):
        try:
            call()
        except TypeError as error:
            print(str(error).partition(" object at ")[0].partition("<__main__")[0])
"""
HELPERS = """
from torch.overrides import *
from torch.overrides import get_default_nowrap_functions
class Foreign:
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func.__name__, len(types), len(args), kwargs
@wrap_torch_function(lambda a, b=2: (a,))
def function(a, b=2):
    return a + b
print(function(Foreign()), function(1), function(torch.ones(1)))
T = torch.Tensor
for f in (torch.add, T.add, T.shape.__get__, torch.nn.functional.relu, print, torch.rand):
    print(resolve_name(f), is_tensor_method_or_property(f))
x = torch.ones(1)
print([has_torch_function((a,)) for a in (x, Foreign(), 1, torch.nn.Parameter(x))])
print([is_tensor_like(a) for a in (x, Foreign(), 1, torch.nn.Parameter(x))])
for f in (torch.add, torch.cat, torch.relu, torch.zeros, torch.tensor, torch.is_tensor):
    print(f in get_ignored_functions(), f in get_overridable_functions()[torch])
print(get_testing_overrides()[torch.add](1, 2), T.grad.__get__ in get_default_nowrap_functions())
"""
BINDING = """
class Builtin:
    relu, add, expit, norm = torch.relu, torch.add, torch.special.expit, torch.linalg.norm
    linear = torch.nn.functional.linear
a, x = Builtin(), torch.tensor([[-1.0]])
print(a.relu(x), a.add(x, 1), a.expit(0 * x), a.norm(x), a.linear(x, x))
class Python:
    dropout, split, einsum = torch.nn.functional.dropout, torch.split, torch.einsum
print([type(getattr(Python(), name)).__name__ for name in ("dropout", "split", "einsum")])
"""
PROGRAMS = {
    name: text for name, text in globals().items() if name.isupper() and isinstance(text, str)
}


def printed(text: str, torch) -> str:
    """What a program prints, with `torch`."""
    modules = {"torch": torch, "__name__": "__main__"}
    if torch is tiny_torch:
        text = text.replace("from torch.", "from tiny_torch.")
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        exec(text, modules)
    return stream.getvalue().replace("tiny_torch", "torch")


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_pytorch(name):
    theirs = pytest.importorskip("torch")

    assert printed(PROGRAMS[name], tiny_torch) == printed(PROGRAMS[name], theirs)


# ------------------------------------------------------------------------------ without PyTorch
class Foreign:
    """Notes what it is asked."""

    asked: list = []  # noqa: RUF012

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.asked.append((func, types))
        return 7


class Kept(tiny_torch.Tensor):
    pass


FUNCTIONS = [
    (space, function)
    for space, functions in overrides.get_overridable_functions().items()
    if space is not tiny_torch.Tensor
    for function in functions
]


@pytest.mark.parametrize(("space", "function"), FUNCTIONS, ids=lambda x: getattr(x, "__name__", ""))
def test_every_function_asks_with_itself(space, function):
    Foreign.asked.clear()
    assert function in vars(space).values()
    assert function(Foreign()) == 7
    assert Foreign.asked == [(function, (Foreign,))]


MEMBERS = overrides.get_overridable_functions()[tiny_torch.Tensor]


@pytest.mark.parametrize("member", MEMBERS, ids=overrides.resolve_name)
def test_every_method_and_property_asks(member):
    class Asked(tiny_torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            told.append(func)
            return 7

    told: list = []
    x = tiny_torch.ones(2, 2).as_subclass(Asked)
    assert member(x) == 7
    name = overrides.resolve_name(told[0]).removeprefix("torch.Tensor.")
    operators = {"abs", "neg", "positive", "add", "sub", "mul", "div", "remainder", "matmul"}
    operators |= {"floor_divide", "ne", "lt", "le", "gt", "ge"}
    assert told[0] == member or name.removesuffix("_") in operators


def test_the_sweeps_have_the_surface():
    assert len(FUNCTIONS) > 550
    assert len(MEMBERS) > 550


@pytest.mark.parametrize("function", [f for _, f in FUNCTIONS], ids=lambda f: f.__name__)
def test_functions_stay_what_they_are(function):
    assert inspect.isroutine(function)
    assert inspect.signature(function) == inspect.signature(inspect.unwrap(function))
    assert pickle.loads(pickle.dumps(function)) is function


def test_classes_keep_their_tensors():
    x = tiny_torch.ones(2).as_subclass(Kept)
    x.note = "kept"
    copies = pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x)
    assert [type(c) for c in copies] == [Kept] * 3
    assert [c.note for c in copies] == ["kept"] * 3


def test_modes_end_with_their_thread_and_block():
    mode = overrides.BaseTorchFunctionMode()
    with mode, mode:
        assert overrides._get_current_function_mode_stack() == [mode, mode]
        with overrides._pop_mode_temporarily() as popped:
            assert popped is overrides._get_current_function_mode() is mode
        assert _C._len_torch_function_stack() == 2
    assert not _C._is_torch_function_mode_enabled()
    assert _C._is_torch_function_enabled()


def test_a_handlers_error_is_its_own():
    class Fails:
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        tiny_torch.add(Fails(), 1)
    with pytest.raises(KeyError, match="mine"):
        tiny_torch.ones(1) + Fails()
