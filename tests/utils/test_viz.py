"""Drawings of graphs: ops, shapes, saved bytes, parameters, views, modules; and no trace left."""

import gc
import random
import weakref

import numpy as np
import pytest

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.nn import functional as F
from tiny_torch.utils.checkpoint import checkpoint
from tiny_torch.utils.viz import draw


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.norm = nn.Linear(4, 8), nn.BatchNorm1d(8)
        self.drop, self.fc2 = nn.Dropout(0.5), nn.Linear(8, 2)

    def forward(self, x):
        return self.fc2(self.drop(F.relu(self.norm(self.fc1(x)))))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.out = nn.Embedding(10, 4), nn.Linear(4, 10, bias=False)
        self.out.weight = self.embedding.weight

    def forward(self, tokens):
        return self.out(self.embedding(tokens))


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x, x + 1

    @staticmethod
    def backward(ctx, grad, other):
        (x,) = ctx.saved_tensors
        return 2 * x * grad + other


def leaf(*shape):
    return torch.randn(shape, requires_grad=True)


def nodes_of(tensor):
    """All nodes behind a tensor, the oldest first, as `next_functions` lead to them."""
    found, waiting = set(), [tensor.grad_fn]
    while waiting:
        node = waiting.pop()
        if hasattr(node, "sequence") and node not in found:
            found.add(node)
            waiting += [target for target, _ in node.next_functions]
    return sorted(found, key=lambda node: node.sequence)


def sources(drawing):
    texts = [[drawing.facts.text_of(source) for source in op.sources] for op in drawing.ops]
    return [[text for text in row if text] for row in texts]


# ---- what is shown -----------------------------------------------------------------------------


def test_ops_have_pytorch_names_results_and_sources():
    x, w, b = leaf(3, 4), leaf(4, 2), leaf(2)
    drawing = draw(((x @ w + b).relu() ** 2).mean(), params={"x": x, "w": w, "b": b})
    assert [(op.name, op.result) for op in drawing.ops] == [
        ("MmBackward0", "(3, 2) float32"),
        ("AddBackward0", "(3, 2) float32"),
        ("ReluBackward0", "(3, 2) float32"),
        ("PowBackward0", "(3, 2) float32"),
        ("MeanBackward0", "() float32"),
    ]
    assert sources(drawing) == [["x", "w"], ["#1", "b"], ["#2"], ["#3"], ["#4"]]
    assert [(a.name, a.kind.shape, a.bytes, a.uses) for a in drawing.leaves] == [
        ("x", (3, 4), 48, 1), ("w", (4, 2), 32, 1), ("b", (2,), 8, 1),
    ]  # fmt: skip


@pytest.mark.torch
def test_names_are_those_of_pytorchs_graph():
    real = pytest.importorskip("torch")

    def names(package, draw_names):
        package.manual_seed(0)
        model = package.nn.Sequential(
            package.nn.Conv2d(1, 2, 3), package.nn.BatchNorm2d(2), package.nn.ReLU(),
            package.nn.MaxPool2d(2), package.nn.Flatten(), package.nn.Linear(18, 3),
        )  # fmt: skip
        logits = model(package.randn(2, 1, 8, 8))
        loss = package.nn.functional.cross_entropy(logits, package.tensor([0, 2]))
        return draw_names(loss)

    def of_pytorch(loss):
        found, waiting = [], [loss.grad_fn]
        while waiting:
            node = waiting.pop()
            if node is not None and "Accumulate" not in node.name():
                found.append(node.name())
                waiting += [target for target, _ in node.next_functions]
        # Ours is one op there.
        return sorted(name for name in found if name not in ("LogSoftmaxBackward0", "TBackward0"))

    ours = names(torch, lambda loss: sorted(op.name for op in draw(loss).ops))
    assert ours == names(real, of_pytorch)


