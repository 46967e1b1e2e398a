"""CUDA graphs: what is recorded replays with the same bits, on the memory of the recording."""

from __future__ import annotations

import pytest

import tiny_torch as torch
from tiny_torch import cuda, nn

STEPS = 4


def recorded(function):
    """A graph of a function, which has run three times on a side stream before."""
    side = cuda.Stream()
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):
        for _ in range(3):
            function()
    cuda.current_stream().wait_stream(side)
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        function()
    return graph


def test_a_graph_does_its_work_again():
    x = torch.arange(4.0, device="cuda")
    graph, pool = cuda.CUDAGraph(), cuda.graph_pool_handle()
    with cuda.graph(graph, pool=pool):
        assert cuda.is_current_stream_capturing()
        y = x * 2 + 1
    assert not cuda.is_current_stream_capturing() and graph.pool() == pool
    graph.replay()
    assert y.tolist() == [1, 3, 5, 7]
    x.copy_(torch.tensor([5.0, 6, 7, 8]))
    assert y.tolist() == [1, 3, 5, 7]
    graph.replay()
    assert y.tolist() == [11, 13, 15, 17]
    graph.reset()


def test_recording_does_nothing():
    x = torch.zeros(4, device="cuda")
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        x.add_(1)
    assert x.tolist() == [0] * 4
    for _ in range(3):
        graph.replay()
    assert x.tolist() == [3] * 4


def test_memory_of_a_graph_is_its_own():
    x = torch.ones(100, device="cuda")
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        y = (x + 1) * 2  # x + 1 is freed at once
    others = [torch.full((100,), 9.0, device="cuda") for _ in range(5)]
    graph.replay()
    assert (y == 4).all() and all((other == 9).all() for other in others)


def model_and_data():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)).cuda()
    x, target = torch.randn(5, 6), torch.tensor([0, 1, 2, 0, 1])
    return model, x.cuda(), target.cuda()


def training(make_optimizer, in_graph):
    """The parameters' bits after some steps, of which the last are replayed."""
    model, x, target = model_and_data()
    optimizer = make_optimizer(model.parameters())

    def step():
        optimizer.zero_grad(set_to_none=False)
        loss = nn.functional.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()

    if in_graph:
        graph = recorded(step)
    else:
        for _ in range(3):
            step()
    for k in range(STEPS):
        x.copy_(torch.full((5, 6), 0.1 * k))
        graph.replay() if in_graph else step()
    cuda.synchronize()
    return [parameter.detach().cpu() for parameter in model.parameters()]


@pytest.mark.filterwarnings("ignore:This instance was constructed with capturable=True")
@pytest.mark.parametrize(
    "make",
    [
        lambda p: torch.optim.SGD(p, lr=0.1),
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.5, foreach=False),
        lambda p: torch.optim.Adam(p, lr=0.1, capturable=True),
        lambda p: torch.optim.Adam(p, lr=torch.tensor(0.1).cuda(), amsgrad=True, capturable=True),
        lambda p: torch.optim.AdamW(p, lr=0.1, maximize=True, capturable=True),
    ],
)
def test_a_captured_training_step_has_the_same_bits(make):
    eager, replayed = training(make, False), training(make, True)
    again = training(make, True)
    assert all(map(torch.equal, eager, replayed)) and all(map(torch.equal, replayed, again))


@pytest.mark.filterwarnings("ignore:This instance was constructed with capturable=True")
@pytest.mark.parametrize("cls", [torch.optim.Adam, torch.optim.AdamW])
@pytest.mark.parametrize("amsgrad", [False, True])
def test_a_capturable_optimizer_takes_the_same_steps(cls, amsgrad):
    parameters = []
    for capturable in (False, True):
        w = torch.linspace(-1, 1, 5).cuda().requires_grad_()
        optimizer = cls([w], lr=0.05, weight_decay=0.1, amsgrad=amsgrad, capturable=capturable)
        for _ in range(5):
            optimizer.zero_grad()
            (w * w).sum().backward()
            optimizer.step()
        assert optimizer.state[w]["step"].is_cuda is capturable
        parameters.append(w)
    assert torch.allclose(*parameters, rtol=1e-5, atol=1e-6)


def test_an_optimizer_that_counts_on_the_host_is_refused():
    w = torch.ones(3, device="cuda", requires_grad=True)
    w.grad = torch.ones_like(w)
    optimizer = torch.optim.Adam([w])
    with (
        pytest.raises(RuntimeError, match="instance of Adam but param_groups' capturable is False"),
        cuda.graph(cuda.CUDAGraph()),
    ):
        optimizer.step()
    optimizer.step()
    with pytest.warns(UserWarning, match="running without CUDA graph capture"):
        capturable = torch.optim.Adam([w], capturable=True)
        capturable.step()
    assert w.isfinite().all()


