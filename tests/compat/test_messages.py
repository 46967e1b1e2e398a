"""What errors say: the texts that people search for are PyTorch's, word for word.

Ours may go on, in brackets, with what it saw.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tiny_torch
from tiny_torch.nn import functional as F

ERRORS = """
torch.ones(3, 4) @ torch.ones(5, 3)
torch.ones(3) @ torch.ones(4, 2)
torch.ones(2, 3, 4) @ torch.ones(5, 3)
torch.ones(2, 3, 4) @ torch.ones(3)
torch.ones(3) @ torch.ones(4)
torch.ones(2, 3, 4) @ torch.ones(3, 4, 5)
torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 5, 3))
torch.bmm(torch.ones(2, 3, 4), torch.ones(3, 4, 3))
torch.bmm(torch.ones(3, 4), torch.ones(2, 4, 3))
torch.mm(torch.ones(3), torch.ones(3, 4))
torch.mm(torch.ones(3, 4), torch.ones(4, 4).double())
torch.mv(torch.ones(3), torch.ones(3))
torch.dot(torch.ones(3, 1), torch.ones(3))
torch.ones(2, 3, 4) @ torch.ones(2, 4, 4).double()
nn.Linear(6, 4)(torch.ones(2, 3, 5))
nn.Linear(6, 4)(torch.ones(5))
nn.Linear(6, 4)(torch.ones(3, 6, dtype=torch.int64))
nn.Linear(6, 4)(torch.ones(3, 6, dtype=torch.float64))
F.linear(torch.ones(2, 6), torch.ones(4, 6), torch.ones(3))
F.linear(torch.ones(2, 6).long(), torch.ones(4, 6))
torch.ones(3) + torch.ones(4)
torch.ones(3, 4) + torch.ones(4, 3)
torch.ones(3, 4).expand(2, 3)
torch.ones(3, 4).masked_fill(torch.ones(4, 3) > 0, 1)
torch.ones(3, 4).masked_fill(torch.ones(3, 4), 1)
torch.ones(3).add_(torch.ones(2, 3))
torch.ones(3, dtype=torch.int64).add_(1.5)
torch.where(torch.ones(3), torch.ones(3), torch.ones(3))
torch.allclose(torch.ones(2), torch.ones(2).double())
torch.arange(3).mean()
torch.arange(3).softmax(0)
torch.arange(3).norm()
torch.tensor([1.0]) & 1
torch.bincount(torch.tensor([1.0]))
torch.ones(0, 3).max(0)
torch.ones(0, 3).argmax(0)
torch.ones(0, 0).min(0)
torch.tensor([]).argmax()
torch.tensor(1.0).unflatten(3, (1, -1))
torch.ones(3).long()[torch.tensor([0])] = torch.ones(1)
torch.ones(3).masked_scatter(torch.ones(3) > 0, torch.ones(3).long())
F.cross_entropy(torch.ones(3, 4), torch.tensor([0.0, 1, 2]))
F.cross_entropy(torch.ones(3, 4), torch.tensor([0, 1, 2], dtype=torch.int32))
F.cross_entropy(torch.ones(3, 4), torch.tensor([0, 1, 4]))
F.cross_entropy(torch.ones(3, 4), torch.tensor([0, 1]))
F.binary_cross_entropy(torch.ones(3), torch.ones(3, dtype=torch.int64))
F.binary_cross_entropy_with_logits(torch.ones(3), torch.ones(3, dtype=torch.int64))
F.embedding(torch.tensor([5]), torch.ones(5, 3))
F.embedding(torch.tensor([-1]), torch.ones(5, 3))
F.embedding(torch.tensor([1.0]), torch.ones(5, 3))
nn.Conv2d(3, 8, 3)(torch.ones(1, 1, 8, 8))
nn.Conv2d(3, 8, 3)(torch.ones(1, 3, 2, 2))
nn.Conv1d(3, 8, 4, dilation=3, padding=1)(torch.ones(1, 3, 2))
nn.Conv2d(3, 8, 3)(torch.ones(1, 3, 8, 8).double())
nn.Conv2d(3, 8, 3)(torch.ones(1, 3, 8, 8, dtype=torch.uint8))
nn.Conv2d(3, 8, 3, groups=2)
F.conv2d(torch.ones(1, 1, 4, 4), torch.ones(1, 1, 0, 2))
F.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 0))
F.conv3d(torch.ones(1, 1, 4, 4, 4), torch.ones(1, 1, 2, 0, 1))
F.conv_transpose2d(torch.ones(1, 1, 4, 4), torch.ones(1, 1, 0, 0))
nn.Conv2d()
nn.ConvTranspose1d(1)
nn.ReLU(1, 2)
nn.Softmax(1, 2)
nn.ReflectionPad2d()
nn.GRU(3, 4, proj_size=2)
nn.RNN(3, 4, proj_size=0)
torch.cat(torch.ones(2), torch.ones(2))
torch.stack(torch.ones(2), torch.ones(2))
torch.linalg.cholesky(-torch.eye(3))
torch.linalg.cholesky(torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 0, -1]]))
torch.linalg.cholesky(torch.stack([torch.eye(2), torch.tensor([[1.0, 0], [0, -1]])]))
nn.Conv2d(3, 7, 3, groups=3)
nn.BatchNorm1d(4)(torch.ones(1, 4))
nn.MaxPool2d(3)(torch.ones(1, 5, 2, 3))
nn.Unflatten(1, (2, 3))(torch.ones(2, 5))
torch.multinomial(torch.tensor([0.0, 0.0]), 1)
torch.multinomial(torch.tensor([1.0, -1.0]), 1)
torch.multinomial(torch.tensor([1.0, 1.0]), 3)
torch.multinomial(torch.ones(2, 2, 2), 1)
torch.multinomial(torch.ones(2, dtype=torch.int64), 1)
a = torch.ones(3, requires_grad=True); a.grad = torch.ones(3).double()
torch.group_norm(torch.ones(2, 4), 0)
F.group_norm(torch.ones(2, 4), 0)
F.group_norm(torch.ones(2, 4), 2**64)
nn.utils.rnn.pad_sequence([torch.ones(2), 5])
nn.utils.rnn.pad_sequence(5)
torch.index_select(torch.ones(2, 0), 0, torch.tensor([5]))
torch.index_select(torch.ones(0, 2), 1, torch.tensor([-1]))
torch.index_select(torch.ones(0), 0, torch.tensor([0]))
torch.index_select(torch.ones(0, 3), 0, torch.tensor([0]))
F.embedding(torch.tensor([7]), torch.ones(5, 0))
torch.gather(torch.ones(0, 2), 0, torch.zeros(1, 2).long())
torch.take(torch.ones(0), torch.tensor([0]))
nn.utils.weight_norm(nn.Linear(2, 3), dim=4)
nn.utils.parametrizations.weight_norm(nn.Linear(2, 3), dim=4)
F.scaled_dot_product_attention(*[torch.ones(1, 3, 3)] * 3, torch.ones(3, 3), is_causal=True)
F.scaled_dot_product_attention(*[torch.ones(1, 3, 3)] * 3, torch.ones(3, 3) > 0, 0.5, True)
F.scaled_dot_product_attention(*[torch.ones(1, 1, 3, 3)] * 3, torch.tensor(1.0))
F.scaled_dot_product_attention(*[torch.ones(1, 1, 3, 3)] * 3, torch.ones(3))
torch.ones(()).size(0)
torch.ones(3).size(4)
torch.ones(3).stride(4)
torch.bernoulli(torch.ones(3, requires_grad=True), out=torch.zeros(3))
torch.exp(torch.ones(3), torch.ones(3))
torch.exp(torch.ones(3), dim=3)
torch.exp()
torch.gather(torch.ones(3), 0, torch.tensor([0]), 7)
torch.gather(torch.ones(3), 0, index=torch.tensor([0]), dim=1)
torch.gather(3, 0, torch.tensor([0]))
torch.gather(torch.ones(3), 0)
torch.index_select(torch.ones(3))
torch.index_select(torch.ones(3), 0, 5)
torch.index_select(torch.ones(3), 2**64, torch.tensor([0]))
torch.index_select(torch.ones(3), True, torch.tensor([0]))
torch.topk(torch.ones(3), 2**64)
torch.topk(torch.ones(3), "a")
torch.topk(torch.ones(3), k=True)
torch.amax(torch.ones(3), "a")
torch.amax(torch.ones(3), 2**64)
torch.randperm(2**64)
torch.randint(2**64, (2,))
torch.ones(3).random_(2**64)
torch.multinomial(torch.ones(3), 2**64)
torch.multinomial(torch.ones(3), 2, out=5)
torch.combinations(torch.ones(3), 2**64)
torch.tensor_split(torch.ones(3), 2**64)
torch.histc(torch.ones(3), "a")
torch.allclose(torch.ones(3), torch.ones(3), rtol=None)
torch.chunk(5, 2)
torch.reshape(5, (2,))
torch.squeeze(5)
torch.unbind(5)
torch.transpose(torch.ones(3), 0, [])
torch.cdist(torch.ones(3), 5)
torch.bincount("a")
torch.diag(None)
torch.full((3,), 1, device=np.ones(2))
torch.add(1, "a")
torch.add(1, None)
torch.add(2**64, 1)
torch.add(2**64, torch.ones(3))
torch.add(np.ones(3), torch.ones(3))
torch.add(torch.ones(3), torch.ones(3), 2)
torch.mul("a", 1)
torch.maximum(torch.ones(3), 5)
torch.ones(3).add_("a")
torch.ones(3).mul(None)
torch.ones(3).put_(5, torch.ones(3))
torch.ones(3).put_(torch.tensor([0]), 5)
torch.ones(3).size("a")
torch.ones(3).stride("a")
torch.ones(3).transpose("a", 0)
torch.ones(3).flatten("a")
torch.ones(3).expand("a")
torch.ones(3).permute(None)
torch.ones(3).repeat("a")
torch.ones(3).unfold("a", 1, 1)
torch.ones(3).scatter_add_(0, 5, torch.ones(3))
torch.ones(3).index_add_(0, 5, torch.ones(3))
x = torch.ones(3); x += "a"
x = torch.ones(3); x **= None
torch.ones(3) - None
[] * torch.ones(3)
torch.ones(3) + int
torch.ones(3, dtype=torch.int64) ^ float
torch.ones(3) < np.str_("a")
torch.add(torch.ones(3), int)
torch.split(0, [2, 2, 4], torch.ones(2))
torch.split([2, 3], torch.ones(2))
torch.split(torch.ones(3), [2, 2])
nn.LayerNorm(4, eps=torch.ones(1))(torch.ones(2, 4))
nn.RMSNorm(4, eps=torch.ones(4))(torch.ones(2, 4))
nn.GroupNorm(2, 4, eps="a")(torch.ones(2, 4))
nn.BatchNorm1d(4, momentum=torch.ones(2))(torch.ones(2, 4))
nn.BatchNorm1d(4, momentum=torch.ones(2)).eval()(torch.ones(2, 4))
nn.InstanceNorm1d(4, momentum=torch.ones(1))(torch.ones(2, 4, 3))
F.multilabel_soft_margin_loss(torch.ones(3, 4), torch.ones(3, 4), int, reduction="sum")
nn.utils.rnn.unpad_sequence(torch.ones(3, 1), np.array(["a"]))
nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5], div_value=0.0)
nn.Parameter(5)
nn.Parameter([1.0], requires_grad=False)
""".strip().split("\n")


def message(module, program):
    names = {"torch": module, "nn": module.nn, "F": module.nn.functional, "np": np}
    try:
        exec(program, names)
    except Exception as error:
        return type(error).__name__, str(error)
    return "nothing", ""


# PyTorch has several signatures of these, and lists them.
OVERLOADED = """
torch.add(torch.ones(3))
torch.sum(torch.ones(3), "a")
torch.max(torch.ones(3), "a")
torch.squeeze(torch.ones(3), "a")
torch.where(5, torch.ones(3), torch.ones(3))
torch.lerp(torch.ones(3), torch.ones(3), "a")
torch.clamp(torch.ones(3), "a")
torch.pow("a", torch.ones(3))
torch.pow(2, 3)
torch.eq(1, 2)
torch.eq(torch.ones(3), None)
torch.atleast_2d(5)
torch.randn(3, out=5)
torch.narrow(5, 0, 0, 1)
torch.std(torch.ones(3), "a")
torch.median(torch.ones(3), "a", True)
torch.repeat_interleave(5, 2)
torch.masked_fill(5, torch.ones(3) > 0, 1)
torch.ones(3).add_()
torch.ones(3).pow_("a")
torch.ones(3).clamp_("a")
torch.ones(3).scatter_(0, 5, 5)
torch.ones(3).sort("a")
torch.linspace("a", 1, 3)
torch.roll(torch.ones(3), "a")
torch.normal(5, "a", (2,))
torch.linalg.norm(5)
torch.linalg.cond(torch.ones(3, 3), out=5)
""".strip().split("\n")


@pytest.mark.parametrize("program", OVERLOADED)
def test_messages_of_several_signatures(oracle, program):
    kind, text = message(tiny_torch, program)
    assert (kind, message(oracle, program)[0]) == ("TypeError", "TypeError")
    name = text.split("(")[0]
    assert f".{name}" in program and text[len(name) :].startswith("()"), text
    assert any(word in text for word in ("must be", "missing", "combination of arguments"))


WRONG_NUMBERS = {
    "elu": lambda x, wrong: F.elu(x, wrong),
    "gelu": lambda x, wrong: F.gelu(x, approximate=wrong),
    "leaky_relu": lambda x, wrong: F.leaky_relu(x, wrong),
    "margin_ranking_loss": lambda x, wrong: tiny_torch.margin_ranking_loss(x, x, x, margin=wrong),
    "roll": lambda x, wrong: x.roll(wrong),
    "select": lambda x, wrong: x.select(0, wrong),
}


@pytest.mark.parametrize("name", WRONG_NUMBERS)
def test_no_message_speaks_of_arrays(name):
    """An op's own checks meet arrays, the caller gave tensors."""
    with pytest.raises(TypeError, match=rf"^{name}\(\)") as caught:
        WRONG_NUMBERS[name](tiny_torch.ones(2, 3), object())
    assert "rray" not in str(caught.value)