def test_saved_bytes_are_those_that_the_nodes_hold():
    loss = F.cross_entropy(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))(
        torch.randn(5, 4)), torch.tensor([0, 1, 2, 0, 1]))  # fmt: skip
    drawing = draw(loss)
    held = [
        [(a.shape, a.size * a.itemsize) for a in node.saved if hasattr(a, "stamp")]
        for node in nodes_of(loss)
    ]
    assert [[(s.kind.shape, s.bytes) for s in op.saved] for op in drawing.ops] == held
    assert drawing.saved_bytes == sum(size for sizes in held for _, size in sizes) > 0


def test_memory_counts_what_is_saved_twice_once_and_tells_the_leaves_apart():
    x = leaf(6)
    y = x * x  # x, twice
    drawing = draw((y.exp() * y).sum())  # exp saves its result, the product that and y
    assert [op.bytes for op in drawing.ops] == [48, 24, 48, 0]
    assert drawing.saved_bytes == 120 and drawing.facts.memory() == (72, 24)
    (ops, leaves, saved), *_ = drawing.facts.memory_saved_twice()
    assert [op.number for op in ops] == [1, 1] and leaves == drawing.leaves
    assert [(s.role, s.memory) for s in saved] == [("input 0", 24), ("input 1", 24)]


def test_tied_parameters_are_one_leaf_of_two_names():
    drawing = draw(Tied(), torch.arange(6).view(2, 3))
    (weight,) = drawing.leaves
    assert weight.names == ["embedding.weight", "out.weight"] and weight.uses == 2
    assert "one tensor: embedding.weight = out.weight" in str(drawing)


def test_views_name_the_tensor_whose_memory_they_show():
    x = leaf(4, 6)
    y = x * 2
    drawing = draw(y.t()[1:].reshape(-1)[::2].sum(), params={"x": x})
    bases = [op.view_of and drawing.facts.text_of(op.view_of) for op in drawing.ops]
    # mul; t and the first slice show it; the reshape had to copy; the next slice shows the copy
    assert bases == [None, "#1", "#1", None, "#4", None]
    a, b = draw(x.split(3, 1), params={"x": x}).facts.roots
    assert a.base == b.base == (x.shape, torch.float32)
    assert "a view of x, in the same memory" in str(draw(x.view(-1), params={"x": x}))


def test_writes_in_place_through_views_are_shown():
    x = leaf(2, 3)
    y = x * 1
    y[0].mul_(3)
    drawing = draw(y)
    copy = drawing.ops[-1]
    assert copy.name == "CopySlices" and copy.result == "(2, 3) float32"
    assert "MulBackward0 wrote through a view" in copy.notes


def test_ops_in_place_in_a_model_are_marked():
    drawing = draw(nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True)), torch.ones(1, 2))
    assert [op.notes for op in drawing.ops] == [[], ["in place"]]


def test_custom_functions_and_ops_of_several_outputs_have_all_their_results():
    x = leaf(3)
    square, other = Square.apply(x.exp())
    drawing = draw(square + other)
    function = drawing.ops[1]
    assert function.name == "SquareBackward"
    assert [str(kind) for kind in function.results] == ["(3,) float32"] * 2
    assert sources(drawing)[2] == ["#2.0", "#2.1"]
    values = torch.max(leaf(2, 5), 1).values
    assert draw(values).ops[0].results[0].shape == (2,)


def test_checkpointed_parts_say_what_is_computed_again():
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    y = checkpoint(model, leaf(2, 3), use_reentrant=False)
    drawing = draw(y.sum(), model=model)
    assert any("computed again in backward" in note for op in drawing.ops for note in op.notes)
    assert drawing.saved_bytes == 0
    assert [op.result for op in drawing.ops] == ["(2, 3) float32", "(2, 3) float32", "() float32"]
    packed = torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)
    with packed:
        z = leaf(3).exp()
    assert draw(z).ops[0].notes == ["1 saved tensor kept by saved hooks"]