def test_what_the_host_reads_is_refused_and_the_stream_goes_on():
    x = torch.ones(3, device="cuda")
    for read in (x.tolist, lambda: x.sum().item(), lambda: x.cpu(), cuda.synchronize):
        with pytest.raises(RuntimeError), cuda.graph(cuda.CUDAGraph()):
            read()
        assert not cuda.is_current_stream_capturing()
        assert (x + 1).tolist() == [2, 2, 2]


def test_each_replay_draws_anew():
    def draws():
        return (
            torch.rand(4, device="cuda"),
            torch.randn(300, dtype=torch.float64, device="cuda"),
            nn.functional.dropout(torch.ones(9, device="cuda")),
        )

    torch.manual_seed(5)
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        found = draws()
    for seed in (5, 6):
        torch.manual_seed(seed)
        expected = [draws() for _ in range(3)]
        torch.manual_seed(seed)
        for drawn in expected:
            graph.replay()
            assert all(torch.equal(x, y) for x, y in zip(found, drawn, strict=True))
    assert torch.equal(cuda.get_rng_state()[8:], torch.tensor([36] + 7 * [0], dtype=torch.uint8))


def test_draws_beside_memory_that_a_capture_has_freed():
    x, graph = torch.ones(64, device="cuda"), cuda.CUDAGraph()

    def draw():
        parts = [x * k for k in range(5)]
        zero = sum(parts).sum() * 0
        del parts  # before the first draw
        return nn.functional.dropout(x + zero)

    torch.manual_seed(5)
    with cuda.graph(graph):
        found = draw()
    torch.manual_seed(5)
    expected = [draw() for _ in range(3)]
    torch.manual_seed(5)
    one, other = cuda.Stream(), cuda.Stream()
    for drawn, stream in zip(expected, (one, other, one), strict=True):
        with cuda.stream(stream):
            graph.replay()
            assert torch.equal(found, drawn)


def test_draws_that_a_replay_could_not_make():
    mine = torch.Generator("cuda")
    with (
        pytest.raises(NotImplementedError, match="argument 'generator'"),
        cuda.graph(cuda.CUDAGraph()),
    ):
        torch.rand(2, device="cuda", generator=mine)
    with pytest.raises(NotImplementedError, match="the host"), cuda.graph(cuda.CUDAGraph()):
        torch.randperm(9, device="cuda")
    assert torch.rand(2, device="cuda", generator=mine).is_cuda


def test_wrong_uses():
    graph = cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()
    with pytest.raises(RuntimeError, match="must be captured on a non-default stream"):
        graph.capture_begin()
    unknown = pytest.raises(RuntimeError, match="Unknown capture error mode")
    with unknown, cuda.graph(graph, capture_error_mode="none"):
        pass
    x = torch.zeros(2, device="cuda")
    with cuda.graph(graph, stream=cuda.Stream(), capture_error_mode="thread_local"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="already owns a captured graph"), cuda.graph(graph):
        pass
    graph.replay()
    assert x.tolist() == [1, 1]


FAR = 10**6


