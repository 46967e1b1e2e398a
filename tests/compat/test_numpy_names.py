"""NumPy's names of arguments (axis, keepdims, x, a, x1, x2), which PyTorch's parser takes, too."""

import copy
import inspect
import pickle

import pytest
from cases.api_names import NAMES
from test_names import FUNCTIONS, find, is_there

import tiny_torch

NUMPY = {
    "axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other",
}  # fmt: skip
NATIVE = [n for n in NAMES if n.startswith("torch.nn.functional.")] + FUNCTIONS


def takes(function, keyword):
    """Whether ours has an argument of that name: Python looks at the names first."""
    try:
        function(**{keyword: tiny_torch.nn})
    except TypeError as error:
        return "unexpected keyword argument" not in str(error)
    except Exception:
        return True
    return True


@pytest.mark.parametrize("name", NATIVE)
def test_which_functions_take_them(oracle, name):
    if not is_there(name) or name.count(".func.") or name.count(".autograd."):
        return
    if name in ("torch.Tensor.size", "torch.Tensor.stride"):  # called too often for a wrapper
        return
    ours, theirs = find(tiny_torch, name), find(oracle, name)
    if not inspect.isroutine(theirs) or isinstance(ours, type):
        return
    try:
        arguments = list(inspect.signature(ours).parameters)
    except ValueError:
        return
    for alias, argument in NUMPY.items():
        if argument in arguments[name.startswith("torch.Tensor.") :] and alias not in arguments:
            assert takes(ours, alias) is not inspect.isfunction(theirs), alias


CALLS = """
x.sum(axis=0)  x.sum(axis=1, keepdims=True)  x.sum(axis=(0, 1), keepdims=True)
torch.sum(x=x, axis=0)  torch.sum(a=x)  torch.sum(x1=x, keepdims=True, axis=0)
x.max(axis=1, keepdims=True)  torch.max(x, axis=0)  torch.max(x1=x, x2=x)  x.mean(axis=-1)
x.std(axis=0)  torch.var(x, axis=1, keepdims=True)  torch.cat((x, x), axis=1)
torch.stack([x, x], axis=2)  torch.concat((x, x), axis=0)  x.softmax(axis=-1)
torch.softmax(x, axis=0)  x.log_softmax(axis=1)  x.argmax(axis=1)  x.cumsum(axis=0)
x.sort(axis=0, descending=True)  x.squeeze(axis=0)  x.unsqueeze(axis=0)  x.unbind(axis=1)
x.norm(axis=1)  torch.norm(x, axis=1)  torch.linalg.vector_norm(x, axis=1)
torch.linalg.norm(x, axis=1)  torch.linalg.norm(a=x)  torch.linalg.matmul(x, x2=x.T)
x.add(x2=x)  torch.add(x1=x, x2=x)  torch.add(x, x2=x, alpha=2)  x.add(other=x, x2=x)
x.sum(a=x)  x.sum(axis=0, dim=0)  x.sum(0, axis=0)  torch.exp(x, x=x)  x.exp(axis=0)
x.flip(axis=0)  x.view(axis=0)  x.split(2, axis=1)  torch.split(x, 1, axis=0)
x.chunk(2, axis=1)  torch.unique(x, axis=0)  x.index_select(axis=1, index=i)
x.gather(axis=1, index=k)  torch.gather(x, axis=0, index=k)  x.nansum(axis=0, keepdims=True)
x.amax(axis=0)  x.any(axis=0)  x.sum(0, True, None)  x.exp(None)  torch.exp(x, None)
x.all(axis=1, keepdims=True)  torch.logsumexp(x, axis=0)  x.median(axis=1)
torch.nn.functional.softmax(x, axis=0)  torch.nn.functional.linear(x=x, weight=x)
torch.nn.functional.cosine_similarity(x, x, axis=0)  torch.zeros_like(x=x)
torch.where(x > 0, x=x, x2=x)  x.sum(**{"ax" + "is": 0})  x.unflatten(axis=0, sizes=(2, 1))
"""


@pytest.mark.parametrize("call", [c for line in CALLS.splitlines() for c in line.split("  ") if c])
def test_calls(oracle, call):
    """The result of PyTorch's, or the type of its exception."""
    found = []
    for torch in (oracle, tiny_torch):
        names = {"torch": torch, "x": torch.tensor([[1.0, -2.0, 3.0], [4.0, 0.5, -6.0]])}
        names |= {"i": torch.tensor([0, 2]), "k": torch.tensor([[0, 1, 1]])}
        try:
            result = eval(call.strip(), names)
        except Exception as error:
            found.append(type(error))
            continue
        parts = result if isinstance(result, tuple) else (result,)
        found.append([(p.flatten().tolist(), tuple(p.shape)) for p in parts])
    assert found[0] == found[1] or close(*found)


def close(theirs, ours):
    if isinstance(theirs, type) or isinstance(ours, type):
        return False
    return all(
        shape == shape2 and pytest.approx(values, rel=1e-5) == values2
        for (values, shape), (values2, shape2) in zip(theirs, ours, strict=True)
    )


def test_functions_look_like_functions():
    for space in (tiny_torch, tiny_torch.Tensor, tiny_torch.linalg, tiny_torch.nn.functional):
        for name, value in vars(space).items():
            if not isinstance(value, tiny_torch._core.Function):
                continue
            assert inspect.isroutine(value) and value.__name__
            assert copy.deepcopy(value) is pickle.loads(pickle.dumps(value)) is value, name
    assert "keepdim" in inspect.signature(tiny_torch.sum).parameters
    with pytest.raises(TypeError, match=r"sum\(\) got an unexpected keyword argument 'out'"):
        tiny_torch.ones(2).sum(out=tiny_torch.ones(2))
    with pytest.raises(TypeError, match="positional"):
        tiny_torch.ones(2).sum(0, True, None)
