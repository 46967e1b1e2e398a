"""A KeyboardInterrupt at any bytecode, of ours or of the program's, leaves modes as they were.

A trace function raises at the k-th bytecode that a block of code runs, for many k; afterwards every
mode is what it was before. The block's own `with` statements are interrupted, too, up to the one
that calls a mode's function: between that call and the `with`, no library can help.
"""

# ruff: noqa: E501 -- a block is one line

from __future__ import annotations

import os
import sys
import warnings
from importlib.util import find_spec

import pytest

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.amp import state as amp
from tiny_torch.autograd import accumulate, record
from tiny_torch.base.devices import default
from tiny_torch.base.modes import modes, thread
from tiny_torch.functions.nn.attention import _allowed
from tiny_torch.nn.utils import parametrize
from tiny_torch.utils.checkpoint import calls, checkpoint, selective  # noqa: F401
from tiny_torch.utils.memory.recording import Recording

OURS = os.path.dirname(torch.__file__)

x = torch.ones(2, 2, requires_grad=True)
layer = torch.nn.Linear(2, 2)
hooked = torch.nn.Linear(2, 2)
hooked.register_full_backward_hook(lambda *_: None)
hooked.weight.register_hook(lambda grad: grad * 1)
hooked.weight.register_post_accumulate_grad_hook(lambda p: None)
weighted = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
normed = torch.nn.BatchNorm1d(2)
sgd = torch.optim.SGD(layer.parameters(), 0.1)


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


@torch.no_grad()
def decorated(x):
    return x * 2


@torch.autocast("cpu")
def cast(x):
    return x @ x


@torch.no_grad()
def generated(x):
    yield x * 2


BLOCKS = {
    "no_grad": "with torch.no_grad(): x * 2",
    "enable_grad": "with torch.no_grad(), torch.enable_grad(): x * 2",
    "inference_mode": "with torch.inference_mode(): x * 2",
    "inference_mode(False)": "with torch.inference_mode(), torch.inference_mode(False): x * 2",
    "decorators": "decorated(x), list(generated(x)), cast(x)",
    "autocast": "with torch.autocast('cpu'): layer(x)",
    "nested autocast": "with torch.autocast('cpu', log=True), torch.autocast('cpu', torch.float16), torch.autocast('cpu', enabled=False): layer(x)",
    "detect_anomaly": "with torch.autograd.detect_anomaly(): layer(x).sum().backward()",
    "saved_tensors_hooks": "with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t * 1): layer(x).exp().sum().backward()",
    "save_on_cpu": "with torch.autograd.graph.save_on_cpu(): x.exp()",
    "autograd.profile": "with torch.autograd.profiler.profile(with_modules=True): layer(x)",
    "profile": "with torch.profiler.profile(with_modules=True): layer(x)",
    "steps of a profile": "with torch.profiler.profile(schedule=lambda step: torch.profiler.ProfilerAction.RECORD) as p: layer(x), p.step()",
    "record_function": "with torch.profiler.record_function('a'): layer(x)",
    "device": "with torch.device('meta'): torch.ones(2)",
    "sdpa_kernel": "with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH): torch.nn.functional.scaled_dot_product_attention(x, x, x)",
    "parametrize.cached": "with parametrize.cached(): weighted(x)",
    "fork_rng": "with torch.random.fork_rng(): torch.rand(1)",
    "checkpoint": "checkpoint(layer, x, use_reentrant=False).sum().backward()",
    "checkpoint under autocast": "with torch.autocast('cpu'): y = checkpoint(layer, x, use_reentrant=False).sum()\ny.backward()",
    "reentrant checkpoint": "checkpoint(layer, x, use_reentrant=True).sum().backward()",
    "selective checkpoint": "with selective(): checkpoint(layer, x, use_reentrant=False).sum().backward()",
    "switches of checkpoints": "with calls.set_checkpoint_early_stop(False), calls.set_checkpoint_debug_enabled(True): x",
    "safe_globals": "with torch.serialization.safe_globals([set]): x",
    "backward": "hooked(x).sum().backward()",
    "create_graph": "g, = torch.autograd.grad(Twice.apply(x).exp().sum(), x, create_graph=True)\ng.sum().backward()",
    "functional_call": "torch.func.functional_call(layer, {'weight': x}, x)",
    "func.grad": "torch.func.grad(lambda x: (x * x).sum())(x)",
    "func.vmap": "torch.func.vmap(torch.func.grad(lambda x: (x * x).sum()))(x)",
    "func.jacrev": "torch.func.jacrev(torch.exp)(x)",
    "a step": "layer(x).sum().backward()\nsgd.step()\nsgd.zero_grad()",
}  # fmt: skip
if find_spec("onnx"):
    BLOCKS["eval and a graph"] = "torch.onnx.export(normed, (torch.ones(2, 2),), '/dev/null')"


