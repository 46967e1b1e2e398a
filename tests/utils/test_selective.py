"""Selective checkpointing: what is kept, what is computed again, what is refused."""

import functools
import importlib

import pytest

import tiny_torch
from tiny_torch import _core
from tiny_torch.autograd.op_mode import OpMode
from tiny_torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
    selective,
)


def utils_of(torch):
    return importlib.import_module(f"{torch.__name__}.utils.checkpoint")


def product_of(torch):
    """The op of x @ w."""
    ours = torch is tiny_torch
    return torch.ops.linalg.matmul.Matmul if ours else torch.ops.aten.mm.default


def checkpointed(torch, function, x, chosen, **options):
    utils = utils_of(torch)
    context_fn = functools.partial(utils.create_selective_checkpoint_contexts, chosen, **options)
    return utils.checkpoint(function, x, use_reentrant=False, context_fn=context_fn)


def squares(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    return x, torch.eye(2)


POLICIES = {
    "MUST_SAVE": True,
    "PREFER_SAVE": True,
    "MUST_RECOMPUTE": False,
    "PREFER_RECOMPUTE": False,
    True: True,
    False: False,
    "list": True,
    "empty list": False,
}


@pytest.mark.parametrize("policy", POLICIES)
def test_what_a_policy_keeps(torch, policy):
    """The weight is another in the second run, which shows where the product is computed."""
    x, w = squares(torch)
    weights = [w, w * 2]
    op = product_of(torch)
    answer = getattr(utils_of(torch).CheckpointPolicy, str(policy), policy)

    def by_policy(context, name, *args, **kwargs):
        return answer if name is op or name.__name__ == "Mm" else False

    chosen = {"list": [op], "empty list": []}.get(policy, by_policy)
    y = checkpointed(torch, lambda x: (x @ weights.pop(0)).square(), x, chosen)
    y.sum().backward()
    first = 1 if POLICIES[policy] else 2  # 2 x w, of the first run or of the second
    assert x.grad.tolist() == (2 * first * 2 * x).tolist()


def test_what_a_policy_is_told(torch):
    seen = []

    def policy(context, op, *args, **kwargs):
        seen.append((context.is_recompute, context.op_output.tolist()))
        return False

    x, w = squares(torch)
    checkpointed(torch, lambda x: (x @ w).square(), x, policy).sum().backward()
    assert seen == [(False, x.tolist()), (False, x.square().tolist())]


def test_a_policys_names_are_pytorchs(torch):
    names = [(policy.name, policy.value) for policy in utils_of(torch).CheckpointPolicy]
    assert names == [(policy.name, policy.value) for policy in CheckpointPolicy]


@pytest.mark.parametrize("allowed", [False, True])
def test_a_kept_result_that_is_written(torch, allowed):
    x, w = squares(torch)
    y = checkpointed(
        torch, lambda x: (x @ w).mul_(2).square(), x, [product_of(torch)],
        allow_cache_entry_mutation=allowed,
    )  # fmt: skip
    if allowed:
        y.sum().backward()
        assert x.grad.tolist() == (2 * 2 * 4 * x).tolist()  # doubled twice
    else:
        with pytest.raises(RuntimeError, match="selective activation checkpoint has been mutated"):
            y.sum().backward()


def test_a_second_backward(torch):
    x, w = squares(torch)
    y = checkpointed(torch, lambda x: (x @ w).square(), x, [product_of(torch)]).sum()
    y.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        y.backward()


OTHERS = {
    "another op": (lambda x: x.exp().exp(), lambda x: x.sin().exp(), "but not found in storage"),
    "another call": (
        lambda x: x.exp(),
        lambda x: x.detach().exp() * x.exp(),
        "not found in storage",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_second_run_with_other_ops(torch, name):
    *functions, message = OTHERS[name]
    x, _ = squares(torch)
    y = checkpointed(torch, lambda x: functions.pop(0)(x), x, [])
    with pytest.raises(RuntimeError, match=message):
        y.sum().backward()


WRONG = [(3, TypeError, "must be either a function or a list"), ([3], ValueError, "Expected op in")]


@pytest.mark.parametrize(("chosen", "error", "message"), WRONG)
def test_wrong_arguments(torch, chosen, error, message):
    with pytest.raises(error, match=message):
        utils_of(torch).create_selective_checkpoint_contexts(chosen)


def test_second_derivatives(torch):
    def second(run):
        x, w = squares(torch)
        (first,) = torch.autograd.grad(run(lambda x: (x @ w).sin().sum(), x), x, create_graph=True)
        return torch.autograd.grad(first.square().sum(), x)[0].tolist()

    assert second(lambda f, x: f(x)) == second(
        lambda f, x: checkpointed(torch, f, x, lambda context, op, *args, **kwargs: False)
    )


# ------------------------------------------------------------------------- not in PyTorch


class Computed(OpMode):
    """The names of the ops that run."""

    def __init__(self):
        self.names = []

    def forward(self, call, op, arguments, kind):
        self.names.append(op.__name__)
        return call(op, arguments)


def layers(count=4):
    tiny_torch.manual_seed(0)
    nn = tiny_torch.nn
    return nn.Sequential(
        *[
            nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.GELU(), nn.Dropout(0.5))
            for _ in range(count)
        ]
    )


def convolutions():
    nn = tiny_torch.nn
    blocks = [
        nn.Sequential(nn.Conv1d(4, 4, 3, padding=1), nn.ReLU(), nn.MaxPool1d(1)) for _ in "ab"
    ]
    return nn.Sequential(nn.Unflatten(1, (4, 16)), *blocks, nn.ConvTranspose1d(4, 4, 1))


class Attention(tiny_torch.nn.Module):
    def forward(self, x):
        q, k, v = x.view(2, 16, 3, 64)[:, :, :, :16].unbind(2)
        return tiny_torch.nn.functional.scaled_dot_product_attention(q, k, v.tanh())


def recurrent():
    class First(tiny_torch.nn.LSTM):
        def forward(self, x):
            return super().forward(x.sin())[0]

    return First(64, 8)


MODELS = {
    "linear": (layers, (16, 64)),
    "convolution": (convolutions, (16, 64)),
    "attention": (Attention, (2, 16, 192)),
    "recurrent": (recurrent, (5, 3, 64)),
}
KEEP = {
    "selective": selective,
    "all": lambda: create_selective_checkpoint_contexts(lambda context, op, *args: True),
    "offload": lambda: create_selective_checkpoint_contexts(
        lambda context, op, *args: CheckpointPolicy.MUST_CPU_OFFLOAD
    ),
}


@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize("name", MODELS)
def test_gradients_are_those_of_the_plain_run(name, keep):
    make, sizes = MODELS[name]
    model = make()
    x = tiny_torch.randn(*sizes, requires_grad=True)

    def gradients(run):
        tiny_torch.manual_seed(1)
        loss = run(x).square().sum()
        return [g.tolist() for g in tiny_torch.autograd.grad(loss, [x, *model.parameters()])]

    plain = gradients(model)
    assert plain == gradients(
        lambda x: checkpoint(model, x, use_reentrant=False, context_fn=KEEP[keep])
    )


@pytest.mark.parametrize("way", ["context_fn", "with"])
def test_selective_keeps_the_costly_ops(way):
    class Layer(tiny_torch.nn.Sequential):
        def forward(self, x):
            with mode:  # outside of it are those of the checkpoint
                return super().forward(x)

    mode = Computed()
    model = layers(1)
    x = tiny_torch.randn(4, 64)
    computed = []
    linear = tiny_torch.ops.linalg.matmul.Linear
    forward = linear.forward

    def counted(*arrays):
        computed.append("linear")
        return forward(*arrays)

    linear.forward = staticmethod(counted)
    try:
        if way == "with":
            with selective():
                y = checkpoint(Layer(*model), x, use_reentrant=False)
        else:
            y = checkpoint(Layer(*model), x, use_reentrant=False, context_fn=selective)
        assert mode.names.count("Linear") == mode.names.count("Gelu") == 1
        y.sum().backward()
        assert mode.names.count("Linear") == mode.names.count("Gelu") == 2
        assert computed == ["linear"]
    finally:
        linear.forward = staticmethod(forward)


def test_a_node_keeps_its_op():
    x = tiny_torch.ones(2, 2, requires_grad=True)
    y = checkpoint(lambda x: x @ x, x, use_reentrant=False, context_fn=selective)
    assert y.grad_fn.op is tiny_torch.ops.linalg.matmul.Mm


def test_what_is_kept_goes_with_backward():
    model, x = layers(), tiny_torch.randn(512, 64)
    before = _core.memory_statistics()["allocated"]
    y = checkpoint(model, x, use_reentrant=False, context_fn=selective).sum()
    kept = _core.memory_statistics()["allocated"] - before
    assert 4 * x.nbytes <= kept < 5 * x.nbytes
    y.backward()
    for parameter in model.parameters():
        parameter.grad = None
    assert _core.memory_statistics()["allocated"] - before < x.nbytes / 8
