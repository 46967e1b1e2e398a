"""Embeddings whose weight's gradient is sparse, and optimizers that take it, next to PyTorch."""

import numpy as np
import pytest

import tiny_torch

LAYERS = {
    "Embedding": lambda nn, padding: nn.Embedding(6, 3, padding_idx=padding, sparse=True),
    **{
        f"bags, {mode}": lambda nn, padding, mode=mode: nn.EmbeddingBag(
            6, 3, mode=mode, padding_idx=padding, sparse=True
        )
        for mode in ("sum", "mean")
    },
}
OPTIMIZERS = {
    "SGD": lambda optim, params: optim.SGD(params, lr=0.01),
    "momentum": lambda optim, params: optim.SGD(params, lr=0.01, momentum=0.9),
    "Nesterov": lambda optim, params: optim.SGD(params, 0.01, 0.5, nesterov=True, maximize=True),
    "Adagrad": lambda optim, params: optim.Adagrad(params, lr=0.1, lr_decay=0.1),
    "SparseAdam": lambda optim, params: optim.SparseAdam(params, lr=0.1, betas=(0.8, 0.9)),
    "maximize": lambda optim, params: optim.SparseAdam(params, lr=0.1, maximize=True),
}


def layer_of(m, name, padding=None):
    layer = LAYERS[name](m.nn, padding)
    values = np.random.default_rng(0).standard_normal((6, 3)).astype("float32")
    with m.no_grad():
        layer.weight.copy_(m.from_numpy(values))
    return layer


def loss_of(m, layer, rows):
    y = layer(m.tensor(rows))
    return (y * y * m.arange(y.numel()).reshape(y.shape)).sum()


def close(ours, theirs):
    assert np.allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("padding", [None, 1])
@pytest.mark.parametrize("name", LAYERS)
def test_gradients_have_the_rows_that_were_used(oracle, name, padding):
    grads = []
    for m in (tiny_torch, oracle):
        layer = layer_of(m, name, padding)
        for rows in ([[1, 2, 2], [4, 1, 0]], [[1, 5, 5], [0, 0, 3]]):  # the second is added
            loss_of(m, layer, rows).backward()
        grads.append(layer.weight.grad)
    ours, theirs = grads
    assert ours.is_sparse and theirs.is_sparse
    close(ours.to_dense(), theirs.to_dense())


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", LAYERS)
def test_steps(oracle, name, optimizer):
    weights = []
    for m in (tiny_torch, oracle):
        layer = layer_of(m, name)
        steps = OPTIMIZERS[optimizer](m.optim, layer.parameters())
        for i in range(3):
            steps.zero_grad(set_to_none=i > 1)
            loss_of(m, layer, [[1, 2, 2], [4, 1, 0], [1, i, i]]).backward()
            steps.step()
        weights.append(layer.weight)
        state = steps.state_dict()
        again = OPTIMIZERS[optimizer](m.optim, layer.parameters())
        again.load_state_dict(state)
        assert list(again.state_dict()["state"]) == list(state["state"])
    close(*weights)


def test_weights_per_sample(oracle):
    found = []
    for m in (tiny_torch, oracle):
        layer = layer_of(m, "bags, sum")
        w = m.tensor([[1.0, 2, 3], [4, 5, 6]], requires_grad=True)
        layer(m.tensor([[1, 2, 2], [4, 1, 0]]), per_sample_weights=w).pow(2).sum().backward()
        found.append((layer.weight.grad.to_dense(), w.grad))
    for ours, theirs in zip(*found, strict=True):
        close(ours, theirs)


def mixed(m):
    """Gradients of a weight that is used sparsely and densely, in one backward and in several."""
    layer = layer_of(m, "Embedding")
    found = []
    for dense_first in (False, True):
        uses = [lambda: layer(m.tensor([1, 1, 3])).sum(), lambda: (layer.weight**2).sum()]
        layer.weight.grad = None
        for use in reversed(uses) if dense_first else uses:
            use().backward()
        found.append(layer.weight.grad)
    layer.weight.grad = None
    (layer(m.tensor([1, 1, 3])) @ layer.weight.t()).pow(2).sum().backward()
    found.append(layer.weight.grad)
    (layer(m.tensor([1])).sum() * 2 + layer(m.tensor([0])).sum()).backward()
    found.append(layer.weight.grad)
    return found


