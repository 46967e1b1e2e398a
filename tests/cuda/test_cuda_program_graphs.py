"""Programs as CUDA graphs: the bits of eager, whose each result is, and what cannot be captured."""

from __future__ import annotations

import copy
import gc

import pytest
from cuda.test_cuda_programs import MODELS, mlp, pair, passes_of, training
from helpers import same_bits
from program.random_functions import difference

import tiny_torch as torch
from tiny_torch import cuda, nn
from tiny_torch.program import Compiled


def are_graphs(compiled):
    cases = [case for cases in compiled.cases.values() for case in cases]
    return [program.is_graph for case in cases for _, program, _ in case.programs]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", [None, torch.float16])
def test_graphs_have_the_bits_of_eager(name, dtype):
    make, draw = MODELS[name]
    eager, model = pair(make)
    program = Compiled(model, fullgraph=True, graphs=True)
    with torch.autocast("cuda", dtype or torch.float16, enabled=dtype is not None):
        found, expected = passes_of(model, program, draw), passes_of(eager, eager, draw)
    assert program.recorded == 1 and are_graphs(program) == [True, True]
    assert len(found) == len(expected) and all(map(same_bits, found, expected))


@pytest.mark.parametrize("seed", range(3_100_000, 3_100_010))
def test_random_functions(seed):
    gc.collect()  # what graphs hold
    assert not difference(seed, device="cuda", graphs=True)


@pytest.mark.parametrize(
    "how", [{"mode": "reduce-overhead"}, {"options": {"triton.cudagraphs": True}}]
)
def test_compile_makes_graphs_if_it_is_asked_for(how, capsys):
    compiled = torch.compile(pair(mlp)[0], **how)
    x = MODELS["MLP"][1]()
    for _ in range(3):
        compiled(x).sum().backward()
    compiled.dynamo_ctx.show()
    shown = capsys.readouterr().out
    assert "forward: 5 launches in one CUDA graph" in shown
    assert "backward: 7 launches in one CUDA graph" in shown


def test_floats_that_change_are_no_graphs():
    def f(x, t):
        return (x * t).tanh() * (1 - t)

    program = Compiled(f, fullgraph=True, graphs=True)
    x = torch.linspace(-1, 1, 5, device="cuda")
    for k in range(6):
        assert same_bits(program(x, k / 4), f(x, k / 4))
    assert program.recorded == 2 and not any(are_graphs(program))
    assert program.refusals == [
        "is no CUDA graph: forward: it takes numbers that change from run to run"
    ]


def test_results_of_a_graph_are_the_callers():
    weight = torch.arange(3.0, device="cuda", requires_grad=True)
    program = Compiled(lambda x: (x * weight).exp().chunk(3), fullgraph=True, graphs=True)
    inputs = [torch.full((3,), k / 4, device="cuda") for k in range(5)]
    for x in inputs[:3]:
        sum(program(x)).backward()
    assert are_graphs(program) == [True, True]
    weight.grad = None
    kept = [program(x) for x in inputs]  # five calls before one backward
    assert kept[0][1].untyped_storage().data_ptr() == kept[0][0].untyped_storage().data_ptr()
    sum(part for parts in kept for part in parts).sum().backward()
    expected = sum(x * (x * weight).exp() for x in inputs).detach()
    torch.testing.assert_close(weight.grad, expected)


def test_a_graph_writes_buffers_and_says_so():
    norm = nn.BatchNorm1d(4).to("cuda")
    program = Compiled(norm, graphs=True)
    twin = copy.deepcopy(norm)
    with torch.no_grad():
        for _ in range(4):
            x = torch.randn(5, 4, device="cuda")
            before = norm.running_mean._version
            assert same_bits(program(x), twin(x))
            assert norm.running_mean._version > before
    assert are_graphs(program) == [True] and same_bits(norm.running_var, twin.running_var)


def test_a_graph_is_launched_on_the_current_stream():
    program = Compiled(lambda x: (x + 1).exp().log() * 2, fullgraph=True, graphs=True)
    sides = [cuda.Stream(), cuda.Stream()]
    program(torch.zeros(3, device="cuda"))
    found = []
    for k in range(8):
        side = sides[k % 2]
        side.wait_stream(cuda.current_stream())
        with cuda.stream(side):
            found.append(program(torch.full((3,), float(k), device="cuda")))
    for side in sides:
        cuda.current_stream().wait_stream(side)
    assert are_graphs(program) == [True]
    assert [round(y[0].item()) for y in found] == [2 * k + 2 for k in range(8)]


def test_arrays_that_lie_elsewhere_run_launch_by_launch():
    weight = nn.Parameter(torch.ones(3, device="cuda"))
    program = Compiled(lambda x: (x * weight).square(), fullgraph=True, graphs=True)
    x = torch.full((3,), 2.0, device="cuda")
    for _ in range(3):
        program(x).sum().backward()
    y = program(x)
    weight.data = torch.full((3,), 5.0, device="cuda")  # backward finds the old one
    weight.grad = None
    y.sum().backward()
    assert weight.grad.tolist() == [8, 8, 8]
    assert program(x).tolist() == [100, 100, 100]


def test_a_graph_of_a_user_captures_launches():
    program = Compiled(lambda x: x * 2 + 1, fullgraph=True, graphs=True)
    x = torch.ones(3, device="cuda")
    program(x), program(x)
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        y = program(x)
    graph.replay()
    assert are_graphs(program) == [True] and y.tolist() == [3, 3, 3]


UNCAPTURED = {
    "sends numbers of the host": lambda x, y: x + torch.tensor([1.0, 2, 3], device="cuda"),
    "an argument is written": lambda x, y: (x * y, y.add_(1))[0],
    "an argument has gaps": lambda x, y: x + y.flip(0),
    "arguments share memory": lambda x, y: x + y,
}


@pytest.mark.parametrize("reason", UNCAPTURED)
def test_what_cannot_be_captured_runs_launch_by_launch(reason):
    function = UNCAPTURED[reason]
    program = Compiled(function, fullgraph=True, graphs=True)
    for k in range(3):
        base = torch.arange(6.0, device="cuda") + k
        x = base[:3]
        y = base[3:] if "share" in reason else (base.clone()[::2] if "gaps" in reason else x * 2)
        assert same_bits(program(x, y.clone() if "written" in reason else y), function(x, y))
    assert reason in program.refusals[0] and are_graphs(program) == [False]


def test_a_step_that_stops_for_an_optimizer_is_no_graph():
    model, draw = pair(mlp)[0], MODELS["MLP"][1]
    _, run = training(model, lambda s: Compiled(s, steps=True, graphs=True), torch.optim.SGD, draw)
    assert "it stops for calls, such as an optimizer's step" in run.refusals[0]


def test_gradients_alone_are_a_graph():
    model, draw = pair(mlp)[0], MODELS["MLP"][1]

    def step(x):
        model.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        return loss

    run = Compiled(step, steps=True, graphs=True)
    twin, x = copy.deepcopy(model), draw()
    for k in range(4):
        cuda.manual_seed(k)
        run(x)
    cuda.manual_seed(3)
    twin(x).square().mean().backward()
    pairs = zip(model.parameters(), twin.parameters(), strict=True)
    assert are_graphs(run) == [True] and all(same_bits(a.grad, b.grad) for a, b in pairs)
