"""The steps of backward in a drawing: the engine's order, and the values of autograd.grad."""

import html
import json
import re
import shutil

import pytest

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.utils.checkpoint import checkpoint
from tiny_torch.utils.viz import draw, drawing


def leaf(*shape):
    return torch.randn(shape, requires_grad=True)


def where(drawing):
    return [drawing.facts.text_of(step.at) for step in drawing.steps]


def name_of(node):
    return node.name().rpartition("::")[2]


def of_leaves(drawing):
    """{name: the gradient that arrived}."""
    return {
        drawing.leaves[step.at.number - 1].name: step.gradients[0]
        for step in drawing.steps
        if step.at.kind == "leaf"
    }


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.out = nn.Linear(3, 4), nn.Linear(4, 3)

    def forward(self, x):
        return x + self.out(torch.tanh(self.fc(x)))


GRAPHS = {
    "residual": lambda x, w: (x + (x @ w).relu()).sum(),
    "no scalar": lambda x, w: x @ w * x,
    "several outputs": lambda x, w: (lambda a, b: a * b.exp())(*(x @ w).split([1, 2], 1)),
    "broadcast": lambda x, w: (x * w[0]).mean(0),
    "in place": lambda x, w: (lambda y: y.mul_(x).add_(1))(x @ w),
    "in place through a view": lambda x, w: (lambda y: (y[0].mul_(2), y)[1])(x @ w).sum(),
    "views": lambda x, w: x.t().reshape(-1).view(9)[::2].square().sum() + w.sum(),
    "used three times": lambda x, w: x * w + x.exp() + (x @ w),
    "double": lambda x, w: (x.double() @ w.double()).sum(),
    "one input unused": lambda x, w: (x * 2).sum(),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_gradients_are_those_of_autograd_grad(name):
    x, w = leaf(3, 3), leaf(3, 3)
    y = GRAPHS[name](x, w)
    found = of_leaves(draw(y, params={"x": x, "w": w}))
    expected = torch.autograd.grad(y, (x, w), torch.ones_like(y), allow_unused=True)
    for key, gradient in zip(("x", "w"), expected, strict=True):
        assert (gradient is None) == (key not in found)
        assert gradient is None or torch.equal(found[key], gradient)
    assert x.grad is None and w.grad is None


@pytest.mark.parametrize("name", GRAPHS)
def test_the_order_and_what_comes_in_are_what_hooks_see(name):
    x, w = leaf(3, 3), leaf(3, 3)
    y = GRAPHS[name](x, w)
    picture = draw(y)
    nodes, waiting = set(), [y.grad_fn]
    while waiting:
        node = waiting.pop()
        if hasattr(node, "sequence") and node not in nodes:
            nodes.add(node)
            waiting += [target for target, _ in node.next_functions]
    ran = []
    for node in nodes:
        node.register_hook(lambda sent, came, node=node: ran.append((name_of(node), came, sent)))
    y.backward(torch.ones_like(y))
    steps = [step for step in picture.steps if step.at.kind == "op"]
    assert [picture.ops[step.at.number - 1].name for step in steps] == [name for name, _, _ in ran]
    for step, (_, came, sent) in zip(steps, ran, strict=True):
        sources = picture.ops[step.at.number - 1].sources
        sent = [g for g, source in zip(sent, sources, strict=True) if source.kind != "other"]
        mine = [send.gradient for send in step.sends]
        for ours, theirs in zip([*step.gradients, *mine], [*came, *sent], strict=True):
            assert (ours is None) == (theirs is None)
            assert ours is None or torch.equal(ours, theirs)


@pytest.mark.parametrize("lead", [(), (2,), (3, 2)])
def test_a_linear_layers_step_sends_to_each_input(lead):
    x, layer = leaf(*lead, 3), torch.nn.Linear(3, 4)
    y = layer(x).square().sum()
    picture = draw(y, params={"x": x, **dict(layer.named_parameters())})
    _, _, linear, *_ = picture.steps
    sent = {picture.facts.text_of(send.to): send.gradient for send in linear.sends}
    y.backward()
    expected = {"x": x.grad, "weight": layer.weight.grad, "bias": layer.bias.grad}
    assert sent.keys() == expected.keys()
    assert all(torch.equal(sent[name], gradient) for name, gradient in expected.items())


def test_a_step_tells_what_was_saved_what_it_sends_and_the_sum_so_far():
    x, w = torch.tensor([2.0, 3.0], requires_grad=True), torch.tensor(4.0, requires_grad=True)
    y = (x * w + x).sum()
    picture = draw(y, params={"x": x, "w": w})
    assert where(picture) == ["#3", "#2", "#1", "x", "w"]
    _, add, product, *_ = picture.steps
    assert [picture.facts.text_of(send.to) for send in add.sends] == ["#1", "x"]
    assert [(role, value.tolist()) for role, value in product.saved] == [
        ("input 0", [2.0, 3.0]), ("input 1", 4.0),
    ]  # fmt: skip
    to_x, to_w = product.sends
    assert (to_x.gradient.tolist(), to_x.total.tolist()) == ([4.0, 4.0], [5.0, 5.0])
    assert (to_w.gradient.item(), to_w.total) == (5.0, None)
    assert {k: v.tolist() for k, v in of_leaves(picture).items()} == {"w": 5.0, "x": [5.0, 5.0]}


def test_a_model_steps_through_its_parameters():
    torch.manual_seed(0)
    model = Block()
    x = torch.randn(2, 3)
    found = of_leaves(draw(model, x))
    model(x).sum().backward()
    assert found.keys() == dict(model.named_parameters()).keys()
    for name, parameter in model.named_parameters():
        assert torch.equal(found[name], parameter.grad)


def test_checkpointed_parts_run_again_and_give_the_same():
    model, x = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.Tanh()), leaf(2, 3)
    y = checkpoint(model, x, use_reentrant=False).sum()
    state = torch.get_rng_state()
    found = of_leaves(draw(y, model=model, params={"x": x}))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(found["x"], torch.autograd.grad(y, x, retain_graph=True)[0])
    y.backward()  # as if nothing had been


