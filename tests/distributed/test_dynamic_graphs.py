"""DistributedDataParallel where forwards and backwards are not one of each, next to PyTorch's."""

import dataclasses

import oracles
import pytest
from ranks import values

import tiny_torch as torch

UNUSED = {"find_unused_parameters": True}


def two_layers(lib, output=None, **options):
    """Layers a and b, of one weight each, wrapped; forward sums up those that `use` names."""

    class Net(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = (lib.nn.Linear(1, 1, bias=False) for _ in "ab")

        def forward(self, x, use="ab"):
            found = [getattr(self, name)(x) for name in use]
            return sum(found) if output is None else output(found)

    lib.manual_seed(0)
    return lib.nn.parallel.DistributedDataParallel(Net(), **options)


def gradients(model):
    found = [model.module.a.weight.grad, model.module.b.weight.grad]
    return [None if grad is None else grad.item() for grad in found]


@dataclasses.dataclass
class Output:
    logits: list


def forwards_without_backward(lib, rank, x):
    """Two forwards for one backward; one without; a gradient of the input; a frozen critic."""
    model = two_layers(lib)
    (model(x) + model(2 * x)).sum().backward()
    found = [gradients(model)]
    model.zero_grad()
    model(x)
    inputs = x.clone().requires_grad_()
    (slope,) = lib.autograd.grad(model(inputs).sum(), inputs, create_graph=True)
    (slope.square() + model(x)).sum().backward()
    found.append([round(grad, 5) for grad in gradients(model)])
    critic, maker = two_layers(lib), two_layers(lib)
    for step in range(2):
        critic.requires_grad_(False)
        critic(maker(x)).sum().backward()
        critic.requires_grad_(True)
        critic.zero_grad()
        critic(x * (step + 1)).sum().backward()
    return [*found, gradients(critic)]


def kept_gradients(lib, rank, x):
    """Who does not use b, or did so before, within no_sync or not."""
    found = []
    for options in (UNUSED, {**UNUSED, "gradient_as_bucket_view": True}):
        for sync in (True, False):
            for later in ("a", "b"[rank:] + "a"):
                model = two_layers(lib, **options)
                model.require_backward_grad_sync = sync  # what no_sync() does
                model(x).sum().backward()
                model.require_backward_grad_sync = True
                model(x, later).sum().backward()
                found.append(gradients(model))
    return found


def outputs_of_all_kinds(lib, rank, x):
    """One that does not go into the loss; tensors in a dataclass."""
    found = []
    for options, steps in ((UNUSED, 2), ({"static_graph": True}, 1)):
        model = two_layers(lib, tuple, **options)
        for _ in range(steps):
            model.zero_grad()
            model(x)[0].sum().backward()
            found.append(gradients(model))
    model = two_layers(lib, Output, **UNUSED)
    model(x, "a").logits[0].sum().backward()
    return [*found, gradients(model)]


def zeros_in_place(lib, rank, x):
    """Module.zero_grad of gradients that are views of a bucket."""
    model = two_layers(lib, gradient_as_bucket_view=True)
    for _ in range(2):
        model.zero_grad(set_to_none=False)
        model(x).sum().backward()
    return gradients(model)


def reduced(lib, rank, n, folder):
    x = lib.full((1, 1), rank + 1.0)
    facts = forwards_without_backward, kept_gradients, outputs_of_all_kinds, zeros_in_place
    return [fact(lib, rank, x) for fact in facts]


def test_forwards_and_backwards_that_are_not_one_of_each():
    first, second = values(lambda rank, n: reduced(torch, rank, n, None), 2)
    assert first == second
    assert first[0][::2] == [[4.5, 4.5], [3.0, 3.0]]
    assert first[1] == [[3.0, 1.5], [3.0, 2.0]] * 4
    assert first[2] == [[1.5, None]] * 4
    assert first[3] == [1.5, 1.5]


@pytest.mark.torch
def test_next_to_pytorchs():
    ours = values(lambda rank, n: reduced(torch, rank, n, None), 2)
    assert ours == oracles.theirs("test_dynamic_graphs:reduced")
