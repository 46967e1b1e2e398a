"""detect_anomaly: which op's gradient went wrong, and where in the program it was made."""

from __future__ import annotations

import warnings

import pytest
from helpers import leaf

import tiny_torch


def warned(function):
    """(the exception or None, the texts of the warnings)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            function()
            error = None
        except Exception as exception:
            error = exception
    assert all(w.category is UserWarning for w in caught)
    return error, [str(w.message) for w in caught]


def test_nan_is_traced_to_the_line_of_forward(torch):
    def program():
        with torch.autograd.detect_anomaly():
            y = leaf(torch, -1.0).sqrt()  # this line
            (y * 0).backward()

    error, texts = warned(program)
    assert type(error) is RuntimeError
    first = "Function 'SqrtBackward0' returned nan values in its 0th output."
    assert str(error).partition("\n")[0] == first
    assert len(texts) == 2 and texts[0].startswith("Anomaly Detection has been enabled.")
    assert texts[1].startswith(
        "Error detected in SqrtBackward0. Traceback of forward call that caused the error:\n"
    )
    assert "sqrt()  # this line\n" in texts[1].partition(" (Triggered")[0][-40:]
    assert not torch.is_anomaly_enabled()


def test_forward_without_detection_has_left_no_trace(torch):
    y = leaf(torch, -1.0).sqrt()

    def program():
        with torch.autograd.set_detect_anomaly(True):
            (y * 0).backward()

    error, texts = warned(program)
    assert type(error) is RuntimeError and len(texts) == 1
    assert "SqrtBackward0. No forward pass information available." in texts[0]


def test_nan_may_pass(torch):
    x = leaf(torch, -1.0)

    def program():
        with torch.autograd.detect_anomaly(check_nan=False):
            (x.sqrt() * 0).backward()

    error, texts = warned(program)
    assert error is None and len(texts) == 1 and x.grad.isnan().all()


def test_errors_of_backward_are_traced(torch):
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            raise KeyError("bad")

    def bad():
        Bad.apply(leaf(torch, 1.0)).backward()

    def written():
        x = leaf(torch, 1.0) * 1
        y = x * x
        x.add_(1)
        y.backward()

    for program, kind, node in (
        (bad, KeyError, "BadBackward"),
        (written, RuntimeError, "MulBackward0"),
    ):

        def detected(program=program):
            with torch.autograd.set_detect_anomaly(True):
                program()

        error, texts = warned(detected)
        assert type(error) is kind and f"Error detected in {node}. Traceback" in texts[0]


def test_a_second_derivative_names_the_node_that_induced_it(torch):
    def program():
        with torch.autograd.set_detect_anomaly(True):
            x = leaf(torch, 0.0)
            (first,) = torch.autograd.grad(x**1.5, x, torch.zeros(1), create_graph=True)
            (second,) = torch.autograd.grad(first, x, create_graph=True)
            torch.autograd.grad(second, x)

    error, texts = warned(program)
    assert type(error) is RuntimeError and "returned nan values" in str(error)
    assert "Error detected in" in texts[0]
    assert "Previous calculation was induced by PowBackward0. Traceback" in texts[1]


def test_switches(torch):
    def state():
        return torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()

    states = [state()]
    for arguments in ((True,), (True, False), (False,)):
        torch.autograd.set_detect_anomaly(*arguments)
        states.append(state())
    assert states == [(False, True), (True, True), (True, False), (False, True)]
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        with torch.autograd.set_detect_anomaly(False):
            assert state() == (False, True)
        assert state() == (True, False)
    assert state() == (False, True)
    with torch.no_grad():
        torch.autograd.set_detect_anomaly(True)
    assert state() == (True, True)
    with torch.no_grad():
        torch.autograd.set_detect_anomaly(False)
    assert state() == (False, True)
    with pytest.warns(UserWarning, match="Anomaly Detection"):
        detect = torch.autograd.detect_anomaly()
    assert state() == (False, True)
    with detect:
        assert state() == (True, True)


@pytest.mark.parametrize("mode", [True, False])
def test_a_hook_may_switch(torch, mode):
    x = leaf(torch, 2.0)
    with torch.autograd.set_detect_anomaly(not mode):
        y = x * x
        y.register_hook(lambda grad: torch.autograd.set_detect_anomaly(mode) and None)
        y.backward()
        assert torch.is_anomaly_enabled() == mode
        (x * x).backward()
    assert not torch.is_anomaly_enabled()


@pytest.mark.parametrize("arguments", [("x",), (None,), (True, 1.5)])
def test_switches_are_bools(oracle, arguments):
    errors = []
    for module in (tiny_torch, oracle):
        with pytest.raises(TypeError) as caught:
            module.autograd.set_detect_anomaly(*arguments)
        errors.append(str(caught.value))
        assert not module.is_anomaly_enabled()
    assert errors[0] == errors[1]


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode", "enable_grad"])
def test_beside_other_modes(torch, mode):
    x = leaf(torch, 2.0)
    with torch.autograd.set_detect_anomaly(True), getattr(torch, mode)():
        for y in (x * x, x.sin(), torch.cat([x, x]), (x * 1)[0], x.max(0)[0]):
            assert y.requires_grad == (mode == "enable_grad")
            assert not y.requires_grad or "traceback_" in y.grad_fn.metadata
    assert (x * x).grad_fn.metadata == {}