def test_a_reentrant_checkpoint_is_not_stepped_through_because_it_would_write_grad():
    model, x = nn.Sequential(nn.Linear(3, 3), nn.Tanh()), leaf(2, 3)
    picture = draw(checkpoint(model, x, use_reentrant=True).sum())
    assert picture.steps == [] and "use_reentrant=True" in picture.no_steps
    assert "use_reentrant=True" in str(picture)
    assert all(p.grad is None for p in [x, *model.parameters()])


def test_hooks_are_not_called_those_of_modules_either():
    calls = []
    model, x = Block(), leaf(2, 3)
    model.fc.register_full_backward_hook(lambda *_: calls.append("full"))
    model.out.register_full_backward_pre_hook(lambda *_: calls.append("pre"))
    x.register_hook(lambda gradient: calls.append("tensor"))
    x.register_post_accumulate_grad_hook(lambda tensor: calls.append("post"))
    picture = draw(model, x)
    assert calls == [] and len(of_leaves(picture)) == 5
    gates = [op for op in picture.ops if "BackwardHookFunctionBackward" in op.name]
    assert all("not called here" in op.notes[0] for op in gates) and len(gates) == 4


def test_a_value_that_was_written_since_is_an_error_in_words():
    x = leaf(3)
    h = x.exp()
    y = h * 2
    h.add_(1)
    picture = draw(y.sum() + h.sum())
    assert picture.steps == [] and "modified by an inplace operation" in picture.no_steps


def test_large_graphs_and_large_tensors_are_not_run():
    ran = []

    class Watched(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            ran.append(1)
            return grad

    y = Watched.apply(leaf(3))
    for _ in range(40):
        y = y + 1
    assert "up to 40 ops" in draw(y).no_steps
    assert "more than 1024 elements" in draw(Watched.apply(leaf(1025))).no_steps
    assert ran == []
    assert len(draw(Watched.apply(leaf(3))).steps) == 2 and ran == [1]


# ---- page and picture ----------------------------------------------------------------------------


def test_the_page_has_the_steps_and_needs_no_other_file(tmp_path):
    x = torch.tensor([1.5, 2.5], requires_grad=True)
    picture = draw((x * x).sum(), params={"x<b>": x})
    picture.to_html(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert not re.search(r"src=|https?:|@import|url\(|<b>", text)
    assert re.findall(r'id="(first|back|next|last)"', text) == ["first", "back", "next", "last"]
    steps = json.loads(re.search(r"const STEPS = (\[.*\]);", text)[1])
    assert [step["at"] for step in steps] == ["op2", "op1", "leaf1"]
    assert steps[2]["cards"] == [["is accumulated in .grad", [["x<b>", "[3., 5.]"]]]]
    assert all(f'id="{step["at"]}"' in text for step in steps)


def test_a_large_models_page_is_folded_by_module_and_small(tmp_path):
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    picture = draw(nn.TransformerEncoder(layer, 12), torch.randn(2, 5, 32))
    picture.to_html(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "<details" in text and "times more" in text and "STEPS" not in text
    assert len(text) < 200_000


def test_a_notebook_shows_the_page_in_a_frame():
    picture = draw(leaf(2).exp())
    frame = picture._repr_html_()
    inner = html.unescape(re.search(r'srcdoc="([^"]*)"', frame)[1])
    assert inner.startswith("<!doctype html>") and "ExpBackward0" in inner


def test_without_dot_the_error_says_what_works(tmp_path, monkeypatch):
    monkeypatch.setattr(drawing.dot.shutil, "which", lambda name: None)
    with pytest.raises(RuntimeError, match=r"`dot`.*to_text\(\) and to_html\(\) work without"):
        draw(leaf(2).exp()).to_svg(tmp_path / "graph.svg")
    assert list(tmp_path.iterdir()) == []


def test_dots_language_has_a_box_per_op_and_a_frame_per_module():
    text = "\n".join(drawing.dot.Boxes(draw(Block(), torch.ones(1, 3)).facts).lines())
    assert text.count("{") == text.count("}") == 3 and 'label="fc"' in text
    assert len(re.findall(r'^  "op\d+" \[', text, re.M)) == 4
    assert '"op1" -> "op2"' in text and 'leaf1 [label="fc.weight\\n(4, 3) float32"' in text
    model = nn.Sequential(*[Block() for _ in range(120)])
    text = "\n".join(drawing.dot.Boxes(draw(model, torch.ones(1, 3)).facts).lines())
    assert len(re.findall(r'^  "module [^"]*" \[', text, re.M)) <= 400
    y = leaf(2)
    for _ in range(401):
        y = y + 1
    with pytest.raises(ValueError, match="401 ops are too many"):
        drawing.dot.Boxes(draw(y).facts)


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_dot_draws_it(tmp_path):
    draw(Block(), torch.ones(1, 3)).to_svg(tmp_path / "graph.svg")
    text = (tmp_path / "graph.svg").read_text()
    assert "<svg" in text and "TanhBackward0" in text and "fc.weight" in text


def test_a_page_that_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "taken").mkdir()
    picture = draw(leaf(2).exp())
    for path, error in (
        (tmp_path / "no" / "page.html", FileNotFoundError),
        (tmp_path / "taken", OSError),
    ):
        with pytest.raises(error):
            picture.to_html(path)
    assert [p.name for p in tmp_path.iterdir()] == ["taken"]