def everything():
    """All that a mode of ours may change."""
    return (
        modes.bits, modes.op_modes, modes.watched if modes.op_modes else None, thread.saved_hooks,
        thread.check_nan, thread.running, thread.origins, thread.checkpoint_contexts,
        thread.see_node, default.device, _allowed.backends, _core.get_default_dtype(),
        frozenset(amp.state.enabled), dict(amp.state.dtypes), amp.state.cache_enabled,
        amp.state.nesting, len(amp.state.logs), amp.state.mode.sees if amp.state.enabled else None,
        parametrize.cached._depth, torch.serialization.get_safe_globals(),
        calls.Everywhere.early_stop, calls.Everywhere.debug, len(record._watching),
        torch.nn.Module.__call__, Recording.running, id(layer.weight), len(layer._forward_hooks),
        normed.training, torch.ones(1).is_inference(), torch.ones(1).device.type,
        torch.get_rng_state().sum().item(), torch.Tensor.item,
    )  # fmt: skip


class Interrupt:
    """Raises KeyboardInterrupt at the k-th bytecode of the block's and our frames."""

    def __init__(self, at):
        self.left = at
        self.where = None

    def __call__(self, frame, event, argument):
        name = frame.f_code.co_filename
        if name == "<block>" or name.startswith(OURS):
            frame.f_trace_opcodes = True
            frame.f_trace_lines = False
            return self.opcode
        return None

    def opcode(self, frame, event, argument):
        if event == "opcode":
            self.left -= 1
            if self.left == 0:
                self.where = f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}"
                raise KeyboardInterrupt
        return self.opcode


def run(code, at):
    """Runs the block, interrupted at a bytecode; 0: not at all."""
    interrupt = Interrupt(at)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.settrace(interrupt)
        try:
            exec(code, dict(globals()))
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
            # A trace function, unlike a signal, can raise between a `with` and its exit's call: the
            # lock would be held for ever, and a backward of another test's threads wait for it.
            accumulate.renew_lock()
    return interrupt


def bytecodes(code):
    """How many bytecodes the block runs, once its caches are filled."""
    for _ in range(3):
        counter = run(code, 0)
    return -counter.left


def leaks(name, most):
    """Where an interrupt has changed a mode, at `most` places, evenly spread over the block."""
    code = compile(BLOCKS[name], "<block>", "exec")
    count = bytecodes(code)
    torch.manual_seed(0)
    before = everything()
    found = []
    for at in range(1, count, max(1, count // most)):
        where = run(code, at).where
        torch.manual_seed(0)
        after = everything()
        if after != before:
            pairs = zip(before, after, strict=True)
            found.append((at, where, [i for i, (a, b) in enumerate(pairs) if a != b]))
            break  # what follows may be wrong because of this
    return found


@pytest.mark.parametrize("name", BLOCKS)
def test_modes_are_as_they_were(name):
    assert leaks(name, 60) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCKS)
def test_modes_are_as_they_were_at_every_bytecode(name):
    assert leaks(name, 20_000) == []
