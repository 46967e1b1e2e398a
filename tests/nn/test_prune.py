"""`nn.utils.prune` next to PyTorch's: masks, names in files, hooks, messages."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import tiny_torch

pytestmark = pytest.mark.torch

STEPS = {  # what is done to a convolution `m`, one step after the other
    "identity": ["p.identity(m, 'weight')"],
    "l1, a count": ["p.l1_unstructured(m, 'weight', 7)"],
    "l1, a fraction": ["p.l1_unstructured(m, 'weight', amount=0.31)"],
    "nothing": ["p.l1_unstructured(m, 'weight', 0)", "p.ln_structured(m, 'weight', 0.01, 2, 1)"],
    "all": ["p.l1_unstructured(m, 'bias', 1.0)"],
    "scores": ["p.l1_unstructured(m, 'bias', 2, importance_scores=lib.arange(4.0))"],
    "slices": ["p.ln_structured(m, 'weight', 0.5, n=1, dim=0)"],
    "slices by the largest": ["p.ln_structured(m, 'weight', 1, n=float('inf'), dim=-1)"],
    "slices by scores": ["p.ln_structured(m, 'weight', 1, 2, 1, importance_scores=m.weight**2)"],
    "random": ["p.random_unstructured(m, 'weight', 0.4)", "p.random_unstructured(m, 'bias', 1)"],
    "random slices": ["p.random_structured(m, 'weight', 2, dim=0)"],
    "mask": ["p.custom_from_mask(m, 'bias', lib.tensor([0, 1, 1, 0]))"],
    "in turn": [
        "p.l1_unstructured(m, 'weight', 5)",
        "p.ln_structured(m, 'weight', 1, 2, 0)",
        "p.ln_structured(m, 'weight', 1, 2, 0)",
        "p.random_unstructured(m, 'weight', 0.5)",
        "p.custom_from_mask(m, 'weight', m.weight_mask * (m.weight > 0))",
        "p.identity(m, 'weight')",
    ],
    "global": [
        "p.global_unstructured([(m, 'weight'), (m, 'bias')], p.L1Unstructured, amount=0.6)",
        "p.global_unstructured([(m, 'weight'), (m, 'bias')], p.L1Unstructured, amount=3)",
        "p.global_unstructured([(m, 'bias')], p.RandomUnstructured, amount=1)",
    ],
    "global by scores": [
        "p.global_unstructured([(m, 'weight'), (m, 'bias')], p.L1Unstructured, amount=5,"
        " importance_scores={(m, 'bias'): lib.ones(4) * 9})"
    ],
    "removed": ["p.l1_unstructured(m, 'weight', 7)", "p.remove(m, 'weight')"],
    "by the classes": [
        "p.L1Unstructured.apply(m, 'weight', 3)",
        "p.LnStructured.apply(m, 'weight', 1, 2, -1)",
        "p.RandomStructured.apply(m, 'weight', 1)",
        "p.Identity.apply(m, 'bias')",
    ],
}
VALUES = {
    "prune": "p.L1Unstructured(2).prune(lib.arange(5.0))",
    "after a mask": "p.L1Unstructured(2).prune(lib.ones(3), default_mask=lib.tensor([0.0, 1, 0]))",
    "scores": "p.L1Unstructured(2).prune(lib.arange(3.0), importance_scores=-lib.arange(3.0))",
    "slices": "p.LnStructured(1, 2).prune(lib.arange(6.0).view(2, 3))",
    "halves": "p.LnStructured(0.5, 1, 0).prune(lib.arange(6.0).view(2, 3).bfloat16()).float()",
}
MISTAKES = [
    "p.l1_unstructured(m, 'weight', -1)",
    "p.l1_unstructured(m, 'bias', 5)",
    "p.l1_unstructured(m, 'weight', 1.5)",
    "p.random_unstructured(m, 'weight', 'x')",
    "p.ln_structured(m, 'bias', 0.5, 2, 0)",
    "p.ln_structured(m, 'weight', 0.5, 2, 4)",
    "p.random_structured(m, 'weight', 5, 0)",
    "p.random_structured(m, 'bias', 1, 0)",
    "p.remove(m, 'weight')",
    "p.l1_unstructured(m, 'nothing', 1)",
    "p.custom_from_mask(m, 'weight', lib.ones(2))",
    "p.l1_unstructured(m, 'bias', 1, importance_scores=lib.ones(2))",
    "p.L1Unstructured(1).prune(lib.ones(3), importance_scores=lib.ones(2))",
    "p.global_unstructured(3, p.L1Unstructured, amount=3)",
    "p.global_unstructured([(m, 'bias')], p.LnStructured, amount=3, n=2)",
    "p.global_unstructured([(m, 'bias')], p.L1Unstructured, importance_scores=3, amount=3)",
    "p.PruningContainer(p.L1Unstructured(3))",
    "p.Identity.apply(m, 'bias') and p.PruningContainer(*m._forward_pre_hooks.values())"
    ".add_pruning_method(3)",
]


def surroundings(lib):
    rng = np.random.default_rng(0)
    m = lib.nn.Conv2d(3, 4, 2)
    with lib.no_grad():
        for param in m.parameters():
            drawn = rng.standard_normal(tuple(param.shape)).astype(np.float32)
            param.copy_(lib.from_numpy(drawn))
    lib.manual_seed(5)
    return {"lib": lib, "p": import_module(lib.__name__ + ".nn.utils.prune"), "m": m}


def after(lib, steps):
    """Everything that can be seen of a module after each step."""
    space = surroundings(lib)
    m, p = space["m"], space["p"]
    seen = []
    for step in steps:
        eval(step, space)
        tensors = {**m.state_dict(), "weight": m.weight, "bias": m.bias}
        m.zero_grad()
        m(lib.ones(1, 3, 3, 3)).square().sum().backward()
        tensors |= {name + ".grad": param.grad for name, param in m.named_parameters()}
        hooks = [
            (type(hook).__name__, hook._tensor_name, [type(x).__name__ for x in hook])
            if isinstance(hook, p.PruningContainer)
            else (type(hook).__name__, hook._tensor_name, sorted(vars(hook)))
            for hook in m._forward_pre_hooks.values()
        ]
        arrays = {key: value.detach().numpy().copy() for key, value in tensors.items()}
        seen.append((list(m.state_dict()), hooks, p.is_pruned(lib.nn.Sequential(m)), arrays))
    return seen


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_modules_are_pruned_as_in_pytorch(oracle, steps):
    for ours, theirs in zip(after(tiny_torch, steps), after(oracle, steps), strict=True):
        assert ours[:3] == theirs[:3]
        assert list(ours[3]) == list(theirs[3])
        for key, expected in theirs[3].items():
            np.testing.assert_allclose(ours[3][key], expected, rtol=1e-5, atol=1e-6, err_msg=key)


@pytest.mark.parametrize("expression", VALUES.values(), ids=VALUES)
def test_tensors_are_pruned_as_in_pytorch(oracle, expression):
    ours, theirs = (eval(expression, surroundings(lib)) for lib in (tiny_torch, oracle))
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_raise_as_in_pytorch(oracle, mistake):
    found = []
    for lib in (tiny_torch, oracle):
        space = surroundings(lib)
        with pytest.raises(Exception) as raised:
            eval(mistake, space)
        message = str(raised.value).replace("pruning_methods", "prune")
        message = message.replace("tiny_torch", "torch")
        found.append((type(raised.value), message, set(space["m"].state_dict())))
    assert found[0] == found[1]


def test_a_failed_method_leaves_the_pruned_module_alone():
    m = tiny_torch.nn.Linear(3, 2)
    prune = tiny_torch.nn.utils.prune
    prune.identity(prune.identity(m, "weight"), "weight")
    with pytest.raises(ValueError):
        prune.l1_unstructured(m, "weight", 7)
    (container,) = m._forward_pre_hooks.values()
    assert len(container) == 2
    prune.l1_unstructured(m, "weight", 6)
    assert not m.weight.any()


def test_pytorchs_files_load(oracle, tmp_path):
    theirs, ours = surroundings(oracle), surroundings(tiny_torch)
    for space in (theirs, ours):
        eval("p.random_unstructured(m, 'weight', 0.5)", space)
    oracle.save(theirs["m"].state_dict(), tmp_path / "m.pt")
    ours["m"].load_state_dict(tiny_torch.load(tmp_path / "m.pt"))
    np.testing.assert_allclose(
        ours["m"](tiny_torch.ones(1, 3, 3, 3)).detach().numpy(),
        theirs["m"](oracle.ones(1, 3, 3, 3)).detach().numpy(),
        rtol=1e-5,
    )