def test_messages_of_a_function_that_was_given():
    """What it raises is not explained away."""

    def distance(x, y):
        raise AttributeError("mine")

    a = tiny_torch.ones(2, 3)
    with pytest.raises(AttributeError, match=r"^mine$"):
        tiny_torch.nn.functional.triplet_margin_with_distance_loss(
            a, a, a, distance_function=distance
        )
    with pytest.raises(AttributeError, match=r"^mine$"):
        tiny_torch.func.grad(lambda x: distance(x, x))(a)


@pytest.mark.parametrize("program", ERRORS)
def test_messages(oracle, program):
    kind, text = message(tiny_torch, program)
    wanted_kind, wanted = message(oracle, program)
    assert kind == wanted_kind != "nothing"
    if "grad_dtype" in text:  # of which there is none here: the rest would not help
        wanted = wanted[: len(text)]
    assert text.startswith(wanted)
    assert text[len(wanted) :] == "" or text[len(wanted) :].startswith((" (", " Specify"))


NAMES = """
type(torch.ones(1))
type(torch.float32)
type(torch.device('cpu'))
type(torch.Size([1]))
type(torch.finfo(torch.float32))
type(torch.nn.Parameter(torch.ones(1)))
[torch.Tensor, torch.Size]
""".strip().split("\n")


