"""Programs of CUDA tensors: the bits of eager, its streams, and what no program can repeat."""

from __future__ import annotations

import copy
import threading
from functools import cache

import pytest
from helpers import same_bits
from program.random_functions import difference

import tiny_torch as torch
from tiny_torch import cuda, nn
from tiny_torch.nn import functional as F
from tiny_torch.program import Compiled, plan, record

nn.utils.clip_grad_norm_([torch.ones(1, requires_grad=True)], 1.0)  # what it imports, no step does


class Block(nn.Module):
    """A block of a GPT, and the loss of its logits."""

    def __init__(self):
        super().__init__()
        self.embedding, self.norm = nn.Embedding(11, 16), nn.LayerNorm(16)
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.mlp = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16))
        self.drop, self.head = nn.Dropout(0.1), nn.Linear(16, 11)

    def forward(self, tokens):
        x = self.embedding(tokens)
        batch, length = tokens.shape
        parts = self.qkv(self.norm(x)).chunk(3, dim=2)
        q, k, v = (part.view(batch, length, 2, 8).transpose(1, 2) for part in parts)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.drop(self.out(seen.transpose(1, 2).reshape(batch, length, 16)))
        logits = self.head(x + self.mlp(x))
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def mlp():
    return nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Dropout(0.25), nn.Linear(32, 4))


def cnn():
    features = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)
    return nn.Sequential(*features, nn.Conv2d(4, 4, 3), nn.AvgPool2d(2), nn.Flatten(), nn.Dropout())


def chain():
    return nn.Sequential(nn.Sigmoid(), nn.GELU(), nn.Softmax(-1), nn.Flatten(0))


MODELS = {
    "chain": (chain, lambda: torch.randn(5, 7, device="cuda", requires_grad=True)),
    "MLP": (mlp, lambda: torch.randn(6, 8, device="cuda")),
    "CNN": (cnn, lambda: torch.randn(3, 1, 8, 8, device="cuda")),
    "GPT": (Block, lambda: torch.randint(0, 11, (2, 6), device="cuda")),
    "LSTM": (lambda: LastOutput(8, 6), lambda: torch.randn(3, 4, 8, device="cuda")),
}


class LastOutput(nn.LSTM):
    def forward(self, x):
        return super().forward(x)[0][-1]


def pair(make):
    """Two models of the same weights."""
    torch.manual_seed(0)
    first = make().to("cuda")
    return first, copy.deepcopy(first)


def passes_of(model, call, draw):
    """Results, gradients, buffers and the generator's state of three passes."""
    torch.manual_seed(1)
    found = []
    for _ in range(4):
        x = draw()
        model.zero_grad()
        result = call(x)
        result.sin().sum().backward()
        grads = [p.grad for p in (x, *model.parameters()) if p.grad is not None]
        found += [result.detach(), *grads, *[b.clone() for b in model.buffers()]]
        found.append(cuda.get_rng_state())
    return found


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", [None, torch.float16, torch.bfloat16])
def test_forward_and_backward_have_the_bits_of_eager(name, dtype):
    make, draw = MODELS[name]
    eager, model = pair(make)
    program = Compiled(model, fullgraph=True)
    with torch.autocast("cuda", dtype or torch.float16, enabled=dtype is not None):
        found, expected = passes_of(model, program, draw), passes_of(eager, eager, draw)
    assert program.recorded == 1
    assert len(found) == len(expected) and all(map(same_bits, found, expected))


def training(model, wrap, optimizer, draw, **options):
    """Losses, parameters and the generator's state of a training; and its step."""
    torch.manual_seed(1)
    opt = optimizer(model.parameters(), lr=0.01, **options)

    def step(x):
        opt.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        opt.step()
        return loss

    run = wrap(step)
    losses = [run(draw()).detach() for _ in range(5)]
    return [*losses, *model.state_dict().values(), cuda.get_rng_state()], run


@pytest.mark.parametrize("name", ["MLP", "CNN", "GPT"])
@pytest.mark.parametrize("optimizer", [torch.optim.RMSprop, torch.optim.AdamW])
def test_a_step_has_the_bits_of_eager(name, optimizer):
    make, draw = MODELS[name]
    eager, model = pair(make)
    found, run = training(model, record, optimizer, draw, foreach=True)
    expected, _ = training(eager, lambda step: step, optimizer, draw, foreach=True)
    assert (run.recorded, run.refusals) == (1, [])
    assert all(map(same_bits, found, expected))


