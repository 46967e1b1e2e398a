"""Ctrl-C in the middle of a kernel that takes long."""

# ruff: noqa: E501 -- a call is one line

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

LONG = {
    "a sum": "torch.ones(1).expand(2**38).sum()",
    "sums of columns": "torch.ones(1, 1).expand(2**25, 2**12).sum(0)",
    "an extreme": "torch.ones(1, 1).expand(2**25, 2**12).argmax(1)",
    "an elementwise op": "torch.ones(1, dtype=torch.float64).expand(2**29).lgamma()",
    "a matrix product": "torch.ones(1).expand(2**14, 2**14) @ torch.ones(1).expand(2**14, 2**14)",
    "a product of integers": "I.expand(2**13, 2**13) @ I.expand(2**13, 2**13)",
    "a convolution": "F.conv2d(ones(1, 64, 2048, 2048), ones(64, 64, 9, 9))",
    "a convolution of integers": "F.conv2d(I.expand(1, 1, 999, 999), I.expand(1, 1, 99, 99))",
    "attention": "F.scaled_dot_product_attention(*[ones(1, 1, 2**17, 64)] * 3)",
    "softmax": "torch.ones(1).expand(2**17, 2**12).softmax(1)",
    "draws": "torch.multinomial(torch.ones(99), 2**28, True)",
    "random numbers": "torch.empty(2**28).exponential_()",
    "a permutation": "torch.randperm(2**26)",
    "many sorts": "torch.ones(1).expand(2**17, 2**10).sort()",
    "indexing": "torch.ones(2**20).index_select(0, torch.zeros(1).long().expand(2**28))",
    "a recurrent layer": "torch.nn.LSTM(1, 2048)(torch.zeros(600, 32, 1))",
    "one of few rows": "torch.nn.RNN(1, 4096)(torch.zeros(6000, 1, 1))",
    "CTC": "F.ctc_loss(ones(2000, 64, 9).log_softmax(2), I.expand(64, 499), (2000,) * 64, (499,) * 64)",
}  # fmt: skip

CHILD = """
import math, os, signal, threading, time
import tiny_torch as torch
from tiny_torch.nn import functional as F

torch.set_num_threads(2)

def ones(*shape):
    return torch.ones(1).expand(*shape)

I = torch.ones(1, dtype=torch.int64)

def after(seconds):
    parent = os.getpid()
    if os.fork() == 0:
        time.sleep(seconds)
        os.kill(parent, signal.SIGINT)
        os._exit(0)
"""


def run(text):
    code = CHILD + textwrap.dedent(text)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("name", LONG)
def test_a_kernel_ends_soon(name):
    text = f"""
    began = time.process_time()
    after(0.3)
    try:
        {LONG[name]}
        print("it was done before")
    except KeyboardInterrupt:
        print(time.process_time() - began)
    torch.ones(3).sum()
    """
    # Of all threads: nearly a second before the signal, if there are processors enough.
    assert float(run(text)) < 3


def test_a_chain_of_a_program_ends_soon():
    text = """
    def function(x):
        for _ in range(60):
            x = torch.lgamma(x + 1)
        return x

    compiled = torch.compile(function, fullgraph=True)
    x = torch.rand(2**21, dtype=torch.float64)
    compiled(x)
    began = time.process_time()
    after(0.1)
    try:
        while True:
            compiled(x)
    except KeyboardInterrupt:
        print(time.process_time() - began)
    assert compiled(x).equal(function(x))
    """
    assert float(run(text)) < 3


def test_what_was_written_in_part_is_stale():
    text = """
    x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    y = x.expand(2**25).exp()
    after(0.05)
    try:
        y.detach().exponential_()
    except KeyboardInterrupt:
        print("whole" if y[-1].item() != math.e else "in part")
    try:
        y.sum().backward()
    except RuntimeError as error:
        print("modified by an inplace operation" in str(error))
    """
    assert run(text).split("\n") == ["in part", "True"]


def test_the_generator_goes_on():
    text = """
    after(0.3)
    try:
        torch.randperm(2**26)
    except KeyboardInterrupt:
        torch.manual_seed(1)
        print(torch.rand(2000)[-1] < 1)
    """
    assert run(text) == "tensor(True)"


def test_a_handler_runs_when_the_kernel_is_done():
    text = """
    signal.signal(signal.SIGINT, lambda *_: print("handled"))
    after(0.1)
    print(torch.ones(1).expand(2**34).sum().item())
    """
    assert run(text).splitlines() == ["handled", f"{2.0**34}"]


def test_a_handler_draws_while_numbers_are_drawn():
    """Both signals wait; the kernel looks for Ctrl-C while it has the generator's lock."""
    text = """
    signal.signal(signal.SIGALRM, lambda *_: torch.rand(3))
    signal.signal(signal.SIGINT, lambda *_: torch.rand(3))
    after(0.2)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.01)
    torch.empty(2**26).exponential_(), torch.randperm(2**23)
    signal.setitimer(signal.ITIMER_REAL, 0)
    print("drawn")
    """
    assert run(text) == "drawn"


def test_another_thread_is_not_stopped():
    text = """
    found = []
    worker = threading.Thread(target=lambda: found.append(ones(2**31).sum().item()))
    worker.start()
    try:
        after(0.1)
        time.sleep(1)
    except KeyboardInterrupt:
        worker.join()
        print(found)
    """
    assert run(text) == f"[{2.0**31}]"


# ------------------------------------------------- backward in a handler, a callback, a destructor

WITHIN = {
    "a handler": """
        signal.signal(signal.SIGALRM, backward)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        """,
    "a trace function": """
        def trace(frame, event, argument):
            if event == "call" and "tiny_torch" in frame.f_code.co_filename and not running:
                backward()
            return None
        sys.settrace(trace)
        """,
    "a collector's callback": """
        import gc
        gc.callbacks.append(backward)
        gc.set_threshold(1)
        """,
    "a destructor": """
        class Dying:
            def __del__(self):
                backward()
        made = torch.nn.Linear.forward
        torch.nn.Linear.forward = lambda self, x: (Dying(), made(self, x))[1]
        """,
}  # fmt: skip


@pytest.mark.parametrize("name", WITHIN)
def test_a_backward_within_a_backward(name):
    """It neither waits for the one that it interrupts, nor sees its modes; nothing is lost."""
    text = f"""
    import sys
    layer = torch.nn.Linear(8, 1, bias=False)
    w, x = layer.weight, torch.ones(4, 8)
    running, done, outer = [], [0], 0

    def backward(*_):
        if running:
            return
        running.append(1)
        layer_ = w.mul(1.0)
        assert layer_.requires_grad
        layer_.sum().backward()
        done[0] += 1
        running.clear()

    {textwrap.indent(textwrap.dedent(WITHIN[name]), "    ").strip()}
    until = time.monotonic() + 0.5
    while time.monotonic() < until and done[0] < 200:
        layer(x).sum().backward()
        outer += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    sys.settrace(None)
    running.append(1)
    assert done[0] > 3, done
    assert (w.grad == 4 * outer + done[0]).all(), (w.grad, outer, done)
    print("whole")
    """
    assert run(text) == "whole"