def test_an_op_that_has_the_name_of_pytorchs_last_node_says_which_it_is():
    ops = draw(nn.Linear(4, 2), torch.ones(2, 3, 4)).ops
    assert [op.name for op in ops] == ["ViewBackward0"]
    assert ops[0].notes == ["Linear, which PyTorch makes of several nodes"]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: torch.ones(2), "(2,) float32 does not require grad: no op was recorded"),
        (lambda: torch.arange(3), "(3,) int64 does not require grad"),
        (lambda: torch.ones(4).view(2, 2), "is a view of a tensor (4,) float32, in the same mem"),
        (lambda: leaf(), "() float32 is a leaf that requires grad: nothing computed it"),
    ],
)
def test_without_a_graph_the_text_says_so(make, said, tmp_path):
    drawing = draw(make())
    assert said in str(drawing) and drawing.ops == [] and drawing.steps == []
    drawing.to_html(tmp_path / "page.html")
    assert said in (tmp_path / "page.html").read_text()


def test_0d_and_empty_tensors_are_drawn():
    assert draw(leaf().exp()).ops[0].result == "() float32"
    drawing = draw(leaf(0, 3).sum(1))
    assert (drawing.ops[0].result, drawing.saved_bytes) == ("(0,) float32", 0)
    assert len(drawing.steps) == 2


def test_a_freed_graph_says_so():
    y = leaf(3).exp().sum()
    y.backward()
    drawing = draw(y)
    assert "what it saved is freed" in drawing.ops[0].notes
    assert drawing.steps == [] and "freed" in drawing.no_steps


# ---- models --------------------------------------------------------------------------------------


def test_ops_are_grouped_by_module_and_parameters_have_paths():
    drawing = draw(Net(), torch.randn(5, 4))
    assert [(op.name, op.modules) for op in drawing.ops] == [
        ("AddmmBackward0", ("", "fc1")),
        ("NativeBatchNormBackward0", ("", "norm")),
        ("ReluBackward0", ("",)),
        (drawing.ops[3].name, ("", "drop")),
        ("AddmmBackward0", ("", "fc2")),
    ]
    named = {name for leaf in drawing.leaves for name in leaf.names}
    assert named == {name for name, _ in Net().named_parameters()}
    text = str(drawing)
    assert "├ fc1 (Linear): 1 op" in text and "x" in sources(drawing)[0]


def test_a_models_results_are_those_that_its_ops_had():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.MaxPool2d(2), nn.Flatten(), nn.LSTM(18, 4))
    drawing = draw(model, torch.randn(2, 1, 8, 8))
    shapes = [op.results[0].shape for op in drawing.ops[:3]]
    assert shapes == [(2, 2, 6, 6), (2, 2, 3, 3), (2, 18)]
    assert {root.name for root in drawing.facts.roots} == {"output 0", "output 1", "output 2"}


def test_what_a_tensors_graph_infers_is_what_the_models_run_saw():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    x = torch.randn(2, 5, 8)
    seen = draw(layer, x)
    inferred = draw(layer(x), model=layer)
    assert [(op.name, op.result) for op in inferred.ops] == [(o.name, o.result) for o in seen.ops]