def test_a_scaled_step_has_the_bits_of_eager():
    def trained(model, wrap):
        optimizer, scaler = torch.optim.SGD(model.parameters(), 0.1), torch.amp.GradScaler("cuda")

        def step(x):
            optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = model(x).square().mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            return loss

        run = wrap(step)
        torch.manual_seed(1)
        batches = [torch.randn(4, 8, device="cuda") * (1e6 if k == 3 else 1) for k in range(6)]
        return [*[run(x) for x in batches], *model.parameters()], scaler.get_scale(), run

    eager, model = pair(mlp)
    found, scale, run = trained(model, record)
    expected, same_scale, _ = trained(eager, lambda step: step)
    assert run.recorded == 2 and scale == same_scale  # the first call makes the scale
    assert any(case.program for cases in run.cases.values() for case in cases)
    assert all(same_bits(a.detach(), b.detach()) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("recompute", [False, True])
def test_random_functions(recompute):
    found = [
        difference(seed, {"recompute": recompute}, whole, "cuda")
        for seed in range(3_000_000, 3_000_030)
        for whole in (False, True)
    ]
    assert found == [""] * 60


def test_passes_lower_the_peak():
    model = nn.Sequential(*[nn.Sequential(nn.Linear(32, 32), nn.GELU()) for _ in range(4)])
    model.to("cuda")
    x = torch.randn(64, 32, device="cuda")

    def step():
        model.zero_grad()
        model(x).sum().backward()

    peaks = [plan(record(step, passes={"recompute": on})).block_bytes for on in (False, True)]
    apart = plan(record(step, passes={"arena": False})).block_bytes
    assert peaks[1] < peaks[0] < apart
    assert not plan(step).program.chains


# ---- Refusals -----------------------------------------------------------------------------------

HOST = torch.ones(3)
REFUSED = {
    "copies from one device to another": [
        lambda x: x + HOST.to("cuda"), lambda x: x.cpu(), lambda x: x.clone().copy_(HOST),
        lambda x: torch.poisson(x.abs()),  # which the host draws
        lambda x: x + HOST.to("cuda", non_blocking=True), lambda x: x.to("cpu", non_blocking=True),
    ],
    "reads a number that lies on another device": [lambda x: x * HOST[0]],
    "makes a tensor of values": [lambda x: x + torch.tensor(range(600), device="cuda").sum()],
    "copies to pinned memory": [lambda x: (HOST.pin_memory(), x + 1)[1]],
    "computes on two devices": [lambda x: (HOST + 1, x + 1)[1], lambda x: (x + 1, HOST + 1)[0]],
    "reads an element": [lambda x: x * x[0].item(), lambda x: x + 1 if x.sum() > 0 else x - 1],
    "a shape that depends on values": [lambda x: x.unique() + 1],
    "reads elements": [lambda x: x * x.tolist()[0]],
    "asks where elements are": [lambda x: x + (x.data_ptr() > 0)],
    "draws from a generator of its own": [
        lambda x: x + torch.rand(3, generator=own_generator(), device="cuda"),
    ],
    "seeds a generator": [lambda x: (cuda.manual_seed(1), x + 1)[1]],
    "reads a generator's state": [lambda x: (cuda.get_rng_state(), x + 1)[1]],
    "uses streams": [
        lambda x: (cuda.synchronize(), x + 1)[1], lambda x: on_a_side_stream(x),
        lambda x: (cuda.Event().record(), x + 1)[1],
    ],
    "asks how much memory is in use": [lambda x: x + cuda.memory_allocated() * 0],
    "answers a tensor of another device": [lambda x: (x + 1, torch.tensor(2.0))],
}  # fmt: skip


@cache
def own_generator():
    return torch.Generator("cuda")


def on_a_side_stream(x):
    side = cuda.Stream()
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):
        y = x + 1
    cuda.current_stream().wait_stream(side)
    return y


@pytest.mark.parametrize("reason", REFUSED)
def test_what_cannot_be_repeated_runs_as_it_is(reason):
    for function in REFUSED[reason]:
        program = Compiled(function)
        for k in range(3):
            x = torch.arange(3.0, device="cuda") - k
            expected = outcome(function, x)
            assert outcome(program, x) == expected
        assert reason in program.refusals[0]
        with pytest.raises(RuntimeError, match=reason):
            Compiled(function, fullgraph=True)(x)


def outcome(function, x):
    torch.manual_seed(1)
    own_generator().manual_seed(1)
    result = function(x)
    return [y.tolist() for y in (result if isinstance(result, tuple) else (result,))]


def test_arguments_on_two_devices_are_refused():
    program = Compiled(lambda x, y: x.sum() * y[0])
    x, y = torch.ones(3, device="cuda"), torch.full((2,), 4.0)
    assert [program(x, y).item() for _ in range(3)] == [12, 12, 12]
    assert "lies on another device" in program.refusals[0]


def test_each_device_has_a_recording():
    program = Compiled(lambda x: x * 2 + 1, fullgraph=True)
    for _ in range(3):
        assert program(torch.ones(2)).tolist() == [3, 3]
        assert program(torch.ones(2, device="cuda")).tolist() == [3, 3]
    assert program.recorded == 2