def test_sparse_and_dense_gradients_are_added(oracle):
    for ours, theirs in zip(mixed(tiny_torch), mixed(oracle), strict=True):
        assert not ours.is_sparse and not theirs.is_sparse
        close(ours, theirs)


def watched(m):
    """What hooks, grad and create_graph give."""
    layer = layer_of(m, "Embedding")
    rows = m.tensor([1, 1, 3])
    (alone,) = m.autograd.grad(layer(rows).sum(), layer.weight)
    (first,) = m.autograd.grad(layer(rows).pow(3).sum(), layer.weight, create_graph=True)
    handle = layer.weight.register_hook(lambda grad: grad * 2)
    layer(rows).sum().backward()
    handle.remove()
    with m.autograd.detect_anomaly():
        layer(rows).sum().backward()
    return [alone, first, layer.weight.grad], first.requires_grad


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_gradients_as_users_see_them(oracle):
    (ours, recorded), (theirs, _) = watched(tiny_torch), watched(oracle)
    assert recorded
    for x, y in zip(ours, theirs, strict=True):
        assert x.is_sparse and y.is_sparse
        close(x.to_dense(), y.to_dense())


def test_nan_in_a_sparse_gradient_is_found():
    layer = tiny_torch.nn.Embedding(3, 2, sparse=True)
    y = layer(tiny_torch.tensor(1))
    with (
        pytest.warns(UserWarning, match="Anomaly Detection"),
        tiny_torch.autograd.detect_anomaly(),
        pytest.raises(RuntimeError, match="EmbeddingBackward0' returned nan values"),
    ):
        y.backward(tiny_torch.full((2,), float("nan")))


ERRORS = [
    lambda m, layer: m.optim.RMSprop(layer.parameters()).step(),
    lambda m, layer: m.optim.NAdam(layer.parameters()).step(),
    lambda m, layer: m.optim.Adagrad(layer.parameters(), weight_decay=0.1).step(),
    lambda m, layer: m.optim.SparseAdam(layer.parameters(), lr=0.0),
    lambda m, layer: m.optim.SparseAdam(layer.parameters(), eps=0.0),
    lambda m, layer: m.optim.SparseAdam(layer.parameters(), betas=(1.0, 0.9)),
    lambda m, layer: m.optim.SparseAdam([m.eye(2).to_sparse().requires_grad_()]),
]


@pytest.mark.parametrize("i", range(len(ERRORS)))
def test_errors(oracle, i):
    found = []
    for m in (tiny_torch, oracle):
        layer = layer_of(m, "Embedding")
        loss_of(m, layer, [[1, 2]]).backward()
        with pytest.raises((RuntimeError, ValueError)) as error:
            ERRORS[i](m, layer)
        found.append((error.type, str(error.value)))
    assert found[0] == found[1]


NAMES = "Adam AdamW NAdam RAdam Adamax Adadelta ASGD Rprop RMSprop Adafactor Muon LBFGS".split()


@pytest.mark.parametrize("name", NAMES)
def test_what_optimizers_say_of_a_sparse_gradient(oracle, name):
    said = []
    for m in (tiny_torch, oracle):
        layer = layer_of(m, "Embedding")

        def loss(m=m, layer=layer):
            layer.weight.grad = None
            total = loss_of(m, layer, [[1, 2]])
            total.backward()
            return total

        try:
            getattr(m.optim, name)(layer.parameters()).step(loss)
            said.append(layer.weight.detach().double().numpy().round(5).tolist())
        except RuntimeError as error:
            said.append(str(error))
    assert said[0] == said[1]


def test_what_takes_no_sparse_gradient():
    layer = layer_of(tiny_torch, "Embedding")
    loss_of(tiny_torch, layer, [[1, 2]]).backward()
    with pytest.raises(RuntimeError, match="Adam does not support sparse gradients"):
        tiny_torch.optim.Adam(layer.parameters()).step()
    layer.weight.grad = layer.weight.grad.to_dense()
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients"):
        tiny_torch.optim.SparseAdam(layer.parameters()).step()
    by_frequency = tiny_torch.nn.Embedding(3, 2, scale_grad_by_freq=True, sparse=True)
    with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported"):
        by_frequency(tiny_torch.tensor([1])).sum().backward()
