"""Some of the steps of `benchmarks.programs` in JAX, each one function under ``jax.jit``.

https://docs.jax.dev: Adam is written out, so that nothing but JAX is needed.
"""

import functools
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

DICE = np.random.default_rng(0)


def weights(*sizes: int) -> list[Any]:
    """Of linear layers from each size to the next, drawn as PyTorch draws them."""
    pairs = list(itertools.pairwise(sizes))
    bounds = [n**-0.5 for n, _ in pairs]
    return [
        (DICE.uniform(-b, b, pair).astype("f4"), DICE.uniform(-b, b, pair[1]).astype("f4"))
        for b, pair in zip(bounds, pairs, strict=True)
    ]


def linear(x: Any, layer: Any) -> Any:
    return x @ layer[0] + layer[1]


def training(forward: Callable[..., Any], model: Any, x: Any, y: Any) -> Callable[[], Any]:
    """A step of Adam on the cross-entropy of ``forward(model, x)`` of shape (N, classes)."""

    def loss_of(model: Any) -> Any:
        logs = jax.nn.log_softmax(forward(model, x))
        return -jnp.take_along_axis(logs, y[:, None], 1).mean()

    @functools.partial(jax.jit, donate_argnums=0)
    def step(state: Any) -> Any:
        model, means, squares, count = state
        loss, grads = jax.value_and_grad(loss_of)(model)
        count = count + 1
        means = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, means, grads)
        squares = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, squares, grads)
        rate, scale = 1e-3 / (1 - 0.9**count), 1 / (1 - 0.999**count)
        model = jax.tree.map(
            lambda p, m, v: p - rate * m / (jnp.sqrt(v * scale) + 1e-8), model, means, squares
        )
        return (model, means, squares, count), loss

    zeros = jax.tree.map(jnp.zeros_like, model)
    kept = [(jax.tree.map(jnp.array, model), zeros, jax.tree.map(jnp.copy, zeros), jnp.zeros(()))]

    def run() -> Any:
        kept[0], loss = step(kept[0])
        return loss.block_until_ready()

    return run


def classes(count: int, batch: int) -> Any:
    return jnp.array(DICE.integers(0, count, batch))


def tiny() -> Callable[[], Any]:
    def forward(model: Any, x: Any) -> Any:
        a, b, c = model
        return linear(jnp.tanh(linear(jax.nn.relu(linear(x, a)), b)), c)

    x = jnp.array(DICE.standard_normal((8, 20), "f4"))
    return training(forward, weights(20, 32, 32, 5), x, classes(5, 8))


def mlp() -> Callable[[], Any]:
    def forward(model: Any, x: Any) -> Any:
        a, b, c = model
        return linear(jax.nn.relu(linear(jax.nn.relu(linear(x, a)), b)), c)

    x = jnp.array(DICE.standard_normal((128, 784), "f4"))
    return training(forward, weights(784, 512, 512, 10), x, classes(10, 128))


def by_hand(kind: str) -> Callable[[], Any]:
    gates = {"LSTM": 4, "GRU": 3}[kind]
    model = [*weights(32, gates * 64), *weights(64, gates * 64), *weights(64, 5)]

    def forward(model: Any, xs: Any) -> Any:
        of_x, of_h, out = model
        h = c = jnp.zeros((16, 64))
        for x in xs:
            a, b = linear(x, of_x), linear(h, of_h)
            if kind == "LSTM":
                i, f, g, o = jnp.split(a + b, 4, 1)
                c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
                h = jax.nn.sigmoid(o) * jnp.tanh(c)
            else:
                (r, z, n), (s, y, m) = jnp.split(a, 3, 1), jnp.split(b, 3, 1)
                update = jax.nn.sigmoid(z + y)
                h = (1 - update) * jnp.tanh(n + jax.nn.sigmoid(r + s) * m) + update * h
        return linear(h, out)

    x = jnp.array(DICE.standard_normal((24, 16, 32), "f4"))
    return training(forward, model, x, classes(5, 16))


def gelu() -> Callable[[], Any]:
    x = jnp.array(DICE.standard_normal(1_000_000, "f4"))
    f = jax.jit(lambda x: 0.5 * x * (1 + jnp.tanh(0.79788456 * (x + 0.044715 * x * x * x))))
    return lambda: f(x).block_until_ready()


STEPS: dict[str, Callable[[], Callable[[], Any]]] = {
    "MLP, tiny": tiny,
    "LSTM by hand": functools.partial(by_hand, kind="LSTM"),
    "GRU by hand": functools.partial(by_hand, kind="GRU"),
    "GELU by hand": gelu,
    "MLP, Adam": mlp,
}
