"""`torch._dynamo.explain`: graphs, breaks and ops of a call."""

import importlib

import pytest

import tiny_torch as torch


def twice(x):
    return x * x + 1


def stopped(x):
    y = x * 2
    if y.sum() > 0:
        y = y + 1
    return y


def test_a_program_is_one_graph():
    found = torch._dynamo.explain(torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU()))(
        torch.ones(4, 3)
    )
    assert (found.graph_count, found.graph_break_count, found.op_count) == (1, 0, 2)
    assert found.ops_per_graph == [["matmul float32", "relu float32"]]
    assert str(found).startswith("Graph Count: 1\nGraph Break Count: 0\nOp Count: 2\n")


def test_a_refusal_says_what_and_where():
    found = torch._dynamo.explain(stopped)(torch.ones(2))
    assert (found.graph_count, found.graph_break_count, found.op_count) == (0, 1, 0)
    (why,) = found.break_reasons
    (frame,) = why.user_stack
    first = stopped.__code__.co_firstlineno
    assert why.reason == "reads an element" and frame.lineno == first + 2
    assert frame.filename == __file__ and f"line {first + 2} in" in str(found)


@pytest.mark.parametrize("make", [torch.compile, lambda f: f])
def test_what_is_compiled_already(make):
    net = torch.nn.Linear(2, 2)
    for f, x in ((make(twice), torch.ones(2)), (make(net), torch.ones(1, 2))):
        assert torch._dynamo.explain(f)(x).graph_count == 1


def test_the_function_runs_and_its_exceptions_go_on():
    seen = []
    torch._dynamo.explain(lambda x: seen.append(x.shape))(torch.ones(3))
    assert seen == [(3,)]
    with pytest.raises(RuntimeError, match="must match the size"):
        torch._dynamo.explain(lambda x: x + torch.ones(3))(torch.ones(2))


def test_the_older_form_warns():
    with pytest.warns(FutureWarning, match=r"explain\(f, \*args, \*\*kwargs\) is deprecated"):
        assert torch._dynamo.explain(twice, torch.ones(2)).op_count == 2


@pytest.mark.torch
def test_pytorch_counts_the_same():
    counts = []
    for package in (torch, importlib.import_module("torch")):
        found = package._dynamo.explain(twice)(package.ones(3))
        assert package._dynamo.explain(stopped)(package.ones(3)).graph_break_count == 1
        counts.append((found.graph_count, found.graph_break_count, found.op_count))
    assert counts == [(1, 0, 2)] * 2