@pytest.mark.parametrize("expression", NAMES)
def test_types_print_where_they_are_public(oracle, expression):
    ours = str(eval(expression, {"torch": tiny_torch}))
    assert ours.replace("tiny_torch", "torch") == str(eval(expression, {"torch": oracle}))


@pytest.mark.parametrize("name", sorted(tiny_torch.nn.modules.__all__))
def test_constructors_name_their_class(name):
    made = getattr(tiny_torch.nn, name)
    if isinstance(made, type) and issubclass(made, tiny_torch.nn.Module):
        assert made.__init__.__qualname__ == f"{name}.__init__"


WITHOUT_FREEDOM = """
torch.ones(1).std()
torch.ones(2, 1).var(1)
torch.ones(2, 1).var(1, unbiased=False)
torch.ones(2, 0).var(1, keepdim=True)
torch.ones(0, 3).var(1)
torch.ones(3).std(correction=4)
torch.ones(2, 3).var(1, correction=2.5)
torch.var_mean(torch.ones(1, 1), 0)
torch.std_mean(torch.ones(1))
""".strip().split("\n")


@pytest.mark.parametrize("expression", WITHOUT_FREEDOM)
def test_var_and_std_warn_of_degrees_of_freedom(oracle, expression):
    texts = []
    for torch in (tiny_torch, oracle):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            eval(expression, {"torch": torch})
        texts.append([str(warning.message).split(" (Triggered")[0] for warning in caught])
    assert texts[0] == texts[1]
