"""What the host does not wait for: only reads of results, and what the script itself waits for."""

from __future__ import annotations

import os

import pytest
from cuda_emulator import calls_of

import tiny_torch as torch
from tiny_torch import cuda, nn
from tiny_torch.nn import functional as F

EMULATED = os.environ.get("TINY_TORCH_CUDA") == "emulated"
pytestmark = pytest.mark.skipif(not EMULATED, reason="a GPU may be done before it is asked")
DEVICE = "cuda" if EMULATED else "cpu"  # so that it can be imported


def waits(call):
    """Whether a call of a function waits for the device, once there is pinned memory for it."""
    side = cuda.Stream()
    with cuda.stream(side):
        for _ in range(4):
            call()
            side.synchronize()
        (waited,) = calls_of(call, "waits")
        side.synchronize()
    return waited > 0


def there(*shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    return torch.randn(*shape, generator=generator).to(DEVICE, dtype)


def indices(below, *shape):
    return torch.randint(below, shape, generator=torch.Generator().manual_seed(0)).to(DEVICE)


def parameters(dtype=torch.float32):
    made = [nn.Parameter(there(n, 3, dtype=dtype)) for n in (2, 5, 300)]
    for p in made:
        p.grad = torch.ones_like(p)
    return made


X, I, P = there(6, 5), indices(5, 6), parameters()  # noqa: E741
FLAGS = X > 0
NO_WAIT = {
    "gather": lambda: X.gather(1, I[:, None]),
    "index_select": lambda: X.index_select(1, I),
    "take": lambda: X.take(I),
    "take_along_dim": lambda: X.take_along_dim(I[:, None], 1),
    "embedding": lambda: F.embedding(I, X),
    "embedding_bag": lambda: F.embedding_bag(I.view(2, 3), X),
    "x[i]": lambda: X[I],
    "x[i, j]": lambda: X[I, I - 1],
    "x[:, i]": lambda: X[:, I],
    "x[i] = y": lambda: X.clone().__setitem__(I, 0.5),
    "x[flags] = y": lambda: X.clone().__setitem__(FLAGS, 0.5),
    "scatter": lambda: X.scatter(1, I[:, None], 2.0),
    "scatter_add": lambda: X.scatter_add(1, I[:, None], X),
    "index_add": lambda: X.index_add(1, I[:5], X[:, :5]),
    "index_fill": lambda: X.index_fill(0, I, 1.0),
    "index_put": lambda: X.index_put((I,), X[0]),
    "cross_entropy": lambda: F.cross_entropy(X, I),
    "nll_loss": lambda: F.nll_loss(X, I),
    "multilabel_margin_loss": lambda: F.multilabel_margin_loss(X, I[:5].expand(6, 5)),
    "ctc_loss": lambda: F.ctc_loss(
        X[:, None].log_softmax(2), I[None, :2] % 4 + 1, (6,), (2,), zero_infinity=True
    ),
    "clip_grad_norm_": lambda: nn.utils.clip_grad_norm_(P, 1.0),
    "clip_grad_norm_, inf": lambda: nn.utils.clip_grad_norm_(P, 1.0, float("inf")),
    "clip_grad_norm_, bfloat16": lambda: nn.utils.clip_grad_norm_(parameters(torch.bfloat16), 1.0),
    "clip_grad_value_": lambda: nn.utils.clip_grad_value_(P, 1.0),
    "clip_grads_with_norm_": lambda: nn.utils.clip_grads_with_norm_(
        P, 1.0, nn.utils.get_total_norm([p.grad for p in P])
    ),
    "softmax": lambda: X.softmax(1),
    "dropout": lambda: F.dropout(X, 0.5),
    "sort": lambda: X.sort(1),
    "topk": lambda: X.topk(2),
    "SGD": lambda: torch.optim.SGD(P, lr=0.1, momentum=0.9).step(),
    "Adam": lambda: torch.optim.Adam(P, lr=0.1).step(),
    "Adam over bfloat16": lambda: torch.optim.Adam(parameters(torch.bfloat16), lr=0.1).step(),
    "to the device": lambda: torch.ones(3).to("cuda"),
    "to a dtype": lambda: X.half(),
}


@pytest.mark.parametrize("name", NO_WAIT)
def test_a_call_does_not_wait(name):
    assert not waits(NO_WAIT[name])


@pytest.mark.parametrize("call", [lambda: X.sum().item(), lambda: X.cpu(), lambda: X.nonzero()])
def test_a_read_waits(call):
    assert waits(call)


def test_a_scaler_waits_for_one_flag():
    optimizer = torch.optim.SGD(P, lr=0.1)
    scaler = torch.amp.GradScaler("cuda", init_scale=2.0)
    scaler.scale(torch.ones(1, device="cuda"))

    def unscale():
        scaler._per_optimizer_states.clear()
        scaler.unscale_(optimizer)

    assert not waits(unscale)
    scaler.step(optimizer)
    states = scaler._per_optimizer_states

    def update():
        scaler._per_optimizer_states = states
        scaler.update()

    assert not waits(update)  # what step() has read is known, and so is the scale
    assert not waits(scaler.get_scale)
    P[0].grad[0, 0] = float("inf")
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    P[0].grad[0, 0] = 1.0
    assert (scaler.skipped_steps, scaler.get_scale(), scaler._scale.item()) == (1, 1.0, 1.0)


# ---- what kernels find wrong is told by whoever waits -------------------------------------------
OUTSIDE = torch.tensor([1, 7, 0])
WRONG = {
    "gather": lambda i: X.gather(1, i[:, None]),
    "index_select": lambda i: X.index_select(0, i),
    "embedding": lambda i: F.embedding(i, X),
    "scatter": lambda i: X.clone().scatter_(1, i[:, None], 2.0),
    "index_add": lambda i: X.clone().index_add_(0, i, X[:3]),
    "indexing": lambda i: X[:, :4][i, i],
    "index_put": lambda i: X.clone().__setitem__(i, 1.0),
    "cross_entropy": lambda i: F.cross_entropy(X[:3], i),
    "nll_loss": lambda i: F.nll_loss(X[:3], i, weight=torch.ones(5, device="cuda")),
    "multilabel_margin_loss": lambda i: F.multilabel_margin_loss(X[0, :3], i),
    "embedding_bag": lambda i: F.embedding_bag(i[None], X),
    "ctc_loss": lambda i: F.ctc_loss(X[:, None].log_softmax(2), i[None], (6,), (3,)),
}


@pytest.mark.parametrize("on_a_stream", [False, True], ids=["default stream", "a stream"])
@pytest.mark.parametrize("name", WRONG)
def test_an_index_outside_is_told_by_who_waits(name, on_a_stream):
    outside = OUTSIDE.to("cuda")
    with cuda.stream(cuda.Stream() if on_a_stream else cuda.default_stream()):
        WRONG[name](outside)
        with pytest.raises(RuntimeError, match="device-side assert triggered\nindex 7 is out of"):
            cuda.synchronize()
        cuda.synchronize()  # told once
        assert (X[0] * 0).sum().item() == 0


def test_gradients_of_an_index_outside_do_no_harm():
    for call in (lambda x, i: x[i], lambda x, i: F.embedding(i, x), lambda x, i: F.nll_loss(x, i)):
        x = X[:3].clone().requires_grad_()
        y = call(x, OUTSIDE.to("cuda"))
        y.sum().backward()
        with pytest.raises(RuntimeError, match="index 7 is out of bounds"):
            x.grad.cpu()
        assert not x.grad.cpu().isnan().any()


def test_a_replay_tells_of_an_index_outside():
    i, graph = torch.zeros(3, dtype=torch.int64, device="cuda"), cuda.CUDAGraph()
    with cuda.graph(graph):
        y = X.clone().index_add(0, i, X[:3])
    graph.replay()
    assert y.isfinite().all().item()
    i.copy_(OUTSIDE)
    graph.replay()
    with pytest.raises(RuntimeError, match="index 7 is out of bounds for a size of 6"):
        cuda.synchronize()
