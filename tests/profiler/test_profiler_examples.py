"""The profiler's examples in PyTorch's docstrings, run under tiny_torch."""

from __future__ import annotations

import doctest
import re
import textwrap

import pytest
from tiny_torch.profiler import profiler as ours

import tiny_torch as torch

theirs = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def blocks(thing):
    """What is indented behind a line that ends in "::", or behind a code-block."""
    text = textwrap.dedent(re.sub(r"\A[^\n]*\n", "", thing.__doc__))
    found = re.split(r"(?m)^[^\n]*::(?: python)?\n\n", text)[1:]
    return [textwrap.dedent(re.split(r"(?m)^(?=\S)", part)[0]) for part in found]


def prompts(thing):
    """The lines behind ">>>", where the docstring's own blocks go on with ">>>", too."""
    lines = [line.strip() for line in thing.__doc__.splitlines()]
    found = [line[4:] for line in lines if line.startswith((">>> ", "... "))]
    return "\n".join(line for line in found if "xdoctest" not in line)


def executed(text, **names):
    text = re.sub(r"(?m)^(\s*)import torch$", r"\1import tiny_torch as torch", text)
    text = re.sub(r"(?m)^(\s*from )torch\b", r"\1tiny_torch", text)
    space = {"torch": torch, **names}
    exec(text, space)
    return space


def code(*ignored):
    w = torch.ones(4, 4, requires_grad=True)
    (torch.ones(2, 4) @ w).relu().sum().backward()


def test_there_are_examples():
    # of the three blocks of `profile`, one has an ellipsis in the place of arguments
    assert len(blocks(theirs.profiler.profile)) == 3
    assert len(blocks(theirs.autograd.profiler_util.EventList)) == 1


@pytest.mark.filterwarnings("ignore:CUDA is not available")
def test_of_profile(capsys):
    executed(blocks(theirs.profiler.profile)[0], code_to_profile=code)
    assert "aten::mm" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:CUDA is not available")
def test_of_schedules(capsys):
    text = blocks(theirs.profiler.profile)[1]
    space = executed(text, N=6, code_iteration_to_profile=code)
    out = capsys.readouterr().out
    assert out.count("Self CPU time total") == 1  # one cycle of two steps
    assert "ProfilerStep*" in out and space["p"].step_num == 6
    assert isinstance(space["p"], ours.profile)


def test_of_event_lists(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (text,) = blocks(theirs.autograd.profiler_util.EventList)
    text = text.replace("profile(activities=[ProfilerActivity.CPU])",
                        "profile(activities=[ProfilerActivity.CPU], with_stack=True)")  # fmt: skip
    executed(text)
    assert "aten::m" in capsys.readouterr().out
    assert (tmp_path / "trace.json").exists() and (tmp_path / "stacks.txt").exists()


@pytest.mark.parametrize("name", ["profile", "record_function"])
def test_of_the_older_profiler(name, capsys):
    executed(prompts(getattr(theirs.autograd.profiler, name)))
    out = capsys.readouterr().out
    for shown in ("aten::pow", "PowBackward0", "torch::autograd::AccumulateGrad"):
        assert shown in out, out
    assert ("label-z" in out) is (name == "record_function")


def test_our_own():
    modules = (torch.profiler.profiler, torch.profiler.schedules, torch.autograd.profiler,
               torch.autograd.profiler_util)  # fmt: skip
    for module in modules:
        failed, count = doctest.testmod(module)
        assert failed == 0 and count > 0, module
