"""What errors say: the texts that people search for are PyTorch's, word for word.

Ours may go on, in brackets, with what it saw.
"""

from __future__ import annotations

import pytest

import tiny_torch

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
""".strip().split("\n")


def message(module, program):
    names = {"torch": module, "nn": module.nn, "F": module.nn.functional}
    try:
        exec(program, names)
    except Exception as error:
        return type(error).__name__, str(error)
    return "nothing", ""


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