def test_parameters_without_a_gradient_are_named():
    class Half(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.unused = nn.Linear(2, 2), nn.Linear(2, 2)

        def forward(self, x):
            return self.used(x)

    drawing = draw(Half(), torch.ones(1, 2))
    assert drawing.facts.unreached == ["unused.weight", "unused.bias"]
    assert "no gradient arrives at: unused.weight, unused.bias" in str(drawing)


@pytest.mark.parametrize("training", [True, False])
def test_a_model_is_as_it_was(training):
    model = Net().train(training)
    x = leaf(5, 4)
    buffers = dict(model.named_buffers())
    before = {name: (buffer.clone(), buffer._version) for name, buffer in buffers.items()}
    versions = [tensor._version for tensor in (x, *model.parameters())]
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
    model.drop.register_forward_hook(lambda *_: np.random.seed(random.getrandbits(9)))
    drawing = draw(model, x)
    assert len(drawing.ops) == (5 if training else 4) and model.training is training
    for name, buffer in model.named_buffers():
        assert buffer is buffers[name] and buffer._version == before[name][1]
        assert torch.equal(buffer, before[name][0])
    assert [tensor._version for tensor in (x, *model.parameters())] == versions
    assert x.grad is None and all(p.grad is None for p in model.parameters())
    assert torch.equal(torch.get_rng_state(), states[0])
    assert (random.getstate(), np.random.get_state()[1].tolist()) == states[1:]


def test_a_model_is_drawn_under_no_grad_and_left_as_it_was_by_an_error():
    model = Net()
    with torch.no_grad():
        assert len(draw(model, torch.randn(5, 4)).ops) == 5
        assert not torch.is_grad_enabled()
    buffer, wrong, state = model.norm.running_mean, torch.randn(5, 3), torch.get_rng_state()
    with pytest.raises(RuntimeError):
        draw(model, wrong)
    assert model.norm.running_mean is buffer and torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: draw(3), TypeError, "got int"),
        (lambda: draw([]), TypeError, "got no tensor"),
        (lambda: draw(leaf(2), 1), TypeError, "inputs are for a model"),
        (lambda: draw(nn.Linear(1, 1), leaf(1), model=Net()), TypeError, "model= names"),
        (lambda: draw(leaf(2), params={"x": 1}), TypeError, r"params\['x'\] is a int"),
        (lambda: draw(nn.LazyLinear(2), leaf(3)), RuntimeError, "weight has no shape yet"),
        (lambda: draw(leaf(2), form="tree"), TypeError, "form"),
    ],
)
def test_what_cannot_be_drawn_raises(call, error, said):
    with pytest.raises(error, match=said):
        call()


# ---- large graphs, and what stays ----------------------------------------------------------------


def test_repetitions_are_folded():
    y = leaf(2)
    for _ in range(5000):
        y = y * 1.001 + 0.1
    drawing = draw(y)
    assert len(drawing.ops) == 10_000
    lines = str(drawing).splitlines()
    assert len(lines) < 12
    assert any("as the 2 ops before, 4,99" in line for line in lines)


def test_equal_modules_are_folded_and_others_are_not():
    block = lambda n: nn.Sequential(nn.Linear(8, n), nn.Tanh(), nn.Linear(n, 8))  # noqa: E731
    model = nn.Sequential(*[block(16) for _ in range(20)], block(5), block(6))
    drawing = draw(model, torch.randn(2, 8))
    text = str(drawing)
    assert "2 (Sequential) to 19 (Sequential): as the module before, 18 times more" in text
    assert "20 (Sequential)" in text and "21 (Sequential)" in text


def test_a_deep_graph_needs_no_recursion_and_its_page_is_small(tmp_path):
    y, numbers = leaf(2), random.Random(0)
    for _ in range(10_000):
        y = numbers.choice((torch.exp, torch.sin, torch.neg, torch.t))(y)
    drawing = draw(y)
    assert len(drawing.ops) == 10_000 and drawing.steps == []
    path = tmp_path / "page.html"
    drawing.to_html(path)
    assert path.stat().st_size < 2_000_000


def test_a_drawing_keeps_no_graph_alive():
    gc.disable()
    try:
        for make in (lambda x: (x.exp() * 3).sum(), lambda x: Square.apply(x)[0] * 2):
            x = leaf(3)
            y = make(x)
            node = weakref.ref(y.grad_fn.next_functions[0][0])
            drawing = draw(y)
            assert drawing.steps
            del y
            assert node() is None
    finally:
        gc.enable()


def test_a_graph_is_as_it_was():
    x = leaf(3)
    h = x.exp()
    h.retain_grad()
    calls = []
    h.register_hook(calls.append)
    y = (h * h).sum()
    versions = [tensor._version for tensor in (x, h, y)]
    before = [node.saved for node in nodes_of(y)]
    hooks = [node.hooks and dict(node.hooks) for node in nodes_of(y)]
    drawing = draw(y)
    assert len(drawing.steps) == 4 and calls == [] and h.grad is None and x.grad is None
    assert [tensor._version for tensor in (x, h, y)] == versions
    assert [node.saved for node in nodes_of(y)] == before
    assert [node.hooks and dict(node.hooks) for node in nodes_of(y)] == hooks
    assert "1 hook, not called here" in drawing.ops[0].notes
    y.backward()
    assert len(calls) == 1 and torch.allclose(h.grad, 2 * h)