def test_numbers_of_the_code_are_sent_again():
    def scaled(x):
        return x * torch.tensor([1.0, 2.0, 3.0], device="cuda") + torch.tensor(0.5)

    program = Compiled(scaled, fullgraph=True)
    for k in range(3):
        assert program(torch.full((3,), float(k), device="cuda")).tolist() == [
            k + 0.5, 2 * k + 0.5, 3 * k + 0.5,
        ]  # fmt: skip


def test_what_the_caller_keeps_is_its_own():
    program = Compiled(lambda x: x * 2, fullgraph=True)
    kept = [program(torch.full((4,), float(k), device="cuda")) for k in range(5)]
    assert [y[0].item() for y in kept] == [0, 2, 4, 6, 8]


def test_a_gradient_of_another_layout_is_laid_out():
    weight = torch.randn(3, 4, device="cuda", requires_grad=True)
    program = Compiled(lambda: (weight.exp(), weight * 2), fullgraph=True)
    for k in range(3):
        seed = torch.randn(4, 3, device="cuda").t() if k else torch.randn(3, 4, device="cuda")
        weight.grad = None
        program()[0].backward(seed)  # the second result has no gradient
        assert same_bits(weight.grad, (seed * weight.exp()).detach())


# ---- Streams and graphs -------------------------------------------------------------------------


def test_a_program_runs_on_the_current_stream():
    program = Compiled(lambda x: ((x + 1) * (x - 1)).exp().log() + 1, fullgraph=True)
    x = torch.arange(1.0, 5, device="cuda")
    expected = program(x).tolist()
    sides = [cuda.Stream(), cuda.Stream()]
    found = []
    for _ in range(3):
        for side in sides:
            side.wait_stream(cuda.current_stream())
            with cuda.stream(side):
                found.append(program(x))
        found.append(program(x))
    for side in sides:
        cuda.current_stream().wait_stream(side)
    assert [y.tolist() for y in found] == [expected] * 9


def test_threads_run_one_program_on_streams_of_their_own():
    def function(x):
        return ((x + 1) * x).tanh().softmax(-1)

    program = Compiled(function, fullgraph=True)
    program(torch.zeros(16, 16, device="cuda"))
    wrong = []

    def work(number):
        side = cuda.Stream()
        with cuda.stream(side):
            for k in range(20):
                x = torch.full((16, 16), number + k / 100, device="cuda")
                found, expected = program(x), function(x)
                side.synchronize()
                if not same_bits(found, expected):
                    wrong.append((number, k))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_step_on_a_side_stream_has_the_bits_of_eager():
    side = cuda.Stream()
    side.wait_stream(cuda.current_stream())

    def on_side(step):
        run = record(step)

        def there(x):
            side.wait_stream(cuda.current_stream())
            with cuda.stream(side):
                loss = run(x)
            cuda.current_stream().wait_stream(side)
            return loss

        return there

    make, draw = MODELS["MLP"]
    eager, model = pair(make)
    found, _ = training(model, on_side, torch.optim.Adam, draw)
    expected, _ = training(eager, lambda step: step, torch.optim.Adam, draw)
    assert all(map(same_bits, found, expected))


def test_a_graph_captures_a_program():
    model, draw = pair(mlp)[0], MODELS["MLP"][1]
    program = Compiled(model, fullgraph=True)
    x = draw()
    with torch.no_grad():
        program(x)
        graph = cuda.CUDAGraph()
        with cuda.graph(graph):
            captured = program(x)
        for seed in range(3):
            x.copy_(draw())
            program(x)  # between replays, over its own block
            cuda.manual_seed(seed)
            graph.replay()
            found = captured.clone()
            cuda.manual_seed(seed)
            assert same_bits(found, model(x))


def test_a_first_call_within_a_capture_runs_as_it_is():
    program = Compiled(lambda x: x.exp() + 1, fullgraph=True)
    x = torch.zeros(3, device="cuda")
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        y = program(x)
    graph.replay()
    assert y.tolist() == [2, 2, 2] and program.recorded == 0
    assert program(x).tolist() == [2, 2, 2] and program.recorded == 1


def test_a_label_outside_in_the_first_call_is_its_error():
    program = Compiled(F.cross_entropy, fullgraph=True)
    with pytest.raises(RuntimeError, match="index 3 is out of bounds for a size of 3"):
        program(torch.zeros(2, 3, device="cuda"), torch.tensor([0, 3], device="cuda"))


def test_a_label_outside_is_told_where_the_host_waits():
    program = Compiled(F.cross_entropy, fullgraph=True)
    x = torch.zeros(2, 3, device="cuda")
    for _ in range(2):
        program(x, torch.tensor([0, 2], device="cuda"))
    program(x, torch.tensor([0, 3], device="cuda"))
    with pytest.raises(RuntimeError, match="index 3 is out of bounds for a size of 3"):
        cuda.synchronize()