@pytest.mark.parametrize(
    "call",
    [
        lambda x, i: x.gather(1, i.view(2, 1)),
        lambda x, i: x.scatter_(1, i.expand(2, 2), 7.0),
        lambda x, i: x.scatter_add_(0, i.view(2, 1), torch.full_like(x[:2], 7.0)),
        lambda x, i: x.scatter_reduce_(0, i.view(2, 1), torch.full_like(x[:2], 7.0), "amax"),
        lambda x, i: x.index_select(0, i),
        lambda x, i: x.index_add_(0, i, torch.full_like(x[:2], 7.0)),
        lambda x, i: x.index_copy_(1, i, torch.full_like(x[:, :2], 7.0)),
        lambda x, i: x.index_fill_(0, i, 7.0),
        lambda x, i: x[i],
        lambda x, i: x[:, i],
        lambda x, i: x[i, i],
        lambda x, i: x.index_put_((i,), torch.full_like(x[0], 7.0)),
        lambda x, i: x.index_put_((i, i), torch.full_like(x[0, 0], 7.0), accumulate=True),
        lambda x, i: nn.functional.embedding(i, x),
        lambda x, i: nn.functional.embedding_bag(i, x, torch.tensor([0]).cuda()),
        lambda x, i: nn.functional.embedding_bag(i, x, torch.tensor([0]).cuda(), mode="max"),
        lambda x, i: nn.functional.nll_loss(x[:2], i, weight=x[0]),
        lambda x, i: nn.functional.cross_entropy(x[:2], i, weight=x[0]),
        lambda x, i: nn.functional.multilabel_margin_loss(x[:2], i.view(2, 1).expand(2, 5)),
        lambda x, i: x.take(i),
        lambda x, i: x.put_(i, x[0, :2].clone()),
        lambda x, i: torch.searchsorted(x[0, :2], x[1, :2], sorter=i // 4),
    ],
)
def test_an_index_that_is_outside_when_it_is_replayed(call):
    index, graph = torch.tensor([4, 0]).cuda(), cuda.CUDAGraph()

    def result(i):
        x = torch.arange(25.0).view(5, 5).cuda()
        return call(x, i), x

    expected = result(index)
    x = torch.arange(25.0).view(5, 5).cuda()
    start = x.clone()
    with cuda.graph(graph):
        x.copy_(start)
        found = call(x, index)
    for k in ([4, 0], [FAR, -FAR], [4, 0]):
        index.copy_(torch.tensor(k).cuda())
        graph.replay()
        if k == [4, 0]:
            cuda.synchronize()
            assert torch.equal(found, expected[0]) and torch.equal(x, expected[1])
        else:
            with pytest.raises(RuntimeError, match="device-side assert"):
                cuda.synchronize()


def test_a_sorter_that_is_outside_when_it_is_replayed():
    # Its end stands for it.
    x, graph = torch.arange(2.0).cuda(), cuda.CUDAGraph()
    sorter = torch.tensor([0, 1]).cuda()
    with cuda.graph(graph):
        found = torch.searchsorted(x, x, sorter=sorter)
    sorter.copy_(torch.tensor([-FAR, FAR]).cuda())
    graph.replay()
    with pytest.raises(RuntimeError, match="index 1000000 is out of bounds for a size of 2"):
        cuda.synchronize()
    assert found.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda g: cuda.CUDAGraph(keep_graph=True), "keep_graph"),
        (lambda g: cuda.graph(g, enable_annotations=True), "enable_annotations"),
        (lambda g: cuda.graph(g, check_input_liveness=True), "check_input_liveness"),
        (lambda g: g.debug_dump("file"), "debug_dump"),
        (lambda g: g.enable_debug_mode(), "enable_debug_mode"),
        (lambda g: g.raw_cuda_graph(), "raw_cuda_graph"),
        (lambda g: g.instantiate(), "instantiate"),
    ],
)
def test_what_is_not_here_is_named(call, name):
    with pytest.raises(NotImplementedError, match=name):
        call(cuda.CUDAGraph())


# ----------------------------------------------------------------------------- graphed callables


def gradients(model, function, x, target):
    x = x.clone().requires_grad_()
    model.zero_grad()
    nn.functional.cross_entropy(function(x), target).backward()
    return [x.grad, *[parameter.grad.clone() for parameter in model.parameters()]]


def test_a_graphed_module_has_its_own_gradients():
    model, x, target = model_and_data()
    inputs = [x, x * 0.5]
    expected = [gradients(model, model, given, target) for given in inputs]
    sample = torch.randn(5, 6).cuda().requires_grad_()
    graphed = cuda.make_graphed_callables(model, (sample,))
    assert graphed is model
    for given, grads in zip(inputs, expected, strict=True):
        assert all(map(torch.equal, gradients(model, graphed, given, target), grads))
    model.eval()  # another mode than that of the recording: not replayed
    assert graphed(torch.ones(2, 6).cuda()).shape == (2, 3)


def test_graphed_functions_share_a_pool():
    x, y, z = (torch.ones(3, device="cuda", requires_grad=True) for _ in range(3))
    first, second = cuda.make_graphed_callables(
        (lambda a: (a * 2, a + 1), lambda a, b: a * b), ((x,), (y, z))
    )
    given = torch.tensor([1.0, 2, 3]).cuda().requires_grad_()
    doubled, increased = first(given)
    second(doubled, increased).sum().backward()  # 2x (x + 1)
    assert given.grad.tolist() == [6, 10, 14]


def test_callables_that_cannot_be_graphed():
    with pytest.raises(AssertionError, match="must contain only Tensors"):
        cuda.make_graphed_callables(lambda x: x, (3,))
    hooked = nn.Linear(2, 2).cuda()
    hooked.register_forward_hook(lambda *_: None)
    with pytest.raises(AssertionError, match="must not have hooks"):
        cuda.make_graphed_callables(hooked, (torch.ones(1, 2).cuda(),))
